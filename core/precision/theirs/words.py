"""What the words of result tables mean: verdicts of tools, names, shapes, formats. Nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.formats.results.cells import ResultColumn
from npulse.core.formats.results.table import ResultTable
from npulse.core.formats.tensors.dtypes import Dtype, dtype_of

from ..verdict import ERROR, PASS, UNKNOWN, WARNING

NO_NAMES = frozenset(("", "n/a", "nan", "none", "*"))
"""What stands in the place of a counterpart that is not there."""

_VERDICTS = {
    "pass": PASS,
    "yes": PASS,
    "true": PASS,
    "warning": WARNING,
    "error": ERROR,
    "no": ERROR,
    "false": ERROR,
    "different": ERROR,
}
_PRECISION_ERROR = {"yes": ERROR, "no": PASS}
_ORDER = np.array([1, 2, 3, 0])
"""Of several verdicts of one row the worst counts: unknown, pass, warning, error."""

_LEAF = re.compile(
    r"(?P<call>.+?\.(?:forward|backward)(?:\.\d+)?)\.(?P<io>(?:input|output|parameters|kwargs)\b.*)",
    re.DOTALL,
)
_INDEXED = re.compile(r"(?P<call>.+):(?P<io>(?:input|output):\d+)", re.DOTALL)
_ATB = re.compile(r"(?P<call>.+)/(?P<io>(?:input|output)\.\w+)", re.DOTALL)
_INTEGER = re.compile(r"-?\d{1,18}")
_SHAPE = re.compile(r"(?:torch\.Size\()?[\[(]?\s*((?:\d{1,18}\s*(?:[,x]\s*|(?=[\])]|$)))*)[\])]*", re.ASCII)


def verdicts_of(table: ResultTable) -> npt.NDArray[np.int8]:
    """What the tool says of each row: PASS, WARNING, ERROR, or UNKNOWN where it says nothing, N/A or SKIP."""
    found = np.full(table.n_rows, _VERDICTS.get(table.layout.says, UNKNOWN), np.int8)
    for column in table.all_of("verdict"):
        words = _PRECISION_ERROR if column.header.lower() == "isprecisionerror" else _VERDICTS
        codes = np.array([words.get(label.strip().lower(), UNKNOWN) for label in column.labels] or [UNKNOWN])
        here = codes[column.words].astype(np.int8)
        if words is _PRECISION_ERROR:  # it says NO of rows that have no figure at all
            here[np.isnan(figures_of(table, ("CosineSimilarity",))) & (here == PASS)] = UNKNOWN
        found = np.where(_ORDER[here] > _ORDER[found], here, found)
    return found


def is_named(column: ResultColumn | None, n_rows: int) -> npt.NDArray[np.bool_]:
    """True where a column names something; all False where there is no column."""
    return flags(column, n_rows, lambda text: text.strip().lower() not in NO_NAMES)


def labelled(
    column: ResultColumn | None, n_rows: int, of_label: Callable[[str], Any], absent: Any
) -> npt.NDArray[Any]:
    """A value of each label, spread over the rows. Cost: one call a label."""
    if column is None or not column.labels:
        return np.full(n_rows, absent)
    values = np.array([*(of_label(label) for label in column.labels), absent])
    spread: npt.NDArray[Any] = values[column.words]  # -1, a number: the absent one
    return spread


def flags(column: ResultColumn | None, n_rows: int, is_so: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
    """Whether each row's label is so; False for numbers and where there is no column."""
    found: npt.NDArray[np.bool_] = labelled(column, n_rows, is_so, False).astype(np.bool_)
    return found


def dtypes_of(column: ResultColumn | None) -> tuple[Dtype | None, ...]:
    """The format of each label; None for what is no format (scalars, N/A). A last entry None for no label."""
    if column is None:
        return (None,)
    return (*(dtype_of(label) if len(label) < 64 else None for label in column.labels), None)


def shape_of(text: str) -> tuple[int, ...] | None:
    """A printed shape: "[4, 4]", "(2, 6)", "torch.Size([4])", "36x128"; None for anything else."""
    text = text.strip()
    if len(text) > 400 or _SHAPE.fullmatch(text) is None or not text:
        return None
    return tuple(int(part) for part in _INTEGER.findall(text))


def split_name(name: str, io: str = "") -> tuple[str, str]:
    """(call, io) of a row: "Torch.abs.0.forward", "input.0". io: what a column of its own says of it."""
    for pattern, text in ((_INDEXED, io), (_LEAF, name), (_ATB, name)):
        found = pattern.fullmatch(text)
        if found is not None:
            return found["call"], found["io"].replace(":", ".")
    return name, ""


def calls_of(table: ResultTable) -> tuple[list[str], npt.NDArray[np.int64], list[str]]:
    """Names of the calls, the call of each row, and its io ("" where the name does not tell)."""
    names, ios = table.first_of("target"), table.first_of("io")
    codes: dict[str, int] = {}
    call_of_row = np.zeros(table.n_rows, np.int64)
    io_of_row: list[str] = []
    for row in range(table.n_rows):
        name = names.word(row) if names is not None else ""
        call, io = split_name(name, ios.word(row) if ios is not None else "")
        call_of_row[row] = codes.setdefault(call, len(codes))
        io_of_row.append(io)
    return list(codes), call_of_row, io_of_row


def figures_of(table: ResultTable, headers: Sequence[str]) -> npt.NDArray[np.float64]:
    """The numbers of the first column of one of these headers, NaN where there is none."""
    column = table.named(*headers)
    return np.full(table.n_rows, np.nan) if column is None else column.numbers
