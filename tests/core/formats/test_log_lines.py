from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.formats import log_lines
from npulse.core.formats.log_lines import (
    Line,
    LineCutter,
    LogNotes,
    Origin,
    bounded,
    log_windows,
    split_prefix,
    text_of,
)
from npulse.core.progress import Progress, ignore_progress, never_cancelled


def cut(
    content: bytes, sizes: list[int] | None = None, words: tuple[bytes, ...] = (b"hit",), pattern: bytes = b""
) -> tuple[list[Line], LogNotes]:
    """The wanted lines of `content`, fed in chunks of these sizes (the rest at once)."""
    notes = LogNotes("a.log")
    cutter = LineCutter(notes, words, (re.compile(pattern),) if pattern else ())
    found: list[Line] = []
    at = 0
    for size in sizes or []:
        found += cutter.feed(content[at : at + size])
        at += size
    found += cutter.feed(content[at:])
    found += cutter.finish()
    return found, notes


def told(notes: LogNotes) -> list[tuple[str, int | None, int | None]]:
    return [(problem.kind, problem.line, problem.byte) for problem in notes.told()]


def test_only_lines_with_a_word_or_a_pattern_come_out() -> None:
    content = b"a\nfirst hit hit\n\nb\nE1234: x\nlast hit"
    found, notes = cut(content, words=(b"hit", b"nowhere"), pattern=rb"E\d{4}: ")
    assert found == [Line(2, 2, b"first hit hit"), Line(5, 19, b"E1234: x"), Line(6, 28, b"last hit")]
    assert told(notes) == []


def test_without_words_every_line_that_is_not_empty_comes_out() -> None:
    assert cut(b"a\n\nb\r\n", words=())[0] == [Line(1, 0, b"a"), Line(3, 3, b"b")]


def test_a_lone_carriage_return_ends_a_line_that_does_not_count() -> None:
    found, _ = cut(b"\r10% hit\r20%\r30% hit\r\nnext hit\n")
    assert found == [Line(1, 1, b"10% hit"), Line(1, 13, b"30% hit"), Line(2, 22, b"next hit")]


@pytest.mark.parametrize(
    ("encoding", "mark_bytes", "width"), [("utf-8-sig", 3, 1), ("utf-16", 2, 2), ("utf-8", 0, 1)]
)
def test_byte_order_marks_and_utf16(encoding: str, mark_bytes: int, width: int) -> None:
    content = "one\ntwo hit 核\nthree hit\n".encode(encoding)
    found, notes = cut(content)
    second = mark_bytes + 4 * width
    third = second + (10 * width if width == 2 else 12)
    assert [(line.number, line.byte) for line in found] == [(2, second), (3, third)]
    assert [text_of(line, notes) for line in found] == ["two hit 核", "three hit"]
    for at in range(len(content)):
        assert cut(content, [at])[0] == found


def test_gbk_and_broken_lines() -> None:
    notes = LogNotes("a.log")
    assert text_of(Line(1, 0, "错误 hit".encode("gbk")), notes) == "错误 hit"
    assert told(notes) == []
    assert text_of(Line(7, 30, b"\xff\xff hit"), notes) == "\ufffd\ufffd hit"
    assert told(notes) == [("encoding", 7, 30)]


def test_colours_are_taken_out() -> None:
    raw = b"\x1b[31mred\x1b[0m \x1b[38;5;12mhit\x1b]0;title\x07\x1bM"
    assert text_of(Line(1, 0, raw), LogNotes("a")) == "red hit"
    assert text_of(Line(1, 0, b"\x1b[99"), LogNotes("a")) == "\x1b[99"


# ---- lines that are too long ----


