"""What a trace holds, by the json module and decimal numbers: slow, and written without the reader."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from npulse.core.formats.profiling.trace import TraceReader
from npulse.core.formats.profiling.trace_blocks import ARG_FLOAT, ARG_INT, ARG_OTHER, ARG_TEXT, TraceBlock
from npulse.core.formats.profiling.trace_numbers import NO_TIME

Row = tuple[Any, ...]


def ns_by_decimal(value: Any) -> int | None:
    if value is None:
        return None
    return int((Decimal(str(value)) * 1000).to_integral_value())


def expected_rows(
    text: str, args: Iterable[str] = ()
) -> tuple[list[Row], list[Row], list[Row], dict[Any, str], dict[Any, str]]:
    """Events, flows and counters of a whole trace, and the names of processes and threads."""
    loaded = json.loads(text, parse_float=Decimal, strict=False)
    events, flows, counters = [], [], []
    processes: dict[Any, str] = {}
    threads: dict[Any, str] = {}
    for e in loaded["traceEvents"] if isinstance(loaded, dict) else loaded:
        where = (e.get("pid"), e.get("tid"))
        at = ns_by_decimal(e.get("ts"))
        if e["ph"] == "M":
            if e["name"] == "process_name":
                processes[where[0]] = e["args"]["name"]
            elif e["name"] == "thread_name":
                threads[where] = e["args"]["name"]
        elif e["ph"] in "stf":
            flow_id = e.get("id")
            name = e["name"].rstrip("0123456789")
            flows.append((name, e.get("cat"), *where, e["ph"], at, None if flow_id is None else str(flow_id)))
        elif e["ph"] == "C":
            for series, value in e.get("args", {}).items():
                if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
                    counters.append((e["name"], series, *where, at, float(value)))
        else:
            values = tuple(_arg(e.get("args") or {}, name) for name in args)
            row = (e.get("name"), e.get("cat"), *where, e["ph"], at, ns_by_decimal(e.get("dur")))
            events.append((*row, *values))
    return events, flows, counters, processes, threads


def _arg(args: dict[str, Any], name: str) -> Any:
    value = args.get(name)
    if isinstance(value, bool) or isinstance(value, (list, dict)) or (name in args and value is None):
        return "other"
    return float(value) if isinstance(value, Decimal) else value


def rows_of(
    reader: TraceReader, blocks: Iterable[TraceBlock], args: Iterable[str] = ()
) -> tuple[list[Row], list[Row], list[Row], dict[Any, str], dict[Any, str]]:
    """The same of what the reader gave."""
    events: list[Row] = []
    flows: list[Row] = []
    counters: list[Row] = []
    names = reader.names
    for block in blocks:
        e, f, c = block.events, block.flows, block.counters
        for i in range(len(e.name)):
            row = (names.label(e.name[i]), names.label(e.category[i]), names.id(e.pid[i]), names.id(e.tid[i]))
            values = tuple(_value(names, e.args[name], i) for name in args)
            events.append((*row, chr(e.phase[i]), _time(e.start_ns[i]), _time(e.duration_ns[i]), *values))
        for i in range(len(f.name)):
            row = (names.label(f.name[i]), names.label(f.category[i]), names.id(f.pid[i]), names.id(f.tid[i]))
            flow_id = f.id_texts.get(i, str(f.id[i]) if f.id[i] >= 0 else None)
            flows.append((*row, chr(f.phase[i]), _time(f.at_ns[i]), flow_id))
        for i in range(len(c.name)):
            row = (names.label(c.name[i]), names.label(c.series[i]), names.id(c.pid[i]), names.id(c.tid[i]))
            counters.append((*row, _time(c.at_ns[i]), float(c.value[i])))
    processes = {names.id(code): name for code, name in names.process_names.items()}
    threads = {(names.id(pid), names.id(tid)): name for (pid, tid), name in names.thread_names.items()}
    return events, flows, counters, processes, threads


def _time(ns: int) -> int | None:
    return None if ns == NO_TIME else int(ns)


def _value(names: Any, column: Any, i: int) -> Any:
    kind = column.kind[i]
    if kind == ARG_INT:
        return int(column.integers[i])
    if kind == ARG_FLOAT:
        return float(column.floats[i])
    if kind == ARG_TEXT:
        return names.label(column.texts[i])
    return "other" if kind == ARG_OTHER else None
