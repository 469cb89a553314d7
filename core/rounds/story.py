"""The story of an archive: its rounds in time, what each changed in its configuration and in the figures.

Facts and configurations come from small files and are there at once; figures take as long as the areas take,
round by round, and what was compared or scanned before comes from their cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from npulse.core.analysis import AnalysisOptions, Newest
from npulse.core.areas import AREAS, Area, first_area
from npulse.core.errors import Cancelled, InputError, NpulseError
from npulse.core.findings import Problem, Verdict
from npulse.core.formats.manifest import RoundRecord, read_record
from npulse.core.progress import (
    IsCancelled,
    Progress,
    ProgressCallback,
    check,
    ignore_progress,
    never_cancelled,
)
from npulse.core.run.model import Round, Run

from .facts import Facts, facts_of
from .figures import BY_ID, Cell, State, cells_of, state_of
from .settings import Change, Groups, changes_between, groups_of

AREA = "rounds"
MANIFEST = "npulse.round"
_FIGURELESS = frozenset((AREA, "checkup"))
_STATE_OF_NOISE: Mapping[str, State] = {
    "better": "better",
    "worse": "worse",
    "noise": "same",
    "unknown": "unknown",
}


@dataclass(frozen=True, slots=True)
class AreaSaid:
    """What an area says of a round. rule, subject: of the finding that it puts first, "" without one."""

    area: str
    verdict: Verdict
    n_errors: int
    n_warnings: int
    rule: str
    subject: str


@dataclass(frozen=True, slots=True)
class StoryRow:
    """One round. index: its place in the run. area: the one that it was captured for.

    has_settings: whether it recorded how it was set up; is_first_recorded: no earlier one did. cells, states,
    since: by figure; since is the round that a figure is compared with. is_complete: all areas were asked.
    """

    index: int
    name: str
    area: str
    facts: Facts
    n_files: int
    size_bytes: int
    has_settings: bool
    is_first_recorded: bool
    changes: tuple[Change, ...] = ()
    cells: Mapping[str, Cell] = field(default_factory=dict)
    states: Mapping[str, State] = field(default_factory=dict)
    since: Mapping[str, str] = field(default_factory=dict)
    said: tuple[AreaSaid, ...] = ()
    is_complete: bool = False

    def of_state(self, *states: State) -> list[str]:
        """The figures that are in one of these states."""
        return [name for name, state in self.states.items() if state in states]


@dataclass(frozen=True, slots=True)
class Story:
    """rows: in time order. problems: of manifests, configurations and areas, each once."""

    root: Path
    rows: tuple[StoryRow, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def is_complete(self) -> bool:
        return all(row.is_complete for row in self.rows)


OnUpdate = Callable[[Story], None]


def story(
    run: Run,
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: OnUpdate | None = None,
) -> Story:
    """All rounds of a run. on_update: gets the story with its facts first, then after each round.

    An area that cannot read a round is a problem and leaves its figures out. Raises Cancelled.
    """
    rows, problems = rows_of(run)
    told = Story(run.path, tuple(rows), tuple(dict.fromkeys((*run.problems, *problems))))
    if on_update is not None and rows:
        on_update(told)
    asked = replace(options, tables=False, earlier=False, criteria=None, tails=None, pair_name=None)
    areas = [area for area in AREAS if area.is_built and area.id not in _FIGURELESS]
    newest: dict[str, tuple[str, Newest]] = {}
    latest: dict[str, tuple[str, Cell]] = {}
    for place, row in enumerate(rows):
        progress(Progress(AREA, place, len(rows), AREA))
        one, alone = replace(asked, round_name=row.name), _alone(run, run.rounds[row.index])
        cells: dict[str, Cell] = {}
        states: dict[str, State] = {}
        said: list[AreaSaid] = []
        for area in areas:
            check(is_cancelled)
            found = _ask(area, alone, one, problems, is_cancelled)
            if found is None:
                continue
            said.append(_said(area, found))
            own = cells_of(area.id, found.report.report)
            cells |= own
            states |= {name: state_of(BY_ID[name], _cell(latest, name), cell) for name, cell in own.items()}
            states |= _judged(area, newest.get(area.id), found, one, row.name, own, latest)
            newest[area.id] = row.name, found
        since = {name: latest[name][0] for name in cells if name in latest}
        latest |= {name: (row.name, cell) for name, cell in cells.items()}
        rows[place] = replace(
            row, cells=cells, states=states, since=since, said=tuple(said), is_complete=True
        )
        told = Story(run.path, tuple(rows), tuple(dict.fromkeys((*run.problems, *problems))))
        if on_update is not None and place + 1 < len(rows):
            on_update(told)
    progress(Progress(AREA, len(rows), len(rows), AREA))
    return told


def rows_of(run: Run) -> tuple[list[StoryRow], list[Problem]]:
    """The rounds in time order with facts and configuration, no figures; what could not be read.

    By the time at which they started where all rounds tell it, else in the order of the run.
    """
    problems: list[Problem] = []
    records = [(round_, *_record(run, round_, problems)) for round_ in run.rounds]
    facts = [_facts(round_, record, manifest) for round_, record, manifest in records]
    order = list(range(len(records)))
    if all(one.started_ns is not None for one in facts):
        order.sort(key=lambda index: (facts[index].started_ns or 0, index))
    recorded: dict[str, tuple[str, Mapping[str, str]]] = {}
    rows: list[StoryRow] = []
    for index in order:
        round_, record, _ = records[index]
        groups: Groups = groups_of(run, round_, record, problems)
        alone = replace(run, rounds=(round_,))
        rows.append(
            StoryRow(
                index=index,
                name=round_.name,
                area=facts[index].kind if facts[index].kind in _area_ids() else first_area(alone),
                facts=facts[index],
                n_files=len(round_.artifacts),
                size_bytes=sum(artifact.size_bytes for artifact in round_.artifacts),
                has_settings=bool(groups),
                is_first_recorded=not recorded.keys() & groups.keys(),
                changes=changes_between(recorded, groups),
            )
        )
        recorded |= {group: (round_.name, keys) for group, keys in groups.items()}
    return rows, problems


def _facts(round_: Round, record: RoundRecord | None, manifest: str) -> Facts:
    """Facts of a round; of an open one also whether this machine captures it at the moment."""
    facts = facts_of(round_, record, manifest)
    if facts.outcome != "open" or record is None:
        return facts
    from npulse.core.capture.switching import is_captured_now

    return replace(facts, is_running=is_captured_now(record.process))


def _area_ids() -> frozenset[str]:
    return frozenset(area.id for area in AREAS if area.is_built)


def _record(run: Run, round_: Round, problems: list[Problem]) -> tuple[RoundRecord | None, str]:
    """The round's own manifest, the one that lies highest, and its relative path."""
    found = sorted(
        (artifact for artifact in round_.artifacts if artifact.kind == MANIFEST),
        key=lambda artifact: artifact.relative.count("/"),
    )
    for manifest in found[:1]:
        try:
            root = run.path if run.path.is_dir() else None
            return read_record(manifest.path, root=root), manifest.relative
        except InputError as error:
            problems.append(Problem.from_error(error, manifest.relative))
            return None, manifest.relative
    return None, ""


