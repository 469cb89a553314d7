"""What could not be read: file, line or byte, kind, message, hint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..widgets.cells import pad
from .page import ListPage
from .rows import Row

if TYPE_CHECKING:
    from npulse.core.findings import Problem

MAX_ROWS = 10_000
_KINDS = {
    "cut-off": "problem.cut-off",
    "missing": "problem.missing",
    "unreadable": "problem.unreadable",
    "changed": "problem.changed",
    "bad-record": "problem.bad-record",
    "bad-tensor": "problem.bad-tensor",
    "shape": "problem.shape",
    "outside-run": "problem.outside-run",
    "too-large": "problem.too-large",
    "too-deep": "problem.too-deep",
    "encoding": "problem.encoding",
    "limit": "problem.limit",
    "refused": "problem.refused",
    "key-map": "problem.key-map",
}
"""The stable words of `Problem.kind` with their texts; a kind that is not known stands as it is."""


class ProblemsPage(ListPage):
    """One row a problem; the whole text of the row under the cursor stands below the list."""

    can_open = False

    def title_text(self) -> str:
        return self.tr("problems.title", n=len(self.shell.problems()))

    def empty_text(self) -> str:
        n_recognised = self._n_not_read()
        if n_recognised:
            return self.tr("problems.only-recognised", n=n_recognised)
        return self.tr("problems.empty")

    def _n_not_read(self) -> int:
        """Artifacts of a kind that no reader exists for yet."""
        from npulse.core.run.kinds import KINDS

        run = self.shell.opened
        found = [] if run is None else [*run.shared, *(a for round_ in run.rounds for a in round_.artifacts)]
        return sum(artifact.kind in KINDS and not KINDS[artifact.kind].is_read for artifact in found)

    def make_rows(self) -> Sequence[Row]:
        problems = self.shell.problems()
        rows = [self._row(problem) for problem in problems[:MAX_ROWS]]
        if len(problems) > MAX_ROWS:
            rows.append(Row(self.tr("problems.more", shown=MAX_ROWS, n=len(problems))))
        return rows

    def _row(self, problem: Problem) -> Row:
        where = problem.artifact
        if problem.line is not None:
            where += ":" + self.tr("problems.line", line=problem.line)
        if problem.byte is not None:
            where += ":" + self.tr("problems.byte", byte=problem.byte)
        kind = self.tr(_KINDS[problem.kind]) if problem.kind in _KINDS else problem.kind
        detail = f"{where}\n{kind}: {problem.message}"
        if problem.hint:
            detail += f"\n{problem.hint}"
        return Row(f"{pad(kind, 12)} {where}  {problem.message}", value=problem, detail=detail)

    def take(self, row: Row) -> None:
        pass
