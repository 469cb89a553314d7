"""Facts about a round for programs: what a report counts, and what holds for the whole round."""

from __future__ import annotations

from collections import Counter
from typing import Any

from npulse.core.text import Lang

from .found import Performance
from .operators.analysis import Operators
from .operators.shares import sums_by_class
from .operators.top import NO_COUNT, Top
from .wall.record import Wall

TOP = 20
"""Rows of the list of operators, unless another number is asked for."""
MAX_ASIDE = 100


def counts(found: Performance) -> Counter[str]:
    counted: Counter[str] = Counter(
        {"profiles": len(found.profiles), "kernels": len(found.kernels), "not_exported": len(found.raw)}
    )
    for one in found.advice:
        counted[one.role] += 1
        counted[f"{one.severity}s"] += 1
    shown = found.shown
    if shown is not None and shown.operators is not None and shown.operators.usable is not None:
        table = shown.operators.table
        counted["rows"] = table.n_rows + table.n_dropped if table is not None else 0
        counted["used_rows"] = shown.operators.usable.n
        counted["dropped_rows"] = table.n_dropped if table is not None else 0
        counted["set_aside_rows"] = sum(shown.operators.usable.n_set_aside.values())
        if shown.profile.gone is not None:  # of a followed run, to bound memory
            counted["let_go_rows"] = shown.profile.gone.n_rows
            counted["rows"] += shown.profile.gone.n_rows
    return counted


def summary(found: Performance, lang: Lang = "en") -> dict[str, Any]:
    """What holds for the whole round, of the profile that is shown; figures are not rounded."""
    facts: dict[str, Any] = {}
    if found.so_far is not None:
        facts |= {"rows_so_far": found.so_far.n_rows, "is_all_rows": found.so_far.is_whole}
    shown = found.shown
    if shown is not None:
        profile = shown.profile
        facts |= {"profile": profile.name, "rank": profile.rank, "device": profile.device}
        facts |= {"sources": dict(profile.sources)}
        facts |= {"encodings": encodings_of(found)}
        facts |= {"first": shown.wall.bottleneck.answer, "why": shown.wall.bottleneck.why[lang == "zh"]}
        facts |= {"host_bound": shown.wall.host.verdict}
        if shown.wall.wall is not None:
            facts |= _wall_facts(shown.wall.wall)
        if shown.operators is not None:
            facts |= _operator_facts(found, shown.operators)
        serving = shown.wall.serving
        facts |= {
            "serving_basis": serving.basis,
            "first_token_ms": serving.first_token_ms,
            "tokens_per_s": serving.tokens_per_s,
            "step_ms": serving.step_ms,
        }
    facts |= followed_facts(found)
    facts |= {"jobs": [_job_facts(ranks) for ranks in found.ranks]} if found.ranks else {}
    return {name: value for name, value in facts.items() if value is not None}


def followed_facts(found: Performance) -> dict[str, Any]:
    """How far the files of a followed run are, and what came with the last look that found something."""
    facts: dict[str, Any] = {}
    if found.followed is not None:
        facts |= {
            "followed_files": found.followed.n_files,
            "followed_bytes": found.followed.n_bytes,
            "files_begun_anew": found.followed.n_starts,
            "files_gone": found.followed.n_gone,
            "unfinished_lines": found.followed.n_waiting,
        }
    if found.since is not None:
        facts |= {"new_calls": found.since.n_calls, "new_us": found.since.total_ns / 1000}
    return facts


def _wall_facts(wall: Wall) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "wall_source": wall.source,
        "wall_us": wall.wall_ns / 1000,
        "busy_us": wall.busy_ns / 1000,
        "idle_us": wall.idle_ns / 1000,
        "idle_percent": 100 * wall.idle_share,
        "computing_us": wall.compute_ns / 1000,
        "communication_us": wall.communication_ns / 1000,
        "communication_not_overlapped_us": wall.communication_not_overlapped_ns / 1000,
        "overlapped_us": wall.overlapped_ns / 1000,
        "gaps": wall.n_gaps,
        "streams": len(wall.streams),
        "is_cut": wall.is_cut or None,
    }
    for name, ns in (
        ("sum_of_kernels_us", wall.sum_of_kernels_ns),
        ("wait_us", wall.wait_ns),
        ("copies_in_idle_us", wall.copies_in_idle_ns),
    ):
        facts[name] = None if ns is None else ns / 1000
    if wall.recorded:
        facts["recorded_us"] = {name: ns / 1000 for name, ns in wall.recorded.items()}
    if wall.set_aside:
        facts["events_set_aside"] = [
            {"name": one.name, "start_us": one.start_ns / 1000, "duration_us": one.duration_ns / 1000}
            for one in wall.set_aside[:MAX_ASIDE]
        ]
    return facts


def _operator_facts(found: Performance, operators: Operators) -> dict[str, Any]:
    types = operators.types.top
    facts: dict[str, Any] = {
        "total_us": types.all_ns / 1000,
        "types": [_group_facts(types, place) for place in range(min(len(types), found.settings.top or TOP))],
        "n_types": len(types),
        "by_class_us": {
            name: part.total_ns / 1000 for name, part in sums_by_class(types, operators.types.classes).items()
        },
        "by_core_us": {name or "-": part.total_ns / 1000 for name, part in operators.cores.items()},
        "by_core_percent": {name or "-": part.percent for name, part in operators.cores.items()},
        "top20_types_percent": operators.spread.types_percent,
        "top20_calls_percent": operators.spread.calls_percent,
        "top20_reading": operators.spread.reading,
    }
    if operators.usable is not None and operators.table is not None:
        facts["set_aside"] = [
            {
                "name": one.name,
                "artifact": one.file,
                "line": one.line,
                "reason": one.reason,
                "duration_us": None if one.value_ns is None else one.value_ns / 1000,
            }
            for one in operators.usable.set_aside(operators.table, MAX_ASIDE)
        ]
    return facts


def _group_facts(top: Top, place: int) -> dict[str, Any]:
    calls = int(top.calls[place])
    return {
        "type": top.label(place),
        "calls": None if calls == NO_COUNT else calls,
        "total_us": int(top.total_ns[place]) / 1000,
        "share_percent": float(top.share_percent[place]),
        "cumulative_percent": float(top.cumulative_percent[place]),
    }


def _job_facts(ranks: Any) -> dict[str, Any]:
    return {
        "job": ranks.job,
        "ranks": [one.rank for one in ranks.times],
        "slow_ranks": [one.slow.rank for one in ranks.stragglers],
        "left_out": [one.rank for one in ranks.left_out],
        "collectives": len(ranks.paired.collectives),
        "unpaired_operations": ranks.paired.n_unpaired,
    }


def encodings_of(found: Performance) -> dict[str, str]:
    """Artifact -> encoding, of all texts that were read."""
    return {path: word for one in found.profiles for path, word in one.profile.encodings.items() if word}
