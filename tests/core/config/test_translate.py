"""The documents' form: recognised, translated for both tools, and what is lost is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.config.check import check_config, findings_of
from npulse.core.config.forms import recognise
from npulse.core.config.translate import translate
from npulse.core.errors import UsageError

NAMES = ("conv1", "conv2", "fc")


def items(*targets: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"dump_list": [*targets], "dump_path": "/d", **others}


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ({"dump": {"dump_list": [{}]}}, "acl"),
        ({"dump": 3}, "acl"),
        ({"dump": {"dump_list": [{"layer_name": ["conv1"]}]}}, "acl"),
        ({"dump": {"dump_list": [{"layer": ["a"], "dump_step": "1"}]}}, "acl"),
        ({"dump": {"dump_list": [{"layer_name": "conv*"}]}}, "documents"),
        ({"dump": {"dump_list": [{"layer_name": "a", "dump_mode": "all"}]}}, "documents"),
        ({"dump": {"dump_list": [{"layer_name": ["a"], "dump_mode": "all"}]}}, "acl"),
        ({"dump_config": {"dump_list": [{"layer_name": "conv1"}]}}, "documents"),
        ({"dump_list": [{"model_name": "m", "layer_name": "conv1"}]}, "documents"),
        ({"model_path": "m.om", "compare": {}}, "documents"),
        ({"task": "tensor"}, "msprobe"),
        ({"dump_path": "/d", "level": "L1"}, "msprobe"),
        ({"statistics": {}}, "msprobe"),
        ({"dump_path": "/d", "dump_mode": "all"}, "acl"),
        ({"common_dump_settings": {}}, "mindspore"),
        ({}, None),
        ({"a": 1}, None),
        ([], None),
        (None, None),
    ],
)
def test_forms_are_known_by_their_content(value: Any, form: str | None) -> None:
    assert recognise(value) == form


ONE = {"model_name": "m", "layer_name": "conv*", "dump_mode": "input", "dump_step": "0|5-10"}


def test_for_acl_with_names() -> None:
    found = translate(items(ONE), names=NAMES)
    assert found.tool == "acl"
    assert found.config == {
        "dump": {
            "dump_list": [{"model_name": "m", "layer": ["conv1", "conv2"]}],
            "dump_path": "/d",
            "dump_mode": "input",
            "dump_step": "0|5-10",
        }
    }
    assert any("2 of the 3" in note for note in found.notes)


def test_for_msprobe_without_names() -> None:
    found = translate({"dump": items(ONE)})
    assert found.tool == "msprobe" and found.config is not None
    assert found.config["step"] == [0, "5-10"]
    assert found.config["tensor"] == {
        "scope": [],
        "list": ["conv"],
        "data_mode": ["input"],
        "summary_mode": "statistics",
    }
    told = "\n".join(found.notes)
    assert "more than the glob" in told and "model_name m has no counterpart" in told


def test_whole_names_need_no_names() -> None:
    found = translate(items({"layer_name": ["fc"]}, {"model_name": "n", "layer_name": "*"}))
    assert found.tool == "acl" and found.config is not None
    assert found.config["dump"]["dump_list"] == [{"layer": ["fc"]}, {"model_name": "n"}]
    assert found.config["dump"]["dump_mode"] == "output"  # the default of both


def test_items_that_ask_for_different_things_get_what_holds_all_of_them() -> None:
    two = {"layer_name": "fc", "dump_mode": "output", "dump_step": "8-20"}
    found = translate(items(ONE, two), names=NAMES)
    assert found.config is not None
    dump = found.config["dump"]
    assert (dump["dump_mode"], dump["dump_step"]) == ("all", "0|5-20")
    assert sum("items ask for" in note for note in found.notes) == 2
    every = translate(items(ONE, {"layer_name": "fc", "dump_mode": "input"}), names=NAMES)
    assert every.config is not None and "dump_step" not in every.config["dump"]


def test_what_has_no_counterpart_is_told() -> None:
    document = {"output_dir": "/o", "model_path": "m.om", "compare": {}, "input_data": "x", "colour": 3}
    found = translate({**document, "dump_list": [{"layer_name": "fc", "colour": 1}]})
    assert found.config is not None and found.config["dump"]["dump_path"] == "/o"
    told = "\n".join(found.notes)
    for word in ("output_dir", "model_path", "compare", "input_data", "colour"):
        assert word in told


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (items(ONE | {"dump_mode": "both"}), "both"),
        (items(ONE | {"dump_step": "9-5"}), "9-5"),
        (items(ONE | {"dump_step": {}}), "{}"),
        (items(ONE | {"layer_name": 3}), "layer_name"),
        (items(), "dump_list"),
        ({"dump_list": [3]}, "dump_list"),
    ],
)
def test_faults_are_refused(document: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match="."):
        translate(document)
    rules = {f.rule for f in findings_of(document, tool="documents") if f.severity == "error"}
    assert rules
    with pytest.raises(UsageError) as caught:
        translate(document, lang="zh")
    assert message in caught.value.message


def test_a_glob_that_acl_cannot_have_is_refused_for_acl() -> None:
    with pytest.raises(UsageError) as caught:
        translate(items(ONE), tool="acl")
    assert "--name-list" in (caught.value.hint or "")


def test_the_check_warns_and_prints_the_translation(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"dump": items(ONE)}))
    found = check_config(path)
    assert [f.rule for f in found.findings] == ["config.documents-form"]
    assert (found.verdict, found.exit_code(), found.summary["tool"]) == ("warn", 0, "msprobe")
    assert found.summary["translation"]["step"] == [0, "5-10"]
    assert '    "task": "tensor",' in found.told
    named = check_config(path, names=NAMES)
    assert named.summary["translation"]["dump"]["dump_list"][0]["layer"] == ["conv1", "conv2"]
    path.write_text(json.dumps({"dump": items(ONE | {"dump_step": "0|9-5"})}, indent=1))
    (fault, _) = check_config(path).findings
    assert (fault.rule, fault.next_step, fault.subject) == (
        *("config.step", "write 5-9"),
        "dump.dump_list[0].dump_step",
    )
    assert fault.location.line == 8
    assert check_config(path).summary["translation"] is None


_VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=4) | st.sampled_from(["conv*", "all", "0|5", "*"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
_KEYS = ("model_name", "layer_name", "dump_mode", "dump_step", "layer", "x")


@given(
    targets=st.lists(st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=5) | _VALUES, max_size=3),
    others=st.dictionaries(
        st.sampled_from(["dump_path", "output_dir", "dump_stats", "y"]), _VALUES, max_size=3
    ),
    is_wrapped=st.booleans(),
    names=st.sampled_from([(), NAMES]),
)
def test_anything_is_translated_or_told(
    targets: list[Any], others: dict[str, Any], is_wrapped: bool, names: tuple[str, ...]
) -> None:
    document = {"dump_list": targets, **others}
    if is_wrapped:
        document = {"dump": document}
    findings = findings_of(document, tool="documents")
    assert findings[-1].rule == "config.documents-form"
    try:
        made = translate(document, names=names or None)
    except UsageError as error:
        assert error.message
        return
    assert made.config is not None
    assert [f for f in findings_of(made.config) if f.severity == "error"] == []
