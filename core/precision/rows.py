"""The rows of a comparison in columns: what is paired, on what basis, and every figure of contract.md."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.msprobe.records import OUTPUT, SCALAR, TENSOR, Dump, LeafColumns
from npulse.core.formats.tensors import Dtype, dtype_of

from .blocks.totals import PairMetrics
from .pairing import Pairing
from .splits.model import Split
from .statistics import StatisticsRows
from .verdict import REASON, UNKNOWN

BASES = ("none", "tensor", "statistics", "value", "linked")
"""On what a row was compared: not at all, all elements, recorded statistics or checksum, a scalar's value,
the elements of another call's leaf that holds the same content."""
NO_BASIS, BY_TENSOR, BY_STATISTICS, BY_VALUE, LINKED = range(5)

FIGURES = (
    "cosine",
    "max_abs_error",
    "max_rel_error",
    "mean_rel_error",
    "rel_l1",
    "rel_l2",
    "euclidean",
    "ratio_below_1e3",
    "ratio_below_5e3",
    "ratio_below_1e3_nonzero",
    "ratio_below_5e3_nonzero",
    "norm_ratio",
    "rel_l2_at_least",
    "zero_reference",
    "zero_reference_max_abs",
    "n_elements",
    "n_compared",
    "n_different",
    "nan_target",
    "nan_golden",
    "inf_target",
    "inf_golden",
    "nonfinite_agreeing",
    "nonfinite_differing",
    "absmax_target",
    "absmax_golden",
    "ulp_max",
    "passes_at",
)
"""Figure columns of `Rows.figures`; all float64, absent until computed. Counts are whole numbers."""

FIRST_READ = tuple(name for name in FIGURES if name not in ("ulp_max", "passes_at"))
"""Those that are known after the first read; the others come with the examination of a tensor."""
COUNTS = frozenset(n for n in FIGURES if n.startswith(("n_", "nan_", "inf_", "nonfinite"))) | {
    "zero_reference"
}


