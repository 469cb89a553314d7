"""Which encoding a text is said to be in, and what its lines read as."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.encodings import SHOWN, line_text, utf16_decoder, without_mark

HEADER = "Device_id,OP Type\n"


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        (HEADER.encode(), "utf-8"),
        (codecs.BOM_UTF8 + HEADER.encode(), "utf-8-sig"),
        (codecs.BOM_UTF16_LE + HEADER.encode("utf-16-le"), "utf-16-le"),
        (codecs.BOM_UTF16_BE + HEADER.encode("utf-16-be"), "utf-16-be"),
        (HEADER.encode("utf-16-le"), "utf-16-le"),
        (HEADER.encode("utf-16-be"), "utf-16-be"),
        (HEADER.encode("gbk"), "utf-8"),
        (b"", "utf-8"),
        (b"a\0b\0c\0", "utf-8"),  # too few to say
        (bytes(64), "utf-8"),
    ],
)
def test_the_encoding_of_the_first_bytes(head: bytes, encoding: str) -> None:
    rest, found = without_mark(head)
    assert found == encoding
    assert (utf16_decoder(found) is not None) == encoding.startswith("utf-16")
    if head.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        assert rest.decode("utf-8" if encoding == "utf-8-sig" else encoding) == HEADER
    else:
        assert rest == head


def test_a_line_in_either_encoding() -> None:
    assert line_text("张量".encode(), is_among_gbk=False) == ("张量", "utf-8")
    assert line_text("自定义_旋转编码".encode("gbk"), is_among_gbk=False) == ("自定义_旋转编码", "gb18030")
    text, encoding = line_text(b"a\xff\xff", is_among_gbk=True)
    assert (text[0], encoding) == ("a", "")


def test_bytes_that_are_both_follow_their_neighbours() -> None:
    """The two bytes of this character in GBK are a letter in UTF-8."""
    both = "莫".encode("gbk")
    assert both.decode("utf-8") == "\u012a"
    assert line_text(both, is_among_gbk=True) == ("莫", "gb18030")
    assert line_text(both, is_among_gbk=False) == (both.decode("utf-8"), "utf-8")


def test_encodings_as_people_are_told_them() -> None:
    assert SHOWN["gb18030"] == "gb18030/gbk" and SHOWN["utf-8-sig"] == "utf-8 with BOM"
    assert SHOWN["utf-16-le"] == SHOWN["utf-16-be"] == "utf-16"


@given(raw=st.binary(max_size=80), is_among_gbk=st.booleans())
def test_no_bytes_break_it(raw: bytes, is_among_gbk: bool) -> None:
    rest, encoding = without_mark(raw)
    assert raw.endswith(rest)
    text, told = line_text(raw, is_among_gbk=is_among_gbk)
    if told:
        assert text.encode(told) == raw or told == "gb18030"
    text.encode()
