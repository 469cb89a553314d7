"""Result tables of other tools as a report: the tool's verdict as the tool's, our reading beside it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.figures import number
from npulse.core.findings import Finding, Location, Problem, Report, Verdict, merged, verdict_from
from npulse.core.formats.results.texts import Advice
from npulse.core.run.model import Artifact
from npulse.core.text import Lang, safe_text, say

from ..texts import TEXTS as AREA_TEXTS
from ..verdict import ERROR, PASS, REASONS, UNKNOWN, VERDICTS, WARNING
from .judge import COSINE
from .reading import OWN_STANDARD, Theirs
from .table import Result, theirs_table
from .texts import TEXTS
from .words import figures_of

AREA = "precision"
_SHOWN_REASONS = 4
_MESSAGE_CHARS = 200
_LIST_CHARS = 20_000
_FAILED_BY = {
    "cosine": ("cosine",),
    "norm-ratio": ("norm_ratio", "rel_l2"),
    "statistics-bound": ("norm_ratio", "rel_l2"),
    "above-rounding": ("rel_l2",),
    "not-equal": ("max_abs_error",),
}


def theirs_report(
    results: Sequence[Result],
    run: str,
    *,
    lang: Lang = "en",
    tables: bool = False,
    advice: Sequence[tuple[Artifact, Advice]] = (),
    problems: Sequence[Problem] = (),
) -> Report:
    """One report over the result tables of a round. advice: what advisors say beside them.

    The verdict is fail where the tool or our reading says error, unknown where rows can't be judged.
    """
    findings = merged([finding for one in results for finding in _findings(one, lang)])
    findings.sort(key=lambda finding: _SEVERITIES.index(finding.severity))
    findings += [_advice(artifact, said, lang) for artifact, said in advice]
    found = (*problems, *(problem for one in results for problem in one.theirs.table.problems))
    is_judged = any(not one.theirs.table.layout.is_shown_only for one in results)
    has_unknown = not is_judged or any(one.theirs.is_unjudged.any() for one in results)
    return Report(
        command=AREA,
        run=run,
        verdict=verdict_of(findings, found, has_unknown=has_unknown),
        beneath=verdict_of((), found, has_unknown=has_unknown),
        artifacts=tuple(dict.fromkeys((*(one.artifact for one in results), *(of for of, _ in advice)))),
        findings=tuple(findings),
        counts=counts_of(results),
        summary=summary_of(results, advice),
        told=tuple(line for one in results for line in _told(one, lang)),
        problems=found,
        tables={"theirs": theirs_table(results)} if tables else {},
    )


_SEVERITIES = ("error", "warning", "note")


def verdict_of(findings: Sequence[Finding], problems: Sequence[Problem], *, has_unknown: bool) -> Verdict:
    return verdict_from(findings, problems, has_unknown=has_unknown)


def counts_of(results: Sequence[Result]) -> dict[str, int]:
    """Rows by the tool's verdict (by ours where it gives none), by our reading, and by state.

    A row without a counterpart is `unmatched`, whatever the tool says of it: it compares nothing.
    """
    found: Counter[str] = Counter()
    for one in results:
        theirs = one.theirs
        matched = ~theirs.ours.is_unmatched
        found["rows"] += theirs.table.n_rows
        found["unmatched"] += int((~matched).sum())
        for code, name in enumerate(VERDICTS):
            found[name] += int(((theirs.counted == code) & matched).sum())
            found[f"ours_{name}"] += int((theirs.ours.verdict == code).sum())
        found["shape_unmatched"] += int((theirs.ours.is_other_shape & matched).sum())
        found["both_nan"] += int((theirs.ours.is_nan_both & matched).sum())
        found["dropped"] += theirs.table.n_dropped
    return dict(found)


def summary_of(results: Sequence[Result], advice: Sequence[tuple[Artifact, Advice]] = ()) -> dict[str, Any]:
    """Who computed it, the first error row and the lowest cosine."""
    tools = [one.theirs.table.layout.tool for one in results] or [said.tool for _, said in advice]
    tools = list(dict.fromkeys(tools))
    found: dict[str, Any] = {"computed_by": ", ".join(tools)}
    if results:
        found["counted_by"] = "theirs" if all(one.theirs.has_verdicts for one in results) else "ours"
    first = next((one for one in results if one.theirs.first is not None), None)
    if first is not None and first.theirs.first is not None:
        row = first.theirs.first
        found["first_error_row"] = safe_text(first.theirs.name(row), 1000)
        found["first_error_line"] = int(first.theirs.table.lines[row])
        found["first_error_artifact"] = first.theirs.table.artifact
    lowest: tuple[float, str] | None = None
    for one in results:
        cosine = figures_of(one.theirs.table, COSINE)
        if np.isfinite(cosine).any():
            row = int(np.nanargmin(np.where(np.isfinite(cosine), cosine, np.nan)))
            if lowest is None or cosine[row] < lowest[0]:
                lowest = float(cosine[row]), one.theirs.name(row)
    found |= _end_of(results)
    if lowest is not None:
        found["lowest_cosine"], found["lowest_cosine_row"] = lowest[0], safe_text(lowest[1], 1000)
    return found


def _end_of(results: Sequence[Result]) -> dict[str, Any]:
    """The last forward output that a table in the order of execution compares, the worst of several ranks."""
    ends: list[tuple[float, Theirs, int]] = []
    for one in results:
        theirs = one.theirs
        if not theirs.table.layout.is_ordered or theirs.table.layout.is_shown_only:
            continue
        is_output = np.array([io.startswith("output") for io in theirs.io], np.bool_)
        is_forward = np.array([".forward" in name for name in theirs.calls], np.bool_)[theirs.call]
        rows = np.flatnonzero(is_output & is_forward & ~theirs.ours.is_unmatched)
        exact = rows[np.isfinite(theirs.ours.cosine[rows])]
        if len(rows):
            row = int(exact[-1]) if len(exact) else int(rows[-1])
            cosine = float(theirs.ours.cosine[row])
            ends.append((cosine if np.isfinite(cosine) else -2.0, theirs, row))
    if not ends:
        return {}
    cosine, theirs, row = min(ends, key=lambda end: end[0])
    found: dict[str, Any] = {
        "last_output": safe_text(theirs.name(row), 1000),
        "last_output_verdict": VERDICTS[int(theirs.ours.verdict[row])],
        "last_output_reason": REASONS[int(theirs.ours.reason[row])],
    }
    return found | ({"last_output_cosine": cosine} if cosine > -2.0 else {})


# ---- findings ----


def _findings(one: Result, lang: Lang) -> Iterator[Finding]:
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


def _advice(artifact: Artifact, said: Advice, lang: Lang) -> Finding:
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
    why = message_of(theirs, row) or _first_figure(theirs, row) or why_of(theirs, row, lang)
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


def _first_figure(theirs: Theirs, row: int) -> str:
    """Of a table that holds bad rows alone: the figure for which the row stands there."""
    figures = theirs.table.all_of("figure") if theirs.table.layout.says else ()
    if not figures:
        return ""
    value = figures[0].value(row)
    return f"{figures[0].header} {safe_text(value, 80) if isinstance(value, str) else number(value)}"


def place_words(theirs: Theirs, row: int, lang: Lang) -> str:
    """Where a row stands, as people look it up."""
    table, n = theirs.table, int(theirs.table.lines[row])
    if table.sheet is None:
        return say(TEXTS, f"place-{table.counts}", lang, n=n)
    return say(TEXTS, "place-sheet", lang, sheet=safe_text(table.sheets[int(table.sheet[row])], 64), n=n)


def message_of(theirs: Theirs, row: int) -> str:
    """The tool's message as one line; msprobe 26 writes a JSON list of them."""
    text = " ".join(theirs.table.text("message", row).split())
    if text.startswith("["):
        try:
            parts = json.loads(text[:_LIST_CHARS])
        except (ValueError, RecursionError):
            parts = None
        if isinstance(parts, list):
            text = " ".join(str(part) for part in parts)
    return safe_text(text, _MESSAGE_CHARS)


