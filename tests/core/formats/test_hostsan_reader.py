# ruff: noqa: E501 - log lines as they are
"""How the bytes come must not matter: cut anywhere, mixed, coloured, behind prefixes, broken off, hostile."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import npulse
from npulse.core.errors import Cancelled, InputError
from npulse.core.findings import Problem
from npulse.core.formats.hostsan import (
    Leak,
    LogState,
    Reader,
    Record,
    SanitizerError,
    Span,
    Stack,
    UndefinedBehavior,
    read_log,
    reader,
)
from npulse.core.formats.hostsan.assembly import MAX_OPEN
from npulse.core.formats.hostsan.drafts import PATIENT
from npulse.core.formats.hostsan.facts import SHOWN_PROBLEMS
from npulse.core.progress import Progress


def error(
    pid: int = 11, pc: int = 0x5500, at: int = 0x5054, *, legend: bool = True, aborting: bool = True
) -> list[str]:
    """A short but whole report of an access at an address."""
    row = (at & ~7) - 8
    rows = [
        f"{'=>' if i == 5 else '  '}0x{row + 16 * (i - 5):04x}: 00 {'[fa]' if i == 5 else 'fa'}"
        for i in range(11)
    ]
    names = ("Addressable: 00", "Heap left redzone: fa", "ASan internal: fe", "Right alloca redzone: cb")
    return [
        "=" * 65,
        f"=={pid}==ERROR: AddressSanitizer: heap-use-after-free on address 0x{at:x} at pc 0x{pc + 1:x} bp 0x7f sp 0x7e",
        f"READ of size 4 at 0x{at:x} thread T0",
        f"    #0 0x{pc:x} in Gather(float const*) /src/kv.cpp:32:12",
        f"    #1 0x{pc + 16:x} in main /src/kv.cpp:40:25",
        "",
        f"0x{at:x} is located 20 bytes inside of 128-byte region [0x{at - 20:x},0x{at + 108:x})",
        "freed by thread T0 here:",
        f"    #0 0x{pc + 32:x} in free (/src/app+0xcb336)",
        f"    #1 0x{pc + 48:x} in Evict /src/kv.cpp:25:5",
        "",
        "previously allocated by thread T0 here:",
        f"    #0 0x{pc + 64:x} in malloc (/src/app+0xcb5cf)",
        f"    #1 0x{pc + 80:x} in NewBlock /src/kv.cpp:15:33",
        "",
        "SUMMARY: AddressSanitizer: heap-use-after-free /src/kv.cpp:32:12 in Gather(float const*)",
        "Shadow bytes around the buggy address:",
        *rows,
        *(["Shadow byte legend (one shadow byte represents 8 application bytes):"] if legend else []),
        *((f"  {name}" for name in names) if legend else []),
        *([f"=={pid}==ABORTING"] if aborting else []),
    ]


LEAKS = [
    "=" * 65,
    "==12==ERROR: LeakSanitizer: detected memory leaks",
    "",
    "Direct leak of 48 byte(s) in 3 object(s) allocated from:",
    "    #0 0x7fc8 in malloc (/src/app+0x1)",
    "    #1 0x55c5 in MakePlan /src/leak.cpp:12:15",
    "",
    "Indirect leak of 768 byte(s) in 3 object(s) allocated from:",
    "    #0 0x7fc9 in calloc (/src/app+0x2)",
    "    #1 0x55c6 in MakePlan /src/leak.cpp:14:40",
    "",
    "SUMMARY: LeakSanitizer: 816 byte(s) leaked in 6 allocation(s).",
]
UNDEFINED = [
    "/src/tiling.cpp:15:70: runtime error: signed integer overflow: 65536 * 65536 cannot be represented in type 'int'",
    "    #0 0x563a in TotalLength /src/tiling.cpp:15:70",
    "    #1 0x563b in main /src/tiling.cpp:27:25",
    "",
    "SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior /src/tiling.cpp:15:70 in ",
    "/src/tiling.cpp:16:54: runtime error: division by zero",
    "/src/tiling.cpp:19:89: runtime error: load of misaligned address 0x7f81 for type 'float', which requires 4 byte alignment",
    "0x7f81: note: pointer points here",
    " 00 00 00  00 00 00 00 00",
    "              ^ ",
]
UNINITIALISED = [
    "==13==WARNING: MemorySanitizer: use-of-uninitialized-value",
    "    #0 0x5633 in CountKept /src/msan.cpp:18:13",
    "",
    "  Uninitialized value was created by a heap allocation",
    "    #0 0x5634 in malloc (/src/app+0x56c90)",
    "    #1 0x5635 in MakeMask /src/msan.cpp:7:36",
    "",
    "SUMMARY: MemorySanitizer: use-of-uninitialized-value /src/msan.cpp:18:13 in CountKept",
    "Exiting",
]
PROGRAM = ["step 1 loss=2.33", "step 2 loss=2.29 ==", "  indented", "READ the manual", "0x12 is a number"]
LOG = [*PROGRAM, *error(), *PROGRAM, *LEAKS, *UNDEFINED, *PROGRAM, *UNINITIALISED, *PROGRAM]
SMALL = [
    *PROGRAM[:2],
    *error(legend=False),
    *LEAKS[1:],
    *UNDEFINED[5:],
    *UNINITIALISED[:5],
    *UNINITIALISED[7:],
]

Result = tuple[list[Record], LogState, tuple[Problem, ...]]


def raw_of(lines: list[str], end: str = "\n") -> bytes:
    return "".join(line + end for line in lines).encode()


def read(content: bytes, cuts: list[int] | None = None) -> Result:
    found = Reader("a.log")
    edges = [0, *sorted(cut % (len(content) + 1) for cut in cuts or ()), len(content)]
    records = [record for start, end in pairwise(edges) for record in found.feed(content[start:end])]
    records += found.finish()
    return records, found.state, found.problems


def without_place(records: list[Record]) -> list[Record]:
    """Records as they are wherever they stand and whatever is written before their lines."""
    there = Span(0, 0, 0, 0)
    plain: list[Record] = []
    for record in records:
        if not isinstance(record, Leak) and record.summary is not None:
            record = replace(record, summary=replace(record.summary, line=0, byte=0))
        plain.append(replace(record, span=there, prefix=""))
    return plain


WHOLE = read(raw_of(LOG))


def test_what_the_log_of_these_tests_holds() -> None:
    records, state, problems = WHOLE
    assert [type(record) for record in records] == [
        SanitizerError,
        *[Leak] * 2,
        *[UndefinedBehavior] * 3,
        SanitizerError,
    ]
    assert (
        problems == ()
        and state.is_complete
        and state.pids == (11, 12, 13)
        and state.aborting_pids == (11, 13)
    )
    assert not any(record.is_cut or record.is_mixed for record in records)
    assert state.tools == (
        "AddressSanitizer",
        "LeakSanitizer",
        "UndefinedBehaviorSanitizer",
        "MemorySanitizer",
    )


# ---- cuts of the stream ----


def test_the_stream_can_be_cut_in_two_at_every_byte() -> None:
    content = raw_of(SMALL)
    whole = read(content)
    assert len(whole[0]) == 6 and whole[2] == ()
    for cut in range(0, len(content) + 1):
        assert read(content, [cut]) == whole, cut


def test_the_stream_can_come_byte_by_byte() -> None:
    content = raw_of(LOG)
    assert read(content, list(range(len(content)))) == WHOLE


@given(st.lists(st.integers(0, 1 << 30), max_size=60))
def test_the_stream_can_be_cut_anywhere(cuts: list[int]) -> None:
    assert read(raw_of(LOG), cuts) == WHOLE


def test_a_record_comes_with_the_line_that_ends_it() -> None:
    found = Reader()
    content = raw_of(error())
    assert found.feed(content[:-1]) == [] and len(found.feed(b"\n")) == 1
    content = raw_of(LEAKS)
    at = content.index(b"Indirect leak")
    assert (
        found.feed(content[:at]) == []
        and len(found.feed(content[at:-1])) == 1
        and len(found.feed(b"\n")) == 1
    )
    assert found.finish() == [] == found.finish()
    with pytest.raises(ValueError, match="finished"):
        found.feed(b"x")


def test_what_may_go_on_can_be_looked_at() -> None:
    found = Reader()
    content = raw_of(UNDEFINED[5:6])
    assert found.feed(content) == []
    (pending,) = found.pending
    assert isinstance(pending, UndefinedBehavior) and not pending.is_cut
    found.feed(raw_of(error()[:7]))
    (pending,) = found.pending
    assert isinstance(pending, SanitizerError) and pending.is_cut and pending.place is not None
    assert found.state.incomplete == ("in progress",)
    found.feed(raw_of(LEAKS[:6]))
    assert [type(record) for record in found.pending] == [SanitizerError, Leak]
    assert len(found.finish()) == 2 and found.pending == []


def test_a_reader_can_be_put_away_and_taken_up_again() -> None:
    content = raw_of(LOG)
    found, records = Reader("a.log"), []
    for start in range(0, len(content), 97):
        found = pickle.loads(pickle.dumps(found))
        records += found.feed(content[start : start + 97])
    records += found.finish()
    assert (records, found.state, found.problems) == WHOLE


def test_reading_goes_on_behind_what_was_read_before() -> None:
    head, tail = raw_of(PROGRAM), raw_of(LOG[len(PROGRAM) :])
    found = Reader("a.log", line=len(PROGRAM) + 1, byte=len(head))
    records = [*found.feed(tail), *found.finish()]
    assert records == WHOLE[0] and found.state.n_bytes == len(head) + len(tail)


# ---- cuts of the log ----


def test_a_log_that_ends_at_any_byte() -> None:
    content = raw_of(SMALL)
    all_of_it = read(content)[0]
    for size in range(len(content)):
        records, state, problems = read(content[:size])
        assert records[:-1] == all_of_it[: len(records)][:-1]  # only the last one can be another
        assert state.n_truncated == sum(record.is_cut for record in records) <= 1
        if state.n_truncated or problems:
            (problem,) = problems
            assert problem.kind == "cut-off" and problem.byte is not None and problem.byte <= size
            assert state.incomplete == ("cut-off",)


@pytest.mark.parametrize(
    ("n_lines", "missing"),
    [
        (2, "its summary"),
        (3, "its summary"),
        (9, "its summary"),
        (14, "its summary"),
        (16, "its shadow bytes"),
        (17, "the end of its shadow bytes"),
        (27, "the end of its shadow bytes"),
        (29, "the end of its legend"),
    ],
)
def test_what_is_missing_is_told(n_lines: int, missing: str) -> None:
    content = raw_of(error()[:n_lines])
    (record,), state, (problem,) = read(content)
    assert record.is_cut and state.incomplete == ("cut-off",)
    assert problem == Problem(
        "a.log", "cut-off", f"the report that begins in line 2 ends before {missing}", n_lines, len(content)
    )
    assert record.span.end_byte == len(content)


@pytest.mark.parametrize("behind", [["bye"], ["", "bye", "bye"], error(), LEAKS], ids=["a", "b", "c", "d"])
def test_what_stands_behind_a_summary_shows_that_the_report_ended_there(behind: list[str]) -> None:
    first = min(read(raw_of([*error()[:16], *behind]))[0], key=lambda record: record.span.line)
    assert isinstance(first, SanitizerError) and not first.is_cut and first.span.last_line == 16
    state = read(raw_of([*error()[:16], "bye"]))[1]
    assert state.is_complete and state.n_truncated == 0


@pytest.mark.parametrize("rest", ["", "\n\n", "Shadow by", "Shadow bytes around the buggy address:"])
def test_nothing_behind_a_summary_shows_no_end(rest: str) -> None:
    records, state, _ = read(raw_of(error()[:16]) + rest.encode())
    assert [record.is_cut for record in records] == [True] and state.incomplete == ("cut-off",)


HEADLESS = "SUMMARY: AddressSanitizer: heap-use-after-free /src/a.cpp:9:3 in f"


def test_a_summary_without_its_report_is_told() -> None:
    records, state, problems = read(raw_of(["    #2 0x55 in f /src/a.cpp:9:3", HEADLESS, "==5==ABORTING"]))
    assert records == [] and state.incomplete == ("lost-begin",)
    assert [(one.kind, one.line) for one in problems] == [("bad-record", 2)]
    damaged = [line.replace("==ERROR: ", "=\x87ERROR: ") for line in error()]
    assert read(raw_of(damaged))[1].incomplete == ("lost-begin",)


def test_a_late_summary_of_undefined_behaviour_is_no_loss() -> None:
    assert read(raw_of([UNDEFINED[0], *PROGRAM * 40, UNDEFINED[4]]))[1].is_complete
    assert read(raw_of([UNDEFINED[4]]))[1].incomplete == ("lost-begin",)


@pytest.mark.parametrize("legend", [True, False])
def test_without_aborting_a_report_ends_with_its_last_table(legend: bool) -> None:
    """As with halt_on_error=0, and with print_legend=0."""
    (record,), state, problems = read(raw_of(error(legend=legend, aborting=False)))
    assert not record.is_cut and problems == () and not state.is_aborting
    lines = [*error(legend=legend, aborting=False), *PROGRAM, *error(11, 0x6600), *PROGRAM]
    records, _, problems = read(raw_of(lines))
    assert len(records) == 2 and problems == () and not any(record.is_cut for record in records)


def test_a_process_that_begins_anew_leaves_a_cut_report() -> None:
    lines = [*error()[:10], *error()]
    first, second = read(raw_of(lines))[0]
    assert first.is_cut and not second.is_cut and first.span.last_line == 10


def test_a_line_without_end_may_be_cut_itself() -> None:
    (record,), state, (problem,) = read(b"/src/a.cpp:1:5: runtime error: division by ze")
    assert isinstance(record, UndefinedBehavior) and record.is_cut and record.kind == "undefined-behavior"
    assert problem.message.endswith("ends before the end of its last line") and state.n_lines == 1
    content = raw_of(error())[:-1]  # only the last line end is missing
    (record,), _, problems = read(content)
    assert not record.is_cut and problems == () and record.span.end_byte == len(content)


def test_of_a_report_of_leaks_the_leaks_before_the_cut_are_whole() -> None:
    (leak,), state, (problem,) = read(raw_of(LEAKS[:7]))
    assert isinstance(leak, Leak) and not leak.is_cut
    assert problem.message.endswith("before its summary") and state.incomplete == ("cut-off",)
    (first, second), _, _ = read(raw_of(LEAKS[:9]))
    assert (first.is_cut, second.is_cut) == (False, True)


def test_a_report_that_nobody_goes_on_with_is_given_up() -> None:
    lines = [*error()[:8], *["training goes on"] * (PATIENT + 1)]
    found = Reader()
    records = found.feed(raw_of(lines))
    assert len(records) == 1 and records[0].is_cut and records[0].span.last_line == 8


# ---- program output and other processes between the lines ----


@given(
    st.lists(st.integers(0, len(LOG)), max_size=20),
    st.sampled_from(PROGRAM[:2] + ["[rank 3] done", "50%|##  |", "{"]),
)
def test_program_output_between_any_two_lines(places: list[int], text: str) -> None:
    lines = list(LOG)
    for place in sorted(places, reverse=True):
        if place not in range(LOG.index(UNDEFINED[0]), LOG.index(UNDEFINED[-1]) + 1):
            lines.insert(place, text)
    records, _, problems = read(raw_of(lines))
    assert without_place(records) == without_place(WHOLE[0]) and problems == ()


def frames_of(stack: Stack | None) -> list[int | None]:
    return [] if stack is None else [frame.pc for frame in stack.frames]


def mixed(parts: list[list[list[str]]], order: list[int]) -> list[str]:
    """The blocks of several reports, each in its order, one after the other as `order` says."""
    left = [list(part) for part in parts]
    lines: list[str] = []
    for i in [*order, *range(len(parts)), *range(len(parts))]:
        if left[i % len(parts)]:
            lines += left[i % len(parts)].pop(0)
    for part in left:
        for block in part:
            lines += block
    return lines


def blocks(pid: int) -> list[list[str]]:
    """A report in the pieces that a process writes at once."""
    lines = error(pid, 0x1000 * pid)
    return [lines[:3], lines[3:16], lines[16:]]


@given(st.permutations(range(5)), st.lists(st.integers(0, 4), max_size=15))
def test_heads_first_and_bodies_later(heads: list[int], order: list[int]) -> None:
    parts = [blocks(pid) for pid in range(20, 25)]
    lines = [line for i in heads for line in parts[i][0]]
    lines += mixed([part[1:] for part in parts], order)
    records, state, problems = read(raw_of(lines))
    assert problems == () and sorted(state.aborting_pids) == [20, 21, 22, 23, 24]
    errors = [record for record in records if isinstance(record, SanitizerError)]
    assert sorted(one.pid or 0 for one in errors) == [20, 21, 22, 23, 24]
    for one in errors:
        assert one.pid is not None
        pc = 0x1000 * one.pid
        assert frames_of(one.stack) == [pc, pc + 16]
        assert frames_of(one.freed_by) == [pc + 32, pc + 48]
        assert frames_of(one.allocated_by) == [pc + 64, pc + 80]
        assert one.access == "read" and one.summary is not None and not one.is_cut
        assert one.shadow is not None and len(one.shadow.rows) == 11


@given(st.permutations(range(4)), st.lists(st.integers(0, 3), max_size=20))
def test_forked_processes_fail_at_the_same_instruction(heads: list[int], order: list[int]) -> None:
    """Their stacks cannot be told apart and are the same; addresses and process ids tell the rest."""
    reports = [error(40 + i, 0x5500, 0x9054 + 0x1000 * i) for i in range(4)]
    parts = [[lines[:3], lines[3:6], lines[6:16], lines[16:]] for lines in reports]
    lines = [line for i in heads for line in parts[i][0]]
    lines += mixed([part[1:] for part in parts], order)
    records, _, problems = read(raw_of(lines))
    assert problems == ()
    errors = {record.pid: record for record in records if isinstance(record, SanitizerError)}
    for i in range(4):
        one = errors[40 + i]
        assert one.place is not None and one.address == one.place.address == 0x9054 + 0x1000 * i
        assert frames_of(one.stack) == [0x5500, 0x5510] and frames_of(one.allocated_by) == [0x5540, 0x5550]
        assert one.shadow is not None and one.shadow.rows[5].address == 0x9048 + 0x1000 * i
        assert one.summary is not None and not one.others and len(one.places) == 1


def test_a_stack_can_be_torn_apart_by_another_process() -> None:
    one, two = error(20, 0x2000), error(21, 0x3000)
    lines = [*one[:9], *two[:14], *one[9:14], *two[14:16], *one[14:], *two[16:]]
    records = [record for record in read(raw_of(lines))[0] if isinstance(record, SanitizerError)]
    assert sorted((record.pid, record.is_mixed, record.is_cut) for record in records) == [
        (20, True, False),
        (21, True, False),
    ]
    by_pid = {record.pid: record for record in records}
    assert frames_of(by_pid[21].stack) == [0x3000, 0x3010] and frames_of(by_pid[20].freed_by)[0] == 0x2020


def test_undefined_behaviour_of_two_processes() -> None:
    first = UNDEFINED[:5]
    second = [line.replace(":15:70", ":16:1").replace(":27:25", ":28:1") for line in first]
    lines = [first[0], second[0], *first[1:4], *second[1:4], first[4], second[4]]
    records = [record for record in read(raw_of(lines))[0] if isinstance(record, UndefinedBehavior)]
    found = sorted(
        (one.line, [frame.line for frame in one.stack.frames]) for one in records if one.line and one.stack
    )
    assert found == [(15, [15, 27]), (16, [16, 28])]
    assert all(one.summary is not None for one in records)


# ---- how the text is dressed ----


def coloured(line: str) -> str:
    return f"\x1b[1m\x1b[31m{line}\x1b[1m\x1b[0m" if line else line


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(raw_of(LOG, "\r\n"), id="CR LF"),
        pytest.param(raw_of(LOG, "\r\r\n"), id="CR CR LF"),
        pytest.param(raw_of([coloured(line) for line in LOG]), id="colours"),
        pytest.param(raw_of([coloured(line) for line in LOG], "\r\n"), id="colours and CR LF"),
        pytest.param(raw_of([coloured(line + "\r") for line in LOG]), id="colours behind CR"),
        pytest.param(raw_of([f" 50%|##  |\r100%|####|\r{line}" for line in LOG]), id="progress bars"),
        pytest.param(b"\xef\xbb\xbf" + raw_of(LOG[len(PROGRAM) + 1 :]), id="byte order mark"),
    ],
)
def test_dress_does_not_matter(content: bytes) -> None:
    records, state, problems = read(content)
    assert without_place(records) == without_place(WHOLE[0]) and problems == () and state.is_complete
    assert read(content, list(range(0, len(content), 5))) == (records, state, problems)


PREFIXES = [
    "[default3]:",
    "[rank0]: ",
    "12: ",
    "[1,3]<stderr>:",
    "worker-1  | ",
    "\x1b[36m(WorkerProc pid=221633)\x1b[0m ",
    "2026-01-20T02:27:59.123456789Z stderr F ",
]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("is_stripped", [False, True])
def test_prefixes_do_not_matter(prefix: str, is_stripped: bool) -> None:
    lines = [prefix + line for line in LOG]
    if is_stripped:
        lines = [line.rstrip() if line == prefix else line for line in lines]
    records, state, problems = read(raw_of(lines))
    assert without_place(records) == without_place(WHOLE[0]) and problems == ()
    bare = prefix.replace("\x1b[36m", "").replace("\x1b[0m", "")
    assert {record.prefix for record in records} == {bare} and state.prefixes == (bare,)


def test_times_in_a_prefix_do_not_matter() -> None:
    lines = [f"2026-01-20 02:{i // 60:02}:{i % 60:02},{i:03} [rank1] {line}" for i, line in enumerate(LOG)]
    records, _, problems = read(raw_of(lines))
    assert without_place(records) == without_place(WHOLE[0]) and problems == ()


def test_a_prefix_that_nobody_knows_is_learnt_from_the_next_line() -> None:
    for lines in (error(), LEAKS, UNINITIALISED):
        plain = read(raw_of(lines))[0]
        records, state, _ = read(raw_of([f"<<node-7>> {line}" for line in lines]))
        assert without_place(records) == without_place(plain) and state.prefixes == ("<<node-7>> ",)


def test_text_that_a_program_left_before_a_header_is_no_prefix() -> None:
    records, state, _ = read(raw_of(["loading 50%" + UNINITIALISED[0], *UNINITIALISED[1:]]))
    assert without_place(records) == without_place(read(raw_of(UNINITIALISED))[0])
    assert records[0].prefix == "" and state.prefixes == ()


@given(st.lists(st.integers(0, 3), max_size=120))
def test_ranks_behind_prefixes_may_be_mixed_line_by_line(order: list[int]) -> None:
    """Even with the same addresses, as after a fork."""
    ranks = [[f"[default{rank}]:{line}" for line in error(30 + rank, 0x5500)] for rank in range(4)]
    left = [list(lines) for lines in ranks]
    lines = [left[rank].pop(0) for rank in order if left[rank]]
    lines += [line for rest in left for line in rest]
    records, state, problems = read(raw_of(lines))
    assert problems == () and len(state.prefixes) == 4 == len(records)
    for record in records:
        assert isinstance(record, SanitizerError) and not record.is_mixed
        assert record.prefix == f"[default{(record.pid or 0) - 30}]:"
        assert len(frames_of(record.allocated_by)) == 2 and record.shadow is not None


@pytest.mark.parametrize("encoding", ["utf-8", "gbk"])
def test_names_in_other_encodings(encoding: str) -> None:
    text = "/源码/算子.cpp:15:7: runtime error: division by zero\n"
    (record,), _, problems = read(text.encode(encoding))
    assert isinstance(record, UndefinedBehavior) and record.file == "/源码/算子.cpp" and problems == ()


def test_bytes_of_no_encoding_are_told_once_and_only_in_reports() -> None:
    bad = b"/src/\xff\xff.cpp:15:7: runtime error: division by zero\n"
    records, _, problems = read(b"\xff\xff\n" + bad + bad)
    assert len(records) == 2
    assert problems == (
        Problem("a.log", "encoding", "a line is neither UTF-8 nor GBK; bytes of it are shown as '?'", 2, 3),
    )


def test_utf16_is_told() -> None:
    content = "".join(f"{line}\n" for line in error()).encode("utf-16")
    records, state, (problem,) = read(content, [1])
    assert records == [] and problem.kind == "encoding" and state.incomplete == ("encoding",)


# ---- bounds ----


def test_texts_have_at_most_4096_characters() -> None:
    long = "x" * 9000
    lines = error()
    lines[3] = f"    #0 0x5500 in f{long}() /src/{long}.cpp:1:2"
    lines[15] = f"SUMMARY: AddressSanitizer: heap-use-after-free /src/{long}.cpp:1:2 in f{long}"
    (record,) = read(raw_of([*lines]))[0]
    assert isinstance(record, SanitizerError) and record.stack is not None and record.summary is not None
    frame = record.stack.frames[0]
    assert frame.function is not None and frame.file is not None and frame.line == 1
    assert [len(text) for text in (frame.function, frame.file, record.summary.text)] == [4096] * 3
    (record,) = read(raw_of([f"/src/a.cpp:1:2: runtime error: {long}"]))[0]
    assert isinstance(record, UndefinedBehavior) and len(record.message) == 4096


def test_a_stack_without_end_is_kept_in_part() -> None:
    lines = error()
    lines[4:5] = [f"    #{i} 0x{i:x} in Reduce(long) /src/deep.cpp:11:12" for i in range(1, 3000)]
    (record,) = read(raw_of(lines))[0]
    assert isinstance(record, SanitizerError) and record.stack is not None
    assert (record.stack.n_frames, len(record.stack.frames)) == (3000, 512)


def test_equal_stacks_of_a_log_share_their_frames() -> None:
    first, second = read(raw_of([*error(11), *error(12)]))[0]
    assert isinstance(first, SanitizerError) and isinstance(second, SanitizerError)
    assert first.stack is not None and second.stack is not None
    assert all(a is b for a, b in zip(first.stack.frames, second.stack.frames, strict=True))


def test_not_without_end_many_reports_are_held_open() -> None:
    heads = [line for pid in range(1, MAX_OPEN + 51) for line in error(pid)[:3]]
    found = Reader("a.log")
    records = found.feed(raw_of(heads))
    assert [record.pid for record in records if isinstance(record, SanitizerError)] == list(range(1, 51))
    assert len(found.finish()) == MAX_OPEN
    assert len(found.problems) == SHOWN_PROBLEMS + 1
    assert found.problems[-1].kind == "limit" and found.state.n_truncated == MAX_OPEN + 50


def test_prefixes_without_end() -> None:
    lines = [f"[{i}]:" + line for i in range(1000) for line in error(i)]
    assert len(read(raw_of(lines))[0]) >= 1000


def test_a_line_that_is_too_long_is_left_out_and_told() -> None:
    lines = error()
    lines.insert(4, "x" * 70_000)
    content = raw_of(lines)
    (record,), state, (problem,) = read(content)
    assert not record.is_cut and state.incomplete == ("too-large",)
    assert (problem.kind, problem.line, problem.byte) == ("too-large", 5, len(raw_of(lines[:4])))
    assert read(content, list(range(0, len(content), 999))) == ([record], state, (problem,))


_HUGE = """
import resource, sys
from npulse.core.formats.hostsan import Reader
reader = Reader("a.log")
head = b"==1==ERROR: LeakSanitizer: detected memory leaks\\n\\n"
end = b"\\nSUMMARY: LeakSanitizer: 1 byte(s) leaked in 1 allocation(s).\\n"
reader.feed(head)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(50):
    reader.feed(b"x" * (1 << 20))
