"""For every leaf of a group of ranks: how its parts make the leaf of the other side.

Shapes say which layouts are possible, then the elements decide, where both sides have them. Where the values
disagree anyway (or only statistics are at hand) the layout of the same leaf of another layer, or of another
leaf with the same split, decides; else the usual one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from npulse.core.calls.apis import COMMUNICATION, WEIGHT_KEYWORDS, WEIGHT_POSITIONS, plain_api
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import (
    GRAD,
    OUTPUT,
    PARAMETERS,
    SCALAR,
    TENSOR,
    CallName,
    Dump,
    Shape,
)

from ..pairing import CERTAIN, DOUBTFUL, EVIDENCE, LIKELY, Ints
from ..rows import BY_VALUE, Rows
from ..verdict import PASS, REASON
from .carried import carried_rows
from .content import choose
from .group import Members, same_leaves
from .layouts import Layout, layouts_of
from .model import Part
from .regroup import shape_of, split_of
from .sums import told_behind_sums
from .vocabulary import note_own_tokens

_NUMBER = re.compile(r"\d+")

ADDING = frozenset(("linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "einsum", "embedding"))
"""APIs whose output is a partial sum where input or weight are parts along the axis that is summed over."""

MAX_HEAD = 256
"""Tensors of three axes whose last one is longer are (sequence, batch, hidden); others may be of heads."""

SAME_STATISTICS = 2.0**-7
"""Statistics that agree as far as half types round are taken for those of copies."""

SEEN = 0.05
"""A sum of means that is as near to the golden mean (as a share of the norms by root n) is taken for it."""


class Recogniser:
    """Layouts of one group of ranks; a class because what one leaf shows helps with others."""

    def __init__(self, members: Members) -> None:
        self._m = members
        self._known: dict[tuple[str, str, int], Layout] = {}
        self._by_size: dict[tuple[Shape, ...], Layout] = {}
        self._by_axis: dict[tuple[int, int], Layout] = {}
        self._made: dict[tuple[Shape, ...], str] = {}
        self._decided: dict[tuple[int, int], tuple[Layout, float] | None] = {}
        many = members.many
        self._maps = [same_leaves(many[0], dump) for dump in many]
        self._back = [same_leaves(dump, many[0]) for dump in many]

    def mark(self, place: int, only: Ints | None = None) -> None:
        """Store the splits of one target rank's rows (of `only` these), and what follows for its scalars."""
        rows = self._m.rows[place]
        rows.carried.update(carried_rows(rows))
        targets, goldens = rows.pairing.target_leaf, rows.pairing.golden_leaf
        both = np.flatnonzero((targets >= 0) & (goldens >= 0))
        kinds = rows.target.leaves.kind[targets[both]]
        both = both[(kinds == TENSOR) & (rows.golden.leaves.kind[goldens[both]] == TENSOR)]
        layouts: dict[int, Layout] = {}
        for row in (both[self._is_worth(rows, both)] if only is None else only).tolist():
            own, other = (targets, goldens) if self._m.is_target_many else (goldens, targets)
            first = int(self._back[place if self._m.is_target_many else 0][own[row]])
            if first < 0:
                continue
            key = first, int(other[row])
            if key not in self._decided:
                self._decided[key] = self._decide(rows, row, *key)
            found = self._decided[key]
            if found is not None and found[0].kind != "same":
                layout, confidence = found
                layouts[row] = layout
                words = self._words(rows, row, layout)
                parts, whole = self._parts(*key)
                rows.splits[row] = split_of(self._m, place, layout, parts, whole, words, confidence)
                if rows.splits[row].n_compared == 0:
                    rows.verdict[row], rows.reason[row] = PASS, REASON["padding"]
        if self._m.is_target_many:
            note_own_tokens(rows, self._m, place, layouts)
        told_behind_sums(rows, self._m.is_target_many)
        _settle_scalars(rows, self._m)
        _note_evidence(rows)

    def _is_worth(self, rows: Rows, both: Ints) -> npt.NDArray[np.bool_]:
        """Rows that another layout could explain: unlike shapes, or ranks that do not hold the same."""
        t, g = rows.pairing.target_leaf[both], rows.pairing.golden_leaf[both]
        shapes: dict[Shape, int] = {}
        codes = [
            np.array([shapes.setdefault(s, len(shapes)) for s in dump.leaves.shapes] + [-1], np.int64)
            for dump in (rows.target, rows.golden)
        ]
        unlike = codes[0][rows.target.leaves.shape[t]] != codes[1][rows.golden.leaves.shape[g]]
        place = next(i for i, one in enumerate(self._m.rows) if one is rows)
        own = t if self._m.is_target_many else g
        first = self._back[place if self._m.is_target_many else 0][own]
        known = first >= 0
        differs = np.zeros(len(both), np.bool_)
        one = self._m.many[0].leaves
        for dump, leaf in zip(self._m.many[1:], self._maps[1:], strict=True):
            here = leaf[first]
            there = known & (here >= 0)
            a, b = one.statistics[first], dump.leaves.statistics[here]
            same = ((a == b) | (np.isnan(a) & np.isnan(b))).all(axis=1)
            untold = (one.present[first] == 0) | (dump.leaves.present[here] == 0)
            differs |= there & (~same | untold)
        found: npt.NDArray[np.bool_] = unlike | differs
        return found

    # -- one leaf -------------------------------------------------------------------------------

    def _parts(self, first: int, other: int) -> tuple[list[Part], Part]:
        parts = [
            Part(dump, root, int(leaf[first]))
            for dump, root, leaf in zip(self._m.many, self._m.many_roots, self._maps, strict=True)
        ]
        return parts, Part(self._m.one, self._m.one_root, other)

    def _decide(self, rows: Rows, row: int, first: int, other: int) -> tuple[Layout, float] | None:
        parts, whole = self._parts(first, other)
        if any(part.leaf < 0 for part in parts):
            return None
        shapes = [_shape(part) for part in parts]
        goal = _shape(whole)
        if goal is None or any(shape is None for shape in shapes):
            return None
        key_shapes = tuple(shape for shape in shapes if shape is not None)
        layouts = layouts_of(key_shapes, goal)
        if not layouts:
            return None
        key = (*self._kind_of(rows, row), len(goal))
        expected = self._expected(rows, row, layouts, key, (*key_shapes, goal))
        layouts = tuple(sorted(layouts, key=lambda layout: layout != expected))
        if layouts[0].axis >= 0:
            is_fixed = _all_same(parts)
            layouts = tuple(one for one in layouts if (one.kind == "fixed") == is_fixed) or layouts
        found = self._by_content(layouts, expected, key, parts, whole)
        if self._of_many(rows, row)[0] in (OUTPUT, GRAD):
            self._made[(*key_shapes, goal)] = found[0].kind
        return found

    def _by_content(
        self,
        layouts: tuple[Layout, ...],
        expected: Layout | None,
        key: tuple[str, str, int],
        parts: Sequence[Part],
        whole: Part,
    ) -> tuple[Layout, float]:
        shapes = tuple(shape_of(part) for part in (*parts, whole))
        if all(part.dump.leaves.data_name[part.leaf] >= 0 for part in (*parts, whole)):
            found = choose(layouts, parts, whole)
            if found is not None and found[1]:
                self._known[key] = self._by_size[shapes] = found[0]
                if found[0].axis >= 0:
                    self._by_axis[shapes[0][found[0].axis], shapes[-1][found[0].axis]] = found[0]
                return found[0], CERTAIN
        elif layouts[0].axis < 0:
            layout = _by_statistics(layouts, parts, whole)
            if layout is not None:
                return layout, LIKELY
        return layouts[0], LIKELY if layouts[0] == expected else DOUBTFUL

    def _expected(
        self,
        rows: Rows,
        row: int,
        layouts: Sequence[Layout],
        key: tuple[str, str, int],
        shapes: tuple[Shape, ...],
    ) -> Layout | None:
        """What the same leaf of another layer, or one of that size, or the call's inputs speak for."""
        if layouts[0].axis < 0:
            is_summed = self._is_summed(rows, row, shapes)
            return next((one for one in layouts if one.kind == ("sum" if is_summed else "same")), None)
        for known in (self._known.get(key), self._by_size.get(shapes)):
            if known in layouts:
                return known
        # a linear's output is laid out as its weight is
        axis = layouts[0].axis
        other = self._by_axis.get((shapes[0][axis], shapes[-1][axis]))
        if other is None:
            return None
        return next((one for one in layouts if (one.kind, one.blocks) == (other.kind, other.blocks)), None)

    def _is_summed(self, rows: Rows, row: int, shapes: tuple[Shape, ...]) -> bool:
        """An output of a call that adds up over an axis of which ranks have parts, and what is made of it."""
        call = int(rows.pairing.row_call[row])
        side, name = self._of_many(rows, row)
        if side not in (OUTPUT, GRAD) and name.prefix in COMMUNICATION and "reduce" in name.api:
            return True
        if side not in (OUTPUT, GRAD):
            return self._made.get(shapes) == "sum"  # the last output of that size
        if name.prefix in COMMUNICATION:
            return False
        of_call = range(*np.searchsorted(rows.pairing.row_call, [call, call + 1]).tolist())
        given = [rows.splits[r] for r in of_call if r in rows.splits and rows.side(r) not in (OUTPUT, GRAD)]
        if any(split.is_sum for split in given):
            return True
        # an input that is a part, while the output is as large as the golden one
        return bool(given) and (name.kind == "module" or plain_api(name.api) in ADDING)

    def _of_many(self, rows: Rows, row: int) -> tuple[int, CallName]:
        """Side code and call name of the leaf that is a part."""
        is_target = self._m.is_target_many
        dump, leaf = (rows.target, rows.target_row(row)) if is_target else (rows.golden, rows.golden_row(row))
        return int(dump.leaves.side[leaf]), parse_name(dump.calls.names[int(dump.leaves.call[leaf])])

    def _kind_of(self, rows: Rows, row: int) -> tuple[str, str]:
        call = int(rows.pairing.row_call[row])
        name = parse_name(rows.pairing.name(rows.target, rows.golden, call))
        kind = _NUMBER.sub("*", f"{name.prefix}.{name.path or name.api}.{name.cls}.{name.direction}")
        return kind, rows.io(row)

    def _words(self, rows: Rows, row: int, layout: Layout) -> str:
        """What is shown in the column `layout`: "column 2 ranks, interleaved gate/up"."""
        ranks = f"{layout.n_parts} ranks"
        if layout.kind == "sum":
            return f"partial sum of {layout.n_parts}"
        shape = _shape(Part(self._m.one, self._m.one_root, self._m.leaf_of_one(rows, row))) or ()
        name = parse_name(rows.pairing.name(rows.target, rows.golden, int(rows.pairing.row_call[row])))
        word = _axis_word(rows, row, layout.axis, shape, f"{name.path} {name.cls} {name.api}".lower())
        extra = {
            "blocks": {2: ", interleaved gate/up", 3: ", q k v each"}.get(
                layout.blocks, f", {layout.blocks} blocks each"
            ),
            "qkv": f", q k v each, {layout.blocks} queries a key",
            "qkv-repeated": ", q k v each, keys on several ranks",
            "repeated": f", {layout.blocks} pieces",
            "strided": f", {layout.blocks} pieces, every {layout.blocks}. rank",
            "padded": f", {layout.n_padding} padding",
            "fixed": f", piece {layout.blocks} on all",
        }
        return f"{word} {ranks}{extra.get(layout.kind, '')}"


