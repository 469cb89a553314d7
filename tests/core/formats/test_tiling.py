"""Tensors that the device stored in tiles: read in blocks and whole, against loops over single elements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.formats.cann_files import Tensor, container, file_of

from npulse.core.formats.cann.container import read_container
from npulse.core.formats.cann.layouts import original_file
from npulse.core.formats.tensors import TensorReader
from npulse.core.formats.tensors.tiling import Tiling

NC1HWC0, FRACTAL_Z, FRACTAL_NZ, NDC1HWC0, ND = 3, 4, 29, 32, 2
LENGTH = st.integers(1, 7)


def _tiles(length: int, tile: int) -> int:
    return -(-length // tile)


def _nc1hwc0(original: npt.NDArray[np.float32], c0: int) -> npt.NDArray[np.float32]:
    n, c, h, w = original.shape
    stored = np.full((n, _tiles(c, c0), h, w, c0), np.nan, np.float32)
    for i, j, y, x in np.ndindex(n, c, h, w):
        stored[i, j // c0, y, x, j % c0] = original[i, j, y, x]
    return stored


def _nz(original: npt.NDArray[np.float32], c0: int) -> npt.NDArray[np.float32]:
    *batch, m, k = original.shape
    stored = np.full((*batch, _tiles(k, c0), _tiles(m, 4), 4, c0), np.nan, np.float32)
    for *b, i, j in np.ndindex(*original.shape):
        stored[(*b, j // c0, i // 4, i % 4, j % c0)] = original[(*b, i, j)]
    return stored


def _fractal_z(original: npt.NDArray[np.float32], c0: int) -> npt.NDArray[np.float32]:
    n, c, h, w = original.shape
    stored = np.full((_tiles(c, c0) * h * w, _tiles(n, 4), 4, c0), np.nan, np.float32)
    for i, j, y, x in np.ndindex(n, c, h, w):
        stored[(j // c0) * h * w + y * w + x, i // 4, i % 4, j % c0] = original[i, j, y, x]
    return stored


def _ndc1hwc0(original: npt.NDArray[np.float32], c0: int) -> npt.NDArray[np.float32]:
    n, c, d, h, w = original.shape
    stored = np.full((n, d, _tiles(c, c0), h, w, c0), np.nan, np.float32)
    for i, j, z, y, x in np.ndindex(n, c, d, h, w):
        stored[i, z, j // c0, y, x, j % c0] = original[i, j, z, y, x]
    return stored


WRITERS = {NC1HWC0: (_nc1hwc0, 4), FRACTAL_NZ: (_nz, 3), FRACTAL_Z: (_fractal_z, 4), NDC1HWC0: (_ndc1hwc0, 5)}


@given(st.sampled_from(sorted(WRITERS)), st.data(), st.sampled_from((2, 4, 16)))
def test_the_original_is_read_out_of_tiles(number: int, data: st.DataObject, c0: int) -> None:
    write, n_axes = WRITERS[number]
    shape = tuple(data.draw(LENGTH) for _ in range(n_axes))
    original = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    stored = write(original, c0)
    made = Tensor(stored.tobytes(), format=number, shape=stored.shape, original_shape=shape)
    with file_of(container([made])) as path:
        dump = read_container(path, root=path.parent)
        file = original_file(dump, dump.tensors[0])
        assert file is not None
        assert file.shape == shape
        assert np.array_equal(file.array(), original)
        first = data.draw(st.integers(0, original.size))
        n = data.draw(st.integers(0, original.size - first))
        with TensorReader(file) as reader:
            block = reader.read_into(bytearray(4 * n), first, n)
        assert block.tolist() == original.reshape(-1)[first : first + n].tolist()


@pytest.mark.parametrize(
    ("number", "stored", "original", "sub_format"),
    [
        (NC1HWC0, (1, 1, 2, 2, 16), (1, 17, 2, 2), 0),  # more channels than there are places
        (NC1HWC0, (1, 3, 2, 2, 16), (1, 17, 2, 2), 0),  # a whole tile of nothing
        (NC1HWC0, (1, 1, 2, 2, 16), (64,), 0),
        (FRACTAL_Z, (4, 1, 16, 16), (8, 3, 2, 2), 2),  # a weight in groups
        (FRACTAL_Z, (3, 1, 16, 16), (8, 3, 2, 2), 1),
        (FRACTAL_NZ, (2, 2, 16, 16), (20, -1), 0),
        (ND, (4, 16), (2, 32), 0),
    ],
)
def test_what_does_not_fit_stays_as_it_is_stored(
    number: int, stored: tuple[int, ...], original: tuple[int, ...], sub_format: int, tmp_path: Path
) -> None:
    elements = np.arange(np.prod(stored), dtype=np.float32)
    made = Tensor(elements.tobytes(), 1, number, stored, original, sub_format)
    path = tmp_path / "Conv2D.conv.1.2.1749633330000123"
    path.write_bytes(container([made]))
    dump = read_container(path, root=tmp_path)
    file = original_file(dump, dump.tensors[0])
    assert file is not None
    assert file.tiling is None
    assert file.shape == stored


def test_last_axes_longer_than_any_table(monkeypatch: pytest.MonkeyPatch) -> None:
    tiling = Tiling((3, 2, 4, 5), ((1, 2), (0, 3)))
    by_table = tiling.places((7, 13), 20, 30)
    monkeypatch.setattr("npulse.core.formats.tensors.tiling.MAX_TABLE", 1)
    assert tiling.places((7, 13), 20, 30).tolist() == by_table.tolist()
