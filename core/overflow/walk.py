"""One walk over a rank in execution order: which bad tensors begin where, which are legal, which inherit.

Only calls that have something bad are looked at, so a healthy dump costs nothing. A bad input is followed
to the output that it is (equal content); where no captured call made it, it arrived from outside.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable
from itertools import groupby, takewhile
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from npulse.core.calls.apis import (
    CASTS,
    COMMUNICATION,
    COMPARISONS,
    FILLERS,
    HARMLESS,
    LOGARITHMS,
    MASK_CARRIERS,
    MASK_TAKERS,
    OVERWRITERS,
    PARTIAL_WRITERS,
    PURE_FILLERS,
    SHAPE_ONLY,
    UNINITIALISED,
    VIEWS,
    WEIGHT_KEYWORDS,
    WEIGHT_POSITIONS,
    plain_api,
    takes_mask,
)
from npulse.core.calls.meetings import Meetings
from npulse.core.formats.msprobe.construct import ancestors
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import (
    DEBUG,
    GRAD,
    INPUT,
    KWARGS,
    OUTPUT,
    PARAMETERS,
    SCALAR,
    TENSOR,
    CallName,
    Construct,
    Dump,
)

from .gaps import Gap, find_gap
from .health import HIGH, LOW, MINUS, NAN, NEGATIVE, PLUS, Health
from .roles import BENIGN, INHERITED, ORIGIN, UNKNOWN_ROLE, Origin, Roles

GIVEN = (INPUT, KWARGS, PARAMETERS)
BAD, LEGAL, UNWRITTEN = "bad", "legal", "unwritten"


class _Source(NamedTuple):
    """What a bad content is and which call made it last; cause: the call of its origin, -1 for legal ones."""

    kind: str
    call: int
    cause: int


class _Taken(NamedTuple):
    """What a call was given: rows of bad inputs with their source, legal rows, unwritten rows."""

    bad: tuple[tuple[int, _Source], ...]
    legal: tuple[int, ...]
    unwritten: tuple[int, ...]


def walk(dump: Dump, health: Health, construct: Construct | None, meetings: Meetings) -> Roles:
    """The roles of all leaves of a rank-step, as this rank alone can tell them.

    Cost: O(calls that have something bad) and a few passes over the columns.
    """
    if not health.flags.any():
        return Roles(np.zeros(len(health.flags), np.int8))
    return _Walk(dump, health, construct, meetings).run()


class _Walk:
    def __init__(self, dump: Dump, health: Health, construct: Construct | None, meetings: Meetings) -> None:
        self.dump, self.health, self.meetings = dump, health, meetings
        self.construct = construct if construct is not None and construct.parents else None
        self.leaves = dump.leaves
        self.roles = Roles(np.zeros(len(self.leaves.call), np.int8))
        self.latest: dict[Hashable, _Source] = {}
        self.last_bad: _Source | None = None
        self.bad_modules: dict[str, int] = {}  # entries of modules that hold a bad call, and its cause
        self.bad_paths: dict[str, int] = {}
        self.tainted: dict[str, int] = {}  # forward entries that saw something bad
        self.inputs_of_origin: dict[Hashable, Origin] = {}
        self.unwritten_calls: dict[int, list[int]] = {}  # of buffers handed out, by number of elements
        self._written: dict[int, list[int]] | None = None
        self._numbers: dict[str, int] = {}  # of all calls; filled when it is asked for
        # half the calls of a run that blew up are visited: lists are quicker than single looks into arrays
        self._side: list[int] = dump.leaves.side.tolist()
        self._io: list[int] = dump.leaves.io.tolist()
        self._keys = _Keys(dump, health)

    def run(self) -> Roles:
        flagged = np.flatnonzero(self.health.flags)
        of_row = self.leaves.call[flagged].tolist()
        late: list[tuple[int, CallName, list[int]]] = []
        names = self.dump.calls.names
        for call, pairs in groupby(zip(of_row, flagged.tolist(), strict=True), key=itemgetter(0)):
            rows = [row for _, row in pairs]
            name = parse_name(names[call])
            if name.kind == "grad":  # older tools write the entry long before its gradient is there
                late.append((call, name, rows))
            else:
                self._visit(call, name, rows)
        for call, name, rows in late:
            self._visit_gradient(call, name, rows)
        self._drop_outer_modules()
        return self.roles

    # ---- one call ----

    def _visit(self, call: int, name: CallName, rows: list[int]) -> None:
        side = self._side
        given = [row for row in rows if side[row] in GIVEN]
        outs = [row for row in rows if side[row] in (OUTPUT, DEBUG)]
        taken = self._take(call, name, given)
        if taken.bad:
            self.roles.bad_given.add(call)
            cause = min((source.cause for _, source in taken.bad), default=-1)
            self._note_bad(call, name, cause)
            self._mark(outs, INHERITED)
            self._publish(outs, _Source(BAD, call, cause))
            if outs:
                self.roles.bad_outputs.add(call)
            return
        if outs:
            self._judge_outputs(call, name, outs, taken)

    def _judge_outputs(self, call: int, name: CallName, outs: list[int], taken: _Taken) -> None:
        roles = self.roles
        legal = self._why_legal(call, name, outs, taken)
        if legal:
            roles.legal[call] = legal
            if legal == "unwritten" and not taken.unwritten:
                for size in self._sizes_made(call):
                    self.unwritten_calls.setdefault(size, []).append(call)
            self._mark(outs, BENIGN)
            self._publish(outs, _Source(UNWRITTEN if legal == "unwritten" else LEGAL, call, -1))
            return
        roles.bad_outputs.add(call)
        cause, legal_rows = self._cause(call, name, taken), (*taken.legal, *taken.unwritten)
        explained = self._explained(name)
        if explained is None and cause == "inputs-unknown" and self.last_bad is not None:
            explained = self.last_bad.cause  # what it was given may well be what is bad already
        if explained is not None:
            self._mark(outs, INHERITED)
            self._note_bad(call, name, explained)
        else:
            if cause == "collective":
                roles.exchanges.add(call)
            self._begin(Origin(call, cause, tuple(outs), legal_rows), name)
        self._publish(outs, _Source(BAD, call, roles.cause_of[call]))

    def _begin(self, origin: Origin, name: CallName) -> None:
        """A new origin, or an earlier one that happens again with the same inputs."""
        roles = self.roles
        if origin.cause == "operator" and name.direction != "backward":  # that reads what was saved as well
            before = self.inputs_of_origin.setdefault(self._inputs_key(origin.call, name), origin)
            if before is not origin:
                before.repeats.append(origin.call)
                self._mark(origin.rows, INHERITED)
                self._note_bad(origin.call, name, before.call)
                return
        roles.origins.append(origin)
        unknown = origin.cause in ("inputs-unknown", "first-seen")
        self._mark(origin.rows, UNKNOWN_ROLE if unknown else ORIGIN)
        self._note_bad(origin.call, name, origin.call)

    def _note_bad(self, call: int, name: CallName, cause: int) -> None:
        """This call is bad: modules around it and its backward have their reason."""
        self.roles.cause_of[call] = cause
        self.last_bad = _Source(BAD, call, cause)
        if name.direction == "forward":
            self.tainted.setdefault(name.full, cause)
        if self.construct is not None:
            for around in ancestors(self.construct, name.full):
                if around in self.bad_modules:
                    break
                self.bad_modules[around] = cause
        elif name.path:
            path = f"{name.direction} {name.path}"
            while path and path not in self.bad_paths:
                self.bad_paths[path] = cause
                path = path.rpartition(".")[0]

    def _explained(self, name: CallName) -> int | None:
        """The origin that explains a bad output without a bad input: inside the module, or in the forward."""
        if name.full in self.bad_modules:
            return self.bad_modules[name.full]
        if name.kind == "module":
            inner = self.bad_paths.get(f"{name.direction} {name.path}")
            if inner is not None:
                return inner
            if self.construct is None and self.last_bad is not None and name.direction == "forward":
                if parse_name(self.dump.calls.names[self.last_bad.call]).kind == "api":
                    return (
                        self.last_bad.cause
                    )  # what ran inside: the bad call in front, for all that is known
        if name.kind == "debug" and self.last_bad is not None:
            return self.last_bad.cause
        if name.direction == "backward":
            forward = "forward".join(name.full.rsplit("backward", 1))
            inside = self.bad_modules.get(forward, self.bad_paths.get(f"forward {name.path}"))
            return self.tainted.get(forward, self._recomputed(forward) if inside is None else inside)
        return None

    def _recomputed(self, forward: str) -> int | None:
        """The origin that a forward call repeats which checkpointing ended before its output was there."""
        if not self.inputs_of_origin:
            return None
        if not self._numbers:
            self._numbers = {name: call for call, name in enumerate(self.dump.calls.names)}
        call = self._numbers.get(forward)
        if call is None or any(self._side[row] == OUTPUT for row in self.dump.leaf_range(call)):
            return None
        origin = self.inputs_of_origin.get(self._inputs_key(call, parse_name(forward)))
        return origin.call if origin is not None else None

    # ---- what a call was given ----

    def _take(self, call: int, name: CallName, given: Iterable[int]) -> _Taken:
        bad: list[tuple[int, _Source]] = []
        legal: list[int] = []
        unwritten: list[int] = []
        arrived: list[int] = []
        for row in given:
            if self._is_unread(call, name, row):
                continue
            source = self.latest.get(self._keys.of(row))
            if source is None:
                arrived.append(row)
            elif source.kind == BAD:
                bad.append((row, source))
                self._mark((row,), INHERITED)
            elif source.kind == LEGAL:
                legal.append(row)
                self._mark((row,), BENIGN)
            elif self._is_written(source, call, row):
                arrived.append(row)
            else:
                unwritten.append(row)
                self._mark((row,), BENIGN)
        for row in arrived:
            source = self._arrive(call, name, row, bool(bad))
            if source.kind == BAD:
                bad.append((row, source))
            else:
                legal.append(row)
        return _Taken(tuple(bad), tuple(legal), tuple(unwritten))

    def _arrive(self, call: int, name: CallName, row: int, has_bad: bool) -> _Source:
        """A bad input that no captured call made: a legal mask, a weight, data, or the end of a gap."""
        flags, roles = int(self.health.flags[row]), self.roles
        is_parameter = self._is_parameter(name, row)
        api, io = plain_api(name.api), self.leaves.io_names[self._io[row]]
        can_be_mask = name.kind == "module" or takes_mask(name.api, io)
        can_be_constant = can_be_mask or api in COMPARISONS or api in FILLERS
        is_constant = can_be_constant and self.health.n_elements[row] == 1 and not flags & NAN
        is_on_its_way = api in MASK_CARRIERS and self.health.high[row] <= 0
        is_mask = (can_be_mask or is_on_its_way) and flags & ~NEGATIVE == 0
        if not is_parameter and (is_mask or is_constant and self.last_bad is None):
            self._mark((row,), BENIGN)
            roles.legal.setdefault(call, "arrives")
            source = _Source(LEGAL, call, -1)
        elif not is_parameter and (self.last_bad is not None or has_bad):
            self._mark((row,), INHERITED)
            roles.through_gap.add(call)
            cause = self.last_bad.cause if self.last_bad is not None else -1
            source = _Source(BAD, call, cause)
        else:
            gap = None if is_parameter else find_gap(self.dump, self.health, self.construct, call, row)
            cause_word = "parameter" if is_parameter else "input" if gap is None else "gap"
            here = takewhile(lambda origin: origin.call == call, reversed(roles.origins))
            known = next((origin for origin in here if origin.cause == cause_word), None)
            if known is not None:
                known.rows = (*known.rows, row)
                self._mark((row,), ORIGIN)
            else:
                gap = gap or Gap(-1, ())
                self._begin(Origin(call, cause_word, (row,), (), gap.after, gap.between), name)
            source = _Source(BAD, call, call)
        self.latest[self._keys.of(row)] = source
        return source

    def _is_written(self, source: _Source, call: int, row: int) -> bool:
        """Whether as many buffers of this size were written since as there were: then it is none of them."""
        size = int(self.health.n_elements[row])
        made, writers = self.unwritten_calls.get(size, []), self._writers().get(size, [])
        first = made[0] if made else source.call
        return bisect_left(writers, call) - bisect_right(writers, first) >= max(len(made), 1)

    def _writers(self) -> dict[int, list[int]]:
        """Number of elements to the calls that replace all of a buffer of so many, in order."""
        if self._written is None:
            self._written = {}
            for call, full in enumerate(self.dump.calls.names):
                can_be = full.startswith(COMMUNICATION) or "_." in full
                if can_be and (full.startswith(COMMUNICATION) or parse_name(full).api in OVERWRITERS):
                    for size in self._sizes_made(call):
                        self._written.setdefault(size, []).append(call)
        return self._written

    def _sizes_made(self, call: int) -> set[int]:
        rows = self.dump.leaf_range(call)
        return {int(self.health.n_elements[r]) for r in rows if self._side[r] == OUTPUT}

    def _is_unread(self, call: int, name: CallName, row: int) -> bool:
        """An argument whose content does not matter, since the call (or a peer) writes all of it."""
        io = self.leaves.io_names[self._io[row]]
        if name.prefix in COMMUNICATION:
            return not self.meetings.is_given(call) or self.meetings.is_buffer(call, name.api, io)
        if io == "kwargs out":
            return True
        is_first = io == "input 0" and name.direction == "forward"
        return is_first and (name.api in OVERWRITERS or name.api in SHAPE_ONLY)

    def _is_parameter(self, name: CallName, row: int) -> bool:
        if self.leaves.side[row] == PARAMETERS:
            return True
        io = self.leaves.io_names[self._io[row]]
        side, _, place = io.partition(" ")
        if side == "kwargs":
            return place in WEIGHT_KEYWORDS
        positions = WEIGHT_POSITIONS.get(name.api, ()) if name.direction == "forward" else ()
        return side == "input" and any(place == str(position) for position in positions)

    # ---- why it is legal, why it is not ----

    def _why_legal(self, call: int, name: CallName, outs: list[int], taken: _Taken) -> str:
        """One word for why the bad outputs of a call are no trouble; "" where they are."""
        api = plain_api(name.api)
        if api in UNINITIALISED:
            return "unwritten"
        keys = {self._keys.of(row) for row in outs}
        flags = 0
        for row in outs:
            flags |= int(self.health.flags[row])
        if taken.unwritten:
            hands_on = api in VIEWS or api in HARMLESS or name.api in PARTIAL_WRITERS
            # of NaN only a checksum tells that they are the same
            tells = not flags & NAN or all(self.leaves.checksum[row] >= 0 for row in outs)
            if hands_on or tells and keys <= {self._keys.of(row) for row in taken.unwritten}:
                return "unwritten"
        if flags & NAN:
            return ""
        if taken.legal and (flags & ~NEGATIVE == 0 or keys <= {self._keys.of(row) for row in taken.legal}):
            return "mask"
        if self._is_filled(call, api, outs, flags):
            return "fill"
        if api in LOGARITHMS and flags == MINUS and self._lowest_given(call) == 0:
            return "log-zero"
        if api in CASTS and flags & ~(HIGH | LOW) == 0 and self._was_that_large(call, outs):
            return "exact"
        return ""

    def _was_that_large(self, call: int, outs: list[int]) -> bool:
        """Whether the finite value that was given is the very one that came out: it fits, nothing was cut."""
        given = [r for r in self._tensors(call) if self.leaves.side[r] in GIVEN and self.health.is_known[r]]
        most = max((float(self.health.absmax[r]) for r in given), default=np.inf)
        return most <= float(self.health.largest[outs[0]])

    def _is_filled(self, call: int, api: str, outs: list[int], flags: int) -> bool:
        """True where the call was told to write just these values: masked_fill(-inf), mask * finfo.min."""
        largest = min((float(self.health.largest[row]) for row in outs), default=np.nan)
        numbers = self._scalars(call)
        if api in PURE_FILLERS and not numbers:
            return True  # it computes nothing: whatever it wrote was given to it
        values = [v for v in numbers if abs(v) >= largest or np.isinf(v)]
        if not values:
            return False
        explains = 0
        is_mask = api == "mul" and self._is_mask_like(call)
        for value in values:
            is_end = api in MASK_TAKERS and (np.isinf(value) or abs(value) == largest)
            if api in FILLERS or is_end or is_mask and value < 0:
                explains |= NEGATIVE if value < 0 else PLUS | HIGH
        return flags & ~explains == 0

    def _is_mask_like(self, call: int) -> bool:
        """Zeros and ones, as far as Max and Min tell: what `(1 - mask) * finfo.min` is made of."""
        health, side = self.health, self._side
        given = [r for r in self._tensors(call) if side[r] in GIVEN]
        rows = [r for r in given if health.n_elements[r] != 1 or not health.absmax[r] > 1]  # no constants
        return bool(rows) and all(health.low[r] in (0.0, 1.0) and health.high[r] in (0.0, 1.0) for r in rows)

    def _scalars(self, call: int) -> list[float]:
        found = []
        for row in self.dump.leaf_range(call):
            if self.leaves.kind[row] == SCALAR and self.leaves.side[row] in GIVEN:
                value = self.dump.leaf(row).value
                if isinstance(value, int | float) and not isinstance(value, bool):
                    found.append(
                        float(value) if abs(value) < 2**1000 else np.copysign(np.inf, value > 0 or -1)
                    )
            elif self.leaves.kind[row] == TENSOR and self.health.n_elements[row] == 1:
                if self.leaves.side[row] in GIVEN and self.health.is_known[row]:
                    found.append(float(self.health.high[row]))  # a constant that was given as a tensor
        return found

    def _lowest_given(self, call: int) -> float | None:
        rows = [r for r in self._tensors(call) if self.leaves.side[r] in GIVEN and self.health.is_known[r]]
        return min((float(self.health.low[r]) for r in rows), default=None)

    def _tensors(self, call: int) -> list[int]:
        return [row for row in self.dump.leaf_range(call) if self.leaves.kind[row] == TENSOR]

    def _cause(self, call: int, name: CallName, taken: _Taken) -> str:
        if name.kind == "debug":
            return "first-seen"
        if name.prefix in COMMUNICATION and call in self.meetings.of_call:
            return "collective"
        if taken.unwritten:
            return "uninitialised"
        if taken.legal:
            takes_rows = any(word in (name.api or name.cls).lower() for word in ("softmax", "attention"))
            return "masked-row" if takes_rows else "legal-inf"
        given = [r for r in self._tensors(call) if self.leaves.side[r] in GIVEN]
        return "operator" if all(self.health.is_known[r] for r in given) else "inputs-unknown"

    # ---- gradients and modules ----

    def _visit_gradient(self, call: int, name: CallName, rows: list[int]) -> None:
        """A parameter's gradient comes out of the backward calls: it begins something if they did not."""
        outs = [row for row in rows if self.leaves.side[row] in (GRAD, OUTPUT)]
        self.roles.bad_outputs.add(call)
        if self.last_bad is None:
            origin = Origin(call, "gradient", tuple(outs))
            self.roles.origins.append(origin)
            self._mark(outs, ORIGIN)
            self.roles.cause_of[call] = call
            self.last_bad = _Source(BAD, call, call)
        else:
            self._mark(outs, INHERITED)
            self.roles.cause_of[call] = self.last_bad.cause

    def _drop_outer_modules(self) -> None:
        """A module that is written before what runs inside it (backward hooks) is no origin beside it."""
        names = self.dump.calls.names
        modules: list[tuple[Origin, CallName]] = []
        last_made: dict[Hashable, int] = {}  # what backward APIs among the origins made, to the last of them
        for origin in self.roles.origins:
            name = parse_name(names[origin.call])
            if name.kind == "module" and origin.cause in ("operator", "inputs-unknown"):
                modules.append((origin, name))
            elif (name.kind, name.direction) == ("api", "backward"):
                last_made.update((self._keys.of(row), origin.call) for row in origin.rows)
        dropped: dict[int, int] = {}  # to the call inside, which may be dropped for one inside it in its turn
        for origin, name in modules:
            inside = self.bad_modules.get(name.full, origin.call)
            if name.direction == "backward" and name.full not in self.bad_modules:  # the order has to tell
                inside = max(origin.call, *(last_made.get(self._keys.of(row), -1) for row in origin.rows))
            while inside in dropped:
                inside = dropped[inside]
            if inside != origin.call:
                dropped[origin.call] = inside
                self.roles.drop(origin)
        for call, cause in self.roles.cause_of.items():
            while cause in dropped:
                cause = dropped[cause]
            self.roles.cause_of[call] = cause

    # ---- small things ----

    def _mark(self, rows: Iterable[int], role: int) -> None:
        for row in rows:
            self.roles.row[row] = role

    def _publish(self, outs: Iterable[int], source: _Source) -> None:
        """What the outputs hold from here on. Of what is bad and what is unwritten, bad stays."""
        for row in outs:
            key = self._keys.of(row)
            before = self.latest.get(key)
            if source.kind != UNWRITTEN or before is None or before.kind != BAD:
                self.latest[key] = source

    def _inputs_key(self, call: int, name: CallName) -> Hashable:
        values = self.leaves.statistics
        rows = [r for r in self._tensors(call) if self.leaves.side[r] in GIVEN]
        numbers = tuple(self.leaves.value[r] for r in self.dump.leaf_range(call) if self._side[r] in GIVEN)
        sums = tuple(int(self.leaves.checksum[r]) for r in rows)
        return (
            name.prefix,
            name.api,
            name.path,
            name.direction,
            numbers,
            sums,
            tuple(values[r].tobytes() for r in rows),
        )


class _Keys:
    """For each leaf row a key that is equal for tensors that hold the same, as far as records can tell."""

    def __init__(self, dump: Dump, health: Health) -> None:
        self._checksum: list[int] = dump.leaves.checksum.tolist()
        self._size: list[int] = health.n_elements.tolist()
        self._flags: list[int] = health.flags.tolist()
        self._high: list[float] = health.high.tolist()
        self._low: list[float] = health.low.tolist()

    def of(self, row: int) -> Hashable:
        """Checksum or Max and Min, with the element count (a reshape keeps it); all NaN look the same."""
        checksum = self._checksum[row]
        if checksum >= 0:
            return "sum", checksum, self._size[row]
        high, low = self._high[row], self._low[row]
        if high != high or low != low:
            return "nan", self._size[row]
        return self._flags[row], high, low, self._size[row]
