"""What the user said of calls, by their full names: it holds for every rank, and for the next capture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from npulse.core.dataclass import dataclass
from npulse.core.run.sides import CapturePair

MAX_PAIRS = 5_000
MAX_MEMBERS = 64
MAX_NAME = 1_000


@dataclass(frozen=True, slots=True)
class HandPair:
    """Calls that stand against each other as one; with an empty side the others stand alone.

    target, golden: full names of entries in execution order.
    """

    target: tuple[str, ...]
    golden: tuple[str, ...]

    @property
    def is_pair(self) -> bool:
        return bool(self.target and self.golden)


def capture_key(pair: CapturePair) -> str:
    """Under which name pairs of two captures are kept: where both lie."""
    sides = ((pair.target_root, pair.target_name), (pair.golden_root, pair.golden_name))
    return " against ".join(f"{root.resolve()}: {name}" for root, name in sides)


def run_key(run: Path) -> str:
    """Under which name the newest pairs of a run are kept, for captures of it of which nobody said anything:
    the next round is of the same program."""
    return f"newest of {run.resolve()}"


def pairs_to_json(pairs: Sequence[HandPair]) -> list[Any]:
    """The newest MAX_PAIRS of them, as lists of two lists of names."""
    return [[list(pair.target), list(pair.golden)] for pair in pairs[-MAX_PAIRS:]]


def pairs_from_json(found: object) -> tuple[HandPair, ...]:
    """What `pairs_to_json` made; whatever does not look like that is left out."""
    if not isinstance(found, list):
        return ()
    return tuple(pair for entry in found[-MAX_PAIRS:] if (pair := _pair(entry)) is not None)


def _pair(entry: object) -> HandPair | None:
    if not isinstance(entry, list) or len(entry) != 2:
        return None
    sides = [_names(side) for side in entry]
    if sides[0] is None or sides[1] is None or not (sides[0] or sides[1]):
        return None
    return HandPair(sides[0], sides[1])


def _names(side: object) -> tuple[str, ...] | None:
    if not isinstance(side, list) or len(side) > MAX_MEMBERS:
        return None
    if not all(isinstance(name, str) and 0 < len(name) <= MAX_NAME for name in side):
        return None
    return tuple(side)
