"""Groups: one fused call of one side against the several calls that do the same on the other.

A group is looked for between pairs that are sure, by the table of fusions, the order, what reads what, and
the shape of the result. What is in no table is a doubtful group where one call is left over against several.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from npulse.core.calls.apis import COMMUNICATION, VIEWS
from npulse.core.formats.msprobe.names import parse_name

from .fusions import Form, Fusion, fusions
from .keys import BACKWARD, FORWARD, Keys
from .links import Feeding
from .model import DOUBTFUL, LIKELY, Ints
from .operators import operator_of
from .partners import BY_PLACE, Partners

_SKIPPED = 4
"""Foreign calls that may stand between two steps of a form."""
_HARMLESS = VIEWS | {"to", "contiguous", "clone", "transpose", "view"}
"""Operators that may stand between two steps of a form in any number."""
_SPAN = 48
"""Calls from the first to the last step of a form."""
_FITTING = 16
"""Places that are looked at for one fused call."""
_LONG_RUN = 12
"""More calls than this against one are another program, no group."""


@dataclass(slots=True)
class Found:
    """A group as it is found: calls of both sides in execution order."""

    target: tuple[int, ...]
    golden: tuple[int, ...]
    fusion: str
    confidence: float


class Groups:
    """Looks for the groups of one pairing; a class because they share the tables of both dumps."""

    def __init__(self, feeding: tuple[Feeding, Feeding], keys: tuple[Keys, Keys], partners: Partners) -> None:
        self._feeding, self._keys, self._partners = feeding, keys, partners
        self._of = (partners.of_target, partners.of_golden)
        self._words = [_words(f) for f in feeding]
        self.found: list[Found] = []
        self._taken: tuple[set[int], set[int]] = (set(), set())

    def by_table(self) -> None:
        """Of the forwards, either side fused."""
        for side in (0, 1):
            self._by_table(side)

    def members(self, side: int) -> list[int]:
        """Calls of groups that do not stand for them: all but the last one of each."""
        return [c for g in self.found for c in (g.target, g.golden)[side][:-1]]

    # -- by the table ---------------------------------------------------------------------------

    def _free(self, side: int) -> Ints:
        copies = self._partners.copies[side]
        free = np.flatnonzero((self._of[side] < 0) & (copies < 0))
        return free[~np.isin(free, list(self._taken[side]))] if self._taken[side] else free

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
        for place, call in enumerate(fused):
            row = fusions()[self._words[side][call]]
            if row.name not in by_row:
                by_row[row.name] = list(self._occurrences(other, at, row))
            unused = (calls for calls in by_row[row.name] if not used.intersection(calls))
            fitting = list(islice((calls for calls in unused if self._fits(side, call, calls)), _FITTING))
            if not fitting:
                continue
            exact = [c for c in fitting if self._shares_input(side, call, c)]
            same = sum(self._words[side][c] == self._words[side][call] for c in fused[place:])
            chosen = (exact or fitting)[0]
            sure = BY_PLACE if exact else LIKELY if len(fitting) <= same else DOUBTFUL
            used.update(chosen)
            calls = self._with_harmless(other, chosen, free)
            self._add(side, (call,), calls, row.name, sure)
            free.difference_update(calls)

    def _occurrences(self, side: int, at: list[int], row: Fusion) -> Iterator[tuple[int, ...]]:
        """Where the calls `at` do what a fusion does; those of the longest form, none twice."""
        taken: set[int] = set()
        for place, call in enumerate(at):
            if call in taken:
                continue
            best: tuple[int, ...] = ()
            for form in row.forms:
                found = self._match(side, at, place, form)
                best = found if len(found) > len(best) else best
            if len(best) > 1:
                taken.update(best)
                yield best

    def _match(self, side: int, at: list[int], place: int, form: Form) -> tuple[int, ...]:
        """The calls of one form from a place on; () if it does not begin there."""
        words = self._words[side]
        found: list[int] = []
        for number, step in enumerate(form):
            is_last = number == len(form) - 1
            if not found:
                if words[at[place]] in step.words:
                    found.append(at[place])
                    place += 1
                elif not step.is_optional:
                    return ()
                continue
            times = 0
            while (step.is_repeated or not times) and (
                (hit := self._next(side, at, place, found, step.words, is_last, step.is_optional)) >= 0
            ):
                found.append(at[hit])
                place = hit + 1
                times += 1
            if not times and not step.is_optional:
                return ()
        return tuple(found)

    def _next(
        self,
        side: int,
        at: list[int],
        place: int,
        found: list[int],
        wanted: frozenset[str],
        is_last: bool,
        is_optional: bool,
    ) -> int:
        """Place of the next call of one of the words; -1 if a few foreign calls stand before any."""
        skipped = 0
        for hit in range(place, min(len(at), place + _SPAN)):
            word = self._words[side][at[hit]]
            linked = self._reads_from(side, at[hit], found)
            if word in wanted and (linked or not (is_last or is_optional) or linked is None):
                return hit
            skipped += word not in _HARMLESS
            if skipped > (0 if is_optional else _SKIPPED) or at[hit] - found[0] > _SPAN:
                break
        return -1

    def _reads_from(self, side: int, call: int, members: Sequence[int]) -> bool | None:
        """Whether a call reads what one of the members made; None where that is not known."""
        feeding, known = self._feeding[side], False
        for leaf in feeding.reads(call):
            makers = feeding.makers(leaf)
            if any(m in members for m in makers):
                return True
            known |= bool(makers)
        return False if known else None

    def _fits(self, side: int, fused: int, calls: Sequence[int]) -> bool:
        """The results have one shape, and so has at least one tensor that both are given."""
        one, other = self._feeding[side], self._feeding[1 - side]
        made = [one.shape(leaf) for leaf in one.writes(fused)][:1]
        last = [other.shape(leaf) for leaf in other.writes(calls[-1])][:1]
        if not made or made != last:
            return False
        given = {_size(one.shape(leaf)) for leaf in one.reads(fused)}
        outside = {_size(other.shape(leaf)) for leaf in outside_reads(other, calls)}
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
            if c in free and c not in calls and words[c] in _HARMLESS and self._reads_from(side, c, calls)
        ]
        return tuple(sorted((*calls, *between)))

    def _is_forward(self, side: int, call: int) -> bool:
        return bool(self._keys[side].direction[call] == FORWARD and not self._keys[side].is_module[call])

    def _add(
        self, side: int, one: tuple[int, ...], other: tuple[int, ...], fusion: str, confidence: float
    ) -> None:
        target, golden = (one, other) if side == 0 else (other, one)
        self.found.append(Found(target, golden, fusion, confidence))
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
        for group in list(self.found):
            both = []
            for side, calls in enumerate((group.target, group.golden)):
                keys, copies = self._keys[side], self._partners.copies[side]
                again = np.flatnonzero(np.isin(copies, calls)).tolist() if (copies >= 0).any() else []
                bases = [int(keys.base[call]) for call in (*calls, *again)]
                both.append(tuple(sorted(c for base in bases for c in by_base[side].pop(base, ()))))
            if all(both):
                self._add(0, both[0], both[1], group.fusion, group.confidence)

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
            self._reads_from(1 - side, c, calls[:i]) is not False for i, c in enumerate(calls) if i
        )
        return bool(made and made[:1] == last[:1] and given and is_chain and all(s in outside for s in given))


def outside_reads(feeding: Feeding, calls: Sequence[int]) -> list[int]:
    """Tensors that the calls are given and that none of them made, each content once.

    Where no record tells who made a tensor, one of the shape that an earlier call of them made is its own.
    """
    members = set(calls)
    made_shapes: set[tuple[int, ...] | None] = set()
    seen: set[int] = set()
    found: list[int] = []
    for call in calls:
        for leaf in feeding.reads(call):
            makers = feeding.makers(leaf)
            code = int(feeding.content[leaf])
            if any(m in members for m in makers) or code and code in seen:
                continue
            if not makers and not code and feeding.shape(leaf) in made_shapes:
                continue
            seen.add(code)
            found.append(leaf)
        made_shapes.update(feeding.shape(leaf) for leaf in feeding.writes(call))
    return found


def outside_writes(feeding: Feeding, calls: Sequence[int]) -> list[int]:
    """What the calls hand on: all that the last one makes, and of the others what a further call reads."""
    members = set(calls)
    found = feeding.writes(calls[-1])
    for call in calls[:-1]:
        for leaf in feeding.writes(call):
            readers = feeding.readers(leaf)
            if any(reader not in members for reader in readers):
                found.append(leaf)
    return found


def leaf_pairs(
    feeding: tuple[Feeding, Feeding], target: Sequence[int], golden: Sequence[int]
) -> list[tuple[int, int]]:
    """Leaf rows of a group: its inputs from outside, then what it hands on; -1 where the other side has none.

    Inputs pair by content, then by shape. A tensor that a view has turned agrees, and is no row.
    """
    one, other = feeding
    pairs = list(_inputs(one, other, outside_reads(one, target), outside_reads(other, golden)))
    pairs += _outputs(
        one, other, outside_writes(one, target), outside_writes(other, golden), len(target), len(golden)
    )
    return pairs


def _inputs(one: Feeding, other: Feeding, left: list[int], right: list[int]) -> Iterator[tuple[int, int]]:
    waiting = list(right)
    partner: dict[int, int] = {}
    turned: set[int] = set()
    for t in left:
        code = int(one.content[t])
        hit = next((g for g in waiting if code and int(other.content[g]) == code), None)
        if hit is not None:
            waiting.remove(hit)
            if one.shape(t) == other.shape(hit):
                partner[t] = hit
            else:
                turned.add(t)
    for t in left:
        if t not in partner and t not in turned:
            hit = next((g for g in waiting if one.shape(t) == other.shape(g)), None)
            if hit is not None:
                waiting.remove(hit)
                partner[t] = hit
    for t in left:
        if t not in turned:
            yield t, partner.get(t, -1)
    for g in waiting:
        yield -1, g


def _outputs(
    one: Feeding, other: Feeding, left: list[int], right: list[int], n_left: int, n_right: int
) -> Iterator[tuple[int, int]]:
    waiting = list(right)
    partner: dict[int, int] = {}
    for place, t in enumerate(left):
        hit = next(
            (
                g
                for g in waiting
                if one.shape(t) == other.shape(g)
                and (place == 0 or int(one.content[t]) and int(one.content[t]) == int(other.content[g]))
            ),
            None,
        )
        if hit is None and place:
            hit = next((g for g in waiting if one.shape(t) == other.shape(g)), None)
        if hit is not None:
            waiting.remove(hit)
            partner[t] = hit
    for t in left:
        if t in partner or n_left == 1:
            yield t, partner.get(t, -1)
    for g in waiting:
        if n_right == 1:
            yield -1, g


def _size(shape: tuple[int, ...] | None) -> int:
    return int(np.prod(shape, dtype=np.int64)) if shape is not None else 0


def _words(feeding: Feeding) -> list[str]:
    found = []
    for full in feeding.dump.calls.names:
        name = parse_name(full)
        found.append(operator_of(name.prefix, name.api) if name.kind == "api" else "")
    return found
