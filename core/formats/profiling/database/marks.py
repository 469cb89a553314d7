"""Marks on a timeline beside its tasks: steps, the user's ranges, garbage collections, the session's end."""

from __future__ import annotations

import numpy as np

from ....text import safe_text
from ..timeline import Span
from .database import Database
from .steps import read_step_windows
from .strings import Strings, kept
from .values import Rows, read_rows

MAX_SPANS = 200_000
UNFINISHED_NS = 30 * 60 * 1_000_000_000
"""What the writer adds to the start of a session that never ended."""

_MAX_NAME = 200


def step_spans(database: Database) -> tuple[Span, ...]:
    """STEP_TIME; named by the number of the step, as there."""
    windows = read_step_windows(database)
    steps = windows.ids("id").tolist()
    return _spans(database, "STEP_TIME", windows, [str(step) if step >= 0 else "" for step in steps])


def marked_ranges(database: Database) -> tuple[Span, ...]:
    """MSTX_EVENTS in order of their starts; markers are ranges without length."""
    rows = _placed(database, "MSTX_EVENTS", ["startNs", "endNs", "message"])
    ids = kept(rows.integers("message"))
    strings = Strings(database, [ids])
    return _spans(database, "MSTX_EVENTS", rows, [strings.get(number) for number in ids.tolist()])


def garbage_collections(database: Database) -> tuple[Span, ...]:
    """GC_RECORD: when the interpreter collected garbage."""
    rows = _placed(database, "GC_RECORD", ["startNs", "endNs"])
    return _spans(database, "GC_RECORD", rows, ["GC"] * len(rows))


def has_no_end(database: Database) -> bool | None:
    """True if the session did not come to its end: the writer then puts 30 minutes after its start. None: the
    database does not say it."""
    for _, start, end in database.rows("SESSION_TIME_INFO", ("startTimeNs", "endTimeNs"), 16):
        if isinstance(start, int) and isinstance(end, int):
            return end - start == UNFINISHED_NS
    return None


def _placed(database: Database, table: str, columns: list[str]) -> Rows:
    """Rows with a start, in their order; an end that is not there is the start."""
    rows = read_rows(database, table, columns)
    starts, ends = rows.integers("startNs"), rows.integers("endNs")
    rows.arrays["endNs"] = np.where(ends < 0, starts, ends)
    places = np.flatnonzero(starts >= 0)
    if len(places) < len(rows):
        database.note(
            "bad-record", f"{table}: {len(rows) - len(places):,} rows have no start and are left out"
        )
    return rows.taken(places[np.argsort(starts[places], kind="stable")])


def _spans(database: Database, table: str, rows: Rows, names: list[str]) -> tuple[Span, ...]:
    if len(rows) > MAX_SPANS:
        database.note("limit", f"{table}: only the first {MAX_SPANS:,} of {len(rows):,} are kept")
    starts, ends = rows.integers("startNs").tolist(), rows.integers("endNs").tolist()
    return tuple(
        Span(safe_text(name, _MAX_NAME), start, end)
        for name, start, end in zip(names[:MAX_SPANS], starts[:MAX_SPANS], ends[:MAX_SPANS], strict=True)
    )
