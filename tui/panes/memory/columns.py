"""How the columns of the table of sites look: headings, formats, which come first on a narrow screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rich.cells import cell_len

from npulse.core.memory.places import short_paths
from npulse.core.memory.short_texts import state_word
from npulse.core.memory.table import IS_NAMED, SHORT_NAME, SUBJECT
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text

from ...chrome import cut_middle
from ...glyphs import Glyphs
from ...messages import tr
from ...roles import RowStyle, row_style
from ...widgets.cells import cut
from ...widgets.table_lines import PREFIX_CELLS
from ...widgets.table_view import ColumnSpec
from ..columns import has_values

_HEADINGS: dict[str, tuple[str, str]] = {
    "severity": ("sev", "级"),
    "kind": ("what", "错误"),
    "space": ("in", "内存"),
    "size_bytes": ("bytes", "字节"),
    SUBJECT: ("place", "位置"),
    "cores": ("cores", "核"),
    "count": ("count", "次数"),
    "state": ("rounds", "轮次"),
    "role": ("role", "判断"),
    "rule": ("rule", "规则"),
    "access": ("access", "访问"),
    "hazard": ("hazard", "冒险"),
    "kernel": ("kernel", "kernel"),
    "function": ("function", "函数"),
    "file": ("file", "文件"),
    "line": ("line", "行"),
    "second_place": ("second place", "第二位置"),
    "second_file": ("second file", "第二文件"),
    "second_line": ("second line", "第二行"),
    "devices": ("devices", "设备"),
    "threads": ("threads", "线程"),
    "pcs": ("pc", "pc"),
    "address_first": ("first address", "首地址"),
    "address_last": ("last address", "末地址"),
    "serial_first": ("serialNo", "serialNo"),
    "distance_bytes": ("distance", "距离"),
    "side": ("side", "方位"),
    "tool": ("tool", "工具"),
    "artifact": ("log", "日志"),
    "log_line": ("log line", "日志行"),
    "operator": ("operator", "算子"),
}
_ORDER = ("severity", "kind", "space", "size_bytes", SUBJECT, "cores", "count", "state")
HIDDEN_AT_FIRST = frozenset(_HEADINGS) - frozenset(_ORDER)
"""Columns that `c` can bring in."""

_FIRST = {
    "severity": 0,
    "kind": 1,
    SUBJECT: 2,
    "count": 3,
    "state": 4,
    "space": 5,
    "size_bytes": 6,
    "cores": 7,
}
_MOST = {"kind": 21, "space": 6, "size_bytes": 13, "cores": 12, "count": 9, "state": 12}
"""Cells that a column gets at most; the place gets what they leave."""
_PLACE_CELLS = (20, 64)  # at least, at most
_LARGEST = 10**10  # bytes; with commas it has as many cells as its column


def specs(
    table: Table, hidden: frozenset[str], glyphs: Glyphs, lang: Lang, width: int
) -> tuple[ColumnSpec, ...]:
    """The visible columns in display order, for a table of `width` cells. Empty columns are left out."""
    names = [c.name for c in table.columns if not c.is_internal]
    ordered = [*_ORDER, *(n for n in names if n not in _ORDER)]
    shown = [n for n in ordered if n not in hidden and has_values(table, n)]
    found = {
        name: _spec(table, name, _FIRST.get(name, len(_FIRST) + place), glyphs, lang)
        for place, name in enumerate(shown)
    }
    if SUBJECT in found:
        beside = [
            _cells(table, spec, lang) for name, spec in found.items() if name in _FIRST and name != SUBJECT
        ]
        gap = 2 if width >= 90 + PREFIX_CELLS else 1
        least, most = _PLACE_CELLS
        room = max(least, min(most, width - PREFIX_CELLS - sum(beside) - gap * len(beside)))
        write = place_writer(table, room, glyphs, lang)
        longest = max((cell_len(write(row)) for row in _some(table)), default=1)
        cells = min(room, max(longest, least))
        found[SUBJECT] = replace(found[SUBJECT], instead=write, min_width=cells, max_width=cells)
    return tuple(found.values())


def heading(name: str, lang: Lang) -> str:
    """The heading of a column; the contract's own name where it has none."""
    return _HEADINGS.get(name, (name, name))[1 if lang == "zh" else 0]


def style_by_severity(table: Table) -> RowStyle:
    """The role counts first; an error of which nobody can tell what it is is not put aside."""
    severity, role = table.column("severity"), table.column("role")

    def style(row: int) -> str | None:
        told = str(severity.value(row))
        if role.value(row) == "unknown" and told in ("error", "warning"):
            return row_style("warning", "")
        return row_style(told, str(role.value(row)))

    return style


def severity_text(severity: str, role: str, glyphs: Glyphs) -> str:
    """Letter and shape; the shape alone of what only follows."""
    if role == "inherited":
        return glyphs.inherited
    text = glyphs.severity("note" if severity == "info" else severity)
    return f"{text[0]} {glyphs.unknown}" if role == "unknown" else text