# ---- one row in words and figures ----


def why_of(theirs: Theirs, row: int, lang: Lang) -> str:
    """Our reason, with the figure that it rests on."""
    reason = REASONS[int(theirs.ours.reason[row])]
    words = say(AREA_TEXTS, f"reason-{reason}", lang)
    for name in _FAILED_BY.get(reason, ()):
        value = float(getattr(theirs.ours, name)[row])
        if np.isfinite(value):
            return f"{words}: {say(AREA_TEXTS, 'label-' + name, lang)} {number(value)}"
    if reason == "nonfinite":
        finite = [
            bool(np.isfinite(figures_of(theirs.table, (name,))[row])) for name in ("NPU max", "Bench max")
        ]
        if finite[0] != finite[1]:
            return say(TEXTS, "nonfinite-golden" if finite[0] else "nonfinite-target", lang)
    if reason == "shape":
        sides = [safe_text(theirs.table.text(role, row), 80) for role in ("target_shape", "golden_shape")]
        return f"{words}: {sides[0]} / {sides[1]}" if all(sides) else words
    if reason == "scalar":
        columns = [theirs.table.named(name) for name in ("NPU max", "Bench max")]
        values = [safe_text(str(column.value(row)), 80) for column in columns if column is not None]
        return f"{words}: {values[0]} / {values[1]}" if len(values) == 2 else words
    return words


