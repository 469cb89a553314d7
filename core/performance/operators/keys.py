"""Under which name the calls of an operator are put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.operators import NO_ID, OperatorTable
from npulse.core.formats.profiling.type_names import stem_of

Codes = npt.NDArray[np.int32]
Integers = npt.NDArray[np.int64]

_DENSE = 4


@dataclass(frozen=True, slots=True)
class Keys:
    """Per row a code into labels: its operator type, or the stem of its name where the table says none.

    has_types: every row has its type from the table.
    """

    codes: Codes
    labels: Sequence[str]
    has_types: bool


def keys_of(table: OperatorTable) -> Keys:
    """What the rows are put together by. "" for a row that has neither type nor name."""
    types: Codes = table.values("op_type")
    labels = list(table.texts("op_type"))
    without = types == NO_ID
    if not without.any():
        return Keys(types, labels, True)
    place_of = {label: i for i, label in enumerate(labels)}
    names = table.values("name")
    texts = table.texts("name")
    codes = types.copy()
    code_of = np.full(len(texts) + 1, -1, np.int32)  # the last one is for rows without a name
    for name in np.unique(names[without]).tolist():
        stem = stem_of(texts[name]) if name != NO_ID else ""
        place = place_of.get(stem)
        if place is None:
            place = place_of[stem] = len(labels)
            labels.append(stem)
        code_of[name] = place
    codes[without] = code_of[names[without]]
    return Keys(codes, labels, False)


def combined(*codes: npt.NDArray[Any]) -> tuple[Integers, Integers]:
    """Rows with the same codes (from -1 on) as one group: (group of each row, first row of each group).

    Column by column: as long as there are few combinations nothing is sorted.
    """
    n = len(codes[0])
    group = np.zeros(n, np.int64)
    n_groups = 1 if n else 0
    for column in codes:
        n_values = int(column.max()) + 2 if n else 0
        keys = group * n_values + (column + 1)
        size = n_groups * n_values
        if size <= max(_DENSE * n, 1024):
            is_there = np.zeros(size, np.bool_)
            is_there[keys] = True
            place = np.cumsum(is_there) - 1
            group, n_groups = place[keys], int(np.count_nonzero(is_there))
        else:
            distinct, inverse = np.unique(keys, return_inverse=True)
            group, n_groups = inverse.reshape(-1).astype(np.int64), len(distinct)
    first = np.zeros(n_groups, np.int64)
    first[group[::-1]] = np.arange(n - 1, -1, -1)  # the last one that is written stays
    return group, first
