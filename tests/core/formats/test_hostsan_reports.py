# ruff: noqa: E501 - log lines as they are
"""Reports written out by hand, in every wording: each field against what the text says."""

from __future__ import annotations

import pytest

from npulse.core.formats.hostsan import (
    Allocation,
    GlobalVariable,
    Leak,
    Reader,
    Record,
    SanitizerError,
    Span,
    Stack,
    Suppression,
    UndefinedBehavior,
)
from npulse.core.formats.hostsan.headers import head_of, trouble_of
from npulse.core.formats.hostsan.undefined import diagnosis_of, kind_of


def records_of(text: str) -> tuple[list[Record], Reader]:
    reader = Reader("a.log")
    records = reader.feed(text.encode())
    return [*records, *reader.finish()], reader


def error_of(text: str) -> SanitizerError:
    records, reader = records_of(text)
    assert reader.problems == () and len(records) == 1, (records, reader.problems)
    (record,) = records
    assert isinstance(record, SanitizerError) and not record.is_cut and not record.is_mixed
    return record


def lines_of(stack: Stack | None) -> list[tuple[str | None, int | None]]:
    return [] if stack is None else [(frame.function, frame.line) for frame in stack.frames]


SHADOW = "Shadow bytes around the buggy address:\n" + "".join(
    f"{'=>' if i == 5 else '  '}0x{0x504000 + 128 * i:012x}: {'fa fa 00 00 00 00 00[04]fa' if i == 5 else '00 ' * 8 + '00'}"
    f"{' fa' * 7}\n"
    for i in range(11)
)
LEGEND = (
    "Shadow byte legend (one shadow byte represents 8 application bytes):\n  Addressable:           00\n"
    "  Partially addressable: 01 02 03 04 05 06 07 \n  Heap left redzone:       fa\n"
    "  ASan internal:           fe\n  Left alloca redzone:     ca\n  Right alloca redzone:    cb\n"
)

OVERFLOW = f"""\
[run] attention row start
=================================================================
==4711==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x504000000038 at pc 0x55d0c0de01ad bp 0x7ffe00000240 sp 0x7ffe00000238
WRITE of size 4 at 0x504000000038 thread T0
    #0 0x55d0c0de01ac in Row<float, 16>::Store(int, float) /src/attn.cpp:36:19
    #1 0x55d0c0de01ac in Row<float, 16>::Score(float const*) /src/attn.cpp:43:13
    #2 0x55d0c0de0fc1 in main /src/attn.cpp:60:9

0x504000000038 is located 0 bytes after 40-byte region [0x504000000010,0x504000000038)
allocated by thread T0 here:
    #0 0x55d0c0ddfbed in operator new[](unsigned long) (/src/attn+0x10bbed) (BuildId: 0123456789abcdef)
    #1 0x55d0c0de0f9d in main /src/attn.cpp:58:31

SUMMARY: AddressSanitizer: heap-buffer-overflow /src/attn.cpp:36:19 in Row<float, 16>::Store(int, float)
{SHADOW}{LEGEND}==4711==ABORTING
"""


def test_a_heap_overflow_in_all_its_fields() -> None:
    error = error_of(OVERFLOW)
    assert (error.tool, error.severity, error.kind, error.pid) == (
        "AddressSanitizer",
        "error",
        "heap-buffer-overflow",
        4711,
    )
    assert error.message.startswith("heap-buffer-overflow on address 0x504000000038 at pc ")
    assert (error.address, error.pc) == (0x504000000038, 0x55D0C0DE01AD)
    assert (error.bp, error.sp) == (0x7FFE00000240, 0x7FFE00000238)
    assert (error.access, error.size_bytes, error.thread) == ("write", 4, "T0")
    assert lines_of(error.stack) == [
        ("Row<float, 16>::Store(int, float)", 36),
        ("Row<float, 16>::Score(float const*)", 43),
        ("main", 60),
    ]
    place = error.place
    assert place is not None and len(error.places) == 1
    assert (place.kind, place.address) == ("heap", 0x504000000038)
    assert (place.offset_bytes, place.relation) == (0, "after")
    assert place.allocation == Allocation(40, 0x504000000010, 0x504000000038)
    assert lines_of(error.allocated_by) == [("operator new[](unsigned long)", None), ("main", 58)]
    assert error.allocated_by is not None and error.allocated_by.thread == "T0"
    assert error.allocated_by.title == "allocated by thread T0 here:"
    assert error.allocated_by.frames[0].build_id == "0123456789abcdef"
    assert error.freed_by is None and error.created_by == ()
    shadow = error.shadow
    assert shadow is not None and len(shadow.rows) == 11
    assert (shadow.marked_row, shadow.marked_cell, shadow.marked) == (5, 7, "04")
    assert shadow.rows[5].address == 0x504280
    assert shadow.rows[5].cells == "fa fa 00 00 00 00 00 04 fa fa fa fa fa fa fa fa"
    assert error.summary is not None and error.summary.line == 14
    assert error.summary.text.startswith(
        "SUMMARY: AddressSanitizer: heap-buffer-overflow /src/attn.cpp:36:19 in "
    )
    start = OVERFLOW.index("==4711==ERROR")
    assert error.span == Span(3, 34, start, len(OVERFLOW))


