"""What a rule says of a chip or of the whole machine, in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from npulse.core.dataclass import dataclass
from npulse.core.findings import Figures, Finding, Location, Related, Role, Severity
from npulse.core.text import Lang, safe_text

from .snapshot import ChipState, Key, Snapshot

AREA = "device"
Words = tuple[str, str]
NO_WORDS: Words = ("", "")
KNOWN_HEALTH = frozenset(("OK", "Warning", "Alarm", "Critical"))


@dataclass(frozen=True, slots=True)
class Note:
    """rule: id without the area's name. key: the chip, None for the machine. short: a few words for a line
    that names several. is_unwell: figures that were measured on this card are not to be trusted. source: the
    file or side that told it."""

    rule: str
    severity: Severity
    role: Role
    key: Key | None
    subject: str
    message: Words
    next_step: Words = NO_WORDS
    short: Words = NO_WORDS
    figures: Figures = field(default_factory=dict)
    is_unwell: bool = False
    related: tuple[Related, ...] = ()
    source: str = ""

    def finding(self, lang: Lang) -> Finding:
        at = 1 if lang == "zh" else 0
        return Finding(
            area=AREA,
            severity=self.severity,
            rule=f"{AREA}.{self.rule}",
            role=self.role,
            subject=self.subject,
            message=self.message[at],
            next_step=self.next_step[at],
            figures=self.figures,
            related=self.related,
            location=Location(self.source or None),
        )


def subject_of(snapshot: Snapshot, chip: ChipState) -> str:
    """ "NPU 3", where a card has several chips "NPU 1 chip 1", as npu-smi counts them."""
    if chip.npu < 0:
        return "NPU ?"
    several = chip.chip or any(one.npu == chip.npu and one.chip for one in snapshot.chips)
    return f"NPU {chip.npu} chip {chip.chip}" if several else f"NPU {chip.npu}"


def ids_of(chip: ChipState) -> dict[str, int | None]:
    """The ids of a chip as figures of a finding have them."""
    return {"npu": chip.npu if chip.npu >= 0 else None, "chip": chip.chip, "phy_id": chip.physical_id}


def chip_note(
    snapshot: Snapshot,
    chip: ChipState,
    rule: str,
    severity: Severity,
    message: Words,
    step: Words = NO_WORDS,
    short: Words = NO_WORDS,
    *,
    is_unwell: bool = False,
    **figures: Any,
) -> Note:
    """A note on a chip, with its ids; figures that are None are left out."""
    role: Role = "unknown" if chip.health is not None and chip.health not in KNOWN_HEALTH else "suspect"
    if severity != "warning":
        role = "origin" if severity == "error" else "benign"
    kept = {name: value for name, value in figures.items() if value is not None}
    return Note(
        rule,
        severity,
        role,
        chip.key,
        subject_of(snapshot, chip),
        message,
        step,
        short,
        {**ids_of(chip), **kept},
        is_unwell,
        source=snapshot.source,
    )


def shown(value: float | None) -> str:
    """A figure as people read it; "?" where npu-smi did not show it."""
    if value is None:
        return "?"
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def words(texts: Mapping[str, Words], key: str, **values: object) -> Words:
    """A text of both languages, its values made safe to show; a pair of words is taken by language."""
    en, zh = (
        text.format(**{name: _shown(one, at) for name, one in values.items()}) if values else text
        for at, text in enumerate(texts[key])
    )
    return en, zh


def _shown(value: object, at: int) -> object:
    if isinstance(value, tuple):
        value = value[at]
    return safe_text(value) if isinstance(value, str) else value
