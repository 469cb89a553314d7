"""Programs started as a driver plans them, in rounds of their own; packages that play torch and msprobe."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from npulse.core.capture.driver import RAW, Driver, Ended, Recorded
from npulse.core.capture.drivers import driver_of
from npulse.core.capture.launcher import LauncherLog, read_launcher_log
from npulse.core.capture.request import CaptureRequest, Kind

PACKAGES = Path(__file__).parents[3] / "doubles" / "packages"


@dataclass
class Program:
    """A script in a folder, and how it is captured."""

    folder: Path
    request: CaptureRequest
    driver: Driver
    round: Path
    ended: Ended = field(default_factory=lambda: Ended(0, None, "", False, Path()))

    @property
    def raw(self) -> Path:
        return self.round / RAW

    @property
    def log(self) -> LauncherLog:
        return read_launcher_log(self.round)

    @property
    def console(self) -> str:
        return self.ended.console.read_text(encoding="utf-8", errors="replace")

    @property
    def recorded(self) -> Recorded:
        return self.driver.recorded(self.request, self.round, self.ended)

    def calls(self) -> list[list[str]]:
        """What each process asked of the debugger that plays msprobe's."""
        return [path.read_text().splitlines() for path in sorted(self.raw.glob("calls.*.txt"))]

    def run(self, **variables: str) -> Program:
        """Start it and wait for its end."""
        plan = self.driver.plan(self.request, self.round)
        self.raw.mkdir(parents=True)
        for planned in plan.files:
            path = self.round / planned.name
            path.parent.mkdir(exist_ok=True)
            path.write_text(planned.text, encoding="utf-8")
        set_on_top = {name: value for name, value in plan.environment.items() if value is not None}
        console = self.round / "console.log"
        with console.open("wb") as out:
            done = subprocess.run(
                plan.argv,
                cwd=self.request.cwd,
                env={**self.request.environment, **set_on_top, **variables},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=120,
            )
        code = done.returncode
        self.ended = Ended(code if code >= 0 else None, -code if code < 0 else None, "", False, console)
        return self


def program(
    folder: Path,
    script: str,
    *,
    kind: Kind = "precision",
    tool: str | None = None,
    command: Sequence[str] = (),
    python: str = sys.executable,
    packages: Path | None = PACKAGES,
    settings: Mapping[str, str] | None = None,
    step: str = "",
    rank: str = "",
    names: tuple[str, ...] = (),
    level: str | None = None,
    retro: int = 10,
    stop_at_first: bool = False,
) -> Program:
    """A script to be captured; `command` instead of "python script.py". Nothing has happened yet."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "script.py").write_text(textwrap.dedent(script), encoding="utf-8")
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
    }
    if packages is not None:
        environment["PYTHONPATH"] = str(packages)
    request = CaptureRequest(
        kind=kind,
        command=tuple(command) or (python, "script.py"),
        cwd=folder,
        archive=folder / "diag",
        tool=tool,
        rank=rank,
        step=step,
        names=names,
        level=level,
        retro=retro,
        stop_at_first=stop_at_first,
        environment=environment,
        settings=dict(settings or {}),
    )
    driver = driver_of(kind, tool)
    driver.check(request)
    return Program(folder, request, driver, folder / "diag" / "round")
