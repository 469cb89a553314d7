"""Embeddings whose vocabulary is split over ranks: each rank looks its own tokens up, the others as token 0.

A rank's ids are the golden ones less its first one, 0 where they are another rank's; of its output only the
rows of its own tokens mean anything until the others have been set to 0 and all ranks are added up.
"""

from __future__ import annotations

from math import prod

import numpy as np

from npulse.core.calls.tensors import open_place
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import INPUT, OUTPUT
from npulse.core.formats.tensors import TensorError

from ..rows import Rows
from ..verdict import PASS, REASON
from .group import Members
from .layouts import PADDING, Layout
from .model import Cut, Part, Segment, Side, Split, merged
from .place import place_of
from .regroup import shape_of

MAX_TOKENS = 1 << 20
MAX_SEGMENTS = 1 << 16
"""More tokens, or more changes between own and other ones, are compared as they are."""


def note_own_tokens(rows: Rows, members: Members, place: int, layouts: dict[int, Layout]) -> None:
    """Settle the ids of embeddings with a split table, and compare their own rows of the output.

    layouts: of the rows of one target rank. Only where this rank's ids are just what the golden ones make.
    """
    pairing = rows.pairing
    for weight, layout in layouts.items():
        call = int(pairing.row_call[weight])
        name = parse_name(pairing.name(rows.target, rows.golden, call))
        if layout.axis != 0 or name.api != "embedding" or name.direction != "forward":
            continue
        of_call = range(*np.searchsorted(pairing.row_call, [call, call + 1]).tolist())
        ids = next((row for row in of_call if rows.io(row) == "input 0"), -1)
        output = next((row for row in of_call if rows.side(row) == OUTPUT), -1)
        if ids < 0 or output < 0 or rows.side(ids) != INPUT:
            continue
        is_own = _own_tokens(rows, members, ids, layout, place)
        if is_own is None:
            continue
        rows.verdict[ids], rows.reason[ids] = PASS, REASON["split"]
        rows.own_tokens.add(ids)
        split = _own_rows(rows, members, output, is_own, layout.n_parts)
        if split is not None:
            rows.splits[output] = split


def _own_tokens(rows: Rows, members: Members, ids: int, layout: Layout, place: int) -> np.ndarray | None:
    """Which tokens are this rank's; None where its ids are not what they should be."""
    roots = (
        (members.many_roots[0], members.one_root)
        if members.is_target_many
        else (members.one_root, members.many_roots[0])
    )
    parts = (
        Part(rows.target, roots[0], rows.target_row(ids)),
        Part(rows.golden, roots[1], rows.golden_row(ids)),
    )
    try:
        files = [open_place(place_of(part)) for part in parts]
        if files[0].shape != files[1].shape or files[0].n_elements > MAX_TOKENS:
            return None
        if any(file.dtype.kind != "int" for file in files):
            return None
        target, golden = (file.array().reshape(-1).astype(np.int64) for file in files)
    except TensorError:
        return None
    held = [(first, n) for first, n in layout.runs[place] if first != PADDING]
    if len(held) != 1:
        return None
    first, n = held[0]
    is_own = (golden >= first) & (golden < first + n)
    return is_own if np.array_equal(target, np.where(is_own, golden - first, 0)) else None


def _own_rows(
    rows: Rows,
    members: Members,
    output: int,
    is_own: np.ndarray,
    n_ranks: int,
) -> Split | None:
    target = Part(rows.target, members.many_roots[0], rows.target_row(output))
    golden = Part(rows.golden, members.one_root, rows.golden_row(output))
    shape = shape_of(target)
    if shape != shape_of(golden) or not shape or prod(shape[:-1]) != len(is_own):
        return None
    segments: list[Segment] = [(0, int(token), 1) for token in np.flatnonzero(is_own)]
    runs = merged(segments)
    if len(runs) > MAX_SEGMENTS:
        return None
    cut = Cut((len(segments), shape[-1]), 1, shape[-1], runs)
    nothing = np.full(4, np.nan), np.zeros(4, np.bool_)
    sides = [Side((part,), cut, *nothing, prod(shape)) for part in (target, golden)]
    words = f"vocabulary {n_ranks} ranks, own tokens"
    return Split(words, sides[0], sides[1], 1.0, group=members.group.ranks)
