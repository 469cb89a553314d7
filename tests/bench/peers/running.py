"""One program in a process of its own: processor time of it and its children, wall time, memory, what it
told.

Linux only. Memory of one process is its own high-water mark, of several the sum of what each has alone and
its
share of the rest (PSS), sampled; a mapped file counts. This module stays small: a child starts with its
parent's mark.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SAMPLE_S = 0.02
LAST_BYTES = 4000
ONE_BLAS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
DROPPED = (
    "OPENBLAS_CORETYPE",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONDONTWRITEBYTECODE",
    *ONE_BLAS,
)
"""Variables that no side is given: they choose code paths or other packages, or have modules compiled
again."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one run cost. stopped: why it has no figures of its own ("" if it has); told: figures that it
    measured itself."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    stopped: str = ""
    told: Mapping[str, float] = field(default_factory=dict)


def run(
    command: Sequence[str],
    folder: Path,
    *,
    extra: Mapping[str, str],
    limit_s: float,
    limit_mb: float,
    good: Sequence[int] = (0,),
) -> Run:
    """Run a program in `folder` to its end, or until it takes longer or more memory than it may.

    good: exit statuses of a run that did its work. A last line of JSON on its output is what it tells.
    """
    environ = {name: text for name, text in os.environ.items() if name not in DROPPED} | dict(extra)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        begun = time.monotonic()
        child = subprocess.Popen(
            command,
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            start_new_session=True,
        )
        try:
            status, usage, peak_mb, stopped = _watched(child.pid, begun, limit_s, limit_mb)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        wall_s = time.monotonic() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
        if not stopped and child.returncode not in good:
            stopped = f"failed: {(_last_line(errors) or _last_line(out) or str(child.returncode))[:200]}"
        told = {} if stopped else _told(_last_line(out))
    return Run(usage.ru_utime + usage.ru_stime, wall_s, peak_mb, stopped, told)


def _watched(
    root: int, begun: float, limit_s: float, limit_mb: float
) -> tuple[int, resource.struct_rusage, float, str]:
    """Status, usage and peak MB of a child at its end; why it was stopped, "" if it was not."""
    peak_mb, stopped, sample_s = 0.0, "", SAMPLE_S
    while True:
        process, status, usage = os.wait4(root, os.WNOHANG)
        if process:
            return status, usage, peak_mb, stopped
        at = time.monotonic()
        peak_mb = max(peak_mb, memory_mb(root))
        sample_s = max(SAMPLE_S, 20 * (time.monotonic() - at))  # looking takes 5 % at most
        if not stopped:
            if at - begun > limit_s:
                stopped = f"more than {limit_s / 60:g} min"
            elif peak_mb > limit_mb:
                stopped = f"more than {limit_mb / 1000:.0f} GB"
            if stopped:
                os.killpg(root, signal.SIGKILL)
        time.sleep(sample_s)


def memory_mb(root: int) -> float:
    """Memory of a process and its descendants, MB of a million bytes."""
    processes = _tree(root)
    if len(processes) == 1:
        return _field_mb(f"/proc/{root}/status", "VmHWM:")
    return sum(_field_mb(f"/proc/{process}/smaps_rollup", "Pss:") for process in processes)


def _tree(root: int) -> list[int]:
    found = [root]
    for process in found:
        try:
            for task in os.listdir(f"/proc/{process}/task"):
                found += map(int, Path(f"/proc/{process}/task/{task}/children").read_text().split())
        except OSError:  # it has ended
            continue
    return found


def _field_mb(path: str, name: str) -> float:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024 / 1e6


def _last_line(file: tempfile._TemporaryFileWrapper[bytes]) -> str:  # type: ignore[type-arg]
    file.seek(max(0, file.seek(0, os.SEEK_END) - LAST_BYTES))
    lines = file.read().decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _told(line: str) -> Mapping[str, float]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return {k: v for k, v in found.items() if isinstance(v, int | float)} if isinstance(found, dict) else {}


def forget(folder: Path) -> None:
    """Take the files of a folder out of the page cache; of other files nothing is forgotten."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
