"""The rounds of an archive in time, with what small files tell of them: facts and configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from npulse.core.areas import AREAS, first_area
from npulse.core.criteria import CriterionResult
from npulse.core.errors import InputError
from npulse.core.findings import Problem, Verdict
from npulse.core.formats.manifest import RoundRecord, read_record
from npulse.core.run.manifest import manifest_of
from npulse.core.run.model import Round, Run

from .facts import Facts, facts_of
from .figures import Cell, State
from .inputs import InputTold
from .settings import Change, Groups, changes_between, groups_of


@dataclass(frozen=True, slots=True)
class AreaSaid:
    """What an area says of a round. verdict: also against its criteria. rule, subject: of the finding that it
    puts first, "" without one. is_counted: False where there was nothing that anybody could judge, and nobody
    asked for it (`AreaState`)."""

    area: str
    verdict: Verdict
    n_errors: int
    n_warnings: int
    rule: str
    subject: str
    is_counted: bool = True


@dataclass(frozen=True, slots=True)
class StoryRow:
    """One round. index: its place in the run. area: the one that it was captured for.

    has_settings: whether it recorded how it was set up; is_first_recorded: no earlier one did. cells, states,
    since: by figure; since is the round that a figure is compared with. against: the same states against the
    baseline, {} for the baseline itself or without one. criteria: those of the areas that it recorded;
    criterion_states: by id, against the last round before that has it. verdict: over these areas, None where
    it recorded none. input: what it was measured on; other_input: the last round before of which that is
    known, where it is another, else "". is_complete: all areas were asked.
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
    against: Mapping[str, State] = field(default_factory=dict)
    criteria: tuple[CriterionResult, ...] = ()
    criterion_states: Mapping[str, State] = field(default_factory=dict)
    verdict: Verdict | None = None
    said: tuple[AreaSaid, ...] = ()
    input: InputTold = InputTold()
    other_input: str = ""
    is_complete: bool = False

    def of_state(self, *states: State) -> list[str]:
        """The figures that are in one of these states."""
        return [name for name, state in self.states.items() if state in states]


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
    manifest = manifest_of(round_.artifacts)
    if manifest is None:
        return None, ""
    try:
        root = run.path if run.path.is_dir() else None
        return read_record(manifest.path, root=root), manifest.relative
    except InputError as error:
        problems.append(Problem.from_error(error, manifest.relative))
        return None, manifest.relative
