"""The elements of one scanned block of trace JSON: what was read of each, and the block that they make."""

from __future__ import annotations

from typing import Any

import numpy as np

from npulse.core.dataclass import dataclass

from .trace_blocks import (
    NO_CODE,
    Counters,
    Events,
    Flows,
    TraceBlock,
)
from .trace_numbers import NO_TIME, Integers
from .trace_scan import Scan
from .trace_tables import Ids, Labels, Names
from .trace_values import Tally, args_at, empty_args

MAX_EVENT_BYTES = 4 << 20

IS_FLOW = np.zeros(256, np.bool_)
IS_FLOW[list(b"stf")] = True
COUNTER, METADATA = ord("C"), ord("M")


@dataclass(frozen=True, slots=True)
class BadElement:
    """An element that gave no row (is_dropped), or one without a time. at: its index in the block."""

    at: int
    kind: str
    message: str
    is_dropped: bool = True


@dataclass(slots=True)
class Tables:
    """What grows from block to block: texts, ids, names of lanes, sums."""

    labels: Labels
    ids: Ids
    names: Names
    tally: Tally


class Elements:
    """All elements of one block, whatever their phase; `trace_fields` and `trace_odd` fill it.

    is_odd: those that are written in an uncommon way. series: event, code and value of counters.
    """

    def __init__(self, block: bytes, found: Scan, tables: Tables, args: tuple[str, ...]) -> None:
        self.block = block
        self.found = found
        self.tables = tables
        n = self.n = len(found.ends)
        self.phase = np.zeros(n, np.uint8)
        self.name = np.full(n, NO_CODE, np.int32)
        self.category = np.full(n, NO_CODE, np.int32)
        self.pid = np.full(n, NO_CODE, np.int32)
        self.tid = np.full(n, NO_CODE, np.int32)
        self.start_ns = np.full(n, NO_TIME, np.int64)
        self.duration_ns = np.full(n, NO_TIME, np.int64)
        self.id = np.full(n, NO_CODE, np.int64)
        self.id_texts: dict[int, str] = {}
        self.is_odd = found.is_odd | (found.ends - found.starts >= MAX_EVENT_BYTES)
        self.args = {name: empty_args(n) for name in args}
        self.series: list[tuple[Integers, Integers, Any]] = []
        self.bad: list[BadElement] = []
        self.is_rounded = np.zeros(n, np.bool_)

    def split(self, first_byte: int, end_byte: int) -> TraceBlock:
        """The elements as a block; the sums of the trace grow by them."""
        tally = self.tables.tally
        for phase, n in enumerate(np.bincount(self.phase, minlength=1).tolist()):
            if n and phase:
                tally.n_by_phase[chr(phase)] += n
        tally.n_rounded += int(self.is_rounded.sum())
        byte = self.found.starts + first_byte
        is_flow = IS_FLOW[self.phase]
        others = (self.phase != 0) & (self.phase != METADATA) & (self.phase != COUNTER) & ~is_flow
        at = np.flatnonzero(others)
        events = Events(
            self.name[at],
            self.category[at],
            self.pid[at],
            self.tid[at],
            self.phase[at],
            self.start_ns[at],
            self.duration_ns[at],
            byte[at],
            {name: args_at(column, at) for name, column in self.args.items()},
        )
        tally.add_events(events)
        flows = self._flows(np.flatnonzero(is_flow), byte)
        counters = self._counters(byte)
        tally.n_without_time += int((flows.at_ns == NO_TIME).sum() + (counters.at_ns == NO_TIME).sum())
        return TraceBlock(events, flows, counters, first_byte, end_byte)

    def _flows(self, at: Integers, byte: Integers) -> Flows:
        row_of = {i: row for row, i in enumerate(at.tolist())} if self.id_texts else {}
        texts = {row_of[i]: text for i, text in self.id_texts.items() if i in row_of}
        return Flows(
            self.name[at],
            self.category[at],
            self.pid[at],
            self.tid[at],
            self.phase[at],
            self.start_ns[at],
            self.id[at],
            texts,
            byte[at],
        )

    def _counters(self, byte: Integers) -> Counters:
        none = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float64))
        event, code, value = (np.concatenate(parts) for parts in zip(*(self.series or [none]), strict=True))
        order = np.argsort(event, kind="stable")
        at = event[order]
        return Counters(
            self.name[at],
            code[order].astype(np.int32),
            self.pid[at],
            self.tid[at],
            self.start_ns[at],
            value[order],
            byte[at],
        )
