"""Export of a copy of a raw session while it is written, by the vendor's msprof where that is on PATH.

Never of the session itself: an export freezes it. The copy lies in the user's cache folder, only as long as
it is read. The child is nice'd, has a time limit, and goes with whoever started it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Literal

from npulse.core.dataclass import dataclass
from npulse.core.errors import Cancelled, InputError
from npulse.core.formats.profiling.session import MSPROF_OUTPUT
from npulse.core.formats.profiling.session_copy import copy_files, files_to_copy, n_closed_slices
from npulse.core.progress import IsCancelled, check, never_cancelled
from npulse.core.text import safe_text

PROGRAM = "msprof"
MAX_COPY_BYTES = 1 << 30
ROOM_FACTOR = 20
"""So many times the raw bytes an export may need beside them, as the vendor says."""
TIMEOUT_S = 1800.0
EVERY_S = 300.0
LEAST_PAUSE = 10
"""An export takes processors from the program that is profiled: at most one part in so many of the time."""
_WAIT_S = 0.1
_PREFIX = "npulse-export-"
_SAID_BYTES = 400

State = Literal["waiting", "running", "failed", "exported"]


def export_copy(
    folder: Path,
    room: Path,
    *,
    root: Path | None = None,
    timeout_s: float = TIMEOUT_S,
    is_cancelled: IsCancelled = never_cancelled,
) -> Path:
    """Copy what is closed of a PROF_* folder into a new folder in `room`, and export the copy.

    Returns the copy, with its export in it; `remove_copy` removes it. Raises InputError (msprof is not there
    or fails, the copy would be too large, there is no room, nothing is closed yet) and Cancelled; the copy is
    gone then.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise InputError(f"{PROGRAM} is not on PATH", path=folder)
    files = files_to_copy(folder, root=root)
    if not n_closed_slices(files):
        raise InputError("no slice is closed yet", path=folder)
    size_bytes = sum(one.size_bytes for one in files)
    if size_bytes > MAX_COPY_BYTES:
        message = f"the copy would have {size_bytes:,} bytes, at most {MAX_COPY_BYTES:,} are copied"
        raise InputError(message, path=folder)
    made: Path | None = None
    try:
        room.mkdir(parents=True, exist_ok=True)
        _remove_stale(room)
        if shutil.disk_usage(room).free < size_bytes * (1 + ROOM_FACTOR):
            raise InputError(f"no room for {size_bytes:,} bytes and their export", path=room)
        made = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=room))
        copy = made / folder.name
        copy_files(folder, files, copy, root=root, is_cancelled=is_cancelled)
        _run(program, copy, made / "said.txt", timeout_s, is_cancelled)
    except BaseException as error:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
        if isinstance(error, OSError):
            raise InputError(f"the copy cannot be made: {error.strerror}", path=folder) from error
        raise
    return copy


def remove_copy(copy: Path) -> None:
    """Remove what `export_copy` made."""
    if copy.parent.name.startswith(_PREFIX):
        shutil.rmtree(copy.parent, ignore_errors=True)


def _remove_stale(room: Path) -> None:
    """Remove copies of programs that were killed."""
    for path in room.glob(f"{_PREFIX}*"):
        try:
            age_s = time.time() - path.lstat().st_mtime
        except OSError:
            continue
        if age_s > 2 * TIMEOUT_S and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)


