"""Walking down a JSON file against the whole-file parser, on good files, cut and broken ones."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.findings import Problem
from npulse.core.formats.profiling.nested_json import nested_objects

MARK = "Time Info"


def walk(path: Path, **options: Any) -> tuple[list[Any], list[Problem]]:
    problems: list[Problem] = []
    return list(nested_objects(path, problems, (MARK,), **options)), problems


def walk_text(text: str | bytes, path: Path, **options: Any) -> tuple[list[Any], list[Problem]]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return walk(path, **options)


def by_hand(value: dict[str, Any], place: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Objects whose first key is the mark or has no object, by the standard library."""
    found = []
    for key, inner in value.items():
        if not isinstance(inner, dict) or not inner:
            continue
        first = next(iter(inner))
        if first == MARK or not isinstance(inner[first], dict):
            found.append(((*place, key), inner))
        else:
            found += by_hand(inner, (*place, key))
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "communication.json"


records = st.builds(
    lambda time, rest: {MARK: time, **rest},
    st.dictionaries(st.text(), st.integers() | st.booleans() | st.none() | st.text(), max_size=3),
    st.dictionaries(st.text(), st.lists(st.integers(), max_size=3) | st.text(), max_size=3),
)
levels = st.recursive(
    records, lambda inside: st.dictionaries(st.text(), inside, max_size=4), max_leaves=10
).filter(lambda value: MARK not in value)


@given(
    value=levels,
    indent=st.sampled_from([None, 0, 2, "\t"]),
    is_ascii=st.booleans(),
    window=st.integers(16, 400),
)
def test_equals_whole_file_parser(
    tmp_path_factory: pytest.TempPathFactory, value: Any, indent: Any, is_ascii: bool, window: int
) -> None:
    path = tmp_path_factory.mktemp("nested") / "a.json"
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    found, problems = walk_text(text.encode("utf-8", "surrogatepass"), path, window_bytes=window)
    depth = max((len(place) for place, _ in by_hand(value)), default=0)
    if depth > 8:
        assert {p.kind for p in problems} == {"too-deep"}
        return
    want = by_hand(json.loads(text))
    if any("\ud800" <= c <= "\udfff" for c in text):  # no UTF-8: what it reads as is told
        return
    assert [(place, inner) for _, place, inner in found] == want
    assert not problems
    raw = path.read_bytes()
    assert all(raw[byte : byte + 1] == b"{" for byte, _, _ in found)


def test_numbers_stay_exact(file: Path) -> None:
    found, _ = walk_text('{"a": {"Time Info": 1764246878131995.320, "n": 12345678901234567890}}', file)
    assert found[0][2] == {"Time Info": Decimal("1764246878131995.320"), "n": 12345678901234567890}


def test_cut_at_every_byte(file: Path) -> None:
    """What is whole comes; a cut file is never without a word."""
    whole = {"s1": {"p2p": {}, "c": {f"op{i}": {MARK: {"x": i, "é": [1, {"a": "}"}]}} for i in range(4)}}}
    raw = json.dumps(whole, ensure_ascii=False).encode()
    want = by_hand(whole)
    for n in range(len(raw)):
        found, problems = walk_text(raw[:n], file, window_bytes=16)
        assert [(place, inner) for _, place, inner in found] == want[: len(found)]
        assert [p.kind for p in problems if p.kind != "encoding"] == ["cut-off"], n
    found, problems = walk_text(raw, file, window_bytes=16)
    assert len(found) == 4 and not problems


def test_broken_record_is_passed_over(file: Path) -> None:
    text = '{"a": {"Time Info": nope}, "b": {"Time Info": 1}, "c": 5, "d": [{"x": 1}], "e": {"Time Info": 2}}'
    found, problems = walk_text(text, file)
    assert [place for _, place, _ in found] == [("b",), ("e",)]
    assert [p.kind for p in problems] == ["bad-record"] * 3
    assert problems[0].byte == text.index("{", 1)


def test_broken_level_ends_the_reading(file: Path) -> None:
    found, problems = walk_text('{"a": {"Time Info": 1} "b": {"Time Info": 2}}', file)
    assert len(found) == 1
    assert "the rest was not read, 1 records are before it" in problems[0].message


def test_trailing_comma_and_text_behind(file: Path) -> None:
    found, problems = walk_text('{"a": {"Time Info": 1,"b":2}, } tail', file)
    assert len(found) == 1 and [p.message for p in problems] == [
        "there is text behind the end of the JSON object"
    ]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"[1]", "not a JSON object"),
        (b"\xff\xfe{\0", "UTF-16"),
        (b'{\0"\0', "UTF-16"),
        (b"text", "not a JSON object"),
    ],
)
def test_no_object(file: Path, raw: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        walk_text(raw, file)


def test_empty_and_mark(file: Path) -> None:
    assert [p.kind for p in walk_text(b"", file)[1]] == ["cut-off"]
    assert [p.kind for p in walk_text(b" \n", file)[1]] == ["cut-off"]
    assert walk_text(b"\xef\xbb\xbf{}", file) == ([], [])


def test_hostile_files_end_soon(file: Path) -> None:
    started = time.process_time()
    deep = '{"a":' * 200_000
    assert "too-deep" in {p.kind for p in walk_text(deep, file)[1]}
    inside = '{"a": {"Time Info": ' + "[" * 200_000 + "]" * 200_000 + '}, "b": {"Time Info": 1}}'
    found, problems = walk_text(inside, file)
    assert [place for _, place, _ in found] == [("b",)] and [p.kind for p in problems] == ["too-deep"]
    digits = '{"a": {"Time Info": ' + "9" * 100_000 + '}, "b": {"Time Info": 1e' + "9" * 50 + "}}"
    found, problems = walk_text(digits, file)
    assert [place for _, place, _ in found][-1] == ("b",)
    many = '{"a": {"Time Info": x},' * 20_000
    _, problems = walk_text("{" + many, file)
    assert len(problems) < 30
    long = '{"a": {"Time Info": "' + "x" * (18 << 20) + '"}, "b": {"Time Info": 1}}'
    found, problems = walk_text(long, file)
    assert "too-large" in {p.kind for p in problems}
    assert walk_text('{"' + "\\" * 3_000_000, file)[1][-1].kind == "cut-off"
    assert time.process_time() - started < 5


def test_borders(tmp_path: Path, file: Path) -> None:
    inside = tmp_path / "run"
    inside.mkdir()
    file.write_text("{}")
    (inside / "link.json").symlink_to(file)
    with pytest.raises(InputError, match="outside the opened run"):
        walk(inside / "link.json", root=inside)
    with pytest.raises(InputError, match="at most 1 are read"):
        walk(file, max_bytes=1)
    with pytest.raises(InputError, match="does not exist"):
        walk(tmp_path / "none.json")
    with pytest.raises(Cancelled):
        walk(file, is_cancelled=lambda: True)
