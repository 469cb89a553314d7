"""The precision pane: which two captures, how to compare them, and what opens from a row."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.binding import BindingType

from npulse.core.precision.table import table_row
from npulse.core.precision.view import SUBJECT, PrecisionView
from npulse.core.text import Lang, safe_text

from ...actions import BY_ID, bindings_for
from ...keymap import show_keys
from ...screens.choice import ChoicePage
from ...widgets.virtual_table import ColumnSpec, VirtualTable
from ..table_pane import TablePane
from .columns import HIDDEN_AT_FIRST, heading, specs
from .jobs import (
    Alone,
    Choice,
    Kept,
    capture_choices,
    compare_round,
    pairs_of,
    results_of,
    rounds_with_pairs,
    settings_of,
)
from .pages import ModulesPage
from .summary import alone_lines, shown_lines, so_far_text
from .theirs import theirs_lines, theirs_specs

if TYPE_CHECKING:
    from npulse.core.precision.comparison import RankComparison, Settings
    from npulse.core.precision.theirs.view import TheirsView
    from npulse.core.run.model import Round, Run
    from npulse.core.table import Order, Table

    from ..job_pane import Job
    from .pairing_lines import Left


_OTHERS, _THEIRS = -1, -2
"""What else can be chosen than a pair: two captures by name, results that other tools computed."""


class PrecisionPane(TablePane["PrecisionView | TheirsView"]):
    """Rows of both captures side by side, the origin first."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("precision")]
    subject_column = SUBJECT
    hidden_at_first = HIDDEN_AT_FIRST
    key_columns = ("rank", "step", "operator", "io")
    export_name = "npulse-precision.csv"
    footer_early = (
        *("pane.origin", "precision.members", "precision.pairing", "precision.ranks"),
        *("precision.recheck", "pane.filter"),
    )

    def __init__(self, area: str = "precision", settings: Settings | None = None) -> None:
        super().__init__(area)
        self.settings = settings
        self._has_told_of_cache = False
        self._choice = Choice()
        self._kept = Kept(self._hand_pairs)

    def _hand_pairs(self, captures: str) -> object:
        return self.shell.store.hand_pairs(captures)

    # ---- what is compared ----

    def make_job(self, run: Run, round_: Round) -> Job:
        return partial(
            compare_round,
            run,
            round_.name,
            settings=self.settings,
            choice=self._choice,
            tails=self.tails,
            kept=self._kept,
        )

    def kept_as(self, run: Run, round_: Round) -> object | None:
        from npulse.core.precision.comparison import AS_USUAL

        settings = self.settings or AS_USUAL
        is_usual = replace(settings, jobs=0, cluster=None, cache=None) == AS_USUAL
        return (round_.name, self._choice) if is_usual else None

    def is_as_asked(self, made: Any) -> bool:
        """What was paired by hand may have changed since."""
        if not isinstance(made, PrecisionView):
            return True
        return self._kept.by_hand(made.comparison.pair, made.root) == made.by_hand

    def take(self, made: Any) -> None:
        super().take(made)
        cache = self.settings.cache if self.settings is not None else None
        if cache is not None and cache.trouble and not self._has_told_of_cache:
            self._has_told_of_cache = True
            self.shell.notice("cache.trouble", severity="warning", why=cache.trouble)

    def forget_choices(self) -> None:
        super().forget_choices()
        self._choice = Choice()
        self._kept = Kept(self._hand_pairs)

    def busy_text(self) -> str:
        return self.tr("precision.reading")

    def has_rows_to_come(self, view: PrecisionView | TheirsView) -> bool:
        return isinstance(view, PrecisionView) and view.comparison.n_awaited > 0

    def show_arranged(self, made: Any, order: Order | None, trouble: str) -> None:
        """An origin that was not known before is gone to where nobody has looked elsewhere."""
        was_so_far = self.shown is not None and self.has_rows_to_come(self.shown)
        super().show_arranged(made, order, trouble)
        if was_so_far and self.table.current_row == 0 and not self.view.sort:
            self._start_at_first_finding()

    def more_text(self) -> str:
        if self.compared is not None and self.compared.comparison.n_awaited:
            return so_far_text(self.compared, self.tr)
        return self.tr("precision.closer")

    def cancelled_text(self) -> str:
        return self.tr("precision.cancelled")

    def action_choose_pair(self) -> None:
        """Another pair of this round, where it has several; else the two captures, one after the other."""
        if self.run is None or not self._can_choose():
            self.shell.notice("choice.none", severity="warning")
            return
        round_name = self.round.name if self.round is not None else ""
        pairs, results = pairs_of(self.run, round_name), results_of(self.run, round_name)
        if len(pairs) < 2 and not (pairs and results):
            self._ask_target()
            return
        named = [
            (self.tr("captures.pair", i=i + 1, target=pair.target_name, golden=pair.golden_name), i)
            for i, pair in enumerate(pairs)
        ]
        theirs = [(self.tr("captures.theirs", names=safe_text(results)), _THEIRS)] if results else []
        choices = [*named, *theirs, (self.tr("captures.other-pair"), _OTHERS)]
        self.shell.push_screen(ChoicePage("captures.which-pair", choices), self._take_pair)

    def _take_pair(self, index: int | None) -> None:
        if index == _OTHERS:
            self._ask_target()
        elif index == _THEIRS:
            self._compare(Choice(is_theirs=True))
        elif index is not None:
            self._compare(Choice(pair_index=index))

    def _ask_target(self) -> None:
        choices = capture_choices(self.run) if self.run is not None else []

        def take(target: Path | None) -> None:
            if target is not None:
                self._ask_golden(target, [choice for choice in choices if choice[1] != target])

        self.shell.push_screen(ChoicePage("captures.target", choices), take)

    def _ask_golden(self, target: Path, others: list[tuple[str, Path]]) -> None:
        alone = (self.tr("captures.no-golden"), None)
        choices = [(name, Choice(target=target, golden=path)) for name, path in (*others, alone)]
        self.shell.push_screen(ChoicePage("captures.golden", choices), self._compare)

    def _compare(self, choice: Choice | None) -> None:
        if choice is not None:
            self._choice = choice
            self.start_again()

    def _can_choose(self) -> bool:
        return self.run is not None and len(capture_choices(self.run)) > 1

    # ---- how it looks ----

    def specs(self, table: Table) -> tuple[ColumnSpec, ...]:
        if table.name == "theirs":
            return theirs_specs(table, self.view.hidden, self.shell.glyphs, self.shell.lang)
        return specs(table, self.view.hidden, self.shell.glyphs, self.shell.lang)

    def heading(self, name: str, lang: Lang) -> str:
        return heading(name, lang)

    def shown_lines(self, view: PrecisionView | TheirsView) -> list[str]:
        width = self.size.width - 2
        if not isinstance(view, PrecisionView):
            return theirs_lines(view, self.tr, self.shell.glyphs, width)
        keys = self._pair_key, self.key_of("precision.pairing")
        return shown_lines(view, self.tr, self.shell.glyphs, self.shell.lang, width, *keys)

    def instead_lines(self, instead: Alone) -> list[str]:
        path = self.where_text()
        return alone_lines(instead, path, self.tr, self._pair_key)

    @property
    def _pair_key(self) -> str:
        """The key that lets the user choose what is compared."""
        return show_keys(self.shell.keys.get("precision.pair", ()))

    def strip_caption(self) -> str:
        return self.tr("precision.strip")

    @property
    def compared(self) -> PrecisionView | None:
        """The comparison that is shown; None where results of other tools are, or nothing."""
        return self.shown if isinstance(self.shown, PrecisionView) else None

    def can_open(self, view: PrecisionView | TheirsView) -> bool:
        return isinstance(view, PrecisionView) and view.can_have_elements

    def in_footer(self, action_id: str) -> bool:
        if action_id == "precision.pair":
            return self._can_choose()
        if action_id == "precision.members":
            return self._is_in_group()
        if action_id == "precision.ranks":
            return self.compared is not None and len(self.compared.comparison.ranks) > 1
        if action_id in ("precision.pairing", "precision.recheck", "precision.modules"):
            return self.compared is not None
        if action_id == "precision.stack":
            return self.compared is not None and self.compared.can_have_stacks
        return super().in_footer(action_id)

    def _is_in_group(self) -> bool:
        """Whether the row under the cursor stands for several calls of a side."""
        if self.compared is None or self.row is None:
            return False
        rank, inner = self.compared.at(self.row)
        pairing = rank.rows.pairing
        return pairing.group_of(int(pairing.row_call[inner])) is not None

    # ---- what opens from a row ----

    @on(VirtualTable.RowOpened)
    def _row_opened(self, message: VirtualTable.RowOpened) -> None:
        from .elements import ElementsPage

        if self.compared is None:
            return
        if self.compared.has_elements(message.row):
            self.shell.push_screen(ElementsPage(self.compared.comparison, *self.compared.at(message.row)))
        else:
            self.shell.notice("precision.no-elements", severity="warning")

    def _nothing(self, action_id: str) -> None:
        if self.shown is None or self.compared is not None or not action_id.startswith("precision."):
            super()._nothing(action_id)
        else:
            help_text = BY_ID[action_id].help(self.shell.lang)
            self.shell.notice("precision.theirs-only", action=help_text)

    def action_show_stack(self) -> None:
        if self.compared is None or self.row is None:
            self._nothing("precision.stack")
        else:
            self._load_stack(*self.compared.at(self.row))

    @work(thread=True, exclusive=True, group="stack", exit_on_error=False, description="stack")
    def _load_stack(self, rank: RankComparison, row: int) -> None:
        from npulse.core.precision.explain import stack_of

        self.app.call_from_thread(self._show_stack, stack_of(rank, row))

    def _show_stack(self, lines: list[str]) -> None:
        if lines:
            self.shell.show_lines("precision.stack-title", lines)
        else:
            self.shell.notice("precision.no-stack", severity="warning")

    def action_show_pairing(self) -> None:
        from .pairing_page import PairingPage

        view = self.compared
        if view is None or self.row is None:
            self._nothing("precision.pairing")
            return
        rank, inner = view.at(self.row)
        page = PairingPage(view.comparison, rank, inner, view.by_hand)
        self.shell.push_screen(page, partial(self._leave_pairing, view, rank))

    def _leave_pairing(self, view: PrecisionView, rank: RankComparison, left: Left | None) -> None:
        """Go to the row that was opened; where calls were paired by hand, keep that and compare again."""
        if left is None:
            return
        row = None if left.row is None else table_row(view.comparison, rank, left.row)
        if left.pairs is None:
            if self.compared is view:
                self.show_row(row)
            return
        from npulse.core.precision.by_hand import capture_key, pairs_to_json, run_key

        subject = None if row is None else str(view.table.column(SUBJECT).value(row))
        for name in (capture_key(view.comparison.pair), run_key(view.root)):
            self.shell.store.keep_hand_pairs(name, pairs_to_json(left.pairs))
        self.shell.notice("pairing.judging")
        self.start_again()
        if subject is not None:
            self.want(subject)

    def action_show_rank_matrix(self) -> None:
        from .ranks_page import RankPage

        if self.compared is None or self.row is None:
            self._nothing("precision.ranks")
            return
        comparison = self.compared.comparison
        rank, _ = self.compared.at(self.row)

        def go(row: int | None) -> None:
            if row is None or self.compared is None or self.compared.comparison is not comparison:
                return
            there, _ = self.compared.at(row)
            if there.rank is not None and len({one.rank for one in comparison.ranks}) > 1:
                self.change_view(filter=f"rank={there.rank}", sort=None, descending=False)
            self.show_row(row)

        self.shell.push_screen(RankPage(comparison, rank.step, self.row), go)

    def action_show_members(self) -> None:
        from .members_page import MembersPage

        view = self.compared
        if view is None or self.row is None:
            self._nothing("precision.members")
            return
        rank, inner = view.at(self.row)

        def go(row: int | None) -> None:
            if row is not None and self.compared is view:
                self.show_row(table_row(view.comparison, rank, row))

        page = MembersPage(rank, int(rank.rows.pairing.row_call[inner]), inner)
        self.shell.push_screen(page, go)

    def action_recheck_call(self) -> None:
        from .recheck_page import RecheckPage

        if self.compared is None or self.row is None:
            self._nothing("precision.recheck")
            return
        rank, inner = self.compared.at(self.row)
        call = int(rank.rows.pairing.row_call[inner])
        self.shell.push_screen(RecheckPage(self.compared.comparison, rank, call))

    def action_show_trend(self) -> None:
        from npulse.core.precision.comparison import Settings

        from .trend_page import TrendPage

        if self.run is None or len(rounds_with_pairs(self.run)) < 2:
            self.shell.notice("trend.one-round", severity="warning")
            return

        def go(found: tuple[str, str] | None) -> None:
            if found is None or self.compared is None:
                return
            kind, subject = found
            if kind == "operator":
                self.want(subject)
            elif not self.show_row(self.compared.row_of_layer(subject)):
                self.shell.notice("marks.not-here", subject=subject)

        settings, kept, root = self.settings or Settings(), self._kept, self.run.path
        page = TrendPage(self.run, lambda pair: settings_of(settings, kept.by_hand(pair, root)))
        self.shell.push_screen(page, go)

    def action_show_modules(self) -> None:
        if self.compared is None or self.row is None:
            self._nothing("precision.modules")
            return

        def go(row: Any) -> None:
            self.show_row(row)

        rank, _ = self.compared.at(self.row)
        self.shell.push_screen(ModulesPage(self.compared.comparison, rank), go)
