"""What collectives and sends took and moved: communication.json and communication_matrix.json.

Those of torch and MindSpore (by step, kind and operation), of `msprof --analyze` (operations only) and of the
cluster analysis (by group of ranks, step, operation and rank) give the same records.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

from ...files import shown_path
from ...findings import Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..json_window import Notes
from .json_facts import Facts, number_of
from .nested_json import MAX_FILE_BYTES, nested_objects
from .records import CommunicationLink, CommunicationTime, LinkUse, Read
from .trace_numbers import ns_of

MAX_RECORDS = 500_000
MAX_PACKETS = 2_000_000
MAX_NAME_CHARS = 4096
MAX_NAMES_CHARS = 1 << 26
MAX_LINKS = 64
LOCAL = 0xFFFF_FFFF
"""The writer's target of a copy within a device."""

_TIME = "Communication Time Info"
_BANDWIDTH = "Communication Bandwidth Info"
_LINK_KEYS = ("Transport Type", "Transit Size(MB)", "Transit Time(ms)", "Bandwidth(GB/s)", "Op Name")
_KINDS = ("p2p", "collective")
_IDLE = ("Idle Time(ms)", "Idel Time(ms)")
_STEP = re.compile(r"step(\d*)", re.ASCII | re.IGNORECASE)
_RANK = re.compile(r"\d{1,10}", re.ASCII)
_PAIR = re.compile(r"(\d{1,10})-(\d{1,10})", re.ASCII)

Place = tuple[str, ...]


