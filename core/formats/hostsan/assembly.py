"""Lines into records: where a report begins, when it is whole, and which lines end it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .body import Body, add_said, summary_for
from .drafts import READY, Draft, LeakDraft, UndefinedDraft
from .errordraft import NO_SHADOW, SHADOW_TITLE, ErrorDraft
from .facts import Facts, Mark
from .frames import Frames
from .headers import LEAKS_OMITTED, Head, head_of, trouble_of
from .lanes import Lane
from .lines import text_of
from .prefixes import MAX_PREFIX_CHARS, MAX_PREFIXES, Prefixes, is_launcher
from .records import Record, Suppression, bounded
from .undefined import MARK, Diagnosis, diagnosis_of

TOKENS = (
    *(b"Sanitizer", b"runtime error: ", b"ABORTING", b"ASan ", b"Suppressions used:", b"Shadow memory range"),
    *(b"linked against incompatible ASan", b"external symbolizer", b"Uninitialized bytes in"),
)
"""No line without one of these matters while no report is open."""

MAX_OPEN = 256
MAX_WAITING_UNDEFINED = 8
_NOTE_LINES = 200
_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"

_OF_PID = re.compile(r"==(\d{1,10})==\s?(.*)", re.DOTALL)
_SUPPRESSION = re.compile(r"\s*(\d{1,20}) +(\d{1,20}) (.+)", re.DOTALL)
_NEUTRAL = re.compile(r"={10,}\s*$|\w{1,60}Sanitizer:DEADLYSIGNAL|-{20,}\s*$")


class Assembler:
    """Takes the lines that matter, hands out records as they become whole (`out`), gathers `facts`."""

    def __init__(self, artifact: str) -> None:
        self.out: list[Record] = []
        self.facts = Facts(artifact)
        self._body = Body(Frames())
        self._prefixes = Prefixes()
        self._main = Lane()
        self._lanes: dict[str, Lane] = {"": self._main}
        self._n_open = 0
        self._suppressing: Lane | None = None  # whose table of suppressions is being read
        self._glued: tuple[str, Draft] | None = None  # what stands before a header and may be a prefix
        self._unfinished = -1  # number of the line that has no end

    @property
    def is_open(self) -> bool:
        """True if the next line can belong to something."""
        return self._n_open > 0 or self._suppressing is not None

    def line(self, raw: bytes, at: Mark) -> None:
        """The next line that matters."""
        text, is_read = text_of(raw)
        if at.line == 1:
            text = text.removeprefix(_BYTE_ORDER_MARK)
        if self._glued is not None:
            self._unglue(text)
        lane, prefix = self._main, ""
        if self._prefixes.is_known:
            key, body = self._prefixes.split(text)
            if key:
                lane, prefix, text = self._lane(key), text[: len(text) - len(body)], body
        if not text or text.isspace():
            self._blank(lane)
            return
        if at.line != self._unfinished or not SHADOW_TITLE.startswith(text):
            lane.last_line = at.line
        if self._take(lane, text, prefix, at):
            if not is_read:
                self.facts.unread(at)
        elif lane.drafts:
            for draft in lane.expired():
                self._close(lane, draft)

    def pending(self) -> list[Record]:
        """What is open, as records as far as they came."""
        drafts = sorted(self._drafts(), key=lambda found: found[1].byte)
        records = (draft.build(_missing(lane, draft) is not None) for lane, draft in drafts)
        return [record for record in records if record is not None]

    def finish(self, raw: bytes | None, at: Mark) -> None:
        """The last line if it has no end (else None). Whatever is still open becomes a record."""
        if raw is not None:
            self._unfinished = at.line
            self.line(raw, at)
        for lane, draft in sorted(self._drafts(), key=lambda found: found[1].byte):
            self._close(lane, draft)
        self._suppressing = self._glued = None

    # ---- what a line is ----

    def _take(self, lane: Lane, text: str, prefix: str, at: Mark) -> bool:
        """True if the line is one of the tools'."""
        if "Sanitizer: " in text:
            head = head_of(text)
            if head is not None:
                self._open(lane, head, text[: head.start], prefix, at)
                return True
        if MARK in text:
            diagnosis = diagnosis_of(text, prefix)
            if diagnosis is not None:
                self._open_undefined(lane, diagnosis, at)
                return True
        if self._suppressing is lane and self._suppression(text):
            return True
        if text[0] != " ":
            if _NEUTRAL.match(text) or (text.startswith("==") and self._of_pid(lane, text, at)):
                return True
        return self._inside(lane, text, at) or self._beside(lane, text, at)

    def _inside(self, lane: Lane, text: str, at: Mark) -> bool:
        """Lines of open reports."""
        if not lane.drafts:
            return False
        if text.startswith("SUMMARY: "):
            return self._summary(lane, text, at)
        if text[0] in "DI" and text.startswith(("Direct leak of ", "Indirect leak of ")):
            before = lane.leaks()
            if before is not None:
                self._end_leak(before)
        draft = self._body.read(lane, text, at)
        if draft is None:
            return False
        lane.take(draft, at.line, at.end_byte)
        return True

    def _of_pid(self, lane: Lane, text: str, at: Mark) -> bool:
        """Lines that name their process: '==<pid>==ABORTING'."""
        found = _OF_PID.match(text)
        if found is None:
            return False
        pid, said = int(found.group(1)), found.group(2)
        draft = lane.of_pid(pid)
        if said.rstrip() == "ABORTING":
            self.facts.aborting(pid)
            if draft is not None:
                lane.settle(draft)
                self._end(lane, draft, at)
            return True
        trouble = trouble_of(text)
        if trouble is not None:
            self.facts.note(trouble[0], text, at, pid)
            return True
        if draft is not None:
            if said.startswith("Register values"):
                lane.settle(draft)
            add_said(draft, said)
            lane.take(draft, at.line, at.end_byte)
        return draft is not None

    def _beside(self, lane: Lane, text: str, at: Mark) -> bool:
        """Lines that stand for themselves."""
        if text.startswith("SUMMARY: "):
            return self._summary(lane, text, at)
        if text.startswith("Suppressions used:"):
            self._suppressing = lane
            return True
        if text.startswith("Uninitialized bytes in "):
            lane.note = (at.line, bounded(text.strip()))
            return True
        if text.rstrip() == "Exiting":
            draft = lane.pick(ErrorDraft, lambda draft: draft.tool == "MemorySanitizer" and not draft.is_body)
            if draft is not None:
                self.facts.aborting(draft.pid)
                self._end(lane, draft, at)
            return draft is not None
        leaks = lane.leaks() if LEAKS_OMITTED.match(text) else None
        if leaks is not None:
            self.facts.note("leaks-omitted", text, at, leaks.pid)
            lane.take(leaks, at.line, at.end_byte)
            return True
        trouble = trouble_of(text)
        if trouble is None:
            return False
        self.facts.note(trouble[0], text, at, trouble[1])
        if "nested bug in the same thread" in text:
            tool = text.partition("Sanitizer")[0] + "Sanitizer"
            nested = lane.pick(ErrorDraft, lambda draft: draft.tool == tool)
            if nested is not None:
                self._end(lane, nested, at)
        return True

    def _blank(self, lane: Lane) -> None:
        """An empty line ends a stack."""
        current = lane.current
        if isinstance(current, UndefinedDraft):
            current.end_stack()
            lane.touch(current)
        elif isinstance(current, LeakDraft) and current.open is not None and current.open.n_frames:
            current.is_leak_over = True

    def _suppression(self, text: str) -> bool:
        if "count" in text and "template" in text:
            return True
        found = _SUPPRESSION.match(text)
        if found is None:
            self._suppressing = None
            return False
        n_leaks, size, template = found.groups()
        self.facts.suppression(Suppression(int(n_leaks), int(size), bounded(template.strip())))
        return True

    def _summary(self, lane: Lane, text: str, at: Mark) -> bool:
        draft, summary = summary_for(lane, text, at)
        if summary is None:
            return False
        if draft is None and lane.leaks() is None:  # else it may be the total of leaks, cut off
            self.facts.headless(summary, at)
        self.facts.summary(summary)
        if draft is None:
            return True
        if isinstance(draft, LeakDraft):
            self._end_leak(draft)
        lane.take(draft, at.line, at.end_byte)
        if isinstance(draft, LeakDraft):
            self._end(lane, draft, at)
        elif isinstance(draft, UndefinedDraft):
            draft.summary = summary
            self._close(lane, draft)
        elif isinstance(draft, ErrorDraft):
            draft.end_body(summary)
            lane.touch(draft)
        return True

    # ---- opening ----

    def _open(self, lane: Lane, head: Head, before: str, prefix: str, at: Mark) -> None:
        """before: what stands in front of the header, behind a prefix that is known."""
        is_glued = False
        if before and not prefix:
            if is_launcher(before):
                prefix, lane = before, self._lane(self._prefixes.learn(before))
            else:
                is_glued = bool(before.strip()) and len(before) <= MAX_PREFIX_CHARS
        for found in lane.undefined():
            if found.is_stack_over or found.is_waiting_for_first():
                self._close(lane, found)
        self._make_room(lane, head.pid)
        draft: Draft
        if head.kind == "detected memory leaks":
            draft = LeakDraft(head.pid, prefix, at.line, at.byte)
        else:
            draft = error = ErrorDraft(head, prefix, at.line, at.byte)
            if lane.note and head.tool == "MemorySanitizer" and at.line - lane.note[0] <= _NOTE_LINES:
                error.details.append(lane.note[1])
            lane.note = None
        self._glued = (before, draft) if is_glued else None
        self._add(lane, draft, at)
        self.facts.saw(head.tool, head.pid, prefix)

    def _open_undefined(self, lane: Lane, found: Diagnosis, at: Mark) -> None:
        if found.prefix:
            lane = self._lane(self._prefixes.learn(found.prefix))
        for draft in lane.undefined():
            if draft.is_stack_over:
                self._close(lane, draft)
        waiting = lane.undefined()
        if len(waiting) >= MAX_WAITING_UNDEFINED:
            self._close(lane, waiting[0])
        self._make_room(lane, None)
        self._add(lane, UndefinedDraft(found, found.prefix, at.line, at.byte), at)
        self.facts.saw("UndefinedBehaviorSanitizer", None, found.prefix)

    def _make_room(self, lane: Lane, pid: int | None) -> None:
        """A process begins a new report only after the last one, and not without end many can be open."""
        for draft in list(lane.drafts):
            if (pid is not None and draft.pid == pid) or (draft.limit == READY and draft.missing() is None):
                self._close(lane, draft)
        if self._n_open >= MAX_OPEN:
            self._close(*min(self._drafts(), key=lambda found: found[1].byte))

    def _add(self, lane: Lane, draft: Draft, at: Mark) -> None:
        draft.end_byte = at.end_byte
        self._n_open += 1
        lane.add(draft)

    def _drafts(self) -> Iterator[tuple[Lane, Draft]]:
        return ((lane, draft) for lane in self._lanes.values() for draft in lane.drafts)

    def _lane(self, key: str) -> Lane:
        lane = self._lanes.get(key)
        if lane is None:
            if len(self._lanes) > MAX_PREFIXES:
                return self._main
            lane = self._lanes[key] = Lane()
        return lane

    def _unglue(self, text: str) -> None:
        """What stood before a header is a prefix if it also stands before the next line."""
        glued, self._glued = self._glued, None
        if glued is None:
            return
        before, draft = glued
        lane = self._main
        if draft in lane.drafts and (text.startswith(before) or text == before.rstrip()):
            draft.prefix = before
            self.facts.behind(before)
            lane.remove(draft)
            self._lane(self._prefixes.learn(before)).add(draft)

    # ---- closing ----

    def _end(self, lane: Lane, draft: Draft, at: Mark) -> None:
        """The tool says that the report is over."""
        draft.is_ended = True
        draft.last_line, draft.end_byte = at.line, at.end_byte
        self._close(lane, draft)

    def _close(self, lane: Lane, draft: Draft) -> None:
        """A report becomes a record, cut if something is missing."""
        missing = _missing(lane, draft)
        if missing is None and draft.last_line == self._unfinished and not draft.is_ended:
            missing = "the end of its last line"
        lane.remove(draft)
        self._n_open -= 1
        record = draft.build(missing is not None)
        if record is not None:
            self._hand_out(record)
        if missing is not None:
            self.facts.cut(draft, missing)

    def _end_leak(self, draft: LeakDraft) -> None:
        """Another leak, or the summary, follows."""
        leak = draft.take_leak(is_cut=False)
        if leak is not None:
            self._hand_out(leak)

    def _hand_out(self, record: Record) -> None:
        self.out.append(record)
        self.facts.count(record)


def _missing(lane: Lane, draft: Draft) -> str | None:
    """What of a report has not come. Where something else stands behind its summary, that was its end:
    runtimes write the shadow bytes at once, or not at all (an old one, a part that somebody copied)."""
    missing = draft.missing()
    if missing == NO_SHADOW and not draft.is_mixed and lane.last_line > draft.last_line:
        return None
    return missing
