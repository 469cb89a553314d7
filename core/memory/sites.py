"""Faults grouped by code site and kind: one site for what prints thousands of records, and the rare one kept.

A site is a place in the user's code and what went wrong there. Where no place is known the program counter
stands for it; where neither is known faults are put together only if kind, kernel, memory, access and size
are the same, and the site says that its place is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from .faults import Access, Cores, Fault, Frame

T = TypeVar("T")
Key = tuple[object, ...]
FindUserFrame = Callable[[tuple[Frame, ...]], "Frame | None"]
"""The first frame of the user's own code; None where the stack has none."""

TELL_APART = ("from_pipe", "to_pipe", "register", "reach", "pool", "warning", "buffer", "required_bits")
"""Figures that are part of what a fault is: flags between other pipes are other flags."""

MAX_DISTINCT = 64
"""Sizes, program counters, devices, processes and artifacts that a site names one by one."""
MAX_RANGES = 4096
MAX_MEMBERS = 40
MAX_KEPT = 10_000
"""Faults that are kept whole: the first ones of a site, and of all sites; others are only counted."""
MAX_SITES = 20_000


@dataclass(frozen=True, slots=True)
class Span:
    """Smallest and largest of a figure."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Site:
    """All faults of one kind at one place.

    first: the first in its log; earliest: the one with the lowest serial number, which is nearer to the cause
    than the order of the log. members: the first ones, 40 at most. places: for each access the user's frame,
    None where nothing is known; group: a word that keeps apart what would else be one site. n_objects,
    total_bytes: of leaks. sizes: (size, how many faults) of the most frequent ones; n_sizes: of how many.
    in_one_log: of a leak (size, how many blocks of that size, of all sizes) where one log has most of one
    size; blocks are told apart by their addresses, since a log may be several runs of the same.
    cores, devices, pids, threads: of all accesses. resolved_by: the kernel object that gave the places, ""
    where the log did.
    """

    key: Key
    first: Fault
    earliest: Fault
    members: tuple[Fault, ...]
    places: tuple[Frame | None, ...]
    n: int
    cores: tuple[Cores, ...]
    devices: tuple[int, ...]
    pids: tuple[int, ...]
    threads: tuple[str, ...]
    pcs: tuple[int, ...]
    artifacts: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]
    n_sizes: int
    in_one_log: tuple[int, int, int] | None
    address: Span | None
    serial: Span | None
    distance: Span | None
    lines: Span
    total_bytes: int
    n_objects: int
    n_cut: int
    n_partial: int
    n_mixed: int
    group: str = ""
    resolved_by: str = ""

    @property
    def place(self) -> Frame | None:
        """Where to look first: of a lock-up the pipe that began to wait first, else the first known place."""
        places = self.places
        if self.first.kind == "lock-up" and self.first.accesses:
            accesses = self.first.accesses
            order = sorted(range(len(places)), key=lambda i: (accesses[i].serial_number or 0, i))
            places = tuple(places[i] for i in order)
        return next((place for place in places if place is not None), None)

    @property
    def is_place_known(self) -> bool:
        place = self.place
        return place is not None and place.has_line

    @property
    def size_bytes(self) -> int | None:
        """The size, if all faults have the same one."""
        return self.sizes[0][0] if self.n_sizes == 1 else None


class Sites:
    """Collects faults; `snapshot` tells the sites so far, in the order in which each began.

    Cost: a few microseconds a fault; memory for the sites and the first faults of each.
    """

    def __init__(self, user_frame: FindUserFrame) -> None:
        self._user_frame = user_frame
        self._building: dict[Key, _Building] = {}
        self._places: dict[int, tuple[tuple[Frame, ...], Frame | None]] = {}
        self._n_kept = 0
        self.n_faults = 0
        self.n_left_out = 0
        """Faults of sites behind the first `MAX_SITES`."""

    def add(self, fault: Fault, group: str = "") -> None:
        """Count one fault. group: keeps apart what would else be one site, as what only follows."""
        self.n_faults += 1
        places = tuple(self._place(access.frames) for access in fault.accesses)
        key = site_key(fault, places, group)
        building = self._building.get(key)
        if building is None:
            if len(self._building) >= MAX_SITES:
                self.n_left_out += 1
                return
            building = self._building[key] = _Building(key, fault, places, group)
        is_kept = self._n_kept < MAX_KEPT or not building.n
        self._n_kept += building.add(fault, is_kept)

    def snapshot(self) -> tuple[Site, ...]:
        """The sites of all faults so far."""
        return tuple(building.site() for building in self._building.values())

    def _place(self, frames: tuple[Frame, ...]) -> Frame | None:
        """By the stack's own object, which is kept with it: equal stacks of a log are one object."""
        if not frames:
            return None
        found = self._places.get(id(frames))
        if found is None:
            if len(self._places) > MAX_SITES:
                self._places.clear()
            found = self._places[id(frames)] = frames, self._user_frame(frames)
        return found[1]