def read_communication(
    path: Path,
    *,
    root: Path | None = None,
    max_records: int = MAX_RECORDS,
    max_bytes: int = MAX_FILE_BYTES,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Read[CommunicationTime]:
    """Operations of a communication.json or cluster_communication.json, in file order.

    step: the number alone ("50" of step50, as step_trace_time has it), "" where the file has no steps.
    rank: only the cluster file says it. group: behind the "@" of the operation; of a total without one, the
    ranks as the cluster file has them, "" elsewhere. links: those that moved something. `n_dropped`: records
    that could not be placed. Problems: what is broken, cut off, of a wrong type (absent then), behind
    `max_records` or too much. Raises InputError (no JSON object; outside `root`) and Cancelled.
    Cost: one pass, a record at a time in memory beside the results; about 30 MB a second.
    """
    problems: list[Problem] = []
    reader = _Times(Notes(shown_path(path, root), problems))
    objects = nested_objects(
        path,
        problems,
        (_TIME, _BANDWIDTH),
        root=root,
        max_bytes=max_bytes,
        progress=progress,
        is_cancelled=is_cancelled,
    )
    _read_all(objects, reader, max_records, "operations")
    return Read(tuple(reader.records), tuple(problems), reader.n_dropped)


def read_communication_links(
    path: Path,
    *,
    root: Path | None = None,
    max_records: int = MAX_RECORDS,
    max_bytes: int = MAX_FILE_BYTES,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Read[CommunicationLink]:
    """Links of a communication_matrix.json or cluster_communication_matrix.json, in file order.

    source, target: as the file counts them: global ranks in the cluster file, ranks of the group or global
    ones in that of a rank. A target that is none (4294967295) is a copy within the source. Steps, groups,
    problems and errors as `read_communication` has them.
    """
    problems: list[Problem] = []
    reader = _Links(Notes(shown_path(path, root), problems))
    objects = nested_objects(
        path,
        problems,
        _LINK_KEYS,
        root=root,
        max_bytes=max_bytes,
        progress=progress,
        is_cancelled=is_cancelled,
    )
    _read_all(objects, reader, max_records, "links")
    return Read(tuple(reader.records), tuple(problems), reader.n_dropped)


def _read_all(
    objects: Iterable[tuple[int, Place, dict[str, Any]]], reader: _Times | _Links, max_records: int, word: str
) -> None:
    """Objects of a file into the reader, up to its limits. word: what its records are."""
    for byte, place, value in objects:
        if len(reader.records) >= max_records or reader.names.is_full:
            message = f"reading stopped here: {len(reader.records):,} {word}, and their names, are enough"
            reader.notes.add("limit", message, byte, is_last=True)
            break
        reader.add(byte, place, value)
    reader.notes.close()


def step_of(text: str) -> str:
    """A step as these files write it ("step50", "step") -> "50", ""; other words stay."""
    found = _STEP.fullmatch(text)
    return found[1] if found else text


class _Names:
    """Names that come again and again, each kept once. is_full: there is no room for more."""

    def __init__(self) -> None:
        self.is_full = False
        self._kept: dict[str, str] = {}
        self._n_left = MAX_NAMES_CHARS

    def __call__(self, text: str) -> str:
        kept = self._kept.get(text)
        if kept is None:
            kept = self._kept[text] = text
            self._n_left -= len(text)
            self.is_full = self._n_left < 0
        return kept

    def operation(self, text: str) -> tuple[str, str]:
        """Name and group of "hcom_allReduce__586_0_1@1752"."""
        name, _, group = text.partition("@")
        return self(name), self(group)


class _Times:
    """Makes records of communication times."""

    def __init__(self, notes: Notes) -> None:
        self.records: list[CommunicationTime] = []
        self.n_dropped = 0
        self.notes = notes
        self.names = _Names()
        self._n_packets = 0

    def add(self, byte: int, place: Place, value: dict[str, Any]) -> None:
        """One operation of one rank."""
        if max(map(len, place)) > MAX_NAME_CHARS or not self._add(byte, place, value):
            self.n_dropped += 1
            message = f"{_shown(place)} is no operation of a step, or of a rank; it is left out"
            self.notes.add("bad-record", message, byte)

    def _add(self, byte: int, place: Place, value: dict[str, Any]) -> bool:
        names = self.names
        ranks, step, is_p2p, rank = "", "", None, None
        if len(place) == 4 and _RANK.fullmatch(place[3]):
            ranks, step, operation, rank = place[0], place[1], place[2], int(place[3])
            is_p2p = ranks == _KINDS[0]
        elif len(place) == 3 and place[1] in _KINDS:
            step, operation, is_p2p = place[0], place[2], place[1] == _KINDS[0]
        elif len(place) == 2:
            is_kind = place[0] in _KINDS
            step, operation = "" if is_kind else place[0], place[1]
            is_p2p = place[0] == _KINDS[0] if is_kind else None
        elif len(place) == 1:
            (operation,) = place
        else:
            return False
        name, group = names.operation(operation)
        where = f"{operation[:200]!r}: "
        facts = Facts(value, self.notes, where, byte)
        time = facts.inner(_TIME)
        self.records.append(
            CommunicationTime(
                step=names(step_of(step)),
                name=name,
                group=group or ("" if is_p2p else names(ranks)),
                is_p2p=is_p2p,
                rank=rank,
                start_ns=self._start(time, where, byte),
                elapse_ms=time.number("Elapse Time(ms)"),
                transit_ms=time.number("Transit Time(ms)"),
                wait_ms=time.number("Wait Time(ms)"),
                synchronization_ms=time.number("Synchronization Time(ms)"),
                idle_ms=time.number(*_IDLE),
                links=self._links(facts.inner(_BANDWIDTH), where, byte),
            )
        )
        return True

    def _start(self, time: Facts, where: str, byte: int) -> int | None:
        value = time.members.get("Start Timestamp(us)")
        if value is None or value == "" or value == "N/A":
            return None
        try:
            ns, _ = ns_of(str(value) if isinstance(value, Decimal) else value)
        except ValueError:
            ns = -1
        if ns < 0:
            self.notes.add("bad-record", f"{where}its start is no time; it counts as absent", byte)
            return None
        return ns

    def _links(self, bandwidth: Facts, where: str, byte: int) -> tuple[LinkUse, ...]:
        found: list[LinkUse] = []
        for transport, value in bandwidth.members.items():
            if _is_unused(value):
                continue  # the writer names every kind of link
            if len(found) >= MAX_LINKS:
                self.notes.add("limit", f"{where}at most {MAX_LINKS} kinds of links are kept", byte)
                break
            used = bandwidth.inner(transport)
            size, time = used.number("Transit Size(MB)"), used.number("Transit Time(ms)")
            packets = self._packets(used.members.get("Size Distribution"), where, byte)
            found.append(
                LinkUse(
                    transport=self.names(transport[:MAX_NAME_CHARS]),
                    size_mb=size,
                    time_ms=time,
                    bandwidth_gb_per_s=used.number("Bandwidth(GB/s)"),
                    large_packet_ratio=used.number("Large Packet Ratio"),
                    packets=packets,
                )
            )
        return tuple(found)

    def _packets(self, sizes: Any, where: str, byte: int) -> tuple[tuple[float, float, float], ...]:
        """(MB of a packet, how many, ms together) of a Size Distribution."""
        if sizes is None or sizes == {}:
            return ()
        found: list[tuple[float, float, float]] = []
        n_bad = 0
        for size, value in sizes.items() if isinstance(sizes, dict) else ((None, None),):
            packet = _packet(size, value)
            if packet is None:
                n_bad += 1
            else:
                found.append(packet)
        if n_bad:
            self.notes.add("bad-record", f"{where}{n_bad:,} packet sizes cannot be read", byte)
        if self._n_packets + len(found) > MAX_PACKETS:
            if self._n_packets <= MAX_PACKETS:
                message = f"at most {MAX_PACKETS:,} packet sizes are kept; those from here on are left out"
                self.notes.add("limit", message, byte, is_last=True)
            self._n_packets = MAX_PACKETS + 1
            return ()
        self._n_packets += len(found)
        return tuple(found)


class _Links:
    """Makes records of links."""

    def __init__(self, notes: Notes) -> None:
        self.records: list[CommunicationLink] = []
        self.n_dropped = 0
        self.notes = notes
        self.names = _Names()

    def add(self, byte: int, place: Place, value: dict[str, Any]) -> None:
        """One link of one operation."""
        if max(map(len, place)) > MAX_NAME_CHARS or not self._add(byte, place, value):
            self.n_dropped += 1
            self.notes.add("bad-record", f"{_shown(place)} is no link between ranks; it is left out", byte)

    def _add(self, byte: int, place: Place, value: dict[str, Any]) -> bool:
        names = self.names
        pair = _PAIR.fullmatch(place[-1])
        if pair is None or not 2 <= len(place) <= 4:
            return False
        above, operation = place[:-2], place[-2]
        ranks, is_p2p = "", None
        if len(above) == 2 and above[1] not in _KINDS:  # the cluster file: group of ranks, step
            ranks, is_p2p = above[0], above[0] == _KINDS[0]
            above = above[1:]
        elif above and above[-1] in _KINDS:
            is_p2p = above[-1] == _KINDS[0]
            above = above[:-1]
        name, group = names.operation(operation)
        source, target = int(pair[1]), int(pair[2])
        facts = Facts(value, self.notes, f"{operation[:200]!r} {pair[0]}: ", byte)
        self.records.append(
            CommunicationLink(
                step=names(step_of(above[0])) if above else "",
                op=name,
                group=group or ("" if is_p2p else names(ranks)),
                source=source,
                target=source if target == LOCAL else target,
                transport=names(facts.text("Transport Type")),
                size_mb=facts.number("Transit Size(MB)"),
                time_ms=facts.number("Transit Time(ms)"),
                bandwidth_gb_per_s=facts.number("Bandwidth(GB/s)"),
                is_p2p=is_p2p,
                name=names(facts.text("Op Name")),
            )
        )
        return True


def _is_unused(link: Any) -> bool:
    """Whether nothing was moved over a link."""
    if not isinstance(link, dict) or link.get("Size Distribution"):
        return False
    moved = (link.get("Transit Size(MB)"), link.get("Transit Time(ms)"))
    return moved == (0, 0) and not any(isinstance(one, bool) for one in moved)


def _packet(size: Any, value: Any) -> tuple[float, float, float] | None:
    """One member of a Size Distribution, None if it is none."""
    if not isinstance(size, str) or not isinstance(value, list) or len(value) != 2 or len(size) > 40:
        return None
    try:
        mb = number_of(float(size))
    except ValueError:
        return None
    count, time_ms = number_of(value[0]), number_of(value[1])
    return None if mb is None or count is None or time_ms is None else (mb, count, time_ms)


def _shown(place: Place) -> str:
    return repr(" / ".join(key[:80] for key in place))
