"""Reports of msSanitizer: records that its own printing code wrote, and logs that were hard to read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from npulse.core.errors import InputError
from npulse.core.formats.mssanitizer.reader import Report, read_report
from npulse.core.formats.mssanitizer.records import Allocation, Cores, FlagPipes, Frame, Mask, Record, Side

# Words of the expected records for the kinds of ours; illegal ones say the access apart, flags what is wrong.
KINDS = {
    "bounds": "out of bounds",
    "misaligned": "misaligned access",
    "uninit": "uninitialized read",
    "free": "illegal free",
    "unused": "unused memory",
    "dcci": "missing dcci",
    "lockup": "lock-up",
    "diverge": "divergent threads",
    "internal": "internal error",
    "mask": "non-default mask",
}
OTHER_KEYS = {"kind", "severity", "events", "when_writing", "what", "count"}
COMPLETE = {  # nothing is missing in these, as their own lines say
    *("clean.log", "cross_npu_race.log", "debug_log_pair.log", "initcheck.log", "memcheck_gm_ub.log"),
    *("launcher_prefix_two_ranks.log", "log_file_pair/check.log", "memcheck_310p_aicore.log"),
    *("memcheck_8blocks.log", "memcheck_block_ranges.log", "memcheck_full_backtrace.log"),
    *("memcheck_no_debug_info.log", "memcheck_no_recompile_dbi.log", "multi_device.log"),
    *("multi_device_lines_mixed.log", "multi_tool.log", "non_default_mask.log", "racecheck.log"),
    *("racecheck_simple_demangle.log", "register_not_reset.log", "simt_threads.log"),
    *("synccheck_lockup.log", "synccheck_unpaired_redundant.log", "terminal_capture_crlf_ansi.log"),
}
GAPS = {
    "record_cache_overflow.log": ("records-dropped", "cache-exhausted", "address-changed"),
    "synccheck_lockup_ctrl_c.log": ("interrupted", "signal"),
    "interleaved_program_output.log": ("abnormal-exit",),
    "truncated_midrecord.log": ("unfinished-kernel", "cut-off"),
    "pasted_whitespace_lost.log": ("no-markers", "cut-off"),
}
STYLES = {
    "old_7.0.RC1_style.log": "7.0.RC1",
    "old_8.0.RC1_style.log": "8.0.RC1",
    "old_8.0.RC2_style.log": "8.0.RC2",
    "old_8.0.RC3_to_8.1_style.log": "8.0.RC3",
    "old_8.2_to_9.0_style.log": "8.2",
    "clean.log": "26.0",
    "simt_threads.log": "26.0",
}


@pytest.fixture(scope="module")
def samples(shared: Path) -> Path:
    return shared / "samples" / "sanitizer" / "mssanitizer"


@pytest.fixture(scope="module")
def expected(samples: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((samples / "expected.json").read_text())
    return found


def read(folder: Path, name: str) -> Report:
    return read_report(folder / name, root=folder)


def logs_of(samples: Path) -> list[str]:
    names = [*samples.glob("*.log"), *(samples / "log_file_pair").glob("*.log")]
    return sorted(str(path.relative_to(samples)) for path in names if "mssanitizer_2026" not in path.name)


# ---- our records in the words of the expected ones ----


def place_of(spot: Record | Side) -> dict[str, Any]:
    """Where a record or side is: a stack under `frames`, a single place as file and line."""
    found: dict[str, Any] = {"pc": hexed(spot.pc), "serial": spot.serial_number}
    frames = [{"file": frame.file, "line": frame.line, "col": frame.column} for frame in spot.frames]
    if spot.pc is not None:
        found["frames"] = frames or None
    elif frames:
        found["file"] = None if frames[0]["file"] in ("", "<unknown>") else frames[0]["file"]
        found["line"] = frames[0]["line"] or None
    found["blocks"] = {cores.core_type: list(cores.ids) for cores in spot.cores} or None
    found["device"] = spot.device
    found["thread"] = None if spot.thread is None else list(spot.thread)
    found["address"] = hexed(spot.address)
    found["kernel"] = spot.kernel
    found["instruction"] = spot.instruction
    return found


def hexed(value: int | None) -> str | None:
    return None if value is None else hex(value)


def words_of(record: Record) -> dict[str, Any]:
    found = {
        **place_of(record),
        "access": record.access,
        "size": record.size_bytes,
        "space": record.space,
        "hazard": record.hazard,
    }
    detail = record.detail
    if isinstance(detail, Allocation):
        found |= {"allocation": hex(detail.address), "allocation_size": detail.size_bytes}
        found["distance"] = detail.distance_bytes
    elif isinstance(detail, FlagPipes):
        found |= {"from_pipe": detail.from_pipe, "to_pipe": detail.to_pipe}
    elif isinstance(detail, Mask):
        found |= {"mask_mode": detail.mode, "mask_high": hex(detail.high), "mask_low": hex(detail.low)}
    return found


def words_of_side(side: Side) -> dict[str, Any]:
    access = None if side.access is None else side.access.capitalize()
    return {**place_of(side), "access": access, "pipe": side.pipe}


def kind_of(entry: Mapping[str, Any]) -> str:
    if entry["kind"] == "illegal":
        return f"illegal {entry['access']}"
    if entry["kind"] == "sync":
        return f"{entry['what'].lower()} flag"
    return KINDS.get(str(entry["kind"]), str(entry["kind"]))


def assert_says(found: Mapping[str, Any], entry: Mapping[str, Any], where: object) -> None:
    for key in entry.keys() - OTHER_KEYS:
        assert found.get(key) == entry[key], (where, key)
    more = {key for key, value in found.items() if value is not None} - entry.keys()
    # an uninitialized read is a read; old heads of races name the block, which the expected ones leave out
    assert more <= ({"blocks"} if entry.get("kind") == "race" else {"access"}), where


def assert_same(report: Report, entries: Iterable[Mapping[str, Any]]) -> None:
    records = [record for record in report.records if record.kind != "register not reset"]
    summaries = [summary for summary in report.state.summaries if summary.kind != "lock-up"]
    for entry in entries:
        where = (report.path.name, entry)
        if entry["kind"].startswith("sum_"):
            summary = summaries.pop(0)
            kind = {"sum_leak": "leak", "sum_unused": "unused memory"}[entry["kind"]]
            assert (summary.kind, summary.size_bytes, summary.count) == (kind, entry["bytes"], entry["count"])
        elif entry["kind"] == "leak":
            for leak in entry["events"]:
                record = records.pop(0)
                assert (record.kind, record.severity) == ("leak", "error")
                assert_says(words_of(record), leak, where)
        else:
            record = records.pop(0)
            assert (record.kind, record.severity) == (kind_of(entry), entry["severity"].lower()), where
            assert_says(words_of(record), entry, where)
            if record.kind == "out of bounds":
                assert (record.access == "write") == entry.get("when_writing", False)
            events = entry.get("events", ())
            assert len(record.sides) == len(events), where
            for side, event in zip(record.sides, events, strict=True):
                assert_says(words_of_side(side), event, where)
            if record.kind == "lock-up":
                assert record.n_pipes == entry["count"]
    assert (records, summaries) == ([], [])


def test_every_log_says_what_is_expected(samples: Path, expected: dict[str, list[dict[str, Any]]]) -> None:
    assert set(expected) <= set(logs_of(samples)) and len(expected) == 36
    for name, entries in expected.items():
        assert_same(read(samples, name), entries)


def test_a_log_with_more_records_than_expected_would_be_noticed(
    samples: Path, expected: dict[str, list[dict[str, Any]]]
) -> None:
    entries = expected["memcheck_gm_ub.log"]
    for wrong in (entries[:-1], [*entries[:-1], {**entries[-1], "device": 1}]):
        with pytest.raises(AssertionError):
            assert_same(read(samples, "memcheck_gm_ub.log"), wrong)


def test_nothing_is_damaged_but_what_the_readme_names(samples: Path) -> None:
    told = {}
    for name in logs_of(samples):
        report = read(samples, name)
        if report.problems:
            told[name] = [problem.kind for problem in report.problems]
        for record in report.records:
            assert record.extra == () or name == "interleaved_program_output.log"
            assert not record.is_mixed or name == "multi_device_lines_mixed.log"
    assert told == {
        "interleaved_program_output.log": ["bad-record"],
        "pasted_whitespace_lost.log": ["cut-off"],
        "truncated_midrecord.log": ["cut-off"],
    }


def test_which_logs_are_complete(samples: Path) -> None:
    found = {name: read(samples, name).state for name in logs_of(samples)}
    assert {name for name, state in found.items() if state.is_complete} == COMPLETE
    for name, gaps in GAPS.items():
        assert found[name].gaps == gaps
    assert all(
        state.gaps == ("no-markers",)
        for name, state in found.items()
        if name not in COMPLETE and name not in GAPS
    )
    assert {name for name, state in found.items() if state.says_no_error} == {
        "clean.log",
        "record_cache_overflow.log",
    }
    assert {name: found[name].style for name in STYLES} == STYLES


def test_places_in_the_file(samples: Path) -> None:
    """Of every record the bytes between its places begin with its head (of leaks: their own line)."""
    for name in logs_of(samples):
        raw = (samples / name).read_bytes()
        for record in read(samples, name).records:
            text = raw[record.byte : record.end_byte].decode()
            first = "======    Direct leak" if record.kind == "leak" else record.head
            assert first in text.split("\n", 1)[0], (name, record.line_number)
            assert raw[: record.byte].count(b"\n") == record.line_number - 1


# ---- logs whose lines are mixed or damaged ----


def test_two_devices_line_by_line(samples: Path) -> None:
    report = read(samples, "multi_device_lines_mixed.log")
    assert [(r.line_number, r.device, r.address, r.is_mixed, r.is_partial) for r in report.records] == [
        (3, 0, 0x12C0C0014E00, True, False),
        (6, 1, 0x12C0C0214E00, True, False),
    ]
    assert [len(record.frames) for record in report.records] == [3, 3]


def test_program_output_between_and_within_lines(samples: Path) -> None:
    report = read(samples, "interleaved_program_output.log")
    assert [(r.kind, r.line_number, r.is_partial) for r in report.records] == [
        ("illegal write", 11, False),
        ("out of bounds", 20, False),
        ("illegal read", 28, True),
        ("misaligned access", 39, False),
    ]
    torn = report.records[2]
    assert (torn.pc, torn.serial_number, torn.device, len(torn.frames)) == (None, None, 0, 3)
    assert torn.frames[0] == Frame("/workspace/op/op_kernel/add_custom.cpp", 43, 9)


def test_a_report_from_a_web_page(samples: Path) -> None:
    first, second = read(samples, "pasted_whitespace_lost.log").records
    assert (first.kind, first.size_bytes, first.cores, first.pc, len(first.frames)) == (
        *("illegal read", 224, (Cores("aiv", "1"),)),
        *(0x668, 2),
    )
    assert (second.kind, second.access, second.frames[0].file) == (
        *("out of bounds", "write"),
        ".../op_kernel/add_custom.cpp",
    )
    assert (first.is_cut, second.is_cut) == (False, True)


def test_two_ranks(samples: Path) -> None:
    report = read(samples, "launcher_prefix_two_ranks.log")
    assert [(record.stream, record.device) for record in report.records] == [
        ("[default0]:", 0),
        ("[default1]:", 1),
    ]
    assert report.state.streams == ("[default0]:", "[default1]:")


def test_registers(samples: Path) -> None:
    (record,) = read(samples, "register_not_reset.log").records
    assert (record.kind, record.line_number, record.severity) == ("register not reset", 2, "warning")


def test_what_goes_to_the_terminal_beside_a_log_file(samples: Path) -> None:
    report = read_report(samples / "log_file_pair" / "terminal.txt", root=samples)
    assert [notice.kind for notice in report.state.notices] == ["log-file", "no-debug-lines"]
    assert (report.records, report.state.gaps) == ((), ("no-markers",))


def test_the_debug_log_is_no_report(samples: Path) -> None:
    with pytest.raises(InputError):
        read(samples, "debug_log_pair.mssanitizer_20260829101502_24117.log")


# ---- cases ----


def case(shared: Path, name: str, log: str) -> Report:
    return read(shared / "cases" / name, log)


def test_64_findings_are_read_one_by_one(shared: Path) -> None:
    report = case(shared, "C33", "racecheck.log")
    assert len(report.records) == 65 and {record.kind for record in report.records} == {"race"}
    waw = [record for record in report.records if record.hazard == "WAW"]
    assert len(waw) == 64 and {record.space for record in waw} == {"UB"}
    assert {record.kernel for record in waw} == {"vec_scale_kernel"}
    sides = [record.sides for record in waw]
    assert {(a.pc, b.pc) for a, b in sides} == {(0xA98, 0xB10)}
    assert {(a.frames[0].line, b.frames[0].line) for a, b in sides} == {(41, 57)}
    assert (min(a.address or 0 for a, _ in sides), max(a.address or 0 for a, _ in sides)) == (0, 0x7E0)
    assert sorted({i for a, _ in sides for cores in a.cores for i in cores.ids}) == list(range(8))
    (raw,) = (record for record in report.records if record.hazard == "RAW")
    assert (raw.space, [side.frames[0].line for side in raw.sides]) == ("GM", [88, 93])
    assert [side.cores for side in raw.sides] == [(Cores("aiv", "0"),), (Cores("aiv", "3"),)]


def test_records_without_a_usable_place(shared: Path) -> None:
    report = case(shared, "C35", "memcheck.log")
    assert [(r.kind, r.size_bytes, r.cores, r.frames) for r in report.records] == [
        ("illegal read", 160, (Cores("aiv", "0"),), (Frame("<unknown>", 0),)),
        ("misaligned access", 21, (Cores("aiv", "0"),), (Frame("row_add.cpp", 0),)),
        ("illegal free", None, (), (Frame("<unknown>"),)),
    ]
    assert report.problems == ()


def test_leaks_between_program_output(shared: Path) -> None:
    report = case(shared, "C37", "leak.log")
    leaks = [record for record in report.records if record.kind == "leak"]
    assert [leak.size_bytes for leak in leaks] == [320, 4096, 768]
    assert leaks[1].frames == (Frame("runner.cpp", 88),) and leaks[2].frames == (Frame("<unknown>", 0),)
    assert [(s.kind, s.size_bytes, s.count) for s in report.state.summaries] == [
        ("leak", 5184, 3),
        ("unused memory", 640, 1),
    ]
    (unused,) = (record for record in report.records if record.kind == "unused memory")
    assert unused.size_bytes == 640 and len(report.records) == 4


def test_a_hang_in_two_spellings(shared: Path) -> None:
    report = case(shared, "C42", "synccheck.log")
    first, flag, second = report.records
    assert [(r.kind, r.n_pipes, len(r.sides)) for r in (first, second)] == [
        ("lock-up", 3, 3),
        ("lock-up", 1, 1),
    ]
    assert [side.kernel for side in first.sides] == ["reduce_kernel"] * 3
    assert [side.pipe for side in first.sides] == ["PIPE_V", "PIPE_MTE2", "PIPE_MTE3"]
    earliest = min(first.sides, key=lambda side: side.serial_number or 0)
    assert (earliest.serial_number, earliest.frames[0].line) == (7, 7)
    assert (second.sides[0].kernel, second.sides[0].pipe, second.sides[0].device) == (
        "gather_kernel",
        "PIPE_S",
        0,
    )
    assert (flag.kind, flag.instruction, flag.detail) == (
        *("unpaired flag", "set_flag"),
        FlagPipes("PIPE_S", "PIPE_MTE3"),
    )
    assert flag.frames == (Frame("synccheck/reduce/kernel.cpp", 26, 9),)


@pytest.mark.parametrize(("name", "log"), [("C38", "serve.log"), ("C40", "compile.log")])
def test_logs_of_other_tools_are_refused(shared: Path, name: str, log: str) -> None:
    with pytest.raises(InputError, match="no line of msSanitizer"):
        case(shared, name, log)