def site_key(fault: Fault, places: tuple[Frame | None, ...], group: str = "") -> Key:
    """What makes two faults the same: kind, memory, kernel and the places of both sides of a race."""
    accesses = tuple(
        (_where(access, place), access.word, access.instruction)
        for access, place in zip(fault.accesses, places, strict=True)
    )
    access = fault.access
    apart = tuple(fault.figures.get(name) for name in TELL_APART)
    key: Key = (fault.tool, fault.kind, fault.hazard, access.space, access.kernel, group, apart, accesses)
    is_known = any(where is not None for where, *_ in accesses)
    if fault.is_leak:
        return (*key, fault.origin, None if is_known else _size_of(fault))
    if is_known:
        return key
    file = next((place.file for place in places if place is not None), "")
    return (*key, file, access.size_bytes, access.pipe, _message_of(fault))


def _where(access: Access, place: Frame | None) -> object:
    """The place as far as it is known: file and line, else the program counter; None for nothing."""
    if place is not None and place.has_line:
        return place.file, place.line
    if access.pc:
        return access.pc
    if place is not None and place.module and place.offset is not None:
        return place.module, place.offset, place.function
    if place is not None and place.function and not place.has_file:
        return place.function
    return None


def _message_of(fault: Fault) -> str:
    """Faults without place, memory and size have nothing but their text that tells them apart."""
    access, code = fault.access, fault.figures.get("code")
    if access.kernel or access.space or access.size_bytes:
        return ""
    return str(code) if code else fault.message


