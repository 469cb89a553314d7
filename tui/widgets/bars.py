"""Horizontal bars with label and figure: histograms and shares."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from ..glyphs import Glyphs, glyphs_of, showable
from .cells import cell_width, fit

_MIN_BAR = 4  # cells: labels give way before the bars become shorter


def bar(share: float, width: int, glyphs: Glyphs) -> str:
    """A bar of `share` (0..1) of `width` cells; anything above zero shows at least its smallest step."""
    if not share > 0 or width <= 0:
        return ""
    steps = len(glyphs.bar)
    filled = max(1, min(width * steps, round(min(share, 1.0) * width * steps)))
    whole, rest = divmod(filled, steps)
    return glyphs.bar[-1] * whole + (glyphs.bar[rest - 1] if rest else "")


def figure_text(value: float) -> str:
    """A count or a figure as the bars show it."""
    if not math.isfinite(value):
        return str(float(value))
    return f"{int(value):,}" if value == int(value) and abs(value) < 1e15 else f"{value:.4g}"


def render_bars(
    labels: Sequence[str],
    values: Sequence[float],
    width: int,
    glyphs: Glyphs,
    *,
    full: float | None = None,
    write: Callable[[float], str] = figure_text,
    bar_style: str = "",
    bad_style: str = "bold",
) -> Text:
    """One line a value: label, bar, figure, each line exactly `width` cells or less.

    full: the value of a full bar, by default the largest finite one. NaN has no bar, infinity a full
    one, both in `bad_style`; negative values have no bar.
    """
    texts = [showable(label, glyphs) for label in labels]
    figures = [write(float(value)) for value in values]
    figure_width = max(map(cell_width, figures), default=0)
    label_width = max(map(cell_width, texts), default=0)
    label_width = min(label_width, max(1, width - figure_width - 2 - _MIN_BAR))
    room = max(0, width - label_width - figure_width - 2)
    top = full if full is not None else max((v for v in values if math.isfinite(v)), default=0.0)
    result = Text(no_wrap=True, end="")
    for number, (label, value, figure) in enumerate(zip(texts, values, figures, strict=True)):
        if number:
            result.append("\n")
        result.append(fit(label, label_width, "left", glyphs.ellipsis) + " ")
        is_bad = not math.isfinite(value)
        drawn = bar(_share(value, top), room, glyphs)
        result.append(drawn, bad_style if is_bad else bar_style)
        result.append(" " * (room - cell_width(drawn) + 1))
        result.append(fit(figure, figure_width, "right", glyphs.ellipsis), bad_style if is_bad else "")
    if width < label_width + figure_width + 2:
        return _cropped(result, width)
    return result


def _share(value: float, full: float) -> float:
    if math.isnan(value) or value <= 0:
        return 0.0
    if math.isinf(value):
        return 1.0
    return value / full if full > 0 else 0.0


def _cropped(text: Text, width: int) -> Text:
    lines = text.split("\n")
    for line in lines:
        line.truncate(max(width, 0))
    return Text("\n", end="").join(lines)


def histogram_labels(edges: Sequence[float]) -> list[str]:
    """Labels of the bins between edges: "low .. high"."""
    return [f"{low:.3g} .. {high:.3g}" for low, high in zip(edges, edges[1:], strict=False)]


class Bars(Widget):
    """A bar chart; set `labels` and `figures` together, `figures` last."""

    DEFAULT_CSS = """
    Bars { height: auto; width: 1fr; }
    """

    labels: reactive[tuple[str, ...]] = reactive((), repaint=False)
    figures: reactive[tuple[float, ...]] = reactive((), layout=True, always_update=True)
    full: reactive[float | None] = reactive(None)

    def render(self) -> Text:
        return render_bars(self.labels, self.figures, self.size.width, glyphs_of(self.app), full=self.full)
