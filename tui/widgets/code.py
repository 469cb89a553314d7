"""Lines of source text: numbers, a marker on the line that is meant, cut at the width and never wrapped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..glyphs import Glyphs, showable
from .cells import cut

if TYPE_CHECKING:
    from npulse.core.findings import CodeLine


def code_lines(
    code: Sequence[CodeLine], width: int, glyphs: Glyphs, around: int | None = None
) -> list[tuple[str, bool]]:
    """(text of at most `width` cells, whether it is the line that is meant).

    around: how many lines on both sides of the meant one, None for all. Blanks that all of them begin with
    are left out.
    """
    shown = _near(code, around)
    texts = [showable(line.text.rstrip(), glyphs) for line in shown]
    indent = min((len(text) - len(text.lstrip(" ")) for text in texts if text), default=0)
    digits = max((len(str(line.number)) for line in shown), default=1)
    lines = []
    for line, text in zip(shown, texts, strict=True):
        marker = glyphs.cursor if line.is_marked else " "
        whole = f"{line.number:>{digits}} {marker} {text[indent:]}".rstrip()
        lines.append((cut(whole, width, glyphs.ellipsis), line.is_marked))
    return lines


def _near(code: Sequence[CodeLine], around: int | None) -> Sequence[CodeLine]:
    at = next((place for place, line in enumerate(code) if line.is_marked), None)
    if around is None:
        return code
    return code[: 2 * around + 1] if at is None else code[max(0, at - around) : at + around + 1]
