"""anomaly.json: what msprobe's training monitor itself found strange, as it happened."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...files import shown_path
from ...findings import Completeness, Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..json_stream import json_members
from ..json_window import Notes
from .columns import clean_text
from .monitor_rows import KIND_OF_WORD

MAX_FILE_BYTES = 1 << 28
MAX_ANOMALIES = 100_000
MAX_TEXT_CHARS = 4096
MAX_MATES = 4096

_STAGE = re.compile(r"\d{1,9}:")
_RANK = re.compile(r"/rank\d{1,9}\Z")
_MESSAGE = re.compile(
    r"Rule (?P<rule>\w+) reports anomaly signal in \('.*', '(?P<metric>\w+)'\) at step -?\d+, "
    r"current value (?P<value>\S+), history mean (?P<mean>\S+?)\.?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One entry. None: the key is not there or is no whole number; "" the same for texts.

    name, kind: taken from the tag, in the words of a MonitorTable ("fc1.input", "activation_grad").
    rule, metric, value, history_mean: taken from the message; "" and None where it has another form. A value
    that is NaN under the metric "nans" means that the tool had no tensor there, not that one held NaN.
    call_id: the tool's own count of calls within a step, -1 where it does not know.
    byte: offset of the entry in the file.
    """

    tag_name: str
    rank: int | None
    step: int | None
    micro_step: int | None
    pp_stage: int | None
    vpp_stage: int | None
    call_id: int | None
    message: str
    group_mates: tuple[int, ...]
    name: str
    kind: str
    rule: str
    metric: str
    value: float | None
    history_mean: float | None
    byte: int


@dataclass(frozen=True, slots=True)
class Anomalies:
    """One rank's file, in its order (that of detection). An empty one means that nothing was found."""

    path: Path
    anomalies: tuple[Anomaly, ...]
    completeness: Completeness
    problems: tuple[Problem, ...] = ()


def read_anomalies(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Anomalies:
    """The anomalies in `path`, of detection (anomaly.json) or ranked (anomaly_analyse.json).

    Problems (with byte): entries that are no anomaly (left out), values of a wrong type (None), a cut file
    (what is whole is kept), more than 100,000 entries (the rest is left out).
    Raises InputError (not usable at all; `root`: a link leads out of it) and Cancelled.
    """
    problems: list[Problem] = []
    notes = Notes(shown_path(path, root), problems)
    members = json_members(
        path,
        problems,
        root=root,
        max_bytes=MAX_FILE_BYTES,
        progress=progress,
        is_cancelled=is_cancelled,
    )
    found: list[Anomaly] = []
    for byte, _, key, entry in members:
        if len(found) == MAX_ANOMALIES:
            notes.add("limit", f"only the first {MAX_ANOMALIES:,} entries were read", byte, is_last=True)
            break
        if isinstance(entry, dict) and isinstance(entry.get("tag_name"), str):
            found.append(_anomaly(entry, byte, notes))
        else:
            notes.add("bad-record", f"{clean_text(key[:200])!r} is no anomaly: it has no tag_name", byte)
    notes.close()
    kinds = {problem.kind for problem in problems}
    completeness: Completeness = "cut off" if "cut-off" in kinds else "unknown" if kinds else "complete"
    return Anomalies(path, tuple(found), completeness, tuple(problems))


def _anomaly(entry: dict[str, Any], byte: int, notes: Notes) -> Anomaly:
    def whole(key: str) -> int | None:
        value = entry.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63:
            return value
        if value is not None:
            notes.add("bad-record", f"{key} is no whole number", byte)
        return None

    def text(key: str) -> str:
        value = entry.get(key, "")
        if not isinstance(value, str):
            notes.add("bad-record", f"{key} is no text", byte)
        elif len(value) > MAX_TEXT_CHARS:
            notes.add("too-large", f"{key} has {len(value):,} characters and was cut", byte)
        return clean_text(value[:MAX_TEXT_CHARS]) if isinstance(value, str) else ""

    mates = entry.get("group_mates") or ()
    if not isinstance(mates, (list, tuple)) or not all(type(mate) is int for mate in mates):
        notes.add("bad-record", "group_mates is no list of ranks", byte)
        mates = ()
    tag_name, message = text("tag_name"), text("message")
    name, kind = _name_and_kind(tag_name)
    told = _MESSAGE.fullmatch(message)
    return Anomaly(
        tag_name=tag_name,
        rank=whole("rank"),
        step=whole("step"),
        micro_step=whole("micro_step"),
        pp_stage=whole("pp_stage"),
        vpp_stage=whole("vpp_stage"),
        call_id=whole("call_id"),
        message=message,
        group_mates=tuple(mates[:MAX_MATES]),
        name=name,
        kind=kind,
        rule=told["rule"] if told else "",
        metric=told["metric"] if told else "",
        value=_number(told["value"]) if told else None,
        history_mean=_number(told["mean"]) if told else None,
        byte=byte,
    )


def _name_and_kind(tag: str) -> tuple[str, str]:
    """Name and kind of a tag such as "0:fc1.input:0/rank0/actv" (stage, name, micro step, rank, word)."""
    name, slash, word = tag.rpartition("/")
    if not slash:
        return tag, ""
    name = _RANK.sub("", name)
    stage = _STAGE.match(name)
    name = name[stage.end() :] if stage else name
    before, colon, micro_step = name.rpartition(":")
    return before if colon and micro_step.isdecimal() else name, KIND_OF_WORD.get(word, word)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
