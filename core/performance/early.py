"""What can be shown of a large operator table before it is read: its first rows, then its sums by type.

Both are unfinished (`SoFar` says of how much they are) and bear no advice. The sums come from a pass of their
own that looks at two cells a line, so that they are complete long before the analyses are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.formats.profiling.operators import OperatorTable, first_rows
from npulse.core.formats.profiling.records import TypeTotal
from npulse.core.formats.profiling.type_names import stem_of
from npulse.core.formats.profiling.type_sums import TypeSums, read_type_sums
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled

from .found import Analysed, OnUpdate, Performance, SoFar
from .operators.analysis import operators_of
from .operators.usable import MAX_DURATION_NS, usable
from .profile import Profile
from .sources import ProfileFiles
from .wall.analysis import analyse_wall

LEAST_BYTES = 4 << 20
"""A smaller table is read and analysed in less time than it takes to look at its first rows."""
FIRST_ROWS = 1000
UPDATE_S = 1.0


def look_early(
    files: ProfileFiles,
    found: Performance,
    on_update: OnUpdate,
    *,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Updates of stage "reading": the first rows at once, sums at most every second, then those of all rows.

    Nothing for small tables, for one step alone, and for tables that cannot be read: the reading itself tells
    what is wrong with them. found: the round without profiles. Raises Cancelled.
    """
    chosen = files.operators
    if chosen is None or found.settings.step is not None:
        return
    if sum(path.stat().st_size for path in chosen.files if path.is_file()) < LEAST_BYTES:
        return
    try:
        first = first_rows(chosen.files[0], FIRST_ROWS, root=found.root)
    except InputError:
        return
    profile = Profile(
        found.root.name if files.name == "." else files.name,
        files.rank,
        device=first.devices[0] if len(first.devices) == 1 else None,
        sources={"operators": first.files[0]} if first.files else {},
    )
    on_update(_of_first(found, profile, first))
    last_s = clock()

    def show(sums: Callable[[], TypeSums]) -> None:
        nonlocal last_s
        if clock() - last_s >= UPDATE_S:
            on_update(_of_sums(found, profile, sums()))
            last_s = clock()

    try:
        whole = _sums(chosen.files, found.root, show, progress, is_cancelled)
    except InputError:
        return
    on_update(_of_sums(found, profile, whole))


def _sums(
    paths: Sequence[Path],
    root: Path,
    show: Callable[[Callable[[], TypeSums]], None],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> TypeSums:
    return read_type_sums(
        paths,
        root=root,
        longest_ns=MAX_DURATION_NS,
        on_sums=show,
        progress=progress,
        is_cancelled=is_cancelled,
    )


def totals_of(sums: TypeSums) -> tuple[TypeTotal, ...]:
    """Sums by what the whole table is put together by: the type, else the stem of the name."""
    found = {one.op_type: one for one in sums.types}
    for one in sums.names:
        stem = stem_of(one.op_type)
        before = found.get(stem)
        count, total_ns = one.count or 0, one.total_ns or 0
        if before is not None:
            count, total_ns = count + (before.count or 0), total_ns + (before.total_ns or 0)
        found[stem] = TypeTotal(stem, "", count, total_ns, average_ns=total_ns // max(count, 1))
    return tuple(found.values())


def _of_first(found: Performance, profile: Profile, table: OperatorTable) -> Performance:
    so_far = SoFar(table.n_rows, 0, 0, is_first=True)
    return _unfinished(found, replace(profile, operators=table), so_far)


def _of_sums(found: Performance, profile: Profile, sums: TypeSums) -> Performance:
    so_far = SoFar(sums.n_rows, sums.n_bytes, sums.size_bytes, sums.n_aside, is_whole=sums.is_whole)
    return _unfinished(found, replace(profile, types=totals_of(sums)), so_far)


def _unfinished(found: Performance, profile: Profile, so_far: SoFar) -> Performance:
    """Operators alone: a wall time, or an advice, of a part of the rows would say nothing of the whole."""
    criteria = found.settings.criteria
    used = usable(profile.operators) if profile.operators is not None else None
    operators = operators_of(profile, used, None, criteria)
    wall = analyse_wall(Profile(profile.name, profile.rank, device=profile.device), None, criteria)
    one = Analysed(
        profile,
        replace(operators, advice=()) if operators is not None else None,
        replace(wall, advice=()),
    )
    return replace(found, stage="reading", profiles=(one,), so_far=so_far)
