"""Where abnormal elements are, against plain numpy over the whole tensor."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled
from npulse.core.formats.tensors import TensorFile
from npulse.core.overflow import places as places_module
from npulse.core.overflow.places import KINDS, Kind, Place, Places, RowHits, axis_names, find_places, kinds_in
from npulse.core.overflow.scan import scan

from .tensor_files import (
    COMPONENTS,
    FLOATS,
    float_values,
    limits,
    reference_dtype,
    telling_values,
    tensor_file,
)

INF = np.inf


def kind_of(value: float, ends: Collection[float]) -> Kind | None:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "+inf" if value > 0 else "-inf"
    return "saturated" if value in ends else None


def expected(values: np.ndarray, ends: Collection[float], kinds: Collection[Kind], parts: int = 1) -> Places:
    """By looking at each element. values: real numbers; ends: those that are saturated."""
    with np.errstate(invalid="ignore"):
        kept = np.vectorize(lambda v: (kind_of(v, ends) or "") in kinds, otypes=[bool])(values)
    where = np.argwhere(kept) if values.ndim else np.zeros((int(kept), 0), int)
    first = [tuple(map(int, index)) for index in where]
    shape = values.shape[:-1] if parts > 1 else values.shape
    rows = values.reshape(math.prod(shape[:-1]), math.prod(shape[-1:]) * parts)
    hit = kept.reshape(rows.shape).any(axis=1)

    def rows_of(element: float, kind: Kind) -> RowHits:
        numbers = np.flatnonzero((rows == element).all(axis=1) & (kind in kinds) & (rows.shape[1] > 0))
        indices = [tuple(map(int, np.unravel_index(n, shape[:-1]))) if shape[:-1] else () for n in numbers]
        return RowHits(len(numbers), tuple(indices[:16]))

    names = axis_names(shape) + (("part",) if parts > 1 else ())
    on_axes = [sorted({index[axis] for index in first}) for axis in range(values.ndim)]
    return Places(
        n_bad=len(first),
        first=tuple(Place(i, float(values[i]), kind_of(values[i], ends)) for i in first[:5]),
        axes=tuple(
            places_module.AxisHits(name, length, len(found), tuple(found[:16]))
            for name, length, found in zip(names, values.shape, on_axes, strict=True)
        ),
        n_rows=rows.shape[0],
        n_rows_hit=int(hit.sum()),
        rows_minus_inf=rows_of(-INF, "-inf"),
        rows_lowest=rows_of(min(ends), "saturated") if -127 not in ends else RowHits(0, ()),
    )


def plain(places: Places) -> dict[str, Any]:
    values = places._asdict()
    return values | {"first": [(p.index, p.value, p.kind) for p in places.first]}


def assert_same(have: Places, want: Places) -> None:
    np.testing.assert_equal(plain(have), plain(want))  # NaN equals NaN here


def find_in_pieces(file: TensorFile, kinds: Collection[Kind], block: int) -> Places:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places_module, "BLOCK", block)
        return find_places(file, kinds=kinds, max_places=5)


shapes = st.lists(st.integers(1, 6), max_size=5).map(tuple)
kind_sets = st.sets(st.sampled_from(KINDS))
block_sizes = st.sampled_from([2, 4, 10, 1 << 16])


@given(st.data(), st.sampled_from(FLOATS), shapes, kind_sets, block_sizes)
def test_every_float_format(
    data: st.DataObject, name: str, shape: tuple[int, ...], kinds: set[Kind], block: int
) -> None:
    pool = telling_values(name)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    few = rng.choice(pool.size, data.draw(st.integers(1, 4)))
    array = pool[rng.choice(few, shape)].reshape(shape)
    largest, _ = limits(name)
    with tensor_file(array, name) as file:
        have = find_in_pieces(file, kinds, block)
    assert_same(have, expected(float_values(array), (largest, -largest), kinds))


@given(st.integers(0, 99), shapes, kind_sets, block_sizes)
def test_int8(seed: int, shape: tuple[int, ...], kinds: set[Kind], block: int) -> None:
    array = np.random.default_rng(seed).choice(np.array([127, 126, 0, -126, -127, -128], np.int8), shape)
    array = np.asarray(array, np.int8).reshape(shape)
    with tensor_file(array, "int8") as file:
        have = find_in_pieces(file, kinds, block)
    assert_same(have, expected(array.astype(np.float64), (127, -127, -128), kinds))


@given(st.integers(0, 99), shapes, block_sizes)
def test_complex_elements_have_two_parts(seed: int, shape: tuple[int, ...], block: int) -> None:
    rng = np.random.default_rng(seed)
    pool = np.array([-INF, -INF, -INF, 1, np.nan], np.float32)
    array = rng.choice(pool, (*shape, 2)).view(np.complex64).reshape(shape)
    largest, _ = limits(COMPONENTS["complex64"])
    with tensor_file(array, "complex64") as file:
        have = find_in_pieces(file, KINDS, block)
    assert_same(have, expected(float_values(array), (largest, -largest), KINDS, parts=2))


@given(st.data(), block_sizes)
def test_views_are_looked_at_in_their_own_order(data: st.DataObject, block: int) -> None:
    storage = np.resize(np.array([1, np.nan, -INF, 65504, -65504, 2, 3], np.float16), 60)
    shape = tuple(data.draw(st.lists(st.integers(1, 4), max_size=3)))
    strides = tuple(data.draw(st.integers(0, 6)) for _ in shape)
    view = np.lib.stride_tricks.as_strided(storage, shape, [2 * stride for stride in strides])
    with tensor_file(storage, "float16", strides=strides, shape=shape) as file:
        have = find_in_pieces(file, KINDS, block)
    assert_same(have, expected(float_values(view), (65504.0, -65504.0), KINDS))


def test_the_declared_format_says_what_is_saturated() -> None:
    array = np.array([[1, 65504], [-65504, -65504]], np.float32)
    with tensor_file(array, "float32", "float16") as file:
        found = find_places(file, kinds=("saturated",))
        assert find_places(file, kinds=("nan", "+inf", "-inf")).n_bad == 0
    assert [place.index for place in found.first] == [(0, 1), (1, 0), (1, 1)]
    assert found.rows_lowest == RowHits(1, ((1,),))
    with tensor_file(array, "float32") as file:
        assert find_places(file, kinds=KINDS).n_bad == 0


def test_masks_of_attention() -> None:
    """Two rows of one head are masked as a whole, the others above the diagonal."""
    array = np.where(np.tri(8, dtype=bool), np.float32(0.5), np.float32(-INF))
    array = np.broadcast_to(array, (2, 3, 8, 8)).copy()
    array[1, 2, 4:6] = -INF
    with tensor_file(array, "float32") as file:
        found = find_places(file, kinds=("-inf",))
    assert found.rows_minus_inf == RowHits(2, ((1, 2, 4), (1, 2, 5)))
    assert found.rows_lowest == RowHits(0, ())
    assert (found.n_rows, found.n_rows_hit) == (48, 42)  # the last row of each head sees all others
    assert [(axis.name, axis.n_hit) for axis in found.axes] == [
        ("batch", 2), ("head", 3), ("row", 7), ("column", 8)]  # fmt: skip


def test_at_most_so_many_places() -> None:
    with tensor_file(np.full((300, 500), np.nan, np.float32), "float32") as file:
        found = find_places(file, kinds=("nan",))
        assert len(found.first) == 100 and found.first[-1].index == (0, 99)
        assert (found.n_bad, found.n_rows_hit) == (150_000, 300)
        assert [len(axis.first) for axis in found.axes] == [16, 16]
        assert find_places(file, kinds=("nan",), max_places=0).first == ()


def test_rows_longer_than_a_block() -> None:
    array = np.zeros((3, 200_001), np.float32)
    array[1] = -INF
    array[2, ::70_000] = np.nan
    with tensor_file(array, "float32") as file:
        found = find_places(file, kinds=KINDS)
    assert found.rows_minus_inf == RowHits(1, ((1,),))
    assert found.n_rows_hit == 2 and found.axes[1].n_hit == 200_001
    assert found.n_bad == 200_001 + 3


@pytest.mark.parametrize("name", ["int32", "uint8", "bool"])
def test_other_whole_numbers_are_never_abnormal(name: str) -> None:
    with tensor_file(np.ones((2, 3), name), name) as file:
        found = find_places(file, kinds=KINDS)
    assert (found.n_bad, found.n_rows, found.axes[1].length) == (0, 2, 3)


def test_no_elements() -> None:
    with tensor_file(np.zeros((3, 0), np.float16), "float16") as file:
        found = find_places(file, kinds=KINDS)
    assert (found.n_bad, found.n_rows_hit, found.first) == (0, 0, ())


@pytest.mark.parametrize(
    ("n_axes", "names"),
    [
        (0, ()),
        (1, ("element",)),
        (2, ("row", "column")),
        (3, ("batch", "row", "column")),
        (4, ("batch", "head", "row", "column")),
        (5, ("axis 0", "axis 1", "axis 2", "row", "column")),
    ],
)
def test_names_of_axes(n_axes: int, names: tuple[str, ...]) -> None:
    assert axis_names((2,) * n_axes) == names


def test_kinds_in_a_scan() -> None:
    for values, kinds in [
        ([1.0], ()),
        ([np.nan, -INF], ("nan", "-inf")),
        ([INF, -65504], ("+inf", "saturated")),
    ]:
        with tensor_file(np.array(values, np.float16), "float16") as file:
            assert kinds_in(scan(file)) == kinds


@given(st.sampled_from(FLOATS), st.integers(0, 99))
def test_places_agree_with_the_scan(name: str, seed: int) -> None:
    pool = telling_values(name)
    array = pool[np.random.default_rng(seed).choice(pool.size, (7, 9))].astype(reference_dtype(name))
    with tensor_file(array, name) as file:
        found = scan(file)
        assert find_places(file, kinds=kinds_in(found)).n_bad == found.n_nonfinite + found.n_saturated


def test_cancelled_and_unknown() -> None:
    with tensor_file(np.ones(3, np.float16), "float16") as file:
        with pytest.raises(Cancelled):
            find_places(file, kinds=KINDS, is_cancelled=lambda: True)
        with pytest.raises(ValueError, match="unknown kinds: near"):
            find_places(file, kinds=("near",))  # type: ignore[arg-type]
