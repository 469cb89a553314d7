"""A few figures over time as one line each: enough to see what rises, falls or jumps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...glyphs import ASCII, UNICODE
from ...widgets.cells import pad

if TYPE_CHECKING:
    from npulse.core.device.history import Gauge
    from npulse.core.device.view import DeviceView

_GAUGES: tuple[tuple[Gauge, str, str], ...] = (
    ("temperature_c", "temp", "C"),
    ("power_w", "power", "W"),
    ("used_mb", "HBM", "MB"),
    ("ai_core_percent", "AICore", "%"),
)
_NAME_CELLS = 7


def spark_lines(view: DeviceView, row: int, width: int, is_ascii: bool) -> list[str]:
    """A line for each gauge of a chip that was seen more than once: name, its course, span and last."""
    lines = []
    for gauge, name, unit in _GAUGES:
        series = view.history(row, gauge)
        if not series:
            continue
        values = [value for _, value in series]
        last = f"{values[-1]:,.0f} {unit}"
        low, high = min(values), max(values)
        span = f" {last}" if low == high else f" {low:,.0f}..{high:,.0f}, {last}"
        room = max(4, width - _NAME_CELLS - len(span))
        lines.append(f"{pad(name, _NAME_CELLS)}{spark(values, min(room, 60), is_ascii)}{span}")
    return lines


def spark(values: Sequence[float], width: int, is_ascii: bool) -> str:
    """Values as heights between their lowest and highest, at most `width` cells; of several the highest."""
    levels = (ASCII if is_ascii else UNICODE).levels
    if not values:
        return ""
    n = min(width, len(values))
    shown = [max(values[len(values) * i // n : max(len(values) * (i + 1) // n, 1)]) for i in range(n)]
    low, high = min(values), max(values)
    if high <= low:
        return levels[0] * n
    return "".join(levels[round((value - low) / (high - low) * (len(levels) - 1))] for value in shown)
