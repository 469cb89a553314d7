"""When the compiled loops are loaded, and that they count as much as there is. What they count: test_scan."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from npulse.core.overflow import compiled
from npulse.core.overflow.scan import scan

from .tensor_files import reference_dtype, tensor_file

SOURCE = str(Path(__file__).resolve().parents[3] / "src")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(compiled, "_loaded", type(compiled._loaded)())
    yield


def test_a_process_that_scans_little_never_loads_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []
    monkeypatch.setattr(compiled, "_compile", lambda: tried.append(1))
    monkeypatch.setattr(compiled, "LOAD_AFTER_BYTES", 1000)
    for _ in range(10):
        with tensor_file(np.ones(25, np.float32), "float32") as file:
            scan(file)
    assert tried == []
    with tensor_file(np.ones(25, np.float32), "float32") as file:
        scan(file)
        scan(file)
    assert tried == [1]


def test_formats_that_have_no_compiled_loop_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "LOAD_AFTER_BYTES", 1)
    monkeypatch.setattr(compiled, "_compile", lambda: pytest.fail("loaded"))
    for _ in range(3):
        with tensor_file(np.ones(25, np.int32), "int32") as file:
            scan(file)


@pytest.mark.parametrize("breaks", ["numba", "numba.core"])
def test_without_numba_numpy_does_the_work(breaks: str) -> None:
    """In a clean interpreter: not installed, or broken by a library that does not fit."""
    code = (
        f"import sys; sys.path.insert(0, {SOURCE!r}); sys.modules[{breaks!r}] = None\n"
        "from npulse.core.overflow import compiled\n"
        "assert compiled.load() is False and compiled.kernel_for(1 << 40) is None"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_where_no_machine_code_can_be_kept_numpy_does_the_work(tmp_path: Path) -> None:
    """A read-only installation and no home: it would be compiled anew in each process."""
    code = (
        f"import sys; sys.path.insert(0, {SOURCE!r})\n"
        "import numba.core.caching as caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "from npulse.core.overflow import compiled\n"
        "assert compiled.load() is False"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, "largest", "-largest", "subnormal", "near"])
def test_more_elements_of_a_kind_than_a_counter_of_their_width_holds(name: str, value: float | str) -> None:
    assert compiled.load()
    n = (1 << 18) + 3
    dtype = reference_dtype(name)
    words = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}
    infinity = int(np.array(np.inf, np.float64).astype(dtype).view(words[name]))
    sign = 1 << (8 * dtype.itemsize - 1)
    bits = {"largest": infinity - 1, "-largest": sign + infinity - 1, "subnormal": 1, "near": infinity - 2}
    if isinstance(value, str):
        array = np.full(n, bits[value], words[name]).view(dtype)
    else:
        array = np.full(n, value, np.float64).astype(dtype)
    with tensor_file(array, name) as file:
        found = scan(file)
    counted = {
        "nan": found.n_nan,
        "inf": found.n_plus_inf,
        "-inf": found.n_minus_inf,
        "largest": found.n_saturated_high,
        "-largest": found.n_saturated_low,
        "subnormal": found.n_subnormal,
        "near": found.n_near,
    }
    assert counted == {**dict.fromkeys(counted, 0), str(value): n}
