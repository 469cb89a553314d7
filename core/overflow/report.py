"""The headless twin of the overflow pane: an `Overflow` as findings, counts and a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.figures import amount
from npulse.core.findings import Finding, Report, merged, verdict_from
from npulse.core.formats.msprobe.records import TENSOR
from npulse.core.text import Lang, say

from . import notes
from .advice import next_step
from .analyse import Overflow
from .explain import AREA, location_of, origin_finding
from .explained import Explained, explained
from .gradient_report import gradient_findings
from .graph_report import exception_findings, record_findings
from .health import BY_STATISTICS, BY_TENSOR, HIGH, LOW, MINUS, NAN, NO_BASIS, PLUS
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
        *notes.masked_rows(found, lang),
        *notes.saturation_mode(found, counted, lang),
        *notes.near_limit(found, bool(told), lang),
        *notes.quantised(found, lang),
        *notes.residual(found, lang),
        *notes.legal(found, lang),
        *exception_findings(found, lang),
        *notes.settings_notes(found, counted, lang),
        *notes.unknown(found, lang),
        *notes.pending(found, lang),
    ]
    names = dict.fromkeys(rank.capture for rank in found.looked_through if rank.capture != ".")
    seen = counted["tensors"] + counted["monitor_rows"] + counted["records"]
    has_unknown = bool(counted["unknown"] or counted["monitor_rows_unknown"]) or not seen or found.is_growing
    has_unknown = has_unknown or found.n_awaited > 0
    return Report(
        command=AREA,
        run=str(found.root),
        target=", ".join(names) or None,
        verdict=verdict_from(findings, found.problems, has_unknown=has_unknown),
        beneath=verdict_from((), found.problems, has_unknown=has_unknown),
        artifacts=found.artifacts,
        findings=tuple(findings),
        counts=dict(counted),
        summary=summary(found, counted),
        told=tuple(_told(found, counted, golden, lang)),
        problems=found.problems,
        tables={AREA: overflow_table(found)} if tables else {},
    )


def counts(found: Overflow) -> Counter[str]:
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
        begun = _calls_with(rank, roles.row == ORIGIN)
        counted["origin"] += int(begun.sum())
        # an origin's bad inputs do not make it inherited too
        counted["inherited"] += int((_calls_with(rank, roles.row == INHERITED) & ~begun).sum())
        counted["benign"] += len(roles.legal)
        counted["unknown"] += int((tensors & ~rank.health.is_known & (rank.health.basis == NO_BASIS)).sum())
        counted["read"] += int((rank.health.basis == BY_TENSOR).sum())
        counted["by_statistics"] += int((tensors & (rank.health.basis == BY_STATISTICS)).sum())
        for name, bits in (("nan_calls", NAN), ("inf_calls", PLUS | MINUS), ("saturated_calls", HIGH | LOW)):
            bad = (rank.health.flags & bits != 0) & (roles.row != BENIGN)
            counted[name] += int(_calls_with(rank, bad).sum())
    gradients = found.gradients
    if gradients is not None:
        counted["monitor_rows"] = sum(table.n_rows for table in gradients.tables)
        counted["monitor_rows_bad"] = gradients.n_bad
        counted["monitor_rows_unknown"] = gradients.n_unknown
    if found.graph:
        counted["records"] = sum(len(part.joined) for part in found.graph)
    return counted


def _calls_with(rank: RankOverflow, rows: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which calls have one of these leaf rows."""
    found = np.zeros(len(rank.dump.calls.names), np.bool_)
    found[rank.dump.leaves.call[rows]] = True
    return found


def summary(found: Overflow, counted: Counter[str]) -> dict[str, Any]:
    """What holds for the whole round."""
    context = found.context
    bad = counted["nan_calls"] + counted["inf_calls"] + counted["monitor_rows_bad"]
    facts: dict[str, Any] = {
        "inf_or_nan_anywhere": bool(bad),
        "saturation_mode": {True: "on", False: "off", None: "unknown"}[context.saturation],
        "near_ratio": found.settings.criteria.near_ratio,
    }
    if context.settings:
        facts["settings"] = [setting.text for setting in context.settings]
    scales = [one.value for one in context.loss_scales]
    if any(scale != 1 for scale in scales):
        facts["loss_scale"] = scales
    return facts


def _told(found: Overflow, counted: Counter[str], golden: str, lang: Lang) -> Iterator[str]:
    if found.n_awaited:
        n = counted["rank_steps"]
        yield say(TEXTS, "told-ranks-so-far", lang, n=n, total=n + found.n_awaited)
    is_seen = counted["tensors"] or counted["monitor_rows"] or counted["records"]
    if not is_seen:
        yield say(TEXTS, "told-nothing", lang)
    elif found.looked_through:
        yield say(TEXTS, "told-counts", lang, ranks=counted["rank_steps"], **_only(counted))
        n_bad = counted["nan_calls"] + counted["inf_calls"]
        if not n_bad and counted["saturated_calls"]:
            yield say(TEXTS, "told-saturated", lang, n=counted["saturated_calls"])
        elif n_bad:
            kinds = {name: counted[f"{name}_calls"] for name in ("nan", "inf", "saturated")}
            yield say(TEXTS, "told-kinds", lang, **kinds)
        elif not (counted["unknown"] or counted["monitor_rows_bad"] or counted["records"]):
            yield say(TEXTS, "told-none", lang)
        if counted["read"]:
            yield say(TEXTS, "told-read", lang, read=counted["read"], told=counted["by_statistics"])
    if counted["monitor_rows"]:
        rows, bad, unknown = (counted[f"monitor_rows{end}"] for end in ("", "_bad", "_unknown"))
        yield say(TEXTS, "told-monitor", lang, rows=rows, bad=bad, unknown=unknown)
    if counted["records"]:
        yield say(TEXTS, "told-records", lang, n=counted["records"])
    facts = [setting.text for setting in found.context.settings]
    mode = found.context.saturation
    if mode is not None and found.context.told_by is None:
        facts.append(f"saturation={'on' if mode else 'off'}")
    scales = found.context.loss_scales
    if any(one.value != 1 for one in scales):
        shown = ", ".join(
            f"{'' if one.step is None else f'{one.step}: '}{amount(one.value)}" for one in scales[:8]
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
    others = [(this, origin_finding(found, this, next_step(this, lang), lang)) for this in told]
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
