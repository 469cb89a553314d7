"""Charts as inline SVG: pure functions of chart data. Each has a title, words for those who cannot see it,
and its figures as a table; colour is never the only carrier."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

from npulse.core.figures import amount, number
from npulse.core.text import Lang, say

from .chart_data import Bar, Cell, Curve, Heat, Link
from .nodes import Child, Html, table, tag, text
from .texts import TEXTS

LISTED = 60
"""Rows of the table behind a chart."""
_STEPS = (1e-4, 1e-3, 1e-2, 0.05, 0.2)
"""Relative errors at which the colour of a cell changes; shares of a range are their own scale."""
_MARKS = {"error": "x", "warning": "!", "unknown": "?", "nonfinite": "x", "saturated": "s", "near": "!"}
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4", "12 4")
_LAYER = re.compile(r"layer (\d+) (forward|backward)")
_LEFT = 96  # room for names left of a chart


def figure(name: str, title: str, picture: Html, about: str, told: Child = None, *notes: str) -> Html:
    """A chart with its heading, its explanation and its table. name: for links and tests."""
    return tag(
        "figure",
        tag("figcaption", title),
        tag("p", about, class_="about"),
        tag("div", picture, class_="wide", tabindex="0"),
        *(tag("p", note, class_="note") for note in notes if note),
        told,
        id=name,
        class_="chart",
    )


def as_table(
    heads: Iterable[str], rows: Sequence[Sequence[Child]], numbers: Iterable[int], lang: Lang
) -> Html:
    """The figures of a chart, folded."""
    more = len(rows) - LISTED
    return tag(
        "details",
        tag("summary", say(TEXTS, "as-table", lang)),
        table(heads, rows[:LISTED], numbers=numbers),
        tag("p", say(TEXTS, "more", lang, n=f"{more:,}"), class_="note") if more > 0 else None,
        class_="figures",
    )


def _svg(width: float, height: float, title: str, *children: Child) -> Html:
    return tag(
        "svg",
        tag("title", title),
        *children,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=round(width),
        height=round(height),
        role="img",
        aria_label=title,
    )


def _words(x: float, y: float, words: str, anchor: str = "start", class_: str | None = None) -> Html:
    return tag("text", words, x=x, y=y, text_anchor=anchor, class_=class_)


# ---- heat maps ----


def error_level(cell: Cell) -> int:
    """0 to 5 by relative error; the worst where none could be computed and the row is an error."""
    if cell.value is None:
        return 5 if cell.state == "error" else 0
    return sum(cell.value >= step for step in _STEPS)


def share_level(cell: Cell) -> int:
    """0 to 5 by share of the range; what is not finite or saturated is the worst."""
    if cell.state in ("nonfinite", "saturated"):
        return 5
    return 0 if cell.value is None else int(min(cell.value * 5, 4))


def heat_map(heat: Heat, title: str, level: Callable[[Cell], int], lang: Lang) -> Html:
    """Layers from left to right by ranks from top to bottom; a mark in each cell that is not fine."""
    n_layers = max(len(heat.layers), 1)
    wide = max(min(900 / n_layers, 40.0), 9.0)
    high = max(min(240 / max(len(heat.ranks), 1), 26.0), 12.0)
    top, width = 6.0, _LEFT + wide * n_layers + 8
    cells: list[Html] = []
    for (layer, rank), cell in sorted(heat.cells.items()):
        x, y = _LEFT + layer * wide, top + rank * high
        known = cell.state != "unknown"
        cells.append(
            tag(
                "g",
                tag("title", cell_text(heat, layer, rank, cell, lang)),
                tag(
                    "rect",
                    x=x,
                    y=y,
                    width=wide - 1,
                    height=high - 1,
                    class_=f"l{level(cell)}" if known else "lu",
                ),
                _words(x + wide / 2 - 0.5, y + high / 2 + 4, mark, "middle", f"m{level(cell)}")
                if (mark := _MARKS.get(cell.state, ""))
                else None,
                class_="cell",
            )
        )
    names = [_words(_LEFT - 6, top + i * high + high / 2 + 4, one, "end") for i, one in enumerate(heat.ranks)]
    bottom = top + high * max(len(heat.ranks), 1)
    return _svg(
        width, bottom + 24, title, *names, *cells, *_ticks(heat.layers, _LEFT, wide, bottom + 15, inside=True)
    )


def cell_text(heat: Heat, layer: int, rank: int, cell: Cell, lang: Lang) -> str:
    """One cell in words."""
    value = say(TEXTS, "not-known", lang) if cell.value is None else number(cell.value)
    state = say(TEXTS, f"cell-{cell.state}", lang)
    return f"{heat.layers[layer]}, {heat.ranks[rank]}: {value} ({state}) {cell.subject}"


def heat_legend(words: Sequence[str], lang: Lang) -> Html:
    """The colours and marks of a heat map."""
    items: list[Html] = []
    for place, word in enumerate(words):
        items += [tag("span", class_=f"swatch l{place}"), text(word)]
    items += [tag("span", class_="swatch lu"), text(say(TEXTS, "cell-unknown", lang))]
    return tag("p", *items, class_="legend")


def error_words() -> tuple[str, ...]:
    """The ranges of relative error, one a colour."""
    shown = [f"{step:g}" for step in _STEPS]
    return (
        f"< {shown[0]}",
        *(f"{a} - {b}" for a, b in zip(shown, shown[1:], strict=False)),
        f">= {shown[-1]}",
    )


def share_words() -> tuple[str, ...]:
    """The ranges of the share of a dtype's range."""
    return ("< 20 %", "20 - 40 %", "40 - 60 %", "60 - 80 %", ">= 80 %", "NaN, Inf")


