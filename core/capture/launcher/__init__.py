"""How a program is recorded that knows nothing of it: files for the round, and what they noted there.

`entry.py` and `inside.py` are not used by npulse itself: their text is written into the round, where the
Python of the captured program finds it through PYTHONPATH. npulse need not be installed there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..driver import PlannedFile
from ..request import CaptureRequest

FOLDER = "launcher"
MAX_LOGS = 4096
MAX_LOG_BYTES = 1 << 20

StepOn = Literal["auto", "optimizer", "forward"]
STEP_ON: tuple[StepOn, ...] = ("auto", "optimizer", "forward")


def launcher_files(
    round_folder: Path, *, tool: str, config: Path, step_on: StepOn = "auto", last_step: int | None = None
) -> tuple[PlannedFile, ...]:
    """What is written into the round. config: the tool's own file. last_step: recording ends behind it."""
    settings = {"tool": tool, "config": str(config), "step_on": step_on, "last_step": last_step}
    return entry_files(Path(__file__).with_name("inside.py"), settings)


def entry_files(inside: Path, settings: Mapping[str, Any]) -> tuple[PlannedFile, ...]:
    """The launcher with another module within the program, whose `on_import` hears of watched imports.

    settings: what that module finds in launch.json beside it.
    """
    entry = Path(__file__).with_name("entry.py")
    return (
        PlannedFile(f"{FOLDER}/sitecustomize.py", entry.read_text(encoding="utf-8")),
        PlannedFile(f"{FOLDER}/npulse_launcher.py", inside.read_text(encoding="utf-8")),
        PlannedFile(f"{FOLDER}/launch.json", json.dumps(settings, indent=1) + "\n"),
    )


def launcher_environment(request: CaptureRequest, round_folder: Path) -> dict[str, str | None]:
    """The variables by which the program's Python finds the files, before what it has already."""
    inherited = request.environment.get("PYTHONPATH", "")
    parts = [str(round_folder / FOLDER), *([inherited] if inherited else [])]
    return {"PYTHONPATH": os.pathsep.join(parts)}


@dataclass(frozen=True, slots=True)
class LauncherLog:
    """What the processes of the program noted. python: the first one that read the files, "" for none.

    events: of all processes, in the order of their files: `event` names what happened (armed, made, started,
    ended, failed, own-debugger, another-model), `pid` where.
    """

    python: str
    events: tuple[Mapping[str, Any], ...]

    def of(self, event: str) -> tuple[Mapping[str, Any], ...]:
        return tuple(one for one in self.events if one.get("event") == event)

    @property
    def unfinished(self) -> tuple[int, ...]:
        """Processes that recorded and never came to their end."""
        ended = {one.get("pid") for one in self.of("ended")}
        began = {one["pid"] for name in ("started", "own-debugger") for one in self.of(name)}
        return tuple(sorted(began - ended))

    def total(self, name: str) -> int:
        """Sum of a count over the processes that came to their end."""
        return sum(n for one in self.of("ended") if isinstance(n := one.get(name), int))


def read_launcher_log(round_folder: Path) -> LauncherLog:
    """What lies in the launcher's folder of a round; damaged lines are left out."""
    folder = round_folder / FOLDER
    events: list[Mapping[str, Any]] = []
    for path in sorted(folder.glob("*.log"))[:MAX_LOGS]:
        for line in _text(path).splitlines():
            try:
                found = json.loads(line)
            except ValueError:  # a line cut by a kill
                continue
            if isinstance(found, dict) and isinstance(found.get("pid"), int):
                events.append(found)
    return LauncherLog(_text(folder / "seen").strip(), tuple(events))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_LOG_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
