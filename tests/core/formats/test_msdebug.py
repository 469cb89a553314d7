from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats import msdebug
from npulse.core.formats.msdebug import (
    Breakpoint,
    CoreState,
    DebuggerError,
    Focus,
    Frame,
    InfoRow,
    KernelLaunch,
    MemoryShown,
    MsdebugReader,
    MsdebugRecord,
    RegisterShown,
    SessionStart,
    Stop,
    VariableShown,
    read_msdebug,
)


def fed(content: bytes, sizes: list[int]) -> list[MsdebugRecord]:
    reader = MsdebugReader()
    records: list[MsdebugRecord] = []
    at = 0
    for size in sizes:
        records += reader.feed(content[at : at + size])
        at += size
    return records + reader.feed(content[at:]) + reader.finish()


def read(text: str) -> list[MsdebugRecord]:
    return fed(text.encode(), [])


STOPPED = """(msdebug) run
[Launch of Kernel void k<half, 64u>(int, int) on Device 2]
Process 24300 stopped
[Switching to focus on Kernel void k<half, 64u>(int, int), CoreId 13, Type aiv, Thread (1, 2, 3)]
* thread #1, name = 'app', stop reason = breakpoint 1.1
    frame #0: 0x0000000000000694 device_debugdata`::k(uint8_t *) [inlined] Add at (x) at /w/a dd.cpp:54:9
   53       int a;
-> 54       Add(z, x, y);   // here
   55       b();
(msdebug) n
"""


def test_a_stop_with_its_frame_and_source_line() -> None:
    launch, focus, frame, stop = read(STOPPED)
    assert launch == KernelLaunch(2, 14, "run", "void k<half, 64u>(int, int)", 2)
    assert isinstance(focus, Focus)
    assert (focus.kernel, focus.core_id, focus.core_type, focus.thread) == (
        *("void k<half, 64u>(int, int)", 13),
        *("aiv", (1, 2, 3)),
    )
    assert isinstance(frame, Frame) and isinstance(stop, Stop)
    assert (frame.index, frame.pc, frame.module) == (0, 0x694, "device_debugdata")
    assert frame.function == "::k(uint8_t *) [inlined] Add at (x)"
    assert (frame.path, frame.source_line, frame.column) == ("/w/a dd.cpp", 54, 9)
    assert (stop.reason, stop.process, stop.kernel, stop.core_id, stop.core_type) == (
        *("breakpoint 1.1", "app"),
        *("void k<half, 64u>(int, int)", 13, "aiv"),
    )
    assert (stop.frame, stop.code_text) == (frame, "Add(z, x, y);   // here")
    assert (stop.line, stop.command) == (5, "run")


def test_a_core_file() -> None:
    start, focus, frame, stop = read(
        '(msdebug) target create --core "AddCustom.core"\n'
        "Core file '/w/AddCustom.core' (hiipu64) was loaded.\n"
        "[Switching to focus on CoreId 36, Type aic]\n"
        "* thread #1, stop reason = MTE_ERROR\n"
        "    frame #0: 0x000012c0c0040678\n"
    )
    assert isinstance(start, SessionStart) and (start.path, start.is_core_file) == ("/w/AddCustom.core", True)
    assert isinstance(focus, Focus) and (focus.kernel, focus.core_id, focus.thread) == ("", 36, None)
    assert isinstance(frame, Frame) and (frame.module, frame.function, frame.path) == ("", "", "")
    assert isinstance(stop, Stop) and (stop.reason, stop.core_type) == ("MTE_ERROR", "aic")


def test_a_call_stack() -> None:
    found = read(
        "(msdebug) bt\n* thread #1, stop reason = MTE_ERROR\n"
        "  * frame #0: 0x10 m`f(x=<unavailable>) at a.h:60:5\n    frame #1: 0x20 m`g at b.cpp:44\n"
        "    frame #2: 0x30 libc.so.6`start + 12\n"
    )
    frames = [record for record in found if isinstance(record, Frame)]
    assert [(f.index, f.is_selected, f.function, f.path, f.source_line, f.column) for f in frames] == [
        (0, True, "f(x=<unavailable>)", "a.h", 60, 5),
        (1, False, "g", "b.cpp", 44, None),
        (2, False, "start + 12", "", None, None),
    ]
    assert isinstance(found[-1], Stop) and found[-1].frame == frames[0]