def test_the_state_of_a_log() -> None:
    _, reader = records_of(OVERFLOW)
    state = reader.state
    assert (state.tools, state.pids, state.prefixes) == (("AddressSanitizer",), (4711,), ())
    assert (state.n_lines, state.n_bytes, state.n_records, state.n_truncated) == (34, len(OVERFLOW), 1, 0)
    assert [summary.line for summary in state.summaries] == [14] and state.n_summaries == 1
    assert state.aborting_pids == (4711,) and state.is_aborting
    assert state.is_complete and state.incomplete == () and state.notes == ()


FREED = (
    """\
==4711== ERROR: AddressSanitizer: heap-use-after-free on address 0x60c0 at pc 0x4005 bp 0x7f01 sp 0x7f00
READ of size 8 at 0x60c0 thread T3 (worker 1)
    #0 0x4004 (/src/a.out+0x4004)
0x60c0 is located 16 bytes inside of 128-byte region [0x60b0,0x6130)
freed by thread T0 here:
    #0 0x4104 (/src/a.out+0x4104)
previously allocated by thread T2 (loader) here:
    #0 0x4204 (/src/a.out+0x4204)
Thread T3 (worker 1) created by T0 here:
    #0 0x4304 (/src/a.out+0x4304)
Thread T2 (loader) created by T0 here:
    #0 0x4404 (/src/a.out+0x4404)
"""
    + SHADOW.replace("0x0000005", "0x0c0a0005")
    + LEGEND
    + "==4711== ABORTING\n"
)


def test_the_oldest_runtimes_have_no_summary_and_no_empty_lines() -> None:
    error = error_of(FREED)
    assert (error.pid, error.thread, error.thread_name) == (4711, "T3", "worker 1")
    assert error.freed_by is not None and error.freed_by.frames[0].module_offset == 0x4104
    assert error.allocated_by is not None and error.allocated_by.frames[0].module_offset == 0x4204
    assert (error.allocated_by.thread, error.allocated_by.thread_name) == ("T2", "loader")
    assert [(start.thread, start.thread_name, start.parent) for start in error.created_by] == [
        ("T3", "worker 1", "T0"),
        ("T2", "loader", "T0"),
    ]
    assert [start.stack.frames[0].module_offset for start in error.created_by] == [0x4304, 0x4404]
    assert error.summary is None


def test_a_stack_overflow_names_the_variable() -> None:
    error = error_of(
        """\
==9==ERROR: AddressSanitizer: stack-buffer-overflow on address 0x7f60 at pc 0x55b7 bp 0x7f10 sp 0x7f08
WRITE of size 4 at 0x7f60 thread T0
    #0 0x55b6 in SumTile /src/tile.cpp:10

Address 0x7f60 is located in stack of thread T0 at offset 96 in frame
    #0 0x5500 in SumTile /src/tile.cpp:5

  This frame has 3 object(s):
    [32, 96) 'tile' (line 6) <== Memory access at offset 96 overflows this variable
    [128, 144) '<unknown>'
    [160, 168) 'order'
HINT: this may be a false positive if your program uses some custom stack unwind mechanism, swapcontext or vfork
      (longjmp and C++ exceptions *are* supported)
SUMMARY: AddressSanitizer: stack-buffer-overflow /src/tile.cpp:10 in SumTile
"""
        + SHADOW
        + LEGEND
    )
    place = error.place
    assert place is not None and place.frame is not None
    assert (place.kind, place.thread, place.frame_offset_bytes, place.n_objects) == ("stack", "T0", 96, 3)
    assert lines_of(place.frame) == [("SumTile", 5)] and lines_of(error.stack) == [("SumTile", 10)]
    assert [(found.name, found.line, found.start_bytes, found.end_bytes) for found in place.objects] == [
        ("tile", 6, 32, 96),
        ("<unknown>", None, 128, 144),
        ("order", None, 160, 168),
    ]
    assert place.hit_object is place.objects[0] and place.objects[0].access == "overflows"
    assert error.hints == (
        "HINT: this may be a false positive if your program uses some custom stack unwind mechanism, swapcontext or "
        "vfork (longjmp and C++ exceptions *are* supported)",
    )


