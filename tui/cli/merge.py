"""`npulse merge`: the ranks of one job as one table, in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from npulse.core.analysis import AnalysisOptions
from npulse.core.text import Lang, say

from .analyse import cluster_of
from .options import emit, opened, talk, told_cache
from .progress import end_progress, stderr_progress

SHOWN = 8

TEXTS: dict[str, tuple[str, str]] = {
    "merged": (
        "{source}: {n} rows of {n_ranks} ranks ({ranks}) -> {folder}/: {files}",
        "{source}：{n_ranks} 个 rank（{ranks}）共 {n} 行 -> {folder}/：{files}",
    ),
    "one-rank": (
        "one rank alone: there is nothing to lay side by side",
        "只有一个 rank：没有可并列的内容",
    ),
    "apart": (
        "{figure}: the ranks are apart in {n} of {of} tensors, first {name} ({rank} is worst)",
        "{figure}：{of} 个张量中有 {n} 个各 rank 不同，第一个为 {name}（{rank} 最差）",
    ),
    "alike": ("{figure}: the same on all ranks in {of} tensors", "{figure}：{of} 个张量在所有 rank 上相同"),
    "no-figures": (
        "no figure to lay out by rank: the long table is written alone",
        "没有可按 rank 展开的指标：仅写出长表",
    ),
}


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """The command's options, as the command line names them."""

    output: Path
    figures: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    config: Path | None = None
    formats: tuple[str, ...] = ("csv",)
    round_name: str | None = None
    pair_name: str | None = None
    step: int | None = None
    jobs: int = 0
    cluster: str | None = None
    path_map: tuple[str, ...] = ()
    no_cache: bool = False
    lang: Lang = "en"


def run_merge(paths: Sequence[Path], options: MergeOptions) -> int:
    """Write the folder; 0, or 4 where something could not be read. Nothing is written where that fails."""
    from npulse.core.scale import limit_blas_threads

    limit_blas_threads()
    from npulse.core.formats.msprobe.merge_config import read_merge_config
    from npulse.core.precision.ranks.job import job_table
    from npulse.core.precision.ranks.merge import figures_of, merged, ranks_of, selected
    from npulse.core.precision.shown.names import measures
    from npulse.core.report.folder import check_folder, write_folder

    check_folder(options.output, options.formats, runs=paths)
    paths = [opened(path) for path in paths]
    apis, wanted = options.apis, options.figures
    if options.config is not None:
        config = read_merge_config(options.config)
        apis, wanted = (*apis, *config.apis), (*wanted, *config.figures)
    asked = AnalysisOptions(
        lang=options.lang,
        round_name=options.round_name,
        pair_name=options.pair_name,
        step=options.step,
        jobs=options.jobs,
        cluster=cluster_of(options.cluster, options.path_map),
        cache=told_cache(options.no_cache, options.lang),
    )
    try:
        found = job_table(paths, asked, progress=stderr_progress(options.lang))
    finally:
        end_progress()
    table = selected(found.table, apis)
    names = measures(wanted).figures if found.is_ours else wanted
    figures = figures_of(table, names)
    tables, ranks = merged(table, figures), ranks_of(table)
    head = {"source": found.source, "ranks": ranks, "figures": list(figures)}
    files = write_folder(tables, options.output, options.formats, head=head, runs=paths)
    for problem in found.problems:
        talk(f"npulse: {problem.artifact}: {problem.message}")
    listed = ", ".join(ranks[:SHOWN]) + (", ..." if len(ranks) > SHOWN else "")
    values = {"source": found.source, "n": f"{table.n_rows:,}", "n_ranks": len(ranks), "ranks": listed}
    lines = [say(TEXTS, "merged", options.lang, folder=options.output, files=", ".join(files), **values)]
    if len(ranks) < 2:
        lines.append(say(TEXTS, "one-rank", options.lang))
    if not figures:
        lines.append(say(TEXTS, "no-figures", options.lang))
    for figure in figures if len(ranks) > 1 else ():
        worst = tables[figure].column("worst").to_list(0, tables[figure].n_rows)
        apart = [place for place, rank in enumerate(worst) if rank is not None]
        key = "apart" if apart else "alike"
        first = tables[figure].row(apart[0]) if apart else {"name": "", "worst": ""}
        told = {"figure": figure, "n": len(apart), "of": len(worst), "name": first["name"]}
        lines.append(say(TEXTS, key, options.lang, rank=first["worst"], **told))
    emit([f"{line}\n" for line in lines])
    return 4 if found.problems else 0
