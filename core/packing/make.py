"""A pack made: files copied aside, every area asked of the run and of the copy, all of it in one file.

An area that says the same of the copy is asked again where the pack is opened. One that says something else
stands as recorded: nothing is ever judged from less than there was.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from npulse.core.analysis import AnalysisOptions, AreaReport
from npulse.core.areas import AREAS, Area
from npulse.core.errors import InputError
from npulse.core.files import open_input
from npulse.core.findings import Report
from npulse.core.packs.manifest import (
    MAX_FILES,
    MAX_LEFT_OUT,
    NAME,
    PackedFile,
    PackManifest,
    manifest_text,
    unfit,
)
from npulse.core.packs.notes import NAME as NOTES
from npulse.core.packs.notes import Notes, notes_text
from npulse.core.packs.recorded import FOLDER, recorded_text
from npulse.core.packs.tar import CHUNK, Packing
from npulse.core.progress import (
    IsCancelled,
    Progress,
    ProgressCallback,
    check,
    ignore_progress,
    never_cancelled,
)
from npulse.core.report.as_json import plain, to_dict
from npulse.core.run.discover import discover
from npulse.core.run.model import Run

from .select import RunFile, files_of, gains_of, select, sources_of

MAX_BYTES = 64 << 20
NO_NOTES = Notes()


def make_pack(
    path: Path,
    output: Path,
    options: AnalysisOptions,
    *,
    version: str,
    made: str,
    max_bytes: int = MAX_BYTES,
    notes: Notes = NO_NOTES,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> PackManifest:
    """Pack a run into a file, written whole or not at all; what the pack holds.

    made: the time that stands in it (the same run, version and time give the same bytes). max_bytes: of all
    files of the run together. notes: what people wrote down of it. InputError: nothing recognised, `output`
    in the run, no room on the disk.
    """
    run = discover(path, progress=progress, is_cancelled=is_cancelled)
    files = files_of(run)
    if not files:
        raise InputError(
            "holds nothing that can be packed", path=path, hint="npulse PATH lists what is there"
        )
    target = Path(os.path.realpath(os.path.expanduser(output)))
    if target.is_relative_to(os.path.realpath(path)):
        raise InputError(
            "a pack is not written into the run", path=output, hint="choose a path outside of it"
        )
    asked = replace(options, round_name=None)
    whole = {area.id: _reports(area, run, asked, progress, is_cancelled) for area in _areas()}
    name = _name_of(run)
    told = [one.report for found in whole.values() for one in found]
    sources = sources_of(run, told)
    files = tuple({one.path: one for one in (*sources, *files)}.values())
    chosen = select(files, gains_of(told), name, max_bytes, MAX_FILES - 1_000)
    try:
        room = Path(tempfile.mkdtemp(prefix="npulse-pack-", dir=target.parent))
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", path=output) from error
    try:
        packed = _copied(run, chosen.files, room, name, progress, is_cancelled)
        copy = discover(room / "run" / name)
        recorded = [
            area.id
            for area in _areas()
            if _essence(whole[area.id]) != _essence(_reports(area, copy, asked, progress, is_cancelled))
        ]
        for area, reports in whole.items():
            for number, one in enumerate(reports):
                text = recorded_text(one, to_dict(replace(one.report, tables={}), version))
                packed.append(_written(room, f"{FOLDER}/{area}-{number:04}.json", text))
        packed.append(_written(room, NOTES, notes_text(notes)))
        manifest = PackManifest(
            name=name,
            path=str(run.path),
            made=made,
            npulse=version,
            same=tuple(area.id for area in _areas() if whole[area.id] and area.id not in recorded),
            recorded=tuple(recorded),
            files=tuple(packed),
            left_out=chosen.left_out[:MAX_LEFT_OUT],
            n_left_out=len(chosen.left_out),
            left_out_bytes=sum(one.size_bytes for one in chosen.left_out),
        )
        _write(manifest, room, target)
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", path=output) from error
    finally:
        shutil.rmtree(room, ignore_errors=True)
    return manifest


def _areas() -> list[Area]:
    return [area for area in AREAS if area.is_built and area.id != "checkup"]


def _reports(
    area: Area, run: Run, options: AnalysisOptions, progress: ProgressCallback, is_cancelled: IsCancelled
) -> tuple[AreaReport, ...]:
    """All that the area says; a run that it cannot read is told where it is asked again."""
    check(is_cancelled)
    asked = replace(options, tables=area.id == "precision")
    try:
        return area.reports_of(run, asked, progress=progress, is_cancelled=is_cancelled)
    except InputError:
        return ()


def _essence(reports: Sequence[AreaReport]) -> list[Any]:
    """What must be the same of the copy: verdicts, findings and problems, not the words about them."""
    return [
        (
            one.round,
            one.name,
            one.report.verdict,
            [_finding(one.report, finding) for finding in one.report.findings],
            [(problem.artifact, problem.kind) for problem in one.report.problems],
        )
        for one in reports
    ]


def _finding(report: Report, finding: Any) -> Any:
    text = json.dumps(
        plain(
            [
                *(finding.area, finding.severity, finding.rule, finding.role, finding.subject),
                *(finding.figures, [(one.role, one.subject) for one in finding.related]),
                *(finding.location.artifact, finding.location.line, finding.location.row),
            ]
        ),
        sort_keys=True,
    )
    return text.replace(report.run, "")


def _name_of(run: Run) -> str:
    """The run's folder in the pack: its own name, so that what is called by it stays the same."""
    name = run.path.name if run.path.is_dir() else run.path.stem
    return "run" if unfit(f"run/{name}") else name


