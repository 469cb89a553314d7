"""What a worker does with a rank-step of both captures: read, pair, measure, judge. Columns come back.

For `core.scale.results_as_known`. A job holds paths and what was asked; the dumps' text and the tensors stay
with the worker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from npulse.core.cache import Cache
from npulse.core.calls.captures import read_capture
from npulse.core.calls.live import LiveRank
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import Construct, Dump
from npulse.core.progress import ignore_progress, never_cancelled
from npulse.core.run.model import Artifact
from npulse.core.run.sides import CapturePair, Declared
from npulse.core.scale import InlineExecutor

from ..captured import Loaded, PairCalls, jobs_of, load
from ..live import Known
from ..mixed.dtype_map import PrecisionMap
from ..mixed.judge_by import Judged, judge_by
from ..reading import remember
from ..reading.needed import where_needed
from ..role_records import Roles
from ..rows import Rows, TensorRows
from ..splits.even import may_hold_parts
from ..splits.model import Part, Side, Split
from ..verdict import Criteria

Move = Callable[[Path], Path]


@dataclass(frozen=True, slots=True)
class RankJob:
    """One rank-step of both captures. is_whole: its tensors are read there too, else it is only loaded.

    is_trained: the captures hold an earlier step. cache: of this host, None where the work is done elsewhere.
    """

    target: Artifact
    golden: Artifact
    target_root: Path
    golden_root: Path
    declared: Declared
    criteria: Criteria
    pair_calls: PairCalls
    precision_map: PrecisionMap | None = None
    is_whole: bool = True
    is_trained: bool = False
    second_read: bool = True
    sample: bool = False
    where_needed: bool = False
    cache: Cache | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """What a worker has to see."""
        return self.target.path, self.golden.path

    def moved(self, move: Move) -> RankJob:
        """The same job where another host names the folders otherwise."""
        rule = self.declared.fusion_rule
        return replace(
            self,
            target=replace(self.target, path=move(self.target.path)),
            golden=replace(self.golden, path=move(self.golden.path)),
            target_root=move(self.target_root),
            golden_root=move(self.golden_root),
            declared=replace(self.declared, fusion_rule=None if rule is None else move(rule)),
        )

    def pair(self) -> CapturePair:
        """This rank-step alone as a pair."""
        return CapturePair(
            "",
            (self.target,),
            (self.golden,),
            target_root=self.target_root,
            golden_root=self.golden_root,
            declared=self.declared,
        )


@dataclass(frozen=True, slots=True)
class RankDone:
    """A rank-step as its worker leaves it. is_read: its rows are judged, by elements where there are some.

    problems: of the dumps, unread: of the tensors. roles: as far as the rank alone tells, if no earlier step
    differs; None where that is for the others to say. first: the first origin's name, "" for none.
    unkept: why results could not be kept, "" where they could.
    """

    rows: Rows
    tensors: TensorRows
    construct: Construct | None
    problems: tuple[Problem, ...]
    is_read: bool
    unread: tuple[Problem, ...] = ()
    judged: Judged | None = None
    roles: Roles | None = None
    first: str = ""
    unkept: str = ""

    def moved(self, move: Move) -> RankDone:
        """The same where another host names the folders otherwise."""
        rows = self.rows
        target, golden = rows.target.moved(move), rows.golden.moved(move)
        dumps = {id(rows.target): target, id(rows.golden): golden}
        splits = {row: _split_moved(split, dumps, move) for row, split in rows.splits.items()}
        return replace(self, rows=replace(rows, target=target, golden=golden, splits=splits))

    def loaded(self, target: Artifact, golden: Artifact) -> Loaded:
        """As if it had been loaded here."""
        self.rows.with_empty()
        sides = LiveRank(self.rows.target), LiveRank(self.rows.golden)
        return Loaded(
            self.rows, self.tensors, self.construct, list(self.problems), Known(), sides, (target, golden)
        )


def compare_rank(job: RankJob) -> RankDone:
    """The rank-step compared as far as it alone can be. InputError where one of its dumps cannot be used."""
    from ..compare import Settings, read_tensors
    from ..judge import first_walk
    from ..settle import settle_statistics

    pair = job.pair()
    as_read = remember.stamp(job.paths) if job.cache else None
    one = load(
        pair,
        job.target,
        job.golden,
        pair_calls=job.pair_calls,
        criteria=job.criteria,
        tails=None,
        progress=ignore_progress,
        is_cancelled=never_cancelled,
    )
    rows = one.rows
    done = RankDone(rows, one.tensors, one.construct, tuple(one.problems), is_read=False)
    if job.is_whole and not may_hold_parts(rows):
        judged = None
        if job.precision_map is not None:
            judged = judge_by(job.precision_map, rows, one.tensors, one.construct)
        settings = Settings(
            criteria=job.criteria, second_read=job.second_read, sample=job.sample, cache=job.cache
        )
        jobs = jobs_of(pair, one, is_followed=False)
        if job.where_needed:
            jobs = where_needed(rows, one.tensors, jobs, job.criteria)
        unread = read_tensors(InlineExecutor(), one, jobs, settings, as_read)
        settle_statistics(rows, one.tensors, job.criteria)
        roles = None
        if not rows.unordered:  # whether another order counts is for the roles of all ranks to say
            roles, _ = first_walk(one, job.criteria, is_later=False, is_trained=job.is_trained)
        first = ""
        if roles is not None and roles.origins:
            first = rows.pairing.name(rows.target, rows.golden, roles.origins[0].call)
        unkept = job.cache.trouble if job.cache is not None else ""
        done = replace(
            done,
            is_read=True,
            unread=tuple(unread),
            judged=judged,
            roles=roles,
            first=first,
            unkept=unkept,
        )
    rows.without_empty()
    return done


@dataclass(frozen=True, slots=True)
class SideJob:
    """The dump of one rank-step."""

    artifact: Artifact
    root: Path
    declared: Declared

    @property
    def paths(self) -> tuple[Path, ...]:
        """What a worker has to see."""
        return (self.artifact.path,)

    def moved(self, move: Move) -> SideJob:
        """The same job where another host names the folders otherwise."""
        rule = self.declared.fusion_rule
        return replace(
            self,
            artifact=replace(self.artifact, path=move(self.artifact.path)),
            root=move(self.root),
            declared=replace(self.declared, fusion_rule=None if rule is None else move(rule)),
        )


def read_side(job: SideJob) -> Dump:
    """The dump, nothing of its tensors read. InputError."""
    return read_capture(job.artifact, job.root, job.declared, ignore_progress, never_cancelled)


def _split_moved(split: Split, dumps: dict[int, Dump], move: Move) -> Split:
    def part_moved(part: Part) -> Part:
        return part._replace(dump=dumps.get(id(part.dump), part.dump), root=move(part.root))

    def side_moved(side: Side) -> Side:
        return replace(side, parts=tuple(map(part_moved, side.parts)))

    return replace(
        split,
        target=side_moved(split.target),
        golden=side_moved(split.golden),
        parts=tuple(map(part_moved, split.parts)),
    )