def _alone(run: Run, round_: Round) -> Run:
    """The run with this round alone: an area looks at no other one, and is not told what is damaged there."""
    others = {one.name for one in run.rounds if one is not round_ and one.name}

    def is_elsewhere(problem: Problem) -> bool:
        parts = problem.artifact.split("/")
        return any(
            "/".join(parts[start:end]) in others for end in range(len(parts)) for start in (0, end - 1)
        )

    kept = tuple(problem for problem in run.problems if not is_elsewhere(problem))
    return replace(run, rounds=(round_,), problems=kept)


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


def _said(area: Area, found: Newest) -> AreaSaid:
    report = found.report.report
    counted = [finding.severity for finding in report.findings]
    first = next(iter(report.findings), None)
    return AreaSaid(
        area.id,
        report.verdict,
        counted.count("error"),
        counted.count("warning"),
        first.rule if first is not None else "",
        first.subject if first is not None else "",
    )


def _cell(latest: Mapping[str, tuple[str, Cell]], name: str) -> Cell | None:
    return latest[name][1] if name in latest else None


def _judged(
    area: Area,
    before: tuple[str, Newest] | None,
    after: Newest,
    options: AnalysisOptions,
    name: str,
    cells: Mapping[str, Cell],
    latest: Mapping[str, tuple[str, Cell]],
) -> dict[str, State]:
    """The states that the area itself judges, by how much its steps or calls differ on their own."""
    if before is None:
        return {}
    try:
        own = area.changes_of(before[1], after, options, (before[0], name))
    except InputError:
        return {}
    summary = own.report.summary if own is not None else {}
    verdict = _STATE_OF_NOISE.get(str(summary.get("step_verdict", "")))
    if verdict is None:
        return {}
    states: dict[str, State] = {}
    # what was judged is the step of the profile; without steps the whole wall time is the one step
    for figure, us, tolerance in (("step_ms", 1000.0, 0.05), ("wall_us", 1.0, 1e-6)):
        old, new = _cell(latest, figure), cells.get(figure)
        sides = ((old, summary.get("step_before_us")), (new, summary.get("step_after_us")))
        if all(_is_about(cell, us, judged, tolerance) for cell, judged in sides):
            states[figure] = verdict
    return states


def _is_about(cell: Cell | None, us: float, judged: object, tolerance: float) -> bool:
    if cell is None or cell.value is None or cell.is_doubtful or not isinstance(judged, int | float):
        return False
    return math.isclose(cell.value * us, judged, rel_tol=tolerance)
