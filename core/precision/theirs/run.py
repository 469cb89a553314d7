"""Which artifacts of a run are results of other tools, and their report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import InputError
from npulse.core.findings import Problem, Report
from npulse.core.formats.results.documents import file_compare_table, read_document
from npulse.core.formats.results.polygraphy import RunResults, read_run_results
from npulse.core.formats.results.table import ResultTable, read_result
from npulse.core.formats.results.texts import Advice, read_advice, read_file_compare
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.model import Artifact, Run
from npulse.core.text import Lang

from ..verdict import Criteria
from .outputs import outputs_tables
from .reading import read_theirs
from .report import theirs_report
from .table import Result

TABLES = frozenset(
    {"msprobe.compare_result", "msprobe.acc_check", "msprobe.api_precision_compare", "cann.compare_result"}
    | {"msit.compare_result", "atb.compare_result", "msprobe.merge_result", "msprobe.free_benchmark"}
    | {"msprobe.diff_analyze", "msprobe.ckpt_compare", "cann.file_compare", "cann.compare_single"}
    | {"cann.compare_mapping"}
)
"""Kinds of artifact that are a table with a row a tensor."""
OUTPUTS = "polygraphy.results"
"""The kind that holds tensors of several runners."""
ADVICE = frozenset({"msprobe.compare_advisor", "cann.compare_advisor"})
"""Kinds that only say something of such a table."""


def is_result(artifact: Artifact) -> bool:
    """Whether an artifact is a result that another tool computed."""
    return artifact.kind in TABLES or artifact.kind in ADVICE or artifact.kind == OUTPUTS


def results_by_round(run: Run, round_name: str | None = None) -> dict[str, list[Artifact]]:
    """The results of each round that has some, in their order; those beside the rounds under ""."""
    found: dict[str, list[Artifact]] = {}
    for name, artifacts in (("", run.shared), *((one.name, one.artifacts) for one in run.rounds)):
        if round_name in (None, name):
            own = [artifact for artifact in artifacts if is_result(artifact)]
            if own:
                found.setdefault(name, []).extend(own)
    return found


def read_results(
    run: Run,
    artifacts: Iterable[Artifact],
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[list[Result], list[Problem]]:
    """The tables of artifacts, read and judged. One that cannot be read is a problem; `rank` and `step`
    narrow them where they are known.

    Raises InputError where none can be read.
    """
    criteria = Criteria.parse(options.criteria) if options.criteria else Criteria()
    root = run.path if run.path.is_dir() else run.path.parent
    found: list[Result] = []
    problems: list[Problem] = []
    refused: InputError | None = None
    outputs: list[tuple[Artifact, RunResults]] = []
    work = {"root": root, "progress": progress, "is_cancelled": is_cancelled}
    for artifact in artifacts:
        if not _is_asked_for(artifact, options):
            continue
        try:
            if artifact.kind == OUTPUTS:
                outputs.append((artifact, read_run_results(artifact.path, **work)))  # type: ignore[arg-type]
            elif artifact.kind in TABLES:
                found.append(Result(artifact, read_theirs(_table_of(artifact, **work), criteria)))
        except InputError as error:
            refused = refused or error
            problems.append(Problem.from_error(error, artifact.relative))
    for table in outputs_tables([results for _, results in outputs]):
        of_it = next(artifact for artifact, results in outputs if results.artifact == table.artifact)
        found.append(Result(of_it, read_theirs(table, criteria)))
    if refused is not None and not found:
        raise refused
    return found, problems


def _table_of(artifact: Artifact, **work: Any) -> ResultTable:
    if artifact.kind == "cann.file_compare":
        figures = read_file_compare(artifact.path, root=work["root"])
        return file_compare_table(figures, artifact.relative)
    if artifact.path.suffix.lower() == ".json":
        return read_document(artifact.path, **work)
    return read_result(artifact.path, **work)


@dataclass(frozen=True, slots=True)
class OpenedResults:
    """The results of a round, read: their tables, what advisors say beside them, what could not be read."""

    run: str
    results: tuple[Result, ...]
    advice: tuple[tuple[Artifact, Advice], ...] = ()
    problems: tuple[Problem, ...] = ()


def open_results(
    run: Run,
    artifacts: Sequence[Artifact],
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> OpenedResults:
    """The results of a round. InputError where none can be read, or none is of the rank that is asked for."""
    results, problems = read_results(run, artifacts, options, progress=progress, is_cancelled=is_cancelled)
    advice = _advice(run, artifacts, problems)
    if not results and not advice:
        raise InputError("no result table of that rank or step", path=run.path)
    return OpenedResults(str(run.path), tuple(results), tuple(advice), tuple(problems))


def report_of_opened(opened: OpenedResults, lang: Lang, *, tables: bool = False) -> Report:
    """One report over the results of a round."""
    return theirs_report(
        opened.results,
        opened.run,
        lang=lang,
        tables=tables,
        advice=opened.advice,
        problems=opened.problems,
    )


def report_of_results(
    run: Run,
    artifacts: Sequence[Artifact],
    options: AnalysisOptions,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Report:
    """The report of a round's results. Raises as `open_results`."""
    opened = open_results(run, artifacts, options, progress=progress, is_cancelled=is_cancelled)
    return report_of_opened(opened, options.lang, tables=options.tables)


def _advice(
    run: Run, artifacts: Iterable[Artifact], problems: list[Problem]
) -> list[tuple[Artifact, Advice]]:
    """What advisors wrote beside the tables."""
    root = run.path if run.path.is_dir() else run.path.parent
    found = []
    for artifact in artifacts:
        if artifact.kind in ADVICE:
            try:
                found.append((artifact, read_advice(artifact.path, root=root)))
            except InputError as error:
                problems.append(Problem.from_error(error, artifact.relative))
    return found


def names_of(artifacts: Sequence[Artifact]) -> str:
    """What the report of these results is called."""
    names = [Path(artifact.relative).name for artifact in artifacts]
    return ", ".join(names[:3]) + (f", ... ({len(names)})" if len(names) > 3 else "")


def _is_asked_for(artifact: Artifact, options: AnalysisOptions) -> bool:
    rank_fits = options.rank is None or artifact.rank in (None, options.rank)
    return rank_fits and (options.step is None or artifact.step in (None, options.step))