def _copied(
    run: Run,
    files: Sequence[RunFile],
    room: Path,
    name: str,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> list[PackedFile]:
    """The files aside, as they are at this moment, with the times of their last change."""
    root = run.path if run.path.is_dir() else run.path.parent
    packed = []
    for number, one in enumerate(files):
        check(is_cancelled)
        progress(Progress("pack", number, len(files), "files"))
        member = f"run/{name}/{one.path}"
        target = room.joinpath(*member.split("/"))
        target.parent.mkdir(parents=True, exist_ok=True)
        digest, n_bytes = hashlib.sha256(), 0
        source, _ = open_input(root / one.path, root)
        with source, open(target, "xb") as out:
            modified_s = int(os.fstat(source.fileno()).st_mtime)
            while n_bytes < one.size_bytes and (piece := source.read(min(CHUNK, one.size_bytes - n_bytes))):
                digest.update(piece)
                out.write(piece)
                n_bytes += len(piece)
        os.utime(target, (modified_s, modified_s))
        packed.append(PackedFile(member, n_bytes, digest.hexdigest()))
    (room / "run" / name).mkdir(parents=True, exist_ok=True)
    return packed


def _written(room: Path, member: str, text: str) -> PackedFile:
    target = room.joinpath(*member.split("/"))
    target.parent.mkdir(exist_ok=True)
    raw = text.encode("utf-8", "replace")
    target.write_bytes(raw)
    os.utime(target, (0, 0))
    return PackedFile(member, len(raw), hashlib.sha256(raw).hexdigest())


def _write(manifest: PackManifest, room: Path, target: Path) -> None:
    """The file, beside and renamed."""
    beside = room / "pack"
    raw = manifest_text(manifest).encode("utf-8")
    (room / NAME).write_bytes(raw)
    with open(beside, "xb") as file:
        packing = Packing(file)
        with open(room / NAME, "rb") as content:
            packing.add(NAME, len(raw), 0, content)
        for one in manifest.files:
            source = room.joinpath(*one.path.split("/"))
            with open(source, "rb") as content:
                packing.add(one.path, one.size_bytes, int(source.stat().st_mtime), content)
        packing.end()
        file.flush()
        os.fsync(file.fileno())
    os.chmod(beside, 0o644)
    os.replace(beside, target)
