"""A rank-step of both captures before its tensors are read: two dumps, their pairing, what is to measure."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from npulse.core.calls.captures import read_capture
from npulse.core.calls.live import LiveRank, read_beside, read_live_rank
from npulse.core.calls.rank import hierarchy_of, stacks_of
from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.columns import sharing
from npulse.core.formats.msprobe.records import Construct, Dump, Stacks
from npulse.core.progress import IsCancelled, ProgressCallback
from npulse.core.run.captures import LIVE_KINDS
from npulse.core.run.model import Artifact
from npulse.core.run.sides import CapturePair
from npulse.core.tails import Tails

from .live import Growth, Known, growth_of, so_far
from .pairing import Beside, Pairing
from .reading.jobs import Jobs, tensor_jobs
from .rows import Rows, TensorRows, new_rows, tensor_rows
from .settle import settle_values
from .verdict import Criteria

PairCalls = Callable[[Dump, Dump, Beside], Pairing]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A rank-step of both sides before its tensors are read. known: what earlier looks measured."""

    rows: Rows
    tensors: TensorRows
    construct: Construct | None
    problems: list[Problem]
    known: Known
    sides: tuple[LiveRank, LiveRank]
    artifacts: tuple[Artifact, Artifact]
    growth: Growth | None = None
    n_open: int = 0

    def with_open(self, n_open: int) -> Loaded:
        """With the number of files that are named and half written."""
        if self.growth is None:
            return self
        growth = replace(self.growth, n_pending=self.growth.n_pending + n_open)
        return replace(self, growth=growth, n_open=n_open)


