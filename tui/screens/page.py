"""Bases of all screens: a page with a footer, a page with a list, a page to choose from while typing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker, WorkerState

from ..actions import BY_ID, bindings_for
from ..chrome import FooterLine, TooSmall
from ..crash import failure_of
from ..glyphs import ascii_shapes, showable
from ..keymap import show_key
from ..messages import tr
from .entry import Entry
from .rows import Row, RowList

if TYPE_CHECKING:
    from ..app import NpulseApp

ResultT = TypeVar("ResultT")
_LAST = ("app.help", "app.quit", "ask.no")


class Page(Screen[ResultT], inherit_bindings=False):
    """A screen whose keys come from the registry, with a footer and a message for tiny terminals."""

    BINDINGS: ClassVar[list[BindingType]] = []
    has_way_back = True
    _holder: Widget | None = None
    """Who had the keys last."""
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)  # else each change repaints all of it

    def compose(self) -> ComposeResult:
        self._fit_classes()
        yield TooSmall(id="too-small")
        yield from self.compose_body()
        yield FooterLine()

    def compose_body(self) -> ComposeResult:
        """The widgets between the top and the footer."""
        yield from ()

    async def on_mount(self) -> None:
        with self.app.batch_update():
            self.retranslate()
            await self.begin()

    async def begin(self) -> None:
        """What happens once the screen stands."""

    @property
    def shell(self) -> NpulseApp:
        """The app, with its services."""
        return cast("NpulseApp", self.app)

    def tr(self, text_id: str, **values: Any) -> str:
        """A text in the language of the moment."""
        return tr(text_id, self.shell.lang, **values)

    def plain(self, text: str) -> str:
        """Text from outside as this terminal can show it."""
        return showable(text, self.shell.glyphs)

    def go_back(self) -> bool:
        """Leave an inner view (a line that is typed, a filter); False where there is none."""
        return False

    def question(self) -> str | None:
        """What would be lost by closing this screen, as a text to ask; None if nothing."""
        return None

    def retranslate(self) -> None:
        """Build every visible text again."""
        self.query_one("#too-small", TooSmall).text = self.tr("app.too-small")
        self.refresh_footer()

    def on_screen_resume(self) -> None:
        self._fit_classes()
        self.call_after_refresh(self.refresh_footer)

    def _fit_classes(self) -> None:
        """Set the size classes: the framework does so only when a resize meets the page on top."""
        width, height = self.app.size
        sets = ((width, self.app.HORIZONTAL_BREAKPOINTS or []), (height, self.app.VERTICAL_BREAKPOINTS or []))
        chosen = {max(b for b in breakpoints if b[0] <= cells)[1] for cells, breakpoints in sets}
        names = {name for _, breakpoints in sets for _, name in breakpoints}
        self.update_classes({name: name in chosen for name in names}, animate=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A page whose work failed or was stopped has nothing to show: it closes, and says why it failed."""
        error = failure_of(event)
        if error is not None:
            self.shell.show_failure(error)
        elif event.state != WorkerState.CANCELLED or self._works():
            return
        if self.has_way_back and self.is_mounted:
            self.dismiss(None)

    def _works(self) -> bool:
        """Whether other work of this page goes on (it may have replaced what was stopped)."""
        return any(w.node is self and not w.is_finished for w in self.app.workers)

    def watch_focused(self, focused: Widget | None) -> None:
        self._holder = focused or self._holder
        self.call_after_refresh(self.refresh_footer)

    def on_resize(self) -> None:
        if self.focused is None:  # a terminal that was too small hides all that can have the keys
            self.call_after_refresh(self._give_keys_back)

    def _give_keys_back(self) -> None:
        holder = self._holder
        if self.focused is None and holder is not None and holder.is_attached and holder.focusable:
            self.set_focus(holder, scroll_visible=False)

    def refresh_footer(self) -> None:
        """Offer what the focused widget, its pane and the app can do now."""
        if not self.is_mounted or not self.query(FooterLine):
            return
        found: dict[str, tuple[str, str]] = {}
        is_typing = isinstance(self.focused, Entry)
        early: tuple[str, ...] = ()
        for active in self.active_bindings.values():
            action = BY_ID.get(active.binding.id or "")
            offers = getattr(active.node, "in_footer", None)
            early = early or getattr(active.node, "footer_early", ())
            if action is None or (action.id == "app.back" and not (self.has_way_back or is_typing)):
                continue
            if not action.show_in_footer or (offers and not offers(action.id)):
                continue
            keys = self.shell.keys.get(action.id, ())
            if keys and not (is_typing and len(keys[0]) == 1):  # such a key is typed, it does nothing
                found[action.id] = (show_key(keys[0]), action.label(self.shell.lang))
        for action_id in reversed(("move.open", *early) if early else ()):
            if action_id in found:
                found = {action_id: found.pop(action_id), **found}
        last = [found.pop(action_id) for action_id in _LAST if action_id in found]
        footer = self.query_one(FooterLine)
        footer.n_always = len(last)
        footer.items = (*found.values(), *last)


