"""Which earlier output an input is: told by content, and only where content tells."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from npulse.core.calls.content import content_of, producers
from npulse.core.formats.msprobe.dump import read_dump
from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT
from npulse.core.precision.compare import Settings, compare_captures
from npulse.core.run.sides import pair_of

from . import faulty_net as fn
from .faulty_net import Fault, api, tensor, write_dump

X, Y = (np.random.default_rng(i).standard_normal(12) for i in (1, 2))


def links(folder: Path, data: dict[str, Any]) -> dict[str, str]:
    """Leaf name to the name of its producer."""
    dump = read_dump(write_dump(folder, data) / "dump.json", root=folder)
    found = producers(dump, content_of(dump))
    return {dump.leaf_name(i): dump.leaf_name(int(p)) for i, p in enumerate(found) if p >= 0}


def chain(made: Any, read: Any) -> dict[str, Any]:
    return {"Torch.abs.0.forward": api([], [made]), "Torch.exp.0.forward": api([read], [])}


LINKED = {"Torch.exp.0.forward.input.0": "Torch.abs.0.forward.output.0"}


def test_by_statistics_and_element_count(tmp_path: Path) -> None:
    assert links(tmp_path, chain(tensor(X), tensor(X))) == LINKED
    assert links(tmp_path, chain(tensor(X), tensor(X.reshape(3, 4)))) == LINKED
    assert links(tmp_path, chain(tensor(X), tensor(np.tile(X, 2)))) == {}
    assert links(tmp_path, chain(tensor(X), tensor(X + 1e-3))) == {}


def test_by_checksum(tmp_path: Path) -> None:
    assert links(tmp_path, chain(tensor(X, md5="0000000a"), tensor(X, md5="0000000a"))) == LINKED
    assert links(tmp_path, chain(tensor(X, md5="0000000a"), tensor(X, md5="0000000b"))) == {}
    # 32 bits collide: two tensors with other extremes are two tensors
    assert links(tmp_path, chain(tensor(X, md5="0000000a"), tensor(X * 2, md5="0000000a"))) == {}
    # integers say nothing by Max and Min, and all by their checksum
    ids = np.array([3, 9, 1])
    assert links(tmp_path, chain(tensor(ids, "int64"), tensor(ids, "int64"))) == {}
    with_sum = tensor(ids, "int64", md5="0000000a")
    assert links(tmp_path, chain(with_sum, with_sum)) == LINKED


def test_constants_link_to_nothing(tmp_path: Path) -> None:
    for value in (np.zeros(8), np.ones(8), np.array(3.0)):
        assert links(tmp_path, chain(tensor(value), tensor(value))) == {}
        with_sum = tensor(value, md5="0000000a")
        assert links(tmp_path, chain(with_sum, with_sum)) == {}


def test_two_statistics_link_where_they_are_no_round_numbers(tmp_path: Path) -> None:
    """float64 of version 26 has Max and Min alone; those of a softmax are 1 and 0 in every layer."""
    assert (
        links(
            tmp_path,
            chain(tensor(X, "float64", Mean=None, Norm=None), tensor(X, "float64", Mean=None, Norm=None)),
        )
        == LINKED
    )
    shares = tensor([1.0, 0.25, 0.0], "float64", Mean=None, Norm=None)
    assert links(tmp_path, chain(shares, shares)) == {}


def test_nan_is_no_content(tmp_path: Path) -> None:
    broken = tensor([np.nan, 1.0])
    assert links(tmp_path, chain(broken, broken)) == {}


def test_the_norm_of_float16_may_be_infinite(tmp_path: Path) -> None:
    large = tensor(np.full(99, 6e4) + np.arange(99) * 8, "float16")
    assert large["Norm"] == np.inf
    assert links(tmp_path, chain(large, large)) == LINKED


def test_the_latest_output_counts_and_no_call_feeds_itself(tmp_path: Path) -> None:
    data = {
        "Torch.abs.0.forward": api([], [tensor(X)]),
        "Tensor.add_.0.forward": api([tensor(X)], [tensor(X)]),
        "Torch.exp.0.forward": api([tensor(X)], [tensor(Y)]),
    }
    assert links(tmp_path, data) == {
        "Tensor.add_.0.forward.input.0": "Torch.abs.0.forward.output.0",
        "Tensor.add_.0.forward.output.0": "Torch.abs.0.forward.output.0",
        "Torch.exp.0.forward.input.0": "Tensor.add_.0.forward.output.0",
    }


def test_nothing_in_a_dump(tmp_path: Path) -> None:
    assert links(tmp_path, {}) == {}


def test_any_columns_link_as_a_walk_along_the_calls_does() -> None:
    rng = np.random.default_rng(1)
    n_linked = 0
    for _ in range(300):
        n = int(rng.integers(0, 40))
        sides, calls = rng.integers(0, 6, n), np.sort(rng.integers(0, n // 3 + 1, n))
        content = rng.integers(-1, int(rng.integers(1, 8)), n)
        want = []
        for row in range(n):
            earlier = [p for p in range(row) if sides[p] == OUTPUT and content[p] == content[row]]
            before = [p for p in earlier if calls[p] < calls[row]]
            is_read = content[row] >= 0 and sides[row] in (INPUT, KWARGS, OUTPUT)
            want.append(max(before, default=-1) if is_read else -1)
        dump: Any = SimpleNamespace(leaves=SimpleNamespace(side=sides, call=calls))
        assert producers(dump, content).tolist() == want
        n_linked += sum(p >= 0 for p in want)
    assert n_linked > 100


def test_every_link_of_a_computed_network_is_the_true_one(tmp_path: Path) -> None:
    net = fn.run_alone(Fault(), golden=True, backward=False)
    net.write(tmp_path, "L1", "statistics")
    dump = read_dump(tmp_path / "dump.json", root=tmp_path)
    found = producers(dump, content_of(dump))
    made_by = {
        f"{step.name}.input.{i}": x.name
        for step in net.steps
        for i, x in enumerate(step.inputs)
        if isinstance(x, fn.Leaf)
    }
    for row, producer in enumerate(found):
        name = dump.leaf_name(row)
        if name in made_by:
            assert (
                dump.leaf_name(int(producer)).removesuffix(".output.0") if producer >= 0 else ""
            ) == made_by[name]


def test_a_measurement_speaks_for_the_same_tensor_elsewhere(tmp_path: Path) -> None:
    """tensor_list wrote the producer's elements; the consumer has statistics alone."""
    for side, factor in (("t", 1.0), ("g", 1.001)):
        made, read = tensor(X * factor), tensor(X * factor)
        made["data_name"] = "Torch.abs.0.forward.output.0.npy"
        folder = write_dump(tmp_path / side, chain(made, read))
        (folder / "dump_tensor_data").mkdir()
        np.save(folder / "dump_tensor_data" / made["data_name"], (X * factor).astype(np.float32))
    rank = compare_captures(pair_of(tmp_path / "t", tmp_path / "g"), Settings()).ranks[0]
    rows = rank.rows
    assert rows.figure("rel_l2", 1) == rows.figure("rel_l2", 0)
    assert rows.figure("rel_l2", 1) is not None
    assert (rows.basis[0], rows.basis[1]) == (1, 4)
