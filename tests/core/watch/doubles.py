"""A clock that stands still until somebody waits, and a script of what happens while a watch waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from npulse.core.watch.events import Batch, Mode, WatchSettings
from npulse.core.watch.notices import Noticed, Notices, notices_for
from npulse.core.watch.watcher import Watch

FAULT = "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1\n"
"""A line that makes a text a sanitizer's log."""

Action = tuple[float, Callable[[], object]]


class FakeClock:
    """Starts now, at 0 seconds."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._begun_ns = time.time_ns()

    def monotonic_s(self) -> float:
        return self.now_s

    def now_ns(self) -> int:
        return self._begun_ns + int(self.now_s * 1e9)


class Script:
    """Real notices; waiting only moves the clock, to the next action or to the end of the wait."""

    def __init__(
        self,
        clock: FakeClock,
        actions: Sequence[Action],
        end: Callable[[], None],
        until_s: float,
    ) -> None:
        self.clock = clock
        self.n_waits = 0
        self._actions = sorted(actions, key=lambda action: action[0])
        self._end = end
        self._until_s = until_s

    def around(self, inner: Notices) -> Notices:
        return _Scripted(self, inner)

    def pass_time(self, timeout_s: float) -> None:
        self.n_waits += 1
        end_s = self.clock.now_s + timeout_s
        if self._actions and self._actions[0][0] <= min(end_s, self._until_s):
            at_s, action = self._actions.pop(0)
            self.clock.now_s = max(self.clock.now_s, at_s)
            action()
        elif end_s > self._until_s:
            self.clock.now_s = self._until_s
            self._end()
        else:
            self.clock.now_s = end_s


class _Scripted:
    def __init__(self, script: Script, inner: Notices) -> None:
        self._script = script
        self._inner = inner

        self.mode: Mode = inner.mode
        self.why = inner.why

    def enter(self, folder: str) -> None:
        self._inner.enter(folder)
        self.mode, self.why = self._inner.mode, self._inner.why

    def leave(self, folder: str) -> None:
        self._inner.leave(folder)

    def take(self) -> Noticed:
        return self._inner.take()

    def wait(self, timeout_s: float, *, for_wake_only: bool = False) -> bool:
        if not for_wake_only and self._inner.wait(0.0):
            return True
        self._script.pass_time(timeout_s)
        return not for_wake_only and self._inner.wait(0.0)

    def wake(self) -> None:
        self._inner.wake()

    def close(self) -> None:
        self._inner.close()


class Followed:
    """What a watch told of a folder in which things happened at given seconds."""

    def __init__(
        self,
        path: Path,
        actions: Sequence[Action] = (),
        until_s: float = 20.0,
        *,
        polling: bool = False,
        make: Callable[[str, str], Notices] = notices_for,
        keep: Callable[[Batch], bool] = lambda batch: True,
        **options: Any,
    ) -> None:
        self.clock = FakeClock()
        script = Script(self.clock, actions, lambda: self.watch.close(), until_s)
        self.watch = Watch(
            path,
            settings=WatchSettings(polling=polling),
            clock=self.clock,
            notices=lambda folder, why: script.around(make(folder, why)),
            **{"find_writer": lambda paths: False, **options},
        )
        self.times: list[float] = []
        self.batches: list[Batch] = []
        for batch in self.watch.batches():
            if keep(batch):
                self.times.append(self.clock.now_s)
                self.batches.append(batch)
        self.n_waits = script.n_waits

    @property
    def last(self) -> Batch:
        return self.batches[-1]

    def told(self) -> list[str]:
        """Every event behind the first batch in few words: 'Grew x.log 3-5 grown'."""
        return [words_of(event) for batch in self.batches[1:] for event in batch.events]


def words_of(event: Any) -> str:
    words = [type(event).__name__.removeprefix("Artifact"), event.artifact.relative]
    if hasattr(event, "how"):
        words[1] = event.path.name
        words += [f"{event.from_byte}-{event.size_bytes}", event.how]
    return " ".join(words)