def test_cores_with_blanks_in_the_reason() -> None:
    text = (
        "(msdebug) ascend info cores\n"
        "  CoreId Type Device Stream Task Block               PC    stop reason Filename Line\n"
        "*     13  aiv      0     46    1     0  0x12c0c0040694  breakpoint 1.1 add_custom.cpp   54\n"
        "      15  aiv      0     46    1     2  0x12c0c0040678              NA       NA   NA\n"
    )
    assert read(text) == [
        CoreState(
            *(3, text.index("*"), "ascend info cores", True, 13, "aiv", 0, 46, 1, 0, 0x12C0C0040694),
            *("breakpoint 1.1", False, "add_custom.cpp", 54),
        ),
        CoreState(
            *(4, text.index("      15"), "ascend info cores", False, 15, "aiv", 0, 46, 1, 2, 0x12C0C0040678),
            *("", False, "", None),
        ),
    ]


def test_cores_of_older_versions_and_of_core_files() -> None:
    old = read(
        "  CoreId  Type  Device Stream Task Block         PC               stop reason\n"
        "*   0     aiv      1     3     0     0     0x12c0c00f8fcc         step over\n"
        "    1     aiv      1     3     0     0     0x12c0c00f8d3c\n"
    )
    assert [(c.core_id, c.reason, c.path) for c in old if isinstance(c, CoreState)] == [
        (0, "step over", ""),
        (1, "", ""),
    ]
    (of_core,) = read(
        "  CoreId Type Device Stream Task Block     PC    Exception Filename Line\n"
        "*     17  aiv      0     NA   NA    NA  0x10    MTE_ERROR     a.cpp   44\n"
    )
    assert isinstance(of_core, CoreState)
    assert (of_core.is_exception, of_core.reason, of_core.stream_id, of_core.block) == (
        True,
        "MTE_ERROR",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("text", "table", "cells"),
    [
        (
            "  Device Aic_Num Aiv_Num Aic_Mask Aiv_Mask\n*    0      0       8      0x0     0x1fe000\n",
            "devices",
            {"Device": "0", "Aic_Num": "0", "Aiv_Num": "8", "Aic_Mask": "0x0", "Aiv_Mask": "0x1fe000"},
        ),
        (
            "  Device Stream Task Invocation\n*   0      46     1  add custom\n",
            "tasks",
            {"Device": "0", "Stream": "46", "Task": "1", "Invocation": "add custom"},
        ),
        ("  Device Stream Type\n*   0 46 aiv\n", "stream", {"Device": "0", "Stream": "46", "Type": "aiv"}),
        (
            "  Device Stream Task Block\n*   0     46     1     NA\n",
            "blocks",
            {"Device": "0", "Stream": "46", "Task": "1", "Block": None},
        ),
        (
            "  ThreadIdx To ThreadIdx ActiveCount PC ActiveMask Filename Line\n"
            "* (0, 0, 0) (31, 0, 0) 32 0x10 0xffffffff a.cpp 7\n",
            "threads",
            {
                "ThreadIdx": "(0, 0, 0)",
                "To ThreadIdx": "(31, 0, 0)",
                "ActiveCount": "32",
                "PC": "0x10",
                "ActiveMask": "0xffffffff",
                "Filename": "a.cpp",
                "Line": "7",
            },
        ),
        (
            "  CoreId  CoreType        PC         DeviceId    ChipType\n *  17  AIV  0x10  0  A2/A3\n",
            "summary",
            {"CoreId": "17", "CoreType": "AIV", "PC": "0x10", "DeviceId": "0", "ChipType": "A2/A3"},
        ),
        (
            "  Id  DataType  MemType  Addr  Size  CoreId  CoreType  Dim\n"
            "  0  INPUT  GM  0x12(invalid)  64  NA  NA  [8, 2048]\n",
            "memory",
            {
                **{"Id": "0", "DataType": "INPUT", "MemType": "GM", "Addr": "0x12(invalid)", "Size": "64"},
                **{"CoreId": None, "CoreType": None, "Dim": "[8, 2048]"},
            },
        ),
    ],
)
def test_other_tables(text: str, table: str, cells: dict[str, str | None]) -> None:
    (found,) = read(text)
    assert isinstance(found, InfoRow) and (found.table, dict(found.cells)) == (table, cells)
    assert found.is_focus == ("*" in text)


def test_a_table_ends_at_the_next_prompt_or_other_line() -> None:
    assert read("  Device Stream Type\nsome text\n0 1 2\n") == []
    assert read("  Device Stream Type\n(msdebug) p x\n0 1 2\n") == []