def place_writer(table: Table, room: int, glyphs: Glyphs, lang: Lang) -> Callable[[int], str]:
    """The place in at most `room` cells: of a path as few folders as tell it from the others, and the line.

    Of a race both lines. A kernel that is too long is called by its operator. What else is too long loses
    its begin: file and line stand at the end.
    """
    subject, second, named = (table.column(name) for name in (SUBJECT, "second_place", IS_NAMED))
    briefly = next((column for column in table.columns if column.name == SHORT_NAME), None)
    first_at, second_at = (_written_places(table, of) for of in ("", "second_"))
    paths = {str(label) for name in ("file", "second_file") for label in table.column(name).labels or ()}
    short = short_paths(paths)
    unknown = f"{glyphs.unknown} {tr('memory.place-unknown', lang)}"

    def show(row: int) -> str:
        if not named.value(row):
            return cut(unknown, room, glyphs.ellipsis)
        file, line = first_at(row)
        if line is None:
            name = safe_text(str(subject.value(row)))
            if cell_len(name) > room and briefly is not None and briefly.value(row) is not None:
                name = safe_text(str(briefly.value(row)))
            return cut_middle(name, room, glyphs)
        text = f"{safe_text(short.get(file, file))}:{line}"
        other_file, other_line = second_at(row)
        if other_line is not None and second.value(row) != subject.value(row):
            shown = "" if other_file == file else safe_text(short.get(other_file, other_file))
            pair = f"{text} / {shown}:{other_line}"
            if cell_len(pair) <= room:
                return pair
        return cut_start(text, room, glyphs)

    return show


def _written_places(table: Table, of: str) -> Callable[[int], tuple[str, int | None]]:
    """File and line of the first ("") or the second ("second_") place of a row; None without a line."""
    files, lines = table.column(f"{of}file"), table.column(f"{of}line")
    return lambda row: (str(files.value(row)), lines.value(row))


def cut_start(text: str, width: int, glyphs: Glyphs) -> str:
    """Safe text in at most `width` cells, its begin left out; of a path whole folders if that will do."""
    if cell_len(text) <= width:
        return text
    slash = text.find("/", 1)
    while slash >= 0:
        if cell_len(text) - cell_len(text[:slash]) <= width - cell_len(glyphs.ellipsis):
            return glyphs.ellipsis + text[slash:]
        slash = text.find("/", slash + 1)
    tail = text
    while tail and cell_len(tail) > width - cell_len(glyphs.ellipsis):
        tail = tail[1:]
    return glyphs.ellipsis + tail


def _some(table: Table) -> range:
    return range(min(table.n_rows, 256))


def _cells(table: Table, spec: ColumnSpec, lang: Lang) -> int:
    """Cells that a column beside the place will have, as the table measures it."""
    column = table.column(spec.name)
    write = spec.format if callable(spec.format) else str
    rows = [row for row in _some(table) if column.value(row) is not None]
    texts = ((spec.instead(row) if spec.instead else None) or write(column.value(row)) for row in rows)
    longest = max((cell_len(text) for text in texts), default=1)
    return max(spec.min_width, cell_len(heading(spec.name, lang)), min(longest, spec.max_width))


def _spec(table: Table, name: str, priority: int, glyphs: Glyphs, lang: Lang) -> ColumnSpec:
    spec = ColumnSpec(name, heading(name, lang), max_width=_MOST.get(name, 28), priority=priority)
    if name == "severity":
        severity, role = table.column("severity"), table.column("role")

        def seen(row: int) -> str:
            return severity_text(str(severity.value(row)), str(role.value(row)), glyphs)

        return replace(spec, instead=seen, min_width=3, max_width=3, is_frozen=True)
    if name == "kind":
        kind, hazard = table.column("kind"), table.column("hazard")

        def told(row: int) -> str | None:
            return f"{hazard.value(row)} {kind.value(row)}" if hazard.value(row) is not None else None

        longest = max((cell_len(told(row) or "") for row in _some(table)), default=0)
        return replace(spec, instead=told, min_width=min(longest or 1, spec.max_width))
    if name == "count":
        return replace(spec, format=_times)
    if name in ("size_bytes", "distance_bytes", "log_line", "line", "second_line"):
        return replace(spec, format=_grouped)
    if name == "state":
        return replace(spec, format=lambda value: state_word(value, lang))
    if name in ("file", "second_file", "second_place"):
        return replace(spec, format=lambda value: cut_start(safe_text(str(value)), 28, glyphs))
    if name == "kernel":
        return replace(spec, format=lambda value: cut_middle(safe_text(str(value)), 28, glyphs))
    return spec


def _times(value: object) -> str:
    return f"x{value:,}"


def _grouped(value: object) -> str:
    """With commas; what no memory has (a negative size read as a large one) by its magnitude alone."""
    n = int(str(value))
    return f"{n:,}" if abs(n) < _LARGEST else f"{n:.1e}"
