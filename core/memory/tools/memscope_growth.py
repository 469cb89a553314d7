"""What one place keeps more after every step, told by the blocks that nobody released."""

from __future__ import annotations

from collections.abc import Mapping

from npulse.core.dataclass import dataclass

LEAST_STEPS = 3
"""One step that keeps something makes what stays (weights, caches), a second one may; three are growth."""


@dataclass(frozen=True, slots=True)
class Growth:
    """bytes_per_step: kept in each of n_steps steps, from first_step on; the mean, rounded down, unless
    `is_even`."""

    bytes_per_step: int
    n_steps: int
    first_step: int
    is_even: bool


def growth_of(kept_bytes: Mapping[int, int], last_step: int, *, is_ended: bool = False) -> Growth | None:
    """kept_bytes: by the step that allocated it, from 1 (0: before any). last_step: the last that began.

    Unless `is_ended` the last step may still be running: what it holds counts only if it is what each of
    those before it kept. None unless at least three steps in a row, up to the end, keep something.
    """
    ended = last_step if is_ended else last_step - 1
    step = ended
    while step >= 1 and kept_bytes.get(step, 0) > 0:
        step -= 1
    kept = [kept_bytes[one] for one in range(step + 1, ended + 1)]
    if not is_ended and kept and {*kept, kept_bytes.get(last_step, 0)} == {kept[0]}:
        kept.append(kept[0])
    if len(kept) < LEAST_STEPS:
        return None
    return Growth(sum(kept) // len(kept), len(kept), step + 1, len(set(kept)) == 1)
