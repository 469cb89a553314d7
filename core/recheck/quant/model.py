"""What quantising an activation does to it, by each way to choose its scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Granularity = Literal["given", "tensor", "token", "channel", "smooth"]


@dataclass(frozen=True, slots=True)
class Scheme:
    """One way to choose scales, and what it leaves: all computed from the elements.

    granularity: "given" is the scale of the call; "smooth" divides channels by a factor that the weight takes
    over (SmoothQuant), one scale for the tensor. scale_min, scale_max: over all that it has. clipped_ratio:
    elements beyond the range. rel_l2, max_abs_error: of the activation that comes back. product_rel_l2: of
    its product with the weight, the weight quantised by output channel too; None where no weight was dumped.
    """

    granularity: Granularity
    is_symmetric: bool
    scale_min: float
    scale_max: float
    n_clipped: int
    clipped_ratio: float
    rel_l2: float
    max_abs_error: float
    product_rel_l2: float | None = None


@dataclass(frozen=True, slots=True)
class Outlier:
    """A channel or a token that stands out: its largest magnitude, and by how much that of the median."""

    place: int
    absmax: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Study:
    """An activation under int8. name: its leaf. needed: the one scale that would have clipped
    nothing. given: the call's scale, None where it has one for each token. schemes: the given one first, then
    by granularity. channels, tokens: outliers, the largest first. n_rows_used: tokens that the products were
    made of. n_not_finite: elements left out. at_ends_ratio: of an operand that is int8 already, the share at
    either end.
    """

    name: str
    shape: tuple[int, ...]
    absmax: float
    needed: float
    given: float | None
    schemes: tuple[Scheme, ...]
    channels: tuple[Outlier, ...] = ()
    tokens: tuple[Outlier, ...] = ()
    n_rows_used: int = 0
    n_not_finite: int = 0
    at_ends_ratio: float | None = None

    @property
    def own(self) -> Scheme | None:
        """What the call's own scale leaves."""
        return next((one for one in self.schemes if one.granularity == "given"), None)

    def of(self, granularity: Granularity, is_symmetric: bool = True) -> Scheme | None:
        """The scheme of that kind."""
        found = (s for s in self.schemes if (s.granularity, s.is_symmetric) == (granularity, is_symmetric))
        return next(found, None)

    @property
    def clips_what_matters(self) -> bool:
        """Whether the error would be half as large or less with one scale that clips nothing."""
        own, tensor = self.own, self.of("tensor")
        return (
            own is not None and tensor is not None and own.n_clipped > 0 and own.rel_l2 >= 2 * tensor.rel_l2
        )