def test_several_globals_and_their_registration() -> None:
    error = error_of(
        """\
==9==ERROR: AddressSanitizer: initialization-order-fiasco on address 0x5640b0 at pc 0x55b7 bp 0x7f10 sp 0x7f08
ACCESS of size 4 at 0x5640b0 thread T0
    #0 0x55b6 in Rope /src/a.cpp:8

0x5640b0 is located 16 bytes to the right of global variable 'kRope' defined in '/src/a.cpp:4:12' (0x564060) of size 64
  registered at:
    #0 0x5501 in __asan_register_globals (/src/app+0x5501)

0x5640b0 is located 16 bytes to the left of global variable 'kBase' defined in '/src/a.cpp' (0x5640c0) of size 4
SUMMARY: AddressSanitizer: initialization-order-fiasco /src/a.cpp:8 in Rope
"""
        + SHADOW
        + LEGEND
    )
    assert error.access == "unknown" and error.size_bytes == 4
    assert [place.variable for place in error.places] == [
        GlobalVariable("kRope", 0x564060, 64, "/src/a.cpp", 4, 12),
        GlobalVariable("kBase", 0x5640C0, 4, "/src/a.cpp"),
    ]
    assert [place.relation for place in error.places] == ["after", "before"]
    assert [stack.title for stack in error.others] == ["registered at:"]


def test_a_signal_has_access_hints_and_registers() -> None:
    error = error_of(
        """\
AddressSanitizer:DEADLYSIGNAL
=================================================================
==9048==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000004 (pc 0x55afb602 bp 0x7ffd46 sp 0x7ffd44 T12)
==9048==The signal is caused by a WRITE memory access.
==9048==Hint: address points to the zero page.
    #0 0x55afb602 in TileNum(Tiling const*) /src/null.cpp:11:15

==9048==Register values:
rax = 0x0000000000000004  rbx = 0x00007ffd5210e598  \x20
 r8 = 0xffffff0000000000   r9 = 0x0000000000000000  \x20
AddressSanitizer can not provide additional info.
SUMMARY: AddressSanitizer: SEGV /src/null.cpp:11:15 in TileNum(Tiling const*)
==9048==ABORTING
"""
    )
    assert (error.kind, error.access, error.size_bytes) == ("SEGV", "write", None)
    assert (error.address, error.pc, error.thread) == (4, 0x55AFB602, "T12")
    assert error.hints == ("Hint: address points to the zero page.",)
    assert error.registers == (("rax", 4), ("rbx", 0x7FFD5210E598), ("r8", 0xFFFFFF0000000000), ("r9", 0))


def test_a_crash_inside_the_report_ends_it() -> None:
    records, reader = records_of(
        "==9==ERROR: AddressSanitizer: SEGV on unknown address 0x02 (pc 0x02 bp 0x7f sp 0x7e T0)\n"
        "==9==Hint: pc points to the zero page.\nAddressSanitizer:DEADLYSIGNAL\n"
        "AddressSanitizer: nested bug in the same thread, aborting.\n"
    )
    assert len(records) == 1 and isinstance(records[0], SanitizerError)
    assert not records[0].is_cut and records[0].stack is None and records[0].span.last_line == 4
    assert reader.problems == () and reader.state.incomplete == ("nested-bug",)
    assert [(note.word, note.line) for note in reader.state.notes] == [("nested-bug", 4)]


def test_details_before_the_stack() -> None:
    error = error_of(
        """\
==9==ERROR: AddressSanitizer: new-delete-type-mismatch on 0x5070 in thread T0:
  object passed to delete has wrong type:
  size of the allocated type:   72 bytes;
  size of the deallocated type: 8 bytes.
    #0 0x5565 in operator delete(void*, unsigned long) (/src/app+0x10d792)
    #1 0x5566 in main /src/a.cpp:73:9

0x5070 is located 0 bytes inside of 72-byte region [0x5070,0x50b8)
allocated by thread T0 here:
    #0 0x5567 in operator new(unsigned long) (/src/app+0x10cb2d)

SUMMARY: AddressSanitizer: new-delete-type-mismatch (/src/app+0x10d792) in operator delete(void*, unsigned long)
==9==HINT: if you don't care about these errors you may set ASAN_OPTIONS=new_delete_type_mismatch=0
==9==ABORTING
"""
    )
    assert error.details == (
        "object passed to delete has wrong type:",
        "size of the allocated type:   72 bytes;",
        "size of the deallocated type: 8 bytes.",
    )
    assert (error.thread, error.address) == ("T0", 0x5070)
    assert error.hints[0].startswith("HINT: if you don't care")


