from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from npulse.core.run.peek import columns, json_keys, looks_closed, peek, workbook_texts


def test_head_and_tail_are_bounded_and_do_not_overlap(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(bytes(range(100)))
    seen = peek(str(file), head=10, tail=20)
    assert seen is not None
    assert (seen.head, seen.tail, seen.size_bytes) == (bytes(range(10)), bytes(range(80, 100)), 100)
    seen = peek(str(file), head=90, tail=20)
    assert seen is not None and seen.tail == bytes(range(90, 100))
    seen = peek(str(file), head=200, tail=20)
    assert seen is not None and seen.tail == b"" and seen.end == bytes(range(100))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert peek(str(tmp_path / "pipe")) is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    (tmp_path / "link").symlink_to("f")
    with pytest.raises(OSError):
        peek(str(tmp_path / "link"))
    assert peek(str(tmp_path / "link"), follow=True) is not None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_column_names_in_any_encoding(encoding: str) -> None:
    head = '"Device_id",OP Type\t, 超参名称 \r\n1,2,3\r\n'.encode(encoding)
    assert columns(head) == {"device_id", "op type", "超参名称"}


def test_json_keys_of_a_cut_text() -> None:
    keys = json_keys(b'{"task": "tensor", "a\\"b": [{"in": {"deep": 1}}], "data": {"x": {"y": "cut')
    assert keys is not None
    assert keys.shape == "object"
    assert keys.top == {"task", 'a\\"b', "data"}
    assert keys.inner == {"in", "deep", "x", "y"}
    assert keys.first == "task"
    keys = json_keys(b'[{"ph": "X", "args": {"name": 1}}, {"pid"')
    assert keys is not None
    assert keys.shape == "array"
    assert keys.top == {"ph", "args"} and keys.inner == {"name"}
    assert json_keys(b"no json") is None


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        (b'{\n "data": {\n  "a": {}\n }\n}', True),
        (b'{\n "data": {\n  "a": {}\n }\n}\n', True),
        (b'{\n "data": {\n  "a": {}\n }', False),
        (b'{\n "data": {\n  "a": {}', False),
        (b'{"a": [1, 2', False),
        (b'[{"a": 1}]', True),
        (b'[{"a": 1},', False),
        (b"", False),
    ],
)
def test_ends_of_json(text: bytes, closed: bool) -> None:
    assert looks_closed(text) is closed


def test_workbook_texts_are_read_from_shared_and_inline_strings(tmp_path: Path) -> None:
    book = tmp_path / "b.xlsx"
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", '<sheets><sheet name="Part_0" sheetId="1"/></sheets>')
        archive.writestr("xl/sharedStrings.xml", "<sst><si><t>NPU Name</t></si></sst>")
        archive.writestr("xl/worksheets/sheet1.xml", '<c><is><t xml:space="preserve">Bench Name</t></is></c>')
    texts = workbook_texts(str(book))
    assert texts is not None and {"npu name", "bench name", "sheet:part_0"} <= texts


def test_a_workbook_that_unpacks_to_a_lot_is_read_in_part(tmp_path: Path) -> None:
    book = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"<t>first</t>" + b" " * 50_000_000 + b"<t>last</t>")
    texts = workbook_texts(str(book))
    assert texts is not None and "first" in texts and "last" not in texts


@pytest.mark.parametrize("raw", [b"PK\x03\x04 cut", b"", b"PK\x05\x06" + b"\xff" * 18])
def test_a_broken_workbook_has_no_texts(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "b.xlsx").write_bytes(raw)
    assert workbook_texts(str(tmp_path / "b.xlsx")) is None
