"""Thresholds of the check-up: it has none of its own on the command line, `--criteria` takes a file."""

from __future__ import annotations

from dataclasses import dataclass

from npulse.core.analysis import criteria_from


@dataclass(frozen=True, slots=True)
class Criteria:
    """Nothing can be set here: see the criteria file."""

    @classmethod
    def parse(cls, text: str) -> Criteria:
        """UsageError: there is no criterion here."""
        return criteria_from(cls, text)
