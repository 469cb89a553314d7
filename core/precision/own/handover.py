"""What a call of one capture read against what its producer wrote: overwritten memory is one block.

A producer is known by equal content, and content that was overwritten is equal to nothing. So an input that
nothing made is held against the earlier outputs of its shape and dtype: where one begins or ends bit for bit
as the input does, in numbers that cannot be chance, it is what the input was before.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from npulse.core.calls.apis import COMMUNICATION, OVERWRITERS, WEIGHT_KEYWORDS, WEIGHT_POSITIONS, is_in_place
from npulse.core.calls.content import content_of, producers
from npulse.core.calls.tensors import TensorPlace, open_place
from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, TENSOR, Dump
from npulse.core.formats.tensors import TensorError, TensorFile, dtype_of
from npulse.core.formats.tensors.open import TensorReader
from npulse.core.progress import IsCancelled, check

from .content import Difference, by_elements
from .model import Captured, Seen

CANDIDATES = 8
"""Earlier outputs of the same shape and dtype that an input is held against, the latest first."""

PROBED = 256
"""Elements looked at, at either end, before a pair is read whole."""

TELLING, DISTINCT = 16, 8
"""Equal elements that are not zero, and different values among them, for which chance is no explanation."""

MAX_PROBES = 50_000
"""Pairs whose ends are looked at in one rank-step; the rest is said to be left out."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """An input that no output explains, and the outputs it may have been."""

    leaf: int
    call: int
    candidates: tuple[int, ...]


def check_handover(
    one: Captured, problems: list[Problem], is_cancelled: IsCancelled
) -> tuple[list[Seen], int, bool]:
    """Inputs that were overwritten since they were made, one a producer; how many inputs were looked at;
    whether all were.

    Needs captured elements: statistics do not show which part is the same. Cost: two small reads a pair, all
    of those that belong together. Cancelled.
    """
    content = content_of(one.dump)
    seen: list[Seen] = []
    n_looked = n_probes = 0
    told: set[int] = set()
    for reading in _unexplained(one, content):
        check(is_cancelled)
        n_looked += 1
        for made in reading.candidates:
            n_probes += 1
            if n_probes > MAX_PROBES:
                return seen, n_looked, False
            places = one.place(made), one.place(reading.leaf)
            if places[0] is None or places[1] is None or not _may_be_one(places[0], places[1]):
                continue
            found = by_elements(places[0], places[1], problems, is_cancelled)
            if found is None or not _is_a_part(found):
                continue
            writer = _writer_between(one, content, made, reading, found)
            if writer is None or made in told:
                break
            told.add(made)
            seen.append(_seen(one, made, reading, found, writer))
            break
    return seen, n_looked, True


def _unexplained(one: Captured, content: npt.NDArray[np.int64]) -> Iterator[_Reading]:
    """Float inputs whose content no output holds and nobody read before, with outputs they may have been."""
    dump, leaves = one.dump, one.dump.leaves
    if not len(leaves.side) or not dump.is_ordered:
        return
    made_by = producers(dump, content)
    floats = np.array([*((d := dtype_of(n)) is not None and d.kind == "float" for n in leaves.dtypes), False])
    usable = (leaves.kind == TENSOR) & (leaves.data_name >= 0) & floats[leaves.dtype] & (leaves.shape >= 0)
    rows = np.flatnonzero(usable & np.isin(leaves.side, (INPUT, KWARGS, OUTPUT)))
    outputs: dict[tuple[int, int], list[int]] = {}
    read: set[int] = set()
    pending: list[int] = []
    current = -1
    for row in rows.tolist():
        call = int(leaves.call[row])
        if call != current:
            for made in pending:
                outputs.setdefault((int(leaves.shape[made]), int(leaves.dtype[made])), []).append(made)
            pending, current = [], call
        if leaves.side[row] == OUTPUT:
            pending.append(row)
            continue
        code = int(content[row])
        is_known = made_by[row] >= 0 or code in read
        if code >= 0:
            read.add(code)
        before = outputs.get((int(leaves.shape[row]), int(leaves.dtype[row])), ())
        if before and not is_known and not _is_not_handed_over(dump, call, row):
            yield _Reading(row, call, tuple(reversed(before[-CANDIDATES:])))


def _is_not_handed_over(dump: Dump, call: int, row: int) -> bool:
    """Buffers that are only written to, what peers write into, and weights."""
    parts = dump.calls.names[call].rsplit(".", 3)
    io = dump.leaves.io_names[int(dump.leaves.io[row])]
    if parts[0] in COMMUNICATION or io == "kwargs out":
        return True
    if len(parts) != 4 or parts[-1] != "forward":
        return False
    kind, _, place = io.partition(" ")
    if kind == "kwargs":
        return place in WEIGHT_KEYWORDS
    is_weight = place.isdigit() and int(place) in WEIGHT_POSITIONS.get(parts[1], ())
    return is_weight or io == "input 0" and parts[1] in OVERWRITERS


def _may_be_one(a: TensorPlace, b: TensorPlace) -> bool:
    """Whether two tensors begin or end the same, in numbers that tell something. A file that cannot be read
    is told where it is compared."""
    try:
        return any(_is_telling(x, y) for x, y in zip(_ends(open_place(a)), _ends(open_place(b)), strict=True))
    except TensorError:
        return False


def _ends(file: TensorFile) -> tuple[npt.NDArray[np.uint8], ...]:
    """First and last elements, an element a row of bytes."""
    n = min(PROBED, file.n_elements)
    if not n:
        return ()
    size = file.dtype.itemsize
    if not file.is_contiguous:
        flat = file.array().reshape(-1)
        return tuple(
            np.ascontiguousarray(part).view(np.uint8).reshape(n, size) for part in (flat[:n], flat[-n:])
        )
    with TensorReader(file) as reader:
        return tuple(
            np.array(reader.read_into(bytearray(n * size), first, n)).view(np.uint8).reshape(n, size)
            for first in (0, file.n_elements - n)
        )


def _is_telling(x: npt.NDArray[np.uint8], y: npt.NDArray[np.uint8]) -> bool:
    if x.shape != y.shape:
        return False
    equal = (x == y).all(axis=1) & x.any(axis=1)
    if equal.sum() < TELLING:
        return False
    return len({bytes(row) for row in x[equal]}) >= DISTINCT


def _is_a_part(found: Difference) -> bool:
    """Whether one block differs and enough around it is the same: equal elements that lie strewn in what
    differs are what an operator that was not captured left as it was."""
    around = found.first + found.n_elements - 1 - found.last
    return found.n_different > 0 and found.is_contiguous and around >= TELLING


def _writer_between(
    one: Captured, content: npt.NDArray[np.int64], made: int, reading: _Reading, found: Difference
) -> str | None:
    """None where an in-place call between the two was given that very output; else the name of an in-place
    call that may have written the block (its first argument has as many elements), "" for none."""
    dump, leaves = one.dump, one.dump.leaves
    maybe = ""
    for call in range(one.call_of(made) + 1, reading.call):
        parts = dump.calls.names[call].rsplit(".", 3)
        if len(parts) != 4 or not is_in_place(parts[1]):
            continue
        for row in dump.leaf_range(call):
            if leaves.kind[row] != TENSOR or leaves.side[row] not in (INPUT, KWARGS):
                continue
            if content[row] >= 0 and content[row] == content[made]:
                return None
            shape = leaves.shapes[int(leaves.shape[row])] if leaves.shape[row] >= 0 else ()
            if int(np.prod(shape, dtype=np.int64)) == found.n_different:
                maybe = dump.calls.names[call]
            break
    return maybe


def _seen(one: Captured, made: int, reading: _Reading, found: Difference, writer: str) -> Seen:
    dump = one.dump
    producer, consumer = dump.calls.names[one.call_of(made)], dump.calls.names[reading.call]
    values: dict[str, object] = {
        "producer": producer,
        "input": dump.leaf_name(reading.leaf),
        "first": found.first,
        "last": found.last,
        "n_bytes": found.n_bytes,
        "n": found.n_different,
        "equal": found.n_elements - found.n_different,
        "writer": writer,
    }
    return Seen(
        rule="overwritten",
        severity="warning" if writer else "error",
        role="suspect" if writer else "origin",
        subject=consumer,
        text="handover-writer" if writer else "handover",
        next_step="next-handover",
        where=one,
        call=reading.call,
        values=values,
        figures={
            **found.figures(),
            "pattern": "contiguous block",
            "cause": "memory overwritten",
            "producer": producer,
            "input": dump.leaf_name(reading.leaf),
            "output": dump.leaf_name(made),
            "consumer_input_differs_from_producer_output": True,
            **equal_ends(found),
        },
        related=(("ok", producer), *((("suspect", writer),) if writer else ())),
        calls=((one, reading.call),),
    )


def equal_ends(found: Difference) -> dict[str, int]:
    """How many elements before and behind the block are the same."""
    return {"equal_head": found.first, "equal_tail": found.n_elements - 1 - found.last}
