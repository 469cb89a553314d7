"""Times that a polling loop prints: a line of `date` before each table, or a time in front of each line."""

from __future__ import annotations

import re
from datetime import datetime, timezone

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ISO = re.compile(
    r"\s{0,4}\[?(\d{4})[-/](\d\d)[-/](\d\d)[T _-](\d\d)[:.](\d\d)[:.](\d\d)(?:[.,](\d{1,9}))?"
    r"(Z|[+-]\d\d:?\d\d)?\]?[:,]?(?=\s|\||\+|$)"
)
_DATE = re.compile(
    r"\s{0,4}\[?(?:[A-Z][a-z]{2},? )?(?:([A-Z][a-z]{2}) {1,2}(\d{1,2})|(\d{1,2}) ([A-Z][a-z]{2}))"
    r"(?: (\d{4}))? (\d\d):(\d\d):(\d\d)(?: ([AP]M))?(?: ([A-Z]{1,5}|[+-]\d{2,4}))?(?: (\d{4}))?"
    r"\]?(?=\s|\||\+|$)"
)
_CHINESE = re.compile(
    r"\s{0,4}(\d{4})年\s?(\d{1,2})月\s?(\d{1,2})日\s?\S{0,3}\s(\d\d)[:时](\d\d)[:分](\d\d)秒?"
    r"(?: [A-Z]{1,5})?(?=\s|\||\+|$)"
)
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")


def time_in_front(text: str) -> tuple[int | None, str]:
    """(nanoseconds since 1970, the rest of the line); None and the line itself where no time begins it.

    A zone that is a number is taken off, one that is a name is not known to mean anything: UTC.
    """
    found = _ISO.match(text)
    if found is not None:
        year, month, day, hour, minute, second = (int(found[i]) for i in range(1, 7))
        ns = int((found[7] or "").ljust(9, "0"))
        time_ns = _ns(year, month, day, hour, minute, second, ns)
        if time_ns is not None and (offset := _OFFSET.fullmatch(found[8] or "")) is not None:
            shift = (int(offset[2]) * 60 + int(offset[3])) * 60 * 10**9
            time_ns -= shift if offset[1] == "+" else -shift
        return (None, text) if time_ns is None else (time_ns, text[found.end() :])
    found = _DATE.match(text)
    if found is not None:
        word, day_text, year_text = found[1] or found[4], found[2] or found[3], found[5] or found[11]
        if word in _MONTHS and year_text:
            hour = int(found[6])
            if found[9]:
                hour = hour % 12 + (12 if found[9] == "PM" else 0)
            month = _MONTHS.index(word) + 1
            time_ns = _ns(int(year_text), month, int(day_text), hour, int(found[7]), int(found[8]), 0)
            if time_ns is not None:
                return time_ns, text[found.end() :]
        return None, text
    found = _CHINESE.match(text)
    if found is not None:
        year, month, day, hour, minute, second = (int(found[i]) for i in range(1, 7))
        time_ns = _ns(year, month, day, hour, minute, second, 0)
        if time_ns is not None:
            return time_ns, text[found.end() :]
    return None, text


def _ns(year: int, month: int, day: int, hour: int, minute: int, second: int, ns: int) -> int | None:
    try:
        when = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    except ValueError:
        return None
    return int((when - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds()) * 10**9 + ns
