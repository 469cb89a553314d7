"""What kind of difference it is: the shape of the bad elements, named, with the figures that show it.

The first kind that fits is the answer, in this order (the most certain evidence first):

equal                no element differs
non-finite           NaN or Inf at different places; everything else is secondary to that
rounding             nothing but the rounding of the coarser declared dtype
constant factor      target = factor * golden: the cosine is blind to it (a sum reduced twice, a lost scale)
identical rows       all rows of the target are the same, those of golden are not (a broadcast, one stale row)
contiguous block     one flat range differs, the rest is equal (memory overwritten)
blocks               a few flat ranges differ, the rest is equal (memory overwritten in several places)
rows, columns        few rows (columns) carry most of the squared error, spread within them
outlier              few elements carry most of the squared error
permuted             the same values in another order
zero reference       all that differs stands where golden is 0
drift                the error is spread over the tensor
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from npulse.core.dataclass import dataclass
from npulse.core.formats.tensors import Dtype

from .elements import Concentration, Examination
from .kernel import PairMetrics

PatternKind = Literal[
    "equal",
    "non-finite",
    "rounding",
    "constant factor",
    "identical rows",
    "contiguous block",
    "blocks",
    "rows",
    "columns",
    "outlier",
    "permuted",
    "zero reference",
    "drift",
]

ROUNDING_ULPS = 1.0
"""Rounding to nearest errs by half a unit; two sides that round apart, or one that truncates, by one."""

ZERO_ULPS = 4.0
"""A golden 0 has no relative error; a few smallest subnormals there are flush-to-zero or rounding residue."""

FACTOR_MINIMUM_ELEMENTS = 4
"""Fewer elements fit some factor by chance."""

FACTOR_ROUNDINGS = 4.0
"""A factor closer to 1 than this many unit roundoffs can be the bias of rounding."""

RESIDUAL_ROUNDINGS = 2.0
"""Scaling and then rounding leaves at most about one unit roundoff; one more for the other side."""

FLOAT32_FLOOR = 1e-6
"""float32 and finer: sums in another order alone leave this much."""

FACTOR_OVER_RESIDUAL = 10.0
"""The factor must explain ten times what it leaves unexplained."""

BLOCK_MINIMUM_ELEMENTS = 8
"""A shorter run of bad neighbours is an outlier, not a write by somebody else."""

BLOCK_FILL_SHARE = 0.95
"""Overwriting bytes equal the old ones now and then: so much of the range must differ."""

BLOCK_OF_TENSOR_SHARE = 0.95
"""A range that is nearly the whole tensor says nothing about place."""

MAX_BLOCKS = 8
"""More ranges than this are no few places ..."""

BLOCKS_MEAN_ELEMENTS = 64
"""... and shorter ones are single elements that differ beside each other by chance."""

FEW_LINES_SHARE = 1 / 8
"""'Few' rows or columns: no more than one in eight ..."""

LINES_MINIMUM = 4
"""... of at least four."""

SPREAD_SHARE = 0.1
"""A bad row is bad in at least a tenth of its elements; else single elements are the better description."""

OUTLIER_SHARE = 0.001
"""'Few' elements: one in a thousand, at least one (and no more than were kept)."""

OUTLIER_MINIMUM_OF = 8
"""In a smaller tensor one element carries most of the error as a matter of course."""

Figures = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pattern:
    """kind: see the module's list. figures: what shows it, named as in contract.md."""

    kind: PatternKind
    figures: Figures


def pattern(metrics: PairMetrics, examination: Examination, dtype: Dtype) -> Pattern:
    """The kind of difference of an examined pair. dtype: the coarser declared one of the two sides."""
    for kind, evidence in _KINDS:
        figures = evidence(metrics, examination, dtype)
        if figures is not None:
            return Pattern(kind, figures)
    raise AssertionError("drift always fits")


def _equal(metrics: PairMetrics, seen: Examination, dtype: Dtype) -> Figures | None:
    return {} if metrics.n_different == 0 else None


def _non_finite(metrics: PairMetrics, seen: Examination, dtype: Dtype) -> Figures | None:
    if metrics.nonfinite_differing == 0:
        return None
    return {
        "n_nonfinite_target": metrics.nan_target + metrics.inf_target,
        "n_nonfinite_golden": metrics.nan_golden + metrics.inf_golden,
        "nonfinite_differing": metrics.nonfinite_differing,
        "nonfinite_agreeing": metrics.nonfinite_agreeing,
    }


def _rounding(metrics: PairMetrics, seen: Examination, dtype: Dtype) -> Figures | None:
    # of an all-zero golden tensor every difference is infinite in relative terms; ulps decide there
    is_small = metrics.rel_l2 <= dtype.unit_roundoff or metrics.norm_golden == 0
    within = seen.ulp_max <= ROUNDING_ULPS and seen.ulp_max_zero_reference <= ZERO_ULPS
    if dtype.kind in ("int", "bool") or not (is_small and within):
        return None
    return {"dtype": dtype.name, "ulp": seen.ulp_max, "ulp_zero_reference": seen.ulp_max_zero_reference}


