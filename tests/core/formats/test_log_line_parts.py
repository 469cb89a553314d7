"""The parts of line cutting that several readers of logs share."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.formats import log_lines
from npulse.core.formats.log_lines import Finders, LogNotes, decoded, last_segment, long_line, windows
from npulse.core.progress import Progress, ignore_progress, never_cancelled

SIZES = st.sampled_from([0, 1, 5, log_lines.MAX_LINE_BYTES - 1, log_lines.MAX_LINE_BYTES])
LONG = st.sampled_from([log_lines.MAX_LINE_BYTES + 1, 2 * log_lines.MAX_LINE_BYTES + 3])


@given(st.lists(SIZES | LONG, min_size=1, max_size=8), st.data())
def test_the_first_line_that_is_too_long(sizes: list[int], data: st.DataObject) -> None:
    block = b"".join(b"x" * size + b"\n" for size in sizes)
    begins = [sum(size + 1 for size in sizes[:n]) for n in range(len(sizes) + 1)]
    first = data.draw(st.integers(0, len(sizes)))
    last = data.draw(st.integers(first, len(sizes)))
    long = [begins[n] for n in range(first, last) if sizes[n] > log_lines.MAX_LINE_BYTES]
    assert long_line(block + b"rest", begins[first], begins[last]) == (long[0] if long else begins[last])


@given(st.lists(st.sampled_from([b"\r", b"\r\r", b"a", b"bc", b" "]), max_size=12))
def test_the_last_segment_is_what_a_terminal_shows(parts: list[bytes]) -> None:
    raw = b"".join(parts)
    assert last_segment(raw) == raw.rstrip(b"\r").split(b"\r")[-1]


@given(st.lists(st.sampled_from([b"a", b"ab", b"c", b"-", b"1", b"22"]), max_size=30), st.data())
def test_finders_find_the_next_place(parts: list[bytes], data: st.DataObject) -> None:
    block = b"".join(parts)
    finders = Finders(block, (b"ab", b"c"), (re.compile(b"[0-9]+"),))
    for at in sorted(data.draw(st.lists(st.integers(0, len(block)), max_size=10))):
        found = re.compile(b"ab|c|[0-9]").search(block, at)
        assert finders.first_from(at) == (found.start() if found else -1)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", ("", True)),
        ("张量 1".encode(), ("张量 1", True)),
        ("张量 1".encode("gbk"), ("张量 1", True)),
        (b"a\xff\xff", ("a\ufffd\ufffd", False)),
    ],
)
def test_text_in_either_encoding(raw: bytes, expected: tuple[str, bool]) -> None:
    assert decoded(raw) == expected


def test_windows_up_to_the_first_failure() -> None:
    content = b"0123456789"
    notes = LogNotes("a.log")
    seen: list[Progress] = []

    def read(at: int, n_bytes: int) -> bytes:
        if at >= 6:
            raise InputError("the disk fails")
        return content[at : at + n_bytes]

    found = list(windows(read, 10, 3, notes.stopped, seen.append, never_cancelled))
    assert found == [b"012", b"345"]
    assert seen == [Progress("read", 3, 10, "bytes"), Progress("read", 6, 10, "bytes")]
    assert [(p.kind, p.message, p.byte) for p in notes.told()] == [("unreadable", "the disk fails", 6)]


def test_windows_that_nobody_waits_for() -> None:
    asked = iter([False, True])
    found = windows(
        lambda at, n: b"x" * n, 10, 4, LogNotes("a").stopped, ignore_progress, lambda: next(asked)
    )
    assert next(found) == b"xxxx"
    with pytest.raises(Cancelled):
        next(found)
