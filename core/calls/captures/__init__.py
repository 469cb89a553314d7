"""Captures of every tool as a `Dump`: the reader is chosen by the kind of artifact."""

from __future__ import annotations

from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.formats.msprobe.records import Dump
from npulse.core.progress import IsCancelled, ProgressCallback
from npulse.core.run.captures import CHECKPOINT, FILES
from npulse.core.run.model import Artifact
from npulse.core.run.sides import Declared

from ..rank import read_rank

_MODULES = ("msit.dump", "torchair.dump", "mindspore.statistic")


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
    if kind in (CHECKPOINT, FILES):
        from .files import read_files, read_parameters

        read = read_parameters if kind == CHECKPOINT else read_files
        return read(path, root, declared, is_cancelled)
    if kind == "atb.dump":
        from .atb import read_atb_dump

        return read_atb_dump(path, root, is_cancelled)
    if kind in _MODULES:
        from . import modules

        read_one = {"msit.dump": modules.read_msit, "torchair.dump": modules.read_fx}
        return read_one.get(kind, modules.read_table)(path, root, is_cancelled)
    raise InputError(f"{kind} cannot be compared", path=path)
