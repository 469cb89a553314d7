"""Pairs read from files: the same figures as from memory, whatever the file's layout; constant memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from npulse.core.errors import Cancelled
from npulse.core.formats.tensors import DTYPES, TensorFile, open_tensor
from npulse.core.formats.tensors.open import TensorError
from npulse.core.precision.blocks.kernel import BLOCK
from npulse.core.precision.blocks.pair import TensorArray, compare_arrays, compare_files, pair_blocks

F32, F16 = DTYPES["float32"], DTYPES["float16"]


def saved(folder: Path, name: str, array: np.ndarray) -> TensorFile:
    path = folder / f"{name}.npy"
    np.save(path, array)
    return open_tensor(path, root=folder)


@pytest.fixture
def values() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    g = rng.standard_normal((300, 500)).astype(np.float32)  # two whole blocks and some more
    return g * (1 + 1e-3 * rng.standard_normal(g.shape).astype(np.float32)), g


def test_files_give_what_arrays_give(tmp_path: Path, values: tuple[np.ndarray, np.ndarray]) -> None:
    t, g = values
    expected = compare_arrays(t, g, F32, F32)
    assert compare_files(saved(tmp_path, "t", t), saved(tmp_path, "g", g)) == expected
    assert expected.n_elements == t.size and expected.n_different > 0


def test_column_major_file_is_read_in_row_major_order(
    tmp_path: Path, values: tuple[np.ndarray, np.ndarray]
) -> None:
    t, g = values
    other = saved(tmp_path, "t", np.asfortranarray(t))
    assert not other.is_contiguous
    assert compare_files(other, saved(tmp_path, "g", g)) == compare_arrays(t, g, F32, F32)


def test_different_formats(tmp_path: Path, values: tuple[np.ndarray, np.ndarray]) -> None:
    t, g = values
    half = t.astype(np.float16)
    have = compare_files(saved(tmp_path, "t", half), saved(tmp_path, "g", g))
    assert have.max_abs_error == pytest.approx(np.abs(half.astype(np.float64) - g).max(), rel=1e-6)


def test_no_elements_and_no_axes(tmp_path: Path) -> None:
    empty = saved(tmp_path, "e", np.zeros((3, 0), np.float32))
    assert compare_files(empty, empty).n_elements == 0
    one, two = saved(tmp_path, "1", np.float32(1)), saved(tmp_path, "2", np.float32(2))
    assert compare_files(one, two).rel_l2 == 0.5


def test_shapes_must_be_equal(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="shapes differ"):
        compare_files(saved(tmp_path, "a", np.zeros((2, 3))), saved(tmp_path, "b", np.zeros((3, 2))))


def test_array_that_is_not_its_format() -> None:
    with pytest.raises(ValueError, match="float16"):
        compare_arrays(np.zeros(3, np.float32), np.zeros(3, np.float16), F16, F16)


def test_file_that_becomes_shorter(tmp_path: Path, values: tuple[np.ndarray, np.ndarray]) -> None:
    t, g = values
    target, golden = saved(tmp_path, "t", t), saved(tmp_path, "g", g)
    os.truncate(target.path, target.offset + 4 * BLOCK + 100)
    with pytest.raises(TensorError) as caught:
        compare_files(target, golden)
    assert (caught.value.kind, caught.value.path) == ("cut-off", str(target.path))


def test_cancel(tmp_path: Path, values: tuple[np.ndarray, np.ndarray]) -> None:
    target, golden = (saved(tmp_path, name, x) for name, x in zip("tg", values, strict=True))
    with pytest.raises(Cancelled):
        compare_files(target, golden, is_cancelled=lambda: True)


def test_complex_blocks_are_half_as_long() -> None:
    c64 = DTYPES["complex64"]
    side = TensorArray(np.ones(BLOCK + 1, np.complex64), c64, c64)
    assert [(first, t.size) for first, t, _ in pair_blocks(side, side)] == [
        (0, BLOCK // 2),
        (BLOCK // 2, BLOCK // 2),
        (BLOCK, 1),
    ]


MEASURE = """
import resource, sys
from pathlib import Path
import numpy as np
from npulse.core.formats.tensors import open_tensor
from npulse.core.precision.blocks.pair import compare_files
folder = Path(sys.argv[1])
def peak(name):
    t, g = (open_tensor(folder / f"{name}_{side}.npy", root=folder) for side in "tg")
    compare_files(t, g)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
small, large = peak("small"), peak("large")
print(large - small)
"""


def test_memory_does_not_grow_with_the_tensor(tmp_path: Path) -> None:
    """32 times the data, no more than 2 MiB more memory (a side of the large pair has 32 MiB)."""
    rng = np.random.default_rng(0)
    for name, n in (("small", 1 << 18), ("large", 1 << 23)):
        for side in "tg":
            np.save(tmp_path / f"{name}_{side}.npy", rng.standard_normal(n, np.float32))
    environment = os.environ | {
        "PYTHONPATH": str(Path(__file__).parents[3] / "src"),
        "OPENBLAS_NUM_THREADS": "1",
    }
    out = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(out.stdout) < 2048
