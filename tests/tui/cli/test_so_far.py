"""What a command says while workers still read."""

from __future__ import annotations

import pytest

from npulse.core.findings import Finding, Location, Report
from npulse.tui.cli import so_far


def so_far_report(n: int, *subjects: str) -> Report:
    findings = tuple(
        Finding(
            "precision",
            "error",
            "precision.operator",
            "origin",
            name,
            f"differs on {n}",
            location=Location(rank=2),
        )
        for name in subjects
    )
    return Report("precision", "/run", "unknown", findings=findings, told=(f"so far: {n} of 64 ranks",))


def test_the_first_finding_is_said_when_it_changes(capsys: pytest.CaptureFixture[str]) -> None:
    now_s = 0.0
    show = so_far.told_so_far("en", lambda: now_s)
    show(so_far_report(3, "soon"))
    now_s = so_far.SOON_S
    show(so_far_report(5))
    for n, names in ((9, ("relu", "add")), (12, ("relu",)), (61, ("linear\x1b[2J", "relu"))):
        show(so_far_report(n, *names))
    out, err = capsys.readouterr()
    assert not out
    assert err.split("\n")[:-1] == [
        "npulse: so far: 9 of 64 ranks; first: rank 2: relu: differs on 9",
        "npulse: so far: 61 of 64 ranks; first: rank 2: linear\N{SYMBOL FOR ESCAPE}[2J: differs on 61",
    ]