def test_two_globals_of_one_name() -> None:
    error = error_of(
        """\
==9==ERROR: AddressSanitizer: odr-violation (0x5640):
  [1] size=4 'x' /src/a.cpp:1:5
  [2] size=8 'x' /src/b.cpp:1:5
These globals were registered at these points:
  [1]:
    #0 0x01 in f (/src/liba.so+0x1)

  [2]:
    #0 0x02 in f (/src/libb.so+0x2)

==9==HINT: if you don't care about these errors you may set ASAN_OPTIONS=detect_odr_violation=0
SUMMARY: AddressSanitizer: odr-violation: global 'x' at /src/a.cpp:1:5
==9==ABORTING
"""
    )
    assert (error.kind, error.address, error.stack) == ("odr-violation", 0x5640, None)
    assert error.details[:2] == ("[1] size=4 'x' /src/a.cpp:1:5", "[2] size=8 'x' /src/b.cpp:1:5")
    assert [(stack.title, stack.frames[0].module) for stack in error.others] == [
        ("[1]:", "/src/liba.so"),
        ("[2]:", "/src/libb.so"),
    ]
    assert error.summary is not None and error.summary.kind == "odr-violation"


def test_ranges_that_overlap_are_two_places() -> None:
    error = error_of(
        """\
==9==ERROR: AddressSanitizer: memcpy-param-overlap: memory ranges [0x7f01,0x7f11) and [0x7f00, 0x7f10) overlap
    #0 0x55 in __asan_memcpy (/src/app+0x55)

Address 0x7f01 is located in stack of thread T0 at offset 33 in frame
    #0 0x51 in main /src/a.cpp:6

  This frame has 1 object(s):
    [32, 96) 'buf' (line 7) <== Memory access at offset 33 is inside this variable
Address 0x7f00 is located in stack of thread T0 at offset 32 in frame
    #0 0x51 in main /src/a.cpp:6

  This frame has 1 object(s):
    [32, 96) 'buf' (line 7) <== Memory access at offset 32 is inside this variable
SUMMARY: AddressSanitizer: memcpy-param-overlap (/src/app+0x55) in __asan_memcpy
==9==ABORTING
"""
    )
    assert error.ranges == ((0x7F01, 0x7F11), (0x7F00, 0x7F10))
    assert [(place.address, place.frame_offset_bytes) for place in error.places] == [
        (0x7F01, 33),
        (0x7F00, 32),
    ]
    assert [len(place.objects) for place in error.places] == [1, 1]


@pytest.mark.parametrize(
    ("rest", "kind", "address", "thread", "size"),
    [
        ("attempting double-free on 0x6210 in thread T1 (w):", "double-free", 0x6210, "T1", None),
        (
            "attempting free on address which was not malloc()-ed: 0x6060 in thread T0",
            "bad-free",
            0x6060,
            "T0",
            None,
        ),
        (
            "alloc-dealloc-mismatch (operator new [] vs free) on 0x60c0",
            "alloc-dealloc-mismatch",
            0x60C0,
            None,
            None,
        ),
        ("negative-size-param: (size=-2)", "negative-size-param", None, None, -2),
        (
            "requested allocation size 0x3f (0x4000 after adjustments for alignment, red zones etc.) exceeds maximum "
            "supported size of 0x10000000000 (thread T0)",
            "allocation-size-too-big",
            None,
            "T0",
            0x3F,
        ),
        (
            "calloc parameters overflow: count * size (9 * 8) cannot be represented in type size_t (thread T0)",
            "calloc-overflow",
            None,
            "T0",
            None,
        ),
        (
            "invalid alignment requested in posix_memalign: 3, alignment must be a power of two and a multiple of "
            "sizeof(void*) == 8 (thread T0)",
            "invalid-posix-memalign-alignment",
            None,
            "T0",
            None,
        ),
        (
            "attempting to call malloc_usable_size() for pointer which is not owned: 0x5011",
            "bad-malloc_usable_size",
            0x5011,
            None,
            None,
        ),
        ("allocator is out of memory trying to allocate 0x10 bytes", "out-of-memory", None, None, 16),
        (
            "stack-overflow on address 0x7ffc (pc 0x55 bp 0x7f sp 0x7e T0)",
            "stack-overflow",
            0x7FFC,
            "T0",
            None,
        ),
        ("FPE on unknown address 0x5579 (pc 0x5579 sp 0x7f bp 0x7e T9748)", "FPE", 0x5579, "T9748", None),
        ("SEGV on unknown address (pc 0x55 bp 0x7f sp 0x7e T0)", "SEGV", None, "T0", None),
        ("invalid-pointer-pair: 0x5011 0x6011", "invalid-pointer-pair", 0x5011, None, None),
        ("wild-access on address 0x5011 at pc 0x1 bp 0x2 sp 0x3", "wild-access", 0x5011, None, None),
    ],
)
def test_headers(rest: str, kind: str, address: int | None, thread: str | None, size: int | None) -> None:
    head = head_of(f"==12==ERROR: AddressSanitizer: {rest}")
    assert head is not None and head.pid == 12 and head.message == rest
    assert (head.kind, head.address, head.thread, head.size_bytes) == (kind, address, thread, size)


