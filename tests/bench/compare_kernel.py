"""Speed of the comparison kernel, one thread, in memory, as ratios measured in turn in one process.

    python tests/bench/compare_kernel.py [--mib 64] [--rounds 5] [--compiled]

read: time of reading both sides once (np.max) / time of the kernel. float64: time of the straightforward
way to the same figures (whole arrays in float64) / time of the kernel. ordinary: time of the kernel / its
time on ordinary data of the same format. Each ratio is the median over rounds in which all run in turn.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy loads its BLAS
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import numpy as np  # noqa: E402

from npulse.core.formats.tensors import DTYPES  # noqa: E402
from npulse.core.precision.blocks import compiled  # noqa: E402
from npulse.core.precision.blocks.pair import compare_arrays  # noqa: E402


def bfloat16_bits(values: np.ndarray) -> np.ndarray:
    """float32 rounded to nearest even, as bfloat16 bits."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def make_pairs(n: int) -> dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]:
    """(format, what kind of data) -> (target, golden)."""
    rng = np.random.default_rng(1)
    golden = rng.standard_normal(n, np.float32)
    target = golden * (1 + np.float32(1e-3) * rng.standard_normal(n, np.float32))
    share = rng.random(n, np.float32)
    kinds = {"ordinary": (target, golden), "equal": (golden.copy(), golden)}
    kinds["NaN 10 %"] = tuple(np.where(share < 0.1, np.float32(np.nan), x) for x in (target, golden))
    tiny = rng.integers(-1023, 1024, n).astype(np.float32) * np.float32(2.0**-24)
    kinds["subnormal 50 %"] = tuple(np.where(share < 0.5, tiny, x) for x in (target, golden))
    kinds["zeros 15 %"] = tuple(np.where(share < 0.15, np.float32(0), x) for x in (target, golden))
    kinds["zero golden 15 %"] = target, kinds["zeros 15 %"][1]
    convert: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "float32": lambda x: x,
        "float16": lambda x: x.astype(np.float16),
        "bfloat16": bfloat16_bits,
    }
    return {
        (name, kind): (to(t), to(g))
        for name, to in convert.items()
        for kind, (t, g) in kinds.items()
        if not (kind.startswith("subnormal") and name != "float16")
    } | {("float32", "subnormal 50 %"): _single_subnormals(target, golden, share)}


def _single_subnormals(
    target: np.ndarray, golden: np.ndarray, share: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    t, g = (np.where(share < 0.5, x * np.float32(1e-39), x) for x in (target, golden))
    return t, g


def read_once(target: np.ndarray, golden: np.ndarray) -> None:
    target.view(np.uint16).max(), golden.view(np.uint16).max()


def whole_float64(target: np.ndarray, golden: np.ndarray) -> None:
    """Whole arrays in float64, a pass and a temporary for every figure."""
    t, g = (
        ((x.astype(np.uint32) << 16).view(np.float32) if x.dtype == np.uint16 else x).astype(np.float64)
        for x in (target, golden)
    )
    with np.errstate(all="ignore"):
        for x in (t, g):
            np.isnan(x).sum(), np.isinf(x).sum(), x.min(), x.max(), x.mean()
        norm = np.linalg.norm(g)
        t.dot(g) / (np.linalg.norm(t) * norm)
        error, magnitude = np.abs(t - g), np.abs(g)
        relative = error / magnitude
        np.linalg.norm(error) / norm, error.max(), relative.max(), relative.mean()
        error.sum() / magnitude.sum(), np.count_nonzero(error), np.count_nonzero(magnitude)
        (relative < 1e-3).mean(), (relative < 5e-3).mean()


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description="speed of the comparison kernel")
    parser.add_argument("--mib", type=int, default=64, help="size of a side as float32")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="formats, separated by commas")
    parser.add_argument("--compiled", action="store_true", help="by the loops of the extra `compiled`")
    options = parser.parse_args()
    if options.compiled and not compiled.load():
        parser.error("the extra `compiled` is not installed")
    if not options.compiled:
        compiled.LOAD_AFTER_BYTES = sys.maxsize
    pairs = make_pairs(options.mib << 18)
    print(f"{'format':9s} {'data':17s} {'GB/s':>6s} {'read':>7s} {'float64':>8s} {'ordinary':>9s}")
    for (name, kind), (target, golden) in pairs.items():
        if options.only and name not in options.only.split(","):
            continue
        ordinary = pairs[name, "ordinary"]
        dtype = DTYPES[name]
        compare_arrays(target[: 1 << 20], golden[: 1 << 20], dtype, dtype)
        rows = [
            (
                seconds(lambda: compare_arrays(target, golden, dtype, dtype)),  # noqa: B023
                seconds(lambda: read_once(target, golden)),  # noqa: B023
                seconds(lambda: whole_float64(target, golden)),  # noqa: B023
                seconds(lambda: compare_arrays(*ordinary, dtype, dtype)),  # noqa: B023
            )
            for _ in range(options.rounds)
        ]
        speed = (target.nbytes + golden.nbytes) / median([row[0] for row in rows]) / 1e9
        read, whole, slower = (
            median([f(row) for row in rows])
            for f in (lambda row: row[1] / row[0], lambda row: row[2] / row[0], lambda row: row[0] / row[3])
        )
        print(f"{name:9s} {kind:17s} {speed:6.2f} {read:7.1%} {whole:7.1f}x {slower:8.2f}x", flush=True)


if __name__ == "__main__":
    main()
