"""The collectives of one capture: which ranks met in each, and what each of them gave and got."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npulse.core.calls.meetings import TO_ONE, Meeting, Meetings, meetings_of
from npulse.core.dataclass import dataclass

from .content import is_tensor
from .model import Captured, Seen


@dataclass(frozen=True, slots=True)
class Met:
    """One collective: ranks that took part, each with its call. is_whole: these are all of its ranks."""

    key: Meeting
    members: tuple[tuple[Captured, int], ...]
    is_whole: bool
    source: int | None

    @property
    def api(self) -> str:
        return str(self.key[1])


def all_met(captured: Sequence[Captured]) -> Iterator[Met]:
    for step in dict.fromkeys(one.step for one in captured):
        ranks = [one for one in captured if one.step == step and one.rank is not None]
        if len(ranks) < 2:
            continue
        tables = [meetings_of(one.dump, one.rank) for one in ranks]
        counts = [_counted(table) for table in tables]
        for key in dict.fromkeys(key for table in tables for key in table.calls):
            if key[1] == "send" or key[1] in TO_ONE:
                continue
            places = [i for i, table in enumerate(tables) if key in table.calls]
            if len(places) < 2 or len({counts[i][key[:3]] for i in places}) > 1:
                continue
            members = tuple((ranks[i], tables[i].calls[key]) for i in places)
            if any(
                _names_unread_group(one, table, call)
                for (one, call), table in _beside(members, tables, places)
            ):
                continue
            named = tables[places[0]].group[members[0][1]]
            is_whole = bool(named) and {one.rank for one, _ in members} == set(named)
            source = tables[places[0]].source.get(members[0][1])
            yield Met(key, members, is_whole, source)


def _beside(
    members: Sequence[tuple[Captured, int]], tables: Sequence[Meetings], places: Sequence[int]
) -> Iterator[tuple[tuple[Captured, int], Meetings]]:
    for member, place in zip(members, places, strict=True):
        yield member, tables[place]


def _counted(table: Meetings) -> dict[Meeting, int]:
    counts: dict[Meeting, int] = {}
    for key in table.calls:
        counts[key[:3]] = counts.get(key[:3], 0) + 1
    return counts


def _names_unread_group(one: Captured, table: Meetings, call: int) -> bool:
    """A group was given and its ranks are not in the record: who takes part is not known."""
    types = one.dump.leaves.types
    return not table.group.get(call) and any(
        types[int(one.dump.leaves.type[row])].endswith("ProcessGroup") for row in one.dump.leaf_range(call)
    )


def leaves_of(one: Captured, call: int, side: int, word: str) -> dict[str, int]:
    """Tensor leaves of a side by io; word: "output 0", or "output 0." for a list."""
    leaves = one.dump.leaves
    found = {}
    for row in one.dump.leaf_range(call):
        io = leaves.io_names[int(leaves.io[row])]
        if (
            leaves.side[row] == side
            and is_tensor(one, row)
            and (io == word or word[-1] == "." and io.startswith(word))
        ):
            found[io] = row
    return found


def seen_not_given(
    met: Met, text: str, values: dict[str, object], figures: dict[str, object], place: int = 0
) -> Seen:
    """A result that does not follow from what was given; place: the member whose result it is."""
    one, call = met.members[place]
    return Seen(
        rule="collective",
        severity="error",
        role="origin",
        subject=one.dump.calls.names[call],
        text=text,
        next_step="next-collective",
        where=one,
        call=call,
        values={"n": len(met.members), **values},
        figures={"ranks": [o.rank for o, _ in met.members], "api": met.api, **values, **figures},
        calls=met.members,
    )
