"""What a walk over one rank finds: the calls where trouble begins, and what every other bad tensor is."""

from __future__ import annotations

from dataclasses import field

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

ROLES = ("ok", "origin", "inherited", "benign", "suspect", "unknown")
OK, ORIGIN, INHERITED, BENIGN, SUSPECT, UNKNOWN_ROLE = range(6)
"""Role of a tensor. suspect: finite, but close to the limit in front of an origin."""

CAUSES = (
    "operator",  # finite inputs, bad output
    "parameter",  # a weight arrives bad
    "input",  # data from outside arrives bad
    "gap",  # between two captured calls something was not captured
    "uninitialised",  # memory that nobody has written is read
    "masked-row",  # a legal -Inf covers a whole row
    "legal-inf",  # a legal Inf is made into NaN
    "collective",  # all ranks give finite values, what they get is not
    "peer",  # came from a rank that was not captured
    "gradient",  # a parameter's gradient, its backward calls are healthy or not captured
    "inputs-unknown",  # bad output, but of some input nothing is recorded
    "first-seen",  # a saved variable: what made it was not captured
)


@dataclass(slots=True)
class Origin:
    """A call where something bad begins.

    cause: one of CAUSES. rows: its bad leaves (of the outputs; for a parameter or an input those given).
    legal: legal or unwritten leaves that it was given. after: for a gap the call whose output, as far as can
    be told, went in; between: names of calls in the hierarchy that were not captured. repeats: later calls
    that did the same with the same inputs (recomputation).
    """

    call: int
    cause: str
    rows: tuple[int, ...]
    legal: tuple[int, ...] = ()
    after: int = -1
    between: tuple[str, ...] = ()
    repeats: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Roles:
    """row: role code of each leaf. cause_of: call with bad leaves to the call of its origin.

    Calls that were given nothing bad and have nothing bad are in none of the mappings. through_gap: calls
    whose bad input no captured call made. legal: calls to why their NaN or Inf is legal ("fill", "log-zero",
    "mask", "arrives", "unwritten", "exact"). exchanges: communication calls that were given nothing bad and
    got something bad. bad_given, bad_outputs: calls that were given or gave something bad.
    """

    row: npt.NDArray[np.int8]
    origins: list[Origin] = field(default_factory=list)
    cause_of: dict[int, int] = field(default_factory=dict)
    through_gap: set[int] = field(default_factory=set)
    legal: dict[int, str] = field(default_factory=dict)
    exchanges: set[int] = field(default_factory=set)
    bad_given: set[int] = field(default_factory=set)
    bad_outputs: set[int] = field(default_factory=set)

    def origin_of(self, call: int) -> Origin | None:
        """The origin that this call is; None where it is none."""
        return next((origin for origin in self.origins if origin.call == call), None)

    def origin_calls(self) -> set[int]:
        return {origin.call for origin in self.origins}

    def drop(self, origin: Origin) -> None:
        """The call only carries: its outputs are inherited."""
        self.origins.remove(origin)
        for row in origin.rows:
            self.row[row] = INHERITED
