"""What drivers have in common: answers for what a tool does not have, and what lies in a folder counted."""

from __future__ import annotations

import os
from pathlib import Path

from npulse.core.errors import UsageError
from npulse.core.findings import Figures, Finding

from .driver import Ended, Plan, PlannedFile, Progress, SizeBasis, Words
from .request import CaptureRequest, Kind

MAX_COUNTED = 200_000
"""Files that are counted; beyond them the count is at least that."""


class BaseDriver:
    """A driver without wishes of its own. Subclasses override what their tool has."""

    id = ""
    kind: Kind = "precision"
    title: Words = ("", "")
    tool = ""

    def check(self, request: CaptureRequest) -> None:
        return

    def preflight(self, request: CaptureRequest) -> tuple[Finding, ...]:
        return ()

    def estimate_bytes(self, request: CaptureRequest) -> tuple[int, int] | None:
        return None

    def size_basis(self, request: CaptureRequest) -> SizeBasis:
        return SizeBasis(("", ""))

    def progress(self, raw: Path) -> Progress:
        return Progress(*count_files(raw))

    def wants_stop(self, request: CaptureRequest, raw: Path) -> str:
        return ""

    def switch(self, round_folder: Path, is_on: bool) -> tuple[PlannedFile, ...] | tuple[str, ...]:
        raise UsageError(f"{self.tool} cannot be switched on and off while the program runs")

    def finish(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Plan | None:
        return None

    def figures(self, raw: Path) -> Figures:
        return {}


def count_files(folder: Path) -> tuple[int, int]:
    """(files, bytes) below a folder, links not followed; what vanishes meanwhile is not counted."""
    n_files = size_bytes = 0
    waiting = [folder]
    while waiting and n_files < MAX_COUNTED:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    n_files += 1
                    size_bytes += entry.stat(follow_symlinks=False).st_size
            except OSError:
                continue
    return n_files, size_bytes
