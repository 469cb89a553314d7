"""The lines inside a report: what each of them is, by how it begins, and which open report takes it."""

from __future__ import annotations

import re
from collections.abc import Callable

from . import told
from .drafts import MAX_LINES, READY, WAITING, Draft, LeakDraft, UndefinedDraft
from .errordraft import ErrorDraft
from .facts import Mark
from .frames import Frames, summary_of
from .lanes import Lane
from .records import Summary, bounded

_HEX = r"(0x[0-9a-fA-F]{1,16})"
_LEAK = re.compile(
    r"(Direct|Indirect) leak of (\d{1,20}) byte\(s\) in (\d{1,20}) object\(s\) allocated from:"
)
_LEAKED_OBJECT = re.compile(rf"{_HEX} \((\d{{1,20}}) bytes\)\s*$")
_ROW = re.compile(rf"(?:=>|  ){_HEX}:(.*)")
_LEGEND = re.compile(r"  ([A-Z][A-Za-z ]{1,40}):\s+(?:[0-9a-f]{2}\s*){1,16}$")
_REGISTER = re.compile(rf"\b([a-z][a-z0-9]{{1,4}}) = {_HEX}\b|\b(x\d{{1,2}}|sp)\s+([0-9a-fA-F]{{16}})\b")
_MEMORY = re.compile(r"[ \t]{1,2}[0-9a-f]{2}(?:  ?[0-9a-f]{2}){1,40}\s*$")
_CARET = re.compile(r"[ ~]*\^[ ~^]*$")
_SIGNAL = re.compile(r"The signal is caused by an? (READ|WRITE|UNKNOWN) memory access")
_SUMMARY = re.compile(r"SUMMARY: (\w{1,60}Sanitizer): (.*)", re.DOTALL)

_Rule = tuple[str, Callable[[Lane, str, Mark], "Draft | None"]]


