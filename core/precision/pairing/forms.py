"""Where the calls of one side do what a fusion does, step by step: by their words, and by what reads what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npulse.core.calls.apis import VIEWS
from npulse.core.formats.msprobe.names import parse_name

from .fusions import Form, Fusion
from .links import Feeding
from .operators import operator_of

_SKIPPED = 4
"""Foreign calls that may stand between two steps of a form."""
HARMLESS = VIEWS | {"to", "contiguous", "clone", "transpose", "view"}
"""Operators that may stand between two steps of a form in any number."""
_SPAN = 48
"""Calls from the first to the last step of a form."""


class Forms:
    """The calls of one side by their words."""

    def __init__(self, feeding: Feeding) -> None:
        self._feeding = feeding
        self.words = _words(feeding)

    def occurrences(self, at: list[int], row: Fusion) -> Iterator[tuple[int, ...]]:
        """Where the calls `at` do what a fusion does, from each of them on, by the longest form."""
        for place in range(len(at)):
            best: tuple[int, ...] = ()
            for form in row.forms:
                found = self._match(at, place, form)
                best = found if len(found) > len(best) else best
            if len(best) > 1:
                yield best

    def _match(self, at: list[int], place: int, form: Form) -> tuple[int, ...]:
        """The calls of one form from a place on; () if it does not begin there."""
        words = self.words
        found: list[int] = []
        n_extra = 0  # members of optional steps before the first that must be there
        for number, step in enumerate(form):
            is_last = number == len(form) - 1
            times = 0
            if not found:
                if words[at[place]] in step.words:
                    found.append(at[place])
                    n_extra = int(step.is_optional)
                    place, times = place + 1, 1
                elif not step.is_optional:
                    return ()
                if not step.is_repeated:
                    continue
            while (step.is_repeated or not times) and (
                (hit := self._next(at, place, found, step.words, is_last, step.is_optional)) >= 0
            ):
                found.append(at[hit])
                place = hit + 1
                times += 1
            if not times and not step.is_optional:
                return ()
        if n_extra and len(found) > 1 and not self._is_read(found[0], found[1:]):
            return ()  # it begins with a call of the same word that has nothing to do with the others
        return tuple(found)

    def _next(
        self,
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
            word = self.words[at[hit]]
            linked = self.reads_from(at[hit], found)
            if is_optional and not linked and word in wanted:
                linked = self._reads_the_same(at[hit], found) or linked
            if word in wanted and (linked or not (is_last or is_optional) or linked is None):
                return hit
            skipped += word not in HARMLESS
            if skipped > (0 if is_optional else _SKIPPED) or at[hit] - found[0] > _SPAN:
                break
        return -1

    def reads_from(self, call: int, members: Sequence[int]) -> bool | None:
        """Whether a call reads what one of the members made; None where that is not known."""
        feeding, known = self._feeding, False
        untold: set[tuple[int, ...] | None] = set()
        for leaf in feeding.reads(call):
            makers = feeding.makers(leaf)
            if any(m in members for m in makers):
                return True
            known |= bool(makers)
            if not makers and not feeding.content[leaf]:
                untold.add(feeding.shape(leaf))
        # an index, of which no record tells what is in it
        may_be = any(feeding.shape(leaf) in untold for m in members for leaf in feeding.writes(m))
        return None if may_be or not known else False

    def _is_read(self, call: int, by: Sequence[int]) -> bool:
        """Whether one of some calls reads what a call made or what it was given, or nobody knows."""
        linked = [self.reads_from(other, (call,)) for other in by]
        return any(linked) or None in linked[:1] or any(self._reads_the_same(c, (call,)) for c in by)

    def _reads_the_same(self, call: int, members: Sequence[int]) -> bool:
        """Whether a call is given a tensor that one of the members is given as well."""
        feeding = self._feeding
        given = {int(feeding.content[leaf]) for member in members for leaf in feeding.reads(member)} - {0}
        return any(int(feeding.content[leaf]) in given for leaf in feeding.reads(call))


def _words(feeding: Feeding) -> list[str]:
    found = []
    for full in feeding.dump.calls.names:
        name = parse_name(full)
        found.append(operator_of(name.prefix, name.api) if name.kind == "api" else "")
    return found
