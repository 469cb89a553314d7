"""What bounds the operators that matter, as advice: idle pipes, idle cores, axes that do not fit.

What matters is measured against the kernel time without communication: waiting hides no operator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from npulse.core.figures import time_text
from npulse.core.formats.profiling.operators import NO_ID
from npulse.core.text import safe_text

from ..advice import Advice, Words, words
from ..chips import chip_of
from ..criteria import Criteria
from ..profile import Profile
from .aicore_rules import Axis, Shaped, shaped_of
from .bound import BOUNDS, NONE, PIPES, UNKNOWN, GroupBounds, pipe_ratio, row_bounds, shown
from .calls import percent, us
from .classes import AICPU, COMMUNICATION, CUBE, Classes, weights_percent
from .moved_bytes import Moved
from .roof_advice import advice_of_bandwidth
from .texts_top import TEXTS
from .top import Top
from .top_words import (
    NOTHING,
    count,
    filled,
    joined,
    kernel_name,
    location_of,
    longest_row,
    shown_name,
)
from .usable import Usable

_N_FINDINGS = 5
_MIN_BOUND_SHARE = 5.0
_MIN_SHARE = 1.0
_SHAPE_CHARS = 80


def advice_of_bounds(
    profile: Profile,
    usable: Usable,
    types: Top,
    classes: Classes,
    bounds: GroupBounds,
    moved: Moved,
    criteria: Criteria,
) -> Iterator[Advice]:
    """All that the counters and shapes of a table say about single types, at most five of a rule."""
    table = profile.operators
    if table is None or types.all_ns <= 0:
        return
    shaped = shaped_of(table, usable)
    yield from _unbound(profile, usable, types, classes, shaped, criteria)
    yield from _bound(profile, types, classes, bounds, criteria)
    yield from _utilization(profile, types, classes, bounds, criteria)
    yield from _axes(profile, types, classes, shaped)
    yield from advice_of_bandwidth(profile, types, classes, bounds, moved, criteria)


def _unbound(
    profile: Profile,
    usable: Usable,
    types: Top,
    classes: Classes,
    shaped: Sequence[Shaped],
    criteria: Criteria,
) -> Iterator[Advice]:
    """Types whose long calls keep no pipe busy, the most to gain first."""
    table = profile.operators
    if table is None:
        return
    rows = row_bounds(table, criteria.bound_ratio)
    durations = table.values("duration_ns")
    groups = types.group_of(table.n_rows)
    is_wanted = usable.rows & (rows.code == NONE) & (durations >= round(criteria.unbound_us * 1000))
    at = np.flatnonzero(is_wanted & (groups >= 0))
    if not len(at):
        return
    mine = groups[at]
    is_kernel = (classes.code != COMMUNICATION) & (classes.code != AICPU)
    at, mine = at[is_kernel[mine]], mine[is_kernel[mine]]
    n = len(types)
    weights = weights_percent(types, classes)
    times = durations[at].astype(np.float64)
    counts = np.bincount(mine, minlength=n)
    total = np.bincount(mine, weights=times, minlength=n)
    gain = np.bincount(mine, weights=times * (1 - rows.highest[at] / criteria.bound_ratio), minlength=n)
    for group in np.argsort(-gain, kind="stable")[:_N_FINDINGS].tolist():
        if not counts[group]:
            return
        of_group = at[mine == group]
        longest = int(of_group[np.argmax(durations[of_group])])
        # the busiest pipe of all these calls together
        highest = float((rows.highest[of_group] * durations[of_group]).sum() / max(total[group], 1))
        pipe = _busiest(profile, of_group)
        share = percent(total[group], types.all_ns)
        reach, is_reached = _reach(types.label(group), shaped)
        name = shown_name(types.label(group))
        calls = count("n-calls", int(counts[group]))
        yield Advice(
            rule="performance.unbound-operator",
            severity="note" if is_reached or weights[group] < _MIN_SHARE else "warning",
            subject=name,
            message=filled(
                "unbound",
                calls=calls,
                reach=reach,
                name=name,
                limit=criteria.unbound_us,
                ratio=criteria.bound_ratio,
                pipe=pipe,
                highest=highest,
                time=time_text(total[group]),
                share=share,
                gain=time_text(gain[group]),
            ),
            next_step=words(
                TEXTS,
                "next-unbound-cube" if classes.code[group] == CUBE else "next-unbound-vector",
                kernel=kernel_name(types.label(group)),
            ),
            figures={
                "n_calls": int(counts[group]),
                "total_us": us(total[group]),
                "share_percent": share,
                "highest_ratio": highest,
                "pipe": pipe,
                "gain_us": us(gain[group]),
            },
            cost_ns=int(gain[group]),
            profile=profile.name,
            location=location_of(profile, longest),
            bottleneck="compute",
        )


def _busiest(profile: Profile, rows: npt.NDArray[np.int64]) -> str:
    """The pipe that was busiest over some rows, weighted by time."""
    table = profile.operators
    if table is None:
        return ""
    times = table.values("duration_ns")[rows].astype(np.float64)
    best, name = -1.0, ""
    for pipe in PIPES:
        values = pipe_ratio(table, pipe)
        if values is None:
            continue
        value = float(np.nansum(values[rows] * times))
        if value > best:
            best, name = value, pipe
    return name


def _bound(
    profile: Profile, types: Top, classes: Classes, bounds: GroupBounds, criteria: Criteria
) -> Iterator[Advice]:
    """What the heavy types are bound by."""
    n_said = 0
    is_heavy = (weights_percent(types, classes) >= _MIN_BOUND_SHARE) & (classes.code != AICPU)
    for group in np.flatnonzero(is_heavy).tolist():
        if n_said == _N_FINDINGS:
            return
        share = float(types.share_percent[group])
        code = int(bounds.code[group])
        memory = float(bounds.memory_bound[group])
        name = shown_name(types.label(group))
        figures: dict[str, object] = {
            "share_percent": share,
            "total_us": us(int(types.total_ns[group])),
            "bound": BOUNDS[code],
            "ratios": {
                pipe: float(ratio)
                for pipe, ratio in zip(PIPES, bounds.ratios[group], strict=True)
                if not np.isnan(ratio)
            },
        }
        if not np.isnan(memory):
            figures["memory_bound_ratio"] = memory
        if code not in (NONE, UNKNOWN):
            message = filled(
                "bound",
                bound=TEXTS[f"bound-{BOUNDS[code]}"],
                name=name,
                share=share,
                pipe=PIPES[code],
                highest=shown(float(bounds.highest[group])),
            )
            bound = BOUNDS[code]
            next_step = words(
                TEXTS, f"next-bound-{bound if bound in ('cube', 'vector', 'scalar') else 'mte'}"
            )
        elif memory > 1:
            message = words(TEXTS, "bound-memory", name=name, share=share, value=memory)
            next_step = words(TEXTS, "next-bound-mte")
        else:
            continue
        n_said += 1
        yield Advice(
            rule="performance.bound-operator",
            severity="note",
            subject=name,
            message=message,
            next_step=next_step,
            figures=figures,
            profile=profile.name,
            location=location_of(profile, longest_row(types, group)),
            bottleneck="compute",
        )


def _utilization(
    profile: Profile, types: Top, classes: Classes, bounds: GroupBounds, criteria: Criteria
) -> Iterator[Advice]:
    """Cube operators whose cores have nothing to do for most of the time."""
    limit = criteria.core_utilization_percent
    value = bounds.utilization_percent
    with np.errstate(invalid="ignore"):
        is_low = (value < limit) & (classes.code == CUBE) & (weights_percent(types, classes) >= _MIN_SHARE)
    gain = np.where(is_low, bounds.used_ns * (1 - np.nan_to_num(value) / limit if limit > 0 else 0), 0)
    for group in np.argsort(-gain, kind="stable")[:_N_FINDINGS].tolist():
        if not is_low[group]:
            return
        name = shown_name(types.label(group))
        yield Advice(
            rule="performance.cube-utilization",
            severity="warning",
            subject=name,
            message=filled(
                "utilization",
                blocks=_blocks(profile, types, group),
                name=name,
                value=float(value[group]),
                limit=limit,
                time=time_text(int(bounds.used_ns[group])),
                share=float(types.share_percent[group]),
                gain=time_text(float(gain[group])),
            ),
            next_step=words(TEXTS, "next-utilization"),
            figures={
                "utilization_percent": float(value[group]),
                "used_us": us(int(bounds.used_ns[group])),
                "share_percent": float(types.share_percent[group]),
                "gain_us": us(float(gain[group])),
                "block_dim": None if types.block_dim[group] == NO_ID else int(types.block_dim[group]),
            },
            cost_ns=int(gain[group]),
            profile=profile.name,
            location=location_of(profile, longest_row(types, group)),
            bottleneck="compute",
        )


def _blocks(profile: Profile, types: Top, group: int) -> Words:
    """Over how many cores it is split, of how many the chip has."""
    most, least = int(types.block_dim[group]), int(types.least_block_dim[group])
    if most == NO_ID:
        return NOTHING
    blocks = f"{least}-{most}" if least != most else f"{most}"
    chip = chip_of(profile.settings.chip)
    cores = profile.settings.ai_core_num or (chip.cube_cores if chip is not None else None)
    if cores and most <= cores:
        return words(TEXTS, "blocks", blocks=blocks, cores=cores)
    return words(TEXTS, "blocks-only", blocks=blocks)


def _axes(profile: Profile, types: Top, classes: Classes, shaped: Sequence[Shaped]) -> Iterator[Advice]:
    """Shapes that the hardware cannot take as they are, the most time first."""
    own_ns = int(types.total_ns[classes.code != COMMUNICATION].sum())
    said = {"matmul-axis": 0, "attention-axis": 0}
    for one in shaped:
        rule = "matmul-axis" if one.kind == "matmul" else "attention-axis"
        if not one.axes or said[rule] == _N_FINDINGS:
            continue
        said[rule] += 1
        name, shapes = shown_name(one.op_type), safe_text(one.input_shapes, _SHAPE_CHARS)
        share = percent(one.total_ns, types.all_ns)
        reach = _reach_words(one)
        values: dict[str, object] = {
            "name": name,
            "shapes": shapes,
            "time": time_text(one.total_ns),
            "share": share,
        }
        first = one.axes[0]
        if rule == "matmul-axis":
            numbers = ", ".join(dict.fromkeys(f"{axis.value:,}" for axis in one.axes))
            message = filled(rule, calls=count("n-calls", one.n), reach=reach, values=numbers, **values)
            next_step = words(TEXTS, "next-matmul-axis", padded=f"{_padded(first):,}")
        else:
            what = [words(TEXTS, f"axis-{axis.what}", value=f"{axis.value:,}") for axis in one.axes]
            message = filled(rule, calls=count("n-calls", one.n), reach=reach, what=joined(what), **values)
            next_step = words(TEXTS, "next-attention-axis")
        yield Advice(
            rule=f"performance.{rule}",
            severity="warning" if percent(one.total_ns, own_ns) >= _MIN_SHARE else "note",
            subject=name,
            message=message,
            next_step=next_step,
            figures={
                "input_shapes": one.input_shapes[:400],
                "axes": [axis.value for axis in one.axes],
                "multiple": first.multiple,
                "n_calls": one.n,
                "total_us": us(one.total_ns),
                "share_percent": share,
                "reach": one.reach,
                "space_ratio": one.space_ratio,
            },
            cost_ns=round(one.total_ns * one.space_ratio) if one.reach == "space" else 0,
            profile=profile.name,
            location=location_of(profile, one.first_row),
            bottleneck="compute",
        )


def _reach(op_type: str, shaped: Sequence[Shaped]) -> tuple[Words, bool]:
    """What the advisor's own limits say of most of a type's time; whether that is at its reach."""
    mine = [one for one in shaped if one.op_type == op_type and one.reach != "unknown"]
    if not mine:
        return NOTHING, False
    reached = sum(one.total_ns for one in mine if one.reach == "reached")
    is_reached = 2 * reached > sum(one.total_ns for one in mine)
    first = next((one for one in mine if (one.reach == "reached") == is_reached), mine[0])
    return _reach_words(first), is_reached


def _reach_words(one: Shaped) -> Words:
    if one.reach == "reached":
        return words(TEXTS, "reach-reached", by=one.by)
    if one.reach == "space" and one.space_ratio > 0:
        return words(TEXTS, "reach-space", space=100 * one.space_ratio)
    return NOTHING


def _padded(axis: Axis) -> int:
    return -(-axis.value // axis.multiple) * axis.multiple
