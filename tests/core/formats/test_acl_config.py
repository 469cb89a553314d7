from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats import acl_config
from npulse.core.formats.acl_config import AclConfig, DumpTarget, read_acl_config


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("acl")


def read(folder: Path, content: bytes | str) -> AclConfig:
    path = folder / "acl.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_acl_config(path, root=folder)


def dump(folder: Path, **members: Any) -> AclConfig:
    return read(folder, json.dumps({"dump": members}, indent=1))


def told(found: AclConfig) -> list[tuple[str, int | None]]:
    return [(problem.kind, problem.line) for problem in found.problems]


def test_only_what_the_file_says(folder: Path) -> None:
    found = dump(folder, dump_path="./d", dump_debug="on")
    assert (found.dump_path, found.dump_debug, found.problems) == ("./d", True, ())
    assert (found.dump_mode, found.dump_op_switch, found.dump_scene, found.dump_step, found.targets) == (
        None,
    ) * 5
    assert (found.dump_level, found.dump_data, found.dump_stats, found.layers, found.unknown_keys) == (
        *(None, None, None),
        *((), ()),
    )
    assert found.line_of == {"dump_path": 3, "dump_debug": 4}


def test_all_keys(folder: Path) -> None:
    found = dump(
        folder,
        dump_path="/d",
        dump_mode="all",
        dump_level="op",
        dump_data="stats",
        dump_stats=["Max", "Nan"],
        dump_debug="off",
        dump_op_switch="off",
        dump_scene="watcher",
        dump_step="0|5-10",
        dump_kernel_data="printf",
        dump_list=[
            {"model_name": "m", "layer": ["a", "b"], "opname_range": [{"begin": "a", "end": "b"}]},
            {"layer": ["c"], "watcher_nodes": ["w"]},
        ],
    )
    assert (found.dump_mode, found.dump_level, found.dump_data, found.dump_stats) == (
        *("all", "op", "stats"),
        ("Max", "Nan"),
    )
    assert (found.dump_debug, found.dump_op_switch, found.dump_scene, found.dump_step) == (
        *(False, False),
        *("watcher", "0|5-10"),
    )
    assert found.targets == (DumpTarget("m", ("a", "b"), ()), DumpTarget(None, ("c",), ("w",)))
    assert found.layers == ("a", "b", "c")
    assert (found.unknown_keys, found.problems) == ((), ())


def test_wrong_types_are_told_with_their_line(folder: Path) -> None:
    found = dump(folder, dump_path=["/d"], dump_debug=True, dump_op_switch="yes", dump_step=3, dump_stats=[1])
    assert (found.dump_path, found.dump_debug, found.dump_op_switch, found.dump_step) == (None,) * 4
    assert sorted(told(found)) == [("bad-record", line) for line in (3, 6, 7, 8, 9)]
    assert 'dump_op_switch is "yes", not "on" or "off"' in [p.message for p in found.problems]


def test_a_value_no_tool_takes_is_kept(folder: Path) -> None:
    found = dump(folder, dump_mode="both")
    assert (found.dump_mode, found.problems) == ("both", ())


def test_keys_in_the_wrong_place(folder: Path) -> None:
    found = dump(folder, dump_lst=[], dump_list=[{"layer": "conv", "layer_name": ["c"], "dump_step": "1"}])
    assert found.unknown_keys == ("dump_lst", "dump_list[0].layer_name", "dump_list[0].dump_step")
    assert found.targets == (DumpTarget(None, (), ()),)
    assert told(found) == [("bad-record", 4)]
    assert dump(folder, dump_list={}).targets is None
    assert dump(folder, dump_list=[]).targets == ()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk", "utf-16"])
def test_encodings(folder: Path, encoding: str) -> None:
    text = '{\r\n"dump": {"dump_path": "/数据/目录"}}'
    found = read(folder, text.encode(encoding))
    assert (found.dump_path, found.line_of) == ("/数据/目录", {"dump_path": 2})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"dump": []}',
        b'{"dump": {"dump_path": "x"',
        b"[" * 100_000,
        b'{"dump": {"a": ' + b"1" * 9000,
    ],
)
def test_what_is_no_configuration_is_an_error(folder: Path, content: bytes) -> None:
    with pytest.raises(InputError) as caught:
        read(folder, content)
    assert caught.value.path is not None and caught.value.hint


def test_the_line_of_an_error_is_told(folder: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(folder, '{"dump": {\n"dump_path": "x",\n}}')
    assert caught.value.line == 3


def test_the_size_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acl_config, "MAX_TEXT_BYTES", 30)
    assert read(folder, '{"dump": {}}').dump_path is None
    with pytest.raises(InputError, match="larger"):
        read(folder, '{"dump": {}}' + " " * 30)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["on", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    values=st.dictionaries(st.sampled_from(sorted(acl_config._KEYS)) | st.text(max_size=5), _JSON, max_size=6)
)
def test_any_values_are_read_or_told(folder: Path, values: dict[str, Any]) -> None:
    found = read(folder, json.dumps({"dump": values}))
    texts = (found.dump_path or "", found.dump_mode or "", *found.layers, *found.unknown_keys)
    "".join((*texts, *(problem.message for problem in found.problems))).encode()


WHOLE = b'{"dump": {"dump_path": "/d", "dump_debug": "on", "dump_list": [{"layer": ["a"]}]}}'


@given(content=st.binary(max_size=200), at=st.integers(0, len(WHOLE)))
def test_no_bytes_break_it(folder: Path, content: bytes, at: int) -> None:
    for raw in (content, WHOLE[:at], WHOLE[:at] + content, WHOLE[:at] + content + WHOLE[at:]):
        try:
            read(folder, raw)
        except InputError:
            continue
