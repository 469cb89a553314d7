"""Files that are followed against a cold read of all that was ever written, whatever the writer did."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.profiling.follow import (
    Followed,
    follow_msmonitor,
    follow_operators,
    follow_timelines,
)
from npulse.core.formats.profiling.msmonitor import read_msmonitor
from npulse.core.formats.profiling.msmonitor_log import MonitorLog
from npulse.core.formats.profiling.operators import OperatorTable, read_operators
from npulse.core.formats.profiling.timeline import Tasks
from npulse.core.formats.profiling.trace_timeline import read_timelines
from npulse.core.tails import Tails

T0 = 1_785_557_700_456_789_000
HEADER = "Device_id,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Input Shapes\n"
NEXT = ("rotate", "cut and rotate", "truncate", "remove")

Steps = list[int | str]
steps_of_a_writer = st.lists(
    st.one_of(st.integers(1, 400), st.just("look"), st.sampled_from(NEXT)), min_size=1, max_size=40
)
"""Bytes that are written, looks, and what else happens to the file."""


def monitor_lines() -> Iterator[bytes]:
    n = 0
    while True:
        n += 1
        if n % 7 == 0:
            yield f"no JSON {n}\n".encode()
        kind = ("Kernel", "Communication", "API", "Marker")[n % 4]
        record: dict[str, Any] = {"name": f"op{n % 5}_{n}", "kind": kind, "startNs": T0 + 40 * n, "id": n}
        record |= {"endNs": T0 + 40 * n + n % 39, "deviceId": n % 2, "streamId": 3, "correlationId": n // 2}
        yield json.dumps(record).encode() + b"\n"


def table_lines() -> Iterator[bytes]:
    n = 0
    while True:
        n += 1
        shapes = '"16,128;\n4"' if n % 11 == 0 else f'"{n % 3},8"'
        us = "N/A" if n % 6 == 0 else "much" if n % 13 == 0 else f"{n}.{n % 1000:03}"
        name = "\N{GREEK SMALL LETTER ALPHA}" if n % 5 == 0 else "aclnnAdd"
        yield f"0,{n % 3},{name}_{n},Type{n % 4},AI_CORE,{T0 // 1000 + 20 * n}.001,{us},{shapes}\n".encode()
        if n % 9 == 0:
            yield b"0,1,too,few\n"


@dataclass
class Writer:
    """Writes lines, by the byte, into a folder. lives: of each file from each of its starts on, what was
    written; all copies in their order. is_over: it began anew or is gone."""

    folder: Path
    lines: Iterator[bytes]
    pattern: str
    header: bytes = b""
    n_files: int = 0
    lives: list[tuple[Path, bytes, bool]] = field(default_factory=list)
    _rest: bytes = b""
    _path: Path | None = None

    def write(self, n: int) -> None:
        if self._path is None:
            self._path = self.folder / self.pattern.format(n=self.n_files)
            self.n_files += 1
            self.lives.append((self._path, b"", False))
            self._rest = self.header
        while len(self._rest) < n:
            self._rest += next(self.lines)
        raw, self._rest = self._rest[:n], self._rest[n:]
        path, before, is_over = self.lives[-1]
        with path.open("ab") as file:
            file.write(raw)
        self.lives[-1] = path, before + raw, is_over

    def finish_line(self) -> None:
        """To the end of the line that was begun."""
        if self._path is not None and self._rest:
            self.write(self._rest.index(b"\n") + 1)

    def next_file(self) -> None:
        self._path, self._rest = None, b""

    def truncate(self) -> None:
        """From the start again, in the same file."""
        if self._is_known:
            path, before, _ = self.lives[-1]
            path.write_bytes(b"")
            self.lives[-1] = path, before, True
            self.lives.append((path, b"", False))
            self._rest = self.header

    def remove(self) -> None:
        if self._is_known:
            path, before, _ = self.lives[-1]
            path.unlink()
            self.lives[-1] = path, before, True
            self.next_file()

    @property
    def _is_known(self) -> bool:
        """Whether so much was written that the next file begins otherwise; less would look renamed."""
        return self._path is not None and self.lives[-1][1].count(b"\n") > 1

    def copies(self, folder: Path, pattern: str) -> list[Path]:
        """All that was ever written, a file each."""
        made = []
        for n, (_, raw, _) in enumerate(self.lives):
            if raw.count(b"\n") >= self.header.count(b"\n"):
                made.append(folder / pattern.format(n=n))
                made[-1].write_bytes(raw)
        return made

    @property
    def paths(self) -> list[Path]:
        return list(dict.fromkeys(path for path, _, _ in self.lives))


def run(writer: Writer, steps: Steps, look: Any) -> None:
    for step in steps:
        if isinstance(step, int):
            writer.write(step)
        elif step == "look":
            look()
        elif step == "rotate":
            writer.finish_line()
            writer.next_file()
        elif step == "cut and rotate":
            writer.next_file()
        else:  # what nobody had looked at would be lost for everybody
            look()
            writer.truncate() if step == "truncate" else writer.remove()
    writer.write(60)
    writer.finish_line()
    look()


def as_plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tolist()
    if isinstance(value, Tasks):
        return {one.name: as_plain(getattr(value, one.name)) for one in fields(value)}
    return value


@settings(max_examples=150, deadline=None)
@given(steps_of_a_writer)
def test_msmonitor_followed_is_what_a_cold_read_of_everything_gives(steps: Steps) -> None:
    with TemporaryDirectory() as made:
        folder, cold = Path(made) / "watched", Path(made) / "cold"
        folder.mkdir()
        cold.mkdir()
        writer = Writer(folder, monitor_lines(), "msmonitor_7_202601201112{n:02}456_0.jsonl")
        tails = Tails()
        found: list[tuple[MonitorLog, Followed]] = []

        def look() -> None:
            if writer.paths:
                found.append(follow_msmonitor(writer.paths, tails, root=folder))

        run(writer, steps, look)
        log, followed = found[-1]
        copies = writer.copies(cold, "msmonitor_7_202601201112{n:02}456_0.jsonl")
        want = read_msmonitor(copies, root=cold)
        n_waiting = sum(
            bool(raw) and not raw.endswith(b"\n") for _, raw, is_over in writer.lives if not is_over
        )
        assert followed.n_waiting == n_waiting
        assert followed.n_starts == len(writer.lives) - len(writer.paths)
        assert followed.n_gone == sum(not path.exists() for path in writer.paths)
        n_halves = want.n_dropped - log.n_dropped
        assert 0 <= n_halves <= n_waiting  # half lines that may still go on are not lost yet
        for one in fields(log):
            if one.name not in ("files", "problems", "n_dropped", "is_cut"):
                assert as_plain(getattr(log, one.name)) == as_plain(getattr(want, one.name)), one.name
        bad = [(problem.kind, problem.line) for problem in log.problems if problem.kind == "bad-record"]
        assert bad == [(p.kind, p.line) for p in want.problems if p.kind == "bad-record"]
        restarted = {path for path in writer.paths if sum(path == one for one, _, _ in writer.lives) > 1}
        told = [p.artifact for p in log.problems if "read again from its start" in p.message]
        assert sorted(told) == sorted(path.name for path in restarted)
        starts = [log.kernels.start_ns.tolist(), log.communication.start_ns.tolist()]
        assert all(len(one) == len(set(one)) for one in starts)  # no record twice


@settings(max_examples=150, deadline=None)
@given(steps_of_a_writer)
def test_operator_tables_followed_are_what_a_cold_read_of_everything_gives(steps: Steps) -> None:
    with TemporaryDirectory() as made:
        folder, cold = Path(made) / "watched", Path(made) / "cold"
        folder.mkdir()
        cold.mkdir()
        pattern = "op_summary_slice_{n}_20260120111213.csv"
        writer = Writer(folder, table_lines(), pattern, HEADER.encode())
        tails = Tails()
        found: list[OperatorTable] = []

        def look() -> None:
            if not writer.paths:
                return
            try:
                table, _ = follow_operators(writer.paths, tails, root=folder)
            except InputError:  # all of them ended in their headers
                return
            if table is not None:
                found.append(table)

        run(writer, steps, look)
        copies = writer.copies(cold, pattern)
        if not copies:
            assert not found
            return
        assert same_rows(found[-1], read_operators(copies, root=cold)) == []


def same_rows(table: OperatorTable, want: OperatorTable) -> list[str]:
    """What differs between two tables, but for names of files and rows that still wait for their end."""
    differs = [
        name
        for name in ("columns", "labels", "left_out", "n_unread")
        if getattr(table, name) != getattr(want, name)
    ]
    differs += [
        name
        for name in want.columns
        if table.values(name).tobytes() != want.values(name).tobytes()
        or table.values(name).dtype != want.values(name).dtype
    ]
    if table.line.tobytes() != want.line.tobytes() or table.file.tobytes() != want.file.tobytes():
        differs.append("line or file")
    unread = [p.message for p in table.problems if "were not read" in p.message]
    if unread != [p.message for p in want.problems if "were not read" in p.message]:
        differs.append("problems")
    return differs


def test_a_last_line_that_lacks_only_its_end_counts_once(tmp_path: Path) -> None:
    path, tails = tmp_path / "msmonitor_7_20260120111200456_0.jsonl", Tails()
    lines = [next(made).strip() for made in [monitor_lines()] for _ in range(9)]
    kernels = [line for line in lines if b'"Kernel"' in line]
    raw = b"\n".join([b"", *kernels])
    for n in range(len(raw) + 1):
        with path.open("ab") as file:
            file.write(raw[max(n - 1, 0) : n])
        log, followed = follow_msmonitor([path], tails, root=tmp_path)
        want = read_msmonitor(path, root=tmp_path)
        assert log.kernels.start_ns.tolist() == want.kernels.start_ns.tolist()
        assert log.kernel_line.tolist() == want.kernel_line.tolist() == list(range(2, 2 + len(log.kernels)))
        assert log.n_lines == want.n_lines and log.problems == ()
        assert followed.n_waiting == (bool(raw[:n].strip(b"\n")) and raw[n - 1 : n] != b"\n")
    assert len(log.kernels) == len(kernels) == 2
    with path.open("ab") as file:
        file.write(b"and more\n")  # so it was no record after all
    log, _ = follow_msmonitor([path], tails, root=tmp_path)
    assert (len(log.kernels), log.n_dropped, [p.line for p in log.problems]) == (1, 1, [3])


def test_a_table_is_the_same_object_until_more_of_it_is_there(tmp_path: Path) -> None:
    path, tails = tmp_path / "op_summary_20260120111213.csv", Tails()
    path.write_bytes(HEADER.encode())
    first, _ = follow_operators([path], tails, root=tmp_path)
    assert first is not None and first.n_rows == 0
    with path.open("ab") as file:
        file.write(b"0,1,a,Add,AI_CORE,1756001234000000.001,5,")
    halfway, followed = follow_operators([path], tails, root=tmp_path)
    assert halfway is not None and (halfway.n_rows, halfway.problems, followed.n_waiting) == (0, (), 1)
    with path.open("ab") as file:
        file.write(b'"8"\n')
    second, followed = follow_operators([path], tails, root=tmp_path)
    assert second is not None and (second.n_rows, followed.n_waiting) == (1, 0)
    assert follow_operators([path], tails, root=tmp_path)[0] is second


def test_a_table_without_its_header_yet_is_no_table_yet_and_no_error(tmp_path: Path) -> None:
    path, tails = tmp_path / "kernel_details.csv", Tails()
    path.write_bytes(b"")
    assert follow_operators([path], tails)[0] is None
    path.write_bytes(HEADER.encode()[:20])
    assert follow_operators([path], tails)[0] is None
    path.write_bytes(HEADER.encode() + b"0,1,a,Add,AI_CORE,1756001234000000.001,5,x\n")
    table, _ = follow_operators([path], tails)
    assert table is not None and table.n_rows == 1


def test_what_is_no_table_is_refused_at_every_look(tmp_path: Path) -> None:
    path, tails = tmp_path / "op_summary_20260120111213.csv", Tails()
    path.write_bytes(b"hello,world\n" + b"1,2\n" * 100)
    for _ in range(2):
        with pytest.raises(InputError, match="no operator table"):
            follow_operators([path], tails)


def test_a_file_that_is_gone_with_half_a_row_has_lost_it(tmp_path: Path) -> None:
    path, tails = tmp_path / "op_summary_20260120111213.csv", Tails()
    path.write_bytes(HEADER.encode() + b"0,1,a,Add,AI_CORE,1756001234000000.001,5,8\n0,1,b")
    table, _ = follow_operators([path], tails, root=tmp_path)
    assert table is not None and (table.n_dropped, table.problems) == (0, ())
    path.unlink()
    table, followed = follow_operators([path], tails, root=tmp_path)
    assert table is not None and (table.n_rows, table.n_dropped, followed.n_gone) == (1, 1, 1)
    assert [(p.artifact, p.kind) for p in table.problems] == [(path.name, "cut-off")]


TRACE = [
    {"ph": "M", "name": "process_name", "pid": 4, "args": {"name": "Ascend Hardware"}},
    *(
        {
            "ph": "X",
            "name": f"op{n % 3}",
            "pid": 4,
            "tid": n % 2,
            "ts": f"{T0 // 1000 + 20 * n}.5",
            "dur": 7 + n,
        }
        | {"args": {"Task Type": "AI_CORE", "Stream Id": n % 2}}
        for n in range(40)
    ),
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 4000), max_size=8), st.integers(0, 1))
def test_a_trace_that_grows_is_what_a_cold_read_of_it_gives(cuts: list[int], n_closing: int) -> None:
    raw = json.dumps(TRACE).encode()[: None if n_closing else -1]
    with TemporaryDirectory() as made:
        path, tails = Path(made) / "trace_view.json", Tails()
        path.write_bytes(b"")
        places = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
        for start, stop in zip(places[:-1], places[1:], strict=True):
            with path.open("ab") as file:
                file.write(raw[start:stop])
            if stop:
                live = follow_timelines(path, tails=tails)
                want = read_timelines(path)
                assert as_timelines(live) == as_timelines(want)


def as_timelines(found: Any) -> list[Any]:
    return [{one.name: as_plain(getattr(line, one.name)) for one in fields(line)} for line in found]


def test_a_trace_that_is_written_anew_is_another_one(tmp_path: Path) -> None:
    path, tails = tmp_path / "trace_view.json", Tails()
    path.write_text(json.dumps(TRACE))
    assert len(follow_timelines(path, tails=tails)[0].tasks) == 40
    path.write_text(json.dumps(TRACE[:11]))
    assert len(follow_timelines(path, tails=tails)[0].tasks) == 10
