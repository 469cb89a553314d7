"""One origin in words and figures: what differs, how (pattern), where in the source, what to do next."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from npulse.core.calls.meetings import group_ranks
from npulse.core.calls.source import source_line, stack_lines
from npulse.core.figures import number
from npulse.core.findings import Figures, Finding
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import KWARGS, Dump
from npulse.core.text import Lang, command_line, say

from .blocks.patterns import Pattern
from .comparison import Comparison, RankComparison
from .origins.path import hops_of
from .origins.related import began_at as began_at
from .origins.related import each_once, inheriting_calls, related_of
from .origins.words import carriers, made_non_finite, spread_figures, spread_text
from .own.content import WHOLE_SHARE
from .pairing.told import pair_words
from .role_records import ROLES, Origin
from .row_facts import location as location
from .row_facts import row_figures as row_figures
from .rows import BY_TENSOR
from .texts import TEXTS
from .verdict import ERROR, PASS, REASON, REASONS, UNKNOWN, WARNING

LEAF_CAUSES = frozenset(("input-data", "parameter", "scalar"))
"""Causes whose subject is one leaf, not the call."""


def origin_finding(
    comparison: Comparison,
    rank: RankComparison,
    origin: Origin,
    lang: Lang,
    inheriting: Mapping[int, Sequence[int]] | None = None,
) -> Finding:
    """The finding of one origin. Subject: the call, or the leaf where a leaf alone is the cause.

    inheriting: `inheriting_calls` of the rank, for whoever asks for many of its origins.
    """
    rows = rank.rows
    name = rows.pairing.name(rank.target, rank.golden, origin.call)
    subject = name
    if origin.cause in LEAF_CAUSES:
        leaf = rows.target_row(origin.row)
        subject = (
            rank.target.leaf_name(leaf) if leaf >= 0 else rank.golden.leaf_name(rows.golden_row(origin.row))
        )
    if inheriting is None:
        inheriting = inheriting_calls(rank)
    hops = hops_of(comparison, rank, origin)
    spread = spread_text(hops, lang)
    return Finding(
        area="precision",
        severity="error",
        rule=f"precision.{origin.cause}",
        role="origin",
        subject=subject,
        message=origin_message(rank, origin, lang)
        + pair_words(rank, origin.call, lang)
        + spread
        + _source(rank, origin.call, lang),
        next_step=next_step(rank, origin, lang, _capture_of(comparison)),
        source=source_line(rank.frames_of(origin.call)),
        figures={**_figures(rank, origin), **spread_figures(hops)},
        related=each_once((*carriers(hops), *related_of(rank, origin, inheriting))),
        location=location(comparison, rank, origin.call, origin.row if origin.row >= 0 else None),
    )


def describe_row(rank: RankComparison, row: int, lang: Lang) -> str:
    """' (cosine 0.958, relative L2 0.29)': the figures that speak for a row, '' where there are none."""
    rows = rank.rows
    parts: list[str] = []
    reason = REASONS[int(rows.reason[row])]
    if reason in ("shape", "nonfinite", "not-equal", "checksum", "content", "unreadable", "changed"):
        parts.append(say(TEXTS, f"reason-{reason}", lang))
    if reason == "shape":
        parts.append(_shapes(rank, row))
    if reason == "nonfinite":  # the figures of what is left finite would only hide it
        parts += _non_finite_counts(rank, row)
        return f" ({', '.join(parts)})"
    labels = {"cosine": "cosine", "norm_ratio": "norm ratio", "rel_l2": "rel.L2", "max_abs_error": "maxabs"}
    for name, label in labels.items():
        value = rows.figure(name, row)
        if value is not None and reason != "shape":
            parts.append(f"{label} {number(value)}")
    least = rows.figure("rel_l2_at_least", row)
    if least is not None and least > 0:
        parts.append(f"rel.L2 >= {number(least)}")
    return f" ({', '.join(parts)})" if parts else ""


def _non_finite_counts(rank: RankComparison, row: int) -> list[str]:
    """'NaN 3/0, Inf 0/1 (target/golden)' from the elements; from Max and Min where only they are known."""
    counts = [
        f"{word} {rank.rows.figure(f'{key}_target', row)}/{rank.rows.figure(f'{key}_golden', row)}"
        for word, key in (("NaN", "nan"), ("Inf", "inf"))
        if rank.rows.figure(f"{key}_target", row) or rank.rows.figure(f"{key}_golden", row)
    ]
    if counts:
        return [f"{', '.join(counts)} target/golden"]
    target = rank.target.leaf(rank.rows.target_row(row))
    golden = rank.golden.leaf(rank.rows.golden_row(row))
    return [f"Max {target.max}/{golden.max}, Min {target.min}/{golden.min} target/golden"]


def describe_pattern(rank: RankComparison, row: int, lang: Lang) -> str:
    """The pattern of the bad elements as a sentence with a leading blank, '' where none is known."""
    pattern = rank.rows.patterns.get(row)
    key = f"pattern-{pattern.kind}" if pattern is not None else ""
    if pattern is None or key not in TEXTS:
        return ""
    try:
        return say(TEXTS, key, lang, **_pattern_values(rank, row, pattern))
    except KeyError:
        return f" Pattern: {pattern.kind}."


def scalar_pair(rank: RankComparison, row: int) -> tuple[Any, Any, str]:
    """Target value, golden value and the argument's name ('input 1', 'eps') of a scalar row.

    None where a side was not given the argument; a tensor as its dtype and shape.
    """
    target = _argument(rank.target, rank.rows.target_row(row))
    golden = _argument(rank.golden, rank.rows.golden_row(row))
    return target, golden, rank.rows.io(row).removeprefix("kwargs ")


def _argument(dump: Dump, leaf: int) -> Any:
    if leaf < 0:
        return None
    record = dump.leaf(leaf)
    if record.kind == "tensor":
        return f"{record.dtype} {list(record.shape or ())}"
    return record.value


def origin_message(rank: RankComparison, origin: Origin, lang: Lang) -> str:
    """Why this is an origin and what the bad elements look like, without the source line."""
    rows = rank.rows
    row = origin.row if origin.row >= 0 else origin.first_row
    output = describe_row(rank, row, lang)
    pattern = describe_pattern(rank, row, lang)
    if origin.cause == "scalar":
        target, golden, argument = scalar_pair(rank, origin.row)
        return say(TEXTS, "scalar", lang, argument=argument, target=target, golden=golden)
    if origin.cause == "unmatched":
        side = "target" if rows.pairing.golden_call[origin.call] < 0 else "golden"
        first = rank.target.leaf_name(rows.target_row(origin.first_row))
        text = say(TEXTS, f"unmatched-{side}", lang, first=first, output=output)
        text = made_non_finite(rank, origin.call, lang) + text + pattern
        return text + _group_factor(rank, origin, lang) + _given_otherwise(rank, origin, lang)
    if origin.cause == "input-data":
        return say(TEXTS, "input-data", lang, output=output) + pattern + _integers(rank, row, lang)
    if origin.cause == "parameter":
        state = say(
            TEXTS, "inputs-agree" if _inputs_agree(rank, origin.call) else "inputs-not-compared", lang
        )
        return (
            say(TEXTS, "parameter", lang, output=output, inputs=state)
            + pattern
            + _same_statistics(rank, row, lang)
        )
    if origin.cause == "overwritten":
        producer = rows.pairing.name(rank.target, rank.golden, origin.producer)
        return say(TEXTS, "overwritten", lang, producer=producer, output=output) + pattern
    if origin.first_row >= 0 and int(rows.pairing.row_call[origin.first_row]) != origin.call:
        first = rank.target.leaf_name(rows.target_row(origin.first_row))
        inner = describe_row(rank, origin.first_row, lang)
        return say(TEXTS, "operator-inside", lang, first=first, output=inner) + pattern
    inputs = _worst_input(rank, origin.call, lang)
    first = _agreeing_first(rank, origin)
    again = say(TEXTS, "again", lang, first=first) if first else ""
    return say(TEXTS, origin.cause, lang, inputs=inputs, output=output) + again + pattern


def _agreeing_first(rank: RankComparison, origin: Origin) -> str:
    """Name of the first forward that the target's origin repeats, where all of that one agrees; or ""."""
    pairing = rank.rows.pairing
    if origin.cause != "operator" or pairing.recompute_of is None:
        return ""
    first = int(pairing.recompute_of[origin.call])
    if first < 0 or pairing.target_call[first] == pairing.target_call[origin.call]:
        return ""  # the golden side's copy
    verdicts = rank.rows.verdict[pairing.row_call == first]
    agrees = bool(len(verdicts)) and bool(((verdicts == PASS) | (verdicts == WARNING)).all())
    return pairing.name(rank.target, rank.golden, first) if agrees else ""


