"""The headless twin of the precision pane: a `Comparison` as findings, counts and a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from npulse.core.calls.apis import HARMLESS
from npulse.core.calls.clocks import time_before
from npulse.core.findings import Finding, Related, Report, Verdict, merged, verdict_from
from npulse.core.formats.msprobe.names import parse_name, without_number
from npulse.core.formats.msprobe.records import INPUT, OUTPUT
from npulse.core.text import Lang, say

from .comparison import Comparison, RankComparison
from .explain import describe_row, location, origin_finding, row_figures, scalar_pair
from .origins.related import inheriting_calls
from .own.report import beside_lines, map_lines, own_findings, own_summary
from .pairing.told import pairing_notes
from .parameters import look_at, parameter_findings, parameter_lines
from .plugged_report import is_unmeasured, plugged_findings, plugged_lines, plugged_summary
from .role_records import INHERITED, OK, ORIGIN, ROLES, UNKNOWN_ROLE, UNMATCHED, Origin
from .rows import BASES
from .splits.report import split_findings
from .table import precision_table
from .texts import TEXTS
from .told import told
from .verdict import ERROR, PASS, REASON, REASONS, UNKNOWN, VERDICTS, WARNING

AREA = "precision"


def report(comparison: Comparison, *, lang: Lang = "en", tables: bool = False) -> Report:
    """Findings in the order in which they should be looked at: origins by execution, then the rest."""
    parameters = look_at(comparison)
    if parameters is not None:  # nothing begins anywhere in a checkpoint
        findings = [
            *parameter_findings(comparison, parameters, lang),
            *(note for note in _notes(comparison, lang) if note.rule == "precision.unknown"),
        ]
    else:
        findings = _of_calls(comparison, lang)
    pair = comparison.pair
    is_one_run = pair.target_root == pair.golden_root
    counted, summary = counts(comparison), {**end_result(comparison), **plugged_summary(comparison)}
    summary |= own_summary(comparison.own)
    if comparison.n_not_read:
        summary["tensors_not_read"] = comparison.n_not_read
    return Report(
        command=AREA,
        run=str(pair.target_root),
        target=pair.target_name if is_one_run else str(pair.target_root),
        golden=pair.golden_name if is_one_run else str(pair.golden_root),
        verdict=verdict_of(comparison, findings),
        beneath=verdict_of(comparison, ()),
        artifacts=(*pair.target, *pair.golden),
        findings=tuple(findings),
        counts=counted,
        summary=summary,
        told=(
            *(
                told(comparison, counted, summary, findings, lang)
                if parameters is None
                else parameter_lines(parameters, lang)
            ),
            *plugged_lines(comparison, lang),
            *beside_lines(comparison.own, lang),
            *map_lines(comparison.judged, lang),
        ),
        problems=(*pair.problems, *comparison.problems),
        tables={AREA: precision_table(comparison, lang)} if tables else {},
    )


def _of_calls(comparison: Comparison, lang: Lang) -> list[Finding]:
    untold, is_behind = _first_difference(comparison, lang)
    origins = _origins(comparison, lang)
    return [
        *(origins + untold if is_behind else untold + origins),
        *own_findings((one for one in comparison.own.seen if one.severity != "note"), lang),
        *_scalars(comparison, lang),
        *_above_rounding(comparison, lang),
        *_other_content(comparison, lang),
        *plugged_findings(comparison, lang),
        *split_findings(comparison, lang),
        *pairing_notes(comparison, AREA, lang),
        *own_findings((one for one in comparison.own.seen if one.severity == "note"), lang),
        *_notes(comparison, lang),
        *_pending(comparison, lang),
    ]


def pair_title(comparison: Comparison) -> str:
    """What was compared: the run and the names of both captures in it, or the two folders."""
    pair = comparison.pair
    if pair.target_root != pair.golden_root:
        return f"{pair.target_root} against {pair.golden_root}"
    return f"{pair.target_root}: {pair.target_name} against {pair.golden_name}"


def verdict_of(comparison: Comparison, findings: Iterable[Finding]) -> Verdict:
    """fail, incomplete, unknown, warn or pass; unknown is never a pass, nor is a capture that still runs."""
    has_unknown = not comparison.ranks or comparison.is_growing or is_unmeasured(comparison)
    has_unknown = has_unknown or comparison.n_awaited > 0
    has_unknown = has_unknown or any((r.rows.verdict == UNKNOWN).any() for r in comparison.ranks)
    problems = (*comparison.pair.problems, *comparison.problems)
    return verdict_from(findings, problems, has_unknown=has_unknown)


def counts(comparison: Comparison) -> dict[str, int]:
    """Rows by verdict; operator calls by role."""
    found: Counter[str] = Counter()
    for rank in comparison.ranks:
        found["calls"] += rank.rows.pairing.n_calls
        found["rows"] += rank.rows.n_rows
        for code, name in enumerate(VERDICTS):
            found[name] += int((rank.rows.verdict == code).sum())
        for role in (ORIGIN, INHERITED, UNMATCHED):
            found[ROLES[role]] += int((rank.roles.call == role).sum())
        found["compared"] += int((rank.rows.verdict != UNKNOWN).sum())
    return dict(found)


def end_result(comparison: Comparison) -> dict[str, object]:
    """What the comparison rests on, and what came out at the end: the last forward output and its figures.

    The end is what says whether a round is better than another, whatever happened inside.
    """
    compared_by = Counter(
        BASES[code] for rank in comparison.ranks for code in rank.rows.basis[rank.rows.basis > 0].tolist()
    )
    basis = {"compared_by": ", ".join(f"{name} {n}" for name, n in compared_by.most_common())}
    last_step = max((rank.step or 0 for rank in comparison.ranks), default=0)
    ends = [(rank, last_output(rank)) for rank in comparison.ranks if (rank.step or 0) == last_step]
    ends = [(rank, row) for rank, row in ends if row >= 0]
    if not ends:
        return {**basis}
    # of several ranks the one whose end is worst; the first of equals
    rank, row = min(ends, key=lambda end: _ORDER_OF_ENDS[int(end[0].rows.verdict[end[1]])])
    found: dict[str, object] = {
        **basis,
        "last_output": rank.target.leaf_name(rank.rows.target_row(row)),
        "last_output_verdict": VERDICTS[int(rank.rows.verdict[row])],
        "last_output_reason": REASONS[int(rank.rows.reason[row])],
    }
    if rank.rank is not None and len(ends) > 1:
        found["last_output_rank"] = rank.rank
    if rank.rows.reason[row] != REASON["nonfinite"]:
        for name in ("cosine", "rel_l2", "norm_ratio"):
            value = rank.rows.figure(name, row)
            if value is not None:
                found[f"last_output_{name}"] = value
    return found


_ORDER_OF_ENDS = {ERROR: 0, UNKNOWN: 1, WARNING: 2, PASS: 3}


def last_output(rank: RankComparison) -> int:
    """The last compared floating output of a forward that has one to speak of: the container modules that
    close behind it (the model as a whole) repeat it, so the last with the most exact basis is taken, unless
    one behind it is known to be wrong and this one is not."""
    rows = rank.rows
    known = (rows.computed["norm_ratio"] | (rows.verdict == ERROR)) & (rows.pairing.target_leaf >= 0)
    is_output = known & (rows.target_sides() == OUTPUT)
    candidates = np.flatnonzero(is_output)
    exact = rows.computed["cosine"][candidates]
    exact_row, last_row = (_last_of(rank, picked.tolist()) for picked in (candidates[exact], candidates))
    is_later_wrong = last_row >= 0 and rows.verdict[last_row] == ERROR
    if exact_row < 0 or is_later_wrong and rows.verdict[exact_row] != ERROR:
        return last_row
    return exact_row


def _last_of(rank: RankComparison, candidates: Sequence[int]) -> int:
    """The last of these rows of which its call's API has something to say, -1 for none."""
    told: dict[tuple[str, str], bool] = {}  # of entries, whose calls differ in nothing but their numbers
    for row in reversed(candidates):
        name = rank.rows.pairing.name(rank.target, rank.golden, int(rank.rows.pairing.row_call[row]))
        entry = without_number(name)
        is_telling = told.get(entry)
        if is_telling is None:
            parsed = parse_name(name)
            is_forward = parsed.direction == "forward" or parsed.kind == "other" and rank.target.is_ordered
            is_telling = told[entry] = is_forward and parsed.api not in HARMLESS
        if is_telling:
            return row
    return -1


