"""The documents' form of a comparison: what is taken from which key, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.config.compare_form import is_compare_form, read_compare_form
from npulse.core.errors import NpulseError

FORM: dict[str, Any] = {
    "dump_mode": "all",
    "model_path": "m.om",
    "input_data": "in.bin",
    "output_dir": "npu",
    "compare": {
        "enable": True,
        "golden_path": "gpu",
        "metrics": ["cosine_similarity", "max_abs_error", "relative_error"],
    },
}
LIST: dict[str, Any] = {
    "dump_list": [
        {"model_name": "net", "layer_name": "conv*", "dump_mode": "all", "dump_step": "0|5-10"},
        {"model_name": "net", "layer_name": "fc1", "dump_step": "11"},
    ],
    "dump_path": "npu",
}


def written(tmp_path: Path, document: Any) -> Path:
    for name in ("npu", "gpu"):
        (tmp_path / name).mkdir(exist_ok=True)
    path = tmp_path / "compare.json"
    path.write_text(json.dumps(document))
    return path


def test_folders_and_metrics(tmp_path: Path) -> None:
    form = read_compare_form(written(tmp_path, FORM))
    assert (form.target, form.golden) == (tmp_path / "npu", tmp_path / "gpu")
    assert form.metrics == ("cosine_similarity", "max_abs_error", "relative_error")
    assert (form.layers, form.steps) == ((), ())
    told = "\n".join(form.notes)
    assert f"golden_path: {tmp_path / 'gpu'}" in told and "model_path: not used" in told


def test_layers_and_steps_of_the_list(tmp_path: Path) -> None:
    form = read_compare_form(written(tmp_path, LIST))
    assert (form.target, form.golden) == (tmp_path / "npu", None)
    assert form.layers == ("conv*", "fc1") and form.steps == ((0, 0), (5, 11))


def test_both_in_one_file(tmp_path: Path) -> None:
    form = read_compare_form(written(tmp_path, {**LIST, **FORM}))
    assert form.golden == tmp_path / "gpu" and form.layers == ("conv*", "fc1")


def test_an_item_that_wants_all(tmp_path: Path) -> None:
    form = read_compare_form(written(tmp_path, {"dump_list": [*LIST["dump_list"], {}], "dump_path": "npu"}))
    assert (form.layers, form.steps) == ((), ())
    assert any("so all are shown" in note for note in form.notes)


@pytest.mark.parametrize(
    ("document", "word"),
    [
        ({**FORM, "output_dir": "gone"}, "output_dir names gone"),
        ({**FORM, "output_dir": 7}, "output_dir is not a path"),
        ({**FORM, "compare": ["x"]}, "compare is not an object"),
        ({**FORM, "compare": {"golden_path": "gpu", "metrics": [1]}}, "compare.metrics is not"),
        ({"dump_list": [{"dump_step": "5-x"}], "dump_path": "npu"}, "dump_list\\[0\\].dump_step is not"),
        ({"dump_list": {}, "dump_path": "npu"}, "dump_list is not"),
        ({"task": "statistics", "dump_path": "npu"}, "no configuration of a comparison"),
    ],
)
def test_what_a_key_cannot_hold(tmp_path: Path, document: Any, word: str) -> None:
    with pytest.raises(NpulseError, match=word):
        read_compare_form(written(tmp_path, document))


def test_only_such_a_file_is_taken_for_one(tmp_path: Path) -> None:
    assert is_compare_form(written(tmp_path, FORM))
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"task": "statistics", "level": "L1", "data": {}}))
    assert not is_compare_form(dump) and not is_compare_form(tmp_path)
    assert not is_compare_form(tmp_path / "no.json")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.just("../../etc"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["dump_list", "layer_name", "dump_step", "compare", "golden_path", "metrics", "output_dir"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(document=VALUES)
@settings(max_examples=60)
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, document: Any) -> None:
    path = written(tmp_path_factory.mktemp("any"), document)
    try:
        form = read_compare_form(path)
    except NpulseError as error:
        assert str(error)
        return
    assert all(isinstance(note, str) for note in form.notes)
