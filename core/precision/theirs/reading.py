"""A result table of another tool with our reading of it: what both say of each row, and the first bad one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from npulse.core.findings import Role
from npulse.core.formats.results.table import ResultTable

from ..verdict import ERROR, PASS, UNKNOWN, WARNING, Codes, Criteria
from .judge import OurReading, read_figures
from .words import calls_of, verdicts_of

OWN_STANDARD = (
    "msprobe.acc_check", "msprobe.api_compare", "msprobe.free_benchmark", "msprobe.difference", "msit.logits",
)  # fmt: skip
"""Layouts whose verdict counts where their figures do not let us judge: made by a rule over all elements."""


@dataclass(frozen=True, slots=True)
class Theirs:
    """One result table, read and judged.

    theirs: what the tool said, codes of VERDICTS (unknown: nothing, N/A, SKIP). has_verdicts: whether the
    tool gives any. calls, call, io: the operator call of each row and the place in it ("" where names do not
    tell). first: the first row that either calls an error, None if none. first_role: origin where its inputs
    stand in the table and agree, else unknown.
    """

    table: ResultTable
    criteria: Criteria
    theirs: Codes
    ours: OurReading
    has_verdicts: bool
    calls: tuple[str, ...]
    call: npt.NDArray[np.int64]
    io: tuple[str, ...]
    first: int | None
    first_role: Role

    @property
    def is_bad(self) -> npt.NDArray[np.bool_]:
        """True where the tool or our reading says error."""
        bad: npt.NDArray[np.bool_] = (self.theirs == ERROR) | (self.ours.verdict == ERROR)
        alone: npt.NDArray[np.bool_] = self.ours.is_unmatched & (self.theirs != ERROR)
        return bad & ~alone

    @property
    def is_unjudged(self) -> npt.NDArray[np.bool_]:
        """True where nothing that counts says how a row is."""
        open_: npt.NDArray[np.bool_] = self.ours.verdict == UNKNOWN
        if self.table.layout.is_shown_only:
            return np.zeros(self.table.n_rows, np.bool_)
        if self.table.layout.id.startswith(OWN_STANDARD):
            open_ = open_ & (self.theirs == UNKNOWN)
        return open_

    @property
    def counted(self) -> Codes:
        """The verdicts that are counted: the tool's own, or ours where it gives none."""
        return self.theirs if self.has_verdicts else self.ours.verdict

    def name(self, row: int) -> str:
        """The full name of a row's tensor."""
        io = self.table.first_of("io")
        named = io.word(row) if io is not None else ""
        return named if named.strip().lower() not in ("", "nan") else self.table.text("target", row)

    def said(self, row: int) -> str:
        """The tool's verdict as it wrote it, "" where it gives none."""
        words = [column.word(row).strip() for column in self.table.all_of("verdict")]
        return " / ".join(word for word in words if word) or self.table.layout.says


def read_theirs(table: ResultTable, criteria: Criteria) -> Theirs:
    """Judge a result table. Cost: about 3 us a row."""
    theirs, ours = verdicts_of(table), read_figures(table, criteria)
    calls, call, io = calls_of(table)
    found = Theirs(
        table, criteria, theirs, ours, _has_verdicts(table), tuple(calls), call, tuple(io), None,
        "unknown",
    )  # fmt: skip
    bad = np.flatnonzero(found.is_bad)
    if not len(bad):
        return found
    first = int(bad[0])
    return Theirs(
        table, criteria, theirs, ours, found.has_verdicts, tuple(calls), call, tuple(io), first,
        _role(found, first),
    )  # fmt: skip


def _has_verdicts(table: ResultTable) -> bool:
    return bool(table.all_of("verdict") or table.layout.says)


def _role(found: Theirs, first: int) -> Role:
    """Origin where rows stand in the order of execution and all inputs of the call agree: no row before it is
    bad. Of what is fed bad inputs, or of inputs that the table lacks, nothing can be said."""
    if not found.table.layout.is_ordered or not found.io[first].startswith("output"):
        return "unknown"
    if found.ours.verdict[first] == PASS:  # the tool alone says so, of figures that agree
        return "unknown"
    here = np.flatnonzero(found.call == found.call[first])
    fed = [row for row in here.tolist() if not found.io[row].startswith("output")]
    agree = [found.ours.verdict[row] in (PASS, WARNING) and found.theirs[row] != ERROR for row in fed]
    return "origin" if fed and all(agree) else "unknown"
