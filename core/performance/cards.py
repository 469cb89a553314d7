# ruff: noqa: E501 - one text a line
"""Whether the cards were well on which a round was measured: by npu-smi's output or snapshots beside it.

What reads and judges them is loaded where a round has such files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from npulse.core.errors import InputError
from npulse.core.findings import Location, Related
from npulse.core.progress import IsCancelled, never_cancelled
from npulse.core.run.manifest import MANIFEST
from npulse.core.run.model import Artifact, Run
from npulse.core.tails import Tails
from npulse.core.text import Lang

from .advice import Advice, words
from .found import Performance
from .texts import TEXTS

if TYPE_CHECKING:
    from npulse.core.device.warning import Unwell

TEXT = "device.npu_smi"  # as the device area calls it


def unwell_cards(
    run: Run,
    round_name: str,
    artifacts: Sequence[Artifact],
    found: Performance,
    *,
    tails: Tails | None = None,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[Unwell, ...]:
    """The cards of this round's devices that were not well; () where nothing tells of cards."""
    told = tuple(one for one in artifacts if one.kind in (TEXT, MANIFEST))
    if not told:
        return ()
    from npulse.core.device.analyse import analyse as analyse_devices
    from npulse.core.device.criteria import Settings
    from npulse.core.device.warning import unwell_in

    try:
        devices = analyse_devices(run, round_name, told, Settings(), tails=tails, is_cancelled=is_cancelled)
    except InputError:
        return ()  # the device area says why
    return unwell_in(devices, _devices_of(found))


def _devices_of(found: Performance) -> frozenset[int] | None:
    """The devices that were measured; None where a profile does not say which."""
    devices = [one.profile.device for one in found.profiles]
    if not devices or None in devices:
        return None
    return frozenset(device for device in devices if device is not None)


def with_cards(found: Performance, cards: tuple[Unwell, ...]) -> Performance:
    """The same with a warning in front of all advice where a card was not well."""
    if not cards:
        return found
    en, zh = words_of(cards, "en"), words_of(cards, "zh")
    first = cards[0]
    advice = Advice(
        "performance.device",
        "warning",
        first.notes[0].subject,
        (TEXTS["not-trusted"][0].format(cards=en), TEXTS["not-trusted"][1].format(cards=zh)),
        words(TEXTS, "not-trusted-next"),
        figures={"names": [one.label for one in cards], "devices": [one.device for one in cards]},
        role="unknown",
        related=tuple(
            Related(
                "suspect", one.notes[0].subject, {"reason": [f"device.{note.rule}" for note in one.notes]}
            )
            for one in cards
        ),
        location=Location(first.notes[0].source or None),
    )
    return replace(found, cards=cards, advice=(advice, *found.advice))


def words_of(cards: tuple[Unwell, ...], lang: Lang) -> str:
    """ "card 3: 88 C, low frequency": what is the matter with them."""
    from npulse.core.device.warning import words_for

    return words_for(cards, lang)
