"""One record while its lines come in: which line can come next, when it is whole, and what it then is."""

from __future__ import annotations

from typing import Any

from .bodies import Body, Line
from .heads import Head
from .records import Allocation, Frame, Record, Side
from .store import MAX_FRAMES, Store

MAX_SIDES = 4096
MAX_EXTRA = 8

_RACES = ("race", "missing dcci")
_SIDED = (*_RACES, "lock-up")
_PLACELESS = ("other", "register not reset")
_WITHOUT_WHERE = ("divergent threads", "non-default mask", "internal error")


class Draft:
    """A record that has begun. `is_past`: something came that usually ends a record, yet a line is missing.

    stream: key of the lines that belong to it. touched_line: the last line that was given to it.
    """

    __slots__ = (
        *("head", "stream", "line", "byte", "end_byte", "touched_line", "is_past", "is_mixed"),
        *("_facts", "_frames", "_seen", "_side_line", "_sides", "_extra", "_n_pipes", "_is_damaged"),
        *("_next_frame", "_takes_frames", "_is_closed"),
    )

    def __init__(self, head: Head, stream: str, line: int, byte: int, end_byte: int) -> None:
        self.head = head
        self.stream = stream
        self.line = self.touched_line = line
        self.byte = byte
        self.end_byte = end_byte
        self.is_past = self.is_mixed = False
        self._facts: dict[str, Any] = {}
        self._frames: list[bytes] = []
        self._seen = 0
        self._side_line = 0
        self._sides: list[Side] = []
        self._extra: list[str] = []
        self._n_pipes: int | None = None
        self._next_frame = 0
        self._takes_frames = True
        self._is_damaged = self._is_closed = False

    # ---- which line comes next ----

    def distance(self, body: Body) -> int:
        """0 if the line does not fit here; else how many kinds of lines it is on from the last one."""
        if self._is_closed:
            return 0
        line, kind = body.line, self.head.kind
        if line == Line.FRAME:
            return self._frame_distance(body.index)
        if line == Line.EVENT:
            n_sides = len(self._sides) + (1 if self._seen else 0)
            return 1 if kind in _RACES and n_sides < 2 else 0
        if line == Line.INSTRUCTION:
            return 1 if kind == "lock-up" else 0
        if line == Line.LEAK:
            return 1 if kind == "leak" else 0
        if line > Line.FRAME or kind in _RACES or (kind == "lock-up" and line == Line.WHERE):
            return 0
        return max(line - self._seen, 0)

    def _frame_distance(self, index: int) -> int:
        n = self._next_frame
        if index < n or not self._takes_frames or (self.head.kind in _SIDED and not self._seen):
            return 0
        return 1 + index - n + (0 if n else max(Line.LOCATION - self._seen, 0))

    # ---- taking lines ----

    def add(self, body: Body, line: int, end_byte: int, store: Store) -> None:
        """Take a line that fits."""
        if body.line == Line.FRAME:
            self._is_damaged |= body.index > self._next_frame or self._seen < Line.LOCATION
            self._next_frame = body.index + 1
            if len(self._frames) <= MAX_FRAMES:  # one more, so that the store notes it
                self._frames.append(body.frame)
        else:
            if body.line in (Line.EVENT, Line.INSTRUCTION):
                self._end_side(store)
            if not self._seen:
                self._side_line = line
                self._is_damaged |= self.head.kind == "lock-up" and body.line != Line.INSTRUCTION
            self._facts.update(body.facts)
            if body.has_location:
                self._seen = Line.LOCATION
                self._takes_frames = body.has_pc or not body.frame
                if body.frame:
                    self._frames.append(body.frame)
            elif body.line == Line.INSTRUCTION:
                self._seen = Line.WHERE
            elif body.line < Line.FRAME:
                self._seen = body.line
        self._touch(line, end_byte)

    def add_extra(self, body: Body, text: bytes, line: int, end_byte: int, store: Store) -> None:
        """Keep a line that is not understood, or that has no place here, so that something is missing."""
        if body.line != Line.UNKNOWN:
            self._is_damaged = True
        if len(self._extra) < MAX_EXTRA:
            self._extra.append(store.text(text))
        self._touch(line, end_byte)

    def begin_leak(self, line: int, byte: int) -> None:
        """The first leak of a list is on its own lines, not on those of the head."""
        self.line, self.byte = line, byte

    def next_leak(self, line: int, byte: int) -> Draft:
        """The next leak of the same list."""
        return Draft(self.head, self.stream, line, byte, byte)

    def close_pipes(self, n_pipes: int | None, end_byte: int) -> None:
        """The SUMMARY of a lock-up, which ends it."""
        self._n_pipes = n_pipes
        self._is_closed = True
        self.end_byte = end_byte

    def _touch(self, line: int, end_byte: int) -> None:
        self.touched_line = line
        self.end_byte = end_byte

    def _end_side(self, store: Store) -> None:
        if self._seen:
            if len(self._sides) < MAX_SIDES:
                self._sides.append(self._side(store))
            else:
                store.note_limit(f"more than {MAX_SIDES:,} pipes in one record; the first ones were kept")
            self._is_damaged |= self._seen < Line.LOCATION
        self._facts, self._frames, self._seen = {}, [], 0
        self._next_frame, self._takes_frames = 0, True

    def _side(self, store: Store) -> Side:
        return Side(frames=self._stack(store), line_number=self._side_line, **self._facts)

    def _stack(self, store: Store) -> tuple[Frame, ...]:
        return store.stack(self._frames) if self._frames else ()

    # ---- its end ----

    @property
    def has_begun(self) -> bool:
        """Whether anything but the head is there."""
        return bool(self._seen or self._facts)

    @property
    def has_all(self) -> bool:
        """Every line is there that such a record must have, or can no longer come; frames may follow."""
        kind = self.head.kind
        if kind == "lock-up":
            return self._is_closed
        if kind in _PLACELESS:
            return True
        if kind in _RACES:
            return len(self._sides) == 1 and self._seen >= Line.LOCATION
        if isinstance(self._facts.get("detail"), Allocation):
            return self._seen >= Line.BLOCK
        return self._seen >= Line.LOCATION or bool(self._frames)

    @property
    def is_list(self) -> bool:
        """Ends with its SUMMARY and holds empty lines."""
        return self.head.kind in ("leak", "lock-up")

    @property
    def is_whole(self) -> bool:
        """Nothing more can come: the place is no pc, so that no frames follow it."""
        if self._is_closed:
            return True
        if self.head.kind in (*_PLACELESS, "lock-up") or not self.has_all:
            return False
        return not self._takes_frames or isinstance(self._facts.get("detail"), Allocation)

    def _is_partial(self) -> bool:
        kind = self.head.kind
        if self._is_damaged:
            return True
        if kind in _PLACELESS:
            return False
        if kind in _SIDED:
            return self._seen < Line.LOCATION or not self.has_all
        if isinstance(self._facts.get("detail"), Allocation):
            return self._seen < Line.BLOCK
        has_where = kind in _WITHOUT_WHERE or not {"address", "detail"}.isdisjoint(self._facts)
        return self._seen < Line.LOCATION or not has_where

    def build(self, store: Store, *, is_cut: bool) -> Record:
        """The record as it is now."""
        head = self.head
        own: dict[str, Any] = head.facts
        sides: tuple[Side, ...] = ()
        frames: tuple[Frame, ...] = ()
        if head.kind in _SIDED:
            sides = (*self._sides, self._side(store)) if self._seen else tuple(self._sides)
        else:
            own = {**head.facts, **self._facts}
            own.pop("pipe", None)
            frames = self._stack(store)
            if head.kind == "out of bounds" and "address" in own:
                own.setdefault("access", "read")
        return Record(
            kind=head.kind,
            severity=head.severity,
            head=head.text,
            line_number=self.line,
            byte=self.byte,
            end_byte=self.end_byte,
            frames=frames,
            sides=sides,
            n_pipes=self._n_pipes,
            stream=self.stream,
            extra=tuple(self._extra),
            is_cut=is_cut,
            is_partial=not is_cut and self._is_partial(),
            is_mixed=self.is_mixed,
            **own,
        )
