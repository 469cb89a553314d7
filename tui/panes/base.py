"""What every pane is: the run goes in by attribute, status comes out by message, the view can be undone."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.worker import Worker

from npulse.core.dataclass import dataclass
from npulse.core.text import safe_text

from ..actions import bindings_for
from ..crash import failure_of
from ..keymap import show_keys
from ..messages import tr

if TYPE_CHECKING:
    from npulse.core.findings import Finding, Problem, Report
    from npulse.core.run.model import Round, Run

    from ..app import NpulseApp

MAX_UNDO = 200
NOT_BUILT = {
    "pane.export": "missing.export",
    "pane.compare": "missing.compare",
}
"""Actions whose feature is still to come, with the text that says what to use instead."""
LIVE_GROUP = "live"
"""The group of the workers that put what has come in order: no job, and no cancelling ends them."""
FOLLOWING = frozenset(("pane.follow", "pane.pause"))
"""Actions that only mean something while the run is being written."""


@dataclass(frozen=True, slots=True)
class ViewState:
    """How a pane shows its rows: all that `u` can undo. `marks` holds (subject, note); `baseline` is, in the
    rounds pane, the round that the others are compared with."""

    sort: str | None = None
    descending: bool = False
    filter: str = ""
    hidden: frozenset[str] = frozenset()
    marks: tuple[tuple[str, str], ...] = ()
    baseline: str = ""


class PaneStatus(Message):
    """A pane's problems, what it is busy with ("" if nothing) and its verdict ("" if none yet)."""

    def __init__(self, pane: str, problems: tuple[Problem, ...], busy: str = "", verdict: str = "") -> None:
        super().__init__()
        self.pane = pane
        self.problems = problems
        self.busy = busy
        self.verdict = verdict


