"""A call computed again with its counterpart, and the study of what it quantises: the same for a command and
for the workbench."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from npulse.core.calls.source import source_line
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import Dump, Frame
from npulse.core.formats.tensors import TensorError
from npulse.core.progress import IsCancelled, never_cancelled

from .check import of_both
from .model import Check
from .quant.of_call import study_of_call
from .report import Rechecked

Checker = Callable[..., Check]
"""As `call.check_call`: `foreign.References`, which knows plug-ins, torch and the user's function too."""


@dataclass(frozen=True, slots=True)
class OneCall:
    """A call of a dump. root: the run that its files lie in. artifact: the dump, as it is named there."""

    dump: Dump
    call: int
    root: Path
    rank: int | None
    step: int | None
    side: str
    artifact: str

    def check(self, checker: Checker) -> Check:
        return checker(self.dump, self.call, self.root, rank=self.rank, step=self.step, side=self.side)


@dataclass(frozen=True, slots=True)
class Asking:
    """How each call is computed and studied. activation, scale: what the user wants to be studied."""

    checker: Checker
    activation: str | None = None
    scale: str | None = None
    is_cancelled: IsCancelled = never_cancelled

    @property
    def is_study(self) -> bool:
        return self.activation is not None or self.scale is not None


def computed(
    one: OneCall, golden: OneCall | None, asking: Asking, frames: Sequence[Frame] = (), *, has_golden: bool
) -> tuple[Rechecked, tuple[Problem, ...]]:
    """What came of it, and what the study could not read. golden: the counterpart; has_golden: whether there
    is a side that could have one. frames: the call's stack. UsageError: see `study_of_call`."""
    told = one.check(asking.checker)
    if frames:
        told = replace(told, source=source_line(frames))
    other = None if golden is None else golden.check(asking.checker)
    if other is not None:
        told = of_both(told, other)
    study = None
    problems: tuple[Problem, ...] = ()
    try:
        study = study_of_call(
            one.dump,
            one.call,
            one.root,
            activation=asking.activation,
            scale=asking.scale,
            is_cancelled=asking.is_cancelled,
        )
    except TensorError as error:
        problems = () if told.problems else (Problem.from_error(error, one.artifact),)
    byte = int(one.dump.calls.byte[one.call])
    where = None if byte < 0 else byte
    made = Rechecked(told, other, has_golden, one.artifact, where, study, asking.is_study, str(one.root))
    return made, problems
