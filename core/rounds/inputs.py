"""Whether two rounds were measured on the same input: by the hashes that the precision area tells of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npulse.core.findings import Report

AREAS = frozenset(("precision", "overflow"))
"""Areas whose figures are of a captured step: of another input they say nothing about each other."""


@dataclass(frozen=True, slots=True)
class InputTold:
    """The input of a round. text: as it is shown, "" where none is known. basis: what the hashes are made of;
    each: of every rank-step."""

    text: str = ""
    basis: str = ""
    each: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, report: Report) -> InputTold:
        """What a report of the precision area tells."""
        each = report.summary.get("input_hashes")
        if not isinstance(each, Mapping) or not each:
            return cls()
        text, basis = (str(report.summary.get(name, "")) for name in ("input_hash", "input_hash_basis"))
        return cls(text, basis, each)


def is_other(before: InputTold, after: InputTold) -> bool:
    """True where both tell of a rank-step, by the same kind of hash, and not the same; else nobody knows."""
    if not before.basis or before.basis != after.basis:
        return False
    return any(before.each[key] != after.each[key] for key in before.each.keys() & after.each.keys())