@pytest.mark.parametrize(
    "text",
    [
        "ERROR: AddressSanitizer: heap-buffer-overflow",
        "==1==ERROR: libFuzzer: timeout",
        "==1==ERROR: AddressSanitizer failed to allocate 0x10 bytes",
        "==1==ERROR: AddressSanitizer: CHECK failed: a.cpp:1",
        "WARNING: ThreadSanitizer: data race",
        "====== ERROR: LeakCheck: detected memory leaks",
        "[mssanitizer] ERROR: x",
    ],
)
def test_what_is_no_header(text: str) -> None:
    assert head_of(text) is None


def test_a_kind_that_is_not_known_comes_from_the_summary() -> None:
    error = error_of(
        "==9==ERROR: AddressSanitizer: something odd happened\n    #0 0x1 in f /a.c:1\n\n"
        "SUMMARY: AddressSanitizer: odd-thing /a.c:1 in f\n==9==ABORTING\n"
    )
    assert (error.kind, error.message) == ("odd-thing", "something odd happened")


# ---- other tools ----


def test_an_uninitialised_value_and_the_way_it_took() -> None:
    error = error_of(
        """\
Uninitialized bytes in __interceptor_write at offset 3 inside [0x7010, 8)
==2764==WARNING: MemorySanitizer: use-of-uninitialized-value
    #0 0x5633 in CountKept(int const*, int) /src/msan.cpp:18:13

  Uninitialized value was stored to memory at
    #0 0x5634 in Copy /src/msan.cpp:15:3

  Uninitialized value was created by an allocation of 'mask' in the stack frame of function 'Make'
    #0 0x5635 in Make /src/msan.cpp:7

SUMMARY: MemorySanitizer: use-of-uninitialized-value /src/msan.cpp:18:13 in CountKept(int const*, int)
Exiting
"""
    )
    assert (error.tool, error.severity, error.kind) == (
        "MemorySanitizer",
        "warning",
        "use-of-uninitialized-value",
    )
    assert (error.pid, error.address, error.places) == (2764, None, ())
    assert [(stack.title, stack.frames[0].line) for stack in error.origins] == [
        ("Uninitialized value was stored to memory at", 15),
        (
            "Uninitialized value was created by an allocation of 'mask' in the stack frame of function 'Make'",
            7,
        ),
    ]
    assert error.details == ("Uninitialized bytes in __interceptor_write at offset 3 inside [0x7010, 8)",)


LEAKS = """\

=================================================================
==4413==ERROR: LeakSanitizer: detected memory leaks

Direct leak of 48 byte(s) in 3 object(s) allocated from:
    #0 0x7fc8 in operator new(unsigned long) ../../src/libsanitizer/asan/asan_new_delete.cpp:95
    #1 0x55c5 in MakePlan /src/leak.cpp:12

Objects leaked above:
0x502010 (16 bytes)
0x502030 (32 bytes)

Indirect leak of 12288 byte(s) in 3 object(s) allocated from:
    #0 0x7fc9 in malloc (/src/app+0xa414e)
    #1 0x55c6 in MakePlan /src/leak.cpp:13

Omitting 4 more leak(s).
-----------------------------------------------------
Suppressions used:
  count      bytes template
      6       8736 MakePlan
      1         16 ^std::vector of ints
-----------------------------------------------------

SUMMARY: AddressSanitizer: 12336 byte(s) leaked in 6 allocation(s).
"""


def test_leaks() -> None:
    records, reader = records_of(LEAKS)
    assert all(isinstance(record, Leak) and not record.is_cut for record in records)
    leaks = [record for record in records if isinstance(record, Leak)]
    assert [(leak.reach, leak.size_bytes, leak.n_objects, leak.pid) for leak in leaks] == [
        ("direct", 48, 3, 4413),
        ("indirect", 12288, 3, 4413),
    ]
    assert lines_of(leaks[0].stack) == [("operator new(unsigned long)", 95), ("MakePlan", 12)]
    assert leaks[0].objects == ((0x502010, 16), (0x502030, 32)) and leaks[1].objects == ()
    assert (leaks[0].span.line, leaks[0].span.last_line) == (5, 11)
    assert LEAKS.encode()[leaks[1].span.byte :].startswith(b"Indirect leak of 12288")
    state = reader.state
    assert state.tools == ("LeakSanitizer", "AddressSanitizer")
    assert state.suppressions == (
        Suppression(6, 8736, "MakePlan"),
        Suppression(1, 16, "^std::vector of ints"),
    )
    assert (state.summaries[0].leaked_bytes, state.summaries[0].n_allocations) == (12336, 6)
    assert state.incomplete == ("leaks-omitted",) and reader.problems == ()