def _axis_word(rows: Rows, row: int, axis: int, shape: Shape, name: str) -> str:
    n_axes, width = len(shape), shape[-1]
    if "embed" in name and axis == 0 and is_weight(rows, row):
        return "vocabulary"
    if is_weight(rows, row):
        return "column" if axis == 0 else "row"
    if axis == n_axes - 1:
        return "column"
    return "sequence" if n_axes == 2 or n_axes == 3 and width > MAX_HEAD else f"axis {axis}"


def is_weight(rows: Rows, row: int) -> bool:
    """Whether a row is a parameter, or an argument that holds a weight."""
    side = rows.side(row)
    if side in (PARAMETERS, GRAD):
        return True
    call = int(rows.pairing.row_call[row])
    name = parse_name(rows.pairing.name(rows.target, rows.golden, call))
    kind, _, place = rows.io(row).partition(" ")
    if name.direction == "forward" and kind == "kwargs":
        return place in WEIGHT_KEYWORDS
    at = WEIGHT_POSITIONS.get(name.api, ())
    wanted = kind == ("input" if name.direction == "forward" else "output")
    return wanted and place.isdigit() and int(place) in at


def _shape(part: Part) -> Shape | None:
    code = int(part.dump.leaves.shape[part.leaf])
    return part.dump.leaves.shapes[code] if code >= 0 else None


