"""Better or worse where an area knows its own noise: how much single steps differ by themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping

from npulse.core.analysis import AnalysisOptions, Newest
from npulse.core.areas import Area
from npulse.core.errors import InputError

from .figures import Cell, State

_STATE_OF_NOISE: Mapping[str, State] = {
    "better": "better",
    "worse": "worse",
    "noise": "same",
    "unknown": "unknown",
}


def judged_by(
    area: Area,
    before: Newest,
    after: Newest,
    options: AnalysisOptions,
    names: tuple[str, str],
    cells: tuple[Mapping[str, Cell], Mapping[str, Cell]],
) -> dict[str, State]:
    """The states that the area itself judges, by how much its steps or calls differ on their own.

    names, cells: of the two rounds, the earlier one first.
    """
    try:
        own = area.changes_of(before, after, options, names)
    except InputError:
        return {}
    summary = own.report.summary if own is not None else {}
    verdict = _STATE_OF_NOISE.get(str(summary.get("step_verdict", "")))
    if verdict is None:
        return {}
    states: dict[str, State] = {}
    # what was judged is the step of the profile; without steps the whole wall time is the one step
    for figure, us, tolerance in (("step_ms", 1000.0, 0.05), ("wall_us", 1.0, 1e-6)):
        old, new = cells[0].get(figure), cells[1].get(figure)
        sides = ((old, summary.get("step_before_us")), (new, summary.get("step_after_us")))
        if all(_is_about(cell, us, judged, tolerance) for cell, judged in sides):
            states[figure] = verdict
    return states


def _is_about(cell: Cell | None, us: float, judged: object, tolerance: float) -> bool:
    if cell is None or cell.value is None or cell.is_doubtful or not isinstance(judged, int | float):
        return False
    return math.isclose(cell.value * us, judged, rel_tol=tolerance)
