"""The pairing view with the user's own word: calls marked, paired, taken apart, kept as a mapping file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work
from textual.binding import BindingType

from npulse.core.errors import InputError
from npulse.core.precision.by_hand import HandPair, with_hand_pairs

from ...actions import bindings_for
from ...screens.line import LinePage
from .pairing_lines import Left, PairingLines

if TYPE_CHECKING:
    from npulse.core.precision.comparison import Comparison, RankComparison
    from npulse.core.precision.pairing import Pairing


FILE_NAME = "npulse-mapping.yaml"


class PairingPage(PairingLines):
    """What is paired here is judged once the page is left: the comparison is made again with it.

    pairs: what the user said before.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_for("pairing")]

    def __init__(
        self,
        comparison: Comparison,
        rank: RankComparison,
        row: int | None = None,
        pairs: tuple[HandPair, ...] = (),
    ) -> None:
        super().__init__(comparison, rank, row)
        self._before = pairs
        self._new: tuple[tuple[HandPair, ...], ...] = ()
        """What each step said that can be undone."""
        self._is_forgotten = False
        self._target: tuple[int, ...] = ()
        self._golden: tuple[int, ...] = ()

    @property
    def pairs(self) -> tuple[HandPair, ...]:
        """All that is to hold."""
        before = () if self._is_forgotten else self._before
        return before + tuple(pair for step in self._new for pair in step)

    @property
    def is_changed(self) -> bool:
        """Whether the comparison has to be made again."""
        return self.pairs != self._before

    def pairing(self) -> Pairing | None:
        new = [pair for step in self._new for pair in step]
        rank = self.rank
        return with_hand_pairs(rank.rows.pairing, rank.target, rank.golden, new) if new else None

    def marks(self) -> tuple[frozenset[int], frozenset[int]]:
        return frozenset(self._target), frozenset(self._golden)

    def state_parts(self) -> list[str]:
        parts = []
        if self._target or self._golden:
            parts.append(self.tr("pairing.marked", target=len(self._target), golden=len(self._golden)))
        if self.pairs:
            parts.append(self.tr("pairing.by-hand", n=len(self.pairs)))
        if self.is_changed:
            parts.append(self.tr("pairing.judged-later"))
        return parts

    def in_footer(self, action_id: str) -> bool:
        if action_id == "pairing.pair":
            return bool(self._target or self._golden)
        if action_id == "pairing.undo":
            return bool(self._new)
        if action_id == "pairing.keep":
            return bool(self.pairs)
        return super().in_footer(action_id)

    def dismiss(self, result: Any = None) -> Any:
        left = result or Left()
        return super().dismiss(Left(left.row, self.pairs if self.is_changed else None))

    # ---- keys ----

    def action_mark_target(self) -> None:
        """Mark the target's call under the cursor, or not any more."""
        self._target = self._marked(self._target, is_target=True)

    def action_mark_golden(self) -> None:
        """Mark the golden side's call under the cursor, or not any more."""
        self._golden = self._marked(self._golden, is_target=False)

    def _marked(self, marked: tuple[int, ...], *, is_target: bool) -> tuple[int, ...]:
        call = self._call_here(is_target=is_target)
        if call < 0:
            self.shell.notice("pairing.no-target" if is_target else "pairing.no-golden", severity="warning")
            return marked
        changed = tuple(c for c in marked if c != call) if call in marked else (*marked, call)
        self.call_after_refresh(self._show_marks)
        return tuple(sorted(changed))

    def _show_marks(self) -> None:
        self._show()
        self.refresh_footer()

    def _call_here(self, *, is_target: bool) -> int:
        """The call row of one side under the cursor, -1 where there is none."""
        rows, line = self.rows, self.line
        if rows is None or line is None:
            return -1
        return int((rows.target if is_target else rows.golden)[line])

    def action_pair_marked(self) -> None:
        """Pair what is marked; of a side without marks, the call under the cursor."""
        sides = []
        for marked, is_target in ((self._target, True), (self._golden, False)):
            here = self._call_here(is_target=is_target)
            sides.append(marked or ((here,) if here >= 0 else ()))
        if not (self._target or self._golden) or not all(sides):
            self.shell.notice("pairing.mark-first", severity="warning", **self._mark_keys())
            return
        self._say((HandPair(self._names(sides[0], True), self._names(sides[1], False)),))

    def _mark_keys(self) -> dict[str, str]:
        return {name: self.key_of(f"pairing.{name}") for name in ("target", "golden")}

    def _names(self, calls: tuple[int, ...], is_target: bool) -> tuple[str, ...]:
        names = (self.rank.target if is_target else self.rank.golden).calls.names
        return tuple(names[call] for call in calls)

    def action_take_apart(self) -> None:
        """The calls of the pair or group under the cursor stand alone."""
        rows, line = self.rows, self.line
        if rows is None or line is None:
            return
        here = rows.call == rows.call[line]
        target = tuple(rows.target[here & (rows.target >= 0)].tolist())
        golden = tuple(rows.golden[here & (rows.golden >= 0)].tolist())
        if not target or not golden:
            self.shell.notice("pairing.is-alone")
            return
        self._say((HandPair(self._names(target, True), ()), HandPair((), self._names(golden, False))))

    def action_undo_pair(self) -> None:
        """Take back the last step of this page."""
        if not self._new:
            self.shell.notice("pane.nothing-to-undo")
            return
        self._new = self._new[:-1]
        self._changed()

    def action_forget_pairs(self) -> None:
        """Nothing is paired by hand any more."""
        if not self.pairs:
            self.shell.notice("pairing.none-by-hand")
            return
        self._new, self._is_forgotten = (), True
        self._changed()

    def action_keep_mapping(self) -> None:
        """Ask where to write the pairs to."""
        if not self.pairs:
            self.shell.notice("pairing.none-by-hand")
            return
        page = LinePage("pairing.keep-title", str(self._suggested()), self.tr("pairing.keep-detail"))
        self.shell.push_screen(page, self._keep)

    @property
    def _runs(self) -> tuple[Path, ...]:
        return self.comparison.pair.target_root, self.comparison.pair.golden_root

    def _suggested(self) -> Path:
        """In the current folder; in the state folder where that belongs to what is looked at."""
        here = Path.cwd()
        if any(here.is_relative_to(run.resolve()) for run in self._runs):
            here = self.shell.store.folder
        return here / FILE_NAME

    def _keep(self, path: str | None) -> None:
        if path:
            self._write(Path(path).expanduser())

    @work(thread=True, exclusive=True, group="keep", exit_on_error=False, description="keep")
    def _write(self, path: Path) -> None:
        from npulse.core.files import write_whole
        from npulse.core.precision.by_hand.mapping_file import mapping_lines
        from npulse.core.report.write import refuse_inside

        new = [pair for step in self._new for pair in step]
        try:
            refuse_inside(path, self._runs)
            write_whole(mapping_lines(self.comparison.ranks, self.pairs, new), path, force=False)
        except FileExistsError:
            self.app.call_from_thread(self.shell.notice, "pairing.exists", path=str(path))
        except InputError as error:
            self.app.call_from_thread(self.shell.show_failure, error)
        else:
            self.app.call_from_thread(self.shell.notice, "pairing.kept", path=str(path))

    def _say(self, said: tuple[HandPair, ...]) -> None:
        self._new = (*self._new, said)
        self._changed()

    def _changed(self) -> None:
        self._target = self._golden = ()
        self.make_rows()
