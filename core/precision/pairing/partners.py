"""Which call stands against which while a pairing is made: partners of both sides, what speaks for each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from .keys import Keys
from .model import CERTAIN, DOUBTFUL, EVIDENCE, LIKELY, Ints

BIT = {word: 1 << place for place, word in enumerate(EVIDENCE)}

BY_CONTENT = 0.95
"""Equal inputs, checksum by checksum or by all statistics, under another number."""
BY_PLACE = 0.9
"""The same operator of equal shapes in the same module."""


@dataclass(slots=True)
class Partners:
    """of_target, of_golden: the other side's call or -1. weak: pairs for which another one would do as well.

    copies: for each side the first forward that a call repeats, -1 for all others.
    """

    of_target: Ints
    of_golden: Ints
    weak: npt.NDArray[np.bool_]
    copies: tuple[Ints, Ints]
    mapped: npt.NDArray[np.bool_]

    @classmethod
    def none(cls, n_target: int, n_golden: int) -> Partners:
        return cls(
            np.full(n_target, -1, np.int64),
            np.full(n_golden, -1, np.int64),
            np.zeros(n_target, np.bool_),
            (np.full(n_target, -1, np.int64), np.full(n_golden, -1, np.int64)),
            np.zeros(n_target, np.bool_),
        )

    def add(self, t: int, g: int) -> None:
        self.of_target[t], self.of_golden[g] = g, t

    def add_all(self, t: Ints, g: Ints) -> None:
        self.of_target[t], self.of_golden[g] = g, t


def evidence_of(
    keys: tuple[Keys, Keys], t: Ints, g: Ints, weak: npt.NDArray[np.bool_]
) -> tuple[Ints, npt.NDArray[np.float64]]:
    """What speaks for each pair, and how sure that makes it. t, g: calls, all of them pairs."""
    a, b = keys

    def same(x: npt.NDArray[np.generic], y: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = x[t] == y[g]
        return found

    name = same(a.name, b.name)
    shape = same(a.given_shapes, b.given_shapes) & same(a.made_shapes, b.made_shapes)
    given = same(a.given, b.given) & (a.given[t] != 0)
    made = same(a.made, b.made) & (a.made[t] != 0)
    beside = same(a.beside, b.beside) & (a.beside[t] != 0)
    module = same(a.parent, b.parent) & (a.parent[t] >= 0)
    stack = np.zeros(len(t), np.bool_)
    if a.stack is not None and b.stack is not None:
        stack = same(a.stack, b.stack) & (a.stack[t] >= 0)
    bits = np.zeros(len(t), np.int64)
    for word, has in (
        ("name", name),
        ("type", ~name & same(a.type, b.type)),
        ("shape", shape),
        ("dtype", same(a.dtypes, b.dtypes) & (a.dtypes[t] != 0)),
        ("stack", stack),
        ("module", module),
        ("content", given | made | beside),
        ("order", ~name),
    ):
        bits |= np.where(has, BIT[word], 0)
    sure = np.full(len(t), LIKELY)
    sure[weak] = DOUBTFUL
    sure[(module | stack) & shape & ~weak] = BY_PLACE
    sure[given | beside] = BY_CONTENT
    sure[name & ~weak] = CERTAIN
    sure[~shape & ~name] = DOUBTFUL
    return bits, sure
