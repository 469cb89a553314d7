"""Findings beside the origins: what is close to the limit, clipped, growing, legal, not told, not seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from npulse.core.calls.apis import FILLERS, plain_api
from npulse.core.figures import amount, number
from npulse.core.findings import Finding, Location, Related
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import OUTPUT, TENSOR
from npulse.core.formats.tensors.dtypes import DTYPES
from npulse.core.text import Lang, say

from .analyse import Overflow
from .diagnosis import CANDIDATES
from .explain import AREA, joined, location_of, told_by
from .figures import dtype_name, masked_in, percent, row_figures, rows_text
from .growth import residual_growth
from .health import NO_BASIS
from .quantised import clipped, out_of_range
from .ranks import RankOverflow
from .roles import BENIGN
from .texts import TEXTS


def masked_rows(found: Overflow, lang: Lang) -> Iterator[Finding]:
    """Masks that close whole rows although no NaN followed."""
    named = {row for _, origin in found.origins() if origin.cause == "masked-row" for row in origin.legal}
    seen: set[str] = set()
    for (place, row), places in sorted(found.places.items()):
        rank = found.looked_through[place]
        call = int(rank.dump.leaves.call[row])
        is_output = rank.dump.leaves.side[row] == OUTPUT
        masked = masked_in(places)
        if not masked.n or rank.roles.row[row] != BENIGN or not is_output or row in named:
            continue
        if named or rank.name(call) in seen or rank.roles.legal.get(call) == "unwritten":
            continue
        seen.add(rank.name(call))
        rows = rows_text(masked)
        yield Finding(
            AREA,
            "warning",
            "overflow.masked-row",
            "suspect",
            rank.name(call),
            say(
                TEXTS,
                "masked-rows-note",
                lang,
                n=masked.n,
                rows=say(TEXTS, "masked-rows-at", lang, rows=rows),
            ),
            say(TEXTS, "next-masked-row", lang),
            figures=row_figures(rank, row, places),
            location=location_of(rank, call, row),
        )


PENDING = "overflow.pending"


def pending(found: Overflow, lang: Lang) -> Iterator[Finding]:
    """What is not there yet of captures that still run."""
    if not found.is_growing:
        return
    growing = [(rank, rank.live) for rank in found.ranks if rank.live is not None and rank.live.is_growing]
    n = sum(live.n_pending + rank.n_open for rank, live in growing)
    calls = sum(live.n_pending_calls for _, live in growing)
    yield Finding(
        AREA,
        "note",
        PENDING,
        "unknown",
        str(found.root),
        say(TEXTS, "pending-note" if n else "pending-none", lang, n=n, calls=calls),
        say(TEXTS, "next-pending-note", lang),
        figures={"n_pending": n, "n_pending_calls": calls, "n_ranks": len(growing)},
    )


def saturation_mode(found: Overflow, counted: dict[str, int], lang: Lang) -> Iterator[Finding]:
    """That Inf may never appear, where values at the limit are all there is and nothing says otherwise."""
    if counted.get("nan_calls") or counted.get("inf_calls") or not counted.get("saturated_calls"):
        return
    mode = found.context.saturation
    if mode is False:
        return  # the origins say so themselves
    text = (
        say(TEXTS, "mode-on-note", lang, told=told_by(found.context, lang))
        if mode
        else say(TEXTS, "mode-note", lang)
    )
    yield Finding(
        AREA,
        "note",
        "overflow.saturation-mode",
        "unknown",
        str(found.root),
        text,
        say(TEXTS, "next-mode", lang),
    )


def near_limit(found: Overflow, has_origin: bool, lang: Lang) -> Iterator[Finding]:
    """Outputs close to the limit where nothing overflowed; behind an origin they are its suspects."""
    if has_origin:
        return
    near = found.settings.criteria.near_ratio
    best: tuple[float, RankOverflow, int] | None = None
    n = 0
    for rank in found.looked_through:
        health, leaves = rank.health, rank.dump.leaves
        with np.errstate(invalid="ignore"):
            share = health.absmax / health.largest
        picked = health.is_float & ~health.is_quantised & (leaves.side == OUTPUT) & (share >= near)
        rows = np.flatnonzero(picked & np.isfinite(share) & (rank.roles.row != BENIGN))
        rows = rows[[not _is_filled(rank, int(row)) for row in rows]] if len(rows) else rows
        n += len(rows)
        if len(rows):
            row = int(rows[np.argmax(share[rows])])
            if best is None or float(share[row]) > best[0]:
                best = (float(share[row]), rank, row)
    if best is None:
        return
    share_of, rank, row = best
    call = int(rank.dump.leaves.call[row])
    dtype = dtype_name(rank, row)
    values = {"n": n, "share": percent(near), "dtype": dtype, "own": percent(share_of)}
    wider = [name for name in CANDIDATES if DTYPES[name].max_finite > 2 * float(rank.health.largest[row])]
    todo = say(TEXTS, "next-near", lang, dtypes=joined(wider[:2], lang))
    if dtype not in ("float16", "half"):  # what those need is no wider range
        todo = say(TEXTS, "next-near-wide", lang)
    yield Finding(
        AREA,
        "warning",
        "overflow.near-limit",
        "suspect",
        rank.name(call),
        say(TEXTS, "near-note", lang, absmax=amount(float(rank.health.absmax[row])), **values),
        todo,
        figures={"n_tensors": n, **row_figures(rank, row)},
        location=location_of(rank, call, row),
    )


def _is_filled(rank: RankOverflow, row: int) -> bool:
    """Whether a call was told to write its values: a mask of -50000 grows no further."""
    return plain_api(parse_name(rank.name(int(rank.dump.leaves.call[row]))).api) in FILLERS


def quantised(found: Overflow, lang: Lang) -> Iterator[Finding]:
    limit = found.settings.criteria.clipped_ratio
    ends = [(rank, one) for rank in found.looked_through for one in clipped(rank, limit)]
    if ends:
        rank, worst = max(ends, key=lambda end: end[1].share)
        call = int(rank.dump.leaves.call[worst.row])
        values = {
            "share": percent(worst.share),
            "dtype": dtype_name(rank, worst.row),
            "limit": percent(limit),
        }
        yield Finding(
            AREA,
            "warning",
            "overflow.clipped",
            "suspect",
            rank.dump.leaf_name(worst.row),
            say(TEXTS, "clipped-note", lang, n=len(ends), **values),
            say(TEXTS, "next-clipped", lang),
            figures={"clipped_ratio": worst.share, "n_tensors": len(ends), **row_figures(rank, worst.row)},
            location=location_of(rank, call, worst.row),
        )
    beyond = [(rank, one) for rank in found.looked_through for one in out_of_range(rank)]
    beyond.sort(key=lambda pair: -pair[1].ratio)
    for rank, one in beyond[:5]:
        values = {"absmax": amount(one.absmax), "range": amount(one.range), "scale": number(one.scale)}
        yield Finding(
            AREA,
            "warning",
            "overflow.quant-range",
            "suspect",
            rank.name(one.call),
            say(TEXTS, "range-note", lang, ratio=number(one.ratio), **values),
            say(TEXTS, "next-clipped", lang),
            figures={
                "absmax": one.absmax,
                "calibrated_range": one.range,
                "scale": one.scale,
                "range_ratio": one.ratio,
                "n_calls": len(beyond),
            },
            location=location_of(rank, one.call, one.row),
        )


def residual(found: Overflow, lang: Lang) -> Iterator[Finding]:
    grown = [(rank, growth) for rank in found.ranks if (growth := residual_growth(rank)) is not None]
    if not grown:
        return
    rank, growth = max(grown, key=lambda pair: (pair[1].last - pair[1].first, pair[1].ratio))
    left = ""
    if growth.blocks_left is not None:
        left = say(TEXTS, "residual-left", lang, n=growth.blocks_left, dtype=dtype_name(rank, growth.row))
    values = {"ratio": f"{growth.ratio:.2g}", "first": growth.first, "last": growth.last}
    yield Finding(
        AREA,
        "warning",
        "overflow.residual-growth",
        "suspect",
        growth.name,
        say(TEXTS, "residual-note", lang, absmax=amount(growth.absmax[-1]), left=left, **values),
        say(TEXTS, "next-residual", lang, first=growth.first),
        figures={
            "growth_ratio": growth.ratio,
            "first_block": growth.first,
            "last_block": growth.last,
            "block_absmax": list(growth.absmax),
            "blocks_left": growth.blocks_left,
            "dtype": dtype_name(rank, growth.row),
        },
        location=location_of(rank, int(rank.dump.leaves.call[growth.row]), growth.row),
    )


def legal(found: Overflow, lang: Lang) -> Iterator[Finding]:
    """Every reason for a legal Inf, in one note; the calls in `related`."""
    reasons: Counter[str] = Counter()
    related: list[Related] = []
    first: tuple[RankOverflow, int] | None = None
    for place, rank in enumerate(found.looked_through):
        for call, why in sorted(rank.roles.legal.items()):
            reasons[why] += 1
            if len(related) < 20:
                rows = [r for r in rank.dump.leaf_range(call) if rank.roles.row[r] == BENIGN]
                places = found.places.get((place, rows[-1])) if rows else None
                figures = row_figures(rank, rows[-1], places) if rows else {}
                related.append(Related("benign", rank.name(call), {"why": why, **figures}))
            if first is None or (why == "fill" and first[0].roles.legal[first[1]] != "fill"):
                first = (rank, call)
    if first is None:
        return
    rank, call = first
    listed = ", ".join(say(TEXTS, f"legal-{why}", lang, n=n) for why, n in reasons.most_common())
    row = next((r for r in rank.dump.leaf_range(call) if rank.roles.row[r] == BENIGN), -1)
    yield Finding(
        AREA,
        "note",
        "overflow.legal",
        "benign",
        rank.name(call),
        say(TEXTS, "legal-note", lang, n=sum(reasons.values()), reasons=listed, first=rank.name(call)),
        figures={**{why.replace("-", "_"): n for why, n in reasons.items()}, **_figures_at(found, rank, row)},
        related=tuple(related),
        location=location_of(rank, call, row),
    )


def _figures_at(found: Overflow, rank: RankOverflow, row: int) -> dict[str, Any]:
    if row < 0:
        return {}
    place = next(p for p, other in enumerate(found.looked_through) if other is rank)
    return row_figures(rank, row, found.places.get((place, row)))


def settings_notes(found: Overflow, counted: dict[str, int], lang: Lang) -> Iterator[Finding]:
    """What decides what one sees; names that no tool reads; where nothing tells, that it is missing."""
    for setting, real in found.context.seeds:
        yield Finding(
            AREA,
            "note",
            "overflow.settings",
            "unknown",
            setting.name,
            say(TEXTS, "seed-note", lang, name=setting.text, real=", ".join(real)),
            figures={"value": setting.value, "real_names": list(real)},
            location=Location(setting.artifact, line=setting.line),
        )
    if found.context.saturation is None and counted.get("saturated_calls"):
        yield Finding(
            AREA,
            "note",
            "overflow.settings",
            "unknown",
            "INF_NAN_MODE_ENABLE",
            say(TEXTS, "settings-none", lang),
            say(TEXTS, "next-settings", lang),
        )


def unknown(found: Overflow, lang: Lang) -> Iterator[Finding]:
    n = 0
    first: tuple[RankOverflow, int] | None = None
    for rank in found.looked_through:
        leaves = rank.dump.leaves
        silent = (leaves.kind == TENSOR) & ~rank.health.is_known & (rank.health.basis == NO_BASIS)
        rows = np.flatnonzero(silent)
        n += len(rows)
        if len(rows) and first is None:
            first = (rank, int(rows[0]))
    if first is None:
        return
    rank, row = first
    call = int(rank.dump.leaves.call[row])
    yield Finding(
        AREA,
        "note",
        "overflow.unknown",
        "unknown",
        rank.dump.leaf_name(row),
        say(TEXTS, "unknown-note", lang, n=n),
        say(TEXTS, "next-unknown", lang),
        figures={"n_tensors": n},
        location=location_of(rank, call, row),
    )
