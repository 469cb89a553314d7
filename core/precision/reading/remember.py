"""Measured tensors kept between openings: figures, patterns and examinations in the user's cache."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from npulse.core.cache import Cache, Entry, key_of
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import Dump

from ..blocks.elements import Concentration, Examination
from ..blocks.patterns import Pattern
from ..rows import BASES, FIGURES, Rows
from ..splits.model import PartsPlace
from ..splits.place import places_of
from ..verdict import REASONS, VERDICTS
from .jobs import Jobs
from .work import TensorJob

VERSION = "precision.tensors/4"
"""Part of every key: raise the number when a figure, a pattern or an examination changes its meaning."""


def stamp(paths: Sequence[Path]) -> str | None:
    """What tells whether files are still the same; None if one is missing."""
    return key_of("", paths)


def key(jobs: Sequence[TensorJob], dumps: Sequence[Dump]) -> str | None:
    """Under which key the results of these files, as they are now, are kept; None if they cannot be.

    To be asked before the files are read: what is read later may be of a later state.
    """
    if not jobs:
        return None
    # the names of the figures belong to the key: a new one makes every older entry useless; so do the rows,
    # which are others where calls without elements are paired otherwise
    rows = hashlib.sha256(_rows_of(jobs).tobytes()).hexdigest()
    return key_of(VERSION, _files(jobs, dumps), FIGURES, _parts(jobs), rows)


def _files(jobs: Sequence[TensorJob], dumps: Sequence[Dump]) -> Iterator[str | Path]:
    yield from (dump.path for dump in dumps)
    for job in jobs:
        for side in (job.target, job.golden):
            yield from (place.path_text for place in places_of(side))


def _parts(jobs: Sequence[TensorJob]) -> list[str]:
    """Which tensors of the files are meant, where that is to be told."""
    parts: list[str] = []
    for job in () if isinstance(jobs, Jobs) and jobs.is_plain else jobs:
        places = [place for side in (job.target, job.golden) for place in places_of(side)]
        parts += [place.identity for place in places if place.file is not None]
        parts += [repr(side.cut) for side in (job.target, job.golden) if isinstance(side, PartsPlace)]
    return parts


def load(cache: Cache, key: str, jobs: Sequence[TensorJob]) -> Entry | None:
    """What was kept under a key; None where there is nothing, or something that `save` has not written."""
    entry = cache.get(key)
    if entry is None or set(entry.arrays) != {"values", "computed", "codes"}:
        return None
    values, computed, codes = (entry.arrays[name] for name in ("values", "computed", "codes"))
    n = len(jobs)
    if values.shape != (len(FIGURES), n) or computed.shape != values.shape or codes.shape != (3, n):
        return None
    if values.dtype != np.float64 or computed.dtype != np.bool_ or codes.dtype != np.int8:
        return None
    limits = np.array([[len(BASES)], [len(VERDICTS)], [len(REASONS)]])
    return entry if ((codes >= 0) & (codes < limits)).all() else None


def restore(rows: Rows, jobs: Sequence[TensorJob], entry: Entry) -> list[Problem] | None:
    """Put kept results into the rows; returns the problems that were found when the files were read.

    None, and the rows as they were, where the entry is not what `save` writes.
    """
    index = _rows_of(jobs)
    try:
        known = set(index.tolist())
        patterns = {int(row): Pattern(kind, dict(f)) for row, (kind, f) in entry.facts["patterns"]}
        seen = {int(row): examination_of(values) for row, values in entry.facts["examinations"]}
        problems = [_problem(values) for values in entry.facts["problems"]]
        stored = {int(row): (str(t), str(g)) for row, (t, g) in entry.facts["stored_dtypes"]}
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    if not (patterns.keys() | seen.keys() | stored.keys()) <= known:
        return None
    rows.basis[index], rows.verdict[index], rows.reason[index] = entry.arrays["codes"]
    for place, name in enumerate(FIGURES):
        rows.figures[name][index] = entry.arrays["values"][place]
        rows.computed[name][index] = entry.arrays["computed"][place]
    rows.patterns.update(patterns)
    rows.examinations.update(seen)
    rows.stored_dtypes.update(stored)
    return problems


def save(
    cache: Cache,
    key_before: str | None,
    rows: Rows,
    jobs: Sequence[TensorJob],
    dumps: Sequence[Dump],
    problems: Sequence[Problem],
) -> bool:
    """Keep the results of both reads, unless a file has changed since `key_before` was asked for.

    False where they were to be kept and could not be.
    """
    if key_before is None or key_before != key(jobs, dumps):
        return True
    index = _rows_of(jobs)
    return cache.put(
        key_before,
        {
            "values": np.stack([rows.figures[name][index] for name in FIGURES]),
            "computed": np.stack([rows.computed[name][index] for name in FIGURES]),
            "codes": np.stack([rows.basis[index], rows.verdict[index], rows.reason[index]]),
        },
        {
            "patterns": [(row, (p.kind, dict(p.figures))) for row, p in rows.patterns.items()],
            "examinations": [(row, asdict(seen)) for row, seen in rows.examinations.items()],
            "stored_dtypes": list(rows.stored_dtypes.items()),
            "problems": [asdict(problem) for problem in problems],
        },
    )


def _rows_of(jobs: Sequence[TensorJob]) -> Any:
    if isinstance(jobs, Jobs):
        return jobs.rows
    return np.fromiter((job.row for job in jobs), np.int64, len(jobs))


def _problem(values: dict[str, Any]) -> Problem:
    problem = Problem(**values)
    texts = (problem.artifact, problem.kind, problem.message, problem.hint or "")
    numbers = (problem.line or 0, problem.byte or 0)
    if not all(isinstance(t, str) for t in texts) or not all(isinstance(n, int) for n in numbers):
        raise ValueError("no problem of ours")
    return problem


def examination_of(values: dict[str, Any]) -> Examination:
    """An examination that went through JSON as a dict. ValueError, TypeError, KeyError for anything else."""
    plain = dict(values)
    for name in ("max_abs_error_index", "first_different_index", "last_different_index"):
        plain[name] = tuple(plain[name])
    for name in ("elements", "rows", "columns"):
        if plain[name] is not None:
            top = tuple((number, share) for number, share in plain[name]["top"])
            plain[name] = Concentration(**{**plain[name], "top": top})
    return Examination(**plain)
