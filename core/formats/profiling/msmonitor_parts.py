"""Records of msMonitor of several readers as one log: each reads its own file, from one of its starts on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from ...findings import Problem
from .msmonitor_columns import COLUMNS, NO_ROWS, TEXTS, tasks_of
from .msmonitor_log import MonitorLog
from .timeline import NONE, Codes, Span

MAX_MARKS = 100_000

Rows = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class MonitorPart:
    """What one reader was fed. rows: "Kernel", "Communication", "calls" -> columns in the order of lines;
    codes are into `texts`, "file" into `files`.

    files: () for more of the part before. n_marks_left_out: beyond the limit. is_label_limit, has_long_names:
    of names. problems: those of single files.
    """

    rows: Mapping[str, Rows]
    texts: Sequence[str]
    files: tuple[str, ...] = ()
    marks: tuple[Span, ...] = ()
    device_marks: tuple[Span, ...] = ()
    n_marks_left_out: int = 0
    rank: int | None = None
    pid: int | None = None
    rank_devices: Mapping[int, tuple[int, ...]] | None = None
    groups: Mapping[str, tuple[int, ...]] | None = None
    group_labels: Mapping[str, str] | None = None
    others: Mapping[str, int] | None = None
    n_lines: int = 0
    n_dropped: int = 0
    is_cut: bool = False
    is_label_limit: bool = False
    has_long_names: bool = False
    problems: tuple[Problem, ...] = ()


def log_of(parts: Sequence[MonitorPart]) -> MonitorLog:
    """The parts one after the other, as if one reader had read them. Costs a copy and a sort.

    Codes are in the order of the texts: how the bytes were cut shows nowhere.
    """
    texts = tuple(sorted({text for part in parts for text in part.texts}))
    code_of = {text: code for code, text in enumerate(texts)}
    files: list[str] = []
    gathered: dict[str, list[Rows]] = {}
    for part in parts:
        first_file = len(files) if part.files else len(files) - 1
        files += part.files
        codes = np.array([*map(code_of.__getitem__, part.texts), NONE], np.int32)  # the last one: absent
        for name, rows in part.rows.items():
            gathered.setdefault(name, []).append(_moved(rows, codes, first_file))
    kernels, communication, calls = (
        _in_order(gathered.get(name, ())) for name in ("Kernel", "Communication", "calls")
    )
    marks = [mark for part in parts for mark in part.marks][:MAX_MARKS]
    device_marks = [mark for part in parts for mark in part.device_marks][: MAX_MARKS - len(marks)]
    n_told = sum(len(part.marks) + len(part.device_marks) for part in parts)
    n_left_out = sum(part.n_marks_left_out for part in parts) + n_told - len(marks) - len(device_marks)
    others: dict[str, int] = {}
    for part in parts:
        for name, n in (part.others or {}).items():
            others[name] = others.get(name, 0) + n
    named = [part for part in parts if part.files]
    return MonitorLog(
        files=tuple(files),
        kernels=tasks_of(kernels, texts),
        kernel_device=kernels["device"],
        kernel_file=kernels["file"],
        kernel_line=kernels["line"],
        communication=tasks_of(communication, texts),
        communication_device=communication["device"],
        communication_file=communication["file"],
        communication_line=communication["line"],
        counts=communication["amount"],
        data_types=communication["data_type"],
        algorithms=communication["algorithm"],
        calls=tasks_of(calls, texts),
        texts=texts,
        marks=tuple(marks),
        device_marks=tuple(device_marks),
        rank=named[-1].rank if named else None,
        pid=named[-1].pid if named else None,
        rank_devices=_joined(part.rank_devices for part in parts),
        groups=_joined(part.groups for part in parts),
        group_labels=_joined(part.group_labels for part in parts),
        others=others,
        n_lines=sum(part.n_lines for part in parts),
        n_dropped=sum(part.n_dropped for part in parts),
        is_cut=any(part.is_cut for part in parts),
        problems=(
            *(problem for part in parts for problem in part.problems),
            *_told_of_all(files[-1] if files else "", parts, n_left_out),
        ),
    )


def _moved(rows: Rows, codes: Codes, first_file: int) -> Rows:
    """Columns with codes and files as all parts count them."""
    moved = {name: values if name not in TEXTS else codes[values] for name, values in rows.items()}
    return {**moved, "file": rows["file"] + np.int32(first_file)}


def _in_order(found: Sequence[Rows]) -> Rows:
    """All rows in order of their start; those that start together as they were written."""
    if not found:
        return NO_ROWS
    start = np.concatenate([rows["start_ns"] for rows in found])
    order = np.argsort(start, kind="stable")
    return {name: np.concatenate([rows[name] for rows in found])[order] for name in COLUMNS}


def _joined(found: Iterable[Mapping[Any, Any] | None]) -> dict[Any, Any]:
    """What was said last counts."""
    return {key: value for one in found for key, value in (one or {}).items()}


def _told_of_all(artifact: str, parts: Sequence[MonitorPart], n_left_out: int) -> list[Problem]:
    found = []
    if any(part.is_label_limit for part in parts):
        found.append(Problem(artifact, "limit", "there are too many names; some records have none"))
    if any(part.has_long_names for part in parts):
        found.append(Problem(artifact, "too-large", "names of more than 4,096 characters were cut"))
    if n_left_out:
        message = f"at most {MAX_MARKS:,} marks are kept; {n_left_out:,} more are left out"
        found.append(Problem(artifact, "limit", message))
    return found
