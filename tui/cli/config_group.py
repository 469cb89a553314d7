"""The commands of `npulse config`: their options. What they do stands in `config.py`, imported late."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o

config_app = typer.Typer(
    rich_markup_mode=None,
    help="Configurations of the dump tools (msprobe config.json, acl.json): make, check, explain.",
    context_settings={"help_option_names": ["--help", "-h"]},
)

NameListOption = Annotated[
    Path | None,
    typer.Option("--name-list", help="Names to resolve globs against: an earlier dump, a run, a text file."),
]
CwdOption = Annotated[
    Path | None, typer.Option("--cwd", help="Folder in which the program is started (relative paths).")
]
MsprobeVersionOption = Annotated[
    str | None, typer.Option("--msprobe-version", help="Of msprobe, e.g. 26.2.0 or 8.3.3 (default: any).")
]


@config_app.callback(invoke_without_command=True)
def config(context: typer.Context, lang: o.LangOption = None) -> None:
    """Options that stand in front of the command's second word."""
    from npulse.core.errors import UsageError

    if context.invoked_subcommand is None:
        raise UsageError("which of its commands?", hint="npulse config new, check or explain; --help")
    context.obj = lang


@config_app.command("new", short_help="Make one.")
def config_new(
    context: typer.Context,
    tool: Annotated[str | None, typer.Option("--tool", help="msprobe or acl.")] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="acl: name of the .om model; several: edit the file.")
    ] = None,
    patterns: Annotated[
        list[str] | None, typer.Option("--list", help="Operators, layers, APIs; globs as 'conv*'. Several.")
    ] = None,
    step: Annotated[str | None, typer.Option("--step", help="'0|5-10' or '0,5-10'.")] = None,
    rank: Annotated[str | None, typer.Option("--rank", help="msprobe: '0,4-6'.")] = None,
    level: Annotated[
        str | None, typer.Option("--level", help="msprobe: L0, L1, L2, mix, debug. acl: op, kernel, all.")
    ] = None,
    task: Annotated[str | None, typer.Option("--task", help="msprobe: statistics, tensor, ...")] = None,
    dump_path: Annotated[
        str | None, typer.Option("--dump-path", help="Where the tool writes (default: ./dump).")
    ] = None,
    mode: Annotated[str | None, typer.Option("--mode", help="input, output or all.")] = None,
    data: Annotated[str | None, typer.Option("--data", help="tensor or stats.")] = None,
    stats: Annotated[str | None, typer.Option("--stats", help="acl: Max,Min,Avg,Nan,L2norm ...")] = None,
    scope: Annotated[
        tuple[str, str] | None, typer.Option("--scope", help="msprobe: first and last full name.")
    ] = None,
    summary_mode: Annotated[
        str | None, typer.Option("--summary-mode", help="msprobe: statistics, md5 or xor.")
    ] = None,
    overflow: Annotated[
        bool, typer.Option("--overflow", help="Overflow detection (acl: dump_debug; msprobe: nan_check).")
    ] = False,
    op_switch: Annotated[
        bool, typer.Option("--op-switch", help="acl: single-operator calls, as torch_npu makes them.")
    ] = False,
    scene: Annotated[str | None, typer.Option("--scene", help="acl: lite_exception, watcher ...")] = None,
    watcher_nodes: Annotated[
        list[str] | None,
        typer.Option("--watcher-nodes", help="acl, scene watcher: what is watched. Several."),
    ] = None,
    msprobe_version: MsprobeVersionOption = None,
    name_list: NameListOption = None,
    document: Annotated[
        Path | None, typer.Option("--from", help="Translate this file in the documents' form.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    lang: o.LangOption = None,
) -> int:
    """Make a configuration that passes `config check`; notes on it go to stderr."""
    from .config import NewOptions, run_new

    asked = NewOptions(
        tool=tool,
        model=model,
        patterns=tuple(patterns or ()),
        step=step,
        rank=rank,
        level=level,
        task=task,
        dump_path=dump_path,
        mode=mode,
        data=data,
        stats=stats,
        scope=scope or (),
        summary_mode=summary_mode,
        overflow=overflow,
        op_switch=op_switch,
        scene=scene,
        watcher_nodes=tuple(watcher_nodes or ()),
        msprobe_version=msprobe_version,
        name_list=name_list,
        document=document,
        output=output,
        force=force,
    )
    return run_new(asked, o.chosen_lang(lang or context.obj))


@config_app.command("check", short_help="Every rule of its tool.")
def config_check(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(help="acl.json, config.json ...", metavar="FILE...")],
    cwd: CwdOption = None,
    msprobe_version: MsprobeVersionOption = None,
    name_list: NameListOption = None,
    format_name: Annotated[str, typer.Option("--format", help="text, json, jsonl, md or csv.")] = "text",
    strict: o.StrictOption = False,
    lang: o.LangOption = None,
) -> int:
    """Check configurations by every rule of their tool. 1: an error; 2: unreadable; 4: no known form."""
    from .config import run_check

    return run_check(
        files,
        cwd=cwd,
        msprobe_version=msprobe_version,
        name_list=name_list,
        format_name=format_name,
        strict=strict,
        lang=o.chosen_lang(lang or context.obj),
    )


@config_app.command("explain", short_help="In words.")
def config_explain(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(help="acl.json, config.json ...", metavar="FILE...")],
    cwd: CwdOption = None,
    name_list: NameListOption = None,
    lang: o.LangOption = None,
) -> int:
    """What will be recorded and what not, where, at what cost, who loads the file, how to open the result."""
    from .config import run_explain

    return run_explain(files, cwd=cwd, name_list=name_list, lang=o.chosen_lang(lang or context.obj))
