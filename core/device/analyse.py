"""The cards of a round: files of npu-smi, snapshots before and after, what is not well, what changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.manifest import RoundRecord, read_record
from npulse.core.progress import IsCancelled, ProgressCallback, check, ignore_progress, never_cancelled
from npulse.core.run.folders import is_fresh
from npulse.core.run.manifest import MANIFEST
from npulse.core.run.model import Artifact, Run
from npulse.core.tails import Tails

from .changes import changes
from .criteria import Settings
from .history import History
from .judge import notes_of, ordered
from .notes import Note
from .reading import Reading, TextReader, read_device, snapshots_of, with_more
from .snapshot import ChipState, Snapshot

TEXT = "device.npu_smi"
_SIDES = {"before": 0, "": 1, "after": 2}
"""In which order states are told: the last one is what the summary is of."""


@dataclass(frozen=True, slots=True)
class Source:
    """One state of the cards. name: its file, relative to the run, or "npu-smi". side: "before" or "after"
    where it is one of those, else ""."""

    name: str
    snapshot: Snapshot
    history: History
    side: str = ""
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Devices:
    """What is known of cards in a round, or now.

    rows: (source, chip) of each row of the table. main: the source that the summary is of, the last one that
    knows devices. changes: from before to after. notes: of all sources and of what changed, the worst first;
    what is said of before and after is said once.
    """

    root: Path
    round: str
    settings: Settings
    artifacts: tuple[Artifact, ...] = ()
    sources: tuple[Source, ...] = ()
    notes: tuple[Note, ...] = ()
    changes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()
    is_live: bool = False

    @property
    def rows(self) -> tuple[tuple[Source, ChipState], ...]:
        return tuple((one, chip) for one in self.sources for chip in one.snapshot.chips)

    @property
    def main(self) -> Source | None:
        known = [one for one in self.sources if one.snapshot.is_known]
        return known[-1] if known else self.sources[-1] if self.sources else None


def texts_in(artifacts: Sequence[Artifact]) -> list[Artifact]:
    """The files of npu-smi, in the order of their names."""
    return sorted((one for one in artifacts if one.kind == TEXT), key=lambda one: one.relative)


def record_in(artifact: Artifact, root: Path) -> RoundRecord:
    """What a round's manifest says; nothing where it is broken: `analyse` tells that."""
    try:
        return read_record(artifact.path, root=root)
    except InputError:
        return RoundRecord()


def has_snapshots(artifact: Artifact, root: Path) -> bool:
    """Whether a round's manifest tells of cards."""
    return artifact.kind == MANIFEST and any(
        one is not None for one in snapshots_of(record_in(artifact, root))
    )


def analyse(
    run: Run,
    round_name: str,
    artifacts: Sequence[Artifact],
    settings: Settings,
    *,
    tails: Tails | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Devices:
    """All that a round's files say of cards. Texts in one folder are of one machine.

    tails: of a followed run: files that grow are read on. Raises InputError where nothing of it can be read,
    Cancelled.
    """
    root = run.path if run.path.is_dir() else run.path.parent
    problems: list[Problem] = []
    readings: dict[str, Reading] = {}
    refused: list[InputError] = []
    for artifact in texts_in(artifacts):
        check(is_cancelled)
        try:
            found = _read(artifact, root, tails, progress, is_cancelled)
        except InputError as error:
            refused.append(error)
            problems.append(Problem.from_error(error, artifact.relative))
            continue
        problems += found.problems
        readings[artifact.relative] = found
    problems += broken_manifests(artifacts, root)
    sources = sorted([*_recorded(artifacts, root), *_grouped(readings)], key=lambda one: _SIDES[one.side])
    if not sources and refused:
        raise refused[0]
    return devices_of(
        Devices(root, round_name, settings, tuple(artifacts), problems=tuple(problems)), sources
    )


def devices_of(found: Devices, sources: Sequence[Source]) -> Devices:
    """The same with these sources judged, and with what changed from before to after."""
    asked = found.settings
    judged = tuple(
        replace(one, notes=notes_of(one.snapshot, one.history, asked)) if not one.notes else one
        for one in sources
    )
    by_side = {(_folder(one.name), one.side): one for one in judged if one.side}
    notes: list[Note] = []
    changed: list[Note] = []
    for one in judged:
        after = by_side.get((_folder(one.name), "after")) if one.side == "before" else None
        if after is None:
            notes += one.notes
            continue
        changed += changes(one.snapshot, after.snapshot, asked)
        again = {(note.rule, note.key) for note in after.notes}
        notes += [note for note in one.notes if (note.rule, note.key) not in again]
    return replace(found, sources=judged, changes=tuple(changed), notes=ordered([*notes, *changed]))


def _folder(name: str) -> str:
    return str(PurePosixPath(name).parent)


# ---- files ----


def _read(
    artifact: Artifact,
    root: Path,
    tails: Tails | None,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> Reading:
    if tails is None:
        return read_device(artifact.path, root=root, progress=progress, is_cancelled=is_cancelled)
    tails.read(
        artifact.path,
        root,
        lambda: TextReader(artifact.relative),
        kind=TEXT,
        progress=progress,
        is_cancelled=is_cancelled,
    )
    generations = tails.known(artifact.path, TEXT)
    if not generations:
        raise InputError("the file cannot be read", path=artifact.path)
    reader: TextReader = generations[-1].reader
    return reader.reading() if is_fresh(artifact.path) else reader.ended()


def broken_manifests(artifacts: Sequence[Artifact], root: Path) -> Iterator[Problem]:
    """Manifests that cannot be read: nobody knows which cards they told of."""
    for artifact in artifacts:
        if artifact.kind == MANIFEST:
            try:
                read_record(artifact.path, root=root)
            except InputError as error:
                yield Problem.from_error(error, artifact.relative)


def _recorded(artifacts: Sequence[Artifact], root: Path) -> Iterator[Source]:
    """The snapshots of a round's manifest."""
    for artifact in artifacts:
        if artifact.kind != MANIFEST:
            continue
        for side, snapshot in zip(("before", "after"), snapshots_of(record_in(artifact, root)), strict=True):
            if snapshot is not None:
                history = History()
                history.add(snapshot)
                yield Source(artifact.relative, replace(snapshot, source=artifact.relative), history, side)


def _grouped(readings: Mapping[str, Reading]) -> Iterator[Source]:
    """One source for each text with a table or rows; `-t` blocks of the same folder belong to it if it is the
    only one there. What is printed instead of data stands for itself."""
    folders: dict[str, list[tuple[str, Reading]]] = {}
    for name, one in readings.items():
        folders.setdefault(_folder(name), []).append((name, one))
    for listed in folders.values():
        whole = [(name, one) for name, one in listed if one.samples]
        alone = [(name, one) for name, one in listed if not one.samples]
        refused = [(name, one) for name, one in alone if one.snapshot.state not in ("ok", "unknown")]
        loose = [pair for pair in alone if pair not in refused]
        if len(whole) == 1 and loose:
            name, base = whole[0]
            whole, loose = [(name, with_more(base, [one for _, one in loose]))], []
        if loose:
            name, base = loose[0]
            merged = with_more(base, [one for _, one in loose[1:]])
            if merged.snapshot.is_known or not (whole or refused):
                whole.append((name, merged))
        for name, one in sorted((*refused, *whole), key=lambda pair: pair[0]):
            yield Source(name, one.snapshot, one.history, _side(name))


def _side(name: str) -> str:
    last = PurePosixPath(name).name.lower()
    return next((side for side in ("before", "after") if side in last), "")
