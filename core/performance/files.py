"""The other tables of a round: memory, caches, counters, host calls, recipes, as their files have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from npulse.core.formats.profiling.tables import read_table
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.model import Artifact
from npulse.core.table import Column, Table

from .table import SUBJECT

SHOWN = frozenset(
    (
        *("prof.memory", "prof.l2_cache", "prof.counters", "prof.aicpu", "prof.fusion_op"),
        *("prof.user_marks", "prof.minddata", "prof.operator_details", "prof.api_statistic"),
        *("prof.communication_statistic", "prof.task_time", "prof.step_trace", "prof.step_trace_time"),
        *("prof.op_statistic", "prof.cluster"),
    )
)
"""Kinds whose CSV files are shown as they are."""
_NAMES = ("name", "op name", "op_name", "component", "api name", "op type", "operation", "kernel_name")


def file_tables(artifacts: Sequence[Artifact]) -> tuple[Artifact, ...]:
    """The files that `read_file_table` can show, in the order of the run."""
    return tuple(a for a in artifacts if a.kind in SHOWN and a.path.suffix.lower() == ".csv")


def read_file_table(
    artifact: Artifact,
    root: Path,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Table:
    """One file, its columns under their own headers, units in them. Raises InputError, Cancelled.

    The first column is `subject`: what a row is called. `line` is where it stands.
    """
    found = read_table(artifact.path, root=root, progress=progress, is_cancelled=is_cancelled)
    columns: list[Column] = []
    names: set[str] = set()
    for column in found.columns:
        name, n = column.header, 2
        while name in names:
            name, n = f"{column.header} {n}", n + 1
        names.add(name)
        columns.append(column.column(name))
    texts = [column for column in columns if column.kind == "text"]
    subject = next((c for c in texts if c.name.strip().lower() in _NAMES), texts[0] if texts else None)
    if subject is None:
        labels = tuple(f"row {i + 1}" for i in range(found.n_rows))
        subject = Column(SUBJECT, "text", np.arange(found.n_rows, dtype=np.int64), labels or ("",))
        columns.insert(0, subject)
    else:
        columns.remove(subject)
        columns.insert(0, replace(subject, name=SUBJECT))
    columns.append(Column("line", "int", found.line))
    return Table(artifact.path.stem, tuple(columns))
