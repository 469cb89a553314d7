"""100,000 calls against 100,000 of another graph: CPU seconds of the pairing, which may take 20.

python tests/bench/pair_calls.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.core.precision.pairing.graphs import Call, dumps, network  # noqa: E402

from npulse.core.precision.pairing import pair_auto  # noqa: E402

N_CALLS = 100_000
MOST_CPU_S = 20.0
Sides = tuple[list[Call], list[Call]]


def inserted() -> Sides:
    """A call of the commonest operator behind every tenth."""
    calls = network(N_CALLS // 7)
    more: list[Call] = []
    for place, call in enumerate(calls):
        more.append(call)
        if place % 10 == 0:
            given = (call.made[0], (4999, (8, 8)))
            more.append(Call(f"x{place}", "Functional.linear", given, ((10**7 + place, call.made[0][1]),)))
    return more, calls


def moved() -> Sides:
    """The second third of the calls comes first."""
    calls = network(N_CALLS // 7)
    third = len(calls) // 3
    return calls[third : 2 * third] + calls[:third] + calls[2 * third :], calls


def alike() -> Sides:
    """Calls that nothing tells apart, fewer on one side, and something else behind them."""
    one = Call("a", "Torch.add", ((1, (4, 4)),), ((2, (4, 4)),))
    return [one] * N_CALLS, [one] * (N_CALLS * 9 // 10) + network(10)


def main() -> int:
    slow = 0
    ways: tuple[Callable[[], Sides], ...] = (inserted, moved, alike)
    for make in ways:
        for drift in (0.0, 1e-3):
            with tempfile.TemporaryDirectory() as folder:
                one, other = dumps(Path(folder), *make(), drift=drift)
            start = time.process_time()
            pairing = pair_auto(one, other)
            used = time.process_time() - start
            slow += used > MOST_CPU_S
            print(
                f"{make.__name__:10} drift {drift:g}: {used:6.2f} s CPU, {pairing.n_calls:,} steps",
                flush=True,
            )
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
