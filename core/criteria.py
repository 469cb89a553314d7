"""What a criterion asked for and what came of it: the check-up's answer as plain records.

Made by `core/checkup`, shown by the pane, written by `core/report`, compared by `core/rounds`.
"""

from __future__ import annotations

from npulse.core.dataclass import dataclass

from .analysis import AreaReport
from .findings import Finding, Verdict


@dataclass(frozen=True, slots=True)
class CriterionResult:
    """One criterion, judged.

    id: area and key as they stand in the criteria file ("precision.cosine"). title: (en, zh). needs: what was
    asked for, with its unit (">= 0.99"); limit: the number of it, None for a yes or no; is_higher_better:
    whether it is the least that will do. value: the figure that was found, None where there is none; shown:
    the same for people, "?" for none. unit: as in names of figures ("ms", "us"), "" for counts and ratios.
    subject: what showed it. why: one line. next_step: the command that gets what is missing or looks closer.
    set_aside: the finding that it would be, where a silence or a baseline accepts it: it passes then.
    """

    id: str
    title: tuple[str, str]
    state: Verdict
    needs: str
    value: float | None = None
    shown: str = "?"
    unit: str = ""
    subject: str = ""
    why: str = ""
    next_step: str = ""
    set_aside: Finding | None = None
    limit: float | None = None
    is_higher_better: bool = False


@dataclass(frozen=True, slots=True)
class AreaState:
    """An area against its criteria. state: the worst of its criteria and of its own report's verdict.

    headline: what there is to say of it in one line. reports: of its rounds that were looked at, the newest
    last; () where it found nothing of its own. origin: the finding to look at first. is_trusted: False where
    the figures mean nothing because of an area before it (`distrusted_by`: its id). is_counted: False where
    nothing was recorded that could be judged and nobody asked for the area: it is told, and left out of the
    state over all. recorded: where its reports are those of a pack, when they were made; "" where they are
    of now.
    """

    area: str
    state: Verdict
    headline: str
    criteria: tuple[CriterionResult, ...] = ()
    reports: tuple[AreaReport, ...] = ()
    origin: Finding | None = None
    missing: str = ""
    next_step: str = ""
    distrusted_by: str = ""
    is_counted: bool = True
    recorded: str = ""

    @property
    def is_trusted(self) -> bool:
        return not self.distrusted_by


@dataclass(frozen=True, slots=True)
class CheckUp:
    """All areas in the order in which they are asked: what a later one says rests on those before it.

    run: path as it was given. round: the one that was asked for, "" for the newest of each area. first: the
    area to open first, "" where none has anything to say; why_first: why that one, one line. criteria_file:
    path of the file that was in force, "" for the bundled one.
    """

    run: str
    state: Verdict
    areas: tuple[AreaState, ...]
    round: str = ""
    first: str = ""
    why_first: str = ""
    criteria_file: str = ""