def _numbers(part: Part) -> npt.NDArray[np.float64] | None:
    """Max, Min, Mean and Norm where all four are finite numbers."""
    leaves = part.dump.leaves
    values: npt.NDArray[np.float64] = leaves.statistics[part.leaf]
    return values if leaves.present[part.leaf] == 0b1111 and np.isfinite(values).all() else None


def _all_same(parts: Sequence[Part]) -> bool:
    """Whether all parts hold the same, by checksum or statistics."""
    sums = [
        part.dump.leaves.checksums[c] if (c := int(part.dump.leaves.checksum[part.leaf])) >= 0 else None
        for part in parts
    ]
    if None not in sums:
        return len(set(sums)) == 1
    numbers = [found for part in parts if (found := _numbers(part)) is not None]
    if len(numbers) < len(parts) or numbers[0][0] == numbers[0][1]:
        return False
    return all(np.array_equal(one, numbers[0]) for one in numbers)


def _by_statistics(layouts: Sequence[Layout], parts: Sequence[Part], whole: Part) -> Layout | None:
    """Copies or partial sums, as far as statistics tell; None where they do not."""
    golden, of_parts = _numbers(whole), [_numbers(part) for part in parts]
    if golden is None or any(one is None for one in of_parts):
        return None
    table = np.array(of_parts)
    scale = np.maximum(np.abs(golden), np.finfo(np.float64).tiny)
    scale[2] = max(abs(golden[2]), golden[3] / np.sqrt(max(_n_elements(whole), 1)))
    is_partly_zero = bool((table[:, 3] == 0).any()) and golden[3] > 0
    if not is_partly_zero and (np.abs(table - golden) <= SAME_STATISTICS * scale).all(axis=1).any():
        return next(one for one in layouts if one.kind == "same")
    norms = table[:, 3].sum() / np.sqrt(max(_n_elements(whole), 1))
    is_sum = abs(table[:, 2].sum() - golden[2]) <= SEEN * norms and golden[3] <= table[:, 3].sum() * 1.01
    return next(one for one in layouts if one.kind == "sum") if is_sum and layouts[0].kind == "sum" else None


