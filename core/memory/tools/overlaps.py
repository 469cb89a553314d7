"""Lines that two readers know: one fault of each.

An error of Python can be the text of memory that ran out, and can name an error code; a line of HCCL can be
both as well. Memory that ran out says most, then Python, then the code alone. All three readers hand a line
out at its end, so that what is told together does not depend on how the log was cut.
"""

from __future__ import annotations

from collections.abc import Iterable

from npulse.core.formats.memory_texts import MemoryText
from npulse.core.formats.plog.records import CodedError, PlogRecord, PythonError

from ..faults import Fault
from . import memory_texts, plog


def settled(records: Iterable[PlogRecord], texts: Iterable[MemoryText], artifact: str) -> list[Fault]:
    """The faults of these records, in the order in which they were handed out, memory first."""
    found: list[Fault] = []
    at: dict[int, int] = {}  # line that tells -> place in `found`
    for text in texts:
        fault = memory_texts.fault_of(text, artifact)
        if fault is not None:
            at[text.line] = len(found)
            found.append(fault)
    for record in records:
        line = _telling_line(record)
        known = at.get(line) if line is not None else None
        if known is not None and isinstance(record, CodedError):
            found[known] = plog.with_code(found[known], record)
            continue
        if known is not None and isinstance(record, PythonError):
            found[known] = plog.with_python(found[known], record)
            continue
        fault = plog.fault_of(record, artifact)
        if fault is not None:
            if line is not None:
                at.setdefault(line, len(found))
            found.append(fault)
    return found


def _telling_line(record: PlogRecord) -> int | None:
    """The line whose end handed it out; None where that was a later one."""
    if isinstance(record, PythonError):
        return record.last_line if record.error else None
    return record.line if isinstance(record, CodedError) else None
