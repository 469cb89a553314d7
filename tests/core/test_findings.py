"""Verdicts and exit codes over several reports; errors as problems; one finding for all ranks."""

from __future__ import annotations

from itertools import permutations

import pytest

from npulse.core.errors import InputError
from npulse.core.figures import number
from npulse.core.findings import (
    Finding,
    Location,
    Problem,
    Report,
    Severity,
    Verdict,
    merged,
    verdict_from,
    with_problems,
    worst_exit_code,
    worst_verdict,
)
from npulse.core.formats.tensors.error import TensorError

PROBLEM = Problem("a", "missing", "gone")


def finding(severity: Severity = "error", rank: int | None = None, **figures: object) -> Finding:
    return Finding(
        "precision",
        severity,
        "precision.operator",
        "origin",
        "A",
        "m",
        figures=figures,
        location=Location(rank=rank),
    )


@pytest.mark.parametrize(
    ("severities", "n_problems", "has_unknown", "verdict"),
    [
        ((), 0, False, "pass"),
        (("note",), 0, False, "pass"),
        (("note", "warning"), 0, False, "warn"),
        (("warning",), 0, True, "unknown"),
        ((), 1, True, "incomplete"),
        (("warning", "error"), 1, True, "fail"),
    ],
)
def test_verdict(severities: tuple[Severity, ...], n_problems: int, has_unknown: bool, verdict: str) -> None:
    found = [finding(severity) for severity in severities]
    assert verdict_from(found, [PROBLEM] * n_problems, has_unknown=has_unknown) == verdict


def test_the_worst_of_several() -> None:
    order: tuple[Verdict, ...] = ("fail", "incomplete", "unknown", "warn", "pass")
    for place, worst in enumerate(order):
        assert {worst_verdict(some) for some in permutations(order[place:])} == {worst}
    assert worst_verdict([]) == "unknown"
    assert [worst_exit_code(codes) for codes in ([], [0], [0, 4], [4, 0, 1], [1, 4], [0, 0])] == [
        4,
        0,
        4,
        1,
        1,
        0,
    ]


def test_problems_of_discovery_make_a_pass_incomplete() -> None:
    clean, failed = Report("precision", "r", "pass"), Report("precision", "r", "fail", findings=(finding(),))
    assert with_problems(clean, ()) is clean
    told = with_problems(clean, [PROBLEM])
    assert (told.verdict, told.problems, told.exit_code()) == ("incomplete", (PROBLEM,), 4)
    assert with_problems(told, [PROBLEM]) is told, "told once"
    assert (with_problems(failed, [PROBLEM]).verdict, with_problems(failed, [PROBLEM]).exit_code()) == (
        "fail",
        1,
    )


def test_an_error_as_a_problem() -> None:
    error = InputError("no end", hint="copy again", path="/x/y", line=3, byte=9)
    assert Problem.from_error(error, "y") == Problem("y", "unreadable", "no end", 3, 9, "copy again")
    cut = TensorError("cut-off", "short", path="/x/z.npy", byte=5)
    assert Problem.from_error(cut, "z.npy").kind == "cut-off"


def test_merged_names_the_ranks_and_takes_the_preferred_figures() -> None:
    three = [finding(rank=rank, cosine=rank / 10, basis="tensor" if rank == 2 else "x") for rank in (3, 1, 2)]
    (one,) = merged(three, is_preferred=lambda f: f.figures["basis"] == "tensor")
    assert one.figures == {"cosine": 0.2, "basis": "tensor", "ranks": [1, 2, 3], "steps": []}
    assert merged(three)[0].figures["cosine"] == 0.3
    assert merged([finding(rank=4)]) == [finding(rank=4)], "alone it stays as it is"


def test_the_title_of_a_report() -> None:
    assert Report("precision", "r", "pass").title == "r"
    assert Report("precision", "r", "pass", target="a", golden="b").title == "r: a against b"
    assert Report("precision", "/t", "pass", target="/t", golden="/g").title == "/t against /g"
    assert Report("precision", "r", "pass", target="a").title == "r: a"


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567, "1,234,567"), (0.95661, "0.9566"), (0.99998523, "0.9999852"), (0.99999999, "1.0000000"),
     (1.0, "1"), (1e-9, "1e-09"), (0.995, "0.995")],
)  # fmt: skip
def test_number(value: float, text: str) -> None:
    assert number(value) == text
