"""A run that is followed while it is written: `Watch` tells what changed of its artifacts, and nothing else.

What changed is found by comparing listings; notices of the kernel only say when and where to look. Discovery
runs again when names changed, and behind the last change, so the run that is told is the one that `discover`
finds. Both are paced by their own cost.
"""

from __future__ import annotations

import heapq
import math
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from npulse.core.errors import Cancelled, InputError
from npulse.core.progress import IsCancelled, never_cancelled
from npulse.core.run.discover import discover
from npulse.core.run.model import Run

from .activity import MAX_RECENT, Activity, FindWriter
from .changes import Change
from .events import (
    ArtifactAppeared,
    ArtifactCompleted,
    ArtifactGrew,
    ArtifactVanished,
    Batch,
    Clock,
    Event,
    LiveState,
    Mode,
    RealClock,
    WatchSettings,
)
from .filesystems import Mount, read_mounts
from .ledger import Ledger
from .listing import Listing
from .notices import Noticed, Notices, Polling, notices_for
from .root import Root
from .writers import has_writer

DEFAULT = WatchSettings()

_ROOT_S = 2.0
_RETRY_S = (0.25, 2.0)
_CANCEL_S = 0.25
_HOT_S, _MAX_HOT = 10.0, 256

# A look may take a share of the time: the wait behind it, in multiples of what it cost.
_LOOK_SHARE, _POLL_SHARE, _SAFETY_SHARE = 5.0, 100.0, 333.0


class Discover(Protocol):
    """As `core.run.discover.discover`."""

    def __call__(self, path: Path, *, is_cancelled: IsCancelled, now_ns: int) -> Run: ...


