"""The workbench over a comparison made of columns: `table|matrix RANKS CALLS LAYERS [SETS]`.

The comparison is that of `large_net`. `matrix` shows the page of all ranks alone: so many rows make no table.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.core.precision.large_net import large_comparison  # noqa: E402

from npulse.core.precision.view import precision_view  # noqa: E402
from npulse.core.run.model import Artifact, Round, Run  # noqa: E402
from npulse.tui.app import NpulseApp, run_app  # noqa: E402
from npulse.tui.panes import make_pane  # noqa: E402
from npulse.tui.panes.precision import pane  # noqa: E402
from npulse.tui.panes.precision.ranks_page import RankPage  # noqa: E402
from npulse.tui.terminal import prepare_environment, probe  # noqa: E402

MODE, (N_RANKS, N_CALLS, N_LAYERS, *SETS) = sys.argv[1], map(int, sys.argv[2:])
COMPARISON = large_comparison(N_RANKS, N_CALLS, N_LAYERS, *SETS)


def shown(run: Run, round_name: str, tools: Any, **_: Any) -> None:
    tools.show(precision_view(COMPARISON, tools.lang))


begin = NpulseApp.begin


async def begin_with_the_matrix(self: NpulseApp) -> None:
    await begin(self)
    self.push_screen(RankPage(COMPARISON, 0, 0))


if MODE == "matrix":
    NpulseApp.begin = begin_with_the_matrix  # type: ignore[method-assign]
pane.compare_round = shown
here = Path.cwd()
rounds = (Round("", (Artifact("msprobe.dump", here / "dump.json", "dump.json", 1, 1),)),)
found = Run(here, rounds if MODE == "table" else (), (), n_entries=1)
terminal = probe()
prepare_environment(terminal)
app = NpulseApp(
    str(here),
    terminal=terminal,
    first_pane="precision" if MODE == "table" else "rounds",
    make_pane=make_pane,
    open_run=lambda path, progress, is_cancelled: found,
)
raise SystemExit(run_app(app))
