"""What is on the terminal, so that a frame sends only what differs from it.

The framework paints a widget again after each layout and whenever it is told to, changed or not: a start
would cost nine screens of bytes, a new detail all its lines. A full frame is always sent whole: whatever else
was written to the terminal goes with the next page that opens, resize or return from the editor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import cast

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.control import Control
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

_GAP_CELLS = 24
"""To move the cursor over fewer cells than these, and set the style again, costs as much as to draw them."""
Piece = tuple[int, int, Strip]
"""Line, column, and what stands there."""


class Pieces(CompositorUpdate):
    """Some pieces of lines."""

    def __init__(self, pieces: list[Piece]) -> None:
        self.pieces = pieces

    def render_segments(self, console: Console) -> str:
        return styles_kept(
            "".join(
                Control.move_to(x, y).segment.text + blanks_joined(strip).render(console)
                for y, x, strip in self.pieces
            )
        )


_STYLE = re.compile(r"\x1b\[([\d;]*)m")
_MOVE = re.compile(r"\x1b\[\d*;?\d*H")


def styles_kept(text: str) -> str:
    """The same cells in fewer bytes: each run of text ends with a reset, which is left out where the next
    one has the same style; over the move to it a style does no harm."""
    kept: list[str] = []
    style, is_reset_due = "", False
    for i, part in enumerate(_STYLE.split(text)):
        if i % 2:
            if part in ("", "0"):
                is_reset_due = bool(style)
            elif is_reset_due and part == style:
                is_reset_due = False
            else:
                kept.append(f"\x1b[0;{part}m" if is_reset_due else f"\x1b[{part}m")
                style = part if is_reset_due or not style else f"{style};{part}"
                is_reset_due = False
        else:
            if is_reset_due and _MOVE.sub("", part):
                kept.append("\x1b[0m")
                style, is_reset_due = "", False
            kept.append(part)
    if is_reset_due:
        kept.append("\x1b[0m")
    return "".join(kept)


class Frames:
    """Remembers what was sent. `changed` must be asked for each frame that is sent, and for no other."""

    def __init__(self) -> None:
        self._drawn: dict[int, dict[int, Strip]] = {}

    def changed(self, update: RenderableType, *, is_fine: bool = False) -> RenderableType | None:
        """The part of a frame that is not on the screen yet; None if all of it is.

        is_fine: of a line that was there before only the cells that differ. It takes time for each cell, and
        is worth it where the same lines come again and again with a few figures changed.
        """
        if isinstance(update, ChopsUpdate):
            pieces: list[Piece] = []
            for y, x, strip in _pieces(update):
                before = self._drawn.get(y, {}).get(x)
                if self._take(y, x, strip):
                    pieces += differing(y, x, before, strip) if is_fine else [(y, x, strip)]
            return cast(RenderableType, Pieces(pieces)) if pieces else None
        self._drawn.clear()
        if isinstance(update, LayoutUpdate):
            for y, line in enumerate(update.strips, update.region.y):
                x = update.region.x
                for strip in line:
                    self._take(y, x, strip)
                    x += strip.cell_length
        return update

    def _take(self, y: int, x: int, strip: Strip) -> bool:
        line = self._drawn.setdefault(y, {})
        if line.get(x) == strip:
            return False
        end = x + strip.cell_length
        for left in [at for at, old in line.items() if at < end and at + old.cell_length > x]:
            del line[left]
        line[x] = strip
        return True


def differing(y: int, x: int, before: Strip | None, after: Strip) -> list[Piece]:
    """The parts of a strip that differ from the one before it at the same place; all of it where that is not
    known, or where not every character takes one cell.
    """
    if before is None or before.cell_length != after.cell_length:
        return [(y, x, after)]
    old, new = _cells(before), _cells(after)
    if old is None or new is None:
        return [(y, x, after)]
    places = [i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    spans: list[list[int]] = []
    for i in places:
        if spans and i - spans[-1][1] < _GAP_CELLS:
            spans[-1][1] = i + 1
        else:
            spans.append([i, i + 1])
    return [(y, x + begin, after.crop(begin, end)) for begin, end in spans]


def _cells(strip: Strip) -> list[tuple[str, Style | None]] | None:
    """Each cell with its style; None where a character is wider or narrower than a cell."""
    cells: list[tuple[str, Style | None]] = []
    for text, style, control in strip:
        if control or not (text.isascii() or all(map(_is_one_cell, text))):
            return None
        cells += [(character, style) for character in text]
    return cells


@lru_cache(4096)
def _is_one_cell(character: str) -> bool:
    return cell_len(character) == 1


def blanks_joined(strip: Strip) -> Strip:
    """The same to the eye in fewer runs: blanks join their neighbour where only the text colour differs."""
    runs: list[Segment] = []
    for segment in strip:
        before = runs[-1] if runs else None
        if before is None or before.control or segment.control:
            runs.append(segment)
        elif before.style == segment.style or _is_blank_on(segment, before.style):
            runs[-1] = Segment(before.text + segment.text, before.style)
        elif _is_blank_on(before, segment.style):
            runs[-1] = Segment(before.text + segment.text, segment.style)
        else:
            runs.append(segment)
    return Strip(runs, strip.cell_length)


def _is_blank_on(segment: Segment, style: Style | None) -> bool:
    """Whether a run would look the same in this style."""
    own = segment.style
    if own is None or style is None or segment.text.strip(" "):
        return False
    return own.bgcolor == style.bgcolor and not any(
        each.reverse or each.underline or each.underline2 or each.overline or each.strike or each.link
        for each in (own, style)
    )


def _pieces(update: ChopsUpdate) -> Iterator[Piece]:
    """What the update would draw: each strip that touches a span, cut where the span ends."""
    for y, start, stop in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is not None and x < stop and end > start:
                yield y, x, strip if end <= stop else strip.crop(0, stop - x)
