"""What every area is asked, and what it answers: the door between the commands and the analyses.

An area that is built has a module with two functions, named by `core/areas.py`:

    reports_of(run, options, *, progress, is_cancelled) -> tuple[AreaReport, ...]
        all that the area can say of a run, round by round; () where it finds nothing of its own
    report_of(paths, options, *, progress, is_cancelled) -> AreaReport
        the one report that the paths and options of a command mean; InputError where there is none
"""

from __future__ import annotations

from dataclasses import dataclass

from .cache import Cache
from .findings import Report
from .text import Lang


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """The options of a command as an area gets them; each area says in `notes` which of them it cannot use.

    criteria: thresholds as the user wrote them; only the area knows their names. jobs: worker processes
    (0: as many as processors). cluster: a Dask scheduler. cache: None keeps and reads nothing.
    """

    lang: Lang = "en"
    tables: bool = False
    round_name: str | None = None
    pair_name: str | None = None
    rank: int | None = None
    step: int | None = None
    criteria: str | None = None
    jobs: int = 0
    cluster: str | None = None
    cache: Cache | None = None


@dataclass(frozen=True, slots=True)
class AreaReport:
    """A report and what it is of. round: "" where the run has one. name: a pair or capture of the round.

    notes: what the user should hear about the choice that was made for them, one line each.
    """

    round: str
    name: str
    report: Report
    notes: tuple[str, ...] = ()
