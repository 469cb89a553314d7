"""One call of a dump computed again, whichever way it goes."""

from __future__ import annotations

from pathlib import Path

from npulse.core.formats.msprobe.records import Dump

from .backward import check_backward
from .check import check_forward
from .model import Check
from .of_tools import name_of


def check_call(
    dump: Dump, call: int, root: Path, *, rank: int | None = None, step: int | None = None, side: str = ""
) -> Check:
    """Compute a call again. root: the run that its files lie in."""
    is_backward = name_of(dump, call).direction == "backward"
    check = check_backward if is_backward else check_forward
    return check(dump, call, root, rank=rank, step=step, side=side)