def read_sides(
    pair: CapturePair,
    artifacts: tuple[Artifact, Artifact],
    tails: Tails | None,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> tuple[LiveRank, LiveRank]:
    """The dumps of target and golden. InputError, Cancelled."""

    def read(artifact: Artifact, root: Path) -> LiveRank:
        if tails is None or artifact.kind not in LIVE_KINDS:
            return LiveRank(read_capture(artifact, root, pair.declared, progress, is_cancelled))
        return read_live_rank(artifact.path, root, tails, progress, is_cancelled)

    target, golden = (read(a, pair.root_of(s)) for a, s in zip(artifacts, ("target", "golden"), strict=True))
    if tails is None:  # what is followed is known again by its records
        golden = replace(golden, dump=sharing(golden.dump, target.dump))
    return target, golden


def paired(pair: CapturePair, target: Dump, golden: Dump, pair_calls: PairCalls) -> Pairing:
    """The calls of two dumps of a pair, paired as a comparison pairs them."""
    sides = LiveRank(target), LiveRank(golden)
    hierarchies = _Hierarchies(pair, sides, None, [])
    return pair_calls(target, golden, Beside(hierarchies.both, _stacks_of_both(pair, sides)))


def load(
    pair: CapturePair,
    target: Artifact,
    golden: Artifact,
    *,
    pair_calls: PairCalls,
    criteria: Criteria,
    tails: Tails | None,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
    read: dict[Path, LiveRank] | None = None,
    measured: dict[Any, Any] | None = None,
) -> Loaded:
    """Both dumps read and their calls paired; values are judged, tensors not yet. InputError, Cancelled.

    read: dumps that have been read already, by path; new ones are put into it. measured: where what was
    measured is kept for the next comparison, when nothing is followed.
    """
    read = {} if read is None else read
    if target.path not in read or golden.path not in read:
        sides = read_sides(pair, (target, golden), tails, progress, is_cancelled)
        read.update({target.path: sides[0], golden.path: sides[1]})
    live = read[target.path], read[golden.path]
    dumps = [side.dump for side in live]
    problems = [problem for dump in dumps for problem in dump.problems]
    hierarchies = _Hierarchies(pair, live, tails, problems)
    beside = Beside(hierarchies.both, _stacks_of_both(pair, live))
    pairing, n_to_come = so_far(pair_calls(dumps[0], dumps[1], beside), *live)
    rows = new_rows(pairing, dumps[0], dumps[1])
    construct = _hierarchy(rows, hierarchies)
    tensors = tensor_rows(rows)
    settle_values(rows, criteria)
    kept = measured if tails is None else tails.kept
    known = Known() if kept is None else kept.setdefault(("known", target.path, golden.path), Known())
    growth = growth_of(*live, n_to_come)
    return Loaded(rows, tensors, construct, problems, known, live, (target, golden), growth)


class _Hierarchies:
    """construct.json of both sides, each read once and if asked for; what is wrong goes to `problems`."""

    def __init__(
        self,
        pair: CapturePair,
        sides: tuple[LiveRank, LiveRank],
        tails: Tails | None,
        problems: list[Problem],
    ) -> None:
        self._pair, self._sides, self._tails, self._problems = pair, sides, tails, problems
        self._read: dict[int, Construct | None] = {}

    def of(self, side: int) -> Construct | None:
        """The hierarchy of the target (0) or the golden side (1)."""
        if side not in self._read:
            self._read[side] = self._of(
                self._sides[side], (self._pair.target_root, self._pair.golden_root)[side]
            )
        return self._read[side]

    def both(self) -> tuple[Construct | None, Construct | None]:
        return self.of(0), self.of(1)

    def _of(self, side: LiveRank, root: Path) -> Construct | None:
        def read(found: list[Problem]) -> Construct | None:
            return hierarchy_of(side.dump, root, found, self._pair.relative)

        if self._tails is None:
            return read(self._problems)
        return read_beside(side, "construct.json", self._tails, self._problems, read)


def _hierarchy(rows: Rows, hierarchies: _Hierarchies) -> Construct | None:
    """The target's hierarchy, and what the golden one says of calls that the target does not have."""
    construct = hierarchies.of(0)
    if not (rows.pairing.target_call < 0).any():
        return construct
    other = hierarchies.of(1)
    if construct is None or other is None:
        return construct or other
    return replace(construct, parents={**other.parents, **construct.parents})


_MAX_STACK_BYTES = 256 << 20
"""A larger stack.json is not read just to pair by it."""


def _stack_bytes(dump: Dump) -> int:
    path = dump.path.parent / "stack.json"
    return os.lstat(path).st_size if os.path.lexists(path) else 0


def _stacks_of_both(
    pair: CapturePair, sides: tuple[LiveRank, LiveRank]
) -> Callable[[Sequence[str], Sequence[str]], tuple[Stacks | None, Stacks | None]]:
    """Call stacks of some entries, to pair by; a broken file is told of where stacks are shown."""

    def read(target: Sequence[str], golden: Sequence[str]) -> tuple[Stacks | None, Stacks | None]:
        roots = (pair.target_root, pair.golden_root)
        if any(_stack_bytes(side.dump) not in range(1, _MAX_STACK_BYTES) for side in sides):
            return None, None
        one, other = (
            stacks_of(side.dump, root, [], pair.relative, only=names)
            for side, root, names in zip(sides, roots, (target, golden), strict=True)
        )
        return one, other

    return read


def unread_bytes(tensors: TensorRows, known: Known, jobs: Jobs) -> float:
    """About how much is to be read of tensors that were not measured before."""
    return float(np.nansum(tensors.n_elements[jobs.places[known.unmeasured(jobs)]]) * 4)


def jobs_of(pair: CapturePair, one: Loaded, *, is_followed: bool) -> Jobs:
    """One job for each pair of tensors; is_followed: what earlier looks measured may be known."""
    jobs = tensor_jobs(one.rows, one.tensors, pair.root_of("target"), pair.root_of("golden"))
    if is_followed:
        one.known.take_stamps(jobs)
    return jobs


def stacks_beside(
    pair: CapturePair, target: LiveRank, tails: Tails | None, problems: list[Problem]
) -> Stacks | None:
    """The target's call stacks."""

    def read(found: list[Problem]) -> Stacks | None:
        return stacks_of(target.dump, pair.target_root, found, pair.relative)

    return read(problems) if tails is None else read_beside(target, "stack.json", tails, problems, read)
