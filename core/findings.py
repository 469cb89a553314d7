"""What an analysis says: findings, problems, and the report that carries them to pane, file and exit code.

Everything here is plain data. Readers make `Problem`s, analyses make `Finding`s, `core/report` and the
panes only show them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .table import Table

Severity = Literal["error", "warning", "note"]
Role = Literal["origin", "inherited", "suspect", "benign", "unmatched", "unknown", "ok"]
Verdict = Literal["pass", "warn", "fail", "unknown", "incomplete"]
Completeness = Literal["complete", "in progress", "cut off", "raw", "unknown"]
Figures = Mapping[str, Any]
"""Figure name (with its unit: _us, _bytes, _ratio, _percent, _c) to number, text, or list of them."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where a figure can be looked up. `artifact` is a path relative to the run where possible."""

    artifact: str | None = None
    rank: int | None = None
    step: int | None = None
    row: int | None = None
    line: int | None = None
    byte: int | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read. A file with problems is never clean.

    `kind` is a short stable word: cut-off, missing, unreadable, bad-record, bad-tensor, shape,
    outside-run, too-large, too-deep, encoding, limit.
    """

    artifact: str
    kind: str
    message: str
    line: int | None = None
    byte: int | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Related:
    """Another subject that belongs to a finding (first differing operator, a suspect upstream)."""

    role: Role
    subject: str
    figures: Figures = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at. The first finding of a report is the one to look at first."""

    area: str
    severity: Severity
    rule: str
    role: Role
    subject: str
    message: str
    next_step: str = ""
    figures: Figures = field(default_factory=dict)
    related: tuple[Related, ...] = ()
    location: Location = Location()


@dataclass(frozen=True, slots=True)
class Report:
    """The answer of one command over one run: what `--format json` prints, what a pane shows."""

    command: str
    run: str
    verdict: Verdict
    artifacts: tuple[Any, ...] = ()
    findings: tuple[Finding, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    summary: Figures = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)

    def exit_code(self, *, strict: bool = False) -> int:
        """0 clean, 1 findings, 4 unknown or incomplete; `strict` counts warnings and notes as findings."""
        if any(f.severity == "error" for f in self.findings):
            return 1
        if self.problems or self.verdict in ("unknown", "incomplete"):
            return 4
        return 1 if strict and self.findings else 0
