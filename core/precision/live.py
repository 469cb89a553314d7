"""A comparison that goes on while the capture does: what is still to come, what was measured before.

While a side grows, calls that only the other side has behind everything that is paired are not there yet,
which is not the same as unmatched. Tensors are measured once, as long as both files stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from npulse.core.calls.live import KnownTensors, LiveRank
from npulse.core.dataclass import dataclass
from npulse.core.formats.msprobe.records import GRAD, OUTPUT, Dump

from .pairing import Ints, Pairing
from .reading.work import Examined, Measured, TensorJob
from .splits.model import PartsPlace
from .splits.place import places_of

_GRAD_PLACEHOLDER = ".parameters_grad"


@dataclass(frozen=True, slots=True)
class Growth:
    """What is not there yet of a rank-step that is being captured.

    n_pending: tensor files that lie there and cannot be compared yet, since no dump.json names them or they
    are half written; n_pending_calls: calls that no dump.json names. n_to_come: calls of the further side
    behind the last one that both have.
    """

    n_pending: int
    n_pending_calls: int
    n_to_come: int


def growth_of(target: LiveRank, golden: LiveRank, n_to_come: int) -> Growth | None:
    """None where neither side grows."""
    if not (target.is_growing or golden.is_growing):
        return None
    return Growth(
        target.n_pending + golden.n_pending, target.n_pending_calls + golden.n_pending_calls, n_to_come
    )


def so_far(pairing: Pairing, target: LiveRank, golden: LiveRank) -> tuple[Pairing, int]:
    """The pairing without what a growing side cannot have yet, and how many calls that were."""
    n_before = pairing.n_calls
    if target.is_growing:
        pairing = _cut(pairing, pairing.target_call, pairing.golden_call, target.dump, golden.dump, True)
    if golden.is_growing:
        pairing = _cut(pairing, pairing.golden_call, pairing.target_call, golden.dump, target.dump, False)
    return pairing, n_before - pairing.n_calls


def _cut(
    pairing: Pairing, own: Ints, other: Ints, own_dump: Dump, other_dump: Dump, is_target: bool
) -> Pairing:
    """Without the calls of the other side behind the newest one that this side has as well; without rows of
    outputs and gradients of a call of which this side has written none so far."""
    both = (own >= 0) & (other >= 0)
    written = [call for call in other[both].tolist() if not _is_placeholder(other_dump, call)]
    keep_call = (own >= 0) | (other <= max(written, default=-1))
    leaf, other_leaf = (
        (pairing.target_leaf, pairing.golden_leaf)
        if is_target
        else (pairing.golden_leaf, pairing.target_leaf)
    )
    side = np.append(other_dump.leaves.side, np.int8(-1))[other_leaf]
    result = np.isin(side, (OUTPUT, GRAD))
    has_result = np.zeros(len(own_dump.calls.names) + 1, np.bool_)
    has_result[own_dump.leaves.call[np.isin(own_dump.leaves.side, (OUTPUT, GRAD))]] = True
    is_open = both & ~has_result[own]
    keep_row = keep_call[pairing.row_call] & ~((leaf < 0) & result & is_open[pairing.row_call])
    new_place = np.cumsum(keep_call) - 1
    first = pairing.recompute_of
    if first is not None:
        first = np.where((first >= 0) & keep_call[first], new_place[first], -1)[keep_call]
    return replace(
        pairing,
        target_call=pairing.target_call[keep_call],
        golden_call=pairing.golden_call[keep_call],
        row_call=new_place[pairing.row_call[keep_row]],
        target_leaf=pairing.target_leaf[keep_row],
        golden_leaf=pairing.golden_leaf[keep_row],
        confidence=None if pairing.confidence is None else pairing.confidence[keep_call],
        evidence=None if pairing.evidence is None else pairing.evidence[keep_call],
        groups=tuple(replace(g, call=int(new_place[g.call])) for g in pairing.groups if keep_call[g.call]),
        recompute_of=first,
    )


def _is_placeholder(dump: Dump, call: int) -> bool:
    """Versions before 26 write a parameter's gradient where its forward was, to be filled in later."""
    return dump.calls.names[call].endswith(_GRAD_PLACEHOLDER)


class Known(KnownTensors[TensorJob]):
    """Pairs of tensors that were measured and examined at earlier looks."""

    def __init__(self) -> None:
        super().__init__(lambda job: (*places_of(job.target), *places_of(job.golden)))

    def _name(self, job: TensorJob) -> tuple[str, ...]:
        cuts = [repr(side.cut) for side in (job.target, job.golden) if isinstance(side, PartsPlace)]
        return (*super()._name(job), *cuts)

    def measured(self, job: TensorJob) -> Measured | None:
        """The first read; None where it is to be made."""
        found: Measured | None = self.get("measured", job)
        return found

    def unmeasured(self, jobs: Sequence[TensorJob]) -> npt.NDArray[np.int64]:
        """The numbers of the jobs whose first read is to be made."""
        if self.is_empty:
            return np.arange(len(jobs))
        return np.array([i for i, job in enumerate(jobs) if self.measured(job) is None], np.int64)

    def examined(self, job: TensorJob) -> Examined | None:
        """The second read; None where it is to be made."""
        found: Examined | None = self.get("examined", job)
        return found

    def keep_measured(self, job: TensorJob, result: Measured) -> None:
        """What could not be read is tried again at the next look."""
        if not result.problems:
            self.keep("measured", job, result)

    def keep_examined(self, job: TensorJob, result: Examined) -> None:
        """As `keep_measured`."""
        if result.examination is not None:
            self.keep("examined", job, result)
