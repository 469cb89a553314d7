"""What a round.toml says, as one typed record: the only place that knows where in it a fact stands."""

from __future__ import annotations

import datetime
import math
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from npulse.core.dataclass import dataclass

from .toml import read_manifest

Outcome = Literal["recorded", "incomplete", "nothing", "unknown", "open", ""]
"""As drivers judge it; "open": the manifest was never closed; "": there is no manifest that says."""

OUTCOMES: tuple[Outcome, ...] = ("recorded", "incomplete", "nothing", "unknown", "open")
MAX_WORDS = 4_000
MAX_PLAIN = 64
"""Plain facts of what was recorded, and entries of a list among them."""
SERVING = ("first_token_ms", "tokens_per_s", "step_ms")
"""Figures that a user, or a tool, may write into a manifest: each a number above 0."""
SETTINGS = ("command", "request", "config", "environment", "versions", "git", "input", "inputs")
"""Tables that say how a round was set up."""

_TABLES = ("", "result", "recorded", "ended", "end", "run", "tool")
"""Where a fact may stand: at the top or in one of these tables."""
_SERVING_TABLES = ("", "serving", "figures", "result")


@dataclass(frozen=True, slots=True)
class RoundProcess:
    """Who made a round, on which start of the machine. 0 and "": not told."""

    boot_id: str = ""
    npulse_pid: int = 0
    npulse_start_ticks: int = 0
    tool_pid: int = 0
    tool_start_ticks: int = 0


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """All texts are raw: show them through `safe_text`. "", (), {} and None: not told, or of no use.

    kind: precision, overflow, memory or performance. id: of the round, as its processes carry it. state: as
    it is written (running, closed, killed). started_ns, ended_ns: since 1970. exit_status: of the tool; None
    where `signal` (a name) ended it. why, next_step: (en, zh). recorded: plain facts of what was recorded, as
    texts; size_bytes: of it. note: the user's own words. request: what was asked for beside the rest.
    settings: SETTINGS to what stands there. figures: of the tool. serving: SERVING to what is written of it;
    unusable: full names of those that are written and no number above 0. device_before, device_after: tables
    of the cards.
    """

    kind: str = ""
    tool: str = ""
    name: str = ""
    id: str = ""
    state: str = ""
    command: tuple[str, ...] = ()
    cwd: str = ""
    started_ns: int | None = None
    ended_ns: int | None = None
    duration_s: float | None = None
    exit_status: int | None = None
    signal: str = ""
    stopped_by: str = ""
    is_killed: bool = False
    outcome: Outcome = ""
    why: tuple[str, str] = ("", "")
    next_step: tuple[str, str] = ("", "")
    warnings: tuple[str, ...] = ()
    recorded: Mapping[str, str] = field(default_factory=dict)
    size_bytes: int | None = None
    is_raw_removed: bool = False
    note: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    process: RoundProcess = RoundProcess()
    figures: Mapping[str, Any] = field(default_factory=dict)
    serving: Mapping[str, float] = field(default_factory=dict)
    unusable: tuple[str, ...] = ()
    device_before: Mapping[str, Any] | None = None
    device_after: Mapping[str, Any] | None = None


def read_record(path: Path, *, root: Path | None = None) -> RoundRecord:
    """What a round.toml says. Raises InputError as `read_manifest` does."""
    return record_of(read_manifest(path, root=root))


def record_of(table: Mapping[str, Any]) -> RoundRecord:
    """What these tables say; of a hostile or newer manifest what cannot be used is left out. Never raises."""
    started, ended = _moment(table, "start"), _moment(table, "end")
    duration = _number(_of(table, "duration_s"))
    if duration is None and started is not None and ended is not None and ended >= started:
        duration = (ended - started) / 1e9
    serving, unusable = _serving(table)
    device = _table(table.get("device"))
    before, after = (device.get(side) for side in ("before", "after"))
    return RoundRecord(
        kind=_text(table.get("kind")),
        tool=_text(table.get("tool")),
        name=_text(table.get("name")),
        id=_text(table.get("id")),
        state=_text(table.get("state")),
        command=_words(table.get("command")),
        cwd=_text(table.get("cwd")),
        started_ns=started,
        ended_ns=ended,
        duration_s=duration,
        exit_status=_whole(_of(table, "exit_status")),
        signal=_signal(_of(table, "signal")),
        stopped_by=_text(_of(table, "stopped_by")),
        is_killed=_of(table, "is_killed") is True,
        outcome=_outcome(table),
        why=_both(table, "why"),
        next_step=_both(table, "next_step"),
        warnings=_texts(_of(table, "warnings")),
        recorded=_recorded(table),
        size_bytes=_whole(_table(table.get("recorded")).get("size_bytes")),
        is_raw_removed=table.get("raw_removed") is True,
        note=_text(table.get("note")),
        request=_table(table.get("request")),
        environment={
            name: value
            for name, value in _table(table.get("environment")).items()
            if isinstance(name, str) and isinstance(value, str)
        },
        settings={group: table[group] for group in SETTINGS if group in table},
        process=_process(table),
        figures=_table(table.get("figures")),
        serving=serving,
        unusable=unusable,
        device_before=before if isinstance(before, Mapping) else None,
        device_after=after if isinstance(after, Mapping) else None,
    )


