"""What explains what: which area to open first, and whose figures mean nothing because of another one.

Two small tables, read from the top. An area leads as soon as its state is the state of all together.

    device        a broken card explains everything
    environment   so do versions that do not go together
    memory        a failed kernel, an access out of bounds: values change anywhere
    overflow      NaN explains bad cosines
    precision     wrong results: times of them mean nothing
    overflow      too few steps were looked at
    memory        leaks, held memory, what could not be judged: no value is changed by it
    performance   last
    plugin        what plug-ins say that belongs to no area
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from npulse.core.criteria import AreaState
from npulse.core.findings import Verdict, worst_verdict

HARMLESS_MEMORY = frozenset(
    f"memory.{name}"
    for name in ("leak", "workspace-leak", "unused", "out-of-memory", "compile-buffer", "incomplete", "more")
)
"""Errors of memory that change no value: the run ends, or its memory grows."""


def corrupts(state: AreaState) -> bool:
    """Whether memory was overwritten or read wrongly, or a kernel failed: values may be anything."""
    return state.state == "fail" and any(
        finding.severity == "error" and finding.area == "memory" and finding.rule not in HARMLESS_MEMORY
        for one in state.reports
        for finding in one.report.findings
    )


def blew_up(state: AreaState) -> bool:
    """Whether NaN, Inf or saturation was found: too few steps that were looked at are none."""
    return any(
        finding.severity == "error" and finding.area == "overflow"
        for one in state.reports
        for finding in one.report.findings
    )


@dataclass(frozen=True, slots=True)
class Cause:
    """An area that explains those behind it. why: key of the text that says so. when: None for always."""

    area: str
    why: str
    when: Callable[[AreaState], bool] | None = None


CAUSES: tuple[Cause, ...] = (
    Cause("device", "why-device"),
    Cause("environment", "why-environment"),
    Cause("memory", "why-corruption", corrupts),
    Cause("overflow", "why-overflow", lambda state: state.state != "fail" or blew_up(state)),
    Cause("precision", "why-precision"),
    Cause("overflow", "why-steps"),
    Cause("memory", "why-memory"),
    Cause("performance", "why-performance"),
    Cause("plugin", "why-plugin"),
)


@dataclass(frozen=True, slots=True)
class Distrust:
    """area in one of these states: figures of the areas behind it mean nothing."""

    area: str
    states: frozenset[Verdict]
    figures_of: frozenset[str]
    when: Callable[[AreaState], bool] | None = None


_FAIL: frozenset[Verdict] = frozenset(("fail",))
DISTRUST: tuple[Distrust, ...] = (
    Distrust("device", _FAIL, frozenset(("precision", "overflow", "memory", "performance"))),
    Distrust("device", frozenset(("warn",)), frozenset(("performance",))),  # hot, slow, shared with others
    Distrust("memory", _FAIL, frozenset(("precision", "overflow", "performance")), corrupts),
    Distrust("overflow", _FAIL, frozenset(("performance",)), blew_up),
    Distrust("precision", _FAIL, frozenset(("performance",))),
)


def state_of_all(areas: Sequence[AreaState]) -> Verdict:
    """The worst of the areas that count; unknown where none does."""
    return worst_verdict(area.state for area in areas if area.is_counted)


def first_of(areas: Sequence[AreaState]) -> Cause | None:
    """The cause to look at first: the first in the table whose area is in the state of all together.

    Figures that fail and mean nothing lead to the area that says so: a hot card before slow operators. None
    where all is well, or nothing counts. areas: as `with_distrust` made them.
    """
    state, by_id = state_of_all(areas), {area.area: area for area in areas if area.is_counted}
    if state == "pass":
        return None
    for cause in CAUSES:
        area = by_id.get(cause.area)
        if area is not None and area.state == state and (cause.when is None or cause.when(area)):
            by = area.distrusted_by if state == "fail" else ""
            return next((one for one in CAUSES if one.area == by), cause)
    return None


def with_distrust(areas: Sequence[AreaState]) -> list[AreaState]:
    """The areas, those marked whose figures mean nothing, with the first area in the table that says so."""
    by_id, told = {area.area: area for area in areas}, []
    for area in areas:
        for rule in DISTRUST:
            cause = by_id.get(rule.area)
            if cause is None or cause.state not in rule.states or area.area not in rule.figures_of:
                continue
            if area.reports and (rule.when is None or rule.when(cause)):
                area = replace(area, distrusted_by=rule.area)
                break
        told.append(area)
    return told