class WorkFailed(Message):
    """A worker of this node ended with an error."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class Pane(Widget):
    """Base of the seven panes. A pane overrides the hooks below; its keys are already bound.

    `run`, `round_index` and `view` are replaced as a whole and watched by subclasses (`watch_run`,
    `watch_round_index`, `watch_view`).
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in bindings_for("pane", "table")
        if binding.id not in ("table.left", "table.right")  # the table moves its own column cursor
    ]
    DEFAULT_CSS = "Pane { height: 1fr; }"
    footer_early: ClassVar[tuple[str, ...]] = ()
    """Actions that the footer offers before all others, so that a narrow terminal shows them."""

    run: reactive[Run | None] = reactive(None, init=False, repaint=False, always_update=True)
    round_index: reactive[int] = reactive(0, init=False, repaint=False)
    view: reactive[ViewState] = reactive(ViewState(), init=False, repaint=False)

    def __init__(self, area: str) -> None:
        super().__init__(id=f"pane-{area}")
        self.area = area
        self._undo: list[ViewState] = []
        self._finding_index = -1

    # ---- hooks ----

    def report(self) -> Report | None:
        """What the pane says, as the headless command says it; None while it has nothing to say."""
        return None

    def finding(self) -> Finding | None:
        """The finding under the cursor; by default the one that was gone to last."""
        report = self.report()
        if report is None or not 0 <= self._finding_index < len(report.findings):
            return None
        return report.findings[self._finding_index]

    def subject(self) -> str | None:
        """The name that a mark or note would go to."""
        finding = self.finding()
        return None if finding is None else finding.subject

    def go_to(self, finding: Finding) -> bool:
        """Put the cursor on a finding; False where the pane can't show it."""
        return False

    def go_to_subject(self, subject: str) -> bool:
        """Put the cursor on a subject; False where the pane does not show it."""
        return False

    def place(self) -> tuple[Path, int | None] | None:
        """The file and line behind the row under the cursor."""
        finding = self.finding()
        if finding is None or finding.location.artifact is None or self.run is None:
            return None
        root = self.run.path if self.run.path.is_dir() else self.run.path.parent
        path = (root / finding.location.artifact).resolve()
        return (path, finding.location.line) if path.is_relative_to(root.resolve()) else None

    def where_lines(self) -> list[str]:
        """Where the figures under the cursor come from, one fact a line."""
        finding = self.finding()
        return [] if finding is None else location_lines(finding)

    def main_figures(self, finding: Finding) -> Sequence[tuple[str, str]]:
        """The few figures that speak for a finding, rounded."""
        from npulse.core.views import first_figures  # brings arrays, which the first screen does without

        return first_figures(finding.figures)

    def is_at(self, finding: Finding) -> bool:
        """Whether the cursor stands on a finding."""
        return finding == self.finding()

    @property
    def can_follow(self) -> bool:
        """Whether this pane can show more while the run is written."""
        return False

    @property
    def is_following(self) -> bool:
        """Whether this pane looks again whenever something new was written."""
        return False

    @property
    def is_paused(self) -> bool:
        """Whether what it follows is kept back for the moment."""
        return False

    @property
    def rows_per_s(self) -> float:
        """How fast rows have come lately; 0.0 where none did."""
        return 0.0

    def begin_following(self) -> None:
        """Look again from now on; the shell says when."""

    def end_following(self) -> None:
        """Look no more; what is shown stays."""

    def look_soon(self) -> None:
        """Look again at what is followed; nothing where the pane does not follow."""

    def take_batch(self, run: Run, round_index: int, areas: Container[str]) -> None:
        """The run as it is while it is written; `areas`: for which of them something new is there."""
        self.set_reactive(Pane.round_index, round_index)
        if self.area in areas:
            self.run = run
        else:
            self.set_reactive(Pane.run, run)

    def go_back(self) -> bool:
        """Leave an inner view (elements, filter line); False if there is none."""
        return False

    def question(self) -> str | None:
        """What would be lost by quitting now, as a text to ask; None if nothing."""
        return None

    def focus_target(self) -> Widget:
        """The widget that gets the keys when the pane is shown."""
        for widget in self.walk_children(Widget):
            if widget.focusable:
                return widget
        self.can_focus = True
        return self

    def in_footer(self, action_id: str) -> bool:
        """Whether the footer offers this action here."""
        return action_id not in FOLLOWING or self.in_footer_while_written(action_id)

    def in_footer_while_written(self, action_id: str) -> bool:
        """`F` is offered where something is still being written, `Space` once it is followed."""
        if action_id == "pane.pause":
            return self.is_following
        return self.can_follow and not self.is_following and self.shell.live.is_being_written(self.area)

    def retranslate(self) -> None:
        """Build every visible text again: the language has changed."""
        self.refresh()

    # ---- services ----

    @property
    def shell(self) -> NpulseApp:
        """The app, with its services: notices, clipboard, marks, language."""
        return cast("NpulseApp", self.app)

    @property
    def round(self) -> Round | None:
        """The round that is shown."""
        if self.run is None or not 0 <= self.round_index < len(self.run.rounds):
            return None
        return self.run.rounds[self.round_index]

    def where_text(self) -> str:
        """What was looked into, where nothing was found: the run, and its round where it has several."""
        path = str(self.run.path) if self.run is not None else ""
        if self.run is None or self.round is None or len(self.run.rounds) < 2 or not self.round.name:
            return path
        return self.tr("run.where-round", path=path, round=self.round.name)

    def tr(self, text_id: str, **values: Any) -> str:
        """A text in the language of the moment."""
        return tr(text_id, self.shell.lang, **values)

    def change_view(self, **changes: Any) -> None:
        """Show the rows otherwise; the state before can be undone. No change, no step."""
        changed = replace(self.view, **changes)
        if changed == self.view:
            return
        self._undo = [*self._undo[-MAX_UNDO + 1 :], self.view]
        self._show_view(changed)

    def load_marks(self, marks: dict[str, str]) -> None:
        """Take over the stored marks of the run; no step to undo, and no undo takes them back."""
        before = dict(self.view.marks)
        if before == marks:
            return
        self._undo = [_with_marks(view, before, marks) for view in self._undo]
        self.view = replace(self.view, marks=tuple(marks.items()))

    def _show_view(self, view: ViewState) -> None:
        if view.marks != self.view.marks:
            self.shell.keep_marks(dict(view.marks))
        self.view = view

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        if error := failure_of(event):
            self.post_message(WorkFailed(error))

    # ---- actions ----

    def action_next_finding(self, step: int) -> None:
        report = self.report()
        if report is None or not report.findings:
            self.shell.notice("pane.no-findings")
            return
        n_findings = len(report.findings)
        start = self._finding_index if self._finding_index >= 0 or step > 0 else 0
        self._finding_index = (start + step) % n_findings
        finding = report.findings[self._finding_index]
        if n_findings == 1 and self.is_at(finding):
            self.shell.notice("pane.only-finding")
        else:
            self._show_finding(finding)

    def action_origin(self) -> None:
        """To the first origin, or from one to the next."""
        report = self.report()
        findings = report.findings if report is not None else ()
        origins = [index for index, finding in enumerate(findings) if finding.role == "origin"]
        if not origins:
            self.shell.notice("pane.no-origin")
            return
        here = self._finding_index
        follows = here in origins and self.is_at(findings[here])
        place = (origins.index(here) + 1) % len(origins) if follows else 0
        self._finding_index = origins[place]
        if self._show_finding(findings[origins[place]]) and len(origins) > 1:
            self.shell.notice("pane.origin-of", i=place + 1, n=len(origins))

    def _show_finding(self, finding: Finding) -> bool:
        """Put the cursor on a finding; where no row stands for it (False), say what it says."""
        if self.go_to(finding):
            return True
        self.shell.notice("pane.finding", subject=finding.subject, message=finding.message)
        return False

    def action_where_from(self) -> None:
        lines = self.where_lines()
        if lines:
            self.shell.show_lines("where.title", lines)
        else:
            self._nothing("pane.where")

    def action_mark(self) -> None:
        subject = self.subject()
        if subject is None:
            self._nothing("pane.mark")
            return
        marks = dict(self.view.marks)
        if subject in marks:
            del marks[subject]
        else:
            marks[subject] = ""
        self.change_view(marks=tuple(marks.items()))

    def action_note(self) -> None:
        subject = self.subject()
        if subject is None:
            self._nothing("pane.note")
            return
        self.shell.ask_note(subject, dict(self.view.marks).get(subject, ""), self._take_note)

    def _take_note(self, subject: str, note: str) -> None:
        self.change_view(marks=tuple({**dict(self.view.marks), subject: note}.items()))

    def action_copy_finding(self) -> None:
        finding = self.finding()
        if finding is None:
            self._nothing("pane.copy")
        else:
            self.shell.copy(finding_text(finding, self.main_figures(finding)))

    def action_edit(self) -> None:
        place = self.place()
        if place is None:
            self._nothing("pane.edit")
        else:
            self.shell.edit(*place)

    def action_undo(self) -> None:
        if not self._undo:
            self.shell.notice("pane.nothing-to-undo")
            return
        self._show_view(self._undo.pop())

    def action_focus_part(self, step: int) -> None:
        if step > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()

    def action_filter(self) -> None:
        self._nothing("pane.filter")

    def action_sort_column(self) -> None:
        self._nothing("table.sort")

    def action_reverse_sort(self) -> None:
        self._nothing("table.reverse")

    def action_choose_columns(self) -> None:
        self._nothing("table.columns")

    def action_find_column(self) -> None:
        self._nothing("table.find-column")

    def action_export(self) -> None:
        self._missing("pane.export")

    def action_compare(self) -> None:
        self._missing("pane.compare")

    def action_follow(self) -> None:
        if not self.can_follow:
            self.shell.notice("live.not-here", severity="warning")
        elif self.run is None:
            self.shell.notice("run.none")
        elif self.is_following:
            self.end_following()
            self.shell.live.pane_changed(self)
            self.shell.notice("live.ended")
        else:
            self.begin_following()
            self.shell.live.pane_changed(self)
            self.shell.notice("live.begun")

    def action_pause(self) -> None:
        self.shell.notice("live.not-following", key=show_keys(self.shell.keys.get("pane.follow", ())[:1]))

    def action_show_recorded(self) -> None:
        self.shell.live.show_recorded(self.rows_by_rank())

    def rows_by_rank(self) -> Mapping[int | None, int]:
        """How many of the rows that are shown each rank has; {} where rows name none."""
        return {}

    def _nothing(self, action_id: str) -> None:
        self.shell.notice_nothing(action_id)

    def _missing(self, action_id: str) -> None:
        self.shell.notice(NOT_BUILT[action_id], severity="warning")


