"""Reports inside console captures: other programs' text, prefixes, colours, encodings, several devices."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from npulse.core.formats.mssanitizer.records import Cores, Frame, Record

from .test_mssanitizer_records import (
    BOUNDS,
    CLEAN,
    FINISHED,
    ILLEGAL,
    LEAKS,
    LOCK_UP,
    RACE,
    REGISTER,
    SMALL,
    STACK_FRAMES,
    STARTED,
    read,
    reader_of,
    state_of,
    told,
)


def content(records: list[Record]) -> list[Record]:
    """Records without their places in the log."""
    return [
        replace(
            record,
            line_number=0,
            byte=0,
            end_byte=0,
            stream="",
            sides=tuple(replace(side, line_number=0) for side in record.sides),
        )
        for record in records
    ]


PLAIN = content(read(SMALL))


def lines_of(text: str) -> list[str]:
    return text.splitlines(keepends=True)


# ---- the same report, however it was captured ----


def prefixed(prefix: str) -> str:
    return "".join(prefix + line for line in lines_of(SMALL))


def timed() -> str:
    return "".join(
        f"2026-08-29T10:{n // 60:02}:{n % 60:02}.{n:03}Z {line}" for n, line in enumerate(lines_of(SMALL))
    )


def joined(record: str) -> str:
    """As a web page shows it: every run of blanks is one, the lines of a record are one."""
    return " ".join(record.split()) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        SMALL.replace("\n", "\r\n"),
        SMALL.replace("\n", "\r\r\n"),
        SMALL.replace("======", "\x1b[31;1m======\x1b[0m").replace("\n", "\x1b[K\n"),
        SMALL.replace("\n", "\n\x1b]0;title\x07\x1b(B"),
        SMALL.replace("======  ", "  0%|  | 0/2 [00:00<?, ?it/s]\r 50%|#####  | 1/2\r======  "),
        prefixed("[default0]:"),
        prefixed("[rank3]: "),
        prefixed("12: "),
        prefixed("\x1b[36m(WorkerProc pid=221633)\x1b[0m "),
        prefixed("worker-1  | "),
        prefixed("[1,0]<stdout>:"),
        timed(),
        timed().replace("Z ", "Z host-1 [rank0]: "),
        SMALL.replace("======    ", "====== "),
        re.sub(r"(======.*\S)\n", "\\1   // 注释 comment\n", SMALL),
        SMALL.replace("======    code", "Ctrl-C is not it\n[INFO] step 1 // x\n======    code"),
        SMALL.replace("======    code", "\n======    code"),
    ],
    ids=[
        *("crlf", "cr-crlf", "colours", "titles", "progress", "torchrun", "rank", "number", "ray", "compose"),
        *("mpirun", "times", "times-rank", "one-blank", "comments", "program-lines", "empty-lines"),
    ],
)
def test_the_records_are_the_same(text: str) -> None:
    records, reader = reader_of(text)
    assert content(records) == PLAIN
    assert reader.problems == ()
    assert reader.state.is_complete
    for record in records:
        assert text.encode()[: record.byte].count(b"\n") == record.line_number - 1


def test_lines_that_a_web_page_joined() -> None:
    text = joined(ILLEGAL.replace("======  ", " ======  ")) + joined(BOUNDS) + "\n"
    assert content(read(text)) == content(read(ILLEGAL + BOUNDS))


def test_lost_empty_lines_between_records() -> None:
    text = ILLEGAL.rstrip("\n") + "\n" + BOUNDS.rstrip("\n") + "\n" + RACE
    assert content(read(text)) == content(read(ILLEGAL + BOUNDS + RACE))


def test_program_text_in_front_of_one_line_is_no_prefix() -> None:
    lines = lines_of(ILLEGAL)
    for n in range(len(lines) - 1):
        text = "".join([*lines[:n], " 50%|####  | 1/2 [00:01<00:01]" + lines[n], *lines[n + 1 :]])
        (record,) = read(text + BOUNDS)[:1]
        assert content([record]) == content(read(ILLEGAL)), n
        assert record.stream == ""
        assert state_of(text).streams == ()


def test_a_line_torn_by_program_text_makes_a_partial_record() -> None:
    text = ILLEGAL.replace("code in pc current", "code in pc[INFO] step 1 loss=0.4312\n current")
    (record,), reader = reader_of(STARTED + text + FINISHED)
    assert (record.is_partial, record.pc, record.frames) == (True, None, STACK_FRAMES)
    assert record.extra == ("code in pc[INFO] step 1 loss=0.4312",)
    assert told(STARTED + text + FINISHED) == [("bad-record", 2, len(STARTED))]
    assert reader.state.n_records == {"illegal read": 1}


def test_a_head_glued_to_a_torn_line_is_a_head() -> None:
    torn = "====== ERROR: illegal read of size 8\n======    at 0x12c0c001" + BOUNDS
    first, second = read(torn)
    assert content([second]) == content(read(BOUNDS))
    assert (first.kind, first.is_partial) == ("illegal read", True)


def test_lines_without_their_head_are_told() -> None:
    text = "".join(lines_of(ILLEGAL)[2:])
    records, reader = reader_of(text + BOUNDS)
    assert content(records) == content(read(BOUNDS))
    (problem,) = reader.problems
    assert (problem.kind, problem.line, problem.byte) == ("bad-record", 1, 0)
    assert "4 lines" in problem.message


# ---- several devices and processes ----


def test_two_ranks_line_by_line() -> None:
    other = SMALL.replace("224", "96").replace("aiv(1)", "aiv(5)")
    mixed = "".join(
        f"[rank0]: {a}[rank1]: {b}" for a, b in zip(lines_of(SMALL), lines_of(other), strict=True)
    )
    records, reader = reader_of(mixed)
    for stream, text in (("[rank0]:", SMALL), ("[rank1]:", other)):
        of_stream = [record for record in records if record.stream == stream]
        assert content(of_stream) == content(read(text))
    assert reader.state.streams == ("[rank0]:", "[rank1]:")
    assert (reader.state.n_started, reader.state.n_finished, reader.problems) == (2, 2, ())
    assert reader.state.is_complete


def test_two_devices_without_prefix() -> None:
    first = lines_of(ILLEGAL)
    second = lines_of(ILLEGAL.replace("device 0", "device 1").replace("0x668", "0x670"))
    mixed = "".join([*first[:3], *second[:2], *first[3:5], second[2], *second[3:], *first[5:]])
    records, reader = reader_of(mixed)
    assert [(record.device, record.pc, record.is_mixed) for record in records] == [
        (0, 0x668, True),
        (1, 0x670, True),
    ]
    assert all(record.frames == STACK_FRAMES and not record.is_partial for record in records)
    assert reader.problems == ()


def test_whole_records_of_two_devices_are_not_mixed() -> None:
    text = STARTED + STARTED + ILLEGAL + FINISHED + BOUNDS + FINISHED
    records, reader = reader_of(text)
    assert content(records) == content(read(ILLEGAL + BOUNDS))
    assert reader.state.is_complete and reader.state.devices == (0, 1)


# ---- encodings ----


def test_names_in_gbk_and_utf8() -> None:
    text = ILLEGAL.replace("add_custom", "加法").replace("/src", "/目录")
    (utf8,) = read(text)
    (gbk,) = read(text.encode("gbk"))
    assert utf8 == replace(gbk, end_byte=utf8.end_byte) and utf8.kernel == "加法"
    assert utf8.frames[0] == Frame("/目录/op/add.cpp", 43, 9)
    assert told(text.encode("gbk")) == []


def test_bytes_of_no_encoding_are_told() -> None:
    raw = ILLEGAL.encode().replace(b"add_custom", b"a\xff\xffb")
    (record,), reader = reader_of(raw)
    assert record.kernel == "a\ufffd\ufffdb"
    assert [(problem.kind, problem.line) for problem in reader.problems] == [("encoding", 2)]


def test_a_byte_order_mark_is_no_prefix() -> None:
    records, reader = reader_of("\ufeff" + ILLEGAL + BOUNDS)
    assert content(records) == content(read(ILLEGAL + BOUNDS))
    assert {record.stream for record in records} == {""} and reader.problems == ()


def test_program_text_in_any_encoding_is_not_looked_at() -> None:
    raw = CLEAN.encode().replace(b"\n", b"\n\xff\xfe\x80 \xc4\xe3\n", 1)
    assert told(raw) == [] and state_of(raw).is_complete


# ---- the log as a whole ----


def test_a_clean_log() -> None:
    state = state_of(CLEAN)
    assert (state.is_complete, state.says_no_error, state.tools, state.style) == (
        True,
        True,
        ("memcheck",),
        "26.0",
    )
    assert (state.n_lines, state.n_bytes, state.n_records) == (2, len(CLEAN), {})
    assert [(runs.kernel, runs.n_started, runs.n_finished, runs.n_no_error) for runs in state.kernels] == [
        ("add_custom", 1, 1, 1)
    ]


def test_a_log_with_findings() -> None:
    state = state_of(SMALL)
    assert state.n_records == {
        "illegal read": 1,
        "race": 1,
        "lock-up": 1,
        "register not reset": 1,
        "out of bounds": 1,
        "leak": 2,
    }
    assert (state.devices, state.says_no_error, state.gaps) == ((0, 1), False, ())


def test_tools_in_one_line() -> None:
    started = STARTED.replace("memcheck", "memcheck, racecheck, initcheck and synccheck")
    assert state_of(started).tools == ("memcheck", "racecheck", "initcheck", "synccheck")


@pytest.mark.parametrize(
    ("line", "gap", "figures"),
    [
        (
            "[warning] 18240 records undetected in block 2, "
            "please use --cache-size=133 to run the operator again.",
            "records-dropped",
            (18240, 2, 133, None),
        ),
        (
            "[error] 9120553 records undetected in block 1, "
            "exceed the max record buffer size for each block: 8192. "
            "Some records were discarded, the detection result maybe unreliable!",
            "cache-exhausted",
            (9120553, 1, None, None),
        ),
        (
            "[error] The record address has been changed by the user program, "
            "and the detection result is unreliable. ",
            "address-changed",
            (None, None, None, None),
        ),
        (
            "WARNING: the number of '__syncthreads()' instructions exceeds 5. "
            "Some records were discarded, the detection result maybe unreliable!",
            "sync-records-dropped",
            (None, None, None, None),
        ),
        (
            "ERROR: heap is not in malloc range, heap addr: 0x1 size: 2",
            "heap-range",
            (None, None, None, None),
        ),
        ("No active sanitizer tool on kernel k.", "no-active-tool", (None, None, None, None)),
        (
            "WARN: racecheck is not supported on the kernel that without `--cce-enable-sanitizer' "
            "compiler option, thus it's temporarily ignored.",
            "tool-not-supported",
            (None, None, None, None),
        ),
        ("user program ./a exited by signal(11)", "signal", (None, None, None, 11)),
        ("user program ./a exited abnormally", "abnormal-exit", (None, None, None, None)),
        ("unsupported soc version Ascend1", "tool-error", (None, None, None, None)),
        ("ERROR: invalid option", "tool-error", (None, None, None, None)),
    ],
)
def test_what_takes_away_from_the_result(line: str, gap: str, figures: tuple[int | None, ...]) -> None:
    state = state_of(CLEAN.replace("\n", f"\n[mssanitizer] {line}\n", 1))
    assert (state.gaps, state.is_complete, state.says_no_error) == ((gap,), False, True)
    (notice,) = state.notices
    assert (notice.kind, notice.text, notice.line_number) == (gap, line.strip(), 2)
    assert (notice.n_records, notice.block, notice.cache_size_mb, notice.signal) == figures


def test_ctrl_c() -> None:
    state = state_of(CLEAN.replace("\n", "\n^CCtrl-C received. Running kernel will be killed\n", 1))
    assert state.gaps == ("interrupted",)


@pytest.mark.parametrize(
    "line",
    [
        "logging to file: ./check.log",
        "WARN: Kernel k missed debug_line information. Please recompile kernel with `-g'",
        "a line of a later release",
    ],
)
def test_what_does_not(line: str) -> None:
    state = state_of(CLEAN.replace("\n", f"\n[mssanitizer] {line}\n", 1))
    assert state.is_complete and len(state.notices) == 1


def test_ends_that_are_missing() -> None:
    assert state_of(STARTED).gaps == ("unfinished-kernel",)
    assert state_of(STARTED + STARTED + FINISHED).gaps == ("unfinished-kernel",)
    assert state_of(FINISHED).gaps == ("no-start",)
    assert state_of(ILLEGAL).gaps == ("no-markers",)
    other = FINISHED.replace("add_custom", "other")
    assert state_of(STARTED + other).gaps == ("unfinished-kernel", "no-start")
    cross = "[mssanitizer] Start cross npu racecheck.\n"
    assert state_of(CLEAN + cross).gaps == ("unfinished-kernel",)
    assert state_of(
        CLEAN + cross + "[mssanitizer] Cross npu racecheck finished. No error detected.\n"
    ).says_no_error


def test_summaries_alone() -> None:
    state = state_of("====== SUMMARY: 640byte(s) unused memory in 2 allocation(s)\n")
    assert [(s.kind, s.size_bytes, s.count) for s in state.summaries] == [("unused memory", 640, 2)]
    assert state.is_recognised


def test_a_leak_list_without_its_summary_is_cut_off() -> None:
    text = CLEAN + LEAKS[: LEAKS.index("====== SUMMARY")]
    records, reader = reader_of(text)
    assert [record.is_cut for record in records] == [False, False]
    assert reader.state.gaps == ("cut-off",)
    assert [problem.kind for problem in reader.problems] == ["cut-off"]


def test_a_lock_up_without_its_summary_is_cut_off() -> None:
    (record,), reader = reader_of(CLEAN + LOCK_UP[: LOCK_UP.index("====== SUMMARY")])
    assert (record.is_cut, len(record.sides), record.n_pipes) == (True, 2, None)
    assert "cut-off" in reader.state.gaps


def test_registers_end_what_was_open() -> None:
    records = read(ILLEGAL.rstrip("\n") + "\n" + REGISTER)
    assert [(record.kind, record.is_cut) for record in records] == [
        ("illegal read", False),
        ("register not reset", False),
    ]


def test_cores_beyond_any_chip_are_bounded() -> None:
    (record,) = read(ILLEGAL.replace("aiv(1)", "aiv(0-999999999)"))
    assert record.cores == (Cores("aiv", "0-999999999"),)
    assert record.cores[0].ids == tuple(range(4096))
    listed = ",".join(str(n) for n in range(0, 3000, 2))
    (record,) = read(ILLEGAL.replace("aiv(1)", f"aiv({listed})"))
    assert len(record.cores[0].listed) <= 4096 and listed.startswith(record.cores[0].listed + ",")
    assert told(ILLEGAL.replace("aiv(1)", f"aiv({listed})")) == [
        ("limit", 3, ILLEGAL.index("======    in block"))
    ]


def test_numbers_of_cores() -> None:
    listed = {"": (), "0": (0,), "0,2-4,7": (0, 2, 3, 4, 7), "5-4": (), "0-4094,7,8,9": (*range(4095), 7)}
    for text, ids in listed.items():
        assert Cores("aiv", text).ids == ids
