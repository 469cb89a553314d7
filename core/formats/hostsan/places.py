"""Where an address lies: the lines that name a heap block, a global variable or a stack frame.

    0x504038 is located 0 bytes after 40-byte region [0x504010,0x504038)
    0x5640b0 is located 8 bytes after global variable 'k' defined in '/src/a.cpp:4:12' (0x564060) of size 64
    Address 0x7ff0e0 is located in stack of thread T0 at offset 96 in frame
        [32, 96) 'tile' (line 6) <== Memory access at offset 96 overflows this variable

Older runtimes write "to the right of" and "to the left of" for "after" and "before".
"""

from __future__ import annotations

import re

from .frames import numbers_of
from .records import (
    Allocation,
    Frame,
    GlobalVariable,
    Place,
    PlaceKind,
    Relation,
    Stack,
    StackObject,
    bounded,
)

MAX_FRAMES = 512
MAX_OBJECTS = 256

_HEX = r"(0x[0-9a-fA-F]{1,16})"
_RELATION = r"(?:(\d{1,20}) bytes? )?(to the right of|to the left of|inside of|inside|before|after)"
_LOCATED = re.compile(
    rf"{_HEX} is located (?:{_RELATION}|somewhere around \([^()]*\)) (?:an? )?(.*)", re.DOTALL
)
_REGION = re.compile(rf"(\d{{1,20}})-byte region \[{_HEX}, ?{_HEX}\)")
_GLOBAL = re.compile(rf"global variable '(.*?)' (?:defined in '(.*)' )?\({_HEX}\) of size (\d{{1,20}})")
_TAGGED_GLOBAL = re.compile(
    rf"(\d{{1,20}})-byte global variable (?:(.{{1,2000}}?) \[{_HEX}, ?{_HEX}\) )?in (.*)", re.DOTALL
)
_THREAD = r"(?:thread )?(T-?\d{1,10})"
_ON_STACK = re.compile(
    rf"Address {_HEX} is located in stack of {_THREAD}(?: \(.{{1,80}}?\))?"
    r"(?: at offset (\d{1,20}) in frame)?\s*$"
)
_OLD_ON_STACK = re.compile(
    rf"Address {_HEX} is located at offset (\d{{1,20}}) in frame <(.*)> of (T-?\d{{1,10}})'s stack"
)
_NOWHERE = re.compile(rf"Address {_HEX} is (a wild pointer|located in the )")
_RACE_GLOBAL = re.compile(rf"  Location is global '(.*)' of size (\d{{1,20}}) at {_HEX}(?: \(|\s*$)")
_RACE_HEAP = re.compile(
    rf"  Location is heap block of size (\d{{1,20}}) at {_HEX} allocated by (main thread|thread T\d+)"
)
_RACE_OTHER = re.compile(r"  Location is (.*)")
_OBJECT = re.compile(
    r"    \[(\d{1,20}), (\d{1,20})\) '(.*)'(?: \(line (\d{1,10})\))?\s*"
    r"(?:<== Memory access at offset (-?\d{1,20}) (\w[\w ]{1,40}?) this variable)?\s*$"
)
_WORDS: dict[str, Relation] = {
    "to the right of": "after",
    "to the left of": "before",
    "inside of": "inside",
    "inside": "inside",
    "before": "before",
    "after": "after",
}


class StackDraft:
    """A stack while its frames come in."""

    __slots__ = ("frames", "n_frames", "next_index", "thread", "thread_name", "title")

    def __init__(self, title: str = "", thread: str | None = None, thread_name: str | None = None) -> None:
        self.title = bounded(title)
        self.thread = thread
        self.thread_name = thread_name
        self.frames: list[Frame] = []
        self.n_frames = 0
        self.next_index = 0

    def add(self, frame: Frame) -> None:
        self.n_frames += 1
        self.next_index = frame.index + 1
        if len(self.frames) < MAX_FRAMES:
            self.frames.append(frame)

    def build(self) -> Stack:
        return Stack(self.title, tuple(self.frames), self.n_frames, self.thread, self.thread_name)


def built(stack: StackDraft | None) -> Stack | None:
    """The stack; None if there is none, or none of its frames came."""
    return None if stack is None or not stack.n_frames else stack.build()


