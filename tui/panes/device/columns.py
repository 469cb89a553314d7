"""How the columns of the cards look: headings, formats, which come first on a narrow screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rich.cells import cell_len

from npulse.core.device.rules import RULES
from npulse.core.device.view import SUBJECT, DeviceView
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text

from ...glyphs import Glyphs
from ...roles import RowStyle, row_style
from ...widgets.table_view import ColumnSpec
from ..columns import has_values

if TYPE_CHECKING:
    from npulse.core.device.notes import Note

_HEADINGS: dict[str, tuple[str, str]] = {
    SUBJECT: ("card", "卡"),
    "npu": ("NPU", "NPU"),
    "chip": ("chip", "chip"),
    "phy_id": ("phy", "phy"),
    "device": ("device", "设备"),
    "name": ("name", "型号"),
    "health": ("health", "健康"),
    "state": ("use", "占用"),
    "power_w": ("W", "W"),
    "temperature_c": ("C", "°C"),
    "hbm_temperature_c": ("HBM C", "HBM °C"),
    "frequency_mhz": ("MHz", "MHz"),
    "rated_mhz": ("rated", "额定"),
    "ai_core_percent": ("AI %", "AI %"),
    "used_mb": ("HBM MB", "HBM MB"),
    "total_mb": ("of", "共"),
    "processes": ("procs", "进程"),
    "findings": ("what is wrong", "异常"),
    "fault_codes": ("fault codes", "故障码"),
    "bus_id": ("bus id", "bus id"),
    "side": ("when", "时点"),
    "artifact": ("file", "文件"),
}
_USES: Mapping[str, str] = {"busy": "忙碌", "loaded": "已加载", "held": "被占用", "idle": "空闲"}
"""How a chip is used, in Chinese; in English the words of the contract."""
_SHOWN = (
    *(SUBJECT, "health", "temperature_c", "power_w", "ai_core_percent", "used_mb", "frequency_mhz"),
    *("processes", "findings", "artifact", "side", "state", "device", "name"),
)
HIDDEN_AT_FIRST = frozenset(_HEADINGS) - frozenset(_SHOWN)
"""Columns that `c` can bring in."""
_PRIORITY = {name: place for place, name in enumerate(_SHOWN)} | {"findings": 1, "artifact": 2, "side": 2}
_WHOLE = frozenset(("power_w", "temperature_c", "hbm_temperature_c", "frequency_mhz", "rated_mhz"))
_MOST_WORDS = 40
_TITLES: Mapping[str, tuple[str, str]] = {rule.id: rule.title for rule in RULES}
"""What is said where a note has no few words of its own."""


def specs(view: DeviceView, hidden: frozenset[str], glyphs: Glyphs, width: int) -> tuple[ColumnSpec, ...]:
    """The visible columns in display order. Empty ones are left out."""
    table = view.table
    names = [column.name for column in table.columns]
    ordered = [*(name for name in _SHOWN if name in names), *(n for n in names if n not in _SHOWN)]
    shown = [name for name in ordered if name not in hidden and has_values(table, name)]
    if len({source.name for source, _ in view.found.rows}) < 2 and "artifact" in shown:
        shown.remove("artifact")  # one file: the first line names it
    return tuple(_spec(view, name, glyphs, width) for name in shown)


def heading(name: str, lang: Lang) -> str:
    """The heading of a column; the contract's own name where it has none."""
    return _HEADINGS.get(name, (name, name))[1 if lang == "zh" else 0]


def worst_of(notes: tuple[Note, ...]) -> str:
    """The severity of the worst note on a chip; "" where there is none."""
    told = [note.severity for note in notes]
    return next((one for one in ("error", "warning", "note") if one in told), "")


def style_by_notes(view: DeviceView) -> RowStyle:
    """A chip that is not well stands out."""
    styles = [row_style(worst_of(view.notes(row)), "") for row in range(view.table.n_rows)]
    return lambda row: styles[row]


def words_of(view: DeviceView, row: int, lang: Lang) -> str:
    """What is wrong with a chip in few words, the worst first."""
    notes = sorted(view.notes(row), key=lambda note: ("error", "warning", "note").index(note.severity))
    at = 1 if lang == "zh" else 0
    told = (note.short[at] or _TITLES.get(f"device.{note.rule}", note.message)[at] for note in notes)
    return safe_text(", ".join(dict.fromkeys(told)))


def _spec(view: DeviceView, name: str, glyphs: Glyphs, width: int) -> ColumnSpec:
    lang, table = view.lang, view.table
    head, priority = heading(name, lang), _PRIORITY.get(name, len(_SHOWN))
    if name == SUBJECT:
        return ColumnSpec(name, head, max_width=16, priority=0, is_frozen=True)
    if name == "health":
        return _told(name, head, priority, lambda row: _health(view, row, glyphs), view, 10)
    if name == "findings":
        return _told(name, head, priority, lambda row: words_of(view, row, lang), view, max(20, width - 58))
    if name == "state":
        return _told(name, head, priority, lambda row: _use(table, row, lang), view, 10)
    if name == "used_mb":
        return _told(name, head, priority, lambda row: _memory(table, row), view, 13, is_number=True)
    if name in _WHOLE or name == "ai_core_percent":
        return ColumnSpec(name, head, format=_plain, priority=priority)
    return ColumnSpec(name, head, max_width=24, priority=priority)


def _told(
    name: str,
    head: str,
    priority: int,
    text: Callable[[int], str],
    view: DeviceView,
    most: int,
    *,
    is_number: bool = False,
) -> ColumnSpec:
    """A column whose cells are written row by row, as wide as the longest of them."""
    longest = max((cell_len(text(row)) for row in range(min(view.table.n_rows, 256))), default=1)
    cells = max(cell_len(head), min(longest, most, _MOST_WORDS))
    align = "right" if is_number else "left"
    return ColumnSpec(
        name,
        head,
        instead=text,
        align=align,  # type: ignore[arg-type]
        min_width=cells,
        max_width=cells,
        priority=priority,
    )


def _health(view: DeviceView, row: int, glyphs: Glyphs) -> str:
    """The vendor's word with a shape; what nobody told is no OK."""
    health = view.table.column("health").value(row)
    if health is None:
        return glyphs.unknown
    worst = worst_of(view.notes(row))
    shape = glyphs.shape(worst) if worst in ("error", "warning") else " "
    return f"{shape} {safe_text(str(health), 8)}"


def _use(table: Table, row: int, lang: Lang) -> str:
    use = str(table.column("state").value(row) or "-")
    return _USES.get(use, use) if lang == "zh" else use


def _memory(table: Table, row: int) -> str:
    used, total = (table.column(name).value(row) for name in ("used_mb", "total_mb"))
    if used is None:
        return "-"
    return f"{used:.0f}" if total is None else f"{used:.0f}/{total:.0f}"


def _plain(value: object) -> str:
    """Figures as npu-smi writes them: no digits that it does not have."""
    return f"{float(str(value)):.1f}".removesuffix(".0")
