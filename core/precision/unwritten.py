"""Memory that nobody has written: outputs of `empty`, what is copied over, what was written in part."""

from __future__ import annotations

from npulse.core.calls.apis import OVERWRITERS, PARTIAL_WRITERS, UNINITIALISED
from npulse.core.formats.msprobe.records import OUTPUT, CallName

from .rows import Rows
from .upstream import Upstream
from .verdict import PASS, REASON, UNKNOWN


class Unwritten:
    """Finds the rows of a walk that hold what was in memory before; remembers whether there were any."""

    def __init__(self, rows: Rows, upstream: Upstream) -> None:
        self._rows, self._upstream = rows, upstream
        self._is_any = False

    def mark(self, name: CallName, span: range) -> None:
        """Rows of a call that hold what nobody wrote become unknown: a difference there is no error."""
        verdict, reason = self._rows.verdict, self._rows.reason
        if verdict[span.start : span.stop].tolist().count(PASS) == len(span):
            return
        is_source = name.api.rstrip("_") in UNINITIALISED
        is_base = False
        for row in span:
            if verdict[row] == PASS or reason[row] == REASON["one-side"]:
                continue
            if self._rows.side(row) == OUTPUT:
                hit = is_source or is_base
            else:
                hit = self.is_unread(row) or self._is_read_unwritten(row)
                is_base |= hit and name.api in PARTIAL_WRITERS and self._rows.io(row) == "input 0"
            if hit:
                verdict[row], reason[row] = UNKNOWN, REASON["uninitialised"]
                self._is_any = True

    def is_unread(self, row: int) -> bool:
        """An argument whose content does not matter, since the call writes all of it."""
        name = self._upstream.name(int(self._rows.pairing.row_call[row]))
        io = self._rows.io(row)
        is_first = io == "input 0" and name.direction == "forward"
        return io == "kwargs out" or is_first and name.api in OVERWRITERS

    def _is_read_unwritten(self, row: int) -> bool:
        return self._is_any and any(
            source.row >= 0 and self._rows.reason[source.row] == REASON["uninitialised"]
            for source in self._upstream.sources(row)
        )
