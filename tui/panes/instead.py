"""What a job gives where there is no table to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from npulse.core.text import Lang

if TYPE_CHECKING:
    from npulse.core.findings import Report


class Instead(Protocol):
    """What a job has made where there is no table: a report if anything can be said, in which language."""

    @property
    def report(self) -> Report | None: ...
    @property
    def lang(self) -> Lang: ...


@dataclass(frozen=True, slots=True)
class Nothing:
    """The round holds nothing that the area reads."""

    lang: Lang
    report: Report | None = None
