"""The scan against plain float64 arithmetic, for every format, layout and way of reading."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled
from npulse.core.formats.tensors import DTYPES, TensorError, TensorFile, open_tensor
from npulse.core.overflow import compiled
from npulse.core.overflow import scan as scan_module
from npulse.core.overflow.blocks import in_stored_order
from npulse.core.overflow.scan import Scan, scan

from .tensor_files import (
    COMPONENTS,
    FLOATS,
    float_values,
    limits,
    reference_dtype,
    small_maps,
    telling_values,
    tensor_file,
)


@pytest.fixture(scope="module", autouse=True, params=["numpy", "compiled"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test of this module runs with numpy's passes and with the compiled loops."""
    before = compiled._loaded
    compiled._loaded = type(compiled._loaded)()
    if request.param == "compiled":
        assert compiled.load(), "numba comes with the extra dev"
    yield request.param
    assert (compiled._loaded.loops is not None) == (request.param == "compiled")
    compiled._loaded = before


WIDE_FLOATS = ["float16", "bfloat16", "float32", "float64"]
WHOLE = [name for name, dtype in DTYPES.items() if dtype.kind == "int"]


def expected(array: np.ndarray, declared: str, near_ratio: float = 0.5) -> Scan:
    """What a scan must say of float or complex elements."""
    values = float_values(array).reshape(-1)
    largest, normal = limits(COMPONENTS.get(declared, declared))
    magnitude, finite = np.abs(values), values[np.isfinite(values)]
    return Scan(
        values.size,
        int(np.isnan(values).sum()),
        int((values == np.inf).sum()),
        int((values == -np.inf).sum()),
        int((values == largest).sum()),
        int((values == -largest).sum()),
        int(((magnitude > 0) & (magnitude < normal)).sum()),
        int(((magnitude >= near_ratio * largest) & (magnitude < largest)).sum()),
        float(np.abs(finite).max(initial=0.0)),
        float(finite.max()) + 0.0 if finite.size else math.nan,  # no -0
        float(finite.min()) + 0.0 if finite.size else math.nan,
    )


def assert_same(have: Scan, want: Scan) -> None:
    np.testing.assert_equal(have._asdict(), want._asdict())  # NaN equals NaN here


@st.composite
def float_arrays(draw: st.DrawFn, name: str) -> np.ndarray:
    """Elements around the limits and any bits at all, in runs: blocks of one kind follow each other."""
    pool, dtype = telling_values(name), reference_dtype(name)
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(0, 40))
        if draw(st.booleans()):
            parts.append(np.frombuffer(draw(st.binary(min_size=n * 8, max_size=n * 8)), dtype)[:n])
        else:
            chosen = draw(st.lists(st.sampled_from(range(pool.size)), min_size=1, max_size=4, unique=True))
            parts.append(pool[np.resize(chosen, n)])
    return np.concatenate(parts)


@given(st.data(), st.sampled_from(FLOATS), st.sampled_from([0.5, 0.25, 0.9, 1.0, 0.3, 1e-3]))
def test_every_float_format(data: st.DataObject, name: str, near_ratio: float) -> None:
    array = data.draw(float_arrays(name))
    block_bytes = data.draw(st.sampled_from([None, 8, 24, 64]))
    offset = data.draw(st.sampled_from([0, 128, 3]))
    with small_maps(), tensor_file(array, name, offset=offset) as file:
        for may_map in (False, True):
            have = scan(file, near_ratio=near_ratio, may_map=may_map, block_bytes=block_bytes)
            assert_same(have, expected(array, name, near_ratio))


@given(st.data(), st.sampled_from(FLOATS), st.sampled_from(FLOATS))
def test_stored_in_another_format_than_declared(data: st.DataObject, stored: str, declared: str) -> None:
    """MindSpore writes bfloat16 as float32: the ranges are those of what was computed in."""
    array = data.draw(float_arrays(stored))
    if data.draw(st.booleans()):  # around the limits of the declared format too
        with np.errstate(all="ignore"):
            array = telling_values(declared).astype(np.float64).astype(reference_dtype(stored))
    with tensor_file(array, stored, declared) as file:
        assert_same(scan(file, block_bytes=64), expected(array, declared))


