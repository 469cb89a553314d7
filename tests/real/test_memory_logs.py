"""Faults of real logs, through all readers at once: every figure that the lists beside the logs name."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from npulse.core.memory.faults import Access, Block, Cores, Fault, Frame, LogSummary, Task
from npulse.core.memory.logs import FaultLog, TextLog

SANITIZER_LOGS = """
chinese_doc_comment_style clean cross_npu_race dcci_missing debug_log_pair initcheck internal_error_and_guard
launcher_prefix_two_ranks leak_unknown_location leak_unused_illegal_free log_file_pair/check
memcheck_310p_aicore memcheck_8blocks memcheck_block_ranges memcheck_full_backtrace memcheck_gm_ub
memcheck_no_debug_info memcheck_no_recompile_dbi multi_device multi_tool non_default_mask old_7.0.RC1_style
old_8.0.RC1_style old_8.0.RC2_style old_8.0.RC3_to_8.1_style old_8.2_to_9.0_style racecheck
racecheck_simple_demangle record_cache_overflow register_not_reset simt_threads synccheck_lockup
synccheck_lockup_ctrl_c synccheck_unpaired_redundant terminal_capture_crlf_ansi truncated_midrecord
""".split()

_PROGRAMS = """
attn_heap_overflow kv_cache_uaf leak_plan mismatch null_deref stack_overflow_tile thread_uaf ubsan_tiling
""".split()
_MORE_PROGRAMS = """
asan_ubsan_tiling bad_free deep_recursion double_free global_overflow lsan_leak_plan multi_error overlap race
scope
""".split()
_KINDS = """
abort align calloc container dyn fpe jump left memset negsize poison sizedel stackfree stackunder strlen
toobig uar usable wild wildfree wrnull
""".split()
_VARIANTS = """
cmdline_nolegend_stripprefix.clang19 colour_always.clang19 colour_always.gcc12 colour_always_ubsan.clang19
hwasan_kv_cache_uaf.clang19 launcher_prefix.gcc12 lsan_report_objects.clang19 no_debug_info.gcc12
relative_source_paths.gcc12 symbolize_off.clang19 symbolize_off.gcc12
terminal_capture_crlf_colour.clang19 truncated_midrecord.gcc12
""".split()
HOST_LOGS = [
    *(f"{compiler}/{name}.log" for compiler in ("clang14", "clang19", "gcc12") for name in _PROGRAMS),
    *(f"{compiler}/{name}.log" for compiler in ("clang14", "clang19", "gcc12") for name in _MORE_PROGRAMS),
    *(f"clang22/{name}.log" for name in _PROGRAMS),
    *("clang14/msan_uninit.log", "clang19/msan_uninit.log"),
    *(f"kinds/{name}.{compiler}.log" for name in _KINDS for compiler in ("clang19", "gcc12")),
    *(f"variants/{name}.log" for name in _VARIANTS),
    "variants/log_path_file.asan.log.5993",
]


@pytest.fixture(scope="module")
def samples(shared: Path) -> Path:
    return shared / "samples" / "sanitizer"


@pytest.fixture(scope="module")
def sanitizer_list(samples: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((samples / "mssanitizer/expected.json").read_text())
    return found


@pytest.fixture(scope="module")
def host_list(samples: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((samples / "asan/expected.json").read_text())
    return found


@pytest.fixture(scope="module")
def sources(samples: Path) -> set[str]:
    return {path.name for path in (samples / "asan").glob("*.cpp")}


def read(path: Path, kind: str = "") -> tuple[list[Fault], FaultLog]:
    """All faults by their place."""
    log = FaultLog(path, path.parent, kind, path.name)
    faults = [fault for batch in log.faults() for fault in batch]
    return sorted(faults, key=lambda fault: fault.byte), log


def test_no_log_is_left_out(sanitizer_list: dict[str, Any], host_list: dict[str, Any]) -> None:
    assert {f"{name}.log" for name in SANITIZER_LOGS} == set(sanitizer_list)
    assert len(HOST_LOGS) == len(set(HOST_LOGS)) and set(HOST_LOGS) == set(host_list)


# ---- msSanitizer ----

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
OF_BOTH_SIDES = {"kernel", "device", "blocks", "space"}  # told once, in the first line


def hexed(value: int | None) -> str | None:
    return None if value is None else hex(value)


def ids(cores: Sequence[Cores]) -> dict[str, list[int]] | None:
    return {
        one.core_type: [core for first, last in one.ranges for core in range(first, last + 1)]
        for one in cores
    } or None


def words_of(access: Access) -> dict[str, Any]:
    """An access in the words of the list."""
    found: dict[str, Any] = {
        "access": access.word or None,
        "size": access.size_bytes,
        "space": access.space or None,
        "address": hexed(access.address),
        "kernel": access.kernel or None,
        "device": access.device,
        "blocks": ids(access.cores),
        "thread": [int(n) for n in access.thread.strip("()").split(",")] if access.thread else None,
        "pc": hexed(access.pc),
        "serial": access.serial_number,
        "pipe": access.pipe or None,
        "instruction": access.instruction or None,
    }
    if access.pc is not None:
        found["frames"] = [
            {"file": frame.file, "line": frame.line, "col": frame.column} for frame in access.frames
        ] or None
    elif access.frames:
        frame = access.frames[0]
        found |= {"file": frame.file if frame.has_file else None, "line": frame.line or None}
    return found


def words_of_fault(fault: Fault) -> dict[str, Any]:
    figures = fault.figures
    found = words_of(fault.access) if fault.kind not in ("race", "missing dcci", "lock-up") else {}
    if not found:
        told = words_of(fault.access)  # what the first line tells is in both sides
        found = {key: told[key] for key in ("space", "kernel", "device") if fault.kind != "lock-up"}
    found["hazard"] = fault.hazard or None
    if fault.size_bytes is not None:
        found["size"] = fault.size_bytes
    if fault.block is not None:
        found |= {"allocation": hexed(fault.block.start), "allocation_size": fault.block.size_bytes}
        found["distance"] = fault.block.distance_bytes
    for name in ("from_pipe", "to_pipe", "mask_mode"):
        found[name] = figures.get(name)
    for name in ("mask_high", "mask_low"):
        found[name] = hexed(figures.get(name))
    return found


def kind_of(entry: Mapping[str, Any]) -> str:
    if entry["kind"] == "illegal":
        return f"illegal {entry['access']}"
    if entry["kind"] == "sync":
        return f"{entry['what'].lower()} flag"
    return KINDS.get(str(entry["kind"]), str(entry["kind"]))


def assert_says(found: Mapping[str, Any], entry: Mapping[str, Any], more: set[str]) -> None:
    for key in entry.keys() - OTHER_KEYS:
        assert found.get(key) == entry[key], key
    assert {key for key, value in found.items() if value is not None} - entry.keys() <= more | {"access"}


def assert_is(fault: Fault, entry: Mapping[str, Any]) -> None:
    assert (fault.tool, fault.kind, fault.severity) == (
        "msSanitizer",
        kind_of(entry),
        entry["severity"].lower(),
    )
    assert_says(words_of_fault(fault), entry, OF_BOTH_SIDES if "events" in entry else set())
    if fault.kind == "out of bounds":
        assert (fault.access.word == "write") == entry.get("when_writing", False)
    events = entry.get("events", ())
    assert len(fault.accesses) == (len(events) or 1)
    for access, event in zip(fault.accesses if events else (), events, strict=True):
        said = {**event, "access": event["access"].lower()} if "access" in event else event
        found = words_of(access)
        assert found["access"] == said.get("access")
        assert_says(found, said, OF_BOTH_SIDES)
    if fault.kind == "lock-up":
        assert fault.figures["n_pipes"] == entry["count"]
    if fault.kind == "unused memory":
        assert fault.n_objects == 1


@pytest.mark.parametrize("name", SANITIZER_LOGS)
def test_every_figure_of_mssanitizer(
    samples: Path, sanitizer_list: dict[str, list[dict[str, Any]]], name: str
) -> None:
    path = samples / "mssanitizer" / f"{name}.log"
    faults, log = read(path, "sanitizer.mssanitizer")
    raw = path.read_bytes()
    for fault in faults:
        assert raw.count(b"\n", 0, fault.byte) == fault.line - 1 and fault.artifact == path.name
    faults = [fault for fault in faults if fault.kind != "register not reset"]  # not in the list
    trust = log.trust
    assert trust.n_bytes == len(raw) and trust.tools == ("msSanitizer",)
    sums = [one for one in trust.summaries if one.what != "lock-up"]
    for entry in sanitizer_list[f"{name}.log"]:
        if entry["kind"].startswith("sum_"):
            what = {"sum_leak": "leak", "sum_unused": "unused memory"}[entry["kind"]]
            total = sums.pop(0)
            assert (total.what, total.size_bytes, total.count) == (what, entry["bytes"], entry["count"])
            assert total.tool == "msSanitizer"
        elif entry["kind"] == "leak":
            for leak in entry["events"]:
                fault = faults.pop(0)
                assert (fault.kind, fault.severity, fault.n_objects) == ("leak", "error", 1)
                assert_says(words_of_fault(fault), leak, set())
        else:
            assert_is(faults.pop(0), entry)
    assert (faults, sums) == ([], [])


def test_a_wrong_figure_would_be_noticed(
    samples: Path, sanitizer_list: dict[str, list[dict[str, Any]]]
) -> None:
    faults, _ = read(samples / "mssanitizer" / "memcheck_gm_ub.log")
    entries = sanitizer_list["memcheck_gm_ub.log"]
    assert_is(faults[0], entries[0])
    for key in entries[0].keys() - {"severity", "kind"}:
        with pytest.raises((AssertionError, KeyError, AttributeError)):
            assert_is(faults[0], {**entries[0], key: "other"})


def test_a_register(samples: Path) -> None:
    faults, _ = read(samples / "mssanitizer" / "register_not_reset.log")
    (fault,) = (fault for fault in faults if fault.kind == "register not reset")
    assert set(fault.figures) == {"register", "expected", "current"} and fault.severity == "warning"
    assert str(fault.figures["register"]) in fault.message


def test_what_lowers_trust(samples: Path) -> None:
    folder = samples / "mssanitizer"
    gaps = {
        "record_cache_overflow.log": ("records-dropped", "cache-exhausted", "address-changed"),
        "synccheck_lockup_ctrl_c.log": ("interrupted", "signal"),
        "truncated_midrecord.log": ("unfinished-kernel", "cut-off"),
        "old_8.2_to_9.0_style.log": ("no-markers",),
        "clean.log": (),
    }
    for name, wanted in gaps.items():
        faults, log = read(folder / name, "sanitizer.mssanitizer")
        assert log.trust.gaps == wanted, name
        assert any(fault.is_cut for fault in faults) == ("cut-off" in wanted)
    clean = read(folder / "clean.log")[1].trust
    assert (clean.n_clean_ends, clean.is_complete, clean.checks) == (1, True, ("memcheck",))
    dropped = read(folder / "record_cache_overflow.log")[1].trust
    assert dropped.n_clean_ends and not dropped.is_complete
    assert any("records undetected" in text for _, text in dropped.notices)


# ---- host sanitizers ----

WORDS_OF_HEADERS = {  # where the list has the header's words, and the SUMMARY another one
    "invalid alignment requested": "invalid-posix-memalign-alignment",
    "calloc parameters overflow": "calloc-overflow",
    "requested allocation size": "allocation-size-too-big",
    "attempting to call malloc_usable_size": "bad-malloc_usable_size",
}


def users_line(frames: Sequence[Frame], sources: set[str]) -> int | None:
    """The line of the first frame in one of the programs."""
    return next((frame.line for frame in frames if Path(frame.file).name in sources), None)


def as_listed(fault: Fault, sources: set[str]) -> dict[str, Any]:
    access, block, figures = fault.access, fault.block or Block(), fault.figures
    if fault.tool == "UndefinedBehaviorSanitizer" and not fault.access.address:
        return {"tool": fault.tool, "kind": fault.message, "line": access.frames[0].line}
    found = {
        "tool": fault.tool,
        "kind": fault.kind,
        "access": access.word.upper() or None,
        "size": access.size_bytes,
        "thread": access.thread or None,
        "address": access.address,
        "line": users_line(access.frames, sources),
        "allocated": users_line(block.allocated, sources),
        "freed": users_line(block.freed, sources),
        "distance": block.distance_bytes,
        "relation": block.side,
        "region_size": block.size_bytes,
        "global": block.name or None,
        "threads_created": [users_line(stack, sources) for _, _, stack in figures.get("created_by", ())],
    }
    if "origins" in figures:
        found["created"] = users_line(figures["origins"][-1], sources)
    return found


def leaks_as_listed(leaks: list[Fault], sources: set[str]) -> dict[str, Any]:
    rows = [
        {
            "leak": leak.figures["reach"].capitalize(),
            "bytes": leak.size_bytes,
            "objects": leak.n_objects,
            "line": users_line(leak.access.frames, sources),
        }
        for leak in leaks
    ]
    return {"tool": "LeakSanitizer", "kind": "memory leaks", "leaks": rows}


@pytest.mark.parametrize("name", HOST_LOGS)
def test_every_figure_of_host_sanitizers(
    samples: Path, host_list: dict[str, list[dict[str, Any]]], sources: set[str], name: str
) -> None:
    path = samples / "asan" / name
    faults, log = read(path, "sanitizer.host")
    raw = path.read_bytes()
    for fault in faults:
        assert raw.count(b"\n", 0, fault.byte) == fault.line - 1
    leaks = [fault for fault in faults if fault.is_leak]
    found = [as_listed(fault, sources) for fault in faults if not fault.is_leak]
    if leaks:
        found.append(leaks_as_listed(leaks, sources))
        (total,) = (one for one in log.trust.summaries if one.what == "leak")
        assert total.size_bytes == sum(leak.size_bytes or 0 for leak in leaks)
        assert total.count == sum(leak.n_objects or 0 for leak in leaks)
    wanted = host_list[name]
    assert len(found) == len(wanted)
    for mine, theirs in zip(found, wanted, strict=True):
        for field, value in theirs.items():
            if field == "address":
                value = int(value, 16)
            if field == "kind":
                value = WORDS_OF_HEADERS.get(value, value)
            assert mine[field] == value, field
    assert log.trust.gaps == {
        "variants/truncated_midrecord.gcc12.log": ("cut-off",),
        "kinds/jump.clang19.log": ("nested-bug",),
        "kinds/jump.gcc12.log": ("nested-bug",),
    }.get(name, ())
    assert log.trust.is_aborting == (b"ABORTING" in raw or b"Exiting" in raw)


def test_logs_without_a_fault_are_not_all_clean(samples: Path) -> None:
    faults, log = read(samples / "asan" / "variants" / "preload_order_error.log")
    assert (faults, log.trust.gaps) == ([], ("runtime-refused",))
    assert [line for line, _ in log.trust.notices] == [1]
    faults, log = read(samples / "asan" / "variants" / "lsan_suppressions_used.clang19.log")
    assert (faults, log.trust.gaps) == ([], ())


def test_both_sides_of_a_race(samples: Path) -> None:
    (fault,), _ = read(samples / "asan" / "gcc12" / "race.log")
    first, second = fault.accesses
    assert {first.word, second.word} <= {"read", "write"} and "write" in (first.word, second.word)
    assert first.thread != second.thread and first.address == second.address
    assert (first.size_bytes, second.size_bytes) == (4, 4)
    assert all(access.frames[0].line == 10 for access in fault.accesses)


def test_a_variable_on_the_stack(samples: Path) -> None:
    (fault,), _ = read(samples / "asan" / "kinds" / "stackunder.gcc12.log")
    assert fault.block is not None and fault.access.space == "stack"
    # [256, 272) 'a', accessed at offset 254 of the frame
    assert (fault.block.name, fault.block.size_bytes) == ("a", 16)
    assert (fault.block.side, fault.block.distance_bytes) == ("before", 2)
    assert fault.access.address is not None and fault.block.start == fault.access.address + 2
    assert fault.figures["declared_at"].line == 45


# ---- CANN ----


def the_exception(path: Path) -> tuple[Fault, list[Fault]]:
    faults, log = read(path)
    (found,) = (fault for fault in faults if fault.kind == "aicore exception")
    assert "CANN" in log.trust.tools and log.trust.gaps == ()
    return found, [fault for fault in faults if fault is not found]


def test_an_exception_of_cann_8(samples: Path) -> None:
    fault, others = the_exception(samples / "plog" / "style_a_910b_cann8.log")
    figures = fault.figures
    assert (fault.tool, fault.severity, fault.line) == ("CANN", "error", 1)
    assert fault.task is not None and (fault.task.device, fault.task.stream, fault.task.task) == (0, 2, 1)
    assert figures["ret_code"] == 0x31 and figures["ret_text"] == "vector core exception"
    assert figures["op_type"] == "AddCustom" and figures["kernel_name"].startswith("AddCustom_ab1b67")
    assert figures["error_bits"] == ("MTE_GDMA_WRITE_OVERFLOW",) and figures["error_code"] == 1 << 33
    assert figures["pc_offset"] == 0x678 == fault.access.pc
    assert len(fault.accesses) == 1  # two cores of one type
    assert fault.access.cores == (Cores("aiv", ((16, 17),)),) and fault.access.kernel == "AddCustom"
    assert figures["is_closed"] and figures["n_cores"] == 2
    assert {other.kind for other in others} == {"error code"}
    assert {other.figures["code"] for other in others} == {"507035"}


def test_a_source_line_in_the_log(samples: Path) -> None:
    fault, _ = the_exception(samples / "plog" / "style_c_2026h2_two_line_and_symbolize.log")
    assert fault.figures["symbols"] == ("/workspace/op/op_kernel/add_custom.cpp:44:9",)
    assert (fault.figures["fixed_pc_offset"], fault.figures["symbol"]) == (0x678, "add_custom+0x78")
    assert [core for core, _, _ in fault.figures["core_pcs"]] == [16, 17]
    assert not fault.figures["is_closed"]


def test_a_timeout_or_trap(samples: Path) -> None:
    fault, _ = the_exception(samples / "plog" / "style_a_mix_timeout_or_trap.log")
    assert fault.task is not None and (fault.task.device, fault.task.flip) == (3, 2)
    assert fault.figures["error_bits"] == () and fault.figures["ret_code"] == 0x26
    assert (fault.figures["args_n"], fault.figures["block_dim"]) == (27, 24)
    assert fault.figures["tiling_key"] == 10000000000022420943


def test_older_devices(samples: Path) -> None:
    fault, others = the_exception(samples / "plog" / "style_910a_2023.log")
    assert (fault.access.cores, fault.access.pc) == ((Cores("aicore", ((0, 0),)),), 0x3D00)
    assert fault.figures["error_bits"] == ("CCU_ILLEGAL_INSTR",)
    assert fault.message.startswith("Illegal instruction") and fault.figures["chip_id"] == 0
    assert [other.figures["code"] for other in others] == ["507015"]
    fault, _ = the_exception(samples / "plog" / "style_old_2020_910a.log")
    assert fault.task == Task(0, 517, 3) and fault.figures["report_stream_id"] == 515


def test_an_exception_on_a_console(samples: Path) -> None:
    fault, others = the_exception(samples / "plog" / "stdout_ez9999.txt")
    assert (fault.task, fault.access.pid, fault.figures["codes"]) == (None, 24121, ("EZ9999",))
    assert [(other.kind, other.figures["code"], other.line) for other in others] == [
        ("error code", "EZ9999", 2)
    ]


def test_a_serving_log(shared: Path) -> None:
    faults, _ = read(shared / "cases" / "C38" / "serve.log")
    assert [fault.kind for fault in faults] == [
        *("python error", "aicore exception", "collective time-out", "error code")
    ]
    python, exception, timeout, code = faults
    assert python.access.frames == (Frame("/app/serving/worker.py", 311, None, "execute"),)
    assert exception.task == Task(3, 2, 19362, 11) and exception.access.kernel == "ScatterNdUpdate"
    assert exception.access.cores == (Cores("aiv", ((45, 45), (47, 47))),)
    assert (timeout.tool, timeout.figures["code"], timeout.figures["remote_rank"]) == (
        *("HCCL", "EI0002"),
        "unknown",
    )
    assert (code.figures["code"], code.access.pid) == ("507035", 221636)


def test_a_kernel_that_does_not_fit(shared: Path) -> None:
    (fault,), log = read(shared / "cases" / "C40" / "compile.log", "compiler.log")
    assert (fault.tool, fault.kind, fault.access.space) == (
        *("compiler", "buffer overflow at compile time"),
        "UB",
    )
    assert fault.access.frames[0].file == "kernels/gather_rows.py" and fault.access.frames[0].line == 31
    assert (fault.figures["required_bytes"], fault.figures["available_bytes"]) == (307_200, 196_608)
    assert log.trust.tools == ("compiler",)


# ---- msDebug ----


def test_stops_of_a_core_file(samples: Path) -> None:
    (fault,), log = read(samples / "msdebug" / "core_session.txt", "msdebug.transcript")
    assert (fault.kind, fault.severity, fault.line, fault.message) == (
        *("debugger stop", "error", 6),
        "MTE_ERROR",
    )
    assert [(frame.file, frame.line) for frame in fault.access.frames] == [
        ("kernel_operator_data_copy_impl.h", 60),
        *(("add_custom.cpp", line) for line in (44, 32, 78)),
    ]
    assert (fault.access.kernel, fault.access.cores) == ("add_custom", (Cores("aiv", ((17, 17),)),))
    assert fault.task == Task(0) and fault.figures["pc_address"] == 0x12C0C0040678
    assert log.trust.tools == ("msDebug",)


def test_break_points_are_no_errors(samples: Path) -> None:
    faults, _ = read(samples / "msdebug" / "live_session.txt")
    assert faults and {fault.severity for fault in faults} == {"info"}


# ---- several tools in one log ----


def test_a_line_of_the_log_inside_a_report(samples: Path) -> None:
    faults, log = read(samples / "mssanitizer" / "interleaved_program_output.log")
    assert [fault.tool for fault in faults].count("CANN") == 1 and len(faults) == 5
    assert set(log.trust.tools) == {"msSanitizer", "CANN"}


def test_all_logs_one_behind_the_other(samples: Path, shared: Path) -> None:
    """What each reader finds alone is found in one log, each once and at its place."""
    paths = [
        *sorted((samples / "plog").glob("style*.log")),
        *(samples / "mssanitizer" / f"{name}.log" for name in ("memcheck_gm_ub", "leak_unused_illegal_free")),
        *(samples / "asan" / "gcc12" / f"{name}.log" for name in ("asan_ubsan_tiling", "leak_plan")),
        shared / "cases" / "C40" / "compile.log",
        samples / "msdebug" / "core_session.txt",
    ]
    content, wanted = b"", []
    for path in paths:
        alone, _ = read(path)
        line = content.count(b"\n")
        wanted += [(fault.tool, fault.kind, fault.line + line, fault.byte + len(content)) for fault in alone]
        content += path.read_bytes() + b"\n\n"
    log = TextLog("all")
    faults = sorted([*log.feed(content), *log.finish()], key=lambda fault: fault.byte)
    assert [(fault.tool, fault.kind, fault.line, fault.byte) for fault in faults] == wanted
    assert {"msSanitizer", "AddressSanitizer", "CANN", "compiler", "msDebug"} <= set(log.trust.tools)


CUT = [
    *("mssanitizer/multi_tool.log", "mssanitizer/multi_device_lines_mixed.log"),
    *("mssanitizer/interleaved_program_output.log", "mssanitizer/truncated_midrecord.log"),
    *("mssanitizer/terminal_capture_crlf_ansi.log", "asan/gcc12/asan_ubsan_tiling.log"),
    *("asan/variants/two_processes_one_log.gcc12.log", "asan/clang19/lsan_leak_plan.log"),
    *("plog/style_a_910b_cann8.log", "plog/stdout_ez9999.txt", "msdebug/core_session.txt"),
]


@pytest.mark.parametrize("name", CUT)
def test_any_cut_gives_the_same_faults(samples: Path, name: str) -> None:
    content = (samples / name).read_bytes()
    assert_cuts_do_not_matter(content, random.Random(name))


def test_any_cut_of_a_serving_log(shared: Path) -> None:
    assert_cuts_do_not_matter((shared / "cases/C38/serve.log").read_bytes(), random.Random(38))


def assert_cuts_do_not_matter(content: bytes, chance: random.Random) -> None:
    whole = fed(content, [])
    assert whole[0]
    every_byte = list(range(1, len(content))) if len(content) < 20_000 else []
    for cuts in (every_byte, *(sorted(chance.sample(range(len(content)), 40)) for _ in range(4))):
        assert fed(content, cuts) == whole


def fed(content: bytes, cuts: list[int]) -> tuple[list[Fault], object, object]:
    log = TextLog("a.log")
    faults: list[Fault] = []
    for begin, end in zip([0, *cuts], [*cuts, len(content)], strict=True):
        faults += log.feed(content[begin:end])
    faults += log.finish()
    return sorted(faults, key=lambda fault: (fault.byte, repr(fault))), log.trust, log.problems


@pytest.mark.parametrize("seed", range(5))
def test_lines_of_several_logs_among_each_other(samples: Path, shared: Path, seed: int) -> None:
    """Whatever comes of torn records: it does not depend on the cut, and each has its place in the log."""
    chance = random.Random(seed)
    paths = [path for path in samples.rglob("*") if path.suffix in (".log", ".txt")]
    paths += [shared / "cases" / name for name in ("C37/leak.log", "C38/serve.log", "C40/compile.log")]
    for _ in range(40):
        logs = [path.read_bytes().split(b"\n") for path in chance.sample(sorted(paths), 3)]
        lines: list[bytes] = []
        while any(logs):
            log = chance.choice([one for one in logs if one])
            n_lines = chance.randint(1, 6)
            lines += log[:n_lines]
            del log[:n_lines]
        content = b"\n".join(lines)[:50_000]
        whole = fed(content, [])
        cuts = sorted(chance.sample(range(len(content)), min(len(content), 40)))
        assert fed(content, cuts) == whole
        for fault in whole[0]:
            assert content.count(b"\n", 0, fault.byte) == fault.line - 1


def test_sums_stand_where_they_are(shared: Path) -> None:
    faults, log = read(shared / "cases" / "C37" / "leak.log")
    assert [fault.size_bytes for fault in faults if fault.kind == "leak"] == [320, 4096, 768]
    raw = (shared / "cases" / "C37" / "leak.log").read_text().split("\n")
    for one in log.trust.summaries:
        assert isinstance(one, LogSummary) and str(one.size_bytes) in raw[one.line - 1]
    assert [(one.what, one.count, one.size_bytes) for one in log.trust.summaries] == [
        ("leak", 3, 5184),
        ("unused memory", 1, 640),
    ]
