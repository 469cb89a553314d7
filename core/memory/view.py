"""A `Memory` as a pane shows it: report, table, and what stands behind one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from npulse.core.findings import Finding, Report
from npulse.core.table import Table
from npulse.core.text import Lang, say
from npulse.core.views import Detail, Strip, shown_figure

from .analyse import Memory
from .detail import shown_value, site_detail, where_lines
from .excerpts import MAX_PLACES, Excerpt, excerpt_of
from .explain import site_finding
from .figures import subject_of
from .missing_places import missing_words
from .report import report
from .sites import Key
from .table import SUBJECT, is_named, memory_table
from .texts import TEXTS

__all__ = ["SUBJECT", "MemoryView", "memory_view"]

_MAIN = (
    "kind", "count", "space", "access", "size_bytes", "leaked_bytes", "held_bytes",
    "growth_bytes_per_step", "n_allocations", "cores", "kernel",
    "distance_bytes", "side", "block_bytes", "address_first", "task_id", "stream_id", "error_bits", "pcs",
)  # fmt: skip
_N_MAIN = 8


@dataclass(frozen=True, slots=True)
class MemoryView:
    """An analysis at one moment; see `AreaView`. A row is a site: row numbers are places in `found.sites`."""

    found: Memory
    report: Report
    table: Table
    lang: Lang

    @property
    def is_complete(self) -> bool:
        return self.found.stage == "complete"

    def detail(self, row: int, lang: Lang) -> Detail:
        return site_detail(self.found, row, lang)

    def finding(self, row: int, lang: Lang) -> Finding:
        return site_finding(self.found, row, lang)

    def main_figures(self, finding: Finding) -> Sequence[tuple[str, str]]:
        names = [name for name in _MAIN if finding.figures.get(name) is not None]
        return [(name, _shown(finding.figures[name], name)) for name in names[:_N_MAIN]]

    def has_name(self, finding: Finding) -> bool:
        """Whether its subject names a place, a kernel or a code; False where it is but the kind."""
        return is_named(finding.subject, str(finding.figures.get("kind", "")))

    def where(self, row: int, lang: Lang) -> list[str]:
        return where_lines(self.found, row, lang)

    def meaning(self, column: str, lang: Lang) -> str:
        key = f"figure-{column}"
        return say(TEXTS, key, lang) if key in TEXTS else ""

    def place(self, row: int) -> tuple[Path, int | None] | None:
        """The user's source, where a root holds it; else the log at the line of the report."""
        site = self.found.sites[row]
        for excerpt in self.found.excerpts.get(site.key, ()):
            if excerpt.hit is not None:
                return excerpt.hit.path, excerpt.hit.line
        path = self.found.root / site.first.artifact
        return (path, site.first.line) if path.is_file() else None

    def key(self, row: int) -> Key:
        """What a site keeps while more is read and its row changes."""
        return self.found.sites[row].key

    def row_with(self, key: Key) -> int | None:
        """The row of a site; None where it is not among them."""
        return next((row for row, site in enumerate(self.found.sites) if site.key == key), None)

    def operator(self, row: int) -> str | None:
        """The operator joined to a site, by the name that a dump has for its call where one has it."""
        joined = self.found.joined.get(self.found.sites[row].key)
        if joined is None or not joined.operator:
            return None
        return next((one.name for one in joined.sources if one.kind == "dump call"), joined.operator)

    @property
    def first_file(self) -> str:
        """A source file as the logs name it, as raw as they do; "" where they name none."""
        places = (site.place for site in self.found.sites)
        return next((place.file for place in places if place is not None and place.has_line), "")

    def excerpts(self, row: int) -> tuple[Excerpt, ...]:
        """Some lines around each place of a site, as they were read with the logs."""
        return tuple(self.found.excerpts.get(self.found.sites[row].key, ()))

    def read_excerpts(self, row: int, around: int) -> tuple[Excerpt, ...]:
        """More lines around each place, of any site at any stage. Cost: opens the files."""
        places = self.found.sites[row].places
        frames = list(dict.fromkeys(frame for frame in places if frame is not None))[:MAX_PLACES]
        return tuple(excerpt_of(frame, self.found.roots, around) for frame in frames)

    def missing_words(self, row: int, excerpt: Excerpt, lang: Lang) -> str:
        """Why an excerpt has no lines and what would give them; "" where it has some."""
        return missing_words(self.found.sites[row], excerpt, lang)

    def row_of(self, finding: Finding) -> int | None:
        at = finding.location
        for row, site in enumerate(self.found.sites):
            if (site.first.artifact, site.first.line) == (at.artifact, at.line):
                if subject_of(site) == finding.subject:
                    return row
        return None

    def strip(self, row: int) -> tuple[Strip, int] | None:
        return None

    def translated(self, lang: Lang) -> MemoryView:
        return replace(self, report=report(self.found, lang=lang), lang=lang)


def _shown(value: object, name: str) -> str:
    return shown_value(value, name) if isinstance(value, int | list) else shown_figure(value)


def memory_view(found: Memory, lang: Lang) -> MemoryView:
    """All that a pane shows of an analysis. To be called by whoever analyses, not by the pane."""
    return MemoryView(found, report(found, lang=lang), memory_table(found), lang)