def _n_elements(part: Part) -> int:
    return int(np.prod(_shape(part) or (0,), dtype=np.int64))


def _settle_scalars(rows: Rows, members: Members) -> None:
    """Sizes that a rank's part has and the golden one has as a multiple: no argument that differs."""
    if not rows.splits:
        return
    n, leaves_t, leaves_g = len(members.many), rows.target.leaves, rows.golden.leaves
    calls = {int(rows.pairing.row_call[row]) for row in rows.splits}
    for row in np.flatnonzero((rows.basis == BY_VALUE) & (rows.verdict != PASS)).tolist():
        t, g = rows.target_row(row), rows.golden_row(row)
        if leaves_t.kind[t] != SCALAR or int(rows.pairing.row_call[row]) not in calls:
            continue
        part, whole = leaves_t.values[int(leaves_t.value[t])], leaves_g.values[int(leaves_g.value[g])]
        part, whole = (part, whole) if members.is_target_many else (whole, part)
        if is_share(part, whole, n):
            rows.verdict[row], rows.reason[row] = PASS, REASON["split"]


def is_share(part: object, whole: object, n: int) -> bool:
    """A size of 1/n of the other, or a list of sizes of which some are."""
    if isinstance(part, (list, tuple)) and isinstance(whole, (list, tuple)):
        pairs = list(zip(part, whole, strict=False))
        return len(part) == len(whole) and all(p == w or is_share(p, w, n) for p, w in pairs)
    return type(part) is int and type(whole) is int and part > 0 and part * n == whole


def _note_evidence(rows: Rows) -> None:
    """The bit "split" of all calls that have a leaf of another layout, and how sure they are."""
    if not rows.splits:
        return
    pairing = rows.pairing
    both = (pairing.target_call >= 0) & (pairing.golden_call >= 0)
    by_name = np.where(both, 1 << EVIDENCE.index("name"), 0).astype(np.int64)
    evidence = by_name if pairing.evidence is None else pairing.evidence.copy()
    confidence = np.where(both, CERTAIN, np.nan) if pairing.confidence is None else pairing.confidence.copy()
    for row, split in rows.splits.items():
        call = int(pairing.row_call[row])
        evidence[call] |= 1 << EVIDENCE.index("split")
        confidence[call] = min(float(confidence[call]), split.confidence)
    rows.pairing = replace(pairing, evidence=evidence, confidence=confidence)


def factor_of(target: Dump, golden: Dump, rows: Rows) -> int:
    """In how many parts the weights of one side are split that the other has whole, by shapes; 1 for none.

    Positive where the target has the parts, negative where the golden side has.
    """
    t, g = rows.pairing.target_leaf, rows.pairing.golden_leaf
    both = np.flatnonzero((t >= 0) & (g >= 0))
    shapes = np.stack([target.leaves.shape[t[both]], golden.leaves.shape[g[both]]], axis=1)
    found: dict[int, int] = {}
    for pair, n in zip(*np.unique(shapes, axis=0, return_counts=True), strict=True):
        if pair.min() < 0:
            continue
        one, other = target.leaves.shapes[int(pair[0])], golden.leaves.shapes[int(pair[1])]
        if one == other or len(one) != len(other):
            continue
        unlike = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
        if len(unlike) != 1 or min(unlike[0]) < 1:
            continue
        a, b = unlike[0]
        for small, large, sign in ((a, b, 1), (b, a, -1)):
            if large > small and (ratio := round(large / small)) > 1 and abs(ratio * small - large) < 1024:
                if large % small == 0:
                    found[sign * ratio] = found.get(sign * ratio, 0) + int(n)
    return max(found, key=lambda ratio: (found[ratio], abs(ratio)), default=1)
