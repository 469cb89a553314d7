"""Origin, inherited, unmatched, unknown or ok: for every row, walking the calls in execution order.

An origin is a call whose inputs agree and whose output does not - or the thing that fed it: a scalar
argument, an unmatched call, input data or a parameter that no compared producer explains, memory that
changed between producer and consumer. What was given bad inputs is inherited.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from npulse.core.calls.apis import COMMUNICATION, WEIGHT_KEYWORDS, WEIGHT_POSITIONS
from npulse.core.findings import Role
from npulse.core.formats.msprobe.records import (
    DEBUG,
    GRAD,
    INPUT,
    KWARGS,
    OUTPUT,
    PARAMETERS,
    TENSOR,
    CallName,
    Construct,
    Dump,
)

from .links import Links
from .lone import lone_of_both
from .rows import BY_VALUE, Rows
from .spread import Spread
from .unwritten import Unwritten
from .upstream import ModuleKey, Source, Upstream, base_of, module_key
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

GROWTH = 2.0
"""An output error within this factor of the input's error is drift, not the operator's own fault."""

_BY_DEGREE = frozenset(
    REASON[name] for name in ("cosine", "norm-ratio", "statistics-bound", "error-threshold")
)
"""Reasons for which an error has a size that can have grown; a NaN or another shape has none."""


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


def assign_roles(
    rows: Rows,
    links: Links,
    construct: Construct | None,
    carried: frozenset[int] = frozenset(),
    *,
    is_later_step: bool = False,
    is_trained: bool = False,
) -> Roles:
    """Roles of all rows of one rank and step.

    carried: calls that only carry what another rank was given wrong.
    is_later_step: an earlier step of the same capture already differed, so that parameters which
    differ are its consequence. is_trained: there is an earlier step, so that parameters may carry rounding.
    Cost: O(rows).
    """
    if not rows.target.is_ordered:
        return _without_order(rows)
    return _Walk(rows, links, construct, carried, is_later_step, is_trained).run()


def _without_order(rows: Rows) -> Roles:
    """Roles where nobody knows what ran first: what differs is known, where it began is not."""
    row = np.zeros(rows.n_rows, np.int8)
    row[(rows.verdict == ERROR) | (rows.verdict == UNKNOWN)] = UNKNOWN_ROLE
    row[rows.reason == REASON["one-side"]] = UNMATCHED
    pairing = rows.pairing
    call = np.zeros(pairing.n_calls, np.int8)
    call[pairing.row_call[rows.verdict == ERROR]] = UNKNOWN_ROLE
    alone = (pairing.target_call < 0) | (pairing.golden_call < 0)
    call[alone] = UNMATCHED
    row[alone[pairing.row_call]] = UNMATCHED
    return Roles(row, call)


def _lacks_inputs(dump: Dump) -> bool:
    """A capture of outputs alone, or golden tensors, which are outputs and what they were made of as far as
    somebody knows it: an input that is not there was not recorded, and is no difference."""
    is_golden = dump.header.framework == "golden"
    return is_golden or not np.isin(dump.leaves.side, (INPUT, KWARGS, DEBUG)).any()


class _Walk:
    """State of one walk; a class because a dozen look-ups belong to every step of it."""

    def __init__(
        self,
        rows: Rows,
        links: Links,
        construct: Construct | None,
        carried: frozenset[int],
        is_later_step: bool,
        is_trained: bool,
    ) -> None:
        self.rows, self.pairing, self.carried = rows, rows.pairing, carried
        self.is_later_step, self.is_trained = is_later_step, is_trained
        self.roles = Roles(np.zeros(rows.n_rows, np.int8), np.zeros(self.pairing.n_calls, np.int8))
        self.content = (links.content_target, links.content_golden)
        self.upstream = Upstream(rows, links, construct)
        self.unwritten = Unwritten(rows, self.upstream)
        self.side = rows.sides()
        self.groups = {group.call for group in self.pairing.groups}
        self.first = np.searchsorted(self.pairing.row_call, np.arange(self.pairing.n_calls + 1))
        self.modules = self._paired_modules()
        self.tainted_inside: dict[ModuleKey, int] = {}
        self.tainted_forward: dict[str, int] = {}
        self.first_tainted = self.last_tainted = -1
        self.bad_contents: dict[tuple[int, int], int] = {}
        self.overwritten: dict[int, int] = {}
        self.blamed_modules: set[int] = set()
        self.is_index_tainted = False
        self.spread = Spread(rows, links)
        self.lacks_inputs = _lacks_inputs(rows.target) or _lacks_inputs(rows.golden)

    def _paired_modules(self) -> dict[ModuleKey, int]:
        found: dict[ModuleKey, int] = {}
        for call in np.flatnonzero(~self.upstream.alone).tolist():
            name = self.upstream.name(call)
            if name.kind == "module":
                found.setdefault(module_key(name), call)
        return found

    def _span(self, call: int) -> range:
        return range(int(self.first[call]), int(self.first[call + 1]))

    def run(self) -> Roles:
        for call in range(self.pairing.n_calls):
            if self.upstream.alone[call]:
                self.roles.call[call] = UNMATCHED
                self.roles.row[self.first[call] : self.first[call + 1]] = UNMATCHED
                self.upstream.pass_alone(call)
                if self.first_tainted >= 0:
                    self._spread(call)
            else:
                self._paired(call, self.upstream.name(call))
        self.roles.origins.sort(key=lambda o: (o.call, o.row))
        return self.roles

    # -- one call -------------------------------------------------------------------------------

    def _paired(self, call: int, name: CallName) -> None:
        verdict, role, reason = self.rows.verdict, self.roles.row, self.rows.reason
        span = self._span(call)
        self.unwritten.mark(name, span)
        given, made = [], []
        for row in span:
            if reason[row] == REASON["one-side"]:
                role[row] = UNMATCHED
            elif verdict[row] == UNKNOWN:
                role[row] = UNKNOWN_ROLE
            elif self.side[row] in (OUTPUT, GRAD, DEBUG):
                made.append(row)
            else:
                given.append(row)
        is_blamed = call in self.blamed_modules  # its inputs have been found to agree
        bad_inputs = [row for row in given if not is_blamed and self._explain_input(call, name, row)]
        self._judge_outputs(call, name, span, given, bad_inputs, made)
        if any(self._is_tainted(row) for row in span):
            self._taint(call)

    def _is_tainted(self, row: int) -> bool:
        role = self.roles.row[row]
        return bool(role in (ORIGIN, INHERITED) or role == UNKNOWN_ROLE and self.rows.verdict[row] == ERROR)

    def _judge_outputs(
        self, call: int, name: CallName, span: range, given: list[int], bad: list[int], made: list[int]
    ) -> None:
        role, verdict = self.roles.row, self.rows.verdict
        failing = [row for row in made if verdict[row] == ERROR]
        if failing and (first := self._first_of_copy(call)) >= 0:
            role[[row for row in made if verdict[row] in (ERROR, WARNING)]] = INHERITED
            self._explain(call, first)
            return
        scalar = [row for row in given if verdict[row] != PASS and self.rows.basis[row] == BY_VALUE]
        if bad and all(role[row] == UNKNOWN_ROLE for row in bad):
            self.roles.call[call] = UNKNOWN_ROLE
            role[[row for row in made if verdict[row] in (ERROR, WARNING)]] = UNKNOWN_ROLE
        elif bad or call in self.carried and any(verdict[row] != PASS for row in made):
            self.roles.call[call] = ORIGIN if any(role[r] == ORIGIN for r in bad) else INHERITED
            for row in made:
                if verdict[row] in (ERROR, WARNING):
                    role[row] = INHERITED
            if failing:
                self._own_scalars(call, scalar, failing[0])
        elif call in self.blamed_modules:
            role[[row for row in made if verdict[row] in (ERROR, WARNING)]] = ORIGIN
        elif (inner := self._inner_cause(call, name, made)) >= 0:
            for row in made:
                if verdict[row] in (ERROR, WARNING):
                    role[row] = INHERITED
            if failing:
                self._explain(call, inner)
        elif failing:
            self._begin(call, span, given, scalar, failing)

    def _first_of_copy(self, call: int) -> int:
        """The forward that a recomputed call repeats, where that came out wrong already; or -1."""
        first = -1 if self.pairing.recompute_of is None else int(self.pairing.recompute_of[call])
        return first if first >= 0 and self.roles.call[first] in (ORIGIN, INHERITED) else -1

    def _begin(self, call: int, span: range, given: list[int], scalar: list[int], failing: list[int]) -> None:
        """The inputs agree, the output does not, and nothing inside the call was bad before."""
        role = self.roles.row
        if scalar:
            self.rows.verdict[scalar] = ERROR
            self.rows.reason[scalar] = REASON["scalar"]
            role[scalar] = ORIGIN
            role[failing] = INHERITED
            self._add(call, "scalar", scalar[0], failing[0])
        elif lone := self._arguments_of_one_side(call, span):
            role[lone] = ORIGIN  # an argument that one side alone was given
            role[failing] = INHERITED
            self._add(call, "scalar", lone[0], failing[0])
        elif (alone := self.upstream.last_suspect(module_key(self.upstream.name(call)))) >= 0:
            self._blame_unmatched(alone, failing[0])
            self._explain(call, alone)
            role[failing] = INHERITED
        elif self._has_unknown_input(span) or self.side[failing[0]] == DEBUG or self._has_no_proof(given):
            # its inputs could not be compared: whether it began here cannot be told
            self.roles.call[call] = UNKNOWN_ROLE
            role[failing] = UNKNOWN_ROLE
        elif (producer := self._handed_on_wrong(call, failing[0])) >= 0:
            role[failing] = ORIGIN
            self._add(call, "overwritten", failing[0], failing[0], producer)
        elif not self._is_drift(given, failing):
            role[failing] = ORIGIN
            self._add(call, "operator", failing[0], failing[0])
        elif (module := self._module_of_a_jump(call, given)) >= 0:
            role[failing] = INHERITED
            self._explain(call, module)
        else:
            role[failing] = ORIGIN
            self._add(call, "drift", failing[0], failing[0])

    def _arguments_of_one_side(self, call: int, span: range) -> list[int]:
        if call in self.groups:  # a fused operator is given other things than its parts
            return []
        if (
            self.upstream.name(call).prefix in COMMUNICATION or self.lacks_inputs
        ):  # which buffers are masked depends on the version
            return []
        return [r for r in span if self.roles.row[r] == UNMATCHED and self.side[r] in (INPUT, KWARGS)]

    def _handed_on_wrong(self, call: int, row: int) -> int:
        """The inner call whose agreeing output the golden module hands on, the target's does not; or -1."""
        if self.upstream.name(call).kind != "module":
            return -1
        target, golden = self.upstream.sources(row)
        is_inside = golden.call >= 0 and module_key(self.upstream.name(call)) in self.upstream.around(
            golden.call
        )
        return golden.call if is_inside and self._is_overwritten(target, golden) else -1

    def _add(self, call: int, cause: str, row: int, first_row: int, producer: int = -1) -> None:
        self.roles.call[call] = ORIGIN
        self.roles.origins.append(Origin(call, cause, row, first_row, producer))

    def _explain(self, call: int, source: int) -> None:
        self.roles.call[call] = INHERITED
        self.roles.explained_by[call] = source

    def _has_unknown_input(self, span: range) -> bool:
        call = int(self.pairing.row_call[span.start]) if len(span) else -1
        given = [row for row in span if self.side[row] not in (OUTPUT, GRAD)]
        if call in self.groups and lone_of_both(self.rows, given):
            return True
        return any(self.roles.row[row] == UNKNOWN_ROLE and not self.unwritten.is_unread(row) for row in given)

    def _has_no_proof(self, given: list[int]) -> bool:
        """Of a capture without inputs no call is known to have been given the right ones."""
        return self.lacks_inputs and not given

    def _own_scalars(self, call: int, scalar: list[int], first_output: int) -> None:
        """A call that was given bad inputs may still have an argument of its own that differs.

        A float may have been computed from what is already wrong, a count from wrong integers; a word was
        not.
        """
        for row in scalar:
            self.rows.verdict[row] = ERROR
            self.rows.reason[row] = REASON["scalar"]
            values = self.rows.target.leaves
            value = values.values[int(values.value[self.pairing.target_leaf[row]])]
            is_count = isinstance(value, (int, list)) and not isinstance(value, bool)
            if isinstance(value, float) or is_count and self.is_index_tainted:
                self.roles.row[row] = INHERITED
            else:
                self.roles.row[row] = ORIGIN
                self._add(call, "scalar", row, first_output)

    def _is_drift(self, given: list[int], failing: list[int]) -> bool:
        """The inputs were already off by nearly as much as the output is."""
        if not all(int(self.rows.reason[r]) in _BY_DEGREE for r in failing):
            return False
        before = [self._error(r) for r in given if self.rows.verdict[r] == WARNING]
        after = [self._error(r) for r in failing]
        return bool(before) and max(after) <= GROWTH * max(before)

    def _module_of_a_jump(self, call: int, given: list[int]) -> int:
        """The module in which the error of an input came up at once, made an origin; or -1.

        No captured call made that input, and what the module around was given is off by far less: it did not
        build up, it began in code between the captured calls, below the criteria until this call.
        """
        row = max((r for r in given if self.rows.verdict[r] == WARNING), key=self._error)
        target, golden = self.upstream.sources(row)
        if 0 <= target.row == golden.row or self.side[row] == PARAMETERS:
            return -1
        for key in self.upstream.around(call):
            module = self.modules.get(key, -1)
            before = [r for r in self._span(module) if self._is_given_tensor(r)] if module >= 0 else []
            if not before or any(self.rows.verdict[r] == UNKNOWN for r in before):
                continue
            if GROWTH * max(self._error(r) for r in before) < self._error(row):
                self.roles.row[row] = INHERITED
                return self._blame_module(module, row)
        return -1

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
        if self.rows.basis[row] == BY_VALUE:
            return False
        if verdict == PASS:
            self.upstream.clear(row)
            return False
        target, golden = self.upstream.sources(row)
        source = self._tainted_call(target, golden)
        if source < 0 and verdict == ERROR:
            source = self._first_of_copy(call)
        if source >= 0:
            return self._inherit(call, row, source)
        if call in self.carried and row in self.rows.splits and self.rows.splits[row].is_sum:
            return self._inherit(call, row, -1)  # a sum to which another rank gave what is wrong
        is_unlinked = target.leaf < 0 and golden.leaf < 0
        is_parameter = self.side[row] == PARAMETERS or is_unlinked and self._is_weight(name, row)
        is_loaded = is_parameter and not self.is_trained  # as it was read: bit by bit the same
        if verdict == WARNING and not (is_loaded and self.rows.reason[row] == REASON["content"]):
            is_traced = 0 <= target.row == golden.row
            if not is_traced and not is_parameter and self.first_tainted >= 0:
                # off by a little, behind an origin, and nobody knows who made it: not a proof of agreement
                if self._is_of_its_own(call, row, target, golden):
                    return self._cannot_tell(row)
                return self._inherit(call, row, self.first_tainted)
            self.upstream.clear(row)
            return False
        earlier = self._read_before(row, golden)
        if earlier >= 0:
            return self._inherit(call, row, earlier)
        if is_parameter:
            return self._parameter(call, row)
        return self._bad_input(call, row, target, golden)

    def _bad_input(self, call: int, row: int, target: Source, golden: Source) -> bool:
        """An input that differs, whose producers - where they are known - do not."""
        alone = self._unmatched_cause(row, target, golden)
        if alone >= 0:
            if self.upstream.alone[alone]:
                self._blame_unmatched(alone, row)
            return self._inherit(call, row, alone)
        if self._is_overwritten(target, golden):
            self.overwritten[golden.leaf] = call
            return self._originate(call, row, "overwritten", golden.call)
        if self.first_tainted >= 0:
            if not self._is_of_its_own(call, row, target, golden):
                self.roles.by_order.add(call)
                return self._inherit(call, row, self.first_tainted)
            if not self.spread.is_full:
                return self._cannot_tell(row)
        module = self._module_that_began_it(call, row)
        if module >= 0:
            return self._inherit(call, row, module)
        return self._originate(call, row, "input-data")

    def _is_of_its_own(self, call: int, row: int, target: Source, golden: Source) -> bool:
        """Behind an origin, but not made of it: no producer is known and its values lie elsewhere."""
        name = self.upstream.name(call)
        if name.kind != "api" or name.direction != "forward" or target.leaf >= 0 or golden.leaf >= 0:
            return False
        if self.rows.reason[row] == REASON["not-equal"]:
            return False  # a module and the API in it read the same integers, which statistics cannot tell
        t, g = int(self.pairing.target_leaf[row]), int(self.pairing.golden_leaf[row])
        return not self.spread.can_hold(t, g)

    def _cannot_tell(self, row: int) -> bool:
        """An input with a beginning of its own - or made by a call that was not captured."""
        self.roles.row[row] = UNKNOWN_ROLE
        return True

    def _originate(self, call: int, row: int, cause: str, producer: int = -1) -> bool:
        """A leaf is itself where it begins."""
        self.bad_contents[self._content(row)] = call
        self.roles.row[row] = ORIGIN
        self._add(call, cause, row, row, producer)
        return True

    def _content(self, row: int) -> tuple[int, int]:
        t, g = int(self.pairing.target_leaf[row]), int(self.pairing.golden_leaf[row])
        return int(self.content[0][t]), int(self.content[1][g])

    def _read_before(self, row: int, golden: Source) -> int:
        """The call that read the same bad content first: around an API, beside it, with a shared weight."""
        content = self._content(row)
        if min(content) >= 0 and content in self.bad_contents:
            return self.bad_contents[content]
        return self.overwritten.get(golden.leaf, -1) if golden.leaf >= 0 else -1

    def _tainted_call(self, target: Source, golden: Source) -> int:
        for source in (target, golden):
            if source.row >= 0 and self._is_tainted(source.row):
                return source.call
            if source.row < 0 and source.call in self.groups:  # made inside a group, where no rows are
                if self.roles.call[source.call] in (ORIGIN, INHERITED):
                    return source.call
        return -1

    def _parameter(self, call: int, row: int) -> bool:
        if self.is_later_step or self.first_tainted >= 0 and "optimizer" in self.upstream.around(call):
            return self._inherit(call, row, self.first_tainted)
        self.rows.verdict[row] = ERROR
        return self._originate(call, row, "parameter")

    def _is_weight(self, name: CallName, row: int) -> bool:
        if int(self.pairing.row_call[row]) in self.groups:
            name = self.upstream.name_of_leaf(row)
        positions = WEIGHT_POSITIONS.get(name.api)
        if positions is None or name.direction != "forward" or self.side[row] not in (INPUT, KWARGS):
            return False
        kind, _, place = self.rows.io(row).partition(" ")
        if kind == "kwargs":
            return place in WEIGHT_KEYWORDS
        return place.isdigit() and int(place) in positions

    def _is_overwritten(self, target: Source, golden: Source) -> bool:
        """The golden side reads an output that agrees, the target reads something else there."""
        if golden.leaf < 0 or golden.row == target.row:
            return False
        if self.upstream.alone[golden.call]:
            return self.upstream.is_cleared(golden.call)
        if golden.row < 0 or self._is_copy_of(target.call, golden.call):
            return False
        return int(self.rows.verdict[golden.row]) in (PASS, WARNING)

    def _is_copy_of(self, call: int, first: int) -> bool:
        """Whether a call is what another one computes again: either may be taken for what made a value."""
        of = self.pairing.recompute_of
        return of is not None and 0 <= call and (of[call] == first or 0 <= of[call] == of[first])

    # -- calls of one side alone ----------------------------------------------------------------

    def _unmatched_cause(self, row: int, target: Source, golden: Source) -> int:
        """What a call of one side alone made of this input: that call, or what it was itself given; or -1."""
        guilty = self.upstream.guilty_on_the_way(target, golden)
        if guilty >= 0:
            fed_by = self.upstream.fed_by(guilty, self._is_tainted)
            if fed_by is None and self.first_tainted >= 0:
                return self.first_tainted
            return self.upstream.forward_of(guilty) if fed_by is None or fed_by < 0 else fed_by
        if self.first_tainted >= 0 or self.rows.reason[row] == REASON["not-equal"]:
            return -1
        if golden.leaf >= 0 and target.leaf >= 0:
            return -1
        suspect = self.upstream.last_suspect()
        return suspect if suspect > max(golden.call, target.call) else -1

    def _blame_unmatched(self, alone: int, first_row: int) -> None:
        """A call of one side alone is where it begins; `first_row` is the first matched row that differs."""
        if self.roles.call[alone] == ORIGIN:
            return
        span = slice(int(self.first[alone]), int(self.first[alone + 1]))
        self.roles.row[span][self.side[span] == OUTPUT] = ORIGIN
        self._add(alone, "unmatched", -1, first_row)
        self._taint(alone)

    def _inherit(self, call: int, row: int, source: int) -> bool:
        self.roles.row[row] = INHERITED
        if source >= 0:
            self.roles.explained_by.setdefault(call, source)
        return True

    # -- what lies inside, around or before a call ----------------------------------------------

    def _module_that_began_it(self, call: int, bad_input: int) -> int:
        """The innermost module around a call that was given what agrees, made an origin; or -1.

        Between the captured calls in it something ran that was not captured, or data came from elsewhere.
        """
        for key in self.upstream.around(call):
            module = self.modules.get(key, -1)
            span = self._span(module) if module >= 0 else ()
            verdicts = [int(self.rows.verdict[row]) for row in span if self._is_given_tensor(row)]
            if not verdicts or ERROR in verdicts:
                continue
            if UNKNOWN in verdicts:
                return -1
            return self._blame_module(module, bad_input)
        return -1

    def _blame_module(self, module: int, bad_input: int) -> int:
        span = self._span(module)
        made = [row for row in span if self.side[row] == OUTPUT and self.rows.verdict[row] == ERROR]
        self.blamed_modules.add(module)
        self._add(module, "operator", made[0] if made else bad_input, bad_input)
        return module

    def _is_given_tensor(self, row: int) -> bool:
        t = int(self.pairing.target_leaf[row])
        is_tensor = t >= 0 and self.rows.target.leaves.kind[t] == TENSOR
        return bool(is_tensor and self.side[row] in (INPUT, KWARGS))

    def _inner_cause(self, call: int, name: CallName, made: list[int]) -> int:
        """A tainted call that explains this output: inside the module, or the forward of a backward."""
        key = module_key(name)
        if key in self.tainted_inside:
            return self.tainted_inside[key]
        if name.direction in ("backward", "grad"):
            found = self.tainted_forward.get(base_of(name), -1)
            if found >= 0:
                return found
            if name.direction == "grad" and self.first_tainted >= 0:
                return self.first_tainted
        if name.kind != "module" or self.first_tainted < 0:
            return -1
        for row in made:
            source = self._tainted_call(*self.upstream.sources(row))
            if source >= 0:
                return source
        return -1 if self.upstream.is_in_construct(call) else self._tainted_since_given(call)

    def _tainted_since_given(self, call: int) -> int:
        """The last tainted call behind the makers of a module's inputs (where no hierarchy was recorded)."""
        since = -1
        for row in self._span(call):
            if self._is_given_tensor(row):
                since = max(since, *(source.call for source in self.upstream.sources(row)))
        return self.last_tainted if self.last_tainted > since else -1

    def _spread(self, call: int) -> None:
        self.spread.add_call(
            self.pairing.members(call, is_target=True), self.pairing.members(call, is_target=False)
        )

    def _taint(self, call: int) -> None:
        self._spread(call)
        self.first_tainted = call if self.first_tainted < 0 else self.first_tainted
        self.last_tainted = max(call, self.last_tainted)
        for key in self.upstream.around(call):
            self.tainted_inside.setdefault(key, call)
        name = self.upstream.name(call)
        if name.direction == "forward":
            self.tainted_forward.setdefault(base_of(name), call)
        leaves = self.rows.target.leaves
        for row in self._span(call):
            t = int(self.pairing.target_leaf[row])
            if self.side[row] == OUTPUT and t >= 0 and leaves.kind[t] == TENSOR:
                exact = self.rows.reason[row] in (REASON["not-equal"], REASON["content-unknown"])
                self.is_index_tainted |= bool(exact)
