from __future__ import annotations

import pytest

from npulse.core.formats.hostsan import Frame
from npulse.core.formats.hostsan.frames import Frames, summary_of
from npulse.core.formats.hostsan.places import located, of_race, on_stack, stack_object
from npulse.core.formats.hostsan.records import Allocation, GlobalVariable, StackObject

BUILD_ID = "0123456789abcdef0123456789abcdef01234567"


def frame(text: str) -> Frame:
    found = Frames().frame(text)
    assert found is not None, text
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (  # clang with a symboliser
            "    #0 0x55d0c0de01ac in Row<float, 16>::Store(int, float) /src/attn.cpp:36:19",
            Frame(0, 0x55D0C0DE01AC, "Row<float, 16>::Store(int, float)", "/src/attn.cpp", 36, 19),
        ),
        (  # gcc: no column
            "    #1 0x55 in main /src/attn.cpp:60",
            Frame(1, 0x55, "main", "/src/attn.cpp", 60),
        ),
        (
            f"    #12 0x55 in operator new[](unsigned long) (/src/attn+0x10bbed) (BuildId: {BUILD_ID})",
            Frame(
                12,
                0x55,
                "operator new[](unsigned long)",
                module="/src/attn",
                module_offset=0x10BBED,
                build_id=BUILD_ID,
            ),
        ),
        (  # symbolize=0: two blanks
            "    #2 0x7f95  (/lib/x86_64-linux-gnu/libc.so.6+0x27249)",
            Frame(2, 0x7F95, module="/lib/x86_64-linux-gnu/libc.so.6", module_offset=0x27249),
        ),
        (  # the oldest runtimes: one blank
            "    #0 0x4004f4 (/tmp/a.out+0x4f4)",
            Frame(0, 0x4004F4, module="/tmp/a.out", module_offset=0x4F4),
        ),
        ("    #3 0x12  (<unknown module>)", Frame(3, 0x12, module="<unknown module>")),
        (
            "    #7 0x12 in asan_thread_start(void*) asan_interceptors.cpp.o",
            Frame(7, 0x12, "asan_thread_start(void*)", "asan_interceptors.cpp.o"),
        ),
        (  # ThreadSanitizer: no pc
            "    #0 Add(int) /src/race.cpp:10:9 (race+0xd4514)",
            Frame(0, None, "Add(int)", "/src/race.cpp", 10, 9, "race", 0xD4514),
        ),
        (
            "    #6 <null> <null> (libstdc++.so.6+0xd44a2)",
            Frame(6, None, "<null>", "<null>", module="libstdc++.so.6", module_offset=0xD44A2),
        ),
        (
            "    #0 pthread_create <null> (race+0x5340d)",
            Frame(0, None, "pthread_create", "<null>", module="race", module_offset=0x5340D),
        ),
        (  # a symboliser that found nothing, and one that found a file without a line
            "    #4 0x12 in ?? ??:0",
            Frame(4, 0x12, "??", "??", 0),
        ),
        ("    #4 0x12 in foo ??:?", Frame(4, 0x12, "foo", "??")),
        ("    #4 0x12 in foo /src/a.cpp", Frame(4, 0x12, "foo", "/src/a.cpp")),
        ("    #4 0x12 in foo /src/a.cpp:0:0", Frame(4, 0x12, "foo", "/src/a.cpp", 0, 0)),
        ("    #4 0x12 in foo", Frame(4, 0x12, "foo")),
        ("    #4 0x12", Frame(4, 0x12)),
        (  # a relative path, and one with blanks
            "    #0 0x12 in Row<float, 16>::Store(int, float) asan/attn.cpp:36",
            Frame(0, 0x12, "Row<float, 16>::Store(int, float)", "asan/attn.cpp", 36),
        ),
        (
            "    #0 0x12 in Store(int, float) /src/my project/attn row.cpp:36:1",
            Frame(0, 0x12, "Store(int, float)", "/src/my project/attn row.cpp", 36, 1),
        ),
        (
            "    #0 0x12 in main::$_0::operator()(int) const a.cpp:5:1",
            Frame(0, 0x12, "main::$_0::operator()(int) const", "a.cpp", 5, 1),
        ),
        (
            "    #0 0x12 in (anonymous namespace)::Run(char const (&) [4]) /src/a.cpp:5:1",
            Frame(0, 0x12, "(anonymous namespace)::Run(char const (&) [4])", "/src/a.cpp", 5, 1),
        ),
        (
            "    #0 0x12 in main::{lambda(int)#1}::operator()(int) const ../src/a.cpp:5",
            Frame(0, 0x12, "main::{lambda(int)#1}::operator()(int) const", "../src/a.cpp", 5),
        ),
        (
            "    #0 0x12 in Path operator/<int>(Path const&, int) /src/a.cpp:5",
            Frame(0, 0x12, "Path operator/<int>(Path const&, int)", "/src/a.cpp", 5),
        ),
        (
            "    #0 0x12 in void f<int>(decltype(auto)) (/opt/tools (x86)/bin/app+0x12)",
            Frame(
                0, 0x12, "void f<int>(decltype(auto))", module="/opt/tools (x86)/bin/app", module_offset=0x12
            ),
        ),
        (
            "    #0 0x12 in foo+0x1a (/src/app:x86_64+0x12)",
            Frame(0, 0x12, "foo+0x1a", module="/src/app:x86_64", module_offset=0x12),
        ),
    ],
)
def test_forms_of_a_frame(text: str, expected: Frame) -> None:
    assert frame(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#0 0x12 in main",
        "    # 0 0x12",
        "    #x",
        "    1: #0 0x12 in f",
        " #",
        "    #0",
        "#0  0x1 in f ()",
    ],
)
def test_what_is_no_frame(text: str) -> None:
    assert Frames().frame(text) is None


