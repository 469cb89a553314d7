"""How the columns of the performance tables look: headings, formats, which come first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isfinite

from rich.cells import cell_len

from npulse.core.performance.files import FileView
from npulse.core.performance.operators.bound import PIPES
from npulse.core.performance.table import SUBJECT
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text

from ...chrome import cut_middle
from ...glyphs import Glyphs
from ...messages import tr
from ...roles import role_formatter
from ...widgets.table_lines import PREFIX_CELLS
from ...widgets.table_view import ColumnSpec
from ..columns import has_values

_HEADINGS: dict[str, tuple[str, str]] = {
    "calls": ("calls", "次数"),
    "total_us": ("total us", "总耗时 us"),
    "new_calls": ("+calls", "+次数"),
    "new_us": ("+us", "+us"),
    "share_percent": ("share %", "占比 %"),
    "cumulative_percent": ("cum %", "累计 %"),
    "share_of_wall_percent": ("wall %", "占总时长 %"),
    "average_us": ("avg us", "平均 us"),
    "median_us": ("median us", "中位 us"),
    "min_us": ("min us", "最小 us"),
    "max_us": ("max us", "最大 us"),
    "class": ("class", "类别"),
    "class_basis": ("by", "依据"),
    "bound": ("bound", "瓶颈"),
    "bound_ratio": ("ratio", "占比"),
    "utilization_percent": ("util %", "利用率 %"),
    "core_type": ("core", "执行单元"),
    "block_dim": ("blocks", "核数"),
    "moved_bytes": ("bytes", "字节"),
    "bandwidth_gb_per_s": ("GB/s", "GB/s"),
    "change_percent": ("vs before %", "较上轮 %"),
    "role": ("seen", "判断"),
    "op_type": ("type", "类型"),
    "line": ("line", "行"),
    "computing_us": ("computing us", "计算 us"),
    "communication_not_overlapped_us": ("not hidden us", "未掩盖通信 us"),
    "communication_us": ("comm us", "通信 us"),
    "free_us": ("free us", "空闲 us"),
    "bubble_us": ("bubble us", "bubble us"),
    "steps": ("steps", "step 数"),
    "before_us": ("before us", "之前 us"),
    "after_us": ("after us", "之后 us"),
    "change_us": ("change us", "变化 us"),
    "noise_us": ("noise us", "噪声 us"),
    "change": ("verdict", "判断"),
    "neighbours_change_us": ("next door us", "相邻变化 us"),
    "net_change_us": ("net us", "净变化 us"),
    "calls_before": ("calls before", "之前次数"),
    "calls_after": ("calls after", "之后次数"),
    "frequency_mhz": ("MHz", "MHz"),
    "rated_mhz": ("rated MHz", "额定 MHz"),
    "cycles_spread_percent": ("spread %", "核间差 %"),
    "l2_hit_percent": ("L2 hit %", "L2 命中 %"),
    "roof": ("roofline", "roofline"),
    "roof_ratio": ("of roof", "占 roof"),
    "cores": ("cores", "核"),
    "rank": ("rank", "rank"),
    "basis": ("source", "来源"),
    "folder": ("folder", "目录"),
}
_SUBJECTS: dict[str, tuple[str, str]] = {
    "type": ("op type", "算子类型"),
    "call": ("operator", "算子"),
    "count": ("op type", "算子类型"),
    "average": ("op type", "算子类型"),
    "kernels": ("kernel", "kernel"),
    "ranks": ("rank", "rank"),
    "changes": ("op type", "算子类型"),
}
_ORDER = (
    SUBJECT, "change", "calls", "new_calls", "total_us", "new_us", "share_percent", "cumulative_percent",
    "class", "bound", "bound_ratio", "utilization_percent", "core_type", "change_percent",
    "share_of_wall_percent", "average_us", "max_us",
)  # fmt: skip
HIDDEN_AT_FIRST = frozenset(
    (
        "class_basis",
        "median_us",
        "min_us",
        "line",
        "moved_bytes",
        "role",
        "basis",
        "steps",
        "rank",
        "noise_us",
        "folder",
    )
)
"""Columns that `c` can bring in."""
_FIRST = {
    SUBJECT: 0,
    "role": 1,
    "total_us": 1,
    "share_percent": 2,
    "calls": 3,
    "new_calls": 3,
    "new_us": 3,
    "class": 4,
    "bound": 5,
    "change_us": 1,
}
_NAME_CELLS = (14, 44)  # of the subject: at least, at most
_SOME = 256
_MOST = {"class": 13, "bound": 8, "core_type": 14, "op_type": 22, "roof": 32, "folder": 40}
_NAMES = {name: name for name in ("cube", "vector", *(pipe for pipe in PIPES if pipe not in ("mac", "vec")))}
_NAMES["aicpu"] = "AI CPU"
_CORES = {
    "AI_CORE": "AIC",
    "AI_VECTOR_CORE": "AIV",
    "KERNEL_AICORE": "AIC",
    "KERNEL_AIVEC": "AIV",
    "COMMUNICATION": "HCCL",
}


def specs(
    table: Table, kind: str, hidden: frozenset[str], glyphs: Glyphs, lang: Lang, width: int
) -> tuple[ColumnSpec, ...]:
    """The visible columns in display order, for a table of `width` cells. Empty columns are left out."""
    names = [column.name for column in table.columns]
    ordered = [n for n in _ORDER if n in names] + [n for n in names if n not in _ORDER]
    if kind == "ranks":  # who holds the others up is what this table is for
        ordered.remove("role")
        ordered.insert(1, "role")
        hidden = hidden - {"role"}
    shown = [n for n in ordered if n == SUBJECT or (n not in hidden and has_values(table, n))]
    return tuple(
        _spec(table, kind, name, _FIRST.get(name, len(_FIRST) + place), glyphs, lang, width)
        for place, name in enumerate(shown)
    )


def heading(name: str, lang: Lang, kind: str = "type") -> str:
    """The heading of a column; the contract's own name where it has none."""
    words = _SUBJECTS[kind] if name == SUBJECT else _HEADINGS.get(name, (name, name))
    return words[1 if lang == "zh" else 0]


