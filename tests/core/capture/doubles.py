"""A driver that starts the program as it is, and programs that behave as badly as real ones do."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from npulse.core.capture import drivers
from npulse.core.capture.archive import open_round
from npulse.core.capture.base import BaseDriver, count_files
from npulse.core.capture.driver import RAW, SIMPLE_STOP, Ended, Plan, PlannedFile, Recorded, StopStep
from npulse.core.capture.drivers import DRIVERS
from npulse.core.capture.processes import all_processes, carries
from npulse.core.capture.request import CaptureRequest, Kind
from npulse.core.formats.manifest import read_manifest

WAIT_S = 30.0

WRITES = "import os; open(os.environ['FAKE_RAW'] + '/data.bin', 'wb').write(b'x' * 100)\n"
"""A line of Python that records something."""


class PlainDriver(BaseDriver):
    """Starts the command itself; FAKE_RAW names the folder to write into. What lies there is judged by the
    number of files: none is nothing, a file `cut` makes it incomplete, a file `fault` is the fault."""

    id = "plain"
    kind: Kind = "precision"
    title = ("nothing but the program", "仅程序本身")
    tool = "plain"
    stop: tuple[StopStep, ...] = SIMPLE_STOP
    first_lines: tuple[str, ...] = ()
    need: tuple[int, int] | None = None
    after: tuple[str, ...] = ()
    """The second command."""

    def estimate_bytes(self, request: CaptureRequest) -> tuple[int, int] | None:
        return self.need

    def plan(self, request: CaptureRequest, round_folder: Path) -> Plan:
        files = (PlannedFile("config.json", '{"step": []}\n'),)
        environment = {"FAKE_RAW": str(round_folder / RAW)}
        return Plan(request.command, environment, files, self.first_lines, self.stop)

    def wants_stop(self, request: CaptureRequest, raw: Path) -> str:
        return "first-anomaly" if request.stop_at_first and (raw / "fault").exists() else ""

    def switch(self, round_folder: Path, is_on: bool) -> tuple[PlannedFile, ...] | tuple[str, ...]:
        return ("start" if is_on else "stop",)

    def finish(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Plan | None:
        return Plan(self.after, {"FAKE_RAW": str(round_folder / RAW)}) if self.after else None

    def recorded(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Recorded:
        raw = round_folder / RAW
        n_files, size_bytes = count_files(raw)
        names = {path.name for path in raw.rglob("*")}
        has_fault = "fault" in names
        if not n_files:
            return Recorded("nothing", 0, 0, why=("no file was written", "没有写出文件"))
        if "cut" in names or ended.is_killed or ended.signal:
            why = ("the program ended in the middle", "程序中途结束")
            return Recorded("incomplete", n_files, size_bytes, why=why, is_failure=has_fault)
        return Recorded(
            "recorded", n_files, size_bytes, ranks=(0,), steps=(0, 1), n_operators=3, is_failure=has_fault
        )


def register(patch: Callable[[Any, str, Any], None]) -> None:
    """Make the driver known as `--tool plain`, by a monkeypatch's setitem."""
    patch(sys.modules, f"{drivers.__name__}.doubles", sys.modules[__name__])
    for kind in DRIVERS:
        patch(DRIVERS[kind], "plain", "doubles:PlainDriver")


def python(code: str, *words: str) -> tuple[str, ...]:
    """A command that runs this Python code."""
    return (sys.executable, "-S", "-c", code, *words)


def request_for(archive: Path, command: tuple[str, ...], **words: Any) -> CaptureRequest:
    """A request with this process's environment."""
    kind = words.pop("kind", "precision")
    environment = {**os.environ, **words.pop("environment", {})}
    cwd = words.pop("cwd", archive.parent)
    return CaptureRequest(kind, command, cwd, archive, environment=environment, **words)


def until(condition: Callable[[], Any], what: str = "") -> Any:
    """What the condition gives once it is true; fails after a while."""
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        found = condition()
        if found:
            return found
        os.sched_yield()
        time.sleep(0.01)  # between two looks at a condition, not instead of one
    raise AssertionError(f"did not come: {what or condition}")


def manifest_of(folder: Path) -> dict[str, Any]:
    return dict(read_manifest(folder / "round.toml"))


def rounds_of(archive: Path) -> list[Path]:
    return sorted(path.parent for path in archive.glob("*/*/round.toml"))


def living_of(round_id: str) -> list[int]:
    """Processes with the marker of a round, by our own look at /proc."""
    return [p.pid for p in all_processes() if not p.is_ended and carries(p.pid, round_id)]


def all_left(root: Path) -> list[str]:
    """Every living process that a round below `root` has started, by our own look at /proc."""
    found = []
    for process in all_processes():
        try:
            text = Path(f"/proc/{process.pid}/environ").read_bytes()
        except OSError:
            continue
        if f"\0FAKE_RAW={root}/".encode() in b"\0" + text and not process.is_ended:
            found.append(f"{process.pid} {process.name}")
    return found


def listing(root: Path, without: Path) -> dict[str, tuple[int, int]]:
    """Every path below `root` but those in `without`: size and time of the last change."""
    found = {}
    for path in root.rglob("*"):
        if path == without or without in path.parents:
            continue
        status = path.lstat()
        found[str(path)] = (
            0 if path.is_dir() else status.st_size,
            0 if path.is_dir() else status.st_mtime_ns,
        )
    return found


@contextmanager
def nothing_else_written(root: Path, archive: Path) -> Iterator[None]:
    """Holds that inside the block nothing below `root` changes but the archive."""
    before = listing(root, archive)
    yield
    assert listing(root, archive) == before


def is_read_only(folder: Path) -> bool:
    """Whether nothing below (nor the folder) has a write permission."""
    return all(path.is_symlink() or not path.lstat().st_mode & 0o222 for path in (folder, *folder.rglob("*")))


def empty_round(archive: Path) -> Path:
    return open_round(archive, "precision", "capture", time.time())
