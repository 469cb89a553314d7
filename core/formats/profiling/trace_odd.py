"""Elements of trace JSON that are written in an uncommon way: by the json module, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .trace_blocks import ARG_ABSENT, NO_CODE
from .trace_elements import MAX_EVENT_BYTES, BadElement, Elements
from .trace_numbers import NO_TIME, Flags, Integers, ns_of
from .trace_values import NumberText, as_text, float_of, flow_name, parse_event, take_arg

MAX_ID_CHARS = 400


def read_odd(rows: Elements) -> None:
    """Read the elements that are odd; those that are none go to `bad`."""
    starts, ends = rows.found.starts, rows.found.ends
    # what was taken of one that turned out to be odd is read again
    rows.series = [_without(part, rows.is_odd) for part in rows.series]
    for i in np.flatnonzero(rows.is_odd).tolist():
        _forget(rows, i)
        if ends[i] - starts[i] >= MAX_EVENT_BYTES:
            _bad(rows, i, "too-large", f"an event of more than {MAX_EVENT_BYTES:,} bytes was left out")
            continue
        try:
            event = parse_event(rows.block[starts[i] : ends[i] + 1])
        except RecursionError:
            _bad(rows, i, "too-deep", "nested too deeply to be read")
            continue
        except ValueError as error:
            _bad(rows, i, "bad-record", f"this is no JSON: {getattr(error, 'msg', error)}")
            continue
        if not isinstance(event, dict):
            _bad(rows, i, "bad-record", "this is no event")
            continue
        _take(rows, i, event)


def _forget(rows: Elements, i: int) -> None:
    for column in (rows.name, rows.category, rows.pid, rows.tid, rows.id):
        column[i] = NO_CODE
    rows.start_ns[i] = rows.duration_ns[i] = NO_TIME
    rows.is_rounded[i] = False
    rows.id_texts.pop(i, None)
    for arg in rows.args.values():
        arg.kind[i], arg.integers[i], arg.floats[i], arg.texts[i] = ARG_ABSENT, 0, np.nan, NO_CODE


def _bad(rows: Elements, i: int, kind: str, message: str) -> None:
    rows.bad.append(BadElement(i, kind, message))
    rows.phase[i] = 0


def _take(rows: Elements, i: int, event: dict[str, Any]) -> None:
    phase = event.get("ph")
    if not isinstance(phase, str) or len(phase) != 1 or not "!" <= phase <= "~":
        _bad(rows, i, "bad-record", "an event without a phase (ph) of one character")
        return
    rows.phase[i] = ord(phase)
    if phase == "M":
        if not rows.tables.names.add(event):
            rows.bad.append(BadElement(i, "bad-record", "metadata that names nothing"))
            rows.phase[i] = 0
        return
    labels, ids = rows.tables.labels, rows.tables.ids
    name = event.get("name")
    if name is not None:
        text = as_text(name)
        rows.name[i] = labels.code(flow_name(text) if phase in "stf" else text)
    if (category := event.get("cat")) is not None:
        rows.category[i] = labels.code(as_text(category))
    rows.pid[i], rows.tid[i] = ids.code(event.get("pid")), ids.code(event.get("tid"))
    rows.start_ns[i] = _time(rows, i, event, "ts")
    rows.duration_ns[i] = _time(rows, i, event, "dur")
    if phase in "stf":
        _take_flow_id(rows, i, event.get("id"))
    args = event.get("args")
    if not isinstance(args, dict):
        return
    for wanted, column in rows.args.items():
        take_arg(i, args.get(wanted), wanted in args, column, labels)
    if phase == "C":
        _take_counters(rows, i, args)


def _time(rows: Elements, i: int, event: dict[str, Any], key: str) -> int:
    value = event.get(key)
    if value is None:
        return NO_TIME
    try:
        ns, is_rounded = ns_of(value)
    except ValueError as error:
        rows.bad.append(BadElement(i, "bad-record", f"{key} is no time: {error}", False))
        return NO_TIME
    rows.is_rounded[i] |= is_rounded
    rows.tables.tally.is_time_text |= isinstance(value, str) and not isinstance(value, NumberText)
    return ns


def _take_flow_id(rows: Elements, i: int, value: Any) -> None:
    if value is None or isinstance(value, (dict, list)):
        return
    text = str(value)
    if text.isdecimal() and text.isascii() and len(text) <= 19 and int(text) < 2**63:
        rows.id[i] = int(text)
    else:
        rows.id_texts[i] = text[:MAX_ID_CHARS]


def _take_counters(rows: Elements, i: int, args: dict[str, Any]) -> None:
    for series, value in args.items():
        number = float_of(value)
        if number is None:
            rows.tables.tally.n_bad_values += 1
            continue
        code = rows.tables.labels.code(series)
        rows.series.append((np.array([i]), np.array([code]), np.array([number])))


def _without(part: tuple[Integers, Integers, Any], is_odd: Flags) -> tuple[Integers, Integers, Any]:
    event, code, value = part
    kept = ~is_odd[event]
    return event[kept], code[kept], value[kept]
