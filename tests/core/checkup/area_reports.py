"""Reports of areas as the tests of the check-up need them."""

from __future__ import annotations

from typing import Any

from npulse.core.analysis import AreaReport
from npulse.core.findings import Finding, Problem, Report, Severity, Verdict

FILE = Problem("a.log", "cut-off", "cut off")


def finding(area: str, severity: Severity = "error", rule: str = "", **more: Any) -> Finding:
    role = {"error": "origin", "warning": "suspect", "note": "benign"}[severity]
    return Finding(area, severity, rule or f"{area}.rule", role, "the.subject", "message", **more)  # type: ignore[arg-type]


def of(area: str, verdict: Verdict, *findings: Finding, round_name: str = "", **more: Any) -> AreaReport:
    return AreaReport(round_name, "", Report(area, "run", verdict, findings=findings, **more))


def in_state(area: str, verdict: Verdict) -> AreaReport:
    """A report of the area that says so by itself."""
    golden = "golden" if area == "precision" else None
    told = {"fail": (finding(area),), "warn": (finding(area, "warning"),)}.get(verdict, ())
    problems = (FILE,) if verdict == "incomplete" else ()
    summary = {"is_complete": verdict in ("pass", "warn")}
    return of(
        area,
        verdict,
        *told,
        problems=problems,
        golden=golden,
        counts={"rank_steps": 1, "pairs": 1},
        summary=summary,
    )
