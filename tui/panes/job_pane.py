"""A pane whose content one worker makes: started, told about, cancelled, failed, replaced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.message import Message
from textual.worker import Worker, WorkerState, get_current_worker

from npulse.core.findings import Problem
from npulse.core.text import Lang

from ..crash import describe_error, failure_of
from .base import Pane, PaneStatus

if TYPE_CHECKING:
    from npulse.core.progress import IsCancelled, Progress, ProgressCallback
    from npulse.core.run.model import Round, Run

PROGRESS_PAUSE_S = 0.25


@dataclass(frozen=True, slots=True)
class JobTools:
    """What a job gets. `show` takes what it has made, as often as there is more to show."""

    lang: Lang
    progress: ProgressCallback
    is_cancelled: IsCancelled
    show: Callable[[Any], None]


Job = Callable[[JobTools], None]
"""Runs in a worker: no widget in sight. Raises NpulseError, Cancelled."""


class JobPane(Pane):
    """Starts its job when run or round change. A pane makes the job and takes what comes of it.

    A result of a job that was replaced is dropped by its version.
    """

    class Ready(Message):
        """A job has something to show."""

        def __init__(self, version: int, made: Any) -> None:
            super().__init__()
            self.version = version
            self.made = made

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
        self._started: tuple[Run | None, int] | None = None
        self._job: Worker[None] | None = None
        self._failure: tuple[Problem, ...] = ()
        self._began_s = 0.0

    # ---- hooks ----

    def make_job(self, run: Run, round_: Round) -> Job:
        """The work to do for a round of a run."""
        raise NotImplementedError

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

    def start(self) -> None:
        """Begin the job for run and round, unless it has begun; an earlier one is cancelled."""
        run, index, before = self.run, self.round_index, self._started
        if before is not None and before[0] is run and before[1] == index:
            return
        is_rescan = (
            before is not None
            and before[0] is not None
            and run is not None
            and (before[0].path, before[1]) == (run.path, index)
        )
        self._started = (run, index)
        self.version += 1
        self.ended, self._failure = "", ()
        if not is_rescan:  # else what is shown stays, with its cursor, until the new result is there
            if before is not None:
                self.forget_choices()
            self._finding_index = -1
            self.forget()
        self.job_changed()
        if run is not None and self.round is not None:
            self._began_s = monotonic()
            self.tell(busy=self.busy_text())
            self._job = self._run_job(self.version, self.make_job(run, self.round))

    @work(thread=True, exclusive=True, group="job", exit_on_error=False, description="job")
    def _run_job(self, version: int, job: Job) -> None:
        worker = get_current_worker()
        told_s = 0.0

        def tell(progress: Progress) -> None:
            nonlocal told_s
            if monotonic() - told_s >= PROGRESS_PAUSE_S:
                told_s = monotonic()
                self.post_message(self.Told(version, progress))

        def show(made: Any) -> None:
            if not worker.is_cancelled:
                self.post_message(self.Ready(version, made))

        job(JobTools(self.shell.lang, tell, lambda: worker.is_cancelled, show))

    # ---- what comes back ----

    @on(Ready)
    def _take_made(self, message: Ready) -> None:
        if message.version == self.version:
            self.take(message.made)

    @on(Told)
    def _take_progress(self, message: Told) -> None:
        if message.version != self.version:
            return
        self.tell(busy=progress_text(message.progress, max(monotonic() - self._began_s, 0.001)))

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A job that was stopped or failed must say so: nobody waits for what will not come."""
        if event.worker is not self._job:
            return
        error = failure_of(event)
        if error is not None:
            message, hint = describe_error(error)
            where = getattr(error, "path", None) or str(self.run.path if self.run else "")
            place = getattr(error, "line", None), getattr(error, "byte", None)
            self._failure = (Problem(where, "unreadable", message, *place, hint or None),)
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


def progress_text(progress: Progress, elapsed_s: float) -> str:
    """Stage, how far, how fast; bytes as megabytes and with the time that is left, short."""
    done, total, unit = progress.done, progress.total, progress.unit
    rate = done / elapsed_s
    if unit == "bytes":
        of = "" if total is None else f"/{total / 1e6:,.1f}"
        left = f" ~{(total - done) / rate:,.0f} s" if total is not None and rate and done < total else ""
        return f"{progress.stage} {done / 1e6:,.1f}{of} MB {rate / 1e6:,.1f} MB/s{left}"
    of = "" if total is None else f"/{total:,}"
    return f"{progress.stage} {done:,}{of} {unit} {rate:,.0f}/s"
