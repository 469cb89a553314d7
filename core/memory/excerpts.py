"""Source text around the places of a site, read once for those that are shown first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError
from npulse.core.findings import CodeLine
from npulse.core.formats.source_text import read_lines
from npulse.core.text import safe_text

from .faults import Frame
from .places import Missing, SourceHit, SourceRoots
from .sites import Key, Site

SHOWN_SITES = 300
LINES_AROUND = 6
MAX_PLACES = 4


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines around one place. lines: (number, text); marked: the number of the place's own line.

    missing: why the place's own line is not among them; where the file ends before it ("line-past-end") they
    are its last ones, as far as they are near, else ().
    """

    frame: Frame
    hit: SourceHit | None
    lines: tuple[tuple[int, str], ...] = ()
    missing: Missing | None = None

    @property
    def path(self) -> Path | None:
        return None if self.hit is None else self.hit.path

    @property
    def marked(self) -> int | None:
        return None if self.hit is None else self.hit.line


def code_lines(excerpt: Excerpt) -> tuple[CodeLine, ...]:
    """The lines as they are shown."""
    return tuple(
        CodeLine(number, safe_text(text, 300), number == excerpt.marked) for number, text in excerpt.lines
    )


def excerpts_of(sites: Sequence[Site], roots: SourceRoots) -> Mapping[Key, tuple[Excerpt, ...]]:
    """Of the first 300 sites, for each place one excerpt; the same place is read once."""
    known: dict[Frame, Excerpt] = {}
    found = {}
    for site in sites[:SHOWN_SITES]:
        frames = list(dict.fromkeys(frame for frame in site.places if frame is not None))
        for frame in frames[:MAX_PLACES]:
            if frame not in known:
                known[frame] = excerpt_of(frame, roots)
        found[site.key] = tuple(known[frame] for frame in frames[:MAX_PLACES])
    return found


def excerpt_of(frame: Frame, roots: SourceRoots, around: int = LINES_AROUND) -> Excerpt:
    """The lines around a frame, and why its own is not among them."""
    hit = roots.find(frame)
    if isinstance(hit, Missing):
        return Excerpt(frame, None, missing=hit)
    line = hit.line or 1
    try:
        text = read_lines(hit.path, roots.root_of(hit), max(1, line - around), line + around)
    except InputError:
        return Excerpt(frame, hit, missing=Missing("not-found"))
    is_past = line > text.n_lines
    return Excerpt(frame, hit, text.lines, Missing("line-past-end") if is_past else None)
