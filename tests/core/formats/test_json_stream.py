"""The member stream against the whole-file parser, on good files, and on files that are cut or broken."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.findings import Problem
from npulse.core.formats.json_stream import json_members
from npulse.core.progress import Progress

INF = float("inf")


def stream(path: Path, inner: str | None = None, **options: Any) -> tuple[list[Any], list[Problem]]:
    problems: list[Problem] = []
    return list(json_members(path, problems, inner=inner, **options)), problems


def inner_of(content: bytes | str, path: Path, **options: Any) -> tuple[dict[str, Any], list[Problem]]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    members, problems = stream(path, "data", **options)
    return {key: value for _, in_inner, key, value in members if in_inner}, problems


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.json"


# ---- good files ----

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
    max_leaves=12,
)


@given(
    head=st.dictionaries(st.text(max_size=5).filter(lambda key: key != "data"), json_values, max_size=3),
    data=st.dictionaries(st.text(), json_values, max_size=6),
    is_first=st.booleans(),
    indent=st.sampled_from([None, 0, 1, 4, "\t"]),
    is_ascii=st.booleans(),
    window=st.integers(16, 2000),
)
def test_equals_whole_file_parser(
    tmp_path_factory: pytest.TempPathFactory,
    head: dict[str, Any],
    data: dict[str, Any],
    is_first: bool,
    indent: int | str | None,
    is_ascii: bool,
    window: int,
) -> None:
    document = {"data": data, **head} if is_first else {**head, "data": data}
    text = json.dumps(document, indent=indent, ensure_ascii=is_ascii)
    try:
        raw = text.encode()
    except UnicodeEncodeError:  # a lone surrogate can be written as an escape only
        raw = json.dumps(document, indent=indent).encode()
    path = tmp_path_factory.mktemp("stream") / "some.json"
    path.write_bytes(raw)
    members, problems = stream(path, "data", window_bytes=window)
    expected = json.loads(raw)
    found: dict[str, Any] = {}
    found_inner: dict[str, Any] = {}
    for _, in_inner, key, value in members:
        (found_inner if in_inner else found)[key] = value
    assert problems == []
    assert repr(found_inner) == repr(expected["data"])
    assert list(found) == list(expected)
    assert repr(found | {"data": found_inner}) == repr(expected)


@pytest.mark.parametrize("window", [16, 100, 1 << 20])
def test_byte_offsets_point_at_the_keys(file: Path, window: int) -> None:
    names = ["plain", "käse", "名字.0.forward", "😀", "last"]
    raw = json.dumps(
        {"task": "ü", "data": {name: [name] for name in names}}, ensure_ascii=False, indent=1
    ).encode()
    file.write_bytes(b"\xef\xbb\xbf" + raw)
    members, _ = stream(file, "data", window_bytes=window)
    content = file.read_bytes()
    for byte, _, key, _ in members:
        assert content[byte:].startswith(json.dumps(key, ensure_ascii=False).encode() + b":")
    assert [key for _, _, key, _ in members] == ["task", "data", *names]


def test_accepts_what_json_forbids_but_writers_write(file: Path) -> None:
    text = '\r\n{ "data" :\r\n {"a":NaN,"b" : [Infinity,-Infinity,1e999],\t"c\\u0041":"\x1b[31m\x00"} }\r\n'
    found, problems = inner_of(text, file)
    assert problems == []
    assert repr(found) == repr({"a": float("nan"), "b": [INF, -INF, INF], "cA": "\x1b[31m\x00"})


def test_integers_of_thousands_of_digits_are_infinite(file: Path) -> None:
    found, problems = inner_of('{"data": {"a": [' + "9" * 5000 + ", -" + "9" * 5000 + ', 12]}, "b": 1}', file)
    assert (found, problems) == ({"a": [INF, -INF, 12]}, [])


def test_an_inner_key_that_holds_no_object_is_a_plain_member(file: Path) -> None:
    file.write_text('{"data": null, "x": {"data": {"a": 1}}}')
    members, problems = stream(file, "data")
    assert [member[1:] for member in members] == [(False, "data", None), (False, "x", {"data": {"a": 1}})]
    assert problems == []


def test_a_long_line_of_ten_megabytes_is_one_value(file: Path) -> None:
    found, problems = inner_of(json.dumps({"data": {"a": "x" * 10_000_000, "b": 2}}), file)
    assert problems == []
    assert (len(found["a"]), found["b"]) == (10_000_000, 2)


def test_progress_ends_at_the_size_and_cancel_stops(file: Path) -> None:
    file.write_text(json.dumps({"data": {str(i): i for i in range(5000)}}))
    seen: list[Progress] = []
    stream(file, "data", window_bytes=1024, progress=seen.append)
    size = file.stat().st_size
    assert seen[-1] == Progress("read", size, size, "bytes")
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    with pytest.raises(Cancelled):
        stream(file, "data", is_cancelled=lambda: True)


# ---- cut files ----

ENTRIES = [
    ("a.0.forward", '{"x": [1, {"y": "]}"}]}'),
    ("b\\n", '"t\\"{"'),
    ("c", "{}"),
    ("d", "[1.5e3, null]"),
]


def document(lines: bool) -> tuple[bytes, list[int]]:
    """A file, and where in it each entry ends."""
    text, ends = '{\n "task": "t",\n "data": {' if lines else '{"task": "t", "data": {', []
    for i, (key, value) in enumerate(ENTRIES):
        text += ("," if i else "") + ("\n  " if lines else "") + f'"{key}": {value}'
        ends.append(len(text))
    return (text + ("\n }\n}" if lines else "}}")).encode(), ends


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("window", [16, 37, 1 << 20])
def test_cut_at_every_byte_keeps_the_whole_entries(file: Path, lines: bool, window: int) -> None:
    whole, ends = document(lines)
    for cut in range(whole.index(b"{", 2), len(whole)):
        found, problems = inner_of(whole[:cut], file, window_bytes=window)
        assert len(found) == sum(end <= cut for end in ends), whole[:cut]
        assert [(p.kind, p.byte) for p in problems] == [("cut-off", cut)], whole[:cut]
        last = max([end for end in ends if end <= cut], default=None)
        if last is not None and cut <= ends[-1]:
            assert f"{len(found)} whole entries are kept, the last ends at byte {last}" in problems[0].message


def test_a_number_at_the_end_may_go_on(file: Path) -> None:
    found, problems = inner_of('{"data": {"a": 1, "b": 23', file)
    assert found == {"a": 1}
    assert [(p.kind, p.byte) for p in problems] == [("cut-off", 25)]


@pytest.mark.parametrize("content", [b"", b" \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_cut_off(file: Path, content: bytes) -> None:
    found, problems = inner_of(content, file)
    assert found == {}
    assert [(p.kind, p.byte) for p in problems] == [("cut-off", len(content))]


# ---- broken files ----

GOOD = '{\n    "x": [\n     1\n    ]\n   }'
BROKEN = {
    "bad escape": '"b": {"x": "\\q"}',
    "missing bracket": '"b": {"x": [1}',
    "missing quote": '"b: {"x": [1]}',
    "bare word": '"b": {"x": nope and a longer text}',
    "no colon": '"b" {"x": 1}',
    "no value": '"b": ',
    "half a number": '"b": {"x": 1.e5}',
    "raw bytes": '"b": \x00\x01\x02\x03',
    "no name": "{}",
}


def with_lines(*entries: str) -> str:
    return '{\n "data": {\n  ' + ",\n  ".join(entries) + '\n },\n "task": "t"\n}'


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("window", [16, 61, 1 << 20])
def test_reading_goes_on_behind_a_broken_entry(file: Path, broken: str, window: int) -> None:
    text = with_lines(f'"a": {GOOD}', broken, f'"c": {GOOD}', f'"d": {GOOD}')
    file.write_text(text)
    members, problems = stream(file, "data", window_bytes=window)
    assert [key for _, _, key, _ in members] == ["data", "a", "c", "d", "task"]
    assert all(value == {"x": [1]} for _, in_inner, _, value in members if in_inner)
    assert {p.kind for p in problems} == {"bad-record"}
    assert all(text.index(broken) - 5 <= (p.byte or 0) <= text.index('"d"') for p in problems)


def test_a_missing_brace_swallows_what_follows_but_not_in_silence(file: Path) -> None:
    text = with_lines(f'"a": {GOOD}', '"b": {"x": [1]', f'"c": {GOOD}')
    found, problems = inner_of(text, file)
    assert json.loads(text + "}")["data"] == found  # what the text says
    assert [(p.kind, p.byte) for p in problems] == [("cut-off", len(text))]


@pytest.mark.parametrize("window", [16, 61, 1 << 20])
def test_a_missing_comma_loses_nothing(file: Path, window: int) -> None:
    text = with_lines(f'"a": {GOOD}\n  "b": {GOOD}', f'"c": {GOOD}')
    found, problems = inner_of(text, file, window_bytes=window)
    assert list(found) == ["a", "b", "c"]
    assert [p.kind for p in problems] == ["bad-record"]


@pytest.mark.parametrize("window", [16, 61, 1 << 20])
def test_a_broken_last_entry_leaves_the_members_behind_the_object(file: Path, window: int) -> None:
    file.write_text(with_lines(f'"a": {GOOD}', '"b": {"x": "\\q"}'))
    members, problems = stream(file, "data", window_bytes=window)
    assert [key for _, _, key, _ in members] == ["data", "a", "task"]
    assert [p.kind for p in problems] == ["bad-record"]


def test_without_lines_brackets_are_counted(file: Path) -> None:
    found, problems = inner_of(
        '{"data": {"a": 1, "b": {"x": "\\q]\\"}", "y": [1]}, "c": 2, "d": @@, "e": 3}}', file
    )
    assert found == {"a": 1, "c": 2, "e": 3}
    assert [p.kind for p in problems] == ["bad-record", "bad-record"]


def test_where_nothing_behind_can_be_read_the_last_problem_says_so(file: Path) -> None:
    found, problems = inner_of('{"data": {"a": 1, "b": 2, x: 3, "c": 4}}', file)
    assert found == {"a": 1, "b": 2}
    assert [p.kind for p in problems] == ["bad-record"]
    assert problems[0].byte == 26
    assert "2 entries before it are kept" in problems[0].message


def test_text_behind_the_end_is_a_problem(file: Path) -> None:
    found, problems = inner_of('{"data": {"a": 1}}  {"data"', file)
    assert found == {"a": 1}
    assert [(p.kind, p.byte) for p in problems] == [("bad-record", 20)]


@pytest.mark.parametrize("lines", [True, False])
def test_an_entry_over_the_limit_is_passed_over(file: Path, lines: bool) -> None:
    values = {"a": 1, "b": ["x" * 50] * 100, "c": 3}
    text = json.dumps({"data": values}, indent=1 if lines else None)
    for window in (16, 100, 1 << 20):
        found, problems = inner_of(text, file, window_bytes=window, max_value_chars=4000)
        assert (found, [p.kind for p in problems]) == ({"a": 1, "c": 3}, ["too-large"])


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("is_closed", [True, False])
def test_a_million_brackets_are_too_deep_and_take_bounded_time(
    file: Path, lines: bool, is_closed: bool
) -> None:
    n, line = 1_000_000, "\n  " if lines else " "
    deep = "[" * n + ("]" * n if is_closed else "")
    began = time.process_time()
    found, problems = inner_of(f'{{"data": {{{line}"a": 1,{line}"b": {deep},{line}"c": 3}}}}', file)
    assert time.process_time() - began < 10
    assert found == ({"a": 1, "c": 3} if is_closed or lines else {"a": 1})
    assert [p.kind for p in problems] == ["too-deep"]


def test_a_file_of_broken_entries_ends_with_few_problems_in_bounded_time(file: Path) -> None:
    text = '{\n "data": {\n  "a": 1,' + '\n  "b": {' * 300_000
    began = time.process_time()
    found, problems = inner_of(text, file)
    assert time.process_time() - began < 20
    assert found == {"a": 1}
    assert len(problems) <= 25


@given(
    lines=st.booleans(),
    flips=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_flipped_bytes_give_problems_whatever_the_window(
    tmp_path_factory: pytest.TempPathFactory, lines: bool, flips: list[tuple[int, int]]
) -> None:
    raw = bytearray(document(lines)[0])
    for place, byte in flips:
        raw[place % len(raw)] = byte
    path = tmp_path_factory.mktemp("flip") / "some.json"
    path.write_bytes(bytes(raw))
    outcomes = []
    for window in (16, 50, 1 << 20):
        try:
            members, problems = stream(path, "data", window_bytes=window)
            # bytes that are not UTF-8 are noticed when they are read, maybe behind the place of a stop
            outcomes.append(repr((members, [p for p in problems if p.kind != "encoding"])))
        except InputError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1] == outcomes[2]


# ---- files that cannot be used ----


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_refused(file: Path, encoding: str) -> None:
    file.write_bytes(json.dumps({"data": {"a": 1}}).encode(encoding))
    with pytest.raises(InputError, match="UTF-8"):
        stream(file)


def test_bytes_that_are_not_utf8_are_a_problem_with_their_place(file: Path) -> None:
    raw = '{"data": {"ä": 1, "层": {"x": 2}, "c": 3}}'.encode()
    place = raw.index("层".encode())
    raw = raw.replace("层".encode(), "层".encode("gbk"))
    for window in (16, 23, 1 << 20):
        found, problems = inner_of(raw, file, window_bytes=window)
        assert list(found.values()) == [1, {"x": 2}, 3]
        assert [(p.kind, p.byte) for p in problems] == [("encoding", place)]


@pytest.mark.parametrize("content", ["[1]", "text", '"a"', "\0\0\0\0", "\x7fELF"])
def test_what_is_no_object_is_refused(file: Path, content: str) -> None:
    file.write_text(content)
    with pytest.raises(InputError):
        stream(file)


def test_special_files_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero"), tmp_path / "none", tmp_path / "a\0b"):
        with pytest.raises(InputError) as caught:
            stream(path)
        assert caught.value.path == str(path)


def test_links_may_not_lead_out_of_the_root(tmp_path: Path) -> None:
    run, outside = tmp_path / "run", tmp_path / "outside.json"
    run.mkdir()
    outside.write_text('{"data": {}}')
    (run / "in.json").write_text('{"a": 1}')
    (run / "link.json").symlink_to("in.json")
    (run / "out.json").symlink_to(outside)
    (run / "loop.json").symlink_to("loop.json")
    assert stream(run / "link.json", root=run)[0] == [(1, False, "a", 1)]
    assert stream(run / "out.json")[1] == []
    for name in ("out.json", "../outside.json", "loop.json"):
        with pytest.raises(InputError):
            stream(run / name, root=run)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(file: Path) -> None:
    file.write_text("{}")
    file.chmod(0)
    with pytest.raises(InputError, match="ermission"):
        stream(file)


def test_larger_than_allowed_is_refused_before_reading(file: Path) -> None:
    file.write_text('{"a": 1}')
    assert stream(file, max_bytes=8)[0] == [(1, False, "a", 1)]
    with pytest.raises(InputError, match="at most 7"):
        stream(file, max_bytes=7)