def headline_of(theirs: Theirs, row: int, lang: Lang) -> str:
    """What is wrong with a row in few words: our reason, or what the tool says where it alone says error."""
    if theirs.theirs[row] != ERROR or theirs.ours.verdict[row] == ERROR:
        return why_of(theirs, row, lang)
    said = say(TEXTS, "tool-says", lang, tool=theirs.table.layout.tool, said=safe_text(theirs.said(row), 40))
    message = message_of(theirs, row)
    return f"{said}: {message}" if message else said


def row_figures(theirs: Theirs, row: int) -> dict[str, Any]:
    """Figures of a row by the tool's own names, the words where there is no number; what both say."""
    found: dict[str, Any] = {
        "theirs": safe_text(theirs.said(row), 80),
        "verdict": VERDICTS[int(theirs.ours.verdict[row])],
        "reason": REASONS[int(theirs.ours.reason[row])],
    }
    for column in theirs.table.all_of("figure"):
        value = column.value(row)
        found[safe_text(column.header, 80)] = safe_text(value, 80) if isinstance(value, str) else value
    return found


def location(one: Result, row: int) -> Location:
    """Where the row stands."""
    return Location(
        artifact=one.theirs.table.artifact,
        rank=one.artifact.rank,
        step=one.artifact.step,
        row=row,
        line=int(one.theirs.table.lines[row]) if one.theirs.table.counts == "line" else None,
    )


def _told(one: Result, lang: Lang) -> Iterator[str]:
    theirs = one.theirs
    counts = counts_of([one])
    by = say(TEXTS, "told-theirs" if theirs.has_verdicts else "told-ours", lang)
    yield (
        say(
            TEXTS,
            "told-table",
            lang,
            tool=theirs.table.layout.tool,
            n=theirs.table.n_rows,
            file=safe_text(theirs.table.artifact, 200),
            counts=_counted(counts, "", lang),
        )
        + f" ({by})"
    )
    if theirs.has_verdicts and counts["ours_unknown"] < counts["rows"]:
        yield say(TEXTS, "told-reading", lang, counts=_counted(counts, "ours_", lang))


def _counted(counts: dict[str, int], prefix: str, lang: Lang) -> str:
    names = [*VERDICTS[:3], *(["unmatched"] if not prefix else []), "unknown"]
    shown = [(name, counts.get(prefix + name if name != "unmatched" else name, 0)) for name in names]
    return ", ".join(say(TEXTS, f"count-{name}", lang, n=n) for name, n in shown if n) or "0"
