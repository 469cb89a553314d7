"""The headless twin of the overflow pane: an `Overflow` as findings, counts and a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.figures import amount, number
from npulse.core.findings import Finding, Location, Related, Report, merged, verdict_from
from npulse.core.formats.msprobe.records import OUTPUT, TENSOR
from npulse.core.text import Lang, say

from .analyse import Overflow
from .explain import (
    AREA,
    Explained,
    dtype_name,
    explained,
    location_of,
    masked_in,
    origin_finding,
    percent,
    row_figures,
    rows_text,
)
from .gradient_report import gradient_findings
from .graph_report import exception_findings, record_findings
from .growth import residual_growth
from .health import BY_STATISTICS, BY_TENSOR, HIGH, LOW, MINUS, NAN, NO_BASIS, PLUS
from .quantised import clipped, out_of_range
from .ranks import RankOverflow
from .roles import BENIGN, INHERITED, ORIGIN, Origin
from .spread import followers_of, together
from .table import overflow_table
from .texts import TEXTS

SHOWN_ORIGINS = 50
"""Origins that are explained one by one; in a run with more the rest is counted."""


def report(found: Overflow, *, lang: Lang = "en", tables: bool = False, golden: str = "") -> Report:
    """Findings in the order in which they should be looked at: origins as they happened, then the rest."""
    counted = counts(found)
    followers = followers_of(found)
    all_origins = _each_once(found)
    told = [explained(found, place, origin, followers) for place, origin in all_origins[:SHOWN_ORIGINS]]
    findings = [
        *_origins(found, told, lang),
        *gradient_findings(found, lang),
        *_more(all_origins, lang, found),
        *_masked_rows(found, lang),
        *_saturation_mode(found, counted, lang),
        *_near_limit(found, bool(told), lang),
        *_quantised(found, lang),
        *_residual(found, lang),
        *_legal(found, lang),
        *exception_findings(found, lang),
        *_settings(found, counted, lang),
        *_unknown(found, lang),
    ]
    names = dict.fromkeys(rank.capture for rank in found.looked_through if rank.capture != ".")
    has_unknown = bool(counted["unknown"]) or not (found.looked_through or found.gradients)
    return Report(
        command=AREA,
        run=str(found.root),
        target=", ".join(names) or None,
        verdict=verdict_from(findings, found.problems, has_unknown=has_unknown),
        artifacts=found.artifacts,
        findings=tuple(findings),
        counts=counted,
        summary=summary(found, counted),
        told=tuple(_told(found, counted, golden, lang)),
        problems=found.problems,
        tables={AREA: overflow_table(found)} if tables else {},
    )


def counts(found: Overflow) -> dict[str, int]:
    """Operator calls by role, tensors by what they rest on."""
    counted: Counter[str] = Counter(
        dict.fromkeys(("calls", "tensors", "rank_steps", "origin", "inherited", "benign", "unknown"), 0)
    )
    for rank in found.looked_through:
        roles, leaves = rank.roles, rank.dump.leaves
        tensors = leaves.kind == TENSOR
        counted["rank_steps"] += 1
        counted["calls"] += len(rank.dump.calls.names)
        counted["tensors"] += int(tensors.sum())
        calls = {code: _calls_with(rank, roles.row == code) for code in (ORIGIN, INHERITED, BENIGN)}
        calls[INHERITED] &= ~calls[ORIGIN]  # an origin's bad inputs do not make it inherited too
        calls[BENIGN] &= ~calls[ORIGIN] & ~calls[INHERITED]
        for role, code in (("origin", ORIGIN), ("inherited", INHERITED), ("benign", BENIGN)):
            counted[role] += int(calls[code].sum())
        counted["unknown"] += int((tensors & ~rank.health.is_known).sum())
        counted["read"] += int((rank.health.basis == BY_TENSOR).sum())
        counted["by_statistics"] += int((tensors & (rank.health.basis == BY_STATISTICS)).sum())
        for name, bits in (("nan_calls", NAN), ("inf_calls", PLUS | MINUS), ("saturated_calls", HIGH | LOW)):
            bad = (rank.health.flags & bits != 0) & (roles.row != BENIGN)
            counted[name] += int(_calls_with(rank, bad).sum())
    if found.gradients is not None:
        counted["monitor_rows"] = sum(table.n_rows for table in found.gradients.tables)
    return dict(counted)


def _calls_with(rank: RankOverflow, rows: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which calls have one of these leaf rows."""
    found = np.zeros(len(rank.dump.calls.names), np.bool_)
    found[rank.dump.leaves.call[rows]] = True
    return found


def summary(found: Overflow, counted: dict[str, int]) -> dict[str, Any]:
    """What holds for the whole round."""
    context = found.context
    bad = counted.get("nan_calls", 0) + counted.get("inf_calls", 0)
    facts: dict[str, Any] = {
        "inf_or_nan_anywhere": bool(bad),
        "saturation_mode": {True: "on", False: "off", None: "unknown"}[context.saturation],
    }
    if context.settings:
        facts["settings"] = [setting.text for setting in context.settings]
    scales = [one.value for one in context.loss_scales]
    if any(scale != 1 for scale in scales):
        facts["loss_scale"] = scales
    return facts


