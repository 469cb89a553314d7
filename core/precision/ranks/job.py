"""What is there of the ranks of a job: captures to compare, or results that another tool computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.results.cells import ResultColumn
from npulse.core.formats.results.table import ResultTable
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.discover import discover
from npulse.core.run.model import Artifact
from npulse.core.run.sides import capture_pairs, pair_of
from npulse.core.table import Table, text_column
from npulse.core.text import safe_text

from ..choose import choose_pair, pair_name
from ..compare import compare_captures
from ..run_report import settings_of
from ..table import precision_table
from ..theirs.run import TABLES, read_results, results_by_round
from ..theirs.table import Result, theirs_table

_Ends = tuple[ResultColumn, ResultColumn]
_NO_FIGURE = frozenset(("n/a", "unsupported", "nan"))


@dataclass(frozen=True, slots=True)
class JobTable:
    """All rows of all ranks. source: what they are of, as people name it. is_ours: compared here, else by
    another tool. problems: what could not be read."""

    table: Table
    source: str
    is_ours: bool
    problems: tuple[Problem, ...] = ()


def job_table(
    paths: Sequence[Path],
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> JobTable:
    """The rows of (target, golden), or of (run,): its pair of captures, else results that lie in it.

    InputError where there is neither, or nothing of it can be read.
    """
    if len(paths) > 1:
        pair = pair_of(paths[0], paths[1], progress=progress, is_cancelled=is_cancelled)
    else:
        run = discover(paths[0], progress=progress, is_cancelled=is_cancelled)
        if not capture_pairs(run):
            return _theirs(run.path, paths, options, progress, is_cancelled)
        pair = choose_pair(run, options.round_name, options.pair_name)
    found = compare_captures(pair, settings_of(options), progress=progress, is_cancelled=is_cancelled)
    return JobTable(precision_table(found), pair_name(pair), True, (*pair.problems, *found.problems))


def _theirs(
    path: Path,
    paths: Sequence[Path],
    options: AnalysisOptions,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> JobTable:
    run = discover(paths[0], progress=progress, is_cancelled=is_cancelled)
    by_round = results_by_round(run, options.round_name)
    tables = {name: [a for a in found if a.kind in TABLES] for name, found in by_round.items()}
    name = next((name for name in reversed(tables) if tables[name]), None)
    if name is None:
        choose_pair(run, options.round_name, options.pair_name)  # says what is there instead
        raise InputError("nothing to merge here", path=path)
    kinds = {artifact.kind for artifact in tables[name]}
    kind = "msprobe.compare_result" if "msprobe.compare_result" in kinds else sorted(kinds)[0]
    chosen = [artifact for artifact in tables[name] if artifact.kind == kind]
    newest = _newest(chosen)
    results, problems = read_results(run, newest, options, progress=progress, is_cancelled=is_cancelled)
    source = f"{len(results)} x {kind}"
    if len(newest) < len(chosen):
        source += f", the newest of {len(chosen)}"
    return JobTable(_with_words(theirs_table(results), results), source, False, tuple(problems))


def _newest(artifacts: Sequence[Artifact]) -> list[Artifact]:
    """Of several tables of one rank and step the last: their names end with the time of their making."""
    found: dict[object, Artifact] = {}
    for artifact in sorted(artifacts, key=lambda one: Path(one.relative).name):
        key = artifact.relative if artifact.rank is None else (artifact.rank, artifact.step)
        found[key] = artifact
    return list(found.values())


def _with_words(table: Table, results: Sequence[Result]) -> Table:
    """Figures with what stands in place of a number: 'Nan' on one rank is what one looks for."""
    columns = []
    for column in table.columns:
        parts = [one.theirs.table.named(column.name) for one in results]
        if column.kind == "float" and any(part is not None and (part.words >= 0).any() for part in parts):
            texts: list[str | None] = []
            is_statistic = column.name.startswith(("NPU ", "Bench "))
            for one, part in zip(results, parts, strict=True):
                n = one.theirs.table.n_rows
                ends = None if is_statistic else _extremes(one.theirs.table)
                texts += (
                    [None] * n if part is None else [_cell(part.value(row), ends, row) for row in range(n)]
                )
            column = text_column(column.name, texts, column.unit)
        columns.append(column)
    return Table(table.name, tuple(columns))


def _extremes(table: ResultTable) -> _Ends | None:
    t, g = table.named("NPU max"), table.named("Bench max")
    return None if t is None or g is None else (t, g)


def _cell(value: float | str, ends: _Ends | None, row: int) -> str | None:
    """A word that says no more than that there is no figure gives way to what both sides have there, as in
    the tool's own merged tables: the largest elements, or the values of what is no tensor."""
    if not isinstance(value, str):
        return repr(value)
    if ends is not None and value.strip().lower() in _NO_FIGURE:
        target, golden = (str(end.value(row)).strip() or "N/A" for end in ends)
        value = f"NPU:{target}  Bench:{golden}"
    return safe_text(value, 120) or None