def test_equal_lines_and_equal_names_are_one_object() -> None:
    frames = Frames()
    first = frames.frame("    #1 0x12 in Reduce(long) /src/deep.cpp:11:12")
    again = frames.frame("    #1 0x12 in Reduce(long) /src/deep.cpp:11:12")
    deeper = frames.frame("    #2 0x12 in Reduce(long) /src/deep.cpp:11:12")
    assert first is again and first is not None and deeper is not None
    assert first != deeper and first.function is deeper.function and first.file is deeper.file


def test_names_have_at_most_4096_characters() -> None:
    found = frame(f"    #0 0x12 in {'f<' * 5000}() /{'d' * 9000}.cpp:5:1")
    assert found.function is not None and found.file is not None
    assert (len(found.function), len(found.file), found.line) == (4096, 4096, 5)
    assert found.function.endswith("…")


@pytest.mark.parametrize(
    ("text", "kind", "place"),
    [
        (
            "heap-buffer-overflow /src/a.cpp:36 in Store",
            "heap-buffer-overflow",
            Frame(0, None, "Store", "/src/a.cpp", 36),
        ),
        (
            "heap-use-after-free /src/a.cpp:36:19 in Row<float, 16>::Store(int, float)",
            "heap-use-after-free",
            Frame(0, None, "Row<float, 16>::Store(int, float)", "/src/a.cpp", 36, 19),
        ),
        (
            f"double-free (/src/app+0xa3ea2) (BuildId: {BUILD_ID}) in __interceptor_free",
            "double-free",
            Frame(0, None, "__interceptor_free", None, None, None, "/src/app", 0xA3EA2, BUILD_ID),
        ),
        ("SEGV (/src/app+0xa3) ", "SEGV", Frame(0, module="/src/app", module_offset=0xA3)),
        (
            "undefined-behavior /src/a.cpp:15:70 in ",
            "undefined-behavior",
            Frame(0, None, None, "/src/a.cpp", 15, 70),
        ),
        ("undefined-behavior a.cpp:15:70", "undefined-behavior", Frame(0, None, None, "a.cpp", 15, 70)),
        ("odr-violation: global 'x' at a.cpp:1:5", "odr-violation", None),
        ("SEGV", "SEGV", None),
        (
            "leak-check /src/built in blank/a.cpp:3 in f",
            "leak-check",
            Frame(0, None, "f", "/src/built in blank/a.cpp", 3),
        ),
        (
            "data race /src/race.cpp:10:9 in Add(int)",
            "data race",
            Frame(0, None, "Add(int)", "/src/race.cpp", 10, 9),
        ),
    ],
)
def test_summaries(text: str, kind: str, place: Frame | None) -> None:
    found = summary_of(f"SUMMARY: AddressSanitizer: {text}", 7, 100)
    assert found is not None
    assert (found.line, found.byte, found.tool, found.kind) == (7, 100, "AddressSanitizer", kind)
    assert found.place == place


def test_a_summary_of_leaks_has_its_numbers() -> None:
    found = summary_of("SUMMARY: LeakSanitizer: 13104 byte(s) leaked in 9 allocation(s).", 1, 0)
    assert found is not None and found.kind is None and found.place is None
    assert (found.leaked_bytes, found.n_allocations) == (13104, 9)
    assert found.text == "SUMMARY: LeakSanitizer: 13104 byte(s) leaked in 9 allocation(s)."
    assert summary_of("====== SUMMARY: 5184 byte(s) leaked in 3 allocation(s)", 1, 0) is None


