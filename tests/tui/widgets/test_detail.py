"""The detail: all of it can be reached, what is cut says so, nothing in it moves the cursor."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.widgets import Static

from npulse.core.views import Detail
from npulse.tui.glyphs import ASCII, UNICODE, Glyphs
from npulse.tui.widgets.detail import DetailView

FACTS = tuple((f"figure_{n:02d}", "1.234567e-05 " * 3) for n in range(20))
HEADLINE = "inputs agree, output does not: the difference begins here."
DETAIL = Detail(
    "Module.net.fc.Linear.forward.0", HEADLINE, FACTS, "look there", ("model/net.py", 42, "y = x")
)


class DetailApp(App[None]):
    CSS = "DetailView { height: 6; }"
    lang = "en"
    glyphs: Glyphs = UNICODE

    def compose(self) -> ComposeResult:
        yield DetailView()
        yield Static("else", markup=False)


def lines_of(app: App[None]) -> list[str]:
    strips = app.screen._compositor.render_strips(app.size)
    return [strip.text.rstrip() for strip in strips[: app.query_one(DetailView).size.height]]


async def test_every_line_can_be_scrolled_to_and_the_rest_is_counted() -> None:
    app = DetailApp()
    async with app.run_test(size=(70, 10)) as pilot:
        view = app.query_one(DetailView)
        view.detail = DETAIL
        view.focus()
        await pilot.pause()
        n_lines = 4 + len(FACTS)
        first = lines_of(app)
        assert first[0].strip() == DETAIL.name and first[1].strip() == HEADLINE
        assert first[-1].endswith(f"▼ {n_lines - 6} more")
        seen = set(first)
        for n in range(1, n_lines - 6):
            await pilot.press("j")
            assert lines_of(app)[-1].endswith(f"▼ {n_lines - 6 - n} more"), n
            seen |= set(lines_of(app))
        await pilot.press("j", "j", "j")
        last = lines_of(app)
        seen |= set(last)
        assert "more" not in last[-1] and last[-1].strip().startswith("figure_19")
        assert {f"figure_{n:02d}" for n in range(20)} <= {line.split()[0] for line in seen if line.split()}
        await pilot.press("k")
        assert lines_of(app)[-1].endswith("▼ 1 more")
        await pilot.press("g")
        assert lines_of(app) == first
        await pilot.press("G")
        assert lines_of(app) == last
        await pilot.press("g", "pagedown")
        assert view.top == 5
        view.detail = Detail("another", "short", ())
        await pilot.pause()
        assert lines_of(app)[:2] == [" another", " short"], "a new row starts at its top"


async def test_focus_is_seen_without_colour() -> None:
    app = DetailApp()
    async with app.run_test(size=(70, 10)) as pilot:
        view = app.query_one(DetailView)
        view.detail = DETAIL
        app.screen.set_focus(None)
        await pilot.pause()

        def is_reverse() -> bool:
            strip = app.screen._compositor.render_strips(app.size)[0]
            return any(segment.style and segment.style.reverse for segment in strip if segment.text.strip())

        assert not is_reverse()
        view.focus()
        await pilot.pause()
        assert is_reverse()


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
async def test_hostile_text_and_note(glyphs: Glyphs) -> None:
    app = DetailApp()
    app.glyphs = glyphs
    async with app.run_test(size=(70, 12)) as pilot:
        view = app.query_one(DetailView)
        view.note = "mine [bold]\x1b[2J注"
        view.detail = Detail("a\x1b]52;c;x\x07[red]", "b\u202e线\t", (("c\n", "d\x9b"),), "", None)
        await pilot.pause()
        text = "\n".join(lines_of(app))
        assert "[red]" in text and "your note: mine [bold]" in text
        assert not [c for c in text if (ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0 or c == "\u202e"]
        assert text.isascii() is glyphs.is_ascii


@pytest.mark.parametrize("height", [1, 2])
async def test_two_lines_are_for_the_finding(height: int) -> None:
    app = DetailApp()
    async with app.run_test(size=(70, 10)) as pilot:
        view = app.query_one(DetailView)
        view.styles.height = height
        view.detail = DETAIL
        await pilot.pause()
        lines = lines_of(app)
        assert len(lines) == height and lines[0].strip().startswith("inputs agree")
        assert all(cell_len(line) <= 70 for line in lines) and lines[-1].endswith("more")
