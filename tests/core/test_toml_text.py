"""TOML by hand: what is wrong with it, and on which line a key stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.toml_text import line_of, lines_of_list, loads_toml, parse_toml, read_toml


def test_lines_of_keys_that_are_not_there_are_those_around_them() -> None:
    text = "[a]\nx = 1\n[a.b]\ny.z = 2\n"
    keys = (("a", "x"), ("a", "b", "y", "z"), ("a", "q"), ("q",))
    assert [line_of(text, key) for key in keys] == [2, 4, 1, None]


def test_lines_of_tables_in_a_list() -> None:
    text = '[[x]]\na = 1\n[x.b]\nc = 1\n[y]\na = 2\n[[x]]\n\'a\' = 3\nt = """\n[[x]]\n"""\n[[z]]\na = 4\n'
    loads_toml(text)
    assert lines_of_list(text, "x") == [{"": 1, "a": 2, "b": 3}, {"": 7, "a": 8, "t": 9}]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a = 1\nb = \n", 2, "this is no TOML: Invalid value"),
        ("[a]\n\n[a", 3, "this is no TOML"),
        ("[a]\nb = 1\nb = 2\n", 3, "a.b: stands here a second time"),
        ("[[a]]\nb = 1\n[[a]]\nb = 1\nb = 2\n", 5, "a.b: stands here a second time"),
        ("a = " + "[" * 5000, None, "nested too deep"),
    ],
)
def test_a_text_that_is_none(text: str, line: int | None, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_toml(text, "some.toml", hint="so")
    error = caught.value
    assert words in error.message and (error.path, error.line, error.hint) == ("some.toml", line, "so")


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xef\xbb\xbfa = 1\r\n")
    assert read_toml(path, 100, "a list") == ({"a": 1}, "a = 1\r\n")
    with pytest.raises(InputError, match="a list of more than 9 bytes"):
        read_toml(path, 9, "a list")
    path.write_bytes(b"a = 1\n# \xff\n")
    with pytest.raises(InputError, match="line 2: a list is UTF-8"):
        read_toml(path, 100, "a list")


@given(st.text(st.sampled_from("[]=.\"'#\n ab1"), max_size=40))
def test_any_text_is_read_or_told(text: str) -> None:
    try:
        parse_toml(text, "x")
    except InputError as error:
        assert error.line is None or 1 <= error.line <= text.count("\n") + 1
