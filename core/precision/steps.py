"""How far the reading of tensors is, over all ranks and steps: in tensors, in bytes where records tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npulse.core.progress import Progress, ProgressCallback

from .reading.jobs import Jobs


class Steps:
    """One stage over the jobs of all ranks; what turns out to be known already is taken off the total."""

    def __init__(self, stage: str, parts: Sequence[Jobs], progress: ProgressCallback) -> None:
        self._stage, self._progress = stage, progress
        self._done = self._total = 0
        self._done_bytes = self._total_bytes = 0.0
        self._has_bytes = True
        for jobs in parts:
            each = jobs.n_bytes()
            self._has_bytes &= each is not None
            self._total += len(jobs)
            self._total_bytes += 0.0 if each is None else float(each.sum())

    def without(self, jobs: Jobs) -> None:
        """These need not be read."""
        each = jobs.n_bytes()
        self._total -= len(jobs)
        self._total_bytes -= 0.0 if each is None else float(each.sum())

    def of(self, jobs: Jobs) -> Callable[[int], None]:
        """Tells how far it is, by how many of these are done; one part after the other."""
        each = jobs.n_bytes()
        so_far = np.zeros(len(jobs) + 1) if each is None else np.concatenate(([0.0], np.cumsum(each)))
        before, before_bytes = self._done, self._done_bytes
        self._done, self._done_bytes = before + len(jobs), before_bytes + float(so_far[-1])

        def step(done: int) -> None:
            sizes: dict[str, Any] = {}
            if self._has_bytes:
                n_bytes = int(before_bytes + so_far[done])
                sizes = {"done_bytes": n_bytes, "total_bytes": max(n_bytes, int(self._total_bytes))}
            self._progress(Progress(self._stage, before + done, self._total, "tensors", **sizes))

        if len(jobs) and not before:
            step(0)  # the time is counted from here on
        return step
