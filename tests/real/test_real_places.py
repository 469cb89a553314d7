"""Frames of real reports, led to the sources that they are about, which have moved since."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from npulse.core.formats import hostsan
from npulse.core.formats.mssanitizer.reader import read_report
from npulse.core.formats.source_text import read_lines
from npulse.core.memory.faults import Frame
from npulse.core.memory.places import Missing, SourceHit, SourceRoots, user_frame

BUILT_IN = "/workspace/op/"
DEBUG_LOG = "debug_log_pair.mssanitizer_20260829101502_24117.log"
UNTOLD = {  # there is no log of the first, and the report of the second ended before its stack
    ("kinds.cpp", 31),
    ("kinds.cpp", 81),
}
NO_LINE = {"/workspace/op/op_ke"}  # a log that ends inside of a path


@pytest.fixture(scope="module")
def samples(shared: Path) -> Path:
    return shared / "samples" / "sanitizer"


def line_of(hit: SourceHit) -> str:
    text = read_lines(hit.path, hit.root, hit.line, hit.line)
    ((number, line),) = text.lines
    assert number == hit.line
    if hit.column is not None:
        index = text.index_at(hit.line, hit.column)
        assert index is not None and not line[index].isspace(), (hit, line)
    return line


# ---- msSanitizer ----


def kernel_stacks(log: Path) -> Iterator[tuple[Frame, ...]]:
    """The call stack of every access in a report."""
    for record in read_report(log, root=log.parent).records:
        for part in (record, *record.sides):
            frames = tuple(
                Frame(frame.file, frame.line, frame.column)
                for frame in getattr(part, "frames", ())
                if frame.file
            )
            if frames:
                yield frames


@pytest.fixture(scope="module")
def reports(samples: Path) -> dict[str, list[tuple[Frame, ...]]]:
    logs = sorted((samples / "mssanitizer").rglob("*.log"))
    assert DEBUG_LOG in {log.name for log in logs}
    found = {log.name: list(kernel_stacks(log)) for log in logs if log.name != DEBUG_LOG}
    assert len(found) > 30
    return found


@pytest.fixture(scope="module")
def op(samples: Path) -> SourceRoots:
    return SourceRoots([samples / "mssanitizer" / "op"])


def test_every_frame_of_the_operators_is_found(reports: Mapping[str, Any], op: SourceRoots) -> None:
    n_found = 0
    for name, stacks in reports.items():
        for frame in (frame for stack in stacks for frame in stack):
            hit = op.find(frame)
            if frame.file.startswith("/usr/local/Ascend/") or frame.file in NO_LINE:
                assert isinstance(hit, Missing) and hit.reason in ("not-found", "no-line"), (name, frame)
            elif frame.line:
                assert isinstance(hit, SourceHit), (name, frame, hit)
                assert hit.path.name == Path(frame.file).name
                n_parts = len(hit.path.relative_to(op.roots[0].parent).parts)
                if frame.file.startswith(BUILT_IN):
                    assert (hit.how, hit.n_tail_parts) == ("tail", n_parts)
                elif "/" not in frame.file:
                    assert (hit.how, hit.n_tail_parts) == ("name", 1)
                else:  # shortened by who pasted the report
                    assert frame.file == ".../op_kernel/add_custom.cpp" and hit.n_tail_parts == 2
                assert line_of(hit).strip()
                n_found += 1
    assert n_found > 300


def test_the_users_frame_is_in_the_operator_with_and_without_roots(
    reports: Mapping[str, Any], op: SourceRoots
) -> None:
    n_toolkit = 0
    for name, stacks in reports.items():
        for stack in stacks:
            wanted = [
                i for i, frame in enumerate(stack) if not frame.file.startswith(("/usr/local/Ascend/", "<"))
            ]
            n_toolkit += bool(wanted and wanted[0])
            if stack[0].file in NO_LINE:
                continue
            assert user_frame(stack) == (wanted[0] if wanted else None), (name, stack)
            assert user_frame(stack, op) == user_frame(stack), (name, stack)
    assert n_toolkit > 2, "stacks that begin in headers of the toolkit"


def marked_lines(folder: Path) -> dict[tuple[str, int], str]:
    """(file, line) of every line with a fault, below a folder of sources."""
    return {
        (path.name, number): line
        for path in sorted(folder.rglob("*.cpp"))
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        if "FAULT" in line and number > 3
    }


def test_every_marked_line_of_the_operators_is_hit(reports: Mapping[str, Any], op: SourceRoots) -> None:
    hits = set()
    for stacks in reports.values():
        for stack in stacks:
            place = user_frame(stack, op)
            hit = None if place is None else op.find(stack[place])
            if isinstance(hit, SourceHit):
                line_of(hit)
                hits.add((hit.path.name, hit.line))
    marked = marked_lines(op.roots[0])
    # a step that was left out has no line of its own: both accesses around it are told
    left_out = ("flash_attn_custom.cpp", 39)
    assert marked.pop(left_out).strip().startswith("// FAULT 1")
    assert {("flash_attn_custom.cpp", 38), ("flash_attn_custom.cpp", 46)} <= hits
    # memory that was never used is told without its place
    assert "freed without being used" in marked.pop(("run_add.cpp", 18))
    unplaced = [stack for stack in reports["leak_unused_illegal_free.log"] if user_frame(stack, op) is None]
    assert [op.find(stack[0]) for stack in unplaced] == [Missing("unknown-file")]
    assert len(marked) == 12 and set(marked) <= hits


# ---- sanitizers of the host ----


def as_frames(stack: hostsan.Stack | None) -> tuple[Frame, ...]:
    return tuple(
        Frame(
            frame.file or "",
            frame.line,
            frame.column,
            frame.function or "",
            frame.module or "",
            frame.module_offset,
        )
        for frame in (stack.frames if stack is not None else ())
    )


def host_stacks(record: hostsan.Record) -> Iterator[tuple[str, tuple[Frame, ...]]]:
    if isinstance(record, hostsan.UndefinedBehavior):
        yield "line", (Frame(record.file or "", record.line, record.column),)
    elif isinstance(record, hostsan.SanitizerError):
        yield "line", as_frames(record.stack)
        yield "allocated", as_frames(record.allocated_by)
        yield "freed", as_frames(record.freed_by)
    elif isinstance(record, hostsan.Leak):
        yield "leak", as_frames(record.stack)


@pytest.fixture(scope="module")
def asan(samples: Path) -> SourceRoots:
    return SourceRoots([samples / "asan"])


@pytest.fixture(scope="module")
def host_logs(samples: Path) -> dict[str, hostsan.Log]:
    folder = samples / "asan"
    logs = sorted(path for path in folder.glob("*/*") if path.is_file())
    return {str(path.relative_to(folder)): hostsan.read_log(path, root=folder) for path in logs}


def test_every_line_that_is_listed_is_the_users_frame(
    samples: Path, host_logs: Mapping[str, hostsan.Log], asan: SourceRoots
) -> None:
    expected = json.loads((samples / "asan" / "expected.json").read_text())
    n_lines = 0
    for name, wanted in expected.items():
        records = host_logs[name].records
        listed = list(_flat(wanted))
        found = [dict(host_stacks(record)) for record in records]
        assert len(found) == len(listed), name
        for stacks, fields in zip(found, listed, strict=True):
            for field, stack in stacks.items():
                line = fields.get("line" if field == "leak" else field)
                if line is None:
                    continue
                place = user_frame(stack, asan)
                assert place is not None, (name, field)
                hit = asan.find(stack[place])
                assert isinstance(hit, SourceHit) and hit.line == line, (name, field, stack, hit)
                assert line_of(hit).strip()
                assert user_frame(stack) == place, (name, field, "without the sources")
                n_lines += 1
    assert n_lines > 150


def _flat(wanted: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for entry in wanted:
        yield from entry.get("leaks", (entry,))


def test_every_marked_line_of_the_programs_is_hit(
    host_logs: Mapping[str, hostsan.Log], asan: SourceRoots
) -> None:
    """In the user's frame or in a caller of it: a second release is told inside of what releases."""
    hits = set()
    for log in host_logs.values():
        for record in log.records:
            for _, stack in host_stacks(record):
                place = user_frame(stack, asan)
                for frame in stack[place or 0 :]:
                    hit = asan.find(frame)
                    if isinstance(hit, SourceHit):
                        hits.add((hit.path.name, hit.line))
    marked = marked_lines(asan.roots[0])
    assert len(marked) == 29 and set(marked) - hits == UNTOLD
    for (_, number), line in marked.items():
        said = re.search(r"// line (\d+): FAULT", line)
        assert said is None or int(said[1]) == number


def test_runtimes_and_libc_are_nobodys_source(
    host_logs: Mapping[str, hostsan.Log], asan: SourceRoots
) -> None:
    outside = set()
    for log in host_logs.values():
        for record in log.records:
            for _, stack in host_stacks(record):
                outside |= {frame.file for frame in stack if isinstance(asan.find(frame), Missing)}
    assert {file for file in outside if BUILT_IN in file} == set()
    assert "../../../../src/libsanitizer/asan/asan_malloc_linux.cpp" in outside
    assert all(not file.endswith(".cpp") or "libsanitizer" in file for file in outside), outside
