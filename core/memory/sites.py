"""Faults grouped by code site and kind: one site for what prints thousands of records, and the rare one kept.

A site is a place in the user's code and what went wrong there. Where no place is known the program counter
stands for it; where neither is known faults are put together only if kind, kernel, memory, access and size
are the same, and the site says that its place is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from npulse.core.formats.mssanitizer.again import Again, Shape

from .again import Likes, Repeats, fault_of
from .building import MAX_DISTINCT, Building, place_of, size_of
from .building import MAX_MEMBERS as MAX_MEMBERS
from .building import Key as Key
from .faults import Access, Cores, Fault, Frame

FindUserFrame = Callable[[tuple[Frame, ...]], "Frame | None"]
"""The first frame of the user's own code; None where the stack has none."""

TELL_APART = ("from_pipe", "to_pipe", "register", "reach", "pool", "warning", "buffer", "required_bits")
"""Figures that are part of what a fault is: flags between other pipes are other flags."""

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
    """Collects faults; `snapshot` tells the sites so far, in the order in which each was told first.

    What a site says does not depend on the order in which the faults of a log come.
    Cost: a few microseconds a fault; memory for the sites and the first faults of each.
    """

    def __init__(self, user_frame: FindUserFrame) -> None:
        self._user_frame = user_frame
        self._building: dict[Key, Building] = {}
        self._places: dict[int, tuple[tuple[Frame, ...], Frame | None]] = {}
        self._of_shapes: dict[Shape, Building] = {}
        self._n_kept = 0
        self.n_faults = 0
        self.n_left_out = 0
        """Faults of sites behind the first `MAX_SITES`."""

    def add(self, fault: Fault, group: str = "", log: int = 0) -> Building | None:
        """Count one fault. group: keeps apart what would else be one site, as what only follows. log: which
        one of several it stands in. Returns its site; None behind the limit."""
        self.n_faults += 1
        places = tuple(self._place(access.frames) for access in fault.accesses)
        key = site_key(fault, places, group)
        building = self._building.get(key)
        if building is None:
            if len(self._building) >= MAX_SITES:
                self.n_left_out += 1
                return None
            building = self._building[key] = Building(key, group)
        is_kept = self._n_kept < MAX_KEPT or not building.n
        self._n_kept += building.add(fault, places, place_of(fault, log), is_kept)
        return building

    def add_repeats(self, repeats: Repeats, log: int = 0) -> None:
        """Count faults that repeat others; one is made whole only where it is kept whole."""
        known, likes = self._of_shapes, repeats.likes
        for one in repeats.numbers:
            building = known.get(one.shape)
            if building is None:
                self._add_first(one, likes, log)
                continue
            self.n_faults += 1
            if self._n_kept < MAX_KEPT and len(building.members) < MAX_MEMBERS:
                fault = fault_of(one, likes)
                self._n_kept += building.add(fault, building.frames, place_of(fault, log), may_keep=True)
            else:
                building.count(one, likes, log)

    def _add_first(self, one: Again, likes: Likes, log: int) -> None:
        """One of a shape that is not known to belong to a site."""
        building = self.add(fault_of(one, likes), log=log)
        if building is None or not all(place is not None and place.has_line for place in building.frames):
            return  # its own numbers tell where it belongs
        if len(self._of_shapes) >= MAX_SITES:
            self._of_shapes.clear()
        self._of_shapes[one.shape] = building

    def take(self, other: Sites, log: int, named: Callable[[Fault], Fault]) -> None:
        """All that another one collected of one log, as if its faults had been added here.

        named: gives a fault the name that its log has by now. The other one stays as it is.
        """
        self.n_faults += other.n_faults
        self.n_left_out += other.n_left_out
        for key, theirs in other._building.items():
            building = self._building.get(key)
            if building is None:
                if len(self._building) >= MAX_SITES:
                    self.n_left_out += theirs.n
                    continue
                building = self._building[key] = Building(key, theirs.group)
            n_room = max(MAX_KEPT - self._n_kept, 0 if building.n else 1)
            self._n_kept += building.take(theirs, log, named, n_room)

    def snapshot(self) -> tuple[Site, ...]:
        """The sites of all faults so far."""
        return tuple(_site_of(building) for building in self._building.values())

    def _place(self, frames: tuple[Frame, ...]) -> Frame | None:
        """By the stack's own object, which is kept with it: equal stacks of a log are one object."""
        if not frames:
            return None
        found = self._places.get(id(frames))
        if found is None:
            if len(self._places) >= MAX_SITES:
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
        return (*key, fault.origin, None if is_known else size_of(fault))
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


def _site_of(grown: Building) -> Site:
    grown.settle()
    assert grown.first is not None
    cores = sorted(grown.cores.items(), key=lambda one: one[1][0])
    sizes = sorted(grown.sizes.items(), key=lambda one: (-one[1][0], one[1][1:]))
    return Site(
        key=grown.key,
        first=grown.first,
        earliest=grown.earliest[2] if grown.earliest is not None else grown.first,
        members=tuple(fault for _, fault in grown.members),
        places=grown.frames,
        n=grown.n,
        cores=tuple(Cores(name, merge_ranges(ranges)) for name, (_, ranges) in cores),
        devices=tuple(sorted(grown.devices)),
        pids=tuple(sorted(grown.pids)),
        threads=tuple(sorted(grown.threads)),
        pcs=tuple(sorted(grown.pcs)),
        artifacts=tuple(sorted(grown.artifacts, key=grown.artifacts.__getitem__)),
        sizes=tuple((size, n) for size, (n, *_) in sizes[:MAX_DISTINCT]),
        n_sizes=len(grown.sizes),
        in_one_log=_most_of_one_size(grown.blocks.values()),
        address=_span(grown.address),
        serial=_span(grown.serial),
        distance=_span(grown.distance),
        lines=Span(grown.first.line, max(grown.last_line, grown.first.line)),
        total_bytes=grown.total_bytes,
        n_objects=grown.n_objects,
        n_cut=grown.n_cut,
        n_partial=grown.n_partial,
        n_mixed=grown.n_mixed,
        group=grown.group,
    )


def _most_of_one_size(logs: Iterable[dict[int, int]]) -> tuple[int, int, int] | None:
    """(size, blocks of it, blocks) of the log that has most blocks of one size; {address: size} a log."""
    found = []
    for blocks in logs:
        n, size = max((n, size) for size, n in Counter(blocks.values()).items())
        found.append((n, size, len(blocks)))
    if not found:
        return None
    n, size, n_blocks = max(found)
    return size, n, n_blocks


def merge_ranges(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Inclusive ranges in ascending order, those that touch as one: (0,0) (1,3) (7,7) -> (0,3) (7,7)."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return tuple(merged)


def _span(span: tuple[int, int] | None) -> Span | None:
    return None if span is None else Span(*span)
