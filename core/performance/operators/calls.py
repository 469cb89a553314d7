"""The calls of an operator table that count, in the order in which they began: what all patterns look at.

Made once a profile. Nothing here is judged; what the table does not say is NONE, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.findings import Location
from npulse.core.formats.profiling.operators import NO_START, OperatorTable
from npulse.core.formats.profiling.type_names import type_in, without_variant
from npulse.core.text import safe_text

from ..profile import Profile
from .keys import keys_of
from .usable import Usable, line_of

Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

NONE = -1
CUBE, VECTOR, MIX_CUBE, MIX_VECTOR, AI_CPU, COMMUNICATION, OTHER = range(7)
"""What a call ran on. On chips that are not split (310P, 910A) CUBE does vectors as well."""

_CORES: Mapping[str, int] = {
    "AI_CORE": CUBE,
    "AICORE": CUBE,
    "KERNEL_AICORE": CUBE,
    "AI_VECTOR_CORE": VECTOR,
    "AIVEC": VECTOR,
    "KERNEL_AIVEC": VECTOR,
    "MIX_AIC": MIX_CUBE,
    "KERNEL_MIX_AIC": MIX_CUBE,
    "MIX_AIV": MIX_VECTOR,
    "KERNEL_MIX_AIV": MIX_VECTOR,
    "AI_CPU": AI_CPU,
    "AICPU": AI_CPU,
    "KERNEL_AICPU": AI_CPU,
    "COMMUNICATION": COMMUNICATION,
    "HCCL": COMMUNICATION,
    "HCCL_AI_CPU": COMMUNICATION,
}
_COLLECTIVES = ("hcom", "lccl", "lcoc")  # how the vendor's own rule tells them by name
_NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class Calls:
    """Arrays have one element a call, in the order of their starts; those without a usable start are last.

    rows int64: where each stands in the table. kind int32 -> kinds: operator type without the suffix of its
    variant, NONE where the table does not tell it. core int8. is_placed bool: its start counts.
    is_kernel bool: no communication. Sums are of durations, in ns: total_ns of all calls, kernel_ns of
    kernels. wall_ns: from the first start to the last end, 0 where no call has a start.
    """

    profile: Profile
    table: OperatorTable
    rows: Integers
    start_ns: Integers
    duration_ns: Integers
    kind: npt.NDArray[np.int32]
    kinds: Sequence[str]
    core: npt.NDArray[np.int8]
    is_placed: Flags
    is_kernel: Flags
    total_ns: int
    kernel_ns: int
    wall_ns: int

    def __len__(self) -> int:
        return len(self.rows)

    def has(self, *names: str) -> bool:
        """Whether the table has a value in each of these columns at all."""
        return all(
            name in self.table.arrays and not bool(self.table.is_absent(name)[self.rows].all())
            for name in names
        )

    def values(self, name: str) -> npt.NDArray[Any]:
        """A column of the table for these calls."""
        return self.table.values_at(name, self.rows)

    def raw(self, name: str, call: int) -> str:
        """One cell as it is."""
        return self.table.text(name, int(self.rows[call]))

    def text(self, name: str, call: int) -> str:
        """One cell, safe to show."""
        return safe_text(self.raw(name, call), _NAME_CHARS)

    def name(self, call: int) -> str:
        """How the tool calls it."""
        return self.text("name", call) or self.text("op_type", call)

    def kind_name(self, code: int) -> str:
        return safe_text(self.kinds[code], _NAME_CHARS) if code >= 0 else "?"

    def of_kinds(self, wanted: Iterable[str]) -> Flags:
        """True for calls of these types (without case)."""
        lower = {one.lower() for one in wanted}
        return self.marked("kind", [kind.lower() in lower for kind in self.kinds])

    def marked(self, column: str, is_marked: Sequence[bool]) -> Flags:
        """A flag for each text of a column, for each call; False where the text is absent."""
        codes = self.kind if column == "kind" else self.values(column)
        flags = np.append(np.asarray(is_marked, np.bool_), False)
        marked: Flags = flags[codes]
        return marked

    def ns_of(self, mask: Flags) -> int:
        """Durations of some calls together."""
        return int(self.duration_ns[mask].sum())

    def location(self, call: int) -> Location:
        """Where a call stands in its file."""
        row = int(self.rows[call])
        artifact = self.table.files[int(self.table.file[row])] if self.table.files else None
        return Location(artifact=artifact, rank=self.profile.rank, line=line_of(self.table, row))


def calls_of(profile: Profile, table: OperatorTable, usable: Usable) -> Calls:
    """The rows that count. Cost: linear; sorted only where the table is not in order."""
    rows = np.flatnonzero(usable.rows)
    starts: Integers = table.values("start_ns")
    durations: Integers = table.values("duration_ns")[rows]
    is_placed: Flags = usable.starts[rows] & (starts[rows] <= np.iinfo(np.int64).max - durations)
    times = np.where(is_placed, starts[rows], np.iinfo(np.int64).max)
    if (times[1:] < times[:-1]).any():
        order = np.argsort(times, kind="stable")
        rows, is_placed, durations = rows[order], is_placed[order], durations[order]
    keys = keys_of(table)
    kinds, kind_of_label = _kinds(keys.labels, keys.has_types)
    kind = np.append(kind_of_label, NONE).astype(np.int32)[keys.codes[rows]]
    kind, kinds = _by_first_call(kind, kinds)
    core = np.array([_CORES.get(text.upper(), OTHER) for text in table.texts("core_type")] + [OTHER], np.int8)
    cores = core[table.values("core_type")[rows]]
    is_collective = np.append([kind.lower().startswith(_COLLECTIVES) for kind in kinds], False)
    cores[is_collective.astype(np.bool_)[kind]] = COMMUNICATION
    is_kernel = cores != COMMUNICATION
    placed = np.where(is_placed, starts[rows], NO_START)
    wall_ns = 0
    if is_placed.any():
        wall_ns = int((placed + durations)[is_placed].max() - placed[is_placed].min())
    return Calls(
        profile,
        table,
        rows,
        placed,
        durations,
        kind,
        kinds,
        cores,
        is_placed,
        is_kernel,
        usable.total_ns,
        int(durations[is_kernel].sum()),
        wall_ns,
    )


def _kinds(labels: Sequence[str], has_types: bool) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    """Types, and the type of each text; names end with their type where the table has no types."""
    found: dict[str, int] = {}
    codes = [
        found.setdefault(without_variant(label if has_types else type_in(label)), len(found))
        if label
        else NONE
        for label in labels
    ]
    return tuple(found), np.array(codes, np.int32)


def stream_order(calls: Calls, rows: Flags) -> Integers:
    """Places of some calls, stream by stream in order of time: those next to each other follow each other."""
    at = np.flatnonzero(rows & calls.is_placed)
    streams = calls.values("stream")[at]
    if len(streams) and (streams == streams[0]).all():
        return at
    return at[np.argsort(streams, kind="stable")]


def _by_first_call(
    kind: npt.NDArray[np.int32], kinds: Sequence[str]
) -> tuple[npt.NDArray[np.int32], tuple[str, ...]]:
    """Types numbered in the order of their first calls: files do not decide in which order equals stand."""
    n = len(kind)
    first = np.full(len(kinds) + 1, n, np.int64)  # the last one is for calls without a type
    first[kind[::-1]] = np.arange(n)[::-1]
    order = np.argsort(first[:-1], kind="stable")
    place = np.empty(len(kinds) + 1, np.int32)
    place[order] = np.arange(len(kinds), dtype=np.int32)
    place[-1] = NONE
    return place[kind], tuple(kinds[i] for i in order.tolist())


def idle_before(calls: Calls) -> Integers:
    """Of each call how long the device had done nothing at all up to its start, since its first call.

    Calls without a usable start have the value of the last one that has one.
    """
    starts = np.where(calls.is_placed, calls.start_ns, 0)
    n = int(np.count_nonzero(calls.is_placed))  # those are the first ones
    ends = np.maximum.accumulate(starts[:n] + calls.duration_ns[:n])
    idle = np.zeros(len(calls), np.int64)
    idle[1:n] = np.maximum(0, starts[1:n] - ends[:-1])
    return np.cumsum(idle)


# ---- figures, and how words show them ----


def percent(part: float, whole: float) -> float:
    """For figures: part of a whole in percent, every digit; 0 where there is no whole."""
    return float(100 * part / whole) if whole else 0.0


def shown_percent(value: float) -> float:
    """For words: two decimals at most."""
    return round(value, 2)


def us(ns: float) -> float:
    """For figures: microseconds, every digit."""
    return float(ns / 1000)


def sums_of(codes: npt.NDArray[Any], values: Integers, n: int) -> Integers:
    """The sum of values for each code; codes below 0 are left out. Exact below 2**53."""
    there = codes >= 0
    return np.bincount(codes[there], weights=values[there], minlength=n).astype(np.int64)


def groups_of(*keys: npt.NDArray[Any]) -> tuple[Integers, Integers]:
    """Elements with the same keys in one group: (group of each, first element of each group).

    Groups are numbered by their first element. Keys are mixed to 64 bits: one sort, whatever their number.
    """
    mixed = mix(*keys)
    _, first, group = np.unique(mixed, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[group.reshape(-1)], first[order].astype(np.int64)


def mix(*keys: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """64 bits a tuple of integers; two that differ have the same ones with a chance of 2**-64."""
    mixed = np.zeros(len(keys[0]), np.uint64)
    for key in keys:
        mixed = (mixed ^ key.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    return mixed