def _constant_factor(metrics: PairMetrics, seen: Examination, dtype: Dtype) -> Figures | None:
    factor, residual = seen.factor, seen.residual
    if factor is None or residual is None or metrics.n_compared < FACTOR_MINIMUM_ELEMENTS:
        return None
    away = abs(factor - 1)
    is_factor = away > max(FACTOR_ROUNDINGS * dtype.unit_roundoff, FLOAT32_FLOOR)
    is_all = residual <= max(RESIDUAL_ROUNDINGS * dtype.unit_roundoff, FLOAT32_FLOOR)
    if not (is_factor and is_all and away >= FACTOR_OVER_RESIDUAL * residual):
        return None
    return {"factor": factor, "residual_ratio": residual}


def _identical_rows(metrics: PairMetrics, seen: Examination, dtype: Dtype) -> Figures | None:
    if not seen.target_rows_identical or seen.golden_rows_identical or seen.rows is None:
        return None
    return {"n_rows": seen.rows.of}


def _contiguous_block(metrics: PairMetrics, seen: Examination, dtype: Dtype) -> Figures | None:
    if seen.n_different < BLOCK_MINIMUM_ELEMENTS or seen.span_share < BLOCK_FILL_SHARE:
        return None
    if seen.span > BLOCK_OF_TENSOR_SHARE * seen.n_elements:
        return None
    component_bytes = dtype.itemsize // (2 if dtype.kind == "complex" else 1)
    return {
        "first": seen.first_different,
        "last": seen.last_different,
        "n_bad_elements": seen.n_different,
        "n_elements": seen.n_elements,
        "n_bytes": seen.span * component_bytes,
    }


def _blocks(metrics: PairMetrics, seen: Examination, dtype: Dtype) -> Figures | None:
    if not 1 < seen.n_runs <= MAX_BLOCKS or seen.n_different < BLOCKS_MEAN_ELEMENTS * seen.n_runs:
        return None
    if seen.n_different > BLOCK_OF_TENSOR_SHARE * seen.n_elements:
        return None
    return {
        "n_blocks": seen.n_runs,
        "first": seen.first_different,
        "last": seen.last_different,
        "n_bad_elements": seen.n_different,
        "n_elements": seen.n_elements,
    }


def _rows(metrics: PairMetrics, seen: Examination, dtype: Dtype) -> Figures | None:
    return None if seen.columns is None else _few_lines("row", seen.rows, seen.columns.of, seen)


def _columns(metrics: PairMetrics, seen: Examination, dtype: Dtype) -> Figures | None:
    return None if seen.rows is None else _few_lines("column", seen.columns, seen.rows.of, seen)


def _few_lines(line: str, lines: Concentration | None, length: int, seen: Examination) -> Figures | None:
    """Evidence that few rows (columns) of `length` elements carry most of the squared error."""
    if lines is None or lines.n_most is None or lines.of < LINES_MINIMUM:
        return None
    if lines.n_most * lines.group > max(1, lines.of * FEW_LINES_SHARE):
        return None
    n_elements = seen.elements.n_most
    if n_elements is not None and n_elements < max(2.0, SPREAD_SHARE * lines.n_most * length):
        return None
    top = lines.top[: lines.n_most]
    return {
        f"n_bad_{line}s": lines.n_most,
        f"n_{line}s": lines.of,
        "error_share_ratio": lines.share,
        f"bad_{line}s": [number for number, _ in top],
        f"bad_{line}s_share_ratio": [share for _, share in top],
    }


def _outlier(metrics: PairMetrics, seen: Examination, dtype: Dtype) -> Figures | None:
    n_most, of = seen.elements.n_most, seen.elements.of
    if n_most is None or of < OUTLIER_MINIMUM_OF or n_most > max(1.0, OUTLIER_SHARE * of):
        return None
    return {
        "n_bad_elements": n_most,
        "n_elements": of,
        "error_share_ratio": seen.elements.share,
        "max_abs_error_index": list(seen.max_abs_error_index),
        "cosine": metrics.cosine,
    }


def _permuted(metrics: PairMetrics, seen: Examination, dtype: Dtype) -> Figures | None:
    return {"n_different": seen.n_different, "n_elements": seen.n_elements} if seen.is_permuted else None


def _zero_reference(metrics: PairMetrics, seen: Examination, dtype: Dtype) -> Figures | None:
    if metrics.zero_reference == 0 or metrics.zero_reference != metrics.n_different:
        return None
    return {
        "zero_reference": metrics.zero_reference,
        "n_compared": metrics.n_compared,
        "zero_reference_max_abs": metrics.zero_reference_max_abs,
    }


def _drift(metrics: PairMetrics, seen: Examination, dtype: Dtype) -> Figures | None:
    return {
        "cosine": metrics.cosine,
        "rel_l2": metrics.rel_l2,
        "n_different": seen.n_different,
        "n_elements": seen.n_elements,
        "norm_ratio": metrics.norm_ratio,
    }


_KINDS: tuple[tuple[PatternKind, Callable[[PairMetrics, Examination, Dtype], Figures | None]], ...] = (
    ("equal", _equal),
    ("non-finite", _non_finite),
    ("rounding", _rounding),
    ("constant factor", _constant_factor),
    ("identical rows", _identical_rows),
    ("contiguous block", _contiguous_block),
    ("rows", _rows),
    ("columns", _columns),
    ("outlier", _outlier),
    ("blocks", _blocks),
    ("permuted", _permuted),
    ("zero reference", _zero_reference),
    ("drift", _drift),
)
