"""Commands around a run: packed, followed, recorded, explained, served, reported; and what rules mean.

Their options alone; what they do is imported late.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o

app = typer.Typer()


@app.command(short_help="What the findings of a run need, in one file.")
def pack(
    run: Annotated[Path, typer.Argument(help="Run folder or file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The pack, a .tar.gz.")],
    *,
    max_bytes: Annotated[
        int,
        typer.Option(
            "--max-bytes", min=0, help="Of all files together, before packing; of tensors the worst go first."
        ),
    ] = 64 << 20,
    jobs: o.JobsOption = 0,
    no_cache: o.NoCacheOption = False,
    lang: o.LangOption = None,
) -> int:
    """Pack a run to hand it over: texts, tables, the worst tensors, every area's report, marks and notes.

    Paths and names are in it as they are. It opens anywhere: npulse x.tar.gz
    """
    from .pack import run_pack

    return run_pack(run, output, max_bytes=max_bytes, jobs=jobs, no_cache=no_cache, lang=o.chosen_lang(lang))


@app.command(short_help="The ranks of one job as one table.")
def merge(
    run: Annotated[Path, typer.Argument(help="A run with both captures or results of each rank; a target.")],
    golden: Annotated[Path | None, typer.Argument(help="The golden capture, where RUN is a target.")] = None,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="A new folder for the files.")],
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Figure to lay out by rank, ours or the tool's ('Max diff'); several."),
    ] = None,
    api: Annotated[
        list[str] | None,
        typer.Option("--api", help="These calls alone: Distributed.all_reduce, or a glob; several."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="YAML of msprobe merge_result: its api and compare_index lists."),
    ] = None,
    formats: Annotated[
        list[str] | None, typer.Option("--format", help="csv, json or xlsx; several (default: csv).")
    ] = None,
    round_name: o.RoundOption = None,
    pair_name: o.PairOption = None,
    step: o.StepOption = None,
    jobs: o.JobsOption = 0,
    cluster: o.ClusterOption = None,
    path_map: o.PathMapOption = None,
    no_cache: o.NoCacheOption = False,
    lang: o.LangOption = None,
) -> int:
    """Write one long table, and for each figure one with a column a rank; never into RUN."""
    from .merge import MergeOptions, run_merge

    own = MergeOptions(
        output=output,
        figures=tuple(metric or ()),
        apis=tuple(api or ()),
        config=config,
        formats=tuple(formats or ("csv",)),
        round_name=round_name,
        pair_name=pair_name,
        step=step,
        jobs=jobs,
        cluster=cluster,
        path_map=tuple(path_map or ()),
        no_cache=no_cache,
        lang=o.chosen_lang(lang),
    )
    return run_merge([path for path in (run, golden) if path is not None], own)


@app.command(short_help="Follow a folder, one line a finding.")
def watch(
    path: Annotated[Path, typer.Argument(help="The folder (or file) that tools write into.", metavar="DIR")],
    *,
    interval: Annotated[
        float, typer.Option("--interval", min=0, help="Seconds between looks (0: as soon as there is news).")
    ] = 0,
    once: Annotated[bool, typer.Option("--once", help="Look at what is there now, and end.")] = False,
    serve_status: Annotated[
        Path | None, typer.Option("--serve-status", help="Keep a small JSON file that says how it stands.")
    ] = None,
    on_finding: Annotated[
        str | None, typer.Option("--on-finding", help="Command for each new error; its JSON is on stdin.")
    ] = None,
    golden: Annotated[
        Path | None, typer.Option("--golden", help="A capture elsewhere to compare dumps with.")
    ] = None,
    area: Annotated[list[str] | None, typer.Option("--area", help="Only this area; several.")] = None,
    format_name: Annotated[str, typer.Option("--format", help="text or jsonl.")] = "text",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Append to this file; it may be rotated.")
    ] = None,
    strict: o.StrictOption = False,
    rank: o.RankOption = None,
    step: o.StepOption = None,
    source_root: o.SourceRootOption = None,
    jobs: o.JobsOption = 0,
    no_cache: o.NoCacheOption = False,
    mask: o.MaskOption = False,
    lang: o.LangOption = None,
) -> int:
    """Follow a folder without a screen: one line a finding, as soon as it is known; SIGTERM ends it."""
    from npulse.core.analysis import AnalysisOptions

    from .watch import WatchOptions, run_watch

    own = WatchOptions(
        format_name=format_name,
        output=output,
        interval_s=interval,
        once=once,
        status=serve_status,
        hook=on_finding,
        golden=golden,
        areas=tuple(area or ()),
        strict=strict,
        mask=mask,
    )
    asked = AnalysisOptions(
        lang=o.chosen_lang(lang),
        rank=rank,
        step=step,
        jobs=jobs,
        cache=o.user_cache(no_cache),
        source_roots=tuple(source_root or ()),
    )
    return run_watch(path, own, asked)


@app.command(short_help="What is installed, what conflicts, what can be captured.")
def doctor(
    file: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Environment texts from elsewhere: a collector's, pip list, version files, errors."
        ),
    ] = None,
    *,
    python: Annotated[
        str | None, typer.Option("--python", help="The job's Python (default: the one on PATH).")
    ] = None,
    format_name: o.FormatOption = None,
    output: o.OutputOption = None,
    tables: o.TablesOption = False,
    strict: o.StrictOption = False,
    mask: o.MaskOption = False,
    lang: o.LangOption = None,
) -> int:
    """What goes together, what is missing, what can be captured, with the command that repairs each."""
    from .doctor import run_doctor

    return run_doctor(
        tuple(file or ()),
        python=python,
        format_name=format_name,
        output=output,
        tables=tables,
        strict=strict,
        mask=mask,
        lang=o.chosen_lang(lang),
    )


@app.command(short_help="Run a program under a tool, keep what was recorded.")
def capture(
    kind: Annotated[
        str | None, typer.Argument(help="precision, overflow, memory or performance.", metavar="KIND")
    ] = None,
    command: Annotated[
        list[str] | None, typer.Argument(help="Behind --: the program and its arguments.", metavar="COMMAND")
    ] = None,
    *,
    tool: Annotated[str | None, typer.Option("--tool", help="Which tool (default: the usual one).")] = None,
    archive: Annotated[
        Path | None, typer.Option("--archive", help="Folder of the rounds (default: diag).")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the round.")] = None,
    repeat: Annotated[
        int, typer.Option("--repeat", min=1, help="Attempts at most, until one shows the fault.")
    ] = 1,
    keep_last: Annotated[
        bool,
        typer.Option("--keep-last", help="With --repeat: raw data of the last attempt only."),
    ] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0.001, help="Seconds after which it is ended.")
    ] = None,
    small: Annotated[bool, typer.Option("--small", help="Hints towards a minimal reproduction.")] = False,
    keep_input: Annotated[
        list[Path] | None, typer.Option("--keep-input", help="File to copy and hash first; several.")
    ] = None,
    stop_at_first: Annotated[
        bool, typer.Option("--stop-at-first", help="Overflow: end at the first anomaly.")
    ] = False,
    retro: Annotated[
        int, typer.Option("--retro", min=0, help="Overflow: operators kept before the first anomaly.")
    ] = 10,
    keep_fp32: Annotated[
        list[str] | None, typer.Option("--keep-fp32", help="Layer that stays in float32; several.")
    ] = None,
    rank: Annotated[str, typer.Option("--rank", help="Ranks, as the tool spells them.")] = "",
    step: Annotated[str, typer.Option("--step", help="Steps, as the tool spells them.")] = "",
    list_: Annotated[
        list[str] | None, typer.Option("--list", help="Operators, as the tool spells them; several.")
    ] = None,
    level: Annotated[str | None, typer.Option("--level", help="Level of the tool.")] = None,
    profiling_level: Annotated[
        int | None, typer.Option("--profiling-level", min=0, max=3, help="Performance: 0 to 3.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Name of a compiled model.")] = None,
    pid: Annotated[int | None, typer.Option("--pid", min=1, help="Attach to this process.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE, a further option of the tool; several.")
    ] = None,
    tool_option: Annotated[
        list[str] | None, typer.Option("--tool-option", help="A word for the tool as it is; several.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done; do nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Start in spite of the preflight's errors.")] = False,
    resume_bookkeeping: Annotated[
        bool,
        typer.Option("--resume-bookkeeping", help="Close rounds of a killed npulse: [ROUND|ARCHIVE]."),
    ] = False,
    stop: Annotated[
        bool, typer.Option("--stop", help="With --resume-bookkeeping: end a tool that still runs.")
    ] = False,
    switch: Annotated[
        str | None, typer.Option("--switch", help="on or off: recording of the running ROUND.")
    ] = None,
    format_name: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
    lang: o.LangOption = None,
) -> int:
    """Run a program under a capturing tool: npulse capture KIND [options] -- COMMAND ..."""
    from .capture import CaptureOptions, run_capture, run_resume, run_switch

    chosen, words = o.chosen_lang(lang), [*([kind] if kind is not None else []), *(command or [])]
    if resume_bookkeeping or switch is not None:
        folder = o.only_path(words)
        if switch is not None:
            return run_switch(switch, folder, chosen)
        return run_resume(folder, is_stopping=stop, format_name=format_name, lang=chosen)
    options = CaptureOptions(
        tool=tool,
        archive=archive,
        name=name,
        repeat=repeat,
        keep_last=keep_last,
        timeout_s=timeout,
        small=small,
        keep_inputs=keep_input or (),
        stop_at_first=stop_at_first,
        retro=retro,
        keep_fp32=keep_fp32 or (),
        rank=rank,
        step=step,
        names=list_ or (),
        level=level,
        profiling_level=profiling_level,
        model=model,
        pid=pid,
        settings=set_ or (),
        tool_options=tool_option or (),
        dry_run=dry_run,
        force=force,
        format_name=format_name,
        lang=chosen,
    )
    return run_capture(kind, command or (), options)


@app.command(short_help="Which tool for which symptom; look up a code.")
def guide(
    symptom: Annotated[
        str | None,
        typer.Argument(help="wrong, nan, crash or slow; or a command line: 'msprobe compare -tp A -gp B'."),
    ] = None,
    *,
    run: Annotated[
        Path | None,
        typer.Option("--run", help="Fill commands in from this run's rounds (default: diag, where it is)."),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            "--search", help="Look up codes, exit statuses, pitfalls and rules that hold these words."
        ),
    ] = None,
    lang: o.LangOption = None,
    format_name: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
) -> int:
    """Which tool a symptom calls for and the command that captures it; what a code or a pitfall means."""
    from .guide import print_found, print_guide

    if search is not None:
        return print_found(search, symptom, o.chosen_lang(lang), format_name)
    return print_guide(symptom, run, o.chosen_lang(lang), format_name)


@app.command(short_help="The workbench in a browser.")
def serve(
    run: Annotated[Path | None, typer.Argument(help="Run folder or file (default: recent runs).")] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on (0: any free one).")
    ] = 8000,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; beyond this machine a token is asked for.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="NPULSE_SERVE_TOKEN",
            help="Word without which nobody comes in (beyond this machine one is made).",
        ),
    ] = None,
    allow_capture: Annotated[
        bool, typer.Option("--allow-capture", help="Let pages start captures: programs, as you.")
    ] = False,
    source_root: o.SourceRootOption = None,
    lang: o.LangOption = None,
    jobs: o.JobsOption = 0,
    no_cache: o.NoCacheOption = False,
) -> int:
    """Serve the workbench to browsers, of this machine alone unless --host says otherwise."""
    from .serve import run_serve

    return run_serve(
        run,
        host=host,
        port=port,
        token=token,
        may_capture=allow_capture,
        lang=o.chosen_lang(lang),
        jobs=jobs,
        no_cache=no_cache,
        source_roots=tuple(source_root or ()),
    )


@app.command(short_help="Everything that is known of a run, as one file.")
def report(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The file: .html, .md, .json, .xml (JUnit), .csv or .xlsx."),
    ],
    criteria: Annotated[
        str | None, typer.Option("--criteria", help="A criteria file (default: yours, else the bundled one).")
    ] = None,
    baseline: o.BaselineOption = None,
    silence: o.SilenceOption = None,
    round_name: Annotated[
        str | None, typer.Option("--round", help="Only this round of the run (default: all).")
    ] = None,
    title: Annotated[
        str, typer.Option("--title", "-t", help="What stands on top (default: the run's path).")
    ] = "",
    strict: Annotated[
        bool, typer.Option("--strict", help="Warnings also give exit code 1, and fail in JUnit.")
    ] = False,
    source_root: o.SourceRootOption = None,
    mask: o.MaskOption = False,
    jobs: o.JobsOption = 0,
    cluster: o.ClusterOption = None,
    path_map: o.PathMapOption = None,
    no_cache: o.NoCacheOption = False,
    lang: o.LangOption = None,
    plugin: o.PluginOption = None,
    no_plugins: o.NoPluginsOption = False,
) -> int:
    """The check-up, every area's findings of every round and the rounds' story, for who has not the run."""
    from .report import ReportOptions, run_report

    o.use_plugins(plugin, no_plugins)
    options = ReportOptions(
        output=output,
        criteria=criteria,
        baseline=baseline,
        silences=tuple(silence or ()),
        round_name=round_name,
        title=title,
        source_roots=tuple(source_root or ()),
        strict=strict,
        mask=mask,
        jobs=jobs,
        cluster=cluster,
        path_maps=tuple(path_map or ()),
        no_cache=no_cache,
        lang=o.chosen_lang(lang),
    )
    return run_report(run, options)


@app.command(short_help="What each rule means.")
def rules(
    rule_id: Annotated[str | None, typer.Argument(help="One rule; without it all are listed.")] = None,
    lang: o.LangOption = None,
    format_name: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
) -> int:
    """What each finding's rule means, its threshold, its source and how to silence it."""
    from .reference import print_rules

    return print_rules(rule_id, o.chosen_lang(lang), format_name)
