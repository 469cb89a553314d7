"""One kernel with all that its checks need, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.findings import Figures, Location, Severity
from npulse.core.formats.opprof.records import Floats, KernelProfile, RooflinePoint
from npulse.core.text import safe_text

from ..advice import Advice, Words, words
from ..chips import Chip, chip_of
from ..criteria import Criteria
from .bounds import Bound, bounds_of
from .cores import KINDS, Cores, cores_of
from .roofline import RoofClass, class_of, points_of
from .texts import TEXTS

KIND_NAMES = {"cube": "AIC", "vector": "AIV", "aicore": "AI"}
PIPE_NAMES = {
    "cube": "Cube",
    "vector": "Vector",
    "scalar": "Scalar",
    "mte1": "MTE1",
    "mte2": "MTE2",
    "mte3": "MTE3",
    "fixpipe": "FixPipe",
}
SIDES = {"cube": "aic", "vector": "aiv", "aicore": "aic"}


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel, its cores, what they are bound by, and its roofline. chip: None where it is not known."""

    kernel: KernelProfile
    cores: Cores
    criteria: Criteria
    chip: Chip | None
    bounds: tuple[Bound, ...]
    points: tuple[RooflinePoint, ...]
    roof: RoofClass | None

    @property
    def duration_us(self) -> float:
        """0 where it is not told: then no cost is."""
        return self.kernel.duration_us or 0.0

    @property
    def is_short(self) -> bool:
        """Too short for its bound to matter."""
        return 0 < self.duration_us < self.criteria.unbound_us

    def mean_time_us(self, kind: str) -> float:
        """Of the cores of a kind; 0 where not told."""
        times = self.cores.time_us[self.cores.rows(kind)]
        return mean_of(times) or 0.0

    @property
    def leading(self) -> Bound | None:
        """The bound of those cores that work the longest."""
        return max(self.bounds, key=lambda bound: self.mean_time_us(bound.kind), default=None)


def case_of(kernel: KernelProfile, criteria: Criteria, chip: Chip | None = None) -> Case:
    """chip: by the name in the files where it is None."""
    cores = cores_of(kernel)
    chip = chip or chip_of(kernel.soc)
    points = points_of(kernel, cores, chip)
    roof = class_of(points, cores, criteria.bound_ratio)
    return Case(kernel, cores, criteria, chip, bounds_of(cores, criteria.bound_ratio), points, roof)


@dataclass(frozen=True, slots=True)
class Saying:
    """What a check found; `advice` makes an `Advice` of it. cost_us: time that is at stake at most."""

    rule: str
    severity: Severity
    message: Words
    next_step: Words
    figures: Figures = field(default_factory=dict)
    cost_us: float = 0.0
    part: str = ""
    told: Sequence[str] = ()


def advice(case: Case, said: Saying) -> Advice:
    """The finding about this kernel; part: kind of file that the figures are from."""
    kernel = case.kernel
    sources = kernel.sources
    artifact = (
        sources.get(said.part) or sources.get("visualize") or next(iter(sources.values()), kernel.folder)
    )
    name = safe_text(kernel.name, 200)
    cost = said.cost_us * 1000
    return Advice(
        rule=f"performance.kernel-{said.rule}",
        severity=said.severity,
        subject=name if kernel.index is None else f"{name} #{kernel.index}",
        message=said.message,
        next_step=said.next_step,
        figures={"duration_us": kernel.duration_us, **said.figures},
        cost_ns=int(cost) if 0 < cost < 2**62 else 0,
        profile=kernel.folder,
        location=Location(artifact=artifact),
        told=tuple(said.told),
    )


def text(key: str, **values: object) -> Words:
    return words(TEXTS, key, **values)


def joined(whole: str, parts: dict[str, Words], **values: object) -> Words:
    """A text of both languages into which other such texts are put by name."""
    both = []
    for language in (0, 1):
        inner = {name: part[language] for name, part in parts.items()}
        both.append(TEXTS[whole][language].format(**values, **inner))
    return both[0], both[1]


def percent(ratio: float) -> str:
    """A share as percent, without its sign: 0.0749 -> '7.5'."""
    return f"{ratio * 100:.1f}"


def amount(value: float) -> str:
    """A count or a time: whole from 1,000 on, else 4 digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def mean_of(values: Floats) -> float | None:
    """None where no value is told."""
    return None if not len(values) or np.isnan(values).all() else float(np.nanmean(values))


def listed(parts: Sequence[str]) -> Words:
    """'a, b' and 'a、b'."""
    return ", ".join(parts), "、".join(parts)


def kinds_in(case: Case) -> list[str]:
    """The kinds of cores that this kernel uses."""
    return [kind for kind in KINDS if kind in case.cores.kinds]


def weighty_kinds(case: Case) -> list[str]:
    """Those that work at least half as long as the longest: the others only wait for them."""
    times = {kind: case.mean_time_us(kind) for kind in kinds_in(case)}
    longest = max(times.values(), default=0.0)
    return [kind for kind, time in times.items() if time >= longest / 2]
