"""What a round did to the cards: the snapshot after it against the one before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .criteria import Settings
from .error_judge import moved_note
from .history import is_counter
from .judge import ordered
from .memory_judge import held_mb, names_of
from .notes import Note, Words, ids_of, subject_of, words
from .snapshot import ChipState, Process, Snapshot
from .texts import TEXTS

WARMER_C = 10
"""From this many degrees on a difference of temperature is told."""
_WORST = ("OK", "Warning", "Alarm", "Critical")


def changes(before: Snapshot, after: Snapshot, settings: Settings | None = None) -> tuple[Note, ...]:
    """Temperature, frequency, error counters, health, memory that is left, processes that came or went.

    () where one of the two knows nothing of devices.
    """
    if not before.is_known or not after.is_known:
        return ()
    asked = settings or Settings()
    found: list[Note] = []
    for old in before.chips:
        new = after.chip(*old.key)
        if new is None:
            found.append(_change(before, old, "warning", "device", TEXTS["change-device-gone"]))
            continue
        found += _figures(after, old, new, asked)
        found += _counters(after, old, new)
        found += _memory(before, after, old, new, asked)
        found += _processes(before, after, old, new)
    return ordered(found)


def _change(
    snapshot: Snapshot, chip: ChipState, severity: Any, what: str, message: Words, **figures: Any
) -> Note:
    kept = {name: value for name, value in figures.items() if value is not None}
    return Note(
        "change",
        severity,
        "benign" if severity == "note" else "suspect",
        chip.key,
        subject_of(snapshot, chip),
        message,
        figures={**ids_of(chip), "what": what, **kept},
        source=snapshot.source,
    )


def _figures(after: Snapshot, old: ChipState, new: ChipState, asked: Settings) -> Iterator[Note]:
    if old.health != new.health and old.health is not None and new.health is not None:
        ranks = [_WORST.index(one) if one in _WORST else len(_WORST) for one in (old.health, new.health)]
        told = {"before": old.health, "after": new.health}
        message = words(TEXTS, "change", what=TEXTS["what-health"], **told)
        yield _change(after, new, "warning" if ranks[1] > ranks[0] else "note", "health", message, **told)
    for what, name, least in (("temperature", "temperature_c", WARMER_C), ("frequency", "frequency_mhz", 1)):
        first, last = getattr(old, name), getattr(new, name)
        if first is None or last is None or abs(last - first) < least:
            continue
        shown = {"before": f"{first:g}", "after": f"{last:g}"}
        if what == "frequency" and not _is_slow(new, asked):
            continue  # an idle chip slows down, one at work speeds up
        message = words(TEXTS, "change", what=TEXTS[f"what-{what}"], **shown)
        yield _change(after, new, "note", what, message, before=first, after=last)


def _is_slow(chip: ChipState, asked: Settings) -> bool:
    limits = asked.criteria
    is_loaded = limits.is_loaded(chip.ai_core_percent, chip.npu_percent)
    return is_loaded and limits.is_slow(chip.frequency_mhz, chip.rated_mhz)


def _counters(after: Snapshot, old: ChipState, new: ChipState) -> Iterator[Note]:
    moved = {}
    for key in filter(is_counter, new.values):
        first, last = old.count(key), new.count(key)
        if first is not None and last is not None and last > first:
            moved[key] = first, last
    if moved:
        yield moved_note(after, new, moved, "change-counters")


def _memory(
    before: Snapshot, after: Snapshot, old: ChipState, new: ChipState, asked: Settings
) -> Iterator[Note]:
    """Memory that stays when the processes are gone, beyond what was held before."""
    if old.used_mb is None or new.used_mb is None:
        return
    by_processes = [
        sum(one.memory_mb or 0 for one in snapshot.processes_of(chip) or ())
        for snapshot, chip in ((before, old), (after, new))
    ]
    more = (new.used_mb - by_processes[1]) - (old.used_mb - by_processes[0])
    if more >= asked.criteria.held_mb and held_mb(after, new, asked) is not None:
        message = words(TEXTS, "change-left", n=f"{more:,.0f}")
        yield _change(after, new, "warning", "memory", message, before=old.used_mb, after=new.used_mb)


def _processes(before: Snapshot, after: Snapshot, old: ChipState, new: ChipState) -> Iterator[Note]:
    first, last = before.processes_of(old), after.processes_of(new)
    if first is None or last is None:
        return
    new_ones = _without(last, first)
    if new_ones:
        message = words(TEXTS, "change-new", names=names_of(new_ones))
        yield _change(after, new, "warning", "new processes", message, pids=[one.pid for one in new_ones])
    lost = _without(first, last)
    if lost:
        message = words(TEXTS, "change-lost", names=names_of(lost))
        yield _change(after, new, "note", "lost processes", message, pids=[one.pid for one in lost])


def _without(some: tuple[Process, ...], others: tuple[Process, ...]) -> list[Process]:
    known = {one.pid for one in others}
    return [one for one in some if one.pid not in known]
