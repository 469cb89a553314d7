"""What looking through a capture costs, from its statistics alone: time that grows with it, little memory."""

from __future__ import annotations

import sys
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench" / "blown_up.py"
SMALL, LARGE = 4_000, 20_000
CPU_S = 2.5  # about three times what it takes: for machines that are slow, not for code that is
MB_A_CALL = 0.004

pytestmark = [pytest.mark.budget, pytest.mark.alone]


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = util.spec_from_file_location("blown_up", BENCH)
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def holds(start: dict[str, Any], small: dict[str, Any], large: dict[str, Any]) -> bool:
    own = [max(one["cpu_s"] - start["cpu_s"], 0.05) for one in (small, large)]
    return bool(large["cpu_s"] <= CPU_S and own[1] <= 1.5 * own[0] * LARGE / SMALL)


def test_time_and_memory_grow_with_the_capture_and_no_faster(bench: ModuleType, tmp_path: Path) -> None:
    """The quickest of up to five looks at each size: a disturbed start makes the small one too small."""
    paths = [bench.write(tmp_path / str(n), n) for n in (8, SMALL, LARGE)]
    found = [bench.look(path) for path in paths]
    for _ in range(4):
        if holds(*found):
            break
        looks = [bench.look(path) for path in paths]
        found = [min(pair, key=lambda used: used["cpu_s"]) for pair in zip(found, looks, strict=True)]
    start, small, large = found
    assert large["origin"] == f"Functional.linear.{LARGE // 2}.forward"
    assert (large["calls"], large["n_errors"]) == (LARGE, 1)
    assert large["cpu_s"] <= CPU_S
    assert large["peak_mb"] - start["peak_mb"] <= MB_A_CALL * LARGE
    own = [max(one["cpu_s"] - start["cpu_s"], 0.05) for one in (small, large)]
    assert own[1] <= 1.5 * own[0] * LARGE / SMALL
