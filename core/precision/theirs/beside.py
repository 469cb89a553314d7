"""A result of another tool beside our own comparison of the same captures: where the two say something else.

It adds notes and no verdict of its own: the captures themselves were read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import InputError
from npulse.core.findings import Finding, Location, Problem, Report, with_problems
from npulse.core.run.model import Artifact, Run
from npulse.core.table import Column, Table
from npulse.core.text import Lang, safe_text, say

from ..comparison import Comparison, RankComparison
from ..rows import BY_STATISTICS
from ..texts import TEXTS as AREA_TEXTS
from ..verdict import ERROR, PASS, REASONS, UNKNOWN, VERDICTS
from .findings import AREA
from .row_words import location, row_figures
from .run import read_results
from .table import Result, theirs_table
from .texts import TEXTS


def with_results(
    told: Report, comparison: Comparison, run: Run, artifacts: Sequence[Artifact], options: AnalysisOptions
) -> Report:
    """The report with a note for every result table beside the captures, and their table where tables are
    asked for: `our_verdict` and `our_row` (row of the table "precision") stand there for rows of both.
    """
    try:
        results, problems = read_results(run, artifacts, options)
    except InputError as error:
        return with_problems(told, [Problem.from_error(error, str(error.path or run.path))])
    by_name = _rows_by_name(comparison)
    links = [_links(one, by_name) for one in results]
    notes = [_note(one, rows, comparison, options.lang) for one, rows in zip(results, links, strict=True)]
    tables = dict(told.tables)
    if options.tables and results:
        tables["theirs"] = _table(results, links, comparison)
    found = replace(told, findings=(*told.findings, *notes), tables=tables)
    read = [problem for one in results for problem in one.theirs.table.problems]
    return with_problems(found, [*problems, *read]) if problems or read else found


def _rows_by_name(comparison: Comparison) -> dict[tuple[int | None, str], int]:
    """Row of the whole comparison by (rank, full name on the target side); the first of equal names."""
    found: dict[tuple[int | None, str], int] = {}
    start = 0
    for rank in comparison.ranks:
        leaves = rank.rows.pairing.target_leaf
        for row in np.flatnonzero(leaves >= 0).tolist():
            found.setdefault((rank.rank, rank.target.leaf_name(int(leaves[row]))), start + row)
        start += rank.rows.n_rows
    return found


def _links(one: Result, by_name: dict[tuple[int | None, str], int]) -> npt.NDArray[np.int64]:
    """Our row of each of its rows, -1 for none. A table that names no rank is of the only one there is."""
    ranks = {rank for rank, _ in by_name}
    rank = one.artifact.rank
    if rank not in ranks and len(ranks) == 1:
        rank = next(iter(ranks))
    names = [one.theirs.name(row) for row in range(one.theirs.table.n_rows)]
    return np.array([by_name.get((rank, name), -1) for name in names], np.int64)


def _ours(comparison: Comparison) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """Verdicts and reasons of all rows of all ranks."""
    ranks: Sequence[RankComparison] = comparison.ranks
    if not ranks:
        return np.zeros(0, np.int8), np.zeros(0, np.int8)
    return np.concatenate([r.rows.verdict for r in ranks]), np.concatenate([r.rows.reason for r in ranks])


def _note(one: Result, links: npt.NDArray[np.int64], comparison: Comparison, lang: Lang) -> Finding:
    theirs = one.theirs
    file, tool = safe_text(theirs.table.artifact, 200), theirs.table.layout.tool
    both = np.flatnonzero(links >= 0)
    verdicts, reasons = _ours(comparison)
    ours, said = verdicts[links[both]], theirs.counted[both]
    missed = both[(ours == ERROR) & (said != ERROR)]
    strict = both[(said == ERROR) & (ours == PASS)]
    agree = int(((ours == said) & (ours != UNKNOWN)).sum())
    key = "beside" if len(both) else "beside-none"
    message = say(TEXTS, key, lang, file=file, tool=tool, n=len(both), agree=agree)
    row = int(both[0]) if len(both) else 0
    if len(missed):
        row = int(missed[0])
        why = say(AREA_TEXTS, f"reason-{REASONS[int(reasons[links[row]])]}", lang)
        name, word = safe_text(theirs.name(row), 200), safe_text(theirs.said(row), 40) or "-"
        message += say(TEXTS, "beside-missed", lang, m=len(missed), said=word, name=name, why=why)
    elif len(strict):
        row = int(strict[0])
        name = safe_text(theirs.name(row), 200)
        message += say(TEXTS, "beside-strict", lang, m=len(strict), name=name)
    has_row = theirs.table.n_rows > 0
    return Finding(
        area=AREA,
        severity="note",
        rule="precision.theirs-beside",
        role="unknown",
        subject=file,
        message=message,
        next_step=_next_step(comparison, int(links[row]), lang) if len(missed) or len(strict) else "",
        figures={
            "n_rows": theirs.table.n_rows,
            "n_compared_here": len(both),
            "n_agree": agree,
            "n_missed": len(missed),
            "n_stricter": len(strict),
            **(row_figures(theirs, row) if has_row else {}),
        },
        location=location(one, row) if has_row else Location(artifact=theirs.table.artifact),
    )


def _next_step(comparison: Comparison, row: int, lang: Lang) -> str:
    """What to go by, by what our verdict of a row rests on."""
    bases = np.concatenate([rank.rows.basis for rank in comparison.ranks])
    return say(TEXTS, "next-beside-statistics" if bases[row] == BY_STATISTICS else "next-beside", lang)


def _table(
    results: Sequence[Result], links: Sequence[npt.NDArray[np.int64]], comparison: Comparison
) -> Table:
    table = theirs_table(results)
    joined = np.concatenate(list(links)) if links else np.zeros(0, np.int64)
    absent = joined < 0
    verdicts, _ = _ours(comparison)
    codes = verdicts[np.maximum(joined, 0)] if len(verdicts) else np.zeros(len(joined), np.int8)
    more = (
        Column("our_verdict", "text", codes, labels=VERDICTS, absent=absent),
        Column("our_row", "int", np.maximum(joined, 0), absent=absent),
    )
    return Table(table.name, (*table.columns, *more))
