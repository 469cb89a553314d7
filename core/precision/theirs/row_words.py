"""One row of another tool's table in words and figures."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from npulse.core.figures import number
from npulse.core.findings import Location
from npulse.core.text import Lang, safe_text, say

from ..texts import TEXTS as AREA_TEXTS
from ..verdict import ERROR, REASONS, VERDICTS
from .reading import Theirs
from .table import Result
from .texts import TEXTS
from .words import figures_of

_MESSAGE_CHARS = 200
_LIST_CHARS = 20_000
_FAILED_BY = {
    "cosine": ("cosine",),
    "norm-ratio": ("norm_ratio", "rel_l2"),
    "statistics-bound": ("norm_ratio", "rel_l2"),
    "above-rounding": ("rel_l2",),
    "not-equal": ("max_abs_error",),
}


def first_figure(theirs: Theirs, row: int) -> str:
    """Of a table that holds bad rows alone: the figure for which the row stands there."""
    figures = theirs.table.all_of("figure") if theirs.table.layout.says else ()
    if not figures:
        return ""
    value = figures[0].value(row)
    return f"{figures[0].header} {safe_text(value, 80) if isinstance(value, str) else number(value)}"


def place_words(theirs: Theirs, row: int, lang: Lang) -> str:
    """Where a row stands, as people look it up."""
    table, n = theirs.table, int(theirs.table.lines[row])
    if table.sheet is None:
        return say(TEXTS, f"place-{table.counts}", lang, n=n)
    return say(TEXTS, "place-sheet", lang, sheet=safe_text(table.sheets[int(table.sheet[row])], 64), n=n)


def message_of(theirs: Theirs, row: int) -> str:
    """The tool's message as one line; msprobe 26 writes a JSON list of them."""
    text = " ".join(theirs.table.text("message", row).split())
    if text.startswith("["):
        try:
            parts = json.loads(text[:_LIST_CHARS])
        except (ValueError, RecursionError):
            parts = None
        if isinstance(parts, list):
            text = " ".join(str(part) for part in parts)
    return safe_text(text, _MESSAGE_CHARS)


def why_of(theirs: Theirs, row: int, lang: Lang) -> str:
    """Our reason, with the figure that it rests on."""
    reason = REASONS[int(theirs.ours.reason[row])]
    words = say(AREA_TEXTS, f"reason-{reason}", lang)
    for name in _FAILED_BY.get(reason, ()):
        value = float(getattr(theirs.ours, name)[row])
        if np.isfinite(value):
            return f"{words}: {say(AREA_TEXTS, 'label-' + name, lang)} {number(value)}"
    if reason == "nonfinite":
        finite = [
            bool(np.isfinite(figures_of(theirs.table, (name,))[row])) for name in ("NPU max", "Bench max")
        ]
        if finite[0] != finite[1]:
            return say(TEXTS, "nonfinite-golden" if finite[0] else "nonfinite-target", lang)
    if reason == "shape":
        sides = [safe_text(theirs.table.text(role, row), 80) for role in ("target_shape", "golden_shape")]
        return f"{words}: {sides[0]} / {sides[1]}" if all(sides) else words
    if reason == "scalar":
        columns = [theirs.table.named(name) for name in ("NPU max", "Bench max")]
        values = [safe_text(str(column.value(row)), 80) for column in columns if column is not None]
        return f"{words}: {values[0]} / {values[1]}" if len(values) == 2 else words
    return words


def headline_of(theirs: Theirs, row: int, lang: Lang) -> str:
    """What is wrong with a row in few words: our reason, or what the tool says where it alone says error."""
    if theirs.theirs[row] != ERROR or theirs.ours.verdict[row] == ERROR:
        return why_of(theirs, row, lang)
    said = say(TEXTS, "tool-says", lang, tool=theirs.table.layout.tool, said=safe_text(theirs.said(row), 40))
    message = message_of(theirs, row)
    return f"{said}: {message}" if message else said


def row_figures(theirs: Theirs, row: int) -> dict[str, Any]:
    """Figures of a row by the tool's own names, the words where there is no number; what both say."""
    found: dict[str, Any] = {
        "theirs": safe_text(theirs.said(row), 80),
        "verdict": VERDICTS[int(theirs.ours.verdict[row])],
        "reason": REASONS[int(theirs.ours.reason[row])],
    }
    for column in theirs.table.all_of("figure"):
        value = column.value(row)
        found[safe_text(column.header, 80)] = safe_text(value, 80) if isinstance(value, str) else value
    return found


def location(one: Result, row: int) -> Location:
    """Where the row stands."""
    return Location(
        artifact=one.theirs.table.artifact,
        rank=one.artifact.rank,
        step=one.artifact.step,
        row=row,
        line=int(one.theirs.table.lines[row]) if one.theirs.table.counts == "line" else None,
    )
