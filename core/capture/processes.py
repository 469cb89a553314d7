"""Processes of this machine by /proc: which belong to a round, who still lives, ended ones taken away."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARKER = "NPULSE_ROUND"
"""The variable by which every process of a round is known again, whoever its parent is by now."""

PROC = Path("/proc")
MAX_ENVIRON_BYTES = 1 << 20
_SET_SUBREAPER, _GET_SUBREAPER = 36, 37


@dataclass(frozen=True, slots=True)
class Process:
    """One process. start_ticks: since the boot; with the pid it names a process for ever (of this boot)."""

    pid: int
    start_ticks: int
    parent: int
    group: int
    session: int
    is_ended: bool
    name: str

    @property
    def key(self) -> tuple[int, int]:
        return self.pid, self.start_ticks


def process_of(pid: int) -> Process | None:
    """The process of that number; None where there is none (any more)."""
    try:
        text = (PROC / str(pid) / "stat").read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    try:
        return Process(
            pid,
            start_ticks=int(fields[19]),
            parent=int(fields[1]),
            group=int(fields[2]),
            session=int(fields[3]),
            is_ended=fields[0] in ("Z", "X"),
            name=name,
        )
    except (IndexError, ValueError):
        return None


def all_processes() -> list[Process]:
    """Every process that can be seen."""
    try:
        pids = [int(name) for name in os.listdir(PROC) if name.isdecimal()]
    except OSError:
        return []
    return [process for process in map(process_of, pids) if process is not None]


def boot_id() -> str:
    """Changes with every boot: pids and ticks of another one say nothing. "" where it is not told."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def is_alive(pid: int, start_ticks: int) -> bool:
    """Whether that very process still runs, not another one of its number."""
    process = process_of(pid)
    return process is not None and process.start_ticks == start_ticks and not process.is_ended


def carries(pid: int, round_id: str) -> bool:
    """Whether a process was started with the marker of that round, as far as this user may ask."""
    try:
        with open(PROC / str(pid) / "environ", "rb") as file:
            text = file.read(MAX_ENVIRON_BYTES)
    except OSError:
        return False
    return f"{MARKER}={round_id}".encode() in text.split(b"\0")


def marked(round_id: str) -> list[Process]:
    """The processes of a round that live, found by the marker alone."""
    mine = os.getpid()
    return [p for p in all_processes() if not p.is_ended and p.pid != mine and carries(p.pid, round_id)]


def send(process: Process, number: signal.Signals) -> bool:
    """A signal to that very process; whether it was there to get it.

    The handle is taken first and stands for the process that has the number then: one that gets the number
    between the look and the signal is not hit.
    """
    try:
        handle = os.pidfd_open(process.pid)
    except OSError as error:
        return error.errno == errno.ENOSYS and is_alive(*process.key) and _kill(process.pid, number)
    try:
        if not is_alive(*process.key):
            return False
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _kill(pid: int, number: signal.Signals) -> bool:
    """Of kernels without handles."""
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


class Family:
    """All processes that stem from one tool: by parent, session, group and marker. What was once known as a
    member stays one, so a daemon that cleared its environment is not lost while it is looked at in time.

    spared: pids that are never counted as members (a process that was attached to).
    """

    def __init__(self, leader: int, round_id: str, spared: frozenset[int] = frozenset()) -> None:
        self._leader = leader
        self._round_id = round_id
        self._spared = spared | {os.getpid()}
        self._members: dict[tuple[int, int], Process] = {}
        self._strangers: set[tuple[int, int]] = set()

    def living(self) -> list[Process]:
        """Members that have not ended, the tool itself among them; looks at all processes."""
        everyone = [p for p in all_processes() if p.pid not in self._spared]
        pids = {
            p.pid for p in everyone if p.key in self._members
        }  # not of those that are gone: numbers come again
        is_new = True
        while is_new:  # a child may stand before its parent
            is_new = False
            for process in everyone:
                if process.key not in self._members and self._is_member(process, pids):
                    self._members[process.key] = process
                    pids.add(process.pid)
                    is_new = True
        now = {process.key: process for process in everyone}
        self._strangers &= set(now)
        return [now[key] for key in self._members if key in now and not now[key].is_ended]

    def _is_member(self, process: Process, pids: set[int]) -> bool:
        if process.pid == self._leader or self._leader in (process.session, process.group):
            return True
        if process.parent in pids:
            return True
        if process.key in self._strangers:
            return False
        if carries(process.pid, self._round_id):
            return True
        self._strangers.add(process.key)
        return False

    def reap(self) -> None:
        """Take away members that have ended and whose parent is this process by now; not the tool itself, nor
        another child that has got a member's number: its end belongs to whoever started it."""
        mine = os.getpid()
        for pid, ticks in self._members:
            process = process_of(pid) if pid != self._leader else None
            if process is None or process.start_ticks != ticks:
                continue
            if process.is_ended and process.parent == mine:
                with suppress(OSError):
                    os.waitpid(pid, os.WNOHANG)


# ---- orphans come here ----

_lock = threading.Lock()
_n_adopting = 0
_was_adopting = False


@contextmanager
def adopting() -> Iterator[None]:
    """While it lasts, orphans among the descendants become children of this process, not of init."""
    global _n_adopting, _was_adopting
    with _lock:
        if _n_adopting == 0:
            _was_adopting = _subreaper()
            _set_subreaper(True)
        _n_adopting += 1
    try:
        yield
    finally:
        with _lock:
            _n_adopting -= 1
            if _n_adopting == 0:
                _set_subreaper(_was_adopting)


def _prctl(option: int, argument: Any) -> None:
    zero = ctypes.c_ulong(0)  # whole registers: the kernel reads all of them
    ctypes.CDLL(None).prctl(option, argument, zero, zero, zero)


def _subreaper() -> bool:
    value = ctypes.c_int(0)
    with suppress(OSError, AttributeError):
        _prctl(_GET_SUBREAPER, ctypes.byref(value))
    return bool(value.value)


def _set_subreaper(is_on: bool) -> None:
    with suppress(OSError, AttributeError):  # without it orphans are still found by their marker
        _prctl(_SET_SUBREAPER, ctypes.c_ulong(is_on))


def names_of(processes: Iterable[Process]) -> str:
    """ "python3 4711, sh 4712" for a message."""
    return ", ".join(f"{process.name} {process.pid}" for process in processes)
