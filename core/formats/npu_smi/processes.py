"""The lower half of a table: which processes each card has."""

from __future__ import annotations

import re

from .cells import WHOLE, cells_of, text_of_cell, whole_of
from .records import SmiProcess

MAX_PROCESSES = 65_536
_NONE = re.compile(r"No running processes found in NPU +(\d{1,9})")
_IN_PROC_MEM = re.compile(
    r"\s*Process id ?: ?(\d{1,10})\s+Process name ?:(.{0,64}?)\s+Process memory\(MB\) ?: ?(\d{1,9})\s*"
)


def is_head(text: str) -> bool:
    return "Process id" in text and "Process name" in text


class ProcessLines:
    """Rows below a head line; the head says how many cells there are."""

    def __init__(self, head: str) -> None:
        cells = cells_of(head)
        self._n_cells = len(cells)
        self._has_container = any("in container" in cell for cell in cells)
        self.found: list[SmiProcess] = []
        self.listed: dict[int, None] = {}

    def take(self, text: str, line: int) -> bool:
        """Whether the line is one of this table."""
        none = _NONE.search(text)
        if none is not None:
            self.listed.setdefault(int(none[1]))
            return True
        cells = cells_of(text)
        n_more = len(cells) - self._n_cells
        if n_more < 0 or self._n_cells < 4 or len(self.found) >= MAX_PROCESSES:
            return False
        # a process may have a bar in its name
        name = "|".join(cells[2 : 3 + n_more])
        ids, pid, rest = cells[0].split(), cells[1], cells[3 + n_more :]
        if not 1 <= len(ids) <= 2 or not all(map(WHOLE.fullmatch, ids)) or not rest:
            return False
        if not WHOLE.fullmatch(pid) and text_of_cell(pid) is not None:
            return False
        self.listed.setdefault(int(ids[0]))
        self.found.append(
            SmiProcess(
                int(ids[0]),
                int(ids[1]) if len(ids) > 1 else None,
                whole_of(pid),
                text_of_cell(name) or "",
                whole_of(rest[0]),
                line,
                self._has_container,
                whole_of(rest[1]) if self._has_container and len(rest) > 1 else None,
            )
        )
        return True


def process_line(text: str, line: int) -> SmiProcess | None:
    """A line of `-t proc-mem`; the block around it says of which chip."""
    found = _IN_PROC_MEM.fullmatch(text)
    if found is None:
        return None
    return SmiProcess(None, None, int(found[1]), text_of_cell(found[2]) or "", int(found[3]), line)
