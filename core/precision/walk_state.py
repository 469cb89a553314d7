"""Where the walk over the calls stands, and what it looks up before it gives a role."""

from __future__ import annotations

import numpy as np

from npulse.core.calls.apis import COMMUNICATION, WEIGHT_KEYWORDS, WEIGHT_POSITIONS
from npulse.core.formats.msprobe.records import (
    DEBUG,
    GRAD,
    INPUT,
    KWARGS,
    OUTPUT,
    TENSOR,
    CallName,
    Construct,
    Dump,
)

from .links import Links
from .lone import lone_of_both
from .role_records import INHERITED, ORIGIN, UNKNOWN_ROLE, UNMATCHED, Roles
from .rows import Rows
from .spread import Spread
from .unwritten import Unwritten
from .upstream import ModuleKey, Source, Upstream, base_of, module_key
from .verdict import ERROR, PASS, REASON, WARNING

GROWTH = 2.0
"""An output error within this factor of the input's error is drift, not the operator's own fault."""

_BY_DEGREE = frozenset(
    REASON[name] for name in ("cosine", "norm-ratio", "statistics-bound", "error-threshold")
)
"""Reasons for which an error has a size that can have grown; a NaN or another shape has none."""


def _lacks_inputs(dump: Dump) -> bool:
    """A capture of outputs alone, or golden tensors, which are outputs and what they were made of as far as
    somebody knows it: an input that is not there was not recorded, and is no difference."""
    is_golden = dump.header.framework == "golden"
    return is_golden or not np.isin(dump.leaves.side, (INPUT, KWARGS, DEBUG)).any()


