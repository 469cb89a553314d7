"""Origin, inherited, unmatched, unknown or ok: for every row, walking the calls in execution order.

An origin is a call whose inputs agree and whose output does not - or the thing that fed it: a scalar
argument, an unmatched call, input data or a parameter that no compared producer explains, memory that
changed between producer and consumer. What was given bad inputs is inherited.
"""

from __future__ import annotations

import numpy as np

from npulse.core.formats.msprobe.records import (
    DEBUG,
    GRAD,
    OUTPUT,
    PARAMETERS,
    CallName,
    Construct,
)

from .links import Links
from .role_records import INHERITED, ORIGIN, UNKNOWN_ROLE, UNMATCHED, Origin, Roles
from .rows import BY_STATISTICS, BY_TENSOR, BY_VALUE, Rows
from .upstream import Source, module_key
from .verdict import ERROR, PASS, REASON, UNKNOWN, WARNING
from .walk_state import GROWTH, WalkState


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


def is_all_well(rows: Rows) -> bool:
    """Whether every call has its counterpart and every row agrees by what was compared of itself: then
    there is nothing to be explained, nor to be measured by the content of another row."""
    pairing, basis = rows.pairing, rows.basis
    is_paired = bool((pairing.target_call >= 0).all() and (pairing.golden_call >= 0).all())
    is_shared = bool((basis == BY_STATISTICS).any() and (basis == BY_TENSOR).any())
    return is_paired and not is_shared and bool((rows.verdict == PASS).all())


def all_well(rows: Rows, carried: frozenset[int] = frozenset()) -> Roles:
    """The roles of rows that are `is_all_well`: nothing began anywhere."""
    return Roles(np.zeros(rows.n_rows, np.int8), np.zeros(rows.pairing.n_calls, np.int8))


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


_ONE_SIDE = REASON["one-side"]
_MADE = (OUTPUT, GRAD, DEBUG)