@dataclass(slots=True)
class Rows:
    """Mutable while a comparison runs; one entry a row of `pairing`. Only `compare.py` writes into it.

    splits: rows whose sides are made of parts. carried: side code of rows whose target leaf may have another
    one: in its collective where a collective of one side alone stands against the tensor of the other side
    that it carries; OUTPUT where the steps of a group make a sum that the next call is given. unordered: rows
    that agree in another order of heads, with their figures in the order in which the tensors are.
    own_tokens: rows of token ids that are those of one rank, and as they should be.
    """

    pairing: Pairing
    target: Dump
    golden: Dump
    basis: npt.NDArray[np.int8]
    verdict: npt.NDArray[np.int8]
    reason: npt.NDArray[np.int8]
    figures: dict[str, npt.NDArray[np.float64]]
    computed: dict[str, npt.NDArray[np.bool_]]
    patterns: dict[int, Any] = field(default_factory=dict)
    examinations: dict[int, Any] = field(default_factory=dict)
    stored_dtypes: dict[int, tuple[str, str]] = field(default_factory=dict)
    splits: dict[int, Split] = field(default_factory=dict)
    carried: dict[int, int] = field(default_factory=dict)
    unordered: dict[int, PairMetrics] = field(default_factory=dict)
    own_tokens: set[int] = field(default_factory=set)

    @property
    def n_rows(self) -> int:
        return self.pairing.n_rows

    def sampled(self) -> npt.NDArray[np.bool_]:
        """True where elements were compared, and not all that there are."""
        seen = self.figures["n_compared"] + np.nan_to_num(self.figures["nonfinite_agreeing"])
        seen = seen + np.nan_to_num(self.figures["nonfinite_differing"])
        found: npt.NDArray[np.bool_] = self.computed["n_compared"] & (seen < self.figures["n_elements"])
        return found

    def put(self, name: str, rows: npt.NDArray[Any] | int, values: Any) -> None:
        """Store a figure; None (and nothing else) means: not computed."""
        if values is None:
            return
        self.own(name)
        self.figures[name][rows] = values
        self.computed[name][rows] = True

    def own(self, name: str) -> None:
        """Have columns of a figure that can be written: those that nothing was computed for are shared."""
        if not self.figures[name].flags.writeable:
            self.figures[name], self.computed[name] = self.figures[name].copy(), self.computed[name].copy()

    def without_empty(self) -> None:
        """Let go of the columns in which nothing was computed, to be sent; `with_empty` puts them back."""
        for name in [name for name, computed in self.computed.items() if not computed.any()]:
            del self.figures[name], self.computed[name]

    def with_empty(self) -> None:
        """All figures again: columns in which nothing was computed take no memory until one is put in."""
        found = {name: (self.figures.get(name), self.computed.get(name)) for name in FIGURES}
        values, absent = np.broadcast_to(np.nan, self.n_rows), np.broadcast_to(np.False_, self.n_rows)
        self.figures = {name: values if own is None else own for name, (own, _) in found.items()}
        self.computed = {name: absent if own is None else own for name, (_, own) in found.items()}

    def figure(self, name: str, row: int) -> float | int | None:
        """One figure of one row as a Python number, None where it was not computed."""
        if not self.computed[name][row]:
            return None
        value = float(self.figures[name][row])
        return int(value) if name in COUNTS else value

    def target_row(self, row: int) -> int:
        return int(self.pairing.target_leaf[row])

    def golden_row(self, row: int) -> int:
        return int(self.pairing.golden_leaf[row])

    def target_sides(self) -> npt.NDArray[np.int8]:
        """Side code of each row's leaf on the target side, -1 where it has none."""
        leaf, sides = self.pairing.target_leaf, np.append(self.target.leaves.side, np.int8(-1))
        found: npt.NDArray[np.int8] = sides[np.where(leaf < 0, len(sides) - 1, leaf)]
        return found

    def sides(self) -> npt.NDArray[np.int8]:
        """Side code of each row's leaf: the target's where it has one, else the golden's."""
        found = self.target_sides()
        alone = found < 0
        found[alone] = self.golden.leaves.side[self.pairing.golden_leaf[alone]]
        for row, side in self.carried.items():
            found[row] = side
        return found

    def side(self, row: int) -> int:
        """Side code of one row's leaf."""
        if row in self.carried:
            return self.carried[row]
        leaves, leaf = self._either(row)
        return int(leaves.side[leaf])

    def io(self, row: int) -> str:
        """What a row's leaf is to its call: "input 0", "kwargs mask", "output 0"."""
        leaves, leaf = self._either(row)
        return leaves.io_names[int(leaves.io[leaf])]

    def _either(self, row: int) -> tuple[LeafColumns, int]:
        t, g = int(self.pairing.target_leaf[row]), int(self.pairing.golden_leaf[row])
        return (self.target.leaves, t) if t >= 0 else (self.golden.leaves, g)

    def dtype_pair(self, row: int) -> tuple[Dtype | None, Dtype | None]:
        """Declared dtypes of both sides (None: no such leaf, or a dtype that is not known)."""
        return (
            _declared(self.target.leaves, self.target_row(row)),
            _declared(self.golden.leaves, self.golden_row(row)),
        )


def _declared(leaves: LeafColumns, row: int) -> Dtype | None:
    code = int(leaves.dtype[row]) if row >= 0 else -1
    return dtype_of(leaves.dtypes[code]) if code >= 0 else None


def new_rows(pairing: Pairing, target: Dump, golden: Dump) -> Rows:
    """Rows with nothing compared yet: verdict unknown, reason pending."""
    n = pairing.n_rows
    rows = Rows(
        pairing,
        target,
        golden,
        basis=np.zeros(n, np.int8),
        verdict=np.full(n, UNKNOWN, np.int8),
        reason=np.full(n, REASON["pending"], np.int8),
        figures={name: np.full(n, np.nan) for name in FIGURES},
        computed={name: np.zeros(n, np.bool_) for name in FIGURES},
    )
    rows.carried.update(_summed_behind(pairing, target, golden))
    return rows


