"""Thresholds of the story of an archive: it has none, each figure is judged by its own area."""

from __future__ import annotations

from dataclasses import dataclass

from npulse.core.analysis import criteria_from


@dataclass(frozen=True, slots=True)
class Criteria:
    """Nothing can be set."""

    @classmethod
    def parse(cls, text: str) -> Criteria:
        """UsageError: there is no criterion here."""
        return criteria_from(cls, text)
