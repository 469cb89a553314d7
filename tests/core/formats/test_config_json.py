from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats import config_json
from npulse.core.formats.config_json import ConfigJson, Place, parse_config_json, read_config_json


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("json")


def read(folder: Path, content: bytes | str) -> ConfigJson:
    path = folder / "config.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_config_json(path, root=folder)


def test_everything_has_its_place(folder: Path) -> None:
    found = read(folder, '{\n  "a": [1, {"b": "x"}],\n\n  "c":\n    null}')
    assert found.value == {"a": [1, {"b": "x"}], "c": None}
    assert found.places == {
        ("a",): Place(2, 3),
        ("a", 0): Place(2, 9),
        ("a", 1): Place(2, 12),
        ("a", 1, "b"): Place(2, 13),
        ("c",): Place(4, 3),
    }
    assert found.repeated == ()


def test_the_last_of_two_keys_counts(folder: Path) -> None:
    found = read(folder, '{"a": 1,\n"b": 2,\n "a": 3}')
    assert found.value == {"a": 3, "b": 2}
    assert found.repeated == ((("a",), Place(3, 2)),)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gbk"])
def test_encodings(folder: Path, encoding: str) -> None:
    found = read(folder, '{\r\n"路径": "/数据"}'.encode(encoding))
    assert (found.value, found.places) == ({"路径": "/数据"}, {("路径",): Place(2, 1)})


@pytest.mark.parametrize(
    ("content", "line", "hint"),
    [
        ("", 1, "json.tool"),
        ('{"a": 1,\n}', 2, "comma"),
        ('{"a": [1,\n2,\n]}', 3, "comma"),
        ('{\n// note\n"a": 1}', 2, "comments"),
        ("{\n'a': 1}", 2, "double quotes"),
        ('{"a": True}', 1, "true"),
        ('{"a": "x', 1, "json.tool"),
        ('{"a" 1}', 1, "json.tool"),
        ('{"a": 1} x', 1, "json.tool"),
        ('{"a": 01}', 1, "json.tool"),
        ('{"a": -}', 1, "json.tool"),
    ],
)
def test_what_is_no_json_is_told_with_its_line(folder: Path, content: str, line: int, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        read(folder, content)
    assert caught.value.line == line
    assert hint in (caught.value.hint or "")


def test_bounds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = config_json.MAX_DEPTH
    assert read(folder, "[" * deep + "]" * deep).places
    for broken in ("[" * (deep + 2) + "]" * (deep + 2), "[" * 200_000, '{"a":' * 5000):
        with pytest.raises(InputError, match="too deep"):
            read(folder, broken)
    monkeypatch.setattr(config_json, "MAX_VALUES", 10)
    assert read(folder, json.dumps([0] * 9)).value == [0] * 9
    with pytest.raises(InputError, match="more than 10 values"):
        read(folder, json.dumps([0] * 10))
    monkeypatch.setattr(config_json, "MAX_TEXT_BYTES", 20)
    with pytest.raises(InputError, match="larger"):
        read(folder, "[1]" + " " * 20)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def flat(value: Any, path: tuple[Any, ...] = ()) -> set[tuple[Any, ...]]:
    found: set[tuple[Any, ...]] = set()
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        found.add((*path, key))
        if isinstance(inner, (dict, list)):
            found |= flat(inner, (*path, key))
    return found


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and bool(a == b)


@given(value=_JSON, indent=st.sampled_from([None, 0, 3]))
def test_values_are_those_of_the_standard_parser(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    found = parse_config_json(text, Path("x"))
    assert same(found.value, value)
    assert set(found.places) == (flat(value) if isinstance(value, (dict, list)) else set())
    lines = text.split("\n")
    for path, place in found.places.items():
        if isinstance(path[-1], str):
            assert lines[place.line - 1][place.column - 1 :].startswith(json.dumps(path[-1]))


WHOLE = b'{"task": "tensor", "step": [0, "5-10"], "tensor": {"list": ["a"], "x": 1.5e3, "y": null}}'


@given(content=st.binary(max_size=100), at=st.integers(0, len(WHOLE)), cut=st.integers(0, 5))
def test_no_bytes_break_it(folder: Path, content: bytes, at: int, cut: int) -> None:
    for raw in (content, WHOLE[:at], WHOLE[:at] + content, WHOLE[:at] + content + WHOLE[at + cut :]):
        try:
            found = read(folder, raw)
        except InputError:
            continue
        json.dumps(found.value).encode()


@given(text=st.text(max_size=40))
def test_it_takes_what_the_standard_parser_takes(text: str) -> None:
    try:
        wanted = json.loads(text)
    except ValueError:
        with pytest.raises(InputError):
            parse_config_json(text, Path("x"))
    else:
        assert same(parse_config_json(text, Path("x")).value, wanted)


def test_a_line_may_be_long(folder: Path) -> None:
    names = [f"layer{i}" for i in range(20_000)]
    assert read(folder, json.dumps({"dump": {"dump_list": [{"layer": names}]}})).places["dump",].line == 1
