"""What is new between two looks, against a count by hand; figures and words make nothing new."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from npulse.core.findings import Finding, Location, Report
from npulse.core.watch.news import news_of


def found(subject: str, severity: Any = "error", role: Any = "origin", **place: Any) -> Finding:
    return Finding("overflow", severity, "overflow.nan", role, subject, "told", location=Location(**place))


def said(*findings: Finding) -> Report:
    return Report("overflow", "run", "fail", findings=findings)


def test_what_was_there_before_is_no_news() -> None:
    a, b = found("a", rank=0), found("b", rank=0)
    assert news_of(said(a), said(a, b)) == (b,)
    assert news_of(said(a, b), said(a, b)) == ()
    changed = replace(a, message="told otherwise", figures={"count": 7}, role="inherited")
    assert news_of(said(a), said(changed)) == ()


def test_before_the_first_look_every_error_is_news() -> None:
    a, note = found("a"), found("n", "note")
    assert news_of(None, said(note, a)) == (a,)


def test_the_same_subject_elsewhere_is_news() -> None:
    here = found("a", rank=0, step=1, artifact="dump.json")
    for there in ({"rank": 1}, {"step": 2}, {"artifact": "other.json"}):
        moved = replace(here, location=replace(here.location, **there))
        assert news_of(said(here), said(here, moved)) == (moved,)
    same_file_other_line = replace(here, location=replace(here.location, line=9, row=3))
    assert news_of(said(here), said(same_file_other_line)) == ()


def test_what_another_file_of_the_folder_tells_instead_is_no_news() -> None:
    a, b = (found("a", artifact=f"logs/{name}.log") for name in "ab")
    elsewhere = found("a", artifact="other/a.log")
    assert news_of(said(a), said(b)) == ()
    assert news_of(said(a), said(elsewhere)) == (elsewhere,)
    assert news_of(said(a), said(b, found("a", artifact="logs/c.log"))) != ()


def test_a_warning_that_became_an_error_is_known_already_and_origins_come_first() -> None:
    inherited, origin = found("i", role="inherited"), found("o")
    assert news_of(None, said(inherited, origin)) == (origin, inherited)
    assert news_of(said(found("o", "warning")), said(origin)) == ()


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_as_many_of_a_kind_as_were_not_there(before: list[int], after: list[int]) -> None:
    news = news_of(said(*(found(str(n)) for n in before)), said(*(found(str(n)) for n in after)))
    for n in range(4):
        new = sum(finding.subject == str(n) for finding in news)
        assert new == max(0, after.count(n) - before.count(n))