@dataclass(slots=True)
class _Building:
    key: Key
    first: Fault
    places: tuple[Frame | None, ...]
    group: str
    n: int = 0
    members: list[Fault] = field(default_factory=list)
    earliest: Fault | None = None
    earliest_serial: int | None = None
    cores: dict[str, set[tuple[int, int]]] = field(default_factory=dict)
    devices: set[int] = field(default_factory=set)
    pids: set[int] = field(default_factory=set)
    threads: set[str] = field(default_factory=set)
    pcs: set[int] = field(default_factory=set)
    artifacts: dict[str, None] = field(default_factory=dict)
    sizes: Counter[int] = field(default_factory=Counter)
    blocks: dict[tuple[str, str, int | None], dict[int, int]] = field(default_factory=dict)
    address: tuple[int, int] | None = None
    serial: tuple[int, int] | None = None
    distance: tuple[int, int] | None = None
    last_line: int = 0
    total_bytes: int = 0
    n_objects: int = 0
    n_cut: int = 0
    n_partial: int = 0
    n_mixed: int = 0

    def add(self, fault: Fault, may_keep: bool) -> bool:
        """Count a fault; whether it was kept whole."""
        is_kept = may_keep and self.n < MAX_MEMBERS
        self.n += 1
        if is_kept:
            self.members.append(fault)
        if len(self.artifacts) < MAX_DISTINCT:
            self.artifacts[fault.artifact] = None
        self.last_line = max(self.last_line, fault.line)
        self.n_cut += fault.is_cut
        self.n_partial += fault.is_partial
        self.n_mixed += fault.is_mixed
        self.n_objects += fault.n_objects or 0
        self.total_bytes += fault.size_bytes or 0
        size = _size_of(fault)
        if size is not None and (size in self.sizes or len(self.sizes) < MAX_RANGES):
            self.sizes[size] += 1
        if fault.is_leak and size is not None and fault.access.address is not None:
            of_log = self.blocks.setdefault((fault.artifact, fault.origin, fault.access.device), {})
            if len(of_log) < MAX_RANGES:
                of_log[fault.access.address] = size
        if fault.block is not None:
            self.distance = _wider(self.distance, fault.block.distance_bytes)
        self.address = _wider(self.address, fault.access.address)
        for access in fault.accesses:
            self._add_access(fault, access)
        return is_kept

    def _add_access(self, fault: Fault, access: Access) -> None:
        serial = access.serial_number
        self.serial = _wider(self.serial, serial)
        if serial is not None and (self.earliest_serial is None or serial < self.earliest_serial):
            self.earliest, self.earliest_serial = fault, serial
        if access.device is not None:
            _note(self.devices, access.device)
        if access.pid is not None:
            _note(self.pids, access.pid)
        if access.thread:
            _note(self.threads, access.thread)
        if access.pc is not None:
            _note(self.pcs, access.pc)
        for cores in access.cores:
            ranges = self.cores.get(cores.core_type)
            if ranges is None:
                ranges = self.cores[cores.core_type] = set()
            if len(ranges) < MAX_RANGES:
                ranges.update(cores.ranges)

    def site(self) -> Site:
        return Site(
            key=self.key,
            first=self.first,
            earliest=self.earliest or self.first,
            members=tuple(self.members),
            places=self.places,
            n=self.n,
            cores=tuple(Cores(name, merge_ranges(ranges)) for name, ranges in self.cores.items()),
            devices=tuple(sorted(self.devices)),
            pids=tuple(sorted(self.pids)),
            threads=tuple(sorted(self.threads)),
            pcs=tuple(sorted(self.pcs)),
            artifacts=tuple(self.artifacts),
            sizes=tuple(self.sizes.most_common(MAX_DISTINCT)),
            n_sizes=len(self.sizes),
            in_one_log=_most_of_one_size(self.blocks.values()),
            address=_span(self.address),
            serial=_span(self.serial),
            distance=_span(self.distance),
            lines=Span(self.first.line, max(self.last_line, self.first.line)),
            total_bytes=self.total_bytes,
            n_objects=self.n_objects,
            n_cut=self.n_cut,
            n_partial=self.n_partial,
            n_mixed=self.n_mixed,
            group=self.group,
        )


def _most_of_one_size(logs: Iterable[dict[int, int]]) -> tuple[int, int, int] | None:
    """(size, blocks of it, blocks) of the log that has most blocks of one size; {address: size} a log."""
    found = []
    for blocks in logs:
        size, n = Counter(blocks.values()).most_common(1)[0]
        found.append((n, size, len(blocks)))
    if not found:
        return None
    n, size, n_blocks = max(found)
    return size, n, n_blocks


def _size_of(fault: Fault) -> int | None:
    """Bytes of the access or of the leaked block; a sum over several blocks tells the size of none."""
    if not fault.is_leak:
        return fault.access.size_bytes
    return fault.size_bytes if fault.n_objects in (None, 1) else None


def merge_ranges(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Inclusive ranges in ascending order, those that touch as one: (0,0) (1,3) (7,7) -> (0,3) (7,7)."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return tuple(merged)


def _wider(span: tuple[int, int] | None, value: int | None) -> tuple[int, int] | None:
    if value is None:
        return span
    return (value, value) if span is None else (min(span[0], value), max(span[1], value))


def _span(span: tuple[int, int] | None) -> Span | None:
    return None if span is None else Span(*span)


def _note(found: set[T], value: T) -> None:
    if len(found) < MAX_DISTINCT:
        found.add(value)
