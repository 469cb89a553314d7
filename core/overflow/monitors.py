"""Files of the training monitor that are still written to: of its tables new rows alone are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.files import stamp_of
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.anomaly import Anomaly, read_anomalies
from npulse.core.formats.msprobe.monitor import MonitorTable, MonitorTail
from npulse.core.progress import IsCancelled
from npulse.core.run.folders import is_fresh
from npulse.core.run.model import Artifact
from npulse.core.tails import Tails


def read_on(
    wanted: Sequence[Artifact],
    root: Path,
    tails: Tails,
    problems: list[Problem],
    is_cancelled: IsCancelled,
) -> Iterator[tuple[Artifact, MonitorTable]]:
    """Each table with all rows so far, and before it those that stood under its name earlier ("NAME~1").

    One whose header is not there yet is left out. What cannot be read becomes a Problem.
    """
    followed = []
    for artifact in wanted:
        try:
            tails.read(
                artifact.path,
                root,
                partial(MonitorTail, artifact.path, root=root, rank=artifact.rank),
                kind=artifact.kind,
                is_cancelled=is_cancelled,
            )
            followed.append(artifact)
        except InputError as error:
            problems.append(Problem.from_error(error, artifact.relative))
    for artifact in followed:  # when all were read: a rename moves a generation
        generations = tails.known(artifact.path, artifact.kind)
        for place, one in enumerate(generations, start=1):
            is_last = place == len(generations)
            if not (is_last or one.n_bytes):
                continue
            name = artifact.relative if is_last else f"{artifact.relative}~{place}"
            try:
                table = one.reader.table(is_growing=is_last and is_fresh(artifact.path))
            except InputError as error:
                problems.append(Problem.from_error(error, name))
                continue
            if table is not None:
                yield replace(artifact, relative=name), table


def read_anomalies_on(
    artifact: Artifact, root: Path, tails: Tails | None, problems: list[Problem], is_cancelled: IsCancelled
) -> Sequence[Anomaly]:
    """What the monitor itself reported; its file is written anew each time. tails: None if it is read once.

    One that is cut while it is written stays as it was.
    """
    name, stamp = ("anomalies", artifact.path), stamp_of(artifact.path)
    known: tuple[object, Sequence[Anomaly], list[Problem]] | None = None
    if tails is not None:
        known = tails.kept.get(name)
    is_growing = tails is not None and is_fresh(artifact.path)
    if known is None or (known[0] != (stamp, is_growing) and stamp is not None):
        told: list[Problem] = []
        found: Sequence[Anomaly] = ()
        try:
            read = read_anomalies(artifact.path, root=root, is_cancelled=is_cancelled)
            told, found = list(read.problems), read.anomalies
        except InputError as error:
            told = [Problem.from_error(error, artifact.relative)]
        if told and is_growing:
            told, found = [], known[1] if known is not None and len(known[1]) > len(found) else found
        known = (stamp, is_growing), found, told
        if tails is not None:
            tails.kept[name] = known
    problems += known[2]
    return known[1]
