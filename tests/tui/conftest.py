"""The workbench under test: fake runs, its own state folder, and the screen as text."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npulse.core.findings import Finding, Location, Problem, Report
from npulse.core.run.model import Artifact, Round, Run
from npulse.tui.app import NpulseApp
from npulse.tui.panes.base import Pane
from npulse.tui.state import StateStore

from .plain_pane import PlainPane


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests; those that another plugin is asked to run are left to it."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj) or pyfuncitem.get_closest_marker("asyncio"):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in names if name in pyfuncitem.funcargs}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**arguments), timeout=60))
    return True


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state-of-test"


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Run]:
    """A run as discovery would return it: `rounds` maps a round's name to its artifacts' kinds."""

    def make(rounds: dict[str, list[str]] | None = None, problems: tuple[Problem, ...] = ()) -> Run:
        rounds = {"": ["msprobe.dump"]} if rounds is None else rounds
        made = tuple(
            Round(name, tuple(Artifact(kind, tmp_path / kind, kind, 1, 1) for kind in kinds))
            for name, kinds in rounds.items()
        )
        return Run(tmp_path, made, problems, n_entries=7)

    return make


@pytest.fixture
def make_app(state: Path, make_run: Callable[..., Run]) -> Callable[..., NpulseApp]:
    """An app whose run is given, whose state lies in the test's own folder."""

    def make(run_path: str | None = "/data/run", run: Run | None = None, **options: Any) -> NpulseApp:
        given = make_run() if run is None else run
        options.setdefault("store", StateStore(state, now_s=lambda: 1_700_000_000))
        options.setdefault("make_pane", PlainPane)
        options.setdefault("open_run", lambda path, progress, is_cancelled: given)
        return NpulseApp(run_path, **options)

    return make


@pytest.fixture
def screen_text() -> Callable[[NpulseApp], str]:
    """The screen as the terminal would show it, one line a row."""

    def text(app: NpulseApp) -> str:
        app.screen._compositor.full_map  # noqa: B018  (computes the layout of the moment)
        return "\n".join(strip.text for strip in app.screen._compositor.render_strips(app.size))

    return text


@pytest.fixture
def finding() -> Callable[..., Finding]:
    def make(subject: str, role: Any = "inherited", artifact: str | None = None) -> Finding:
        return Finding(
            "precision",
            "error",
            "precision.origin",
            role,
            subject,
            f"{subject} differs",
            "look there",
            figures={"cosine": 0.5},
            location=Location(artifact=artifact, rank=3, line=12 if artifact else None),
        )

    return make


@pytest.fixture
def make_finding_pane(finding: Callable[..., Finding]) -> Callable[[str], Pane]:
    """A pane with a report of three findings, the second the origin; it can't show rows."""

    class FindingPane(Pane, can_focus=True):
        def report(self) -> Report:
            found = (finding("a"), finding("b[bold]x", "origin", "dump.json"), finding("c"))
            return Report("precision", "run", "fail", findings=found)

    return FindingPane
