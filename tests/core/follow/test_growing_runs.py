"""A real writer beside a follower: nothing twice, nothing lost, and in the end what a cold open would say."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growing import duration_ns, head, record, rotated_name

from npulse.core.analysis import AnalysisOptions
from npulse.core.areas import area_of
from npulse.core.follow.session import Follow, Look
from npulse.core.run.discover import discover
from npulse.core.watch.watcher import Watch

REPO = Path(__file__).resolve().parents[3]
PATIENCE_S = 40.0


def writer(kind: str, folder: Path, *words: object) -> subprocess.Popen[bytes]:
    script = REPO / "tests" / "growing.py"
    return subprocess.Popen(
        [sys.executable, str(script), kind, str(folder), *map(str, words)], stdout=subprocess.PIPE
    )


def looks_until_quiet(following: Follow) -> Iterator[Look]:
    """Looks while somebody writes, and the one that knows that nobody does any more."""
    ends_s = time.monotonic() + PATIENCE_S
    for look in following.looks(is_cancelled=lambda: time.monotonic() > ends_s):
        yield look
        if look.state.quiet_since_ns is not None and look.is_changed and look.reports:
            return


def performance_of(look: Look) -> dict[str, Any]:
    return dict(look.reports["performance"].report.summary)


def lines_in(folder: Path) -> int:
    """Whole records that lie in a folder."""
    return sum(path.read_bytes().count(b"\n") for path in folder.iterdir())


@pytest.mark.parametrize("kind", ["msmonitor", "op_summary"])
def test_nothing_is_lost_or_counted_twice_at_a_thousand_writes_a_second(tmp_path: Path, kind: str) -> None:
    n = 3000
    process = writer(
        kind, tmp_path, "--rate", 1000, "--count", n, "--rotate", 1000 if kind == "msmonitor" else 0
    )
    while not any(tmp_path.iterdir()):
        assert process.poll() is None
    counts = []
    for look in looks_until_quiet(Follow(tmp_path, AnalysisOptions(), areas=("performance",))):
        if "performance" in look.reports:
            counts.append(look.reports["performance"].report.counts["rows"])
    assert json.loads(process.communicate()[0])["written"] == n
    assert counts == sorted(counts) and len(set(counts)) > 2, "it grows, look by look"
    assert counts[-1] == n
    total = sum(duration_ns(k) for k in range(n))
    assert performance_of(look)["total_us"] == pytest.approx(total / 1000, abs=1e-6)


def test_a_killed_writer_leaves_what_it_wrote_and_a_time(tmp_path: Path) -> None:
    process = writer("msmonitor", tmp_path, "--rate", 500, "--count", 100_000, "--torn")
    while not any(tmp_path.iterdir()):
        assert process.poll() is None
    is_killed = False
    for look in looks_until_quiet(Follow(tmp_path, AnalysisOptions(), areas=("performance",))):
        found = look.reports.get("performance")
        if not is_killed and found is not None and found.report.counts["rows"] >= 500:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            is_killed = True
    assert is_killed and look.state.has_writer is False and look.state.last_write_ns is not None
    newest_ns = max(path.stat().st_mtime_ns for path in tmp_path.iterdir())
    assert look.state.last_write_ns == newest_ns
    assert look.reports["performance"].report.counts["rows"] == lines_in(tmp_path)


class Folder:
    """A monitor's folder under random hands, beside a folder with all that was ever to be seen in it."""

    def __init__(self, work: Path, kind: str) -> None:
        self.kind = kind
        self.live, self.ever = work / "live", work / "ever"
        for folder in (self.live, self.ever):
            folder.mkdir(parents=True)
        self.n_records = self.n_files = 0
        self.open = ""
        self._half = ""
        self.rotate()

    @property
    def path(self) -> Path:
        return self.live / self.open

    def rotate(self) -> None:
        """Another file. What was half written stays so in the one before."""
        self.open, self._half = rotated_name(self.kind, self.n_files), ""
        self.n_files += 1
        self.path.write_text(head(self.kind))

    def write(self, n: int, share: float) -> None:
        """n whole records and a part of another one."""
        text = "".join(record(self.kind, self.n_records + k) for k in range(n))
        more = record(self.kind, self.n_records + n)
        half = more[: int(len(more) * share)]
        with self.path.open("a") as file:
            file.write(self._rest() + text + half)
        self.n_records += n + 1
        self._half = half and more[len(half) :]
        if not half:
            self.n_records -= 1

    def _rest(self) -> str:
        rest, self._half = self._half, ""
        return rest

    def finish(self) -> None:
        with self.path.open("a") as file:
            file.write(self._rest())

    def keep(self) -> None:
        """Copy what is to be seen now to the folder of all that was ever there."""
        for path in self.live.iterdir():
            shutil.copyfile(path, self.ever / path.name)

    def remove_oldest(self) -> None:
        others = sorted(path for path in self.live.iterdir() if path.name != self.open)
        if others:
            others[0].unlink()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 6), st.sampled_from([0.0, 0.3, 0.9])),
        st.tuples(st.just("rotate"), st.just(0), st.just(0.0)),
        st.tuples(st.just("remove"), st.just(0), st.just(0.0)),
        st.tuples(st.just("look"), st.just(0), st.just(0.0)),
    ),
    min_size=1,
    max_size=14,
)


