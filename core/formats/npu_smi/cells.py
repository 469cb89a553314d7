"""Cells of npu-smi: what is a number, what is a word, and what is nothing."""

from __future__ import annotations

import re

MAX_CELL_CHARS = 64
WHOLE = re.compile(r"\d{1,9}")
_NUMBER = re.compile(r"-?\d{1,12}(?:\.\d{1,9})?")
NOTHING = frozenset(("", "NA", "-", "N/A"))


def number_of(cell: str) -> float | None:
    return float(cell) if _NUMBER.fullmatch(cell) else None


def whole_of(cell: str | None) -> int | None:
    return int(cell) if cell is not None and WHOLE.fullmatch(cell.strip()) else None


def text_of_cell(cell: str, limit: int = MAX_CELL_CHARS) -> str | None:
    cell = cell.strip()[:limit]
    return None if cell in NOTHING else cell


def cells_of(text: str) -> list[str]:
    """The cells of a line of a table, without the bars at both ends."""
    text = text.strip()
    return [cell.strip() for cell in text.removeprefix("|").removesuffix("|").split("|")]
