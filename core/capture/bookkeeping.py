"""Rounds whose npulse was killed: found, judged by what they hold, closed with the truth."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from npulse.core.errors import InputError, NpulseError
from npulse.core.formats.manifest import RoundRecord

from . import archive
from .base import BaseDriver
from .driver import RAW, Driver, Ended, Recorded
from .drivers import driver_of
from .manifest import Manifest, recorded_table, request_of, utc_text
from .process import LOOK_S
from .processes import Process, boot_id, is_alive, marked, process_of, send
from .request import FOLDERS, CaptureRequest, Kind
from .stop import StopRequests
from .switching import is_captured_now, remove_control
from .texts import SESSION

MAX_ROUNDS = 10_000
LADDER = ((signal.SIGINT, 10.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


@dataclass(frozen=True, slots=True)
class Resumed:
    """One round that was found running. what: closed (just now), captured (an npulse still makes it), alive
    (its tool still runs, and nobody watches), refused. processes: of an alive one. why: of a refused one.
    kind, recorded: of a closed one."""

    folder: Path
    what: Literal["closed", "captured", "alive", "refused"]
    recorded: Recorded | None = None
    processes: tuple[Process, ...] = ()
    why: str = ""
    kind: Kind | None = None


def rounds_in(path: Path) -> Iterator[Path]:
    """The round that `path` is, or those of the archive. InputError where it is neither."""
    if (path / archive.MANIFEST).is_file():
        yield path
        return
    folders = [path / name for name in FOLDERS.values()] + ([path] if path.name in FOLDERS.values() else [])
    there = [folder for folder in folders if folder.is_dir() and not folder.is_symlink()]
    if not there:
        raise InputError(
            "neither a round nor an archive of rounds", path=path, hint="name the folder with round.toml"
        )
    n = 0
    for folder in there:
        for made in sorted(folder.iterdir()):
            if not made.is_symlink() and (made / archive.MANIFEST).is_file() and n < MAX_ROUNDS:
                n += 1
                yield made


def resume(path: Path, *, is_stopping: bool = False, stop: StopRequests | None = None) -> tuple[Resumed, ...]:
    """Close the rounds at `path` that say "running" while their npulse is gone; () where there is none.

    Of a tool that still runs the round stays open, unless `is_stopping`: then it is ended first. Rounds that
    are closed are not touched, so this may be called again.
    """
    found = []
    for folder in rounds_in(path):
        try:
            manifest = Manifest.read(folder)
            if manifest.record.state == "running":
                found.append(_resume_one(manifest, is_stopping, stop or StopRequests()))
        except (NpulseError, OSError) as error:
            found.append(Resumed(folder, "refused", why=str(error)))
    return tuple(found)


def _resume_one(manifest: Manifest, is_stopping: bool, stop: StopRequests) -> Resumed:
    record, folder = manifest.record, manifest.folder
    if is_captured_now(record.process):
        return Resumed(folder, "captured")
    request = request_of(record, folder)
    living = _living(record)
    if living and not is_stopping:
        return Resumed(folder, "alive", processes=tuple(living))
    if living:
        living = _end(record, stop)
        manifest.update(stopped_by="user")
    return Resumed(folder, "closed", _close(manifest, request, living), kind=request.kind)


def _living(record: RoundRecord) -> list[Process]:
    """Processes of the round that live: by the marker, and the tool itself, which may have cleared it."""
    told = record.process
    found = {process.key: process for process in (marked(record.id) if record.id else ())}
    if told.tool_pid and told.boot_id == boot_id():
        tool = process_of(told.tool_pid)
        if tool is not None and is_alive(told.tool_pid, told.tool_start_ticks):
            found[tool.key] = tool
    return list(found.values())


def _end(record: RoundRecord, stop: StopRequests) -> list[Process]:
    """SIGINT, SIGTERM, SIGKILL to all of them, each with time; what lives even then."""
    for number, seconds in LADDER:
        for process in _living(record):
            send(process, number)
        deadline_s = time.monotonic() + seconds
        n_asked = stop.n_asked
        while _living(record) and time.monotonic() < deadline_s and stop.n_asked == n_asked:
            stop.wait(LOOK_S)
    return _living(record)


def _close(manifest: Manifest, request: CaptureRequest, living: Sequence[Process]) -> Recorded:
    folder, record = manifest.folder, manifest.record
    ended = Ended(
        exit_status=record.exit_status,
        signal=signal.Signals.__members__.get(record.signal),
        stopped_by=record.stopped_by,
        is_killed=record.is_killed,
        console=folder / archive.CONSOLE,
    )
    driver = _driver(request.kind, str(request.tool))
    try:
        recorded = driver.recorded(request, folder, ended)
        manifest.update(figures=dict(driver.figures(folder / RAW)))
    except (NpulseError, OSError) as error:
        recorded = _unknown(folder, (str(error), str(error)))
    manifest.warn(SESSION["npulse-gone"], *recorded.warnings)
    if living:
        names = ", ".join(f"{one.name} {one.pid}" for one in living[:10])
        en, zh = SESSION["still-alive"]
        manifest.warn((en.format(names=names), zh.format(names=names)))
    remove_control(folder)
    end_s = _last_write_s(folder)
    archive.free_reserve(folder)
    n_left = archive.make_read_only(folder / RAW)
    if n_left:
        en, zh = SESSION["not-read-only"]
        manifest.warn((en.format(n=n_left), zh.format(n=n_left)))
    manifest.update(
        state="killed",
        stopped_by=ended.stopped_by,
        end=utc_text(end_s),
        end_basis="last file written",
        closed=utc_text(time.time()),
        recorded=recorded_table(recorded),
    )
    manifest.write()
    return recorded


def _driver(kind: Kind, tool: str) -> Driver:
    """The driver that made the round; of one that is not known any more one that only counts."""
    try:
        return driver_of(kind, tool)
    except NpulseError:
        return _Counting()


class _Counting(BaseDriver):
    """Stands in for a driver that is not there."""

    def plan(self, request: CaptureRequest, round_folder: Path) -> Any:
        raise InputError(SESSION["unknown-tool"][0], path=round_folder)

    def recorded(self, request: CaptureRequest, round_folder: Path, ended: Ended) -> Recorded:
        return _unknown(round_folder, SESSION["unknown-tool"])


def _unknown(folder: Path, why: tuple[str, str]) -> Recorded:
    from .base import count_files

    n_files, size_bytes = count_files(folder / RAW)
    return Recorded("unknown" if n_files else "nothing", n_files, size_bytes, why=why)


def _last_write_s(folder: Path) -> float:
    """When the last file of a round was written, as far as its files tell."""
    latest = 0.0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                latest = max(latest, os.lstat(os.path.join(where, name)).st_mtime)
            except OSError:
                continue
    return latest
