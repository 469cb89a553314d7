"""What collectives and sends took and moved, out of analysis.db and cluster_analysis.db.

Times in ms, sizes in MB, bandwidth in GB/s, as in the JSON files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from npulse.core.dataclass import dataclass

from ....errors import InputError
from ....progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ....text import safe_text
from ..communication import LOCAL, MAX_PACKETS, MAX_RECORDS, step_of
from ..records import CommunicationLink, CommunicationTime, LinkUse, Read
from .database import Database
from .open import open_database
from .values import NOTHING, integer_of, ns_of_us, number_of, text_of

TIME_TABLES = ("CommAnalyzerTime", "ClusterCommunicationTime", "ClusterCommAnalyzerTime")
BANDWIDTH_TABLES = (
    "CommAnalyzerBandwidth",
    "ClusterCommunicationBandwidth",
    "ClusterCommAnalyzerBandwidth",
)
MATRIX_TABLES = ("CommAnalyzerMatrix", "ClusterCommunicationMatrix", "ClusterCommAnalyzerMatrix")
MAX_CELL_CHARS = 4096

_PLACE = (("hccl_op_name",), ("group_name",), ("step",), ("type",), ("rank_id",), ("rank_set",))
_TIMES = (
    ("start_timestamp",),
    ("elapse_time", "elapsed_time"),
    ("transit_time",),
    ("wait_time",),
    ("synchronization_time",),
    ("idle_time",),
)
_USES = (
    ("transport_type", "band_type"),
    ("transit_size",),
    ("transit_time",),
    ("bandwidth",),
    ("large_packet_ratio",),
    ("package_size",),
    ("count",),
    ("total_duration",),
)
_LINKS = (
    ("src_rank",),
    ("dst_rank",),
    ("transport_type",),
    ("transit_size",),
    ("transit_time",),
    ("bandwidth",),
    ("op_name",),
)
_HINT = "name analysis.db, communication_analyzer.db or cluster_analysis.db"
_MAX_RANK = 1 << 31


@dataclass(frozen=True, slots=True)
class _Place:
    """What operation a row is of: equal in the tables of times and of bandwidths."""

    name: str
    group: str
    step: str
    is_p2p: bool | None
    rank: int | None


@dataclass(slots=True)
class _Use:
    """One kind of link of one operation, while its rows come."""

    link: LinkUse
    packets: list[tuple[float, float, float]] = field(default_factory=list)


def read_database_communication(
    path: Path,
    *,
    root: Path | None = None,
    max_records: int = MAX_RECORDS,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Read[CommunicationTime]:
    """Operations with their times and the links they used, in the order of the file.

    step: the number alone. rank: only cluster tables say it. group: of a total without one, the set of ranks
    where the table has it. links: those that moved something. Problems: cells that are no numbers (absent),
    operations that have links and no times (kept), limits, damage. Raises InputError (no database, or without
    such tables) and Cancelled.
    """
    with open_database(path, root=root, progress=progress, is_cancelled=is_cancelled) as database:
        if not any(map(database.has, TIME_TABLES)):
            raise InputError("the database has no times of communication", path=path, hint=_HINT)
        records, n_dropped = communication_of(database, max_records)
        return Read(records, database.problems(), n_dropped)


def read_database_links(
    path: Path,
    *,
    root: Path | None = None,
    max_records: int = MAX_RECORDS,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Read[CommunicationLink]:
    """What went from rank to rank, in the order of the file; a target that is none: a copy within the source.

    `n_dropped`: rows whose ranks are no numbers. Raises InputError (no database, or without such tables) and
    Cancelled.
    """
    with open_database(path, root=root, progress=progress, is_cancelled=is_cancelled) as database:
        if not any(map(database.has, MATRIX_TABLES)):
            raise InputError("the database has no communication matrix", path=path, hint=_HINT)
        records, n_dropped = links_of(database, max_records)
        return Read(records, database.problems(), n_dropped)


def communication_of(
    database: Database, most: int = MAX_RECORDS
) -> tuple[tuple[CommunicationTime, ...], int]:
    """The records of all tables of times that are there, and how many rows were left out."""
    records: list[CommunicationTime] = []
    places: dict[_Place, int] = {}
    n_dropped = 0
    for table in TIME_TABLES:
        for number, cells in _cells(database, table, (*_PLACE, *_TIMES)):
            place = _place_of(cells)
            if place is None or len(records) >= most:
                n_dropped += 1
                continue
            start, *times = cells[len(_PLACE) :]
            read = _Numbers(database, table, number)
            places.setdefault(place, len(records))
            records.append(
                replace(
                    _record(place),
                    start_ns=read.start("start_timestamp", start),
                    elapse_ms=read(_TIMES[1][0], times[0]),
                    transit_ms=read("transit_time", times[1]),
                    wait_ms=read("wait_time", times[2]),
                    synchronization_ms=read("synchronization_time", times[3]),
                    idle_ms=read("idle_time", times[4]),
                )
            )
    n_dropped += _add_links(database, records, places, most)
    if n_dropped:
        database.note("bad-record", f"{n_dropped:,} rows of communication were left out")
    return tuple(records), n_dropped


def links_of(database: Database, most: int = MAX_RECORDS) -> tuple[tuple[CommunicationLink, ...], int]:
    """The records of all matrices that are there, and how many rows were left out."""
    records: list[CommunicationLink] = []
    n_dropped = 0
    for table in MATRIX_TABLES:
        for number, cells in _cells(database, table, (*_PLACE, *_LINKS)):
            place = _place_of(cells)
            source, target, transport, size, time, bandwidth, name = cells[len(_PLACE) :]
            from_rank, to_rank = _rank_of(source), _rank_of(target, may_be_none=True)
            if place is None or from_rank is None or to_rank is None or len(records) >= most:
                n_dropped += 1
                continue
            read = _Numbers(database, table, number)
            records.append(
                CommunicationLink(
                    step=place.step,
                    op=place.name,
                    group=place.group,
                    source=from_rank,
                    target=from_rank if to_rank == LOCAL else to_rank,
                    transport=safe_text(text_of(transport), 80),
                    size_mb=read("transit_size", size),
                    time_ms=read("transit_time", time),
                    bandwidth_gb_per_s=read("bandwidth", bandwidth),
                    is_p2p=place.is_p2p,
                    name=text_of(name)[:MAX_CELL_CHARS],
                )
            )
    if n_dropped:
        database.note("bad-record", f"{n_dropped:,} rows of the communication matrix were left out")
    return tuple(records), n_dropped


def _add_links(
    database: Database, records: list[CommunicationTime], places: dict[_Place, int], most: int
) -> int:
    """What operations moved over which kind of link, into their records. How many rows were left out."""
    found: dict[int, dict[str, _Use]] = {}
    n_dropped = n_packets = n_alone = 0
    for table in BANDWIDTH_TABLES:
        for number, cells in _cells(database, table, (*_PLACE, *_USES)):
            place = _place_of(cells)
            if place is None or (place not in places and len(records) >= most):
                n_dropped += 1
                continue
            if place not in places:
                n_alone += 1
                places[place] = len(records)
                records.append(_record(place))
            transport, size, time, bandwidth, ratio, *packet = cells[len(_PLACE) :]
            read = _Numbers(database, table, number)
            use = _Use(
                LinkUse(
                    transport=safe_text(text_of(transport), 80),
                    size_mb=read("transit_size", size),
                    time_ms=read("transit_time", time),
                    bandwidth_gb_per_s=read("bandwidth", bandwidth),
                    large_packet_ratio=read("large_packet_ratio", ratio),
                )
            )
            use = found.setdefault(places[place], {}).setdefault(use.link.transport, use)
            numbers = [read(name, cell) for (name,), cell in zip(_USES[5:], packet, strict=True)]
            mb, count, spent = (value or 0.0 for value in numbers)
            if count:  # links without packets have one row of zeros
                n_packets += 1
                if n_packets <= MAX_PACKETS:
                    use.packets.append((mb, count, spent))
    if n_alone:
        database.note("missing", f"{n_alone:,} operations have links, but no times")
    if n_packets > MAX_PACKETS:
        database.note("limit", f"at most {MAX_PACKETS:,} packet sizes are kept")
        n_dropped += n_packets - MAX_PACKETS
    for at, uses in found.items():
        links = (replace(use.link, packets=tuple(use.packets)) for use in uses.values())
        moved = (link for link in links if link.size_mb != 0 or link.time_ms != 0 or link.packets)
        records[at] = replace(records[at], links=tuple(moved))
    return n_dropped


def _record(place: _Place) -> CommunicationTime:
    return CommunicationTime(
        step=place.step, name=place.name, group=place.group, is_p2p=place.is_p2p, rank=place.rank
    )


def _cells(
    database: Database, table: str, columns: Sequence[tuple[str, ...]]
) -> Iterator[tuple[int | None, list[Any]]]:
    """Rows as (number, cell a column); a column has the first of its names that the table has."""
    if not database.has(table):
        return
    names = [next((name for name in names if database.has(table, name)), names[0]) for names in columns]
    for number, *cells in database.rows(table, names):
        yield number, cells


def _place_of(cells: Sequence[Any]) -> _Place | None:
    """None if the row names no operation."""
    whole, group, step, kind, rank, ranks = cells[: len(_PLACE)]
    name, _, behind = text_of(whole).partition("@")
    if not name or len(name) > MAX_CELL_CHARS:
        return None
    kind = text_of(kind).lower()
    return _Place(
        name=name,
        group=(text_of(group) or behind or text_of(ranks))[:MAX_CELL_CHARS],
        step=step_of(text_of(step)[:80]),
        is_p2p=kind == "p2p" if kind in ("p2p", "collective") else None,
        rank=_rank_of(rank),
    )


def _rank_of(cell: Any, *, may_be_none: bool = False) -> int | None:
    """A rank; None if it is none, but LOCAL where a row may have no target."""
    rank = integer_of(cell)
    if rank is None or rank == NOTHING:
        return None
    if rank in (LOCAL, -1) and may_be_none:
        return LOCAL
    return rank if 0 <= rank < _MAX_RANK else None


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Reads the cells of one row; what is no number is noted and None."""

    database: Database
    table: str
    row: int | None

    def __call__(self, name: str, cell: Any) -> float | None:
        number = number_of(cell)
        if number is None:
            self._note(name, cell)
            return None
        return None if math.isnan(number) else number

    def start(self, name: str, cell: Any) -> int | None:
        """Microseconds since 1970 as nanoseconds."""
        try:
            ns = ns_of_us(cell)
        except ValueError:
            ns = -1
        if ns is not None and ns < 0:
            self._note(name, cell)
            return None
        return ns

    def _note(self, name: str, cell: Any) -> None:
        shown = safe_text(text_of(cell) or type(cell).__name__, 40)
        message = f"{self.table}.{name} is no number: {shown!r}; it counts as absent"
        self.database.note("bad-record", message, self.row)
