"""One short sentence for figures that were measured on cards that are not well."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from npulse.core.dataclass import dataclass
from npulse.core.text import Lang, say

from .analyse import Devices
from .criteria import Settings
from .judge import notes_of
from .notes import Note
from .snapshot import Key, Snapshot
from .texts import TEXTS

SHOWN_CHIPS = 6


@dataclass(frozen=True, slots=True)
class Unwell:
    """A card that is not well: its notes, and what a job calls it (None: nobody can tell)."""

    key: Key
    device: int | None
    label: str
    notes: tuple[Note, ...]


def unwell_of(
    snapshots: Iterable[Snapshot],
    devices: Collection[int] | None = None,
    settings: Settings | None = None,
) -> tuple[Unwell, ...]:
    """Cards on which measured figures are not to be trusted, in all these snapshots (before, after, ...).

    devices: ids of the devices that the job used; None for all. A card of which nobody can tell what the job
    calls it counts as one of them.
    """
    found: dict[Key, Unwell] = {}
    for snapshot in snapshots:
        _add(found, snapshot, notes_of(snapshot, None, settings), devices)
    return tuple(found.values())


def _add(
    found: dict[Key, Unwell],
    snapshot: Snapshot,
    notes: Iterable[Note],
    devices: Collection[int] | None,
) -> None:
    for note in notes:
        chip = snapshot.chip(*note.key) if note.key is not None else None
        if chip is None or not note.is_unwell:
            continue
        device = snapshot.device_of(chip)
        if devices is not None and device is not None and device not in devices:
            continue
        before = found.get(chip.key)
        known = before.notes if before is not None else ()
        if all((one.rule, one.short) != (note.rule, note.short) for one in known):
            found[chip.key] = Unwell(chip.key, device, chip.label, (*known, note))


def unwell_in(found: Devices, devices: Collection[int] | None = None) -> tuple[Unwell, ...]:
    """As `unwell_of`, of an analysis: of all its states, their history, and what changed between them."""
    cards: dict[Key, Unwell] = {}
    for one in found.sources:
        own = [note for note in found.changes if one.side == "after" and note.source == one.snapshot.source]
        _add(cards, one.snapshot, (*one.notes, *own), devices)
    return tuple(cards.values())


def words_for(unwell: Iterable[Unwell], lang: Lang) -> str:
    """ "card 3: 88 C, low frequency; card 5: health Alarm"; "" where there is none."""
    at = 1 if lang == "zh" else 0
    comma, semicolon = say(TEXTS, "comma", lang), say(TEXTS, "semicolon", lang)
    cards = list(unwell)
    parts = [
        say(
            TEXTS,
            "unwell",
            lang,
            chip=say(TEXTS, "chip", lang, label=one.label if one.key[0] >= 0 else "?"),
            words=comma.join(dict.fromkeys(note.short[at] for note in one.notes if note.short[at])),
        )
        for one in cards[:SHOWN_CHIPS]
    ]
    return semicolon.join(parts) + (" ..." if len(cards) > SHOWN_CHIPS else "")


def warning_for(
    snapshots: Snapshot | Iterable[Snapshot],
    devices: Collection[int] | None = None,
    lang: Lang = "en",
    settings: Settings | None = None,
) -> str:
    """ "card 3: 88 C, low frequency": what a finding about performance has to say beside its figures.

    "" where the cards that measured are well, or nothing is known of them.
    """
    listed = (snapshots,) if isinstance(snapshots, Snapshot) else snapshots
    return words_for(unwell_of(listed, devices, settings), lang)
