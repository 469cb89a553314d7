"""Strip, error map and bars on one screen, with values of every kind."""

from __future__ import annotations

import numpy as np
from demo_base import DemoApp
from textual.app import ComposeResult

from npulse.tui.widgets.bars import Bars
from npulse.tui.widgets.heatmap import Heatmap
from npulse.tui.widgets.strip import LayerStrip


class PartsApp(DemoApp):
    CSS = "Heatmap { height: 8; }"

    def compose(self) -> ComposeResult:
        yield LayerStrip()
        yield Heatmap()
        yield Bars()

    def on_mount(self) -> None:
        strip = self.query_one(LayerStrip)
        strip.label = "strip:"
        strip.values = np.array([0.0, 1.0, 2.0, np.nan, np.inf, -np.inf, 3.0])
        strip.cursor = 3
        heat = np.linspace(0, 1, 40 * 30).reshape(40, 30)
        heat[3, 4], heat[20, 2] = np.nan, np.inf
        self.query_one(Heatmap).values = heat
        bars = self.query_one(Bars)
        bars.labels = ("注意力", "b", "c", "d")
        bars.figures = (12_480.0, 0.5, float("nan"), float("inf"))


if __name__ == "__main__":
    PartsApp().start()
