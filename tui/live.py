"""A run that is followed: the watch of it, what the first line says of that, who is told of new findings."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from textual.message import Message
from textual.timer import Timer
from textual.worker import Worker, get_current_worker

from npulse.core.text import clock_text, columns_of, safe_text, since_text

from .clipboard import passed_through
from .glyphs import ascii_text
from .keymap import show_keys
from .panes.base import Pane

if TYPE_CHECKING:
    from npulse.core.findings import Finding
    from npulse.core.progress import IsCancelled
    from npulse.core.run.model import Artifact, Run
    from npulse.core.watch.events import Batch, LiveState

    from .shell import Shell

WATCH_GROUP = "watch"
"""The group of the worker that watches: it is no job, and no cancelling ends it."""
LAG_S = 1.0
"""A lag is told from here on."""
NEWS_PAUSE_S = 5.0
"""From one notice of new findings to the next; those between are told together."""
_OSC9_CHARACTERS, _NOTICE_CHARACTERS = 160, 100
_WHY_POLLING = {
    "network": "live.why-network",
    "overlay": "live.why-overlay",
    "watch-limit": "live.why-watch-limit",
    "instance-limit": "live.why-instance-limit",
    "asked": "live.why-asked",
}


class Watching(Protocol):
    """What is needed of `core.watch.watcher.Watch`."""

    def batches(self, is_cancelled: IsCancelled) -> Iterator[Batch]: ...

    def close(self) -> None: ...


OpenWatch = Callable[[Path], Watching]
Tell = Callable[["Finding"], object]
Say = Callable[..., str]


class BatchCame(Message):
    """Something new in the run that is watched."""

    def __init__(self, watched: object, batch: Batch) -> None:
        super().__init__()
        self.watched = watched
        self.batch = batch


class Live:
    """What the shell has of following: one watch as long as any pane follows, and its last state.

    follow_at_start: panes follow from their first visit on. tell: is given every new finding (the command
    that the user named for it).
    """

    def __init__(
        self,
        shell: Shell,
        *,
        open_watch: OpenWatch | None = None,
        follow_at_start: bool = False,
        has_bell: bool = True,
        tell: Tell | None = None,
    ) -> None:
        self.state: LiveState | None = None
        """None while nothing is watched."""
        self.gone: tuple[Artifact, ...] = ()
        """Artifacts that vanished since the watch began."""
        self._shell = shell
        self._open_watch = open_watch or _watch
        self._follow_at_start = follow_at_start
        self._has_bell = has_bell
        self._tell = tell
        self._watched: object | None = None
        self._worker: Worker[None] | None = None
        self._met: set[str] = set()
        self._gone_ns = 0
        self._news: list[Finding] = []
        self._news_timer: Timer | None = None
        self._settle_timer: Timer | None = None
        self._sizes: tuple[Run | None, list[tuple[int, int]]] = None, []
        self._was_polling = self._was_hinted = False

    # ---- who follows ----

    def meet(self, pane: Pane | None) -> None:
        """A pane is shown: where following was asked for at the start, it begins at its first visit."""
        if pane is None or not self._follow_at_start or pane.area in self._met or not pane.can_follow:
            return
        self._met.add(pane.area)
        pane.begin_following()
        self.pane_changed(pane)

    def pane_changed(self, pane: Pane | None = None) -> None:
        """A pane follows, or does not any more: the watch begins with the first, and ends with the last."""
        shell = self._shell
        is_wanted = shell.run_path is not None and any(one.is_following for one in shell.panes)
        if is_wanted and self._watched is None:
            self._watched = object()
            work = self._watch_run(Path(str(shell.run_path)), self._watched)
            self._worker = shell.run_worker(
                work, thread=True, group=WATCH_GROUP, exit_on_error=False, description="watch"
            )
        elif not is_wanted:
            self.stop()
        shell.refresh_header()
        shell.refresh_footer()

    def run_changes(self) -> None:
        """Another run is opened."""
        self.stop()
        self._met.clear()
        self._was_polling = self._was_hinted = False

    def stop(self) -> None:
        """End the watch."""
        if self._worker is not None:
            self._worker.cancel()
        if self._settle_timer is not None:
            self._settle_timer.stop()
        self._settle_timer = None
        self._watched, self._worker, self.state, self._gone_ns = None, None, None, 0
        self.gone = ()

    def watch_failed(self, worker: Worker[Any]) -> None:
        """Where the watch itself has ended with an error, nothing is followed any more."""
        if worker is self._worker:
            for pane in self._shell.panes:
                if pane.is_following:
                    pane.end_following()
            self.pane_changed()

    def hint(self) -> None:
        """Say once that a run that is still being written can be followed."""
        pane = self._shell.pane
        if self._was_hinted or pane is None or not pane.can_follow or pane.is_following:
            return
        if self.is_being_written(pane.area):
            self._was_hinted = True
            self._shell.notice("live.in-progress", key=self._key("pane.follow"))

    def is_being_written(self, area: str) -> bool:
        """Whether something of an area is still being written, as far as its files tell."""
        run = self._shell.opened
        return run is not None and any(
            artifact.completeness == "in progress" and area in _areas_of(artifact)
            for artifact in run.artifacts
        )

    def _watch_run(self, path: Path, watched: object) -> Callable[[], None]:
        def work() -> None:
            worker = get_current_worker()
            watch = self._open_watch(path)
            try:
                for batch in watch.batches(lambda: worker.is_cancelled):
                    if worker.is_cancelled:
                        break
                    self._shell.post_message(BatchCame(watched, batch))
            finally:
                watch.close()

        return work

    # ---- what comes ----

    def take(self, message: BatchCame) -> None:
        """Give the panes the run as it is now; those that follow look again."""
        shell, batch = self._shell, message.batch
        if message.watched is not self._watched or shell.opened is None:
            return  # of a watch that was ended
        self.state, self.gone = batch.state, batch.gone
        self._gone_ns = 0 if batch.state.is_reachable else self._gone_ns or time.time_ns()
        before, run = shell.opened, batch.run
        index = _same_round(before, shell.round_index, run)
        shell.opened, shell.round_index = run, index
        areas = {area for event in batch.events for area in _areas_of(event.artifact)}
        if areas:
            self._settle_later()
        with shell.batch_update():
            for pane in shell.panes:
                pane.take_batch(run, index, areas)
            if not self._is_drawn_soon(areas):
                shell.refresh_header()
        self._tell_changes(before, run, batch.state)

    def _settle_later(self) -> None:
        """Look once more when nothing is fresh any more: only then what is not whole is known to stay so."""
        from npulse.core.run.stamp import FRESH_NS

        if self._settle_timer is not None:
            self._settle_timer.stop()
        self._settle_timer = self._shell.set_timer(FRESH_NS / 1e9 + 2.0, self._settle)

    def _settle(self) -> None:
        self._settle_timer = None
        for pane in self._shell.panes:
            pane.look_soon()

    def _is_drawn_soon(self, areas: Container[str]) -> bool:
        """Whether the pane that is shown looks now: the first line changes with its rows, in one frame."""
        pane = self._shell.pane
        return pane is not None and pane.is_following and not pane.is_paused and pane.area in areas

    def _tell_changes(self, before: Run, run: Run, state: LiveState) -> None:
        if state.mode == "polling" and not self._was_polling:
            self._was_polling = True
            self._shell.notice("live.polling", why=why_polling(state.why, self._shell.tr))
            return
        known = {one.name for one in before.rounds}
        new = [one.name for one in run.rounds if one.name not in known]
        if known and new:
            is_later = [one.name for one in run.rounds].index(new[-1]) > self._shell.round_index
            key = self._key("app.next-round" if is_later else "app.previous-round")
            self._shell.notice("live.new-round", name=safe_text(new[-1], 60), key=key)

    def announce(self, news: Sequence[Finding]) -> None:
        """Tell of findings that were not there before, origins at once; of many in a row few times."""
        if self._tell is not None:
            for finding in news:
                self._tell(finding)
        self._news += news
        if self._news and self._news_timer is None:
            self._say_news()

    def _say_news(self) -> None:
        """Findings that were not there before: a notice, a bell, the desktop, the user's command."""
        news, self._news, self._news_timer = self._news, [], None
        if not news:
            return
        shell, first = self._shell, min(news, key=lambda finding: finding.role != "origin")
        self._news_timer = shell.set_timer(NEWS_PAUSE_S, self._say_news)
        text_id = "live.found" if len(news) == 1 else "live.found-more"
        told = safe_text(first.message, _NOTICE_CHARACTERS)
        words = {"subject": first.subject, "message": told, "n": len(news) - 1}
        shell.notice(text_id, severity="error", **words)
        if self._has_bell:
            shell.bell()
            shell.write_sequence(self._desktop_notice(f"{first.subject}: {first.message}"))

    def _desktop_notice(self, text: str) -> str:
        shown = safe_text(f"npulse: {text}", _OSC9_CHARACTERS)  # begins with no digit: that would be progress
        if self._shell.glyphs.is_ascii:
            shown = ascii_text(shown)
        return passed_through(f"\x1b]9;{shown}\x07", self._shell.terminal)

    # ---- what is said ----

    def facts(self) -> list[str]:
        """Of the first line, while the pane that is shown follows."""
        pane = self._shell.pane
        if self.state is None or pane is None or not pane.is_following:
            return []
        dot = self._shell.glyphs.live
        facts = [live_fact(self.state, self._gone_ns, dot, self._shell.tr)]
        if pane.is_paused:
            facts.append(self._shell.tr("live.paused"))
        is_busy = self.state.is_reachable and self.state.quiet_since_ns is None
        if is_busy and self.state.lag_s is not None and self.state.lag_s > LAG_S:
            facts.append(self._shell.tr("live.lag", lag=f"{self.state.lag_s:.1f}"))
        if is_busy and pane.rows_per_s >= 1:
            facts.append(self._shell.tr("live.rows", n=f"{pane.rows_per_s:,.0f}"))
        return [*facts, *self._of_ranks()]

    def _of_ranks(self) -> list[str]:
        """How much was recorded of the ranks, in a few words; all of it is on a page of its own."""
        from npulse.core.watch.recorded import recorded_by_rank

        run = self._shell.opened
        if run is None:
            return []
        if self._sizes[0] is not run:  # once a batch, not once a drawing
            found = recorded_by_rank(run.artifacts)
            self._sizes = run, [(one.rank, one.size_bytes) for one in found if one.rank is not None]
        return ranks_fact(self._sizes[1], self._shell.tr)

    def show_recorded(self, rows: Mapping[int | None, int]) -> None:
        """What there is of each rank, and how many of the rows that are shown."""
        from npulse.core.watch.recorded import recorded_by_rank

        run = self._shell.opened
        artifacts = recorded_by_rank(run.artifacts) if run is not None else ()
        lines = recorded_lines(artifacts, rows, self._shell.tr)
        self._shell.show_lines("live.recorded", lines or [self._shell.tr("live.recorded-none")])

    def _key(self, action_id: str) -> str:
        return show_keys(self._shell.keys.get(action_id, ())[:1])


