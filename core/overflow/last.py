"""The last look at a round that is followed: where nothing but pending files has changed it still holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from npulse.core.calls.live import KnownTensors, read_live_rank
from npulse.core.errors import InputError
from npulse.core.files import stamp_of
from npulse.core.progress import IsCancelled, ProgressCallback
from npulse.core.run.model import Artifact

from .criteria import Settings
from .work import ScanJob

if TYPE_CHECKING:
    from .analyse import Overflow

Tensors = Sequence[tuple[KnownTensors[ScanJob], Sequence[ScanJob]]]
"""What is known of the tensors of each rank-step, and which they are."""


@dataclass(frozen=True, slots=True)
class Last:
    """What the last look came to, and on what it rests."""

    key: object
    found: Overflow
    tensors: Tensors

    def as_now(
        self, key: object, settings: Settings, progress: ProgressCallback, is_cancelled: IsCancelled
    ) -> Overflow | None:
        """The same again, with what is pending by now; None where what was looked at has changed."""
        assert settings.tails is not None
        if key != self.key:
            return None
        ranks = []
        for rank in self.found.ranks:
            before = rank.live
            try:
                now = read_live_rank(rank.artifact.path, rank.root, settings.tails, progress, is_cancelled)
            except InputError:
                return None
            if before is None or now.dump is not before.dump or now.is_growing != before.is_growing:
                return None
            ranks.append(replace(rank, live=now))
        if not all(known.are_as_before(jobs) for known, jobs in self.tensors):
            return None
        return replace(self.found, ranks=tuple(ranks))


def key_of(
    captures: Sequence[tuple[str, Sequence[Artifact]]], others: Sequence[Artifact], settings: Settings
) -> object:
    """Changes where other things are looked at, or those that are no dumps are not what they were."""
    dumps = [artifact for _, members in captures for artifact in members]
    beside = [stamp_of(one.path.parent / name) for one in dumps for name in ("construct.json", "stack.json")]
    return (
        settings,
        [(name, [artifact.path for artifact in members]) for name, members in captures],
        [(artifact.path, stamp_of(artifact.path)) for artifact in others],
        beside,
    )


def may_be_kept(found: Overflow, n_captured: int) -> bool:
    """Not where records or tables still come, or a dump or tensor could not be read: that is tried again."""
    rests = found.graph and any(part.is_growing for part in found.graph)
    tables = found.gradients is not None and found.gradients.is_growing
    is_open = any(rank.n_open for rank in found.ranks)
    return len(found.ranks) == n_captured and not (rests or tables or is_open or found.problems)
