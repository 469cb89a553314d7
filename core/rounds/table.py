"""The story as a table: a row a round in time order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npulse.core.table import Column, Table, text_column

from .figures import FIGURES
from .story import Story, StoryRow
from .words import against_text, change_text, ordered, started_text

AREA = "rounds"
SUBJECT = "round"
N_CHANGES = 3
STATE = "_state"
"""Behind a figure's id: the column with better, worse, same, unknown or first."""


def rounds_table(story: Story) -> Table:
    """Columns of facts and changes, then each figure with its state. Values that are not known are absent."""
    rows = story.rows
    columns = [
        text_column(SUBJECT, [row.name or story.root.name for row in rows]),
        text_column("kind", [row.area for row in rows]),
        text_column("tool", [row.facts.tool or None for row in rows]),
        text_column("started", [started_text(row) or None for row in rows]),
        _numbers("duration_s", [row.facts.duration_s for row in rows], "s"),
        text_column("outcome", [row.facts.outcome or None for row in rows]),
        text_column("exit_status", [_ending(row) for row in rows]),
        text_column("verdict", [row.verdict for row in rows]),
        text_column("missed", [_missed(row) for row in rows]),
        _numbers("n_changes", [len(row.changes) if row.has_settings else None for row in rows], whole=True),
        text_column("changes", [_changes(row) for row in rows]),
    ]
    for figure in FIGURES:
        cells = [row.cells.get(figure.id) for row in rows]
        values = [None if cell is None else cell.value for cell in cells]
        columns.append(_numbers(figure.id, values, figure.unit, whole=figure.is_count))
        columns.append(
            text_column(f"{figure.id}{STATE}", [row.states.get(figure.id) or None for row in rows])
        )
    against = [against_text(story, row, "en") or None for row in rows]
    columns.append(text_column("against", against))
    return Table(AREA, tuple(columns))


def _ending(row: StoryRow) -> str | None:
    if row.facts.signal:
        return row.facts.signal
    return None if row.facts.exit_status is None else str(row.facts.exit_status)


def _missed(row: StoryRow) -> str | None:
    return ", ".join(one.id for one in row.criteria if one.state == "fail") or None


def _changes(row: StoryRow) -> str | None:
    if not row.changes:
        return None
    told = [change_text(change, "en") for change in ordered(row.changes)[:N_CHANGES]]
    return "; ".join(told)


def _numbers(name: str, values: Sequence[float | None], unit: str = "", *, whole: bool = False) -> Column:
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    kept = [0 if value is None else value for value in values]
    array = np.array(kept, np.int64 if whole else np.float64)
    return Column(name, "int" if whole else "float", array, None, missing if missing.any() else None, unit)