def test_a_line_that_is_too_long_is_left_out_and_told_if_it_would_have_been_wanted() -> None:
    limit = log_lines.MAX_LINE_BYTES
    content = b"hit" + b"x" * limit + b"\n" + b"y" * (2 * limit) + b"\nhit\n" + b"z" * limit + b"hit"
    found, notes = cut(content)
    assert found == [Line(3, 3 * limit + 5, b"hit")]
    assert told(notes) == [("too-large", 1, 0), ("too-large", 4, 3 * limit + 9)]
    for size in (1000, limit - 1, limit, limit + 1, limit + 7):
        again, more = cut(content, [size] * (len(content) // size))
        assert (again, told(more)) == (found, told(notes))


def test_a_line_of_just_the_limit_is_kept() -> None:
    content = b"hit" + b"x" * (log_lines.MAX_LINE_BYTES - 3)
    assert cut(content + b"\n")[0] == [Line(1, 0, content)]
    assert cut(content)[0] == [Line(1, 0, content)]


def test_a_word_across_the_cuts_of_a_long_line_is_seen() -> None:
    content = b"x" * (log_lines.MAX_LINE_BYTES + 10) + b"hit" + b"x" * 100
    for at in range(log_lines.MAX_LINE_BYTES + 8, log_lines.MAX_LINE_BYTES + 16):
        assert told(cut(content, [at])[1]) == [("too-large", 1, 0)]


def test_wanting_all_lines_can_begin_and_end_between_two_lines() -> None:
    cutter = LineCutter(LogNotes("a"), (b"hit",))
    found = []
    for line in cutter.feed(b"a\nhit\nb\nc\nd\nhit 2\n"):
        found.append(line.raw)
        cutter.wants_all = line.raw in (b"hit", b"b")
    assert found == [b"hit", b"b", b"c", b"hit 2"]


@given(
    st.lists(st.sampled_from([b"hit", b"hi", b"t", b"\n", b"\r", b"E1: ", b"\xe6\xa0\xb8", b"\x00"])),
    st.data(),
)
def test_any_cut_gives_the_same_lines(parts: list[bytes], data: st.DataObject) -> None:
    content = b"".join(parts)
    sizes = data.draw(st.lists(st.integers(1, 5), max_size=len(content)))
    whole, notes = cut(content, pattern=rb"E\d: ")
    assert cut(content, sizes, pattern=rb"E\d: ")[0] == whole
    lines_there = re.split(rb"\r|\n", content)
    assert [line.raw for line in whole] == [raw for raw in lines_there if b"hit" in raw or b"E1: " in raw]
    for line in whole:
        assert content[line.byte :].startswith(line.raw)
        assert content.count(b"\n", 0, line.byte) == line.number - 1


# ---- notes, texts, prefixes ----


def test_only_the_first_problems_are_kept() -> None:
    notes = LogNotes("a.log")
    for line in range(30):
        notes.add("encoding", "bad", line)
    assert len(notes.told()) == 21
    assert notes.told()[-1].message == "10 more problems in this file"


def test_texts_are_safe_and_bounded() -> None:
    assert bounded(" a\x1b[0mb\x00 ") == "a\u241b[0mb\ufffd"
    assert len(bounded("x" * 100_000)) == 4096


@pytest.mark.parametrize(
    ("text", "name", "pid", "rest"),
    [
        ("(WorkerProc pid=7)         The extend", "WorkerProc pid=7", 7, "        The extend"),
        ("(Core pid=12) ERROR 10-28 10:45:49 [v1/core.py:710]     x = 1", "Core pid=12", 12, "    x = 1"),
        ("[rank0]:[E107 02:38:42] NPU", "[rank0]", None, "[E107 02:38:42] NPU"),
        ("[default3]:   File", "[default3]", None, "  File"),
        ("[1,3]<stderr>:text", "[1,3]<stderr>", None, "text"),
        ("3: text", "3", None, "text"),
        ("server-1  | (APIServer pid=3) x", "server-1 APIServer pid=3", 3, "x"),
        ("2026-01-20 02:28:06,512 text", "", None, "text"),
        ('  File "a.py", line 3, in f', "", None, '  File "a.py", line 3, in f'),
        ("[ERROR] RUNTIME(1,a):", "", None, "[ERROR] RUNTIME(1,a):"),
        ("", "", None, ""),
    ],
)  # fmt: skip
def test_what_launchers_put_in_front(text: str, name: str, pid: int | None, rest: str) -> None:
    assert split_prefix(text) == (Origin(name, pid), rest)


# ---- files ----


def test_windows_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "WINDOW_BYTES", 10)
    path = tmp_path / "a.log"
    path.write_bytes(b"0123456789abcdefghijKLM")
    seen: list[Progress] = []
    windows = list(log_windows(path, tmp_path, LogNotes("a"), seen.append, never_cancelled))
    assert windows == [b"0123456789", b"abcdefghij", b"KLM"]
    assert [(p.done, p.total, p.unit) for p in seen] == [
        (10, 23, "bytes"),
        (20, 23, "bytes"),
        (23, 23, "bytes"),
    ]


def test_a_file_that_becomes_shorter_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "WINDOW_BYTES", 4096)
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * 10_000)
    notes = LogNotes("a.log")
    windows = log_windows(path, tmp_path, notes, ignore_progress, never_cancelled)
    assert len(next(windows)) == 4096
    path.write_bytes(b"x" * 5000)
    assert list(windows) == []
    assert told(notes) == [("cut-off", None, 4096)]


def test_no_way_out_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "run" / "a.log").symlink_to(tmp_path / "secret")
    for path in (tmp_path / "run" / "a.log", tmp_path / "run" / ".." / "secret", tmp_path / "run" / "none"):
        with pytest.raises(InputError):
            list(log_windows(path, tmp_path / "run", LogNotes("a"), ignore_progress, never_cancelled))


def test_cancelling(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"x")
    with pytest.raises(Cancelled):
        list(log_windows(tmp_path / "a.log", None, LogNotes("a"), ignore_progress, lambda: True))
