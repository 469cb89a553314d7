"""The lines of a record behind its head: what each of them says, whichever release wrote it.

A line is looked at once however often it comes. All patterns are tried at the start of a text and cost time
linear in its length; what can hold blanks and brackets (names of kernels) lies between fixed words.
"""

from __future__ import annotations

import re
from dataclasses import field
from enum import IntEnum
from typing import Any

from npulse.core.dataclass import dataclass

from .records import Allocation, Cores, FlagPipes, Style
from .store import MAX_TEXT_CHARS, Store, is_number


class Line(IntEnum):
    """What a line is. The first four are in the order in which they come."""

    WHERE = 1
    BLOCK = 2
    LOCATION = 3
    FRAME = 4
    EVENT = 5
    INSTRUCTION = 6
    LEAK = 7
    BLANK = 8
    UNKNOWN = 9


@dataclass(slots=True)
class Body:
    """One line. facts: fields of a `Record` or `Side` that it gives. frame: its text; index: its number."""

    line: Line
    facts: dict[str, Any] = field(default_factory=dict)
    style: Style = ""
    has_location: bool = False
    has_pc: bool = False
    index: int = 0
    frame: bytes = b""


_UNKNOWN = Body(Line.UNKNOWN)
_BLANK = Body(Line.BLANK)

_HEX = rb"0x([0-9a-fA-F]{1,16})(?![0-9a-fA-F])"
_SPACE = re.compile(
    rb"[A-Z][A-Z0-9_]{0,31}(?![A-Za-z0-9_])|Unknown (?:AddressSpace|MemType)\(-?[0-9]{1,10}\)"
)
_AT = re.compile(rb"at " + _HEX + rb" on ")
_GUARD = re.compile(
    rb"Access to "
    + _HEX
    + rb" on (\S{1,40}|Unknown \S{1,40}) is ([0-9]{1,20}) byte\(s\) (before|after|inside)"
    + rb" the nearest allocation at "
    + _HEX
    + rb" of size ([0-9]{1,20}) byte\(s\)"
)
_PIPES = re.compile(rb"from (PIPE_\w{1,32}) to (PIPE_\w{1,32})(?: in (.+))?$")
_LEAK = re.compile(rb"(?:Direct|Indirect) leak of ([0-9]{1,20}) ?byte\(s\)")
_INSTRUCTION = re.compile(rb"([A-Z][A-Z0-9_]{1,40}) in (.+)$")
_FRAME = re.compile(rb"#([0-9]{1,6}) +\S")
_BY = re.compile(rb"by (?:thread ?\(([0-9]{1,9}),([0-9]{1,9}),([0-9]{1,9})\)|(PIPE_\w{1,32})) +")
_EVENT = re.compile(
    rb"(?:(PIPE_\w{1,32}) (Read|Write)"
    rb"|(Read|Write) ?[Tt]hread(?:Id:)? ?\(([0-9]{1,9}),([0-9]{1,9}),([0-9]{1,9})\))"
    rb" at (?:(?:RAW|WAR|WAW)\(\)\+)?" + _HEX + rb"(?: in block ([0-9]{1,9}) \(([a-z]{1,16})\))?"
    rb"(?: on device (-?[0-9]{1,9}))?( at| in)? +(?=\S)"
)
_PC = re.compile(rb"pc current " + _HEX + rb"$")
_SERIAL = re.compile(rb"\(serialNo:([0-9]{1,20})\)$")
_ONE_BLOCK = re.compile(rb"([0-9]{1,9}) \(([a-z]{1,16})\)$")
_SPAN = rb"[0-9]{1,9}(?:-[0-9]{1,9})?"
_LIST = re.compile(rb"([a-z]{1,16})\(((?:%s(?:,%s)*)?)\),?" % (_SPAN, _SPAN))
_MAX_LISTS = 8
_DEVICE = re.compile(rb"(?:^| )on device (-?[0-9]{1,9})$")


