"""All that is known of one site, as lines to read: what the detail has no room for; and its source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from npulse.core.findings import Related
from npulse.core.memory.excerpts import code_lines as code_of
from npulse.core.memory.figures import place_text
from npulse.core.text import Lang, safe_text

from ...messages import tr
from ...widgets.code import code_lines
from ...widgets.wrap import wrap
from .pages import PageLine

if TYPE_CHECKING:
    from npulse.core.memory.excerpts import Excerpt
    from npulse.core.memory.view import MemoryView

    from ...glyphs import Glyphs

_DRAWING_CELLS = 100


def evidence_lines(view: MemoryView, row: int, lang: Lang, width: int, glyphs: Glyphs) -> list[PageLine]:
    """Why, what to do, the drawing, the code at every place, stacks, reports, figures."""
    detail, finding = view.detail(row, lang), view.finding(row, lang)
    lines = [PageLine(detail.name, is_strong=True), *_wrapped(detail.headline, width)]
    if detail.next_step:
        lines += [PageLine(""), *_wrapped(f"{tr('detail.next', lang)}: {detail.next_step}", width)]
    drawn = detail.draw(min(width, _DRAWING_CELLS), glyphs.is_ascii) if detail.draw is not None else ()
    if drawn:
        lines += [PageLine(""), *map(PageLine, drawn)]
    lines += source_lines(view, row, view.excerpts(row), lang, width, glyphs)
    if finding.related:
        lines += [PageLine(""), PageLine(tr("memory.related", lang), is_strong=True)]
        lines += [PageLine(f"  {_related(one, lang, glyphs)}") for one in finding.related]
    lines += [PageLine(""), *map(PageLine, view.where(row, lang)), PageLine("")]
    return [*lines, *(PageLine(f"{name} {value}") for name, value in detail.facts)]


def source_lines(
    view: MemoryView, row: int, excerpts: tuple[Excerpt, ...], lang: Lang, width: int, glyphs: Glyphs
) -> Iterator[PageLine]:
    """The code at every place, or why it is not at hand."""
    for excerpt in excerpts:
        path, place = excerpt.path, safe_text(place_text(excerpt.frame) or excerpt.frame.file)
        yield PageLine("")
        yield PageLine(f"{tr('detail.source', lang)}: {place}", is_strong=True)
        code = code_of(excerpt)
        for line, (text, is_marked) in zip(code, code_lines(code, width, glyphs), strict=True):
            yield PageLine(text, is_marked, is_marked, None if path is None else (path, line.number))
        if words := view.missing_words(row, excerpt, lang):
            yield from _wrapped(words, width)
        candidates = excerpt.missing.candidates if excerpt.missing is not None else ()
        yield from (PageLine(f"  {safe_text(str(path))}", place=(path, None)) for path in candidates)


def _wrapped(text: str, width: int) -> Iterator[PageLine]:
    return map(PageLine, wrap(text, width))


def _related(one: Related, lang: Lang, glyphs: Glyphs) -> str:
    """What follows from the fault, or what its operator was found in, with the figures that say so."""
    told = {name: one.figures.get(name) for name in ("kind", "artifact", "line", "how")}
    figures = "  ".join(f"{name} {value}" for name, value in told.items() if value is not None)
    mark = f"{glyphs.inherited} " if one.role == "inherited" else ""
    return safe_text(f"{mark}{one.subject}  {figures}")
