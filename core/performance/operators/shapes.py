"""Dynamic shapes, and operators that are not split over a whole number of waves of the cores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.figures import time_text
from npulse.core.findings import Related
from npulse.core.text import columns_of

from ..advice import Advice, words
from ..criteria import Criteria
from .calls import CUBE, MIX_CUBE, MIX_VECTOR, VECTOR, Calls, Flags, groups_of, percent, shown_percent, us
from .texts_patterns import TEXTS

BLOCK_DIM_NS = 20_000
"""The vendor's advisor speaks where the longest of the calls takes more than that."""
_MAX_CORES = 64
"""No chip has more cores of a kind on one die: a larger block dim is several waves, not a number of cores."""
_MAX_TOLD = 8

Integers = npt.NDArray[np.int64]


def is_all_dynamic(calls: Calls) -> bool:
    """The vendor's rule: some call has a dynamic shape and none a static one."""
    dynamic, static = _states(calls)
    return bool(dynamic.any() and not static.any())


def dynamic_advice(calls: Calls, criteria: Criteria) -> Iterator[Advice]:
    """Dynamic shapes: all of them, or how many. N/A is neither; silent where nothing is dynamic."""
    dynamic, static = _states(calls)
    n_dynamic, n_static = int(dynamic.sum()), int(static.sum())
    if not n_dynamic:
        return
    n_unknown = int(calls.is_kernel.sum()) - n_dynamic - n_static
    total_ns = calls.ns_of(dynamic)
    share = percent(total_ns, calls.kernel_ns)
    longest = int(np.flatnonzero(dynamic)[np.argmax(calls.duration_ns[dynamic])])
    yield Advice(
        rule="performance.dynamic-shape",
        severity="note",
        subject=calls.name(longest),
        message=words(
            TEXTS,
            "dynamic-mixed" if n_static else "dynamic-all",
            dynamic=n_dynamic,
            static=n_static,
            unknown=n_unknown,
            total=time_text(total_ns),
            share=shown_percent(share),
        ),
        next_step=words(TEXTS, "dynamic-mixed-next" if n_static else "dynamic-all-next"),
        figures={
            "n_dynamic_calls": n_dynamic,
            "n_static_calls": n_static,
            "n_unknown_calls": n_unknown,
            "dynamic_us": us(total_ns),
            "share_percent": share,
        },
        profile=calls.profile.name,
        location=calls.location(longest),
    )


def _states(calls: Calls) -> tuple[Flags, Flags]:
    texts = [text.strip().lower() for text in calls.table.texts("op_state")]
    dynamic = calls.marked("op_state", [text == "dynamic" for text in texts])
    static = calls.marked("op_state", [text == "static" for text in texts])
    return dynamic & calls.is_kernel, static & calls.is_kernel


# ---- block dim ----


@dataclass(frozen=True, slots=True)
class Cores:
    """Cores of a device, 0 unknown. is_inferred: taken from the largest block dim, no file says it."""

    cube: int
    vector: int
    is_inferred: bool


def cores_of(calls: Calls) -> Cores:
    """Core numbers as the profile says them, else the largest block dim that one wave can have."""
    settings = calls.profile.settings
    cube, vector = settings.ai_core_num or 0, settings.aiv_num or 0
    if cube > 0 and (vector > 0 or not (calls.core == VECTOR).any()):
        return Cores(cube, vector, False)
    blocks = calls.values("block_dim")
    mixed = calls.values("mix_block_dim")

    def largest(*parts: Integers) -> int:
        there = [part[(part > 0) & (part <= _MAX_CORES)] for part in parts]
        return max((int(part.max()) for part in there if len(part)), default=0)

    is_cube = np.isin(calls.core, (CUBE, MIX_CUBE))
    is_vector = np.isin(calls.core, (VECTOR, MIX_VECTOR))
    found_cube = cube or largest(blocks[is_cube], mixed[calls.core == MIX_VECTOR])
    found_vector = vector or largest(blocks[is_vector], mixed[calls.core == MIX_CUBE])
    return Cores(found_cube, found_vector, True)


