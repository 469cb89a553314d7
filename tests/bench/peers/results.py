"""What was measured, kept as JSON between calls; medians, ratios and growth of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from .running import Run

MEASURES = ("cpu_s", "wall_s", "peak_mb")


@dataclass(slots=True)
class Cell:
    """Runs of one program on one amount of data. why: why there are none, or no more, of them."""

    runs: list[Run] = field(default_factory=list)
    why: str = ""

    @property
    def good(self) -> list[Run]:
        return [run for run in self.runs if not run.stopped]

    def middle(self, measure: str) -> float | None:
        """Median of a measure, or of a figure that the runs told; None where no run has it."""
        found = [value for run in self.good if (value := value_of(run, measure)) is not None]
        return median(found) if found else None


@dataclass(slots=True)
class Measured:
    """One work. cells: by way, then by scale (1: the smallest); sizes: bytes of data by scale; facts: of
    the machine
    when it began."""

    sizes: dict[int, int] = field(default_factory=dict)
    cells: dict[str, dict[int, Cell]] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)

    def cell(self, way: str, scale: int) -> Cell:
        return self.cells.setdefault(way, {}).setdefault(scale, Cell())


def value_of(run: Run, measure: str) -> float | None:
    return getattr(run, measure) if measure in MEASURES else run.told.get(measure)


def ratio(ours: Cell, theirs: Cell, measure: str) -> float | None:
    """Median of the ratios of the pairs, ours / theirs: runs that came in the same turn. None: there is no
    pair."""
    pairs = []
    for mine, other in zip(ours.runs, theirs.runs, strict=False):
        if mine.stopped or other.stopped:
            continue
        a, b = value_of(mine, measure), value_of(other, measure)
        if a is not None and b:
            pairs.append(a / b)
    return median(pairs) if pairs else None


def growth(cells: Mapping[int, Cell], measure: str, scales: Sequence[int]) -> list[float | None]:
    """By how much a measure grows from each scale to the next; None where one of them is not known."""
    values = [cells[s].middle(measure) if s in cells else None for s in scales]
    return [b / a if a and b is not None else None for a, b in zip(values, values[1:], strict=False)]


def keep(path: Path, works: Mapping[str, Measured]) -> None:
    told = {name: asdict(work) for name, work in works.items()}
    part = path.with_suffix(".part")
    part.write_text(json.dumps(told, indent=1))
    part.replace(path)


def kept(path: Path) -> dict[str, Measured]:
    """What earlier calls measured; nothing where there is no such file."""
    if not path.is_file():
        return {}
    return {name: _measured(told) for name, told in json.loads(path.read_text()).items()}


def _measured(told: Mapping[str, object]) -> Measured:
    cells = {
        way: {
            int(scale): Cell([Run(**run) for run in cell["runs"]], cell["why"]) for scale, cell in by.items()
        }
        for way, by in told["cells"].items()  # type: ignore[attr-defined]
    }
    sizes = {int(scale): size for scale, size in told["sizes"].items()}  # type: ignore[attr-defined]
    return Measured(sizes, cells, dict(told["facts"]))  # type: ignore[call-overload]