def _given_otherwise(rank: RankComparison, origin: Origin, lang: Lang) -> str:
    """The argument of the module around a call that the other side does not make."""
    if origin.argument < 0:
        return ""
    target, golden, argument = scalar_pair(rank, origin.argument)
    rows = rank.rows
    module = rows.pairing.name(rank.target, rank.golden, int(rows.pairing.row_call[origin.argument]))
    values = {"module": module, "argument": argument, "target": target, "golden": golden}
    return say(TEXTS, "given-otherwise", lang, **values)


COMPUTED_AGAIN = ("Linear", "Norm", "Embedding")
"""Ends of module classes that `npulse recheck` knows, beside APIs; it says itself where it knows one not."""


def next_step(rank: RankComparison, origin: Origin, lang: Lang, capture: str = "RUN") -> str:
    """What to do about an origin. capture: what a command is told to look at."""
    if _agreeing_first(rank, origin):
        return say(TEXTS, "next-again", lang)
    if origin.cause == "operator":
        name = rank.rows.pairing.name(rank.target, rank.golden, origin.call)
        if rank.rows.basis[origin.row] != BY_TENSOR:
            return say(TEXTS, "next-operator-statistics", lang, call=name)
        if parse_name(name).kind == "api" or parse_name(name).cls.endswith(COMPUTED_AGAIN):
            command = command_line(["npulse", "recheck", name, capture])
            return say(TEXTS, "next-operator-recheck", lang, command=command)
    return say(TEXTS, f"next-{origin.cause}", lang)


