"""Pieces of a log that hold no line of another tool: never one too many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.log_lines import LineCutter, LogNotes
from npulse.core.memory import report_lines
from npulse.core.memory.report_lines import MARK, WORDS, ReportLines

LINES = st.sampled_from(
    [
        *(b"", b"====== ERROR: illegal read of size 4", b"======    #0 a.cpp:1:2", b"=====", b"== x"),
        *(b"step 3 loss 0.1", b"Task run failed", b"======    #0 /x[ERROR] rror", b" ====== ERROR: x"),
        *(
            b"======    at 0x1 on GM in Traceback",
            b"Direct leak of 2.0 Mb(s)",
            b"======\r",
            b"[mssanitizer] x",
        ),
    ]
)


def is_ours(line: bytes) -> bool:
    return (not line or line.startswith(MARK)) and not any(word in line for word in WORDS)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({min(place, len(data)) for place in places} | {len(data)})
    return [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]


@given(st.lists(LINES, max_size=30), st.lists(st.integers(0, 600), max_size=8), st.booleans())
def test_every_foreign_line_ends_in_a_piece_that_is_looked_at(
    lines: list[bytes], places: list[int], has_end: bool
) -> None:
    data = b"\n".join(lines) + (b"\n" if has_end else b"")
    cutter, at, looked_at = ReportLines(), 0, []
    for chunk in cut(data, places):
        pieces = cutter.split(chunk)
        assert b"".join(piece for piece, _ in pieces) == chunk
        for piece, may_hold_others in pieces:
            assert may_hold_others or piece.endswith(b"\n")
            looked_at += [may_hold_others] * len(piece)
            at += len(piece)
    byte = 0
    for line in data.split(b"\n")[:-1]:
        end = byte + len(line)  # where its line end stands
        assert is_ours(line) or looked_at[end]
        byte = end + 1


def test_a_log_of_reports_alone_is_not_looked_at() -> None:
    data = b"====== ERROR: illegal read of size 4\n======    #0 a.cpp:1:2\n\n" * 1000
    assert [flag for _, flag in ReportLines().split(data)] == [False]
    with_one = data + b"Task run failed\n" + data
    assert [flag for _, flag in ReportLines().split(with_one)] == [False, True, False]


def test_a_program_log_is_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_lines, "MAX_FOREIGN_LINES", 10)
    data = b"====== ERROR: illegal read of size 4\n" + b"step\n" * 50
    assert ReportLines().split(data) == [(data, True)]


@given(
    st.lists(st.tuples(st.lists(st.sampled_from([b"a", b"bc", b"", b"word here", b"x\r"]), max_size=6))),
    st.binary(max_size=3),
)
def test_passing_over_counts_as_feeding_does(groups: list[tuple[list[bytes]]], tail: bytes) -> None:
    """Pieces without the word are passed over by one cutter and fed to the other."""
    told = []
    for may_pass in (False, True):
        lines = LineCutter(LogNotes("a.log"), (b"word",))
        found = []
        for (group,) in groups:
            piece = b"".join(line + b"\n" for line in group)
            step = lines.pass_over if may_pass and b"word" not in piece else lines.feed
            found += list(step(piece))
        found += list(lines.feed(tail + b"\nword\n")) + list(lines.finish())
        told.append([(line.number, line.byte, line.raw) for line in found])
    assert told[0] == told[1]
