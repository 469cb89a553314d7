"""What is known of a chip by its name in npu-smi: memory that it has, and that it holds when idle."""

from __future__ import annotations

import re

from npulse.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Card:
    """idle_mb: what an idle chip shows as used at most, of the memory that jobs use. rated_mb: its size; None
    where it differs by board."""

    family: str
    idle_mb: float
    rated_mb: float | None = None


_A2_IDLE = 3500
_CARDS: tuple[tuple[re.Pattern[str], Card], ...] = tuple(
    (re.compile(pattern), card)
    for pattern, card in (
        (r".*_vir\d.*", Card("vNPU", _A2_IDLE)),
        (r"910b[123](?:c|-\d)?", Card("A2", _A2_IDLE, 65536)),
        (r"910b4", Card("A2", _A2_IDLE, 32768)),
        (r"910b\d.*", Card("A2", _A2_IDLE)),
        (r"910[ab]|910(?:pro|prem)[ab]", Card("910A", 0, 32768)),
        (r"910(?:_?93.*|c)?", Card("A3", _A2_IDLE, 65536)),
        (r"950.*", Card("950", 4500)),
        (r"310.*|minid", Card("310", 2000)),
    )
)
UNKNOWN = Card("", 4500)


def card_of(name: str | None) -> Card:
    """The chip of a name as npu-smi writes it: "910B3", "Ascend 910B3", "Ascend910" (A3), "910B3_vir10"."""
    key = "".join((name or "").lower().split()).removeprefix("ascend")[:64]
    return next((card for pattern, card in _CARDS if pattern.fullmatch(key)), UNKNOWN)