def live_fact(state: LiveState, gone_ns: int, dot: str, say: Say) -> str:
    """How the run stands: who writes, how fast, or since when nobody does. gone_ns: since when no folder."""
    if not state.is_reachable:
        return say("live.folder-gone", time=clock_text(gone_ns))
    if state.has_writer is False and state.last_write_ns is not None:
        return say("live.writer-gone", time=since_text(state.last_write_ns, time.time_ns()))
    if state.quiet_since_ns is not None:
        return say("live.quiet", dot=dot, time=since_text(state.quiet_since_ns, time.time_ns()))
    return say("live.rate", dot=dot, rate=rate_text(state.bytes_per_s))


def ranks_fact(sizes: Sequence[tuple[int, int]], say: Say) -> list[str]:
    """Of one or two ranks the bytes of each; of more their number, the least and the most."""
    if len(sizes) <= 2:
        return [say("live.rank-size", rank=rank, size=f"{n / 1e6:,.1f}") for rank, n in sizes]
    least, most = (pick(n for _, n in sizes) for pick in (min, max))
    return [say("live.ranks-size", n=len(sizes), least=f"{least / 1e6:,.1f}", most=f"{most / 1e6:,.1f}")]


def rate_text(bytes_per_s: float) -> str:
    """How fast data comes."""
    return f"{size_text(bytes_per_s)}/s"


