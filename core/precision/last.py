"""The last look at a pair that is followed: where no dump and no tensor has changed it still holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from npulse.core.files import stamp_of
from npulse.core.progress import IsCancelled, ProgressCallback
from npulse.core.run.model import Artifact
from npulse.core.run.sides import CapturePair

from .captured import Loaded, read_sides
from .live import growth_of
from .reading.work import TensorJob

if TYPE_CHECKING:
    from .comparison import Comparison, Settings

Couple = tuple[Artifact, Artifact]


@dataclass(frozen=True, slots=True)
class Last:
    """What the last look at a followed pair came to, and on what it rests."""

    key: object
    comparison: Comparison
    loaded: tuple[Loaded, ...]
    jobs: tuple[Sequence[TensorJob], ...]

    @staticmethod
    def key_of(pair: CapturePair, couples: Sequence[Couple], settings: Settings) -> object:
        folders = [artifact.path.parent for couple in couples for artifact in couple]
        beside = [stamp_of(folder / name) for folder in folders for name in ("construct.json", "stack.json")]
        paths = [[artifact.path for artifact in couple] for couple in couples]
        alone = [artifact.path for artifact in pair.unmatched]
        return (settings, pair.problems, paths, alone, beside)

    @classmethod
    def of(cls, pair: CapturePair, couples: Sequence[Couple], settings: Settings) -> Last | None:
        """None where nothing is followed, or other ranks or other criteria are asked for than last."""
        tails = settings.tails
        last: Last | None = None if tails is None else tails.kept.get(("comparison", *_names(pair)))
        return last if last is not None and last.key == cls.key_of(pair, couples, settings) else None

    @classmethod
    def keep(
        cls,
        pair: CapturePair,
        couples: Sequence[Couple],
        settings: Settings,
        comparison: Comparison,
        loaded: Sequence[Loaded],
        jobs: Sequence[Sequence[TensorJob]],
    ) -> None:
        """For the next look; not where ranks or tensors could not be read, which is tried again."""
        assert settings.tails is not None
        is_whole = len(loaded) == len(couples) and not any(one.n_open for one in loaded)
        name = ("comparison", *_names(pair))
        settings.tails.kept.pop(name, None)
        if is_whole and not comparison.problems and settings.second_read:
            key = cls.key_of(pair, couples, settings)
            settings.tails.kept[name] = cls(key, comparison, tuple(loaded), tuple(jobs))

    def as_now(
        self, pair: CapturePair, settings: Settings, progress: ProgressCallback, is_cancelled: IsCancelled
    ) -> Comparison | None:
        """The same again, with what is pending by now; None where a dump or a tensor has changed."""
        assert settings.tails is not None
        ranks = []
        for rank, one, jobs in zip(self.comparison.ranks, self.loaded, self.jobs, strict=True):
            sides = read_sides(pair, one.artifacts, settings.tails, progress, is_cancelled)
            is_same = all(
                now.dump is before.dump and now.is_growing == before.is_growing
                for now, before in zip(sides, one.sides, strict=True)
            )
            if not is_same or not one.known.are_as_before(jobs):
                return None
            n_to_come = 0 if one.growth is None else one.growth.n_to_come
            ranks.append(replace(rank, growth=growth_of(*sides, n_to_come)))
        return replace(self.comparison, pair=pair, ranks=tuple(ranks))


def _names(pair: CapturePair) -> tuple[object, ...]:
    return pair.target_root, pair.golden_root, pair.target_name, pair.golden_name
