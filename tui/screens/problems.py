"""What could not be read: file, line or byte, kind, message, hint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .page import ListPage
from .rows import Row

if TYPE_CHECKING:
    from npulse.core.findings import Problem

MAX_ROWS = 10_000


class ProblemsPage(ListPage):
    """One row a problem; the whole text of the row under the cursor stands below the list."""

    can_open = False

    def title_text(self) -> str:
        return self.tr("problems.title", n=len(self.shell.problems()))

    def empty_text(self) -> str:
        return self.tr("problems.empty")

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
        detail = f"{where}\n{problem.kind}: {problem.message}"
        if problem.hint:
            detail += f"\n{problem.hint}"
        return Row(f"{problem.kind:<12} {where}  {problem.message}", value=problem, detail=detail)

    def take(self, row: Row) -> None:
        pass
