"""What is known of each call of a dump, as numbers that can be compared between two dumps.

One pass over the columns of each dump; nothing here looks at a single leaf in Python.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import (
    INPUT,
    KWARGS,
    OUTPUT,
    SCALAR,
    TENSOR,
    CallName,
    Construct,
    Dump,
)
from npulse.core.formats.tensors import dtype_of

from .model import Ints
from .operators import even_spellings, has_types, type_of, type_said

Hashes = npt.NDArray[np.uint64]
FORWARD, BACKWARD, OTHER = range(3)
_PLACE = np.uint64(0x9E3779B97F4A7C15)
_GRAD_PLACEHOLDER = ".parameters_grad"


@dataclass(frozen=True, slots=True)
class Keys:
    """One entry a call of one dump; hashes are equal where what they stand for is equal, in any dump.

    type: code of the operator type, shared between both dumps. name: the entry's name. direction: FORWARD,
    BACKWARD (gradients of parameters too) or OTHER. given, made: hashes of the tensors read and written by
    value, 0 where nothing recorded identifies one; beside: of those read but the first (a weight, for one);
    values: of the scalar arguments;
    given_shapes, made_shapes: of their shapes, in order; dtypes: of all tensors of the call.
    norms: log of the norm of the first tensor read and written, NaN where unknown. parent: the code of the
    module around a call, -1 unknown. number: call number, -1 without. base: code of what a forward and its
    backward share. is_module: module entries. n_given: tensors read. stack: code of the user's source line,
    -1 unknown; None where nobody looked.
    """

    type: Ints
    name: Ints
    direction: npt.NDArray[np.int8]
    given: Hashes
    beside: Hashes
    made: Hashes
    values: Hashes
    given_shapes: Hashes
    made_shapes: Hashes
    dtypes: Hashes
    norms: npt.NDArray[np.float64]
    parent: Ints
    number: Ints
    base: Ints
    is_module: npt.NDArray[np.bool_]
    n_given: Ints
    stack: Ints | None = None

    @property
    def n(self) -> int:
        return len(self.type)


class Codes:
    """The same number for the same text in both dumps."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def of(self, texts: Iterable[str]) -> Ints:
        codes = self._codes
        return np.fromiter((codes.setdefault(text, len(codes)) for text in texts), np.int64)

    def texts(self) -> list[str]:
        """Every text, by its code."""
        return list(self._codes)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The codes that the keys of both dumps share."""

    types: Codes
    names: Codes
    bases: Codes
    parents: Codes
    even: frozenset[str]


def entry_names(dump: Dump) -> list[str]:
    """Names under which entries of any version are the same: `parameters_grad` of 8.x is that of 26.x."""
    return [name + ".0" if name.endswith(_GRAD_PLACEHOLDER) else name for name in dump.calls.names]


def keys_of_both(
    dumps: tuple[Dump, Dump], constructs: tuple[Construct | None, Construct | None]
) -> tuple[Keys, Keys]:
    """The keys of target and golden side. Cost: linear in calls and leaves."""
    parsed = [[parse_name(name) for name in entry_names(dump)] for dump in dumps]
    vocabulary = Vocabulary(Codes(), Codes(), Codes(), Codes(), even_spellings(*parsed))
    by_operator = has_types(*dumps)
    is_other_tool = any(dump.located is not None for dump in dumps)
    if not all(constructs):
        constructs = (None, None)  # of one side alone it says nothing
    one, other = (
        _keys_of(dump, names, construct, vocabulary, by_operator, is_other_tool)
        for dump, names, construct in zip(dumps, parsed, constructs, strict=True)
    )
    return one, other


def _keys_of(
    dump: Dump,
    parsed: list[CallName],
    construct: Construct | None,
    vocabulary: Vocabulary,
    by_operator: bool,
    is_other_tool: bool,
) -> Keys:
    types = [type_of(name, vocabulary.even) for name in parsed]
    if by_operator and dump.operators is not None:
        types = [type_said(said) or own for said, own in zip(dump.operators, types, strict=True)]
    direction = np.fromiter(
        (
            FORWARD
            if p.direction == "forward"
            else BACKWARD
            if p.direction in ("backward", "grad")
            else OTHER
            for p in parsed
        ),
        np.int8,
        len(parsed),
    )
    leaves = dump.leaves
    tensors = leaves.kind == TENSOR
    read = tensors & np.isin(leaves.side, (INPUT, KWARGS))
    written = tensors & (leaves.side == OUTPUT)
    content, telling = content_hashes(dump)
    shape = shape_hashes(dump, without_ones=is_other_tool)
    arguments = (leaves.kind == SCALAR) & np.isin(leaves.side, (INPUT, KWARGS))
    n = len(parsed)
    parents = construct.parents if construct is not None else {}
    return Keys(
        type=vocabulary.types.of(types),
        name=vocabulary.names.of(name.full for name in parsed),
        direction=direction,
        given=folded(leaves.call, content, read & telling, n),
        beside=folded(leaves.call, content, read & telling & ~is_first(leaves.call, read), n),
        made=folded(leaves.call, content, written & telling, n),
        values=folded(leaves.call, _value_hashes(dump), arguments, n),
        given_shapes=folded(leaves.call, shape, read, n),
        made_shapes=folded(leaves.call, shape, written, n),
        dtypes=folded(leaves.call, _dtype_hashes(dump), tensors, n),
        norms=np.stack([_first_norm(dump, read, n), _first_norm(dump, written, n)], axis=1),
        parent=_parents(dump, parents, vocabulary),
        number=np.fromiter((-1 if p.number is None else p.number for p in parsed), np.int64, n),
        base=vocabulary.bases.of(
            f"{p.prefix}.{p.path or p.api}.{p.number}" if p.kind != "other" else p.full for p in parsed
        ),
        is_module=np.fromiter((p.kind in ("module", "grad") for p in parsed), np.bool_, n),
        n_given=np.bincount(leaves.call[read], minlength=n).astype(np.int64),
    )


def content_hashes(dump: Dump) -> tuple[Hashes, npt.NDArray[np.bool_]]:
    """A hash per leaf by checksum or statistics, with the number of elements, and which identify a tensor.

    Constants, and numbers that are not floats and have no checksum, tell nothing: versions of the tool record
    them in different ways.
    """
    leaves = dump.leaves
    n = len(leaves.side)
    if not n:
        return np.zeros(0, np.uint64), np.zeros(0, np.bool_)
    numel = np.array([*(math.prod(s) for s in leaves.shapes), -1], np.float64)[leaves.shape]
    floating = np.array(
        [*((d := dtype_of(t)) is not None and d.kind == "float" for t in leaves.dtypes), False]
    )
    extremes = leaves.present & 3 == 3
    high, low = leaves.statistics[:, 0], leaves.statistics[:, 1]
    summed = leaves.checksum >= 0
    full = leaves.present == 0b1111
    odd = (high != np.rint(high)) | (low != np.rint(low))
    with np.errstate(invalid="ignore"):
        telling = (leaves.kind == TENSOR) & ~(extremes & (high == low)) & (numel > 1)
        telling &= summed | floating[leaves.dtype] & (full | extremes & odd)
    sums = np.array([*(zlib.crc32(t.encode("utf-8", "replace")) + 1 for t in leaves.checksums), 0], np.uint64)
    bits = np.ascontiguousarray(np.where(np.isnan(leaves.statistics), 0.5, leaves.statistics + 0.0)).view(
        np.uint64
    )
    mixed = _mixed(numel.view(np.uint64))
    mixed = _mixed(mixed ^ sums[leaves.checksum])
    for column in range(bits.shape[1]):
        # with a checksum the other statistics say nothing more, and differ by the way of summing
        mixed = np.where(summed, mixed, _mixed(mixed ^ bits[:, column]))
    return mixed, telling


def shape_hashes(dump: Dump, *, without_ones: bool = False) -> Hashes:
    """without_ones: axes of length 1 say nothing, as where another tool lays them on or leaves them out."""
    shapes = [tuple(n for n in s if n != 1) if without_ones else tuple(s) for s in dump.leaves.shapes]
    table = [*(zlib.crc32(repr(shape).encode()) + 1 for shape in shapes), 0]
    return _mixed(np.array(table, np.uint64))[dump.leaves.shape]


def _dtype_hashes(dump: Dump) -> Hashes:
    names = [found.name if (found := dtype_of(text)) is not None else text for text in dump.leaves.dtypes]
    table = [*(zlib.crc32(name.encode("utf-8", "replace")) + 1 for name in names), 0]
    return _mixed(np.array(table, np.uint64))[dump.leaves.dtype]


def _value_hashes(dump: Dump) -> Hashes:
    table = [
        *(zlib.crc32(repr(value)[:200].encode("utf-8", "replace")) + 1 for value in dump.leaves.values),
        0,
    ]
    return _mixed(np.array(table, np.uint64))[dump.leaves.value]


def is_first(call: npt.NDArray[np.int32], pick: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The first picked leaf of each call."""
    first = np.zeros(len(call), np.bool_)
    rows = np.flatnonzero(pick)
    if len(rows):
        first[rows[np.r_[True, call[rows][1:] != call[rows][:-1]]]] = True
    return first