class PlaceDraft:
    """What is said of one address, while it comes in."""

    __slots__ = (
        *("address", "allocated_by", "allocation", "frame", "frame_offset_bytes", "freed_by", "kind"),
        *("n_objects", "objects", "offset_bytes", "relation", "text", "thread", "variable"),
    )

    def __init__(self, kind: PlaceKind, text: str, address: int | None) -> None:
        self.kind: PlaceKind = kind
        self.text = bounded(text.strip())
        self.address = address
        self.offset_bytes: int | None = None
        self.relation: Relation | None = None
        self.allocation: Allocation | None = None
        self.variable: GlobalVariable | None = None
        self.freed_by: StackDraft | None = None
        self.allocated_by: StackDraft | None = None
        self.thread: str | None = None
        self.frame_offset_bytes: int | None = None
        self.frame: StackDraft | None = None
        self.objects: list[StackObject] = []
        self.n_objects: int | None = None

    def build(self) -> Place:
        return Place(
            kind=self.kind,
            text=self.text,
            address=self.address,
            offset_bytes=self.offset_bytes,
            relation=self.relation,
            allocation=self.allocation,
            variable=self.variable,
            freed_by=built(self.freed_by),
            allocated_by=built(self.allocated_by),
            thread=self.thread,
            frame_offset_bytes=self.frame_offset_bytes,
            frame=built(self.frame),
            objects=tuple(self.objects),
            n_objects=self.n_objects,
        )


def located(text: str) -> PlaceDraft | None:
    """The place in a line "0x... is located ..."; None if the line is none."""
    text = text[:8192]
    found = _LOCATED.match(text)
    if found is None:
        return None
    address, offset, relation, rest = found.groups()
    place = PlaceDraft("other", text, int(address, 16))
    place.offset_bytes = None if offset is None else int(offset)
    place.relation = _WORDS[relation] if relation else None
    region = _REGION.match(rest)
    if region:
        size, start, end = region.groups()
        place.kind, place.allocation = "heap", Allocation(int(size), int(start, 16), int(end, 16))
        return place
    variable = _variable(rest)
    if variable is not None:
        place.kind, place.variable = "global", variable
    return place


def _variable(rest: str) -> GlobalVariable | None:
    found = _GLOBAL.match(rest)
    if found:
        name, where, address, size = found.groups()
        file, line, column = (None, None, None) if where is None else numbers_of(where)
        file = None if file is None else bounded(file)
        return GlobalVariable(bounded(name), int(address, 16), int(size), file, line, column)
    found = _TAGGED_GLOBAL.match(rest)
    if found:
        size, name, start, _, module = found.groups()
        return GlobalVariable(
            bounded(name or ""), int(start, 16) if start else None, int(size), bounded(module.strip())
        )
    return None


def on_stack(text: str) -> PlaceDraft | None:
    """The place in a line "Address 0x... is ..."; None if the line is none."""
    text = text[:8192]
    found = _ON_STACK.match(text)
    if found:
        address, thread, offset = found.groups()
        place = PlaceDraft("stack", text, int(address, 16))
        place.thread = thread
        place.frame_offset_bytes = None if offset is None else int(offset)
        return place
    found = _OLD_ON_STACK.match(text)
    if found:
        address, offset, function, thread = found.groups()
        place = PlaceDraft("stack", text, int(address, 16))
        place.thread, place.frame_offset_bytes = thread, int(offset)
        place.frame = StackDraft()
        place.frame.add(Frame(0, function=bounded(function)))
        return place
    found = _NOWHERE.match(text)
    if found:
        kind: PlaceKind = "wild" if found.group(2).startswith("a wild") else "other"
        return PlaceDraft(kind, text, int(found.group(1), 16))
    return None


def of_race(text: str, address: int | None) -> PlaceDraft | None:
    """The place in a line "  Location is ..." of ThreadSanitizer."""
    text = text[:8192]
    found = _RACE_GLOBAL.match(text)
    if found:
        name, size, start = found.groups()
        place = PlaceDraft("global", text, address)
        place.variable = GlobalVariable(bounded(name), int(start, 16), int(size))
        return place
    found = _RACE_HEAP.match(text)
    if found:
        size, start, thread = found.groups()
        place = PlaceDraft("heap", text, address)
        place.allocation = Allocation(int(size), int(start, 16), int(start, 16) + int(size))
        place.allocated_by = StackDraft(text.strip(), thread.removeprefix("thread "))
        return place
    found = _RACE_OTHER.match(text)
    if found:
        return PlaceDraft("stack" if found.group(1).startswith("stack") else "other", text, address)
    return None


def stack_object(text: str) -> StackObject | None:
    """The variable in a line of "This frame has ... object(s)"; None if the line is none."""
    found = _OBJECT.match(text[:8192])
    if found is None:
        return None
    start, end, name, line, offset, access = found.groups()
    return StackObject(
        name=bounded(name),
        start_bytes=int(start),
        end_bytes=int(end),
        line=None if line is None else int(line),
        access=access,
        access_bytes=None if offset is None else int(offset),
    )
