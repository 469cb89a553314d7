"""The story of an archive: its rounds in time, what each changed in its configuration and in the figures.

Facts and configurations come from small files and are there at once; figures take as long as the areas take,
round by round, and what was compared or scanned before comes from their cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from npulse.core.analysis import AnalysisOptions, AreaReport, Newest
from npulse.core.areas import AREAS, Area
from npulse.core.criteria import CheckUp, CriterionResult
from npulse.core.errors import Cancelled, NpulseError, UsageError
from npulse.core.findings import Problem
from npulse.core.progress import (
    IsCancelled,
    Progress,
    ProgressCallback,
    check,
    ignore_progress,
    never_cancelled,
)
from npulse.core.run.model import Round, Run
from npulse.core.run.sides import Capture, golden_round

from .figures import BY_ID, Cell, State, cells_of, state_of
from .inputs import AREAS as INPUT_AREAS
from .inputs import InputTold, is_other
from .noise import judged_by
from .rows import AreaSaid, StoryRow, rows_of
from .verdicts import FIGURE_OF, Milestone, change_of, milestones, results_of, verdict_of

if TYPE_CHECKING:
    from npulse.core.checkup.criteria_file import CriteriaFile
    from npulse.core.checkup.judge import Prepare

__all__ = ["AREA", "AreaSaid", "Story", "StoryRow", "rows_of", "story"]

AREA = "rounds"
_FIGURELESS = frozenset((AREA, "checkup"))


@dataclass(frozen=True, slots=True)
class Story:
    """rows: in time order. problems: of manifests, configurations and areas, each once.

    baseline: the round that all others are also compared with, "" for none. criteria_file: path of the file
    that was in force, "" for the bundled one. milestones: what became of each criterion; () until all figures
    are there.
    """

    root: Path
    rows: tuple[StoryRow, ...]
    problems: tuple[Problem, ...] = ()
    baseline: str = ""
    criteria_file: str = ""
    milestones: tuple[Milestone, ...] = ()

    @property
    def is_complete(self) -> bool:
        return all(row.is_complete for row in self.rows)


OnUpdate = Callable[[Story], None]


@dataclass(frozen=True, slots=True)
class _Asked:
    """One round, asked in every area."""

    found: Mapping[str, Newest]
    cells: Mapping[str, Cell]
    check_up: CheckUp
    problems: tuple[Problem, ...]

    @property
    def input(self) -> InputTold:
        told = self.found.get("precision")
        return InputTold() if told is None else InputTold.of(told.report.report)


def story(
    run: Run,
    options: AnalysisOptions,
    *,
    criteria: CriteriaFile | None = None,
    prepare: Prepare | None = None,
    baseline: str = "",
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: OnUpdate | None = None,
) -> Story:
    """All rounds of a run. criteria: what is asked of each, None for the bundled ones. prepare: what is done
    to every report before it is judged (silenced findings). baseline: name of a round that all others are
    compared with too. on_update: gets the story with its facts first, then after each round.

    An area that cannot read a round is a problem and leaves its figures out. Raises UsageError where no round
    is called `baseline`, Cancelled.
    """
    from npulse.core.checkup.criteria_file import default_criteria

    asked_for = criteria or default_criteria()
    rows, problems = rows_of(run)
    check_baseline(baseline, [row.name for row in rows])
    told = Story(
        run.path,
        tuple(rows),
        tuple(dict.fromkeys((*run.problems, *problems))),
        baseline,
        asked_for.path,
    )
    if on_update is not None and rows:
        on_update(told)
    teller = _Teller(run, options, asked_for, prepare, is_cancelled)
    base_row = next((row for row in rows if baseline and row.name == baseline), None)
    base = teller.ask(base_row) if base_row is not None else None
    latest = _Latest()
    for place, row in enumerate(rows):
        progress(Progress(AREA, place, len(rows), AREA))
        asked = base if base is not None and row.name == baseline else teller.ask(row)
        problems += asked.problems
        rows[place] = _told(row, asked, latest, teller)
        if base is not None and row.name != baseline:
            rows[place] = replace(rows[place], against=teller.states(base, asked, (baseline, row.name)))
        latest.take(row.name, asked)
        told = replace(
            told,
            rows=tuple(rows),
            problems=tuple(dict.fromkeys((*run.problems, *problems))),
        )
        if on_update is not None and place + 1 < len(rows):
            on_update(told)
    progress(Progress(AREA, len(rows), len(rows), AREA))
    return replace(told, milestones=milestones(rows))


def check_baseline(baseline: str, names: Sequence[str]) -> None:
    """UsageError where a baseline is asked for and no round has that name."""
    if baseline and baseline not in names:
        known = ", ".join(one for one in names if one) or "none"
        raise UsageError(f"no round '{baseline}' to be the baseline", hint=f"rounds: {known}")


class _Latest:
    """Of each area, figure and criterion the last round that has it."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[str, Newest]] = {}
        self.cells: dict[str, tuple[str, Cell]] = {}
        self.criteria: dict[str, tuple[str, CriterionResult]] = {}
        self.input: tuple[str, InputTold] = ("", InputTold())

    def take(self, name: str, asked: _Asked) -> None:
        self.found |= {area: (name, one) for area, one in asked.found.items()}
        self.cells |= {figure: (name, cell) for figure, cell in asked.cells.items()}
        self.criteria |= {one.id: (name, one) for one in results_of(asked.check_up)}
        if asked.input.text:
            self.input = name, asked.input


