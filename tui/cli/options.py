"""Options that analysing commands share, declared once."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from npulse.core.errors import UsageError
from npulse.core.text import Lang

FormatOption = Annotated[
    str | None,
    typer.Option("--format", help="text, json, jsonl, md or csv (default: text, or by -o's suffix)."),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write to this file; its suffix decides the format.")
]
TablesOption = Annotated[bool, typer.Option("--tables", help="Add the full table (all rows, all columns).")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Warnings and notes also give exit code 1.")]
RankOption = Annotated[int | None, typer.Option("--rank", help="Only this rank.")]
StepOption = Annotated[int | None, typer.Option("--step", help="Only this step.")]
JobsOption = Annotated[int, typer.Option("--jobs", help="Worker processes (0: as many as processors).")]
ClusterOption = Annotated[
    str | None, typer.Option("--cluster", help="Address of a Dask scheduler that does the work.")
]
LangOption = Annotated[str | None, typer.Option("--lang", help="en or zh (default: from LANG).")]
NoCacheOption = Annotated[bool, typer.Option("--no-cache", help="Neither read nor keep cached results.")]
PlainOption = Annotated[bool, typer.Option("--plain", help="Text instead of the full-screen workbench.")]
RoundOption = Annotated[
    str | None, typer.Option("--round", help="Which round of the run (default: the newest).")
]
CriteriaOption = Annotated[
    str | None,
    typer.Option("--criteria", help="Thresholds: cosine=0.99,norm_ratio_low=0.99,norm_ratio_high=1.01"),
]


def chosen_lang(lang: str | None) -> Lang:
    """The language to speak: the option, else the environment."""
    import os

    from ..messages import choose_language

    if lang not in (None, "en", "zh"):
        raise UsageError(f"unknown language '{lang}'", hint="en or zh")
    return choose_language(lang, os.environ)


def chosen_format(format_name: str | None, output: Path | None) -> str:
    """The report format: --format, else what the output's suffix stands for, else text."""
    from npulse.core.report import FORMATS, format_of

    if format_name is not None:
        if format_name not in FORMATS:
            raise UsageError(f"unknown format '{format_name}'", hint="formats: " + ", ".join(FORMATS))
        return format_name
    return format_of(str(output), "text") if output is not None else "text"


def version() -> str:
    """The product's version."""
    import npulse

    return str(npulse.__version__)


def emit(text_pieces: Iterable[str], *, is_json: bool = False) -> None:
    """Write pieces of a report to stdout in its own encoding; what it cannot carry is escaped, never lost.

    JSON is UTF-8 whatever the locale says: it is for programs.
    """
    raw = getattr(sys.stdout, "buffer", None)
    if is_json and raw is not None:
        sys.stdout.flush()
        for piece in text_pieces:
            raw.write(piece.encode("utf-8"))
        raw.flush()
        return
    encoding = sys.stdout.encoding or "utf-8"
    for piece in text_pieces:
        sys.stdout.write(piece.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()