# ---- places ----

REGION = Allocation(40, 0x10, 0x38)


@pytest.mark.parametrize(
    ("words", "offset", "relation"),
    [
        ("0 bytes to the right of", 0, "after"),
        ("0 bytes after", 0, "after"),
        ("3 bytes to the left of", 3, "before"),
        ("3 bytes before", 3, "before"),
        ("20 bytes inside of", 20, "inside"),
        ("20 bytes inside a", 20, "inside"),
        ("1 byte after", 1, "after"),
        ("somewhere around (this is AddressSanitizer bug!)", None, None),
    ],
)
def test_wordings_of_a_heap_region(words: str, offset: int | None, relation: str | None) -> None:
    text = f"0x504000000038 is located {words} 40-byte region [0x10,0x38)"
    place = located(text)
    assert place is not None
    found = place.build()
    assert (found.kind, found.text, found.address) == ("heap", text, 0x504000000038)
    assert (found.offset_bytes, found.relation, found.allocation) == (offset, relation, REGION)


@pytest.mark.parametrize(
    ("text", "variable"),
    [
        (
            "global variable 'kRope' defined in '/src/a.cpp:4:12' (0x60) of size 64",
            GlobalVariable("kRope", 0x60, 64, "/src/a.cpp", 4, 12),
        ),
        ("global variable 'x' defined in 'a.cpp' (0x60) of size 4", GlobalVariable("x", 0x60, 4, "a.cpp")),
        ("global variable 'x (a.c)' (0x60) of size 4", GlobalVariable("x (a.c)", 0x60, 4)),
        ("4-byte global variable x [0x60,0x64) in /src/app", GlobalVariable("x", 0x60, 4, "/src/app")),
    ],
)
def test_wordings_of_a_global(text: str, variable: GlobalVariable) -> None:
    place = located(f"0x70 is located 16 bytes to the right of {text}")
    assert place is not None and (place.kind, place.variable) == ("global", variable)


@pytest.mark.parametrize(
    ("text", "kind", "thread", "offset"),
    [
        ("Address 0x7f is located in stack of thread T0 at offset 48 in frame", "stack", "T0", 48),
        ("Address 0x7f is located in stack of thread T3 (worker) at offset 48 in frame", "stack", "T3", 48),
        ("Address 0x7f is located in stack of thread T0", "stack", "T0", None),
        ("Address 0x7f is located at offset 48 in frame <main> of T0's stack:", "stack", "T0", 48),
        ("Address 0x7f is a wild pointer inside of access range of size 0x000000000004.", "wild", None, None),
        ("Address 0x7f is located in the shadow gap area.", "other", None, None),
    ],
)
def test_wordings_of_a_stack(text: str, kind: str, thread: str | None, offset: int | None) -> None:
    place = on_stack(text)
    assert place is not None and place.address == 0x7F
    assert (place.kind, place.thread, place.frame_offset_bytes) == (kind, thread, offset)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("    [32, 48) 'table' (line 25)", StackObject("table", 32, 48, 25)),
        ("    [64, 68) '<unknown>'", StackObject("<unknown>", 64, 68)),
        (
            "    [32, 48) 'table' (line 25) <== Memory access at offset 48 overflows this variable",
            StackObject("table", 32, 48, 25, "overflows", 48),
        ),
        (
            "    [32, 48) 'it's' <== Memory access at offset 46 partially overflows this variable",
            StackObject("it's", 32, 48, None, "partially overflows", 46),
        ),
        (
            "    [64, 80) 'a' (line 45) <== Memory access at offset 62 underflows this variable",
            StackObject("a", 64, 80, 45, "underflows", 62),
        ),
        (
            "    [32, 96) 'buf' (line 7) <== Memory access at offset 33 is inside this variable",
            StackObject("buf", 32, 96, 7, "is inside", 33),
        ),
    ],
)
def test_stack_objects(text: str, expected: StackObject) -> None:
    assert stack_object(text) == expected


def test_places_of_a_race() -> None:
    place = of_race("  Location is global 'g_done' of size 4 at 0x55 (race+0x5)", 0x57)
    assert place is not None and (place.kind, place.address) == ("global", 0x57)
    assert place.variable == GlobalVariable("g_done", 0x55, 4)
    place = of_race("  Location is heap block of size 16 at 0x70 allocated by thread T1:", 0x74)
    assert place is not None and place.allocation == Allocation(16, 0x70, 0x80)
    assert place.allocated_by is not None and place.allocated_by.thread == "T1"
    place = of_race("  Location is stack of main thread.", 0x74)
    assert place is not None and place.kind == "stack"