def folded(call: npt.NDArray[np.int32], hashes: Hashes, pick: npt.NDArray[np.bool_], n: int) -> Hashes:
    """One hash a call of its picked leaves in their order; 0 where none is picked."""
    result = np.zeros(n, np.uint64)
    rows = np.flatnonzero(pick)
    if not len(rows):
        return result
    calls = call[rows]
    starts = np.flatnonzero(np.r_[True, calls[1:] != calls[:-1]])
    place = np.arange(len(rows)) - np.repeat(starts, np.diff(np.r_[starts, len(rows)]))
    parts = _mixed(hashes[rows] + (place.astype(np.uint64) + np.uint64(1)) * _PLACE)
    result[calls[starts]] = np.add.reduceat(parts, starts) | np.uint64(1)
    return result


def _first_norm(dump: Dump, pick: npt.NDArray[np.bool_], n: int) -> npt.NDArray[np.float64]:
    result = np.full(n, np.nan)
    norm = dump.leaves.statistics[:, 3]
    with np.errstate(invalid="ignore", divide="ignore"):
        rows = np.flatnonzero(pick & (norm > 0) & np.isfinite(norm))[::-1]
        result[dump.leaves.call[rows]] = np.log(norm[rows])  # the first one is written last
    return result


def _parents(dump: Dump, parents: Mapping[str, str | None], vocabulary: Vocabulary) -> Ints:
    if not parents:
        return np.full(len(dump.calls.names), -1, np.int64)
    known: dict[str, str] = {}

    def path(parent: str | None) -> str:
        if parent is None:
            return ""
        found = known.get(parent)
        if found is None:
            name = parse_name(parent)
            found = known[parent] = f"{name.path} {name.number}" if name.path else parent
        return found

    codes = vocabulary.parents.of(path(parents.get(name)) for name in dump.calls.names)
    has_parent = np.fromiter(
        (parents.get(name) is not None for name in dump.calls.names), np.bool_, len(codes)
    )
    return np.where(has_parent, codes, -1)


def _mixed(values: Hashes) -> Hashes:
    """Each bit of the result depends on every bit of the value (the finaliser of splitmix64)."""
    z = values + _PLACE
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def joined(*parts: npt.NDArray[Any]) -> Hashes:
    """One hash an entry of several columns."""
    result = np.zeros(len(parts[0]), np.uint64)
    for part in parts:
        result = _mixed(result ^ part.astype(np.uint64))
    return result