def heat_rows(heat: Heat, lang: Lang) -> list[list[Child]]:
    """The cells that are not fine, the worst first, as rows of a table."""
    order = ("error", "nonfinite", "saturated", "warning", "near", "unknown")
    bad = [(place, cell) for place, cell in heat.cells.items() if cell.state in order]
    bad.sort(
        key=lambda one: (
            order.index(one[1].state),
            -(math.inf if one[1].value is None else one[1].value),
            one[0],
        )
    )
    return [
        [
            heat.layers[layer],
            heat.ranks[rank],
            "?" if cell.value is None else number(cell.value),
            say(TEXTS, f"cell-{cell.state}", lang),
            tag("code", cell.subject),
        ]
        for (layer, rank), cell in bad
    ]


def _size(cell: Cell) -> float:
    """Of what no figure measures: the largest."""
    return math.inf if cell.value is None else cell.value


# ---- curves ----


def curve(shown: Curve, title: str, *, is_cosine: bool, is_small: bool = False) -> Html:
    """Lines over the same places, told apart by dashes and a name at their end."""
    width, height, left, top = (460.0, 120.0, 80.0, 10.0) if is_small else (1000.0, 220.0, 80.0, 10.0)
    right = 190.0 if len(shown.lines) > 1 else 40.0
    values = [value for line in shown.lines for _, value in line.points]
    low, high = min(values), max(1.0, *values) if is_cosine else max(values)
    if high - low < 1e-9 * max(abs(high), 1e-9):
        low, high = low - (abs(low) or 1.0) * 0.05, high + (abs(high) or 1.0) * 0.05
    step = (width - left - right) / max(len(shown.names) - 1, 1)

    def x_of(place: int) -> float:
        return left + place * step

    def y_of(value: float) -> float:
        return top + (high - value) / (high - low) * height

    parts: list[Child] = []
    for at in (low, (low + high) / 2, high):
        y = y_of(at)
        parts.append(tag("line", x1=left, x2=width - right, y1=y, y2=y, class_="grid"))
        parts.append(_words(left - 6, y + 4, number(at), "end"))
    labels = _spread([y_of(line.points[-1][1]) for line in shown.lines], 14.0, top, top + height)
    for place, line in enumerate(shown.lines):
        points = " ".join(f"{x_of(at):.1f},{y_of(value):.1f}" for at, value in line.points)
        kind = f"s{place % len(_DASHES)}"
        parts.append(
            tag(
                "polyline",
                points=points,
                class_=f"line {kind}",
                stroke_dasharray=_DASHES[place % len(_DASHES)],
            )
        )
        dots = line.points if len(line.points) <= 80 else line.points[-1:]
        for at, value in dots:
            parts.append(
                tag(
                    "circle",
                    tag("title", f"{shown.names[at]}, {line.label}: {number(value)}"),
                    cx=x_of(at),
                    cy=y_of(value),
                    r=3,
                    class_=f"dot {kind}",
                )
            )
        if len(shown.lines) > 1:
            last_x = x_of(line.points[-1][0])
            parts.append(_words(last_x + 8, labels[place] + 4, _cut(line.label, 26), class_=f"word {kind}"))
    bottom = top + height + 18
    parts += _ticks(shown.names, left, step, bottom)
    return _svg(width, bottom + 8, title, *parts)


