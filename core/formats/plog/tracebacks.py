"""Python tracebacks in a console log: of each the innermost lines and the error."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import field

from npulse.core.dataclass import dataclass

from ..log_lines import Line, Origin, bounded
from .records import MAX_CALLERS, PythonCall, PythonError

BEGIN = "Traceback (most recent call last)"
INNER_ERROR = "The Inner error is reported as above"
ASYNCHRONOUS = "operator is called asynchronously"

_MAX_OPEN = 64
_MAX_LINES = 400

_FRAME = re.compile(r'\s*File "([^"]{1,4096})", line (\d{1,9})(?:, in (.{1,400}))?')
_CARETS = re.compile(r"[\s^~]+$")
_ERROR = re.compile(
    r"(?:[A-Za-z_]\w{0,80}\.){0,8}[A-Za-z_]\w{0,80}(?:Error|Exception|Interrupt|Exit|Warning|Failure|Timeout)\b.*"
)
_OPERATOR = re.compile(r"current working operator name is ([^\s,'\"\\]{1,400})")


@dataclass(slots=True)
class _Open:
    """A traceback that is still being printed."""

    line: int
    byte: int
    origin: Origin
    last_line: int
    n_lines: int = 0
    path: str = ""
    python_line: int | None = None
    function: str = ""
    code: str = ""
    wants_code: bool = False
    callers: deque[PythonCall] = field(default_factory=lambda: deque(maxlen=MAX_CALLERS))


class Tracebacks:
    """Tracebacks by the process that prints them, several at once; whole ones go to `hand_out`."""

    def __init__(self, hand_out: Callable[[PythonError], None]) -> None:
        self._hand_out = hand_out
        self._open: dict[str, _Open] = {}

    @property
    def is_reading(self) -> bool:
        """True while lines of one are awaited."""
        return bool(self._open)

    def begin(self, line: Line, origin: Origin) -> None:
        """'Traceback (most recent call last):'"""
        self.end(origin)
        while len(self._open) >= _MAX_OPEN:
            self._close(next(iter(self._open)))
        self._open[origin.name] = _Open(line.number, line.byte, origin, line.number)

    def take(self, line: Line, origin: Origin, content: str, time_us: int | None) -> bool:
        """A further line of a process; True if it belongs to the traceback that the process prints."""
        found = self._open.get(origin.name)
        if found is None:
            return False
        found.n_lines += 1
        frame = _FRAME.match(content)
        if frame is not None:
            if found.path:
                found.callers.appendleft(PythonCall(found.path, found.python_line or 0, found.function))
            found.path, found.python_line = bounded(frame[1]), int(frame[2])
            found.function, found.code = bounded(frame[3] or ""), ""
            found.wants_code, found.last_line = True, line.number
            return True
        if content[:1].isspace():
            if found.wants_code and not _CARETS.match(content):
                found.code, found.wants_code, found.last_line = bounded(content), False, line.number
            return True
        if _ERROR.match(content):
            found.last_line = line.number
            self._close(origin.name, content, time_us)
            return True
        if found.n_lines >= _MAX_LINES:
            self._close(origin.name)
        return False

    def end(self, origin: Origin) -> None:
        """The process printed something else: its traceback was cut off."""
        if origin.name in self._open:
            self._close(origin.name)

    def end_all(self) -> None:
        for name in list(self._open):
            self._close(name)

    def pending(self) -> list[PythonError]:
        return [_record(found, "", None) for found in self._open.values()]

    def told_alone(self, line: Line, origin: Origin, text: str, pid: int | None, time_us: int | None) -> None:
        """An error that names its operator, without a traceback in front of it."""
        found = _Open(line.number, line.byte, Origin(origin.name, pid), line.number)
        self._hand_out(_record(found, text, time_us))

    def _close(self, name: str, error: str = "", time_us: int | None = None) -> None:
        self._hand_out(_record(self._open.pop(name), error, time_us))


def _record(found: _Open, error: str, time_us: int | None) -> PythonError:
    operator = _OPERATOR.search(error)
    return PythonError(
        line=found.line,
        byte=found.byte,
        last_line=found.last_line,
        time_us=time_us,
        pid=found.origin.pid,
        process="",
        origin=bounded(found.origin.name),
        path=found.path,
        python_line=found.python_line,
        function=found.function,
        code_text=found.code,
        error=bounded(error),
        operator_name=bounded(operator[1]).rstrip(".") if operator else "",
        is_asynchronous=INNER_ERROR in error or ASYNCHRONOUS in error,
        callers=tuple(found.callers),
    )
