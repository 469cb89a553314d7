"""What a round was captured under: settings that matter, versions, cards, the state of the user's sources."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npulse.core.findings import Finding
from npulse.core.text import Lang

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

_SECRET = re.compile(
    r"(?:^|[_-])(?:TOKEN|KEY|APIKEY|PASSWORD|PASSWD|PASS|SECRET|CREDENTIALS?)(?:$|[_-])", re.IGNORECASE
)
_FLAG = re.compile(r"(?P<name>-{0,2}[A-Za-z][\w.-]*)=.*", re.DOTALL)
HIDDEN = "***"


def is_secret(name: str) -> bool:
    """Whether a variable or flag of that name may hold what nobody else should read."""
    return _SECRET.search(name) is not None


def environment_that_matters(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a round keeps: by the beginnings of their names, never secrets."""
    kept = {
        name: value[:MAX_VALUE_CHARACTERS]
        for name, value in environment.items()
        if name.startswith(MATTERS) and not is_secret(name)
    }
    return dict(sorted(kept.items()))


def command_without_secrets(words: Sequence[str]) -> list[str]:
    """A command as a round keeps it: the values of flags such as --api-key are `***`."""
    kept: list[str] = []
    for word in words:
        found = _FLAG.fullmatch(word)
        before = kept[-1] if kept else ""
        if found is not None and is_secret(found["name"].strip("-")):
            word = f"{found['name']}={HIDDEN}"
        elif before.startswith("--") and "=" not in before and is_secret(before.strip("-")):
            word = HIDDEN
        kept.append(word)
    return kept


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


def versions(environment: Mapping[str, str], command: Sequence[str], cards: Snapshot) -> dict[str, str]:
    """Name of each component to its version, as far as it is known; command: of the program."""
    from npulse.core.doctor.versions import versions_of

    return versions_of(_inventory(environment, command, cards))


def _inventory(environment: Mapping[str, str], command: Sequence[str], cards: Snapshot) -> Environment:
    from npulse.core.doctor.cards import told_by
    from npulse.core.doctor.inventory import Machine, inventory

    program = command[0] if command else ""
    is_python = os.path.basename(program).startswith("python")
    machine = Machine(variables=environment, python=program if is_python else None)
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


def findings(
    environment: Mapping[str, str], command: Sequence[str], lang: Lang, look: Look
) -> Iterator[Finding]:
    """What the versions and the cards have to say before a start; a line where that is nothing."""
    from npulse.core.doctor.findings import alignment
    from npulse.core.doctor.versions import versions_of

    cards = device_snapshot(environment)
    told = _inventory(environment, command, cards)
    conflicts = alignment(told, lang)
    yield from conflicts
    if not conflicts:
        known = versions_of(told)
        named = [f"{name} {known[name]}" for name in _NAMED if name in known]
        if named:
            yield look.ok("versions", "versions-ok", words=", ".join(named))
        else:
            yield look.unknown("versions", "versions-unknown")
    yield from _cards(cards, environment, lang, look)


_NAMED = ("cann", "driver", "firmware", "nnal", "torch", "torch_npu", "mindstudio_probe", "mindspore")


def _cards(snapshot: Snapshot, environment: Mapping[str, str], lang: Lang, look: Look) -> Iterator[Finding]:
    """Of the cards that the program may use. That there are none is for the program to say."""
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
    yield from (note.finding(lang) for note in kept)
    if not any(note.severity in ("error", "warning") for note in kept):
        yield look.ok("device", "device-ok", n=str(len(keys) or len(snapshot.chips)))
