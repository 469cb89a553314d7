"""The data that a step began with, and a hash of it: whether two rounds were measured on the same input."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from npulse.core.calls.apis import COMMUNICATION, UNINITIALISED, WEIGHT_KEYWORDS, WEIGHT_POSITIONS
from npulse.core.calls.content import content_of, producers
from npulse.core.calls.tensors import open_place, problem_of
from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, PARAMETERS, TENSOR, Dump
from npulse.core.formats.tensors import Dtype, TensorError, TensorFile, dtype_of
from npulse.core.formats.tensors.dtypes import widen
from npulse.core.formats.tensors.open import TensorReader
from npulse.core.progress import IsCancelled, check

from .model import Captured

BLOCK_BYTES = 1 << 20
SHOWN_DIGITS = 12
"""Hexadecimal digits of a hash that are shown: 48 bits."""

BASES = ("elements", "checksum", "statistics")
"""What a hash is made of, the best first."""


@dataclass(frozen=True, slots=True)
class InputHash:
    """Hashes of the data of a capture. of: (step, rank) to hexadecimal digits, () where there is no data.

    basis: elements, checksum or statistics, the weakest of all ranks; unlike ones cannot be compared.
    """

    of: Mapping[tuple[int | None, int | None], str]
    basis: str
    n_tensors: int

    @property
    def text(self) -> str:
        """One hash over all ranks of the first step, as it is shown: "3fa9c1d2e0b7 (elements)"."""
        first = min((step for step, _ in self.of), key=lambda step: -1 if step is None else step)
        parts = sorted((rank or 0, digits) for (step, rank), digits in self.of.items() if step == first)
        if len(parts) == 1:
            digits = parts[0][1]
        else:
            digits = hashlib.sha256(repr(parts).encode()).hexdigest()
        return f"{digits[:SHOWN_DIGITS]} ({self.basis})"


def is_weight(dump: Dump, row: int) -> bool:
    """Whether a leaf is a parameter: of a module, or in a place where a functional API takes weights."""
    if dump.leaves.side[row] == PARAMETERS:
        return True
    parts = dump.calls.names[int(dump.leaves.call[row])].rsplit(".", 3)
    positions = WEIGHT_POSITIONS.get(parts[1]) if len(parts) == 4 else None
    if positions is None or parts[3] != "forward":
        return False
    kind, _, place = dump.leaves.io_names[int(dump.leaves.io[row])].partition(" ")
    if kind == "kwargs":
        return place in WEIGHT_KEYWORDS
    return place.isdigit() and int(place) in positions


def data_leaves(dump: Dump) -> list[int]:
    """Tensor inputs that no captured call made, up to the first forward call that computes with one.

    That is what the step was given: token ids, an image, positions. Weights are left out, and what later
    calls read: where no output explains it, a call that was not captured may have made it.
    """
    leaves = dump.leaves
    if not len(leaves.side) or not dump.is_ordered:
        return []
    made_by = producers(dump, content_of(dump))
    found: list[int] = []
    for call, name in enumerate(dump.calls.names):
        parts = name.rsplit(".", 3)
        if parts[0] in COMMUNICATION or len(parts) == 4 and parts[1] in UNINITIALISED:
            continue
        if "forward" not in name:
            return found
        span = dump.leaf_range(call)
        given = [
            row
            for row in span
            if leaves.side[row] in (INPUT, KWARGS) and leaves.kind[row] == TENSOR and not is_weight(dump, row)
        ]
        new = [row for row in given if made_by[row] < 0]
        found += new
        if given and any(leaves.side[r] == OUTPUT and _is_float(dump, r) for r in span):
            return found
    return found


def _is_float(dump: Dump, row: int) -> bool:
    code = int(dump.leaves.dtype[row])
    dtype = dtype_of(dump.leaves.dtypes[code]) if code >= 0 else None
    return dtype is not None and dtype.kind in ("float", "complex")


def input_hash(
    captured: Sequence[Captured], problems: list[Problem], is_cancelled: IsCancelled
) -> InputHash | None:
    """A hash for each rank-step of what it was given; None where no data is known. Cancelled.

    The same elements give the same hash, whatever they are stored as (.pt, .npy, bfloat16 as float32).
    """
    hashes: dict[tuple[int | None, int | None], str] = {}
    worst, n = 0, 0
    for one in captured:
        rows = data_leaves(one.dump)
        parts = [_hashed(one, row, problems, is_cancelled) for row in rows]
        if not parts or None in parts:
            continue
        told = [part for part in parts if part is not None]
        n += len(told)
        worst = max(worst, *(basis for basis, _ in told))
        whole = hashlib.sha256()
        for _, digest in told:
            whole.update(digest)
        hashes[one.step, one.rank] = whole.hexdigest()
    return InputHash(hashes, BASES[worst], n) if hashes else None


def _hashed(
    one: Captured, row: int, problems: list[Problem], is_cancelled: IsCancelled
) -> tuple[int, bytes] | None:
    """Place of the basis in BASES, and a digest of shape and content; None if nothing is known."""
    leaves = one.dump.leaves
    shape = leaves.shapes[int(leaves.shape[row])] if leaves.shape[row] >= 0 else ()
    place = one.place(row)
    if place is not None:
        try:
            return 0, _of_elements(open_place(place), is_cancelled)
        except TensorError as error:
            problems.append(problem_of(error, place))
    head = repr(tuple(shape)).encode()
    if leaves.checksum[row] >= 0:
        text = leaves.checksums[int(leaves.checksum[row])]
        return 1, hashlib.sha256(head + text.lower().encode()).digest()
    if leaves.present[row] & 3 != 3:
        return None
    four = np.where(np.isnan(leaves.statistics[row]), np.nan, leaves.statistics[row] + 0.0)
    return 2, hashlib.sha256(head + four.astype("<f8").tobytes()).digest()


def _of_elements(file: TensorFile, is_cancelled: IsCancelled) -> bytes:
    dtype = file.declared
    kind = "int" if dtype.kind in ("int", "bool") else dtype.kind
    digest = hashlib.sha256(repr((kind, tuple(file.shape))).encode())
    if not file.is_contiguous:
        digest.update(_plain(np.ascontiguousarray(file.array()).reshape(-1), file.dtype).tobytes())
        return digest.digest()
    step = max(BLOCK_BYTES // file.dtype.itemsize, 1)
    buffer = bytearray(step * file.dtype.itemsize)
    with TensorReader(file) as reader:
        for first in range(0, file.n_elements, step):
            check(is_cancelled)
            block = reader.read_into(buffer, first, min(step, file.n_elements - first))
            digest.update(_plain(block, file.dtype).tobytes())
    return digest.digest()


def _plain(block: npt.NDArray[np.generic], dtype: Dtype) -> npt.NDArray[np.generic]:
    """The values as one number format of each kind: integers as int64, floats as float64, one NaN for all."""
    values = widen(block, dtype)
    if values.dtype.kind in "biu":
        return values.astype("<i8")
    if values.dtype.kind == "c":
        return values.astype("<c16")
    wide = values.astype("<f8")
    wide[np.isnan(wide)] = np.nan
    return wide
