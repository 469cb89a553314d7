"""How lively a run is: bytes a second, the last write, quiet or not, whether somebody could go on writing."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from .changes import Change

RATE_S = 4.0
MAX_RECENT = 256
_MAX_POINTS = 64
_LAST_S = 1.0
_SCAN_S = 10.0
_SCAN_SHARE = 100.0


class _Written(NamedTuple):
    """A file that was written lately, and whether it was closed since."""

    at_s: float
    is_closed: bool


FindWriter = Callable[[Iterable[str]], bool]


class Activity:
    """What was written lately. `quiet_s`: without a write for so long it is quiet.

    `find_writer` is asked when writing begins, when it ends, and then rarely while the answer is yes. "No"
    counts only where a writer was seen before, or was heard closing its files: else it may be where nobody
    can look.
    """

    def __init__(self, quiet_s: float, find_writer: FindWriter, monotonic_s: Callable[[], float]) -> None:
        self.last_write_ns: int | None = None
        self.lag_s: float | None = None
        self.has_writer: bool | None = None
        self.is_quiet = False
        self.can_ask = True
        """False where writers may be on other hosts."""
        self._quiet_s = quiet_s
        self._find_writer = find_writer
        self._monotonic_s = monotonic_s
        self._seen_s = -math.inf
        self._points: deque[tuple[float, int]] = deque(maxlen=_MAX_POINTS)
        self._recent: dict[str, _Written] = {}
        self._was_seen = False
        self._next_scan_s = -math.inf

    def begin(self, recent: Iterable[str], newest_ns: int | None, now_s: float, now_ns: int) -> None:
        """The first look: what was written before somebody watched."""
        self._recent = dict.fromkeys(list(recent)[:MAX_RECENT], _Written(now_s, False))
        self.last_write_ns = newest_ns
        age_s = max(0.0, (now_ns - newest_ns) / 1e9) if newest_ns is not None else math.inf
        self._seen_s = now_s - age_s
        self.is_quiet = age_s >= self._quiet_s
        self._ask(now_s)

    def note(self, changes: Iterable[Change], closed: Iterable[str], now_s: float, now_ns: int) -> None:
        """Changes of one look, and which files were closed."""
        n_bytes, newest_ns, seen_ns = 0, 0, 0
        is_written = was_closed = False
        was = dict(self._recent)
        for path, kind, before, after, old_path in changes:
            if kind == "renamed" and old_path in was:
                self._recent[path] = was[old_path]
            elif after is None:
                self._recent.pop(path, None)
            if after is None or kind in ("touched", "renamed"):
                continue
            if not is_written and self.is_quiet:
                self._recent.clear()
            is_written = True
            is_known = before is not None and kind in ("grown", "rewritten")
            n_bytes += after.size_bytes - (before.size_bytes if is_known and before is not None else 0)
            newest_ns = max(newest_ns, after.modified_ns)
            seen_ns = max(seen_ns, after.modified_ns if is_known else after.changed_ns)
            self._recent.pop(path, None)
            self._recent[path] = _Written(now_s, False)
        while len(self._recent) > MAX_RECENT:
            del self._recent[next(iter(self._recent))]
        for path in closed:
            if path in self._recent:
                self._recent[path] = self._recent[path]._replace(is_closed=True)
                was_closed = True
        if is_written:
            self.last_write_ns = max(self.last_write_ns or 0, min(newest_ns, now_ns))
            self.lag_s = max(0.0, (now_ns - seen_ns) / 1e9)
            self._points.append((now_s, n_bytes))
            self._seen_s = now_s
            if self.is_quiet:
                self.is_quiet, self.has_writer = False, None
                self._ask(now_s)
        elif was_closed and self.is_quiet and self.has_writer:
            self._ask(now_s)

    def settle(self, now_s: float) -> None:
        """Time went by."""
        if not self.is_quiet and now_s - self._seen_s >= self._quiet_s:
            self.is_quiet = True
            self._points.clear()
            self._ask(now_s)
        elif self.is_quiet and self.has_writer and now_s >= self._next_scan_s:
            self._ask(now_s)

    @property
    def due_s(self) -> float:
        """When `settle` has something to do, by the monotonic clock."""
        if not self.is_quiet:
            return self._seen_s + self._quiet_s
        return self._next_scan_s if self.has_writer else math.inf

    def bytes_per_s(self, now_s: float) -> float:
        """Over the last seconds; 0.0 when quiet."""
        while self._points and self._points[0][0] < now_s - RATE_S:
            self._points.popleft()
        if self.is_quiet or not self._points:
            return 0.0
        return sum(n_bytes for _, n_bytes in self._points) / RATE_S

    def _ask(self, now_s: float) -> None:
        if not self.can_ask or not self._recent:
            self.has_writer = None
            return
        if now_s < self._next_scan_s and not self.is_quiet:
            return
        begun_s = self._monotonic_s()
        found = self._find_writer(tuple(self._recent))
        cost_s = self._monotonic_s() - begun_s
        self._next_scan_s = now_s + max(_SCAN_S, _SCAN_SHARE * cost_s)
        if found:
            self._was_seen = self.has_writer = True
            return
        last = [one for one in self._recent.values() if one.at_s >= self._seen_s - _LAST_S]
        is_closed = bool(last) and all(one.is_closed for one in last)
        self.has_writer = False if self._was_seen or is_closed else None
