"""How magnitudes grow: block by block along the residual stream, and over the layers of a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from npulse.core.overflow.growth import ResidualGrowth, layer_growth, residual_growth

from .small_dumps import INF, MAX, fwd, looked, mod, nan, num, rec, reported

F16 = MAX["float16"]


def blocks(
    values: Sequence[float], dtype: str = "bfloat16", path: str = "layers", number: int = 0
) -> dict[str, Any]:
    """The outputs of the blocks of a model, one of each absmax."""
    stream = [rec(v, -v / 2, dtype) if math.isfinite(v) else nan(dtype) for v in (values[0], *values)]
    return {
        f"Module.model.{path}.{i}.Block.forward.{number}": mod([stream[i]], [stream[i + 1], num(1)])
        for i in range(len(values))
    }


def grown(folder: Path, data: dict[str, Any]) -> ResidualGrowth | None:
    return residual_growth(looked(folder, data).ranks[0])


def powers(first: float, ratio: float, n: int) -> list[float]:
    return [first * ratio**i for i in range(n)]


def test_the_first_block_that_grew_and_the_growth_of_each(tmp_path: Path) -> None:
    found = grown(tmp_path, blocks([3.0, 3.01, 3.0, *powers(3.0 * 1.8, 1.8, 6)]))
    assert found is not None
    assert (found.first, found.last) == (3, 8)
    assert found.ratio == pytest.approx(1.8, rel=0.01)
    assert found.absmax == pytest.approx(powers(3.0, 1.8, 7))
    assert found.name == "Module.model.layers.8.Block.forward.0"
    assert found.dtype == "torch.bfloat16"


@pytest.mark.parametrize(("ratio", "noise"), [(1.4, 0.01), (1.8, 0.05), (3.0, 0.1)])
def test_noise_does_not_hide_it(ratio: float, noise: float, tmp_path: Path) -> None:
    steady = [2.0, 2.0, 2.0, *powers(2 * ratio, ratio, 8)]
    found = grown(tmp_path, blocks([v * (1 + noise * (-1) ** i) for i, v in enumerate(steady)]))
    assert found is not None
    assert (found.first, found.last) == (3, 10)
    assert found.ratio == pytest.approx(ratio, rel=0.03)


@pytest.mark.parametrize(
    "values",
    [
        [3.0] * 12,
        powers(3.0, 1.2, 12),
        powers(3.0, 1.8, 4),
        [3.0, 30.0] * 6,
        powers(3000.0, 0.5, 12),
        [3.0, 3.0, 3.0, *[300.0] * 8],
        [3.0],
    ],
)
def test_no_steady_growth(values: list[float], tmp_path: Path) -> None:
    assert grown(tmp_path, blocks(values)) is None


@pytest.mark.parametrize(("n", "left"), [(9, 2.0), (10, 1.0), (8, 3.0)])
def test_blocks_left_until_the_limit(n: int, left: float, tmp_path: Path) -> None:
    values = powers(F16 / 4.0**10, 4.0, n)
    found = grown(tmp_path, blocks(values, "float16"))
    assert found is not None and found.blocks_left == pytest.approx(left)


def test_a_run_that_ends_in_infinity_is_told_up_to_there(tmp_path: Path) -> None:
    found = grown(tmp_path, blocks([*powers(1.0, 4.0, 7), INF, INF], "float16"))
    assert found is not None
    assert (found.first, found.last) == (1, 6)


def test_the_longest_run_counts(tmp_path: Path) -> None:
    values = [*powers(1.0, 2.0, 5), *powers(1.0, 1.5, 8), 1.0]
    found = grown(tmp_path, blocks(values))
    assert found is not None
    assert (found.first, found.last) == (6, 12)
    assert found.ratio == pytest.approx(1.5)


def test_lists_are_not_mixed_and_numbers_are_in_order(tmp_path: Path) -> None:
    encoder = blocks([1.0] * 6, path="encoder.layers")
    decoder = blocks(powers(1.0, 2.0, 6), path="decoder.layers")
    mixed = {
        name: entry for pair in zip(encoder.items(), decoder.items(), strict=True) for name, entry in pair
    }
    found = grown(tmp_path, mixed)
    assert found is not None and found.name == "Module.model.decoder.layers.5.Block.forward.0"


def test_a_second_pass_through_the_model_is_left_aside(tmp_path: Path) -> None:
    data = {**blocks([1.0] * 6), **blocks(powers(1.0, 2.0, 6), number=1)}
    assert grown(tmp_path, data) is None


def test_blocks_that_are_missing_end_a_run(tmp_path: Path) -> None:
    data = blocks(powers(1.0, 2.0, 9))
    del data["Module.model.layers.4.Block.forward.0"]
    assert grown(tmp_path, data) is None


def test_the_finding(tmp_path: Path) -> None:
    told = reported(looked(tmp_path, blocks([3.0, 3.0, 3.0, *powers(3.0 * 1.8, 1.8, 6)])))
    (finding,) = [f for f in told.findings if f.rule == "overflow.residual-growth"]
    assert finding.figures["first_block"] == 3
    assert finding.figures["growth_ratio"] == pytest.approx(1.8, rel=0.01)
    assert "1.8" in finding.message
    assert (told.verdict, told.exit_code()) == ("warn", 0)


# ---- layers ----


def test_layers_by_their_largest_output(tmp_path: Path) -> None:
    data = {
        "Module.layers.0.fc.Linear.forward.0": mod([rec(F16)], [rec(3.0), rec(255.0, 0.0)]),
        "Module.layers.1.fc.Linear.forward.0": mod([rec(3.0)], [rec(0.0, 0.0)]),
        "Module.layers.2.fc.Linear.forward.0": mod([rec(3.0)], [rec(INF, 1.0)]),
        "Module.layers.3.fc.Linear.forward.0": mod([rec(3.0)], [rec(None, None)]),
    }
    found = layer_growth(looked(tmp_path, data).ranks[0])
    assert found.labels == tuple(f"layer {i} forward" for i in range(4))
    assert found.shares[:3].tolist() == pytest.approx([math.log1p(255) / math.log1p(F16), 0.0, 1.0])
    assert found.known.tolist() == [True, True, True, False]
    assert found.entry_of_call.tolist() == [0, 1, 2, 3]


def test_a_legal_infinity_makes_no_layer_full(tmp_path: Path) -> None:
    data = {"Tensor.masked_fill.0.forward": fwd([rec(3.0), num(-INF)], [rec(3.0, -INF)])}
    found = layer_growth(looked(tmp_path, data).ranks[0])
    assert (found.labels, found.shares.tolist()) == (("Tensor.masked_fill.0.forward",), [0.0])


def test_a_dump_without_calls(tmp_path: Path) -> None:
    found = layer_growth(looked(tmp_path, {}).ranks[0])
    assert (found.labels, len(found.shares)) == ((), 0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_shares_end_at_the_dtypes_largest_value(dtype: str, tmp_path: Path) -> None:
    largest = MAX.get(dtype, 1.7976931348623157e308)
    data = {"Torch.add.0.forward": fwd([rec(1.0, dtype=dtype)], [rec(largest, 0.0, dtype)])}
    assert layer_growth(looked(tmp_path, data).ranks[0]).shares.tolist() == [1.0]
