"""The captures of a run: rank-steps of one tool that belong together, of whichever kind."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from npulse.core.dataclass import dataclass

from .model import Artifact, Run
from .paths import Parts, capture_root, shown, without_place

DUMP = "msprobe.dump"
CHECKPOINT = "tensor.checkpoint"
FILES = "tensor.files"
"""Plain tensor files; only where the user names them."""
COMPARABLE = (
    *(DUMP, "msprobe.aclgraph", "cann.dump", "cann.golden", "cann.stats", "mindspore.statistic"),
    *("atb.dump", "msit.dump", "torchair.dump", CHECKPOINT, FILES),
)
"""Kinds of captures that can be compared. Of two of one folder the first one counts."""
LIVE_KINDS = frozenset((DUMP,))
"""Those that are read while they are written."""


@dataclass(frozen=True, slots=True)
class Capture:
    """All rank-steps of one dump root. `name`: its folder, relative to the run ("." is the run itself)."""

    round: str
    name: str
    path: Path
    artifacts: tuple[Artifact, ...]


def captures_of(run: Run, kind: str = DUMP) -> tuple[Capture, ...]:
    """All captures of a run, the shared ones (round "") first, in natural order."""
    return captures_among(run, frozenset((kind,)))


def comparable_captures(run: Run) -> tuple[Capture, ...]:
    """All captures of a run that can be compared, of every kind."""
    return captures_among(run, frozenset(COMPARABLE))


def captures_alone(run: Run) -> tuple[Capture, ...]:
    """What is looked at where there is no pair: captures of msprobe, else those of other tools.

    Checkpoints are no captures of a run: they are looked at where they are named.
    """
    found = captures_of(run)
    taken = {capture.round for capture in found}
    others = captures_among(run, frozenset(COMPARABLE) - {DUMP, CHECKPOINT, FILES})
    return (*found, *(capture for capture in others if capture.round not in taken))


def captures_among(run: Run, kinds: frozenset[str]) -> tuple[Capture, ...]:
    """All captures of these kinds, in the order of `captures_of`."""
    captures = grouped(run, "", run.shared, kinds)
    for round_ in run.rounds:
        captures += grouped(run, round_.name, round_.artifacts, kinds)
    return tuple(captures)


def grouped(run: Run, round_name: str, artifacts: Iterable[Artifact], kinds: frozenset[str]) -> list[Capture]:
    """The captures among artifacts; a file under another name than an index is a capture of its own."""
    found: dict[tuple[str, Parts], list[Artifact]] = {}
    folders: dict[Path, str] = {}
    for artifact in artifacts:
        if artifact.kind in kinds:
            folder = artifact.path.parent if artifact.kind == "mindspore.statistic" else artifact.path
            known = folders.setdefault(folder, artifact.kind)
            if known != artifact.kind:  # elements and statistics of one folder
                if COMPARABLE.index(known) < COMPARABLE.index(artifact.kind):
                    continue
                of_folder = {folder, folder / "statistic.csv"}
                found = {key: [a for a in of if a.path not in of_folder] for key, of in found.items()}
                folders[folder] = artifact.kind
            found.setdefault((artifact.kind, _root_parts(run, artifact)), []).append(artifact)
    captures: list[Capture] = []
    for (kind, parts), members in found.items():
        if kind == DUMP:
            captures.append(_capture(run, round_name, parts, members))
        elif len({(a.rank, a.step) for a in members}) < len(members):
            captures += [_capture(run, round_name, _folder_parts(run, a), [a]) for a in members]
        elif members:
            captures.append(_capture(run, round_name, _common_parts(run, members), members))
    return captures


def _capture(run: Run, round_name: str, parts: Parts, members: Sequence[Artifact]) -> Capture:
    return Capture(round_name, shown(parts), run.path.joinpath(*parts), tuple(members))


def _folder_parts(run: Run, artifact: Artifact) -> Parts:
    return artifact.path.relative_to(run.path).parts


def _common_parts(run: Run, members: Sequence[Artifact]) -> Parts:
    """The innermost folder that holds all of them."""
    return Path(os.path.commonpath([artifact.path for artifact in members])).relative_to(run.path).parts


def _root_parts(run: Run, artifact: Artifact) -> Parts:
    parts = artifact.path.relative_to(run.path).parts
    if artifact.kind != DUMP:
        return without_place((run.path.name, *parts))
    if parts and parts[-1] in ("dump.json", "debug.json"):
        parts = parts[:-1]
    return capture_root(parts)
