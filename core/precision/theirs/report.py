"""Result tables of other tools as a report: the tool's verdict as the tool's, our reading beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from npulse.core.findings import Finding, Problem, Report, Verdict, merged, verdict_from
from npulse.core.formats.results.texts import Advice
from npulse.core.run.model import Artifact
from npulse.core.text import Lang, safe_text, say

from ..verdict import REASONS, VERDICTS
from .findings import AREA, advice_of, findings_of
from .judge import COSINE
from .reading import Theirs
from .table import Result, theirs_table
from .texts import TEXTS
from .words import figures_of


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
    findings = merged([finding for one in results for finding in findings_of(one, lang)])
    findings.sort(key=lambda finding: _SEVERITIES.index(finding.severity))
    findings += [advice_of(artifact, said, lang) for artifact, said in advice]
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
    if theirs.table.n_headers:
        yield say(TEXTS, "told-headers", lang, n=theirs.table.n_headers)
    if theirs.has_verdicts and counts["ours_unknown"] < counts["rows"]:
        yield say(TEXTS, "told-reading", lang, counts=_counted(counts, "ours_", lang))


def _counted(counts: dict[str, int], prefix: str, lang: Lang) -> str:
    names = [*VERDICTS[:3], *(["unmatched"] if not prefix else []), "unknown"]
    shown = [(name, counts.get(prefix + name if name != "unmatched" else name, 0)) for name in names]
    return ", ".join(say(TEXTS, f"count-{name}", lang, n=n) for name, n in shown if n) or "0"
