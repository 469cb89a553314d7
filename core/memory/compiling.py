"""Which Python error is a compiler's: the traceback around a message that a kernel does not fit a buffer.

A compiler says it once and Python raises it again, behind the message or in front of it. The two stand close
together in one log, with no other traceback between them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from .event_order import is_of_compiler, process_of
from .faults import Fault

NEAR_LINES = 400
"""A traceback and the message are no further apart."""


def raised_of(overflows: Iterable[Fault], errors: Iterable[Fault]) -> Iterator[tuple[Fault, Fault]]:
    """(error of Python, message of the compiler that it raises). Cost: n log n.

    overflows: "buffer overflow at compile time"; errors: "python error". One that has no text, as the message
    itself stands where that would be, belongs to a message behind it.
    """
    told: dict[tuple[str, str], list[Fault]] = {}
    raised: dict[tuple[str, str], list[Fault]] = {}
    for known, faults in ((told, overflows), (raised, errors)):
        for fault in sorted(faults, key=lambda fault: fault.line):
            known.setdefault((fault.artifact, fault.origin), []).append(fault)
    for where, found in raised.items():
        messages = told.get(where, [])
        lines = [fault.line for fault in messages]
        for place, error in enumerate(found):
            is_cut = not error.figures.get("error")
            if not lines or not (is_cut or is_of_compiler(error)):
                continue
            behind = found[place + 1].line if place + 1 < len(found) else error.line + NEAR_LINES
            message = _first(messages, bisect_right(lines, error.line), behind, error)
            if message is None and not is_cut:
                before = found[place - 1].line if place else 0
                message = _last(messages, bisect_left(lines, error.line) - 1, before, error)
            if message is not None:
                yield error, message


def _first(messages: Sequence[Fault], at: int, until: int, error: Fault) -> Fault | None:
    message = messages[at] if at < len(messages) else None
    if message is None or message.line > min(until, error.line + NEAR_LINES):
        return None
    return message if _may_be_one(message, error) else None


def _last(messages: Sequence[Fault], at: int, since: int, error: Fault) -> Fault | None:
    message = messages[at] if at >= 0 else None
    if message is None or message.line < max(since, error.line - NEAR_LINES):
        return None
    return message if _may_be_one(message, error) else None


def _may_be_one(message: Fault, error: Fault) -> bool:
    """Whether nothing says that two processes wrote them."""
    writers = {process for process in (process_of(message), process_of(error)) if process is not None}
    return len(writers) < 2
