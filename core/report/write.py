"""Choose a format, render, and write beside + fsync + rename; never into the run that was looked at."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from npulse.core.errors import InputError, UsageError
from npulse.core.files import open_whole, write_whole
from npulse.core.files import refuse_inside as refuse_inside
from npulse.core.findings import Report
from npulse.core.text import Lang

from .dossier import Dossier

FORMATS = ("text", "json", "jsonl", "md", "csv")
_SUFFIXES = {".txt": "text", ".json": "json", ".jsonl": "jsonl", ".md": "md", ".csv": "csv"}


def format_of(path: str, default: str) -> str:
    """The format that a file name's suffix stands for; UsageError for a suffix that stands for none."""
    suffix = Path(path).suffix.lower()
    if not suffix:
        return default
    if suffix not in _SUFFIXES:
        hint = "suffixes: " + " ".join(_SUFFIXES)
        if suffix in _WHOLE_SUFFIXES:  # this answer has none; that of the whole run has
            hint += f"; of a whole run, with the story of its rounds: npulse report RUN -o FILE{suffix}"
        raise UsageError(f"no report format for '{suffix}'", hint=hint)
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


WHOLE_FORMATS = ("html", "md", "json", "junit", "csv", "xlsx")
_WHOLE_SUFFIXES = {
    ".html": "html",
    ".htm": "html",
    ".md": "md",
    ".json": "json",
    ".xml": "junit",
    ".csv": "csv",
    ".xlsx": "xlsx",
}


def whole_format_of(path: str | Path) -> str:
    """Which of WHOLE_FORMATS a file's suffix stands for; UsageError for one that stands for none."""
    found = _WHOLE_SUFFIXES.get(Path(path).suffix.lower())
    if found is None:
        raise UsageError(
            f"no report format for '{Path(path).name}'", hint="suffixes: " + " ".join(_WHOLE_SUFFIXES)
        )
    return found


def is_whole_alone(path: Path | None) -> bool:
    """Whether a file's suffix stands for a format that only a dossier has: HTML, JUnit, a workbook."""
    suffix = "" if path is None else path.suffix.lower()
    return suffix in _WHOLE_SUFFIXES and suffix not in _SUFFIXES


def render_whole(
    dossier: Dossier, format_name: str, *, version: str, lang: Lang = "en", strict: bool = False
) -> Iterator[str]:
    """A dossier in pieces of text, in one of WHOLE_FORMATS but xlsx. strict: warnings fail (JUnit)."""
    if format_name == "html":
        from .html import render_html

        return render_html(dossier, version=version, lang=lang)
    if format_name == "junit":
        from .as_junit import render_junit

        return render_junit(dossier, lang, strict=strict)
    if format_name == "json":
        from .as_json import render_dossier

        return render_dossier(dossier, version)
    if format_name in ("md", "csv"):
        from .whole_text import render_whole_csv, render_whole_markdown

        return render_whole_csv(dossier) if format_name == "csv" else render_whole_markdown(dossier, lang)
    raise UsageError(f"unknown format '{format_name}'", hint="formats: " + ", ".join(WHOLE_FORMATS))


def write_whole_report(
    dossier: Dossier,
    path: Path,
    *,
    version: str,
    lang: Lang = "en",
    strict: bool = False,
    runs: Iterable[Path] = (),
) -> None:
    """A dossier to the file, whole or not at all, in the format of its suffix.

    runs: folders that were looked at. UsageError for another suffix, InputError where the file would lie in
    one of them or cannot be written, EnvironmentLacks where the format's library is not installed.
    """
    format_name = whole_format_of(path)
    if format_name != "xlsx":
        pieces = render_whole(dossier, format_name, version=version, lang=lang, strict=strict)
        write_report(pieces, path, runs=runs)
        return
    from .as_xlsx import write_xlsx

    refuse_inside(path, runs)
    with open_whole(path) as file:
        write_xlsx(dossier, file, version=version, lang=lang)


def write_report(pieces: Iterable[str], path: Path, *, runs: Iterable[Path] = ()) -> int:
    """Write text to a file, whole or not at all; returns its size in bytes.

    runs: folders that were looked at. Raises InputError where the file would lie in one of them or cannot
    be written.
    """
    refuse_inside(path, runs)
    return write_whole(pieces, path)


def refuse_early(path: Path, *, runs: Iterable[Path] = ()) -> None:
    """What `write_whole_report` would refuse, told before the work: suffix, place, a missing library."""
    if whole_format_of(path) == "xlsx":
        from .as_xlsx import check_library

        check_library()
    refuse_inside(path, runs)
    folder = Path(os.path.realpath(os.path.expanduser(path))).parent
    if not folder.is_dir():
        raise InputError("no such folder to write into", path=folder)
