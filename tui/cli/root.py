"""The typer app: one function a command, each importing what it needs when it runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command, get_command_name

from npulse.sample_runs import SAMPLES

from . import area_commands, work_commands
from . import options as o
from .cache_group import cache_app
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


app.add_typer(area_commands.app)
app.add_typer(work_commands.app)

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
app.add_typer(cache_app, name="cache", short_help="Kept results: how much, where; clear.")
app.add_typer(plugin_app, name="plugin", short_help="Plug-ins: list, check, add, remove.")


def command_line(word: str) -> Callable[..., Any]:
    """What runs a command line that begins with `word`: the app with that command alone.

    The others would be built, thirty functions' signatures read, only to be looked past. The whole app is
    built for what asks about it: --help, --version, completion in the shell.
    """
    is_completion = any(name.startswith("_") and name.endswith("_COMPLETE") for name in os.environ)
    return _built("" if is_completion or word.startswith("-") else word)


@cache
def _built(word: str) -> Callable[..., Any]:
    return get_command(_with_only(word) if word else app)


def _with_only(word: str) -> typer.Typer:
    one = typer.Typer()
    one.info, one.registered_callback = app.info, app.registered_callback
    one.pretty_exceptions_enable, one.rich_markup_mode = False, None
    rooms = [app, *(group.typer_instance for group in app.registered_groups if not group.name)]
    commands = [command for room in rooms if room for command in room.registered_commands]
    one.registered_commands = [
        command
        for command in commands
        if (command.name or get_command_name(getattr(command.callback, "__name__", ""))) == word
    ]
    one.registered_groups = [group for group in app.registered_groups if group.name == word]
    return one
