"""What a round was captured under: settings that matter, versions, cards, the state of the user's sources."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npulse.core.findings import Finding
from npulse.core.secret_names import is_secret
from npulse.core.text import Lang

from .hidden import text_without_secrets
from .programs import python_of
from .request import CaptureRequest

if TYPE_CHECKING:
    from npulse.core.device.snapshot import Snapshot
    from npulse.core.doctor.facts import Environment

    from .preflight import Look

GIT_TIMEOUT_S = 5.0
MAX_VALUE_CHARACTERS = 16_384

MATTERS = (
    *("ASCEND_", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "ATB_", "CUDA_VISIBLE_", "DUMP_", "GE_"),
    *("HCCL_", "INF_NAN", "LD_LIBRARY_PATH", "LD_PRELOAD", "LOCAL_RANK", "MASTER_", "MS_", "MSPROBE"),
    *("NPU_", "OMP_NUM_THREADS", "PROFILING_", "PYTHONHASHSEED", "PYTHONPATH", "PYTORCH_NPU", "RANK"),
    *("TASK_QUEUE", "TORCH_", "WORLD_SIZE", "CUBLAS_WORKSPACE_CONFIG", "FLAGS_", "INF_", "MINDIE_", "VLLM_"),
)
"""Beginnings of the names of variables that a round keeps."""


def environment_that_matters(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a round keeps: by the beginnings of their names, never secrets."""
    kept = {
        name: text_without_secrets(value[:MAX_VALUE_CHARACTERS])
        for name, value in environment.items()
        if name.startswith(MATTERS) and not is_secret(name)
    }
    return dict(sorted(kept.items()))


# ---- git ----


@dataclass(frozen=True, slots=True)
class WorkTree:
    """The git work tree that a folder lies in. commit: "" before the first one. branch: "" where detached.
    n_dirty_files: changed, added, unknown to git; None where counting took too long."""

    root: Path
    commit: str
    branch: str
    n_dirty_files: int | None


def work_tree_of(folder: Path, environment: Mapping[str, str]) -> WorkTree | None:
    """What git says of a folder; None where it lies in no work tree, or git is not there. Changes nothing."""
    root = _git(folder, environment, "rev-parse", "--show-toplevel")
    if not root:
        return None
    commit = _git(folder, environment, "rev-parse", "--verify", "--quiet", "HEAD") or ""
    branch = _git(folder, environment, "symbolic-ref", "--short", "--quiet", "HEAD") or ""
    dirty = _git(folder, environment, "status", "--porcelain", "--untracked-files=normal")
    n_dirty = None if dirty is None else len(dirty.splitlines())
    return WorkTree(Path(root), commit, branch, n_dirty)


def _git(folder: Path, environment: Mapping[str, str], *words: str) -> str | None:
    """What git prints; None where it failed or took too long. It takes no locks and starts no monitor."""
    own = {name: environment[name] for name in ("PATH", "HOME") if name in environment}
    own |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", "-C", os.fspath(folder), "-c", "core.fsmonitor=false", *words],
            env=own,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "backslashreplace").strip() if done.returncode == 0 else None


def is_ignored(folder: Path, path: Path, environment: Mapping[str, str]) -> bool:
    """Whether the work tree that `folder` lies in leaves `path` out of its state."""
    return _git(folder, environment, "check-ignore", "--quiet", "--", str(path)) is not None


# ---- what other rooms tell ----


def device_snapshot(environment: Mapping[str, str]) -> Snapshot:
    """The cards now, with what they say of driver and firmware; where npu-smi tells nothing, why."""
    from npulse.core.device.query import TYPES, snapshot_now
    from npulse.core.doctor.cards import TYPES as VERSION_TYPES

    return snapshot_now(types=(*TYPES, *VERSION_TYPES), env=environment)


def versions(request: CaptureRequest, environment: Mapping[str, str], cards: Snapshot) -> dict[str, str]:
    """Name of each component to its version, as far as it is known; environment: of what is started."""
    from npulse.core.doctor.versions import versions_of

    return versions_of(_inventory(request, environment, cards))


def _inventory(request: CaptureRequest, environment: Mapping[str, str], cards: Snapshot) -> Environment:
    from npulse.core.doctor.cards import told_by
    from npulse.core.doctor.inventory import Machine, inventory

    machine = Machine(variables=environment, python=python_of(request))
    return inventory(machine, told=told_by(cards))


def device_changes(before: Mapping[str, Any] | None, after: Snapshot) -> tuple[tuple[str, str], ...]:
    """What changed on the cards for the worse meanwhile, in words (en, zh). before: of the manifest."""
    from npulse.core.device.changes import changes
    from npulse.core.device.snapshot import Snapshot

    notes = changes(Snapshot.from_dict(before), after) if before is not None else ()
    return tuple(
        (f"{note.subject}: {note.message[0]}", f"{note.subject}：{note.message[1]}")
        for note in notes
        if note.severity != "note"
    )


def findings(request: CaptureRequest, environment: Mapping[str, str], look: Look) -> Iterator[Finding]:
    """What the versions and the cards have to say before a start; a line where that is nothing."""
    from npulse.core.doctor.findings import alignment
    from npulse.core.doctor.versions import versions_of

    cards = device_snapshot(environment)
    told = _inventory(request, environment, cards)
    conflicts = alignment(told, request.lang)
    yield from conflicts
    if not conflicts:
        known = versions_of(told)
        named = [f"{name} {known[name]}" for name in _NAMED if name in known]
        if named:
            yield look.ok("versions", "versions-ok", words=", ".join(named))
        else:
            yield look.unknown("versions", "versions-unknown")
    yield from _cards(cards, environment, request.lang, look)


_NAMED = ("cann", "driver", "firmware", "nnal", "torch", "torch_npu", "mindstudio_probe", "mindspore")


def _cards(snapshot: Snapshot, environment: Mapping[str, str], lang: Lang, look: Look) -> Iterator[Finding]:
    """Of the cards that the program may use. That there are none is for the program to say."""
    from npulse.core.device.criteria import Settings
    from npulse.core.device.judge import notes_of

    notes = notes_of(snapshot)
    if not snapshot.is_known:
        yield from (replace(note.finding(lang), severity="note") for note in notes)
        return
    wanted = environment.get("ASCEND_RT_VISIBLE_DEVICES", "").split(",")
    devices = [int(word) for word in wanted if word.strip().isdecimal()]
    chips = [snapshot.of_device(device) for device in devices]
    keys = {chip.key for chip in chips if chip is not None}
    kept = [note for note in notes if not keys or note.key is None or note.key in keys]
    if devices:  # processes of these cards that hold memory on others too
        own = notes_of(snapshot, settings=Settings(devices=tuple(devices)))
        kept += [note for note in own if note not in notes]
    yield from (note.finding(lang) for note in kept)
    if not any(note.severity in ("error", "warning") for note in kept):
        yield look.ok("device", "device-ok", n=str(len(keys) or len(snapshot.chips)))