def test_a_race() -> None:
    error = error_of(
        """\
==================
WARNING: ThreadSanitizer: data race (pid=4725)
  Read of size 4 at 0x556e by thread T2 (mutexes: write M1):
    #0 Add /src/race.cpp:10 (race+0x1258)

  Previous atomic write of size 8 at 0x556e by main thread:
    #0 main /src/race.cpp:11 (race+0x1270)

  Location is global 'g_done' of size 4 at 0x556e (race+0x509c)

  Mutex M1 (0x5570) created at:
    #0 pthread_mutex_init <null> (race+0x1)

  Thread T2 'pool' (tid=4728, running) created by main thread at:
    #0 pthread_create <null> (race+0x5e686)
    #1 main /src/race.cpp:17 (race+0x12fd)

SUMMARY: ThreadSanitizer: data race /src/race.cpp:10 in Add
==================
ThreadSanitizer: reported 1 warnings
"""
    )
    assert (error.tool, error.kind, error.pid, error.thread) == ("ThreadSanitizer", "data race", 4725, "T2")
    assert (error.access, error.size_bytes, error.address) == ("read", 4, 0x556E)
    assert lines_of(error.stack) == [("Add", 10)]
    assert [(stack.title, stack.thread, lines_of(stack)) for stack in error.others] == [
        ("Previous atomic write of size 8 at 0x556e by main thread:", "main thread", [("main", 11)]),
        ("Mutex M1 (0x5570) created at:", None, [("pthread_mutex_init", None)]),
    ]
    assert error.place is not None and error.place.variable == GlobalVariable("g_done", 0x556E, 4)
    assert [(start.thread, start.thread_name, start.parent) for start in error.created_by] == [
        ("T2", "pool", "main thread")
    ]


def test_a_tag_mismatch_has_its_cause() -> None:
    rows = "".join(
        f"{'=>' if i == 8 else '  '}0x{i:04x}: {'fb [08]' if i == 8 else '00  00'} 00 \n" for i in range(17)
    )
    error = error_of(
        f"""\
==9751==ERROR: HWAddressSanitizer: tag-mismatch on address 0x681014 at pc 0x5599
READ of size 4 at 0x681014 tags: 07/fb(0a) (ptr/mem) in thread T0
    #0 0x5599 in __hwasan_load4 (/src/app+0x15939)
    #1 0x559a in Gather /src/kv.cpp:32:12

[0x681000,0x681080) is a small unallocated heap chunk; size: 128 offset: 20

Cause: use-after-free
0x681014 is located 20 bytes inside a 128-byte region [0x681000,0x681080)
freed by thread T0 here:
    #0 0x559b in __sanitizer_free (/src/app+0x1d7d9)

Memory tags around the buggy address (one tag corresponds to 16 bytes):
{rows}Tags for short granules around the buggy address (one tag corresponds to 16 bytes):
  0x0000: ..  .. \n=>0x0001: .. [..]\n  0x0002: ..  ..
See https://clang.llvm.org/docs/HardwareAssistedAddressSanitizerDesign.html#short-granules for a description
Registers where the failure occurred (pc 0x5599):
    x0  0000000000000001  x1  00000000000000ff  x2  0000000000000000  x3  0000000000000000
SUMMARY: HWAddressSanitizer: tag-mismatch (/src/app+0x15939) in __hwasan_load4
"""
    )
    assert (error.kind, error.cause, error.access, error.thread) == (
        "tag-mismatch",
        "use-after-free",
        "read",
        "T0",
    )
    assert error.place is not None and error.place.allocation == Allocation(128, 0x681000, 0x681080)
    assert error.shadow is not None and len(error.shadow.rows) == 17
    assert (error.shadow.marked_row, error.shadow.marked_cell, error.shadow.marked) == (8, 1, "08")
    assert error.registers[:2] == (("x0", 1), ("x1", 255))


# ---- undefined behaviour ----


def undefined_of(text: str) -> list[UndefinedBehavior]:
    records, reader = records_of(text)
    assert reader.problems == ()
    found = [record for record in records if isinstance(record, UndefinedBehavior)]
    assert len(found) == len(records)
    return found