def _with_marks(view: ViewState, before: dict[str, str], after: dict[str, str]) -> ViewState:
    """An earlier view with the marks that others changed meanwhile."""
    marks = {subject: note for subject, note in view.marks if subject in after or subject not in before}
    marks |= {subject: note for subject, note in after.items() if before.get(subject) != note}
    return replace(view, marks=tuple(marks.items()))


def location_lines(finding: Finding) -> list[str]:
    """A finding's location, one fact a line, safe to show; only what is known."""
    location = finding.location
    facts = (
        ("file", location.artifact),
        ("rank", location.rank),
        ("step", location.step),
        ("row", location.row),
        ("line", location.line),
        ("byte", location.byte),
    )
    return [f"{name:<6}{safe_text(str(value))}" for name, value in facts if value is not None]


def finding_text(finding: Finding, figures: Sequence[tuple[str, str]]) -> str:
    """A finding as plain text for a chat or an issue, with the figures that speak for it."""
    lines = [
        f"{' '.join(filter(None, (finding.severity, finding.rule)))} ({finding.role}): {finding.subject}",
        finding.message,
        *(f"{name}: {value}" for name, value in figures),
        *finding.told,
        *(f"{related.role}: {related.subject}" for related in finding.related),
        *location_lines(finding),
    ]
    if finding.next_step:
        lines.append(f"next: {finding.next_step}")
    return "\n".join(safe_text(line) for line in lines if line)
