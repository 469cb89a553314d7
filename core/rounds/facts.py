"""What a round says of itself: its manifest as far as it can be used, else what its name and files tell."""

from __future__ import annotations

import datetime
import math
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from npulse.core.capture.request import FOLDERS
from npulse.core.run.model import Round
from npulse.core.run.paths import round_time

Outcome = Literal["recorded", "incomplete", "nothing", "unknown", "open", ""]
"""As drivers judge it; "open": the manifest was never closed; "": there is no manifest that says."""

OUTCOMES: tuple[Outcome, ...] = ("recorded", "incomplete", "nothing", "unknown", "open")
MAX_WORDS = 4_000
_KIND_OF_FOLDER: Mapping[str, str] = {folder: kind for kind, folder in FOLDERS.items()}


@dataclass(frozen=True, slots=True)
class Facts:
    """All texts are raw: show them through `safe_text`. "", () and None: not told.

    kind: precision, overflow, memory or performance. started_ns, ended_ns: since 1970. exit_status: of the
    tool; None where `signal` ended it. note: the user's own words. manifest: relative path of the round.toml,
    "" without one; is_read: whether it could be read. is_running: the npulse that makes an open round lives.
    """

    name: str
    kind: str = ""
    tool: str = ""
    command: tuple[str, ...] = ()
    started_ns: int | None = None
    ended_ns: int | None = None
    duration_s: float | None = None
    exit_status: int | None = None
    signal: str = ""
    stopped_by: str = ""
    outcome: Outcome = ""
    why: tuple[str, str] = ("", "")
    next_step: tuple[str, str] = ("", "")
    warnings: tuple[str, ...] = ()
    recorded: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    manifest: str = ""
    is_read: bool = False
    is_running: bool = False


def facts_of(round_: Round, record: Mapping[str, Any] | None, manifest: str = "") -> Facts:
    """Facts of one round; record: its manifest, None without one that can be read. Never raises."""
    folders = {part for artifact in round_.artifacts for part in artifact.relative.split("/")[:-1]}
    kinds = {_KIND_OF_FOLDER[name] for name in folders & set(_KIND_OF_FOLDER)}
    folder_kind = kinds.pop() if len(kinds) == 1 else ""
    if record is None:
        return Facts(round_.name, folder_kind, started_ns=_named_time(round_.name), manifest=manifest)
    started, ended = _moment(record, "start"), _moment(record, "end")
    duration = _number(_of(record, "duration_s"))
    if duration is None and started is not None and ended is not None and ended >= started:
        duration = (ended - started) / 1e9
    return Facts(
        name=round_.name,
        kind=_text(record.get("kind")) or folder_kind,
        tool=_text(record.get("tool")),
        command=_words(record.get("command")),
        started_ns=started if started is not None else _named_time(round_.name),
        ended_ns=ended,
        duration_s=duration,
        exit_status=_whole(_of(record, "exit_status")),
        signal=_signal(_of(record, "signal")),
        stopped_by=_text(_of(record, "stopped_by")),
        outcome=_outcome(record),
        why=_both(record, "why"),
        next_step=_both(record, "next_step"),
        warnings=_texts(_of(record, "warnings")),
        recorded=_recorded(record),
        note=_text(record.get("note")),
        is_read=True,
        manifest=manifest,
    )


_TABLES = ("", "result", "recorded", "ended", "end", "run", "tool")
"""Where a fact may stand: at the top or in one of these tables."""


def _of(record: Mapping[str, Any], key: str) -> Any:
    """A value by its key, at the top or in a table that may hold it."""
    for table in _TABLES:
        where = record.get(table) if table else record
        if isinstance(where, Mapping) and key in where:
            return where[key]
    return None


def _outcome(record: Mapping[str, Any]) -> Outcome:
    told = _text(_of(record, "outcome")) or _text(record.get("state"))
    if told in OUTCOMES:
        return told
    return "open" if told in ("running", "started", "unfinished", "killed") else ""


def _recorded(record: Mapping[str, Any]) -> Mapping[str, str]:
    """The plain facts of the table of what was recorded, in its order."""
    table = record.get("recorded")
    if not isinstance(table, Mapping):
        return {}
    told = ("outcome", "why", "next_step", "warnings", "why_zh", "next_step_zh")
    plain = {str(name): value for name, value in table.items() if name not in told}
    return {
        name: ", ".join(map(str, value[:64])) if isinstance(value, list) else str(value)
        for name, value in list(plain.items())[:64]
        if isinstance(value, str | int | float) or (isinstance(value, list) and value)
    }


def _both(record: Mapping[str, Any], key: str) -> tuple[str, str]:
    """A text in both languages: a list of two, or one text and another one under KEY_zh."""
    value = _of(record, key)
    if isinstance(value, list) and len(value) == 2:
        return _text(value[0]), _text(value[1])
    return _text(value), _text(_of(record, f"{key}_zh")) or _text(value)


def _signal(value: Any) -> str:
    """A signal by its name, whether the manifest has name or number."""
    if isinstance(value, str):
        return value
    number = _whole(value)
    try:
        return signal.Signals(number).name if number is not None else ""
    except ValueError:
        return str(number)


def _moment(record: Mapping[str, Any], word: str) -> int | None:
    """A moment in ns since 1970, whatever form it has: seconds or ns, a date of TOML, a text."""
    for key in (f"{word}ed_ns", f"{word}_ns"):
        value = _of(record, key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 62:
            return value
    for key in (f"{word}ed", word):
        value = record.get(key)
        if isinstance(value, str):
            try:
                value = datetime.datetime.fromisoformat(value)
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


def _named_time(name: str) -> int | None:
    """The moment that a round's name ends with; None where it has none."""
    digits = round_time(name.rsplit("/", 1)[-1])
    if not digits or len(digits) < 14:
        return None
    try:
        return int(datetime.datetime.strptime(digits[:14], "%Y%m%d%H%M%S").timestamp() * 1e9)
    except (ValueError, OverflowError):
        return None


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
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) and value >= 0 else None