def test_undefined_behaviour_with_all_that_belongs_to_it() -> None:
    found = undefined_of(
        """\
step 1
/src/a.cpp:19:89: runtime error: load of misaligned address 0x7ffe69 for type 'const float', which requires 4 byte alignment
0x7ffe69: note: pointer points here
 00 00 00  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  01 00 00 00 02
              ^\x20
    #0 0x55 in LoadScale(char const*) /src/a.cpp:19:89
    #1 0x56 in main /src/a.cpp:31:25

SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior /src/a.cpp:19:89 in\x20
step 2
/src/a.cpp:20:3: runtime error: null pointer passed as argument 1, which is declared to never be null
/src/include/string.h:43:28: note: nonnull attribute specified here
SUMMARY: UndefinedBehaviorSanitizer: invalid-null-argument /src/a.cpp:20:3
step 3
/src/a.cpp:21:3: runtime error: division by zero
SUMMARY: UndefinedBehaviorSanitizer: float-divide-by-zero /src/a.cpp:21:3
"""
    )
    assert [(one.kind, one.file, one.line, one.column) for one in found] == [
        ("misaligned-pointer-use", "/src/a.cpp", 19, 89),
        ("invalid-null-argument", "/src/a.cpp", 20, 3),
        ("float-divide-by-zero", "/src/a.cpp", 21, 3),
    ]
    assert found[0].message.startswith("load of misaligned address 0x7ffe69 for type 'const float'")
    assert lines_of(found[0].stack) == [("LoadScale(char const*)", 19), ("main", 31)]
    assert found[0].notes == ("0x7ffe69: note: pointer points here",)
    assert found[1].notes == ("/src/include/string.h:43:28: note: nonnull attribute specified here",)
    assert found[1].stack is None and found[1].summary is not None
    assert [(one.span.line, one.span.last_line) for one in found] == [(2, 9), (11, 13), (15, 16)]


def test_messages_of_gcc_stand_alone() -> None:
    text = "".join(f"/src/a.cpp:{i}:5: runtime error: division by zero\n{i}\n" for i in range(1, 41))
    found = undefined_of(text)
    assert [one.line for one in found] == list(range(1, 41))
    assert not any(one.is_cut or one.is_mixed for one in found)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("/src/a.cpp:15:70", ("/src/a.cpp", 15, 70, None, None, None)),
        ("asan/my file.cpp:15:70", ("asan/my file.cpp", 15, 70, None, None, None)),
        ("/src/a.cpp:15", ("/src/a.cpp", 15, None, None, None, None)),
        ("/src/a.cpp:0:0", ("/src/a.cpp", 0, 0, None, None, None)),
        ("<unknown>", ("<unknown>", None, None, None, None, None)),
        ("(/src/app+0x12ab)", (None, None, None, "/src/app", 0x12AB, None)),
        ("0x00005580", (None, None, None, None, None, 0x5580)),
    ],
)
def test_where_a_diagnosis_is(where: str, expected: tuple[object, ...]) -> None:
    found = diagnosis_of(f"{where}: runtime error: division by zero")
    assert found is not None
    assert (found.file, found.line, found.column, found.module, found.module_offset, found.pc) == expected


@pytest.mark.parametrize(
    "text",
    [
        "panic: runtime error: index out of range [5] with length 3",
        "goroutine: runtime error: integer divide by zero",
        "RuntimeError: runtime error: x",
        "runtime error: division by zero",
        "/src/a.py:12: runtime error: no such thing",
    ],
)
def test_other_languages_have_runtime_errors_too(text: str) -> None:
    assert diagnosis_of(text) is None


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (
            "signed integer overflow: 65536 * 65536 cannot be represented in type 'int'",
            "signed-integer-overflow",
        ),
        (
            "unsigned integer overflow: 0 - 1 cannot be represented in type 'unsigned'",
            "unsigned-integer-overflow",
        ),
        (
            "negation of -2147483648 cannot be represented in type 'int'; cast to an unsigned type to negate this",
            "signed-integer-overflow",
        ),
        ("negation of 1 cannot be represented in type 'unsigned int'", "unsigned-integer-overflow"),
        ("division of -2147483648 by -1 cannot be represented in type 'int'", "signed-integer-overflow"),
        ("division by zero", "divide-by-zero"),
        ("shift exponent 32 is too large for 32-bit type 'int'", "invalid-shift-exponent"),
        ("shift exponent -1 is negative", "invalid-shift-exponent"),
        ("left shift of negative value -1", "invalid-shift-base"),
        ("left shift of 1 by 31 places cannot be represented in type 'int'", "invalid-shift-base"),
        ("index 4 out of bounds for type 'int [4]'", "out-of-bounds-index"),
        (
            "member access within misaligned address 0x1 for type 'T', which requires 4",
            "misaligned-pointer-use",
        ),
        ("store to misaligned address 0x1 for type 'T', which requires 4", "misaligned-pointer-use"),
        ("assumption of 16 byte alignment for pointer of type 'T' failed", "alignment-assumption"),
        ("member call on null pointer of type 'T'", "null-pointer-use"),
        ("reference binding to null pointer of type 'T'", "null-pointer-use"),
        ("load of address 0x1 with insufficient space for an object of type 'T'", "insufficient-object-size"),
        ("member call on address 0x1 which does not point to an object of type 'T'", "dynamic-type-mismatch"),
        ("applying zero offset to null pointer", "nullptr-with-offset"),
        ("applying non-zero offset 8 to null pointer", "nullptr-with-nonzero-offset"),
        (
            "applying non-zero offset to non-null pointer 0x1 produced null pointer",
            "nullptr-after-nonzero-offset",
        ),
        ("pointer index expression with base 0x1 overflowed to 0x0", "pointer-overflow"),
        ("addition of unsigned offset to 0x1 overflowed to 0x0", "pointer-overflow"),
        ("subtraction of unsigned offset from 0x1 overflowed to 0x0", "pointer-overflow"),
        ("load of value 7, which is not a valid value for type 'bool'", "invalid-bool-load"),
        ("load of value 7, which is not a valid value for type 'Mode'", "invalid-enum-load"),
        ("300 is outside the range of representable values of type 'unsigned char'", "float-cast-overflow"),
        ("implicit conversion from type 'int' of value -1 (32-bit, signed) to type", "implicit-conversion"),
        ("execution reached an unreachable program point", "unreachable-call"),
        ("execution reached a __builtin_unreachable() call", "unreachable-call"),
        (
            "execution reached the end of a value-returning function without returning a value",
            "missing-return",
        ),
        ("variable length array bound evaluates to non-positive value -1", "non-positive-vla-index"),
        ("null pointer passed as argument 1, which is declared to never be null", "invalid-null-argument"),
        ("null pointer returned from function declared to never return null", "invalid-null-return"),
        (
            "call to function f through pointer to incorrect function type 'void (*)()'",
            "function-type-mismatch",
        ),
        ("passing zero to __builtin_ctz(), which is not a valid argument", "invalid-builtin-use"),
        ("assumption is violated during execution", "invalid-builtin-use"),
        ("control flow integrity check for type 'T' failed during virtual call", "cfi-bad-type"),
        ("what a later version may say", "undefined-behavior"),
    ],
)
def test_kinds_of_messages(message: str, kind: str) -> None:
    assert kind_of(message) == kind


