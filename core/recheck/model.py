"""What came of computing one call again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from npulse.core.findings import Problem

from .compare import OutputCheck

Words = tuple[str, str]
"""(en, zh)."""

Outcome = Literal["within", "coarse", "implementation", "call", "unknown"]
"""within what the dtype allows; less exact than it allows, as if computed in a coarser one inside; wrong, and
nothing tells why or it is the implementation's; wrong as another call would be right; cannot be told."""

Why = Literal[
    "",
    "no-reference",
    "missing",
    "too-large",
    "random",
    "unsupported",
    "does-not-fit",
    "unreadable",
    "failed",
    "alike",
    "communicates",
    "attributes",
    "unbounded",
]
"""Why it cannot be told."""


@dataclass(frozen=True, slots=True)
class Check:
    """One call of one rank and step, computed again.

    side: "target", "golden", or "" of a run that holds one capture. operator: the reference's name, "" for
    none. words: what would explain a wrong output, or what an unrecorded argument has to be. inside: the
    dtype that the bound allows inside. detail: what of a call is not supported. missing: leaf names without
    tensors. tried: how many variants were. is_estimated: the bound is measured, not proven.
    """

    call: str
    rank: int | None
    step: int | None
    side: str
    operator: str
    outcome: Outcome
    outputs: tuple[OutputCheck, ...] = ()
    words: Words = ("", "")
    why: Why = ""
    detail: str = ""
    inside: str = ""
    missing: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    tried: int = 0
    is_estimated: bool = False
    problems: tuple[Problem, ...] = ()
    source: str = ""

    @property
    def worst(self) -> OutputCheck | None:
        """The output furthest beyond its bound; None where nothing was compared."""
        return max(self.outputs, key=lambda one: one.max_ratio, default=None)
