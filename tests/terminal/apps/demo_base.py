"""What the demo apps share: the terminal is probed first, then the UI is imported."""

from __future__ import annotations

import os

from npulse.tui.terminal import install_signal_handlers, prepare_environment, prepare_streams, probe

TERMINAL = probe()
prepare_environment(TERMINAL)
prepare_streams(TERMINAL)

from textual.app import App  # noqa: E402
from textual.filter import LineFilter  # noqa: E402

from npulse.tui.themes import install_themes, line_filters, theme_names_for, uses_ansi_colours  # noqa: E402


class DemoApp(App[None]):
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [("q", "quit", "Quit")]

    def __init__(self) -> None:
        self.glyphs = TERMINAL.glyphs
        self.theme_name = os.environ.get("DEMO_THEME") or theme_names_for(TERMINAL)[0]
        super().__init__(ansi_color=uses_ansi_colours(self.theme_name))
        install_themes(self, self.theme_name)

    def get_line_filters(self) -> list[LineFilter]:
        return line_filters(super().get_line_filters(), theme=self.theme_name, glyphs=self.glyphs)

    def on_mount(self) -> None:
        install_signal_handlers(self, self.save)

    def save(self) -> None:
        """Leave a trace of having been called, where a test asks for one."""
        if path := os.environ.get("DEMO_SAVED"):
            with open(path, "w", encoding="utf-8") as file:
                file.write("saved")

    def start(self) -> None:
        self.run(mouse=TERMINAL.has_mouse)
        raise SystemExit(self.return_code)
