"""The advisor's own limits for matrix multiplication, attention and vector operators: alignment of axes, and
how far the busy pipes are from what such an operator can reach.

Judged by type, shapes and data types together: one set of shapes can be fine where another is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.operators import OperatorTable
from npulse.core.formats.profiling.type_names import without_variant

from .bound import PIPES, pipe_ratio
from .keys import combined, keys_of
from .tensors import Shape, format_of, n_elements, parts_of, shapes_of
from .usable import Usable

Kind = Literal["matmul", "attention", "attention-grad", "vector"]
Reach = Literal["reached", "space", "unknown"]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MATMUL_AXIS = 256
ATTENTION_AXIS = 128
MIN_MATMUL_BYTES = 100 << 20
MIN_VECTOR_SHARE = 0.01
MIN_VECTOR_NS = 10**9
_MATMUL_CORES = ("AI_CORE", "MIX_AIC", "KERNEL_AICORE", "KERNEL_MIX_AIC")
_VECTOR_CORES = ("AI_VECTOR_CORE", "MIX_AIV", "KERNEL_AIVEC", "KERNEL_MIX_AIV")
_SOFTMAX_LAST = 8
_MAX_SHAPED = 2000
_DIGITS = 9  # ratios have three: the error of a sum of floats decides nothing


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis that is no multiple of what the hardware takes at once."""

    what: Literal["inner", "head", "sequence"]
    value: int
    multiple: int


@dataclass(frozen=True, slots=True)
class Shaped:
    """Calls of one type with the same shapes and types.

    axes: not aligned ones. reach: "reached" where a pipe is at its limit (by: which), "space" where none is:
    space_ratio says how far the one that is farthest from its limit is, as the advisor reckons.
    """

    kind: Kind
    op_type: str
    input_shapes: str
    input_dtypes: str
    output_shapes: str
    n: int
    total_ns: int
    first_row: int
    axes: tuple[Axis, ...]
    reach: Reach
    by: str = ""
    space_ratio: float = 0.0


def shaped_of(table: OperatorTable, usable: Usable) -> tuple[Shaped, ...]:
    """All that the advisor's limits are for, the most time first; 2,000 sets of shapes at most.

    Matrix multiplications on cube cores whose tensors have 100 MB together (2 bytes an element, all calls);
    FlashAttentionScore and its gradient; vector operators of types with 1 % of the time or a second.
    """
    keys = keys_of(table)
    kinds = [_kind(label) for label in keys.labels]
    cores = [text.upper() for text in table.texts("core_type")]
    is_cube = _marked(table.values("core_type"), [core in _MATMUL_CORES for core in cores])
    is_vector = _marked(table.values("core_type"), [core in _VECTOR_CORES for core in cores])
    is_matmul = _marked(keys.codes, [kind == "matmul" for kind in kinds]) & is_cube
    is_attention = _marked(keys.codes, [(kind or "").startswith("attention") for kind in kinds])
    vector_types = _heavy_types(keys.codes[usable.rows & is_vector], table, usable, is_vector)
    is_heavy = is_vector & _marked(keys.codes, [code in vector_types for code in range(len(kinds))])
    is_special = is_matmul | is_attention
    wanted = usable.rows & (is_special | is_heavy)
    rows = np.flatnonzero(wanted & ~table.is_absent("input_shapes"))
    if not len(rows):
        return ()
    columns = [keys.codes[rows]]
    columns += [table.values(n)[rows] for n in ("core_type", "input_shapes", "input_dtypes", "output_shapes")]
    groups, first = combined(*columns)
    n_groups = len(first)
    times = table.values("duration_ns")[rows]
    totals = np.bincount(groups, weights=times, minlength=n_groups).astype(np.int64)
    counts = np.bincount(groups, minlength=n_groups)
    means = _means(table, rows, groups, n_groups)
    found = []
    for group in np.argsort(-totals, kind="stable")[:_MAX_SHAPED].tolist():
        row = int(rows[first[group]])
        code = int(keys.codes[row])
        kind: Kind = (kinds[code] if is_special[row] else None) or "vector"
        one = _shaped(table, row, kind, keys.labels[code], int(counts[group]), int(totals[group]))
        if one is not None:
            found.append(_reached(one, dict(zip(PIPES, means[:, group].tolist(), strict=True))))
    return tuple(found)


def matmul_axes(shapes: Sequence[Shape | None], formats: Sequence[str]) -> tuple[Axis, ...]:
    """Last axes of both matrices that are no multiple of 256. Blocked formats (FRACTAL_NZ) have no such
    axis."""
    axes = []
    for place, shape in enumerate(shapes[:2]):
        if shape is None or len(shape) < 2 or (place < len(formats) and formats[place].startswith("FRACTAL")):
            continue
        if shape[-1] % MATMUL_AXIS:
            axes.append(Axis("inner", shape[-1], MATMUL_AXIS))
    return tuple(axes)


def attention_axes(inputs: Sequence[Shape | None], outputs: Sequence[Shape | None]) -> tuple[Axis, ...]:
    """Size of a head and length of the sequence that are no multiple of 128.

    The statistics of the softmax (batch, heads, sequence, 8) among the tensors tell both; a query of three
    axes without them is (tokens, heads, size).
    """
    query = inputs[0] if inputs else None
    if query is None or not 3 <= len(query) <= 4:
        return ()
    statistics = next(
        (
            shape
            for shape in (*outputs, *inputs)
            if shape is not None and len(shape) == 4 and shape[-1] == _SOFTMAX_LAST and shape != query
        ),
        None,
    )
    head: int | None = query[-1]
    if len(query) == 3 and statistics is not None:
        head = query[2] // statistics[1] if statistics[1] and query[2] % statistics[1] == 0 else None
    axes = []
    if head is not None and head % ATTENTION_AXIS:
        axes.append(Axis("head", head, ATTENTION_AXIS))
    if statistics is not None and statistics[2] % ATTENTION_AXIS:
        axes.append(Axis("sequence", statistics[2], ATTENTION_AXIS))
    return tuple(axes)


