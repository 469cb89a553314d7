"""What is sent of a frame: all that differs from the screen, and nothing else."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from npulse.tui.frames import Frames, Pieces, blanks_joined, differing, styles_kept

RED, GREEN = Style(color="red", bgcolor="black"), Style(color="green", bgcolor="black")
LINED = Style(color="red", bgcolor="black", underline=True)
WIDTH = 12


def strip(text: str, style: Style = RED) -> Strip:
    return Strip([Segment(text, style)], cell_len(text))


def chops(*lines: dict[int, Strip]) -> ChopsUpdate:
    ends = [[x + s.cell_length for x, s in line.items()] for line in lines]
    return ChopsUpdate(lines, [(y, 0, WIDTH) for y in range(len(lines))], ends)


def pieces(frames: Frames, update: Any) -> list[tuple[int, int, str]]:
    found = frames.changed(update)
    assert found is None or isinstance(found, Pieces)
    return [(y, x, s.text) for y, x, s in found.pieces] if found else []


def test_only_what_differs_is_sent() -> None:
    frames = Frames()
    before = chops({0: strip("aaaa"), 4: strip("bbbbbbbb")}, {0: strip("cccc"), 4: strip("dddddddd")})
    assert len(pieces(frames, before)) == 4
    assert pieces(frames, before) == []
    after = chops({0: strip("aaaa"), 4: strip("b2bbbbbb")}, {0: strip("cccc", GREEN), 4: strip("dddddddd")})
    assert pieces(frames, after) == [(0, 4, "b2bbbbbb"), (1, 0, "cccc")]


def test_a_piece_that_was_drawn_over_is_sent_again() -> None:
    frames = Frames()
    narrow = {0: strip("aaaa"), 4: strip("bbbbbbbb")}
    pieces(frames, chops(narrow))
    assert pieces(frames, chops({0: strip("wwwwwwwwwwww")})) == [(0, 0, "wwwwwwwwwwww")]
    assert pieces(frames, chops(narrow)) == [(0, 0, "aaaa"), (0, 4, "bbbbbbbb")]


def test_a_full_frame_is_sent_whole_and_remembered() -> None:
    frames = Frames()
    full = LayoutUpdate([[strip("aaaa"), strip("bbbbbbbb")]], Region(0, 0, WIDTH, 1))
    assert frames.changed(full) is full and frames.changed(full) is full
    assert pieces(frames, chops({0: strip("aaaa"), 4: strip("changed!")})) == [(0, 4, "changed!")]


def test_a_span_cuts_the_piece_as_the_framework_does() -> None:
    update = ChopsUpdate([{0: strip("abcdefgh"), 8: strip("wxyz")}], [(0, 2, 5)], [[8, 12]])
    assert pieces(Frames(), update) == [(0, 0, "abcde")]


def test_blanks_join_a_neighbour_that_looks_the_same_there() -> None:
    blank = Segment("  ", Style(bgcolor="black"))
    line = Strip([blank, Segment("ab", RED), blank, Segment("cd", LINED), blank])
    joined = blanks_joined(line)
    assert [(s.text, s.style) for s in joined] == [("  ab  ", RED), ("cd", LINED), ("  ", blank.style)]


_STYLES = st.sampled_from(
    [RED, GREEN, LINED, Style(bgcolor="black"), Style(bgcolor="blue"), RED + Style(reverse=True), None]
)


@given(st.lists(st.tuples(st.text("ab 中", min_size=1, max_size=4), _STYLES), max_size=8))
def test_joining_changes_no_cell_that_can_be_seen(parts: list[tuple[str, Style | None]]) -> None:
    line = Strip([Segment(text, style) for text, style in parts])
    joined = blanks_joined(line)
    assert joined.text == line.text and len(list(joined)) <= len(list(line))

    def cells(given_strip: Strip) -> list[Any]:
        seen = []
        for segment in given_strip:
            style = segment.style or Style()
            drawn = bool(style.underline or style.reverse)
            for character in segment.text:
                hidden = character == " " and not drawn
                seen.append((character, style.bgcolor, drawn, None if hidden else style.color))
        return seen

    assert cells(joined) == cells(line)


def test_what_is_sent_moves_the_cursor_to_each_piece() -> None:
    console = Console(color_system="truecolor", force_terminal=True)
    sent = Pieces([(3, 7, strip("x", Style())), (4, 0, strip("y", Style()))]).render_segments(console)
    assert sent == "\x1b[4;8Hx\x1b[5;1Hy"


# ---- only the cells that differ ----

_STYLES = (Style(bold=True), Style(reverse=True), Style())
_RUNS = st.lists(
    st.tuples(st.text("ab \u2581\u25b6", min_size=1, max_size=30), st.sampled_from(_STYLES)), max_size=4
)


def strip_of(runs: list[tuple[str, Style]], n_cells: int) -> Strip:
    return Strip([Segment(text, style) for text, style in runs]).adjust_cell_length(n_cells, Style())


def cells_of(strip: Strip) -> list[tuple[str, Style | None]]:
    return [(character, segment.style) for segment in strip for character in segment.text]


@given(_RUNS, _RUNS, st.integers(1, 90), st.integers(0, 9))
def test_what_differs_drawn_over_what_was_there_is_what_is_there_now(
    before: list[tuple[str, Style]], after: list[tuple[str, Style]], n_cells: int, x: int
) -> None:
    old, new = strip_of(before, n_cells), strip_of(after, n_cells)
    screen = cells_of(old)
    for y, left, piece in differing(3, x, old, new):
        assert y == 3
        drawn = cells_of(piece)
        screen[left - x : left - x + len(drawn)] = drawn
    assert screen == cells_of(new)
    assert differing(3, x, new, new) == []


def test_few_figures_of_a_line_cost_few_cells_and_wide_characters_the_whole_line() -> None:
    line = "MatMulV2      35  562.00" + " " * 60 + "5.42"
    changed = line.replace("562", "578").replace("5.42", "5.43")
    pieces = differing(0, 2, Strip([Segment(line)]), Strip([Segment(changed)]))
    assert [(x, strip.text) for _, x, strip in pieces] == [(21, "78"), (2 + len(line) - 1, "3")]
    wide = Strip([Segment("\u6e90\u5934 1")])
    assert differing(0, 0, wide, Strip([Segment("\u6e90\u5934 2")])) == [
        (0, 0, Strip([Segment("\u6e90\u5934 2")]))
    ]
    assert differing(0, 0, None, wide) == [(0, 0, wide)]


# ---- styles over moves -----------------------------------------------------------------------------------


def cells(text: str) -> dict[tuple[int, int], tuple[str, tuple[int, ...]]]:
    """What a terminal holds after the text: (line, column) -> character and the codes it stands in."""
    line, column, at = 1, 1, 0
    style: tuple[int, ...] = ()
    found: dict[tuple[int, int], tuple[str, tuple[int, ...]]] = {}
    while at < len(text):
        code = re.compile(r"\x1b\[([\d;]*)([mH])").match(text, at)
        if code is None:
            found[line, column] = (text[at], style)
            column, at = column + 1, at + 1
            continue
        numbers = tuple(int(number or 0) for number in code[1].split(";"))
        if code[2] == "H":
            line, column = numbers
        else:
            for number in numbers:  # of colours by number each code stands for itself here
                style = () if number == 0 else (*style, number)
        at = code.end()
    assert style == (), "the terminal is left as it was"
    return found


_RUN = st.one_of(
    st.tuples(st.sampled_from(["", "31", "1;32", "7;38;5;9"]), st.text("ab ", max_size=3)).map(
        lambda run: f"\x1b[{run[0]}m{run[1]}\x1b[0m" if run[0] else run[1]
    ),
    st.tuples(st.integers(1, 3), st.integers(1, 5)).map(lambda at: f"\x1b[{at[0]};{at[1]}H"),
)


@given(st.lists(_RUN, max_size=12).map("".join))
def test_the_same_cells_in_no_more_bytes(text: str) -> None:
    assert cells(styles_kept(text)) == cells(text) and len(styles_kept(text)) <= len(text)


def test_a_style_is_said_once_over_lines() -> None:
    lines = [(y, 4, strip("aaaa", RED)) for y in range(3)] + [(3, 4, strip("bbbb", GREEN))]
    text = Pieces(lines).render_segments(Console(force_terminal=True, color_system="standard"))
    assert text.count("m") == 3, "red, green in the place of its end, the last end"
    assert [text.count(word) for word in ("aaaa", "bbbb", "H")] == [3, 1, 4]
