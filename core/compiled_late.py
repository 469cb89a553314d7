"""Compiled loops that a process loads once it has gone through enough data without them.

Loading a compiler costs a process time and memory, which only much data gives back. Who has loops says what
makes them (None where there is no compiler) and after how many bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Loops = TypeVar("Loops")


class CompiledLate(Generic[Loops]):
    """Of this process: what was gone through without the loops, and the loops or that there are none."""

    def __init__(self) -> None:
        self._n_bytes = 0
        self.loops: Loops | None = None
        self._is_tried = False
        self._lock = threading.Lock()

    def loops_for(self, n_bytes: int, after_bytes: int, make: Callable[[], Loops | None]) -> Loops | None:
        """The loops for that many bytes; None while less than `after_bytes` came before, or without any."""
        if not self._is_tried:
            if self._n_bytes < after_bytes:
                self._n_bytes += n_bytes
                return None
            self.load(make)
        return self.loops

    def load(self, make: Callable[[], Loops | None]) -> bool:
        """Make the loops now, once in a process. False where there are none."""
        with self._lock:
            if not self._is_tried:
                self.loops = make()
                self._is_tried = True
        return self.loops is not None
