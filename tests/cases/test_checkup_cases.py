"""The check-up of every case: never a pass where something is wrong, and what the areas' commands say."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.api import check
from npulse.core.areas import AREAS
from npulse.core.run.discover import discover

WANTED = {
    **dict.fromkeys(("C01", "C03", "C05", "C11", "C12", "C15", "C16"), ("fail", "precision")),
    **dict.fromkeys(("C07", "C13"), ("pass", "")),  # rounding, zeros in the reference: nothing is wrong
    "C09": ("pass", ""),  # recomputed copies pair: nothing is unmatched, nothing differs
    **dict.fromkeys(("C19", "C21", "C23", "C24", "C28", "C30"), ("fail", "overflow")),
    **dict.fromkeys(("C33", "C35", "C37", "C38", "C40", "C42"), ("fail", "memory")),
    **dict.fromkeys(("C45", "C47", "C48", "C52"), ("warn", "performance")),
    **dict.fromkeys(("C50", "C67"), ("incomplete", "performance")),
    **dict.fromkeys(("C53", "C58"), ("unknown", "performance")),
    "C59": ("fail", "device"),
    "C61": ("fail", "environment"),
    **dict.fromkeys(("C64", "C66"), ("unknown", "")),  # no files at all
}
"""State and the area to open first, as each case's own text says what is wrong and where."""
_ORDER = ("pass", "warn", "unknown", "incomplete", "fail")
_OPTIONS = AnalysisOptions(jobs=1)


def test_every_case_has_its_expected_check_up(shared: Path) -> None:
    assert {path.name for path in (shared / "cases").iterdir()} == set(WANTED)


@pytest.mark.parametrize("name", sorted(WANTED))
def test_the_check_up_agrees_with_the_case_and_with_the_areas(shared: Path, name: str) -> None:
    run = discover(shared / "cases" / name)
    found = check(run, options=_OPTIONS)
    assert (found.verdict, found.found.first) == WANTED[name]
    assert found.report.exit_code() == {"pass": 0, "warn": 0, "fail": 1}.get(found.verdict, 4)
    own = {area.area: area for area in found.areas}
    for area in AREAS:
        said = [one.report.verdict for one in area.reports_of(run, _OPTIONS)]
        if not said:
            assert area.id in ("checkup", "rounds") or own[area.id].reports == ()
            continue
        worst = max(said, key=_ORDER.index)
        assert own[area.id].state == worst, "the bundled criteria ask for no more than the areas do here"
        assert _ORDER.index(found.verdict) >= _ORDER.index(worst) or not own[area.id].is_counted
