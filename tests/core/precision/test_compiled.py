"""When the compiled loops are loaded, what they leave to numpy, and that both ways tell the same."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from npulse.core.formats.tensors import DTYPES
from npulse.core.precision.blocks import compiled
from npulse.core.precision.blocks.kernel import BLOCK, PairMetrics, Totals, add_block
from npulse.core.precision.blocks.pair import compare_arrays

pytestmark = pytest.mark.xdist_group("compiled comparison")

N = 2 * BLOCK + 9_001
SUMMED = ("cosine", "mean_rel_error", "rel_l1", "rel_l2", "euclidean", "norm_ratio")
SUMMED_OF_SIDES = tuple(f"{name}_{side}" for name in ("mean", "norm") for side in ("target", "golden"))
AGREE_WITHIN = 1e-6


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(compiled, "_loaded", type(compiled._loaded)())
    yield


def pair(kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    golden = rng.standard_normal(N).astype(np.float32)
    target = golden * (1 + np.float32(1e-3) * rng.standard_normal(N).astype(np.float32))
    if kind.startswith("positive"):
        golden, target = np.abs(golden), np.abs(target)
    if kind.startswith("negative"):
        golden, target = -np.abs(golden), -np.abs(target)
    share = rng.random(N)
    if kind.endswith("zeros"):
        golden[share < 0.2] = 0
        target[share < 0.1] = 0
    if "NaN" in kind:
        golden[share > 0.9] = np.nan
        target[share > 0.95] = np.nan
        target[3], golden[4], target[5], golden[5] = np.inf, -np.inf, np.inf, np.inf
    if kind == "equal":
        target = golden.copy()
    return target, golden


def as_format(values: np.ndarray, name: str) -> np.ndarray:
    if name == "bfloat16":
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(DTYPES[name].carrier)


def both_ways(target: np.ndarray, golden: np.ndarray, name: str) -> tuple[PairMetrics, PairMetrics]:
    """The figures by numpy and by the loops; fails where a block of the loops was numpy's after all."""
    dtype = DTYPES[name]
    by_numpy = compare_arrays(target, golden, dtype, dtype)
    assert compiled._loaded.loops is None
    assert compiled.load(), "numba comes with the extra dev"
    totals = Totals()
    loops = compiled._loaded.loops
    assert loops is not None
    for first in range(0, N - N % BLOCK, BLOCK):
        here = slice(first, first + BLOCK)
        assert compiled.add_compiled(loops, target[here], golden[here], dtype, dtype, totals)
    return by_numpy, compare_arrays(target, golden, dtype, dtype)


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "kind",
    [
        *("ordinary", "equal", "zeros", "NaN", "NaN zeros", "positive", "positive NaN"),
        *("positive NaN zeros", "negative NaN"),
    ],
)
def test_both_ways_tell_the_same(name: str, kind: str) -> None:
    """Counts and extremes, by which verdicts are given, bit for bit; sums as close as is promised."""
    target, golden = (as_format(side, name) for side in pair(kind))
    by_numpy, by_loops = both_ways(target, golden, name)
    scale = by_numpy.norm_golden / math.sqrt(by_numpy.n_compared)
    for field in PairMetrics._fields:
        have, want = getattr(by_loops, field), getattr(by_numpy, field)
        if field in SUMMED or field in SUMMED_OF_SIDES:
            size = scale if field.startswith("mean_") else abs(want)  # a mean may cancel
            assert abs(have - want) <= AGREE_WITHIN * size, (field, have, want)
        else:
            assert have == want, (field, have, want)


def test_what_is_told_does_not_depend_on_what_was_compared_before() -> None:
    """The same pair twice by the loops: the same bits."""
    target, golden = pair("NaN zeros")
    assert compiled.load()
    dtype = DTYPES["float32"]
    first = compare_arrays(target, golden, dtype, dtype)
    compare_arrays(golden, golden, dtype, dtype)
    assert compare_arrays(target, golden, dtype, dtype) == first


@pytest.mark.parametrize("kind", ["huge", "tiny", "far quotient", "small error", "misaligned"])
def test_what_float32_does_not_hold_is_left_alone(kind: str) -> None:
    """Nothing of such a block is added: numpy's ways begin anew with it."""
    assert compiled.load()
    target, golden = (side[:BLOCK].copy() for side in pair("NaN"))
    if kind == "huge":
        target[7] = 1e20
    elif kind == "tiny":
        target *= np.float32(1e-30)
        golden *= np.float32(1e-30)
    elif kind == "far quotient":
        golden[7], target[7] = 1e-36, 1.0
    elif kind == "small error":
        golden = np.full(BLOCK, 1e-12, np.float32)
        target = np.nextafter(golden, np.float32(1))
    else:
        odd = np.zeros(target.nbytes + 1, np.uint8)[1:].view(np.float32)
        odd[:] = target
        target = odd
    totals, dtype = Totals(), DTYPES["float32"]
    assert not compiled.add_compiled(compiled._loaded.loops, target, golden, dtype, dtype, totals)
    assert (totals.n_compared, totals.n_different, totals.nan_target, totals.inf_golden) == (0, 0, 0, 0)
    add_block(target, golden, dtype, dtype, totals)
    assert totals.n_compared + totals.nonfinite_agreeing + totals.nonfinite_differing == BLOCK


def test_a_processor_without_the_conversion_leaves_float16_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiled.load() and compiled._loaded.loops is not None
    loops = compiled._loaded.loops._replace(widen_half=None)
    monkeypatch.setattr(compiled._loaded, "loops", loops)
    target, golden = (as_format(side[:BLOCK], "float16") for side in pair("ordinary"))
    half, totals = DTYPES["float16"], Totals()
    assert not compiled.add_compiled(loops, target, golden, half, half, totals)
    add_block(target, golden, half, half, totals)
    assert totals.n_compared == BLOCK


def test_a_process_that_compares_little_never_loads_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    monkeypatch.setattr(compiled, "_compile", lambda: tried.append(1))
    monkeypatch.setattr(compiled, "LOAD_AFTER_BYTES", 3 * BLOCK * 8)
    target, golden = (side[:BLOCK] for side in pair("ordinary"))
    dtype = DTYPES["float32"]
    for _ in range(3):
        compare_arrays(target, golden, dtype, dtype)
    assert tried == []
    for _ in range(2):
        compare_arrays(target, golden, dtype, dtype)
    assert tried == [1]


def test_formats_and_sizes_that_have_no_loop_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "LOAD_AFTER_BYTES", 0)
    monkeypatch.setattr(compiled, "_compile", lambda: pytest.fail("loaded"))
    for name, n in (("float64", BLOCK), ("int32", BLOCK), ("float32", 100)):
        values = np.ones(n, DTYPES[name].carrier)
        compare_arrays(values, values, DTYPES[name], DTYPES[name])


@pytest.mark.parametrize("missing", ["numba", "llvmlite"])
def test_without_numba_numpy_does_the_work(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    assert compiled.load() is False
    assert compiled.loops_for(1 << 40) is None