def curve_rows(shown: Curve) -> list[list[Child]]:
    """The places as rows, a column a line."""
    by_line = [dict(line.points) for line in shown.lines]
    return [
        [name, *("" if place not in line else number(line[place]) for line in by_line)]
        for place, name in enumerate(shown.names)
    ]


# ---- bars ----


def operator_chart(bars: Sequence[Bar], title: str) -> Html:
    """A bar an operator type by its time, the largest first, with a line of the cumulated share."""
    left, wide, high = 190.0, 460.0, 22.0
    largest = max((bar.total_us for bar in bars), default=0) or 1.0
    parts: list[Child] = []
    points = []
    for place, bar in enumerate(bars):
        y = 24 + place * high
        parts.append(_words(left - 6, y + 14, _cut(bar.name, 26), "end"))
        parts.append(
            tag(
                "rect",
                tag("title", f"{bar.name}: {amount(bar.total_us)} us"),
                x=left,
                y=y + 3,
                width=max(bar.total_us / largest * wide * 0.8, 1.0),
                height=high - 6,
                class_="bar",
            )
        )
        share = "" if bar.share_percent is None else f"  {bar.share_percent:.1f} %"
        parts.append(_words(left + 4, y + 15, f"{amount(bar.total_us)} us{share}", class_="on-bar"))
        if bar.cumulative_percent is not None:
            x = left + bar.cumulative_percent / 100 * wide
            points.append(f"{x:.1f},{y + high / 2:.1f}")
            parts.append(tag("circle", cx=x, cy=y + high / 2, r=3, class_="dot s1"))
            parts.append(
                _words(left + wide + 12, y + 15, f"{bar.cumulative_percent:.1f} %", class_="word s1")
            )
    if points:
        parts.append(tag("polyline", points=" ".join(points), class_="line s1", stroke_dasharray="6 3"))
    return _svg(left + wide + 80, 30 + len(bars) * high, title, *parts)


def chain_chart(links: Sequence[Link], title: str) -> Html:
    """The share of its range of each tensor on the way to the origin, the origin last."""
    left, wide, high = 330.0, 300.0, 22.0
    parts: list[Child] = []
    for place, link in enumerate(links):
        y = 6 + place * high
        parts.append(_words(left - 6, y + 14, _cut(link.name, 48, from_end=True), "end"))
        parts.append(tag("rect", x=left, y=y + 3, width=wide, height=high - 6, class_="range"))
        share = 1.0 if link.bad else min(link.share or 0.0, 1.0)
        parts.append(
            tag(
                "rect",
                tag("title", f"{link.name}: {link_text(link)}"),
                x=left,
                y=y + 3,
                width=max(share * wide, 1.0),
                height=high - 6,
                class_="bad" if link.bad else f"l{min(int(share * 5), 4)}",
            )
        )
        parts.append(_words(left + wide + 8, y + 15, link_text(link)))
    return _svg(left + wide + 190, 14 + len(links) * high, title, *parts)


def link_text(link: Link) -> str:
    """The share of the range, or what is in it that is no number of the range."""
    share = "" if link.share is None else f"{link.share * 100:.3g} %"
    return " ".join(filter(None, (share, link.bad))) or "?"


# ---- small things ----


def _ticks(names: Sequence[str], left: float, step: float, y: float, *, inside: bool = False) -> list[Html]:
    """Some of the names under their places, as many as find room."""
    if not names:
        return []
    every = max(
        1,
        -(
            -len(names)
            // max(1, int(step * len(names) // (90 if max(len(_short(one)) for one in names) > 5 else 45)))
        ),
    )
    offset = step / 2 if inside else 0.0
    return [
        _words(left + place * step + offset, y, _cut(_short(names[place]), 14), "middle")
        for place in range(0, len(names), every)
    ]


def _short(name: str) -> str:
    """A layer by its number, as many find room: "layer 25 forward" is 25."""
    return _LAYER.sub(lambda found: found[1] + (" b" if found[2] == "backward" else ""), name)


def _spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The places moved apart so that words do not lie on one another, in their order from the top."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    before = low - gap
    for i in order:
        moved[i] = before = max(moved[i], before + gap)
    after = high + gap
    for i in reversed(order):
        moved[i] = after = min(moved[i], after - gap)
    return moved


def _cut(words: str, n_most: int, *, from_end: bool = False) -> str:
    if len(words) <= n_most:
        return words
    mark = "\N{HORIZONTAL ELLIPSIS}"
    return mark + words[1 - n_most :] if from_end else words[: n_most - 1] + mark
