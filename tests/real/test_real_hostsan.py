# ruff: noqa: E501 - log lines as they are
"""Logs of real sanitizers: every field against the list beside them, some of them against what was read by eye."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from npulse.core.formats.hostsan import (
    Allocation,
    Frame,
    GlobalVariable,
    Leak,
    Log,
    Reader,
    Record,
    SanitizerError,
    Span,
    Stack,
    StackObject,
    Suppression,
    UndefinedBehavior,
    read_log,
)

WORDS_OF_HEADERS = {  # where the list has the header's words, and the SUMMARY another one
    "invalid alignment requested": "invalid-posix-memalign-alignment",
    "calloc parameters overflow": "calloc-overflow",
    "requested allocation size": "allocation-size-too-big",
    "attempting to call malloc_usable_size": "bad-malloc_usable_size",
}
N_LOGS = 123
CUT_OFF = "variants/truncated_midrecord.gcc12.log"
NESTED = ("kinds/jump.clang19.log", "kinds/jump.gcc12.log")


@pytest.fixture(scope="module")
def samples(shared: Path) -> Path:
    return shared / "samples" / "sanitizer" / "asan"


@pytest.fixture(scope="module")
def expected(samples: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((samples / "expected.json").read_text())
    return found


@pytest.fixture(scope="module")
def logs(samples: Path) -> dict[str, Log]:
    paths = sorted(path for path in samples.glob("*/*") if path.is_file())
    return {str(path.relative_to(samples)): read_log(path, root=samples) for path in paths}


@pytest.fixture(scope="module")
def sources(samples: Path) -> set[str]:
    return {path.name for path in samples.glob("*.cpp")}


def users_line(stack: Stack | None, sources: set[str]) -> int | None:
    """The line of the first frame in one of the programs."""
    frames = stack.frames if stack is not None else ()
    return next((frame.line for frame in frames if frame.file and Path(frame.file).name in sources), None)


def as_listed(record: SanitizerError | UndefinedBehavior, sources: set[str]) -> dict[str, Any]:
    if isinstance(record, UndefinedBehavior):
        return {"tool": "UndefinedBehaviorSanitizer", "kind": record.message, "line": record.line}
    place = record.place
    found: dict[str, Any] = {
        "tool": record.tool,
        "kind": record.kind,
        "access": record.access and record.access.upper(),
        "size": record.size_bytes,
        "thread": record.thread,
        "address": record.address,
        "line": users_line(record.stack, sources),
        "allocated": users_line(record.allocated_by, sources),
        "freed": users_line(record.freed_by, sources),
        "threads_created": [users_line(start.stack, sources) for start in record.created_by],
    }
    if place is not None:
        found |= {"distance": place.offset_bytes, "relation": place.relation}
        found["region_size"] = place.allocation and place.allocation.size_bytes
        found["global"] = place.variable and place.variable.name
    if record.origins:
        found["created"] = users_line(record.origins[-1], sources)
    return found


def leaks_as_listed(leaks: list[Leak], sources: set[str]) -> dict[str, Any]:
    rows = [
        {
            "leak": leak.reach.capitalize(),
            "bytes": leak.size_bytes,
            "objects": leak.n_objects,
            "line": users_line(leak.stack, sources),
        }
        for leak in leaks
    ]
    return {"tool": "LeakSanitizer", "kind": "memory leaks", "leaks": rows}


def test_every_listed_field_of_every_log(
    logs: dict[str, Log], expected: dict[str, list[dict[str, Any]]], sources: set[str]
) -> None:
    assert len(logs) == N_LOGS and len(expected) == 120 and set(expected) < set(logs)
    n_fields = 0
    for name, wanted in expected.items():
        records = logs[name].records
        leaks = [record for record in records if isinstance(record, Leak)]
        found = [as_listed(record, sources) for record in records if not isinstance(record, Leak)]
        if leaks:
            found.append(leaks_as_listed(leaks, sources))
        assert len(found) == len(wanted), name
        for mine, theirs in zip(found, wanted, strict=True):
            for field, value in theirs.items():
                if field == "address":
                    value = int(value, 16)
                if field == "kind":
                    value = WORDS_OF_HEADERS.get(value, value)
                assert mine[field] == value, (name, field)
                n_fields += 1
    assert n_fields == sum(len(entry) for wanted in expected.values() for entry in wanted) > 1000


def test_logs_without_errors(logs: dict[str, Log], expected: dict[str, list[dict[str, Any]]]) -> None:
    assert {name for name in logs if name not in expected} == {
        "variants/lsan_suppressions_used.clang19.log",
        "variants/preload_order_error.log",
        "variants/two_processes_one_log.gcc12.log",
    }
    log = logs["variants/lsan_suppressions_used.clang19.log"]
    assert log.records == () and log.state.is_complete
    assert log.state.suppressions == (Suppression(6, 8736, "MakePlan"),)
    log = logs["variants/preload_order_error.log"]
    assert log.records == () and log.state.incomplete == ("runtime-refused",)
    assert [(note.word, note.pid) for note in log.state.notes] == [("runtime-refused", 2548)]


def test_nothing_is_cut_or_missing_but_where_it_is(logs: dict[str, Log]) -> None:
    for name, log in logs.items():
        is_cut = name == CUT_OFF
        assert [problem.kind for problem in log.problems] == (["cut-off"] if is_cut else []), name
        assert any(record.is_cut for record in log.records) == is_cut, name
        assert any(record.is_mixed for record in log.records) == ("two_processes" in name), name
        if name in NESTED:
            assert log.state.incomplete == ("nested-bug",)
        elif name not in (CUT_OFF, "variants/preload_order_error.log"):
            assert log.state.is_complete, name
    (problem,) = logs[CUT_OFF].problems
    assert (problem.artifact, problem.line, problem.byte) == (CUT_OFF, 32, 2100)


def test_the_word_of_the_summary_is_the_kind(logs: dict[str, Log], samples: Path) -> None:
    lines = [line for name in logs for line in (samples / name).read_text(errors="replace").split("\n")]
    summaries = [line for line in lines if "SUMMARY: " in line and "leaked in" not in line]
    n_found = 0
    for name, log in logs.items():
        for record in log.records:
            if isinstance(record, SanitizerError) and record.summary is not None:
                assert record.summary.kind == record.kind, name
                assert record.summary in log.state.summaries
                n_found += 1
    assert n_found == sum("undefined-behavior" not in line for line in summaries)


def test_every_frame_says_something(logs: dict[str, Log]) -> None:
    n_frames = 0
    for name, log in logs.items():
        for record in log.records:
            stack = record.stack
            frames = stack.frames if stack is not None else ()
            assert [frame.index for frame in frames] == list(range(len(frames))), name
            for frame in frames:
                n_frames += 1
                assert frame.function or frame.module, (name, frame)
                assert frame.pc is not None or "race" in name
                assert frame.file is None or frame.file == "<null>" or not frame.file.startswith(" ")
    assert n_frames > 1000


def test_every_line_is_counted(logs: dict[str, Log], samples: Path) -> None:
    for name, log in logs.items():
        content = (samples / name).read_bytes()
        assert log.state.n_bytes == log.size_bytes == len(content)
        assert log.state.n_lines == content.count(b"\n") + (not content.endswith(b"\n"))
        for record in log.records:
            span = record.span
            assert content.count(b"\n", 0, span.byte) == span.line - 1, name
            assert content.count(b"\n", 0, span.end_byte) in (span.last_line, span.last_line - 1), name


def test_pids_and_ends(logs: dict[str, Log], samples: Path) -> None:
    for name, log in logs.items():
        text = (samples / name).read_text(errors="replace")
        ends = {pid for pid in log.state.pids if f"=={pid}==ABORTING" in text}
        if "msan" not in name:
            assert set(log.state.aborting_pids) == ends, name
            assert log.state.is_aborting == ("ABORTING" in text), name
    assert logs["clang14/msan_uninit.log"].state.aborting_pids == (2764,)


# ---- read by eye ----


def the_error(log: Log) -> SanitizerError:
    (record,) = log.records
    assert isinstance(record, SanitizerError)
    return record


def test_a_heap_overflow_of_gcc(logs: dict[str, Log]) -> None:
    error = the_error(logs["gcc12/attn_heap_overflow.log"])
    assert (error.pid, error.kind, error.access, error.size_bytes) == (
        3889,
        "heap-buffer-overflow",
        "write",
        4,
    )
    assert (error.address, error.pc, error.thread) == (0x604000000038, 0x55CDD66DDB77, "T0")
    assert error.stack is not None and error.stack.n_frames == 6
    assert error.stack.frames[1] == Frame(
        index=1,
        pc=0x55CDD66DDB76,
        function="AttentionRow<float, 16>::Score(float const*, Rows<float>)",
        file="/workspace/op/asan/attn_heap_overflow.cpp",
        line=43,
    )
    assert error.stack.frames[5].module_offset == 0x1190 and error.stack.frames[5].build_id is None
    place = error.place
    assert place is not None and (place.relation, place.offset_bytes) == ("after", 0)
    assert place.allocation == Allocation(40, 0x604000000010, 0x604000000038)
    assert error.shadow is not None
    assert (error.shadow.marked_row, error.shadow.marked_cell, error.shadow.marked) == (5, 7, "fa")
    assert error.shadow.rows[5].address == 0x0C087FFF8000
    assert error.span == Span(3, 51, 92, 2900)


def test_a_use_after_free_in_another_thread(logs: dict[str, Log]) -> None:
    error = the_error(logs["clang22/thread_uaf.log"])
    assert (error.thread, error.access, error.address) == ("T1", "write", 0x7B5DAADE004C)
    assert error.freed_by is not None and error.freed_by.thread == "T0"
    assert error.freed_by.frames[0].function == "operator delete[](void*)"
    assert error.freed_by.frames[0].build_id == "1143e772ab7c04e56aa96ab7dc252925e6cc03ac"
    (start,) = error.created_by
    assert (start.thread, start.parent, start.stack.n_frames) == ("T1", "T0", 4)
    assert error.stack is not None
    assert error.stack.frames[6] == Frame(
        6,
        0x7F2DABCD44A2,
        module="/lib/x86_64-linux-gnu/libstdc++.so.6",
        module_offset=0xD44A2,
        build_id="289ee39f8c07bd4fa48102dfeeb7e6f9c76158b4",
    )
    assert error.stack.frames[7].file == "asan_interceptors.cpp.o" and error.stack.frames[7].line is None


def test_objects_of_a_stack_frame(logs: dict[str, Log]) -> None:
    place = the_error(logs["kinds/stackunder.gcc12.log"]).place
    assert place is not None and (place.frame_offset_bytes, place.n_objects, len(place.objects)) == (
        254,
        11,
        11,
    )
    assert place.hit_object == StackObject("a", 256, 272, 45, "underflows", 254)
    assert place.objects[1] == StackObject("<unknown>", 64, 68)
    assert place.frame is not None and place.frame.frames[0].line == 22
    place = the_error(logs["kinds/dyn.clang19.log"]).place
    assert place is not None and (place.kind, place.thread, place.frame) == ("stack", "T0", None)


def test_a_global(logs: dict[str, Log]) -> None:
    place = the_error(logs["gcc12/global_overflow.log"]).place
    assert place is not None and (place.offset_bytes, place.relation) == (16, "after")
    assert place.variable == GlobalVariable(
        "kRope", 0x564817EC9060, 64, "/workspace/op/asan/global_overflow.cpp", 4, 12
    )


def test_a_signal(logs: dict[str, Log]) -> None:
    error = the_error(logs["clang22/null_deref.log"])
    assert (error.kind, error.access, error.address, error.thread) == ("SEGV", "read", 4, "T0")
    assert error.hints == ("Hint: address points to the zero page.",)
    assert len(error.registers) == 16 and error.registers[0] == ("rax", 4) and error.registers[8][0] == "r8"
    assert the_error(logs["kinds/wild.gcc12.log"]).address is None
    assert the_error(logs["kinds/wrnull.gcc12.log"]).access == "write"


def test_250_frames_of_a_recursion(logs: dict[str, Log]) -> None:
    error = the_error(logs["gcc12/deep_recursion.log"])
    assert error.stack is not None and error.stack.n_frames == 248 == len(error.stack.frames)
    assert {frame.line for frame in error.stack.frames} == {5, 11}
    assert len({id(frame.function) for frame in error.stack.frames}) == 1


def test_leaks_and_their_sum(logs: dict[str, Log]) -> None:
    for name, log in logs.items():
        leaks = [record for record in log.records if isinstance(record, Leak)]
        if leaks:
            (summary,) = log.state.summaries
            assert summary.leaked_bytes == sum(leak.size_bytes for leak in leaks), name
            assert summary.n_allocations == sum(leak.n_objects for leak in leaks), name
    listed = [
        record
        for record in logs["variants/lsan_report_objects.clang19.log"].records
        if isinstance(record, Leak)
    ]
    assert listed[1].objects == ((0x521000000100, 4096), (0x521000002900, 4096))


def test_kinds_of_undefined_behaviour(logs: dict[str, Log]) -> None:
    kinds = [getattr(record, "kind", None) for record in logs["clang22/ubsan_tiling.log"].records]
    assert kinds == [
        "signed-integer-overflow",
        "invalid-shift-exponent",
        "out-of-bounds-index",
        "misaligned-pointer-use",
        "misaligned-pointer-use",
        "float-cast-overflow",
        "divide-by-zero",
        "FPE",
    ]
    records = logs["gcc12/ubsan_tiling.log"].records
    assert [record.column for record in records if isinstance(record, UndefinedBehavior)] == [
        72,
        57,
        71,
        89,
        54,
    ]
    assert all(isinstance(record, UndefinedBehavior) and record.summary is None for record in records)
    assert "AddressSanitizer" in logs["gcc12/asan_ubsan_tiling.log"].state.tools


def test_three_reports_with_output_between(logs: dict[str, Log]) -> None:
    for compiler in ("gcc12", "clang14", "clang19"):
        log = logs[f"{compiler}/multi_error.log"]
        assert [getattr(record, "kind", None) for record in log.records] == [
            "global-buffer-overflow",
            "heap-buffer-overflow",
            "heap-use-after-free",
        ]
        assert not log.state.is_aborting and log.state.is_complete


def test_an_uninitialised_value(logs: dict[str, Log]) -> None:
    error = the_error(logs["clang19/msan_uninit.log"])
    assert [stack.title for stack in error.origins] == [
        "Uninitialized value was created by a heap allocation"
    ]
    assert error.address is None and error.places == ()


def test_hwasan_and_its_cause(logs: dict[str, Log]) -> None:
    error = the_error(logs["variants/hwasan_kv_cache_uaf.clang19.log"])
    assert (error.kind, error.cause) == ("tag-mismatch", "use-after-free")
    assert error.shadow is not None and len(error.shadow.rows) == 17 and error.shadow.marked == "fb"


def test_options_that_change_the_text(logs: dict[str, Log]) -> None:
    error = the_error(logs["variants/cmdline_nolegend_stripprefix.clang19.log"])
    assert error.command == "./build/double_free.clang19"
    assert error.stack is not None and error.stack.frames[1].file == "asan/double_free.cpp"
    error = the_error(logs["variants/symbolize_off.gcc12.log"])
    assert error.stack is not None and {frame.function for frame in error.stack.frames} == {None}
    assert (
        error.stack.frames[0].module_offset == 0x13DF
        and error.summary is not None
        and error.summary.place is not None
    )
    error = the_error(logs["variants/no_debug_info.gcc12.log"])
    assert error.stack is not None and error.stack.frames[1] == Frame(
        1, 0x56026D8EF574, "main", module="/workspace/op/build/attn_nog.gcc12", module_offset=0x2574
    )
    error = the_error(logs["variants/launcher_prefix.gcc12.log"])
    assert error.prefix == "[default3]:"
    plain = the_error(logs["gcc12/kv_cache_uaf.log"])
    assert error.summary is not None and plain.summary is not None
    assert replace(error, span=plain.span, prefix="", summary=None) == replace(plain, summary=None)


def test_six_processes_in_one_log(logs: dict[str, Log]) -> None:
    log = logs["variants/two_processes_one_log.gcc12.log"]
    errors = [record for record in log.records if isinstance(record, SanitizerError)]
    assert [(one.pid, one.kind, one.span.line, one.span.last_line) for one in errors] == [
        (6007, "heap-use-after-free", 2, 117),
        (6006, "heap-buffer-overflow", 5, 315),
        (6008, "heap-buffer-overflow", 8, 65),
        (6011, "heap-buffer-overflow", 11, 236),
        (6010, "heap-use-after-free", 14, 268),
        (6012, "heap-use-after-free", 17, 177),
    ]
    for one in errors:  # all of one process have addresses of one program
        assert one.stack is not None and one.pc is not None and one.stack.frames[0].pc == one.pc - 1
        base = one.pc >> 20
        is_freed = one.kind == "heap-use-after-free"
        assert (one.freed_by is not None) == is_freed and one.allocated_by is not None
        for stack in filter(None, (one.freed_by, one.allocated_by)):
            assert stack.frames[1].pc is not None and stack.frames[1].pc >> 20 == base
        assert one.summary is not None and one.summary.kind == one.kind
        assert one.shadow is not None and one.shadow.marked == ("fd" if is_freed else "fa")
    assert [summary.line for summary in log.state.summaries] == [33, 85, 145, 189, 204, 283]


# ---- how the bytes come ----


def read(content: bytes, step: int) -> tuple[list[Record], Any, Any]:
    reader = Reader("a.log")
    records = [one for at in range(0, len(content), step) for one in reader.feed(content[at : at + step])]
    records += reader.finish()
    return records, reader.state, reader.problems


@pytest.mark.parametrize("step", [1, 13, 1024])
def test_cuts_do_not_matter(samples: Path, logs: dict[str, Log], step: int) -> None:
    for name, log in logs.items():
        content = (samples / name).read_bytes()
        if step > 1 or len(content) < 4000:
            whole = read(content, 1 << 20)
            assert read(content, step) == whole, name
            assert sorted(whole[0], key=lambda record: record.span.byte) == list(log.records)


def test_all_logs_as_one(samples: Path, logs: dict[str, Log]) -> None:
    content = b"".join((samples / name).read_bytes() for name in logs if name != CUT_OFF)
    records, state, problems = read(content, 1 << 16)
    assert len(records) == sum(len(log.records) for name, log in logs.items() if name != CUT_OFF)
    assert problems == () and set(state.incomplete) == {"nested-bug", "runtime-refused"}


def test_logs_of_other_tools_have_nothing(shared: Path, samples: Path) -> None:
    others = [
        path for path in samples.parent.glob("*/**/*") if path.is_file() and path.suffix in (".log", ".txt")
    ]
    others += shared.glob("cases/C*/*.log")
    n_read = 0
    for path in others:
        if samples not in path.parents:
            log = read_log(path, root=shared)
            assert log.records == () and log.state.summaries == () and log.state.tools == (), path
            n_read += 1
    assert n_read > 30
