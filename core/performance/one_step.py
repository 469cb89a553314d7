"""One step of a profile alone, and which steps there are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from npulse.core.formats.profiling.cells import NO_ID

from .profile import Profile


def of_step(profile: Profile, step: int) -> Profile:
    """What the profile says of one step alone. Timelines are left out: they do not say which step a task is
    of, and figures of all steps would stand beside those of one."""
    table = profile.operators
    return replace(
        profile,
        operators=table.taken(table.values("step") == step) if table is not None else None,
        timeline=None,
        steps=tuple(one for one in profile.steps if one.step == str(step)),
        types=(),
        communications=tuple(one for one in profile.communications if one.step in (str(step), f"step{step}")),
    )


def steps_in(profiles: Iterable[Profile]) -> tuple[int, ...]:
    """The numbers of all steps that tables of these profiles tell of, in order."""
    found: set[int] = set()
    for profile in profiles:
        if profile.operators is not None:
            numbers = np.unique(profile.operators.values("step"))
            found.update(numbers[numbers != NO_ID].tolist())
        named = [one.step for one in profile.steps]
        named += [one.step.removeprefix("step") for one in profile.communications]
        found.update(int(name) for name in named if name.isascii() and name.isdigit() and len(name) < 20)
    return tuple(sorted(found))