reader.feed(end)
reader.finish()
grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(grown_kib, reader.state.n_lines, reader.state.n_bytes, *[p.kind for p in reader.problems])
"""


def test_a_line_of_50_megabytes_takes_no_memory() -> None:
    root = str(Path(npulse.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", _HUGE],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": root},
    )
    grown_kib, n_lines, n_bytes, *kinds = done.stdout.split()
    assert int(grown_kib) < 8 << 10
    assert (int(n_lines), kinds) == (4, ["too-large"]) and int(n_bytes) > 50 << 20


# ---- anything at all ----

_PIECES = [line.encode() for line in LOG] + [
    b"==1==",
    b"ERROR: AddressSanitizer: ",
    b"    #0 0x1 in ",
    b" (BuildId: ",
    b"0x1 is located ",
    b"runtime error: ",
    b"\x1b[1m",
    b"\r",
    b"\xff",
    b"9" * 400,
    b"0x" + b"f" * 400,
    b"(" * 300,
    b"[rank0]: ",
    b"SUMMARY: UndefinedBehaviorSanitizer: ",
    b"Suppressions used:",
    b"      1          2 x",
]


@given(st.binary(max_size=4000))
def test_random_bytes_raise_nothing(content: bytes) -> None:
    assert read(content) == read(content, list(range(0, len(content), 3)))


@given(
    st.lists(
        st.lists(st.sampled_from(_PIECES), max_size=4).map(b"".join) | st.sampled_from(_PIECES), max_size=60
    ),
    st.lists(st.integers(0, 1 << 20), max_size=8),
)
def test_lines_in_any_order_raise_nothing(lines: list[bytes], cuts: list[int]) -> None:
    content = b"\n".join(lines)
    whole = read(content)
    assert read(content, cuts) == whole
    assert whole[1].n_records == len(whole[0]) and whole[1].n_bytes == len(content)


@given(st.data())
def test_broken_logs_raise_nothing(data: st.DataObject) -> None:
    content = bytearray(raw_of(LOG))
    for _ in range(data.draw(st.integers(1, 20))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    read(bytes(content))


_TRAPS = [
    *(
        "==1==ERROR: A",
        "    #0 0x1 in f(",
        "SUMMARY: AddressSanitizer: ",
        " in ",
        " /",
        "(",
        ")",
        "'",
        "' defined in '",
    ),
    *(
        "0x1 is located 1 bytes inside of global variable '",
        "runtime error: ",
        ": runtime error: ",
        ":1",
        "+0x1",
    ),
    *(
        "[default3]: ",
        "12: ",
        "a | ",
        "2026-01-01 00:00:00 ",
        "(a b) ",
        "=",
        " 00",
        " ^",
        "~",
        " ",
        "-",
        "\x1b[",
        "\r",
    ),
    *(
        " (BuildId: ",
        "    [1, 2) 'a' ",
        "a = 0x1 ",
        "Sanitizer: ",
        "negation of ",
        "index 1 out of bounds ",
        "a misaligned ",
    ),
]


@pytest.mark.parametrize(
    "start",
    [
        "",
        "    #1 0x1 in ",
        "SUMMARY: AddressSanitizer: heap-use-after-free ",
        "  ",
        "==1==",
        "0x1 is located 1 bytes inside of ",
    ],
)
def test_no_line_takes_long(start: str) -> None:
    """Repeated pieces that make careless patterns take seconds, inside and outside of a report."""
    import time

    for trap in _TRAPS:
        line = start + trap * (60_000 // len(trap))
        for before in ([], error()[:6], LEAKS[:6], UNDEFINED[6:8], ["[r]: " + error()[1]]):
            content = raw_of([*before, line])
            began = time.process_time()
            read(content)
            assert time.process_time() - began < 1.0, (trap, before[:2])


# ---- files ----


def test_a_file_is_read_in_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "asan.log"
    path.write_bytes(raw_of(LOG))
    monkeypatch.setattr(reader, "WINDOW_BYTES", 100)
    seen: list[Progress] = []
    log = read_log(path, root=tmp_path, progress=seen.append)
    assert list(log.records) == WHOLE[0] and log.state == WHOLE[1] and log.problems == ()
    assert (log.path, log.size_bytes) == (path, len(raw_of(LOG)))
    assert [step.done for step in seen] == [*range(100, log.size_bytes, 100), log.size_bytes]
    assert {(step.stage, step.total, step.unit) for step in seen} == {("read", log.size_bytes, "bytes")}


def test_records_of_a_file_are_in_the_order_in_which_they_begin(tmp_path: Path) -> None:
    one, two = error(20, 0x2000), error(21, 0x3000)
    path = tmp_path / "asan.log"
    path.write_bytes(raw_of([*one[:3], *two, *one[3:]]))
    log = read_log(path, root=tmp_path)
    assert [record.pid for record in log.records if isinstance(record, SanitizerError)] == [20, 21]


def test_not_more_records_are_kept_than_a_file_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ubsan.log"
    path.write_bytes(raw_of([UNDEFINED[5]] * 30))
    monkeypatch.setattr(reader, "MAX_RECORDS", 20)
    log = read_log(path, root=tmp_path)
    assert len(log.records) == 20 and log.state.n_records == 30
    assert [(problem.kind, problem.artifact) for problem in log.problems] == [("limit", "ubsan.log")]
    assert log.problems[0].message == "only 20 of 30 records are kept"


def test_reading_can_be_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "asan.log"
    path.write_bytes(raw_of(LOG))
    with pytest.raises(Cancelled):
        read_log(path, root=tmp_path, is_cancelled=lambda: True)


def test_an_empty_file_is_a_log_without_records(tmp_path: Path) -> None:
    path = tmp_path / "asan.log"
    path.touch()
    log = read_log(path, root=tmp_path)
    assert (log.records, log.problems, log.state.n_lines) == ((), (), 0) and log.state.is_complete


def test_no_file_outside_of_the_run_is_read(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    outside = tmp_path / "asan.log"
    outside.write_bytes(raw_of(LOG))
    (run / "link.log").symlink_to(outside)
    for path in (run / "link.log", run / ".." / "asan.log", run / "missing.log", run, Path("/dev/null")):
        with pytest.raises(InputError):
            read_log(path, root=run)


def test_a_named_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError):
        read_log(tmp_path / "pipe", root=tmp_path)


def test_a_file_that_shrinks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "asan.log"
    path.write_bytes(raw_of(LOG))
    monkeypatch.setattr(reader, "WINDOW_BYTES", 100)
    log = read_log(path, root=tmp_path, progress=lambda step: os.truncate(path, 150))
    assert [problem.kind for problem in log.problems] == ["cut-off"] and log.problems[0].byte == 150
