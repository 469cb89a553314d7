"""The operators of one profile with all that is said of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.operators import OperatorTable
from npulse.core.formats.profiling.records import TypeTotal

from ..advice import Advice
from ..criteria import Criteria
from ..profile import Profile
from .bound import call_bounds, group_bounds
from .classes import classes_of
from .gone import Gone, Groups, with_gone
from .moved_bytes import moved_of
from .patterns import N_PATTERNS, advice_of_patterns
from .shares import Part, Spread, spread_of, sums_by_core, sums_by_core_of_totals
from .top import By, top, top_of_totals
from .top_advice import advice_of_top
from .usable import Usable

N_PARTS = N_PATTERNS + 2


@dataclass(frozen=True, slots=True)
class Operators:
    """table, usable: the rows and which of them count, None where only sums of types are recorded (totals).

    types: grouped by type. spread: how concentrated the time is. cores: core type -> its time. gone: rows of
    a followed run that are kept no longer; they are in the groups by type and in nothing else.
    """

    table: OperatorTable | None
    usable: Usable | None
    totals: Sequence[TypeTotal]
    types: Groups
    spread: Spread
    cores: dict[str, Part]
    wall_ns: int | None = None
    bound_ratio: float = 0.8
    advice: tuple[Advice, ...] = ()
    gone: Gone | None = None
    _last: dict[By, Groups] = field(default_factory=dict, init=False, compare=False, repr=False)

    def by(self, by: By) -> Groups:
        """The same operators grouped or ordered in another way. Cost: two sorts, once for the way that was
        asked for last: who shows a table asks for one of its rows after another."""
        if by == "type":
            return self.types
        found = self._last.get(by)
        if found is None:
            found = self._grouped(by)
            self._last.clear()
            self._last[by] = found
        return found

    def _grouped(self, by: By) -> Groups:
        if self.table is None or self.usable is None:
            return _of_totals(self.totals, by, self.wall_ns)
        groups = _of_table(self.table, self.usable, by, self.wall_ns, self.bound_ratio)
        return groups if self.gone is None or by == "call" else with_gone(groups, self.gone, by)


def operators_of(
    profile: Profile,
    used: Usable | None,
    wall_ns: int | None,
    criteria: Criteria,
    between: Callable[[], None] = lambda: None,
) -> Operators | None:
    """None where the profile has neither rows nor sums. wall_ns: of the profile, where it is known.
    between: called between the parts of the work, `N_PARTS` times for a table; what it raises ends it."""
    table = profile.operators
    if table is not None and used is not None and table.n_rows:
        between()
        types = _of_table(table, used, "type", wall_ns, criteria.bound_ratio)
        between()
        limits = {
            "concentrated_percent": criteria.concentrated_percent,
            "scattered_percent": criteria.scattered_percent,
        }
        found = Operators(
            table,
            used,
            (),
            types,
            spread_of(types.top, table.values("duration_ns")[used.rows], **limits),
            sums_by_core(table, used),
            wall_ns,
            criteria.bound_ratio,
        )
        said = (
            *advice_of_top(
                profile,
                used,
                {"type": types.top},
                criteria,
                classes=types.classes,
                bounds=types.bounds,
                moved=types.moved,
                spread=found.spread,
            ),
            *advice_of_patterns(profile, used, criteria, between),
        )
        if profile.gone is not None:
            found = replace(found, types=with_gone(types, profile.gone, "type"), gone=profile.gone)
        return replace(found, advice=said)
    if profile.types:
        types = _of_totals(profile.types, "type", wall_ns)
        found = Operators(
            None,
            None,
            profile.types,
            types,
            spread_of(types.top),
            sums_by_core_of_totals(profile.types),
            wall_ns,
        )
        return replace(found, advice=tuple(advice_of_top(profile, None, {"type": types.top}, criteria)))
    return None


def _of_table(table: OperatorTable, used: Usable, by: By, wall_ns: int | None, bound_ratio: float) -> Groups:
    found = top(table, used, by, wall_ns)
    if by == "call":
        bounds, by_pipes = call_bounds(table, found, bound_ratio)
        classes = classes_of(found, by_pipes=by_pipes)
    else:
        bounds = group_bounds(table, used, found, bound_ratio)
        classes = classes_of(found, bounds.ratios)
    return Groups(found, classes, bounds, moved_of(table, used, found))


def _of_totals(totals: Sequence[TypeTotal], by: By, wall_ns: int | None) -> Groups:
    found = top_of_totals(totals, by, wall_ns)
    return Groups(found, classes_of(found))
