"""A capture to be made: its fields, what would run, what the preflight says of it; Enter twice starts it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static
from textual.worker import Worker, get_current_worker

from npulse.core.capture.drivers import driver_of
from npulse.core.capture.request import CaptureRequest
from npulse.core.errors import NpulseError
from npulse.core.text import Lang, safe_text

from ..actions import bindings_for
from ..capture_form import (
    BY_ID,
    FIELDS,
    FieldError,
    is_forced,
    next_choice,
    request_from,
    usual_archive,
    usual_values,
    with_fitting_tool,
)
from ..capture_text import finding_lines, folded, plan_lines
from ..crash import describe_error, failure_of
from .entry import Entry
from .page import Page
from .rows import Row, RowList

if TYPE_CHECKING:
    from npulse.core.findings import Finding

    from ..capture_job import CaptureJob  # noqa: F401  (named in the base class)

PLAN_PAUSE_S = 0.3
START = "start"
_WALK = ("pane.focus-next", "pane.focus-previous")


@dataclass(frozen=True, slots=True)
class Outlook:
    """lines: what would run. findings: of the preflight, None before it."""

    request: CaptureRequest
    lines: tuple[str, ...]
    findings: tuple[Finding, ...] | None = None


class CapturePage(Page["CaptureJob | None"]):
    """Dismisses with the capture that was started, or with None."""

    AUTO_FOCUS = "#capture-command"
    BINDINGS: ClassVar[list[BindingType]] = [
        # before the field sees them: what is typed ahead belongs to the field behind the tab
        *(replace(b, priority=True) for b in bindings_for("pane") if b.id in _WALK),
        *bindings_for("pick"),
    ]
    SCOPED_CSS = False
    DEFAULT_CSS = """
    CapturePage #fields { layout: grid; grid-size: 4; grid-columns: 14 1fr 14 1fr; grid-rows: 1; }
    CapturePage #command-line { layout: grid; grid-size: 2; grid-columns: 14 1fr; grid-rows: 1; }
    CapturePage #fields { height: 10; padding: 0 1; }
    CapturePage #command-line { height: 1; padding: 0 1; }
    CapturePage Entry { padding: 0; }
    CapturePage #detail { text-style: dim; }
    CapturePage RowList { border-top: solid $panel; }
    """

    class Planned(Message):
        """What the fields of a moment would do; error: why they cannot."""

        def __init__(self, version: int, outlook: Outlook | None, error: BaseException | None) -> None:
            super().__init__()
            self.version = version
            self.outlook = outlook
            self.error = error

        @property
        def findings(self) -> tuple[Finding, ...] | None:
            """Of the preflight; None before it."""
            return self.outlook.findings if self.outlook is not None else None

    def __init__(self, kind: str, fields: Mapping[str, str] | None = None) -> None:
        """fields: filled in for the user; then only program and archive are as they were typed last."""
        super().__init__()
        self._kind = kind
        self._filled_in = fields
        self._version = 0
        """Counts changes of the fields: what was planned before the last one is dropped."""
        self._timer: Timer | None = None
        self._planned: CapturePage.Planned | None = None

    # ---- composing ----

    def compose_body(self) -> ComposeResult:
        values = self._first_values()
        yield Static(id="title", markup=False)
        with Container(id="command-line"):
            yield Static(id="label-command", markup=False)
            yield Entry(values["command"], id="capture-command")
        with Container(id="fields"):
            for spec in FIELDS[1:]:
                yield Static(id=f"label-{spec.id}", markup=False)
                yield Entry(values[spec.id], id=f"capture-{spec.id}")
        yield Static(id="detail", markup=False)
        yield RowList()

    def _first_values(self) -> dict[str, str]:
        """What was typed for this run the last time; the kind is that of the pane that was left."""
        shell = self.shell
        archive = usual_archive(shell.opened, Path.cwd())
        kept = shell.store.fields(shell.run_path or str(archive))
        if self._filled_in is not None:
            kept = {n: v for n, v in kept.items() if n in ("command", "archive")} | dict(self._filled_in)
        values = {**usual_values(self._kind, archive), **{n: v for n, v in kept.items() if n in BY_ID}}
        values |= {"force": "no"}  # never by accident
        if self._kind:
            values["kind"] = self._kind
        return with_fitting_tool(values)

    async def begin(self) -> None:
        self._plan_soon()

    def retranslate(self) -> None:
        super().retranslate()
        self.query_one("#title", Static).update(self.tr("capture.title"))
        for spec in FIELDS:
            self.query_one(f"#label-{spec.id}", Static).update(self.tr(spec.label_id))
        self._show_hint()
        self._show_planned()
        if self._planned is not None:
            self._plan_soon()  # the core's words are those of the language before

    # ---- fields ----

    def values(self) -> dict[str, str]:
        """What the fields hold."""
        return {spec.id: self.query_one(f"#capture-{spec.id}", Entry).value for spec in FIELDS}

    @property
    def _field(self) -> str:
        """The field that is typed in; "" while the list has the keys."""
        focused = self.focused
        return (focused.id or "").removeprefix("capture-") if isinstance(focused, Entry) else ""

    def on_descendant_focus(self) -> None:
        self._show_hint()

    def _show_hint(self) -> None:
        """What the field means and what it can be; of a row its whole text."""
        if not self.query("#detail"):
            return
        text = ""
        if self._field:
            spec = BY_ID[self._field]
            text = self.tr(spec.hint_id)
            choices = spec.choices(self.values())
            if choices:
                text = f"{text}\n{self.tr('capture.choices', known=', '.join(choices))}"
        elif (row := self.query_one(RowList).current) is not None:
            text = row.text
        self.query_one("#detail", Static).update(self.plain(text.replace("\n", "  ")), layout=False)

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        if not self._field:
            self._show_hint()

    def action_pick(self, step: int) -> None:
        """The next thing that the field can be."""
        if not self._field:
            return
        chosen = next_choice(BY_ID[self._field], self.values(), 1 if step > 0 else -1)
        if chosen is not None:
            entry = self.query_one(f"#capture-{self._field}", Entry)
            entry.value = chosen
            entry.action_end()

    def action_focus_part(self, step: int) -> None:
        if step > 0:
            self.focus_next()
        else:
            self.focus_previous()

    @on(Entry.Changed)
    def _changed(self, event: Entry.Changed) -> None:
        event.stop()
        self._version += 1
        if event.input.id == "capture-kind":
            tool = with_fitting_tool(self.values())["tool"]
            self.query_one("#capture-tool", Entry).value = tool
        self._plan_soon()

    # ---- what would run ----

    def _plan_soon(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(PLAN_PAUSE_S, lambda: self._plan(is_checked=False))

    def on_input_submitted(self) -> None:
        """Enter in a field: look around, then the list has the keys; Enter there starts."""
        if self._timer is not None:
            self._timer.stop()
        self.query_one("#detail", Static).update(self.tr("capture.checking"), layout=False)
        self._plan(is_checked=True)

    def _plan(self, *, is_checked: bool) -> None:
        self._work_out(self._version, self.values(), is_checked)

    @work(thread=True, exclusive=True, group="capture-plan", exit_on_error=False, description="plan")
    def _work_out(self, version: int, values: Mapping[str, str], is_checked: bool) -> None:
        outlook, error = None, None
        try:
            outlook = outlook_of(values, self.shell.lang, is_checked=is_checked)
        except NpulseError as caught:
            error = caught
        if not get_current_worker().is_cancelled:
            self.post_message(self.Planned(version, outlook, error))

    @on(Planned)
    def _take_planned(self, message: Planned) -> None:
        if message.version != self._version:
            return
        self._planned = message
        self._show_planned()
        error = message.error
        if isinstance(error, FieldError) and message.findings is None:
            self._show_hint()
        if message.findings is not None:
            self.query_one(RowList).cursor = 0
            self.query_one(RowList).focus()

    def _show_planned(self) -> None:
        if self._planned is None or not self.query(RowList):
            return
        self.query_one(RowList).rows = [Row(line, value, line) for line, value in self._lines(self._planned)]
        self.refresh_footer()

    def _lines(self, planned: Planned) -> Sequence[tuple[str, str | None]]:
        """(line, what Enter does there): how it stands first, then the checks, then what would run."""
        lines: list[tuple[str, str | None]] = []
        if planned.error is not None:
            lines.append((self._error_text(planned.error), None))
        if planned.findings is None:
            if planned.error is None:
                lines.append((self.tr("capture.enter-checks"), None))
        else:
            n_errors = sum(finding.severity == "error" for finding in planned.findings)
            n_warnings = sum(finding.severity == "warning" for finding in planned.findings)
            is_held = bool(n_errors) and not is_forced(self.values())
            key = "capture.held-back" if is_held else "capture.enter-starts"
            lines.append((self.tr(key, n=n_errors, n_warnings=n_warnings), None if is_held else START))
            checks = finding_lines(planned.findings, self.shell.glyphs, self.tr)
            lines += [(line, START) for line in checks]
        if planned.outlook is not None:
            lines.append((self.tr("capture.plan"), None))
            lines += [(line, START) for line in folded(planned.outlook.lines, self.tr) if line]
        return [(self.plain(line), value) for line, value in lines]

    def _error_text(self, error: BaseException) -> str:
        mark = self.shell.glyphs.severity("error")
        if isinstance(error, FieldError):
            field = self.tr(BY_ID[error.field].label_id)
            safe = {name: safe_text(str(value), 200) for name, value in error.values.items()}
            return f"{mark} {field}: {self.tr(error.text_id, **safe)}"
        message, hint = describe_error(error)
        return f"{mark} {message}" + (f"  {hint}" if hint else "")

    # ---- start ----

    def on_row_list_opened(self, event: RowList.Opened) -> None:
        planned = self._planned
        if planned is None or planned.outlook is None or planned.findings is None:
            self.on_input_submitted()
            return
        n_errors = sum(finding.severity == "error" for finding in planned.findings)
        if n_errors and not is_forced(self.values()):
            self.shell.notice("capture.held-back", severity="warning", n=n_errors, n_warnings=0)
            return
        self.dismiss(self.shell.begin_capture(planned.outlook.request, is_forced(self.values())))

    def dismiss(self, result: Any = None) -> Any:
        """What was typed is there again the next time, however the page is left."""
        if self.is_mounted:
            self._keep_values()
        return super().dismiss(result)

    def _keep_values(self) -> None:
        values = self.values()
        archive = usual_archive(self.shell.opened, Path.cwd())
        self.shell.store.keep_fields(self.shell.run_path or str(archive), values)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """The fields stay whatever becomes of a plan: the next change makes another one."""
        event.prevent_default()  # the page's own way to take it is to close
        if error := failure_of(event):
            self.shell.show_failure(error)


def outlook_of(values: Mapping[str, str], lang: Lang, *, is_checked: bool) -> Outlook:
    """What the fields mean and what would run; with the preflight if it is asked for.

    Touches nothing. UsageError, FieldError, EnvironmentLacks.
    """
    request = request_from(values, cwd=Path.cwd(), environment=os.environ, lang=lang)
    driver = driver_of(request.kind, request.tool)
    if is_checked:
        from npulse.core.capture.session import prepare

        prepared = prepare(request, driver)
        lines = plan_lines(request, driver, prepared.folder, prepared.plan, lang)
        return Outlook(request, lines, prepared.findings)
    from npulse.core.capture.archive import planned_folder

    driver.check(request)
    folder = planned_folder(request.archive, request.kind, request.name, time.time())
    return Outlook(request, plan_lines(request, driver, folder, driver.plan(request, folder), lang))
