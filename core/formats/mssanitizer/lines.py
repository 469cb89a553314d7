"""Lines of a console capture as the terminal showed them, and what of each line belongs to the report.

The reader takes whole records out of the buffer by one pattern each, so that it does not cut all lines as
`log_lines.LineCutter` would: that alone doubles the time of a large log. Prefixes are not split into known
tags (`log_lines.split_prefix`): any text before the equals signs tells one process from another.
"""

from __future__ import annotations

import codecs
import re

from ..log_lines import MAX_LINE_BYTES as MAX_LINE_BYTES
from ..log_lines import last_segment

MAX_PREFIX_BYTES = 200

# A code that is cut off leaves what may be the report's own text, where `log_lines` takes it all away.
# Every part stops at the next escape character, so that trying all of them costs linear time.
_ESCAPE = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])"
)
_MARK = re.compile(rb"(?<!=)={6}(?:={3})?(?=[ \t]|$)")
_NEXT_MARK = re.compile(
    rb"[ \t](?=={6}(?:={3})?[ \t])|(?<![= \t])(?=={6} (?:ERROR|WARNING|INFO): )"  # the latter: a torn line
)
_COMMENT = re.compile(rb"[ \t]//(?:[ \t]|$)")
_TOOL = b"[mssanitizer]"
MARKS = (b"======", _TOOL)
INTERRUPTED = b"Ctrl-C received."
NEEDLES = (*MARKS, INTERRUPTED)
"""A line without any of them says nothing, unless it is empty and a record is open."""

# Times in the prefixes of collectors: what differs from line to line although the source is the same.
_TIMES = re.compile(
    rb"\d{4}-\d\d-\d\d[T ]?|\d{4}/\d\d/\d\d"
    rb"|\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
    rb"|(?<![\d.])\d{1,9}\.\d{3,9}(?![\d.])|\b[IWEF]\d{4}(?= )"
    rb"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)(?=[ ,])"
    rb"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2}(?: +\d{4}(?!\d))?"
)
_BLANKS = re.compile(rb"[ \t]+")
_EMPTY_BRACKETS = re.compile(rb"\[ ?\]|\( ?\)")


def visible(raw: bytes) -> bytes | None:
    """A line as it stands on the screen: what the last carriage return left, without colours.

    None if it has more than 65,536 bytes even so.
    """
    if b"\r" in raw:
        raw = last_segment(raw)
    if len(raw) > MAX_LINE_BYTES:
        return None
    return _ESCAPE.sub(b"", raw) if b"\x1b" in raw else raw


def bounded_tail(tail: bytes) -> bytes:
    """The begin of a line without its end, shortened to what `visible` needs of it once the end is there."""
    if len(tail) <= MAX_LINE_BYTES:
        return tail
    is_closed = tail.endswith(b"\r")
    segment = last_segment(tail)[: MAX_LINE_BYTES + 1]
    return segment + b"\r" if is_closed else segment


def split_line(line: bytes) -> tuple[bytes, bytes, int]:
    """(prefix, text, n_marks) of a visible line.

    n_marks: 6 or 9 equals signs before the text; -1 before the text of a "[mssanitizer]" line; 0: neither.
    """
    first = line.find(b"======")
    if first >= 0 and line[first + 6 : first + 7] == b" " and (not first or _TOOL not in line[:first]):
        return line[:first], line[first + 6 :].strip(), 6
    at = line.find(_TOOL)
    found = _MARK.search(line, first) if first >= 0 else None
    if found is not None and (at < 0 or found.start() < at):
        return line[: found.start()], line[found.end() :].strip(), found.end() - found.start()
    if at >= 0:
        return line[:at], line[at + len(_TOOL) :].strip(), -1
    return b"", b"", 0


def pieces(text: bytes) -> list[bytes]:
    """The lines of a report that a web page joined to one; of all others the line itself. No comments."""
    parts = [text]
    if b"======" in text:
        first, *others = _NEXT_MARK.split(text)
        parts = [first, *(other.lstrip(b"=") for other in others)]
    return [_without_comment(part.strip()) for part in parts]


def _without_comment(text: bytes) -> bytes:
    if b"//" not in text:
        return text
    found = _COMMENT.search(text)
    return text[: found.start()].rstrip() if found else text


def stream_of(prefix: bytes) -> bytes:
    """What tells lines of one process from those of another: a short prefix without its times."""
    found = _BLANKS.sub(b" ", _TIMES.sub(b"", prefix.removeprefix(codecs.BOM_UTF8)))
    return _EMPTY_BRACKETS.sub(b"", found).strip()
