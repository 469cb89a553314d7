"""What the overflow area says of a run: one report a round, over all that it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npulse.core.analysis import AnalysisOptions, AreaReport
from npulse.core.errors import InputError
from npulse.core.findings import with_problems
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.model import Artifact, Run
from npulse.core.run.selection import Reports, check_round
from npulse.core.run.settings import ENVIRONMENTS
from npulse.core.run.sides import DUMP, Capture, capture_pairs, captures_of

from .analyse import OnUpdate, Overflow, analyse
from .criteria import Criteria, Settings
from .gradients import MONITORS
from .graph import KINDS as GRAPH_KINDS
from .report import report

EVIDENCE = GRAPH_KINDS | MONITORS | {"msprobe.monitor_anomaly"}
"""Kinds that this area reads beside dumps of msprobe; without one of them there is nothing to say."""

OTHERS = EVIDENCE | ENVIRONMENTS | {"cann.acl_config"}


@dataclass(frozen=True, slots=True)
class Selection:
    """What is looked at in a round. captures: (name, rank-steps). golden: names of captures left aside."""

    round: str
    captures: tuple[tuple[str, tuple[Artifact, ...]], ...]
    others: tuple[Artifact, ...]
    golden: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        return not self.captures and not any(a.kind in EVIDENCE for a in self.others)


def nothing_here(run: Run, options: AnalysisOptions) -> InputError:
    """What is said where there is nothing to look at."""
    hint = (
        "capture with msprobe (PrecisionDebugger, task statistics), with acl.json dump_debug on, or name the "
        "folder that holds the dump"
    )
    return InputError("holds no dump, overflow record or monitor file", path=run.path, hint=hint)


def selections(run: Run, options: AnalysisOptions) -> list[Selection]:
    """What there is to look at, round by round. Golden captures of pairs are left aside."""
    check_round(run, options)
    pairs = capture_pairs(run)
    golden = {artifact.path for pair in pairs for artifact in pair.golden}
    captures = captures_of(run)
    found = []
    for round_ in run.rounds:
        if options.round_name not in (None, round_.name):
            continue
        own = [c for c in captures if c.round == round_.name]
        kept = [c for c in own if not golden.intersection(a.path for a in c.artifacts)]
        aside = tuple(c.name for c in own if c not in kept)
        if options.pair_name is not None:
            kept, aside = _named(run, own, options.pair_name), ()
        others = [a for a in (*run.shared, *round_.artifacts) if a.kind in OTHERS]
        chosen = Selection(round_.name, tuple((c.name, c.artifacts) for c in kept), tuple(others), aside)
        if not chosen.is_empty:
            found.append(chosen)
    return found or _shared_alone(run, captures)


def _named(run: Run, captures: Sequence[Capture], name: str) -> list[Capture]:
    wanted = name.rstrip("/")
    found = [c for c in captures if c.name == wanted or c.name.startswith(wanted + "/")]
    if captures and not found:
        known = ", ".join(c.name for c in captures[:8])
        raise InputError(f"no capture '{name}'", path=run.path, hint=f"captures: {known}")
    return found


def _shared_alone(run: Run, captures: Sequence[Capture]) -> list[Selection]:
    """Captures beside rounds that hold nothing: better looked at than left."""
    shared = [c for c in captures if c.round == "" and c.artifacts and c.artifacts[0] in run.shared]
    if not shared or any(a.kind == DUMP for r in run.rounds for a in r.artifacts):
        return []
    others = tuple(a for a in run.shared if a.kind in OTHERS)
    return [Selection("", tuple((c.name, c.artifacts) for c in shared), others, ())]


def look(
    run: Run,
    chosen: Selection,
    options: AnalysisOptions,
    *,
    saturation: bool | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
    on_update: OnUpdate | None = None,
) -> Overflow:
    """The analysis of one selection. InputError where nothing of it can be used or matches rank and step."""
    settings = Settings(
        criteria=Criteria.parse(options.criteria) if options.criteria else Criteria(),
        jobs=options.jobs,
        cluster=options.cluster,
        rank=options.rank,
        step=options.step,
        cache=options.cache,
        saturation=saturation if saturation is not None else options.saturation,
        tails=options.tails,
    )

    def tell(so_far: Overflow) -> None:
        if options.on_report is not None and so_far.n_awaited:
            options.on_report(report(so_far, lang=options.lang))

    found = analyse(
        run,
        chosen.captures,
        chosen.others,
        settings,
        progress=progress,
        is_cancelled=is_cancelled,
        on_update=on_update or (None if options.on_report is None else tell),
    )
    narrowed = [f"{n} {v}" for n, v in (("rank", options.rank), ("step", options.step)) if v is not None]
    if narrowed and not found.looked_through and not found.gradients:
        known = sorted({f"step {a.step} rank {a.rank}" for _, members in chosen.captures for a in members})
        raise InputError(f"no {' of '.join(narrowed)} here", path=run.path, hint=", ".join(known[:8]) or None)
    return found


def _area_report(run: Run, chosen: Selection, found: Overflow, options: AnalysisOptions) -> AreaReport:
    told = report(found, lang=options.lang, tables=options.tables, golden=", ".join(chosen.golden))
    names = ", ".join(name for name, _ in chosen.captures)
    return AreaReport(chosen.round, names, with_problems(told, run.problems))


REPORTS = Reports("npulse overflow RUN", selections, nothing_here, look, _area_report)
reports_of, report_of, newest_of = REPORTS.reports_of, REPORTS.report_of, REPORTS.newest_of
