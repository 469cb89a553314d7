"""`npulse report`: everything that is known of a run, as one file for somebody who has not the run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from npulse.core.text import Lang

from ..state import user_config_file
from .analyse import cluster_of
from .check import CRITERIA_FILE
from .gate import gate_of
from .options import AnalyseOptions, now_text, opened, talk, told_cache, version
from .progress import end_progress, stderr_progress


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """The command's options, as the command line names them."""

    output: Path
    criteria: str | None = None
    baseline: str | None = None
    silences: tuple[Path, ...] = ()
    round_name: str | None = None
    title: str = ""
    source_roots: tuple[Path, ...] = ()
    strict: bool = False
    mask: bool = False
    jobs: int = 0
    cluster: str | None = None
    path_maps: tuple[str, ...] = ()
    no_cache: bool = False
    lang: Lang = "en"


def run_report(path: Path, options: ReportOptions) -> int:
    """Write the report; the check-up's exit code. What is wrong with the file is told before the work."""
    from npulse.core.scale import limit_blas_threads

    limit_blas_threads()
    from npulse.core.analysis import AnalysisOptions
    from npulse.core.checkup.report import first_line, report
    from npulse.core.checkup.run_report import criteria_in_force
    from npulse.core.dossier import gather
    from npulse.core.kept import discover_kept
    from npulse.core.report import masked_dossier, refuse_early, write_whole_report

    refuse_early(options.output, runs=(path,))
    path = opened(path)
    criteria = criteria_in_force(options.criteria, user_config_file(CRITERIA_FILE))
    shared = AnalyseOptions(
        round_name=options.round_name, jobs=options.jobs, lang=options.lang, no_cache=options.no_cache
    )
    gate = gate_of(shared, path, criteria, options.baseline, options.silences)
    asked = AnalysisOptions(
        lang=options.lang,
        round_name=options.round_name,
        jobs=options.jobs,
        cluster=cluster_of(options.cluster, options.path_maps),
        cache=told_cache(options.no_cache, options.lang),
        source_roots=options.source_roots,
    )
    progress = stderr_progress(options.lang)
    try:
        found = gather(
            discover_kept(path, asked.cache, progress=progress),
            asked,
            criteria,
            title=options.title,
            made=now_text(),
            prepare=gate.prepare,
            progress=progress,
        )
        told = masked_dossier(found) if options.mask else found
        write_whole_report(
            told, options.output, version=version(), lang=options.lang, strict=options.strict, runs=(path,)
        )
    finally:
        end_progress()
    judged = report(found.check_up, options.lang)
    for note in gate.notes(judged.findings) if gate else ():
        talk(f"npulse: {note}")
    talk(f"npulse: {options.output}: {judged.verdict.upper()}. {first_line(found.check_up, options.lang)}")
    return judged.exit_code(strict=options.strict)
