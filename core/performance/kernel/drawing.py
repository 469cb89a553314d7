"""A roofline as lines of text: both axes logarithmic, roofs as lines, points as letters."""

from __future__ import annotations

import math
from collections.abc import Sequence

from npulse.core.dataclass import dataclass
from npulse.core.formats.opprof.records import RooflinePoint
from npulse.core.text import safe_text

from .roofline import reach_of

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SIDE = 9
_LEAST_WIDTH, _LEAST_HEIGHT = 24, 6
_MOST_WIDTH, _MOST_HEIGHT = 1000, 500
_MOST_ROOFS = 12


@dataclass(frozen=True, slots=True)
class _Glyphs:
    flat: str
    slope: str
    side: str
    corner: str
    floor: str
    tick: str


_ASCII = _Glyphs("-", "/", "|", "+", "-", "+")
_LINES = _Glyphs("─", "╱", "│", "└", "─", "┤")


def draw_roofline(
    points: Sequence[RooflinePoint], width: int = 60, is_ascii: bool = False, *, height: int = 14
) -> list[str]:
    """Exactly `height` lines of at most `width` cells; [] without a point that can be drawn.

    y: 10**12 operations a second (TOps/s), x: operations a byte. Every point has the letter that
    `roofline_legend` gives it; '*' stands for several at one place. A roof for each pair of bandwidth and
    peak, as msOpProf gives each point its own (the first 12).
    """
    width = min(max(width, _LEAST_WIDTH), _MOST_WIDTH)
    height = min(max(height, _LEAST_HEIGHT), _MOST_HEIGHT)
    drawn = _drawn(points)
    if not drawn:
        return []
    glyphs = _ASCII if is_ascii else _LINES
    n_columns, n_rows = width - _SIDE - 1, height - 3
    roofs = list(dict.fromkeys((point.tb_per_s, point.peak_tops) for _, point in drawn))[:_MOST_ROOFS]
    ridges = [peak / bandwidth for bandwidth, peak in roofs]
    x_axis = _Axis.over([point.x for _, point in drawn] + ridges, n_columns)
    tops = [peak for _, peak in roofs]
    y_axis = _Axis.over([point.y for _, point in drawn] + tops, n_rows)
    cells = [[" "] * n_columns for _ in range(n_rows)]
    for bandwidth, peak in roofs:
        _draw_roof(cells, x_axis, y_axis, bandwidth, peak, glyphs)
    taken: set[tuple[int, int]] = set()
    for letter, point in drawn:
        row, column = n_rows - 1 - y_axis.cell(point.y), x_axis.cell(point.x)
        cells[row][column] = "*" if (row, column) in taken else letter
        taken.add((row, column))
    labels = {n_rows - 1 - y_axis.cell(value): _short(value) for value in (*y_axis.ticks(), *tops)}
    lines = [f"{'TOps/s':>{_SIDE}}"]
    for row, line in enumerate(cells):
        label = labels.get(row, "")
        side = glyphs.tick if label else glyphs.side
        lines.append(f"{label:>{_SIDE - 1}} {side}{''.join(line)}".rstrip())
    lines.append(" " * _SIDE + glyphs.corner + glyphs.floor * n_columns)
    lines.append(_x_labels(x_axis, n_columns))
    return lines


def roofline_legend(points: Sequence[RooflinePoint], *, most: int = 10) -> list[list[str]]:
    """Cells of a table: letter, memory or pipe, operations a byte, TOps/s, roof there, share of it.

    In the order of the points; those without a roof have a share of "NA". `most`: rows, then one "...".
    """
    rows = []
    for letter, point in _drawn(points):
        reach = reach_of(point)
        name = f"{point.group} {point.name}".strip()
        roof = "NA" if reach is None else _short(reach.attainable_tops)
        share = "NA" if reach is None else f"{reach.ratio * 100:.1f}%"
        rows.append([letter, safe_text(name, 60), _short(point.x), _short(point.y), roof, share])
    if len(rows) > most:
        return [*rows[:most], ["...", f"({len(rows) - most})", "", "", "", ""]]
    return rows


def _drawn(points: Sequence[RooflinePoint]) -> list[tuple[str, RooflinePoint]]:
    """Points with a place on logarithmic axes and a letter each."""
    kept = [
        point
        for point in points
        if all(1e-30 < value < 1e30 for value in (point.x, point.y, point.tb_per_s, point.peak_tops))
    ]
    return [(_LETTERS[i % len(_LETTERS)], point) for i, point in enumerate(kept[:200])]


@dataclass(frozen=True, slots=True)
class _Axis:
    """Logarithmic; low, high: exponents of ten at the first and behind the last cell."""

    low: float
    high: float
    n_cells: int

    @classmethod
    def over(cls, values: Sequence[float], n_cells: int) -> _Axis:
        low, high = math.log10(min(values)), math.log10(max(values))
        room = max((high - low) * 0.08, 0.25, (1.4 - (high - low)) / 2)
        return cls(low - room, high + room, n_cells)

    def cell(self, value: float) -> int:
        at = (math.log10(value) - self.low) / (self.high - self.low) * self.n_cells
        return min(max(int(at), 0), self.n_cells - 1)

    def value(self, cell: int) -> float:
        """In the middle of a cell."""
        return float(10 ** (self.low + (cell + 0.5) / self.n_cells * (self.high - self.low)))

    def ticks(self) -> list[float]:
        """Powers of ten that are on the axis, not more than one in two cells; at least one value."""
        first, last = math.ceil(self.low), math.floor(self.high)
        step = max(1, math.ceil((last - first + 1) / max(self.n_cells // 2, 1)))
        found = [10.0**exponent for exponent in range(first, last + 1, step)]
        return found or [self.value(self.n_cells // 2)]


def _draw_roof(
    cells: list[list[str]], x_axis: _Axis, y_axis: _Axis, bandwidth: float, peak: float, glyphs: _Glyphs
) -> None:
    n_rows = len(cells)
    before: int | None = None
    for column in range(x_axis.n_cells):
        x = x_axis.value(column)
        is_flat = x * bandwidth >= peak
        y = min(peak, x * bandwidth)
        if math.log10(y) < y_axis.low:
            continue
        row = n_rows - 1 - y_axis.cell(y)
        cells[row][column] = glyphs.flat if is_flat else glyphs.slope
        if before is not None and not is_flat:
            for between in range(row + 1, before):  # a steep roof has no holes
                cells[between][column] = glyphs.slope
        before = row


def _x_labels(axis: _Axis, n_columns: int) -> str:
    unit = "Ops/Byte"
    line = [" "] * (n_columns + 1)
    end = n_columns - len(unit)
    free = 0
    for value in axis.ticks():
        label, at = _short(value), axis.cell(value) + 1
        if at >= free and at + len(label) < end:
            line[at : at + len(label)] = label
            free = at + len(label) + 1
    line[end + 1 : n_columns + 1] = unit
    return " " * _SIDE + "".join(line).rstrip()


def _short(value: float) -> str:
    """At most 7 characters with 3 digits that count."""
    if value == 0 or 0.001 <= abs(value) < 100_000:
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")
