"""Which ranks do the same work, so that their times may be compared: pipeline stages differ."""

from __future__ import annotations

from collections.abc import Sequence

from npulse.core.dataclass import dataclass

from ..profile import Profile


@dataclass(frozen=True, slots=True)
class Peers:
    """Ranks that should take the same time.

    basis: "pipeline stage", "one pipeline stage", or "all ranks" where nothing says how the job is split.
    stage: number of the pipeline stage, None where there is but one or none is known.
    """

    names: tuple[str, ...]
    basis: str
    stage: int | None = None


def peers_of(profiles: Sequence[Profile]) -> tuple[Peers, ...]:
    """The profiles of a job in groups of peers, by what profiler_metadata.json says of the job's split.

    Ranks are dealt out to pipeline stages in blocks of world size over stages, as Megatron and MindSpeed do.
    """
    by_rank = {profile.rank: profile for profile in profiles if profile.rank is not None}
    stages = {profile.settings.parallel.get("pipeline_model_parallel_size", 0) for profile in profiles}
    worlds = {
        profile.settings.parallel.get("world_size") or profile.settings.world_size for profile in profiles
    } - {None}
    n_stages = max(stages, default=0)
    if len(by_rank) < len(profiles) or n_stages < 2:
        basis = "all ranks" if n_stages < 1 else "one pipeline stage"
        return (Peers(tuple(profile.name for profile in profiles), basis),)
    world = max((world for world in worlds if world), default=0)
    if world < n_stages or max(by_rank, default=0) >= world:
        return (Peers(tuple(profile.name for profile in profiles), "all ranks"),)
    block = world // n_stages
    groups: dict[int, list[str]] = {}
    for rank, profile in sorted(by_rank.items()):
        groups.setdefault(min(rank // block, n_stages - 1), []).append(profile.name)
    return tuple(Peers(tuple(names), "pipeline stage", stage) for stage, names in groups.items())
