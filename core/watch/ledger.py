"""The artifacts of a followed run: changes of files as events, and when to discover again."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from npulse.core.run.kinds import KINDS
from npulse.core.run.model import Artifact, Run
from npulse.core.run.stamp import FRESH_NS

from .changes import ArtifactKey, Change, Places, key_of, with_artifacts
from .events import (
    MAX_GONE,
    ArtifactAppeared,
    ArtifactCompleted,
    ArtifactGrew,
    ArtifactVanished,
    Event,
    How,
)

_CLOSED_S = 1.0
_MAX_CLOSED = 10_000

# Discovery may take a share of the time: the wait behind it, at least and in multiples of what it cost. Names
# that came or went are worth more of it than content, which can at most change what a file is taken for.
_NAMES_S, _NAMES_SHARE = 0.25, 5.0
_CONTENT_S, _CONTENT_SHARE = 2.0, 20.0
_REFUSED_S = 2.0


class Ledger:
    """What is known of a run. Sizes follow single changes; `discovered` sets everything right."""

    def __init__(self) -> None:
        self.run: Run | None = None
        self.gone: dict[ArtifactKey, Artifact] = {}
        self._artifacts: dict[ArtifactKey, Artifact] = {}
        self._places = Places(())
        self._closed: dict[str, float] = {}
        self._renamed: dict[str, Change] = {}
        self._has_new_names = self._has_new_content = False
        self._fresh_until_ns: int | None = None
        self._discovered_s, self._cost_s = -math.inf, 0.0

    def due_s(self, now_s: float, now_ns: int) -> float:
        """When there is something to do, by the monotonic clock."""
        due_s = self._discovery_due_s()
        if self._closed:
            due_s = min(due_s, next(iter(self._closed.values())) + _CLOSED_S)
        if self._fresh_until_ns is not None:
            due_s = min(due_s, now_s + (self._fresh_until_ns - now_ns) / 1e9)
        return due_s

    def _discovery_due_s(self) -> float:
        if self._has_new_names:
            return self._discovered_s + max(_NAMES_S, _NAMES_SHARE * self._cost_s)
        if self._has_new_content:
            return self._discovered_s + max(_CONTENT_S, _CONTENT_SHARE * self._cost_s)
        return math.inf

    def wants_discovery(self, now_s: float, now_ns: int, is_forced: bool) -> bool:
        """Whether it is time to discover; if forced, whether anything changed since."""
        if self._fresh_until_ns is not None and now_ns >= self._fresh_until_ns:
            return True
        if is_forced:
            return self._has_new_names or self._has_new_content
        return now_s >= self._discovery_due_s()

    def note(
        self, changes: Iterable[Change], closed: Iterable[str], has_other_folders: bool, now_s: float
    ) -> None:
        """Changes of one look, and the files that a writer closed behind them."""
        self._has_new_names = self._has_new_names or has_other_folders
        for change in changes:
            if change.kind in ("new", "deleted", "replaced", "renamed"):
                self._has_new_names = True
            else:
                self._has_new_content = True
            if change.kind == "renamed":
                self._renamed[change.path] = change
            if change.kind != "touched":
                self._closed.pop(change.path, None)
        for path in closed:
            self._closed.pop(path, None)
            self._closed[path] = now_s
        while len(self._closed) > _MAX_CLOSED:
            del self._closed[next(iter(self._closed))]

    def was_refused(self, now_s: float) -> None:
        """Discovery could not read the run: again, but not at once."""
        self._discovered_s, self._cost_s = now_s, max(self._cost_s, _REFUSED_S / _NAMES_SHARE)
        self._has_new_names, self._fresh_until_ns = True, None

    def discovered(self, run: Run, cost_s: float, now_s: float, now_ns: int) -> list[Event]:
        """What lies there by a fresh discovery: what appeared, is complete, vanished since the one before."""
        self._discovered_s, self._cost_s = now_s, cost_s
        self._has_new_names = self._has_new_content = False
        before, after = self._artifacts, {key_of(artifact): artifact for artifact in run.artifacts}
        self.run, self._artifacts = run, after
        if before.keys() != after.keys():
            self._places = Places(after.values())
        unfinished = [a.modified_ns for a in after.values() if a.completeness == "in progress"]
        self._fresh_until_ns = max(min(unfinished) + FRESH_NS, now_ns + 1) if unfinished else None

        events: list[Event] = []
        completed: list[Event] = []
        for key, artifact in after.items():
            if key not in before:
                self.gone.pop(key, None)
                events.append(ArtifactAppeared(artifact, now_ns))
                change = self._renamed.get(str(artifact.path))
                if change is not None and change.before is not None:
                    events.append(_grew(artifact, change, "renamed", change.before.size_bytes, now_ns))
            elif artifact.completeness == "complete" != before[key].completeness:
                completed.append(ArtifactCompleted(artifact, now_ns))
        moved = {change.old_path for change in self._renamed.values() if _is_surely_moved(change)}
        for key, artifact in before.items():
            if key not in after:
                completed.append(ArtifactVanished(artifact, now_ns))
                if str(artifact.path) not in moved:
                    self.gone[key] = artifact
        while len(self.gone) > MAX_GONE:
            del self.gone[next(iter(self.gone))]
        self._renamed.clear()
        return events + completed

    def grown(
        self, changes: Iterable[Change], found: Iterable[Event], is_discovered: bool, now_ns: int
    ) -> list[Event]:
        """Changes of files as growth of their artifacts, but for those that only appeared (in `found`).

        Where there was no discovery in the same look, sizes in the run follow here.
        """
        new = {key_of(event.artifact) for event in found if isinstance(event, ArtifactAppeared)}
        changed: dict[ArtifactKey, Artifact] = {}
        told: list[tuple[ArtifactKey, Change, How, int]] = []
        for change in changes:
            key = self._places.key_of(change.path) if change.kind != "touched" else None
            if key is None or key in new:
                continue
            is_folder = KINDS[key[0]].is_folder
            if change.after is None and not is_folder:
                continue  # discovery says that it vanished
            if not is_discovered:
                changed[key] = _resized(changed.get(key, self._artifacts[key]), change, is_folder)
            told.append((key, change, *_how(change, is_folder)))
        if changed and self.run is not None:
            self._artifacts.update(changed)
            self.run = with_artifacts(self.run, changed)
        return [_grew(self._artifacts[key], change, how, at, now_ns) for key, change, how, at in told]

    def closed(self, now_s: float, now_ns: int) -> list[Event]:
        """Artifacts that their writer closed and nobody wrote since, where the file itself does not tell."""
        events: list[Event] = []
        for path in [path for path, at_s in self._closed.items() if now_s - at_s >= _CLOSED_S]:
            key = self._places.key_of(path)
            if key is None and self._has_new_names:
                self._closed[path] = now_s  # discovery has yet to say what it is
                continue
            del self._closed[path]
            if key is None or KINDS[key[0]].is_folder:
                continue
            if self._artifacts[key].completeness == "unknown":
                events.append(ArtifactCompleted(self._artifacts[key], now_ns))
        return events


def _is_surely_moved(change: Change) -> bool:
    """Whether a renamed file is the one it was: else it may be a new one with the inode of a removed one."""
    before, after = change.before, change.after
    return before is not None and after is not None and before[:4] == after[:4]


def _resized(artifact: Artifact, change: Change, is_folder: bool) -> Artifact:
    before, after = change.before, change.after
    size_bytes = after.size_bytes if after is not None else 0
    modified_ns = after.modified_ns if after is not None else artifact.modified_ns
    if is_folder:
        was_bytes = before.size_bytes if before is not None and change.kind != "renamed" else 0
        size_bytes = max(0, artifact.size_bytes + size_bytes - was_bytes)
        modified_ns = max(artifact.modified_ns, modified_ns)
    return replace(artifact, size_bytes=size_bytes, modified_ns=modified_ns)


def _how(change: Change, is_folder: bool) -> tuple[How, int]:
    """How a file changed as readers see it, and from which byte on it is new to them."""
    kind, before = change.kind, change.before
    if kind == "grown" and before is not None:
        return "grown", before.size_bytes
    if kind == "renamed" and before is not None:
        return "renamed", before.size_bytes
    if kind == "new":
        return ("grown", 0) if is_folder else ("replaced", 0)
    if kind == "deleted":
        return "truncated", 0
    return ("replaced" if kind == "replaced" else "rewritten" if kind == "rewritten" else "truncated"), 0


def _grew(artifact: Artifact, change: Change, how: How, from_byte: int, now_ns: int) -> ArtifactGrew:
    size_bytes = change.after.size_bytes if change.after is not None else 0
    return ArtifactGrew(artifact, Path(change.path), from_byte, size_bytes, how, now_ns)