class WalkState:
    """What is known so far, row by row and call by call; the walk (`roles`) decides by it."""

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
        calls = np.arange(self.pairing.n_calls + 1)
        self.first: list[int] = np.searchsorted(self.pairing.row_call, calls).tolist()
        self.modules = self.paired_modules()
        self.tainted_inside: dict[ModuleKey, int] = {}
        self.tainted_forward: dict[str, int] = {}
        self.first_tainted = self.last_tainted = -1
        self.bad_contents: dict[tuple[int, int], int] = {}
        self.overwritten: dict[int, int] = {}
        self.blamed_modules: set[int] = set()
        self.is_index_tainted = False
        self.spread = Spread(rows, links)
        self.lacks_inputs = _lacks_inputs(rows.target) or _lacks_inputs(rows.golden)

    def paired_modules(self) -> dict[ModuleKey, int]:
        found: dict[ModuleKey, int] = {}
        for call in np.flatnonzero(~self.upstream.alone).tolist():
            name = self.upstream.name(call)
            if name.kind == "module":
                found.setdefault(module_key(name), call)
        return found

    def span(self, call: int) -> range:
        return range(self.first[call], self.first[call + 1])

    def is_tainted(self, row: int) -> bool:
        role = self.roles.row[row]
        return bool(role in (ORIGIN, INHERITED) or role == UNKNOWN_ROLE and self.rows.verdict[row] == ERROR)

    def first_of_copy(self, call: int) -> int:
        """The forward that a recomputed call repeats, where that came out wrong already; or -1."""
        first = -1 if self.pairing.recompute_of is None else int(self.pairing.recompute_of[call])
        return first if first >= 0 and self.roles.call[first] in (ORIGIN, INHERITED) else -1

    def arguments_of_one_side(self, call: int, span: range) -> list[int]:
        if call in self.groups:  # a fused operator is given other things than its parts
            return []
        if (
            self.upstream.name(call).prefix in COMMUNICATION or self.lacks_inputs
        ):  # which buffers are masked depends on the version
            return []
        return [r for r in span if self.roles.row[r] == UNMATCHED and self.side[r] in (INPUT, KWARGS)]

    def has_unknown_input(self, span: range) -> bool:
        call = int(self.pairing.row_call[span.start]) if len(span) else -1
        given = [row for row in span if self.side[row] not in (OUTPUT, GRAD)]
        if call in self.groups and lone_of_both(self.rows, given):
            return True
        return any(self.roles.row[row] == UNKNOWN_ROLE and not self.unwritten.is_unread(row) for row in given)

    def has_no_proof(self, given: list[int]) -> bool:
        """Of a capture without inputs no call is known to have been given the right ones."""
        return self.lacks_inputs and not given

    def is_drift(self, given: list[int], failing: list[int]) -> bool:
        """The inputs were already off by nearly as much as the output is."""
        if not all(int(self.rows.reason[r]) in _BY_DEGREE for r in failing):
            return False
        before = [self.error(r) for r in given if self.rows.verdict[r] == WARNING]
        after = [self.error(r) for r in failing]
        return bool(before) and max(after) <= GROWTH * max(before)

    def error(self, row: int) -> float:
        for name in ("rel_l2", "rel_l2_at_least"):
            value = self.rows.figure(name, row)
            if value is not None and np.isfinite(value):
                return float(value)
        return 0.0

    def is_of_its_own(self, call: int, row: int, target: Source, golden: Source) -> bool:
        """Behind an origin, but not made of it: no producer is known and its values lie elsewhere."""
        name = self.upstream.name(call)
        if name.kind != "api" or name.direction != "forward" or target.leaf >= 0 or golden.leaf >= 0:
            return False
        if self.rows.reason[row] == REASON["not-equal"]:
            return False  # a module and the API in it read the same integers, which statistics cannot tell
        t, g = int(self.pairing.target_leaf[row]), int(self.pairing.golden_leaf[row])
        return not self.spread.can_hold(t, g)

    def content_of(self, row: int) -> tuple[int, int]:
        t, g = int(self.pairing.target_leaf[row]), int(self.pairing.golden_leaf[row])
        return int(self.content[0][t]), int(self.content[1][g])

    def read_before(self, row: int, golden: Source) -> int:
        """The call that read the same bad content first: around an API, beside it, with a shared weight."""
        content = self.content_of(row)
        if min(content) >= 0 and content in self.bad_contents:
            return self.bad_contents[content]
        return self.overwritten.get(golden.leaf, -1) if golden.leaf >= 0 else -1

    def tainted_call(self, target: Source, golden: Source) -> int:
        for source in (target, golden):
            if source.row >= 0 and self.is_tainted(source.row):
                return source.call
            if source.row < 0 and source.call in self.groups:  # made inside a group, where no rows are
                if self.roles.call[source.call] in (ORIGIN, INHERITED):
                    return source.call
        return -1

    def is_weight(self, name: CallName, row: int) -> bool:
        if int(self.pairing.row_call[row]) in self.groups:
            name = self.upstream.name_of_leaf(row)
        positions = WEIGHT_POSITIONS.get(name.api)
        if positions is None or name.direction != "forward" or self.side[row] not in (INPUT, KWARGS):
            return False
        kind, _, place = self.rows.io(row).partition(" ")
        if kind == "kwargs":
            return place in WEIGHT_KEYWORDS
        return place.isdigit() and int(place) in positions

    def is_overwritten(self, target: Source, golden: Source) -> bool:
        """The golden side reads an output that agrees, the target reads something else there."""
        if golden.leaf < 0 or golden.row == target.row:
            return False
        if self.upstream.alone[golden.call]:
            return self.upstream.is_cleared(golden.call)
        if golden.row < 0 or self.is_copy_of(target.call, golden.call):
            return False
        return int(self.rows.verdict[golden.row]) in (PASS, WARNING)

    def is_copy_of(self, call: int, first: int) -> bool:
        """Whether a call is what another one computes again: either may be taken for what made a value."""
        of = self.pairing.recompute_of
        return of is not None and 0 <= call and (of[call] == first or 0 <= of[call] == of[first])

    def is_given_tensor(self, row: int) -> bool:
        t = int(self.pairing.target_leaf[row])
        is_tensor = t >= 0 and self.rows.target.leaves.kind[t] == TENSOR
        return bool(is_tensor and self.side[row] in (INPUT, KWARGS))

    def inner_cause(self, call: int, name: CallName, made: list[int]) -> int:
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
            source = self.tainted_call(*self.upstream.sources(row))
            if source >= 0:
                return source
        return -1 if self.upstream.is_in_construct(call) else self.tainted_since_given(call)

    def tainted_since_given(self, call: int) -> int:
        """The last tainted call behind the makers of a module's inputs (where no hierarchy was recorded)."""
        since = -1
        for row in self.span(call):
            if self.is_given_tensor(row):
                since = max(since, *(source.call for source in self.upstream.sources(row)))
        return self.last_tainted if self.last_tainted > since else -1

    def unmatched_cause(self, row: int, target: Source, golden: Source) -> int:
        """What a call of one side alone made of this input: that call, or what it was itself given; or -1."""
        guilty = self.upstream.guilty_on_the_way(target, golden)
        if guilty >= 0:
            fed_by = self.upstream.fed_by(guilty, self.is_tainted)
            if fed_by is None and self.first_tainted >= 0:
                return self.first_tainted
            return self.upstream.forward_of(guilty) if fed_by is None or fed_by < 0 else fed_by
        if self.first_tainted >= 0 or self.rows.reason[row] == REASON["not-equal"]:
            return -1
        if golden.leaf >= 0 and target.leaf >= 0:
            return -1
        suspect = self.upstream.last_suspect()
        return suspect if suspect > max(golden.call, target.call) else -1

    def spread_over(self, call: int) -> None:
        self.spread.add_call(
            self.pairing.members(call, is_target=True), self.pairing.members(call, is_target=False)
        )

    def taint(self, call: int) -> None:
        self.spread_over(call)
        self.first_tainted = call if self.first_tainted < 0 else self.first_tainted
        self.last_tainted = max(call, self.last_tainted)
        for key in self.upstream.around(call):
            self.tainted_inside.setdefault(key, call)
        name = self.upstream.name(call)
        if name.direction == "forward":
            self.tainted_forward.setdefault(base_of(name), call)
        leaves = self.rows.target.leaves
        for row in self.span(call):
            t = int(self.pairing.target_leaf[row])
            if self.side[row] == OUTPUT and t >= 0 and leaves.kind[t] == TENSOR:
                exact = self.rows.reason[row] in (REASON["not-equal"], REASON["content-unknown"])
                self.is_index_tainted |= bool(exact)
