"""A monitor's folder that is followed through a half line, a rotation, a removed file and a truncation."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.findings import Report
from npulse.core.performance.found import Performance
from npulse.core.performance.report import report
from npulse.core.performance.run_report import look, selections
from npulse.core.run.discover import discover
from npulse.core.tails import Tails

from .values import expected

pytestmark = pytest.mark.real


@dataclass
class Watched:
    """A folder into which the states are copied, one over the other, and what each look of it says."""

    folder: Path
    tails: Tails

    def put(self, state: Path) -> None:
        """Make the folder hold what the state holds; a file that both have is written into, not replaced."""
        for path in self.folder.iterdir():
            if not (state / path.name).exists():
                path.unlink()
        for source in sorted(state.iterdir()):
            raw, path = source.read_bytes(), self.folder / source.name
            before = path.read_bytes() if path.exists() else b""
            if raw.startswith(before):
                with path.open("ab") as file:
                    file.write(raw[len(before) :])
            else:
                path.write_bytes(raw)  # the same file, from its start

    def look(self) -> tuple[Performance, Report]:
        run = discover(self.folder)
        options = AnalysisOptions(tails=self.tails)
        found = look(run, selections(run, options)[-1], options)
        return found, report(found)


def durations_ns(found: Performance) -> list[int]:
    shown = found.shown
    assert shown is not None and shown.profile.operators is not None
    durations: list[int] = shown.profile.operators.values("duration_ns").tolist()
    return durations


def test_c67_no_record_twice_and_none_lost(shared: Path, tmp_path: Path) -> None:
    case = shared / "cases" / "C67"
    want = expected(case)
    folder = tmp_path / "watched"
    folder.mkdir()
    watched = Watched(folder, Tails())
    n_records = {}
    for state in sorted((case / "steps").iterdir()):
        watched.put(state)
        found, told = watched.look()
        assert found.followed is not None
        n_records[state.name] = told.counts["used_rows"]
        assert told.counts["rows"] == told.counts["used_rows"] + told.counts["dropped_rows"]
        if state.name == "t1_partial_line":  # unfinished is not broken
            assert told.problems == () and found.followed.n_waiting == 1
        if state.name == "t3_new_file":
            assert found.followed.n_files - 1 == want["rotations_noticed"] and told.problems == ()
        if state.name == "t4_old_file_removed":
            assert found.followed.n_gone == 1 and told.problems == ()
        again, _ = watched.look()
        assert durations_ns(again) == durations_ns(found)
    assert n_records == want["records_after"]
    shown = found.shown
    assert shown is not None and shown.profile.operators is not None and found.followed is not None
    table = shown.profile.operators
    names = [table.text("name", row) for row in range(table.n_rows)]
    assert len(names) - len(set(names)) == want["duplicates"]
    assert round(sum(durations_ns(found)) / 1000, 6) == want["sum_duration_us_after_t6"]
    assert told.counts["dropped_rows"] == want["bad_lines"]
    bad = want["bad_line_number"]
    assert [(p.artifact, p.line) for p in told.problems if p.kind == "bad-record"] == [
        (bad["file"], bad["line"])
    ]
    restarts = [p for p in told.problems if "read again from its start" in p.message]
    assert len(restarts) == found.followed.n_starts == want["truncations_noticed"]
    assert restarts[0].artifact == bad["file"] and len(told.problems) == 2


def test_c67_the_same_as_a_cold_look_at_all_that_was_ever_written(shared: Path, tmp_path: Path) -> None:
    steps = shared / "cases" / "C67" / "steps"
    folder, cold = tmp_path / "watched", tmp_path / "cold"
    folder.mkdir()
    cold.mkdir()
    watched = Watched(folder, Tails())
    for state in sorted(steps.iterdir()):
        watched.put(state)
        found, _ = watched.look()
    name, later = sorted(path.name for path in (steps / "t3_new_file").iterdir())
    shutil.copy(steps / "t3_new_file" / name, cold / name)
    shutil.copy(steps / "t5_bad_line" / later, cold / later)
    shutil.copy(steps / "t6_truncated_in_place" / later, cold / later.replace("_2026", "_2027"))
    run = discover(cold)
    options = AnalysisOptions()
    expected_look = look(run, selections(run, options)[-1], options)
    assert durations_ns(found) == durations_ns(expected_look)
    assert report(found).summary["types"] == report(expected_look).summary["types"]
    assert report(found).summary["wall_us"] == report(expected_look).summary["wall_us"]
