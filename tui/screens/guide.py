"""The triage guide: symptoms with their steps; Enter opens the capture filled in, or the pane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import work
from textual.binding import BindingType
from textual.message import Message
from textual.worker import get_current_worker

from npulse.core.guide import FIRST, NOTHING_KNOWN, SYMPTOMS, Step, advice_of, facts_of_run
from npulse.core.guide.lines import facts_line, label, labelled

from ..actions import PANES, bindings_for
from .page import ListPage
from .rows import Row, RowList

if TYPE_CHECKING:
    from npulse.core.guide import Facts, Symptom

_TITLE_CELLS = 48
_PANE_NAMES = {pane: names for pane, *names in PANES}


class FactsRead(Message):
    """The newest manifest was read."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self.facts = facts


class GuidePage(ListPage):
    """One heading a symptom, below it the steps in order; the detail has the command and what it needs."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("help")]

    def __init__(self) -> None:
        super().__init__()
        self._facts = NOTHING_KNOWN

    async def begin(self) -> None:
        self.call_after_refresh(self._go_to_symptom)  # a list without a height would scroll for it
        self._read_facts()

    def _go_to_symptom(self) -> None:
        """The cursor begins at the symptom that the pane left behind is about."""
        area = self.shell.pane.area if self.shell.pane is not None else ""
        rows = self.query_one(RowList)
        title = next((one.title for one in SYMPTOMS if one.pane == area), ("", ""))
        rows.cursor = next((i for i, row in enumerate(rows.rows) if row.text in title), 0)

    @work(thread=True, exclusive=True, group="guide", exit_on_error=False, description="guide")
    def _read_facts(self) -> None:
        facts = facts_of_run(self.shell.opened)
        if not get_current_worker().is_cancelled:
            self.post_message(FactsRead(facts))

    def on_facts_read(self, message: FactsRead) -> None:
        self._facts = message.facts
        self.retranslate()

    def action_show_guide(self) -> None:
        self.shell.action_show_guide()

    def action_search_codes(self) -> None:
        self.shell.action_search_codes()

    # ---- rows ----

    def title_text(self) -> str:
        return self.tr("guide.title", facts=facts_line(self._facts, self.shell.lang))

    def make_rows(self) -> Sequence[Row]:
        rows = [Row(label("first", self.shell.lang))]
        rows += [self._step_row(" ", step) for step in FIRST]
        for symptom in SYMPTOMS:
            rows.append(self._heading(symptom))
            rows += [self._step_row(str(n), step) for n, step in enumerate(symptom.steps, 1)]
        return rows

    def _heading(self, symptom: Symptom) -> Row:
        at = self.shell.lang == "zh"
        smaller = f"{labelled('smaller', self.shell.lang)}{symptom.smaller[at]}"
        return Row(symptom.title[at], detail=f"{symptom.seen[at]}\n{smaller}")

    def _step_row(self, number: str, step: Step) -> Row:
        title = step.title[self.shell.lang == "zh"]
        advice = advice_of(step, self._facts)
        by = step.fields.get("tool") or " ".join(advice.command.split()[:2])
        text = f"  {number} {title}" + " " * max(2, _TITLE_CELLS - cell_len(title)) + by
        return Row(text, value=step, detail="\n".join(self._detail(step, advice.command)))

    def _detail(self, step: Step, command: str) -> Iterator[str]:
        at = self.shell.lang == "zh"
        yield command
        yield step.why[at]
        if step.needs[at]:
            yield f"{labelled('needs', self.shell.lang)}{step.needs[at]}"
        if step.kind is not None:
            yield self.tr("guide.read")
        elif step.pane:
            yield self.tr("guide.pane", pane=_PANE_NAMES[step.pane][at])
        else:
            yield self.tr("guide.copy")

    # ---- Enter ----

    def take(self, row: Row) -> None:
        step: Step = row.value
        advice = advice_of(step, self._facts)
        if advice.fields:
            self.shell.show_capture(advice.fields)
        elif step.pane:
            self.shell.call_later(self.shell.action_show_pane, step.pane)
        else:
            self.shell.copy(advice.command)