# ---- the runtime speaks of itself ----


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "==25==ASan runtime does not come first in initial library list; you should",
            ("runtime-refused", 25),
        ),
        ("Your application is linked against incompatible ASan runtimes.", ("runtime-refused", None)),
        (
            "==25==Shadow memory range interleaves with an existing memory mapping. ASan",
            ("runtime-refused", 25),
        ),
        (
            'AddressSanitizer: CHECK failed: a.cpp:56 "((0)) != (0)" (0x0, 0x0) (tid=3)',
            ("check-failed", None),
        ),
        ('==25==AddressSanitizer CHECK failed: a.cc:56 "((0)) != (0)"', ("check-failed", 25)),
        ("==25==LeakSanitizer has encountered a fatal error.", ("leak-check-failed", 25)),
        (
            "==25==HINT: LeakSanitizer does not work under ptrace (strace, gdb, etc)",
            ("leak-check-failed", 25),
        ),
        ("==25==ERROR: AddressSanitizer failed to allocate 0x10 (16) bytes of x", ("out-of-memory", 25)),
        ("==25==WARNING: AddressSanitizer failed to allocate 0x10 bytes", ("allocation-failed", 25)),
        (
            "==25==WARNING: ASan is ignoring requested __asan_handle_no_return: stack",
            ("no-return-ignored", 25),
        ),
        ("==25==WARNING: external symbolizer didn't start up correctly!", ("symbolizer-failed", 25)),
        ("external symbolizer", None),
        ("the log says CHECK failed:", None),
    ],
)
def test_trouble(text: str, expected: tuple[str, int | None] | None) -> None:
    assert trouble_of(text) == expected


def test_a_runtime_that_did_not_start_makes_the_log_incomplete() -> None:
    text = "==25==ASan runtime does not come first in initial library list; you should link it\n"
    records, reader = records_of(text)
    assert records == [] and reader.problems == ()
    state = reader.state
    assert (state.pids, state.incomplete, state.is_complete) == ((25,), ("runtime-refused",), False)
    assert (state.notes[0].line, state.notes[0].byte, state.notes[0].text) == (1, 0, text.strip())


def test_other_tools_reports_are_not_ours() -> None:
    records, reader = records_of(
        "====== ERROR: LeakCheck: detected memory leaks\n======    Direct leak of 320 byte(s)\n"
        "====== SUMMARY: 5184 byte(s) leaked in 3 allocation(s)\n========= COMPUTE-SANITIZER\n"
        "==25== Invalid read of size 4\n    #0 0x1 in f /a.c:1\n0x1 is located 1 bytes inside of x\n"
    )
    assert records == [] and reader.state.is_complete and reader.state.tools == ()
