"""What areas share: a report for each round that can be read."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from npulse.core.analysis import AreaReport, criteria_from, reports_of_each
from npulse.core.errors import InputError, UsageError
from npulse.core.findings import Report


def report_of(name: str) -> AreaReport:
    if name.startswith("bad"):
        raise InputError(f"{name} cannot be read")
    return AreaReport(name, "", Report("memory", name, "pass"))


@pytest.mark.parametrize(
    ("names", "kept"), [(["a", "b"], ["a", "b"]), (["bad", "b", "bad2"], ["b"]), ([], [])]
)
def test_one_that_cannot_be_read_is_left_out_beside_others(names: list[str], kept: list[str]) -> None:
    assert [one.round for one in reports_of_each(names, report_of)] == kept


def test_the_first_error_where_none_can_be_read() -> None:
    with pytest.raises(InputError, match="bad1 cannot be read"):
        reports_of_each(["bad1", "bad2"], report_of)


@dataclass(frozen=True)
class Limits:
    share: float = 0.5
    count: float = 3


@pytest.mark.parametrize(
    ("text", "why"),
    [("share=-0.1", "below 0"), ("share=-inf", "below 0"), ("share=1,count=2,share=1", "given twice")],
)
def test_limits_that_nobody_can_mean(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        criteria_from(Limits, text)
    assert criteria_from(Limits, "share=0, count=2") == Limits(0, 2)
