"""What changed between two listings, and which artifact a file belongs to. Nothing here touches a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

from npulse.core.run.folders import INDEXES, TENSOR_FOLDER
from npulse.core.run.kinds import KINDS
from npulse.core.run.model import Artifact, Run
from npulse.core.run.sniff import cann_kind
from npulse.core.run.walk import DUMP_FILES

ChangeKind = Literal["new", "grown", "truncated", "replaced", "rewritten", "renamed", "deleted", "touched"]
ArtifactKey = tuple[str, Path]
"""Kind and path: what makes an artifact the same one in two runs."""


class FileState(NamedTuple):
    """What a listing knows of a regular file; times are those of its content and of its inode."""

    device: int
    inode: int
    size_bytes: int
    modified_ns: int
    changed_ns: int

    @property
    def identity(self) -> tuple[int, int]:
        return self.device, self.inode


class Change(NamedTuple):
    """One file that is not as it was. before: None for a new one; of a renamed one what it was under its
    old name `old_path`. after: None for a deleted one. touched: neither size nor content's time changed.
    """

    path: str
    kind: ChangeKind
    before: FileState | None
    after: FileState | None
    old_path: str = ""


def diff(before: Mapping[str, FileState], after: Mapping[str, FileState]) -> tuple[Change, ...]:
    """The differences of two listings by path, in the order of paths.

    An inode tells a renamed file. A file that got shorter under another name is a new one: file systems give
    the inode of a removed file to the next one.
    """
    left = {
        state.identity: path
        for path, state in before.items()
        if path not in after or after[path].identity != state.identity
    }
    found = [Change(path, "deleted", state, None) for path, state in before.items() if path not in after]
    for path, state in after.items():
        was = before.get(path)
        if was is None:
            source = left.get(state.identity)
            if source is not None and state.size_bytes >= before[source].size_bytes:
                found.append(Change(path, "renamed", before[source], state, source))
            else:
                found.append(Change(path, "new", None, state))
        elif was != state:
            found.append(Change(path, _how(was, state), was, state))
    return tuple(sorted(found))


def _how(was: FileState, now: FileState) -> ChangeKind:
    if was.identity != now.identity:
        return "replaced"
    if now.size_bytes != was.size_bytes:
        return "grown" if now.size_bytes > was.size_bytes else "truncated"
    return "rewritten" if now.modified_ns != was.modified_ns else "touched"


def key_of(artifact: Artifact) -> ArtifactKey:
    return artifact.kind, artifact.path


class Places:
    """The artifacts of a run by where they lie: which one a file belongs to."""

    def __init__(self, artifacts: Iterable[Artifact]) -> None:
        self._files: dict[str, ArtifactKey] = {}
        self._folders: dict[str, list[ArtifactKey]] = {}
        for artifact in artifacts:
            path, key = str(artifact.path), key_of(artifact)
            if not KINDS[artifact.kind].is_folder:
                self._files[path] = key
                continue
            folder, name = os.path.split(path)
            if artifact.kind == "msprobe.dump" and name in INDEXES:
                self._files[path] = key
                if os.path.basename(artifact.relative) in INDEXES:
                    continue  # a second index of the folder, or one that was opened alone
                path = folder
            self._folders.setdefault(path, []).append(key)

    def key_of(self, path: str) -> ArtifactKey | None:
        """The artifact that a file is or is a part of: the nearest one; None for a foreign file."""
        found = self._files.get(path)
        if found is not None or not self._folders:
            return found
        name = os.path.basename(path)
        folder = os.path.dirname(path)
        while True:
            for key in self._of_folder(folder, name):
                if key[0] != "msprobe.dump" or _is_of_dump(path[len(folder) + 1 :]):
                    return key
            above = os.path.dirname(folder)
            if above == folder:
                return None
            folder = above

    def _of_folder(self, folder: str, name: str) -> list[ArtifactKey]:
        """Those of one folder; first the one whose files have names like this one."""
        keys = self._folders.get(folder, [])
        if len(keys) < 2:
            return keys
        kind = cann_kind(name)
        return sorted(keys, key=lambda key: key[0] != kind)


def _is_of_dump(inner: str) -> bool:
    return inner in INDEXES or inner in DUMP_FILES or inner.startswith(TENSOR_FOLDER + os.sep)


def with_artifacts(run: Run, changed: Mapping[ArtifactKey, Artifact]) -> Run:
    """The run with some of its artifacts replaced; everything else of it is shared."""
    if not changed:
        return run
    rounds = tuple(
        replace(one, artifacts=_replaced(one.artifacts, changed))
        if any(key_of(artifact) in changed for artifact in one.artifacts)
        else one
        for one in run.rounds
    )
    return replace(run, rounds=rounds, shared=_replaced(run.shared, changed))


def _replaced(
    artifacts: tuple[Artifact, ...], changed: Mapping[ArtifactKey, Artifact]
) -> tuple[Artifact, ...]:
    return tuple(changed.get(key_of(artifact), artifact) for artifact in artifacts)
