"""What is made passes the check, says what was asked for, and never replaces a file unasked."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.config.check import check_config, findings_of
from npulse.core.config.make import acl_config, config_text, model_stem, msprobe_config, write_config
from npulse.core.config.steps import as_acl, parse_any
from npulse.core.config.vocabulary import ACL_VALUES, DATA_MODES, DUMP_STATS, LEVELS, TASKS
from npulse.core.errors import InputError, UsageError

_NAMES = st.lists(st.text(alphabet="abcXYZ_./0129", min_size=1, max_size=8), max_size=3)
_RANGES = st.tuples(st.integers(0, 500), st.integers(0, 50)).map(lambda pair: (pair[0], pair[0] + pair[1]))
_STEPS = st.lists(_RANGES, max_size=5).map(lambda steps: as_acl(tuple(steps)))


def errors_of(config: dict[str, Any], version: str | None = None) -> list[str]:
    return [f.rule for f in findings_of(config, msprobe_version=version) if f.severity == "error"]


@given(
    task=st.sampled_from(sorted({task for tasks in TASKS.values() for task in tasks}) + ["dump"]),
    level=st.sampled_from([*LEVELS, "L3"]),
    step=_STEPS,
    rank=_STEPS,
    names=_NAMES,
    scope=st.sampled_from([(), ("Torch.a.0.forward",) * 2, ("Module.a.B.forward.0",) * 2, ("a",)]),
    tensor_list=_NAMES,
    modes=st.lists(st.sampled_from([*DATA_MODES, "in"]), min_size=1, max_size=3),
    summary=st.sampled_from([None, "statistics", "md5", "xor", "max"]),
    async_dump=st.booleans(),
    version=st.sampled_from([None, "8.3.3", "26.2.0"]),
)
def test_what_is_made_for_msprobe_passes_the_check(
    task: str,
    level: str,
    step: str,
    rank: str,
    names: list[str],
    scope: tuple[str, ...],
    tensor_list: list[str],
    modes: list[str],
    summary: str | None,
    async_dump: bool,
    version: str | None,
) -> None:
    try:
        made = msprobe_config(
            dump_path="/d",
            task=task,
            level=level,
            step=step,
            rank=rank,
            list=names,
            scope=scope,
            tensor_list=tensor_list,
            data_mode=modes,
            summary_mode=summary,
            async_dump=async_dump,
            version=version,
        )
    except UsageError as error:
        assert error.message
        return
    assert errors_of(made, version) == []
    assert (made["task"], made["level"]) == (task, level)
    assert parse_any(made["step"]) == parse_any(step) and parse_any(made["rank"]) == parse_any(rank)
    assert made[task].get("list", []) == names


@given(
    path=st.sampled_from([None, "/d", "./d", ""]),
    model=st.sampled_from([None, "m", "dir/m.om"]),
    layer=_NAMES,
    mode=st.sampled_from([None, *ACL_VALUES["dump_mode"], "both"]),
    data=st.sampled_from([None, "tensor", "stats"]),
    stats=st.lists(st.sampled_from([*DUMP_STATS, "Mode"]), max_size=3),
    step=_STEPS,
    overflow=st.booleans(),
    switch=st.booleans(),
    scene=st.sampled_from([None, *ACL_VALUES["dump_scene"], "x"]),
    watcher=_NAMES,
)
def test_what_is_made_for_acl_passes_the_check(
    path: str | None,
    model: str | None,
    layer: list[str],
    mode: str | None,
    data: str | None,
    stats: list[str],
    step: str,
    overflow: bool,
    switch: bool,
    scene: str | None,
    watcher: list[str],
) -> None:
    try:
        made = acl_config(
            dump_path=path,
            model_name=model,
            layer=layer,
            dump_mode=mode,
            dump_data=data,
            dump_stats=stats,
            dump_step=step,
            dump_debug=overflow,
            dump_op_switch=switch,
            dump_scene=scene,
            watcher_nodes=watcher,
        )
    except UsageError as error:
        assert error.message
        return
    assert errors_of(made) == []
    assert made["dump"].get("dump_step", "") == step
    assert (made["dump"].get("dump_debug") == "on", made["dump"].get("dump_op_switch") == "on") == (
        *(overflow, switch),
    )
    targets = made["dump"].get("dump_list") or [{}]
    assert targets[0].get("layer", []) == layer


def test_what_drivers_ask_for() -> None:
    assert acl_config(dump_path="/d", model_name="x/resnet.om", layer=["conv1"], dump_step="0|5-10") == {
        "dump": {
            "dump_list": [{"model_name": "resnet", "layer": ["conv1"]}],
            "dump_path": "/d",
            "dump_step": "0|5-10",
        }
    }
    assert acl_config(dump_path="/d") == {"dump": {"dump_list": [{}], "dump_path": "/d"}}
    assert acl_config(dump_path="/d", dump_debug=True) == {"dump": {"dump_path": "/d", "dump_debug": "on"}}
    assert acl_config(dump_scene="lite_exception") == {"dump": {"dump_scene": "lite_exception"}}
    assert acl_config(dump_path="/d", dump_op_switch=True, dump_mode="all") == {
        "dump": {"dump_list": [], "dump_path": "/d", "dump_mode": "all", "dump_op_switch": "on"}
    }
    made = acl_config(dump_path="/d", dump_scene="watcher", layer=["a"], watcher_nodes=["b"])
    assert made["dump"]["dump_mode"] == "output"
    assert acl_config(dump_path="/d", dump_stats=["Max"])["dump"]["dump_data"] == "stats"
    assert msprobe_config(
        dump_path="/d", task="tensor", level="mix", step="0|5-10", rank=[0], list=["conv"]
    ) == {
        "task": "tensor",
        "dump_path": "/d",
        "rank": [0],
        "step": [0, "5-10"],
        "level": "mix",
        "tensor": {"scope": [], "list": ["conv"], "data_mode": ["all"], "summary_mode": "statistics"},
    }


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"step": "10-5"}, "10-5"),
        ({"step": "a"}, "'a'"),
        ({"step": [0.5]}, "0.5"),
        ({"task": "nan_check", "level": "mix"}, "L1"),
        ({"task": "tensor", "level": "L2"}, "exactly one"),
        ({"task": "overflow_check", "version": "26.2.0"}, "overflow_check"),
        ({"scope": ["a", "b", "c"]}, "exactly two"),
        ({"list": ["conv*"]}, "conv*"),
        ({"dump_path": ""}, "empty"),
    ],
)
def test_faults_are_refused_with_what_to_write(wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        msprobe_config(**{"dump_path": "/d"} | wanted)
    assert message in caught.value.message and caught.value.hint


@pytest.mark.parametrize("model", ["m", "m.om", "a/b/m.om", "m/"])
def test_model_names(model: str) -> None:
    assert model_stem(model) == "m"


def test_files_are_whole_and_never_replaced_unasked(tmp_path: Path) -> None:
    config = acl_config(dump_path=str(tmp_path), layer=["层"])
    path = tmp_path / "acl.json"
    write_config(config, path)
    assert json.loads(path.read_text("utf-8")) == config
    assert path.read_text("utf-8") == config_text(config) and "层" in path.read_text("utf-8")
    assert check_config(path).findings == ()
    with pytest.raises(UsageError) as caught:
        write_config({}, path)
    assert "--force" in (caught.value.hint or "")
    assert json.loads(path.read_text("utf-8")) == config
    write_config({"dump": {}}, path, force=True)
    assert json.loads(path.read_text("utf-8")) == {"dump": {}}
    with pytest.raises(InputError):
        write_config(config, tmp_path / "missing" / "acl.json")
    assert os.listdir(tmp_path) == ["acl.json"]


def test_file_systems_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "acl.json"
    write_config({"a": 1}, path)
    with pytest.raises(UsageError):
        write_config({"a": 2}, path)
    assert json.loads(path.read_text()) == {"a": 1} and os.listdir(tmp_path) == ["acl.json"]
