"""What a report gathers of the sample run: check-up, all rounds of all areas, the story."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.checkup.criteria_file import default_criteria, parse_criteria
from npulse.core.dossier import gather
from npulse.core.errors import InputError
from npulse.core.report.dossier import Dossier
from npulse.core.run.discover import discover
from npulse.sample_runs import sample_path

RUN = sample_path("w8a8")


@pytest.fixture(scope="module")
def told() -> Dossier:
    asked = parse_criteria("[precision]\ncosine = 0.9654321\n", "mine.toml")
    return gather(discover(RUN), AnalysisOptions(jobs=1), asked, title="t", made="now")


def test_every_round_of_every_area_oldest_first(told: Dossier) -> None:
    names = [round_.name for round_ in discover(RUN).rounds]
    precision = [one.round for one in told.reports if one.report.command == "precision"]
    assert precision == [name for name in names if name in precision] and len(precision) >= 2
    assert {one.report.command for one in told.reports} >= {"precision", "overflow"}
    assert all(one.report.tables for one in told.reports if one.report.command == "precision")
    assert told.story is not None and told.story.command == "rounds"
    assert (told.title, told.made, told.check_up.run) == ("t", "now", str(RUN))
    assert not [note for one in told.reports for note in one.notes if "--tables" in note]


def test_the_story_is_judged_by_the_same_criteria(told: Dossier) -> None:
    assert told.story is not None
    found = [one["criteria"].get("precision.cosine") for one in told.story.summary["rounds"]]
    assert {one["needs"] for one in found if one} == {">= 0.9654"}
    assert {one.limit for a in told.check_up.areas for one in a.criteria if one.id == "precision.cosine"} == {
        0.9654321
    }


def test_the_newest_round_stands_as_the_check_up_saw_it(told: Dossier) -> None:
    for state in told.check_up.areas:
        for one in state.reports:
            (same,) = [
                r for r in told.reports if r.report.command == one.report.command and r.round == one.round
            ]
            assert same.report.verdict == one.report.verdict


def test_one_round_alone_has_no_story() -> None:
    asked = AnalysisOptions(jobs=1, round_name="round1")
    told = gather(discover(RUN), asked, default_criteria())
    assert told.story is None and {one.round for one in told.reports} <= {"round1"}
    assert told.check_up.state == "fail" and told.exit_code() == 1


def test_an_earlier_round_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    for name, dump in (("round1", "{broken"), ("round2", "")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "dump.json").write_text(dump or '{"task": "statistics", "level": "L1", "data": {}}')
    told = gather(discover(tmp_path), AnalysisOptions(jobs=1), default_criteria())
    assert told.exit_code() == 4
    assert "pass" not in {one.report.verdict for one in told.reports if one.round == "round1"}


def test_a_round_that_is_not_there() -> None:
    with pytest.raises(InputError, match="round9"):
        gather(discover(RUN), AnalysisOptions(round_name="round9"), default_criteria())
