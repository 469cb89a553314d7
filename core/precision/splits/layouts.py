"""Which layouts two shapes allow: parts along one axis, in which order; parts that are added up; copies.

Only shapes are looked at here: what the elements say of the candidates is in `content`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod

from npulse.core.dataclass import dataclass
from npulse.core.formats.msprobe.records import Shape

Run = tuple[int, int]
"""(first index of the whole along the axis, how many); first is PADDING where it has no such entries."""

PADDING = -1

KINDS = (
    "same",
    "sum",
    "contiguous",
    "fixed",
    "repeated",
    "strided",
    "blocks",
    "qkv",
    "qkv-repeated",
    "padded",
)
"""same: every rank has the whole. sum: the ranks' tensors add up to it (before an all_reduce). contiguous:
part k is the k-th piece. fixed: all ranks hold the same piece. repeated, strided: fewer pieces than ranks,
each on neighbouring ranks or on every n-th one (key and value heads). blocks: the axis has several blocks
(gate and up; q, k and v; sequences of a batch) and each is split. qkv, qkv-repeated: as blocks, where q has
more heads than k and v (and key heads are on several ranks). padded: contiguous, with entries added so that
the axis can be split."""

BLOCK_COUNTS = (2, 3, 4, 6, 8, 16, 32, 64)
GROUPED_QUERIES = (2, 3, 4, 5, 6, 7, 8, 12, 16, 32)
"""Query heads for each key head that are tried: those of published models."""

PADDED_TO = 128
"""Vocabularies are padded to a multiple of so many a rank (Megatron's make-vocab-size-divisible-by)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One way in which parts can make a whole.

    axis: -1 for "same" and "sum". blocks: of kind "blocks" how many, of "qkv" query heads for each key head.
    runs: of each part, in its own order. n_padding: entries along the axis that one side alone has.
    """

    kind: str
    axis: int
    n_parts: int
    runs: tuple[tuple[Run, ...], ...] = ()
    blocks: int = 1
    n_padding: int = 0

    @property
    def is_partition(self) -> bool:
        """Whether every entry of the whole is in one part and nothing else is."""
        return self.kind in ("contiguous", "blocks", "qkv")


def is_part_of(part: Shape, whole: Shape) -> bool:
    """Whether one axis of the whole is a multiple of the part's and all others are equal."""
    if len(part) != len(whole):
        return False
    unlike = [(p, w) for p, w in zip(part, whole, strict=True) if p != w]
    return len(unlike) == 1 and unlike[0][0] > 0 and unlike[0][1] % unlike[0][0] == 0


@lru_cache(maxsize=4096)
def layouts_of(parts: tuple[Shape, ...], whole: Shape) -> tuple[Layout, ...]:
    """All layouts that the shapes allow, the usual ones first; () where they allow none."""
    n = len(parts)
    if any(len(part) != len(whole) for part in parts) or not whole:
        return (Layout("same", -1, n), Layout("sum", -1, n)) if set(parts) == {whole} else ()
    axes = {i for part in parts for i, size in enumerate(part) if size != whole[i]}
    if not axes:
        return Layout("same", -1, n), Layout("sum", -1, n)
    if len(axes) > 1 or prod(whole) == 0 or any(prod(part) == 0 for part in parts):
        return ()
    axis = axes.pop()
    return tuple(_along(axis, [part[axis] for part in parts], whole[axis]))


def _along(axis: int, sizes: Sequence[int], whole: int) -> Iterator[Layout]:
    n, total, size = len(sizes), sum(sizes), sizes[0]
    is_even = len(set(sizes)) == 1
    if total == whole:
        ends = [sum(sizes[: k + 1]) for k in range(n)]
        yield Layout(
            "contiguous", axis, n, tuple(((end - m, m),) for end, m in zip(ends, sizes, strict=True))
        )
        if is_even:
            yield from _blocked(axis, n, size, whole)
            yield from _grouped(axis, n, size, whole)
            yield from _fixed(axis, n, size)
    elif not is_even:
        return
    elif total > whole:
        is_repeated = whole % size == 0 and n % (whole // size) == 0
        if is_repeated:
            yield from _repeated(axis, n, size, whole // size)
        yield from _grouped_repeated(axis, n, size, whole)
        # copies of pieces are never taken for ranks of padding alone: what differs in them would be hidden
        if total - whole < min(PADDED_TO * n, size if is_repeated else total):
            yield _padded(axis, n, size, whole)
    elif whole - total < PADDED_TO * n:
        yield Layout("padded", axis, n, tuple(((k * size, size),) for k in range(n)), n_padding=whole - total)


def _blocked(axis: int, n: int, size: int, whole: int) -> Iterator[Layout]:
    for blocks in BLOCK_COUNTS:
        if size % blocks == 0 and size > blocks:
            block, piece = whole // blocks, size // blocks
            runs = tuple(tuple((b * block + k * piece, piece) for b in range(blocks)) for k in range(n))
            yield Layout("blocks", axis, n, runs, blocks)


def _grouped(axis: int, n: int, size: int, whole: int) -> Iterator[Layout]:
    for queries in GROUPED_QUERIES:
        keys = whole // (queries + 2)
        if whole % (queries + 2) == 0 and keys % n == 0:
            yield _qkv(axis, n, queries * keys, keys, n, queries)


def _grouped_repeated(axis: int, n: int, size: int, whole: int) -> Iterator[Layout]:
    """Fused q, k and v where there are fewer key heads than ranks, so that neighbours hold the same."""
    for pieces in (p for p in range(1, n) if n % p == 0):
        twice, share = n * size - whole, n // pieces - 1
        keys = twice // (2 * share)
        queries = whole - 2 * keys
        if twice % (2 * share) == 0 and queries > 0 and queries % n == 0 and keys % pieces == 0:
            yield _qkv(axis, n, queries, keys, pieces, queries // keys if keys else 1)


def _qkv(axis: int, n: int, queries: int, keys: int, pieces: int, blocks: int) -> Layout:
    q, kv = queries // n, keys // pieces
    runs = []
    for k in range(n):
        at = k * pieces // n * kv
        runs.append(((k * q, q), (queries + at, kv), (queries + keys + at, kv)))
    return Layout("qkv" if pieces == n else "qkv-repeated", axis, n, tuple(runs), blocks)


def _fixed(axis: int, n: int, size: int) -> Iterator[Layout]:
    for k in range(n):
        yield Layout("fixed", axis, n, (((k * size, size),),) * n, k)


def _repeated(axis: int, n: int, size: int, pieces: int) -> Iterator[Layout]:
    near = tuple(((k * pieces // n * size, size),) for k in range(n))
    yield Layout("repeated", axis, n, near, pieces)
    far = tuple(((k % pieces * size, size),) for k in range(n))
    if far != near:
        yield Layout("strided", axis, n, far, pieces)


def _padded(axis: int, n: int, size: int, whole: int) -> Layout:
    runs = []
    for k in range(n):
        held = max(0, min(size, whole - k * size))
        pieces = (k * size, held), (PADDING, size - held)
        runs.append(tuple(run for run in pieces if run[1]))
    return Layout("padded", axis, n, tuple(runs), n_padding=n * size - whole)