def _told(row: StoryRow, asked: _Asked, latest: _Latest, teller: _Teller) -> StoryRow:
    """A round against those before it."""
    cells = asked.cells
    old = {name: cell for name, (_, cell) in latest.cells.items()}
    states = {name: state_of(BY_ID[name], old.get(name), cell) for name, cell in cells.items()}
    for area, found in asked.found.items():
        if area in latest.found:
            since, before = latest.found[area]
            states |= teller.noise(area, before, found, (since, row.name), (old, cells))
    on_other = latest.input[0] if is_other(latest.input[1], asked.input) else ""
    if on_other:
        states = _without(states)
    since_of = {name: latest.cells[name][0] for name in cells if name in latest.cells}
    results = results_of(asked.check_up)
    changes: dict[str, State] = {}
    for result in results:
        since, earlier = latest.criteria.get(result.id, ("", None))
        figure = FIGURE_OF.get(result.id, "")
        is_told = bool(figure) and since_of.get(figure, "") == since
        changes[result.id] = change_of(earlier, result, states.get(figure, "") if is_told else "")
    return replace(
        row,
        cells=cells,
        states=states,
        since=since_of,
        criteria=results,
        criterion_states=changes,
        verdict=verdict_of(asked.check_up),
        said=tuple(_said(area, one, asked.check_up) for area, one in asked.found.items()),
        input=asked.input,
        other_input=on_other,
        is_complete=True,
    )


def _without(states: Mapping[str, State]) -> dict[str, State]:
    """States where two rounds were measured on two inputs: those of a captured step are unknown."""
    return {
        name: "unknown" if BY_ID[name].area in INPUT_AREAS and state != "first" else state
        for name, state in states.items()
    }