def parse_body(text: bytes, store: Store) -> Body:
    """What a line says; `text`: without equals signs, blanks around it and comments."""
    if not text:
        return _BLANK
    for start, parse in _PARSERS:
        if text.startswith(start):
            found = parse(text, store)
            if found is not None:
                return found
    found = _instruction(text, store)
    return _UNKNOWN if found is None else found


def space_of(text: bytes, store: Store) -> tuple[str, bytes] | None:
    """The memory space at the start of a text, and what follows."""
    found = _SPACE.match(text)
    return None if found is None else (store.text(found[0]), text[found.end() :])


def kernel_of(text: bytes, store: Store) -> tuple[str, Style]:
    """The name of a kernel without quotes, and the release that it shows: only new ones quote."""
    if len(text) > 1 and text.startswith(b'"') and text.endswith(b'"'):
        return store.text(text[1:-1]), "26.0"
    return store.text(text), "8.2"


def cores_of(text: bytes, store: Store) -> tuple[Cores, ...] | None:
    """The cores in "aiv(0,2-4),aic(1)" or "1 (aiv)"; None if it is neither."""
    text = text.strip()
    one = _ONE_BLOCK.match(text)
    if one:
        return (Cores(store.text(one[2]), store.text(one[1])),)
    result: list[Cores] = []
    at = 0
    while at < len(text):
        found = _LIST.match(text, at)
        if found is None or len(result) == _MAX_LISTS:
            return None
        listed = found[2]
        if len(listed) > MAX_TEXT_CHARS:
            store.note_limit(
                f"a list of cores of more than {MAX_TEXT_CHARS:,} characters; the first were kept"
            )
            listed = listed[:MAX_TEXT_CHARS].rpartition(b",")[0]
        result.append(Cores(store.text(found[1]), store.text(listed)))
        at = found.end()
    return tuple(result)


def _where(text: bytes, store: Store) -> Body | None:
    at = _AT.match(text)
    found = space_of(text[at.end() :], store) if at else None
    if at is None or found is None:
        return None
    space, rest = found
    body = Body(Line.WHERE, {"address": int(at[1], 16), "space": space})
    if rest.startswith(b" when writing data"):
        rest = rest[len(b" when writing data") :]
        body.facts["access"] = "write"
    place = b""
    if rest.startswith(b" in ") and len(rest) > 4:
        body.facts["kernel"], body.style = kernel_of(rest[4:], store)
        return body
    if rest.startswith(b" by module "):
        module, _, place = rest[len(b" by module ") :].partition(b" allocated in ")
        body.facts["module"] = store.text(module)
    elif rest.startswith(b" allocated in "):
        place = rest[len(b" allocated in ") :]
    elif rest:
        return None
    return _with_place(body, place, store) if place else body


def _guard(text: bytes, store: Store) -> Body | None:
    found = _GUARD.match(text)
    if found is None:
        return None
    side = found[4].decode()
    allocation = Allocation(int(found[5], 16), int(found[6]), int(found[3]), side)  # type: ignore[arg-type]
    facts = {"address": int(found[1], 16), "space": store.text(found[2]), "detail": allocation}
    return Body(Line.WHERE, facts, "26.0")


def _pipes(text: bytes, store: Store) -> Body | None:
    found = _PIPES.match(text)
    if found is None:
        return None
    body = Body(Line.WHERE, {"detail": FlagPipes(store.text(found[1]), store.text(found[2]))})
    if found[3]:
        body.facts["kernel"], body.style = kernel_of(found[3], store)
    return body


def _leak(text: bytes, store: Store) -> Body | None:
    found = _LEAK.match(text)
    return None if found is None else Body(Line.LEAK, {"size_bytes": int(found[1])})


def _instruction(text: bytes, store: Store) -> Body | None:
    found = _INSTRUCTION.match(text)
    if found is None:
        return None
    kernel, style = kernel_of(found[2], store)
    return Body(Line.INSTRUCTION, {"instruction": store.text(found[1]), "kernel": kernel}, style)


def _frame(text: bytes, store: Store) -> Body | None:
    found = _FRAME.match(text)
    return None if found is None else Body(Line.FRAME, index=int(found[1]), frame=text)