class Body:
    """Puts one line into the draft that it belongs to, and says which that is."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._rules: dict[str, list[_Rule]] = {}
        for rule in _RULES:
            self._rules.setdefault(rule[0][0], []).append(rule)

    def read(self, lane: Lane, text: str, at: Mark) -> Draft | None:
        """The draft that took the line, which is not empty; None if it belongs to none."""
        if text[0] == " ":
            return self._indented(lane, text, at)
        for start, take in self._rules.get(text[0], ()):
            if text.startswith(start):
                return take(lane, text, at)
        current = lane.current
        if isinstance(current, ErrorDraft) and current.is_listing_registers:
            return _registers(lane, text)
        if isinstance(current, UndefinedDraft) and ": note: " in text:
            return _undefined_note(lane, text)
        return None

    def _indented(self, lane: Lane, text: str, at: Mark) -> Draft | None:
        """Lines that begin with a blank: frames above all."""
        first = text.lstrip(" ")[:1]
        if first == "#":
            frame = self._frames.frame(text)
            draft = None if frame is None else lane.for_frame(frame)
            if draft is not None and frame is not None:
                draft.add_frame(frame)
            return draft
        if first == "[":
            return told.object_in_frame(lane, text) or told.titled(lane, text) or _early_detail(lane, text)
        if text.startswith("  0x"):
            return _row(lane, text, at)
        return (
            _legend(lane, text)
            or told.frame_size(lane, text)
            or told.origin(lane, text)
            or told.race(lane, text)
            or _memory_line(lane, text)
            or _registers(lane, text)
            or _more_hint(lane, text)
            or told.titled(lane, text)
            or _early_detail(lane, text)
        )


def summary_for(lane: Lane, text: str, at: Mark) -> tuple[Draft | None, Summary | None]:
    """The SUMMARY in a line, and the open report that it ends."""
    found = _SUMMARY.match(text)
    if found is None:
        return None, None
    tool, rest = found.groups()

    def fits(draft: ErrorDraft) -> bool:
        return draft.summary is None and draft.tool == tool and rest.startswith(draft.kind)

    error = lane.first_of(
        ErrorDraft,
        lambda draft: fits(draft) and draft.main.n_frames > 0,
        fits,
        lambda draft: draft.summary is None and draft.tool == tool and not draft.head.is_known_kind,
    )
    kind = error.kind if error is not None and error.head.is_known_kind else None
    summary = summary_of(text, at.line, at.byte, kind)
    if summary is None:
        return None, None
    if summary.leaked_bytes is not None:
        return lane.leaks(), summary
    if error is None and tool == "UndefinedBehaviorSanitizer":
        where = summary.place and (summary.place.file, summary.place.line)
        undefined = lane.first_of(
            UndefinedDraft,
            lambda draft: where == (draft.diagnosis.file, draft.diagnosis.line),
            lambda draft: True,
        )
        return undefined, summary
    if error is None:
        error = lane.pick(ErrorDraft, lambda draft: draft.summary is None and draft.tool == tool)
    return error, summary


def add_said(draft: Draft, said: str) -> None:
    """What a line '==<pid>==...' adds to the report of its process."""
    if not isinstance(draft, ErrorDraft):
        return
    found = _SIGNAL.match(said)
    if found:
        draft.access = told.ACCESSES[found.group(1)]
    elif said.startswith("Register values"):
        draft.is_listing_registers = True
    elif len(draft.said) < MAX_LINES:
        draft.said.append(bounded(said.strip()))


# ---- shadow bytes and registers ----


def _shadow(lane: Lane, text: str, at: Mark) -> Draft | None:
    draft = lane.first_of(
        ErrorDraft,
        lambda draft: draft.rows is None and draft.summary is not None,
        lambda draft: draft.rows is None,
    )
    if draft is not None:
        draft.rows = []
        if draft.summary is not None:
            draft.limit = WAITING
    return draft


def _second_shadow(lane: Lane, text: str, at: Mark) -> Draft | None:
    """A further table is passed over."""
    draft = lane.pick(ErrorDraft, lambda draft: draft.rows is not None)
    if draft is not None:
        draft.is_skipping_rows = True
    return draft


def _row(lane: Lane, text: str, at: Mark) -> Draft | None:
    draft = lane.pick(ErrorDraft, lambda draft: draft.rows is not None and draft.legend is None)
    found = None if draft is None else _ROW.match(text)
    if draft is None or found is None:
        return None
    address, cells = int(found.group(1), 16), found.group(2)
    if text[0] == "=":
        draft = lane.marked_by(draft, address, len(cells.partition("[")[0].split()))
    draft.add_row(address, cells)
    return draft


def _legend_title(lane: Lane, text: str, at: Mark) -> Draft | None:
    draft = lane.pick(ErrorDraft, lambda draft: draft.rows is not None and draft.legend is None)
    if draft is not None:
        draft.legend, draft.limit = "", WAITING
    return draft


def _legend(lane: Lane, text: str) -> Draft | None:
    draft = lane.pick(ErrorDraft, lambda draft: draft.legend is not None)
    found = None if draft is None else _LEGEND.match(text)
    if draft is None or found is None:
        return None
    draft.legend = found.group(1)
    if draft.is_legend_over:
        draft.limit = READY
    return draft


def _registers_title(lane: Lane, text: str, at: Mark) -> Draft | None:
    draft = lane.body()
    if draft is not None:
        draft.is_listing_registers = True
    return draft


def _registers(lane: Lane, text: str) -> Draft | None:
    draft = lane.pick(ErrorDraft, lambda draft: draft.is_listing_registers and draft.is_body)
    found = [] if draft is None else _REGISTER.findall(text[:1024])
    if draft is None or not found:
        return None
    for name, number, arm_name, arm_number in found:
        if len(draft.registers) < 2 * MAX_LINES:
            draft.registers.append((name or arm_name, int(number or arm_number, 16)))
    return draft


# ---- leaks ----


def _leak(lane: Lane, text: str, at: Mark) -> Draft | None:
    found = _LEAK.match(text)
    draft = lane.leaks() if found else None
    if draft is not None and found is not None:
        reach, size, n_objects = found.groups()
        draft.begin(
            "direct" if reach == "Direct" else "indirect", int(size), int(n_objects), at.line, at.byte
        )
    return draft


def _leaked_objects(lane: Lane, text: str, at: Mark) -> Draft | None:
    draft = lane.leaks()
    if draft is not None:
        draft.is_at_objects = True
    return draft


def _address(lane: Lane, text: str, at: Mark) -> Draft | None:
    """'0x... is located ...', '0x... (16 bytes)' of a leak, '0x...: note: ...' of undefined behaviour."""
    draft = told.place(lane, text, at)
    if draft is not None:
        return draft
    found = _LEAKED_OBJECT.match(text)
    if found:
        leaks = lane.pick(LeakDraft, lambda draft: draft.is_at_objects)
        if leaks is not None:
            leaks.add_object(int(found.group(1), 16), int(found.group(2)))
        return leaks
    return _undefined_note(lane, text) if ": note: " in text else None


# ---- undefined behaviour ----


def _undefined_note(lane: Lane, text: str) -> Draft | None:
    draft = lane.pick(UndefinedDraft, lambda draft: draft.is_waiting_for_first())
    if draft is not None:
        if len(draft.notes) < MAX_LINES:
            draft.notes.append(bounded(text.strip()))
        draft.is_at_memory = text.startswith("0x")
    return draft


def _memory(lane: Lane, text: str, at: Mark) -> Draft | None:
    return lane.pick(UndefinedDraft, lambda draft: draft.is_at_memory)


def _memory_line(lane: Lane, text: str) -> Draft | None:
    """The bytes around a pointer, and the mark below the one that is meant."""
    draft = lane.pick(UndefinedDraft, lambda draft: draft.is_at_memory)
    if draft is None or len(text) > 256:
        return None
    if _CARET.match(text):
        draft.is_at_memory = False
        return draft
    return draft if _MEMORY.match(text) else None


# ---- words ----


def _hint(lane: Lane, text: str, at: Mark) -> Draft | None:
    draft = lane.pick(ErrorDraft, lambda draft: True)
    if draft is not None and len(draft.hints) < MAX_LINES:
        draft.hints.append(bounded(text.strip()))
    return draft


def _more_hint(lane: Lane, text: str) -> Draft | None:
    if not text.startswith("      ("):
        return None
    draft = lane.pick(ErrorDraft, lambda draft: bool(draft.hints))
    if draft is not None:
        draft.hints[-1] = bounded(f"{draft.hints[-1]} {text.strip()}")
    return draft


def _cause(lane: Lane, text: str, at: Mark) -> Draft | None:
    draft = lane.body()
    if draft is not None:
        draft.cause = draft.cause or bounded(text.removeprefix("Cause: ").strip())
    return draft


def _command(lane: Lane, text: str, at: Mark) -> Draft | None:
    draft = lane.pick(ErrorDraft, lambda draft: draft.command is None and not draft.is_body)
    if draft is not None:
        draft.command = bounded(text.removeprefix("Command: ").strip())
    return draft


def _detail(lane: Lane, text: str, at: Mark) -> Draft | None:
    return _with_detail(lane.body(), text)


def _early_detail(lane: Lane, text: str) -> Draft | None:
    """Indented lines before the stack: sizes of a mismatched delete, the two globals of a clash."""
    draft = lane.pick(ErrorDraft, lambda draft: draft.is_body and not draft.main.n_frames)
    return _with_detail(draft if draft is lane.current else None, text)


def _with_detail(draft: ErrorDraft | None, text: str) -> Draft | None:
    if draft is not None and len(draft.details) < MAX_LINES:
        draft.details.append(bounded(text.strip()))
    return draft


_RULES: tuple[_Rule, ...] = (
    ("READ of ", told.access),
    ("WRITE of ", told.access),
    ("ACCESS of ", told.access),
    ("Address 0x", told.place_on_stack),
    ("freed by ", told.freed),
    ("deallocated ", told.freed),
    ("previously allocated by ", told.allocated),
    ("allocated by ", told.allocated),
    ("allocated here:", told.allocated),
    ("Thread T", told.created),
    ("0x", _address),
    ("Shadow bytes around ", _shadow),
    ("Memory tags around ", _shadow),
    ("Tags for short granules ", _second_shadow),
    ("Shadow byte legend ", _legend_title),
    ("=>0x", _row),
    ("Registers where the failure occurred", _registers_title),
    ("Direct leak of ", _leak),
    ("Indirect leak of ", _leak),
    ("Objects leaked above:", _leaked_objects),
    ("<memory cannot be printed>", _memory),
    ("HINT: ", _hint),
    ("If you suspect a false positive", _hint),
    ("Cause: ", _cause),
    ("Command: ", _command),
    ("[0x", _detail),
    ("SCARINESS: ", _detail),
    ("DEDUP_TOKEN: ", _detail),
    ("Invalid access starting at ", _detail),
    ("These globals were registered ", _detail),
)
"""How a line begins that is not indented, and who takes it: the first that fits."""
