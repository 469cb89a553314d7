"""The JSON of contract.md: one object, no NaN tokens, figures never rounded, no control characters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from npulse.core.criteria import AreaState, CheckUp, CriterionResult
from npulse.core.findings import Finding, Problem, Related, Report
from npulse.core.table import Table

from .blocks import blocks, json_rows, json_text
from .dossier import Dossier

SCHEMA = 1


def plain(value: Any) -> Any:
    """A JSON-safe copy: NaN and infinities as the strings "nan", "inf", "-inf"; numpy values as Python's."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(v) for v in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def to_dict(report: Report, version: str) -> dict[str, Any]:
    """The whole report as plain values, keys as the contract names them."""
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "npulse": version,
        "command": report.command,
        "run": report.run,
        "target": report.target,
        "golden": report.golden,
        "verdict": report.verdict,
        "artifacts": [_artifact_dict(a) for a in report.artifacts],
        "findings": [finding_dict(f) for f in report.findings],
        "counts": dict(report.counts),
        "summary": plain(report.summary),
        "problems": [problem_dict(p) for p in report.problems],
    }
    if report.tables:
        body["tables"] = {name: list(rows_of(table)) for name, table in report.tables.items()}
    return body


def _artifact_dict(artifact: Any) -> dict[str, Any]:
    return {
        "kind": artifact.kind,
        "path": artifact.relative,
        "rank": artifact.rank,
        "step": artifact.step,
        "side": artifact.side,
        "completeness": artifact.completeness,
        "size_bytes": artifact.size_bytes,
    }


def finding_dict(finding: Finding) -> dict[str, Any]:
    """One finding with the contract's keys."""
    at = finding.location
    return {
        "area": finding.area,
        "severity": finding.severity,
        "rule": finding.rule,
        "role": finding.role,
        "subject": finding.subject,
        "figures": plain(finding.figures),
        "related": [_related(r) for r in finding.related],
        "location": {
            "artifact": at.artifact,
            "rank": at.rank,
            "step": at.step,
            "row": at.row,
            "line": at.line,
            "byte": at.byte,
        },
        "message": finding.message,
        "source": finding.source,
        "next": finding.next_step,
    }


def _related(related: Related) -> dict[str, Any]:
    return {"role": related.role, "subject": related.subject, "figures": plain(related.figures)}


def problem_dict(problem: Problem) -> dict[str, Any]:
    """One problem with the contract's keys."""
    return {
        "artifact": problem.artifact,
        "line": problem.line,
        "byte": problem.byte,
        "kind": problem.kind,
        "message": problem.message,
        "hint": problem.hint,
    }


def rows_of(table: Table) -> Iterator[dict[str, Any]]:
    """The exported cells of each row, one row after the other, JSON-safe."""
    names = [column.name for column in table.exported]
    for columns in blocks(table):
        for row in zip(*columns, strict=True):
            yield plain(dict(zip(names, row, strict=True)))


def render_json(report: Report, version: str) -> Iterator[str]:
    """The object in pieces; tables are written block by block so that a million rows need no memory."""
    text = json_text(to_dict(replace(report, tables={}), version), indent=1)
    if not report.tables:
        yield text + "\n"
        return
    yield text.removesuffix("\n}") + ',\n "tables": {'
    for number, (name, table) in enumerate(report.tables.items()):
        yield ("," if number else "") + f"\n  {json_text(name)}: ["
        for block, rows in enumerate(json_rows(table)):
            yield ("," if block else "") + "\n   " + ",\n   ".join(rows)
        yield "\n  ]"
    yield "\n }\n}\n"


def render_jsonl(report: Report, version: str) -> Iterator[str]:
    """One line a finding, one a problem, one a table row, and a last line with all that is said once."""
    for finding in report.findings:
        yield _line({"kind": "finding", **finding_dict(finding)})
    for problem in report.problems:
        body = problem_dict(problem)
        yield _line({"kind": "problem", "problem": body.pop("kind"), **body})
    for name, table in report.tables.items():
        for rows in json_rows(table, f'"kind": "row", "table": {json_text(name)}, '):
            yield "\n".join(rows) + "\n"
    once = to_dict(replace(report, tables={}), version)
    yield _line({"kind": "summary"} | {k: v for k, v in once.items() if k not in ("findings", "problems")})


def _line(body: dict[str, Any]) -> str:
    return json_text(body) + "\n"


def render_dossier(dossier: Dossier, version: str) -> Iterator[str]:
    """One object: the check-up, and every report as its own command prints it, without tables."""
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "npulse": version,
        "command": "report",
        "run": dossier.check_up.run,
        "title": dossier.title or None,
        "made": dossier.made or None,
        "verdict": dossier.check_up.state,
        "exit_code": dossier.exit_code(),
        "checkup": check_up_dict(dossier.check_up),
        "reports": [
            {"round": one.round, "name": one.name, "notes": list(one.notes)}
            | to_dict(replace(one.report, tables={}), version)
            for one in dossier.reports
        ],
        "story": dossier.story and to_dict(replace(dossier.story, tables={}), version),
    }
    yield json_text(body, indent=1) + "\n"


def check_up_dict(check_up: CheckUp) -> dict[str, Any]:
    """A check-up as plain values, keys as the contract names them."""
    return {
        "run": check_up.run,
        "round": check_up.round or None,
        "verdict": check_up.state,
        "criteria_file": check_up.criteria_file or None,
        "first": check_up.first or None,
        "why_first": check_up.why_first,
        "areas": [_area_dict(area) for area in check_up.areas],
    }


def _area_dict(area: AreaState) -> dict[str, Any]:
    return {
        "area": area.area,
        "verdict": area.state,
        "headline": area.headline,
        "recorded": area.recorded or None,
        "is_counted": area.is_counted,
        "is_trusted": area.is_trusted,
        "distrusted_by": area.distrusted_by or None,
        "missing": area.missing,
        "next": area.next_step,
        "origin": area.origin and finding_dict(area.origin),
        "criteria": [_criterion_dict(one) for one in area.criteria],
    }


def _criterion_dict(one: CriterionResult) -> dict[str, Any]:
    return {
        "id": one.id,
        "title": one.title[0],
        "verdict": one.state,
        "needs": one.needs,
        "value": plain(one.value),
        "shown": one.shown,
        "unit": one.unit,
        "subject": one.subject,
        "why": one.why,
        "next": one.next_step,
        "set_aside": one.set_aside and finding_dict(one.set_aside),
    }
