"""Gathers that read a KV cache piece by piece: small contiguous pieces, long moves, little bandwidth.

The axis of a gather is not in the table; it is found by the shapes. What looks like a KV cache is told by
shapes (and by "cache" in a name), so it is a suspicion with its evidence, not a fact.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.figures import time_text
from npulse.core.findings import Related
from npulse.core.text import columns_of

from ..advice import Advice, words
from ..criteria import Criteria
from .calls import AI_CPU, Calls, Flags, groups_of, percent, shown_percent, us
from .tensors import ITEM_BYTES, Shape, dtypes_of, n_elements, shapes_of
from .texts_patterns import TEXTS

LONG_NS = 20_000
LOW_GB_PER_S = 575.0
"""Both are the vendor's: slower than that over more than 20 us is coloured red (vector throughput, A2)."""
LOW_OF_BANDWIDTH = 0.5
"""Where the memory bandwidth of the chip is set: less than half of it is low."""
SMALL_PIECE_BYTES = 16 << 10
"""A move of the chip should have at least 16 KB; one below 512 bytes pays for bytes that it does not need."""
WORTH_PERCENT = 5

_KINDS = frozenset(
    {"gather", "gatherv2", "gatherv2d", "gatherv3", "gatherd", "gathernd", "gatherelements"}
    | {"gatherelementsv2", "indexselect", "index", "asstrided", "stridedslice", "stridedsliced"}
)
_BLOCK_SIZES = frozenset({16, 32, 64, 128, 256, 512, 1024})
_HEAD_DIMS = frozenset({32, 48, 64, 72, 80, 96, 112, 120, 128, 144, 160, 192, 256, 288, 320, 512, 576})
_MAX_HEADS = 256
_MANY_BLOCKS = 64  # a cache has more blocks than a batch has images
_MIN_CACHE_BYTES = 1 << 20
_SLICES = ("asstrided", "slice")
_PART = 4
"""A slice reads a part of a cache: at most a quarter. One that splits its input in two or three is none."""
_TOKENS_TOGETHER = "[num_blocks, num_kv_heads, block_size, head_dim]"
_CACHE_WORDS = ("kv_cache", "kvcache", "key_cache", "value_cache", "k_cache", "v_cache", "paged")
_MAX_TOLD = 6
_MAX_GROUPS = 2000


@dataclass(frozen=True, slots=True)
class CacheShape:
    """What a first input looks like. layout: its dimensions by name; wanted: the layout to try."""

    layout: str
    wanted: str


def cache_shape(shape: Shape, item_bytes: int, *, is_named: bool = False) -> CacheShape | None:
    """How a tensor of that shape would be read as a KV cache; None where it is none.

    A matrix (rank 2) is a table of embeddings unless the operator's name speaks of a cache.
    """
    if n_elements(shape) * item_bytes < _MIN_CACHE_BYTES:
        return None
    if len(shape) == 4:
        first, second, third, last = shape
        is_image = third == last and first < _MANY_BLOCKS and not is_named
        if last not in _HEAD_DIMS or is_image or min(second, third) > _MAX_HEADS:
            return None
        if second < third:
            return CacheShape("[batch or num_blocks, num_kv_heads, seq or block_size, head_dim]", "")
        if second in _BLOCK_SIZES:
            return CacheShape("[num_blocks, block_size, num_kv_heads, head_dim]", _TOKENS_TOGETHER)
        return CacheShape("[batch, seq, num_kv_heads, head_dim]", "[batch, num_kv_heads, seq, head_dim]")
    if len(shape) == 3:
        first, second, last = shape
        if second in _BLOCK_SIZES and last % 64 == 0 and first >= 16:
            return CacheShape("[num_blocks, block_size, num_kv_heads * head_dim]", _TOKENS_TOGETHER)
        if last in _HEAD_DIMS and second <= _MAX_HEADS and first >= 256:
            return CacheShape("[num_slots, num_kv_heads, head_dim]", _TOKENS_TOGETHER)
        return None
    if is_named and len(shape) == 2:
        return CacheShape("[num_slots, num_kv_heads * head_dim]", _TOKENS_TOGETHER)
    return None


def piece_elements(source: Shape, index: Shape | None, output: Shape) -> int | None:
    """Elements that lie side by side in the source and are wanted together, found by shapes.

    A gather along axis a gives source[:a] + index + source[a+1:]: what follows the axis is one piece. Where
    no axis fits: the dimensions at the end that both have in common. None: nothing can be said.
    """
    if index is not None:
        fits = [axis for axis in range(len(source)) if source[:axis] + index + source[axis + 1 :] == output]
        if fits:
            return n_elements(source[max(fits) + 1 :])
    if not source or not output:
        return None
    piece = 1
    for have, want in zip(reversed(source), reversed(output), strict=False):
        if have != want:
            return piece * min(have, want)
        piece *= have
    return piece


@dataclass(frozen=True, slots=True)
class _Slow:
    """Calls with the same shapes that read a cache too slowly."""

    first: int
    n: int
    total_ns: int
    longest_ns: int
    moved_bytes: int
    gb_per_s: float
    piece_bytes: int | None
    stake_ns: int
    cache: CacheShape


