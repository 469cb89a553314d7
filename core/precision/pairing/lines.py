"""The source lines that ambiguous calls were made from: read only for them, since stack.json can be large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from npulse.core.formats.msprobe.records import Dump, Stacks
from npulse.core.formats.msprobe.stacks import user_frame

from .anchors import Pairs, Side, by_content, kind_key
from .keys import Keys, joined
from .model import Beside, Ints

MAX_ASKED = 20_000
"""Calls of a side whose stacks are asked for; where more are ambiguous, their lines are not looked at."""


def with_lines(
    dumps: tuple[Dump, Dump],
    keys: tuple[Keys, Keys],
    picks: Sequence[npt.NDArray[np.bool_]],
    beside: Beside,
) -> tuple[Keys, Keys]:
    """The keys with the lines of what content alone does not decide; as they are where there are no stacks.

    A line counts only where both sides have it with equal text: code that was changed says nothing.
    """
    asked = _ambiguous(keys, picks)
    if not all(0 < len(rows) <= MAX_ASKED for rows in asked):
        return keys
    names = [
        [dump.calls.names[row] for row in rows.tolist()] for dump, rows in zip(dumps, asked, strict=True)
    ]
    one, other = beside.stacks(names[0], names[1])
    if one is None or other is None:
        return keys
    lines = [_lines(stacks, of) for stacks, of in zip((one, other), names, strict=True)]
    shared = sorted(set(filter(None, lines[0])) & set(filter(None, lines[1])))
    code = {line: place for place, line in enumerate(shared)}
    found = []
    for k, rows, of in zip(keys, asked, lines, strict=True):
        stack = np.full(k.n, -1, np.int64)
        stack[rows] = [code.get(line, -1) if line is not None else -1 for line in of]
        found.append(replace(k, stack=stack))
    return found[0], found[1]


def _ambiguous(keys: tuple[Keys, Keys], picks: Sequence[npt.NDArray[np.bool_]]) -> tuple[Ints, Ints]:
    """Calls that content leaves open, and of whose kind a gap has several on one side at least."""
    a, b = (Side(k, np.flatnonzero(pick)) for k, pick in zip(keys, picks, strict=True))
    pairs = Pairs.none(len(a.rows), len(b.rows))
    by_content(a, b, pairs)
    gaps = pairs.gaps()
    free = [np.flatnonzero(of < 0) for of in (pairs.left, pairs.right)]
    kinds = [joined(kind_key(side)[at], gap[at]) for side, at, gap in zip((a, b), free, gaps, strict=True)]
    several = []
    for kind in kinds:
        values, counts = np.unique(kind, return_counts=True)
        several.append(values[counts > 1])
    both = np.intersect1d(np.intersect1d(kinds[0], kinds[1]), np.concatenate(several))
    one, other = (
        side.rows[at[np.isin(kind, both)]] for side, at, kind in zip((a, b), free, kinds, strict=True)
    )
    return one, other


def _lines(stacks: Stacks, names: Sequence[str]) -> list[tuple[str, int, str, str] | None]:
    """File name, line, function and text of the user's innermost frame; folders differ by machine."""
    found: list[tuple[str, int, str, str] | None] = []
    for name in names:
        frame = user_frame(stacks.frames(name))
        if frame is None or frame.line is None:
            found.append(None)
            continue
        file = frame.file.replace("\\", "/").rpartition("/")[2]
        found.append((file, frame.line, frame.function, frame.source))
    return found
