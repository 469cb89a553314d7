"""The base screen: header, tabs, the panes (made at their first visit), footer."""

from __future__ import annotations

import asyncio

from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from ..actions import PANES
from ..chrome import HeaderLine, HeaderState, Tab, TabBar
from ..keymap import show_key
from ..panes.base import Pane
from .page import Page


class MainPage(Page[None]):
    """Shows one pane at a time. It knows the panes, not what is in them."""

    has_way_back = False

    def __init__(self) -> None:
        super().__init__()
        self._showing = asyncio.Lock()

    def compose_body(self) -> ComposeResult:
        yield HeaderLine()
        yield TabBar()
        yield ContentSwitcher()

    async def begin(self) -> None:
        # the frame is on the screen before the first pane (and what it imports) is loaded
        self.call_after_refresh(self.shell.begin)

    @property
    def pane(self) -> Pane | None:
        """The pane that is shown."""
        found = self.query_one(ContentSwitcher).visible_content
        return found if isinstance(found, Pane) else None

    @property
    def panes(self) -> list[Pane]:
        """The panes visited so far."""
        return list(self.query(Pane))

    async def show_pane(self, area: str) -> None:
        """Bring a pane to the front, made if need be, with the run of the moment.

        One after another: a key may ask for a pane that is still being made.
        """
        async with self._showing:
            await self._show_pane(area)

    async def _show_pane(self, area: str) -> None:
        switcher = self.query_one(ContentSwitcher)
        with self.app.batch_update():
            if not switcher.query(f"#pane-{area}"):
                await switcher.add_content(self.shell.make_pane(area))
            switcher.current = f"pane-{area}"
            self.query_one(TabBar).active = area
            pane = switcher.get_child_by_id(f"pane-{area}", Pane)
            if self.shell.opened is not None:
                self.shell.live.meet(pane)
            self.shell.feed(pane)
            self.focus_pane()
            self.shell.refresh_header()

    def focus_pane(self) -> None:
        """Give the keys to the pane that is shown."""
        if self.pane is not None:
            self.set_focus(self.pane.focus_target(), scroll_visible=False)

    def watch_focused(self, focused: Widget | None) -> None:
        super().watch_focused(focused)
        if focused is None:  # a removed or hidden widget had it: the pane's keys must not die with it
            self.call_after_refresh(self._mend_focus)

    def _mend_focus(self) -> None:
        if self.focused is None and self.is_mounted and self.query(ContentSwitcher):
            self.focus_pane()

    def show_header(self, state: HeaderState) -> None:
        """Replace the first line."""
        if self.query(HeaderLine):
            self.query_one(HeaderLine).state = state

    def retranslate(self) -> None:
        super().retranslate()
        keys, zh = self.shell.keys, self.shell.lang == "zh"
        self.query_one(TabBar).tabs = tuple(
            Tab(area, " ".join(map(show_key, keys.get(f"pane.{area}", ())[:1])), zh_name if zh else en_name)
            for area, en_name, zh_name in PANES
        )
        self.shell.refresh_header()

    async def on_tab_bar_chosen(self, event: TabBar.Chosen) -> None:
        await self.show_pane(event.area)