def _spec(
    table: Table, kind: str, name: str, priority: int, glyphs: Glyphs, lang: Lang, width: int
) -> ColumnSpec:
    if name == SUBJECT:
        return _subject_spec(table, heading(name, lang, kind), glyphs, width)
    spec = ColumnSpec(name, heading(name, lang, kind), max_width=_MOST.get(name, 28), priority=priority)
    if name.endswith("_percent"):
        return replace(spec, format=_percent, align="right")
    if name.endswith("_us"):
        return replace(spec, format=_us, align="right")
    if name in ("bound_ratio", "roof_ratio"):
        return replace(spec, format="fixed", decimals=3)
    if name == "bandwidth_gb_per_s":
        return replace(spec, format="fixed", decimals=1)
    if name == "core_type":
        return replace(spec, format=lambda value: _CORES.get(str(value), safe_text(str(value))))
    if name in ("class", "bound", "change"):
        return replace(spec, format=lambda value: word(str(value), lang))
    if name == "role":
        return replace(spec, format=role_formatter(glyphs, lang))
    return spec


def _subject_spec(table: Table, words: str, glyphs: Glyphs, width: int) -> ColumnSpec:
    least, most = _NAME_CELLS
    room = max(least, min(most, (width - PREFIX_CELLS) * 2 // 5))
    column = table.column(SUBJECT)
    texts = [column.value(row) for row in range(min(table.n_rows, _SOME))]
    longest = max((cell_len(safe_text(str(text or "?"))) for text in texts), default=least)
    cells = max(least, min(room, longest))
    write = _name_writer(table, cells, glyphs)
    return ColumnSpec(SUBJECT, words, min_width=cells, max_width=cells, is_frozen=True, instead=write)


def file_specs(view: FileView, hidden: frozenset[str], glyphs: Glyphs, width: int) -> tuple[ColumnSpec, ...]:
    """The columns of a file as it has them: in its order, under its own headers."""
    table = view.table
    found = [_subject_spec(table, file_heading(view, SUBJECT), glyphs, width)]
    for place, column in enumerate(table.columns[1:], 1):
        if column.name in hidden or not has_values(table, column.name):
            continue
        spec = ColumnSpec(column.name, file_heading(view, column.name), max_width=32, priority=place)
        if column.kind == "text":
            spec = replace(spec, format=lambda value: safe_text(str(value)))
        elif column.kind == "float":
            spec = replace(spec, format=_number, align="right")
        found.append(spec)
    return tuple(found)


def file_heading(view: FileView, name: str) -> str:
    """The header of a column as it stands in the file."""
    return safe_text((view.file.subject_header or "#") if name == SUBJECT else name, 40)


def word(value: str, lang: Lang) -> str:
    """A class, bound or verdict in the user's language; names of units and pipes are the vendor's own."""
    return _NAMES[value] if value in _NAMES else tr(f"performance.word-{value}", lang)


def _name_writer(table: Table, cells: int, glyphs: Glyphs) -> Callable[[int], str]:
    column = table.column(SUBJECT)

    def write(row: int) -> str:
        value = column.value(row)
        return cut_middle(safe_text(str(value)) if value else glyphs.unknown, cells, glyphs)

    return write


def _number(value: object) -> str:
    """A figure of a file nearly as it stands there: no exponent, six digits at least."""
    number = float(str(value))
    if not isfinite(number):
        return str(number)
    return f"{number:,.3f}" if abs(number) >= 1000 else f"{number:.6g}"


def _percent(value: object) -> str:
    """Two decimals; what is not zero is not shown as zero."""
    share = float(str(value))
    if share and abs(share) < 0.005:
        return "<0.01" if share > 0 else ">-0.01"
    return f"{share:.2f}"


def _us(value: object) -> str:
    us = float(str(value))
    return f"{us:,.1f}" if abs(us) >= 1000 else f"{us:,.2f}"
