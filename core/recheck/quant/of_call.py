"""Which of a call's leaves are the activation, its scale and its weight, and the study of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from npulse.core.calls.apis import plain_api
from npulse.core.calls.tensors import open_place, place_of
from npulse.core.errors import UsageError
from npulse.core.formats.msprobe.records import OUTPUT, Dump
from npulse.core.formats.tensors import TensorError, TensorFile, widen
from npulse.core.progress import IsCancelled, never_cancelled

from ..of_tools import name_of
from .model import Study
from .rows import Floats, Rows
from .study import HIGH, LOW, study

MAX_SMALL_ELEMENTS = 1 << 20
"""Of a scale or a zero point."""
MAX_WEIGHT_ELEMENTS = 1 << 26


@dataclass(frozen=True, slots=True)
class _Form:
    """Where a quantising operator has what: names of leaves, the first that is there counts.

    is_weight_by_input: the weight is [channels, outputs], as the second operand of a product.
    """

    activation: tuple[str, ...] = ("input.0",)
    scale: tuple[str, ...] = ()
    zero: tuple[str, ...] = ()
    weight: tuple[str, ...] = ()
    weight_scale: tuple[str, ...] = ()
    is_weight_by_input: bool = False


_QUANTIZE = _Form(scale=("input.1", "scales"), zero=("input.2", "zero_points"))
_LINEAR = _Form(weight=("input.1", "weight", "parameters.weight"))
FORMS = {
    "npu_quantize": _QUANTIZE,
    "npu_dynamic_quant": _Form(),
    "npu_quant_matmul": _Form(activation=("input.0", "x1")),
    "linear": _LINEAR,
    "matmul": _Form(weight=("input.1",), is_weight_by_input=True),
}
"""By API. What is quantised by itself is studied always, linear and matmul where a scale is given."""
MODULE = _Form(
    scale=("parameters.input_scale",),
    zero=("parameters.input_offset",),
    weight=("parameters.weight",),
    weight_scale=("parameters.weight_scale",),
)
"""A W8A8 linear layer, with the parameter names of vllm-ascend."""
BY_ITSELF = frozenset(("npu_quantize", "npu_dynamic_quant", "npu_quant_matmul"))


def study_of_call(
    dump: Dump,
    call: int,
    root: Path,
    *,
    activation: str | None = None,
    scale: str | None = None,
    is_cancelled: IsCancelled = never_cancelled,
) -> Study | None:
    """The study of a quantising call, or of any other one whose activation or scale is named.

    activation: a leaf of the call ("input.0", or its full name). scale: a leaf, or a number. None where there
    is nothing to study, or the activation was not dumped. UsageError for a name that the call does not have;
    TensorError where the activation cannot be read.
    """
    leaves = _Leaves(dump, call, root)
    name = name_of(dump, call)
    api = plain_api(name.api.rpartition(".")[2]) if name.kind == "api" else ""
    form = FORMS.get(api, MODULE if name.kind == "module" else _Form())
    is_own = api in BY_ITSELF or leaves.first(MODULE.scale) is not None
    if name.direction != "forward" or not (is_own or activation or scale):
        return None
    row = leaves.named(activation) if activation else leaves.first(form.activation)
    file = None if row is None else leaves.file(row)
    if row is None or file is None:
        return None
    label = dump.leaf_name(row)
    if file.dtype.name == "int8":
        return _of_int8(label, file)
    if file.dtype.kind != "float":
        return None
    found_scale = leaves.scale(scale, form)
    if found_scale is not None and api == "npu_quantize" and leaves.value("div_mode", 5) is False:
        found_scale = 1.0 / np.where(found_scale == 0, np.inf, found_scale)
    rows = Rows(file)
    if found_scale is not None and found_scale.size not in (1, rows.n_channels):
        if scale is not None:
            shown = f"{found_scale.size:,} values, the activation {rows.n_channels:,} channels"
            raise UsageError(f"the scale has {shown}", hint="give one number, or one value a channel")
        found_scale = None
    zero = leaves.small(form.zero) if scale is None else None
    if zero is not None and zero.size not in (1, rows.n_channels):
        zero = None
    weight = leaves.weight(form, rows.n_channels)
    return study(label, rows, scale=found_scale, zero=zero, weight=weight, is_cancelled=is_cancelled)


def _of_int8(label: str, file: TensorFile) -> Study:
    """Of an operand that is int8 already its elements at either end are all that can be told."""
    n_at_ends = 0
    absmax = 0.0
    for _, block in Rows(file).blocks():
        n_at_ends += int(np.count_nonzero((block == LOW) | (np.abs(block) == HIGH)))
        absmax = max(absmax, float(np.abs(block).max(initial=0.0)))
    ratio = n_at_ends / file.n_elements if file.n_elements else 0.0
    return Study(label, file.shape, absmax, absmax / HIGH, None, (), at_ends_ratio=ratio)


class _Leaves:
    """The leaves of one call, by name."""

    def __init__(self, dump: Dump, call: int, root: Path) -> None:
        self._dump, self._root, self._call = dump, root, dump.calls.names[call]
        self._rows = {dump.leaf_name(row): row for row in dump.leaf_range(call)}

    def first(self, names: tuple[str, ...]) -> int | None:
        """The first of some leaves that is there; keywords are named as inputs or as keywords."""
        for name in names:
            for full in (name, f"input.{name}", f"kwargs.{name}"):
                row = self._rows.get(f"{self._call}.{full}")
                if row is not None and int(self._dump.leaves.side[row]) != OUTPUT:
                    return row
        return None

    def named(self, name: str) -> int:
        """A leaf that the user names; UsageError with what there is."""
        row = self._rows.get(name, self._rows.get(f"{self._call}.{name}"))
        if row is None:
            known = ", ".join(full.removeprefix(f"{self._call}.") for full in list(self._rows)[:8])
            raise UsageError(f"{self._call} has no '{name}'", hint=f"it has {known}")
        return row

    def file(self, row: int) -> TensorFile | None:
        """A leaf's tensor, nothing of it read; None where none was dumped."""
        place = place_of(self._dump, row, self._root)
        return None if place is None else open_place(place)

    def value(self, keyword: str, position: int) -> object:
        """A plain argument by keyword or position; None where it was not given."""
        row = self.first((keyword, f"input.{position}"))
        return None if row is None else self._dump.leaf(row).value

    def small(self, names: tuple[str, ...]) -> Floats | None:
        """A small tensor or a number, flat; None where it is not there or cannot be read."""
        row = self.first(names)
        return None if row is None else self._small(row)

    def _small(self, row: int) -> Floats | None:
        leaf = self._dump.leaf(row)
        if leaf.kind == "scalar" and isinstance(leaf.value, (int, float)):
            return np.array([float(leaf.value)])
        try:
            file = self.file(row)
            if file is None or file.dtype.kind == "complex" or not 0 < file.n_elements <= MAX_SMALL_ELEMENTS:
                return None
            return widen(file.array(), file.dtype).astype(np.float64).reshape(-1)
        except TensorError:
            return None

    def scale(self, given: str | None, form: _Form) -> Floats | None:
        """The scale that the user gives as number or leaf, else the call's own."""
        if given is None:
            return self.small(form.scale)
        try:
            number = float(given)
        except ValueError:
            found = self._small(self.named(given))
            if found is None:
                raise UsageError(f"'{given}' was not dumped", hint="give the scale as a number") from None
            return found
        if not 0 < number < float("inf"):
            raise UsageError(f"a scale of {given} says nothing", hint="give a number above 0")
        return np.array([number])

    def weight(self, form: _Form, n_channels: int) -> Floats | None:
        """[channels, outputs] in floating point; None where it is not there, too large or of another
        shape."""
        row = self.first(form.weight)
        try:
            file = None if row is None else self.file(row)
            if file is None or len(file.shape) != 2 or file.n_elements > MAX_WEIGHT_ELEMENTS:
                return None
            weight = widen(file.array(), file.dtype).astype(np.float64)
        except TensorError:
            return None
        weight = weight if form.is_weight_by_input else weight.T
        if weight.shape[0] != n_channels:
            return None
        if file.dtype.kind == "int":
            scale = self.small(form.weight_scale)
            return None if scale is None or scale.size not in (1, weight.shape[1]) else weight * scale
        return weight