def size_text(size_bytes: float) -> str:
    """Bytes in the unit that needs the fewest digits."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size_bytes >= size:
            return f"{size_bytes / size:,.1f} {unit}"
    return f"{size_bytes:.0f} B"


def why_polling(why: str, say: Say) -> str:
    """Why nothing tells of writes, in words; `LiveState.why` is what it is made of."""
    word, _, what = why.partition(" ")
    return say(_WHY_POLLING.get(word, "live.why-unsupported"), what=safe_text(what, 40))


def recorded_lines(found: Sequence[Any], rows: Mapping[int | None, int], say: Say) -> list[str]:
    """Of each rank one line: files, bytes, rows, the last write, kinds."""
    cells = []
    for one in found:
        name = say("live.recorded-other") if one.rank is None else say("live.recorded-rank", rank=one.rank)
        kinds = ", ".join(f"{kind} {n:,}" for kind, n in one.kinds.items())
        cells.append(
            (
                name,
                say("live.recorded-files", n=one.n_artifacts),
                size_text(one.size_bytes),
                say("live.recorded-rows", n=rows[one.rank]) if one.rank in rows else "",
                say("live.recorded-written", time=since_text(one.written_ns, time.time_ns())),
                say("live.recorded-open", n=one.n_in_progress) if one.n_in_progress else "",
                kinds,
            )
        )
    return columns_of(cells, left=(0, 6)) if cells else []


def _areas_of(artifact: Artifact) -> tuple[str, ...]:
    from npulse.core.run.kinds import KINDS

    kind = KINDS.get(artifact.kind)
    return kind.areas if kind is not None else ()


def _same_round(before: Run, index: int, after: Run) -> int:
    """Where the round that is shown stands now; the newest where it is not there any more."""
    names = [one.name for one in after.rounds]
    if index < len(before.rounds) and before.rounds[index].name in names:
        return names.index(before.rounds[index].name)
    return max(0, len(names) - 1)


def _watch(path: Path) -> Watching:
    """The core's watch, imported by the worker that needs it."""
    from npulse.core.watch.watcher import Watch

    return Watch(path)