def block_dim_advice(calls: Calls, criteria: Criteria) -> Iterator[Advice]:
    """Calls whose last wave leaves cores idle. Silent where all shapes are dynamic (the vendor's rule)."""
    if is_all_dynamic(calls):
        return
    cores = cores_of(calls)
    blocks, mixed = calls.values("block_dim"), calls.values("mix_block_dim")
    on_cube = np.isin(calls.core, (CUBE, MIX_CUBE))
    on_vector = np.isin(calls.core, (VECTOR, MIX_VECTOR))
    wave = np.where(on_cube, cores.cube, np.where(on_vector, cores.vector, 0)).astype(np.int64)
    other = np.where(calls.core == MIX_CUBE, cores.vector, 0)
    other = np.where(calls.core == MIX_VECTOR, cores.cube, other).astype(np.int64)
    judged = (wave > 0) & (blocks > 0)
    wave, other = np.maximum(wave, 1), np.maximum(other, 1)
    is_mix_full = (mixed > 0) & (other > 1) & (mixed % other == 0)
    uneven = judged & (blocks % wave != 0) & ~is_mix_full
    if not uneven.any():
        return
    at = np.flatnonzero(uneven)
    waves = -(-blocks[at] // wave[at])
    idle = 1 - blocks[at] / (waves * wave[at])
    group_of, first = groups_of(
        calls.kind[at], calls.core[at], blocks[at], mixed[at], calls.values("input_shapes")[at]
    )
    longest = np.zeros(len(first), np.int64)
    np.maximum.at(longest, group_of, calls.duration_ns[at])
    is_long = (longest > BLOCK_DIM_NS)[group_of]
    if not is_long.any():
        return
    stake = np.bincount(group_of, weights=calls.duration_ns[at] * idle, minlength=len(first))
    total = np.bincount(group_of, weights=calls.duration_ns[at], minlength=len(first))
    n = np.bincount(group_of, minlength=len(first))
    stake = np.where(longest > BLOCK_DIM_NS, stake, 0)
    order = np.lexsort((np.arange(len(first)), -stake))[: int((longest > BLOCK_DIM_NS).sum())]
    cost_ns, total_ns = int(stake.sum()), int(total[longest > BLOCK_DIM_NS].sum())
    worst = int(at[first[order[0]]])
    worst_idle = float(idle[first[order[0]]])
    shown = order[:_MAX_TOLD].tolist()
    calls_at = [int(at[first[i]]) for i in shown]
    yield Advice(
        rule="performance.block-dim",
        severity="note",  # its priority in the vendor's advisor is fixed: low
        subject=calls.name(worst),
        message=words(
            TEXTS,
            "block-dim",
            n=int(n[order].sum()),
            total=time_text(total_ns),
            stake=time_text(cost_ns),
            type=calls.kind_name(int(calls.kind[worst])),
            blocks=int(blocks[worst]),
            cores=int(wave[worst]),
            idle=round(100 * worst_idle, 1),
            basis=TEXTS["cores-inferred" if cores.is_inferred else "cores-told"][0],
            basis_zh=TEXTS["cores-inferred" if cores.is_inferred else "cores-told"][1],
        ),
        next_step=words(TEXTS, "block-dim-next"),
        figures={
            "n_calls": int(n[order].sum()),
            "total_us": us(total_ns),
            "idle_core_us": us(cost_ns),
            "block_dim": int(blocks[worst]),
            "n_cores": int(wave[worst]),
            "idle_core_percent": 100 * worst_idle,
            "core_utilization_percent": 100 * (1 - worst_idle),
            "is_core_number_inferred": cores.is_inferred,
        },
        cost_ns=cost_ns,
        profile=calls.profile.name,
        related=tuple(
            Related(
                "suspect",
                calls.name(call),
                {
                    "block_dim": int(blocks[call]),
                    "n_cores": int(wave[call]),
                    "idle_core_percent": 100 * float(idle[first[i]]),
                    "n_calls": int(n[i]),
                    "total_us": us(float(total[i])),
                    "input_shapes": calls.text("input_shapes", call),
                },
            )
            for i, call in zip(shown, calls_at, strict=True)
        ),
        location=calls.location(worst),
        told=tuple(
            columns_of(
                [
                    (
                        calls.kind_name(int(calls.kind[call])),
                        calls.text("input_shapes", call)[:40],
                        f"{int(blocks[call])}/{int(wave[call])}",
                        f"{round(100 * float(idle[first[i]]), 1)} %",
                        f"{int(n[i]):,}",
                        time_text(float(total[i])),
                    )
                    for i, call in zip(shown, calls_at, strict=True)
                ],
                left=(0, 1),
            )
        ),
    )
