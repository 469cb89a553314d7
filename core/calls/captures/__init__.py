"""Captures of every tool as a `Dump`: the reader is chosen by the kind of artifact."""

from __future__ import annotations

from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.formats.msprobe.records import Dump
from npulse.core.progress import IsCancelled, ProgressCallback
from npulse.core.run.model import Artifact
from npulse.core.run.sides import Declared

from ..rank import read_rank


def read_capture(
    artifact: Artifact,
    root: Path,
    declared: Declared,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> Dump:
    """One rank-step of a capture of any kind of `COMPARABLE`. InputError, Cancelled.

    declared: what the user says of raw files, and the fusion rule.
    """
    kind, path = artifact.kind, artifact.path
    if kind.startswith("msprobe."):
        return read_rank(path, root, progress, is_cancelled)
    if kind in ("cann.dump", "cann.stats"):
        from .cann import read_cann

        return read_cann(path, root, is_cancelled)
    if kind == "cann.golden":
        from .golden import read_golden

        return read_golden(path, root, declared.fusion_rule, is_cancelled)
    raise InputError(f"{kind} cannot be compared", path=path)
