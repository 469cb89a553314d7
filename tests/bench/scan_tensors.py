"""Speed of the scan of one tensor file, one thread, page cache warm, beside numpy.max over the same file.

    python tests/bench/scan_tensors.py [--mib 256] [--rounds 7] [--only float32,bfloat16]

GB/s, by the CPU seconds of the best round: `scan` with the compiled loops (of formats that have none: as it
is), `numpy` without them, `copied` as well with may_map=False, `max` is np.max(np.load(path, mmap_mode="r"))
(of bfloat16: of its bits). of max: scan / max. of clean: scan / scan of clean data of that format. All run in
turn in each round. The files are written, dropped from the page cache and read again, since captures come
from somewhere else; right after it was written, a file lies in larger pages, and numpy.max gains more from
them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy loads its BLAS
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import numpy as np  # noqa: E402

from npulse.core.formats.tensors import DTYPES, open_tensor  # noqa: E402
from npulse.core.overflow import compiled  # noqa: E402
from npulse.core.overflow.scan import scan  # noqa: E402

FORMATS = ("float32", "float16", "bfloat16", "float64", "float8_e4m3fn", "int8")
FLOAT_KINDS = (
    *("clean", "NaN 10 %", "NaN 100 %", "-Inf 50 %", "NaN, Inf 10 %", "largest 10 %", "subnormal 50 %"),
    *("zeros 50 %", "positive"),
)


def make_values(kind: str, name: str, n: int) -> np.ndarray:
    """float32 values of that kind."""
    rng = np.random.default_rng(1)
    values = rng.standard_normal(n, np.float32)
    share = rng.random(n, np.float32)
    largest = DTYPES[name].max_finite if name != "float64" else 1.0
    tiny = np.float32(1e-39 if name in ("float32", "bfloat16") else 2.0**-20)
    with np.errstate(over="ignore"):
        return {
            "clean": lambda: values,
            "NaN 10 %": lambda: np.where(share < 0.1, np.float32(np.nan), values),
            "NaN 100 %": lambda: np.full(n, np.nan, np.float32),
            "-Inf 50 %": lambda: np.where(share < 0.5, np.float32(-np.inf), values),
            "NaN, Inf 10 %": lambda: np.where(
                share < 0.1, np.float32(np.nan), np.where(share < 0.2, np.copysign(np.inf, values), values)
            ),
            "largest 10 %": lambda: np.where(share < 0.1, np.float32(-largest), values),
            "subnormal 50 %": lambda: np.where(share < 0.5, values * tiny, values),
            "zeros 50 %": lambda: np.where(share < 0.5, np.float32(0), values),
            "positive": lambda: np.abs(values),
        }[kind]().astype(np.float32)


def make(path: Path, name: str, kind: str, n_bytes: int) -> None:
    dtype = DTYPES[name]
    n = n_bytes // dtype.itemsize
    piece = min(n, 1 << 24)
    if dtype.is_raw and dtype.itemsize == 1 or dtype.kind == "int":
        array = np.random.default_rng(1).integers(0, 256, piece, np.uint8).view(dtype.carrier)
    else:
        values = make_values(kind, name, piece)
        if name == "bfloat16":
            array = (values.view(np.uint32) >> 16).astype(np.uint16)
        else:
            array = values.astype(dtype.carrier)
    np.save(path, np.tile(array, -(-n // piece))[:n])
    with path.open("rb", buffering=0) as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while file.read(1 << 22):
            pass


def without_loops(work: Callable[[], object]) -> Callable[[], object]:
    """The same work in a process that has not loaded the compiled loops."""

    def run() -> None:
        loaded, compiled._loaded = compiled._loaded, type(compiled._loaded)()
        try:
            work()
        finally:
            compiled._loaded = loaded

    return run


def best_seconds(works: list[Callable[[], object]], rounds: int) -> list[float]:
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, seconds in zip(works, taken, strict=True):
            start = time.process_time()
            work()
            seconds.append(time.process_time() - start)
    return [min(seconds) for seconds in taken]


def main() -> None:
    parser = argparse.ArgumentParser(description="speed of the scan of a tensor file")
    parser.add_argument("--mib", type=int, default=256, help="size of a file")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="formats, separated by commas")
    options = parser.parse_args()
    print("compiled loops:", "loaded" if compiled.load() else "none (numba is not installed)")
    print("format         data              scan  numpy  copied    max   of max  of clean")
    for name in options.only.split(",") if options.only else FORMATS:
        clean = 0.0
        for kind in FLOAT_KINDS if DTYPES[name].itemsize > 1 else ("any",):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "t.npy"
                make(path, name, kind, options.mib << 20)
                file = open_tensor(path, root=path.parent, declared=name)
                works: list[Callable[[], object]] = [
                    lambda: scan(file),  # noqa: B023
                    without_loops(lambda: scan(file)),  # noqa: B023
                    without_loops(lambda: scan(file, may_map=False)),  # noqa: B023
                    lambda: np.max(np.load(path, mmap_mode="r")),  # noqa: B023
                ]
                with np.errstate(all="ignore"):
                    speeds = [file.size_bytes / s / 1e9 for s in best_seconds(works, options.rounds)]
            clean = clean or speeds[0]
            print(
                f"{name:14s} {kind:15s} {speeds[0]:6.2f} {speeds[1]:6.2f} {speeds[2]:7.2f} {speeds[3]:6.2f}"
                f" {speeds[0] / speeds[3]:8.0%} {speeds[0] / clean:9.0%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