def test_memory_registers_and_variables() -> None:
    found = read(
        "(msdebug) x -m GM -f float16[] 0x1240c0015000 -s 8 -c 1\n0x1240c0015000: {0 0.5 -inf nan}\n"
        "(msdebug) register read -a\nRegisters:\n"
        "                PC = 0x12C04120088C  m`add + 144 at test.py:6\n              GPR0 = 0x1D78A8\n"
        '(msdebug) var\n(uint32_t) totalLength = 16384\n(uint8_t *__gm__) x = 0x000012c0c0013000 ""\n'
        "(msdebug) p y\nerror: <user expression 0>: no such variable\n"
    )
    memory, pc, gpr, total, x, error = found
    assert isinstance(memory, MemoryShown)
    assert (memory.address, memory.space, memory.element, memory.values) == (
        *(0x1240C0015000, "GM", "float16[]"),
        ("0", "0.5", "-inf", "nan"),
    )
    assert isinstance(pc, RegisterShown) and (pc.name, pc.value, pc.note) == (
        *("PC", 0x12C04120088C),
        "m`add + 144 at test.py:6",
    )
    assert isinstance(gpr, RegisterShown) and (gpr.name, gpr.value, gpr.note) == ("GPR0", 0x1D78A8, "")
    assert isinstance(total, VariableShown)
    assert (total.type_name, total.name, total.value) == ("uint32_t", "totalLength", "16384")
    assert isinstance(x, VariableShown) and x.type_name == "uint8_t *__gm__"
    assert isinstance(error, DebuggerError) and error.command == "p y"


def test_break_points() -> None:
    text = (
        "Breakpoint 1: where = m`::k(int) [inlined] A::B at add.cpp:54:9, address = 0x0000000000000694\n"
        "Breakpoint 2: no locations (pending).\n"
    )
    assert read(text) == [
        Breakpoint(1, 0, "", 1, "::k(int) [inlined] A::B", "add.cpp", 54, 9, 0x694),
        Breakpoint(2, text.rindex("Breakpoint"), "", 2, "", "", None, None, None),
    ]


# ---- as it grows, files, hostile bytes ----

SESSION = (STOPPED * 2).encode() + "(msdebug) var\n(int) 变量 = 1\n(int) x = 核".encode()


def test_any_cut_changes_nothing() -> None:
    whole = fed(SESSION, [])
    assert [type(record).__name__ for record in whole] == [
        *("KernelLaunch", "Focus", "Frame", "Stop") * 2,
        *("VariableShown", "VariableShown"),
    ]
    for at in range(len(SESSION) + 1):
        assert fed(SESSION, [at]) == whole
    assert fed(SESSION, [1] * len(SESSION)) == whole
    assert len(fed(SESSION.replace(b"\n", b"\r\n"), [])) == len(whole)


def test_reading_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "session.txt"
    path.write_bytes(SESSION)
    found = read_msdebug(path, root=tmp_path)
    assert (list(found.records), found.problems, len(found.stops)) == (fed(SESSION, []), (), 2)
    monkeypatch.setattr(msdebug, "MAX_RECORDS", 3)
    limited = read_msdebug(path, root=tmp_path)
    assert (len(limited.records), limited.problems[0].kind) == (3, "limit")
    with pytest.raises(InputError):
        read_msdebug(tmp_path / "none.txt", root=tmp_path)


PARTS = [
    *(
        "(msdebug) ",
        "x -m GM -f float[] ",
        "* thread #1, stop reason = x",
        "    frame #0: 0x10 m`f at a.cpp:1:2",
        "\n",
        "\0",
    ),
    *(
        "[Switching to focus on Kernel k, CoreId 1, Type aiv]",
        "[Launch of Kernel k on Device 1]",
        "-> 12  x",
        " at ",
        "`",
    ),
    *(
        "  CoreId Type Device Stream Task Block PC stop reason Filename Line\n",
        "  Device Stream Type\n",
        "0 1 2 3 4 5 6 7 8 9\n",
    ),
    *(
        "0x10: {1 2}",
        "PC = 0x1",
        "(int) x = 1",
        "Breakpoint 1: where = ",
        ", address = 0x1",
        "ThreadIdx To x\n",
        "(0, 0, 0) ",
    ),
    *("error: x", " " * 40, "x" * 40, "Core file 'a' (x)", "\x1b[31m"),
]


@given(st.lists(st.sampled_from(PARTS), max_size=60), st.lists(st.integers(1, 200), max_size=5))
def test_any_mixture_of_its_words_is_survived(parts: list[str], sizes: list[int]) -> None:
    content = "".join(parts).encode()
    assert fed(content, sizes) == fed(content, [])


@given(st.binary(max_size=2000))
def test_any_bytes_are_survived(content: bytes) -> None:
    fed(content, [])


@pytest.mark.parametrize("word", [*PARTS, "0x10: {" + " " * 50])
@pytest.mark.parametrize(
    "head", ["", "0x10: {", "(", "    frame #0: 0x1 m`", "Breakpoint 1: ", "PC = 0x1 ", "[Launch of Kernel "]
)
def test_no_word_repeated_is_slow(head: str, word: str) -> None:
    body = (word.replace("\n", " ") * (60_000 // len(word)))[:60_000]
    begin = time.process_time()
    fed((head + body + "\n").encode() * 5, [])
    assert time.process_time() - begin < 1.0
