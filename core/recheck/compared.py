"""The call of a compared row, computed again on both sides."""

from __future__ import annotations

from npulse.core.formats.msprobe.records import Dump
from npulse.core.precision.comparison import Comparison, RankComparison
from npulse.core.progress import IsCancelled, never_cancelled

from .foreign import References
from .one_call import Asking, OneCall, computed
from .report import Rechecked


def recheck_compared(
    comparison: Comparison, rank: RankComparison, call: int, *, is_cancelled: IsCancelled = never_cancelled
) -> Rechecked:
    """Each side from its own dumped inputs; of a call that one side alone has, that side.

    call: a place in the sequence of the pairing; of a group its last calls. Reads the call's tensors.
    """
    pairing, pair = rank.rows.pairing, comparison.pair
    t, g = int(pairing.target_call[call]), int(pairing.golden_call[call])

    def of(side: str, dump: Dump, at: int) -> OneCall:
        return OneCall(dump, at, pair.root_of(side), rank.rank, rank.step, side, pair.relative(dump.path))

    golden = of("golden", rank.golden, g) if g >= 0 else None
    one = of("target", rank.target, t) if t >= 0 else golden
    assert one is not None  # of an entry of a pairing one side is there
    other = golden if t >= 0 else None
    with References(is_cancelled=is_cancelled) as references:
        asking = Asking(references, is_cancelled=is_cancelled)
        frames = rank.frames_of(call) or ()
        return computed(one, other, asking, frames, has_golden=other is not None)[0]
