"""The call of a compared row, computed again on both sides."""

from __future__ import annotations

from dataclasses import replace

from npulse.core.calls.source import source_line
from npulse.core.formats.tensors import TensorError
from npulse.core.precision.compare import Comparison, RankComparison
from npulse.core.progress import IsCancelled, never_cancelled

from .check import check_call, of_both
from .quant.of_call import study_of_call
from .report import Rechecked


def recheck_compared(
    comparison: Comparison, rank: RankComparison, call: int, *, is_cancelled: IsCancelled = never_cancelled
) -> Rechecked:
    """Each side from its own dumped inputs; of a call that one side alone has, that side.

    call: a place in the sequence of the pairing; of a group its last calls. Reads the call's tensors.
    """
    pairing, pair = rank.rows.pairing, comparison.pair
    t, g = int(pairing.target_call[call]), int(pairing.golden_call[call])
    sides = {"target": (rank.target, t), "golden": (rank.golden, g)}
    checks = {
        side: check_call(dump, at, pair.root_of(side), rank=rank.rank, step=rank.step, side=side)
        for side, (dump, at) in sides.items()
        if at >= 0
    }
    side = "target" if t >= 0 else "golden"
    dump, at = sides[side]
    study = None
    try:
        study = study_of_call(dump, at, pair.root_of(side), is_cancelled=is_cancelled)
    except TensorError:
        pass  # what cannot be read is a problem of the check already
    told = checks[side]
    frames = rank.frames_of(call)
    if frames:
        told = replace(told, source=source_line(frames))
    golden = checks.get("golden") if side == "target" else None
    if golden is not None:
        told = of_both(told, golden)
    where = pair.relative(dump.path)
    return Rechecked(told, golden, golden is not None, where, int(dump.calls.byte[at]), study)
