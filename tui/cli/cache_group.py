"""The commands of `npulse cache`: their options. What they do stands in `cache.py`, imported late."""

from __future__ import annotations

from typing import Annotated

import typer

from . import options as o

cache_app = typer.Typer(
    rich_markup_mode=None,
    help="Results kept between openings of the same files: how much, where, and away with them.",
    context_settings={"help_option_names": ["--help", "-h"]},
)

JsonOption = Annotated[bool, typer.Option("--json", help="As JSON.")]


@cache_app.callback(invoke_without_command=True)
def cache(context: typer.Context, as_json: JsonOption = False, lang: o.LangOption = None) -> int:
    """Folder, size, bound, and the entries by kind, with when the first and the last were used."""
    context.obj = lang, as_json
    if context.invoked_subcommand is not None:
        return 0
    from .cache import show_cache

    return show_cache(o.chosen_lang(lang), as_json=as_json)


@cache_app.command("clear", short_help="Remove what is kept.")
def cache_clear(
    context: typer.Context,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", help="Only what nobody has used for so long: 7d, 12h, 30m, 90s."),
    ] = None,
    as_json: JsonOption = False,
    lang: o.LangOption = None,
) -> int:
    """Remove all kept results, or those that nobody has used for long. Runs themselves are never touched."""
    from .cache import clear_cache

    group_lang, is_json = context.obj
    return clear_cache(o.chosen_lang(lang or group_lang), older_than, as_json=as_json or is_json)


@cache_app.command("path", short_help="Where it lies.")
def cache_path(context: typer.Context, as_json: JsonOption = False) -> int:
    """The folder of the kept results, whether it is there or not."""
    from .cache import print_path

    return print_path(as_json=as_json or context.obj[1])
