"""`npulse doctor`: what is installed, aligned, missing and can be captured, of this machine or of texts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from npulse.core.text import Lang

from .options import chosen_format, emit, version

WIDTH = 80


def run_doctor(
    files: Sequence[Path],
    *,
    python: str | None,
    format_name: str | None,
    output: Path | None,
    tables: bool,
    strict: bool,
    mask: bool,
    lang: Lang,
) -> int:
    """The report of this machine (no files) or of texts; returns the exit code."""
    from npulse.core.doctor.report import exit_code, report
    from npulse.core.report import masked, render, write_report

    chosen = chosen_format(format_name, output)
    if files:
        from npulse.core.doctor.reading import read_environments

        environment = read_environments(files)
    else:
        from npulse.core.device.query import snapshot_now
        from npulse.core.doctor.cards import TYPES, told_by
        from npulse.core.doctor.inventory import Machine, inventory

        environment = inventory(Machine(python=python), told=told_by(snapshot_now(types=TYPES)))
    found = report(environment, lang, tables=tables)
    shown = masked(found) if mask else found
    pieces: Iterable[str] = render(shown, chosen, version=version(), lang=lang)
    if chosen == "text":
        pieces = wrapped(pieces)
    if output is None:
        emit(pieces, is_json=chosen in ("json", "jsonl"))
    else:
        write_report(pieces, output, runs=list(files))
    return exit_code(found, environment, strict=strict)


def wrapped(pieces: Iterable[str]) -> Iterator[str]:
    """Lines of prose broken at the width of a small terminal; commands and places stay whole."""
    for piece in pieces:
        for line in piece.splitlines(keepends=True):
            bare = line.rstrip("\n")
            indent = bare[: len(bare) - len(bare.lstrip())]
            is_whole = bare.lstrip().startswith(("doctor: ", "at:", "next:", "->"))
            if len(bare) <= WIDTH or is_whole or not bare.isascii():
                yield line
                continue
            parts = textwrap.wrap(
                bare.lstrip(),
                WIDTH,
                initial_indent=indent,
                subsequent_indent=indent + "  ",
                break_long_words=False,
                break_on_hyphens=False,
                drop_whitespace=True,
            )
            yield "\n".join(parts) + line[len(bare) :]
