"""The shell of the workbench: what is open, what is shown of it, and the services that panes may use."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import RenderableType
from textual import work
from textual.app import App
from textual.filter import LineFilter
from textual.message import Message
from textual.screen import Screen
from textual.worker import Worker, WorkerState, get_current_worker

from npulse.core.areas import first_area
from npulse.core.errors import NpulseError
from npulse.core.findings import Problem
from npulse.core.text import safe_text

from .actions import BY_ID, textual_keys
from .chrome import HeaderState
from .crash import describe_error, failure_of, write_log
from .frames import Frames
from .keymap import Keymap, default_keys
from .live import WATCH_GROUP, BatchCame, Live, OpenWatch, Tell
from .messages import tr
from .panes import make_pane
from .panes.base import LIVE_GROUP, Pane, PaneStatus, WorkFailed
from .screens.main import MainPage
from .state import StateStore
from .terminal import Terminal, install_signal_handlers, terminal_from
from .themes import install_themes, line_filters, theme_names_for, uses_ansi_colours

if TYPE_CHECKING:
    from npulse.core.cache import Cache
    from npulse.core.capture.request import CaptureRequest
    from npulse.core.progress import IsCancelled, Progress, ProgressCallback
    from npulse.core.run.model import Run
    from npulse.core.text import Lang

    from .capture_job import CaptureJob, RunCapture

OpenRun = Callable[[Path, "ProgressCallback", "IsCancelled"], "Run"]
MakePane = Callable[[str], Pane]
Severity = Literal["information", "warning", "error"]

_PROGRESS_INTERVAL_S = 0.25
_WAITING = "precision"
"""The pane that stands while it is not known what the run was captured for."""
NOTICE_S = 4
_NO_JOBS = ("copy", "replay", WATCH_GROUP, LIVE_GROUP)
"""Groups of workers that cancelling leaves alone."""
_PLAIN_TERMINAL = {"TERM": "xterm-256color", "LANG": "C.UTF-8"}


def _no_descriptor() -> int:
    raise OSError("the screen is no file")


class RunOpened(Message):
    """Discovery of a run has ended."""

    def __init__(self, path: str, run: Run) -> None:
        super().__init__()
        self.path = path
        self.run = run


class ProgressTold(Message):
    """How far discovery is; at most four a second."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self.progress = progress


class CaptureEnded(Message):
    """The capture that ran beside the workbench is over, its round closed."""


