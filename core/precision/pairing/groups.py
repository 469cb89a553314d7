"""Groups: one fused call of one side against the several calls that do the same on the other.

A group is looked for between pairs that are sure, by the table of fusions, the order, what reads what, and
the shape of the result. What is in no table is a doubtful group where one call is left over against several.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import islice

import numpy as np

from npulse.core.calls.apis import COMMUNICATION
from npulse.core.dataclass import dataclass
from npulse.core.formats.msprobe.names import parse_name

from .ends import outside_reads, size_of
from .forms import HARMLESS, Forms
from .fusions import fusions
from .keys import BACKWARD, FORWARD, Keys
from .links import Feeding
from .model import DOUBTFUL, LIKELY, Ints
from .partners import BY_PLACE, Partners
from .products import COUNTERPARTS, LINEAR, counterpart, turned

_LAYS_OUT = HARMLESS | {"cat", "stack"}
"""Operators in front of a fused call that give its input the order in which it wants it."""
_TURNING = frozenset(("attention",))
"""Fusions whose result has its axes in the order that an argument says (input_layout BSH, BNSD)."""
_FITTING = 16
"""Places that are looked at for one fused call."""
_TRIED = 64
"""Free places that are tried for one fused call: a gap may hold thousands of both."""
_LONG_RUN = 12
"""More calls than this against one are another program, no group."""


@dataclass(slots=True)
class Found:
    """A group as it is found: calls of both sides in execution order. forward: of a backward its forward."""

    target: tuple[int, ...]
    golden: tuple[int, ...]
    fusion: str
    confidence: float
    forward: Found | None = None


class Groups:
    """Looks for the groups of one pairing; a class because they share the tables of both dumps."""

    def __init__(self, feeding: tuple[Feeding, Feeding], keys: tuple[Keys, Keys], partners: Partners) -> None:
        self._feeding, self._keys, self._partners = feeding, keys, partners
        self._of = (partners.of_target, partners.of_golden)
        self._forms = [Forms(f) for f in feeding]
        self._words = [forms.words for forms in self._forms]
        self.found: list[Found] = []
        self._taken: tuple[set[int], set[int]] = (set(), set())

    def by_table(self) -> None:
        """Of the forwards, either side fused."""
        for side in (0, 1):
            self._by_table(side)
            self._products(side)

    def members(self, side: int) -> list[int]:
        """Calls of groups that do not stand for them: all but the last one of each."""
        return [c for g in self.found for c in (g.target, g.golden)[side][:-1]]

    # -- by the table ---------------------------------------------------------------------------

    def _free(self, side: int) -> Ints:
        copies = self._partners.copies[side]
        free = np.flatnonzero((self._of[side] < 0) & (copies < 0))
        return free[~np.isin(free, list(self._taken[side]))] if self._taken[side] else free

    def _is_free(self, side: int, call: int) -> bool:
        has_none = self._of[side][call] < 0 and self._partners.copies[side][call] < 0
        return bool(has_none and call not in self._taken[side])

    def _by_table(self, side: int) -> None:
        """side: where the fused call is looked for."""
        words, table = self._words[side], fusions()
        fused = [c for c in self._free(side).tolist() if words[c] in table and self._is_forward(side, c)]
        if not fused:
            return
        bounds = self._sure(side)
        waiting: dict[tuple[int, int], list[int]] = {}
        for call in fused:
            waiting.setdefault(self._gap(bounds, call), []).append(call)
        free = set(self._free(1 - side).tolist())
        for (start, stop), calls in waiting.items():
            self._in_gap(side, calls, start, stop, free)

    def _products(self, side: int) -> None:
        """Linears of a side against products of the other that are called otherwise."""
        words, fed = self._words, self._feeding
        linears = [
            c for c in self._free(side).tolist() if words[side][c] == LINEAR and self._is_forward(side, c)
        ]
        if not linears:
            return
        other, bounds = 1 - side, self._sure(side)
        free = [c for c in self._free(other).tolist() if self._is_forward(other, c)]
        for by_weight in (True, False):  # what is left by shape and order
            for call in linears:
                if not self._is_free(side, call):
                    continue
                start, stop = self._gap(bounds, call)
                wanted = COUNTERPARTS.get(len(fed[side].reads(call)))
                there = free[bisect_left(free, start) : bisect_left(free, stop) if stop >= 0 else None]
                candidates = [c for c in there if words[other][c] == wanted and self._is_free(other, c)]
                product = counterpart(fed[side], call, fed[other], candidates[:_TRIED], by_weight=by_weight)
                if product < 0:
                    continue
                before = [c for c in turned(fed[other], product, words[other]) if self._is_free(other, c)]
                sure = BY_PLACE if by_weight else LIKELY
                self._add(side, (call,), (*sorted(before), product), LINEAR, sure)

    def _sure(self, side: int) -> tuple[list[int], list[int]]:
        """Pairs that are sure and do not cross, from the point of view of one side: calls, partners."""
        of = self._of[side]
        calls = np.flatnonzero(of >= 0)
        weak = self._partners.weak[calls if side == 0 else of[calls]]
        forward = self._keys[side].direction[calls] != BACKWARD
        calls = calls[~weak & forward & (self._partners.copies[side][calls] < 0)]
        right = of[calls]
        # of pairs that cross keep those that nothing before is beyond and nothing behind is before
        before = np.maximum.accumulate(np.r_[-1, right])[:-1] < right
        behind = np.minimum.accumulate(np.r_[right, np.iinfo(np.int64).max][::-1])[::-1][1:] > right
        keep = before & behind
        return calls[keep].tolist(), right[keep].tolist()

    def _gap(self, bounds: tuple[list[int], list[int]], call: int) -> tuple[int, int]:
        """Calls of the other side between the sure pairs around a call: from, to (not included)."""
        calls, right = bounds
        place = bisect_right(calls, call)
        start = right[place - 1] + 1 if place else 0
        stop = right[place] if place < len(right) else -1
        return start, stop

    def _in_gap(self, side: int, fused: list[int], start: int, stop: int, free: set[int]) -> None:
        """free: calls of the other side that have no partner; those of new groups are taken out."""
        other = 1 - side
        stop = stop if stop >= 0 else self._keys[other].n
        at = [c for c in range(start, stop) if c in free and self._is_forward(other, c)]
        by_row: dict[str, list[tuple[int, ...]]] = {}
        used: set[int] = set()
        waiting = Counter(self._words[side][call] for call in fused)
        for call in fused:
            row, same = fusions()[self._words[side][call]], waiting[self._words[side][call]]
            waiting[self._words[side][call]] -= 1
            if row.name not in by_row:
                by_row[row.name] = list(self._forms[other].occurrences(at, row))
            unused = _unused(by_row[row.name], used)
            whole = (self._with_views(side, call, calls, at) for calls in unused)
            may_turn = row.name in _TURNING
            fits = (calls for calls in whole if self._fits(side, call, calls, may_turn))
            fitting = list(islice(fits, _FITTING))
            if not fitting:
                continue
            exact = [c for c in fitting if self._shares_input(side, call, c)]
            chosen = (exact or fitting)[0]
            sure = BY_PLACE if exact else LIKELY if len(fitting) <= same else DOUBTFUL
            used.update(chosen)
            calls = self._with_harmless(other, chosen, free)
            self._add(side, self._with_feeders(side, call), calls, row.name, sure)
            free.difference_update(calls)

    def _with_views(self, side: int, fused: int, calls: tuple[int, ...], at: list[int]) -> tuple[int, ...]:
        """With the views behind them that give their result the shape that the fused call makes."""
        other = 1 - side
        made = self._made(side, fused)
        more = list(calls)
        for call in at[bisect_right(at, calls[-1]) :]:
            if self._made(other, more[-1]) == made or self._words[other][call] not in HARMLESS:
                break
            if not self._forms[other].reads_from(call, more[-1:]):
                break
            more.append(call)
        return tuple(more) if self._made(other, more[-1]) == made else calls

    def _with_feeders(self, side: int, fused: int) -> tuple[int, ...]:
        """With calls in front of it that only lay its input out: cat, copies and views nobody else reads."""
        feeding = self._feeding[side]
        found = [fused]
        for leaf in feeding.reads(fused):
            for at in feeding.chain(leaf):
                call = int(feeding.dump.leaves.call[at])
                is_layout = self._words[side][call] in _LAYS_OUT and self._is_free(side, call)
                if not is_layout or not set(feeding.readers(at)) <= set(found):
                    break
                found.append(call)
        return tuple(sorted(set(found)))

    def _made(self, side: int, call: int) -> tuple[int, ...] | None:
        """Shape of the first tensor that a call makes; None where it makes none."""
        feeding = self._feeding[side]
        return next((feeding.shape(leaf) for leaf in feeding.writes(call)), None)

    def _fits(self, side: int, fused: int, calls: Sequence[int], may_turn: bool) -> bool:
        """The results have one shape, and so has at least one tensor that both are given."""
        one, other = self._feeding[side], self._feeding[1 - side]
        made = [one.shape(leaf) for leaf in one.writes(fused)][:1]
        last = [other.shape(leaf) for leaf in other.writes(calls[-1])][:1]
        is_turned = may_turn and bool(made and last) and size_of(made[0]) == size_of(last[0]) > 0
        if not made or made != last and not is_turned:
            return False
        given = {size_of(one.shape(leaf)) for leaf in one.reads(fused)}
        outside = {size_of(other.shape(leaf)) for leaf in outside_reads(other, calls)}
        parts = {2 * size for size in outside if size}  # gate and up, cut in two by a view that is not there
        return not given or bool(given & (outside | parts))

    def _shares_input(self, side: int, fused: int, calls: Sequence[int]) -> bool:
        one, other = self._feeding[side], self._feeding[1 - side]
        given = {int(one.content[leaf]) for leaf in one.reads(fused)} - {0}
        return any(int(other.content[leaf]) in given for leaf in outside_reads(other, calls))

    def _with_harmless(self, side: int, calls: tuple[int, ...], free: set[int]) -> tuple[int, ...]:
        """With the views and casts in between that belong to nobody else."""
        words = self._words[side]
        between = [
            c
            for c in range(calls[0] + 1, calls[-1])
            if c in free
            and c not in calls
            and words[c] in HARMLESS
            and (
                self._forms[side].reads_from(c, calls)
                or any(self._forms[side].reads_from(m, (c,)) for m in calls)
            )
        ]
        return tuple(sorted((*calls, *between)))

    def _is_forward(self, side: int, call: int) -> bool:
        return bool(self._keys[side].direction[call] == FORWARD and not self._keys[side].is_module[call])

    def _add(
        self,
        side: int,
        one: tuple[int, ...],
        other: tuple[int, ...],
        fusion: str,
        confidence: float,
        forward: Found | None = None,
    ) -> None:
        target, golden = (one, other) if side == 0 else (other, one)
        self.found.append(Found(target, golden, fusion, confidence, forward))
        self._taken[0].update(target)
        self._taken[1].update(golden)
        self._partners.add(target[-1], golden[-1])

    # -- what follows from those ----------------------------------------------------------------

    def backwards(self) -> None:
        """The backwards of the members of a group are a group, in their own order."""
        if not self.found:
            return
        by_base: list[dict[int, list[int]]] = []
        for side in (0, 1):
            of: dict[int, list[int]] = {}
            keys = self._keys[side]
            for call in self._free(side).tolist():
                if keys.direction[call] == BACKWARD:
                    of.setdefault(int(keys.base[call]), []).append(call)
            by_base.append(of)
        copied: list[dict[int, list[int]]] = []
        for copies in self._partners.copies:
            copied.append({})
            for call in np.flatnonzero(copies >= 0).tolist():
                copied[-1].setdefault(int(copies[call]), []).append(call)
        for group in list(self.found):
            both = []
            for side, calls in enumerate((group.target, group.golden)):
                keys = self._keys[side]
                again = [copy for call in calls for copy in copied[side].get(call, ())]
                bases = [int(keys.base[call]) for call in (*calls, *again)]
                both.append(tuple(sorted(c for base in bases for c in by_base[side].pop(base, ()))))
            if all(both):
                self._add(0, both[0], both[1], group.fusion, group.confidence, group)

    # -- what is in no table --------------------------------------------------------------------

    def leftovers(self) -> None:
        """One call left over against a run of calls left over, with the same result and the same inputs."""
        free = [self._free(side).tolist() for side in (0, 1)]
        if not free[0] or not free[1]:
            return
        for backward in (False, True):
            runs: list[dict[tuple[int, int], list[int]]] = []
            for side in (0, 1):
                calls, right = self._sure_of(backward, side)
                of: dict[tuple[int, int], list[int]] = {}
                for call in free[side]:
                    if (self._keys[side].direction[call] == BACKWARD) == backward and self._is_api(
                        side, call
                    ):
                        place = bisect_left(calls, call)
                        # the pairs around it, as the target's calls
                        ends = (
                            (calls if side == 0 else right)[place - 1] if place else -1,
                            (calls if side == 0 else right)[place] if place < len(calls) else -2,
                        )
                        of.setdefault(ends, []).append(call)
                runs.append(of)
            for ends, one in runs[0].items():
                other = runs[1].get(ends, [])
                for side, (few, many) in enumerate(((one, other), (other, one))):
                    if len(few) == 1 and 1 < len(many) <= _LONG_RUN and self._is_alike(side, few[0], many):
                        self._add(side, tuple(few), tuple(many), "", DOUBTFUL)

    def _sure_of(self, backward: bool, side: int) -> tuple[list[int], list[int]]:
        of = self._of[side]
        calls = np.flatnonzero((of >= 0) & ((self._keys[side].direction == BACKWARD) == backward))
        right = of[calls]
        before = np.maximum.accumulate(np.r_[-1, right])[:-1] < right
        behind = np.minimum.accumulate(np.r_[right, np.iinfo(np.int64).max][::-1])[::-1][1:] > right
        return calls[before & behind].tolist(), right[before & behind].tolist()

    def _is_api(self, side: int, call: int) -> bool:
        name = parse_name(self._feeding[side].dump.calls.names[call])
        return name.kind == "api" and name.prefix not in COMMUNICATION

    def _is_alike(self, side: int, call: int, calls: Sequence[int]) -> bool:
        one, other = self._feeding[side], self._feeding[1 - side]
        made = [one.shape(leaf) for leaf in one.writes(call)]
        last = [other.shape(leaf) for leaf in other.writes(calls[-1])]
        given = [one.shape(leaf) for leaf in one.reads(call)]
        outside = [other.shape(leaf) for leaf in outside_reads(other, calls)]
        is_chain = all(
            self._forms[1 - side].reads_from(c, calls[:i]) is not False for i, c in enumerate(calls) if i
        )
        return bool(made and made[:1] == last[:1] and given and is_chain and all(s in outside for s in given))


def _unused(places: list[tuple[int, ...]], used: set[int]) -> list[tuple[int, ...]]:
    """The first free places; once many are taken they leave the list."""
    found: list[tuple[int, ...]] = []
    n_used = 0
    for calls in places:
        if used.isdisjoint(calls):
            found.append(calls)
        else:
            n_used += 1
        if len(found) == _TRIED:
            break
    if n_used > _TRIED:
        places[:] = [calls for calls in places if used.isdisjoint(calls)]
    return found
