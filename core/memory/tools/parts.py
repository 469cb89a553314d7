"""What the adapters share: call stacks, ranges of cores, and a tool's part of a log's trust."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from npulse.core.dataclass import dataclass

from ..faults import Frame, LogSummary

MAX_STACKS = 4096

F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class TrustPart:
    """What one reader knows of a log as a whole; see `LogTrust`."""

    tools: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    summaries: tuple[LogSummary, ...] = ()
    notices: tuple[tuple[int, str], ...] = ()
    n_clean_ends: int = 0
    kernels: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()


class Stacks(Generic[F]):
    """Call stacks in one form. A stack that comes again as the same object is converted once and stays one
    object, so that a hundred thousand faults of ten places hold ten stacks. At most 4,096 are kept.
    """

    def __init__(self, convert: Callable[[F], Frame]) -> None:
        self._convert = convert
        # the stack is kept beside what was made of it: its id is taken as long as it lives
        self._known: dict[int, tuple[tuple[F, ...], tuple[Frame, ...]]] = {}

    def __call__(self, frames: tuple[F, ...]) -> tuple[Frame, ...]:
        if not frames:
            return ()
        found = self._known.get(id(frames))
        if found is not None:
            return found[1]
        made = tuple(map(self._convert, frames))
        if len(self._known) >= MAX_STACKS:
            self._known.clear()
        self._known[id(frames)] = (frames, made)
        return made


def ranges_of(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """3, 1, 2, 7 -> ((1, 3), (7, 7)): inclusive ranges in ascending order, each number once."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return tuple(found)


def distinct(*groups: Iterable[str]) -> tuple[str, ...]:
    """All words of all groups, each once, in the order in which they first come."""
    return tuple(dict.fromkeys(word for group in groups for word in group))
