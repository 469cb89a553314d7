"""`npulse precision`: compare, report, exit code."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from npulse.core.errors import UsageError
from npulse.core.findings import Problem, Report
from npulse.core.text import Lang

from .options import emit, version
from .progress import end_progress, stderr_progress


@dataclass(frozen=True, slots=True)
class PrecisionArguments:
    """The command line of `npulse precision`, checked."""

    target: Path
    golden: Path | None
    format_name: str
    output: Path | None
    tables: bool
    strict: bool
    criteria: str | None
    round_name: str | None
    rank: int | None
    step: int | None
    jobs: int
    cluster: str | None
    lang: Lang
    no_cache: bool


def run_precision(arguments: PrecisionArguments) -> int:
    """Compare and write the report; returns the exit code."""
    from npulse.core.scale import limit_blas_threads

    limit_blas_threads()
    from npulse.core.report import render, write_report

    _refuse_the_same(arguments)
    try:
        report = _report(arguments)
    finally:
        end_progress()
    pieces = render(report, arguments.format_name, version=version(), lang=arguments.lang)
    if arguments.output is None:
        emit(pieces, is_json=arguments.format_name in ("json", "jsonl"))
    else:
        runs = [p for p in (arguments.target, arguments.golden) if p is not None]
        write_report(pieces, arguments.output, runs=runs)
    return report.exit_code(strict=arguments.strict)


def _refuse_the_same(arguments: PrecisionArguments) -> None:
    """A capture agrees with itself: naming it twice is a slip, not a comparison that passed."""
    target, golden = arguments.target, arguments.golden
    if golden is not None and os.path.realpath(target) == os.path.realpath(golden):
        hint = "give the golden capture as the second path"
        raise UsageError("target and golden are the same", hint=hint, path=target)


def _report(arguments: PrecisionArguments) -> Report:
    from npulse.core import api
    from npulse.core.cache import default_cache
    from npulse.core.precision.alone import check_alone
    from npulse.core.precision.compare import Settings
    from npulse.core.precision.verdict import Criteria

    settings = Settings(
        criteria=Criteria.parse(arguments.criteria) if arguments.criteria else Criteria(),
        jobs=arguments.jobs,
        cluster=arguments.cluster,
        rank=arguments.rank,
        step=arguments.step,
        cache=None if arguments.no_cache else default_cache(),
    )
    progress = stderr_progress()
    problems: tuple[Problem, ...] = ()
    if arguments.golden is None:
        run = api.open_run(arguments.target)
        problems = run.problems
        dumps = [a for a in run.artifacts if a.kind == "msprobe.dump"]
        if api.is_single_capture(run):
            return check_alone(run, dumps, lang=arguments.lang, progress=progress)
    result = api.compare(
        arguments.target,
        arguments.golden,
        settings=settings,
        lang=arguments.lang,
        tables=arguments.tables,
        round_name=arguments.round_name,
        progress=progress,
    )
    return api.with_problems(result.report, problems)
