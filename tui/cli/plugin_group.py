"""The commands of `npulse plugin`: their options. What they do stands in `plugin.py`, imported late."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o

plugin_app = typer.Typer(
    rich_markup_mode=None,
    help="Plug-ins of others: readers, metrics, analyses, references. Code that runs with your rights.",
    context_settings={"help_option_names": ["--help", "-h"]},
)

PluginFormatOption = Annotated[str, typer.Option("--format", help="text or json.")]


@plugin_app.callback(invoke_without_command=True)
def plugin(context: typer.Context, lang: o.LangOption = None) -> None:
    """Options that stand in front of the command's second word."""
    from npulse.core.errors import UsageError

    if context.invoked_subcommand is None:
        raise UsageError("which of its commands?", hint="npulse plugin list, check, add or remove; --help")
    context.obj = lang


@plugin_app.command("list", short_help="What there is, where it comes from.")
def plugin_list(
    context: typer.Context, format_name: PluginFormatOption = "text", lang: o.LangOption = None
) -> int:
    """Name, kind, origin, version and state of every plug-in; none is imported for that."""
    from .plugin import list_plugins

    return list_plugins(o.chosen_lang(lang or context.obj), format_name)


@plugin_app.command("check", short_help="Try one out, name its faults.")
def plugin_check(
    context: typer.Context,
    what: Annotated[str, typer.Argument(help="A file, or the name of a plug-in.", metavar="FILE|NAME")],
    format_name: PluginFormatOption = "text",
    lang: o.LangOption = None,
) -> int:
    """Import it in a process of its own, run each part on a tiny sample; 1 where it has faults."""
    from .plugin import check

    return check(what, o.chosen_lang(lang or context.obj), format_name)


@plugin_app.command("add", short_help="Use a file from now on.")
def plugin_add(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A plug-in (.py).")],
    name: Annotated[str | None, typer.Option("--name", "-n", help="Its name (default: the file's).")] = None,
    lang: o.LangOption = None,
) -> int:
    """Copy a file into npulse's configuration, where every run uses it until it is removed or changed."""
    from .plugin import add

    return add(file, name, o.chosen_lang(lang or context.obj))


@plugin_app.command("remove", short_help="Forget a file that was added.")
def plugin_remove(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The name under which it was added.")],
    lang: o.LangOption = None,
) -> int:
    """Forget a file that was added; packages are taken away with pip."""
    from .plugin import remove

    return remove(name, o.chosen_lang(lang or context.obj))
