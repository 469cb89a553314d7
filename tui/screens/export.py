"""Where to write what a pane shows."""

from __future__ import annotations

from .line import LinePage


class ExportPage(LinePage):
    """A path to write to; Enter dismisses with it. The suffix decides the format."""

    def __init__(self, name: str) -> None:
        super().__init__("export.title", name)
