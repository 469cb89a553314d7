"""Two graphs that are not alike, and their pairing said by hand: what the pages show of it is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from npulse.core.formats.msprobe.records import OUTPUT, Dump
from npulse.core.precision.compare import Comparison, Settings, compare_captures
from npulse.core.precision.pairing import EVIDENCE, Group, Pairing
from npulse.core.run.sides import pair_of

from ..faulty_net import api, tensor, write_dump

TARGET = ("Functional.linear.0", "NPU.npu_swiglu.0", "Functional.linear.1", "Torch.clamp.0", "Torch.add.0")
GOLDEN = (
    *("Functional.linear.0", "Tensor.chunk.0", "Functional.silu.0", "Tensor.__mul__.0"),
    *("Functional.linear.1", "Torch.add.1", "Torch.clamp.7"),
)
HAS_NONE = np.nan
CONFIDENCE = (1.0, 0.8, 0.5, HAS_NONE, 1.0, HAS_NONE)
"""Sequence: linear.0, the group, linear.1 (doubtful), clamp.0 (target only), add, clamp.7 (golden only)."""


def bits(*words: str) -> int:
    return sum(1 << EVIDENCE.index(word) for word in words)


def by_hand(target: Dump, golden: Dump, beside: object = None) -> Pairing:
    """The pairing above; of each call the outputs are its rows."""
    target_call, golden_call = (0, 1, 2, 3, 4, -1), (0, 3, 4, -1, 5, 6)

    def output(dump: Dump, call: int) -> int:
        leaves = [leaf for leaf in dump.leaf_range(call) if dump.leaves.side[leaf] == OUTPUT]
        return leaves[0]

    return Pairing(
        np.array(target_call),
        np.array(golden_call),
        np.arange(6),
        np.array([output(target, call) if call >= 0 else -1 for call in target_call]),
        np.array([output(golden, call) if call >= 0 else -1 for call in golden_call]),
        np.array(CONFIDENCE),
        np.array([bits("name"), bits("fusion", "shape", "order"), bits("order"), 0, bits("hand"), 0]),
        (Group(1, (1,), (1, 2, 3), "swiglu"),),
        np.array([-1, -1, 0, -1, -1, -1]),
    )


def write_unlike(folder: Path) -> Path:
    """The run: statistics of both sides; the last `add` differs."""
    x = np.arange(6.0).reshape(2, 3)
    for side, names in (("npu", TARGET), ("cpu", GOLDEN)):
        entries = {}
        for name in names:
            value = x + (side == "npu" and name == "Torch.add.0")
            entries[f"{name}.forward"] = api([tensor(x)], [tensor(value)])
        write_dump(folder / side / "step0" / "rank0", entries)
    return folder


def compared(folder: Path) -> Comparison:
    write_unlike(folder)
    return compare_captures(pair_of(folder / "npu", folder / "cpu"), Settings(pair_calls=by_hand))
