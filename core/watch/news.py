"""Which findings of a look were not there at the look before: what somebody should hear of at once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from npulse.core.findings import Finding, Report


def news_of(before: Report | None, after: Report) -> tuple[Finding, ...]:
    """The errors of a report that the one before it did not have; origins first, else in their order.

    A finding is known again by its rule, its subject and where it is (artifact, rank, step), whatever its
    figures and words have become meanwhile; of several that are alike in this, the further ones are new.
    One that only moved to another file (`not_moved`) is not new. before: None where nothing was said yet:
    all errors are new. Cost: one pass over both reports.
    """
    earlier = before.findings if before is not None else ()
    new = _without(after.findings, Counter(map(key_of, earlier)), key_of)
    if new and earlier:
        new, _ = not_moved(new, _without(earlier, Counter(map(key_of, after.findings)), key_of))
    errors = [finding for finding in new if finding.severity == "error"]
    return tuple(sorted(errors, key=lambda finding: finding.role != "origin"))


def not_moved(
    new: Iterable[Finding], gone: Iterable[Finding]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """New and gone findings without those that only went from one file to another of the same folder: the
    log was rotated, or another one tells the same first.
    """
    new, gone = tuple(new), tuple(gone)
    return (
        _without(new, Counter(map(_folder_key_of, gone)), _folder_key_of),
        _without(gone, Counter(map(_folder_key_of, new)), _folder_key_of),
    )


def key_of(finding: Finding) -> tuple[Any, ...]:
    """By what a finding is known again in a later look."""
    at = finding.location
    return finding.rule, finding.subject, at.artifact, at.rank, at.step


def _folder_key_of(finding: Finding) -> tuple[Any, ...]:
    rule, subject, artifact, rank, step = key_of(finding)
    return rule, subject, os.path.dirname(artifact or ""), rank, step


def _without(
    findings: Iterable[Finding], known: Counter[Any], key: Callable[[Finding], Any]
) -> tuple[Finding, ...]:
    """Those findings that are more than were known."""
    left = []
    for finding in findings:
        if known[key(finding)]:
            known[key(finding)] -= 1
        else:
            left.append(finding)
    return tuple(left)
