"""What the walk over the calls says: roles as codes, causes, origins."""

from __future__ import annotations

from dataclasses import field

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.findings import Role

ROLES: tuple[Role, ...] = ("ok", "origin", "inherited", "unmatched", "unknown")
OK, ORIGIN, INHERITED, UNMATCHED, UNKNOWN_ROLE = range(5)

CAUSES = (
    "operator",  # inputs agree, output does not
    "scalar",
    "unmatched",
    "input-data",
    "parameter",
    "overwritten",
    "drift",  # the error was there before and only grew over the threshold
)
"""Why a call (or a leaf of it) is an origin; each has its rule `precision.<cause>`."""


@dataclass(frozen=True, slots=True)
class Origin:
    """One place where a difference begins.

    call: index into the pairing. row: the leaf row that shows it (-1: the call as a whole).
    first_row: the first differing matched row (what stands in `related` for unmatched calls), or -1.
    producer: call whose output agreed, for cause "overwritten", else -1. argument: row of a scalar that the
    module around an unmatched call was given otherwise, else -1.
    """

    call: int
    cause: str
    row: int = -1
    first_row: int = -1
    producer: int = -1
    argument: int = -1


@dataclass(slots=True)
class Roles:
    """Role code per row and per call, the origins in execution order, and what explains an inherited call.

    A call is unknown where its output differs and an input could not be compared.
    """

    row: npt.NDArray[np.int8]
    call: npt.NDArray[np.int8]
    origins: list[Origin] = field(default_factory=list)
    explained_by: dict[int, int] = field(default_factory=dict)
    by_order: set[int] = field(default_factory=set)
