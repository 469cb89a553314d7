"""Tables as a folder of files: CSV, a workbook, JSON. Written whole or not at all, over nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from npulse.core.errors import InputError, UsageError
from npulse.core.table import Table
from npulse.core.text import safe_text

from .as_text import render_csv_table
from .blocks import json_rows, json_text
from .write import refuse_inside

FORMATS = ("csv", "json", "xlsx")
_MAX_NAME = 80
_IN_NAMES = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def check_folder(folder: Path, formats: Sequence[str], *, runs: Iterable[Path] = ()) -> None:
    """What `write_folder` would refuse, told before the work."""
    for name in formats:
        if name not in FORMATS:
            raise UsageError(f"unknown format '{name}'", hint="formats: " + ", ".join(FORMATS))
    if "xlsx" in formats:
        from .as_xlsx import check_library

        check_library()
    refuse_inside(folder, runs)
    target = _real(folder)
    if os.path.lexists(target) and (not target.is_dir() or any(target.iterdir())):
        raise InputError("the folder is there and not empty", path=folder, hint="name a new one: -o DIR")
    if not target.parent.is_dir():
        raise InputError("no such folder to write into", path=target.parent)


def write_folder(
    tables: Mapping[str, Table],
    folder: Path,
    formats: Sequence[str] = ("csv",),
    *,
    head: Mapping[str, object] | None = None,
    runs: Iterable[Path] = (),
) -> tuple[str, ...]:
    """Write the tables into a new folder; returns the files' names.

    csv: a file a table. json: one file, `head` and `tables` {name: rows}. xlsx: a workbook, a sheet a table.
    They are made beside it and moved there as one. InputError where the folder lies in one of `runs`, is not
    empty or cannot be written; EnvironmentLacks without the workbook's library; UsageError: another format.
    """
    check_folder(folder, formats, runs=runs)
    target = _real(folder)
    try:
        beside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name[:40]}."))
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror or error}", path=folder) from None
    try:
        names = list(_write_all(tables, beside, formats, head or {}))
        os.chmod(beside, 0o755)
        os.rename(beside, target)  # an empty folder is replaced, another one is not
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror or error}", path=folder) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return tuple(names)


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(os.path.expanduser(folder)))


def _write_all(
    tables: Mapping[str, Table], folder: Path, formats: Sequence[str], head: Mapping[str, object]
) -> Iterator[str]:
    if "csv" in formats:
        for name, table in zip(file_names(tables), tables.values(), strict=True):
            yield _write(folder / f"{name}.csv", render_csv_table(table))
    if "json" in formats:
        yield _write(folder / "merged.json", _json(tables, head))
    if "xlsx" in formats:
        from .as_xlsx import write_tables

        with open(folder / "merged.xlsx", "xb") as file:
            write_tables(tables, file)
            _to_disk(file.fileno(), file)
        yield "merged.xlsx"


def _write(path: Path, pieces: Iterable[str]) -> str:
    with open(path, "xb") as file:
        for piece in pieces:
            file.write(piece.encode("utf-8", "replace"))
        _to_disk(file.fileno(), file)
    return path.name


def _to_disk(number: int, file: object) -> None:
    flush = getattr(file, "flush", None)
    if callable(flush):
        flush()
    os.fsync(number)


def _json(tables: Mapping[str, Table], head: Mapping[str, object]) -> Iterator[str]:
    yield "{" + "".join(f"{json_text(key)}: {json_text(value)},\n" for key, value in head.items())
    yield '"tables": {'
    for number, (name, table) in enumerate(tables.items()):
        yield (",\n" if number else "\n") + f"{json_text(name)}: ["
        before = ""
        for block in json_rows(table):
            yield before + ",\n".join(block)
            before = ",\n"
        yield "]"
    yield "\n}}\n"


def file_names(names: Iterable[str]) -> list[str]:
    """Names of tables made fit for files, each another one (also where upper and lower case are the same)."""
    used: set[str] = set()
    found = []
    for name in names:
        plain = "".join(c if c in _IN_NAMES else "_" for c in safe_text(name))[:_MAX_NAME].strip(".") or "_"
        fit, number = plain, 1
        while fit.lower() in used:
            number += 1
            fit = f"{plain}_{number}"
        used.add(fit.lower())
        found.append(fit)
    return found