@pytest.mark.parametrize("name", FLOATS)
def test_every_element_at_a_limit_alone(name: str) -> None:
    for element in telling_values(name):
        array = np.array([element])
        with tensor_file(array, name) as file:
            assert_same(scan(file), expected(array, name))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_every_pattern_of_sixteen_bits(name: str) -> None:
    array = np.arange(1 << 16, dtype=np.uint16).view(reference_dtype(name))
    with tensor_file(array, name) as file:
        assert_same(scan(file, block_bytes=512), expected(array, name))


def test_half_by_hand() -> None:
    largest, half = 65504.0, 32752.0
    array = np.array(
        [largest, largest, -largest, np.inf, -np.inf, -np.inf, np.nan, half, -half, 32736.0,
         6.1035e-05, 6.0976e-05, -5.9605e-08, 0.0, -0.0, 1.0], np.float16)  # fmt: skip
    with tensor_file(array, "float16") as file:
        assert scan(file) == Scan(16, 1, 1, 2, 2, 1, 2, 2, largest, largest, -largest)


def test_bfloat16_stored_as_float32() -> None:
    largest = float(np.float32(3.3895314e38))
    array = np.array([largest, -largest, np.finfo(np.float32).max, np.nan], np.float32)
    with tensor_file(array, "float32", "bfloat16") as file:
        found = scan(file)
    assert (found.n_saturated_high, found.n_saturated_low, found.n_near, found.n_nan) == (1, 1, 0, 1)
    assert found.absmax == float(np.finfo(np.float32).max)


