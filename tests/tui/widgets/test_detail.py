"""The detail: all of it can be reached, what is cut says so, nothing in it moves the cursor."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.widgets import Static

from npulse.core.findings import CodeLine
from npulse.core.views import Detail
from npulse.tui.glyphs import ASCII, UNICODE, Glyphs
from npulse.tui.widgets.code import code_lines
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


# ---- code and drawings ----

CODE = tuple(
    CodeLine(
        number, f"        line_{number}(x, [red], 'a long text that goes on and on and on');", number == 38
    )
    for number in range(32, 45)
)


def drawn(width: int, is_ascii: bool) -> tuple[str, str]:
    return "|" + ("." if is_ascii else "·") * (width - 2) + "|", "4096 B"


WITH_CODE = Detail("op/add.cpp:38", HEADLINE, FACTS[:2], "look there", ("op/add.cpp", 38, ""), CODE, drawn)


@pytest.mark.parametrize(("height", "n_code"), [(3, 1), (9, 1), (10, 3), (14, 5), (20, 7), (32, 13)])
async def test_code_is_numbered_and_marked_and_grows_with_the_height(height: int, n_code: int) -> None:
    app = DetailApp()
    async with app.run_test(size=(60, 40)) as pilot:
        view = app.query_one(DetailView)
        view.styles.height = height
        view.detail = WITH_CODE
        await pilot.pause()
        lines = [text for text, _ in view._lines()]
        code = [line for line in lines if "line_" in line]
        assert [int(line.split()[0]) for line in code] == [
            n for n in range(32, 45) if abs(n - 38) <= n_code // 2
        ]
        assert [line for line in code if "▶" in line] == [line for line in code if "line_38" in line]
        assert code[n_code // 2].startswith("38 ▶ line_38(x, [red], ") and code[n_code // 2].endswith("…")
        assert all(cell_len(line) <= 58 for line in lines), "cut, not wrapped"
        places = {
            word: next(n for n, line in enumerate(lines) if word in line) for word in ("····", "line_38")
        }
        said = next(n for n, line in enumerate(lines) if line.startswith("inputs agree"))
        assert places["····"] < places["line_38"] < lines.index("next: look there")
        assert (places["line_38"] < said) is (height < 14), "little room: the code first"
        assert lines.index("next: look there") < next(
            n for n, line in enumerate(lines) if "figure_00" in line
        )
        strips = app.screen._compositor.render_strips(app.size)[:height]
        bold = ["".join(s.text for s in strip if s.style and s.style.bold).strip() for strip in strips]
        assert [line.startswith("38 ▶ line_38") for line in bold if line] == [True]


async def test_two_lines_are_for_the_finding_even_with_code() -> None:
    app = DetailApp()
    async with app.run_test(size=(70, 10)) as pilot:
        view = app.query_one(DetailView)
        view.styles.height = 2
        view.detail = WITH_CODE
        await pilot.pause()
        assert lines_of(app)[0].strip().startswith("inputs agree")


async def test_code_and_drawing_in_ascii() -> None:
    app = DetailApp()
    app.glyphs = ASCII
    async with app.run_test(size=(60, 40)) as pilot:
        view = app.query_one(DetailView)
        view.styles.height = 20
        code = (CodeLine(9, "\x1b]0;t\x07put(注意);"), CodeLine(10, "\x9b1m\u202ehere", True))
        view.detail = Detail("a", "b", (), "", None, code, drawn)
        await pilot.pause()
        text = "\n".join(lines_of(app))
        assert text.isascii() and "10 > " in text and r"put(\u6ce8" in text and "|..." in text
        assert not [c for c in text if ord(c) < 32 and c != "\n"]


def test_code_without_a_meant_line_is_shown_from_its_begin() -> None:
    code = tuple(CodeLine(number, f"  {number}") for number in range(98, 120))
    assert code_lines(code, 20, UNICODE, 1) == [
        (" 98   98", False),
        (" 99   99", False),
        ("100   100", False),
    ]
    assert len(code_lines(code, 20, UNICODE)) == 22
    assert code_lines((), 20, UNICODE) == []
    blank = (CodeLine(1, "    a"), CodeLine(2, ""), CodeLine(3, "      b", True))
    assert code_lines(blank, 20, UNICODE) == [("1   a", False), ("2", False), ("3 ▶   b", True)]
