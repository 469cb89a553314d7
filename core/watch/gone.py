"""A followed run with what has left the disk: what was read of a removed file stays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from npulse.core.run.model import Artifact, Round, Run
from npulse.core.tails import Tails


def with_gone(run: Run, gone: Iterable[Artifact], tails: Tails) -> Run:
    """The run with those vanished artifacts of which `tails` has read something, each in its round.

    One whose round is gone too goes to the newest round. Same order as they vanished, before those that are
    there.
    """
    there = {artifact.path for artifact in run.artifacts}
    kept: dict[str, list[Artifact]] = {}
    shared: list[Artifact] = []
    names = [round_.name for round_ in run.rounds]
    for artifact in gone:
        if artifact.path in there or not tails.knows(artifact.path):
            continue
        there.add(artifact.path)
        if artifact.round is None and len(names) > 1:
            shared.append(artifact)
        else:
            name = artifact.round if artifact.round in names else names[-1] if names else ""
            kept.setdefault(name, []).append(artifact)
    if not kept and not shared:
        return run
    rounds = run.rounds or (Round("", ()),)
    return replace(
        run,
        rounds=tuple(
            Round(one.name, (*kept.get(one.name, ()), *one.artifacts)) if one.name in kept else one
            for one in rounds
        ),
        shared=(*shared, *run.shared),
    )