@given(st.data(), st.sampled_from(sorted(COMPONENTS)))
def test_complex_elements_count_twice(data: st.DataObject, name: str) -> None:
    parts = data.draw(float_arrays(COMPONENTS[name]))
    array = parts[: parts.size // 2 * 2].view(name)
    with tensor_file(array, name) as file:
        assert_same(scan(file, block_bytes=64), expected(array, name))


@given(st.data(), st.sampled_from(WHOLE))
def test_whole_numbers(data: st.DataObject, name: str) -> None:
    low, high = (int(end) for end in (np.iinfo(name).min, np.iinfo(name).max))
    ends = st.sampled_from([low, low + 1, low + 2, -1, 0, 1, high - 1, high])
    numbers = data.draw(st.lists((ends | st.integers(low, high)).filter(lambda n: low <= n <= high)))
    with tensor_file(np.array(numbers, name), name) as file:
        found = scan(file, block_bytes=16)
    n_high = numbers.count(127) if name == "int8" else 0
    n_low = numbers.count(-128) + numbers.count(-127) if name == "int8" else 0
    want = Scan(len(numbers), 0, 0, 0, n_high, n_low, 0, 0, 0.0, math.nan, math.nan)
    if numbers:
        absmax = float(max(map(abs, numbers)))
        want = want._replace(absmax=absmax, max=float(max(numbers)), min=float(min(numbers)))
    assert_same(found, want)


@pytest.mark.parametrize(
    ("stored", "low", "high"), [([0, 0], 0.0, 0.0), ([0, 7], 0.0, 1.0), ([1, 2], 1.0, 1.0)]
)
def test_bool_is_what_is_not_zero(stored: list[int], low: float, high: float) -> None:
    with tensor_file(np.array(stored, np.uint8), "bool") as file:
        found = scan(file)
    assert (found.min, found.max, found.absmax, found.n_saturated) == (low, high, high, 0)


@pytest.mark.parametrize("name", [*FLOATS, "int8", "int64", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
def test_no_elements(name: str, shape: tuple[int, ...]) -> None:
    with tensor_file(np.zeros(shape, DTYPES[name].carrier), name) as file:
        assert_same(scan(file), Scan(0, 0, 0, 0, 0, 0, 0, 0, 0.0, math.nan, math.nan))


def test_a_single_number() -> None:
    with tensor_file(np.array(-np.inf, np.float32), "float32") as file:
        assert_same(scan(file), Scan(1, 0, 0, 1, 0, 0, 0, 0, 0.0, math.nan, math.nan))


@given(st.data())
def test_views_of_a_storage(data: st.DataObject) -> None:
    """Any strides: elements left out, taken twice, axes exchanged. Only those of the view count."""
    pool = telling_values("float16")
    storage = pool[np.array(data.draw(st.lists(st.integers(0, pool.size - 1), min_size=60, max_size=60)))]
    shape = tuple(data.draw(st.lists(st.integers(1, 4), max_size=3)))
    strides = tuple(data.draw(st.integers(0, 6)) for _ in shape)
    view = np.lib.stride_tricks.as_strided(storage, shape, [2 * stride for stride in strides])
    with tensor_file(storage, "float16", strides=strides, shape=shape) as file:
        assert_same(scan(file, block_bytes=8), expected(view, "float16"))


@pytest.mark.parametrize("axes", [(1, 0, 2), (2, 1, 0), (0, 2, 1)])
def test_exchanged_axes_are_read_as_they_are_stored(axes: tuple[int, ...]) -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    view = array.transpose(axes)
    strides = tuple(stride // 4 for stride in view.strides)
    with tensor_file(array, "float32", strides=strides, shape=view.shape) as file:
        assert not file.is_contiguous and in_stored_order(file).is_contiguous
        assert_same(scan(file), expected(view, "float32"))


def test_column_major_npy(tmp_path: Path) -> None:
    array = np.asfortranarray(np.linspace(-4, 4, 600, dtype=np.float32).reshape(20, 30))
    np.save(tmp_path / "t.npy", array)
    assert_same(scan(open_tensor(tmp_path / "t.npy", root=tmp_path)), expected(array, "float32"))


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_bytes_counted_in_pairs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan_module, "PAIRED_BYTES", 4)
    array = np.random.default_rng(3).integers(0, 256, 1001, np.uint8).view(reference_dtype(name))
    with tensor_file(array, name) as file:
        assert_same(scan(file, block_bytes=101), expected(array, name))


@pytest.mark.parametrize("name", WIDE_FLOATS)
@pytest.mark.parametrize("seed", range(3))
def test_blocks_of_the_usual_size(name: str, seed: int) -> None:
    """More than one block of each way of reading, with something in the last one."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((5 << 20) // DTYPES[name].itemsize)
    values[rng.integers(0, values.size, 1000)] = rng.choice([0, np.nan, np.inf, -np.inf, 1e-45, -70.0], 1000)
    values[-1] = 1234.0
    with np.errstate(all="ignore"):
        array = values.astype(reference_dtype(name))
    with tensor_file(array, name, offset=128) as file:
        for may_map in (False, True):
            assert_same(scan(file, may_map=may_map), expected(array, name))


# ---- what can go wrong -----------------------------------------------------------------------------------


def ones(folder: Path, n: int) -> TensorFile:
    np.save(folder / "t.npy", np.ones(n, np.float32))
    return open_tensor(folder / "t.npy", root=folder)


@pytest.mark.parametrize("may_map", [False, True])
@pytest.mark.parametrize("size", [0, 128, 1 << 20, (4 << 20) + 124])
def test_a_file_cut_since_it_was_opened(tmp_path: Path, size: int, may_map: bool) -> None:
    file = ones(tmp_path, 1 << 20)
    os.truncate(file.path, size)
    with pytest.raises(TensorError) as caught:
        scan(file, may_map=may_map)
    assert caught.value.kind == "cut-off"
    assert caught.value.byte in (size, 128)  # the elements begin at byte 128


@pytest.mark.parametrize("may_map", [False, True])
def test_a_file_cut_while_it_is_read(tmp_path: Path, may_map: bool) -> None:
    file = ones(tmp_path, 1 << 20)
    asked = iter(range(1000))

    def cut_when_asked_again() -> bool:
        if next(asked) == 1:
            os.truncate(file.path, 5000)
        return False

    with pytest.raises(TensorError) as caught:
        scan(file, may_map=may_map, block_bytes=4096, is_cancelled=cut_when_asked_again)
    assert caught.value.kind == "cut-off"


@pytest.mark.parametrize("may_map", [False, True])
def test_another_file_of_that_name(tmp_path: Path, may_map: bool) -> None:
    file = ones(tmp_path, 1 << 20)
    (tmp_path / "other").write_bytes(file.path.read_bytes())
    (tmp_path / "other").replace(file.path)
    with pytest.raises(TensorError, match="replaced"):
        scan(file, may_map=may_map)
    file.path.unlink()
    with pytest.raises(TensorError) as caught:
        scan(file, may_map=may_map)
    assert caught.value.kind == "missing"


def test_cancelled(tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        scan(ones(tmp_path, 10), is_cancelled=lambda: True)


@pytest.mark.parametrize("near_ratio", [0.0, -1.0, 1.5, math.nan])
def test_a_ratio_that_is_none(tmp_path: Path, near_ratio: float) -> None:
    with pytest.raises(ValueError, match="near_ratio"):
        scan(ones(tmp_path, 10), near_ratio=near_ratio)
