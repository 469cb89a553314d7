"""What is known while parts come in: when it is told."""

from __future__ import annotations

from collections.abc import Mapping

from npulse.core.scale import SoFar
from npulse.core.scale.so_far import COSTS, PAUSE_S


def test_a_slow_part_does_not_hold_up_what_is_known_of_the_others() -> None:
    """What comes within the pause is told when that is over, though nothing more comes; all is the end's."""
    now_s, told = 0.0, list[list[int]]()

    def tell(parts: Mapping[int, str]) -> None:
        told.append(list(parts))

    known = SoFar(4, tell, lambda: now_s)
    known.look()
    known.add(2, "c")
    known.add(0, "a")
    assert told == [[2]]
    now_s = PAUSE_S
    known.look()
    known.look()
    assert told == [[2], [0, 2]]
    now_s = 10 * PAUSE_S
    known.add(3, "d")
    assert told[2:] == [[0, 2, 3]]
    now_s = 20 * PAUSE_S
    known.add(1, "b")
    assert len(told) == 3


def test_a_telling_that_takes_long_is_made_seldom() -> None:
    now_s, n_told = 0.0, 0

    def tell(parts: Mapping[int, int]) -> None:
        nonlocal now_s, n_told
        n_told += 1
        now_s += 30.0

    known = SoFar(3, tell, lambda: now_s)
    known.add(0, 0)
    now_s += COSTS * 30.0 - 1
    known.add(1, 1)
    assert n_told == 1
    now_s += 1
    known.look()
    assert n_told == 2
