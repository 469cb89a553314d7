"""A site while it grows: all that its faults tell, summed up, whatever the order in which they come."""

from __future__ import annotations

from array import array
from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import TypeVar

from npulse.core.formats.mssanitizer.again import Again, OnCores

from .again import Likes, fault_of
from .faults import Access, Fault, Frame

T = TypeVar("T")
Key = tuple[object, ...]

MAX_DISTINCT = 64
"""Sizes, program counters, devices, processes and artifacts that a site names one by one."""
MAX_RANGES = 4096
MAX_MEMBERS = 40
MAX_ROWS = 32
"""Of accesses that wait to be summed up: a tenth of the cost of each alone, and for a site with few of them
less memory than their sums."""

N_COLUMNS = 6
NONE = (1 << 64) - 1
"""Stands for a size or an address that an access does not have."""


Place = tuple[int, int, int, str, str]
"""Where a fault stands among those of all logs: log, byte, line, and what tells two of one line apart."""


def place_of(fault: Fault, log: int) -> Place:
    """log: the place of its log among the logs of the round."""
    return log, fault.byte, fault.line, fault.tool, fault.kind


@dataclass(slots=True)
class Building:
    """A site while it grows. Of what is bounded the first ones in the order of the log are kept.

    sizes: how many faults of each, and log, byte and line of the first. rows, on: accesses that are counted
    but not summed up, six numbers each (size, address, program counter, serial number, line, byte) and where
    they ran; log, likes: of these; lowest: the one with the lowest serial number.
    """

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
    sizes: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)
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
    rows: array[int] = field(default_factory=partial(array, "Q"))
    on: list[OnCores] = field(default_factory=list)
    log: int = 0
    likes: Likes | None = None
    lowest: tuple[int, Again] | None = None

    def add(self, fault: Fault, frames: tuple[Frame | None, ...], place: Place, may_keep: bool) -> bool:
        """Count a fault; whether one more is kept whole."""
        self.settle()
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
            self._add_size(size, 1, place[:3])
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

    def count(self, one: Again, likes: Likes, log: int) -> None:
        """As `add`, for one that is not kept whole and stands behind all others of its log."""
        _, size, address, on, pc, serial, line, byte, _, second = one
        if size == NONE or address == NONE:
            fault = fault_of(one, likes)
            self.add(fault, self.frames, place_of(fault, log), may_keep=False)
            return
        if log != self.log or likes is not self.likes or len(self.on) >= MAX_ROWS:
            self.settle()
            self.log, self.likes = log, likes
        self.n += 1
        rows = self.rows
        rows.extend(
            (NONE if size is None else size, NONE if address is None else address, pc, serial, line, byte)
        )
        self.on.append(on)
        if second is not None:
            _, on, pc, serial_2 = second
            rows.extend((NONE, NONE, pc, serial_2, line, byte))
            self.on.append(on)
            serial = min(serial, serial_2)
        if self.lowest is None or serial < self.lowest[0]:
            self.lowest = serial, one

    def settle(self) -> None:
        """Sum up the numbers that were only kept as such."""
        rows, likes = self.rows, self.likes
        if not rows or likes is None or self.lowest is None:
            return
        self.rows, on, self.on = array("Q"), self.on, []
        log, (tool, kind) = self.log, self.key[:2]
        sizes, addresses, pcs, serials, lines, bytes_ = (rows[i::N_COLUMNS] for i in range(N_COLUMNS))
        serial, one = self.lowest
        self.lowest = None
        if self.earliest is None or serial < self.earliest[0]:
            fault = fault_of(one, likes)
            self._note_serial(serial, place_of(fault, log), fault)
        like = likes.like(one.shape)
        if len(self.artifacts) < MAX_DISTINCT:
            self.artifacts.setdefault(like.artifact, log)
        self.last_line = max(self.last_line, lines[-1])
        for size, byte, line in zip(sizes, bytes_, lines, strict=True):
            if size == NONE:
                continue
            of_size = self.sizes.get(size)
            if of_size is not None and of_size[1] == log and of_size[2] < byte:  # as nearly always
                self.sizes[size] = (of_size[0] + 1, log, of_size[2], of_size[3])
            else:
                self._add_size(size, 1, (log, byte, line))
        known = [address for address in addresses if address != NONE]
        if known:
            self.address = _wider(_wider(self.address, min(known)), max(known))
        self.serial = _wider(_wider(self.serial, min(serials)), max(serials))
        if len(self.pcs) + len(pcs) <= MAX_DISTINCT:
            self.pcs.update(pcs)
        else:
            for pc in pcs:
                _note(self.pcs, pc)
        seen: set[OnCores] = set()
        for where, byte, line in zip(on, bytes_, lines, strict=True):
            if where in seen:
                continue
            seen.add(where)
            cores, device = likes.on(where)
            if device not in self.devices:
                _note(self.devices, device)
            for one_type in cores:
                of_type = self.cores.get(one_type.core_type)
                if of_type is None or of_type[0][0] != log or of_type[0][1] >= byte:
                    place = log, byte, line, str(tool), str(kind)
                    self._add_cores(one_type.core_type, one_type.ranges, place)
                elif len(of_type[1]) < MAX_RANGES:
                    of_type[1].update(one_type.ranges)

    def take(self, other: Building, log: int, named: Callable[[Fault], Fault], n_room: int) -> int:
        """All that another one of the same site has of one log; how many more are kept whole."""

        def moved(place: Place) -> Place:
            return (log, *place[1:])

        self.settle()
        other.settle()
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
        for size, (n, _, byte, line) in sorted(other.sizes.items(), key=lambda one: one[1][1:]):
            self._add_size(size, n, (log, byte, line))
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

    def _add_size(self, size: int, n: int, place: tuple[int, int, int]) -> None:
        known = self.sizes.get(size)
        if known is not None:
            self.sizes[size] = (known[0] + n, *min(known[1:], place))
        elif len(self.sizes) < MAX_RANGES:
            self.sizes[size] = n, *place

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