@given(steps=STEPS, seed=st.integers(0, 999))
def test_in_the_end_it_is_what_a_cold_open_of_everything_says(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, float]], seed: int
) -> None:
    folder = Folder(tmp_path_factory.mktemp("run"), "msmonitor")
    folder.write(1 + random.Random(seed).randrange(3), 0.0)
    watch = Watch(folder.live)
    following = Follow(folder.live, AnalysisOptions(), areas=("performance",), watch=watch)

    def look() -> Look | None:
        folder.keep()
        batch = watch.poll()
        return following.look(batch) if batch is not None else None

    last = look()
    for what, n, share in steps:
        if what == "write":
            folder.write(n, share)
        elif what == "rotate":
            folder.finish()
            folder.rotate()
        elif what == "remove":
            last = look() or last
            folder.remove_oldest()
        else:
            last = look() or last
    folder.finish()
    last = look() or last
    watch.close()
    area = area_of("performance")
    cold = area.newest_of(discover(folder.ever), AnalysisOptions())
    assert last is not None and cold is not None
    live_report, cold_report = last.reports["performance"].report, cold.report.report
    assert live_report.counts["rows"] == cold_report.counts["rows"] == folder.n_records
    for name in ("total_us", "wall_us", "busy_us", "types", "first", "top20_types_percent"):
        assert live_report.summary[name] == cold_report.summary[name], name


def test_a_shift_of_eight_hours_needs_no_more_memory_than_one(tmp_path: Path) -> None:
    """Files of a minute, ten of them kept, a look each five minutes: eight hours in a process of its own."""
    script = tmp_path / "shift.py"
    script.write_text(SHIFT)
    told = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "run")],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(REPO / "src"), str(REPO)))},
    )
    found = json.loads(told.stdout)
    assert found["rows"] == found["written"], "records of removed files stay counted"
    assert found["mb"][-1] <= found["mb"][1] * 1.05 + 2, found["mb"]


SHIFT = """
import json, sys
from pathlib import Path
from npulse.core.analysis import AnalysisOptions
from npulse.core.follow.session import Follow
from npulse.core.formats.profiling import follow as kept_files
from npulse.core.watch.watcher import Watch
from tests.growing import record, rotated_name

kept_files.MAX_KEPT_ROWS = 4000
folder = Path(sys.argv[1]); folder.mkdir()
watch = Watch(folder)
follow = Follow(folder, AnalysisOptions(), areas=("performance",), watch=watch)
n, mb, kept = 0, [], []
for minute in range(480):
    path = folder / rotated_name("msmonitor", minute)
    path.write_text("".join(record("msmonitor", n + k) for k in range(120)))
    n += 120
    kept.append(path)
    if len(kept) > 10:
        kept.pop(0).unlink()
    if minute % 5 == 4 and (batch := watch.poll()) is not None:
        look = follow.look(batch)
    if minute % 60 == 59:
        status = Path("/proc/self/status").read_text()
        mb.append(int(status.partition("VmRSS:")[2].split()[0]) / 1024)
print(json.dumps({"mb": mb, "written": n, "rows": look.reports["performance"].report.counts["rows"]}))
"""
