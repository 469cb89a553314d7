"""Parsed values of trace events, and the sums that the state tells."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import field
from typing import Any

import numpy as np

from npulse.core.dataclass import dataclass

from .trace_blocks import (
    ARG_ABSENT,
    ARG_FLOAT,
    ARG_INT,
    ARG_OTHER,
    ARG_TEXT,
    NO_CODE,
    ArgColumn,
    Events,
)
from .trace_numbers import NO_TIME, Integers
from .trace_tables import Labels

MAX_FLOW_DIGITS = 400


class NumberText(str):
    """A number as it was written, with all of its digits."""


def _any_int(digits: str) -> int | NumberText:
    """Python refuses to convert numbers of thousands of digits, and nobody needs them."""
    return int(digits) if len(digits) < 400 else NumberText(digits[:400])


def parse_event(raw: bytes) -> Any:
    """One element by the json module; floats are `NumberText`. Raises ValueError, RecursionError."""
    return _decoder.decode(raw.decode("utf-8", "replace"))


def parse_at_start(text: str) -> tuple[Any, int]:
    """The element that a text begins with, and where it ends. Raises as `parse_event`."""
    value, end = _decoder.raw_decode(text)
    return value, end


_decoder = json.JSONDecoder(
    strict=False, parse_float=NumberText, parse_int=_any_int, parse_constant=NumberText
)


@dataclass(slots=True)
class Tally:
    """What the state tells of all blocks together."""

    n_by_phase: Counter[str] = field(default_factory=Counter)
    n_at_zero: int = 0
    n_without_time: int = 0
    n_rounded: int = 0
    n_bad_values: int = 0
    is_time_text: bool = False
    first_ns: int | None = None
    last_ns: int | None = None

    def add_events(self, events: Events) -> None:
        has_time = events.start_ns != NO_TIME
        self.n_without_time += int((~has_time).sum())
        self.n_at_zero += int(events.is_at_zero.sum())
        at = np.flatnonzero(has_time & ~events.is_at_zero)
        if len(at):
            starts, durations = events.start_ns[at], events.duration_ns[at]
            durations = np.maximum(durations, 0)  # none, and NO_TIME
            ends = starts + np.minimum(durations, 2**63 - 1 - np.maximum(starts, 0))
            first, last = int(starts.min()), int(ends.max())
            self.first_ns = first if self.first_ns is None else min(self.first_ns, first)
            self.last_ns = last if self.last_ns is None else max(self.last_ns, last)


def empty_args(n: int) -> ArgColumn:
    return ArgColumn(
        np.full(n, ARG_ABSENT, np.uint8),
        np.zeros(n, np.int64),
        np.full(n, np.nan, np.float64),
        np.full(n, NO_CODE, np.int32),
    )


def args_at(column: ArgColumn, at: Integers) -> ArgColumn:
    return ArgColumn(column.kind[at], column.integers[at], column.floats[at], column.texts[at])


def take_arg(i: int, value: Any, is_there: bool, column: ArgColumn, labels: Labels) -> None:
    if not is_there:
        return
    number = float_of(value)
    if isinstance(value, str) and not isinstance(value, NumberText):
        column.kind[i], column.texts[i] = ARG_TEXT, labels.code(value)
    elif number is None or (isinstance(value, int) and not -(2**63) <= value < 2**63):
        column.kind[i] = ARG_OTHER
    elif isinstance(value, int):
        column.kind[i], column.integers[i], column.floats[i] = ARG_INT, value, number
    else:
        column.kind[i], column.floats[i] = ARG_FLOAT, number


def float_of(value: Any) -> float | None:
    """The number that a parsed value is; None for text, true, lists and the like."""
    if isinstance(value, bool) or not isinstance(value, (int, NumberText)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def flow_name(text: str) -> str:
    return text[:-MAX_FLOW_DIGITS] + text[-MAX_FLOW_DIGITS:].rstrip("0123456789")