def ordered_origins(comparison: Comparison) -> list[tuple[RankComparison, Origin]]:
    """All origins, the one to look at first in front: by step, by meetings of the ranks before, by place in
    execution, by rank."""
    found = [(rank, origin) for rank in comparison.ranks for origin in rank.roles.origins]
    return sorted(found, key=lambda pair: _place(pair[0], pair[1].call))


def _origins(comparison: Comparison, lang: Lang) -> list[Finding]:
    inheriting = {id(rank): inheriting_calls(rank) for rank in comparison.ranks}
    return merged(
        [
            origin_finding(comparison, rank, origin, lang, inheriting[id(rank)])
            for rank, origin in ordered_origins(comparison)
        ],
        is_preferred=lambda finding: finding.figures.get("basis") == "tensor",
    )


def _first_difference(comparison: Comparison, lang: Lang) -> tuple[list[Finding], bool]:
    """The first call that differs and whose beginning cannot be told; whether an origin stands before it."""
    unknown = [(rank, call) for rank in comparison.ranks for call in _failing_unknown(rank)]
    if not unknown and not any(rank.roles.origins for rank in comparison.ranks):
        # whatever the roles say: a row that fails is never without a finding
        unknown = [
            (rank, rank.rows.pairing.row_call[row])
            for rank in comparison.ranks
            for row in np.flatnonzero(rank.rows.verdict == ERROR)[:1]
        ]
    if not unknown:
        return [], False
    rank, call = min(unknown, key=lambda found: _place(found[0], int(found[1])))
    rows = rank.rows
    here = rows.pairing.row_call == call
    failing = np.flatnonzero(here & (rows.verdict == ERROR))
    row = int(failing[0])
    n_unknown = int((here & (rows.verdict == UNKNOWN)).sum())
    key = "first-difference" if n_unknown else "first-difference-seen"
    if not rank.target.is_ordered:
        key = "first-difference-unordered" if rows.n_rows > 1 else "one-tensor"
    first = ordered_origins(comparison)[:1]
    is_behind = any(_place(r, origin.call) < _place(rank, int(call)) for r, origin in first)
    if is_behind:
        key, n_unknown = "first-difference-behind", len(unknown)
    found = [
        Finding(
            area=AREA,
            severity="error",
            rule="precision.first-difference",
            role="unknown",
            subject=rows.pairing.name(rank.target, rank.golden, int(call)),
            message=say(TEXTS, key, lang, output=describe_row(rank, row, lang), n=n_unknown),
            next_step=say(TEXTS, _next_of_unknown(rank), lang),
            figures=row_figures(rank, row),
            location=location(comparison, rank, int(call), row),
        )
    ]
    return found, is_behind


