from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.msprobe.config import MsprobeConfig, read_msprobe_config


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("msprobe")


def read(folder: Path, **members: Any) -> MsprobeConfig:
    path = folder / "config.json"
    path.write_text(json.dumps(members, indent=1))
    return read_msprobe_config(path, root=folder)


def test_only_what_the_file_says(folder: Path) -> None:
    found = read(folder, task="tensor", statistics={"list": ["a"]})
    assert (found.task, found.section, found.list, found.problems) == ("tensor", None, None, ())
    assert (found.dump_path, found.level, found.rank, found.step, found.async_dump) == (None,) * 5
    assert (found.scope, found.tensor_list, found.data_mode, found.summary_mode) == (None,) * 4


def test_the_section_of_the_task(folder: Path) -> None:
    found = read(
        folder,
        task="statistics",
        dump_path="/d",
        rank=[0],
        step=[1, "3-5"],
        level="mix",
        async_dump=False,
        dump_enable=True,
        extra_info=True,
        precision="low",
        risk_level="ALL",
        statistics={
            "scope": ["a", "b"],
            "list": ["c"],
            "tensor_list": ["d"],
            "data_mode": ["input"],
            "summary_mode": "md5",
        },
        tensor={"list": ["other"]},
    )
    assert (found.section, found.list, found.scope, found.tensor_list) == (
        *("statistics", ("c",)),
        *(("a", "b"), ("d",)),
    )
    assert (found.rank, found.step, found.level, found.dump_enable) == ((0,), (1, "3-5"), "mix", True)
    assert (found.data_mode, found.summary_mode, found.async_dump) == (("input",), "md5", False)
    assert (found.precision, found.risk_level, found.extra_info, found.problems) == ("low", "ALL", True, ())


def test_the_statistics_section_holds_where_no_task_is_named(folder: Path) -> None:
    found = read(folder, dump_path="/d", statistics={"list": ["a"], "summary_mode": ["max", "min"]})
    assert (found.task, found.section, found.list) == (None, "statistics", ("a",))
    assert found.summary_mode == ("max", "min")


def test_wrong_types_are_told_with_their_line(folder: Path) -> None:
    found = read(folder, task="tensor", dump_path=3, step="0", tensor={"list": "a", "scope": [1]})
    assert [(p.kind, p.line) for p in found.problems] == [("bad-record", line) for line in (3, 4, 6, 7)]
    assert (found.dump_path, found.step, found.list, found.scope) == (None,) * 4
    assert "tensor.list is not a list of texts" in [p.message for p in found.problems]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"a": 1}', '{"task": '])
def test_what_is_no_configuration_is_an_error(folder: Path, content: str) -> None:
    path = folder / "config.json"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        read_msprobe_config(path)
    assert caught.value.path is not None and caught.value.hint


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
_KEYS = ("task", "dump_path", "rank", "step", "level", "async_dump", "statistics", "tensor", "precision")


@given(members=st.dictionaries(st.sampled_from(_KEYS), _VALUES, min_size=1))
def test_any_values_are_read_or_told(folder: Path, members: dict[str, Any]) -> None:
    try:
        found = read(folder, **members)
    except InputError:
        assert not {"task", "dump_path", "rank", "step", "level", "precision"} & members.keys()
        return
    for key in ("dump_path", "level", "precision"):
        if isinstance(members.get(key), str):
            assert getattr(found, key) == members[key]
        else:
            told = any(p.message.startswith(f"{key} is not") for p in found.problems)
            assert told == (members.get(key) is not None)
