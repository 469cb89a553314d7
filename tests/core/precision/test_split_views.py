"""Tensors made of parts: read in blocks they are what numpy puts together; layouts of shapes."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npulse.core.calls.tensors import TensorPlace
from npulse.core.formats.tensors import DTYPES, TensorError
from npulse.core.precision.blocks import kernel
from npulse.core.precision.blocks.pair import TensorArray, compare_sides, pair_blocks
from npulse.core.precision.splits import Cut, PartsPlace
from npulse.core.precision.splits.layouts import PADDING, Layout, is_part_of, layouts_of
from npulse.core.precision.splits.model import SUM, merged
from npulse.core.precision.splits.place import open_parts
from npulse.core.precision.splits.view import TensorView


def saved(folder: Path, arrays: list[Any]) -> list[TensorPlace]:
    places = []
    for number, array in enumerate(arrays):
        np.save(folder / f"{number}.npy", array)
        places.append(TensorPlace(folder, f"{number}.npy", folder, None, None))
    return places


def read_in_blocks(view: TensorView) -> Any:
    other = TensorArray(np.zeros(view.shape, np.float32), DTYPES["float32"], DTYPES["float32"])
    return np.concatenate([np.array(block) for _, block, _ in pair_blocks(view, other)]).reshape(view.shape)


@st.composite
def cuts(draw: st.DrawFn) -> tuple[list[Any], Cut, Any]:
    """Parts, how to put them together, and what numpy makes of it."""
    outer, inner = draw(st.integers(1, 5)), draw(st.sampled_from([1, 2, 7, 40]))
    lengths = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    fortran = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    parts = [rng.standard_normal((outer, n, inner)).astype(np.float32) for n in lengths]
    parts = [np.asfortranarray(part) if fortran else part for part in parts]
    segments = []
    for _ in range(draw(st.integers(1, 8))):
        part = draw(st.integers(0, len(parts) - 1))
        first = draw(st.integers(0, lengths[part] - 1))
        segments.append((part, first, draw(st.integers(1, lengths[part] - first))))
    whole = np.concatenate([parts[part][:, first : first + n] for part, first, n in segments], axis=1)
    return parts, Cut(whole.shape, outer, inner, merged(segments)), whole


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cuts(), block=st.sampled_from([3, 16, 1 << 17]))
def test_a_view_read_in_blocks_is_what_numpy_puts_together(
    tmp_path: Path, case: tuple[list[Any], Cut, Any], block: int
) -> None:
    parts, cut, whole = case
    view = open_parts(PartsPlace(tuple(saved(tmp_path, parts)), cut))
    files = [part.array() for part in view.parts]
    read = view.read(
        [lambda first, n, a=a: np.ascontiguousarray(a).reshape(-1)[first : first + n] for a in files]
    )
    flat = whole.reshape(-1)
    for first in range(0, flat.size, block):
        size = min(block, flat.size - first)
        assert np.array_equal(read(first, size), flat[first : first + size])
    assert np.array_equal(view.array(), whole)
    assert np.array_equal(read_in_blocks(view), whole)


def test_rows_larger_than_a_block_are_read_in_runs(tmp_path: Path) -> None:
    n = kernel.BLOCK // 2 + 5
    parts = [np.arange(2 * n, dtype=np.float32).reshape(2, n) + k for k in range(3)]
    cut = Cut((2, 3 * n), 2, 1, tuple((k, 0, n) for k in (2, 0, 1)))
    view = open_parts(PartsPlace(tuple(saved(tmp_path, parts)), cut))
    assert np.array_equal(read_in_blocks(view), np.concatenate([parts[2], parts[0], parts[1]], axis=1))


def test_parts_are_added_up_in_float64_whatever_their_format(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal(1000).astype(kind) for kind in ("float16", "float32", "float32")]
    cut = Cut((1000,), 1, 1, ((SUM, 0, 1000),))
    view = open_parts(PartsPlace(tuple(saved(tmp_path, parts)), cut))
    golden = sum(part.astype(np.float64) for part in parts)
    assert view.dtype.name == "float64" and view.declared.name == "float16"
    assert np.array_equal(view.array(), golden)
    one = TensorArray(golden, DTYPES["float64"], DTYPES["float64"])
    assert compare_sides(view, one).n_different == 0


def test_files_that_are_too_short_for_their_cut_are_refused(tmp_path: Path) -> None:
    places = saved(tmp_path, [np.zeros((4, 3), np.float32)])
    with pytest.raises(TensorError) as refused:
        open_parts(PartsPlace(tuple(places), Cut((5, 3), 1, 3, ((0, 0, 5),))))
    assert refused.value.kind == "shape"


SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=4)


@given(shape=SHAPES, axis=st.integers(0, 3), n=st.integers(2, 8), size=st.integers(1, 48))
def test_every_layout_of_a_split_takes_each_entry_from_where_it_says(
    shape: list[int], axis: int, n: int, size: int
) -> None:
    axis %= len(shape)
    whole = tuple(n * size if i == axis else d for i, d in enumerate(shape))
    part = tuple(size if i == axis else d for i, d in enumerate(shape))
    found = layouts_of((part,) * n, whole)
    assert found[0].kind == "contiguous"
    for layout in found:
        for runs in layout.runs:
            assert sum(count for _, count in runs) == size
            assert all(0 <= first and first + count <= n * size for first, count in runs)
        if layout.is_partition:
            taken = [i for runs in layout.runs for first, count in runs for i in range(first, first + count)]
            assert sorted(taken) == list(range(n * size))
    assert is_part_of(part, whole) and not is_part_of(whole, part)


def kinds(parts: list[tuple[int, ...]], whole: tuple[int, ...]) -> list[str]:
    return [layout.kind for layout in layouts_of(tuple(parts), whole)]


def test_layouts_of_shapes() -> None:
    assert kinds([(4, 8)] * 2, (4, 8)) == ["same", "sum"]
    assert kinds([(4, 8), (3, 8)], (7, 8))[0] == "contiguous"  # uneven parts
    assert kinds([(4, 8)] * 2, (8, 16)) == []  # two axes at once
    assert kinds([(4, 8)] * 2, (4, 8, 1)) == []
    assert kinds([(8, 4)] * 4, (16, 4))[:2] == ["repeated", "strided"]  # two key heads on four ranks
    padded = next(one for one in layouts_of(((16, 4),) * 4, (50, 4)) if one.kind == "padded")
    assert padded.n_padding == 14
    assert padded.runs[3] == ((48, 2), (PADDING, 14))
    # 8 query heads and 1 key head of 4 on 2 ranks: q is split, k and v are on both
    both = next(one for one in layouts_of(((24, 6),) * 2, (40, 6)) if one.kind == "qkv-repeated")
    assert both == Layout(
        "qkv-repeated", 0, 2, (((0, 16), (32, 4), (36, 4)), ((16, 16), (32, 4), (36, 4))), 8
    )


def test_fused_q_k_v_is_split_in_each_of_its_blocks() -> None:
    grouped = [one for one in layouts_of(((32, 5),) * 2, (64, 5)) if one.kind == "qkv"]
    two = next(one for one in grouped if one.blocks == 2)
    assert two.runs == (((0, 16), (32, 8), (48, 8)), ((16, 16), (40, 8), (56, 8)))
    assert prod(two.runs[0][0]) == 0
