from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats import source_text
from npulse.core.formats.source_text import MAX_LINE_CHARS, MAX_LINES, SourceText, read_lines
from npulse.core.text import UNSAFE_CODES

TEXT = "int a;\n  // 越界\n\nint b;\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.cpp"


def read(path: Path, content: bytes, first: int = 1, last: int = 99) -> SourceText:
    path.write_bytes(content)
    return read_lines(path, path.parent, first, last)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        *(("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("gbk", "gb18030")),
        *(("utf-16", "utf-16-le"), ("utf-16-be", "utf-16-be")),
    ],
)
def test_every_encoding_gives_the_same_lines(path: Path, encoding: str, name: str, line_end: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    text = read(path, (mark + TEXT.replace("\n", line_end)).encode(encoding))
    assert text.lines == ((1, "int a;"), (2, "  // 越界"), (3, ""), (4, "int b;"))
    assert (text.n_lines, text.encoding, text.cut_lines) == (4, name, ())


@pytest.mark.parametrize(
    ("first", "last", "numbers"),
    [(2, 3, [2, 3]), (-5, 1, [1]), (4, 9, [4]), (5, 9, []), (3, 2, []), (4, 4, [4])],
)
def test_only_lines_that_are_there(path: Path, first: int, last: int, numbers: list[int]) -> None:
    text = read(path, TEXT.encode(), first, last)
    assert [number for number, _ in text.lines] == numbers
    assert text.n_lines == 4


def test_the_number_of_lines_is_bounded(path: Path) -> None:
    text = read(path, b"x\n" * (MAX_LINES + 10), 5, 10**9)
    assert (text.lines[0], len(text.lines), text.n_lines) == ((5, "x"), MAX_LINES, MAX_LINES + 10)


def test_a_last_line_without_end_is_a_line(path: Path) -> None:
    assert read(path, b"a\nb").lines == ((1, "a"), (2, "b"))
    assert (read(path, b"").lines, read(path, b"").n_lines) == ((), 0)


def test_a_form_feed_begins_no_line(path: Path) -> None:
    """Compilers count line feeds alone."""
    assert read(path, "a\fb\u2028c\n d\n".encode()).n_lines == 2


def test_nothing_reaches_the_terminal_as_control(path: Path) -> None:
    content = "\x1b]52;c;AAAA\x07\x1b[2Jx\u202e\x9b1m\rz".encode()
    ((_, line),) = read(path, content).lines
    assert not {ord(c) for c in line} & set(UNSAFE_CODES)
    assert "x" in line and "z" in line


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "a.cpp"
    try:
        text = read(path, content)
    except InputError as error:
        assert error.message == "not a text" and b"\0" in content
        return
    assert not {ord(c) for _, line in text.lines for c in line} & set(UNSAFE_CODES)
    if not text.encoding.startswith("utf-16"):
        whole = content.removeprefix(b"\xef\xbb\xbf")
        assert text.n_lines == whole.count(b"\n") + (whole[-1:] not in (b"", b"\n"))


def test_a_long_line_is_cut_and_said_to_be(path: Path) -> None:
    text = read(path, b"a\n" + b"x" * 50_000_00 + b"\nb\n" + b"y" * MAX_LINE_CHARS + b"\n")
    assert [len(line) for _, line in text.lines] == [1, MAX_LINE_CHARS, 1, MAX_LINE_CHARS]
    assert text.cut_lines == (2,)
    assert text.lines[1][1].endswith("\N{HORIZONTAL ELLIPSIS}") and text.lines[3][1].endswith("y")


@pytest.mark.parametrize(
    ("line", "encoding", "word"),
    [
        ("        Store(x);", "utf-8", "Store"),
        ("\t\tStore(x);", "utf-8", "Store"),
        (" \t/* 越界 */ Store(x);", "utf-8", "Store"),
        ("/* 越界 */\tStore(x);", "gbk", "Store"),
    ],
)
def test_a_column_in_bytes_is_found_in_the_shown_text(
    path: Path, line: str, encoding: str, word: str
) -> None:
    raw = line.encode(encoding)
    text = read(path, b"first\n" + raw + b"\n", 2, 2)
    index = text.index_at(2, raw.index(word.encode()) + 1)
    assert index is not None and text.lines[0][1][index:].startswith(word)


def test_columns_that_are_not_there(path: Path) -> None:
    text = read(path, b"abc\ndef\n", 2, 2)
    assert text.index_at(2, 3) == 2
    assert [text.index_at(*place) for place in ((2, 4), (2, 0), (1, 1), (3, 1))] == [None] * 4


def test_what_is_no_text_or_too_large_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="not a text"):
        read(path, b"\x7fELF\0\0\0")
    monkeypatch.setattr(source_text, "MAX_FILE_BYTES", 10)
    assert read(path, b"0123456789").n_lines == 1
    with pytest.raises(InputError, match="11 bytes; up to 10"):
        read(path, b"0123456789a")


def test_a_link_out_of_the_root_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.cpp").write_text("secret")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link.cpp").symlink_to(tmp_path / "secret.cpp")
    (root / "inside.cpp").write_text("mine")
    (root / "inner.cpp").symlink_to(root / "inside.cpp")
    for name in ("link.cpp", "../secret.cpp"):
        with pytest.raises(InputError, match="out of the source folder") as caught:
            read_lines(root / name, root, 1, 1)
        assert caught.value.hint is not None and "--source-root" in caught.value.hint
    assert read_lines(root / "inner.cpp", root, 1, 1).lines == ((1, "mine"),)


def test_pipes_folders_and_missing_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.cpp")
    for name in ("pipe.cpp", ".", "none.cpp", "a\0b"):
        with pytest.raises(InputError):
            read_lines(tmp_path / name, tmp_path, 1, 1)
