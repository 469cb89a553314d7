"""One product under two operators: a linear on one side, a matmul or addmm of its turned weight on the other.

The weight is turned by a view in front of the product, or was kept turned, so the shapes of the inputs say
which call it is, and no name does.
"""

from __future__ import annotations

from collections.abc import Sequence

from .ends import NEAR, apart
from .links import Feeding

LINEAR = "linear"
COUNTERPARTS = {2: "matmul", 3: "addmm"}
"""What does the same as a linear that is given so many tensors."""


def counterpart(
    one: Feeding, linear: int, other: Feeding, candidates: Sequence[int], *, by_weight: bool
) -> int:
    """The call that multiplies the same; -1 for none.

    Of those that fit by shapes the one whose weight has the same statistics; without by_weight the first.
    """
    fitting = [call for call in candidates if _fits(one, linear, other, call)]
    if not fitting or not by_weight:
        return fitting[0] if fitting else -1
    weight = one.reads(linear)[1]
    far = [min(apart(one, [weight], other, [leaf]) for leaf in other.reads(call)) for call in fitting]
    return fitting[far.index(min(far))] if min(far) <= NEAR else -1


def turned(other: Feeding, product: int, words: Sequence[str]) -> list[int]:
    """The transposes in front of a product of which nobody but it reads what they make."""
    found = []
    for leaf in other.reads(product):
        maker = int(other.producers[leaf])
        if maker < 0:
            continue
        call = int(other.dump.leaves.call[maker])
        if words[call] == "transpose" and other.readers(maker) == [product]:
            found.append(call)
    return found


def _fits(one: Feeding, linear: int, other: Feeding, product: int) -> bool:
    made = [[fed.shape(leaf) for leaf in fed.writes(call)] for fed, call in ((one, linear), (other, product))]
    given = [[fed.shape(leaf) for leaf in fed.reads(call)] for fed, call in ((one, linear), (other, product))]
    if made[0][:1] != made[1][:1] or not made[0] or len(given[0]) != len(given[1]):
        return False
    x, weight = given[0][:2]
    return x in given[1] and weight is not None and weight[::-1] in given[1]