# ---- where facts stand ----


def _of(table: Mapping[str, Any], key: str) -> Any:
    """A value by its key, at the top or in a table that may hold it."""
    for name in _TABLES:
        where = table.get(name) if name else table
        if isinstance(where, Mapping) and key in where:
            return where[key]
    return None


def _outcome(table: Mapping[str, Any]) -> Outcome:
    told = _text(_of(table, "outcome")) or _text(table.get("state"))
    if told in OUTCOMES:
        return told
    return "open" if told in ("running", "started", "unfinished", "killed") else ""


def _recorded(table: Mapping[str, Any]) -> Mapping[str, str]:
    """The plain facts of the table of what was recorded, in its order."""
    told = ("outcome", "why", "next_step", "warnings", "why_zh", "next_step_zh")
    plain = {str(name): value for name, value in _table(table.get("recorded")).items() if name not in told}
    return {
        name: ", ".join(map(_plain, value[:MAX_PLAIN])) if isinstance(value, list) else _plain(value)
        for name, value in list(plain.items())[:MAX_PLAIN]
        if isinstance(value, str | int | float) or (isinstance(value, list) and value)
    }


def _plain(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # a whole number of thousands of digits, written in base 16
        return "?"


def _process(table: Mapping[str, Any]) -> RoundProcess:
    told = _table(table.get("process"))
    numbers = ("npulse_pid", "npulse_start_ticks", "tool_pid", "tool_start_ticks")
    return RoundProcess(_text(told.get("boot_id")), *(_whole(told.get(name)) or 0 for name in numbers))


def _serving(table: Mapping[str, Any]) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """What is written under the names of SERVING: numbers above 0, the first place first; the full names of
    what is none."""
    found: dict[str, float] = {}
    unusable: list[str] = []
    for where in _SERVING_TABLES:
        own = table.get(where) if where else table
        if not isinstance(own, Mapping):
            continue
        for key in SERVING:
            if key not in own:
                continue
            number = _number(own[key])
            if number:
                found.setdefault(key, number)
            else:
                unusable.append(f"{where}.{key}" if where else key)
    return found, tuple(unusable)


def _both(table: Mapping[str, Any], key: str) -> tuple[str, str]:
    """A text in both languages: a list of two, or one text and another one under KEY_zh."""
    value = _of(table, key)
    if isinstance(value, list) and len(value) == 2:
        return _text(value[0]), _text(value[1])
    return _text(value), _text(_of(table, f"{key}_zh")) or _text(value)


def _signal(value: Any) -> str:
    """A signal by its name, whether the manifest has name or number."""
    if isinstance(value, str):
        return value
    number = _whole(value)
    try:
        return signal.Signals(number).name if number is not None else ""
    except ValueError:
        return str(number)


def _moment(table: Mapping[str, Any], word: str) -> int | None:
    """A moment in ns since 1970, whatever form it has: seconds or ns, a date of TOML, a text."""
    for key in (f"{word}ed_ns", f"{word}_ns"):
        value = _of(table, key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 62:
            return value
    for key in (f"{word}ed", word):
        value = table.get(key)
        if isinstance(value, str):
            try:  # Python 3.10 does not know the Z
                value = datetime.datetime.fromisoformat(re.sub("[Zz]$", "+00:00", value))
            except ValueError:
                continue
        if isinstance(value, datetime.datetime):
            try:
                return int(value.timestamp() * 1e9)
            except (OverflowError, ValueError, OSError):
                continue
        number = _number(value)
        if number is not None and 0 < number < 1e11:
            return int(number * 1e9)
    return None


# ---- values ----


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.split()[:MAX_WORDS])
    return _texts(value)


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    if not isinstance(value, Sequence):
        return ()
    return tuple(one for one in value[:MAX_WORDS] if isinstance(one, str))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int | None:
    """A whole number as TOML defines it: of 64 bits."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return value if is_whole and -(1 << 63) <= value < 1 << 63 else None


def _number(value: Any) -> float | None:
    """A finite number from 0 on; None for anything else, also for one that no float holds."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
