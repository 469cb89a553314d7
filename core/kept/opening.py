"""A run opened: what discovery found before where nothing has changed, else found anew and kept."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from npulse.core.cache import Cache
from npulse.core.plugins.registry import plugins
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.model import Run
from npulse.core.run.stamp import stamp_of

from .keeper import Keeper

_SETTINGS = "discover"


def discover_kept(
    path: str | os.PathLike[str],
    cache: Cache | None,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    now_ns: int | None = None,
) -> Run:
    """As `discover`; a run whose files are the same as before is not looked into, only looked through.

    The run has a stamp where results of it can be kept.
    """
    if cache is None or plugins() or not os.fspath(path):
        return _discovered(path, progress, is_cancelled, now_ns)
    root = Path(os.path.abspath(os.fsdecode(os.fspath(path))))
    found = stamp_of(root, is_cancelled=is_cancelled)
    if found is None or not found.is_settled(now_ns):
        return _discovered(path, progress, is_cancelled, now_ns)
    keeper = Keeper(cache, (root,), (found.digest,))
    known = keeper.get("run", _SETTINGS, Run)
    if known is not None:
        run: Run = known.value
        return run
    made = _discovered(path, progress, is_cancelled, now_ns)
    run = replace(made, stamp=found.digest)
    keeper.put("run", _SETTINGS, run)
    return run


def forget_kept(path: str | os.PathLike[str], cache: Cache | None) -> int:
    """Remove all that is kept of a run, so that everything is computed anew; how much there was."""
    if cache is None or not os.fspath(path):
        return 0
    return Keeper(cache, (Path(os.path.abspath(os.fsdecode(os.fspath(path)))),), ("",)).forget()


def _discovered(
    path: str | os.PathLike[str], progress: ProgressCallback, is_cancelled: IsCancelled, now_ns: int | None
) -> Run:
    from npulse.core.run.discover import discover  # slow to load, and not needed where all is known

    return discover(path, progress=progress, is_cancelled=is_cancelled, now_ns=now_ns)