def _run(program: str, copy: Path, said: Path, timeout_s: float, is_cancelled: IsCancelled) -> None:
    """The export as a child of its own group, so that what it starts ends with it."""
    nice = shutil.which("nice")
    words = [*((nice, "-n", "19") if nice else ()), program, "--export=on", f"--output={copy}"]
    with said.open("wb") as output:
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=copy.parent,
            start_new_session=True,
        )
        end_s = time.monotonic() + timeout_s
        try:
            while True:
                try:
                    code = child.wait(_WAIT_S)
                    break
                except subprocess.TimeoutExpired:
                    check(is_cancelled)
                    if time.monotonic() >= end_s:
                        raise InputError(f"{PROGRAM} took more than {timeout_s:,.0f} s", path=copy) from None
        finally:
            if child.poll() is None:
                _end(child)
    if code != 0 or not (copy / MSPROF_OUTPUT).is_dir():
        last = said.read_bytes()[-_SAID_BYTES:].decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise InputError(f"{PROGRAM} exported nothing (exit code {code}): {safe_text(last, 200)}", path=copy)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a child and what it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        child.kill()
    child.wait()


@dataclass(slots=True)
class Export:
    """How far the export of one session's copy is. copy: where it lies until it is read. message: why it
    failed. n_closed: closed slices of the session when it began. at_s: when it ended, since 1970."""

    state: State = "waiting"
    copy: Path | None = None
    message: str = ""
    n_closed: int = 0
    at_s: float = 0.0
    _began_s: float = 0.0
    _ended_s: float | None = None


@dataclass(slots=True)
class _Shared:
    """What a running export looks at."""

    is_closed: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)
    copies: set[Path] = field(default_factory=set)


class CopyExports:
    """Exports copies of the sessions of a followed run now and then, each in a thread, one at a time.

    room: the folder for copies. When this object goes, a running export ends and the copies are removed.
    """

    def __init__(
        self, room: Path, *, every_s: float = EVERY_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.of: dict[Path, Export] = {}
        self._room = room
        self._every_s = every_s
        self._clock = clock
        self._shared = _Shared()
        self._finalizer = weakref.finalize(self, _close, self._shared)

    def step(self, folder: Path, n_closed: int, root: Path) -> Export:
        """How the export of a session stands; one that is due begins. n_closed: its closed slices now."""
        one = self.of.setdefault(folder, Export())
        self._shared.threads = [thread for thread in self._shared.threads if thread.is_alive()]
        now_s = self._clock()
        is_due = one._ended_s is None or now_s - one._ended_s >= max(
            self._every_s, LEAST_PAUSE * (one._ended_s - one._began_s)
        )
        is_free = not self._shared.threads and one.copy is None and one.state != "running"
        if is_free and is_due and n_closed and n_closed != one.n_closed and shutil.which(PROGRAM):
            one.state, one.n_closed, one._began_s = "running", n_closed, now_s
            thread = threading.Thread(
                target=_work,
                args=(one, folder, self._room, root, self._clock, self._shared),
                name="npulse-export",
                daemon=True,
            )
            self._shared.threads.append(thread)
            thread.start()
        return one

    def was_read(self, folder: Path) -> None:
        """The copy of a session is not needed any more."""
        one = self.of[folder]
        if one.copy is not None:
            remove_copy(one.copy)
            self._shared.copies.discard(one.copy)
            one.copy = None

    def wait(self, timeout_s: float) -> None:
        """Until what runs has ended, or the time is over."""
        for thread in self._shared.threads:
            thread.join(timeout_s)

    def close(self) -> None:
        """End what runs, and remove all copies."""
        self._finalizer()


def _work(
    one: Export, folder: Path, room: Path, root: Path, clock: Callable[[], float], shared: _Shared
) -> None:
    try:
        copy = export_copy(folder, room, root=root, is_cancelled=shared.is_closed.is_set)
    except Cancelled:
        one.state = "waiting"
    except InputError as error:
        one.message, one.state = error.message, "failed"
    else:
        shared.copies.add(copy)
        one.copy, one.message, one.state = copy, "", "exported"
        if shared.is_closed.is_set():
            remove_copy(copy)
    one.at_s, one._ended_s = time.time(), clock()


def _close(shared: _Shared) -> None:
    shared.is_closed.set()
    for thread in shared.threads:
        thread.join(10 * _WAIT_S)
    for copy in list(shared.copies):
        remove_copy(copy)
