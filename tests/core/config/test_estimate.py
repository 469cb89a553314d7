"""Bytes of a capture: by classes without a dump, by the tensors of an earlier one otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from npulse.core.config.estimate import FILE_BYTES, RECORD_BYTES, estimate_bytes, selects
from npulse.core.config.make import acl_config, msprobe_config
from npulse.core.config.parts import msprobe_parts

from ..formats.cann_files import Tensor, container


def tensor(*shape: int, dtype: str = "torch.float32") -> dict[str, Any]:
    return {
        "type": "torch.Tensor",
        "dtype": dtype,
        "shape": [*shape],
        "Max": 1,
        "Min": 0,
        "Mean": 0,
        "Norm": 1,
    }


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """Two ranks of one step: linear 1000 + 500 floats, relu 500 + 500 halves, and a backward."""
    linear = {"input_args": [tensor(10, 100)], "input_kwargs": {}, "output": [tensor(500)]}
    half = [tensor(500, dtype="torch.float16")]
    data = {
        "Functional.linear.0.forward": linear,
        "Functional.relu.0.forward": {"input_args": half, "input_kwargs": {}, "output": half},
        "Functional.relu.0.backward": {"input": half, "output": half},
    }
    head = {"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": None}
    for rank in (0, 1):
        folder = tmp_path / "step0" / f"rank{rank}"
        folder.mkdir(parents=True)
        (folder / "dump.json").write_text(json.dumps(head | {"data": data}))
    return tmp_path


def bounds(n_records: int, n_files: int, n_bytes: int) -> int:
    """What is likely of one rank-step, worked out from the sheet above."""
    return (sum(RECORD_BYTES) * n_records) // 2 + n_files * FILE_BYTES + n_bytes


ALL = 4 * 1500 + 2 * 2000


@pytest.mark.parametrize(
    ("wanted", "likely"),
    [
        ({"task": "tensor"}, bounds(6, 6, ALL)),
        ({"task": "statistics"}, bounds(6, 0, 0)),
        ({"task": "statistics", "tensor_list": ["linear"]}, bounds(6, 2, 6000)),
        ({"task": "tensor", "list": ["relu"]}, bounds(4, 4, 4000)),
        ({"task": "tensor", "data_mode": ["output"]}, bounds(3, 3, 2000 + 2000)),
        ({"task": "tensor", "data_mode": ["forward", "input"]}, bounds(2, 2, 4000 + 1000)),
        (
            {"task": "tensor", "scope": ["Functional.linear.0.forward", "Functional.relu.0.forward"]},
            bounds(4, 4, 6000 + 2000),
        ),
    ],
)
def test_what_is_selected_is_added_up(earlier: Path, wanted: Mapping[str, Any], likely: int) -> None:
    config = msprobe_config(**{"dump_path": "/d", "step": [0], "rank": [0], **wanted})
    found = estimate_bytes(config, like=earlier)
    assert (found.bytes_likely, found.is_per_step, found.cost) == (likely, False, "small")
    assert found.bytes_at_least is not None and found.bytes_at_most is not None
    assert found.bytes_at_least < likely < found.bytes_at_most


def test_steps_and_ranks(earlier: Path) -> None:
    one = bounds(6, 6, ALL)
    many = msprobe_config(dump_path="/d", task="tensor", step="0|5-9|5", rank=())
    assert estimate_bytes(many, like=earlier).bytes_likely == one * 6 * 2  # ranks as in the earlier dump
    assert estimate_bytes(many, like=earlier, n_ranks=8).bytes_likely == one * 6 * 8
    every = msprobe_config(dump_path="/d", task="tensor")
    found = estimate_bytes(every, like=earlier)
    assert (found.bytes_likely, found.bytes_at_most, found.is_per_step) == (one * 2, None, True)
    assert "no upper bound" in found.told()[0]
    assert estimate_bytes(every, like=earlier, n_steps=3).bytes_likely == one * 6


def test_another_level_has_no_upper_bound(earlier: Path) -> None:
    config = msprobe_config(dump_path="/d", task="tensor", level="mix", step=[0])
    found = estimate_bytes(config, like=earlier)
    assert found.bytes_at_most is None and "level L1" in "\n".join(found.told())


def test_no_dump_to_compare_with(tmp_path: Path) -> None:
    config = msprobe_config(dump_path="/d", task="tensor")
    for like in (tmp_path, tmp_path / "missing"):
        found = estimate_bytes(config, like=like)
        assert (found.bytes_likely, found.cost) == (None, "huge")
        assert "could not be read" in found.told()[-1]


@pytest.mark.parametrize(
    ("config", "cost"),
    [
        (acl_config(dump_path="/d"), "huge"),
        (acl_config(dump_path="/d", dump_step="0"), "large"),
        (acl_config(dump_path="/d", layer=["a"], dump_step="0"), "medium"),
        (acl_config(dump_path="/d", dump_stats=["Max"]), "small"),
        (acl_config(dump_path="/d", dump_debug=True), "small"),
        (acl_config(dump_scene="lite_exception"), "small"),
        (acl_config(dump_path="/d", dump_op_switch=True), "huge"),
        (msprobe_config(dump_path="/d"), "small"),
        (msprobe_config(dump_path="/d", tensor_list=["a"]), "medium"),
        (msprobe_config(dump_path="/d", task="tensor"), "huge"),
        (msprobe_config(dump_path="/d", task="tensor", step=[0]), "large"),
        (msprobe_config(dump_path="/d", task="tensor", step=[0], list=["a"]), "medium"),
        ({"a": 1}, "unknown"),
    ],
)
def test_classes_of_cost(config: Mapping[str, Any], cost: str) -> None:
    found = estimate_bytes(config)
    assert (found.cost, found.bytes_likely) == (cost, None)
    assert len(found.told("zh")) == 1


def test_scopes_are_inclusive_and_in_order() -> None:
    names = [f"Torch.a.{i}.forward" for i in range(5)]
    config = msprobe_config(dump_path="/d", scope=[names[1], names[3]])
    assert selects(msprobe_parts(config), names) == [False, True, True, True, False]


def test_an_earlier_dump_of_cann(tmp_path: Path) -> None:
    folder = tmp_path / "20250611171530" / "0" / "m" / "1" / "0"
    folder.mkdir(parents=True)
    sizes = []
    for name, n in (("Conv2D.conv1_x.12.3.1749633330000123", 100), ("MatMul.fc.15.3.1749633330000456", 700)):
        content = container(outputs=[Tensor(bytes(4 * n), data_type=1, shape=(n,))])
        (folder / name).write_bytes(content)
        sizes.append(len(content))
    everything = estimate_bytes(acl_config(dump_path="/d", dump_step="0"), like=tmp_path)
    named = estimate_bytes(acl_config(dump_path="/d", layer=["conv1/x"], dump_step="0|2-3"), like=tmp_path)
    overflow = estimate_bytes(acl_config(dump_path="/d", dump_debug=True, dump_step="0"), like=tmp_path)
    assert (everything.bytes_likely, named.bytes_likely) == (sum(sizes), 3 * sizes[0])
    assert overflow.bytes_at_least == 0 and "nothing where there is none" in "\n".join(overflow.told())
    assert estimate_bytes(acl_config(dump_path="/d"), like=tmp_path).bytes_at_most is None
