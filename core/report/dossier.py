"""What a report file holds: the check-up, every area's report of every round, and the rounds' story.

Gathered by `core/dossier.py`; the renderers of this folder take it as it is and compute nothing of it anew.
"""

from __future__ import annotations

from collections.abc import Iterator

from npulse.core.analysis import AreaReport
from npulse.core.areas import AREAS
from npulse.core.criteria import CheckUp
from npulse.core.dataclass import dataclass
from npulse.core.findings import Finding, Problem, Report

_OF_COMMAND = {"doctor": "environment"} | {area.command: area.id for area in AREAS}


@dataclass(frozen=True, slots=True)
class Dossier:
    """Plain records of one run, in the order in which they are shown.

    reports: of every area, its rounds oldest first; with their tables where charts are wanted. story: what
    changed from round to round, None where there is one round alone. title: in place of the run's name.
    made: when, as the clock on the wall shows it; "" leaves it out.
    """

    check_up: CheckUp
    reports: tuple[AreaReport, ...] = ()
    story: Report | None = None
    title: str = ""
    made: str = ""

    @property
    def name(self) -> str:
        """What stands on top: the title that was given, else the run."""
        return self.title or self.check_up.run

    @property
    def all_reports(self) -> tuple[Report, ...]:
        """Every area's, then the story."""
        own = tuple(one.report for one in self.reports)
        return own if self.story is None else (*own, self.story)

    def newest_first(self) -> Iterator[AreaReport]:
        """The reports in which order they are read: area by area, the newest round first."""
        for area in dict.fromkeys(area_of_report(one.report) for one in self.reports):
            yield from reversed([one for one in self.reports if area_of_report(one.report) == area])

    def findings(self) -> Iterator[tuple[str, Finding]]:
        """(round, finding), area by area and the newest round first; the story's at the end."""
        for told in self.newest_first():
            yield from ((told.round, finding) for finding in told.report.findings)
        if self.story is not None:
            yield from ((finding.subject, finding) for finding in self.story.findings)

    def problems(self) -> tuple[Problem, ...]:
        """What could not be read, each once."""
        return tuple(dict.fromkeys(one for report in self.all_reports for one in report.problems))

    def exit_code(self, *, strict: bool = False) -> int:
        """0 pass or warn (strict: warn is 1), 1 fail, 4 unknown or incomplete: what the check-up says."""
        state = self.check_up.state
        return {"fail": 1, "pass": 0, "warn": int(strict)}.get(state, 4)


def dossier_of(check_up: CheckUp, *, title: str = "", made: str = "") -> Dossier:
    """A check-up alone, with the reports that it was made of."""
    reports = tuple(told for area in check_up.areas for told in area.reports)
    return Dossier(check_up, reports, None, title, made)


def area_of_report(report: Report) -> str:
    """Which area of a check-up a report is of."""
    return _OF_COMMAND.get(report.command, report.command)
