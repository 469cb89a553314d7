"""What stands beside the table for one row: why, figures, source line; and its elements on demand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npulse.core.errors import InputError
from npulse.core.figures import number
from npulse.core.formats.msprobe.stacks import user_frame
from npulse.core.formats.tensors import TensorFile
from npulse.core.progress import IsCancelled, never_cancelled
from npulse.core.table import Table
from npulse.core.text import Lang, say
from npulse.core.views import Detail

from .comparison import Comparison, RankComparison
from .explain import began_at, describe_pattern, describe_row, next_step, origin_message, scalar_pair
from .pairing.told import pair_words
from .reading.jobs import tensor_jobs
from .reading.work import open_sides
from .role_records import INHERITED, UNMATCHED
from .rows import BASES, BY_VALUE, NO_BASIS, tensor_rows
from .splits.view import TensorView
from .texts import TEXTS
from .verdict import REASONS
from .views import ErrorMap, Histograms, error_map, histogram, worst_elements

_SHOWN = (
    "cosine", "rel_l2", "rel_l2_at_least", "max_abs_error", "max_rel_error", "mean_rel_error", "norm_ratio",
    "ratio_below_1e3", "ratio_below_5e3", "ulp_max", "passes_at", "n_different", "n_elements",
    "nan_target", "nan_golden", "inf_target", "inf_golden",
)  # fmt: skip


def detail(rank: RankComparison, row: int, lang: Lang) -> Detail:
    """All that is known of one row, in the order in which it helps. Opens no file."""
    call = int(rank.rows.pairing.row_call[row])
    origin = next((o for o in rank.roles.origins if o.call == call), None)
    if origin is not None:
        headline, todo = origin_message(rank, origin, lang), next_step(rank, origin, lang)
    else:
        headline, todo = _headline(rank, row, call, lang), ""
    headline += pair_words(rank, call, lang)
    leaf = rank.rows.target_row(row)
    name = rank.target.leaf_name(leaf) if leaf >= 0 else rank.golden.leaf_name(rank.rows.golden_row(row))
    frame = user_frame(rank.frames_of(call))
    source = None if frame is None else (frame.file, frame.line, frame.source)
    return Detail(name, headline, tuple(_facts(rank, row, lang)), todo, source)


def _headline(rank: RankComparison, row: int, call: int, lang: Lang) -> str:
    rows = rank.rows
    if int(rank.roles.row[row]) == UNMATCHED:
        side = "target" if rows.pairing.target_leaf[row] >= 0 else "golden"
        return say(TEXTS, f"only-{side}", lang)
    reason = say(TEXTS, "reason-" + REASONS[int(rows.reason[row])], lang)
    text = reason + describe_row(rank, row, lang) + describe_pattern(rank, row, lang)
    cause = rank.roles.explained_by.get(call, -1)
    if int(rank.roles.row[row]) == INHERITED and cause >= 0:
        is_behind = call in rank.roles.by_order
        name = rows.pairing.name(rank.target, rank.golden, began_at(rank, call) if is_behind else cause)
        key = "inherited-behind" if is_behind else "inherited-from"
        text = say(TEXTS, key, lang, name=name) + " " + text
    return text


def _facts(rank: RankComparison, row: int, lang: Lang) -> list[tuple[str, str]]:
    """Names of figures are the contract's in every language: they are what a filter takes."""
    rows = rank.rows
    if int(rows.basis[row]) == BY_VALUE:
        target, golden, argument = scalar_pair(rank, row)
        values = (("argument", argument), ("target", target), ("golden", golden))
        return [(say(TEXTS, f"label-{name}", lang), str(value)) for name, value in values]
    facts: list[tuple[str, str]] = []
    for side, dump, leaf in (
        ("target", rank.target, rows.target_row(row)),
        ("golden", rank.golden, rows.golden_row(row)),
    ):
        if leaf >= 0:
            record = dump.leaf(leaf)
            four = [(n, getattr(record, n)) for n in ("max", "min", "mean", "norm")]
            told = "  ".join(f"{n} {number(v)}" for n, v in four if v is not None)
            shape = "" if record.shape is None else str(list(record.shape))
            sums = f"  md5 {record.checksum}" if record.checksum else ""
            stored = rows.stored_dtypes.get(row)
            file = f"  (file {stored[side == 'golden']})" if stored is not None else ""
            dtype = f"{record.dtype or record.type}{file}"
            facts.append((say(TEXTS, f"label-{side}", lang), f"{dtype} {shape}  {told}{sums}"))
    for name in _SHOWN:
        value = rows.figure(name, row)
        if value is not None and not (value == 0 and name.startswith(("nan", "inf"))):
            facts.append((name, number(value)))
    zeros = rows.figure("zero_reference", row)
    if zeros:
        facts.append(("zero_reference", number(zeros)))
        facts.append(("ratio_below_1e3_nonzero", number(rows.figure("ratio_below_1e3_nonzero", row) or 0.0)))
    if int(rows.basis[row]) != NO_BASIS:
        facts.append(("basis", BASES[int(rows.basis[row])]))
    if (split := rows.splits.get(row)) is not None:
        facts.append(("layout", split.layout))
    return facts


