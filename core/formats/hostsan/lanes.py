"""Which report a line belongs to: processes write into one log at the same time, heads first, bodies later.

A lane is what one launcher prefix stands before; without prefixes all lines are one lane. Inside it a line
goes to the report that was written to last if it fits there, else to one that it fits. The first frame of a
stack is told by its address: the header names the instruction behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .drafts import Draft, LeakDraft, UndefinedDraft
from .errordraft import ErrorDraft
from .records import Frame

_D = TypeVar("_D", bound=Draft)
_NEVER = 1 << 62


class Lane:
    """The open reports of one prefix. current: the one that the last line went to, even if it is closed.

    last_line: number of the last line that is not blank, whoever wrote it.
    """

    __slots__ = ("check_at", "current", "drafts", "last_line", "n_foreign", "note")

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self.current: Draft | None = None
        self.n_foreign = self.last_line = 0
        self.check_at = _NEVER
        self.note: tuple[int, str] | None = None  # a line, with its number, that stands before its header

    def add(self, draft: Draft) -> None:
        self.drafts.append(draft)
        self.current = draft
        self.touch(draft)

    def remove(self, draft: Draft) -> None:
        self.drafts.remove(draft)

    def touch(self, draft: Draft) -> None:
        """Begin to count foreign lines anew for a draft."""
        draft.mark = self.n_foreign
        check_at = self.n_foreign + draft.limit + 1
        if check_at < self.check_at:
            self.check_at = check_at

    def take(self, draft: Draft, line: int, end_byte: int) -> None:
        """A line goes to a draft. Where that is not the one of the line before, both are mixed."""
        draft.last_line, draft.end_byte = line, end_byte
        self.touch(draft)
        if self.current is not draft:
            current = self.current
            if current is not None and current in self.drafts:
                current.is_mixed = draft.is_mixed = True
            elif len(self.drafts) > 1:
                draft.is_mixed = True
            self.current = draft

    def expired(self) -> list[Draft]:
        """Drafts that too many foreign lines came for; called after each of those."""
        self.n_foreign += 1
        if self.n_foreign < self.check_at:
            return []
        left = [draft for draft in self.drafts if self.n_foreign - draft.mark > draft.limit]
        waiting = (draft.mark + draft.limit + 1 for draft in self.drafts if draft not in left)
        self.check_at = min(waiting, default=_NEVER)
        return left

    def pick(self, kind: type[_D], fits: Callable[[_D], bool]) -> _D | None:
        """The draft that a line fits: the current one if it does, else the oldest."""
        current = self.current
        if isinstance(current, kind) and current in self.drafts and fits(current):
            return current
        return next((draft for draft in self.drafts if isinstance(draft, kind) and fits(draft)), None)

    def first_of(self, kind: type[_D], *tests: Callable[[_D], bool]) -> _D | None:
        """As `pick`, by the first test that any draft passes: from certain ones to bare possibility."""
        for fits in tests:
            draft = self.pick(kind, fits)
            if draft is not None:
                return draft
        return None

    def of_pid(self, pid: int) -> Draft | None:
        """The latest report of a process."""
        return next((draft for draft in reversed(self.drafts) if draft.pid == pid), None)

    def for_frame(self, frame: Frame) -> Draft | None:
        drafts = self.drafts
        if len(drafts) == 1:
            return drafts[0] if drafts[0].wants(frame) else None
        if frame.index:
            return self.first_of(
                Draft,
                lambda draft: (
                    draft.open is not None and draft.open.next_index == frame.index and draft.wants(frame)
                ),
            ) or (self.current if self.current in drafts and self.current.wants(frame) else None)
        return self.first_of(
            Draft,
            lambda draft: draft.is_first(frame),
            lambda draft: draft.is_waiting_for_first() and not _knows_first(draft),
            lambda draft: draft.is_waiting_for_first(),
            lambda draft: draft.wants(frame),
        )

    def error_at(self, address: int | None) -> ErrorDraft | None:
        """The error that a line about an address belongs to. The stack before it seemed to be anyone's."""
        if len(self.drafts) > 1:
            current = self.current
            if isinstance(current, ErrorDraft) and current.address == address and _has_stack(current):
                if current in self.drafts:
                    return current
            meant = self.first_of(
                ErrorDraft,
                lambda draft: draft.address == address and not draft.places and _has_stack(draft),
                lambda draft: draft.address == address and not draft.places and draft.is_body,
            )
            if meant is not None:
                self._give_stack(meant)
                return meant
        return self.first_of(
            ErrorDraft,
            lambda draft: draft is self.current and _has_stack(draft),
            lambda draft: draft.address == address and _has_stack(draft),
            _has_stack,
            lambda draft: draft.is_body,
        )

    def _give_stack(self, meant: ErrorDraft) -> None:
        """Its stack, if it went to another error that no address speaks for."""
        if not meant.main.n_frames:
            writer = self.pick(
                ErrorDraft, lambda draft: _has_stack(draft) and not draft.places and draft.may_be(meant)
            )
            if writer is not None:
                meant.swap_bodies(writer)

    def marked_by(self, draft: ErrorDraft, row: int, cell: int) -> ErrorDraft:
        """The error whose address a table marks, if that is not the one that it seemed to belong to."""
        if len(self.drafts) == 1 or draft.is_marked(row, cell):
            return draft
        meant = self.pick(
            ErrorDraft,
            lambda other: other.may_be(draft) and other.rows is None and other.is_marked(row, cell),
        )
        if meant is None or not meant.main.n_frames:
            return draft
        meant.swap_tails(draft)
        return meant

    def settle(self, draft: Draft) -> None:
        """A line names the process: the lines right before it are its own, even if they seemed another's."""
        if not isinstance(draft, ErrorDraft) or draft is self.current or draft.missing() is None:
            return
        current = self.current
        has_none = draft.main.n_frames == 0
        other = self.pick(
            ErrorDraft,
            lambda other: (
                other is not draft
                and other.may_be(draft)
                and other.main.n_frames > 0
                and (other.missing() is None or (has_none and other is current))
            ),
        )
        if other is not None and has_none:
            draft.swap_bodies(other)
        elif other is not None:
            draft.swap_tails(other)
        elif isinstance(current, ErrorDraft) and current in self.drafts and current.rows is not None:
            if draft.rows is None and draft.summary is not None:
                draft.swap_shadows(current)

    def body(self) -> ErrorDraft | None:
        return self.pick(ErrorDraft, lambda draft: draft.is_body)

    def leaks(self) -> LeakDraft | None:
        return self.pick(LeakDraft, lambda draft: True)

    def undefined(self) -> list[UndefinedDraft]:
        return [draft for draft in self.drafts if isinstance(draft, UndefinedDraft)]


def _has_stack(draft: ErrorDraft) -> bool:
    return draft.is_body and draft.main.n_frames > 0


def _knows_first(draft: Draft) -> bool:
    """True if the first frame of the stack that is waited for would be told by its address or line."""
    if isinstance(draft, UndefinedDraft):
        return draft.diagnosis.line is not None
    return isinstance(draft, ErrorDraft) and draft.open is draft.main and draft.head.pc is not None
