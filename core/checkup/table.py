"""The check-up as tables: a row a criterion for reports, a row an area for the pane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npulse.core.criteria import AreaState, CheckUp, CriterionResult
from npulse.core.table import Column, Table, text_column
from npulse.core.text import Lang

from .own import AREA

SUBJECT = "area"


def criteria_table(found: CheckUp, lang: Lang = "en") -> Table:
    """A row a criterion, in check-up order; an area without one has a row of its own."""
    rows: list[tuple[AreaState, CriterionResult | None]] = []
    for area in found.areas:
        rows += [(area, one) for one in area.criteria] or [(area, None)]
    results = [one for _, one in rows]
    values = [None if one is None else one.value for one in results]
    return Table(
        AREA,
        (
            text_column("area", [area.area for area, _ in rows]),
            text_column("area_state", [area.state for area, _ in rows]),
            _flags("is_counted", [area.is_counted for area, _ in rows]),
            text_column("criterion", [None if one is None else one.id for one in results]),
            text_column("title", [None if one is None else one.title[lang == "zh"] for one in results]),
            text_column("state", [None if one is None else one.state for one in results]),
            _numbers("value", values),
            text_column("unit", [one.unit or None if one is not None else None for one in results]),
            text_column("needs", [None if one is None else one.needs for one in results]),
            text_column("subject", [one.subject or None if one is not None else None for one in results]),
            text_column("round", [round_of(area) or None for area, _ in rows]),
            text_column("distrusted_by", [area.distrusted_by or None for area, _ in rows]),
            text_column("missing", [area.missing or None for area, _ in rows]),
            text_column("next", [_next(area, one) or None for area, one in rows]),
        ),
    )


def areas_table(found: CheckUp) -> Table:
    """A row an area, in check-up order."""
    areas = found.areas
    return Table(
        AREA,
        (
            text_column(SUBJECT, [area.area for area in areas]),
            text_column("state", [area.state if area.is_counted else "aside" for area in areas]),
            text_column("told", [area.headline for area in areas]),
            text_column(
                "origin", [area.origin.subject if area.origin is not None else None for area in areas]
            ),
            text_column("next", [area.next_step or None for area in areas]),
            text_column("round", [round_of(area) or None for area in areas]),
        ),
    )


def round_of(area: AreaState) -> str:
    """The newest round that was looked at; "" for none, or one without a name."""
    return area.reports[-1].round if area.reports else ""


def _next(area: AreaState, one: CriterionResult | None) -> str:
    return (one.next_step if one is not None else "") or area.next_step


def _numbers(name: str, values: Sequence[float | None]) -> Column:
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    array = np.array([0.0 if value is None else value for value in values], np.float64)
    return Column(name, "float", array, None, missing if missing.any() else None)


def _flags(name: str, values: Sequence[bool]) -> Column:
    return Column(name, "bool", np.array(values, np.bool_))
