from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.findings import Problem
from npulse.core.formats import text_lines
from npulse.core.formats.text_lines import Block, LineNotes, line_blocks
from npulse.core.progress import Progress


def blocks_of(
    path: Path, content: bytes, max_bytes: int = 1 << 20
) -> tuple[list[Block], tuple[Problem, ...]]:
    path.write_bytes(content)
    notes = LineNotes("a.txt")
    blocks = list(line_blocks(path, notes, max_bytes=max_bytes))
    return blocks, notes.close()


def lines_of(path: Path, content: bytes) -> list[str]:
    blocks, problems = blocks_of(path, content)
    assert problems == ()
    return [line for block in blocks for line in block.lines]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines") / "a.txt"


TEXT = "名称,值\n张量 a,1\n\nb,2\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk", "utf-16"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_every_encoding_and_line_end_gives_the_same_lines(path: Path, encoding: str, line_end: str) -> None:
    content = TEXT.replace("\n", line_end).encode(encoding)
    assert lines_of(path, content) == ["名称,值", "张量 a,1", "", "b,2"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_plain_utf16_without_a_mark(path: Path, encoding: str) -> None:
    assert lines_of(path, "name,step\na,1\n".encode(encoding)) == ["name,step", "a,1"]


def test_lines_of_two_encodings_in_one_file(path: Path) -> None:
    """In GBK the middle one alone would pass for UTF-8."""
    content = "张量\n".encode() + "值\n张量\n".encode("gbk") + b"x\n"
    assert lines_of(path, content) == ["张量", "值", "张量", "x"]


def test_a_last_line_without_end_comes_alone(path: Path) -> None:
    assert blocks_of(path, b"a\nb\nc\r") == ([Block(1, ["a", "b"]), Block(3, ["c"], True)], ())
    assert blocks_of(path, b"") == ([], ())


def test_a_line_that_no_encoding_reads_is_told(path: Path) -> None:
    blocks, problems = blocks_of(path, b"a\nb\xff\xffc\nd\n")
    assert blocks[0].lines[::2] == ["a", "d"] and "c" in blocks[0].lines[1]
    assert [(p.kind, p.line) for p in problems] == [("encoding", 2)]


@pytest.mark.parametrize("letter", ["x", "值"])
@pytest.mark.parametrize("n_chars", [65_537, 2_000_000])
def test_a_line_too_long_is_blank_and_told(path: Path, letter: str, n_chars: int) -> None:
    blocks, problems = blocks_of(path, f"a\n{letter * n_chars}\nb\n".encode(), 1 << 30)
    assert [line for block in blocks for line in block.lines] == ["a", "", "b"]
    assert [(p.kind, p.line) for p in problems] == [("too-large", 2)]


def test_what_lies_behind_the_bound_is_told(path: Path) -> None:
    blocks, problems = blocks_of(path, b"abc\ndef\nghi\n", max_bytes=6)
    assert blocks == [Block(1, ["abc"]), Block(2, ["de"], True)]
    assert [p.kind for p in problems] == ["limit"]
    assert blocks_of(path, b"abc\n", max_bytes=4) == ([Block(1, ["abc"])], ())


def test_blocks_are_numbered_through(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_lines, "BLOCK_BYTES", 7)
    content = b"".join(b"line %d\n" % i for i in range(50))
    blocks, _ = blocks_of(path, content)
    assert len(blocks) > 10
    numbered = [(block.first + i, line) for block in blocks for i, line in enumerate(block.lines)]
    assert numbered == [(i + 1, f"line {i}") for i in range(50)]


def test_only_the_first_problems_are_kept(path: Path) -> None:
    _, problems = blocks_of(path, b"\xff\xff\n" * 50)
    assert len(problems) == 21 and problems[-1].message == "30 more problems in this file"


def test_progress_and_cancel(path: Path) -> None:
    path.write_bytes(b"a\nb\n")
    seen: list[Progress] = []
    list(line_blocks(path, LineNotes(""), max_bytes=99, progress=seen.append))
    assert [(p.done, p.total, p.unit) for p in seen] == [(4, 4, "bytes")]
    with pytest.raises(Cancelled):
        list(line_blocks(path, LineNotes(""), max_bytes=99, is_cancelled=lambda: True))


def test_only_regular_files_of_the_run_are_opened(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "outside.txt").write_text("x\n")
    link = tmp_path / "run" / "a.txt"
    link.symlink_to(tmp_path / "outside.txt")
    for path in (link, tmp_path / "run", tmp_path / "run" / "missing", tmp_path / "run" / "a\0b"):
        with pytest.raises(InputError):
            list(line_blocks(path, LineNotes(""), root=tmp_path / "run", max_bytes=99))


@given(content=st.binary(max_size=400))
def test_no_bytes_break_it_and_lines_are_numbered_in_order(path: Path, content: bytes) -> None:
    blocks, _ = blocks_of(path, content)
    at = 1
    for block in blocks:
        assert block.first == at and block.lines and not any("\n" in line for line in block.lines)
        at += len(block.lines)
        assert not block.is_unfinished or (block is blocks[-1] and len(block.lines) == 1)
    "".join(line for block in blocks for line in block.lines).encode()
