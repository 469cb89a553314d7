"""What a comparison of checkpoints says: a finding for each thing that is the matter with its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from npulse.core.findings import Finding, Related, Role, Severity
from npulse.core.text import Lang, safe_text, say

from ..explain import describe_row, location, row_figures
from .compare import Parameters, Place
from .texts import TEXTS

if TYPE_CHECKING:
    from ..comparison import Comparison, RankComparison

SHOWN = 20


def parameter_lines(found: Parameters, lang: Lang) -> tuple[str, ...]:
    """Counts as a line for people."""
    counted = (
        ("equal", found.n_equal),
        ("rounding", found.n_rounding),
        ("differing", len(found.differing)),
        ("transposed", len(found.transposed)),
        ("shapes", len(found.shapes)),
        ("only-target", len(found.only_target)),
        ("only-golden", len(found.only_golden)),
        ("converted", len(found.converted)),
        ("absent", len(found.absent)),
    )
    joint = "，" if lang == "zh" else ", "
    parts = joint.join(say(TEXTS, f"told-{name}", lang, n=n) for name, n in counted if n)
    return (say(TEXTS, "told", lang, n=found.n, parts=parts or say(TEXTS, "told-nothing", lang)),)


def parameter_findings(comparison: Comparison, found: Parameters, lang: Lang) -> list[Finding]:
    """One finding for each thing that is the matter, the values that differ first."""
    told: list[Finding] = []

    def tell(
        places: Sequence[Place],
        key: str,
        rule: str,
        severity: Severity,
        role: Role,
        todo: str,
        values: dict[str, object],
    ) -> None:
        number, row = places[0]
        rank = comparison.ranks[number]
        told.append(
            Finding(
                area="precision",
                severity=severity,
                rule=rule,
                role=role,
                subject=_name(rank, row),
                message=say(TEXTS, key, lang, **{"n": len(places), **values}),
                next_step=say(TEXTS, todo, lang),
                figures={"n_parameters": len(places), **row_figures(rank, row)},
                location=location(comparison, rank, int(rank.rows.pairing.row_call[row]), row),
                related=tuple(
                    Related(role, _name(comparison.ranks[number], row))
                    for number, row in places[:SHOWN]
                    if len(places) > 1
                ),
            )
        )

    if found.differing:
        worst = sorted(found.differing, key=lambda place: -_distance(comparison, place))
        figures = describe_row(comparison.ranks[worst[0][0]], worst[0][1], lang)
        values: dict[str, object] = {"of": found.n, "figures": figures}
        tell(worst, "differ", "precision.parameter", "error", "unknown", "next-differ", values)
    for places, key, severity, todo in _LAYOUTS:
        rows: list[Place] = getattr(found, places)
        if rows:
            told_of = _both(comparison, rows[0])
            rule = "precision.parameter" if severity != "note" else "precision.parameter-dtype"
            tell(rows, key, rule, severity, "unknown" if severity != "note" else "benign", todo, told_of)
    alone = [*found.only_target, *found.only_golden]
    if alone:
        numbers: dict[str, object] = {"target": len(found.only_target), "golden": len(found.only_golden)}
        tell(alone, "missing", "precision.unmatched", "error", "unmatched", "next-missing", numbers)
    if found.absent:
        files = _files(comparison, found.absent)
        tell(found.absent, "absent", "precision.unknown", "note", "unknown", "next-absent", {"files": files})
    if found.values:
        tell(
            found.values,
            "values",
            "precision.scalar",
            "warning",
            "suspect",
            "next-note",
            _both(comparison, found.values[0]),
        )
    return told


_LAYOUTS: tuple[tuple[str, str, Severity, str], ...] = (
    ("transposed", "transposed", "error", "next-layout"),
    ("shapes", "shapes", "error", "next-layout"),
    ("converted", "converted", "note", "next-note"),
)


def _files(comparison: Comparison, places: Sequence[Place]) -> str:
    """The files that should hold these parameters."""
    dumps = {id(d): d for n, _ in places for d in (comparison.ranks[n].target, comparison.ranks[n].golden)}
    names = sorted({file for dump in dumps.values() for file in dump.absent.values()})
    return safe_text(", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else ""), 400)


def _distance(comparison: Comparison, place: Place) -> float:
    value = comparison.ranks[place[0]].rows.figure("rel_l2", place[1])
    return float("inf") if value is None or value != value else float(value)


def _name(rank: RankComparison, row: int) -> str:
    t = rank.rows.target_row(row)
    return rank.target.leaf_name(t) if t >= 0 else rank.golden.leaf_name(rank.rows.golden_row(row))


def _both(comparison: Comparison, place: Place) -> dict[str, object]:
    """Both sides of a row: a value, or dtype and shape of a tensor."""
    rank, row = comparison.ranks[place[0]], place[1]
    leaves = (rank.target.leaf(rank.rows.target_row(row)), rank.golden.leaf(rank.rows.golden_row(row)))
    target, golden = (
        f"{leaf.dtype} {list(leaf.shape or ())}" if leaf.kind == "tensor" else leaf.value for leaf in leaves
    )
    return {"target": target, "golden": golden}
