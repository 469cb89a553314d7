"""The frame's lines: what fits, and what is left out first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from npulse.core.text import safe_text
from npulse.tui.chrome import cut_middle, fitting_items
from npulse.tui.glyphs import ASCII, UNICODE


def test_the_middle_of_a_path_is_left_out() -> None:
    assert cut_middle("/workspace/diag/dump/step0", 14, UNICODE) == "/wor…ump/step0"
    assert cut_middle("/workspace/diag", 15, UNICODE) == "/workspace/diag"
    assert cut_middle("/数据/运行/目录", 9, UNICODE) == "/…行/目录"


@given(st.text(), st.integers(0, 60), st.sampled_from((UNICODE, ASCII)))
def test_a_cut_path_never_exceeds_its_width(text: str, width: int, glyphs: object) -> None:
    cut = cut_middle(safe_text(text), width, glyphs)  # type: ignore[arg-type]
    assert cell_len(cut) <= width
    assert glyphs is UNICODE or cut.isascii()


def test_the_last_items_of_a_footer_always_stay() -> None:
    items = (("s", "sort"), ("/", "filter"), ("?", "help"), ("q", "quit"))
    assert fitting_items(items, 80, 2) == items
    assert fitting_items(items, 25, 2) == (("s", "sort"), ("?", "help"), ("q", "quit"))
    assert fitting_items(items, 16, 2) == (("?", "help"), ("q", "quit"))