class _Walk(WalkState):
    """The decisions of one walk, call by call."""

    def run(self) -> Roles:
        for call in range(self.pairing.n_calls):
            if self.upstream.alone[call]:
                self.roles.call[call] = UNMATCHED
                self.roles.row[self.first[call] : self.first[call + 1]] = UNMATCHED
                self.upstream.pass_alone(call)
                if self.first_tainted >= 0:
                    self.spread_over(call)
            else:
                self._paired(call, self.upstream.name(call))
        self.roles.origins.sort(key=lambda o: (o.call, o.row))
        return self.roles

    # -- one call -------------------------------------------------------------------------------

    def _paired(self, call: int, name: CallName) -> None:
        role = self.roles.row
        span = self.span(call)
        self.unwritten.mark(name, span)
        here = slice(span.start, span.stop)
        # as numbers of Python, all at once: one by one they would cost several times as much
        verdicts, reasons, sides = (
            values[here].tolist() for values in (self.rows.verdict, self.rows.reason, self.side)
        )
        given, made = [], []
        for row, verdict, reason, side in zip(span, verdicts, reasons, sides, strict=True):
            if reason == _ONE_SIDE:
                role[row] = UNMATCHED
            elif verdict == UNKNOWN:
                role[row] = UNKNOWN_ROLE
            elif side in _MADE:
                made.append(row)
            else:
                given.append(row)
        is_blamed = call in self.blamed_modules  # its inputs have been found to agree
        bad_inputs = [row for row in given if not is_blamed and self._explain_input(call, name, row)]
        self._judge_outputs(call, name, span, given, bad_inputs, made)
        if any(role[here].tolist()) and any(self.is_tainted(row) for row in span):
            self.taint(call)

    def _judge_outputs(
        self, call: int, name: CallName, span: range, given: list[int], bad: list[int], made: list[int]
    ) -> None:
        role, verdict = self.roles.row, self.rows.verdict
        failing = [row for row in made if verdict[row] == ERROR]
        if failing and (first := self.first_of_copy(call)) >= 0:
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
        elif (inner := self.inner_cause(call, name, made)) >= 0:
            for row in made:
                if verdict[row] in (ERROR, WARNING):
                    role[row] = INHERITED
            if failing:
                self._explain(call, inner)
        elif failing:
            self._begin(call, span, given, scalar, failing)

    def _begin(self, call: int, span: range, given: list[int], scalar: list[int], failing: list[int]) -> None:
        """The inputs agree, the output does not, and nothing inside the call was bad before."""
        role = self.roles.row
        if scalar:
            self.rows.verdict[scalar] = ERROR
            self.rows.reason[scalar] = REASON["scalar"]
            role[scalar] = ORIGIN
            role[failing] = INHERITED
            self._add(call, "scalar", scalar[0], failing[0])
        elif lone := self.arguments_of_one_side(call, span):
            role[lone] = ORIGIN  # an argument that one side alone was given
            role[failing] = INHERITED
            self._add(call, "scalar", lone[0], failing[0])
        elif (alone := self.upstream.last_suspect(module_key(self.upstream.name(call)))) >= 0:
            self._blame_unmatched(alone, failing[0])
            self._explain(call, alone)
            role[failing] = INHERITED
        elif self.has_unknown_input(span) or self.side[failing[0]] == DEBUG or self.has_no_proof(given):
            # its inputs could not be compared: whether it began here cannot be told
            self.roles.call[call] = UNKNOWN_ROLE
            role[failing] = UNKNOWN_ROLE
        elif (producer := self._handed_on_wrong(call, failing[0])) >= 0:
            role[failing] = ORIGIN
            self._add(call, "overwritten", failing[0], failing[0], producer)
        elif not self.is_drift(given, failing):
            role[failing] = ORIGIN
            self._add(call, "operator", failing[0], failing[0])
        elif (module := self._module_of_a_jump(call, given)) >= 0:
            role[failing] = INHERITED
            self._explain(call, module)
        else:
            role[failing] = ORIGIN
            self._add(call, "drift", failing[0], failing[0])

    def _handed_on_wrong(self, call: int, row: int) -> int:
        """The inner call whose agreeing output the golden module hands on, the target's does not; or -1."""
        if self.upstream.name(call).kind != "module":
            return -1
        target, golden = self.upstream.sources(row)
        is_inside = golden.call >= 0 and module_key(self.upstream.name(call)) in self.upstream.around(
            golden.call
        )
        return golden.call if is_inside and self.is_overwritten(target, golden) else -1

    def _add(self, call: int, cause: str, row: int, first_row: int, producer: int = -1) -> None:
        self.roles.call[call] = ORIGIN
        self.roles.origins.append(Origin(call, cause, row, first_row, producer))

    def _explain(self, call: int, source: int) -> None:
        self.roles.call[call] = INHERITED
        self.roles.explained_by[call] = source

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

    def _module_of_a_jump(self, call: int, given: list[int]) -> int:
        """The module in which the error of an input came up at once, made an origin; or -1.

        No captured call made that input, and what the module around was given is off by far less: it did not
        build up, it began in code between the captured calls, below the criteria until this call.
        """
        row = max((r for r in given if self.rows.verdict[r] == WARNING), key=self.error)
        target, golden = self.upstream.sources(row)
        if 0 <= target.row == golden.row or self.side[row] == PARAMETERS:
            return -1
        for key in self.upstream.around(call):
            module = self.modules.get(key, -1)
            before = [r for r in self.span(module) if self.is_given_tensor(r)] if module >= 0 else []
            if not before or any(self.rows.verdict[r] == UNKNOWN for r in before):
                continue
            if GROWTH * max(self.error(r) for r in before) < self.error(row):
                self.roles.row[row] = INHERITED
                return self._blame_module(module, row)
        return -1

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
        source = self.tainted_call(target, golden)
        if source < 0 and verdict == ERROR:
            source = self.first_of_copy(call)
        if source >= 0:
            return self._inherit(call, row, source)
        if call in self.carried and row in self.rows.splits and self.rows.splits[row].is_sum:
            return self._inherit(call, row, -1)  # a sum to which another rank gave what is wrong
        is_unlinked = target.leaf < 0 and golden.leaf < 0
        is_parameter = self.side[row] == PARAMETERS or is_unlinked and self.is_weight(name, row)
        is_loaded = is_parameter and not self.is_trained  # as it was read: bit by bit the same
        if verdict == WARNING and not (is_loaded and self.rows.reason[row] == REASON["content"]):
            is_traced = 0 <= target.row == golden.row
            if not is_traced and not is_parameter and self.first_tainted >= 0:
                # off by a little, behind an origin, and nobody knows who made it: not a proof of agreement
                if self.is_of_its_own(call, row, target, golden):
                    return self._cannot_tell(row)
                return self._inherit(call, row, self.first_tainted)
            self.upstream.clear(row)
            return False
        earlier = self.read_before(row, golden)
        if earlier >= 0:
            return self._inherit(call, row, earlier)
        if is_parameter:
            return self._parameter(call, row)
        return self._bad_input(call, row, target, golden)

    def _bad_input(self, call: int, row: int, target: Source, golden: Source) -> bool:
        """An input that differs, whose producers - where they are known - do not."""
        alone = self.unmatched_cause(row, target, golden)
        if alone >= 0:
            if self.upstream.alone[alone]:
                self._blame_unmatched(alone, row)
            return self._inherit(call, row, alone)
        if self.is_overwritten(target, golden):
            self.overwritten[golden.leaf] = call
            return self._originate(call, row, "overwritten", golden.call)
        if self.first_tainted >= 0:
            if not self.is_of_its_own(call, row, target, golden):
                self.roles.by_order.add(call)
                return self._inherit(call, row, self.first_tainted)
            if not self.spread.is_full:
                return self._cannot_tell(row)
        module = self._module_that_began_it(call, row)
        if module >= 0:
            return self._inherit(call, row, module)
        return self._originate(call, row, "input-data")

    def _cannot_tell(self, row: int) -> bool:
        """An input with a beginning of its own - or made by a call that was not captured."""
        self.roles.row[row] = UNKNOWN_ROLE
        return True

    def _originate(self, call: int, row: int, cause: str, producer: int = -1) -> bool:
        """A leaf is itself where it begins."""
        self.bad_contents[self.content_of(row)] = call
        self.roles.row[row] = ORIGIN
        self._add(call, cause, row, row, producer)
        return True

    def _parameter(self, call: int, row: int) -> bool:
        if self.is_later_step or self.first_tainted >= 0 and "optimizer" in self.upstream.around(call):
            return self._inherit(call, row, self.first_tainted)
        self.rows.verdict[row] = ERROR
        return self._originate(call, row, "parameter")

    # -- calls of one side alone ----------------------------------------------------------------

    def _blame_unmatched(self, alone: int, first_row: int) -> None:
        """A call of one side alone is where it begins; `first_row` is the first matched row that differs."""
        if self.roles.call[alone] == ORIGIN:
            return
        span = slice(self.first[alone], self.first[alone + 1])
        self.roles.row[span][self.side[span] == OUTPUT] = ORIGIN
        self._add(alone, "unmatched", -1, first_row)
        self.taint(alone)

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
            span = self.span(module) if module >= 0 else ()
            verdicts = [int(self.rows.verdict[row]) for row in span if self.is_given_tensor(row)]
            if not verdicts or ERROR in verdicts:
                continue
            if UNKNOWN in verdicts:
                return -1
            return self._blame_module(module, bad_input)
        return -1

    def _blame_module(self, module: int, bad_input: int) -> int:
        span = self.span(module)
        made = [row for row in span if self.side[row] == OUTPUT and self.rows.verdict[row] == ERROR]
        self.blamed_modules.add(module)
        self._add(module, "operator", made[0] if made else bad_input, bad_input)
        return module
