"""Which charts an area's reports have, with their words: each of them from the tables and summaries alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from npulse.core.analysis import AreaReport
from npulse.core.figures import amount, number
from npulse.core.findings import Report
from npulse.core.table import Table
from npulse.core.text import Lang, say

from . import chart_data as data
from . import charts
from .nodes import Html, table, tag
from .parts import verdict
from .texts import TEXTS

MAX_CARDS = 64
MAX_HEAT_MAPS = 6
"""Of the newest rounds; the curves hold all of them."""
_CARD_COLUMNS = (
    *("subject", "name", "health", "state", "temperature_c", "power_w", "ai_core_percent"),
    *("used_mb", "total_mb", "findings", "side"),
)


def area_pictures(area: str, told: Sequence[AreaReport], lang: Lang) -> Iterator[Html]:
    """The charts of an area over its rounds; told: oldest first. An area without tables has none."""
    made = _BY_AREA.get(area)
    if made is not None and told:
        yield from made(told, lang)


_NEEDS = {
    "precision": {"rank", "step", "operator", "io", "target", "rel_l2", "cosine", "verdict"},
    "overflow": {"rank", "step", "operator", "tensor", "dtype", "absmax", "headroom_ratio", "upstream"}
    | {"nan", "plus_inf", "minus_inf", "saturated"},
    "performance": {"subject", "total_us", "share_percent", "cumulative_percent"},
    "device": {"subject"},
}
"""Columns of a chart: a table of that name which lacks one is another one (operators by call)."""


def _with_table(told: Sequence[AreaReport], name: str) -> list[tuple[str, Table]]:
    """(round, table) of the rounds that have it, oldest first."""
    found = [(one.round or one.name, one.report.tables.get(name)) for one in told]
    return [
        (label, one)
        for label, one in found
        if one is not None and one.n_rows and _NEEDS[name] <= {column.name for column in one.columns}
    ]


def _precision(told: Sequence[AreaReport], lang: Lang) -> Iterator[Html]:
    tables = _with_table(told, "precision")
    if tables:
        for back, (label, one) in enumerate(reversed(tables[-MAX_HEAT_MAPS:])):
            yield _heat(f"precision-{back}" if back else "precision", label, data.precision_heat(one), lang)
        shown = data.cosine_curve(tables)
        if shown.lines:
            title = say(TEXTS, "curve-title", lang)
            left_out = say(TEXTS, "curve-left-out", lang, n=f"{shown.left_out:,}") if shown.left_out else ""
            yield charts.figure(
                "chart-layers",
                title,
                charts.curve(shown, title, is_cosine=True),
                say(TEXTS, "curve-about", lang),
                _curve_table(shown, "head-layer", lang),
                left_out,
            )
    last = data.last_outputs(told)
    if last is not None:
        title = say(TEXTS, "last-output", lang)
        yield charts.figure(
            "chart-rounds",
            title,
            charts.curve(last, title, is_cosine=True, is_small=True),
            say(TEXTS, "over-rounds-about", lang),
            _curve_table(last, "head-round", lang),
        )


def _curve_table(shown: data.Curve, place: str, lang: Lang) -> Html:
    heads = (say(TEXTS, place, lang), *(line.label for line in shown.lines))
    return charts.as_table(heads, charts.curve_rows(shown), range(1, len(heads)), lang)


def _heat(name: str, label: str, heat: data.Heat, lang: Lang) -> Html:
    is_precision = name.startswith("precision")
    kind = "heat" if is_precision else "overheat"
    title = f"{say(TEXTS, f'{kind}-title', lang)} \N{MIDDLE DOT} {label}"
    value = "head-error" if is_precision else "head-share"
    level = charts.error_level if is_precision else charts.share_level
    heads = [say(TEXTS, one, lang) for one in ("head-layer", "head-place", value, "head-state", "head-worst")]
    left_out = ""
    if any(heat.left_out):
        layers, ranks = heat.left_out
        left_out = say(TEXTS, "heat-left-out", lang, layers=f"{layers:,}", ranks=f"{ranks:,}")
    words = charts.error_words() if is_precision else charts.share_words()
    rows = charts.heat_rows(heat, lang)
    return charts.figure(
        f"heat-{name}",
        title,
        charts.heat_map(heat, title, level, lang),
        say(TEXTS, f"{kind}-about", lang),
        tag(
            "div", charts.heat_legend(words, lang), charts.as_table(heads, rows, (2,), lang) if rows else None
        ),
        left_out,
    )


def _overflow(told: Sequence[AreaReport], lang: Lang) -> Iterator[Html]:
    tables = _with_table(told, "overflow")
    if not tables:
        return
    label, newest = tables[-1]
    ratio = next(
        one.report.summary.get("near_ratio") for one in told if newest is one.report.tables.get("overflow")
    )
    with_chain = [(one, table) for one, table in tables if data.headroom_chain(table)[0]]
    if with_chain:
        label_of, table_of = with_chain[-1]
        links, more = data.headroom_chain(table_of)
        title = f"{say(TEXTS, 'chain-title', lang)} \N{MIDDLE DOT} {label_of}"
        heads = [
            say(TEXTS, one, lang)
            for one in ("head-tensor", "head-dtype", "head-distance", "head-absmax", "head-share")
        ]
        rows = [
            (
                tag("code", link.name),
                link.dtype,
                str(link.distance),
                "?" if link.absmax is None else amount(link.absmax),
                charts.link_text(link),
            )
            for link in links
        ]
        yield charts.figure(
            "chart-headroom",
            title,
            charts.chain_chart(links, title),
            say(TEXTS, "chain-about", lang),
            charts.as_table(heads, rows, (2, 3, 4), lang),
            say(TEXTS, "chain-left-out", lang, n=f"{more:,}") if more else "",
        )
    yield _heat("overflow", label, data.overflow_heat(newest, ratio), lang)


def _performance(told: Sequence[AreaReport], lang: Lang) -> Iterator[Html]:
    for place, (label, found) in enumerate(reversed(_with_table(told, "performance")[-2:])):
        bars, more = data.operator_bars(found)
        title = f"{say(TEXTS, 'bars-title', lang)} \N{MIDDLE DOT} {label}"
        heads = [
            say(TEXTS, one, lang)
            for one in ("head-operator", "head-time", "head-percent", "head-cumulative", "head-class")
        ]
        rows = [
            (
                tag("code", bar.name),
                amount(bar.total_us),
                "" if bar.share_percent is None else f"{bar.share_percent:.2f}",
                "" if bar.cumulative_percent is None else f"{bar.cumulative_percent:.2f}",
                bar.kind,
            )
            for bar in bars
        ]
        yield charts.figure(
            "chart-operators" + ("-before" if place else ""),
            title,
            charts.operator_chart(bars, title),
            say(TEXTS, "bars-about", lang),
            charts.as_table(heads, rows, (1, 2, 3), lang),
            say(TEXTS, "bars-left-out", lang, n=f"{more:,}") if more else "",
        )


def _device(told: Sequence[AreaReport], lang: Lang) -> Iterator[Html]:
    tables = _with_table(told, "device")
    if not tables:
        return
    label, found = tables[-1]
    shown = [found.row(row) for row in range(min(found.n_rows, MAX_CARDS))]
    names = [name for name in _CARD_COLUMNS if any(cells.get(name) is not None for cells in shown)]
    rows = [[_cell(cells[name], name) for name in names] for cells in shown]
    more = found.n_rows - len(rows)
    yield tag(
        "div",
        tag("h3", f"{say(TEXTS, 'devices', lang)} \N{MIDDLE DOT} {label}"),
        table(names, rows),
        tag("p", say(TEXTS, "more", lang, n=f"{more:,}"), class_="note") if more > 0 else None,
        id="cards",
    )


def _cell(value: Any, name: str) -> str:
    if value is None:
        return "" if name in ("findings", "side") else "?"
    return amount(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


_BY_AREA: dict[str, Callable[[Sequence[AreaReport], Lang], Iterator[Html]]] = {
    "precision": _precision,
    "overflow": _overflow,
    "performance": _performance,
    "device": _device,
}


def story_criteria(story: Report, lang: Lang) -> Html | None:
    """Each criterion round by round; None where the rounds were not judged."""
    rounds = [one for one in story.summary.get("rounds") or () if isinstance(one, Mapping)]
    shown = rounds[-data.MAX_ROUNDS :]
    ids = list(dict.fromkeys(name for one in shown for name in one.get("criteria") or ()))
    if not ids:
        return None
    heads = (say(TEXTS, "criteria", lang), *(str(one.get("round", "")) for one in shown))
    rows = [
        (tag("code", name), *(_judged((one.get("criteria") or {}).get(name), lang) for one in shown))
        for name in ids
    ]
    return table(heads, rows)


def _judged(found: Any, lang: Lang) -> Html | None:
    if not isinstance(found, Mapping):
        return None
    value, needs = found.get("value"), str(found.get("needs") or ">")
    is_number = needs.startswith((">", "<"))  # a yes is no 1
    shown = number(value) if is_number and isinstance(value, float) else ""
    return tag("span", verdict(str(found.get("state", "unknown")), lang), f" {shown}")


def story_pictures(story: Report, lang: Lang) -> Iterator[Html]:
    """A small curve for each figure that changed from one round to another."""
    headings = story.summary.get("headings") or {}
    for name, shown in data.rounds_curves(story).items():
        title = say(TEXTS, "over-rounds", lang, figure=headings.get(name, name))
        yield charts.figure(
            f"rounds-{name}",
            title,
            charts.curve(shown, title, is_cosine="cosine" in name, is_small=True),
            say(TEXTS, "over-rounds-about", lang),
            _curve_table(shown, "head-round", lang),
        )
