"""The JSON of contract.md: one object, no NaN tokens, figures never rounded, no control characters."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from npulse.core.findings import Finding, Problem, Related, Report
from npulse.core.table import Table
from npulse.core.text import UNSAFE_CODES

SCHEMA = 1

# Inside strings only, so the text stays the same JSON; nothing a terminal obeys, no lone surrogate is left.
_ESCAPED = {code: json.dumps(chr(code))[1:-1] for code in UNSAFE_CODES if code >= 0x80} | {0x7F: "\\u007f"}


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
        "verdict": report.verdict,
        "artifacts": [
            {
                "kind": a.kind,
                "path": a.relative,
                "rank": a.rank,
                "step": a.step,
                "completeness": a.completeness,
                "size_bytes": a.size_bytes,
            }
            for a in report.artifacts
        ],
        "findings": [finding_dict(f) for f in report.findings],
        "counts": dict(report.counts),
        "summary": plain(report.summary),
        "problems": [problem_dict(p) for p in report.problems],
    }
    if report.tables:
        body["tables"] = {name: list(rows_of(table)) for name, table in report.tables.items()}
    return body


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
    """The rows of a table, one after the other, JSON-safe."""
    for row in range(table.n_rows):
        yield plain(table.row(row))


def render_json(report: Report, version: str) -> Iterator[str]:
    """The object in pieces; tables are written row by row so that a million rows need no memory."""
    body = to_dict(Report(**{**_fields(report), "tables": {}}), version)
    text = _dumps(body, indent=1)
    if not report.tables:
        yield text + "\n"
        return
    yield text.removesuffix("\n}") + ',\n "tables": {'
    for number, (name, table) in enumerate(report.tables.items()):
        yield ("," if number else "") + f"\n  {_dumps(name)}: ["
        for row, values in enumerate(rows_of(table)):
            yield ("," if row else "") + "\n   " + _dumps(values)
        yield "\n  ]"
    yield "\n }\n}\n"


def render_jsonl(report: Report, version: str) -> Iterator[str]:
    """One line a finding, one a problem, and a last line with verdict and counts."""
    for finding in report.findings:
        yield _line({"kind": "finding", **finding_dict(finding)})
    for problem in report.problems:
        body = problem_dict(problem)
        yield _line({"kind": "problem", "problem": body.pop("kind"), **body})
    for name, table in report.tables.items():
        for values in rows_of(table):
            yield _line({"kind": "row", "table": name, **values})
    yield _line(
        {
            "kind": "summary",
            "schema": SCHEMA,
            "npulse": version,
            "command": report.command,
            "run": report.run,
            "verdict": report.verdict,
            "counts": dict(report.counts),
        }
    )


def _line(body: dict[str, Any]) -> str:
    return _dumps(body) + "\n"


def _dumps(value: Any, indent: int | None = None) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return text if text.isascii() and "\x7f" not in text else text.translate(_ESCAPED)


def _fields(report: Report) -> dict[str, Any]:
    return {name: getattr(report, name) for name in Report.__slots__}
