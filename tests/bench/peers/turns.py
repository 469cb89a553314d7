"""The turns of one work: its data made, its programs run one after another, again and again, within
bounds."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .results import Cell, Measured
from .running import DROPPED, Run, forget, run
from .works import REPO, Place, Way, Work, python_of

LIMIT_S = 300.0
"""The longest that one run may take."""
TURNS_S = 60.0
"""No further turn of one amount of data begins behind so much time."""


@dataclass(frozen=True, slots=True)
class Bounds:
    n_pairs: int
    limit_s: float = LIMIT_S
    turns_s: float = TURNS_S
    limit_mb: float = 0.0

    @classmethod
    def here(cls, n_pairs: int) -> Bounds:
        """As much memory as seven tenths of what the machine has."""
        n_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return cls(n_pairs, limit_mb=0.7 * n_bytes / 1e6)


def expected_s(cells: Mapping[int, Cell], scale: int) -> float:
    """The wall time of a run at this scale, on the line through the two largest ones below that were run.

    0 where fewer were: what a start costs is not known then, and the limit of time ends what takes too long.
    """
    smaller = sorted(s for s, cell in cells.items() if s < scale and cell.good)
    if len(smaller) < 2:
        return 0.0
    (a, t_a), (b, t_b) = ((s, cells[s].middle("wall_s") or 0.0) for s in smaller[-2:])
    return t_b + (scale - b) * max(0.0, t_b - t_a) / (b - a)


def why_not(way: Way, cells: Mapping[int, Cell], scale: int, limit_s: float) -> str:
    """Why a way is not run at a scale; "" if it is."""
    if scale > way.most_scale:
        return "not run at this amount"
    if any(s < scale and cell.runs and not cell.good for s, cell in cells.items()):
        return "not run: a smaller amount had no result"
    seconds = expected_s(cells, scale)
    if seconds > limit_s:
        return f"not run: by the smaller amounts it would take {seconds / 60:.1f} min"
    return ""


def facts() -> dict[str, str]:
    """Of the machine, now."""
    model = ""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    unset = [name for name in DROPPED if name in os.environ and name.startswith("OPENBLAS")]
    told = {
        "processors": f"{len(os.sched_getaffinity(0))} ({model or platform.machine()})",
        "memory": f"{memory_gb:.0f} GB",
        "Linux": platform.release(),
        "Python": platform.python_version(),
        "numpy": _version("numpy"),
    }
    if unset:
        told["unset for all"] = ", ".join(unset)
    load, date = f"{os.getloadavg()[0]:.1f}", time.strftime("%Y-%m-%d", time.gmtime())
    return {**told, "load": load, "date": date}


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def make(work: Work, scale: int, folder: Path) -> int:
    """The data of a work; its bytes. In a process of its own, which keeps this one small."""
    if not work.makes:
        return 0
    command = [
        sys.executable,
        "-m",
        "tests.bench.peers.making",
        work.makes,
        str(folder),
        str(work.amount * scale),
    ]
    subprocess.run(command, cwd=REPO, check=True, stdout=subprocess.DEVNULL)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure(
    work: Work,
    made: Mapping[str, object],
    scales: Iterable[int],
    bounds: Bounds,
    folder: Path,
    say: Callable[[str], None],
) -> Measured:
    """All ways of a work at all scales that it has; the data is removed behind each."""
    measured = Measured(facts=facts())
    for scale in scales:
        data, out = folder / "data", folder / "out"
        for place in (data, out):
            shutil.rmtree(place, ignore_errors=True)
        try:
            measured.sizes[scale] = make(work, scale, data)
            _turns(work, made, scale, bounds, data, out, measured, say)
        finally:
            for place in (data, out):
                shutil.rmtree(place, ignore_errors=True)
    return measured


def _turns(
    work: Work, made: Mapping[str, object], scale: int, bounds: Bounds, data: Path, out: Path, measured:
    Measured,
    say: Callable[[str], None],
) -> None:  # fmt: skip
    begun = time.monotonic()
    ways = []
    for way in work.ways:
        python = python_of(way, made)
        cell = measured.cell(way.name, scale)
        cell.why = "peer missing" if python is None else why_not(
            way, measured.cells[way.name], scale, bounds.limit_s
        )  # fmt: skip
        if python is not None and not cell.why:
            ways.append((way, python, cell))
    for turn in range(bounds.n_pairs):
        if turn and time.monotonic() - begun > bounds.turns_s:
            break
        for way, python, cell in ways:
            if cell.runs and cell.runs[-1].stopped:
                cell.runs.append(cell.runs[-1])  # once is enough
                continue
            found = _one(way, Place(python, data, out), bounds)
            cell.runs.append(found)
            say(f"  {scale}x {way.name}: {told(found)}")


def _one(way: Way, place: Place, bounds: Bounds) -> Run:
    shutil.rmtree(place.out, ignore_errors=True)
    place.out.mkdir(parents=True)
    if way.is_cold:
        forget(place.data)
    state = {"XDG_CACHE_HOME": str(place.out / "cache"), "XDG_STATE_HOME": str(place.out / "state")}
    return run(
        way.command(place),
        place.out,
        extra={**state, **way.extra},
        limit_s=bounds.limit_s,
        limit_mb=bounds.limit_mb,
        good=way.good,
    )


def told(found: Run) -> str:
    return found.stopped or f"{found.cpu_s:.2f} CPU s, {found.wall_s:.2f} s, {found.peak_mb:.0f} MB"
