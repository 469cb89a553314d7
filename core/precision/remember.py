"""Measured tensors kept between openings: figures, patterns and examinations in the user's cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from npulse.core.cache import Cache, Entry, key_of
from npulse.core.findings import Problem

from .elements import Concentration, Examination
from .patterns import Pattern
from .rows import FIGURES, Rows
from .work import TensorJob

VERSION = "precision.tensors/1"
"""Part of every key: raise the number when a figure, a pattern or an examination changes its meaning."""


def load(cache: Cache, jobs: Sequence[TensorJob], dumps: Sequence[Any]) -> Entry | None:
    """What was kept for just these files as they are now; None where there is nothing."""
    key = _key(jobs, dumps) if jobs else None
    entry = cache.get(key) if key is not None else None
    if entry is None or set(entry.arrays) != {"values", "computed", "codes"}:
        return None
    if entry.arrays["values"].shape != (len(FIGURES), len(jobs)) or entry.arrays["codes"].shape != (
        3,
        len(jobs),
    ):
        return None
    return entry


def restore(rows: Rows, jobs: Sequence[TensorJob], entry: Entry) -> list[Problem]:
    """Put kept results into the rows; returns the problems that were found when the files were read."""
    index = _rows_of(jobs)
    rows.basis[index], rows.verdict[index], rows.reason[index] = entry.arrays["codes"]
    for place, name in enumerate(FIGURES):
        rows.figures[name][index] = entry.arrays["values"][place]
        rows.computed[name][index] = entry.arrays["computed"][place]
    for row, (kind, figures) in entry.facts["patterns"]:
        rows.patterns[row] = Pattern(kind, figures)
    for row, values in entry.facts["examinations"]:
        rows.examinations[row] = _examination(values)
    return [Problem(**values) for values in entry.facts["problems"]]


def save(
    cache: Cache, rows: Rows, jobs: Sequence[TensorJob], dumps: Sequence[Any], problems: Sequence[Problem]
) -> None:
    """Keep the results of both reads."""
    key = _key(jobs, dumps) if jobs else None
    if key is None:
        return
    index = _rows_of(jobs)
    cache.put(
        key,
        {
            "values": np.stack([rows.figures[name][index] for name in FIGURES]),
            "computed": np.stack([rows.computed[name][index] for name in FIGURES]),
            "codes": np.stack([rows.basis[index], rows.verdict[index], rows.reason[index]]),
        },
        {
            "patterns": [(row, (p.kind, dict(p.figures))) for row, p in rows.patterns.items()],
            "examinations": [(row, asdict(seen)) for row, seen in rows.examinations.items()],
            "problems": [asdict(problem) for problem in problems],
        },
    )


def _key(jobs: Sequence[TensorJob], dumps: Sequence[Any]) -> str | None:
    files = [dump.path for dump in dumps]
    for job in jobs:
        files += [job.target.path, job.golden.path]
    # the names of the figures belong to the key: a new one makes every older entry useless
    return key_of(VERSION, files, FIGURES)


def _rows_of(jobs: Sequence[TensorJob]) -> Any:
    return np.fromiter((job.row for job in jobs), np.int64, len(jobs))


def _examination(values: dict[str, Any]) -> Examination:
    plain = dict(values)
    for name in ("max_abs_error_index", "first_different_index", "last_different_index"):
        plain[name] = tuple(plain[name])
    for name in ("elements", "rows", "columns"):
        if plain[name] is not None:
            top = tuple((number, share) for number, share in plain[name]["top"])
            plain[name] = Concentration(**{**plain[name], "top": top})
    return Examination(**plain)
