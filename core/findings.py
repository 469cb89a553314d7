"""What an analysis says: findings, problems, and the report that carries them to pane, file and exit code.

Everything here is plain data. Readers make `Problem`s, analyses make `Finding`s, `core/report` and the
panes only show them.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from npulse.core.dataclass import dataclass

if TYPE_CHECKING:
    from .errors import NpulseError
    from .table import Table

Severity = Literal["error", "warning", "note"]
Role = Literal["origin", "inherited", "suspect", "benign", "unmatched", "unknown", "ok"]
Verdict = Literal["pass", "warn", "fail", "unknown", "incomplete"]
Completeness = Literal["complete", "in progress", "cut off", "raw", "unknown"]
Figures = Mapping[str, Any]
"""Figure name (with its unit: _us, _bytes, _ratio, _percent, _c) to number, text, or list of them."""


CLUSTER_GONE = "cluster-gone"
"""Kind of the problem that says of work handed to a cluster that nobody is left to do it."""


_PASSING_KINDS = frozenset((CLUSTER_GONE, "worker-died"))
_PASSING_REASONS = tuple(
    f": {os.strerror(number)}"
    for number in (
        *(errno.EIO, errno.ENFILE, errno.EMFILE, errno.ENOMEM, errno.EACCES, errno.EPERM, errno.EAGAIN),
        *(errno.ESTALE, errno.ETIMEDOUT, errno.EINTR, errno.ENOTCONN, errno.EHOSTDOWN),
    )
)
"""How the message of a problem ends that stands for an OSError of the moment."""


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

    `kind` is a short stable word: cut-off, missing, unreadable, changed, bad-record, bad-tensor, shape,
    outside-run, too-large, too-deep, encoding, limit.
    """

    artifact: str
    kind: str
    message: str
    line: int | None = None
    byte: int | None = None
    hint: str | None = None

    @classmethod
    def from_error(cls, error: NpulseError, artifact: str) -> Problem:
        """What an error says of a file, for work that goes on without it. Errors may name their `kind`."""
        kind = str(getattr(error, "kind", "unreadable"))
        return cls(artifact, kind, error.message, error.line, error.byte, error.hint)

    @property
    def is_passing(self) -> bool:
        """Whether the system refused to read: it may not at the next try, though no file has changed."""
        return self.kind in _PASSING_KINDS or self.message.endswith(_PASSING_REASONS)


@dataclass(frozen=True, slots=True)
class Related:
    """Another subject that belongs to a finding (first differing operator, a suspect upstream)."""

    role: Role
    subject: str
    figures: Figures = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of source text: its number, the text, whether it is the one that is meant."""

    number: int
    text: str
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at. The first finding of a report is the one to look at first.

    source: the user's line that made the call, 'file:line code', as it stands in the message; "" if unknown.
    told: evidence as aligned lines for people (programs read figures and related). code: source text around
    the place, where it was at hand.
    """

    area: str
    severity: Severity
    rule: str
    role: Role
    subject: str
    message: str
    next_step: str = ""
    source: str = ""
    figures: Figures = field(default_factory=dict)
    related: tuple[Related, ...] = ()
    location: Location = Location()
    told: tuple[str, ...] = ()
    code: tuple[CodeLine, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The answer of one command over one run: what `--format json` prints, what a pane shows.

    run: path of the run, or of the target where two paths were given. target, golden: names in the run, or
    paths; golden is None where nothing is compared, target where it is the run itself. told: counts and
    summary as lines for people, in the report's language; programs read `counts` and `summary`. beneath: the
    verdict if it had no finding, for those who set findings aside: what could not be judged is no pass.
    """

    command: str
    run: str
    verdict: Verdict
    artifacts: tuple[Any, ...] = ()
    findings: tuple[Finding, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    summary: Figures = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)
    target: str | None = None
    golden: str | None = None
    told: tuple[str, ...] = ()
    beneath: Verdict = "unknown"

    @property
    def title(self) -> str:
        """What was looked at, in one line: the run, and the two sides where there are two."""
        if self.target is None:
            return self.run
        sides = self.target if self.golden is None else f"{self.target} against {self.golden}"
        return sides if self.target == self.run else f"{self.run}: {sides}"

    def exit_code(self, *, strict: bool = False) -> int:
        """0 clean, 1 findings, 4 unknown or incomplete; `strict` counts warnings and notes as findings.

        3 where the cluster that did the work went away before it had seen all: what is known is no answer.
        """
        if any(problem.kind == CLUSTER_GONE for problem in self.problems):
            return 3
        if any(f.severity == "error" for f in self.findings):
            return 1
        if self.problems or self.verdict in ("unknown", "incomplete"):
            return 4
        return 1 if strict and self.findings else 0


_WORST_FIRST: tuple[Verdict, ...] = ("fail", "incomplete", "unknown", "warn", "pass")


def verdict_from(
    findings: Iterable[Finding], problems: Iterable[Problem] = (), *, has_unknown: bool = False
) -> Verdict:
    """fail, incomplete, unknown, warn or pass: what could not be read or judged is never a pass."""
    severities = {finding.severity for finding in findings}
    if "error" in severities:
        return "fail"
    if any(True for _ in problems):
        return "incomplete"
    if has_unknown:
        return "unknown"
    return "warn" if "warning" in severities else "pass"


def worst_verdict(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict over several reports; of none at all it is unknown."""
    return min(verdicts, key=_WORST_FIRST.index, default="unknown")


def worst_exit_code(codes: Iterable[int]) -> int:
    """The exit code over several reports: 3 before 1 (error) before 4 (incomplete) before 0; of none, 4."""
    return max(codes, key=(0, 4, 1, 3).index, default=4)


def with_problems(report: Report, problems: Iterable[Problem]) -> Report:
    """The report with further problems (those of discovery) in front; a pass becomes incomplete."""
    new = tuple(problem for problem in problems if problem not in report.problems)
    if not new:
        return report
    verdict: Verdict = "fail" if report.verdict == "fail" else "incomplete"
    return replace(report, problems=(*new, *report.problems), verdict=verdict, beneath="incomplete")


_WHOLE = re.compile(r"(?:rank|device) \d{1,9}")


def n_ranks_of(report: Report) -> int:
    """How many ranks the report's artifacts are of."""
    return len({artifact.rank for artifact in report.artifacts if artifact.rank is not None})


def key_of_finding(finding: Finding, run: str, *, is_one: bool) -> tuple[str, str]:
    """Rule and subject: by these a finding is the same in two runs.

    run: path of its run. is_one: neither run has more than one rank: what is said of a whole rank or device
    is then the same for another.
    """
    subject = finding.subject
    is_whole = subject == PurePath(run).name or (is_one and _WHOLE.fullmatch(subject) is not None)
    return finding.rule, "" if is_whole else subject


def merged(
    findings: Iterable[Finding], *, is_preferred: Callable[[Finding], bool] = lambda finding: True
) -> list[Finding]:
    """Findings of one rule and subject as one, with the ranks and steps that show it.

    The figures of the first one that is preferred (else of the first) stand for all.
    """
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule, finding.subject), []).append(finding)
    result = []
    for members in groups.values():
        best = next(filter(is_preferred, members), members[0])
        if len(members) > 1:
            ranks = sorted({f.location.rank for f in members if f.location.rank is not None})
            steps = sorted({f.location.step for f in members if f.location.step is not None})
            best = replace(best, figures={**best.figures, "ranks": ranks, "steps": steps})
        result.append(best)
    return result
