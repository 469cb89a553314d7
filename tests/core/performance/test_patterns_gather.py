"""Gathers that read a KV cache, and the precision mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.performance.criteria import Criteria
from npulse.core.performance.operators.gather import cache_shape, piece_elements
from npulse.core.performance.operators.tensors import (
    dtypes_of,
    format_of,
    n_elements,
    shape_of,
    shapes_of,
)

from .made_tables import advice_from

PAGED = {
    "type": "GatherV2",
    "shapes": "1024,128,8,128;1;1",
    "dtypes": "DT_BF16;INT64;INT64",
    "out": "1024,128,1,128",
    "us": 500,
}
"""One head of every token: pieces of 128 elements."""
MATMUL = {"type": "MatMulV2", "core": "AI_CORE", "us": 1000, "block": 24}


def test_a_head_out_of_a_paged_cache() -> None:
    (advice,) = advice_from([PAGED, PAGED, MATMUL])["kv-gather"]
    moved = 2 * 1024 * 128 * 128 * 2  # read and written, two bytes each
    assert advice.figures["moved_bytes"] == moved
    assert advice.figures["bandwidth_gb_per_s"] == pytest.approx(moved / 500e-6 / 1e9, rel=1e-9)
    assert advice.figures["piece_bytes"] == 256
    assert advice.figures["n_calls"] == 2
    assert advice.figures["share_percent"] == 50.0
    assert advice.severity == "warning"
    assert advice.cost_ns == int(2 * (500_000 - moved / 575))
    assert "[num_blocks, num_kv_heads, block_size, head_dim]" in advice.next_step[0]
    assert "[num_blocks, block_size, num_kv_heads, head_dim]" in advice.message[0]
    assert "1024,128,8,128" in advice.message[0] and "256 B" in advice.message[1]


@pytest.mark.parametrize(
    "change",
    [
        {"shapes": "151936,1024;4096;1", "out": "4096,1024"},  # a table of embeddings
        {"us": 19, "shapes": "1024,128,8,128;4;1", "out": "4,128,8,128"},  # short
        {"us": 21, "out": "1024,128,8,128", "shapes": "1024,128,8,128;1024;1"},  # fast
        {"type": "Slice"},
        {"core": "AI_CPU"},  # told as such
        {"dtypes": "STRING"},
        {"shapes": "1024,x,8,128;1;1"},
        {"out": "N/A"},
        {"type": "StridedSlice", "out": "1024,128,4,128"},  # a half: a split, not a read of a cache
    ],
)
def test_what_is_no_slow_read(change: dict[str, Any]) -> None:
    assert "kv-gather" not in advice_from([{**PAGED, **change}])


def test_whole_blocks_are_read_in_place() -> None:
    row = {**PAGED, "shapes": "1024,128,8,128;64;1", "out": "64,128,8,128", "us": 400}
    (advice,) = advice_from([row])["kv-gather"]
    assert advice.figures["piece_bytes"] == 128 * 8 * 128 * 2
    assert "block_table" in advice.next_step[0] and "Try the layout" not in advice.next_step[0]


def test_bandwidth_of_the_chip_is_the_users() -> None:
    rows = [{**PAGED, "us": 500}]  # 134.2 GB/s
    assert "kv-gather" not in advice_from(rows, Criteria(bandwidth_gb_per_s=200))
    (advice,) = advice_from(rows, Criteria(bandwidth_gb_per_s=400))["kv-gather"]
    assert advice.figures["limit_gb_per_s"] == 200


def test_unknown_without_shapes() -> None:
    found = advice_from([PAGED], without=["Input Shapes"])
    assert "kv-gather" not in found
    assert "gather" in found["pattern-unknown"][0].figures["patterns"]


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ((1024, 128, 8, 128), "[num_blocks, block_size, num_kv_heads, head_dim]"),
        ((1024, 8, 128, 128), "[batch or num_blocks, num_kv_heads, seq or block_size, head_dim]"),
        ((16, 8, 128, 128), None),  # as square as an image, and few of them
        ((1024, 8, 256, 128), "[batch or num_blocks, num_kv_heads, seq or block_size, head_dim]"),
        ((4, 4096, 8, 128), "[batch, seq, num_kv_heads, head_dim]"),
        ((1024, 128, 1024), "[num_blocks, block_size, num_kv_heads * head_dim]"),
        ((65536, 8, 128), "[num_slots, num_kv_heads, head_dim]"),
        ((32, 256, 13, 13), None),
        ((1024, 4, 4608), None),
        ((151936, 1024), None),
        ((2, 16, 4, 64), None),  # small
        ((), None),
    ],
)
def test_layouts(shape: tuple[int, ...], layout: str | None) -> None:
    found = cache_shape(shape, 2)
    assert (found.layout if found else None) == layout


def test_a_name_that_speaks_of_a_cache() -> None:
    assert cache_shape((65536, 1024), 2, is_named=True) is not None
    row = {**PAGED, "shapes": "65536,1024;64;1", "out": "64,1024", "name": "kv_cache_gather", "us": 30}
    assert "kv-gather" in advice_from([row])


@given(
    st.lists(st.integers(2, 5), min_size=1, max_size=4),
    st.integers(0, 3),
    st.integers(6, 9),
)
def test_pieces_are_those_of_numpy(source: list[int], axis: int, n: int) -> None:
    """Taken along an axis, so many elements next to each other in the result are so in the source."""
    axis %= len(source)
    index = np.arange(n) * 7 % source[axis]
    values = np.arange(int(np.prod(source))).reshape(source)
    taken = np.take(values, index, axis)
    piece = piece_elements(tuple(source), (n,), taken.shape)
    assert piece == int(np.prod(source[axis + 1 :]))
    runs = taken.reshape(-1, piece)
    assert (np.diff(runs, axis=1) == 1).all()


@given(st.text(alphabet="0123456789,;x -", max_size=60))
def test_shapes_of_anything(text: str) -> None:
    for shape in shapes_of(text):
        assert shape is None or n_elements(shape) >= 0
    assert len(dtypes_of(text)) == len(text.split(";"))


def test_shape_texts() -> None:
    assert shapes_of("16,5120;;3") == [(16, 5120), (), (3,)]
    assert shape_of("9" * 40) is None and shape_of("-1") is None and shape_of("1," * 40) is None
    assert dtypes_of("DT_BF16;FLOAT;UNDEFINED;float32;DT_UNDEFINED") == ["BF16", "FLOAT", "", "FLOAT", ""]
    assert (format_of("FORMAT_ND"), format_of("NC1HWC0:1")) == ("ND", "NC1HWC0")


# ---- precision mode ----

FP32 = {"type": "MatMulV2", "core": "AI_CORE", "dtypes": "FLOAT;FLOAT", "us": 30, "block": 24}


def test_fp32_without_hf32() -> None:
    rows = [{**FP32, "hf32": "NO"}, {**FP32, "hf32": "NO"}, {"us": 40, "dtypes": "FLOAT"}]
    (advice,) = advice_from(rows)["precision-mode"]
    assert (advice.role, advice.severity, advice.cost_ns) == ("suspect", "note", 0)
    assert advice.figures["n_fp32_matrix_without_hf32"] == 2
    assert advice.figures["fp32_matrix_without_hf32_us"] == 60
    assert advice.figures["share_percent"] == 60.0
    assert advice.message[0].startswith("All fp32")
    assert "allow_hf32 = True" in advice.next_step[0]


@pytest.mark.parametrize(
    ("hf32", "dtypes", "role", "start"),
    [
        (["YES", "YES"], "FLOAT;FLOAT", "ok", "All fp32 matmuls and convolutions may"),
        (["YES", "NO"], "FLOAT;FLOAT", "suspect", "fp32 matmuls and convolutions without HF32, 1 x"),
        (["NO", "NO"], "DT_BF16;DT_BF16", "ok", "No fp32"),
        (["NO", "NO"], "DT_BF16;FLOAT", "ok", "No fp32"),
        (["N/A", "N/A"], "FLOAT;FLOAT", "unknown", "HF32 Eligible has no value"),
    ],
)
def test_modes(hf32: list[str], dtypes: str, role: str, start: str) -> None:
    rows = [*({**FP32, "dtypes": dtypes, "hf32": one} for one in hf32), {"us": 1}]
    (advice,) = advice_from(rows)["precision-mode"]
    assert advice.role == role
    assert advice.message[0].startswith(start)


def test_unrecorded_mode_is_unknown_and_names_are_counted() -> None:
    rows = [{"name": "RmsNorm_bf16_high_performance_0"}, {"name": "Cast_high_precision_1"}]
    (advice,) = advice_from(rows, without=["HF32 Eligible"], env={"ALLOW_HF32": "1", "PATH": "/x"})[
        "precision-mode"
    ]
    assert advice.role == "unknown"
    assert advice.figures["n_named_high_performance"] == 1
    assert advice.figures["settings"] == {"ALLOW_HF32": "1"}
    assert "ALLOW_HF32=1" in advice.message[0] and "Level1" in advice.next_step[1]
    (advice,) = advice_from([{"hf32": "N/A"}])["precision-mode"]
    assert advice.role == "unknown"