def _block(text: bytes, store: Store) -> Body | None:
    """in block LISTS on device D, what may stand before it, and the forms without a block."""
    body = Body(Line.BLOCK)
    text, serial = _without_serial(text)
    if serial is not None:  # one manual ends the record with it
        body.facts["serial_number"] = serial
        body.has_location = True
    by = _BY.match(text)
    if by:
        text = text[by.end() :]
        if by[4]:
            body.facts["pipe"] = store.text(by[4])
        else:
            body.facts["thread"], body.style = (int(by[1]), int(by[2]), int(by[3])), "26.0"
    device = _DEVICE.search(text)
    if device:
        text = text[: device.start()]
        body.facts["device"] = int(device[1])
        body.style = body.style or ("8.2" if text or by else "26.0")
    if text == b"in block" or text.startswith(b"in block "):
        cores = cores_of(text[len(b"in block") :], store)
        if cores is None:
            return None
        body.facts["cores"] = cores
        body.style = body.style or ("8.0.RC2" if b" (" in text else "8.0.RC3")
        return body
    if text.startswith(b"in ") and device:
        body.facts["kernel"], _ = kernel_of(text[3:].removeprefix(b"kernel "), store)
        return body
    return None if text or not device else body


def _location(text: bytes, store: Store) -> Body | None:
    place = text.partition(b" in ")[2]
    if text.startswith(b"by host api calling in "):
        place = text[len(b"by host api calling in ") :]
    return _with_place(Body(Line.LOCATION), place, store) if place else None


def _event(text: bytes, store: Store) -> Body | None:
    found = _EVENT.match(text)
    if found is None:
        return None
    facts: dict[str, Any] = {
        "access": "read" if (found[2] or found[3]) == b"Read" else "write",
        "address": int(found[7], 16),
    }
    body = Body(Line.EVENT, facts)
    if found[1]:
        facts["pipe"] = store.text(found[1])
    else:
        facts["thread"], body.style = (int(found[4]), int(found[5]), int(found[6])), "26.0"
    if found[8]:
        facts["cores"] = (Cores(store.text(found[9]), store.text(found[8])),)
    if found[10]:
        facts["device"] = int(found[10])
        body.style = body.style or "8.2"
    elif not found[11]:
        body.style = "8.0.RC2"
    return _with_place(body, text[found.end() :], store)


def _with_place(body: Body, text: bytes, store: Store) -> Body | None:
    """The body with the place that `text` names: a pc, or a file with its line, or what stands for none."""
    text, serial = _without_serial(text)
    if serial is not None:
        body.facts["serial_number"] = serial
    if text.startswith(b"pc current"):
        pc = _PC.match(text)
        if pc is None:
            return None
        body.facts["pc"] = int(pc[1], 16)
        body.has_pc = True
        body.style = body.style or "8.0.RC3"
    elif text == b"<unknown>" or is_number(text.rpartition(b":")[2]):
        body.frame = b"#0 " + text
        if text == b"<unknown>" and serial is not None:
            body.style = "26.0"
        elif text in (b"<unknown>:0", b":0"):
            body.style = body.style or "8.2"
    else:
        return None
    body.has_location = True
    return body


def _without_serial(text: bytes) -> tuple[bytes, int | None]:
    at = text.rfind(b"(serialNo:")
    found = _SERIAL.match(text, at) if at >= 0 else None
    return (text, None) if found is None else (text[:at].rstrip(), int(found[1]))


_PARSERS = (
    (b"#", _frame),
    (b"at 0x", _where),
    (b"code in ", _location),
    (b"in ", _block),
    (b"PIPE_", _event),
    (b"by ", _block),
    (b"by host api", _location),
    (b"Read", _event),
    (b"Write", _event),
    (b"allocated in ", _location),
    (b"on device ", _block),
    (b"from PIPE_", _pipes),
    (b"Direct leak ", _leak),
    (b"Indirect leak ", _leak),
    (b"Access to 0x", _guard),
)
