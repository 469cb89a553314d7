"""What CANN's own dump left in a folder: operators, overflow records, statistics, files that were cut."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from npulse.core.findings import Problem
from npulse.core.formats.cann.container import read_container
from npulse.core.formats.cann.names import full_name, parse_dump_name, read_mapping
from npulse.core.formats.tensors import TensorError
from npulse.core.text import safe_text

MAX_OPENED = 20_000
"""Files of which the header is read; what is cut lies at the end, so the newest are taken."""
MAX_FILES = 1_000_000

_TIME = re.compile(r"\d{14}")
_STEP = re.compile(r"\d{1,9}")


@dataclass(frozen=True, slots=True)
class GraphFiles:
    """times: folders of 14 digits. devices: numbers below them. steps: executions of models. n_operators:
    different calls (operator, task, time). cut: files whose header tells of more bytes than there are.
    n_unchecked: files that were not opened."""

    times: tuple[str, ...]
    devices: tuple[int, ...]
    steps: tuple[int, ...]
    n_operators: int
    n_tensor_files: int
    n_records: int
    n_statistics: int
    n_exceptions: int
    cut: tuple[str, ...]
    n_unchecked: int


def look_at_graph_files(raw: Path) -> GraphFiles:
    """All files below a folder by their names, and the headers of the newest."""
    times: set[str] = set()
    devices: set[int] = set()
    steps: set[int] = set()
    calls: set[tuple[object, ...]] = set()
    n_tensor_files = n_records = n_statistics = n_exceptions = 0
    containers: list[tuple[int, Path]] = []
    for folder, names in _folders(raw):
        parts = folder.relative_to(raw).parts
        at = next((i for i, part in enumerate(parts) if _TIME.fullmatch(part)), -1)
        mapping = read_mapping(folder, raw, _ignored()) if "mapping.csv" in names else {}
        is_used = False
        for name in names:
            found = parse_dump_name(full_name(name, mapping))
            if found is None or name == "mapping.csv":
                continue
            is_used = True
            if found.is_overflow_record:
                n_records += 1
            elif found.form == "exception":
                n_exceptions += 1
            else:
                calls.add((folder, found.op_type, found.op_name, found.task_id, found.stream_id))
                n_statistics += found.suffix == "csv"
                n_tensor_files += not found.suffix
            if not found.suffix:
                path = folder / name
                containers.append((_modified(path), path))
        if is_used:
            behind = parts[at + 1 :] if at >= 0 else parts
            times |= {parts[at]} if at >= 0 else set()
            devices |= {int(part) for part in behind[:1] if _STEP.fullmatch(part)}
            if len(behind) >= 4 and _STEP.fullmatch(behind[3]):
                steps.add(int(behind[3]))
    containers.sort(reverse=True)
    cut = [path for _, path in containers[:MAX_OPENED] if _is_cut(path, raw)]
    return GraphFiles(
        times=tuple(sorted(times)),
        devices=tuple(sorted(devices)),
        steps=tuple(sorted(steps)),
        n_operators=len(calls),
        n_tensor_files=n_tensor_files,
        n_records=n_records,
        n_statistics=n_statistics,
        n_exceptions=n_exceptions,
        cut=tuple(safe_text(str(path.relative_to(raw)), 300) for path in cut),
        n_unchecked=max(0, len(containers) - MAX_OPENED),
    )


def _folders(raw: Path) -> Iterator[tuple[Path, list[str]]]:
    n = 0
    for folder, _, names in os.walk(raw):
        yield Path(folder), names
        n += len(names)
        if n > MAX_FILES:
            return


def _ignored() -> list[Problem]:
    return []


def _modified(path: Path) -> int:
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return 0


def _is_cut(path: Path, root: Path) -> bool:
    try:
        dump = read_container(path, root=root)
    except TensorError as error:
        return error.kind == "cut-off"
    return any(problem.kind == "cut-off" for problem in dump.problems)
