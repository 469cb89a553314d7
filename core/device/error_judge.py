"""Error counters of a chip: ECC, isolated pages, links, and those that move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from npulse.core.text import safe_text

from .criteria import Settings
from .history import History
from .notes import Note, chip_note, words
from .snapshot import ChipState, Snapshot
from .texts import TEXTS

ISOLATED_LIMIT = 64
"""From this many isolated pages on the driver asks for another card."""


def error_notes(
    snapshot: Snapshot, chip: ChipState, history: History | None, asked: Settings
) -> Iterator[Note]:
    """What its counters say, and what several polls say of them."""
    counts = {key: n for key in chip.values if (n := chip.count(key)) is not None}
    double = {key: n for key, n in counts.items() if n and ("Double Bit" in key or "Double-bit" in key)}
    if double:
        yield chip_note(
            snapshot,
            chip,
            "ecc",
            "error",
            words(TEXTS, "ecc", counts=_listed(double)),
            words(TEXTS, "ecc-next"),
            words(TEXTS, "short-ecc"),
            is_unwell=True,
            counts=double,
        )
    for memory in ("HBM", "DDR"):
        names = [f"{memory} {bits} Bit Isolated Pages Count" for bits in ("Single", "Double")]
        pages = sum(counts.get(name, 0) for name in names)
        if pages >= asked.criteria.isolated_pages:
            yield chip_note(
                snapshot,
                chip,
                "isolated-pages",
                "error" if pages >= ISOLATED_LIMIT else "warning",
                words(TEXTS, "isolated-pages", n=pages, memory=memory),
                words(TEXTS, "isolated-pages-next"),
                words(TEXTS, "isolated-pages", n=pages, memory=memory),
                is_unwell=True,
                n_pages=pages,
                memory=memory,
            )
    links = {key: n for key, n in counts.items() if n and _is_link(key)}
    retries = links.get("Retry Count", 0)
    if set(links) - {"Retry Count"} or retries >= asked.criteria.link_retries:
        yield chip_note(
            snapshot,
            chip,
            "link",
            "warning",
            words(TEXTS, "link", counts=_listed(links)),
            words(TEXTS, "link-next"),
            words(TEXTS, "short-link"),
            is_unwell=True,
            counts=links,
        )
    moved = history.moved(chip.key) if history is not None else {}
    if moved:
        yield moved_note(snapshot, chip, moved, "counters-moving")


def moved_note(
    snapshot: Snapshot, chip: ChipState, moved: Mapping[str, tuple[int, int]], text: str, **figures: Any
) -> Note:
    """Counters that grew: an error where double-bit errors came, a note where links only retried."""
    is_double = any("Double" in key for key in moved)
    is_retry = set(moved) == {"Retry Count"}
    moves = ", ".join(f"{safe_text(key, 60)} {first} -> {last}" for key, (first, last) in moved.items())
    return chip_note(
        snapshot,
        chip,
        "counters-moving",
        "error" if is_double else "note" if is_retry else "warning",
        words(TEXTS, text, moves=moves),
        words(TEXTS, "counters-moving-next"),
        words(TEXTS, "short-counters"),
        is_unwell=not is_retry,
        counters={key: list(pair) for key, pair in moved.items()},
        **figures,
    )


def _is_link(key: str) -> bool:
    return key == "Retry Count" or (key.endswith("Error Count") and " Bit " not in key and "-bit" not in key)


def _listed(counts: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in counts.items())
