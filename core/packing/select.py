"""Which files of a run go into its pack: texts and tables first, then the worst tensors, then the rest."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from npulse.core.findings import Report
from npulse.core.packs.manifest import LeftOut, unfit
from npulse.core.run.kinds import KINDS
from npulse.core.run.model import Run

TEXT, TENSOR, OTHER = range(3)
_TENSOR_SUFFIXES = frozenset((".pt", ".npy", ".bin", ".pth", ".safetensors"))
_TEXT_SUFFIXES = frozenset((".json", ".jsonl", ".csv", ".txt", ".log", ".toml", ".info", ".yaml", ".yml"))
_TENSOR_KINDS = ("cann.", "atb.", "msit.dump", "torchair.dump", "msprobe.")
_BULKY = frozenset(("prof.trace_view", "prof.msprof_trace", "cann.kernel_object"))
_MAX_SOURCE_BYTES = 1 << 20
_ENTRIES_AT_MOST = 2_000_000


@dataclass(frozen=True, slots=True)
class RunFile:
    """path: below the run, with / between its parts. order: TEXT, TENSOR or OTHER."""

    path: str
    size_bytes: int
    order: int


@dataclass(frozen=True, slots=True)
class Selected:
    """files: by path. left_out: the largest first."""

    files: tuple[RunFile, ...]
    left_out: tuple[LeftOut, ...]


def files_of(run: Run) -> tuple[RunFile, ...]:
    """All regular files of the artifacts of a run; links and what is no artifact are never taken."""
    if not run.path.is_dir():
        size_bytes = run.path.stat().st_size
        kind = run.artifacts[0].kind if run.artifacts else ""
        return (RunFile(run.path.name, size_bytes, _order(run.path.name, kind)),) if run.artifacts else ()
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for artifact in run.artifacts:
        if KINDS[artifact.kind].is_folder:
            place = artifact.path if artifact.path.is_dir() else artifact.path.parent
            folders[_below(place, run.path)] = artifact.kind
        else:
            files[_below(artifact.path, run.path)] = artifact.kind
    found = {}
    for folder, kind in folders.items():
        for name, size_bytes in _walk(run.path, folder):
            found[name] = RunFile(name, size_bytes, _order(name, files.get(name, kind)))
    for name, kind in files.items():
        if name not in found and (size := _size(run.path / name)) is not None:
            found[name] = RunFile(name, size, _order(name, kind))
    return tuple(sorted(found.values(), key=lambda one: one.path))


def sources_of(run: Run, reports: Iterable[Report]) -> tuple[RunFile, ...]:
    """Source files of the run that findings show lines of: small regular files, none else of the project."""
    if not run.path.is_dir():
        return ()
    root, found = Path(os.path.abspath(run.path)), {}
    for finding in (finding for report in reports for finding in report.findings):
        marked = next((line.number for line in finding.code if line.is_marked), None)
        path, at, _ = finding.source.partition(f":{marked} ")
        place = Path(os.path.abspath(path))
        if marked is None or not at or not place.is_relative_to(root):
            continue
        size = _size(place)
        if size is not None and size <= _MAX_SOURCE_BYTES:
            name = _below(place, root)
            found[name] = RunFile(name, size, TEXT)
    return tuple(found.values())


def select(
    files: Sequence[RunFile], gains: Mapping[str, float], name: str, max_bytes: int, max_files: int
) -> Selected:
    """The files that fit into `max_bytes`: texts from the smallest on, tensors by what is gained by them,
    the rest from the smallest on. name: of the run's folder in the pack."""

    def place(one: RunFile) -> tuple[int, float, int, str]:
        gain = _gain(one.path, gains) if one.order == TENSOR else 0.0
        return one.order, -gain, one.size_bytes, one.path

    taken: list[RunFile] = []
    left_out: list[LeftOut] = []
    left = max_bytes
    for one in sorted(files, key=place):
        why = unfit(f"run/{name}/{one.path}")
        if why:
            left_out.append(LeftOut(one.path, one.size_bytes, f"its name {why}"))
        elif one.size_bytes > left:
            left_out.append(LeftOut(one.path, one.size_bytes, "does not fit any more (--max-bytes)"))
        elif len(taken) >= max_files:
            left_out.append(LeftOut(one.path, one.size_bytes, f"more than {max_files:,} files"))
        else:
            taken.append(one)
            left -= one.size_bytes
    left_out.sort(key=lambda one: (-one.size_bytes, one.path))
    return Selected(tuple(sorted(taken, key=lambda one: one.path)), tuple(left_out))


def gains_of(reports: Iterable[Report]) -> dict[str, float]:
    """Name of a tensor or operator -> what is gained by its elements: first those that findings are about,
    then by the relative error of their row."""
    gains: dict[str, float] = {}

    def add(name: Any, gain: float) -> None:
        if isinstance(name, str) and name:
            gains[name] = max(gain, gains.get(name, 0.0))

    for report in reports:
        for finding in report.findings:
            worth = {"error": 1e9, "warning": 1e6, "note": 1e3}[finding.severity]
            add(finding.subject, worth)
            for related in finding.related:
                add(related.subject, worth / 10)
        table = report.tables.get("precision")
        if table is None:
            continue
        for row in map(table.row, range(min(table.n_rows, 1_000_000))):
            error = row.get("rel_l2")
            if isinstance(error, float) and error > 0:
                add(row.get("target"), min(error, 100.0))
                add(row.get("golden"), min(error, 100.0))
    return gains


def _gain(path: str, gains: Mapping[str, float]) -> float:
    """Of the tensor in a file: by its own name, else by the operator that its name begins with."""
    stem = PurePosixPath(path).name
    stem = stem.rsplit(".", 1)[0] if PurePosixPath(stem).suffix in _TENSOR_SUFFIXES else stem
    while stem:
        if stem in gains:
            return gains[stem]
        stem = stem.rpartition(".")[0]
    return 0.0


def _order(name: str, kind: str) -> int:
    path = PurePosixPath(name)
    suffix = path.suffix.lower()
    if "dump_tensor_data" in path.parts:
        return TENSOR
    if kind in _BULKY or suffix in (".db", ".so", ".o"):
        return OTHER
    if suffix in _TENSOR_SUFFIXES or (kind.startswith(_TENSOR_KINDS) and suffix not in _TEXT_SUFFIXES):
        return TENSOR
    return OTHER if kind == "prof.session" and suffix not in _TEXT_SUFFIXES else TEXT


def _walk(root: Path, folder: str) -> Iterator[tuple[str, int]]:
    n_entries = 0
    pending = [folder]
    while pending:
        here = pending.pop()
        try:
            with os.scandir(root / here) as entries:
                for entry in entries:
                    n_entries += 1
                    if n_entries > _ENTRIES_AT_MOST:
                        return
                    name = f"{here}/{entry.name}" if here else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(name)
                    elif entry.is_file(follow_symlinks=False):
                        yield name, entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue  # discovery has told of it


def _size(path: Path) -> int | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _below(path: Path, root: Path) -> str:
    relative = path.relative_to(root).as_posix()
    return "" if relative == "." else relative
