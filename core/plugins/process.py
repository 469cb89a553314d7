"""A plug-in in a process of its own, asked with a limit for time, memory and answer.

Whatever a plug-in does - raise, hang, exit, eat memory, crash - comes out of here as a `PluginFault`, and the
process and all that it has started in its group are gone. That protects from accidents, not from malice: a
plug-in is code that runs with the user's rights.
"""

from __future__ import annotations

import fcntl
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from ..progress import IsCancelled, check, never_cancelled
from ..text import safe_text
from .registry import OFF_VARIABLE, Plugin, searched_path
from .wire import HEAD_BYTES, MAX_ANSWER_BYTES, WireError, length_of, opened, packed

TIME_LIMIT_S = 60.0
MEMORY_LIMIT_BYTES = 8 << 30
_SLICE_S = 0.1
_TALK_BYTES = 4096
_PIPE_BYTES = 1 << 20
_BOOT = (
    "import json, sys\n"
    "sys.path[:] = json.loads(sys.argv.pop())\n"
    "from npulse.core.plugins.child import main\n"
    "main()\n"
)
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
Answer = Callable[[Mapping[str, Any]], tuple[Mapping[str, Any], Sequence[Any]]]
"""What npulse says to a question of the plug-in: a message and its arrays."""


class PluginFault(Exception):
    """What a plug-in did wrong. line: of its own file, where that is known. word: a stable one for it."""

    def __init__(self, word: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.word, self.message, self.line = word, message, line


class PluginProcess:
    """One plug-in, loaded and asked. Cost: about 0.1 s to start; ends with the `with` block."""

    def __init__(
        self,
        plugin: Plugin,
        *,
        time_limit_s: float = TIME_LIMIT_S,
        memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> None:
        self.plugin = plugin
        self._time_limit_s, self._is_cancelled = time_limit_s, is_cancelled
        self._memory_limit_bytes = memory_limit_bytes
        self._talk = b""
        self._has_ended = False
        command = [sys.executable, "-I", "-c", _BOOT, str(memory_limit_bytes), json.dumps(_path())]
        # its group is its own: a signal for npulse is not one for it, and all of it can be ended at once
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env={**os.environ, OFF_VARIABLE: "1", **dict.fromkeys(_ONE_THREAD, "1")},
            start_new_session=True,
            bufsize=0,
        )
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
        with suppress(OSError):  # whole tensors go through it
            fcntl.fcntl(self._process.stdin.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)  # type: ignore[union-attr]

    def __enter__(self) -> PluginProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def load(self, function: str = "") -> list[dict[str, Any]]:
        """Import it; the declarations of what it holds, as they stand there. PluginFault.

        function: a function of its file that is the one reference in it.
        """
        code = self.plugin.code.decode("utf-8", "replace")
        answer = self.ask(
            {
                "do": "load",
                "name": self.plugin.name,
                "value": self.plugin.value,
                "path": str(self.plugin.path or ""),
                "code": code,
                "kinds": list(self.plugin.kinds) if self.plugin.value else [],
                "function": function,
            }
        )
        items = answer.get("items")
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise PluginFault("answer", "it does not say what it holds")
        return items

    def ask(
        self, message: Mapping[str, Any], arrays: Sequence[Any] = (), answer: Answer | None = None
    ) -> dict[str, Any]:
        """The answer to a question. Questions of its own are answered by `answer`. PluginFault, Cancelled."""
        end_s = time.monotonic() + self._time_limit_s
        while True:
            found = opened_answer(self._exchange(packed(message, arrays), end_s))
            fault = found.get("fault")
            if isinstance(fault, dict):
                raise self._told(fault)
            if "want" not in found or answer is None:
                return found
            message, arrays = answer(found)

    def end(self) -> None:
        """End it and what it has started; nothing of it is waited for longer than the signal takes."""
        if self._has_ended:
            return  # by now the number may be another process's
        self._has_ended = True
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _exchange(self, pieces: Sequence[bytes | memoryview], end_s: float) -> bytes:
        """Send a message and take the JSON of the answer, while what is printed is drained."""
        assert self._process.stdin and self._process.stdout and self._process.stderr
        todo = [memoryview(piece) for piece in pieces if len(piece)]
        got = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdin, selectors.EVENT_WRITE)
            selector.register(self._process.stdout, selectors.EVENT_READ)
            selector.register(self._process.stderr, selectors.EVENT_READ)
            while True:
                check(self._is_cancelled)
                left_s = end_s - time.monotonic()
                if left_s <= 0:
                    self.end()
                    raise PluginFault("time", f"had no answer after {self._time_limit_s:g} s")
                ready = [key.fileobj for key, _ in selector.select(min(left_s, _SLICE_S))]
                if self._process.stdin in ready and not self._write(todo):
                    selector.unregister(self._process.stdin)
                if self._process.stderr in ready and not self._drain():
                    selector.unregister(self._process.stderr)
                is_open = True
                if self._process.stdout in ready:
                    is_open = self._read_into(got)
                if len(got) >= HEAD_BYTES:
                    n_bytes = length_of(bytes(got[:HEAD_BYTES]))
                    if n_bytes > MAX_ANSWER_BYTES:
                        self.end()
                        raise PluginFault("answer", f"answered with {n_bytes:,} bytes, too many to take")
                    if len(got) >= HEAD_BYTES + n_bytes:
                        return bytes(got[HEAD_BYTES : HEAD_BYTES + n_bytes])
                if not is_open or (not ready and self._process.poll() is not None):
                    raise self._ended()

    def _write(self, todo: list[memoryview]) -> bool:
        """Send what the pipe takes; False once there is nothing more to send, or nobody to send it to."""
        assert self._process.stdin
        while todo:
            try:
                n_sent = os.write(self._process.stdin.fileno(), todo[0][: 1 << 20])
            except BlockingIOError:
                return True
            except OSError:
                return False
            if n_sent == len(todo[0]):
                del todo[0]
            else:
                todo[0] = todo[0][n_sent:]
        return False

    def _read_into(self, got: bytearray) -> bool:
        assert self._process.stdout
        try:
            piece = os.read(self._process.stdout.fileno(), 1 << 20)
        except BlockingIOError:
            return True
        got += piece
        return bool(piece)

    def _drain(self) -> bool:
        assert self._process.stderr
        try:
            piece = os.read(self._process.stderr.fileno(), 1 << 16)
        except BlockingIOError:
            return True
        self._talk = (self._talk + piece)[-_TALK_BYTES:]
        return bool(piece)

    def _told(self, fault: Mapping[str, Any]) -> PluginFault:
        kind, text = safe_text(str(fault.get("type"))[:80]), safe_text(str(fault.get("message")), 500)
        line = fault.get("line")
        line = line if isinstance(line, int) and not isinstance(line, bool) and line > 0 else None
        if kind == "MemoryError":
            limit = self._memory_limit_bytes >> 20
            return PluginFault("memory", f"wanted more than {limit:,} MiB of memory", line)
        return PluginFault("raised", f"raised {kind}: {text}" if text else f"raised {kind}", line)

    def _ended(self) -> PluginFault:
        """Why the process is gone, with the last line that it printed."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        status = self._process.poll()
        self.end()
        how = "ended its process" if status is None or status >= 0 else f"died of signal {-status}"
        how += f" (exit status {status})" if status is not None and status >= 0 else ""
        lines = [line for line in self._talk.decode("utf-8", "replace").splitlines() if line.strip()]
        return PluginFault("ended", how + (f": {safe_text(lines[-1], 300)}" if lines else ""))


def opened_answer(body: bytes) -> dict[str, Any]:
    """The JSON of an answer; PluginFault where it is none."""
    try:
        return opened(body)
    except WireError as error:
        raise PluginFault("answer", str(error)[:300]) from None


def _path() -> list[str]:
    """Where the process finds modules: as this one does, but never in the current folder by itself."""
    import npulse

    own = str(Path(npulse.__file__).resolve().parents[1])
    found = searched_path()
    return found if own in map(os.path.realpath, found) else [*found, own]
