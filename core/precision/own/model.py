"""What the checks of one capture share: a rank-step as they see it, and what they saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npulse.core.calls.tensors import TensorPlace, place_of
from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem, Role, Severity
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import CallName, Dump

if TYPE_CHECKING:  # what was kept of checks is put together without what looks
    from .data import InputHash


@dataclass(frozen=True, slots=True)
class Captured:
    """One rank and step of a capture. root: the run that holds it; artifact: its dump, relative to that."""

    rank: int | None
    step: int | None
    dump: Dump
    root: Path
    artifact: str

    def place(self, leaf: int) -> TensorPlace | None:
        """Where the elements of a leaf lie; None where they were not captured."""
        return place_of(self.dump, leaf, self.root)

    def call_of(self, leaf: int) -> int:
        return int(self.dump.leaves.call[leaf])

    def name(self, call: int) -> CallName:
        return parse_name(self.dump.calls.names[call])


@dataclass(frozen=True, slots=True)
class Seen:
    """One thing that a check found, in no language yet.

    rule: without its area. text: key of the message in `own.texts`, filled in with `values`; next_step: the
    key of what to do. where, call: the rank-step and the call that it is said of (call -1: of all of it).
    calls: all (rank-step, call) that take part. related: names of other calls, with their role.
    """

    rule: str
    severity: Severity
    role: Role
    subject: str
    text: str
    next_step: str
    where: Captured
    call: int = -1
    values: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)
    related: tuple[tuple[Role, str], ...] = ()
    calls: tuple[tuple[Captured, int], ...] = ()


@dataclass(frozen=True, slots=True)
class OwnChecks:
    """What one capture says of itself. harmless: what is worth a line and no finding. is_complete: whether
    every check looked at all there was.

    n_collectives, n_parameters, n_inputs, n_repeated, n_casts: how many of each were looked at.
    """

    seen: tuple[Seen, ...] = ()
    harmless: tuple[Seen, ...] = ()
    inputs: InputHash | None = None
    n_collectives: int = 0
    n_parameters: int = 0
    n_inputs: int = 0
    n_repeated: int = 0
    n_casts: int = 0
    is_complete: bool = True
    problems: tuple[Problem, ...] = ()
