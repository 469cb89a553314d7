"""Recording on and off while a program runs, asked for by another process."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from npulse.core.errors import UsageError
from npulse.core.files import open_input
from npulse.core.formats.manifest import RoundProcess

from .archive import write_inside, write_planned
from .driver import PlannedFile
from .drivers import driver_of
from .manifest import Manifest
from .processes import boot_id, is_alive

CONTROL = "control"
"""The folder of a round in which wishes lie until the npulse that captures it takes them."""
MAX_BYTES = 1 << 16


def switch_round(folder: Path, is_on: bool) -> None:
    """Switch the recording of a round that runs. UsageError where it does not run, or its tool has no switch;
    InputError where it is no round."""
    manifest = Manifest.read(folder)
    record = manifest.record
    if record.state != "running" or not is_captured_now(record.process):
        raise UsageError(f"{folder}: this round does not run any more")
    change = driver_of(record.kind, record.tool).switch(folder, is_on)  # type: ignore[arg-type]
    lines = [one for one in change if isinstance(one, str)]
    write_planned(folder, [one for one in change if isinstance(one, PlannedFile)])
    wish = json.dumps({"is_on": is_on, "lines": lines}).encode()
    write_inside(folder, f"{CONTROL}/{time.time_ns():020}.json", wish)


def is_captured_now(process: RoundProcess) -> bool:
    """Whether the npulse that makes this round lives."""
    if not process.npulse_pid or process.boot_id != boot_id():
        return False
    return is_alive(process.npulse_pid, process.npulse_start_ticks)


def taken_wishes(folder: Path) -> Iterator[tuple[bool, list[str]]]:
    """Wishes that lie in a round, (on or off, lines for the tool's standard input), each once, in order."""
    control = folder / CONTROL
    try:
        names = sorted(name for name in os.listdir(control) if name.endswith(".json"))
    except OSError:
        return
    for name in names:
        with suppress(OSError, ValueError, KeyError, TypeError, UsageError):
            file, _ = open_input(control / name, folder)
            with file:
                wish = json.loads(file.read(MAX_BYTES) or b"")
            yield bool(wish["is_on"]), [str(line) for line in wish["lines"]]
        with suppress(OSError):
            os.unlink(control / name)


def remove_control(folder: Path) -> None:
    """At the end of a round: wishes that nobody took any more."""
    for _ in taken_wishes(folder):
        pass
    with suppress(OSError):
        os.rmdir(folder / CONTROL)
