"""Commands that look at runs, an area each and over all of them.

Their options alone; what they do is imported late.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from . import precision_options as p

app = typer.Typer()


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
    target: Annotated[
        Path | None,
        typer.Argument(help="The NPU capture, a run that holds both, a result table, or a configuration."),
    ] = None,
    golden: Annotated[
        Path | None, typer.Argument(help="The golden capture (GPU, CPU, earlier version).")
    ] = None,
    *,
    reference: p.ReferenceOption = None,
    target_option: p.TargetOption = None,
    config: p.ConfigOption = None,
    metric: p.MetricOption = None,
    error_threshold: p.ErrorThresholdOption = None,
    compare_mode: p.CompareModeOption = None,
    operator: p.OperatorOption = None,
    by_rank: p.ByRankOption = False,
    ranks: p.RanksOption = None,
    layer: p.LayerOption = None,
    inputs: p.InputsOption = False,
    precision_map: p.PrecisionMapOption = None,
    dtype: p.DtypeOption = None,
    shape: p.ShapeOption = None,
    fusion_rule: p.FusionRuleOption = None,
    pairing: p.PairingOption = "auto",
    mapping: p.MappingOption = None,
    write_mapping: p.WriteMappingOption = None,
    tensors: p.TensorsOption = "all",
    baseline: p.GoldenBaselineOption = None,
    verbosity: p.VerbosityOption = 2,
    options: o.AnalyseOptions,
) -> int:
    """Compare two captures and name the operator where the difference begins."""
    from .precision import PrecisionOptions, run_precision

    own = PrecisionOptions(
        reference=reference,
        target=target_option,
        config=config,
        metrics=tuple(metric or ()),
        error_threshold=error_threshold,
        compare_mode=compare_mode,
        operator=operator,
        by_rank=by_rank,
        ranks=ranks,
        layers=tuple(layer or ()),
        inputs=inputs,
        precision_map=precision_map,
        dtype=dtype,
        shape=shape,
        fusion_rule=fusion_rule,
        pairing=pairing,
        mappings=tuple(mapping or ()),
        write_mapping=write_mapping,
        tensors=tensors,
        baseline=baseline,
        verbosity=verbosity,
    )
    return run_precision(options, [path for path in (target, golden) if path is not None], own)


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


@app.command(short_help="Compute an operator again on the CPU, from its inputs.")
@o.with_analyse_options
def recheck(
    operator: Annotated[
        str,
        typer.Argument(
            help="A call's full name, a pattern of names, an API (softmax) or a module class.",
            metavar="OPERATOR",
        ),
    ],
    run: Annotated[Path, typer.Argument(help="A capture with tensors, or a run that holds one.")],
    *,
    side: Annotated[
        str | None,
        typer.Option("--side", help="target or golden (default: target, golden beside it)."),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            help="FILE.py:FUNCTION that computes what the operator should: code that runs with your rights.",
        ),
    ] = None,
    activation: Annotated[
        str | None,
        typer.Option("--activation", help="A leaf of the call to look at under int8: input.0, or its name."),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option("--scale", help="The scale of that activation: a leaf of the call, or a number."),
    ] = None,
    options: o.AnalyseOptions,
) -> int:
    """Say whether an output is within what its dtype allows, or the implementation or the call is wrong."""
    from .recheck import run_recheck

    return run_recheck(
        options, operator, run, side=side, activation=activation, scale=scale, reference=reference
    )


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
