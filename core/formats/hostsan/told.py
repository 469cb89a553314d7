"""Lines of a report about the access and its address: what was touched, who made and freed it, which threads.

Each function gives the draft that took the line, or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .drafts import Draft
from .errordraft import ErrorDraft
from .facts import Mark
from .lanes import Lane
from .places import MAX_OBJECTS, PlaceDraft, StackDraft, located, of_race, on_stack, stack_object
from .records import Access

ACCESSES: dict[str, Access] = {"READ": "read", "WRITE": "write", "ACCESS": "unknown", "UNKNOWN": "unknown"}

_HEX = r"(0x[0-9a-fA-F]{1,16})"
_NAME = r"(?: \((.{1,200}?)\))?"
_ACCESS = re.compile(
    rf"(READ|WRITE|ACCESS) of size (\d{{1,20}}) at {_HEX}(?: tags: .{{1,40}}?)?(?: \(ptr/mem\))?"
    rf"(?: (?:in )?thread (T-?\d{{1,10}}){_NAME})?\s*$"
)
_BY_THREAD = re.compile(rf"thread (T-?\d{{1,10}}){_NAME} here:\s*$")
_CREATED = re.compile(
    rf"Thread (T-?\d{{1,10}}){_NAME} created by (?:unknown thread|(T-?\d{{1,10}}){_NAME} here:)\s*$"
)
_N_OBJECTS = re.compile(r"  This frame has (\d{1,10}) object\(s\)")
_ORIGIN = re.compile(
    r"  (?:Uninitialized value was |Memory was marked as uninitialized|Member fields were destroyed"
    r"|Virtual table ptr was destroyed)"
)
_THREAD = r"(main thread|thread T\d{1,10})"
_RACE_ACCESS = re.compile(
    rf"  (?:Previous )?(?:\w{{1,20}} )?(read|write) of size (\d{{1,20}}) at {_HEX} by {_THREAD}\b",
    re.IGNORECASE,
)
_RACE_THREAD = re.compile(
    rf"  Thread (T\d{{1,10}})(?: '(.{{1,200}}?)')? \(.{{1,60}}?\) created by {_THREAD} at:"
)
_TITLED_KINDS = ("odr-violation", "initialization-order-fiasco")


def access(lane: Lane, text: str, at: Mark) -> Draft | None:
    """'READ of size 4 at 0x504038 thread T0'."""
    found = _ACCESS.match(text[:1024])
    if found is None:
        return None
    word, size, where, thread, name, *_ = found.groups()
    address = int(where, 16)
    draft = lane.first_of(
        ErrorDraft,
        lambda draft: draft.is_body and draft.access is None and draft.address == address,
        lambda draft: draft.is_body and draft.access is None,
    )
    if draft is not None:
        draft.access, draft.size_bytes = ACCESSES[word], int(size)
        if thread is not None:
            draft.thread, draft.thread_name = thread, name
    return draft


def place(lane: Lane, text: str, at: Mark) -> Draft | None:
    """'0x504038 is located 0 bytes after 40-byte region [0x504010,0x504038)'."""
    found = located(text)
    draft = None if found is None else lane.error_at(found.address)
    if draft is not None and found is not None:
        draft.add_place(found)
    return draft


# ---- on a stack ----


def place_on_stack(lane: Lane, text: str, at: Mark) -> Draft | None:
    """'Address 0x7ff0e0 is located in stack of thread T0 at offset 96 in frame'; its frame follows."""
    found = on_stack(text)
    draft = None if found is None else lane.error_at(found.address)
    if draft is not None and found is not None:
        if found.kind == "stack" and found.frame is None and found.frame_offset_bytes is not None:
            found.frame = StackDraft()
        draft.add_place(found)
    return draft


def frame_size(lane: Lane, text: str) -> Draft | None:
    """'  This frame has 2 object(s):'."""
    found = _N_OBJECTS.match(text)
    draft = None if found is None else _with_stack_place(lane)
    if draft is not None and found is not None:
        draft.places[-1].n_objects = int(found.group(1))
    return draft


def object_in_frame(lane: Lane, text: str) -> Draft | None:
    """'    [32, 96) 'tile' (line 6) <== Memory access at offset 96 overflows this variable'."""
    draft = _with_stack_place(lane)
    found = None if draft is None else stack_object(text)
    if draft is None or found is None:
        return None
    objects = draft.places[-1].objects
    if len(objects) < MAX_OBJECTS:
        objects.append(found)
    return draft


def _with_stack_place(lane: Lane) -> ErrorDraft | None:
    return lane.pick(
        ErrorDraft, lambda draft: draft.is_body and bool(draft.places) and draft.places[-1].kind == "stack"
    )


# ---- on the heap ----


def freed(lane: Lane, text: str, at: Mark) -> Draft | None:
    """'freed by thread T0 here:'."""
    draft = _with_place(lane, lambda place: place.freed_by is None)
    if draft is not None:
        _last_place(draft).freed_by = draft.open = _by_thread(text)
    return draft


def allocated(lane: Lane, text: str, at: Mark) -> Draft | None:
    """'allocated by thread T0 here:', 'previously allocated by thread T0 here:'."""
    draft = _with_place(lane, lambda place: place.allocated_by is None)
    if draft is not None:
        _last_place(draft).allocated_by = draft.open = _by_thread(text)
    return draft


def _with_place(lane: Lane, lacks: Callable[[PlaceDraft], bool]) -> ErrorDraft | None:
    """The error whose place still lacks that stack."""
    return lane.first_of(
        ErrorDraft,
        lambda draft: draft.is_body and bool(draft.places) and lacks(draft.places[-1]),
        lambda draft: draft.is_body and bool(draft.places),
        lambda draft: draft.is_body,
    )


def _last_place(draft: ErrorDraft) -> PlaceDraft:
    """The place that an allocation is told of; one without an address if that line was lost."""
    if not draft.places:
        draft.add_place(PlaceDraft("other", "", None))
    return draft.places[-1]


def _by_thread(text: str) -> StackDraft:
    found = _BY_THREAD.search(text[:1024])
    return StackDraft(text.strip(), *(found.groups() if found else ()))


# ---- other stacks ----


def created(lane: Lane, text: str, at: Mark) -> Draft | None:
    """'Thread T1 (worker) created by T0 here:'."""
    found = _CREATED.match(text[:1024])
    draft = lane.body() if found else None
    if draft is not None and found is not None:
        thread, name, parent, _ = found.groups()
        draft.add_created(thread, name, parent, text.strip())
    return draft


def origin(lane: Lane, text: str) -> Draft | None:
    """'  Uninitialized value was created by a heap allocation'."""
    draft = lane.body() if _ORIGIN.match(text) else None
    if draft is not None:
        draft.add_stack(draft.origins, StackDraft(text.strip()))
    return draft


def race(lane: Lane, text: str) -> Draft | None:
    """Accesses, threads and places as ThreadSanitizer writes them."""
    draft = lane.pick(ErrorDraft, lambda draft: draft.is_body and draft.tool == "ThreadSanitizer")
    if draft is None:
        return None
    found = _RACE_ACCESS.match(text)
    if found:
        return _race_access(draft, text, found)
    found = _RACE_THREAD.match(text)
    if found:
        thread, name, parent = found.groups()
        draft.add_created(thread, name, parent.removeprefix("thread "), text.strip())
        return draft
    there = of_race(text, draft.address)
    if there is None:
        return None
    draft.add_place(there)
    return draft


def _race_access(draft: ErrorDraft, text: str, found: re.Match[str]) -> Draft:
    """The first access is that of the error, the other one a further stack."""
    word, size, where, by = found.groups()
    thread = by.removeprefix("thread ")
    if draft.access is None:
        draft.access = ACCESSES[word.upper()]
        draft.size_bytes, draft.address, draft.thread = int(size), int(where, 16), thread
        draft.main = draft.open = StackDraft(text.strip(), thread)
    else:
        draft.add_stack(draft.others, StackDraft(text.strip(), thread))
    return draft


def titled(lane: Lane, text: str) -> Draft | None:
    """An indented line that ends with a colon announces a stack: '  [1]:', '  registered at:'."""
    if not text.rstrip().endswith(":"):
        return None
    draft = lane.pick(
        ErrorDraft,
        lambda draft: draft.is_body and (draft.tool == "ThreadSanitizer" or draft.kind in _TITLED_KINDS),
    )
    if draft is not None:
        draft.add_stack(draft.others, StackDraft(text.strip()))
    return draft
