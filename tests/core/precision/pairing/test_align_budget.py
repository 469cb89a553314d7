"""Aligning costs what sorting does, whatever the graphs: four times the calls, not sixteen times the work."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from npulse.core.precision.pairing import pair_auto

from .graphs import Call, dumps, network

pytestmark = pytest.mark.budget


def unlike(n: int, kind: str) -> tuple[list[Call], list[Call]]:
    calls = network(n // 7)
    if kind == "alike":
        one = Call("a", "Torch.add", ((1, (4, 4)),), ((2, (4, 4)),))
        return [one] * n, [one] * (n * 9 // 10) + calls[:7]
    more: list[Call] = []
    for place, call in enumerate(calls):
        more.append(call)
        if place % 10 == 0:
            given = (call.made[0], (4999, (8, 8)))
            more.append(Call(f"x{place}", "Functional.linear", given, ((10**7 + place, call.made[0][1]),)))
    return more, calls


@pytest.mark.parametrize("kind", ["inserted", "alike"])
def test_the_cost_grows_with_the_calls(tmp_path: Path, kind: str) -> None:
    used = []
    for n in (700, 2_800):
        one, other = dumps(tmp_path / str(n), *unlike(n, kind), drift=1e-3)
        start = time.process_time()
        pair_auto(one, other)
        used.append(time.process_time() - start)
    assert used[1] <= 9 * used[0] + 0.2  # 16 times, if each call was held against each other
