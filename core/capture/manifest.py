"""round.toml: what a round was asked for, ran under, recorded, and how it ended (docs/contract.md)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, get_args

from npulse.core.errors import InputError
from npulse.core.formats.manifest import MAX_BYTES, RoundRecord, read_manifest, record_of

from .archive import MANIFEST, write_manifest_text
from .driver import Ended, Plan, Recorded, Words
from .hidden import command_without_secrets, settings_without_secrets
from .process import LeftOver, Rung, ToolRun, full_ladder, sent_text
from .request import CaptureRequest, Kind

SCHEMA = 1
MAX_LISTED = 200
"""Entries of a list that may be long (warnings, ranks, steps, processes); of more only the number is kept."""

_KEPT_ELSEWHERE = ("kind", "command", "cwd", "archive", "name", "tool", "environment", "keep_inputs", "lang")


def utc_text(at_s: float) -> str:
    """2026-01-31T08:15:00.123Z"""
    at = datetime.fromtimestamp(at_s, tz=timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Manifest:
    """The tables of one round's manifest, written whole at every step.

    `table` is what the file holds; values that are None are left out, since TOML has none.
    """

    def __init__(self, folder: Path, table: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self.table: dict[str, Any] = dict(table or {"schema": SCHEMA})

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of a round that is there. InputError."""
        return cls(folder, read_manifest(folder / MANIFEST, root=folder))

    @property
    def record(self) -> RoundRecord:
        """What it says at the moment, as everybody reads it."""
        return record_of(self.table)

    def update(self, **tables: Any) -> None:
        """Set keys of the manifest; written by the next `write`."""
        self.table |= tables

    def warn(self, *words: Words) -> None:
        """Add warnings, each once."""
        for at, key in ((0, "warnings"), (1, "warnings_zh")):
            told = self.table.get(key)
            if not isinstance(told, list):  # none yet, or not written by npulse
                told = self.table[key] = []
            told += [one[at] for one in words if one[at] not in told and len(told) < MAX_LISTED]

    def text(self) -> str:
        """The file's text; shortened where it would be larger than readers take."""
        import tomli_w

        table = _without_none(self.table)
        text = tomli_w.dumps(table)
        for large in ("files", "device", "environment", "plan", "command"):
            if len(text.encode()) <= MAX_BYTES:
                break
            table[large] = [] if large in ("files", "command") else {}
            text = tomli_w.dumps(table)
        return text

    def write(self) -> None:
        """Replace the file. OSError where the disk refuses it: then the one before is still there."""
        write_manifest_text(self.folder, self.text())


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {clean_text(str(k)): _without_none(v) for k, v in value.items() if v is not None}
    if isinstance(value, (list, tuple)):
        return [_without_none(one) for one in value if one is not None]
    if isinstance(value, (str, Path)):
        return clean_text(str(value))
    return value if isinstance(value, (bool, int, float)) else str(value)


def clean_text(text: str) -> str:
    """Bytes that are no UTF-8 become \\xNN, so that every name can be written."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")


# ---- tables ----


def request_table(request: CaptureRequest) -> dict[str, Any]:
    """What was asked for beside what the manifest says at its top; usual values are left out."""
    usual = CaptureRequest(request.kind, (), Path(), Path())
    table = {
        f.name: value
        for f in fields(CaptureRequest)
        if f.name not in _KEPT_ELSEWHERE and (value := getattr(request, f.name)) != getattr(usual, f.name)
    }
    if request.extra:
        table["extra"] = command_without_secrets(request.extra)
    if request.settings:
        table["settings"] = settings_without_secrets(request.settings)
    return table


def request_of(record: RoundRecord, folder: Path) -> CaptureRequest:
    """The request that a manifest tells of. InputError where it is none of npulse's own rounds."""
    try:
        if record.kind not in get_args(Kind) or not (record.cwd and record.name and record.tool):
            raise ValueError(record.kind)
        values = {name: _value_of(name, value) for name, value in record.request.items()}
        return CaptureRequest(
            kind=record.kind,  # type: ignore[arg-type]
            command=record.command,
            cwd=Path(record.cwd),
            archive=folder.parent.parent,
            name=record.name,
            tool=record.tool,
            environment=record.environment,
            **values,
        )
    except (TypeError, ValueError) as error:
        raise InputError("this manifest does not tell what was asked for", path=folder / MANIFEST) from error


_OPTIONAL: Mapping[str, tuple[type, ...]] = {
    **{"level": (str,), "model": (str,), "pid": (int,), "timeout_s": (int, float)},
}


def _value_of(name: str, value: Any) -> Any:
    """A value of the table `request` as the request has it. ValueError, TypeError for another type."""
    if name in _KEPT_ELSEWHERE or name not in CaptureRequest.__dataclass_fields__:
        raise ValueError(name)
    usual = getattr(CaptureRequest("precision", (), Path(), Path()), name)
    if isinstance(usual, tuple) and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    if isinstance(usual, Mapping) and isinstance(value, Mapping):
        return {str(key): str(one) for key, one in value.items()}
    if type(value) in _OPTIONAL.get(name, (type(usual),)):
        return value
    raise TypeError(name)


def plan_table(plan: Plan, argv: Sequence[str]) -> dict[str, Any]:
    """argv (as kept), the variables that it sets (those kept), lines, ladder, names of files."""
    return {
        "argv": list(argv),
        "first_lines": list(plan.first_lines),
        "stop": [f"{sent_text(step)} {step.wait_s:g} s" for step in full_ladder(plan.stop)],
        "files": [file.name for file in plan.files],
        "notes": [note[0] for note in plan.notes],
    }


def recorded_table(recorded: Recorded) -> dict[str, Any]:
    """What was recorded."""
    return {
        "outcome": recorded.outcome,
        "why": recorded.why[0] or None,
        "why_zh": recorded.why[1] or None,
        "is_failure": recorded.is_failure,
        "n_files": recorded.n_files,
        "size_bytes": recorded.size_bytes,
        "ranks": list(recorded.ranks[:MAX_LISTED]),
        "n_ranks": len(recorded.ranks),
        "steps": list(recorded.steps[:MAX_LISTED]),
        "n_steps": len(recorded.steps),
        "n_operators": recorded.n_operators,
        "n_dropped": recorded.n_dropped,
        "kinds": dict(recorded.found),
    }


def ended_tables(run: ToolRun) -> dict[str, Any]:
    """How the tool ended, as keys at the manifest's top."""
    ended: Ended = run.ended
    return {
        "exit_status": ended.exit_status,
        "signal": ended.signal,
        "stopped_by": ended.stopped_by,
        "is_killed": ended.is_killed,
        "tool_duration_s": round(run.duration_s, 3),
        "stop": [_rung_table(rung) for rung in run.rungs],
        "left_over": [_left_table(process) for process in run.left_over[:MAX_LISTED]],
        "console_bytes": run.n_console_bytes,
        "console_dropped_bytes": run.n_console_dropped_bytes,
    }


def _rung_table(rung: Rung) -> dict[str, Any]:
    return {**asdict(rung), "at_s": round(rung.at_s, 3)}


def _left_table(process: LeftOver) -> dict[str, Any]:
    return asdict(process)
