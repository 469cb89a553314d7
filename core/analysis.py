"""What every area is asked, and what it answers: the door between the commands and the analyses.

An area that is built has a module with three functions, named by `core/areas.py`. `core/run/selection.py`
makes them of what an area looks at in a round, and how:

    reports_of(run, options, *, progress, is_cancelled) -> tuple[AreaReport, ...]
        all that the area can say of a run, round by round; () where it finds nothing of its own
    report_of(paths, options, *, progress, is_cancelled) -> AreaReport
        the one report that the paths and options of a command mean; InputError where there is none
    newest_of(run, options, *, progress, is_cancelled) -> Newest | None
        the newest round that can be read, looked at alone: one side of `core/diff.py`
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .cache import Cache
from .errors import InputError, UsageError
from .findings import Report
from .tails import Tails
from .text import Lang

if TYPE_CHECKING:
    from .scale import Cluster

CriteriaT = TypeVar("CriteriaT")
SelectionT = TypeVar("SelectionT")


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """The options of a command as an area gets them; each area says in `notes` which of them it cannot use.

    criteria: thresholds as the user wrote them; only the area knows their names. jobs: worker processes
    (0: as many as processors). cluster: a Dask scheduler. cache: None keeps and reads nothing. saturation:
    what the user says of the device, None for nothing. source_roots: folders in which the user's sources lie.
    kernel_objects: object files of kernels. top: rows of a list of operators (None: as many as the area
    thinks best, 0: all). by: how operators are grouped: type, call, count or average. earlier: whether a
    round is also told against those before it. tails: where a run is followed, what was read of its files so
    far; looks of one area, one after the other, read only what is new.

    Of a comparison: metrics: figures that lead, by any of their names. error_threshold: a limit of the error.
    compare_mode: layerwise, network or single (with `operator`, a call's name). by_rank: that call on all
    ranks. layers: globs of calls. steps: inclusive ranges; () is all. inputs: only what both were given
    before any operator. precision_map: what computes in which dtype, as `k=v,...` or the path of a file.
    ranks: which target ranks stand against which golden ones where their numbers differ ("0,1:0;2,3:1").
    dtype, shape: of raw elements, as the user writes them. fusion_rule: a file that names the original
    operators of compiled ones. pairing: "auto", or "name" where equal names alone pair calls. mappings:
    mapping files of calls, modules or APIs, which go before both. write_mapping: where the
    pairs are written as one. tensors: "all", or "where-needed": of calls that recorded statistics point to.

    on_report: gets what is known while workers still read some of the ranks; each report says how many.
    """

    lang: Lang = "en"
    tables: bool = False
    round_name: str | None = None
    pair_name: str | None = None
    rank: int | None = None
    step: int | None = None
    criteria: str | None = None
    jobs: int = 0
    cluster: Cluster | None = None
    cache: Cache | None = None
    saturation: bool | None = None
    source_roots: tuple[Path, ...] = ()
    kernel_objects: tuple[Path, ...] = ()
    top: int | None = None
    by: str = "type"
    earlier: bool = True
    tails: Tails | None = None
    metrics: tuple[str, ...] = ()
    error_threshold: float | None = None
    compare_mode: str | None = None
    operator: str | None = None
    by_rank: bool = False
    layers: tuple[str, ...] = ()
    steps: tuple[tuple[int, int], ...] = ()
    inputs: bool = False
    precision_map: str | None = None
    ranks: str | None = None
    dtype: str | None = None
    shape: str | None = None
    fusion_rule: Path | None = None
    pairing: str = "auto"
    mappings: tuple[Path, ...] = ()
    write_mapping: Path | None = None
    tensors: str = "all"
    on_report: Callable[[Report], None] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AreaReport:
    """A report and what it is of. round: "" where the run has one. name: a pair or capture of the round.

    notes: what the user should hear about the choice that was made for them, one line each.
    """

    round: str
    name: str
    report: Report
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest round that an area can read. analysis: what the report was made of, for the area's own
    `changes_of`. refused: why newer rounds could not be read.
    """

    report: AreaReport
    analysis: Any = None
    refused: tuple[InputError, ...] = ()


def reports_of_each(
    selections: Iterable[SelectionT], one: Callable[[SelectionT], AreaReport]
) -> tuple[AreaReport, ...]:
    """A report for each selection. One that cannot be read is left out where another one can.

    Raises InputError, the first one, where none can be read.
    """
    reports: list[AreaReport] = []
    refused: list[InputError] = []
    for chosen in selections:
        try:
            reports.append(one(chosen))
        except InputError as error:
            refused.append(error)
    if refused and not reports:
        raise refused[0]
    return tuple(reports)


def criteria_from(kind: type[CriteriaT], text: str) -> CriteriaT:
    """Read 'cosine=0.999,norm_ratio_low=0.98' into a dataclass of floats. UsageError names what is wrong."""
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    values: dict[str, float] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, _, number = part.partition("=")
        name = name.strip()
        if name not in known:
            raise UsageError(f"unknown criterion '{name}'", hint="known: " + ", ".join(sorted(known)))
        if name in values:
            raise UsageError(f"criterion '{name}' is given twice", hint="give each name once")
        try:
            values[name] = float(number)
        except ValueError:
            raise UsageError(f"criterion '{part}' is not a number") from None
        if values[name] < 0:
            raise UsageError(f"criterion '{part}' is below 0", hint="limits are 0 or more")
        if not math.isfinite(values[name]):
            raise UsageError(f"criterion '{part}' would judge nothing: give a finite number")
    return kind(**values)
