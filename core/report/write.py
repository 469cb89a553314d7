"""Choose a format, render, and write beside + fsync + rename; never into the run that was looked at."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from npulse.core.errors import InputError, UsageError
from npulse.core.files import write_whole
from npulse.core.findings import Report
from npulse.core.text import Lang

FORMATS = ("text", "json", "jsonl", "md", "csv")
_SUFFIXES = {".txt": "text", ".json": "json", ".jsonl": "jsonl", ".md": "md", ".csv": "csv"}


def format_of(path: str, default: str) -> str:
    """The format that a file name's suffix stands for; UsageError for a suffix that stands for none."""
    suffix = Path(path).suffix.lower()
    if not suffix:
        return default
    if suffix not in _SUFFIXES:
        raise UsageError(f"no report format for '{suffix}'", hint="suffixes: " + " ".join(_SUFFIXES))
    return _SUFFIXES[suffix]


def render(report: Report, format_name: str, *, version: str, lang: Lang = "en") -> Iterator[str]:
    """The report in pieces of text, in one of FORMATS."""
    from . import as_json, as_text

    if format_name == "json":
        return as_json.render_json(report, version)
    if format_name == "jsonl":
        return as_json.render_jsonl(report, version)
    if format_name == "md":
        return as_text.render_markdown(report, lang)
    if format_name == "csv":
        return as_text.render_csv(report)
    if format_name == "text":
        return as_text.render_text(report, lang)
    raise UsageError(f"unknown format '{format_name}'", hint="formats: " + ", ".join(FORMATS))


def verdict_line(report: Report, lang: Lang = "en") -> str:
    """The first line of the report as text, with its line end."""
    from . import as_text

    return as_text.verdict_line(report, lang)


def write_report(pieces: Iterable[str], path: Path, *, runs: Iterable[Path] = ()) -> int:
    """Write text to a file, whole or not at all; returns its size in bytes.

    runs: folders that were looked at. Raises InputError where the file would lie in one of them or cannot
    be written.
    """
    target = Path(os.path.realpath(os.path.expanduser(path)))
    for run in runs:
        if target.is_relative_to(os.path.realpath(run)):
            raise InputError(
                "a report is not written into the run it describes",
                path=path,
                hint="choose a path outside of it",
            )
    return write_whole(pieces, path)
