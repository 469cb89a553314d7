"""The commands that write what a pane reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npulse.core.run.kinds import Kind

_MAX_COMMANDS = 12


def commands_of(kinds: Iterable[Kind]) -> list[str]:
    """The commands that write these kinds, each once."""
    return list(dict.fromkeys(kind.captured_by for kind in kinds if kind.captured_by))[:_MAX_COMMANDS]
