"""The first line of a record, and the SUMMARY lines: what the tool found, in the words of every release."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from typing import Any

from npulse.core.dataclass import dataclass

from .bodies import cores_of, kernel_of, space_of
from .records import Cores, Kind, Mask, Severity, Style, SummaryKind
from .store import Store


@dataclass(slots=True)
class Head:
    """The head of a record. text: as written. facts: fields of the record that the head itself gives."""

    kind: Kind
    severity: Severity
    text: str
    facts: dict[str, Any] = field(default_factory=dict)
    style: Style = ""


SEVERITY = re.compile(rb"(ERROR|WARN(?:N?ING)?|INFO|SUMMARY):[ \t]*")
_SEVERITIES: dict[bytes, Severity] = {b"ERROR": "error", b"INFO": "info"}

_SIZED = re.compile(
    rb"(ille(?:gal|gel) (read|write)|out of bounds|misaligned access|uninitialized read)"
    rb" of size ([0-9]{1,20})\b"
)
_SIZED_KINDS: dict[bytes, Kind] = {
    b"out of bounds": "out of bounds",
    b"misaligned access": "misaligned access",
    b"uninitialized read": "uninitialized read",
}
_FREE = re.compile(rb"ille(?:gal|gel) free\(\)")
_UNUSED = re.compile(rb"Unused memory of ([0-9]{1,20}) ?byte\(s\)")
_INTERNAL = re.compile(rb"internal errors?(?: \(serialNo:([0-9]{1,20})\))?")
_RACE = re.compile(
    rb"Potential (RAW|WAR|WAW) hazard detected"
    rb" (?:in block ([0-9]{1,9} \([a-z]{1,16}\)) )?at (?:core([0-9]{1,9}) in )?"
)
_DCCI = b"Missing DCCI instructions detected on cross core data dependency at "
_RACE_DEVICE = re.compile(rb" on device (-?[0-9]{1,9})$")
_FLAG = re.compile(rb"(Unpaired|Redundant) (\w{1,40}) instructions? detected")
_LOCKED = re.compile(rb"Sync error detected\.? kernel locked up")
_DIVERGENT = re.compile(rb"Sync error detected\.? Divergent thread\(s\)(?: in (.+))?$")
_MASK = re.compile(
    rb"(\w{1,40}) is using non-default mask\. MaskMode: (\w{1,16}), "
    rb"MaskHigh: (?:0x)?([0-9a-f]{1,16}), MaskLow: (?:0x)?([0-9a-f]{1,16})(?![0-9a-f])"
)
_SUMMARIES: tuple[tuple[SummaryKind, re.Pattern[bytes]], ...] = (
    ("leak", re.compile(rb"([0-9]{1,20}) ?byte\(s\) leaked in ([0-9]{1,20}) allocation\(s\)")),
    (
        "unused memory",
        re.compile(rb"([0-9]{1,20}) ?byte\(s\) unused memory in ([0-9]{1,20}) allocation\(s\)"),
    ),
    ("lock-up", re.compile(rb"()([0-9]{1,20}) pipe\(s\) locked up")),
)


def is_of_another(text: bytes) -> bool:
    """Whether a head closes with equals signs: so do banners and other tools, never this one."""
    return text.endswith(b"=====")


def parse_head(raw: bytes, severity_word: bytes, text: bytes, n_marks: int, store: Store) -> Head:
    """The head in `raw`, whose part behind the severity is `text`. One that is not known is "other"."""
    severity = _SEVERITIES.get(severity_word, "warning")
    for parse in _PARSERS:
        head = parse(text, severity, store)
        if head is not None:
            break
    else:
        head = Head("other", severity, "")
    head.text = store.text(raw)
    if severity_word == b"WARNNING":
        head.style = head.style or "8.0.RC1"
    if n_marks == 9:
        head.style = head.style or "8.0.RC2"
    return head


def parse_summary(text: bytes) -> tuple[SummaryKind, int | None, int | None]:
    """(kind, count, bytes) of what stands behind "SUMMARY: "."""
    for kind, pattern in _SUMMARIES:
        found = pattern.match(text)
        if found:
            return kind, int(found[2]), int(found[1]) if found[1] else None
    return "other", None, None


def _sized(text: bytes, severity: Severity, store: Store) -> Head | None:
    found = _SIZED.match(text)
    if found is None:
        return None
    facts: dict[str, Any] = {"size_bytes": int(found[3])}
    kind = _SIZED_KINDS.get(found[1])
    if kind is None:
        kind = "illegal read" if found[2] == b"read" else "illegal write"
        facts["access"] = found[2].decode()
    elif kind == "uninitialized read":
        facts["access"] = "read"
    return Head(kind, severity, "", facts, "8.0.RC1" if found[1].startswith(b"illegel") else "")


def _race(text: bytes, severity: Severity, store: Store) -> Head | None:
    found = _RACE.match(text)
    if found is None and not text.startswith(_DCCI):
        return None
    place = space_of(text[found.end() if found else len(_DCCI) :], store)
    if place is None:
        return None
    head = Head("race" if found else "missing dcci", severity, "", {"space": place[0]})
    rest = place[1].rstrip().removesuffix(b":").rstrip()
    device = _RACE_DEVICE.search(rest)
    if device:
        rest = rest[: device.start()]
        head.facts["device"] = int(device[1])
        head.style = "8.2"
    if rest.startswith(b" in ") and len(rest) > 4:
        head.facts["kernel"], style = kernel_of(rest[4:], store)
        head.style = head.style or style
    if found is None:
        head.style = "26.0"
        return head
    head.facts["hazard"] = found[1].decode()
    if found[2]:
        head.facts["cores"] = cores_of(found[2], store) or ()
        head.style = "7.0.RC1"
    elif found[3]:
        head.facts["cores"] = (Cores("", store.text(found[3])),)
        head.style = "8.0.RC1"
    return head


def _flag(text: bytes, severity: Severity, store: Store) -> Head | None:
    found = _FLAG.match(text)
    if found is None:
        return None
    kind: Kind = "unpaired flag" if found[1] == b"Unpaired" else "redundant flag"
    return Head(kind, severity, "", {"instruction": store.text(found[2])})


def _sync(text: bytes, severity: Severity, store: Store) -> Head | None:
    if _LOCKED.match(text):
        return Head("lock-up", severity, "", {}, "26.0")
    found = _DIVERGENT.match(text)
    if found is None:
        return None
    facts = {"kernel": kernel_of(found[1], store)[0]} if found[1] else {}
    return Head("divergent threads", severity, "", facts, "26.0")


def _host(text: bytes, severity: Severity, store: Store) -> Head | None:
    """Findings about memory that the host asked for."""
    if text.startswith(b"LeakCheck: detected memory leaks"):
        return Head("leak", severity, "")
    if _FREE.match(text):
        return Head("illegal free", severity, "")
    found = _UNUSED.match(text)
    return Head("unused memory", severity, "", {"size_bytes": int(found[1])}) if found else None


def _other_known(text: bytes, severity: Severity, store: Store) -> Head | None:
    found = _INTERNAL.match(text)
    if found:
        return Head("internal error", severity, "", {"serial_number": int(found[1])} if found[1] else {})
    found = _MASK.match(text)
    if found is None:
        return None
    mask = Mask(store.text(found[2]), int(found[3], 16), int(found[4], 16))
    return Head("non-default mask", severity, "", {"instruction": store.text(found[1]), "detail": mask})


_PARSERS: tuple[Callable[[bytes, Severity, Store], Head | None], ...] = (
    _sized,
    _race,
    _flag,
    _sync,
    _host,
    _other_known,
)
