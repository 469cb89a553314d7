"""Our criteria applied to the figures of another tool, row by row: what cannot be judged by them is unknown.

What a table records decides: Max, Min, Mean and Norm of both sides are judged as those of a statistics
dump; cosine, distances and errors as far as they prove something. A cosine alone proves no scale, and a
largest relative error within the criterion proves both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from npulse.core.formats.results.cells import ResultColumn
from npulse.core.formats.results.table import ResultTable
from npulse.core.formats.tensors.dtypes import coarser

from ..statistics import StatisticsRows, judge_statistics
from ..verdict import ERROR, PASS, REASON, UNKNOWN, WARNING, Codes, Criteria
from .words import dtypes_of, figures_of, flags, is_named, labelled, shape_of

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

COSINE = ("Cosine", "CosineSimilarity", "cosine_similarity", "余弦相似度", "cos")
MAX_ABS = ("MaxAbsErr", "MaxAbsoluteError", "max_absolute_error", "Max Absolute Err", "最大绝对误差")
MAX_REL = ("MaxRelativeErr", "MaxRelativeError", "max_relative_error", "Max Relative Err", "相对误差最大值")
EUCLIDEAN = ("EucDist", "Euc Distance")
REL_L2 = ("RelativeEuclideanDistance", "relative_euclidean_distance")
_STATISTICS = (
    (("NPU max", "NPU min", "NPU mean", "NPU l2norm"),
     ("Bench max", "Bench min", "Bench mean", "Bench l2norm")),
    (("Target Max", "Target Min", "Target Mean", "Target Norm"),
     ("Golden Max", "Golden Min", "Golden Mean", "Golden Norm")),
    (("my_max_value", "my_min_value", "my_mean_value"),
     ("golden_max_value", "golden_min_value", "golden_mean_value")),
)  # fmt: skip
_NO_DTYPE = frozenset(("n/a", "none", ""))


@dataclass(frozen=True, slots=True)
class OurReading:
    """One entry a row. figures float64, NaN where they do not follow: cosine, norm_ratio, rel_l2,
    max_abs_error. is_unmatched: there is no counterpart. is_nan_both: NaN on both sides. is_other_shape.
    """

    verdict: Codes
    reason: Codes
    cosine: Floats
    norm_ratio: Floats
    rel_l2: Floats
    max_abs_error: Floats
    is_unmatched: Bools
    is_nan_both: Bools
    is_other_shape: Bools


def read_figures(table: ResultTable, criteria: Criteria) -> OurReading:
    """Judge every row of a result table by what is in it. Cost: linear in the rows, no file is opened."""
    with np.errstate(all="ignore"):
        return _Judge(table, criteria).reading()


class _Judge:
    def __init__(self, table: ResultTable, criteria: Criteria) -> None:
        n = table.n_rows
        self.table, self.criteria, self.n = table, criteria, n
        self.verdict = np.full(n, UNKNOWN, np.int8)
        self.reason = np.full(n, REASON["not-recorded"], np.int8)
        self.cosine = figures_of(table, COSINE)
        self.max_abs = figures_of(table, MAX_ABS)
        has_cosine = table.named(*COSINE) is not None
        self.max_rel = figures_of(table, MAX_REL) if has_cosine else np.full(n, np.nan)
        self.has_golden = table.first_of("golden") is not None
        self.is_unmatched = (
            ~is_named(table.first_of("golden"), n) if self.has_golden else np.zeros(n, np.bool_)
        )
        self.target, self.has_target, self.golden, self.has_recorded = self._statistics()
        self.unit, self.smallest, self.is_exact, self.is_scalar, self.is_valueless = self._dtypes()
        self.n_elements, self.is_other_shape = self._shapes()
        euclidean = figures_of(table, EUCLIDEAN)
        by_norm = np.where(self.golden[:, 3] > 0, euclidean / self.golden[:, 3], np.nan)
        self.rel_l2 = np.fmax(figures_of(table, REL_L2), by_norm)
        self.differs = (self.max_abs > 0) | (euclidean > 0) | (figures_of(table, REL_L2) > 0)
        self.norm_ratio = np.full(n, np.nan)

    def reading(self) -> OurReading:
        self._by_statistics()
        self._by_metrics()
        self._states()
        self._scalars()
        nan = [np.isnan(x[:, :2]).any(axis=1) & has[:, :2].all(axis=1) for x, has in self._sides()]
        return OurReading(
            self.verdict,
            self.reason,
            self.cosine,
            self.norm_ratio,
            self.rel_l2,
            self.max_abs,
            self.is_unmatched,
            np.logical_and(nan[0], nan[1]),
            self.is_other_shape,
        )

    def _sides(self) -> tuple[tuple[Floats, Bools], tuple[Floats, Bools]]:
        return (self.target, self.has_target), (self.golden, self.has_recorded)

    def _put(self, mask: Bools, verdict: int, why: str) -> None:
        self.verdict[mask] = verdict
        self.reason[mask] = REASON[why]

    # ---- what the table records ----

    def _statistics(self) -> tuple[Floats, Bools, Floats, Bools]:
        """Max, Min, Mean, Norm of both sides, (n, 4); True where recorded, as NaN may be."""
        found: list[npt.NDArray[np.generic]] = []
        headers = next(
            (two for two in _STATISTICS if self.table.named(two[0][0]) is not None), _STATISTICS[0]
        )
        for side in headers:
            values, has = np.full((self.n, 4), np.nan), np.zeros((self.n, 4), np.bool_)
            for k, header in enumerate(side):
                column = self.table.named(header)
                if column is not None:
                    values[:, k] = column.numbers
                    has[:, k] = column.is_number | _is_nan(column, self.n)
            found += [values, has]
        return tuple(found)  # type: ignore[return-value]

    def _dtypes(self) -> tuple[Floats, Floats, Bools, Bools, Bools]:
        """Unit roundoff and smallest number of the coarser format; whole numbers; scalars; rows of None."""
        columns = [self.table.first_of(role) for role in ("target_dtype", "golden_dtype")]
        columns = [columns[0], columns[1] if columns[1] is not None else columns[0]]
        codes = [np.full(self.n, -1) if c is None else c.words.astype(np.int64) for c in columns]
        known = [dtypes_of(column) for column in columns]
        unit, smallest = np.full(self.n, np.nan), np.zeros(self.n)
        is_exact = np.zeros(self.n, np.bool_)
        pairs, place = np.unique(np.stack(codes), axis=1, return_inverse=True)
        place = place.reshape(-1)
        for k, (a, b) in enumerate(pairs.T.tolist()):
            target, golden = known[0][a], known[1][b]
            if target is None or golden is None:
                continue
            here, format_ = place == k, coarser(target, golden)
            unit[here], smallest[here] = format_.unit_roundoff, format_.smallest_subnormal
            is_exact[here] = target.kind in ("int", "bool") and golden.kind in ("int", "bool")
        is_scalar = flags(columns[0], self.n, lambda text: text.startswith("<class"))
        is_none = [flags(c, self.n, lambda text: text.strip().lower() in _NO_DTYPE) for c in columns]
        valueless = is_none[0] & is_none[1] & ~self.is_unmatched & self.has_golden
        return unit, smallest, is_exact, is_scalar, valueless

    def _shapes(self) -> tuple[Floats, Bools]:
        """Number of elements, NaN where it is not told; True where the two sides tell another shape."""
        columns = [self.table.first_of(role) for role in ("target_shape", "golden_shape")]
        sizes = labelled(columns[0], self.n, _size, np.nan).astype(np.float64)
        differs = np.zeros(self.n, np.bool_)
        if columns[0] is not None and columns[1] is not None:
            known: dict[tuple[int, ...] | None, int] = {None: -1}
            codes = [
                labelled(c, self.n, lambda text: known.setdefault(shape_of(text), len(known)), -1)
                for c in columns
            ]
            told = (codes[0].astype(np.int64) >= 0) & (codes[1].astype(np.int64) >= 0)
            differs = told & (codes[0] != codes[1])
        return sizes, differs

    # ---- verdicts ----

    def _by_statistics(self) -> None:
        """Rows with statistics or checksums of two tensors: as the rows of a statistics dump are judged."""
        sums = [self.table.first_of(role) for role in ("target_checksum", "golden_checksum")]
        checksum = np.full(self.n, -1, np.int8)
        if sums[0] is not None and sums[1] is not None:
            two = [labelled(c, self.n, str, "").astype(np.str_) for c in sums]
            told = (np.char.lower(two[0]) != "n/a") & (np.char.lower(two[1]) != "n/a") & (two[0] != "")
            checksum = np.where(told, (two[0] == two[1]).astype(np.int8), -1).astype(np.int8)
        result = judge_statistics(
            StatisticsRows(
                self.target,
                self.golden,
                self.has_target,
                self.has_recorded,
                self.n_elements,
                np.nan_to_num(self.unit),
                self.smallest,
                self.is_exact,
                checksum,
            ),
            self.criteria,
        )
        self.norm_ratio = result.norm_ratio
        told = (self.has_target & self.has_recorded)[:, :2].all(axis=1) | (checksum >= 0)
        self._put(self.is_scalar & (checksum == 0), ERROR, "scalar")
        self._put(self.is_scalar & (checksum == 1), PASS, "equal")
        usable = told & ~np.isnan(self.unit) & (~np.isnan(self.n_elements) | (checksum >= 0))
        usable &= ~self.is_scalar
        self.verdict[usable] = result.judgement.verdict[usable]
        self.reason[usable] = result.judgement.reason[usable]

    def _by_metrics(self) -> None:
        """Rows with figures over all elements: cosine, distance, largest errors."""
        low, high, limit = self.criteria.norm_ratio_low, self.criteria.norm_ratio_high, self.criteria.cosine
        told = ~np.isnan(self.max_abs) | ~np.isnan(self.cosine) | ~np.isnan(self.rel_l2)
        told &= ~self.is_scalar
        cosine = self.cosine
        one = (self.n_elements == 1) & np.isnan(cosine)
        sign = np.sign(self.target[:, 0] * self.golden[:, 0])
        cosine = np.where(one & (sign != 0), sign, cosine)
        tiny = self.max_abs <= 4 * self.smallest
        # |t| / |g| from cosine c and relative distance e: r^2 - 2 c r + 1 = e^2 has two roots
        root = np.sqrt(np.maximum(self.rel_l2**2 - (1 - cosine**2), 0))
        roots = np.stack([cosine - root, cosine + root])
        inside = (roots >= low) & (roots <= high)
        by_roots = np.isnan(self.norm_ratio) & ~np.isnan(roots).any(axis=0)
        is_near = self.max_rel <= min(1 - low, high - 1)
        ratio_ok = (self.norm_ratio >= low) & (self.norm_ratio <= high)
        ratio_ok |= (by_roots & inside.all(axis=0)) | is_near
        ratio_off = ~np.isnan(self.norm_ratio) & ~ratio_ok | by_roots & ~inside.any(axis=0) & ~is_near
        cosine_ok, cosine_off = (cosine >= limit) | is_near, cosine < limit
        alike = np.isin(self.reason, (REASON["nonfinite"], REASON["positions-unknown"]))
        self._put(told & ~alike, UNKNOWN, "norm-unknown")
        good = told & cosine_ok & ratio_ok
        least, most = self.rel_l2, np.fmin(self.rel_l2, self.max_rel)
        self._put(good, PASS, "within-criteria")
        self._put(good & (most <= self.unit), PASS, "rounding")
        self._put(good & (least > self.unit) & ~tiny, WARNING, "above-rounding")
        self._put(told & ratio_off & ~tiny & ~alike, ERROR, "norm-ratio")
        self._put(told & cosine_off & ~tiny, ERROR, "cosine")
        self._put(told & self.is_exact & (self.max_abs > 0), ERROR, "not-equal")
        same = told & ~self.differs & (self.max_abs == 0)
        self._put(same & (self.reason != REASON["nonfinite"]), PASS, "equal")
        self._put(told & np.isinf(self.max_abs), ERROR, "nonfinite")

    def _states(self) -> None:
        """What stands in place of figures, and what the two sides are."""
        cosine = self.table.named(*COSINE)
        if cosine is not None and self.table.layout.id == "msprobe.compare":
            # msprobe writes N/A for tensors whose NaN and Inf stand at different places
            both = np.logical_and.reduce(
                [~np.isfinite(x[:, :2]).all(axis=1) & has[:, :2].all(axis=1) for x, has in self._sides()]
            )
            is_na = flags(cosine, self.n, lambda text: text.upper() == "N/A")
            self._put(both & is_na & ~self.is_unmatched, ERROR, "nonfinite")
        self._deviations()
        is_ordered = self.table.layout.id.startswith(("msprobe", "atb"))
        self._put(self.is_other_shape & ~self.is_unmatched, ERROR if is_ordered else UNKNOWN, "shape")
        self._put((self.n_elements == 0) & ~self.is_other_shape, PASS, "empty")
        self._put(self.is_valueless, PASS, "empty")
        self._put(self.is_unmatched, UNKNOWN, "one-side")

    def _deviations(self) -> None:
        """msaccucmp: (mean;std) of both sides says which of them holds NaN or Inf."""
        column = self.table.named("StandardDeviation")
        if column is None:
            return
        mine, golden = (
            labelled(column, self.n, partial(_is_finite_side, side=side), 0).astype(np.int64)
            for side in (0, 1)
        )
        self._put((mine == -1) & (golden == 1), ERROR, "nonfinite")
        self._put((mine == 1) & (golden == -1), ERROR, "nonfinite")
        self._put((mine == -1) & (golden == -1), UNKNOWN, "positions-unknown")

    def _scalars(self) -> None:
        """Arguments: their value stands where a tensor has its largest one."""
        t, g = self.table.named("NPU max"), self.table.named("Bench max")
        if t is None or g is None:
            return
        words = [labelled(c, self.n, lambda text: text.strip().lower(), "").astype(np.str_) for c in (t, g)]
        same = (t.numbers == g.numbers) | (~t.is_number & ~g.is_number & (words[0] == words[1]))
        here = self.is_scalar & ~self.is_unmatched & (t.is_number | (words[0] != ""))
        self._put(here & same, PASS, "equal")
        self._put(here & ~same, ERROR, "scalar")


def _is_nan(column: ResultColumn, n: int) -> Bools:
    return flags(column, n, lambda text: text.lower() == "nan")


def _size(text: str) -> float:
    shape = shape_of(text)
    if shape is None:
        return np.nan
    size = 1.0
    for length in shape:
        size *= length
    return size


def _is_finite_side(text: str, side: int) -> int:
    """Of "(mean;std),(mean;std)": 1 where a side's are finite, -1 where not, 0 for another cell."""
    parts = text.strip("() ").split("),(")
    if len(parts) != 2:
        return 0
    figures = parts[side].split(";")
    if len(figures) != 2:
        return 0
    try:
        return 1 if all(np.isfinite(float(figure)) for figure in figures) else -1
    except ValueError:
        return 0
