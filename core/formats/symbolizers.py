"""Readers of debug data, each a process of its own: bounded in time, memory and output, without a shell."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from npulse.core.dataclass import dataclass

TOOLS = ("llvm-symbolizer", "addr2line")
MAX_MEMORY_BYTES = 1 << 31
MAX_OUTPUT_BYTES = 1 << 25
MAX_TEXT_CHARS = 4_096
MAX_INLINED = 256

_ADDRESS = re.compile(r"0x[0-9a-f]{1,16}")
_PLACE = re.compile(r"(.*):(\d{1,9}|\?)(?: \(discriminator \d+\))?", re.DOTALL)
_WORKER = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); from {module} import main; main()"


@dataclass(frozen=True, slots=True)
class CodePlace:
    """Where code comes from. line: 0 where the compiler gave it none; column: None where not known.

    function: the short name or the full one, as the reader of the debug data has it; "" if not known.
    """

    file: str
    line: int
    column: int | None = None
    function: str = ""


Answer = dict[int, tuple[CodePlace, ...]]


class ReadingFailed(Exception):
    """A reader gave no usable answer; another one may."""


class Unreadable(Exception):
    """The debug data is damaged, or takes too long."""


class Deadline:
    """The end of the time that all readers of one object may take together."""

    def __init__(self, seconds: float) -> None:
        self._end = monotonic() + seconds

    def left(self) -> float:
        """Seconds, never less than a hundredth."""
        return max(0.01, self._end - monotonic())


def found_tools(names: Sequence[str]) -> list[str]:
    """Absolute paths of those that are installed. What PATH finds in the current folder does not count."""
    found = [shutil.which(name) for name in names]
    return [path for path in found if path is not None and os.path.isabs(path)]


def ask_tool(program: str, fd: int, path: Path, offsets: Sequence[int], deadline: Deadline) -> Answer:
    """What llvm-symbolizer or addr2line says of the open object `fd`. Raises ReadingFailed."""
    name = _name_of(fd, path)
    asked = "".join(f"{offset:#x}\n" for offset in offsets).encode()
    is_llvm = "addr2line" not in os.path.basename(program)
    if is_llvm:
        options = ["--inlines", "--functions=short", "--demangle", "--output-style=JSON", f"--obj={name}"]
    else:
        options = ["-a", "-f", "-i", "-C", "-e", name]
    # half of the time that is left: the next reader needs some too
    status, output = _run([program, *options], fd, asked, deadline.left() / 2)
    if status != 0:
        raise ReadingFailed(f"exit status {status}")
    read = _of_llvm if is_llvm else _of_addr2line
    return read(output.decode("utf-8", "replace"), offsets)


def ask_elftools(fd: int, path: Path, offsets: Sequence[int], deadline: Deadline) -> Answer:
    """What pyelftools reads. Raises Unreadable."""
    module = f"{__package__}.object_lines"
    command = [
        sys.executable,
        "-I",
        "-c",
        _WORKER.format(module=module),
        json.dumps([os.path.abspath(folder) for folder in sys.path]),
    ]
    asked = json.dumps(list(offsets)).encode()
    try:
        status, output = _run([*command, _name_of(fd, path)], fd, asked, deadline.left())
        answer = json.loads(output) if status == 0 else None
    except (ReadingFailed, ValueError) as error:
        raise Unreadable(str(error)) from error
    if not isinstance(answer, dict):
        raise Unreadable("its reader ended early")
    if "error" in answer:
        raise Unreadable(str(answer["error"])[:MAX_TEXT_CHARS])
    return {offset: _places(answer.get(str(offset), ())) for offset in offsets}


def _name_of(fd: int, path: Path) -> str:
    """A name by which a child opens the very file that is open here, and not one put into its place."""
    return f"/proc/self/fd/{fd}" if os.path.exists("/proc/self/fd") else os.path.realpath(path)


def _run(command: Sequence[str], fd: int, asked: bytes, seconds: float) -> tuple[int, bytes]:
    """Exit status and output of a command that gets `asked` as its input."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output:
        given.write(asked)
        given.seek(0)
        try:
            child = subprocess.Popen(
                command,
                stdin=given,
                stdout=output,
                stderr=subprocess.DEVNULL,
                pass_fds=(fd,),
                cwd="/",
                env={"LC_ALL": "C.UTF-8"},  # above all no server that debug data is fetched from
                start_new_session=True,
            )
        except OSError as error:
            raise ReadingFailed(error.strerror or "it cannot be started") from error
        try:
            _limit(child.pid)
            status = child.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise ReadingFailed(f"it takes more than {seconds:.3g} s") from error
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
        output.seek(0)
        content = output.read(MAX_OUTPUT_BYTES + 1)
    if len(content) > MAX_OUTPUT_BYTES:
        raise ReadingFailed(f"more than {MAX_OUTPUT_BYTES:,} bytes of answer")
    return status, content


def _limit(pid: int) -> None:
    if not hasattr(resource, "prlimit"):  # Linux only
        return
    limits = ((resource.RLIMIT_AS, MAX_MEMORY_BYTES), (resource.RLIMIT_FSIZE, MAX_OUTPUT_BYTES + 1))
    for which, most in (*limits, (resource.RLIMIT_CORE, 0)):
        try:
            resource.prlimit(pid, which, (most, most))
        except (OSError, ValueError):  # it has ended already, or its own limits are lower
            return


def _of_llvm(text: str, offsets: Sequence[int]) -> Answer:
    """One JSON object a line, in the order of the question."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) != len(offsets):
        raise ReadingFailed("another number of answers than of questions")
    found: Answer = {}
    for offset, line in zip(offsets, lines, strict=True):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ReadingFailed("no JSON") from error
        if not isinstance(entry, dict) or "Error" in entry or not isinstance(entry.get("Symbol"), list):
            raise ReadingFailed("it cannot read the object")
        rows = [row for row in entry["Symbol"] if isinstance(row, Mapping)]
        names = ("FileName", "Line", "Column", "FunctionName")
        found[offset] = _places([[row.get(name) for name in names] for row in rows])
    return found


def _of_addr2line(text: str, offsets: Sequence[int]) -> Answer:
    """The address, then function and place by turns, for every question."""
    lines = text.split("\n")
    found: Answer = {}
    at = 0
    for offset in offsets:
        if at >= len(lines) or not _ADDRESS.fullmatch(lines[at]) or int(lines[at], 16) != offset:
            raise ReadingFailed("answers out of order")
        at += 1
        rows: list[list[Any]] = []
        while at + 1 < len(lines) and not _ADDRESS.fullmatch(lines[at]):
            place = _PLACE.fullmatch(lines[at + 1])
            if place is None:
                raise ReadingFailed("no place behind a function")
            file, line = place.groups()
            if file != "??":
                rows.append([file, 0 if line == "?" else int(line), None, lines[at].replace("??", "")])
            at += 2
        found[offset] = _places(rows)
    return found


def _places(rows: Any) -> tuple[CodePlace, ...]:
    """Rows of file, line, column, function as places; what is not of these types is left out."""
    if not isinstance(rows, (list, tuple)):
        return ()
    places = []
    for row in rows[:MAX_INLINED]:
        if not isinstance(row, list) or len(row) != 4:
            continue
        file, line, column, function = row
        if isinstance(file, str) and file and isinstance(line, int) and line >= 0:
            is_column = isinstance(column, int) and column > 0
            name = function[:MAX_TEXT_CHARS] if isinstance(function, str) else ""
            places.append(CodePlace(file[:MAX_TEXT_CHARS], line, column if is_column else None, name))
    return tuple(places)