def _summed_behind(pairing: Pairing, target: Dump, golden: Dump) -> dict[int, int]:
    """Rows of groups whose golden side makes what the target's steps add up: read by the next call alone."""
    if not pairing.groups:
        return {}
    both = np.flatnonzero((pairing.target_leaf >= 0) & (pairing.golden_leaf >= 0))
    read = target.leaves.side[pairing.target_leaf[both]] != OUTPUT
    made = golden.leaves.side[pairing.golden_leaf[both]] == OUTPUT
    found = both[read & made & np.isin(pairing.row_call[both], [group.call for group in pairing.groups])]
    return dict.fromkeys(found.tolist(), OUTPUT)


@dataclass(frozen=True, slots=True)
class TensorRows:
    """The rows where both sides are tensors, with what both records declare. One entry a row of `index`.

    shape_equal: not known to differ. n_elements: NaN where neither record has a shape (dumps rebuilt from
    file names). shape_known: both have one, or neither has. is_exact: integer or bool
    on both sides. unit_roundoff, smallest: of the coarser dtype, 0 for integers and where none is declared.
    """

    index: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    golden: npt.NDArray[np.int64]
    shape_equal: npt.NDArray[np.bool_]
    shape_known: npt.NDArray[np.bool_]
    dtype_equal: npt.NDArray[np.bool_]
    n_elements: npt.NDArray[np.float64]
    is_exact: npt.NDArray[np.bool_]
    unit_roundoff: npt.NDArray[np.float64]
    smallest: npt.NDArray[np.float64]
    has_files: npt.NDArray[np.bool_]


def tensor_rows(rows: Rows) -> TensorRows:
    """Pick the tensor pairs of a comparison and spread their declared dtypes and shapes into columns."""
    t, g = rows.pairing.target_leaf, rows.pairing.golden_leaf
    lt, lg = rows.target.leaves, rows.golden.leaves
    both = np.flatnonzero((t >= 0) & (g >= 0))
    both = both[(lt.kind[t[both]] == TENSOR) & (lg.kind[g[both]] == TENSOR)]
    t, g = t[both], g[both]
    is_other_tool = rows.target.located is not None or rows.golden.located is not None
    shapes = _shared_codes(*(map(squeezed, t.shapes) if is_other_tool else t.shapes for t in (lt, lg)))
    dtypes = _shared_codes(lt.dtypes, lg.dtypes)
    shape_t, shape_g = _pick(shapes[0], lt.shape[t]), _pick(shapes[1], lg.shape[g])
    dtype_t, dtype_g = _pick(dtypes[0], lt.dtype[t]), _pick(dtypes[1], lg.dtype[g])
    numel_t, numel_g = _sizes(lt), _sizes(lg)
    exact_t, round_t, small_t = _traits(lt)
    exact_g, round_g, small_g = _traits(lg)
    found = TensorRows(
        index=both.astype(np.int64),
        target=t,
        golden=g,
        shape_equal=(shape_t == shape_g) | ((shape_t < 0) != (shape_g < 0)),
        shape_known=(shape_t < 0) == (shape_g < 0),
        dtype_equal=dtype_t == dtype_g,
        n_elements=np.fmax(_pick(numel_t, lt.shape[t]), _pick(numel_g, lg.shape[g])),
        is_exact=_pick(exact_t, lt.dtype[t]).astype(np.bool_) & _pick(exact_g, lg.dtype[g]).astype(np.bool_),
        unit_roundoff=np.maximum(_pick(round_t, lt.dtype[t]), _pick(round_g, lg.dtype[g])),
        smallest=np.maximum(_pick(small_t, lt.dtype[t]), _pick(small_g, lg.dtype[g])),
        has_files=(lt.data_name[t] >= 0) & (lg.data_name[g] >= 0),
    )
    _regroup(rows, found)
    return found


def _regroup(rows: Rows, tensors: TensorRows) -> None:
    """Rows whose tensors are put together of parts: of one shape, with or without files as all parts are."""
    places = np.searchsorted(tensors.index, list(rows.splits))
    for place, split in zip(places.tolist(), rows.splits.values(), strict=True):
        parts = (*split.target.parts, *split.golden.parts)
        has_files = all(part.dump.leaves.data_name[part.leaf] >= 0 for part in parts)
        tensors.shape_equal[place] = tensors.shape_known[place] = True
        tensors.has_files[place] = has_files
        tensors.n_elements[place] = split.n_compared if has_files else split.target.n_elements


def squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without its axes of length 1, which other tools than msprobe lay on or leave out."""
    return tuple(length for length in shape if length != 1)


def statistics_rows(rows: Rows, tensors: TensorRows, pick: npt.NDArray[np.bool_]) -> StatisticsRows:
    """What the records of the picked tensor rows hold, for `judge_statistics`."""
    lt, lg = rows.target.leaves, rows.golden.leaves
    t, g = tensors.target[pick], tensors.golden[pick]
    bits = np.arange(4, dtype=np.uint8)
    sums_t, sums_g = _shared_codes(lt.checksums, lg.checksums)
    sum_t, sum_g = _pick(sums_t, lt.checksum[t]), _pick(sums_g, lg.checksum[g])
    comparable = (lt.checksum[t] >= 0) & (lg.checksum[g] >= 0) & tensors.dtype_equal[pick]
    values = [lt.statistics[t], lg.statistics[g]]
    has = [(leaves.present[at][:, None] >> bits & 1).astype(np.bool_) for leaves, at in ((lt, t), (lg, g))]
    if rows.splits:
        for place, row in enumerate(tensors.index[pick].tolist()):
            if (split := rows.splits.get(row)) is not None:
                comparable[place] = False
                for side, told in enumerate((split.target, split.golden)):
                    values[side][place], has[side][place] = told.statistics, told.has
    return StatisticsRows(
        target=values[0],
        golden=values[1],
        has_target=has[0],
        has_golden=has[1],
        n_elements=tensors.n_elements[pick],
        unit_roundoff=tensors.unit_roundoff[pick],
        smallest=tensors.smallest[pick],
        is_exact=tensors.is_exact[pick],
        checksum=np.where(comparable, sum_t == sum_g, -1).astype(np.int8),
    )


def scalar_rows(rows: Rows) -> npt.NDArray[np.int64]:
    """Rows where both sides hold a scalar."""
    t, g = rows.pairing.target_leaf, rows.pairing.golden_leaf
    both = np.flatnonzero((t >= 0) & (g >= 0))
    kind_t, kind_g = rows.target.leaves.kind[t[both]], rows.golden.leaves.kind[g[both]]
    picked: npt.NDArray[np.int64] = both[(kind_t == SCALAR) & (kind_g == SCALAR)].astype(np.int64)
    return picked


def _pick(table: npt.NDArray[Any], codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """table[codes], with the last entry standing for code -1 (numpy's own wrap-around)."""
    return table[codes] if len(table) else np.zeros(len(codes), table.dtype)


def _shared_codes(one: Any, other: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Codes under which equal entries of two tables are equal; the appended last one stands for 'none'."""
    known: dict[Any, int] = {}
    first = [known.setdefault(entry, len(known)) for entry in one]
    second = [known.setdefault(entry, len(known)) for entry in other]
    return np.array([*first, -1], np.int64), np.array([*second, -1], np.int64)


def _sizes(leaves: LeafColumns) -> npt.NDArray[np.float64]:
    return np.array([float(np.prod(s, dtype=np.float64)) for s in leaves.shapes] + [np.nan])


def _traits(leaves: LeafColumns) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    dtypes = [dtype_of(name) for name in leaves.dtypes]
    exact = [d is not None and d.kind in ("int", "bool") for d in dtypes]
    is_float = [d is not None and d.kind in ("float", "complex") for d in dtypes]
    roundoff = [
        d.unit_roundoff if d is not None and f else 0.0 for d, f in zip(dtypes, is_float, strict=True)
    ]
    small = [
        d.smallest_subnormal if d is not None and f else 0.0 for d, f in zip(dtypes, is_float, strict=True)
    ]
    return np.array([*exact, False]), np.array([*roundoff, 0.0]), np.array([*small, 0.0])