class Shell(App[int], inherit_bindings=False):
    """Base of the application. What reaches outside (runs, panes, terminal, state) is a parameter."""

    TITLE = "npulse"
    CSS_PATH = "global.tcss"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny-x"), (40, "-narrow"), (110, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-tiny-y"), (10, "-short"), (20, "-tall")]

    def __init__(
        self,
        run_path: str | None = None,
        *,
        terminal: Terminal | None = None,
        lang: Lang = "en",
        keymap: Keymap | None = None,
        store: StateStore | None = None,
        open_run: OpenRun | None = None,
        make_pane: MakePane = make_pane,
        first_pane: str | None = "checkup",
        first_round: int | None = None,
        open_watch: OpenWatch | None = None,
        follow: bool = False,
        has_bell: bool = True,
        tell_finding: Tell | None = None,
        run_capture: RunCapture | None = None,
        withheld: frozenset[str] = frozenset(),
        cache: Cache | None = None,
    ) -> None:
        self.terminal = terminal or terminal_from(_PLAIN_TERMINAL, is_tty=True, encoding="utf-8")
        self.glyphs = self.terminal.glyphs
        self.store = store or StateStore()
        names = theme_names_for(self.terminal)
        remembered = self.store.choice("theme") or ""
        self.theme_name = remembered if remembered in names else names[0]
        super().__init__(ansi_color=uses_ansi_colours(self.theme_name))
        # what stands in for stderr says -1, with which no worker process can be started
        setattr(self._capture_stderr, "fileno", _no_descriptor)  # noqa: B010
        self.animation_level = "none"
        install_themes(self, self.theme_name)
        self.lang: Lang = "en" if self.glyphs.is_ascii else lang
        self.keymap = keymap or Keymap("default", default_keys())
        self.run_path = run_path
        self.opened: Run | None = None
        self.open_error = ""
        self.round_index = 0
        self.guards: list[Callable[[], str | None]] = []
        self.has_mouse = self.terminal.has_mouse
        self.make_pane = make_pane
        self._first_pane = first_pane
        """None: the one of the area that the run was captured for, once that is known."""
        self._first_round = first_round
        self.cache = cache
        """Where results of earlier openings are kept; None keeps nothing."""
        self._open_run = open_run or partial(_discover, cache)
        self.live = Live(
            self, open_watch=open_watch, follow_at_start=follow, has_bell=has_bell, tell=tell_finding
        )
        self._run_capture = run_capture
        self.withheld = withheld
        """Ids of actions that are not offered here."""
        self.capture_job: CaptureJob | None = None
        """The capture that runs, or whose end nobody has looked at yet."""
        self._wanted: tuple[Path, str] | None = None
        """The round to show once the run is opened: its folder, and the area of the pane."""
        self.guards.append(self._capture_question)
        self._frames = Frames()
        self._busy: dict[str, str] = {}
        self._kept_verdicts: dict[str, tuple[str, str]] = {}
        self._problems: dict[str, tuple[Problem, ...]] = {}
        self.set_keymap(
            {
                action_id: textual_keys(keys)
                for action_id, keys in self.keymap.keys.items()
                if keys != BY_ID[action_id].keys
            }
        )

    def get_default_screen(self) -> Screen[Any]:
        return MainPage()

    def get_line_filters(self) -> Sequence[LineFilter]:
        return line_filters(super().get_line_filters(), theme=self.theme_name, glyphs=self.glyphs)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if renderable is not None and not self._batch_count:
            super()._display(screen, self._frames.changed(renderable, is_fine=self.live.state is not None))

    async def begin(self) -> None:
        """Called by the base screen once it stands: the first pane, what went wrong so far, the run."""
        if not self.is_headless:
            install_signal_handlers(self, self._hang_up, must_wait=self._is_capturing)
        if self.keymap.problems:
            self._problems["keymap"] = tuple(
                Problem(problem.file, "key-map", problem.message, line=problem.line)
                for problem in self.keymap.problems
            )
            self.notice("keymap.problems", severity="warning", n=len(self.keymap.problems))
        self.store.tell_troubles(lambda text, path: self.notice(text, severity="warning", path=path))
        with self.batch_update():
            await self.main.show_pane(self._first_pane or _WAITING)
            if self.run_path is None:
                self.show_runs()
            else:
                self.open_path(self.run_path)

    # ---- what is shown ----

    @property
    def main(self) -> MainPage:
        """The base screen."""
        base = self.screen_stack[0]
        assert isinstance(base, MainPage)
        return base

    @property
    def pane(self) -> Pane | None:
        """The pane that is shown on the base screen."""
        return self.main.pane if self.stands else None

    @property
    def panes(self) -> Sequence[Pane]:
        """All panes that were made so far."""
        return self.main.panes if self.stands else ()

    @property
    def stands(self) -> bool:
        """Whether there is a base screen: not yet at the start, and not any more when the workbench ends,
        while workers may still tell what they found."""
        return bool(self.screen_stack)

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        """The keys in force, by action id."""
        return dict(self.keymap.keys)

    def problems(self) -> list[Problem]:
        """All that could not be read, each once: by discovery, by the panes, in the key map."""
        found = [*(self.opened.problems if self.opened else ())]
        for problems in self._problems.values():
            found += problems
        return list(dict.fromkeys(found))

    def refresh_header(self) -> None:
        """Put path, round, work in progress and number of problems in the first line."""
        if not self.stands:
            return
        facts = [busy for busy in self._busy.values() if busy]
        if self.opened and len(self.opened.rounds) > 1:
            name = safe_text(self.opened.rounds[self.round_index].name, 40)
            n_rounds = len(self.opened.rounds)
            facts.insert(0, self.tr("header.round", i=self.round_index + 1, n=n_rounds, name=name))
        if self._problems.get("pack"):
            facts.append(self.tr("pack.part"))
        facts = [*self.live.facts(), *facts]
        n_problems = len(self.problems())
        path = self.run_path or self.tr("header.no-run")
        help_key = self.keymap.keys.get("app.help") or ("",)
        corner = f"{self.lang}  {help_key[0]}"
        alert = f" ! {n_problems:,} " if n_problems else ""
        self.main.show_header(HeaderState(path, tuple(facts), alert, corner))

    def refresh_footer(self) -> None:
        """Offer in the last line what can be done now."""
        if self.stands:
            self.main.refresh_footer()

    def feed(self, pane: Pane) -> None:
        """Give a pane the run, round and marks of the moment."""
        with self.batch_update():
            pane.round_index = self.round_index
            pane.run = self.opened
            pane.load_marks(self.marks())

    def feed_all(self) -> None:
        for pane in self.panes:
            self.feed(pane)
            pane.retranslate()
        self.refresh_header()

    async def show_round_in(self, index: int, area: str) -> None:
        """Show a round of the run, in the pane of an area."""
        if self.opened is not None and 0 <= index < len(self.opened.rounds):
            self.round_index = index
            with self.batch_update():
                self.feed_all()
                await self.main.show_pane(area)

    # ---- services for panes and screens ----

    def tr(self, text_id: str, **values: Any) -> str:
        """A text in the language of the moment."""
        return tr(text_id, self.lang, **values)

    def notice(self, text_id: str, *, severity: Severity = "information", **values: Any) -> None:
        """A short note to the user; values from outside are made safe."""
        self.clear_notifications()  # one note at a time: a stack of them hides what it speaks of
        safe = {name: safe_text(v, 300) if isinstance(v, str) else v for name, v in values.items()}
        self.notify(self.tr(text_id, **safe), severity=severity, timeout=NOTICE_S, markup=False)

    def notice_nothing(self, action_id: str) -> None:
        """Say that an action finds nothing to work on here."""
        self.notice("pane.nothing-for", action=BY_ID[action_id].help(self.lang))

    def show_failure(self, error: BaseException) -> None:
        """An error as a notice with file and hint; one that is not ours also goes to the log."""
        message, hint = describe_error(error)
        if not isinstance(error, NpulseError):
            log = write_log(error, self.store.folder)
            hint = self.tr("crash.log", path=safe_text(str(log))) if log else self.tr("crash.no-log")
        self.notify(f"{message}\n{hint}".strip(), severity="error", timeout=15, markup=False)

    def show_lines(self, title_id: str, lines: Iterable[str]) -> None:
        """A screen with lines to read."""
        from .screens.page import LinesPage

        self.push_screen(LinesPage(title_id, tuple(lines)))

    def marks(self) -> dict[str, str]:
        """Marked subjects of the run with their notes."""
        return self.store.marks(self.run_path) if self.run_path else {}

    def keep_marks(self, marks: dict[str, str]) -> None:
        """Make these the marks of the run, in the store and in the other panes."""
        if self.run_path is None:
            return
        self.store.replace_marks(self.run_path, marks)
        for pane in self.panes:
            if pane is not self.pane:
                pane.load_marks(marks)

    def ask(self, text: str, then: Callable[[], object]) -> None:
        """Ask a yes-or-no question; `then` is called on yes."""
        from .screens.ask import AskPage

        def answer(yes: bool | None) -> None:
            if yes:
                then()

        self.push_screen(AskPage(text), answer)

    def ask_note(self, subject: str, note: str, then: Callable[[str, str], object]) -> None:
        """Let the user write a note; `then(subject, note)` is called when it is done."""
        from .screens.note import NotePage

        def take(new: str | None) -> None:
            if new is not None:
                then(subject, new)

        self.push_screen(NotePage(subject, note), take)

    @work(thread=True, exclusive=True, group="copy", exit_on_error=False, description="copy")
    def copy(self, text: str) -> None:
        """Copy text to the clipboard; a notice names the route that was taken."""
        from .clipboard import copy_text

        copied = copy_text(text, self.terminal, self.write_sequence, folder=self.store.folder)
        if copied is None:
            self.call_from_thread(self.notice, "copy.failed", severity="error")
        else:
            where = str(copied.path) if copied.path else ""
            # only tmux says that it took the text: nothing else is called copied
            sure = "copy.done" if copied.route == "tmux" else "copy.sent"
            text_id = "copy.file" if copied.route == "file" else "copy.with-file" if where else sure
            self.call_from_thread(
                self.notice, text_id, route=copied.route, size_bytes=copied.size_bytes, path=where
            )

    def write_sequence(self, sequence: str) -> None:
        """Put a control sequence on the terminal that draws nothing."""
        if self._driver is not None:
            self._driver.write(sequence)

    def edit(self, path: Path, line: int | None) -> None:
        """Open a file in the user's editor; without one, say where the file is."""
        from .editor import open_editor

        if not open_editor(self, path, line, as_copy=self._is_in_run(path)):
            self.notice("edit.failed", severity="warning", path=str(path), line=line or 1)

    def _is_in_run(self, path: Path) -> bool:
        if self.run_path is None:
            return False
        run = Path(self.run_path).resolve()
        return path.resolve().is_relative_to(run if run.is_dir() else run.parent)

    # ---- capturing ----

    def show_capture(self, fields: Mapping[str, str] | None = None) -> None:
        """The capture that runs or has just ended; else the fields of a new one, some of them filled in."""
        from .screens.capture import CapturePage
        from .screens.capture_run import CaptureRunPage

        if isinstance(self.screen, CapturePage | CaptureRunPage):
            self.screen.dismiss(None)
        elif self.capture_job is not None:
            self._show_job(self.capture_job)
        else:
            kind = (fields or {}).get("kind") or self._kind_here()
            self.push_screen(CapturePage(kind, fields), self._show_started)

    def _show_started(self, job: CaptureJob | None) -> None:
        if job is not None:
            self._show_job(job)

    def _kind_here(self) -> str:
        """The kind of capture that the pane reads; "" where it reads no particular one."""
        area = self.pane.area if self.pane is not None else ""
        return area if area in ("precision", "overflow", "memory", "performance") else ""

    def begin_capture(self, request: CaptureRequest, forced: bool) -> CaptureJob:
        """Start a capture beside the workbench; its end is told by `CaptureEnded`."""
        from .capture_job import CaptureJob

        job = CaptureJob(
            request, forced=forced, run=self._run_capture, on_end=lambda: self.post_message(CaptureEnded())
        )
        self.capture_job = job
        self._busy["capture"] = self.tr("capture.busy")
        job.start()
        self.refresh_header()
        return job

    def _show_job(self, job: CaptureJob) -> None:
        from .screens.capture_run import CaptureRunPage

        def left(is_wanted: bool | None) -> None:
            if not job.is_running and self.capture_job is job:
                self.capture_job = None
            result = job.state.result
            if is_wanted and result is not None:
                self.open_new_round(result.folder, job.request.kind)
            elif job.is_running:
                self.notice("capture.goes-on", key="".join(self.keys.get("app.capture", ())[:1]))

        self.push_screen(CaptureRunPage(job), left)

    def on_capture_ended(self, event: CaptureEnded) -> None:
        from .screens.capture_run import CaptureRunPage

        self._busy.pop("capture", None)
        self.refresh_header()
        if not isinstance(self.screen, CaptureRunPage) and self.capture_job is not None:
            self.notice("capture.ended", key="".join(self.keys.get("app.capture", ())[:1]))

    def open_new_round(self, folder: Path, area: str) -> None:
        """Show a round that was just captured: in the run that is open where it lies in there."""
        run = Path(self.run_path).resolve() if self.run_path is not None else None
        is_inside = run is not None and folder.resolve().is_relative_to(run)
        self._wanted = folder.resolve(), area
        self.open_path(
            self.run_path if is_inside and self.run_path is not None else str(folder.parent.parent)
        )

    async def _show_wanted(self) -> None:
        wanted, self._wanted = self._wanted, None
        if wanted is None or self.opened is None:
            return
        folder, area = wanted
        for index, one in enumerate(self.opened.rounds):
            if any(artifact.path.resolve().is_relative_to(folder) for artifact in one.artifacts):
                await self.show_round_in(index, area)
                return
        self.notice("capture.not-found", severity="warning", path=str(folder))

    def _is_capturing(self) -> bool:
        return self.capture_job is not None and self.capture_job.is_running

    def _capture_question(self) -> str | None:
        if self.capture_job is None or not self._is_capturing():
            return None
        return self.tr("quit.capturing", command=safe_text(self.capture_job.what, 120))

    def _hang_up(self) -> None:
        """The terminal is gone, or somebody ends npulse: the capture ends too, and its round is closed."""
        if self.capture_job is not None and self._is_capturing():
            self.capture_job.ask_stop("hang-up")

    def end_capture(self) -> None:
        """Called once the screen is left: end a capture that still runs; wait until its round is closed."""
        if self.capture_job is not None and self._is_capturing():
            from .capture_end import wait_for_end

            wait_for_end(self.capture_job, self.lang)

    # ---- opening ----

    def show_runs(self) -> None:
        """Let the user choose a run to open."""
        from .screens.picker import PickerPage

        self.push_screen(PickerPage(), lambda path: self.open_path(path) if path else None)

    def open_path(self, path: str, *, is_anew: bool = False) -> None:
        """Open another run, or the same again; the panes fill when discovery ends.

        is_anew: what is kept of it from earlier openings is forgotten first.
        """
        if path != self.run_path:
            self.live.run_changes()
            self.opened = None
            self.round_index = 0
        self.run_path = path
        self.open_error = ""
        self._problems = {name: found for name, found in self._problems.items() if name == "keymap"}
        kept = {name: text for name, text in self._busy.items() if name == "capture"}
        self._busy = {"open": self.tr("header.opening"), **kept}
        self.feed_all()
        self._discover_run(path, is_anew)

    @work(thread=True, exclusive=True, group="open", exit_on_error=False)
    def _discover_run(self, path: str, is_anew: bool) -> None:
        worker = get_current_worker()
        told_s = time.monotonic()

        def on_progress(progress: Progress) -> None:
            nonlocal told_s
            if time.monotonic() - told_s >= _PROGRESS_INTERVAL_S:
                told_s = time.monotonic()
                self.post_message(ProgressTold(progress))

        if is_anew:
            from npulse.core.kept import forget_kept

            forget_kept(path, self.cache)
        run = self._open_run(Path(path), on_progress, lambda: worker.is_cancelled)
        if not worker.is_cancelled:
            self.post_message(RunOpened(path, run))

    def on_progress_told(self, event: ProgressTold) -> None:
        if "open" in self._busy:
            done, total = event.progress.done, event.progress.total
            count = f"{done:,}" if total is None else f"{done:,}/{total:,}"
            self._busy["open"] = f"{safe_text(event.progress.stage, 40)} {count}"
            self.refresh_header()

    async def on_run_opened(self, event: RunOpened) -> None:
        if event.path != self.run_path:
            return
        is_first = self.opened is None
        self._busy.pop("open", None)
        from npulse.core.packs.recorded import gaps_of

        self._problems["pack"] = gaps_of(event.run.path)
        newest = max(0, len(event.run.rounds) - 1)
        if self.opened is None:
            self.round_index = newest if self._first_round is None else min(self._first_round, newest)
        self.round_index = min(self.round_index, newest)
        self.opened = event.run
        self.store.add_recent(event.path)
        if is_first and self._first_pane is None and self.pane is not None and self.pane.area == _WAITING:
            area = first_area(event.run)
            if area != _WAITING:
                await self.main.show_pane(area)
        self.live.meet(self.pane)
        self.feed_all()
        self.live.hint()
        await self._show_wanted()

    def on_batch_came(self, event: BatchCame) -> None:
        self.live.take(event)

    def on_pane_status(self, event: PaneStatus) -> None:
        self._problems[event.pane] = event.problems
        self._busy[event.pane] = event.busy
        kept = self.run_path or "", event.verdict
        if event.verdict and self.run_path and self._kept_verdicts.get(event.pane) != kept:
            self._kept_verdicts[event.pane] = kept  # while a run is followed the same comes again and again
            self.store.add_recent(self.run_path, event.verdict)
        self.refresh_header()

    def on_work_failed(self, event: WorkFailed) -> None:
        self.show_failure(event.error)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """The one place where an error of a worker of the app becomes something to read."""
        if event.worker.group == "open" and event.state in (WorkerState.ERROR, WorkerState.CANCELLED):
            self._busy.pop("open", None)
            self.open_error = self.tr("open.cancelled")
            if error := failure_of(event):
                self.open_error, hint = describe_error(error)
                where = safe_text(self.run_path or "")
                self._problems["open"] = (Problem(where, "unreadable", self.open_error, hint=hint or None),)
            self.feed_all()
        if error := failure_of(event):
            self.live.watch_failed(event.worker)
            self.show_failure(error)

    def cancel_jobs(self) -> int:
        """Ask all running work to stop; how many were asked."""
        jobs = [w for w in self.workers if w.is_running and w.group not in _NO_JOBS]
        for job in jobs:
            job.cancel()
        return len(jobs)


def _discover(
    cache: Cache | None, path: Path, on_progress: ProgressCallback, is_cancelled: IsCancelled
) -> Run:
    """The core's discovery, imported by the worker that needs it."""
    from npulse.core.kept import discover_kept

    return discover_kept(path, cache, progress=on_progress, is_cancelled=is_cancelled)
