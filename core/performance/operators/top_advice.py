"""What takes the time, as advice: the first operators, classes of work, rows that do not count.

What bounds single operators is in `bound_advice`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from npulse.core.figures import time_text
from npulse.core.findings import Location, Related
from npulse.core.text import columns_of

from ..advice import Advice, Words, words
from ..criteria import Criteria
from ..profile import Profile
from .bound import GroupBounds, group_bounds
from .bound_advice import advice_of_bounds
from .calls import percent, us
from .classes import AICPU, CLASSES, COMMUNICATION, Classes, classes_of
from .moved_bytes import Moved, moved_of
from .shares import N_FIRST, Spread, spread_of, sums_by_class, sums_by_core
from .texts_top import TEXTS
from .top import NO_COUNT, By, Top, top, top_of_totals
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
from .usable import Reason, SetAside, Usable, line_of

_N_NAMED = 3
_N_TOLD = 10
_N_LISTED = 20
_N_SAID = 4
_MIN_SHARE = 5.0


def tops_of(profile: Profile, usable: Usable | None, wall_ns: int | None = None) -> dict[By, Top]:
    """The tops that advice rests on: of the table by type and by call, else of the totals by type. Empty
    where the profile has neither."""
    if profile.operators is not None and usable is not None:
        return {by: top(profile.operators, usable, by, wall_ns) for by in ("type", "call")}
    if profile.types:
        return {"type": top_of_totals(profile.types, wall_ns=wall_ns)}
    return {}


def advice_of_top(
    profile: Profile,
    usable: Usable | None,
    tops: Mapping[By, Top],
    criteria: Criteria,
    *,
    classes: Classes | None = None,
    bounds: GroupBounds | None = None,
    moved: Moved | None = None,
    spread: Spread | None = None,
) -> Iterator[Advice]:
    """What to say of the operators of one profile: where the time is, what bounds the ones that matter, which
    rows are in no figure.

    tops: "type", and "call" where the rows are there (`tops_of`). classes, bounds, moved, spread: of
    `tops["type"]`, where the caller has them already.
    """
    table = profile.operators
    types = tops.get("type")
    if table is not None and usable is not None:
        yield from _set_aside(profile, usable)
    if types is None or not len(types):
        return
    if bounds is None and table is not None and usable is not None:
        bounds = group_bounds(table, usable, types, criteria.bound_ratio)
    if classes is None:
        classes = classes_of(types, None if bounds is None else bounds.ratios)
    if spread is None:
        spread = spread_of(
            types,
            tops["call"].total_ns if "call" in tops else None,
            concentrated_percent=criteria.concentrated_percent,
            scattered_percent=criteria.scattered_percent,
        )
    if types.all_ns > 0:
        yield _top(profile, usable, types, classes, bounds, spread)
        yield _classes(profile, types, classes)
    if table is not None and usable is not None and bounds is not None:
        if moved is None:
            moved = moved_of(table, usable, types)
        yield from advice_of_bounds(profile, usable, types, classes, bounds, moved, criteria)


def _top(
    profile: Profile,
    usable: Usable | None,
    types: Top,
    classes: Classes,
    bounds: GroupBounds | None,
    spread: Spread,
) -> Advice:
    """What takes the time, in one finding."""
    n = len(types)
    name = shown_name(types.label(0))
    said = [
        words(
            TEXTS,
            "top-part",
            name=shown_name(types.label(group)),
            time=time_text(int(types.total_ns[group])),
            share=float(types.share_percent[group]),
        )
        for group in range(min(n, _N_SAID))
    ]
    wall = words(TEXTS, "top-wall", wall=time_text(types.wall_ns)) if types.wall_ns else NOTHING
    message = filled(
        "top",
        n_calls=TEXTS["n-calls-unknown"] if spread.n_calls is None else count("n-calls", spread.n_calls),
        n_types=count("n-types", n),
        total=time_text(types.all_ns),
        wall=wall,
        first=joined(said),
        reading=_reading(spread),
    )
    key = "next-concentrated"
    if classes.code[0] == COMMUNICATION:
        key = "next-communication"
    elif classes.code[0] == AICPU:
        # of sums alone there is no such finding to look at
        key = "next-aicpu-sums" if usable is None else "next-aicpu"
    elif spread.reading == "scattered":
        key = "next-scattered"
    figures: dict[str, object] = {
        "total_us": us(types.all_ns),
        "n_types": n,
        "n_calls": spread.n_calls,
        "types": [types.label(group) for group in range(min(n, 20))],
        "types_us": [us(int(ns)) for ns in types.total_ns[:20]],
        "types_percent": [float(share) for share in types.share_percent[:20]],
        "first_20_types_percent": spread.types_percent,
        "first_20_calls_percent": spread.calls_percent,
        "n_types_for_80_percent": spread.n_for_most,
        "reading": spread.reading,
    }
    if types.wall_ns:
        figures["wall_us"] = us(types.wall_ns)
    if usable is not None and profile.operators is not None:
        figures["n_rows"] = profile.operators.n_rows
        figures["n_used"] = usable.n
        figures["core_types_percent"] = {
            core or "N/A": part.percent for core, part in sums_by_core(profile.operators, usable).items()
        }
    if types.n_left_out:
        figures["n_left_out"] = types.n_left_out
    return Advice(
        rule="performance.top-operators",
        severity="note",
        subject=name,
        message=message,
        next_step=words(TEXTS, key, name=name, kernel=kernel_name(types.label(0))),
        figures=figures,
        cost_ns=int(types.total_ns[0]),
        profile=profile.name,
        related=tuple(
            Related(
                "suspect",
                shown_name(types.label(group)),
                {
                    "total_us": us(int(types.total_ns[group])),
                    "share_percent": float(types.share_percent[group]),
                },
            )
            for group in range(1, min(n, _N_SAID))
        ),
        location=location_of(profile, longest_row(types, 0)),
        told=tuple(_told(types, classes, bounds)),
        bottleneck="compute" if classes.code[0] != COMMUNICATION else "communication",
    )


def _told(types: Top, classes: Classes, bounds: GroupBounds | None) -> list[str]:
    """The first types as aligned lines: share, time, calls, average, class, bound, name."""
    rows = []
    for group in range(min(len(types), _N_TOLD)):
        calls = int(types.calls[group])
        average = float(types.average_ns[group])
        rows.append(
            (
                f"{types.share_percent[group]:.2f} %",
                time_text(int(types.total_ns[group])),
                "?" if calls == NO_COUNT else f"{calls:,} x",
                "?" if np.isnan(average) else time_text(average),
                classes.label(group),
                "unknown" if bounds is None else bounds.label(group),
                shown_name(types.label(group)),
            )
        )
    return columns_of(rows, left=(4, 5, 6))


def _classes(profile: Profile, types: Top, classes: Classes) -> Advice:
    """Computing, moving, communicating; and where type and pipes do not agree."""
    parts = sums_by_class(types, classes)
    said = joined(
        filled("class-part", name=TEXTS[f"class-{name}"], share=part.percent) for name, part in parts.items()
    )
    places = np.flatnonzero(classes.is_contradicted).tolist()
    share = percent(int(types.total_ns[places].sum()), types.all_ns)
    heavy = [group for group in places if types.share_percent[group] >= _MIN_SHARE][:_N_NAMED]
    contradicted = NOTHING
    if heavy:
        names = joined(
            filled(
                "contradicted-one",
                name=shown_name(types.label(group)),
                by_type=TEXTS[f"class-{CLASSES[classes.by_type[group]]}"],
                by_pipes=TEXTS[f"class-{CLASSES[classes.by_pipes[group]]}"],
            )
            for group in heavy
        )
        contradicted = filled("contradicted", names=names, share=share)
    move = parts.get("move")
    is_moving = move is not None and move.percent >= 2 * _MIN_SHARE
    next_step = words(TEXTS, "next-classes")
    if is_moving and move is not None:
        next_step = words(TEXTS, "next-classes-move", share=move.percent)
    return Advice(
        rule="performance.time-by-class",
        severity="note",
        subject=profile.label,
        message=filled("classes", parts=said, contradicted=contradicted),
        next_step=next_step,
        figures={
            **{f"{name}_percent": part.percent for name, part in parts.items()},
            **{f"{name}_us": us(part.total_ns) for name, part in parts.items()},
            "contradicted": [types.label(group) for group in places[:20]],
            "contradicted_percent": share,
        },
        cost_ns=move.total_ns if is_moving and move is not None else 0,
        profile=profile.name,
        bottleneck="compute",
    )


def _set_aside(profile: Profile, usable: Usable) -> Iterator[Advice]:
    """Rows that are in no sum, by reason; with names, lines and values."""
    table = profile.operators
    if table is None:
        return
    counts = usable.n_set_aside
    groups: tuple[tuple[str, str, tuple[Reason, ...], str], ...] = (
        ("no-duration", "absent", ("absent",), "next-absent"),
        ("impossible-duration", "impossible", ("negative", "too long"), "next-impossible"),
        ("repeated-rows", "repeated", ("repeated",), "next-repeated"),
    )
    for rule, key, reasons, next_key in groups:
        n = sum(counts.get(reason, 0) for reason in reasons)
        if not n:
            continue
        some = list(usable.set_aside(table, _N_LISTED, reasons))
        yield _rows_advice(profile, rule, key, next_key, n, some)
    stray = np.flatnonzero(usable.rows & ~usable.starts & ~table.is_absent("start_ns"))
    if len(stray):
        starts = table.values("start_ns")
        some = [
            SetAside(
                row,
                table.text("name", row) or table.text("op_type", row),
                table.files[int(table.file[row])] if table.files else "",
                line_of(table, row),
                "absent",
                int(starts[row]),
            )
            for row in stray[:_N_LISTED].tolist()
        ]
        yield _rows_advice(profile, "stray-start", "stray", "next-impossible", len(stray), some)
    if usable.n_twice:
        yield Advice(
            rule="performance.repeated-rows",
            severity="note",
            subject=profile.label,
            message=filled("twice", rows=count("n-rows", usable.n_twice), all=table.n_rows),
            next_step=words(TEXTS, "next-repeated"),
            figures={"n_twice_in_one_file": usable.n_twice},
            role="unknown",
            profile=profile.name,
        )


def _rows_advice(
    profile: Profile, rule: str, key: str, next_key: str, n: int, some: list[SetAside]
) -> Advice:
    """One finding for all rows of one kind."""
    table = profile.operators
    named: list[Words] = []
    for one in some[:_N_NAMED]:
        name = shown_name(one.name)
        value = "" if one.value_ns is None else f"{one.value_ns / 1000:.15g} us"
        if one.line is None:  # of a table made out of a database or a timeline
            named.append(words(TEXTS, "value", name=name, value=value) if value else (name, name))
        elif not value:
            named.append(words(TEXTS, "place", name=name, line=one.line))
        else:
            named.append(words(TEXTS, "place-value", name=name, line=one.line, value=value))
    names = joined(named)
    if n > len(named):
        names = filled("and-more", names=names, n=n - len(named))
    n_all = table.n_rows if table is not None else n
    first = some[0] if some else None
    return Advice(
        rule=f"performance.{rule}",
        severity="warning" if rule == "impossible-duration" else "note",
        subject=shown_name(first.name) if first is not None else profile.label,
        message=filled(key, rows=count("n-rows", n), all=n_all, names=names),
        next_step=words(TEXTS, next_key),
        figures={
            "n_rows": n,
            "names": [one.name for one in some],
            "lines": [one.line for one in some],
            "files": sorted({one.file for one in some}),
            "values_us": [None if one.value_ns is None else us(one.value_ns) for one in some],
        },
        role="unknown",
        profile=profile.name,
        location=location_of(profile, first.row) if first is not None else Location(rank=profile.rank),
    )


def _reading(spread: Spread) -> Words:
    """How concentrated the time is, in words."""
    if spread.n_types <= N_FIRST:
        return filled(
            "reading-few",
            n_types=count("n-types", spread.n_types),
            n_most=count("n-types", spread.n_for_most),
        )
    calls = NOTHING
    if spread.calls_percent is not None:
        calls = words(TEXTS, "reading-calls", calls=spread.calls_percent)
    return filled(
        f"reading-{spread.reading}",
        calls=calls,
        types=spread.types_percent,
        n_most=count("n-types", spread.n_for_most),
    )
