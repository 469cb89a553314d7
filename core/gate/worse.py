"""Whether a finding that is known got worse: by the few figures that are sizes of a fault."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from npulse.core.figures import number
from npulse.core.findings import Figures, Finding, Severity

Kind = Literal["digits", "share", "count"]
LEAST_SHARE = 0.02
"""A size that differs by less is the same, as between two rounds: single runs differ by themselves."""
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")


@dataclass(frozen=True, slots=True)
class _Size:
    """kind: digits: as they are shown; share: by more than LEAST_SHARE; count: every one counts."""

    kind: Kind
    is_worse_up: bool = True


SIZES: Mapping[str, _Size] = {
    "cosine": _Size("digits", is_worse_up=False),
    "rel_l2": _Size("share"),
    "rel_l2_at_least": _Size("share"),
    "nan_count": _Size("count"),
    "inf_count": _Size("count"),
    "saturated_count": _Size("share"),
    "leaked_bytes": _Size("count"),
    "growth_bytes_per_step": _Size("share"),
    "n_ranks": _Size("count"),
    "first_token_ms": _Size("share"),
    "tokens_per_s": _Size("share", is_worse_up=False),
    "step_ms": _Size("share"),
    # criteria of the check-up, by the last part of their ids
    "origins": _Size("count"),
    "faults": _Size("count"),
    "conflicts": _Size("count"),
    "complete": _Size("count", is_worse_up=False),
    "min_steps": _Size("count", is_worse_up=False),
}
CRITERION = "checkup.criterion"


def sizes_of(finding: Finding) -> dict[str, float]:
    """The figures of a finding that are sizes; `n_ranks` of a finding that several ranks show; of a criterion
    that was missed its value."""
    if finding.rule == CRITERION:
        name, value = finding.subject.rpartition(".")[2], _number(finding.figures.get("value"))
        return {name: value} if name in SIZES and value is not None else {}
    found = {name: value for name in SIZES if (value := _number(finding.figures.get(name))) is not None}
    ranks = finding.figures.get("ranks")
    if isinstance(ranks, list | tuple) and ranks:
        found["n_ranks"] = float(len(ranks))
    return found


def worse_sizes(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Name -> before and after of each size that is worse; one that is not known on both sides is not."""
    return {
        name: (before[name], value)
        for name, value in after.items()
        if name in before and _is_worse(SIZES[name], before[name], value)
    }


def severity_before(figures: Figures, severity: Severity) -> Severity:
    """The severity that a finding had before a baseline made a note of it."""
    told = figures.get("severity_before")
    return told if told in SEVERITIES and "known" in figures else severity


def _is_worse(size: _Size, before: float, after: float) -> bool:
    if math.isnan(before):
        return False
    if math.isnan(after):
        return True
    if before == after or (after > before) != size.is_worse_up:
        return False
    if size.kind == "count":
        return True
    if size.kind == "digits":
        return number(before) != number(after)
    is_far = math.isinf(after - before)  # also of one that has no size any more
    return is_far or abs(after - before) > LEAST_SHARE * max(abs(before), abs(after))


def _number(value: object) -> float | None:
    """A figure, also one of those that JSON holds as a text."""
    if value in ("nan", "inf", "-inf"):
        return float(str(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
