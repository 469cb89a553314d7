"""The typer app: one function a command, each importing what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from npulse.sample_runs import SAMPLES

from . import options as o
from .config_group import config_app
from .plugin_group import plugin_app

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=True,
    help="Terminal workbench that takes the pulse of an Ascend NPU job. "
    "npulse PATH opens a run folder; without PATH the recent runs.",
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"npulse {o.version()}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options that stand before a command."""


@app.command("open", short_help="Open the workbench on a run.")
def open_(
    path: Annotated[Path | None, typer.Argument(help="Run folder or file (default: recent runs).")] = None,
    pane: Annotated[str | None, typer.Option("--pane", help="Pane to show first.")] = None,
    lang: o.LangOption = None,
    source_root: o.SourceRootOption = None,
    plain: o.PlainOption = False,
    jobs: o.JobsOption = 0,
    no_cache: o.NoCacheOption = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Follow the run while it is written (F in the workbench).")
    ] = False,
    on_finding: Annotated[
        str | None,
        typer.Option("--on-finding", help="Command that gets each new error as JSON while following."),
    ] = None,
    bell: Annotated[
        bool, typer.Option("--bell/--no-bell", help="Ring for new errors while following (NPULSE_NO_BELL=1).")
    ] = True,
    plugin: o.PluginOption = None,
    no_plugins: o.NoPluginsOption = False,
    replay: Annotated[
        str | None, typer.Option("--replay", help="Do a recording again: its name, or a file of steps.")
    ] = None,
    replay_pause: Annotated[
        float, typer.Option("--replay-pause", min=0, help="Seconds between the steps of --replay.")
    ] = 0.3,
) -> int:
    """Open the workbench on a run folder, a file, or the picker of recent runs."""
    o.use_plugins(plugin, no_plugins)
    from .workbench import Followed, open_workbench

    o.check_seconds(replay_pause, "--replay-pause")
    return open_workbench(
        path,
        followed=Followed(follow, bell, on_finding),
        replay=replay,
        replay_pause_s=replay_pause,
        pane=pane,
        lang=o.chosen_lang(lang),
        plain=plain,
        jobs=jobs,
        no_cache=no_cache,
        source_roots=tuple(source_root or ()),
    )


@app.command(short_help="Open a bundled sample run.")
def demo(
    name: Annotated[
        str | None, typer.Argument(help=f"Which sample run: {', '.join(SAMPLES)} (default: the first).")
    ] = None,
    lang: o.LangOption = None,
    plain: o.PlainOption = False,
    jobs: o.JobsOption = 0,
    no_cache: o.NoCacheOption = False,
) -> int:
    """Open a bundled sample run; where stdout is no terminal, print its triage as text."""
    from .workbench import open_demo

    return open_demo(name, lang=o.chosen_lang(lang), plain=plain, jobs=jobs, no_cache=no_cache)


@app.command(short_help="All areas against the criteria, what to open first.")
@o.with_analyse_options
def check(
    run: Annotated[Path | None, typer.Argument(help="A run folder or file.")] = None,
    *,
    here: Annotated[
        bool, typer.Option("--here", help="Environment and cards of this machine, not of the run.")
    ] = False,
    print_criteria: Annotated[
        bool, typer.Option("--print-criteria", help="Print the bundled criteria file, to start from.")
    ] = False,
    baseline: o.BaselineOption = None,
    silence: o.SilenceOption = None,
    options: o.AnalyseOptions,
) -> int:
    """Check a run in every area: pass, warn, fail, unknown or incomplete; what to open first and why."""
    from . import check as command

    if print_criteria:
        return command.print_criteria()
    return command.run_check(options, run, is_here=here, baseline=baseline, silences=tuple(silence or ()))


@app.command(short_help="Compare two captures, name the origin.")
@o.with_analyse_options
def precision(
    target: Annotated[Path, typer.Argument(help="The NPU capture, or a run that holds both.")],
    golden: Annotated[
        Path | None, typer.Argument(help="The golden capture (GPU, CPU, earlier version).")
    ] = None,
    *,
    options: o.AnalyseOptions,
) -> int:
    """Compare two captures and name the operator where the difference begins."""
    from .analyse import run_analysis

    return run_analysis(options, "precision", [path for path in (target, golden) if path is not None])


@app.command(short_help="Find where NaN, Inf or saturation begins.")
@o.with_analyse_options
def overflow(
    run: Annotated[Path, typer.Argument(help="A dump, overflow records, monitor files, or a run of them.")],
    *,
    saturation: Annotated[
        bool | None,
        typer.Option(
            "--saturation/--no-saturation",
            help="Say that the device saturates, or writes Inf, where no file tells it.",
        ),
    ] = None,
    options: o.AnalyseOptions,
) -> int:
    """Find the first operator that blew up, what fed it, and the rank on which it began."""
    from .analyse import run_analysis

    return run_analysis(options, "overflow", [run], saturation=saturation)


