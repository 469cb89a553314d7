"""A site while it grows: all that its faults tell, summed up, whatever the order in which they come."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypeVar

from .again import Again
from .faults import Access, Fault, Frame

T = TypeVar("T")
Key = tuple[object, ...]

MAX_DISTINCT = 64
"""Sizes, program counters, devices, processes and artifacts that a site names one by one."""
MAX_RANGES = 4096
MAX_MEMBERS = 40


Place = tuple[int, int, int, str, str]
"""Where a fault stands among those of all logs: log, byte, line, and what tells two of one line apart."""


def place_of(fault: Fault, log: int) -> Place:
    """log: the place of its log among the logs of the round."""
    return log, fault.byte, fault.line, fault.tool, fault.kind


@dataclass(slots=True)
class Building:
    """A site while it grows. Of what is bounded the first ones in the order of the log are kept."""

    key: Key
    group: str
    place: Place = (0, 0, 0, "", "")
    first: Fault | None = None
    frames: tuple[Frame | None, ...] = ()
    n: int = 0
    members: list[tuple[Place, Fault]] = field(default_factory=list)
    earliest: tuple[int, Place, Fault] | None = None
    cores: dict[str, tuple[Place, set[tuple[int, int]]]] = field(default_factory=dict)
    devices: set[int] = field(default_factory=set)
    pids: set[int] = field(default_factory=set)
    threads: set[str] = field(default_factory=set)
    pcs: set[int] = field(default_factory=set)
    artifacts: dict[str, int] = field(default_factory=dict)
    sizes: dict[int, tuple[int, Place]] = field(default_factory=dict)
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

    def add(self, fault: Fault, frames: tuple[Frame | None, ...], place: Place, may_keep: bool) -> bool:
        """Count a fault; whether one more is kept whole."""
        self._begin(fault, frames, place)
        is_kept = self._keep(fault, place, may_keep)
        self.n += 1
        if len(self.artifacts) < MAX_DISTINCT:
            self.artifacts.setdefault(fault.artifact, place[0])
        self.last_line = max(self.last_line, fault.line)
        self.n_cut += fault.is_cut
        self.n_partial += fault.is_partial
        self.n_mixed += fault.is_mixed
        self.n_objects += fault.n_objects or 0
        self.total_bytes += fault.size_bytes or 0
        size = size_of(fault)
        if size is not None:
            self._add_size(size, 1, place)
        if fault.is_leak and size is not None and fault.access.address is not None:
            of_log = self.blocks.setdefault((fault.artifact, fault.origin, fault.access.device), {})
            if len(of_log) < MAX_RANGES:
                of_log[fault.access.address] = size
        if fault.block is not None:
            self.distance = _wider(self.distance, fault.block.distance_bytes)
        self.address = _wider(self.address, fault.access.address)
        for access in fault.accesses:
            self._add_access(fault, access, place)
        return is_kept

    def count(self, again: Again, log: int) -> None:
        """As `add`, for one that is not kept whole and stands behind all others of its log."""
        _, size, address, _, device, pc, serial, line, byte, _ = again.numbers
        like = again.like
        self.n += 1
        if like.artifact not in self.artifacts and len(self.artifacts) < MAX_DISTINCT:
            self.artifacts[like.artifact] = log
        if line > self.last_line:
            self.last_line = line
        if size is not None:
            known = self.sizes.get(size)
            if known is not None:
                self.sizes[size] = known[0] + 1, known[1]
            elif len(self.sizes) < MAX_RANGES:
                self.sizes[size] = 1, (log, byte, line, like.tool, like.kind)
        if address is not None:
            span = self.address
            if span is None or not span[0] <= address <= span[1]:
                self.address = _wider(span, address)
        span = self.serial
        if span is None or not span[0] <= serial <= span[1]:
            self.serial = _wider(span, serial)
        if self.earliest is None or serial < self.earliest[0]:
            self._note_serial(serial, (log, byte, line, like.tool, like.kind), again.fault())
        if len(self.devices) < MAX_DISTINCT:
            self.devices.add(device)
        if len(self.pcs) < MAX_DISTINCT:
            self.pcs.add(pc)
        for cores in again.cores:
            begun = self.cores.get(cores.core_type)
            if begun is None:
                self._add_cores(cores.core_type, cores.ranges, (log, byte, line, like.tool, like.kind))
            elif len(begun[1]) < MAX_RANGES:
                begun[1].update(cores.ranges)

    def take(self, other: Building, log: int, named: Callable[[Fault], Fault], n_room: int) -> int:
        """All that another one of the same site has of one log; how many more are kept whole."""

        def moved(place: Place) -> Place:
            return (log, *place[1:])

        assert other.first is not None
        first = named(other.first)
        self._begin(first, other.frames, moved(other.place))
        n_kept = 0
        for place, fault in other.members:
            n_kept += self._keep(named(fault), moved(place), n_kept < n_room)
        self.n += other.n
        if other.earliest is not None:
            serial, place, fault = other.earliest
            self._note_serial(serial, moved(place), named(fault))
        if len(self.artifacts) < MAX_DISTINCT:
            self.artifacts.setdefault(first.artifact, log)
        for core_type, (place, ranges) in other.cores.items():
            self._add_cores(core_type, ranges, moved(place))
        for size, (n, place) in sorted(other.sizes.items(), key=lambda one: one[1][1]):
            self._add_size(size, n, moved(place))
        for (_, origin, device), blocks in other.blocks.items():
            self.blocks[first.artifact, origin, device] = blocks
        for own, theirs in ((self.devices, other.devices), (self.pids, other.pids), (self.pcs, other.pcs)):
            for number in sorted(theirs):
                _note(own, number)
        for thread in sorted(other.threads):
            _note(self.threads, thread)
        self.address = _both(self.address, other.address)
        self.serial = _both(self.serial, other.serial)
        self.distance = _both(self.distance, other.distance)
        self.last_line = max(self.last_line, other.last_line)
        self.total_bytes += other.total_bytes
        self.n_objects += other.n_objects
        self.n_cut += other.n_cut
        self.n_partial += other.n_partial
        self.n_mixed += other.n_mixed
        return n_kept

    def _begin(self, fault: Fault, frames: tuple[Frame | None, ...], place: Place) -> None:
        if self.first is None or place < self.place:
            self.first, self.frames, self.place = fault, frames, place

    def _keep(self, fault: Fault, place: Place, may_keep: bool) -> bool:
        """Among the first ones in the order of the log; whether that is one more than before."""
        members = self.members
        if not members or place >= members[-1][0]:
            if may_keep and len(members) < MAX_MEMBERS:
                members.append((place, fault))
                return True
            return False
        insort(members, (place, fault), key=itemgetter(0))
        if may_keep and len(members) <= MAX_MEMBERS:
            return True
        members.pop()
        return False

    def _add_size(self, size: int, n: int, place: Place) -> None:
        known = self.sizes.get(size)
        if known is not None:
            self.sizes[size] = known[0] + n, min(known[1], place)
        elif len(self.sizes) < MAX_RANGES:
            self.sizes[size] = n, place

    def _add_access(self, fault: Fault, access: Access, place: Place) -> None:
        serial = access.serial_number
        self.serial = _wider(self.serial, serial)
        if serial is not None:
            self._note_serial(serial, place, fault)
        if access.device is not None:
            _note(self.devices, access.device)
        if access.pid is not None:
            _note(self.pids, access.pid)
        if access.thread:
            _note(self.threads, access.thread)
        if access.pc is not None:
            _note(self.pcs, access.pc)
        for cores in access.cores:
            self._add_cores(cores.core_type, cores.ranges, place)

    def _note_serial(self, serial: int, place: Place, fault: Fault) -> None:
        if self.earliest is None or (serial, place) < self.earliest[:2]:
            self.earliest = serial, place, fault

    def _add_cores(self, core_type: str, added: Iterable[tuple[int, int]], place: Place) -> None:
        begun, ranges = self.cores.get(core_type) or (place, set())
        self.cores[core_type] = min(begun, place), ranges
        if len(ranges) < MAX_RANGES:
            ranges.update(added)


def size_of(fault: Fault) -> int | None:
    """Bytes of the access or of the leaked block; a sum over several blocks tells the size of none."""
    if not fault.is_leak:
        return fault.access.size_bytes
    return fault.size_bytes if fault.n_objects in (None, 1) else None


def _wider(span: tuple[int, int] | None, value: int | None) -> tuple[int, int] | None:
    if value is None:
        return span
    return (value, value) if span is None else (min(span[0], value), max(span[1], value))


def _both(span: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    return span if other is None else _wider(_wider(span, other[0]), other[1])


def _note(found: set[T], value: T) -> None:
    if len(found) < MAX_DISTINCT:
        found.add(value)
