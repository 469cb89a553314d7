"""What the device's overflow records and exception dumps say, as findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from npulse.core.findings import Finding, Location, Related
from npulse.core.formats.cann.opdebug import OverflowEntry, status_bits
from npulse.core.formats.msprobe.records import OUTPUT
from npulse.core.text import Lang, say

from .analyse import Overflow
from .explain import AREA, origin_figures, what_of
from .explained import Explained
from .figures import row_figures
from .graph import GraphPart, Joined
from .ranks import Place, RankOverflow
from .texts import TEXTS

SHOWN_RECORDS = 20


def record_findings(
    found: Overflow, told: Sequence[Explained], lang: Lang
) -> list[tuple[Place | None, Finding]]:
    """A finding for each record, in the order of time, and the origin that it stands for (None for none).

    The first record whose operator began it (or of whose operator nothing was dumped) is an error; those
    whose inputs were bad already are notes.
    """
    by_call = {(this.place, this.origin.call): this for this in told}
    findings: list[tuple[Place | None, Finding]] = []
    for part_number, part in enumerate(found.graph):
        place = len(found.ranks) + part_number
        named = False
        for joined in part.joined[:SHOWN_RECORDS]:
            this = by_call.get((place, joined.call))
            began = this is not None or (joined.call < 0 and not named) or not _is_explained(part, joined)
            is_error = began and (this is not None or not named)
            named |= is_error
            finding = _record_finding(found, part, joined, this, is_error, lang)
            findings.append(((place, joined.call) if this is not None else None, finding))
    return findings


def _is_explained(part: GraphPart, joined: Joined) -> bool:
    return joined.call >= 0 and joined.call in part.rank.roles.cause_of


def _record_finding(
    found: Overflow, part: GraphPart, joined: Joined, this: Explained | None, is_error: bool, lang: Lang
) -> Finding:
    rank, entry = part.rank, joined.entry
    status, bits = _status(entry), _bits(entry)
    figures: dict[str, Any] = {
        "unit": entry.unit,
        "core_type": entry.unit,
        "status": status,
        "status_bits": list(bits),
        "task_id": entry.task_id,
        "stream_id": entry.stream_id,
        "record_timestamp": joined.record.timestamp,
        "record_form": joined.record.form,
    }
    if joined.call < 0:
        subject, key, state = joined.record.path.name, "record-alone", ""
    else:
        subject, key = rank.name(joined.call), "record"
        state = _state(rank, joined.call, this, lang)
        name = part.calls[joined.call].name
        figures |= {"op_type": name.op_type, "op_name": name.op_name, "timestamp": name.timestamp}
        figures |= _call_figures(part, joined.call, this)
    related = []
    if this is not None:
        related = [
            Related("suspect", rank.name(s.call), row_figures(rank, s.row)) for s in this.trace.suspects
        ]
    inherits = joined.call in rank.roles.cause_of and this is None
    return Finding(
        AREA,
        "error" if is_error else "note",
        "overflow.record",
        "origin" if this is not None and is_error else "inherited" if inherits else "unknown",
        subject,
        say(
            TEXTS,
            key,
            lang,
            unit=entry.unit,
            status=", ".join(map(str, entry.status)) or "?",
            bits=", ".join(_bit_text(bit, lang) for bit in bits) or "-",
            task=entry.task_id,
            stream=entry.stream_id,
            state=state,
        ),
        _todo(joined, this, lang) if is_error else "",
        figures=figures,
        related=tuple(related),
        location=_location(found, part, joined),
    )


def _todo(joined: Joined, this: Explained | None, lang: Lang) -> str:
    is_read = this is not None and joined.call >= 0
    return say(TEXTS, "next-record-read" if is_read else "next-record", lang)


def _status(entry: OverflowEntry) -> int | list[int]:
    return entry.status[0] if len(entry.status) == 1 else list(entry.status)


def _bits(entry: OverflowEntry) -> tuple[str, ...]:
    """The bits of all status words; those of atomic adds are no AI core's, so they have no names."""
    if entry.unit not in ("AI Core", "AIC", "AIV"):
        return tuple(hex(word) for word in entry.status if word)
    return tuple(dict.fromkeys(bit for word in entry.status for bit in status_bits(word)))


def _bit_text(bit: str, lang: Lang) -> str:
    known = f"bit-{bit}" in TEXTS
    return say(TEXTS, f"bit-{bit}", lang) if known else say(TEXTS, "bit-undocumented", lang, bit=bit)


def _state(rank: RankOverflow, call: int, this: Explained | None, lang: Lang) -> str:
    if this is not None:
        return say(TEXTS, "record-began", lang, what=what_of(this.flags, lang))
    flags = _flags(rank, call, outputs=False)
    if flags:
        return say(TEXTS, "record-inherited", lang, what=what_of(flags, lang))
    rows = [r for r in rank.dump.leaf_range(call) if rank.health.is_known[r]]
    return say(TEXTS, "record-finite" if rows else "record-nothing", lang)


def _flags(rank: RankOverflow, call: int, *, outputs: bool) -> int:
    found = 0
    for row in rank.dump.leaf_range(call):
        if bool(rank.dump.leaves.side[row] == OUTPUT) == outputs:
            found |= int(rank.health.flags[row])
    return found


def _call_figures(part: GraphPart, call: int, this: Explained | None) -> dict[str, Any]:
    rank = part.rank
    if this is not None:
        return dict(origin_figures(this))
    rows = list(rank.dump.leaf_range(call))
    bad = [row for row in rows if rank.health.flags[row]]
    row = (bad or rows or [-1])[-1]
    figures = row_figures(rank, row, part.places.get(row)) if row >= 0 else {}
    return {**figures, "inputs_finite": not _flags(rank, call, outputs=False)}


def _location(found: Overflow, part: GraphPart, joined: Joined) -> Location:
    row = None
    if joined.call >= 0:
        rows = part.rank.dump.leaf_range(joined.call)
        row = next((r for r in rows if part.rank.health.flags[r]), rows.start if len(rows) else None)
    return Location(found.relative(joined.record.path), part.rank.rank, part.rank.step, row)


def exception_findings(found: Overflow, lang: Lang) -> Iterator[Finding]:
    """Operators that raised an exception: whether their values explain it."""
    for part in found.graph:
        rank = part.rank
        for call in part.exceptions[:SHOWN_RECORDS]:
            name = part.calls[call].name
            flags = _flags(rank, call, outputs=False) | _flags(rank, call, outputs=True)
            state = (
                say(TEXTS, "exception-bad", lang, what=what_of(flags, lang))
                if flags
                else say(TEXTS, "exception-finite", lang)
            )
            yield Finding(
                AREA,
                "warning" if flags else "note",
                "overflow.exception",
                "suspect" if flags else "unknown",
                rank.name(call),
                say(
                    TEXTS,
                    "exception-note",
                    lang,
                    operator=rank.name(call),
                    task=name.task_id,
                    stream=name.stream_id,
                    state=state,
                ),
                say(TEXTS, "next-exception", lang),
                figures={"task_id": name.task_id, "stream_id": name.stream_id, "time": name.timestamp},
                location=Location(
                    found.relative(rank.dump.path / part.calls[call].files[0]), rank.rank, rank.step
                ),
            )
