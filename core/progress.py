"""Progress and cancellation, passed into everything that can take more than half a second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .errors import Cancelled


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one piece of work is. `total` is None while it is not known."""

    stage: str
    done: int
    total: int | None
    unit: str


ProgressCallback = Callable[[Progress], None]
IsCancelled = Callable[[], bool]


def ignore_progress(progress: Progress) -> None:
    """Default callback: nobody looks."""


def never_cancelled() -> bool:
    """Default: nobody cancels."""
    return False


def check(is_cancelled: IsCancelled) -> None:
    """Raise `Cancelled` if the user asked to stop; called between chunks of work."""
    if is_cancelled():
        raise Cancelled
