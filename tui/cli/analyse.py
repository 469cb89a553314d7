"""What every analysing command does: ask its area, write the report, give the exit code."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npulse.core.areas import area_of
from npulse.core.errors import UsageError
from npulse.core.verbosity import ALL, told_at

from .options import (
    AnalyseOptions,
    chosen_format,
    chosen_lang,
    emit,
    now_text,
    opened,
    talk,
    told_cache,
    version,
)
from .progress import end_progress, stderr_progress
from .so_far import told_so_far

if TYPE_CHECKING:
    from npulse.core.analysis import AnalysisOptions, AreaReport
    from npulse.core.findings import Report
    from npulse.core.progress import ProgressCallback
    from npulse.core.scale import Cluster


_OVER_A_CLUSTER = ("precision", "overflow")
"""Areas whose ranks a cluster takes."""


def run_analysis(
    options: AnalyseOptions, area_id: str, paths: Sequence[Path], *, verbosity: int = ALL, **own: Any
) -> int:
    """The report of an area over the paths of a command line; returns the exit code.

    verbosity: how much is told (0 to 3). own: options that only this area has, as fields of AnalysisOptions.
    """
    from npulse.core.scale import limit_blas_threads

    limit_blas_threads()
    lang = chosen_lang(options.lang)
    is_whole = is_whole_file(options, paths)
    # a wrong one is told before the work
    format_name = "" if is_whole else chosen_format(options.format_name, options.output)
    paths = [opened(path) for path in paths]
    _refuse_the_same(paths)
    try:
        asked = replace(asked_of(options), **own)
        asked = replace(asked, tables=asked.tables or is_whole, on_report=told_so_far(lang))
        found = _with_plugins(area_id, paths, asked, stderr_progress(lang))
    finally:
        end_progress()
    for note in found.notes:
        talk(f"npulse: {note}")
    if asked.cluster is not None and area_id not in _OVER_A_CLUSTER:
        talk(f"npulse: --cluster has no part in {area_id}: it reads the files of this host")
    if is_whole:
        return written_whole(area_id, found, options, paths)
    return written(told_at(found.report, verbosity), format_name, options, paths)


def is_whole_file(options: AnalyseOptions, paths: Sequence[Path]) -> bool:
    """Whether the file is a page, JUnit or a workbook; what is wrong with it is told before the work."""
    from npulse.core.report import is_whole_alone, refuse_early

    is_whole = options.format_name is None and is_whole_alone(options.output)
    if is_whole and options.output is not None:
        refuse_early(options.output, runs=paths)
    return is_whole


def written_whole(area_id: str, found: AreaReport, options: AnalyseOptions, paths: Sequence[Path]) -> int:
    """One area's report as a file of those formats that a whole dossier has; the exit code is the area's."""
    from npulse.core.checkup.commands import RunFacts
    from npulse.core.checkup.criteria_file import CriteriaFile
    from npulse.core.checkup.judge import judged
    from npulse.core.report import dossier_of, masked_dossier, write_whole_report

    lang = chosen_lang(options.lang)
    check_up = judged(RunFacts(found.report.run), {area_id: (found,)}, CriteriaFile(), lang=lang)
    asked = tuple(state for state in check_up.areas if state.area == area_id)
    told = replace(check_up, areas=asked, state=found.report.verdict)  # by the area's own rules alone
    dossier = dossier_of(told, made=now_text())
    if options.mask:
        dossier = masked_dossier(dossier, _round_names(paths))
    assert options.output is not None
    write_whole_report(
        dossier, options.output, version=version(), lang=lang, strict=options.strict, runs=paths
    )
    return found.report.exit_code(strict=options.strict)


def _with_plugins(
    area_id: str, paths: Sequence[Path], asked: AnalysisOptions, progress: ProgressCallback
) -> AreaReport:
    """The area's report, with what analysis plug-ins of that area say of the run behind it."""
    from npulse.core.plugins.analyses import has_analyses, plugin_reports, with_plugins, without_tables

    area = area_of(area_id)
    if not has_analyses(area_id):
        return area.report_of(paths, asked, progress=progress)
    from npulse.core.run.discover import discover

    found = area.report_of(paths, replace(asked, tables=True), progress=progress)
    more = plugin_reports(discover(paths[0]), {area_id: (found,)}, asked, area=area_id)
    if not asked.tables:
        found = without_tables(found)
    return with_plugins(found, more)


def run_diff(
    options: AnalyseOptions, before: Path, after: Path, *, round_b: str | None, top: int | None
) -> int:
    """Two runs side by side; returns the exit code."""
    from npulse.core.scale import limit_blas_threads

    limit_blas_threads()
    from npulse.core.diff import diff

    lang = chosen_lang(options.lang)
    format_name = chosen_format(options.format_name, options.output)
    before, after = opened(before), opened(after)
    rounds = (options.round_name, round_b)
    if before == after and rounds == (None, None):
        from ..state import StateStore
        from .rounds import known_baseline

        rounds = known_baseline(StateStore(), before) or None, None
    try:
        found = diff(
            before,
            after,
            replace(asked_of(options), top=top),
            rounds=rounds,
            progress=stderr_progress(lang),
        )
    finally:
        end_progress()
    return written(found, format_name, options, (before, after))


def written(found: Report, format_name: str, options: AnalyseOptions, paths: Sequence[Path]) -> int:
    """The report to stdout or to its file; the exit code."""
    from npulse.core.report import masked, render, write_report

    lang = chosen_lang(options.lang)
    report = masked(found, rounds=_round_names(paths)) if options.mask else found
    pieces = render(report, format_name, version=version(), lang=lang)
    if options.output is None:
        emit(pieces, is_json=format_name in ("json", "jsonl"))
    else:
        write_report(pieces, options.output, runs=paths)
    return report.exit_code(strict=options.strict)


def _round_names(paths: Sequence[Path]) -> Iterator[str]:
    """The rounds of the runs that were looked at: areas name them."""
    from npulse.core.run.discover import discover

    for path in paths:
        for round_ in discover(path).rounds:
            yield from round_.name.split("/")


def asked_of(options: AnalyseOptions) -> AnalysisOptions:
    """What the area is asked: the options without those that only say how to write the answer."""
    from npulse.core.analysis import AnalysisOptions

    return AnalysisOptions(
        lang=chosen_lang(options.lang),
        tables=options.tables,
        round_name=options.round_name,
        pair_name=options.pair_name,
        rank=options.rank,
        step=options.step,
        criteria=options.criteria,
        jobs=options.jobs,
        cluster=cluster_of(options.cluster, options.path_map or ()),
        cache=told_cache(options.no_cache, chosen_lang(options.lang)),
    )


def cluster_of(address: str | None, path_maps: Sequence[str]) -> Cluster | None:
    """The cluster that is meant. UsageError for an address or a map of paths that cannot be."""
    if address is None:
        if path_maps:
            raise UsageError("--path-map says how a cluster's workers name folders", hint="with --cluster")
        return None
    from npulse.core.scale import Cluster

    return Cluster.parse(address, path_maps)


def _refuse_the_same(paths: Sequence[Path]) -> None:
    """A capture agrees with itself: naming it twice is a slip, not a comparison that passed."""
    if len(paths) > 1 and os.path.realpath(paths[0]) == os.path.realpath(paths[1]):
        hint = "give the golden capture as the second path"
        raise UsageError("target and golden are the same", hint=hint, path=paths[0])