class ListPage(Page[Any]):
    """A title, a list, the full text of the row under the cursor. Enter dismisses with the row's value."""

    can_open = True
    has_detail = True

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield from self.compose_list()

    def compose_list(self) -> ComposeResult:
        """The list, the text that stands there instead of an empty one, and the detail."""
        rows = RowList()
        rows.can_open = self.can_open
        yield rows
        empty = Static(id="empty", markup=False)
        empty.display = False
        yield empty
        if self.has_detail:
            yield Static(id="detail", markup=False)

    def title_text(self) -> str:
        """The first line."""
        raise NotImplementedError

    def make_rows(self) -> Sequence[Row]:
        """The rows, in the language of the moment."""
        raise NotImplementedError

    def empty_text(self) -> str:
        """What stands there when there are no rows: what was looked for, what to do."""
        return ""

    def retranslate(self) -> None:
        super().retranslate()
        rows = self.make_rows()
        self.query_one("#title", Static).update(self.plain_title(), layout=False)
        empty = self.query_one("#empty", Static)
        if not rows:
            empty.update(self.empty_text())
        listing = self.query_one(RowList)
        if empty.display is bool(rows):
            empty.display = not rows
            listing.display = bool(rows)
        listing.rows = rows

    def plain_title(self) -> str:
        """The title as this terminal can show it."""
        title = self.title_text()
        return ascii_shapes(title) if self.shell.glyphs.is_ascii else title

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        if self.has_detail:  # its height is fixed: a new text is no reason to lay out and repaint the screen
            text = event.row.detail if event.row else ""
            shown = "\n".join(self.plain(line) for line in text.split("\n"))
            self.query_one("#detail", Static).update(shown, layout=False)

    def on_row_list_opened(self, event: RowList.Opened) -> None:
        self.take(event.row)

    def take(self, row: Row) -> None:
        """Enter on a row: by default the page closes with its value."""
        self.dismiss(row.value)


class LinesPage(ListPage):
    """A title and some lines to read."""

    can_open = False

    def __init__(self, title_id: str, lines: Sequence[str]) -> None:
        super().__init__()
        self._title_id = title_id
        self._lines = tuple(lines)

    def title_text(self) -> str:
        return self.tr(self._title_id)

    def make_rows(self) -> Sequence[Row]:
        return [Row(line, value=None if not line else line, detail=line) for line in self._lines]

    def take(self, row: Row) -> None:
        pass


class PickPage(ListPage):
    """A list that narrows while the user types; Enter takes the row under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("pick")]
    AUTO_FOCUS = "Entry"
    is_typing = True
    has_detail = False
    placeholder_id: str

    def compose_body(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Entry()
        for widget in self.compose_list():
            if isinstance(widget, RowList):
                widget.can_focus = False
            yield widget

    @property
    def typed(self) -> str:
        """What was typed so far."""
        return self.query_one(Entry).value

    def retranslate(self) -> None:
        self.query_one(Entry).placeholder = self.tr(self.placeholder_id)
        super().retranslate()

    def on_input_changed(self) -> None:
        super().retranslate()
        self.query_one(RowList).cursor = 0

    def on_input_submitted(self) -> None:
        self.query_one(RowList).action_open_row()

    def action_pick(self, step: int) -> None:
        self.query_one(RowList).cursor += step


def matching(typed: str, rows: Sequence[Row], text_of: Callable[[Row], str]) -> list[Row]:
    """The rows whose text holds every typed word, upper and lower case alike, in their order."""
    words = typed.casefold().split()
    return [row for row in rows if all(word in text_of(row).casefold() for word in words)]
