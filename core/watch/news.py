"""Which findings of a look were not there at the look before: what somebody should hear of at once."""

from __future__ import annotations

from collections import Counter
from typing import Any

from npulse.core.findings import Finding, Report


def news_of(before: Report | None, after: Report) -> tuple[Finding, ...]:
    """The errors of a report that the one before it did not have; origins first, else in their order.

    A finding is known again by its rule, its subject and where it is (artifact, rank, step), whatever its
    figures and words have become meanwhile; of several that are alike in this, the further ones are new.
    before: None where nothing was said yet: all errors are new. Cost: one pass over both reports.
    """
    known = Counter(key_of(finding) for finding in (before.findings if before is not None else ()))
    new = []
    for finding in after.findings:
        key = key_of(finding)
        if known[key]:
            known[key] -= 1
        elif finding.severity == "error":
            new.append(finding)
    return tuple(sorted(new, key=lambda finding: finding.role != "origin"))


def key_of(finding: Finding) -> tuple[Any, ...]:
    """By what a finding is known again in a later look."""
    at = finding.location
    return finding.rule, finding.subject, at.artifact, at.rank, at.step
