"""A pane whose content one worker makes: started, told about, cancelled, failed, replaced."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.message import Message
from textual.timer import Timer
from textual.worker import Worker, WorkerState, get_current_worker

from npulse.core.findings import Problem, Report
from npulse.core.kept.keeper import Keeper, keeper_of
from npulse.core.progress import bytes_text, stage_text, unit_text
from npulse.core.tails import Tails
from npulse.core.text import Lang, safe_text

from ..crash import describe_error, failure_of
from .base import Pane, PaneStatus

if TYPE_CHECKING:
    from npulse.core.progress import IsCancelled, Progress, ProgressCallback
    from npulse.core.run.model import Round, Run

PROGRESS_PAUSE_S = 0.25
LOOK_PAUSE_S = 0.25
"""Between two looks at what is followed there is at least this, and at least what the last one took."""
QUIET_LOOK_S = 2.0
"""A look that takes longer says how far it is."""


@dataclass(frozen=True, slots=True)
class JobTools:
    """What a job gets. `show` takes what it has made, as often as there is more to show."""

    lang: Lang
    progress: ProgressCallback
    is_cancelled: IsCancelled
    show: Callable[[Any], None]


Job = Callable[[JobTools], None]
"""Runs in a worker: no widget in sight. Raises NpulseError, Cancelled."""


class Following:
    """What a pane keeps while it follows one round: what was read so far, and who reads on."""

    def __init__(self) -> None:
        self.tails = Tails()
        self.by_area: dict[str, Tails] = {}
        """Of a pane that looks through several areas: each has its own."""
        self.lock = threading.Lock()
        """Held by the look that reads: one that was cancelled may still be at it when the next one begins."""

    def close(self) -> None:
        """Close the files, once the look that reads them has ended; not to be waited for by who draws."""
        threading.Thread(target=self._close, name="close tails", daemon=True).start()

    def _close(self) -> None:
        with self.lock:
            for tails in (self.tails, *self.by_area.values()):
                tails.close()


def _followed(tails: Tails, root: Path, names: Sequence[Path], job: Job, tools: JobTools) -> None:
    """A job that goes through tails, once they know which files there are by now."""
    tails.begin(names, root)
    job(tools)


class JobPane(Pane):
    """Starts its job when run or round change. A pane makes the job and takes what comes of it.

    A result of a job that was replaced is dropped by its version. While the pane follows, the same job is
    started again whenever something new is there (a *look*): never two at once, never in place of one that
    runs, and no more than half of the time.
    """

    class Ready(Message):
        """A job has something to show."""

        def __init__(self, version: int, made: Any, kept_s: float | None = None) -> None:
            super().__init__()
            self.version = version
            self.made = made
            self.kept_s = kept_s

    class Told(Message):
        """How far a job is."""

        def __init__(self, version: int, progress: Progress) -> None:
            super().__init__()
            self.version = version
            self.progress = progress

    def __init__(self, area: str) -> None:
        super().__init__(area)
        self.version = 0
        self.ended = ""
        """Why the last job ended early, as a text to show; "" where it did not."""
        self.kept_s: float | None = None
        """When an earlier opening made what is shown, s since 1970; None where this one did."""
        self._started: tuple[Run | None, int] | None = None
        self._job: Worker[None] | None = None
        self._failure: tuple[Problem, ...] = ()
        self._began_s = 0.0
        self._stage = ("", 0.0, 0)  # what is being done, since when, and how far it was
        self._following: Following | None = None
        self._is_look = False
        """Whether the job of the moment is a look: the rows stand, and only its end is shown."""
        self._is_due = False
        self._look_timer: Timer | None = None
        self._cost_s = self._ended_s = 0.0
        self._known: Report | None = None
        """What was said last: what is in the next report and not in this one is news."""

    # ---- hooks ----

    def make_job(self, run: Run, round_: Round) -> Job:
        """The work to do for a round of a run."""
        raise NotImplementedError

    def kept_as(self, run: Run, round_: Round) -> object | None:
        """What the job's result depends on beside the files of the run: it is kept for the next opening, and
        taken from the last one. None where it is not kept."""
        return None

    def is_as_asked(self, made: Any) -> bool:
        """Whether a result of an earlier opening is what the job would make, as far as `kept_as` leaves it
        open."""
        return True

    def take(self, made: Any) -> None:
        """Show what the job of the moment has made."""

    def forget(self) -> None:
        """Show nothing: what stood there belongs to another run or round, or cannot be trusted."""

    def forget_choices(self) -> None:
        """Drop what the user chose for the run or round that is left."""

    def job_changed(self) -> None:
        """Show anew how the job stands: begun, ended, failed."""

    def verdict(self) -> str:
        """What the report says once the job has ended, "" while that is open."""
        report = self.report()
        return "" if report is None else report.verdict

    def busy_text(self) -> str:
        """What the header says when a job begins."""
        return self.tr("job.reading")

    def cancelled_text(self) -> str:
        """What stands there when a job was cancelled."""
        return self.tr("job.cancelled-here")

    # ---- starting ----

    def watch_run(self, run: Run | None) -> None:
        self.start()

    def watch_round_index(self, index: int) -> None:
        self.start()

    def start_again(self) -> None:
        """The same run and round with other choices."""
        self._started = None
        self.start()

    def ask_again(self) -> None:
        """The same rows with other choices: what is shown stays, with its cursor, until the job ends."""
        if self.run is not None:
            self._started = replace(self.run), self.round_index
        self.start()

    def start(self) -> None:
        """Begin the job for run and round, unless it has begun; an earlier one is cancelled."""
        run, index, before = self.run, self.round_index, self._started
        if before is not None and before[0] is run and before[1] == index:
            return
        old = None if before is None else before[0]
        is_same_run = old is not None and run is not None and old.path == run.path
        is_rescan = is_same_run and before is not None and before[1] == index
        self._started = (run, index)
        if is_rescan and self.is_following:
            self.look_soon()
            return
        if old is not None and self._following is not None:
            self._end_tails()
            if is_same_run:
                self._following = Following()
            else:
                self.shell.call_later(self.shell.live.pane_changed)
        self.version += 1
        self.ended, self._failure = "", ()
        if not is_rescan:  # else what is shown stays, with its cursor, until the new result is there
            if before is not None:
                self.forget_choices()
            self._finding_index = -1
            self.forget()
        self.job_changed()
        if run is not None and self.round is not None:
            self.tell(busy=self.busy_text())
            self._begin_job(run, self.round, is_look=False)

    def _begin_job(self, run: Run, round_: Round, *, is_look: bool) -> None:
        self._began_s, self._is_look, self._is_due = monotonic(), is_look, False
        self._stage = ("", 0.0, 0)
        if self._following is None:
            job = self.make_job(run, round_)
        else:
            tails = self._following.tails
            names = tuple(artifact.path for artifact in (*run.artifacts, *self.shell.live.gone))
            run = self._with_gone(run, tails)
            job = partial(_followed, tails, run.path, names, self.make_job(run, run.rounds[self.round_index]))
        keeper = None if self._following is not None else keeper_of(run, self.shell.cache)
        asked = None if keeper is None else self.kept_as(run, round_)
        keeping = None if keeper is None or asked is None else (keeper, (self.area, self.shell.lang, asked))
        self._job = self._run_job(self.version, job, self._following, is_look, keeping)

    def _with_gone(self, run: Run, tails: Tails) -> Run:
        """With the files that are gone by now: what was read of them stays."""
        from npulse.core.watch.gone import with_gone

        return with_gone(run, self.shell.live.gone, tails)

    @work(thread=True, exclusive=True, group="job", exit_on_error=False, description="job")
    def _run_job(
        self,
        version: int,
        job: Job,
        following: Following | None,
        is_look: bool,
        keeping: tuple[Keeper, object] | None = None,
    ) -> None:
        worker = get_current_worker()
        if keeping is not None:
            known = keeping[0].get("view", keeping[1], object)
            if known is not None and self.is_as_asked(known.value):
                self.post_message(self.Ready(version, known.value, known.made_s))
                if keeping[0].is_current():
                    return  # else files have changed since the run was opened: what they say now follows
        told_s = 0.0
        last: list[Any] = []
        newest: list[Any] = []

        def tell(progress: Progress) -> None:
            nonlocal told_s
            if monotonic() - told_s >= PROGRESS_PAUSE_S:
                told_s = monotonic()
                self.post_message(self.Told(version, progress))

        def show(made: Any) -> None:
            newest[:] = [made]
            if not worker.is_cancelled:
                self.post_message(self.Ready(version, made))

        with nullcontext() if following is None else following.lock:
            shown = last.append if is_look else show
            job(JobTools(self.shell.lang, tell, lambda: worker.is_cancelled, shown))
        if last:
            show(last[-1])
        if keeping is not None and newest and not worker.is_cancelled:
            if getattr(newest[0], "is_complete", True):
                keeping[0].put("view", keeping[1], newest[0])

    # ---- following ----

    @property
    def can_follow(self) -> bool:
        return True

    @property
    def is_following(self) -> bool:
        return self._following is not None

    @property
    def tails(self) -> Tails | None:
        """What was read so far of the files that are followed; None where none are."""
        return None if self._following is None else self._following.tails

    @property
    def tails_of_area(self) -> Callable[[str], Tails] | None:
        """What was read so far for an area, where this pane looks through several; None where none are
        followed."""
        following = self._following
        return None if following is None else lambda area: following.by_area.setdefault(area, Tails())

    def begin_following(self) -> None:
        if self._following is None:
            self._following = Following()
            self.look_soon()
            self.job_changed()

    def end_following(self) -> None:
        self._end_tails()
        self.job_changed()

    def _end_tails(self) -> None:
        if self._following is not None:
            self._following.close()
            self._following, self._is_due = None, False
        if self._look_timer is not None:
            self._look_timer.stop()
            self._look_timer = None

    def take_batch(self, run: Run, round_index: int, areas: Container[str]) -> None:
        """The rows stay; where the pane follows and something of its area is new, it looks again soon."""
        name = None if self.round is None else self.round.name
        is_there = round_index < len(run.rounds) and run.rounds[round_index].name == name
        if self._started is None or not is_there:
            self.set_reactive(Pane.round_index, round_index)
            self.run = run
            return
        self.set_reactive(Pane.run, run)
        self.set_reactive(Pane.round_index, round_index)
        self._started = run, round_index
        if self.area in areas:
            self.look_soon()

    def look_soon(self) -> None:
        """Look again as soon as it is time; nothing where the pane does not follow or has no run yet."""
        if self._following is None or self.run is None:
            return
        self._is_due = True
        if self.is_looking or self._look_timer is not None:
            return  # its end brings the next look
        wait_s = self._ended_s + max(LOOK_PAUSE_S, self._cost_s) - monotonic()
        if wait_s > 0:
            self._look_timer = self.set_timer(wait_s, self._look)
        else:
            self._look()

    def _look(self) -> None:
        self._look_timer = None
        run, round_ = self.run, self.round
        if self._following is not None and run is not None and round_ is not None and not self.is_looking:
            self.version += 1
            self._begin_job(run, round_, is_look=True)

    @property
    def is_looking(self) -> bool:
        """Whether a job is going on, or what it has brought is still on its way to the screen."""
        return self._job is not None and not self._job.is_finished

    def look_ended(self, cost_s: float) -> None:
        """A job or a part of it has ended: the pause before the next look begins, as long as it took."""
        self._ended_s, self._cost_s = monotonic(), cost_s
        if self._is_due:
            self.look_soon()

    def _take_news(self, report: Report | None) -> None:
        """Say what a look has found that was not there before."""
        if self._is_look and report is not None:
            from npulse.core.watch.news import news_of

            self.shell.live.announce(news_of(self._known, report))
        self._known = report

    # ---- what comes back ----

    @on(Ready)
    def _take_made(self, message: Ready) -> None:
        if message.version == self.version:
            if self._is_look:
                self.ended, self._failure = "", ()
            self.kept_s = message.kept_s
            self._take_news(getattr(message.made, "report", None))
            self.take(message.made)

    @on(Told)
    def _take_progress(self, message: Told) -> None:
        if message.version != self.version:
            return
        now_s, progress = monotonic(), message.progress
        stage, since_s, done = self._stage
        if progress.stage != stage or progress.done < done:
            since_s = now_s  # something else, or the same of another file or for the second time
        self._stage = progress.stage, since_s, progress.done
        if not self._is_look or now_s - self._began_s >= QUIET_LOOK_S:
            self.tell(busy=progress_text(progress, now_s - since_s, self.shell.lang))

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A job that was stopped or failed must say so: nobody waits for what will not come."""
        if event.worker is not self._job:
            return
        if event.worker.is_finished:
            self.look_ended(monotonic() - self._began_s)
        error = failure_of(event)
        if error is not None:
            message, hint = describe_error(error)
            where = getattr(error, "path", None) or str(self.run.path if self.run else "")
            place = getattr(error, "line", None), getattr(error, "byte", None)
            self._failure = (Problem(where, "unreadable", message, *place, hint or None),)
            if self._is_look and self.report() is not None:  # the next look may do better
                self.ended = self.tr("live.look-failed", message=safe_text(message))
            else:
                self.forget()
                self.ended = "\n".join(filter(None, (self.tr("pending.failed", message=message), hint)))
        elif event.state == WorkerState.CANCELLED:
            self.ended = self.cancelled_text()
        else:
            return
        self.tell(busy="")
        self.job_changed()

    def tell(self, *, busy: str) -> None:
        """Tell the shell what this pane is busy with, its problems, and its verdict once that stands."""
        report = self.report()
        problems = (*self._failure, *(report.problems if report is not None else ()))
        verdict = self.verdict() if not busy else ""
        self.post_message(PaneStatus(self.area, problems, busy, verdict))


def progress_text(progress: Progress, elapsed_s: float, lang: Lang = "en") -> str:
    """Stage, how far, how fast; bytes with the time that is left. Short: it stands beside a path.

    elapsed_s: since the stage began; right after that nobody says how fast it is.
    """
    stage, done, total = stage_text(progress, lang), progress.done, progress.total
    if progress.unit == "bytes":
        progress = replace(progress, done_bytes=done, total_bytes=total)
    if progress.total_bytes is not None:
        return f"{stage} {bytes_text(progress, elapsed_s, lang)}"
    of = "" if total is None else f"/{total:,}"
    amount = (
        f"{done / 1e6:,.1f} MB" if progress.unit == "bytes" else f"{done:,}{of} {unit_text(progress, lang)}"
    )
    if elapsed_s < PROGRESS_PAUSE_S:
        return f"{stage} {amount}"
    rate = f"{done / elapsed_s / 1e6:,.1f} MB" if progress.unit == "bytes" else f"{done / elapsed_s:,.0f}"
    return f"{stage} {amount} {rate}/s"
