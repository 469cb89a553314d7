from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.config.explain import explain, explain_config
from npulse.core.config.forms import UnknownForm
from npulse.core.config.make import acl_config, msprobe_config
from npulse.core.config.vocabulary import ACL_KEYS, TOP_KEYS
from npulse.core.errors import NpulseError


def said(config: dict[str, Any], label: str, lang: Any = "en") -> str:
    """What stands behind one label, all lines of it."""
    found, is_in = [], False
    for line in explain(config, lang=lang):
        head = line.startswith(label)
        is_in = head or (is_in and line.startswith(" "))
        if is_in:
            found.append(line.removeprefix(label).strip())
    return "\n".join(found)


def test_a_model_and_its_layers() -> None:
    config = acl_config(
        dump_path="/d", model_name="m", layer=["a", "b"], dump_step="0|5-7", dump_mode="input"
    )
    assert "model m: 2 operators: a, b" in said(config, "recorded")
    assert "eager mode leaves nothing" in said(config, "not recorded")
    assert said(config, "sides") == "inputs only, no outputs"
    assert said(config, "steps").startswith("0|5-7; no other")
    assert said(config, "written to") == "/d"
    assert "aclInit" in said(config, "loaded by") and "set_dump" in said(config, "loaded by")
    assert said(config, "cost").startswith("medium")
    assert "npulse overflow /d" in said(config, "to open")


def test_nothing_overflow_exceptions_single_operators() -> None:
    assert said({"dump": {"dump_path": "/d"}}, "recorded").startswith("nothing at all")
    assert "faults" in "\n".join(explain({"dump": {"dump_path": "/d"}}))
    assert "Opdebug" in said(acl_config(dump_path="/d", dump_debug=True), "on disk")
    assert "detection on" in said(acl_config(dump_path="/d", dump_debug=True), "overflow")
    assert "NPU_COLLECT_PATH" in said(acl_config(dump_scene="lite_exception"), "written to")
    assert "aclnn" in said(acl_config(dump_path="/d", dump_op_switch=True), "recorded")


def test_steps_that_cannot_be_read_are_not_every_step() -> None:
    assert "cannot be read" in said(
        {"dump": {"dump_path": "/d", "dump_list": [{}], "dump_step": "9-5"}}, "steps"
    )
    assert "cannot be read" in said({"task": "statistics", "dump_path": "/d", "step": ["9-5"]}, "steps")


def test_ranges_and_blacklists() -> None:
    target = {
        "model_name": "m",
        "opname_range": [{"begin": "a", "end": "b"}],
        "optype_blacklist": [{"name": "Cast", "pos": ["input0"]}],
    }
    config = {"dump": {"dump_path": "/d", "dump_level": "op", "dump_list": [target]}}
    assert "only from a to b" in said(config, "recorded")
    assert "Cast input0 (blacklist)" in said(config, "not recorded")


def test_msprobe() -> None:
    config = msprobe_config(dump_path="d", level="mix", list=["conv"], step=[3], rank="0-1")
    assert "only names with conv in them" in said(config, "recorded")
    assert "elements of tensors" in said(config, "not recorded")
    assert (said(config, "steps")[:1], said(config, "ranks")[:3]) == ("3", "0-1")
    assert "working directory" in said(config, "written to")
    assert "PrecisionDebugger" in said(config, "loaded by") and "model=model" in said(config, "loaded by")
    assert "npulse precision d GOLDEN" in said(config, "to open")
    tensors = msprobe_config(dump_path="/d", task="tensor", data_mode=["output"], step=[0])
    assert "dump_tensor_data" in said(tensors, "on disk")
    assert said(tensors, "sides") == "outputs only, no inputs"
    assert "PrecisionDebugger" in said(config, "加载方式", "zh")


def test_the_working_directory(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(msprobe_config(dump_path="d")))
    assert any(str(Path("/job/d")) in line for line in explain_config(path, cwd=Path("/job")))


def test_the_documents_form_is_explained_by_its_translation() -> None:
    lines = explain({"dump_list": [{"layer_name": "conv*", "dump_step": "0"}]})
    assert '    "task": "tensor",' in lines
    assert any(line.startswith("recorded") for line in lines)


def test_an_unknown_form() -> None:
    with pytest.raises(UnknownForm) as caught:
        explain({"a": 1})
    assert caught.value.exit_code == 4


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["on", "all", "stats"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(
    acl=st.dictionaries(st.sampled_from(ACL_KEYS), _VALUES, max_size=5),
    msprobe=st.dictionaries(st.sampled_from([*TOP_KEYS, "tensor", "statistics"]), _VALUES, max_size=5),
)
def test_anything_can_be_explained(acl: dict[str, Any], msprobe: dict[str, Any]) -> None:
    for config in ({"dump": acl}, msprobe):
        try:
            lines = explain(config, lang="zh")
        except NpulseError:
            assert config is msprobe
            continue
        assert lines and all(line.encode() for line in lines)