class _Teller:
    """Asks the areas of one round at a time."""

    def __init__(
        self,
        run: Run,
        options: AnalysisOptions,
        criteria: CriteriaFile,
        prepare: Prepare | None,
        is_cancelled: IsCancelled,
    ) -> None:
        self._run = run
        self._options = replace(
            options, tables=False, earlier=False, criteria=None, tails=None, pair_name=None
        )
        self._criteria = criteria
        self._prepare = prepare
        self._golden = golden_round(run)
        self._is_cancelled = is_cancelled
        self._areas = {area.id: area for area in AREAS if area.is_built and area.id not in _FIGURELESS}

    def ask(self, row: StoryRow) -> _Asked:
        """All that the areas say of one round, against the criteria."""
        from npulse.core.capture.recorded import archive_of
        from npulse.core.checkup.commands import RunFacts  # here: a pane that shows stories judges none
        from npulse.core.checkup.environment import environment_of
        from npulse.core.checkup.judge import as_it_is, judged

        alone = _alone(self._run, self._run.rounds[row.index], self._golden)
        asked = replace(self._options, round_name=row.name)
        problems: list[Problem] = []
        found: dict[str, Newest] = {}
        cells: dict[str, Cell] = {}
        for area in self._areas.values():
            check(self._is_cancelled)
            own = replace(asked, criteria=self._criteria.area_options(area.id))
            told = _ask(area, alone, own, problems, self._is_cancelled)
            if told is not None:
                cells |= cells_of(area.id, told.report.report)
                found[area.id] = replace(told, report=self._prepared(told.report))
        reports: dict[str, tuple[AreaReport, ...]] = {area: (one.report,) for area, one in found.items()}
        environment = environment_of(alone, None, asked.lang)
        if environment is not None:
            reports["environment"] = (self._prepared(environment),)
        manifest = row.facts.manifest
        archive = archive_of(self._run.path / manifest) if manifest else ""
        facts = RunFacts(str(self._run.path), row.facts.command, archive)
        check_up = judged(
            facts,
            reports,
            self._criteria,
            lang=asked.lang,
            round_name=row.name,
            prepare=self._prepare or as_it_is,
        )
        return _Asked(found, cells, check_up, tuple(problems))

    def _prepared(self, told: AreaReport) -> AreaReport:
        return told if self._prepare is None else replace(told, report=self._prepare(told.report))

    def noise(
        self,
        area: str,
        before: Newest,
        after: Newest,
        names: tuple[str, str],
        cells: tuple[Mapping[str, Cell], Mapping[str, Cell]],
    ) -> dict[str, State]:
        """The states that an area judges itself."""
        asked = replace(self._options, round_name=names[1])
        return judged_by(self._areas[area], before, after, asked, names, cells)

    def states(self, before: _Asked, after: _Asked, names: tuple[str, str]) -> dict[str, State]:
        """One round against any other; figures that the other does not have are left out."""
        states = {
            name: state_of(BY_ID[name], before.cells[name], cell)
            for name, cell in after.cells.items()
            if name in before.cells
        }
        for area in after.found.keys() & before.found.keys():
            sides = before.found[area], after.found[area]
            states |= self.noise(area, *sides, names, (before.cells, after.cells))
        return _without(states) if is_other(before.input, after.input) else states


def _alone(run: Run, round_: Round, golden: Capture | None) -> Run:
    """The run with this round alone: an area looks at no other one, and is not told what is damaged there.

    golden: of another round, which the others are compared with; it lies beside this one.
    """
    others = {one.name for one in run.rounds if one is not round_ and one.name}

    def is_elsewhere(problem: Problem) -> bool:
        parts = problem.artifact.split("/")
        return any(
            "/".join(parts[start:end]) in others for end in range(len(parts)) for start in (0, end - 1)
        )

    kept = tuple(problem for problem in run.problems if not is_elsewhere(problem))
    beside = golden.artifacts if golden is not None and golden.round != round_.name else ()
    return replace(run, rounds=(round_,), problems=kept, shared=(*run.shared, *beside))


def _ask(
    area: Area, run: Run, options: AnalysisOptions, problems: list[Problem], is_cancelled: IsCancelled
) -> Newest | None:
    """What the area says of the one round; None where it finds nothing of its own or cannot read it."""
    try:
        found = area.newest_of(run, options, is_cancelled=is_cancelled)
    except Cancelled:
        raise
    except NpulseError as error:
        problems.append(Problem.from_error(error, options.round_name or run.path.name))
        return None
    if found is not None:
        problems += found.report.report.problems
    return found


def _said(area: str, found: Newest, check_up: CheckUp) -> AreaSaid:
    state = next(one for one in check_up.areas if one.area == area)
    report = found.report.report
    counted = [finding.severity for finding in report.findings]
    first = next(iter(report.findings), None)
    return AreaSaid(
        area,
        state.state,
        counted.count("error"),
        counted.count("warning"),
        first.rule if first is not None else "",
        first.subject if first is not None else "",
        state.is_counted,
    )
