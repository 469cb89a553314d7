"""Findings of other tools' tables: rows that are wrong, what the tool did not see, what it advises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.findings import Finding, Location
from npulse.core.formats.results.texts import Advice
from npulse.core.run.model import Artifact
from npulse.core.text import Lang, safe_text, say

from ..texts import TEXTS as AREA_TEXTS
from ..verdict import ERROR, PASS, REASONS, UNKNOWN, WARNING
from .reading import OWN_STANDARD
from .row_words import first_figure, location, message_of, place_words, row_figures, why_of
from .table import Result
from .texts import TEXTS

AREA = "precision"
_SHOWN_REASONS = 4


def findings_of(one: Result, lang: Lang) -> Iterator[Finding]:
    """All that a table has to say: its first error, then what is summed up in groups."""
    theirs = one.theirs
    ours, matched = theirs.ours, ~theirs.ours.is_unmatched
    if theirs.first is not None:
        yield _first(one, theirs.first, lang)
    if theirs.has_verdicts:
        missed = (ours.verdict == ERROR) & (theirs.theirs != ERROR) & matched
        yield from _missed(one, missed, lang)
        stricter = (theirs.theirs == ERROR) & np.isin(ours.verdict, (PASS, WARNING))
        yield from _group(one, stricter, "stricter", "note", "suspect", lang)
    yield from _blind_overflow(one, lang)
    yield from _warnings(one, lang)
    if not matched.all():
        yield _unmatched(one, ~matched, lang)
    yield from _group(one, theirs.is_unjudged & matched, "unjudged", "note", "unknown", lang)


def row_finding(one: Result, row: int, lang: Lang) -> Finding:
    """Any row as a finding."""
    theirs = one.theirs
    verdict = int(theirs.ours.verdict[row])
    is_error = bool(theirs.is_bad[row])
    rule = "theirs-error" if is_error else "theirs-unjudged" if verdict == UNKNOWN else "theirs-stricter"
    return Finding(
        area=AREA,
        severity="error" if is_error else "note",
        rule=f"precision.{rule}",
        role="unknown" if is_error or verdict == UNKNOWN else "ok",
        subject=safe_text(theirs.name(row), 1000),
        message=_row_message(one, row, lang),
        next_step=say(TEXTS, "next-first", lang) if is_error else "",
        figures=row_figures(theirs, row),
        location=location(one, row),
    )


def _first(one: Result, row: int, lang: Lang) -> Finding:
    theirs = one.theirs
    is_alone = theirs.table.layout.id.startswith(("msprobe.acc_check", "msprobe.api_compare"))
    api = safe_text(theirs.calls[int(theirs.call[row])], 200)
    if theirs.first_role == "origin":
        where = "inputs-agree"
    elif theirs.table.layout.id == "msprobe.difference":
        where = "first-difference"
    elif is_alone:
        where = "alone"
    else:
        where = "inputs-bad" if theirs.table.layout.is_ordered else "order-unknown"
    is_fine = theirs.ours.verdict[row] == PASS and where != "alone"
    return Finding(
        area=AREA,
        severity="error",
        rule="precision.theirs-error",
        role=theirs.first_role,
        subject=safe_text(theirs.name(row), 1000),
        message=_row_message(one, row, lang) + ("" if is_fine else say(TEXTS, where, lang)),
        next_step=say(TEXTS, "next-alone", lang, api=api) if is_alone else say(TEXTS, "next-first", lang),
        figures={**row_figures(theirs, row), "n_errors": int(theirs.is_bad.sum())},
        location=location(one, row),
    )


def _row_message(one: Result, row: int, lang: Lang) -> str:
    theirs = one.theirs
    verdict, is_theirs = int(theirs.ours.verdict[row]), theirs.theirs[row] == ERROR
    tool, place, why = theirs.table.layout.tool, place_words(theirs, row, lang), why_of(theirs, row, lang)
    said = safe_text(theirs.said(row), 40)
    if not is_theirs:
        words = say(TEXTS, "said", lang, said=said) if said else say(TEXTS, "said-nothing", lang)
        return say(TEXTS, "first-ours", lang, place=place, why=why, tool=tool, said=words)
    key = {ERROR: "first-both", UNKNOWN: "first-theirs"}.get(verdict, "first-stricter")
    if verdict == UNKNOWN and theirs.table.layout.id.startswith(OWN_STANDARD):
        key = "first-said"
    message = message_of(theirs, row)
    message = f" ({message})" if message else ""
    return say(TEXTS, key, lang, place=place, tool=tool, said=said, message=message, why=why)


def _missed(one: Result, rows: npt.NDArray[np.bool_], lang: Lang) -> Iterator[Finding]:
    """Rows that the tool lets pass and that our criteria do not; one finding a reason. The first error row
    has its own finding."""
    theirs = one.theirs
    for code in dict.fromkeys(theirs.ours.reason[rows].tolist()):
        here = np.flatnonzero(rows & (theirs.ours.reason == code))
        if here.tolist() == [theirs.first]:
            continue
        row = int(here[0])
        yield Finding(
            area=AREA,
            severity="error",
            rule="precision.theirs-missed",
            role="unknown",
            subject=safe_text(theirs.name(row), 1000),
            message=say(
                TEXTS,
                "missed",
                lang,
                n=len(here),
                tool=theirs.table.layout.tool,
                why=why_of(theirs, row, lang),
            ),
            next_step=say(TEXTS, "next-missed", lang),
            figures={"n_rows": len(here), **row_figures(theirs, row)},
            location=location(one, row),
        )


def _blind_overflow(one: Result, lang: Lang) -> Iterator[Finding]:
    """msaccucmp compares the largest value with 65504; where that is NaN it says NO."""
    theirs = one.theirs
    overflow = theirs.table.named("OverFlow")
    if overflow is None:
        return
    is_no = np.array([label.strip().upper() == "NO" for label in overflow.labels] or [False])[overflow.words]
    deviation = theirs.table.named("StandardDeviation")
    if deviation is None:
        return
    is_nan = np.array(
        [label.strip().startswith(("(nan;", "(NaN;")) for label in deviation.labels] or [False]
    )[deviation.words]
    here = np.flatnonzero(is_no & is_nan)
    if len(here):
        row = int(here[0])
        yield Finding(
            area=AREA,
            severity="error",
            rule="precision.theirs-missed",
            role="unknown",
            subject=safe_text(theirs.name(row), 1000),
            message=say(TEXTS, "missed-overflow", lang, n=len(here)),
            next_step=say(TEXTS, "next-missed", lang),
            figures={"n_rows": len(here), **row_figures(theirs, row)},
            location=location(one, row),
        )


def _unmatched(one: Result, rows: npt.NDArray[np.bool_], lang: Lang) -> Finding:
    theirs = one.theirs
    here = np.flatnonzero(rows)
    n_passed = int(((theirs.theirs == PASS) & rows).sum())
    tool = theirs.table.layout.tool
    said = say(TEXTS, "unmatched-pass", lang, tool=tool, n=n_passed) if n_passed else ""
    if theirs.table.layout.id == "msprobe.compare":
        said += say(TEXTS, "bench-alone", lang)
    return Finding(
        area=AREA,
        severity="note",
        rule="precision.theirs-unmatched",
        role="unmatched",
        subject=safe_text(theirs.name(int(here[0])), 1000),
        message=say(TEXTS, "unmatched", lang, n=len(here), said=said),
        next_step=say(TEXTS, "next-unmatched", lang),
        figures={"n_rows": len(here), "n_passed_by_the_tool": n_passed},
        location=location(one, int(here[0])),
    )


def _group(
    one: Result, rows: npt.NDArray[np.bool_], key: str, severity: Any, role: Any, lang: Lang
) -> Iterator[Finding]:
    """Rows of one kind as one finding, their reasons counted."""
    here = np.flatnonzero(rows)
    if not len(here):
        return
    theirs = one.theirs
    counted = Counter(theirs.ours.reason[here].tolist()).most_common(_SHOWN_REASONS)
    why = ", ".join(f"{say(AREA_TEXTS, f'reason-{REASONS[code]}', lang)} {n}" for code, n in counted)
    row = int(here[0])
    yield Finding(
        area=AREA,
        severity=severity,
        rule=f"precision.theirs-{key}",
        role=role,
        subject=safe_text(theirs.name(row), 1000),
        message=say(TEXTS, key, lang, n=len(here), tool=theirs.table.layout.tool, why=why),
        next_step=say(TEXTS, "next-unjudged", lang) if key == "unjudged" else "",
        figures={"n_rows": len(here), **row_figures(theirs, row)},
        location=location(one, row),
    )


def advice_of(artifact: Artifact, said: Advice, lang: Lang) -> Finding:
    """What an advisor wrote, as it wrote it."""
    named = " ".join(part for part in (said.kind, said.line, said.subject) if part)
    text = f"{named}: {said.advice}" if named else said.advice
    return Finding(
        area=AREA,
        severity="note",
        rule="precision.theirs-advice",
        role="unknown",
        subject=safe_text(said.subject or artifact.relative, 1000),
        message=say(TEXTS, "advice", lang, tool=said.tool, text=safe_text(text, 1000)),
        location=Location(artifact=artifact.relative),
    )


def _warnings(one: Result, lang: Lang) -> Iterator[Finding]:
    """Rows that the tool warns of, or that are above rounding, and that nobody calls an error."""
    theirs = one.theirs
    is_warned = (theirs.theirs == WARNING) | (theirs.ours.verdict == WARNING)
    here = np.flatnonzero(is_warned & ~theirs.is_bad & ~theirs.ours.is_unmatched)
    if not len(here):
        return
    n_theirs = int((theirs.theirs[here] == WARNING).sum())
    row = int(here[0])
    why = message_of(theirs, row) or first_figure(theirs, row) or why_of(theirs, row, lang)
    tool = theirs.table.layout.tool
    yield Finding(
        area=AREA,
        severity="warning",
        rule="precision.theirs-warning",
        role="suspect",
        subject=safe_text(theirs.name(row), 1000),
        message=say(TEXTS, "warned", lang, n=len(here), m=n_theirs, tool=tool, why=why),
        figures={"n_rows": len(here), **row_figures(theirs, row)},
        location=location(one, row),
    )
