"""A watch that the test speaks for: what it tells is what `discover` finds at that moment."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from npulse.core.run.discover import discover
from npulse.core.watch.events import ArtifactGrew, Batch, LiveState

NOW_NS = 1_700_000_000_000_000_000
BUSY = LiveState("inotify", "", True, 1_200_000.0, 0.1, NOW_NS, True, None)


class FakeWatch:
    """Opened as the app opens a watch; `tell` is what the watch would notice by itself."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self.n_opened = self.n_closed = 0
        self._waiting: queue.Queue[Batch] = queue.Queue()
        self._is_over = threading.Event()

    def __call__(self, path: Path) -> FakeWatch:
        self.path = path
        self.n_opened += 1
        return self

    def batches(self, is_cancelled: Callable[[], bool]) -> Iterator[Batch]:
        while not is_cancelled():
            try:
                batch = self._waiting.get(timeout=0.02)
            except queue.Empty:
                continue
            yield batch

    def close(self) -> None:
        self.n_closed += 1

    def tell(self, state: LiveState = BUSY, *, is_new: bool = True, **changes: object) -> None:
        """A batch of what lies there now; is_new: every artifact has grown."""
        assert self.path is not None
        run = discover(self.path)
        grown = tuple(
            ArtifactGrew(artifact, artifact.path, 0, artifact.size_bytes, "grown", NOW_NS)
            for artifact in run.artifacts
        )
        state = replace(state, **changes)  # type: ignore[arg-type]
        self._waiting.put(Batch(run, grown if is_new else (), state, ()))
