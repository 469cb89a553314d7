"""The looks at a followed run: whose turn it is, what each area says, what that changes."""

from __future__ import annotations

import math
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from npulse.core.analysis import AnalysisOptions, AreaReport
from npulse.core.areas import AREAS, Area
from npulse.core.errors import Cancelled, InputError
from npulse.core.findings import Finding, Problem, Report, Verdict, worst_exit_code, worst_verdict
from npulse.core.progress import IsCancelled, ProgressCallback, check, ignore_progress, never_cancelled
from npulse.core.run.kinds import KINDS
from npulse.core.run.model import Run
from npulse.core.run.stamp import FRESH_NS
from npulse.core.tails import Tails
from npulse.core.watch.events import Batch, LiveState
from npulse.core.watch.gone import with_gone
from npulse.core.watch.news import key_of, not_moved
from npulse.core.watch.watcher import Watch

SHARE = 0.25
"""The part of one processor's time that looks take while a run grows fast."""
SHORTEST_PAUSE_S = 0.25
HEARTBEAT_S = 30.0
MAX_TOLD = 20_000
"""Findings and problems that are remembered as told; those told longest ago may be told again."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one look changed, and how everything stands after it.

    new, withdrawn: findings, in the order of the areas; withdrawn were told before and do not hold with what
    is known now. problems: new ones. is_changed: whether an area was looked at, or the state changed.
    """

    at_ns: int
    run: Run
    state: LiveState
    reports: Mapping[str, AreaReport]
    new: tuple[Finding, ...] = ()
    withdrawn: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_changed: bool = True

    @property
    def verdict(self) -> Verdict:
        """The worst of all areas; unknown where none has anything to say."""
        return worst_verdict(one.report.verdict for one in self.reports.values())

    def exit_code(self, *, strict: bool = False) -> int:
        """As of all areas' reports together (contract.md); 4 where nothing was recognised."""
        return worst_exit_code(one.report.exit_code(strict=strict) for one in self.reports.values())


@dataclass(slots=True)
class _Followed:
    """One area of the run."""

    area: Area
    tails: Tails = field(default_factory=Tails)
    report: AreaReport | None = None
    is_due: bool = True
    """Not asked yet, or asked when what it reads could still be unfinished: nobody can tell for FRESH_NS."""