def _capture_of(comparison: Comparison) -> str:
    """The target where two captures were named; a pair of one run is found again by the run's own name."""
    pair = comparison.pair
    return "RUN" if pair.target_root in (Path(), pair.golden_root) else os.fspath(pair.target_root)


def _figures(rank: RankComparison, origin: Origin) -> Figures:
    row = origin.row if origin.row >= 0 else origin.first_row
    rows = rank.rows
    if origin.cause == "scalar":
        target, golden, argument = scalar_pair(rank, origin.row)
        return {
            "argument": argument,
            "target": target,
            "golden": golden,
            **row_figures(rank, origin.first_row),
        }
    found = row_figures(rank, row)
    if origin.cause in ("parameter", "input-data"):
        target, golden = rank.target.leaf(rows.target_row(row)), rank.golden.leaf(rows.golden_row(row))
        if target.checksum and golden.checksum:
            found["checksum_target"], found["checksum_golden"] = target.checksum, golden.checksum
        found["statistics_equal"] = _statistics_equal(rank, row)
        found["max_equal"], found["min_equal"] = target.max == golden.max, target.min == golden.min
    if origin.cause == "unmatched":
        found["side"] = "target" if rows.pairing.golden_call[origin.call] < 0 else "golden"
        size = _group_size(rank, origin)
        if size:
            found["group_size"] = size
    if origin.cause == "overwritten":
        found["producer_output_equals_golden"] = True
        found["consumer_input_differs_from_producer_output"] = True
        found["cause"] = "memory overwritten"
        seen = rows.examinations.get(row)
        if seen is not None and seen.n_different:
            found["contiguous"] = seen.span_share >= WHOLE_SHARE
            found["equal_head"] = seen.first_different
            found["equal_tail"] = seen.n_elements - 1 - seen.last_different
    return found


def _given_rows(rank: RankComparison, call: int) -> list[int]:
    rows = rank.rows
    span = range(*np.searchsorted(rows.pairing.row_call, [call, call + 1]).tolist())
    return [
        row
        for row in span
        if rows.target_row(row) >= 0 and int(rank.target.leaves.side[rows.target_row(row)]) <= KWARGS
    ]


def _inputs_agree(rank: RankComparison, call: int) -> bool:
    return all(rank.rows.verdict[row] == PASS for row in _given_rows(rank, call))


def _worst_input(rank: RankComparison, call: int, lang: Lang) -> str:
    given = _given_rows(rank, call)
    if given and all(rank.rows.reason[row] == REASON["equal"] for row in given):
        return f" ({say(TEXTS, 'reason-equal', lang)})"
    cosines = [c for row in given if (c := rank.rows.figure("cosine", row)) is not None]
    return f" (cosine {number(min(cosines))})" if cosines else ""


def _pattern_values(rank: RankComparison, row: int, pattern: Pattern) -> dict[str, Any]:
    """Figures of a pattern made ready for its sentence."""
    values: dict[str, Any] = dict(pattern.figures)
    for key, value in values.items():
        if key == "error_share_ratio":
            values[key] = f"{100 * float(value):.3g} %"
        elif isinstance(value, float):
            values[key] = number(value)
        elif isinstance(value, (list, tuple)):
            values[key] = ", ".join(str(v) for v in value)
    return values


