"""Conversions that are undone at once: the next one of the same kind takes what the first one gave, and gives
what the first one took.

Told by order and by equal shapes, types and formats: what fed whom is not in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.figures import time_text
from npulse.core.findings import Related
from npulse.core.text import columns_of

from ..advice import Advice, words
from ..criteria import Criteria
from .calls import Calls, Integers, groups_of, mix, percent, shown_percent, stream_order, us
from .conversions import FAMILIES, ends_of, families_of
from .tensors import dtype_of, first_of, format_of, parts_of
from .texts_patterns import TEXTS

MAX_BETWEEN = 4
"""A conversion back with at most so many operators between is a round trip."""
_KEYS = ("input_dtypes", "output_dtypes", "input_formats", "output_formats")
_MAX_TOLD = 6
_READ: Mapping[str, Callable[[str], str]] = {"shapes": str, "dtypes": dtype_of, "formats": format_of}


def round_trip_advice(calls: Calls, criteria: Criteria) -> Iterator[Advice]:
    """Conversions whose result is converted back: the next one of the same kind on the stream, at most
    MAX_BETWEEN operators later, takes that shape, type and format and gives the first one's."""
    if not calls.has("input_shapes", "output_shapes", "input_dtypes", "output_dtypes"):
        return
    family = families_of(calls)
    order = stream_order(calls, calls.is_kernel)
    streams = calls.values("stream")[order]
    is_one = (family[order] == 0) | (family[order] == 1)
    places = np.flatnonzero(is_one)
    if len(places) < 2:
        return
    # the next one of the same kind: sorted by kind, neighbours follow each other
    kinds = family[order[places]]
    by_kind = places[np.argsort(kinds, kind="stable")]
    one, two = by_kind[:-1], by_kind[1:]
    near = (two - one >= 1) & (two - one <= MAX_BETWEEN + 1) & (streams[one] == streams[two])
    near &= family[order[one]] == family[order[two]]
    left, right = order[one[near]], order[two[near]]
    given, taken = _what(calls, left, "input"), _what(calls, left, "output")
    there_and_back = (taken == _what(calls, right, "input")) & (given == _what(calls, right, "output"))
    there_and_back &= (given != taken) & (given != 0) & (taken != 0)
    left, right = left[there_and_back], right[there_and_back]
    if not len(left):
        return
    cost_ns = int(calls.duration_ns[np.unique(np.concatenate((left, right)))].sum())
    share = percent(cost_ns, calls.kernel_ns)
    paths = _paths(calls, family, left, right)
    worst = paths[0]
    yield Advice(
        rule="performance.conversion-back",
        severity="warning" if share > criteria.conversion_percent else "note",
        subject=calls.name(worst.first),
        message=words(
            TEXTS,
            "conversion-back",
            n=len(left),
            total=time_text(cost_ns),
            share=shown_percent(share),
            path=worst.path,
            path_n=worst.n,
            between=MAX_BETWEEN,
        ),
        next_step=words(TEXTS, "conversion-back-next"),
        figures={"n_pairs": len(left), "total_us": us(cost_ns), "share_percent": share},
        cost_ns=cost_ns,
        profile=calls.profile.name,
        related=tuple(
            Related("suspect", path.path, {"n_pairs": path.n, "total_us": us(path.total_ns)})
            for path in paths[:_MAX_TOLD]
        ),
        location=calls.location(worst.first),
        told=tuple(
            columns_of([(path.path, f"{path.n:,}", time_text(path.total_ns)) for path in paths[:_MAX_TOLD]])
        ),
    )


@dataclass(frozen=True, slots=True)
class _Path:
    """Round trips of one kind: "Cast FLOAT -> BF16 -> FLOAT"."""

    path: str
    first: int
    n: int
    total_ns: int


def _paths(
    calls: Calls,
    family: npt.NDArray[np.int8],
    left: Integers,
    right: Integers,
) -> list[_Path]:
    """Round trips by what they convert, the most expensive first."""
    group_of, first = groups_of(family[left], *(calls.values(name)[left] for name in _KEYS))
    totals = np.zeros(len(first), np.int64)
    np.add.at(totals, group_of, calls.duration_ns[left] + calls.duration_ns[right])
    n = np.bincount(group_of, minlength=len(first)).tolist()
    found: dict[str, _Path] = {}
    for i, place in enumerate(first.tolist()):
        call = int(left[place])
        name = FAMILIES[int(family[call])]
        source, target = ends_of(calls, call, name)
        path = f"{name} {source} -> {target} -> {source}"
        had = found.get(path, _Path(path, call, 0, 0))
        found[path] = _Path(path, had.first, had.n + n[i], had.total_ns + int(totals[i]))
    return sorted(found.values(), key=lambda one: (-one.total_ns, one.first))


def _what(calls: Calls, at: Integers, side: str) -> npt.NDArray[np.uint64]:
    """A number for the first tensor of some calls on one side: shape, type and format; 0 where not recorded.

    Texts of both sides get the same numbers.
    """
    parts = []
    is_known = np.ones(len(at), np.bool_)
    for column in _READ:
        name = f"{side}_{column}"
        read = _READ[column]
        texts = calls.table.texts(name)
        codes, place = np.unique(calls.values(name)[at], return_inverse=True)
        numbers = [
            _number(read(first_of(parts_of(texts[code])))) if code >= 0 else 0 for code in codes.tolist()
        ]
        parts.append(np.array(numbers, np.int64)[place.reshape(-1)])
        if column != "formats":
            is_known &= calls.values(name)[at] >= 0
    return np.where(is_known, mix(*parts) | np.uint64(1), np.uint64(0))


def _number(text: str) -> int:
    """The same number for the same text, in every process."""
    digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