def _next_of_unknown(rank: RankComparison) -> str:
    if not rank.target.is_ordered:
        return "next-unordered" if rank.rows.n_rows > 1 else "next-one-tensor"
    if rank.golden.header.framework != "golden":
        return "next-unknown"
    return "next-golden-inputs" if INPUT in rank.golden.leaves.side else "next-golden"


def _failing_unknown(rank: RankComparison) -> list[int]:
    """Calls of role unknown that have a row over a threshold."""
    failing = np.unique(rank.rows.pairing.row_call[rank.rows.verdict == ERROR])
    calls: list[int] = failing[rank.roles.call[failing] == UNKNOWN_ROLE].tolist()
    return calls


def _place(rank: RankComparison, call: int) -> tuple[int, int, int, int]:
    """Where a call stands in the whole comparison: ranks have no common clock, but they meet at once."""
    return rank.step or 0, time_before(rank.clock, call), call, rank.rank or 0


def _scalars(comparison: Comparison, lang: Lang) -> list[Finding]:
    findings = []
    for rank in comparison.ranks:
        rows = rank.rows
        alone = np.flatnonzero(
            (rows.verdict == WARNING) & (rows.reason == REASON["scalar-alone"]) & (rank.roles.row == OK)
        )
        for row in alone.tolist():
            target, golden, argument = scalar_pair(rank, row)
            findings.append(
                Finding(
                    area=AREA,
                    severity="warning",
                    rule="precision.scalar",
                    role="suspect",
                    subject=rank.target.leaf_name(rows.target_row(row)),
                    message=say(TEXTS, "scalar-alone", lang, argument=argument, target=target, golden=golden),
                    next_step=say(TEXTS, "next-scalar", lang),
                    figures={"target": target, "golden": golden},
                    location=location(comparison, rank, int(rows.pairing.row_call[row]), row),
                )
            )
    return findings


def _above_rounding(comparison: Comparison, lang: Lang) -> list[Finding]:
    worst: tuple[float, RankComparison, int] | None = None
    n = 0
    for rank in comparison.ranks:
        picked = np.flatnonzero(
            (rank.rows.verdict == WARNING)
            & (rank.rows.reason == REASON["above-rounding"])
            & np.isin(rank.roles.row, (OK, UNKNOWN_ROLE))  # what is inherited is explained by its origin
        )
        n += len(picked)
        if len(picked):
            error = np.fmax(rank.rows.figures["rel_l2"], rank.rows.figures["rel_l2_at_least"])[picked]
            best = int(np.nanargmax(np.nan_to_num(error, nan=-1.0)))
            if worst is None or float(error[best]) > worst[0]:
                worst = (float(error[best]), rank, int(picked[best]))
    if worst is None:
        return []
    _, rank, row = worst
    return [
        Finding(
            area=AREA,
            severity="warning",
            rule="precision.above-rounding",
            role="suspect",
            subject=rank.target.leaf_name(rank.rows.target_row(row)),
            message=say(TEXTS, "above-rounding", lang, n=n) + describe_row(rank, row, lang),
            next_step=say(TEXTS, "next-above-rounding", lang),
            figures={"n_tensors": n, **row_figures(rank, row)},
            location=location(comparison, rank, int(rank.rows.pairing.row_call[row]), row),
        )
    ]


