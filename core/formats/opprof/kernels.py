"""One door to msOpProf's results: every kernel in a folder, each put together from all of its files."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...files import shown_path
from ...findings import Problem
from ...progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled
from ...text import safe_text
from .folders import BASIC_TEXT, KernelFolder, find_kernels
from .records import BlockTable, KernelProfile
from .simulator import read_instructions, read_source_lines
from .tables import Basic, read_basic_table, read_basic_text, read_block_table
from .visualize import read_visualize
from .visualize_parts import Parts


def read_kernels(
    folder: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[KernelProfile, ...]:
    """The kernels of an OPPROF_* folder (or one above or below it, or of one visualize_data.bin).

    A file that cannot be read is a problem of its kernel, the others are read. Raises InputError where there
    is no such folder, it lies outside `root`, or no result of msOpProf is in it; Cancelled.
    """
    found, problems = find_kernels(folder, root=root)
    if not found:
        raise InputError(
            "no result of msOpProf is here", path=folder, hint="name the OPPROF_* folder of a collection"
        )
    kernels = []
    for n_read, kernel in enumerate(found):
        check(is_cancelled)
        progress(Progress("read", n_read, len(found), "kernels"))
        kernels.append(_read_kernel(kernel, root, problems if n_read == 0 else (), progress, is_cancelled))
    return tuple(kernels)


def _read_kernel(
    here: KernelFolder,
    root: Path | None,
    before: tuple[Problem, ...],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> KernelProfile:
    problems = list(before)
    told: list[Basic] = []  # the first one that says a thing counts

    def fails(path: Path, error: InputError) -> None:
        problems.append(Problem.from_error(error, shown_path(path, root)))

    tables: dict[str, BlockTable] = {}
    for name, path in here.tables.items():
        try:
            if name == "OpBasicInfo":
                basic, more = read_basic_table(path, root=root)
                if basic is not None:
                    told.append(basic)
            else:
                tables[name], more = read_block_table(path, name, root=root, is_cancelled=is_cancelled)
        except InputError as error:
            fails(path, error)
        else:
            problems += more
    parts = Parts()
    if here.visualize is not None:
        try:
            parts, more = read_visualize(here.visualize, root=root, is_cancelled=is_cancelled)
            told.append(parts.basic)
            problems += more
        except InputError as error:
            fails(here.visualize, error)
    if here.basic_text is not None:
        try:
            text, more = read_basic_text(here.basic_text, root=root)
            told.append(text)
            problems += more
        except InputError as error:
            fails(here.basic_text, error)
    lines, instructions = parts.lines, parts.instructions
    if here.lines:
        by_core, more = read_source_lines(here.lines, root=root, progress=progress, is_cancelled=is_cancelled)
        lines = by_core or lines
        problems += more
    if here.instructions:
        of_core, more = read_instructions(
            here.instructions, root=root, progress=progress, is_cancelled=is_cancelled
        )
        instructions = of_core or instructions
        problems += more
    values = _first_of(told)
    if values.get("device") is None:
        values["device"] = here.device
    return KernelProfile(
        name=values.pop("name") or safe_text(here.kernel, 512) or safe_text(here.path.name, 512),
        folder=shown_path(here.path, root),
        layout=here.layout,
        index=here.index,
        op_type=values.pop("op_type") or "",
        soc=values.pop("soc") or "",
        **values,
        tables=tables,
        block_times=tuple(parts.block_times),
        units=tuple(parts.units),
        pipes=tuple(parts.pipes),
        paths=tuple(parts.paths),
        caches=tuple(parts.caches),
        computes=tuple(parts.computes),
        figures=tuple(parts.figures),
        loads=tuple(parts.loads),
        roofline=tuple(parts.roofline),
        lines=lines,
        instructions=instructions,
        advice=tuple(parts.advice),
        source_files=tuple(parts.source_files),
        parts=dict(parts.counts),
        n_replays=here.n_replays,
        missing=here.missing,
        passed_over=tuple(shown_path(path, root) for path in here.passed_over),
        sources=_sources(here, root),
        problems=tuple(problems),
    )


def _first_of(told: list[Basic]) -> dict[str, Any]:
    """Of every value the first one that was told."""
    names = [part.name for part in fields(Basic)]
    return {
        name: next((value for one in told if (value := getattr(one, name)) is not None), None)
        for name in names
    }


def _sources(here: KernelFolder, root: Path | None) -> dict[str, str]:
    found = dict(here.tables)
    for name, path in (
        ("visualize", here.visualize),
        ("trace", here.trace),
        (BASIC_TEXT, here.basic_text),
        ("code_exe", next(iter(here.lines.values()), None)),
        ("instr_exe", next(iter(here.instructions.values()), None)),
    ):
        if path is not None:
            found[name] = path
    return {name: shown_path(path, root) for name, path in found.items()}
