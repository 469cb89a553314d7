"""Which operator call of the target stands against which of the golden side, and which leaf against which.

Every method (by name, graphs that are not alike, a mapping file, by hand) returns the same `Pairing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.msprobe.records import Construct, Dump, Stacks

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Beside:
    """What lies beside two dumps, read only when somebody asks for it: of the target, of the golden side.

    constructs: the module hierarchies. stacks: the call stacks of the given entries of each side.
    """

    constructs: Callable[[], tuple[Construct | None, Construct | None]]
    stacks: Callable[[Sequence[str], Sequence[str]], tuple[Stacks | None, Stacks | None]]


NOTHING_BESIDE = Beside(lambda: (None, None), lambda target, golden: (None, None))


EVIDENCE = (
    "name",  # equal full names
    "order",  # its place between pairs that are sure
    "type",  # the same operator under another call number or prefix
    "shape",
    "dtype",
    "stack",  # called from the same source line
    "module",  # the same module path
    "content",  # equal values, checksum or statistics
    "fusion",  # a row of the table of fusions
    "recompute",  # a recomputed copy
    "split",  # parts of a tensor that another rank layout has whole
    "mapping",  # a mapping file says so
    "hand",  # the user says so
)
"""What speaks for a pair; bit k of `Pairing.evidence` is entry k."""

CERTAIN, LIKELY, DOUBTFUL = 1.0, 0.8, 0.5
"""How sure a pair is: equal names, a mapping or the user; several kinds of evidence; the order alone."""


@dataclass(frozen=True, slots=True)
class Group:
    """Several calls of at least one side that stand against each other as one, compared at the group's ends.

    call: its place in the sequence of the pairing. target_calls, golden_calls: call rows of the dumps in
    execution order. fusion: its row of the table of fusions, "" where a mapping or the user says so.
    """

    call: int
    target_calls: tuple[int, ...]
    golden_calls: tuple[int, ...]
    fusion: str = ""


@dataclass(frozen=True, slots=True)
class Pairing:
    """The calls of both sides as one sequence in execution order, and its leaf rows.

    target_call, golden_call: one entry a step of the sequence, -1 where that side has no such call.
    row_call: sequence index of each leaf row; target_leaf, golden_leaf: leaf rows of the dumps or -1.
    Rows of one call stand together, in the order input, kwargs, parameters, output of the target. Of a group
    the entry names the last call of each side; its leaves may belong to any call of the group.
    confidence: one entry a call, 0 to 1 (NaN: nothing stands against it); evidence: bits of `EVIDENCE`.
    None: all of it is by name. groups: in the order of `call`. recompute_of: the place of the call that a
    call repeats, -1 for none; None: nothing is known to be a copy.
    """

    target_call: Ints
    golden_call: Ints
    row_call: Ints
    target_leaf: Ints
    golden_leaf: Ints
    confidence: npt.NDArray[np.float64] | None = None
    evidence: Ints | None = None
    groups: tuple[Group, ...] = ()
    recompute_of: Ints | None = None

    @property
    def n_calls(self) -> int:
        return len(self.target_call)

    @property
    def n_rows(self) -> int:
        return len(self.row_call)

    def steps_of(self, n_calls: int, *, is_target: bool) -> Ints:
        """For each call row of one dump (n_calls of them) its place in the sequence, -1 where it has none.

        Members of groups have the place of their group; a call that stands against several (copies of it)
        has its first place.
        """
        calls = self.target_call if is_target else self.golden_call
        steps = np.full(n_calls, -1, np.int64)
        for group in self.groups:
            steps[list(group.target_calls if is_target else group.golden_calls)] = group.call
        places = np.flatnonzero(calls >= 0)[::-1]
        steps[calls[places]] = places  # the first place is written last
        return steps

    def members(self, call: int, *, is_target: bool) -> tuple[int, ...]:
        """Call rows of one side that a step of the sequence stands for: one, those of a group, or none."""
        group = self._group_at().get(call)
        if group is not None:
            return group.target_calls if is_target else group.golden_calls
        one = int(self.target_call[call] if is_target else self.golden_call[call])
        return (one,) if one >= 0 else ()

    def group_of(self, call: int) -> Group | None:
        """The group at a step of the sequence."""
        return self._group_at().get(call)

    def _group_at(self) -> dict[int, Group]:
        return {group.call: group for group in self.groups}

    def name(self, target: Dump, golden: Dump, call: int) -> str:
        """The call's full name (that of the target where both have one)."""
        t = int(self.target_call[call])
        return target.calls.names[t] if t >= 0 else golden.calls.names[int(self.golden_call[call])]

    def names(self, target: Dump, golden: Dump) -> Sequence[str]:
        """The full names of all calls, as `name` gives them; those of the target itself where it has all."""
        calls, of_target, of_golden = self.target_call, target.calls.names, golden.calls.names
        if len(calls) == len(of_target) and np.array_equal(calls, np.arange(len(calls))):
            return of_target
        both = zip(calls.tolist(), self.golden_call.tolist(), strict=True)
        return [of_target[t] if t >= 0 else of_golden[g] for t, g in both]

    def call_named(self, target: Dump, golden: Dump, name: str) -> int | None:
        """The first call of that full name; None where there is none. Cost: a search in C of both dumps."""
        found = []
        of_target = (self.target_call, target.calls.names, self.target_call >= 0)
        of_golden = (self.golden_call, golden.calls.names, self.target_call < 0)
        for calls, names, is_named in (of_target, of_golden):
            for call in _all_at(names, name):
                places = np.flatnonzero((calls == call) & is_named)
                if len(places):
                    found.append(int(places[0]))
                    break
        return min(found, default=None)


def _all_at(names: Sequence[str], name: str) -> Iterator[int]:
    """Where a name stands, one place after another."""
    at = -1
    while True:
        try:
            at = names.index(name, at + 1)
        except ValueError:
            return
        yield at