def _integers(rank: RankComparison, row: int, lang: Lang) -> str:
    seen = rank.rows.examinations.get(row)
    if rank.rows.reason[row] != REASON["not-equal"] or seen is None:
        return ""
    text = say(
        TEXTS,
        "n-different",
        lang,
        n=rank.rows.figure("n_different", row),
        of=rank.rows.figure("n_elements", row),
        first=list(seen.first_different_index),
        last=list(seen.last_different_index),
    )
    target = rank.target.leaf(rank.rows.target_row(row))
    golden = rank.golden.leaf(rank.rows.golden_row(row))
    if (target.max, target.min) == (golden.max, golden.min):
        text += say(TEXTS, "extremes-agree", lang)
    return text


def _statistics_equal(rank: RankComparison, row: int) -> bool:
    target, golden = rank.target.leaf(rank.rows.target_row(row)), rank.golden.leaf(rank.rows.golden_row(row))
    four = [
        (target.max, golden.max),
        (target.min, golden.min),
        (target.mean, golden.mean),
        (target.norm, golden.norm),
    ]
    return all(a == b for a, b in four)


def _same_statistics(rank: RankComparison, row: int, lang: Lang) -> str:
    return say(TEXTS, "same-statistics", lang) if rank.rows.reason[row] == REASON["content"] else ""


def _group_size(rank: RankComparison, origin: Origin) -> int:
    dump, calls = (
        (rank.target, rank.rows.pairing.target_call)
        if rank.rows.pairing.golden_call[origin.call] < 0
        else (rank.golden, rank.rows.pairing.golden_call)
    )
    for leaf in dump.leaf_range(int(calls[origin.call])):
        record = dump.leaf(leaf)
        if record.type.endswith("ProcessGroup"):
            return len(group_ranks(record.value))
    return 0


def _group_factor(rank: RankComparison, origin: Origin, lang: Lang) -> str:
    size = _group_size(rank, origin)
    ratio = rank.rows.figure("norm_ratio", origin.first_row)
    if size < 2 or ratio is None or abs(ratio / size - 1) > 0.01:
        return ""
    return say(TEXTS, "group-factor", lang, n=size)


def _shapes(rank: RankComparison, row: int) -> str:
    target, golden = rank.target.leaf(rank.rows.target_row(row)), rank.golden.leaf(rank.rows.golden_row(row))
    return f"{list(target.shape or ())} / {list(golden.shape or ())}"


def _source(rank: RankComparison, call: int, lang: Lang) -> str:
    line = source_line(rank.frames_of(call))
    return say(TEXTS, "source-line", lang, line=line) if line else ""


def row_finding(comparison: Comparison, rank: RankComparison, row: int, lang: Lang) -> Finding:
    """Any row as a finding (to copy, to mark): the origin's own finding where the row's call is one."""
    rows = rank.rows
    call = int(rows.pairing.row_call[row])
    for origin in rank.roles.origins:
        if origin.call == call:
            return origin_finding(comparison, rank, origin, lang)
    verdict = int(rows.verdict[row])
    leaf = rows.target_row(row)
    name = rank.target.leaf_name(leaf) if leaf >= 0 else rank.golden.leaf_name(rows.golden_row(row))
    reason = say(TEXTS, "reason-" + REASONS[int(rows.reason[row])], lang)
    role = ROLES[int(rank.roles.row[row])]
    return Finding(
        area="precision",
        severity="error" if verdict == ERROR else "warning" if verdict == WARNING else "note",
        rule=_rule_of_row(verdict, role),
        role=role,
        subject=name,
        message=reason + describe_row(rank, row, lang) + describe_pattern(rank, row, lang),
        figures=row_figures(rank, row),
        location=location(comparison, rank, call, row),
    )


def _rule_of_row(verdict: int, role: str) -> str:
    """The rule that a row by itself breaks; "" for one that agrees or only inherits."""
    if verdict == UNKNOWN:
        return "precision.unmatched" if role == "unmatched" else "precision.unknown"
    return "precision.above-rounding" if verdict == WARNING and role == "ok" else ""


def stack_of(rank: RankComparison, row: int) -> list[str]:
    """The Python call stack of a row's call, innermost first, read from stack.json if need be; [] if none."""
    call = int(rank.rows.pairing.row_call[row])
    name = rank.rows.pairing.name(rank.target, rank.golden, call)
    return stack_lines(rank.stacks, rank.target.path.parent, name)
