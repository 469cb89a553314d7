"""The one door to patterns in the operator table: advice about what runs, and what could not be judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..advice import Advice, words
from ..criteria import Criteria
from ..profile import Profile
from .aicpu import aicpu_advice
from .calls import Calls, calls_of
from .conversions import conversion_advice
from .fused import fused_advice, sequences_of
from .fusible import fusible_advice
from .gather import gather_advice
from .jitter import jitter_advice
from .precision_mode import precision_advice
from .round_trips import round_trip_advice
from .shapes import block_dim_advice, dynamic_advice
from .texts_patterns import TEXTS
from .tiny import tiny_advice
from .usable import Usable

_Needs = tuple[str, ...]
_SHORT = ("kind", "start_ns")
_NEEDS: tuple[tuple[str, _Needs], ...] = (
    ("aicpu", ("core_type",)),
    ("dynamic", ("op_state",)),
    ("block-dim", ("block_dim", "core_type")),
    ("conversion", ("kind",)),
    ("gather", ("kind", "input_shapes", "output_shapes", "input_dtypes")),
    ("tiny", ("start_ns",)),
    ("fusible", _SHORT),
    ("jitter", ("kind", "input_shapes")),
)
"""What each pattern needs; "kind" is the type, from its column or out of the name."""

_COLUMN_NAMES = {
    "core_type": "Task Type",
    "op_state": "OP State",
    "block_dim": "Block Num",
    "kind": "OP Type",
    "input_shapes": "Input Shapes",
    "output_shapes": "Output Shapes",
    "input_dtypes": "Input Data Types",
    "start_ns": "Task Start Time",
}

_ONE_BY_ONE: tuple[Callable[[Calls, Criteria], Iterator[Advice]], ...] = (
    aicpu_advice,
    dynamic_advice,
    block_dim_advice,
    conversion_advice,
    round_trip_advice,
    gather_advice,
    precision_advice,
    tiny_advice,
    jitter_advice,
)


N_PATTERNS = len(_ONE_BY_ONE) + 2
"""So often `between` is called."""


def advice_of_patterns(
    profile: Profile, usable: Usable, criteria: Criteria, between: Callable[[], None] = lambda: None
) -> Iterator[Advice]:
    """All advice about the operator table of a profile; none where it has no table or no usable row.

    Costs are device time (`Advice.cost_ns`), for gaps idle time of the device: never more than the wall time
    that the same profile has. Linear in the rows; a million take less than a second. between: called before
    each pattern; what it raises ends the work.
    """
    if profile.operators is None:
        return
    calls = calls_of(profile, profile.operators, usable)
    if not len(calls):
        return
    for advice_of in _ONE_BY_ONE:
        between()
        yield from advice_of(calls, criteria)
    between()
    sequences = sequences_of(calls)
    yield from fused_advice(calls, sequences, criteria)
    between()
    yield from fusible_advice(calls, sequences, criteria)
    yield from unknown_advice(calls)


def unknown_advice(calls: Calls) -> Iterator[Advice]:
    """One note that names the patterns for which the table has no value. Unknown is not clean."""
    if not calls.is_kernel.any():
        return
    told: list[tuple[str, str]] = []
    names: list[str] = []
    for pattern, needs in _NEEDS:
        missing = [column for column in needs if not _has(calls, column)]
        if missing:
            columns = ", ".join(_COLUMN_NAMES[column] for column in missing)
            told.append(words(TEXTS, f"what-{pattern}", columns=columns))
            names.append(pattern)
    if not told:
        return
    yield Advice(
        rule="performance.pattern-unknown",
        severity="note",
        subject=names[0],
        message=words(
            TEXTS,
            "unknown",
            what="; ".join(en for en, _ in told),
            what_zh="；".join(zh for _, zh in told),
        ),
        next_step=words(TEXTS, "unknown-next"),
        figures={"patterns": names},
        role="unknown",
        profile=calls.profile.name,
    )


def _has(calls: Calls, column: str) -> bool:
    if column == "kind":
        return bool((calls.kind[calls.is_kernel] >= 0).any())
    if column == "start_ns":
        return bool(calls.is_placed.any())
    kernels = calls.rows[calls.is_kernel]
    return column in calls.table.arrays and not bool(calls.table.is_absent(column)[kernels].all())