class Watch:
    """A run, watched: `batches` goes on until somebody ends it, `poll` looks once.

    One thread looks; `close` may be called from any. The keyword arguments behind `settings` are for tests.
    """

    def __init__(
        self,
        path: Path,
        *,
        settings: WatchSettings = DEFAULT,
        clock: Clock | None = None,
        discover: Discover = discover,
        notices: Callable[[str, str], Notices] = notices_for,
        find_writer: FindWriter = has_writer,
        mounts: Callable[[], tuple[Mount, ...]] = read_mounts,
    ) -> None:
        self.path = Path(os.path.abspath(path))
        self._settings = settings
        self._clock = clock if clock is not None else RealClock()
        self._discover = discover
        self._make_notices = notices
        self._root = Root(self.path, mounts)
        self._listing = Listing(
            self._root.folder,
            os.path.basename(self._root.file),
            enter=lambda folder: self._notices.enter(folder),
            leave=lambda folder: self._notices.leave(folder),
        )
        self._ledger = Ledger()
        self._activity = Activity(settings.quiet_s, find_writer, self._clock.monotonic_s)

        self._lock = threading.RLock()
        self._is_closed = False
        self._notices: Notices = Polling("")
        self._mode: Mode = "inotify"
        self._why = ""
        self._is_reachable = True
        self._retry_s = _RETRY_S[0]
        self._is_all_dirty = False
        self._hot: dict[str, float] = {}
        self._told: tuple[Run, tuple[object, ...]] | None = None
        self._next_look_s = self._next_root_s = self._next_list_s = self._next_hot_s = -math.inf

    # ---- what callers use ----

    def batches(self, is_cancelled: IsCancelled = never_cancelled) -> Iterator[Batch]:
        """The run as it is, then a batch whenever something changed; ends on request or after `close`.

        At most one in `gap_s` seconds, none while nothing changes. Raises InputError if there is no run at
        first.
        """
        while not self._is_over(is_cancelled):
            try:
                batch = self._look(False, is_cancelled)
            except Cancelled:
                return
            if batch is not None:
                yield batch
            self._wait(is_cancelled)

    def poll(self) -> Batch | None:
        """Look at everything now; None if nothing changed. Raises InputError if there is no run at first."""
        try:
            return self._look(True, never_cancelled)
        except Cancelled:
            return None

    def close(self) -> None:
        """End it, from any thread; a waiting `batches` ends at once."""
        self._is_closed = True
        self._notices.close()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- waiting ----

    def _is_over(self, is_cancelled: IsCancelled) -> bool:
        return self._is_closed or is_cancelled()

    def _wait(self, is_cancelled: IsCancelled) -> None:
        """Until there is something to look at, and not before the pause behind the last look is over."""
        step_s = math.inf if is_cancelled is never_cancelled else _CANCEL_S
        while not self._is_over(is_cancelled):
            now_s = self._clock.monotonic_s()
            pause_s, due_s = self._next_look_s - now_s, self._due_s(now_s) - now_s
            if pause_s <= 0 and due_s <= 0:
                return
            timeout_s = min(pause_s if pause_s > 0 else due_s, step_s)
            is_woken = self._notices.wait(timeout_s, for_wake_only=pause_s > 0)
            if is_woken and pause_s <= 0:
                return

    def _due_s(self, now_s: float) -> float:
        """When the next look is due, if no notice comes."""
        due_s = min(self._next_root_s, self._activity.due_s)
        if self._is_reachable:
            due_s = min(due_s, self._next_list_s, self._ledger.due_s(now_s, self._clock.now_ns()))
            if self._hot:
                due_s = min(due_s, self._next_hot_s)
        return due_s

    # ---- one look ----

    def _look(self, is_forced: bool, is_cancelled: IsCancelled) -> Batch | None:
        with self._lock:
            if self._is_over(is_cancelled):
                return None
            begun_s, now_ns = self._clock.monotonic_s(), self._clock.now_ns()
            if self._ledger.run is None:
                events = self._first_look(begun_s, now_ns, is_cancelled)
                listed_s = begun_s
            else:
                noticed = self._notices.take()
                if is_forced or noticed.is_root or begun_s >= self._next_root_s:
                    self._check_root(begun_s)
                changes = self._changes(noticed, is_forced, begun_s) if self._is_reachable else ()
                listed_s = self._clock.monotonic_s()
                events = self._events(changes, noticed.closed, is_forced, begun_s, now_ns, is_cancelled)
            self._activity.settle(begun_s)
            pause_s = max(self._settings.gap_s, _LOOK_SHARE * (listed_s - begun_s))
            self._next_look_s = self._clock.monotonic_s() + pause_s
            return self._batch(events, begun_s)

    def _first_look(self, now_s: float, now_ns: int, is_cancelled: IsCancelled) -> list[Event]:
        self._begin_notices()
        self._list_all(now_s)
        self._listing.has_other_folders = False
        self._next_root_s = now_s + _ROOT_S
        found = self._discovered(now_ns, is_cancelled) or []
        files = self._listing.files()
        newest = heapq.nlargest(MAX_RECENT, files, key=lambda path: files[path].modified_ns)
        newest_ns = files[newest[0]].modified_ns if newest else None
        self._activity.begin(newest, newest_ns, now_s, now_ns)
        return found

    def _changes(self, noticed: Noticed, is_forced: bool, now_s: float) -> tuple[Change, ...]:
        if is_forced or noticed.is_all or self._is_all_dirty or now_s >= self._next_list_s:
            changes = self._list_all(now_s)
        elif noticed.dirty:
            changes = self._listing.list_again(noticed.dirty)
            self._note_mode()
        elif self._mode == "polling" and now_s >= self._next_hot_s:
            is_far = self._why.startswith("network")
            changes = self._listing.list_again(self._hot_by_folder(now_s), is_opening=is_far)
        else:
            return ()
        if self._mode == "polling":
            for change in changes:
                self._hot.pop(change.path, None)
                if change.after is not None:
                    self._hot[change.path] = now_s
            while len(self._hot) > _MAX_HOT:
                del self._hot[next(iter(self._hot))]
        return changes

    def _list_all(self, now_s: float) -> tuple[Change, ...]:
        begun_s = self._clock.monotonic_s()
        self._is_all_dirty = False
        changes = self._listing.list_all()
        self._note_mode()
        cost_s = self._clock.monotonic_s() - begun_s
        if self._mode == "polling":
            pause_s = max(self._settings.poll_s, _POLL_SHARE * cost_s)
        else:
            pause_s = max(self._settings.safety_s, _SAFETY_SHARE * cost_s)
        self._next_list_s = now_s + pause_s
        self._next_hot_s = now_s + self._settings.hot_s
        return changes

    def _hot_by_folder(self, now_s: float) -> dict[str, set[str]]:
        """The files that changed lately: looked at more often than a whole listing could be."""
        self._next_hot_s = now_s + self._settings.hot_s
        for path in [path for path, seen_s in self._hot.items() if now_s - seen_s > _HOT_S]:
            del self._hot[path]
        dirty: dict[str, set[str]] = {}
        for path in self._hot:
            folder, name = os.path.split(path)
            dirty.setdefault(folder, set()).add(name)
        return dirty

    def _events(
        self,
        changes: tuple[Change, ...],
        closed: set[str],
        is_forced: bool,
        now_s: float,
        now_ns: int,
        is_cancelled: IsCancelled,
    ) -> list[Event]:
        self._activity.note(changes, closed, now_s, now_ns)
        self._ledger.note(changes, closed, self._listing.has_other_folders, now_s)
        self._listing.has_other_folders = False
        found: list[Event] | None = None
        if self._is_reachable and self._ledger.wants_discovery(now_s, now_ns, is_forced):
            found = self._discovered(now_ns, is_cancelled)
        grown = self._ledger.grown(changes, found or (), found is not None, now_ns)
        appeared = [event for event in found or () if isinstance(event, ArtifactAppeared | ArtifactGrew)]
        ended = [event for event in found or () if isinstance(event, ArtifactCompleted | ArtifactVanished)]
        return [*appeared, *grown, *self._ledger.closed(now_s, now_ns), *ended]

    def _discovered(self, now_ns: int, is_cancelled: IsCancelled) -> list[Event] | None:
        """Find out again what lies there; None where that is impossible."""
        begun_s = self._clock.monotonic_s()
        try:
            run = self._discover(self.path, is_cancelled=lambda: self._is_over(is_cancelled), now_ns=now_ns)
        except InputError:
            if self._ledger.run is None:
                raise
            self._next_root_s = -math.inf  # it went away in between
            self._ledger.was_refused(begun_s)
            return None
        now_s = self._clock.monotonic_s()
        return self._ledger.discovered(run, now_s - begun_s, now_s, now_ns)

    # ---- the root, and what wakes ----

    def _check_root(self, now_s: float) -> None:
        """Notice that the root went away, or came back: then nothing is new that has the inode and size of
        before.
        """
        state = self._root.look()
        was_reachable, self._is_reachable = self._is_reachable, state != "missing"
        if state == "missing":
            if was_reachable:
                self._set_notices(self._make_notices(self._root.folder, "unreachable"))
                self._retry_s = _RETRY_S[0]
            self._next_root_s = now_s + self._retry_s
            self._retry_s = min(2 * self._retry_s, _RETRY_S[1])
            return
        self._next_root_s = now_s + _ROOT_S
        if was_reachable and state == "same":
            return
        if self._root.device is not None:
            self._listing.moved_to_device(self._root.device)
        self._begin_notices()
        self._is_all_dirty = True

    def _begin_notices(self) -> None:
        why = "asked" if self._settings.polling else ""
        self._set_notices(self._make_notices(self._root.folder, why))
        self._mode, self._why = self._notices.mode, self._notices.why
        self._activity.can_ask = not self._why.startswith("network")

    def _note_mode(self) -> None:
        """Look by the clock too, where a limit was met while watches were set."""
        if self._mode == "inotify" and self._notices.mode == "polling":
            self._mode, self._why = "polling", self._notices.why
            self._next_list_s = -math.inf

    def _set_notices(self, notices: Notices) -> None:
        old, self._notices = self._notices, notices
        old.close()
        if self._is_closed:
            notices.close()

    # ---- what is told ----

    def _batch(self, events: list[Event], now_s: float) -> Batch | None:
        run, activity = self._ledger.run, self._activity
        if run is None:
            return None
        shown = (self._mode, self._why, self._is_reachable, activity.has_writer, activity.is_quiet)
        told = run, shown
        if not events and self._told == told:
            return None
        self._told = told
        state = LiveState(
            mode=self._mode,
            why=self._why,
            is_reachable=self._is_reachable,
            bytes_per_s=activity.bytes_per_s(now_s),
            lag_s=activity.lag_s,
            last_write_ns=activity.last_write_ns,
            has_writer=activity.has_writer,
            quiet_since_ns=activity.last_write_ns if activity.is_quiet else None,
        )
        return Batch(run, tuple(events), state, tuple(self._ledger.gone.values()))
