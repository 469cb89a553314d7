"""The environment of a run: texts that were recorded with it, and versions in the manifests of its rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from npulse.core.analysis import AreaReport
from npulse.core.doctor.reading import KINDS, read_recorded
from npulse.core.doctor.report import is_empty, report
from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.manifest import read_record
from npulse.core.run.manifest import MANIFEST
from npulse.core.run.model import Artifact, Run
from npulse.core.text import Lang

_MAX_CELLS = 400


def environment_of(run: Run, round_name: str | None = None, lang: Lang = "en") -> AreaReport | None:
    """The newest round that tells of its environment, with what lies beside the rounds; None without."""
    for round_ in reversed(run.rounds):
        if round_name in (None, round_.name):
            found = _of(run, round_.name, (*run.shared, *round_.artifacts), lang)
            if found is not None:
                return found
    return _of(run, "", run.shared, lang) if run.shared and round_name is None else None


def _of(run: Run, name: str, artifacts: tuple[Artifact, ...], lang: Lang) -> AreaReport | None:
    root = run.path if run.path.is_dir() else None
    texts = [artifact for artifact in artifacts if artifact.kind in KINDS]
    problems: list[Problem] = []
    versions: dict[str, Mapping[str, str]] = {}
    for artifact in artifacts:
        if artifact.kind == MANIFEST:
            try:
                told = read_record(artifact.path, root=root).settings.get("versions")
            except InputError as error:
                problems.append(Problem.from_error(error, artifact.relative))
                continue
            if isinstance(told, dict):
                flat = {key: value[:_MAX_CELLS] for key, value in told.items() if isinstance(value, str)}
                versions[artifact.relative] = flat
    environment = read_recorded([one.path for one in texts], versions, root=root)
    if is_empty(environment) and not environment.problems:
        return None
    environment = replace(environment, problems=(*environment.problems, *problems))
    told = report(environment, lang)
    if told.verdict == "pass" and not told.counts.get("pairs"):
        told = replace(told, verdict="unknown", beneath="unknown")  # nothing was judged: that is no pass
    told_of = replace(told, run=str(run.path), artifacts=tuple(texts))
    return AreaReport(name, ", ".join(one.relative for one in texts[:4]), told_of)
