"""`npulse precision --inputs`: what both captures were given before any operator ran, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from npulse.core.calls.content import content_of, producers
from npulse.core.errors import InputError
from npulse.core.findings import Finding, Problem, Related, Report, verdict_from
from npulse.core.formats.msprobe.records import GRAD, INPUT, KWARGS, OUTPUT, PARAMETERS, TENSOR, Dump
from npulse.core.formats.tensors import dtype_of
from npulse.core.progress import IsCancelled, Progress, ProgressCallback, ignore_progress, never_cancelled
from npulse.core.run.sides import CapturePair
from npulse.core.scale import open_executor, ordered_results
from npulse.core.text import Lang, say

from ..captured import Loaded, load
from ..compare import Comparison, RankComparison, Settings, without_counterpart
from ..explain import describe_pattern, describe_row, location, row_figures
from ..reading.jobs import tensor_jobs
from ..reading.work import look_closer, measure
from ..role_records import Roles
from ..settle import settle_statistics, settle_tensors, store_examination, store_measured
from ..verdict import ERROR, PASS, REASON, UNKNOWN
from .data import data_leaves, input_hash, is_weight
from .model import Captured
from .texts import OWN_TEXTS

SHOWN = 8
"""Inputs that differ and have a finding each; the others stand beside the last of them."""


@dataclass(frozen=True, slots=True)
class Given:
    """The rows of a rank-step that both sides were given: data and parameters, each in execution order."""

    rank: RankComparison
    data: tuple[int, ...]
    parameters: tuple[int, ...]


def inputs_report(
    pair: CapturePair,
    settings: Settings,
    *,
    lang: Lang = "en",
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Report:
    """Which inputs and parameters are equal, and which differ in which elements.

    Data: what the first call that computes was given, what the first module that no other holds was given,
    and integers (masks, labels) as long as all before them agrees. Only these tensors are read. InputError
    where no rank-step of both can be, Cancelled.
    """
    found, problems = _compared(pair, settings, progress, is_cancelled)
    ranks = tuple(one.rank for one in found)
    comparison = Comparison(pair, ranks, settings.criteria, tuple(problems), "complete")
    rows = [(one, row, row in set(one.parameters)) for one in found for row in (*one.data, *one.parameters)]
    differing = [(one, row, is_p) for one, row, is_p in rows if _state(one.rank, row) == "differs"]
    unknown = [(one, row, is_p) for one, row, is_p in rows if _state(one.rank, row) == "unknown"]
    findings = _findings(comparison, differing, lang)
    if unknown or not rows:
        findings.append(_unknown(comparison, unknown, lang))
    hashes = _hashes(pair, ranks, problems, is_cancelled)
    n_data, n_parameters = (sum(len(getattr(one, name)) for one in found) for name in ("data", "parameters"))
    n_equal = len(rows) - len(differing) - len(unknown)
    counts = {
        "inputs": n_data,
        "parameters": n_parameters,
        "equal": n_equal,
        "differing": len(differing),
        "unknown": len(unknown),
    }
    all_problems = tuple(dict.fromkeys((*pair.problems, *problems)))
    has_unknown = bool(unknown) or not rows
    told = say(OWN_TEXTS, "inputs-told", lang, data=n_data, parameters=n_parameters, equal=n_equal)
    told_hashes = [say(OWN_TEXTS, "inputs-hashes", lang, **hashes)] if len(hashes) == 2 else []
    is_one_run = pair.target_root == pair.golden_root
    return Report(
        command="precision",
        run=str(pair.target_root),
        target=pair.target_name if is_one_run else str(pair.target_root),
        golden=pair.golden_name if is_one_run else str(pair.golden_root),
        verdict=verdict_from(findings, all_problems, has_unknown=has_unknown),
        beneath=verdict_from((), all_problems, has_unknown=has_unknown),
        artifacts=(*pair.target, *pair.golden),
        findings=tuple(findings),
        counts=counts,
        summary={f"input_hash_{side}": text for side, text in hashes.items()},
        told=(told, *told_hashes),
        problems=all_problems,
    )


# ---- which rows --------------------------------------------------------------------------------------------


def _compared(
    pair: CapturePair, settings: Settings, progress: ProgressCallback, is_cancelled: IsCancelled
) -> tuple[list[Given], list[Problem]]:
    found: list[Given] = []
    problems = without_counterpart(pair, settings, False)
    first: InputError | None = None
    for target, golden in zip(pair.target, pair.golden, strict=True):
        if not settings.is_asked(target):
            continue
        try:
            one = load(
                pair,
                target,
                golden,
                pair_calls=settings.pair_calls,
                criteria=settings.criteria,
                tails=None,
                progress=progress,
                is_cancelled=is_cancelled,
            )
        except InputError as error:
            first = first or error
            problems.append(Problem.from_error(error, target.relative))
            continue
        problems += one.problems
        data, later, parameters = _rows(one)
        _measure(pair, one, [*data, *later, *parameters], settings, problems, progress, is_cancelled)
        roles = Roles(np.zeros(one.rows.n_rows, np.int8), np.zeros(one.rows.pairing.n_calls, np.int8))
        rank = RankComparison(
            target.rank, target.step, one.rows.target, one.rows.golden, one.rows, roles, one.construct
        )
        end = _first_difference(one)
        data += [row for row in later if int(one.rows.pairing.row_call[row]) < end]
        found.append(Given(rank, tuple(sorted(data)), tuple(parameters)))
    if not found:
        raise first or InputError("no such rank and step in both captures", path=pair.target_root)
    return found, problems


def _rows(one: Loaded) -> tuple[list[int], list[int], list[int]]:
    """Rows of data, of integers that are data if all before them agrees, and of parameters."""
    rows = one.rows
    t, g = rows.pairing.target_leaf, rows.pairing.golden_leaf
    first = set(data_leaves(rows.target)), set(data_leaves(rows.golden))
    made_by = producers(rows.target, content_of(rows.target))
    leaves = rows.target.leaves
    data, later, parameters = list[int](), list[int](), list[int]()
    seen: set[str] = set()
    net = _net(one)
    for row in np.flatnonzero(t >= 0).tolist():
        leaf = int(t[row])
        if leaves.kind[leaf] != TENSOR or leaves.side[leaf] not in (INPUT, KWARGS, PARAMETERS):
            continue
        name = rows.target.calls.names[int(leaves.call[leaf])]
        if "forward" not in name or is_weight(rows.target, leaf):
            key = _parameter_key(rows.target, leaf, name)
            if "forward" in name and key not in seen:
                seen.add(key)
                parameters.append(row)
            continue
        if leaf in first[0] or int(g[row]) in first[1] or net and name.startswith(net):
            data.append(row)
        elif made_by[leaf] < 0 and _is_whole(rows.target, leaf):
            later.append(row)
    return data, later, parameters


def _net(one: Loaded) -> str:
    """How the names of the first module that no other holds begin, "" without one.

    Only the first: where single modules were captured each stands alone, and what later ones were given may
    have been made by code between them.
    """
    parents = one.construct.parents if one.construct is not None else {}
    for name in one.rows.target.calls.names:
        if name.startswith(("Module.", "Cell.")) and ".forward" in name and parents.get(name, "") is None:
            return name.partition(".forward")[0] + ".forward"
    return ""


def _parameter_key(dump: Dump, leaf: int, name: str) -> str:
    """A module's parameter is the same in every call of it; those of functional APIs are its call's."""
    if dump.leaves.side[leaf] != PARAMETERS:
        return dump.leaf_name(leaf)
    return f"{name.rpartition('.')[0]}.{dump.leaves.io_names[int(dump.leaves.io[leaf])]}"


def _is_whole(dump: Dump, leaf: int) -> bool:
    code = int(dump.leaves.dtype[leaf])
    dtype = dtype_of(dump.leaves.dtypes[code]) if code >= 0 else None
    return dtype is not None and dtype.kind in ("int", "bool")


def _first_difference(one: Loaded) -> int:
    """The first call of which an output differs, as far as records tell; behind the last where none does."""
    rows = one.rows
    bad = np.isin(rows.sides(), (OUTPUT, GRAD)) & (rows.verdict == ERROR)
    return int(rows.pairing.row_call[bad].min()) if bad.any() else rows.pairing.n_calls


def _measure(
    pair: CapturePair,
    one: Loaded,
    wanted: Sequence[int],
    settings: Settings,
    problems: list[Problem],
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> None:
    every = tensor_jobs(one.rows, one.tensors, pair.root_of("target"), pair.root_of("golden"))
    jobs = every.picked(np.flatnonzero(np.isin(every.rows, wanted)))

    def step(done: int) -> None:
        progress(Progress("compare", done, len(jobs), "tensors"))

    n_bytes = 4 * float(np.nansum(one.tensors.n_elements[np.isin(one.tensors.index, wanted)]))
    with open_executor(1 if n_bytes < 64 << 20 else settings.jobs or None, settings.cluster) as executor:
        differing = []
        results = ordered_results(executor, measure, jobs, is_cancelled=is_cancelled, on_done=step)
        for job, result in zip(jobs, results, strict=True):
            problems += result.problems
            store_measured(one.rows, result)
            if result.metrics is not None and result.metrics.n_different:
                differing.append((job, result.metrics))
        settle_tensors(one.rows, one.tensors, settings.criteria)
        settle_statistics(one.rows, one.tensors, settings.criteria)
        for seen in ordered_results(executor, look_closer, differing, is_cancelled=is_cancelled):
            store_examination(one.rows, seen)


# ---- what is told ------------------------------------------------------------------------------------------


def _state(rank: RankComparison, row: int) -> str:
    """equal, differs or unknown: what the two sides hold, not whether the difference matters."""
    rows = rank.rows
    if rows.verdict[row] == UNKNOWN:
        return "unknown"
    if rows.verdict[row] != PASS or rows.reason[row] == REASON["rounding"]:
        return "differs"
    if rows.reason[row] == REASON["statistics-agree"]:
        t, g = rows.target_row(row), rows.golden_row(row)
        u, v = rank.target.leaves.statistics[t], rank.golden.leaves.statistics[g]
        return "equal" if np.array_equal(u, v, equal_nan=True) else "differs"
    return "equal"


def _findings(
    comparison: Comparison, differing: Sequence[tuple[Given, int, bool]], lang: Lang
) -> list[Finding]:
    findings: list[Finding] = []
    for place, (one, row, is_parameter) in enumerate(differing[:SHOWN]):
        rank = one.rank
        # another checksum beside equal statistics is another order of elements, as the comparison says of it
        within = rank.rows.verdict[row] != ERROR and rank.rows.reason[row] != REASON["content"]
        key = "inputs-parameter" if is_parameter else "inputs-data"
        more = [pair for pair in differing[SHOWN:]] if place == SHOWN - 1 else []
        names = [each.rank.target.leaf_name(each.rank.rows.target_row(r)) for each, r, _ in more[:20]]
        findings.append(
            Finding(
                area="precision",
                severity="warning" if within and is_parameter else "error",
                rule="precision.parameter" if is_parameter else "precision.input-data",
                role="origin",
                subject=rank.target.leaf_name(rank.rows.target_row(row)),
                message=say(OWN_TEXTS, key, lang, how=describe_row(rank, row, lang))
                + _where(rank, row, lang)
                + describe_pattern(rank, row, lang),
                next_step=say(OWN_TEXTS, f"next-{key}", lang),
                figures={**row_figures(rank, row), **({"n_more": len(more)} if more else {})},
                related=tuple(Related("suspect", name) for name in names),
                location=location(comparison, rank, int(rank.rows.pairing.row_call[row]), row),
            )
        )
    return findings


def _where(rank: RankComparison, row: int, lang: Lang) -> str:
    seen = rank.rows.examinations.get(row)
    if seen is None or not seen.n_different:
        return ""
    return say(
        OWN_TEXTS,
        "where-elements",
        lang,
        n=seen.n_different,
        of=seen.n_elements,
        first=list(seen.first_different_index),
        last=list(seen.last_different_index),
    )


def _unknown(comparison: Comparison, unknown: Sequence[tuple[Given, int, bool]], lang: Lang) -> Finding:
    names = [one.rank.target.leaf_name(one.rank.rows.target_row(row)) for one, row, _ in unknown[:20]]
    return Finding(
        area="precision",
        severity="note",
        rule="precision.unknown",
        role="unknown",
        subject=names[0] if names else str(comparison.pair.target_root),
        message=say(OWN_TEXTS, "inputs-unknown" if names else "inputs-none", lang, n=len(unknown)),
        next_step=say(OWN_TEXTS, "next-inputs-unknown", lang),
        figures={"n_unknown": len(unknown)},
        related=tuple(Related("unknown", name) for name in names[1:]),
    )


def _hashes(
    pair: CapturePair, ranks: Sequence[RankComparison], problems: list[Problem], is_cancelled: IsCancelled
) -> dict[str, str]:
    """The hash of the input of both sides, "target" and "golden"; without those that are not known."""
    found: dict[str, str] = {}
    for side, root in (("target", pair.target_root), ("golden", pair.golden_root)):
        captured = [
            Captured(one.rank, one.step, dump, root, pair.relative(dump.path))
            for one in ranks
            for dump in ((one.target if side == "target" else one.golden),)
        ]
        told = input_hash(captured, problems, is_cancelled)
        if told is not None:
            found[side] = told.text
    return found