def _told(found: Overflow, counted: dict[str, int], golden: str, lang: Lang) -> Iterator[str]:
    if found.looked_through:
        yield say(TEXTS, "told-counts", lang, ranks=counted["rank_steps"], **_only(counted))
        n_bad = counted["nan_calls"] + counted["inf_calls"]
        if not n_bad and counted["saturated_calls"]:
            yield say(TEXTS, "told-saturated", lang, n=counted["saturated_calls"])
        elif n_bad:
            kinds = {name: counted[f"{name}_calls"] for name in ("nan", "inf", "saturated")}
            yield say(TEXTS, "told-kinds", lang, **kinds)
        elif not counted["unknown"]:
            yield say(TEXTS, "told-none", lang)
        if counted["read"]:
            yield say(TEXTS, "told-read", lang, read=counted["read"], told=counted["by_statistics"])
    facts = [setting.text for setting in found.context.settings]
    mode = found.context.saturation
    if mode is not None and found.context.told_by is None:
        facts.append(f"saturation={'on' if mode else 'off'}")
    scales = found.context.loss_scales
    if any(one.value != 1 for one in scales):
        shown = ", ".join(
            f"{'' if one.step is None else f'{one.step}: '}{number(one.value)}" for one in scales[:8]
        )
        facts.append(f"loss_scale {shown}")
    if facts:
        yield say(TEXTS, "told-settings", lang, settings="; ".join(facts))
    if golden:
        yield say(TEXTS, "told-golden", lang, names=golden)


def _only(counted: dict[str, int]) -> dict[str, int]:
    return {name: counted[name] for name in ("calls", "tensors", "origin", "inherited", "benign")}


# ---- findings ----


def _origins(found: Overflow, told: list[Explained], lang: Lang) -> list[Finding]:
    """Origins; where the device itself reported one, its record stands for it."""
    records = record_findings(found, told, lang)
    replaced = {key for key, _ in records if key is not None}
    others = [(this, origin_finding(found, this, lang)) for this in told]
    kept = [finding for this, finding in others if (this.place, this.origin.call) not in replaced]
    device = [finding for _, finding in records]
    first = [f for f in device if f.severity == "error"]
    return [*first, *merged(kept), *(f for f in device if f.severity != "error")]


def _each_once(found: Overflow) -> list[tuple[int, Origin]]:
    """The origins in order; a reduction that overflows on all its ranks is one."""
    kept: list[tuple[int, Origin]] = []
    seen: set[tuple[int, int]] = set()
    for place, origin in found.origins():
        if (place, origin.call) not in seen:
            kept.append((place, origin))
            seen.update(together(found, place, origin))
    return kept


def _more(origins: list[Any], lang: Lang, found: Overflow) -> Iterator[Finding]:
    n = len(origins) - SHOWN_ORIGINS
    if n > 0:
        place, origin = origins[SHOWN_ORIGINS]
        rank = found.looked_through[place]
        message = say(TEXTS, "more-origins", lang, n=n)
        where = location_of(rank, origin.call, origin.rows[0])
        yield Finding(
            AREA, "error", "overflow.origin", "origin", rank.name(origin.call), message, location=where
        )


def _masked_rows(found: Overflow, lang: Lang) -> Iterator[Finding]:
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


def _saturation_mode(found: Overflow, counted: dict[str, int], lang: Lang) -> Iterator[Finding]:
    if counted.get("nan_calls") or counted.get("inf_calls") or not counted.get("saturated_calls"):
        return
    told_by = found.context.told_by
    told = (
        say(TEXTS, "mode-told", lang, name=told_by.name, value=told_by.value) if told_by is not None else ""
    )
    yield Finding(
        AREA,
        "note",
        "overflow.saturation-mode",
        "unknown",
        str(found.root),
        say(TEXTS, "mode-note", lang, told=told),
        say(TEXTS, "next-mode", lang),
    )


def _near_limit(found: Overflow, has_origin: bool, lang: Lang) -> Iterator[Finding]:
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
        n += len(rows)
        if len(rows):
            row = int(rows[np.argmax(share[rows])])
            if best is None or float(share[row]) > best[0]:
                best = (float(share[row]), rank, row)
    if best is None:
        return
    share_of, rank, row = best
    call = int(rank.dump.leaves.call[row])
    values = {"n": n, "share": percent(near), "dtype": dtype_name(rank, row), "own": percent(share_of)}
    yield Finding(
        AREA,
        "warning",
        "overflow.near-limit",
        "suspect",
        rank.name(call),
        say(TEXTS, "near-note", lang, absmax=amount(float(rank.health.absmax[row])), **values),
        say(TEXTS, "next-near", lang),
        figures={"n_tensors": n, **row_figures(rank, row)},
        location=location_of(rank, call, row),
    )


def _quantised(found: Overflow, lang: Lang) -> Iterator[Finding]:
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


def _residual(found: Overflow, lang: Lang) -> Iterator[Finding]:
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


def _legal(found: Overflow, lang: Lang) -> Iterator[Finding]:
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


def _settings(found: Overflow, counted: dict[str, int], lang: Lang) -> Iterator[Finding]:
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


def _unknown(found: Overflow, lang: Lang) -> Iterator[Finding]:
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
