"""Origin, inherited, unmatched, unknown or ok: for every row, walking the calls in execution order.

An origin is a call whose inputs agree and whose output does not - or the thing that fed it: a scalar
argument, an unmatched call, input data or a parameter that no compared producer explains, memory that
changed between producer and consumer. What was given bad inputs is inherited.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from npulse.core.findings import Role
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import (
    GRAD,
    INPUT,
    OUTPUT,
    PARAMETERS,
    CallName,
    Construct,
)

from .links import Links, inverse
from .rows import BY_VALUE, Rows
from .verdict import ERROR, PASS, REASON, UNKNOWN, WARNING

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

UNINITIALISED = frozenset(
    ("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_with_format")
)
"""APIs whose output holds whatever was in memory: a difference there means nothing."""

HARMLESS = UNINITIALISED | {"view_as", "ones_like", "zeros_like", "detach", "contiguous", "requires_grad_"}
"""Unmatched calls of these change no value that a later call reads: never an origin."""

WEIGHT_POSITIONS = {
    "linear": (1, 2), "embedding": (1,), "conv1d": (1, 2), "conv2d": (1, 2), "conv3d": (1, 2),
    "layer_norm": (2, 3), "rms_norm": (2,), "batch_norm": (1, 2, 3, 4), "group_norm": (2, 3),
    "npu_rms_norm": (1,), "npu_add_rms_norm": (2,),
}  # fmt: skip
"""Input positions of functional APIs that hold parameters, which L1 captures do not mark."""

GROWTH = 2.0
"""An output error within this factor of the input's error is drift, not the operator's own fault."""


@dataclass(frozen=True, slots=True)
class Origin:
    """One place where a difference begins.

    call: index into the pairing. row: the leaf row that shows it (-1: the call as a whole).
    first_row: the first differing matched row (what stands in `related` for unmatched calls), or -1.
    producer: call whose output agreed, for cause "overwritten", else -1.
    """

    call: int
    cause: str
    row: int = -1
    first_row: int = -1
    producer: int = -1


@dataclass(slots=True)
class Roles:
    """Role code per row and per call, the origins in execution order, and what explains an inherited call."""

    row: npt.NDArray[np.int8]
    call: npt.NDArray[np.int8]
    origins: list[Origin] = field(default_factory=list)
    explained_by: dict[int, int] = field(default_factory=dict)


def assign_roles(
    rows: Rows, links: Links, construct: Construct | None, *, is_later_step: bool = False
) -> Roles:
    """Roles of all rows of one rank and step.

    is_later_step: an earlier step of the same capture already had an origin, so that parameters which
    differ are its consequence. Cost: O(rows).
    """
    return _Walk(rows, links, construct, is_later_step).run()


class _Walk:
    """State of one walk; a class because a dozen look-ups belong to every step of it."""

    def __init__(self, rows: Rows, links: Links, construct: Construct | None, is_later_step: bool) -> None:
        self.rows, self.pairing = rows, rows.pairing
        self.is_later_step = is_later_step
        self.roles = Roles(np.zeros(rows.n_rows, np.int8), np.zeros(self.pairing.n_calls, np.int8))
        self.links = links
        self.call_of_target = inverse(self.pairing.target_call, len(rows.target.calls.names))
        self.call_of_golden = inverse(self.pairing.golden_call, len(rows.golden.calls.names))
        self.side = self._sides()
        self.first = np.searchsorted(self.pairing.row_call, np.arange(self.pairing.n_calls + 1))
        self.parents = construct.parents if construct else {}
        self.tainted_inside: dict[str, int] = {}
        self.tainted_forward: dict[str, int] = {}
        self.first_tainted = -1
        self.unmatched: list[int] = []

    def _name(self, call: int) -> str:
        return self.pairing.name(self.rows.target, self.rows.golden, call)

    def _sides(self) -> npt.NDArray[np.int8]:
        t, g = self.pairing.target_leaf, self.pairing.golden_leaf
        of_target, of_golden = self.rows.target.leaves.side, self.rows.golden.leaves.side
        side = np.zeros(len(t), np.int8)
        side[t >= 0] = of_target[t[t >= 0]]
        side[t < 0] = of_golden[g[t < 0]]
        return side

    def run(self) -> Roles:
        for call in range(self.pairing.n_calls):
            name = parse_name(self._name(call))
            span = range(int(self.first[call]), int(self.first[call + 1]))
            if self.pairing.target_call[call] < 0 or self.pairing.golden_call[call] < 0:
                self._only_one_side(call, span)
            else:
                self._paired(call, name, span)
        self.roles.origins.sort(key=lambda o: (o.call, o.row))
        return self.roles

    # -- one call -------------------------------------------------------------------------------

    def _only_one_side(self, call: int, span: range) -> None:
        self.roles.call[call] = UNMATCHED
        self.roles.row[span.start : span.stop] = UNMATCHED
        self.unmatched.append(call)

    def _paired(self, call: int, name: CallName, span: range) -> None:
        verdict, role, reason = self.rows.verdict, self.roles.row, self.rows.reason
        if name.api.rstrip("_") in UNINITIALISED:
            self._uninitialised(span)
        given, made = [], []
        for row in span:
            if reason[row] == REASON["one-side"]:
                role[row] = UNMATCHED
            elif verdict[row] == UNKNOWN:
                role[row] = UNKNOWN_ROLE
            elif self.side[row] in (OUTPUT, GRAD):
                made.append(row)
            else:
                given.append(row)
        bad_inputs = [row for row in given if self._explain_input(call, name, row)]
        self._judge_outputs(call, name, span, given, bad_inputs, made)
        if any(role[row] in (ORIGIN, INHERITED) for row in span):
            self._taint(call, name)

    def _uninitialised(self, span: range) -> None:
        for row in span:
            if self.side[row] == OUTPUT and self.rows.verdict[row] != PASS:
                self.rows.verdict[row] = UNKNOWN
                self.rows.reason[row] = REASON["uninitialised"]

    def _judge_outputs(
        self, call: int, name: CallName, span: range, given: list[int], bad: list[int], made: list[int]
    ) -> None:
        role, verdict = self.roles.row, self.rows.verdict
        failing = [row for row in made if verdict[row] == ERROR]
        scalar = [row for row in given if verdict[row] != PASS and self.rows.basis[row] == BY_VALUE]
        if bad:
            self.roles.call[call] = ORIGIN if any(role[r] == ORIGIN for r in bad) else INHERITED
            for row in made:
                if verdict[row] in (ERROR, WARNING):
                    role[row] = INHERITED
            if failing:
                self._own_scalars(call, scalar, failing[0])
            return
        inner = self._inner_cause(call, name, made)
        if not failing:
            if inner >= 0:
                for row in made:
                    if verdict[row] == WARNING:
                        role[row] = INHERITED
            return
        if inner >= 0:
            self.roles.call[call] = INHERITED
            self.roles.explained_by[call] = inner
            for row in failing:
                role[row] = INHERITED
        elif scalar:
            verdict[scalar] = ERROR
            self.rows.reason[scalar] = REASON["scalar"]
            role[scalar] = ORIGIN
            role[failing] = INHERITED
            self.roles.call[call] = ORIGIN
            self.roles.origins.append(Origin(call, "scalar", scalar[0], failing[0]))
        elif any(role[r] == UNKNOWN_ROLE and self.side[r] not in (OUTPUT, GRAD) for r in span):
            # its inputs could not be compared: whether it began here cannot be told
            self.roles.call[call] = UNKNOWN_ROLE
            role[failing] = UNKNOWN_ROLE
        elif (alone := self._unmatched_inside(call)) >= 0:
            self._blame_unmatched(alone, failing[0])
            self.roles.call[call] = INHERITED
            self.roles.explained_by[call] = alone
            role[failing] = INHERITED
        else:
            self.roles.call[call] = ORIGIN
            role[failing] = ORIGIN
            cause = "drift" if self._is_drift(given, failing) else "operator"
            self.roles.origins.append(Origin(call, cause, failing[0], failing[0]))

    def _own_scalars(self, call: int, scalar: list[int], first_output: int) -> None:
        """A call that was given bad inputs may still have an argument of its own that differs.

        A float may have been computed from what is already wrong; a count, a flag or a word was not.
        """
        for row in scalar:
            self.rows.verdict[row] = ERROR
            self.rows.reason[row] = REASON["scalar"]
            values = self.rows.target.leaves
            value = values.values[int(values.value[self.pairing.target_leaf[row]])]
            if isinstance(value, float):
                self.roles.row[row] = INHERITED
            else:
                self.roles.row[row] = ORIGIN
                self.roles.origins.append(Origin(call, "scalar", row, first_output))

    def _is_drift(self, given: list[int], failing: list[int]) -> bool:
        """The inputs were already off by nearly as much as the output is."""
        before = [self._error(r) for r in given if self.rows.verdict[r] == WARNING]
        after = [self._error(r) for r in failing]
        return bool(before) and max(after) <= GROWTH * max(before)

    def _error(self, row: int) -> float:
        for name in ("rel_l2", "rel_l2_at_least"):
            value = self.rows.figure(name, row)
            if value is not None and np.isfinite(value):
                return float(value)
        return 0.0

    # -- where a bad input comes from -----------------------------------------------------------

    def _explain_input(self, call: int, name: CallName, row: int) -> bool:
        """Give an input row its role; True if it is bad (or carries an earlier origin's warning)."""
        verdict = int(self.rows.verdict[row])
        if self.rows.basis[row] == BY_VALUE or verdict == PASS:
            return False
        by_target, by_golden = self._producer_rows(row)
        source = self._tainted_call(by_target, by_golden)
        if verdict == WARNING:
            if source < 0 and by_target < 0 and by_golden < 0:
                # off by a little, behind an origin, and nobody knows who made it: not a proof of agreement
                source = self.first_tainted
            return source >= 0 and self._inherit(call, row, source)
        if source >= 0:
            return self._inherit(call, row, source)
        alone = self._unmatched_cause(call, row, by_target, by_golden)
        if alone >= 0:
            self._blame_unmatched(alone, row)
            return self._inherit(call, row, alone)
        if self._is_parameter(name, row):
            if self.is_later_step or self.first_tainted >= 0 and "optimizer" in self._ancestors(call):
                return self._inherit(call, row, self.first_tainted)
            return self._originate(call, row, "parameter")
        if by_golden >= 0 and by_target < 0 and self._is_from_agreeing_output(by_golden):
            return self._originate(call, row, "overwritten", self._call_of_golden_leaf(by_golden))
        is_index = bool(self.rows.reason[row] == REASON["not-equal"])
        if self.first_tainted >= 0 and not is_index:
            return self._inherit(call, row, self.first_tainted)
        if name.direction == "backward" and self._forward_cause(name) >= 0:
            return self._inherit(call, row, self._forward_cause(name))
        return self._originate(call, row, "input-data")

    def _blame_unmatched(self, alone: int, first_row: int) -> None:
        """A call of one side alone is where it begins; `first_row` is the first matched row that differs."""
        if self.roles.call[alone] == ORIGIN:
            return
        self.roles.call[alone] = ORIGIN
        span = slice(int(self.first[alone]), int(self.first[alone + 1]))
        self.roles.row[span][self.side[span] == OUTPUT] = ORIGIN
        self.roles.origins.append(Origin(alone, "unmatched", -1, first_row))
        self._taint(alone, parse_name(self._name(alone)))

    def _unmatched_inside(self, call: int) -> int:
        """The last call of one side alone that lies inside this module and changes values, or -1."""
        full = self._name(call)
        for other in reversed(self.unmatched):
            if full in self._ancestors(other):
                found = parse_name(self._name(other))
                if found.api not in HARMLESS:
                    return other
        return -1

    def _producer_rows(self, row: int) -> tuple[int, int]:
        t, g = int(self.pairing.target_leaf[row]), int(self.pairing.golden_leaf[row])
        return int(self.links.target[t]), int(self.links.golden[g])

    def _tainted_call(self, by_target: int, by_golden: int) -> int:
        for leaf, row_of, call_of, calls in (
            (by_target, self.links.row_of_target, self.call_of_target, self.rows.target.leaves.call),
            (by_golden, self.links.row_of_golden, self.call_of_golden, self.rows.golden.leaves.call),
        ):
            if leaf < 0:
                continue
            row = int(row_of[leaf])
            if row >= 0 and self.roles.row[row] in (ORIGIN, INHERITED):
                return int(call_of[calls[leaf]])
        return -1

    def _unmatched_cause(self, call: int, row: int, by_target: int, by_golden: int) -> int:
        """The call of one side alone that stands between agreeing values and this input, or -1."""
        alone = set(self.unmatched)
        if by_target >= 0:
            producer = int(self.call_of_target[self.rows.target.leaves.call[by_target]])
            if producer in alone:
                return producer
        if by_golden >= 0:
            producer = self._call_of_golden_leaf(by_golden)
            if producer in alone:
                return producer
        if self.first_tainted >= 0 or self.rows.reason[row] == REASON["not-equal"]:
            return -1
        since = self._call_of_golden_leaf(by_golden) if by_golden >= 0 else -1
        for other in reversed(self.unmatched):
            if other < since:
                break
            found = parse_name(self._name(other))
            if found.api not in HARMLESS and found.direction != "grad":
                return other
        return -1

    def _call_of_golden_leaf(self, leaf: int) -> int:
        return int(self.call_of_golden[self.rows.golden.leaves.call[leaf]])

    def _is_from_agreeing_output(self, by_golden: int) -> bool:
        row = int(self.links.row_of_golden[by_golden])
        return row >= 0 and self.rows.verdict[row] == PASS

    def _is_parameter(self, name: CallName, row: int) -> bool:
        if self.side[row] == PARAMETERS:
            return True
        if self.side[row] != INPUT or name.direction != "forward":
            return False
        leaves = self.rows.target.leaves
        io = leaves.io_names[int(leaves.io[self.pairing.target_leaf[row]])]
        position = io.removeprefix("input ")
        return position.isdigit() and int(position) in WEIGHT_POSITIONS.get(name.api, ())

    def _inherit(self, call: int, row: int, source: int) -> bool:
        self.roles.row[row] = INHERITED
        if source >= 0:
            self.roles.explained_by.setdefault(call, source)
        return True

    def _originate(self, call: int, row: int, cause: str, producer: int = -1) -> bool:
        self.roles.row[row] = ORIGIN
        self.roles.origins.append(Origin(call, cause, row, row, producer))
        return True

    # -- what lies inside or before a call ------------------------------------------------------

    def _inner_cause(self, call: int, name: CallName, made: list[int]) -> int:
        """A tainted call that explains this output: inside the module, or the forward of a backward."""
        full = self._name(call)
        if full in self.tainted_inside:
            return self.tainted_inside[full]
        if name.direction in ("backward", "grad"):
            found = self._forward_cause(name)
            if found >= 0:
                return found
            if name.direction == "grad" and self.first_tainted >= 0:
                return self.first_tainted
        if name.kind == "module":
            for row in made:
                source = self._same_output_before(row)
                if source >= 0:
                    return source
        return -1

    def _same_output_before(self, row: int) -> int:
        """A tainted inner call with the very output of this module (used where construct.json is empty)."""
        leaf = int(self.pairing.target_leaf[row])
        leaves = self.rows.target.leaves
        call = int(leaves.call[leaf])
        for other in range(max(0, call - 3), call):
            for candidate in self.rows.target.leaf_range(other):
                if leaves.side[candidate] != OUTPUT or leaves.shape[candidate] != leaves.shape[leaf]:
                    continue
                same = np.array_equal(leaves.statistics[candidate], leaves.statistics[leaf], equal_nan=True)
                at = int(self.links.row_of_target[candidate])
                if same and leaves.present[leaf] and at >= 0 and self.roles.row[at] in (ORIGIN, INHERITED):
                    return int(self.call_of_target[other])
        return -1

    def _forward_cause(self, name: CallName) -> int:
        return self.tainted_forward.get(_base(name), -1)

    def _ancestors(self, call: int) -> list[str]:
        found: list[str] = []
        name: str | None = self.parents.get(self._name(call))
        while name is not None and name not in found:
            found.append(name)
            name = self.parents.get(name)
        return found

    def _taint(self, call: int, name: CallName) -> None:
        if self.first_tainted < 0:
            self.first_tainted = call
        for parent in self._ancestors(call):
            self.tainted_inside.setdefault(parent, call)
        if name.direction == "forward":
            self.tainted_forward.setdefault(_base(name), call)


def _base(name: CallName) -> str:
    """What a forward, its backward and its parameters_grad have in common."""
    if name.path:
        return f"{name.prefix}.{name.path}.{name.cls}"
    return f"{name.prefix}.{name.api}.{name.number}"
