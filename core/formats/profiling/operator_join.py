"""Operator tables of several readers as one: each read its own file, from one of its starts on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...findings import Problem
from .cells import NO_ID
from .columns import SCHEMA, OperatorColumn
from .operator_columns import growing_of
from .operators import OperatorReader, OperatorTable
from .packed import Packed, PackedColumns


def joined(readers: Sequence[OperatorReader]) -> OperatorTable:
    """The rows of all readers so far, one after the other, as if one reader had read all the files.

    Costs a copy of the rows. The readers may be fed further.
    """
    tables = [reader.table() for reader in readers]
    if len(tables) == 1:
        return tables[0]
    order = {column.name: place for place, column in enumerate(SCHEMA)}
    columns: dict[str, OperatorColumn] = {}
    for table in tables:
        for name, column in table.columns.items():
            columns.setdefault(name, column)
    columns = dict(sorted(columns.items(), key=lambda pair: order.get(pair[0], len(order))))
    labels: dict[str, dict[str, int]] = {name: {} for name, one in columns.items() if one.kind == "text"}
    held: dict[str, Packed] = {}
    for name, column in columns.items():
        grown = growing_of(column)
        at = 0
        for table in tables:
            if name in table.arrays:
                values = table.arrays[name]
                grown.add(values if column.kind != "text" else _moved(table, name, labels[name]), at)
            at += table.n_rows
        taken = grown.taken(0, at, is_last=True)
        held[name] = taken if isinstance(taken, Packed) else Packed(taken, taken.dtype.type)
    first_files = np.cumsum([0, *(len(table.files) for table in tables)])
    files = tuple(file for table in tables for file in table.files)
    return OperatorTable(
        files=files,
        file=np.concatenate(
            [table.file + np.int32(first) for table, first in zip(tables, first_files, strict=False)]
        ),
        line=np.concatenate([table.line for table in tables]),
        columns=columns,
        arrays=PackedColumns(held),
        labels={name: tuple(codes) for name, codes in labels.items()},
        encodings=tuple(word for table in tables for word in table.encodings),
        left_out=tuple(dict.fromkeys(name for table in tables for name in table.left_out)),
        n_dropped=sum(table.n_dropped for table in tables),
        n_unread=sum(table.n_unread for table in tables),
        problems=(
            *(problem for reader in readers for problem in reader.file_problems),
            *_unread(readers, set(columns)),
        ),
    )


def _moved(table: OperatorTable, name: str, code_of: dict[str, int]) -> npt.NDArray[Any]:
    """Codes of a table as those of all tables; its texts are added to them."""
    texts = table.labels[name]
    codes = np.array([*(code_of.setdefault(text, len(code_of)) for text in texts), NO_ID], np.int32)
    found: npt.NDArray[Any] = codes[table.arrays[name]]
    return found


def _unread(readers: Sequence[OperatorReader], names: set[str]) -> list[Problem]:
    """What is told of cells that were not read, a column at once: the first of them, and how many."""
    found: dict[str, tuple[int, Problem]] = {}
    for reader in readers:
        for name, (n, text, place) in reader.unread.items():
            if name in names:
                n_before, first = found.get(name, (0, place))
                more = f"{n_before + n:,} cells were not read and count as absent; the first is "
                shown = text if not n_before else first.message.partition("the first is ")[2]
                message = f"{name}: {more}{shown}"
                found[name] = (
                    n_before + n,
                    Problem(first.artifact, first.kind, message, line=first.line),
                )
    return [problem for _, problem in found.values()]
