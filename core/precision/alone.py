"""One capture without a golden side: the checks that need none, and an honest 'unknown' for the rest."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from npulse.core.calls.apis import COMMUNICATION, UNINITIALISED
from npulse.core.calls.rank import hierarchy_of, read_rank
from npulse.core.errors import InputError
from npulse.core.findings import Finding, Location, Problem, Report, verdict_from
from npulse.core.formats.json_window import shown_path
from npulse.core.formats.msprobe.construct import ancestors
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import (
    INPUT,
    KWARGS,
    OUTPUT,
    PARAMETERS,
    TENSOR,
    Construct,
    Dump,
)
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.model import Artifact, Run
from npulse.core.text import Lang, say

from .texts import TEXTS

Bools = npt.NDArray[np.bool_]
_Checked = tuple[Artifact, Dump, list[tuple[int, int]]]
"""A rank-step, its dump, and (call, first bad output row) of what began something in it."""


def check_alone(
    run: Run,
    artifacts: Sequence[Artifact],
    *,
    lang: Lang = "en",
    names: Sequence[str] = (),
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Report:
    """NaN or Inf out of finite inputs, by Max and Min alone (the Norm of half types overflows by itself).

    names: the captures, where there may be several of which the user has to say which is the golden one.
    The verdict is fail where one is found, else unknown or incomplete: without a golden side all is unclear.
    A rank that cannot be used is a problem and the others are checked; InputError where none can be.
    """
    root = run.path if os.path.isdir(run.path) else run.path.parent
    first: InputError | None = None
    found: list[_Checked] = []
    problems: list[Problem] = list(run.problems)
    n_calls = n_masks = 0
    for artifact in artifacts:
        try:
            dump = read_rank(artifact.path, root, progress, is_cancelled)
        except InputError as error:
            first = first or error
            problems.append(Problem.from_error(error, artifact.relative))
            continue
        problems += dump.problems
        n_calls += len(dump.calls.names)
        construct = hierarchy_of(dump, root, problems, partial(shown_path, root=root))
        bad, mask_like = _anomalies(dump, construct)
        n_masks += len(mask_like)
        found.append((artifact, dump, bad))
    if first is not None and not found:
        raise first
    findings = [
        _finding(artifact, shown_path(dump.path, root), dump, call, row, lang)
        for artifact, dump, bad in _without_carriers(found)
        for call, row in bad
    ]
    if n_masks:
        findings.append(
            _note("precision.non-finite", "benign", run, say(TEXTS, "minus-inf", lang, n=n_masks), "")
        )
    why = "which" if len(names) > 1 else "no-golden"
    listed = ", ".join(f"{run.path.name}/{name}" for name in names[:8])
    message, todo = say(TEXTS, why, lang, names=listed), say(TEXTS, f"next-{why}", lang)
    findings.append(_note("precision.unknown", "unknown", run, message, todo))
    n_origins = sum(f.role == "origin" for f in findings)
    return Report(
        command="precision",
        run=str(run.path),
        target=", ".join(name for name in names if name != ".") or None,
        verdict=verdict_from(findings, problems, has_unknown=True),
        artifacts=tuple(artifacts),
        findings=tuple(findings),
        counts={"calls": n_calls, "origin": n_origins, "minus_inf": n_masks},
        told=(say(TEXTS, "told-alone", lang, calls=n_calls, origins=n_origins),),
        problems=tuple(problems),
    )


def _without_carriers(found: Sequence[_Checked]) -> list[_Checked]:
    """Without communication calls that carry what another rank of the same step began.

    A receive has no recorded input, and a collective is given what is finite here and not on a peer.
    """

    def carries(dump: Dump, call: int) -> bool:
        return parse_name(dump.calls.names[call]).prefix in COMMUNICATION

    began = {
        (artifact.step, artifact.rank)
        for artifact, dump, bad in found
        if any(not carries(dump, call) for call, _ in bad)
    }
    return [
        (
            artifact,
            dump,
            [
                (call, row)
                for call, row in bad
                if not carries(dump, call)
                or not any(step == artifact.step and rank != artifact.rank for step, rank in began)
            ],
        )
        for artifact, dump, bad in found
    ]


def _anomalies(dump: Dump, construct: Construct | None) -> tuple[list[tuple[int, int]], list[int]]:
    """(call, first bad output row) of calls that made NaN or Inf of finite inputs; calls with -Inf only."""
    leaves = dump.leaves
    high, low = leaves.statistics[:, 0], leaves.statistics[:, 1]
    known = (leaves.kind == TENSOR) & (leaves.present & 3 == 3)
    nan_or_plus: Bools = known & (np.isnan(high) | np.isnan(low) | np.isposinf(high) | np.isposinf(low))
    minus: Bools = known & ~nan_or_plus & np.isneginf(low)
    given = np.isin(leaves.side, (INPUT, KWARGS, PARAMETERS))
    tainted = set(leaves.call[given & (nan_or_plus | minus)].tolist())
    bad: list[tuple[int, int]] = []
    masks: list[int] = []
    seen: set[int] = set()
    around: set[str] = set()  # modules that hold a call found before, and backwards of such calls
    for row in np.flatnonzero((leaves.side == OUTPUT) & (nan_or_plus | minus)).tolist():
        call = int(leaves.call[row])
        if call in tainted or call in seen:
            continue
        seen.add(call)
        name = parse_name(dump.calls.names[call])
        if name.api.rstrip("_") in UNINITIALISED or name.full in around:
            continue
        around.update(ancestors(construct, name.full) if construct else ())
        around.add("backward".join(name.full.rsplit("forward", 1)))
        if minus[row]:
            masks.append(call)
        else:
            bad.append((call, row))
    return bad, masks


def _finding(artifact: Artifact, where: str, dump: Dump, call: int, row: int, lang: Lang) -> Finding:
    leaf = dump.leaf(row)
    return Finding(
        area="precision",
        severity="error",
        rule="precision.non-finite",
        role="origin",
        subject=dump.calls.names[call],
        message=say(TEXTS, "non-finite", lang, max=leaf.max, min=leaf.min),
        next_step=say(TEXTS, "next-non-finite", lang),
        figures={"max": leaf.max, "min": leaf.min, "dtype": leaf.dtype, "shape": list(leaf.shape or ())},
        location=Location(where, artifact.rank, artifact.step, row, None, int(dump.calls.byte[call])),
    )


def _note(rule: str, role: str, run: Run, message: str, next_step: str) -> Finding:
    return Finding(
        area="precision",
        severity="note",
        rule=rule,
        role="benign" if role == "benign" else "unknown",
        subject=str(run.path),
        message=message,
        next_step=next_step,
    )