@app.command(short_help="Group memory faults by code site, show the source.")
@o.with_analyse_options
def memory(
    run: Annotated[
        Path, typer.Argument(help="Sanitizer logs, runtime logs, memory events, or a run of them.")
    ],
    *,
    source_root: o.SourceRootOption = None,
    kernel_object: Annotated[
        list[Path] | None,
        typer.Option("--kernel-object", help="A kernel's .o, for lines of program counters; several."),
    ] = None,
    options: o.AnalyseOptions,
) -> int:
    """Group what sanitizers and the runtime report by code site, and name what only follows from it."""
    from .analyse import run_analysis

    roots, objects = tuple(source_root or ()), tuple(kernel_object or ())
    return run_analysis(options, "memory", [run], source_roots=roots, kernel_objects=objects)


@app.command(short_help="What to attack first: idle, communication or compute.")
@o.with_analyse_options
def performance(
    run: Annotated[Path, typer.Argument(help="Exported profiles, databases, traces, or a run of them.")],
    *,
    top: Annotated[
        int | None, typer.Option("--top", min=0, help="Rows of the list of operators (0: all; default: 20).")
    ] = None,
    by: Annotated[
        str, typer.Option("--by", help="Group or order operators: type, call, count or average.")
    ] = "type",
    options: o.AnalyseOptions,
) -> int:
    """Say what comes first (idle, communication or compute), then which operator, then why."""
    from .analyse import run_analysis

    return run_analysis(options, "performance", [run], top=top, by=by)


@app.command(short_help="Cards by npu-smi: health, heat, memory, errors.")
@o.with_analyse_options
def device(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Saved output of npu-smi, or a run; several files are of one machine.",
            metavar="[FILE|RUN ...]",
        ),
    ] = None,
    *,
    now: Annotated[bool, typer.Option("--now", help="Ask npu-smi of this machine.")] = False,
    interval: Annotated[
        float | None, typer.Option("--interval", min=0, help="With --now: ask again every so many seconds.")
    ] = None,
    count: Annotated[
        int | None,
        typer.Option("--count", min=1, help="With --now: how often to ask (default: once, or until Ctrl-C)."),
    ] = None,
    options: o.AnalyseOptions,
) -> int:
    """Say what is not well with the cards: health, heat, frequency, memory, error counters, the driver."""
    from .device import run_device

    return run_device(options, paths or [], now=now, interval_s=interval, count=count)


@app.command(short_help="Two runs or rounds side by side, every area.")
@o.with_analyse_options
def diff(
    run_a: Annotated[Path, typer.Argument(help="The earlier run.")],
    run_b: Annotated[
        Path | None,
        typer.Argument(help="The later run (default: the same, against --round or its baseline)."),
    ] = None,
    *,
    round_b: Annotated[
        str | None, typer.Option("--round-b", help="Which round of the later run (default: the newest).")
    ] = None,
    top: Annotated[int | None, typer.Option("--top", min=0, help="Rows of the list of operators.")] = None,
    options: o.AnalyseOptions,
) -> int:
    """What is new, what is gone, what a change bought and what it cost, in every area."""
    from .analyse import run_diff

    return run_diff(options, run_a, run_b or run_a, round_b=round_b, top=top)


@app.command(short_help="The story of an archive, a line a round.")
@o.with_analyse_options
def rounds(
    archive: Annotated[Path, typer.Argument(help="A folder with rounds, as npulse capture writes them.")],
    *,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="Compare each round with this one too.")
    ] = None,
    mark_baseline: Annotated[
        str | None,
        typer.Option("--mark-baseline", help="The same, and keep it for later calls; 'none' forgets it."),
    ] = None,
    options: o.AnalyseOptions,
) -> int:
    """Which round met which criterion first and what it cost; what each changed, bought or lost."""
    from .rounds import run_rounds

    return run_rounds(options, archive, baseline=baseline, mark_baseline=mark_baseline)


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
        str | None, typer.Argument(help="wrong, nan, crash or slow; without it all of them.")
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


keys_app = typer.Typer(rich_markup_mode=None, help="Print the key map in force; validate one.")
app.add_typer(keys_app, name="keys", short_help="Print or check the key map.")


@keys_app.callback(invoke_without_command=True)
def keys(context: typer.Context, lang: o.LangOption = None) -> int:
    """Print the key map in force."""
    if context.invoked_subcommand is not None:
        return 0
    from .reference import print_keys

    return print_keys(o.chosen_lang(lang))


@keys_app.command("check")
def keys_check(file: Annotated[Path, typer.Argument(help="A key map (TOML).")]) -> int:
    """Check a key map; exit code 2 where it has errors."""
    from .reference import check_keys

    return check_keys(file)


app.add_typer(config_app, name="config", short_help="Dump configurations: make, check, explain.")
app.add_typer(plugin_app, name="plugin", short_help="Plug-ins: list, check, add, remove.")