def _other_content(comparison: Comparison, lang: Lang) -> list[Finding]:
    """Tensors of which only the checksum tells that they differ; one finding for all."""
    found = [
        (rank, int(row))
        for rank in comparison.ranks
        for row in np.flatnonzero((rank.rows.verdict == WARNING) & (rank.rows.reason == REASON["content"]))
    ]
    if not found:
        return []
    rank, row = found[0]
    return [
        Finding(
            area=AREA,
            severity="warning",
            rule="precision.above-rounding",
            role="suspect",
            subject=rank.target.leaf_name(rank.rows.target_row(row)),
            message=say(TEXTS, "content-note", lang, n=len(found)),
            next_step=say(TEXTS, "next-above-rounding", lang),
            figures={"n_tensors": len(found), **row_figures(rank, row)},
            location=location(comparison, rank, int(rank.rows.pairing.row_call[row]), row),
        )
    ]


def _pending(comparison: Comparison, lang: Lang) -> list[Finding]:
    """What is not there yet of a capture that still runs; one finding for all ranks."""
    growing = [(rank, rank.growth) for rank in comparison.ranks if rank.growth is not None]
    if not growing:
        return []
    figures = {
        "n_pending": sum(growth.n_pending for _, growth in growing),
        "n_pending_calls": sum(growth.n_pending_calls for _, growth in growing),
        "n_to_come": sum(growth.n_to_come for _, growth in growing),
        "n_ranks": len(growing),
    }
    n, calls, to_come = figures["n_pending"], figures["n_pending_calls"], figures["n_to_come"]
    return [
        Finding(
            area=AREA,
            severity="note",
            rule="precision.pending",
            role="unknown",
            subject=pair_title(comparison),
            message=say(
                TEXTS, "pending-note" if n else "pending-none", lang, n=n, calls=calls, to_come=to_come
            ),
            next_step=say(TEXTS, "next-pending-note", lang),
            figures=figures,
        )
    ]


def _notes(comparison: Comparison, lang: Lang) -> list[Finding]:
    findings: list[Finding] = []
    alone_target: list[str] = []
    alone_golden: list[str] = []
    reasons: Counter[str] = Counter()
    for rank in comparison.ranks:
        pairing = rank.rows.pairing
        for call in np.flatnonzero(rank.roles.call == UNMATCHED).tolist():
            (alone_target if pairing.golden_call[call] < 0 else alone_golden).append(
                pairing.name(rank.target, rank.golden, call)
            )
        unknown = rank.rows.verdict == UNKNOWN
        told = np.isin(rank.rows.reason, (REASON["call-one-side"], REASON["absent"]))  # in findings of theirs
        for code in rank.rows.reason[unknown & ~told].tolist():
            reasons[REASONS[code]] += 1
    if alone_target or alone_golden:
        names = [*alone_target, *alone_golden]
        findings.append(
            Finding(
                area=AREA,
                severity="note",
                rule="precision.unmatched",
                role="unmatched",
                subject=names[0],
                message=say(
                    TEXTS, "unmatched-note", lang, target=len(alone_target), golden=len(alone_golden)
                ),
                next_step=say(TEXTS, "next-unmatched-note", lang),
                figures={"n_target_only": len(alone_target), "n_golden_only": len(alone_golden)},
                related=tuple(Related("unmatched", name) for name in names[:20]),
            )
        )
    if reasons:
        listed = ", ".join(f"{n} x {say(TEXTS, 'reason-' + name, lang)}" for name, n in reasons.most_common())
        findings.append(
            Finding(
                area=AREA,
                severity="note",
                rule="precision.unknown",
                role="unknown",
                subject=pair_title(comparison),
                message=say(TEXTS, "unknown-note", lang, n=sum(reasons.values()), reasons=listed),
                next_step=say(TEXTS, "next-unknown-note", lang),
                figures={name.replace("-", "_"): n for name, n in reasons.items()},
            )
        )
    return findings
