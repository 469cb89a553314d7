"""Where a row stands, and all that is known of it: what findings of this area have in common."""

from __future__ import annotations

from typing import Any

from npulse.core.findings import Location

from .comparison import Comparison, RankComparison
from .rows import BASES, FIGURES
from .verdict import REASONS


def location(comparison: Comparison, rank: RankComparison, call: int, row: int | None) -> Location:
    """Where a call stands: the target's dump file where it has it, else the golden one's."""
    t = int(rank.rows.pairing.target_call[call])
    dump, index = (rank.target, t) if t >= 0 else (rank.golden, int(rank.rows.pairing.golden_call[call]))
    return Location(
        artifact=comparison.pair.relative(dump.path),
        rank=rank.rank,
        step=rank.step,
        row=row,
        byte=byte if (byte := int(dump.calls.byte[index])) >= 0 else None,
    )


def row_figures(rank: RankComparison, row: int) -> dict[str, Any]:
    """All computed figures of a row, its dtypes and shapes, reason and basis."""
    rows = rank.rows
    found: dict[str, Any] = {}
    for name in FIGURES:
        value = rows.figure(name, row)
        if value is not None:
            found[name] = value
    for side, dump, leaf in (
        ("target", rank.target, rows.target_row(row)),
        ("golden", rank.golden, rows.golden_row(row)),
    ):
        if leaf >= 0:
            record = dump.leaf(leaf)
            found[f"dtype_{side}"] = record.dtype
            found[f"shape_{side}"] = list(record.shape) if record.shape is not None else None
    if row in rows.stored_dtypes:
        found["file_dtype_target"], found["file_dtype_golden"] = rows.stored_dtypes[row]
    found["basis"] = BASES[int(rows.basis[row])]
    found["reason"] = REASONS[int(rows.reason[row])]
    seen = rows.examinations.get(row)
    if seen is not None:
        found["max_abs_error_index"] = list(seen.max_abs_error_index)
        found["first_index"] = list(seen.first_different_index)
        found["last_index"] = list(seen.last_different_index)
    pattern = rows.patterns.get(row)
    if pattern is not None:
        found["pattern"] = pattern.kind
        found.update({k: v for k, v in pattern.figures.items() if k not in found})
    return found
