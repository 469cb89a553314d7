"""A program in a pseudo terminal of a given kind and size: keys in, bytes out, cost measured."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
APPS = Path(__file__).resolve().parent / "apps"

FRAME_START = b"\x1b[?2026h"
_SYNC_QUERY, _SYNC_ANSWER = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
_COLOUR = re.compile(rb"\x1b\[([0-9;]*)m")


def plain_environ(**words: str) -> dict[str, str]:
    """The environment of a login without a locale, colours or multiplexer, plus `words`."""
    environ = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environ |= {name: value for name, value in os.environ.items() if name.startswith("NPULSE_")}
    return environ | {"PYTHONPATH": str(REPO / "src"), "TERM": "xterm-256color"} | words


def _as_in_a_terminal() -> None:
    """The terminal is its own, and ctrl+c works, whatever the test run itself was started from."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class PtyProgram:
    """A started program; `output` is all it has written so far. Ends the program when the block ends."""

    def __init__(
        self, argv: Sequence[str], environ: Mapping[str, str], columns: int = 80, rows: int = 24
    ) -> None:
        self.output = b""
        self._master, slave = pty.openpty()
        self.resize(columns, rows)
        self.process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=dict(environ),
            start_new_session=True,
            preexec_fn=_as_in_a_terminal,
        )
        os.close(slave)

    @classmethod
    def app(cls, name: str, *args: str, columns: int = 80, rows: int = 24, **words: str) -> PtyProgram:
        """One of the apps beside this file."""
        argv = (sys.executable, str(APPS / name), *args)
        return cls(argv, plain_environ(**words), columns, rows)

    def __enter__(self) -> PtyProgram:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.hang_up()

    # ---- talking ----

    def resize(self, columns: int, rows: int) -> None:
        """Change the terminal's size; the kernel tells the program."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, keys: bytes) -> None:
        """Type."""
        os.write(self._master, keys)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def hang_up(self) -> None:
        """Close the terminal, as a lost connection does."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def read_until(self, pattern: bytes, timeout_s: float = 60.0) -> bytes:
        """What arrives up to and including the first match of `pattern`; fails when it does not come."""
        start, deadline = len(self.output), time.monotonic() + timeout_s
        while not (found := re.compile(pattern).search(self.output, start)):
            if not self._read(deadline - time.monotonic()):
                raise AssertionError(f"{pattern!r} did not come; last: {self.output[-2000:]!r}")
        return self.output[start : found.end()]

    def read_for(self, seconds: float) -> bytes:
        """What arrives within a span of time."""
        start, deadline = len(self.output), time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and self._read(left):
            pass
        return self.output[start:]

    def read_quiet(self, quiet_s: float = 0.3) -> bytes:
        """What arrives until nothing has for `quiet_s`."""
        start = len(self.output)
        while self._read(quiet_s):
            pass
        return self.output[start:]

    def wait(self, timeout_s: float = 30.0) -> int:
        """The exit status, after all output was read."""
        deadline = time.monotonic() + timeout_s
        while self._master >= 0 and self._read(deadline - time.monotonic()):
            pass
        return self.process.wait(max(0.1, deadline - time.monotonic()))

    def _read(self, timeout_s: float) -> bool:
        if timeout_s <= 0 or not select.select([self._master], [], [], timeout_s)[0]:
            return False
        try:
            chunk = os.read(self._master, 1 << 16)
        except OSError:  # the other side is closed
            return False
        asked = self.output[-len(_SYNC_QUERY) :] + chunk
        self.output += chunk
        if _SYNC_QUERY in asked and not self.output[: -len(chunk)].endswith(_SYNC_QUERY):
            with contextlib.suppress(OSError):
                self.send(_SYNC_ANSWER)
        return bool(chunk)

    # ---- cost ----

    def cpu_s(self) -> float:
        """Processor seconds of the program so far, all its threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_bytes(self) -> int:
        """Largest resident size so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024


def colour_codes(output: bytes) -> set[bytes]:
    """Every graphic rendition code in the output that sets a colour, also "default" ones."""
    codes = {code for found in _COLOUR.finditer(output) for code in found[1].split(b";")}
    return {code for code in codes if code.isdigit() and 30 <= int(code) <= 107}


def styles(output: bytes) -> set[bytes]:
    """Every graphic rendition in the output."""
    return {found[1] for found in _COLOUR.finditer(output)}
