"""The strip of layers and the module tree: every row has a place, and the worst is what a module shows."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from npulse.core.precision.compare import Comparison, Settings, compare_captures
from npulse.core.precision.layers import layer_strip, module_tree
from npulse.core.precision.table import place_of, precision_table, table_row
from npulse.core.run.sides import pair_of

from . import faulty_net as fn
from .faulty_net import Fault, api, tensor, write_dump


def compared(fault: Fault, level: str, ranks: int = 1) -> Comparison:
    with TemporaryDirectory() as folder:
        for side, golden in (("target", False), ("golden", True)):
            for rank in range(ranks):
                net = fn.run_alone(fault, golden=golden, rank=rank)
                net.write(Path(folder, side, "step0", f"rank{rank}"), level, "statistics")
        return compare_captures(pair_of(Path(folder, "target"), Path(folder, "golden")), Settings())


@pytest.fixture(scope="module")
def mix() -> Comparison:
    return compared(Fault("output", "Functional.relu.1.forward"), "mix", ranks=2)


def test_layers_in_execution_order(mix: Comparison) -> None:
    strip = layer_strip(mix, mix.ranks[0])
    assert [label for label in strip.labels if label.endswith("forward")][:3] == [
        "forward",
        "layer 0 forward",
        "layer 1 forward",
    ]
    assert len(strip.errors) == len(strip.rows) == len(strip.known) == len(strip.labels)
    assert len(strip.layer_of_row) == mix.ranks[0].rows.n_rows
    assert (np.diff(strip.layer_of_row) >= 0).all()
    assert ((strip.errors >= 0) & (strip.errors <= 1)).all()


def test_the_worst_row_of_a_layer_lies_in_it(mix: Comparison) -> None:
    rank = mix.ranks[1]
    strip = layer_strip(mix, rank)
    for layer, row in enumerate(strip.rows.tolist()):
        found, inner = place_of(mix, row)
        assert found is rank
        assert strip.layer_of_row[inner] == layer
        assert table_row(mix, rank, inner) == row
    clean = strip.labels.index("layer 0 forward")
    broken = strip.labels.index("layer 1 forward")
    assert strip.errors[clean] == 0 and strip.errors[broken] > 0.1


def test_calls_without_layers_stand_for_themselves() -> None:
    apis = compared(Fault(), "L1")
    strip = layer_strip(apis, apis.ranks[0])
    assert len(strip.labels) == apis.ranks[0].rows.pairing.n_calls
    assert strip.labels[0] == "Functional.embedding.0.forward"


def test_the_tree_holds_every_call_once_and_counts_what_lies_inside(mix: Comparison) -> None:
    rank = mix.ranks[0]
    tree = module_tree(mix, rank)
    names = [tree.column("name").value(i) for i in range(tree.n_rows)]
    calls = {rank.rows.pairing.name(rank.target, rank.golden, i) for i in range(rank.rows.pairing.n_calls)}
    assert set(names) == calls and len(names) == len(calls)
    counts = dict(zip(names, (tree.column("calls").value(i) for i in range(tree.n_rows)), strict=True))
    assert counts["Module.layers.1.fc1.Linear.forward.0"] == 2
    assert counts["Functional.relu.1.forward"] == 1
    inside = [
        n
        for n, p in fn.run_alone(Fault(), golden=True).parents.items()
        if p == "Module.layers.1.Block.forward.0"
    ]
    assert counts["Module.layers.1.Block.forward.0"] == 1 + sum(counts[name] for name in inside)


def test_a_module_shows_the_worst_of_what_lies_in_it(mix: Comparison) -> None:
    tree, table = module_tree(mix, mix.ranks[0]), precision_table(mix)
    rows = {row["name"]: row for row in (tree.row(i) for i in range(tree.n_rows))}
    block = rows["Module.layers.1.Block.forward.0"]
    assert (block["verdict"], block["role"]) == ("error", "origin")
    assert table.row(block["row"])["verdict"] == "error"
    assert rows["Module.layers.0.Block.forward.0"]["verdict"] == "pass"
    assert block["module"].strip().startswith("layers.1 (Block)")
    assert rows["Module.layers.1.fc1.Linear.forward.0"]["module"].startswith("  ")


def test_a_hierarchy_in_a_circle_ends(tmp_path: Path) -> None:
    names = ["Module.a.A.forward.0", "Module.b.B.forward.0"]
    for side in ("target", "golden"):
        folder = write_dump(
            tmp_path / side / "rank0", {n: api([], [tensor([1.0, 2.0])]) for n in names}, level="L0"
        )
        (folder / "construct.json").write_text(json.dumps({names[0]: names[1], names[1]: names[0]}))
    comparison = compare_captures(pair_of(tmp_path / "target", tmp_path / "golden"))
    assert module_tree(comparison, comparison.ranks[0]).n_rows <= 2
    assert layer_strip(comparison, comparison.ranks[0]).labels


def test_nothing_recorded(tmp_path: Path) -> None:
    for side in ("target", "golden"):
        write_dump(tmp_path / side / "rank0", {})
    comparison = compare_captures(pair_of(tmp_path / "target", tmp_path / "golden"))
    assert layer_strip(comparison, comparison.ranks[0]).labels == ()
    assert module_tree(comparison, comparison.ranks[0]).n_rows == 0
    assert precision_table(comparison).n_rows == 0
