"""Thresholds of the memory area and what else a caller may set."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from npulse.core.analysis import criteria_from
from npulse.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Criteria:
    """repeated_leaks: how many blocks of one size from one place make a leak one of every call."""

    repeated_leaks: float = 3

    @classmethod
    def parse(cls, text: str) -> Criteria:
        """Read 'repeated_leaks=5'. UsageError names the word that is not known."""
        return criteria_from(cls, text)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to look. source_roots: where the user's sources lie now; files outside of them are never opened.

    kernel_objects: object files of kernels, beside those in the run.
    """

    criteria: Criteria = field(default_factory=Criteria)
    source_roots: tuple[Path, ...] = ()
    kernel_objects: tuple[Path, ...] = ()
    rank: int | None = None
