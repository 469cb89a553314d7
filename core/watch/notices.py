"""What wakes a watch: inotify, and the clock where inotify hears too little.

Notices only say where to look again; what happened is found by listing. A lost notice costs a later look,
never a wrong answer. One thread waits; `wake` and `close` may be called from any.
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import select
import struct
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .events import Mode
from .filesystems import why_polling

_HEADER = struct.Struct("iIII")
_BUFFER_BYTES = 1 << 18
_MAX_TAKEN_BYTES = 1 << 24
_MAX_WAIT_S = 3600.0
_LIMITS = Path("/proc/sys/fs/inotify")

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _UNMOUNT, _OVERFLOW, _IGNORED = 0x400, 0x800, 0x2000, 0x4000, 0x8000
_ONLYDIR, _EXCL_UNLINK = 0x0100_0000, 0x0400_0000
_ASKED = (
    _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
)
_GONE = _DELETE_SELF | _MOVE_SELF | _UNMOUNT | _IGNORED


@dataclass(slots=True)
class Noticed:
    """Where to look again. dirty: names by folder, None for all of it. closed: files that a writer closed.
    is_all: notices were lost, so everything. is_root: something happened to the root itself.
    """

    dirty: dict[str, set[str] | None] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)
    is_all: bool = False
    is_root: bool = False

    def __bool__(self) -> bool:
        return bool(self.dirty or self.closed or self.is_all or self.is_root)


class Notices(Protocol):
    """Where notices come from. mode: "polling" where some changes make none, so somebody has to look."""

    mode: Mode
    why: str

    def enter(self, folder: str) -> None:
        """From now on tell of this folder. Where a limit forbids it `mode` turns "polling"."""
        ...

    def leave(self, folder: str) -> None: ...

    def take(self) -> Noticed:
        """What came since the last call; never waits."""
        ...

    def wait(self, timeout_s: float, *, for_wake_only: bool = False) -> bool:
        """Until something comes, `wake` is called or the time is over; whether it came or was woken."""
        ...

    def wake(self) -> None: ...

    def close(self) -> None: ...


class Polling:
    """No notices: the clock alone."""

    def __init__(self, why: str) -> None:
        self.mode: Mode = "polling"
        self.why = why
        self._woken = threading.Event()

    def enter(self, folder: str) -> None:
        """Nothing to be set up."""

    def leave(self, folder: str) -> None:
        """Nothing to be taken down."""

    def take(self) -> Noticed:
        return Noticed()

    def wait(self, timeout_s: float, *, for_wake_only: bool = False) -> bool:
        is_woken = self._woken.wait(min(timeout_s, _MAX_WAIT_S))
        self._woken.clear()
        return is_woken

    def wake(self) -> None:
        self._woken.set()

    def close(self) -> None:
        self.wake()


class Inotify:
    """Notices of the kernel, one watch a folder. OSError where there is no inotify or too many use it.

    why: what it does not hear of; then it still tells of this host's own writes.

    Watchdog's observer would be three threads and an object an event, and says nothing of folders that the
    limit of watches left out, nor of lost events: so only its bindings are used, and the listing names the
    folders.
    """

    def __init__(self, root: str, why: str = "") -> None:
        from watchdog.observers import inotify_c  # here: it fails on other systems

        self.mode: Mode = "polling" if why else "inotify"
        self.why = why
        self._root = root
        self._add: Callable[[int, bytes, int], int] = inotify_c.inotify_add_watch
        self._remove: Callable[[int, Any], int] = inotify_c.inotify_rm_watch
        self._lock = threading.RLock()  # a signal's handler may close it in the middle of anything
        self._is_waiting = self._is_closed = False
        self._folders: dict[int, str] = {}
        self._watches: dict[str, int] = {}
        self._fd = inotify_c.inotify_init()
        if self._fd < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        os.set_blocking(self._fd, False)
        os.set_inheritable(self._fd, False)
        self._wake_out, self._wake_in = os.pipe()
        os.set_blocking(self._wake_out, False)
        os.set_blocking(self._wake_in, False)

    def enter(self, folder: str) -> None:
        with self._lock:
            if self._is_closed:
                return
            watch = self._add(self._fd, os.fsencode(folder), _ASKED | _ONLYDIR | _EXCL_UNLINK)
            if watch < 0:
                number = ctypes.get_errno()
                if number in (errno.ENOSPC, errno.ENOMEM, errno.EMFILE) and self.mode == "inotify":
                    self.mode, self.why = "polling", f"watch-limit {_limit('max_user_watches')}"
                return  # else it is gone, or may not be read: the listing finds that out too
            old = self._folders.get(watch)
            if old is not None and old != folder and self._watches.get(old) == watch:
                del self._watches[old]  # the folder moved, its watch with it
            self._folders[watch], self._watches[folder] = folder, watch

    def leave(self, folder: str) -> None:
        with self._lock:
            watch = self._watches.pop(folder, None)
            if watch is not None and not self._is_closed:
                del self._folders[watch]
                self._remove(self._fd, watch)

    def take(self) -> Noticed:
        noticed = Noticed()
        n_bytes = 0
        with self._lock:
            while not self._is_closed:
                try:
                    raw = os.read(self._fd, _BUFFER_BYTES)
                except OSError:
                    break  # nothing more, or closed
                self._note(raw, noticed)
                n_bytes += len(raw)
                if n_bytes > _MAX_TAKEN_BYTES:
                    noticed.is_all = True  # an eager writer ends no look
                    break
        return noticed

    def _note(self, raw: bytes, noticed: Noticed) -> None:
        at, end = 0, len(raw)
        while at + _HEADER.size <= end:
            watch, mask, _, n_name = _HEADER.unpack_from(raw, at)
            at += _HEADER.size
            name = os.fsdecode(raw[at : at + n_name].rstrip(b"\0"))
            at += n_name
            if mask & _OVERFLOW:
                noticed.is_all = True
                continue
            folder = self._folders.get(watch)
            if folder is None:
                continue
            if mask & _IGNORED:
                del self._folders[watch]
                if self._watches.get(folder) == watch:
                    del self._watches[folder]
            if mask & _GONE and folder == self._root:
                noticed.is_root = True
            if not name:
                noticed.dirty[folder] = None
                continue
            if mask & _CLOSE_WRITE:
                noticed.closed.add(os.path.join(folder, name))
            elif mask & _MODIFY:
                noticed.closed.discard(os.path.join(folder, name))
            names = noticed.dirty.setdefault(folder, set())
            if names is not None:
                names.add(name)

    def wait(self, timeout_s: float, *, for_wake_only: bool = False) -> bool:
        with self._lock:
            if self._is_closed:
                return True
            self._is_waiting = True
            poller = select.poll()
            poller.register(self._wake_out, select.POLLIN)
            if not for_wake_only:
                poller.register(self._fd, select.POLLIN)
        try:
            ready = poller.poll(max(0, math.ceil(min(timeout_s, _MAX_WAIT_S) * 1000)))
        finally:
            with self._lock:
                self._is_waiting = False
                if self._is_closed:
                    self._free()
        if any(fd == self._wake_out for fd, _ in ready) and not self._is_closed:
            os.read(self._wake_out, 4096)
        return bool(ready)

    def wake(self) -> None:
        with self._lock:
            if not self._is_closed:
                self._signal()

    def close(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            if self._is_waiting:
                self._signal()  # who waits closes
            else:
                self._free()

    def _signal(self) -> None:
        try:
            os.write(self._wake_in, b"!")
        except BlockingIOError:
            pass  # it is full of wakes

    def _free(self) -> None:
        for fd in (self._fd, self._wake_out, self._wake_in):
            if fd >= 0:
                os.close(fd)
        self._fd = self._wake_out = self._wake_in = -1


def _limit(name: str) -> str:
    try:
        return (_LIMITS / name).read_text().strip()
    except OSError:
        return "?"


def notices_for(root: str, why: str = "") -> Notices:
    """Inotify, with a reason to poll where it does not tell of everything below a folder; the clock alone
    where there is no inotify, or `why` forbids it.
    """
    if why or sys.platform != "linux":
        return Polling(why or "unsupported")
    try:
        return Inotify(root, why_polling(root))
    except OSError as error:
        if error.errno == errno.EMFILE:
            return Polling(f"instance-limit {_limit('max_user_instances')}")
        return Polling(f"unsupported {error.strerror}")
