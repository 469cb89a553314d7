"""npu-smi asked live: no shell, one call at a time, a limit of time and of bytes, judged by its text."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from npulse.core.findings import Problem
from npulse.core.progress import IsCancelled, check, never_cancelled

from .reading import Reading, TextReader
from .snapshot import Snapshot
from .surroundings import surroundings

PLACES = ("/usr/local/bin", "/usr/local/sbin")
"""Where npu-smi lies beside PATH."""
TYPES = ("common", "ecc")
"""`-t` types of a snapshot; fault codes of chips that are not OK are asked for anyway."""
TIMEOUT_S = 15.0
BUDGET_S = 60.0
"""Of one snapshot: a call takes seconds on machines with many cards. What is left out is not known."""
MAX_BYTES = 4 << 20
MAX_STOPPED_BYTES = 256 << 10
"""What is read of a call that was stopped: a machine with 128 chips prints some 50 KB."""
MAX_NPUS = 128
_STEP_S = 0.2

_one_call = threading.Lock()
"""Concurrent calls are not officially supported."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call printed (stdout and stderr in order). failure: why there is nothing: "missing", "denied",
    "timeout"; "" otherwise. exit_code misleads: judge by the text."""

    words: tuple[str, ...]
    output: bytes = b""
    exit_code: int | None = None
    failure: str = ""


def find_npu_smi(env: Mapping[str, str] | None = None) -> Path | None:
    """npu-smi on PATH, else in the two places where drivers put it; None where it is nowhere."""
    path = (os.environ if env is None else env).get("PATH", os.defpath)
    found = shutil.which("npu-smi", path=os.pathsep.join((path, *PLACES)))
    return Path(found) if found is not None else None


class NpuSmi:
    """npu-smi of this machine.

    program: None looks for it at each call. env: None is this process's; LC_ALL is C in any case. Keeps the
    last snapshot that told of devices.
    """

    def __init__(
        self,
        program: Path | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        budget_s: float = BUDGET_S,
        env: Mapping[str, str] | None = None,
        root: Path = Path("/"),
    ) -> None:
        self._program = program
        self._timeout_s, self._budget_s = timeout_s, budget_s
        self._env = dict(os.environ if env is None else env)
        self._root = root
        self._last: Snapshot | None = None
        self._last_at = 0.0
        self._unsupported: set[str] = set()

    @property
    def last(self) -> Snapshot | None:
        """The last snapshot that told of devices; None before there was one."""
        return self._last

    @property
    def last_age_s(self) -> float | None:
        """How old `last` is."""
        return time.monotonic() - self._last_at if self._last is not None else None

    def run(self, *words: str, is_cancelled: IsCancelled = never_cancelled) -> Answer:
        """One call. Waits for calls of other threads; killed with all its children at the limit of time.

        Never raises for what npu-smi does; Cancelled once `is_cancelled`.
        """
        program = self._program or find_npu_smi(self._env)
        if program is None:
            return Answer(words, failure="missing")
        with _one_call:
            return _run([str(program), *words], words, self._env, self._timeout_s, is_cancelled)

    def snapshot(
        self, types: Sequence[str] = TYPES, *, is_cancelled: IsCancelled = never_cancelled
    ) -> Snapshot:
        """The table and these `-t` blocks of each card; without a table that can be read the ids of `-m` and
        `-t common`. `state` says why there are no devices. Cost: a call takes 0.3 to 3 s."""
        return self.reading(types, is_cancelled=is_cancelled).snapshot

    def reading(
        self, types: Sequence[str] = TYPES, *, is_cancelled: IsCancelled = never_cancelled
    ) -> Reading:
        """As `snapshot`, with what could not be read."""
        begin = time.monotonic()
        text = _Transcript()
        first = self._add(text, is_cancelled, "info")
        found = text.reading()
        if not found.snapshot.is_known and found.snapshot.state == "unknown" and not first.failure:
            # a layout that is new: ids and figures by calls that did not change in years
            self._add(text, is_cancelled, "info", "-m")
            types = tuple(dict.fromkeys(("common", "health", *types)))
            found = text.reading()
        chips = [one for one in found.snapshot.chips if one.npu >= 0]
        npus = list(dict.fromkeys(one.npu for one in chips))[:MAX_NPUS]
        calls: list[tuple[str, ...]] = [("-t", kind, "-i", str(npu)) for kind in types for npu in npus]
        calls += [
            ("-t", "health", "-i", str(one.npu), "-c", str(one.chip))
            for one in chips
            if one.health not in (None, "OK")
        ]
        for words in calls:
            if words[1] in self._unsupported:
                continue
            if time.monotonic() - begin > self._budget_s:
                break
            answer = self._add(text, is_cancelled, "info", *words)
            if answer.failure:
                break  # what hangs once hangs again
            if b"does not support querying" in answer.output:
                self._unsupported.add(words[1])
        return self._kept(text.reading(), first)

    def _add(self, text: _Transcript, is_cancelled: IsCancelled, *words: str) -> Answer:
        answer = self.run(*words, is_cancelled=is_cancelled)
        text.add(answer)
        return answer

    def _kept(self, found: Reading, first: Answer) -> Reading:
        snapshot = found.snapshot
        if not snapshot.is_known:
            around = surroundings(self._root)
            states = {"missing": "npu-smi missing", "denied": "not permitted", "timeout": "timeout"}
            state = states.get(first.failure, snapshot.state)
            snapshot = replace(snapshot, state=state, missing=around.missing)  # type: ignore[arg-type]
        elif first.failure:
            message = "npu-smi was stopped before it ended: there may be more chips"
            found = replace(found, problems=(*found.problems, Problem("npu-smi", "cut-off", message)))
        snapshot = replace(
            snapshot,
            is_container=surroundings(self._root).is_container,
            taken_ns=time.time_ns(),
            source="npu-smi",
        )
        if snapshot.is_known:
            self._last, self._last_at = snapshot, time.monotonic()
        return replace(found, snapshot=snapshot)


class _Transcript:
    """Calls and what they printed, one behind the other, as a person would paste them."""

    def __init__(self) -> None:
        self._text: list[bytes] = []

    def add(self, answer: Answer) -> None:
        # of a call that was killed the last line may be half of one
        output = answer.output
        if answer.failure:
            output = output[:MAX_STOPPED_BYTES].rpartition(b"\n")[0]
        self._text.append(b"$ npu-smi " + " ".join(answer.words).encode() + b"\n" + output + b"\n\n")

    def reading(self) -> Reading:
        reader = TextReader("npu-smi")
        for piece in self._text:
            reader.feed(piece)
        reader.finish()
        return reader.reading()


def snapshot_now(
    *,
    types: Sequence[str] = TYPES,
    timeout_s: float = TIMEOUT_S,
    env: Mapping[str, str] | None = None,
    is_cancelled: IsCancelled = never_cancelled,
) -> Snapshot:
    """The cards of this machine now. Never raises for what npu-smi does: `state` says it."""
    return NpuSmi(timeout_s=timeout_s, env=env).snapshot(types, is_cancelled=is_cancelled)


# ---- the process ----


def _run(
    command: list[str],
    words: tuple[str, ...],
    env: Mapping[str, str],
    timeout_s: float,
    is_cancelled: IsCancelled,
) -> Answer:
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**env, "LC_ALL": "C", "LANG": "C"},
            start_new_session=True,  # it is killed with what it starts
        )
    except PermissionError:
        return Answer(words, failure="denied")
    except OSError:
        return Answer(words, failure="missing")
    assert process.stdout is not None
    output, failure = b"", "timeout"
    try:
        output, is_whole = _output_of(process.stdout, time.monotonic() + timeout_s, is_cancelled)
        if is_whole:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1)
                failure = ""
    finally:
        _kill(process)
        process.stdout.close()
    return Answer(words, output, process.returncode, failure)


def _output_of(pipe: IO[bytes], end: float, is_cancelled: IsCancelled) -> tuple[bytes, bool]:
    """What is printed until the pipe is closed (True), the time is over or there is too much of it."""
    pieces: list[bytes] = []
    n_bytes = 0
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while (rest := end - time.monotonic()) > 0 and n_bytes < MAX_BYTES:
            check(is_cancelled)
            if not selector.select(min(rest, _STEP_S)):
                continue
            piece = os.read(pipe.fileno(), 1 << 16)
            if not piece:
                return b"".join(pieces), True
            pieces.append(piece)
            n_bytes += len(piece)
    return b"".join(pieces), False


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The process and all that it started, as far as they are still there."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=5)