def gather_advice(calls: Calls, criteria: Criteria) -> Iterator[Advice]:
    """One advice for all gathers that look like reads of a KV cache and are slow."""
    there = calls.of_kinds(_KINDS) & calls.is_kernel & (calls.core != AI_CPU)
    if not there.any() or not calls.has("input_shapes", "output_shapes", "input_dtypes"):
        return
    limit = LOW_GB_PER_S
    if criteria.bandwidth_gb_per_s > 0:
        limit = criteria.bandwidth_gb_per_s * LOW_OF_BANDWIDTH
    slow = _slow(calls, there, limit)
    if not slow:
        return
    worst = slow[0]
    cost_ns = sum(one.stake_ns for one in slow)
    total_ns = sum(one.total_ns for one in slow)
    share = percent(total_ns, calls.kernel_ns)
    is_strided = worst.piece_bytes is not None and worst.piece_bytes < SMALL_PIECE_BYTES
    yield Advice(
        rule="performance.kv-gather",
        severity="warning" if share >= WORTH_PERCENT else "note",
        subject=calls.name(worst.first),
        message=words(
            TEXTS,
            "gather",
            type=calls.kind_name(int(calls.kind[worst.first])),
            n=sum(one.n for one in slow),
            total=time_text(total_ns),
            share=shown_percent(share),
            shapes=calls.text("input_shapes", worst.first),
            output=calls.text("output_shapes", worst.first),
            layout=worst.cache.layout,
            piece=_bytes_text(worst.piece_bytes),
            speed=round(worst.gb_per_s, 1),
            limit=round(limit, 1),
            mean=time_text(worst.total_ns / worst.n),
        ),
        next_step=words(
            TEXTS,
            "gather-next-layout" if worst.cache.wanted and is_strided else "gather-next-paged",
            wanted=worst.cache.wanted,
        ),
        figures={
            "n_calls": sum(one.n for one in slow),
            "total_us": us(total_ns),
            "share_percent": share,
            "longest_us": us(max(one.longest_ns for one in slow)),
            "piece_bytes": worst.piece_bytes,
            "moved_bytes": worst.moved_bytes,
            "bandwidth_gb_per_s": worst.gb_per_s,
            "limit_gb_per_s": limit,
        },
        cost_ns=cost_ns,
        profile=calls.profile.name,
        related=tuple(
            Related(
                "suspect",
                calls.name(one.first),
                {
                    "n_calls": one.n,
                    "total_us": us(one.total_ns),
                    "longest_us": us(one.longest_ns),
                    "bandwidth_gb_per_s": one.gb_per_s,
                    "piece_bytes": one.piece_bytes,
                    "input_shapes": calls.text("input_shapes", one.first),
                    "output_shapes": calls.text("output_shapes", one.first),
                    "layout": one.cache.layout,
                },
            )
            for one in slow[:_MAX_TOLD]
        ),
        location=calls.location(worst.first),
        told=tuple(
            columns_of(
                [
                    (
                        calls.kind_name(int(calls.kind[one.first])),
                        f"{calls.text('input_shapes', one.first)[:48]} -> "
                        f"{calls.text('output_shapes', one.first)[:32]}",
                        f"{one.n:,}",
                        time_text(one.total_ns),
                        f"{one.gb_per_s:.1f} GB/s",
                        _bytes_text(one.piece_bytes),
                    )
                    for one in slow[:_MAX_TOLD]
                ],
                left=(0, 1),
            )
        ),
    )


def _bytes_text(n: int | None) -> str:
    return "?" if n is None else f"{n:,} B"


def _slow(calls: Calls, there: Flags, limit: float) -> list[_Slow]:
    """Groups of equal shapes that read a cache, are long and slow; what is most at stake first."""
    at = np.flatnonzero(there)
    group_of, first = groups_of(
        calls.kind[at],
        *(calls.values(name)[at] for name in ("input_shapes", "input_dtypes", "output_shapes")),
    )
    totals = np.zeros(len(first), np.int64)
    np.add.at(totals, group_of, calls.duration_ns[at])
    longest = np.zeros(len(first), np.int64)
    np.maximum.at(longest, group_of, calls.duration_ns[at])
    n = np.bincount(group_of, minlength=len(first))
    order = np.lexsort((np.arange(len(first)), -totals))
    found = []
    for i in order[:_MAX_GROUPS].tolist():
        if longest[i] <= LONG_NS:
            continue
        call = int(at[first[i]])
        one = _judged(calls, call, int(n[i]), int(totals[i]), int(longest[i]), limit)
        if one is not None:
            found.append(one)
    return sorted(found, key=lambda one: (-one.stake_ns, one.first))


def _judged(calls: Calls, call: int, n: int, total_ns: int, longest_ns: int, limit: float) -> _Slow | None:
    shapes = shapes_of(calls.raw("input_shapes", call))
    outputs = shapes_of(calls.raw("output_shapes", call))
    dtypes = dtypes_of(calls.raw("input_dtypes", call))
    if not shapes or not outputs or not dtypes or dtypes[0] not in ITEM_BYTES:
        return None
    source, output = shapes[0], outputs[0]
    if source is None or output is None or not source:
        return None
    item_bytes = ITEM_BYTES[dtypes[0]]
    name = calls.raw("name", call).lower()
    cache = cache_shape(source, item_bytes, is_named=any(word in name for word in _CACHE_WORDS))
    if cache is None:
        return None
    moved_bytes = 2 * n_elements(output) * item_bytes  # each element is read and written
    gb_per_s = moved_bytes * n / total_ns if total_ns else float("inf")
    if moved_bytes == 0 or gb_per_s >= limit:
        return None
    kind = calls.kind_name(int(calls.kind[call])).lower()
    index: Shape | None = None
    if any(word in kind for word in _SLICES):
        if n_elements(output) * _PART > n_elements(source):
            return None
    elif len(shapes) > 1:
        index = shapes[1]
    is_single = "elements" in kind or kind == "gatherd"  # an index an element: its pieces can't be told
    piece = None if is_single else piece_elements(source, index, output)
    needed_ns = moved_bytes * n / limit
    return _Slow(
        call,
        n,
        total_ns,
        longest_ns,
        moved_bytes,
        gb_per_s,
        None if piece is None else piece * item_bytes,
        max(0, int(total_ns - needed_ns)),
        cache,
    )
