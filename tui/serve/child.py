"""The process of one page: the workbench on the driver for the web, told what to open as JSON."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from npulse.core.text import Lang

DRIVER = "npulse.tui.serve.driver:ServedDriver"
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from npulse.tui.serve.child import main; sys.exit(main(sys.argv[2]))"
)


@dataclass(frozen=True, slots=True)
class Opened:
    """What each page opens. path: absolute; None for the picker of recent runs."""

    path: str | None = None
    lang: Lang = "en"
    jobs: int = 0
    no_cache: bool = False
    source_roots: tuple[str, ...] = ()
    may_capture: bool = False

    @property
    def withheld(self) -> frozenset[str]:
        """Actions that a page does not offer: what writes files, starts programs or leads out of the run."""
        held = {"pane.export", "rounds.baseline", "memory.roots", "pairing.keep"}
        if not self.may_capture:
            held.add("app.capture")
        if self.path is not None:
            held.add("app.runs")
        return frozenset(held)


def command(opened: Opened) -> list[str]:
    """The words that start a page's process: no shell reads them, and it finds what this one finds.

    The search path is told to the interpreter: in the environment, captured programs would get it too.
    """
    return [sys.executable, "-c", _START, json.dumps(sys.path), json.dumps(asdict(opened))]


def environment(columns: int, rows: int, caller: dict[str, str]) -> dict[str, str]:
    """The caller's environment for a page of this size; the token stays with the server."""
    kept = {name: value for name, value in caller.items() if name != "NPULSE_SERVE_TOKEN"}
    return {**kept, "COLUMNS": str(columns), "ROWS": str(rows)}


def main(raw: str) -> int:
    """Show the workbench until its page goes; returns the exit code."""
    values = json.loads(raw)
    opened = Opened(**{**values, "source_roots": tuple(values["source_roots"])})
    os.environ["TEXTUAL_DRIVER"] = DRIVER
    from textual import constants

    del os.environ["TEXTUAL_DRIVER"]  # read: it is not meant for what is started from here
    assert constants.DRIVER == DRIVER
    from ..cli.workbench import open_served

    return open_served(
        opened.path,
        lang=opened.lang,
        jobs=opened.jobs,
        no_cache=opened.no_cache,
        source_roots=tuple(Path(root) for root in opened.source_roots),
        withheld=opened.withheld,
    )
