"""Which artifacts belong to which round of a run, and which are shared by all rounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .model import Artifact, Round
from .paths import Parts, is_round_folder, round_key

Placed = tuple[Parts, Artifact]
"""An artifact with the names of the folders it lies in, relative to the run (its own folder included)."""


def round_folders(run_name: str, folders: Iterable[Parts], manifests: frozenset[Parts]) -> dict[Parts, Parts]:
    """The outermost round folder above each folder; folders outside any round are left out.

    A round folder holds a round.toml, is called round<N>, or is `<name>_<timestamp>` in an archive's folder.
    A manifest in the run's own folder makes no round: the run is that round.
    """
    found: dict[Parts, Parts] = {}
    for folder in folders:
        for i, name in enumerate(folder):
            parent = folder[i - 1] if i else run_name
            if folder[: i + 1] in manifests or is_round_folder(parent, name):
                found[folder] = folder[: i + 1]
                break
    return found


def split_rounds(
    run_name: str,
    placed: Iterable[Placed],
    manifests: frozenset[Parts],
    unfit: Iterable[Parts] = (),
) -> tuple[tuple[Round, ...], tuple[Artifact, ...]]:
    """(rounds, shared): rounds by time or number; one round "" where no folder is a round.

    A round is named by its folder, by the path of its folder where two have the same name. unfit: folders of
    damaged files; beside other rounds they make rounds too, which may hold nothing.
    """
    items = list(placed)
    above = round_folders(run_name, {folder for folder, _ in items}, manifests)
    if above:
        above |= round_folders(run_name, unfit, manifests)
    roots = sorted(set(above.values()))
    if not roots:
        return (Round("", tuple(artifact for _, artifact in items)),), ()
    last_names = [root[-1] for root in roots]
    names = {root: root[-1] if last_names.count(root[-1]) == 1 else "/".join(root) for root in roots}
    members: dict[str, list[Artifact]] = {name: [] for name in sorted(names.values(), key=round_key)}
    shared: list[Artifact] = []
    for folder, artifact in items:
        if folder in above:
            name = names[above[folder]]
            members[name].append(replace(artifact, round=name))
        else:
            shared.append(artifact)
    return tuple(Round(name, tuple(found)) for name, found in members.items()), tuple(shared)