class Follow:
    """Looks at a run whenever it has grown; an area is asked only where something of its kinds changed.

    golden: a capture elsewhere that dumps are compared with. interval_s: at least so long between two looks
    (0: as soon as something is there, with at most SHARE of the time). shown: what is told of a report.
    Memory is bounded by what the areas keep of the run, not by how long it is followed.
    """

    def __init__(
        self,
        path: Path,
        options: AnalysisOptions,
        *,
        golden: Path | None = None,
        areas: Sequence[str] = (),
        interval_s: float = 0.0,
        shown: Callable[[Report], Report] | None = None,
        watch: Watch | None = None,
        clock: Callable[[], float] | None = None,
        time_ns: Callable[[], int] | None = None,
    ) -> None:
        import time

        self._path = path
        self._golden = golden
        self._options = replace(options, earlier=False)
        self._interval_s = interval_s
        self._shown = shown or (lambda report: report)
        self._watch = watch or Watch(path)
        self._clock = clock or time.monotonic
        self._time_ns = time_ns or time.time_ns
        self._areas = [_Followed(area) for area in AREAS if area.is_built and (not areas or area.id in areas)]
        self._told: OrderedDict[Any, None] = OrderedDict()
        self._settling: set[str] = set()
        self._batch: Batch | None = None
        self._last: Look | None = None

    def settle_s(self) -> float | None:
        """In how many seconds those that were asked should be asked once more, as nothing is fresh then."""
        if not self._settling or self._last is None:
            return None
        written_ns = self._last.state.last_write_ns or 0
        return max(written_ns + FRESH_NS - self._time_ns(), 0) / 1e9 + 2.0

    def settled(
        self, *, progress: ProgressCallback = ignore_progress, is_cancelled: IsCancelled = never_cancelled
    ) -> Look:
        """The look that ends a time of writing: what is not whole by now stays so."""
        assert self._batch is not None, "there was a look before"
        for one in self._areas:
            one.is_due = one.area.id in self._settling
        look = self.look(self._batch, progress=progress, is_cancelled=is_cancelled)
        self._settling.clear()
        return look

    def once(
        self,
        *,
        progress: ProgressCallback = ignore_progress,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> Look:
        """One look at what is there now."""
        batch = self._watch.poll()
        assert batch is not None, "the first look always finds the run"
        return self.look(batch, progress=progress, is_cancelled=is_cancelled)

    def look(
        self,
        batch: Batch,
        *,
        progress: ProgressCallback = ignore_progress,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> Look:
        """Ask the areas that a batch concerns. Raises Cancelled."""
        self._batch = replace(batch, events=())
        concerned = _areas_of(batch)
        new: list[Finding] = []
        withdrawn: list[Finding] = []
        problems: list[Problem] = []
        was_asked = False
        for one in self._areas:
            check(is_cancelled)
            if not one.is_due and one.area.id not in concerned:
                continue
            before = one.report
            problems += self._ask(one, batch, progress, is_cancelled)
            one.is_due = False
            self._settling.add(one.area.id)
            if one.report is None or one.report is before:
                continue
            was_asked = True
            found = one.report.report.findings
            held = {key_of(finding) for finding in found}
            came = [finding for finding in found if self._is_untold(key_of(finding))]
            gone = [f for f in before.report.findings if key_of(f) not in held] if before is not None else []
            for finding in gone:
                self._told.pop(key_of(finding), None)
            for told, more in zip((new, withdrawn), not_moved(came, gone), strict=True):
                told += more
            problems += one.report.report.problems
        fresh = tuple(problem for problem in dict.fromkeys(problems) if self._is_untold(problem))
        state_before = self._last.state if self._last is not None else None
        reports = {one.area.id: one.report for one in self._areas if one.report is not None}
        is_changed = was_asked or bool(fresh) or state_before != batch.state
        self._last = Look(
            self._time_ns(), batch.run, batch.state, reports, tuple(new), tuple(withdrawn), fresh, is_changed
        )
        return self._last

    def looks(
        self,
        *,
        progress: ProgressCallback = ignore_progress,
        is_cancelled: IsCancelled = never_cancelled,
    ) -> Iterator[Look]:
        """A look after the other, as the run grows; between them, each HEARTBEAT_S, the last one unchanged.

        Ends when `is_cancelled` says so. Raises what the watch raises (InputError: there is no such folder).
        """
        batches = _Batches(self._watch, is_cancelled)
        waiting: Batch | None = None
        is_first = True
        due_s = beat_s = self._clock()
        settle_s = math.inf
        try:
            while not is_cancelled():
                now_s = self._clock()
                if waiting is not None and now_s >= due_s:
                    batch, waiting = waiting, None
                    try:
                        look = self.look(batch, progress=progress, is_cancelled=is_cancelled)
                    except Cancelled:
                        return
                    ended_s = self._clock()
                    cost_s = ended_s - now_s if not is_first else 0.0  # which also loads the program
                    is_first = False
                    due_s = ended_s + max(SHORTEST_PAUSE_S, cost_s * (1 / SHARE - 1))
                    due_s = max(due_s, now_s + self._interval_s)
                    beat_s = ended_s + HEARTBEAT_S
                    settle_s = ended_s + (self.settle_s() or math.inf)
                    yield look
                elif waiting is None and now_s >= settle_s:
                    settle_s = math.inf
                    beat_s = now_s + HEARTBEAT_S
                    yield self.settled(progress=progress, is_cancelled=is_cancelled)
                elif self._last is not None and now_s >= beat_s:
                    beat_s = now_s + HEARTBEAT_S
                    yield replace(
                        self._last, at_ns=self._time_ns(), new=(), withdrawn=(), problems=(), is_changed=False
                    )
                wake_s = beat_s if self._last is not None else self._clock() + HEARTBEAT_S
                if waiting is not None:
                    wake_s = min(wake_s, due_s)
                wake_s = min(wake_s, settle_s)
                more = batches.get(max(wake_s - self._clock(), 0.0))
                if more is not None:
                    waiting = more if waiting is None else _joined(waiting, more)
        finally:
            batches.close()

    def _ask(
        self, one: _Followed, batch: Batch, progress: ProgressCallback, is_cancelled: IsCancelled
    ) -> tuple[Problem, ...]:
        """The area's report of the run as it is now; where it cannot be read its last word stands."""
        options = replace(self._options, tails=one.tails)
        run = with_gone(batch.run, batch.gone, one.tails)
        paths = [artifact.path for artifact in (*batch.run.artifacts, *batch.gone)]
        one.tails.begin(paths, batch.run.path)
        try:
            if self._golden is not None and one.area.id == "precision":
                both = (self._path, self._golden)
                told = one.area.report_of(both, options, progress=progress, is_cancelled=is_cancelled)
                one.report = replace(told, report=self._shown(told.report))
                return ()
            newest = one.area.newest_of(run, options, progress=progress, is_cancelled=is_cancelled)
        except InputError as error:
            return (Problem.from_error(error, str(error.path or batch.run.path)),)
        if newest is not None:
            one.report = replace(newest.report, report=self._shown(newest.report.report))
        return ()

    def _is_untold(self, key: Any) -> bool:
        """Whether this is told for the first time; from now on it is not."""
        if key in self._told:
            self._told.move_to_end(key)
            return False
        self._told[key] = None
        while len(self._told) > MAX_TOLD:
            self._told.popitem(last=False)
        return True


def _areas_of(batch: Batch) -> set[str]:
    found: set[str] = set()
    for event in batch.events:
        kind = KINDS.get(event.artifact.kind)
        if kind is not None:
            found.update(kind.areas)
    return found


def _joined(first: Batch, second: Batch) -> Batch:
    """Two batches as one: the later run and state, the events of both."""
    return replace(second, events=(*first.events, *second.events))


class _Batches:
    """A watch's batches from a thread of their own, so that one can wait for them for a time."""

    def __init__(self, watch: Watch, is_cancelled: IsCancelled) -> None:
        self._watch = watch
        self._is_closed = False
        self._is_cancelled = is_cancelled
        self._found: queue.SimpleQueue[Batch | BaseException | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="npulse-watch", daemon=True)
        self._thread.start()

    def get(self, timeout_s: float) -> Batch | None:
        """The next batch, all that wait as one; None after the time. Raises what the watch raised."""
        found: Batch | None = None
        try:
            one = self._found.get(timeout=timeout_s)
            while True:
                if isinstance(one, BaseException):
                    raise one
                if one is not None:
                    found = one if found is None else _joined(found, one)
                one = self._found.get_nowait()
        except queue.Empty:
            return found

    def close(self) -> None:
        self._is_closed = True
        self._watch.close()
        self._thread.join(timeout=5.0)

    def _run(self) -> None:
        try:
            for batch in self._watch.batches(lambda: self._is_closed or self._is_cancelled()):
                self._found.put(batch)
        except BaseException as error:
            self._found.put(error)