def reach_of(kind: Kind, ratios: dict[str, float]) -> tuple[Reach, str, float]:
    """Whether a pipe is at its limit, which one, else the space. Unknown where a ratio was not recorded."""
    mac, vec, mte2, mte3, fixpipe = (ratios[pipe] for pipe in ("mac", "vec", "mte2", "mte3", "fixpipe"))
    total = round(vec + mte2 + mte3, _DIGITS)
    if kind == "matmul":
        if np.isnan(mac) or np.isnan(mte2):
            return "unknown", "", 0.0
        if mac >= 0.95 or (mac >= 0.8 and mte2 >= 0.95):
            return "reached", "mac" if mte2 < 0.95 else "mac+mte2", 0.0
        return ("reached", "mte2", 0.0) if mte2 >= 0.95 else ("space", "", max(0.8 - mac, 0.95 - mte2))
    if kind == "vector":
        if np.isnan(vec) or np.isnan(mte2) or np.isnan(mte3):
            return "unknown", "", 0.0
        if total >= 0.9:
            return "reached", "vec+mte2+mte3", 0.0
        best = max(("mte2", mte2), ("mte3", mte3), ("vec", vec), key=lambda pair: pair[1])
        if best[1] >= 0.7:
            return "reached", best[0], 0.0
        return "space", "", 0.7 - min(vec, mte2, mte3)
    name, other = ("vec", vec) if kind == "attention" else ("fixpipe", fixpipe)
    if np.isnan(other) or np.isnan(mte2):
        return "unknown", "", 0.0
    reached = [pipe for pipe, value, limit in (("mte2", mte2, 0.8), (name, other, 0.75)) if value >= limit]
    return ("reached", "+".join(reached), 0.0) if reached else ("space", "", max(0.75 - other, 0.8 - mte2))


def _kind(op_type: str) -> Kind | None:
    name = without_variant(op_type).lower()
    if name.startswith("flashattentionscore"):
        return "attention-grad" if name.endswith("grad") else "attention"
    return "matmul" if "matmul" in name else None


def _marked(codes: npt.NDArray[np.int32], flags: list[bool]) -> npt.NDArray[np.bool_]:
    marked: npt.NDArray[np.bool_] = np.array([*flags, False], np.bool_)[codes]
    return marked


def _means(table: OperatorTable, rows: Integers, groups: Integers, n: int) -> Floats:
    """(pipes, groups): plain means over the calls that say a ratio, as the advisor takes them."""
    means = np.full((len(PIPES), n), np.nan)
    for place, pipe in enumerate(PIPES):
        column = pipe_ratio(table, pipe)
        if column is None:
            continue
        values = column[rows]
        there = ~np.isnan(values)
        counts = np.bincount(groups[there], minlength=n)
        sums = np.bincount(groups[there], weights=values[there], minlength=n)
        with np.errstate(invalid="ignore", divide="ignore"):
            means[place] = np.where(counts > 0, np.round(sums / counts, _DIGITS), np.nan)
    return np.where(np.nan_to_num(means).max(axis=0) > 0, means, np.nan)


def _heavy_types(
    codes: npt.NDArray[np.int32], table: OperatorTable, usable: Usable, is_vector: npt.NDArray[np.bool_]
) -> set[int]:
    """Types of vector operators that have a part of the time worth looking at."""
    if not len(codes):
        return set()
    times = np.bincount(codes, weights=table.values("duration_ns")[usable.rows & is_vector])
    limit = min(MIN_VECTOR_SHARE * usable.total_ns, MIN_VECTOR_NS)
    return set(np.flatnonzero((times >= limit) & (times > 0)).tolist())


def _shaped(table: OperatorTable, row: int, kind: Kind, op_type: str, n: int, total_ns: int) -> Shaped | None:
    """One set of shapes with its axes; None for a multiplication that is too small to matter."""
    inputs_text, outputs_text = table.text("input_shapes", row), table.text("output_shapes", row)
    inputs, outputs = shapes_of(inputs_text), shapes_of(outputs_text)
    axes: tuple[Axis, ...] = ()
    if kind == "matmul":
        n_bytes = 2 * n * sum(n_elements(shape) for shape in (*inputs, *outputs) if shape)
        if n_bytes < MIN_MATMUL_BYTES:
            return None
        axes = matmul_axes(inputs, [format_of(part) for part in parts_of(table.text("input_formats", row))])
    elif kind != "vector":
        axes = attention_axes(inputs, outputs)
    dtypes = table.text("input_dtypes", row)
    return Shaped(kind, op_type, inputs_text, dtypes, outputs_text, n, total_ns, row, axes, "unknown")


def _reached(one: Shaped, ratios: dict[str, float]) -> Shaped:
    reach, by, space = reach_of(one.kind, ratios)
    return Shaped(
        one.kind,
        one.op_type,
        one.input_shapes,
        one.input_dtypes,
        one.output_shapes,
        one.n,
        one.total_ns,
        one.first_row,
        one.axes,
        reach,
        by,
        space,
    )