def where_lines(comparison: Comparison, rank: RankComparison, row: int, lang: Lang) -> list[str]:
    """Where the figures of a row come from: both dumps with the entry's byte, tensor files, source line."""
    rows, pair = rank.rows, comparison.pair
    call = int(rows.pairing.row_call[row])
    lines: list[str] = []

    def add(label: str, value: object) -> None:
        lines.append(f"{say(TEXTS, f'label-{label}', lang)}: {value}")

    for side, dump, calls, leaf in (
        ("target", rank.target, rows.pairing.target_call, rows.target_row(row)),
        ("golden", rank.golden, rows.pairing.golden_call, rows.golden_row(row)),
    ):
        if int(calls[call]) < 0:
            add(side, "-")
            continue
        own = int(dump.leaves.call[leaf]) if leaf >= 0 else int(calls[call])  # of a group any of its calls
        byte = say(TEXTS, "at-byte", lang, n=int(dump.calls.byte[own]))
        add(side, f"{pair.relative(dump.path)} {byte}")
        record = dump.leaf(leaf) if leaf >= 0 else None
        if record is not None and record.data_name:
            add(side, pair.relative(dump.tensor_dir / record.data_name))
    frame = user_frame(rank.frames_of(call))
    if frame is not None:
        add("source", f"{frame.file}:{frame.line} in {frame.function}")
    if int(rows.basis[row]) != NO_BASIS:
        add("basis", say(TEXTS, f"basis-{BASES[int(rows.basis[row])]}", lang))
    numbers = (("row", row), ("rank", rank.rank), ("step", rank.step))
    told = (f"{say(TEXTS, f'label-{name}', lang)} {value}" for name, value in numbers if value is not None)
    return [*lines, "   ".join(told)]


@dataclass(frozen=True, slots=True)
class ElementView:
    """The elements of one row: both files opened again, nothing kept of them but what is shown."""

    target: TensorFile | TensorView
    golden: TensorFile | TensorView
    worst: Table
    map: ErrorMap
    histograms: Histograms


def has_elements(rank: RankComparison, row: int) -> bool:
    """True where both sides of a row have a tensor file."""
    leaf_t, leaf_g = rank.rows.target_row(row), rank.rows.golden_row(row)
    if leaf_t < 0 or leaf_g < 0:
        return False
    return bool(rank.target.leaves.data_name[leaf_t] >= 0 and rank.golden.leaves.data_name[leaf_g] >= 0)


def element_view(
    comparison: Comparison,
    rank: RankComparison,
    row: int,
    *,
    map_size: tuple[int, int] = (16, 64),
    n_worst: int = 100,
    is_cancelled: IsCancelled = never_cancelled,
) -> ElementView:
    """Worst elements, error map and histograms of a row. InputError where a file is missing or cut."""
    pair = comparison.pair
    jobs = tensor_jobs(rank.rows, tensor_rows(rank.rows), pair.root_of("target"), pair.root_of("golden"))
    places = np.flatnonzero(jobs.rows == row)
    if not len(places):
        raise InputError(
            "no elements were captured for this row on both sides with one shape",
            hint='capture with task tensor, or statistics with "tensor_list"',
        )
    target, golden = open_sides(jobs[int(places[0])])
    return ElementView(
        target,
        golden,
        worst_elements(target, golden, n_worst, is_cancelled=is_cancelled),
        error_map(target, golden, *map_size, is_cancelled=is_cancelled),
        histogram(target, golden, is_cancelled=is_cancelled),
    )
