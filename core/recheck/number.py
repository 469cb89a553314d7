"""Arrays that carry how wrong a correct implementation may be: running error analysis, one step an operation.

A reference (`references/`) is written once, over `Number`. Computed with values in float64 it gives the truth
and, beside each element, a bound on what rounding inside an implementation can leave (`error`, absolute).
Computed with values in float32 it gives what a plain implementation in the operator's own dtype yields.

The rules, u the unit roundoff inside (2^-24: half and bfloat16 operators compute in float32), e the bounds of
the operands (Higham, Accuracy and Stability of Numerical Algorithms, chapters 2 to 4):

    a + b       ea + eb + u|a+b|                     sum      sum(ea) + gamma(n-1) sum|a|
    a * b       |a|eb + |b|ea + ea eb + u|ab|        A @ B    gamma(k)|A||B| + |A|eB + eA|B| + eA eB
    a / b       (ea + |a/b|eb) / (|b|-eb) + 2u|a/b|
    f(a)        its change over [a-ea, a+ea] + ULPS[f] u|f(a)|

gamma(k) = ku / (1 - ku) holds for every order of summation; `is_likely` replaces it by 6 sqrt(k) u, which all
but certainly holds too (Higham and Mary, 2019) and is what a sum in a coarser dtype betrays itself by. What
such a dtype leaves is `is_typical`: 6 sqrt(k) u sum|a| would allow any result at all in half precision.
Roundings are of partial sums, which on their way to the sum T are a bridge of variance sum(a^2):
6 u sqrt(k (T^2 / 3 + sum(a^2) / 6)), and where terms of one sign alone are added, which stops at half a
spacing, as much more as T then is of sum|a|.
What is integer stays exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.formats.tensors import Dtype

from .rounding import round_to

Array = npt.NDArray[Any]
Bound = Any
"""An array of the value's shape, or the number 0.0 for none at all."""

ULPS = {
    "exp": 4.0, "expm1": 4.0, "log": 4.0, "log1p": 4.0, "sqrt": 2.0, "rsqrt": 4.0, "reciprocal": 2.0,
    "tanh": 16.0, "erf": 16.0, "sigmoid": 8.0, "pow": 16.0, "sin": 8.0, "cos": 8.0,
}  # fmt: skip
"""Roundoffs that the function units may be off by, with room: vendors document 1 to 4."""

LIKELY = 6.0
MAX_ELEMENTS = 1 << 27
"""Of a result: broadcasting can make much of little."""


class Random(NotImplementedError):
    """Raised by a reference of a call whose output is random."""


def check_size(*shape: int) -> None:
    """NotImplementedError for a result that would be too large to make."""
    if math.prod(shape) > MAX_ELEMENTS:
        raise NotImplementedError(f"a result of {math.prod(shape):,} elements")


@dataclass(frozen=True, slots=True)
class Inside:
    """How an implementation computes. roundoff: its unit roundoff; floor: what a result may lose to
    underflow. is_plain: values in `carrier` alone, no bounds. is_likely, is_typical: see the module."""

    roundoff: float
    floor: float = 2.0**-126
    carrier: str = "float64"
    is_plain: bool = False
    is_likely: bool = False
    is_typical: bool = False

    def gamma(self, n: int) -> float:
        """What n roundings in a row can grow to, relative."""
        if self.is_likely:
            return LIKELY * math.sqrt(max(n, 0)) * self.roundoff
        grown = n * self.roundoff
        return grown / (1.0 - grown) if grown < 0.5 else math.inf

    def of_sum(self, n: int, value: Array, magnitude: Array, squares: Callable[[], Array]) -> Array:
        """What rounding leaves in sums of n terms. magnitude: of |a|; squares: of a^2, asked where needed."""
        if not self.is_typical:
            return np.asarray(self.gamma(n) * magnitude)
        total = np.where(np.isfinite(value), abs(value), 0.0)
        on_the_way = np.sqrt(total * total / 3 + squares() / 6)
        one_sided = np.maximum(2 * total - magnitude, 0.0)
        reach = LIKELY * math.sqrt(max(n, 0)) * self.roundoff
        return np.asarray(reach * np.minimum(on_the_way + one_sided, magnitude))


@dataclass(frozen=True, slots=True)
class Number:
    """An array with its bounds. is_integer: every step so far was exact integer arithmetic.

    dtype: what the dump calls it, where it is an argument; "" for results.
    """

    value: Array
    inside: Inside
    error: Bound = 0.0
    is_integer: bool = False
    dtype: str = ""

    # ---- shape: exact ----

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value.shape)

    @property
    def ndim(self) -> int:
        return int(self.value.ndim)

    def view(self, change: Callable[[Array], Array]) -> Number:
        """The same elements elsewhere (reshape, transpose, take ...): `change` is done to values and
        bounds."""
        error = self.error if isinstance(self.error, float) else change(self.error)
        return Number(change(self.value), self.inside, error, self.is_integer, self.dtype)

    def reshape(self, *shape: int) -> Number:
        return self.view(lambda a: a.reshape(shape))

    def swapaxes(self, a: int, b: int) -> Number:
        return self.view(lambda x: x.swapaxes(a, b))

    @property
    def mT(self) -> Number:  # noqa: N802 - as numpy calls it
        """The last two axes swapped; a vector stays what it is."""
        return self.swapaxes(-1, -2) if self.ndim > 1 else self

    def __getitem__(self, key: Any) -> Number:
        return self.view(lambda a: a[key])

    def indices(self) -> npt.NDArray[np.int64]:
        """The values as integers, to index with."""
        return self.value.astype(np.int64)

    # ---- arithmetic ----

    def __add__(self, other: Any) -> Number:
        b = self.lift(other)
        check_size(*np.broadcast_shapes(self.shape, b.shape))
        value = self.value + b.value
        return self._made(value, _plus(self.error, b.error), self.is_integer and b.is_integer)

    def __sub__(self, other: Any) -> Number:
        return self + (-self.lift(other))

    def __rsub__(self, other: Any) -> Number:
        return self.lift(other) - self

    __radd__ = __add__

    def __neg__(self) -> Number:
        return Number(-self.value, self.inside, self.error, self.is_integer)

    def __mul__(self, other: Any) -> Number:
        b = self.lift(other)
        check_size(*np.broadcast_shapes(self.shape, b.shape))
        error = _plus(_times(abs(self.value), b.error), _times(abs(b.value), self.error))
        error = _plus(error, _times(self.error, b.error))
        return self._made(self.value * b.value, error, self.is_integer and b.is_integer)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Number:
        b = self.lift(other)
        check_size(*np.broadcast_shapes(self.shape, b.shape))
        value = self.value / b.value
        error: Bound = 0.0
        if not (_is_none(self.error) and _is_none(b.error)):
            left = np.maximum(abs(b.value) - b.error, 0.0)
            error = _plus(self.error, _times(abs(value), b.error)) / left
        return self._made(value, error, False, 2.0)

    def __rtruediv__(self, other: Any) -> Number:
        return self.lift(other) / self

    def __matmul__(self, other: Number) -> Number:
        a, b = self.value, other.value
        if a.ndim > 1 and b.ndim > 1:
            check_size(*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
        if a.dtype != b.dtype:  # in float32 an integer operand is exact all the same
            a, b = a.astype(np.float32), b.astype(np.float32)
        is_integer = self.is_integer and other.is_integer
        value = a @ b
        if self.inside.is_plain:
            return self._made(value, 0.0, is_integer)
        error: Bound = 0.0
        if not is_integer:
            magnitude = abs(a) @ abs(b)
            error = self.inside.of_sum(a.shape[-1], value, magnitude, lambda: (a * a) @ (b * b))
        if not _is_none(other.error):
            error = _plus(error, abs(a) @ _full(other.error, b))
        if not _is_none(self.error):
            error = _plus(error, _full(self.error, a) @ (abs(b) + other.error))
        return Number(value, self.inside, error, is_integer)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Number:
        value = self.value.sum(axis=axis, keepdims=keepdims)
        if self.inside.is_plain or self.is_integer:
            return self._made(value, 0.0, self.is_integer)
        n = self.value.size // max(np.size(value), 1)
        magnitude = abs(self.value).sum(axis=axis, keepdims=keepdims)
        values = self.value
        error = self.inside.of_sum(
            n - 1, value, magnitude, lambda: (values * values).sum(axis=axis, keepdims=keepdims)
        )
        if not _is_none(self.error):
            error = _plus(error, _full(self.error, self.value).sum(axis=axis, keepdims=keepdims))
        return Number(np.asarray(value), self.inside, _where_finite(value, error))

    def mean(self, axis: Any = None, keepdims: bool = False) -> Number:
        total = self.sum(axis, keepdims)
        return total / float(max(self.value.size // max(total.value.size, 1), 1))

    def extreme(self, largest: bool, axis: Any = None, keepdims: bool = False) -> Number:
        """The largest or smallest along axes: as wrong as the worst of them."""
        reduce = np.max if largest else np.min
        value = np.asarray(reduce(self.value, axis=axis, keepdims=keepdims))
        error: Bound = 0.0
        if not _is_none(self.error):
            error = np.max(_full(self.error, self.value), axis=axis, keepdims=keepdims)
        return Number(value, self.inside, error, self.is_integer)

    def function(self, name: str, f: Callable[[Array], Array]) -> Number:
        """A monotone function of each element. name: its entry in ULPS."""
        value = f(self.value)
        error: Bound = 0.0
        if not _is_none(self.error):
            lowest = self.value - self.error
            if name == "sqrt":  # nobody takes the root of a sum of squares below 0
                lowest = np.where(self.value >= 0, np.maximum(lowest, 0.0), lowest)
            high, low = f(self.value + self.error), f(lowest)
            error = np.maximum(abs(high - value), abs(value - low))
            error = np.where(np.isnan(error), np.inf, error)  # a bound that leaves the domain says nothing
        return self._made(value, error, False, ULPS[name])

    def smooth(self, name: str, f: Callable[[Array], Array]) -> Number:
        """A function whose slope nowhere exceeds 1."""
        return self._made(f(self.value), self.error, False, ULPS[name])

    def of_function(self, name: str, value: Array, error: Bound, is_integer: bool = False) -> Number:
        """A result whose bound without its own roundings is known."""
        return self._made(value, error, is_integer, ULPS[name])

    def contracted(self, others: Sequence[Number], f: Callable[..., Array], n: int) -> Number:
        """A sum of n products each, `f` of the arrays; multilinear in them."""
        parts = (self, *others)
        value = f(*(part.value for part in parts))
        is_integer = all(part.is_integer for part in parts)
        if self.inside.is_plain or is_integer:
            return self._made(value, 0.0, is_integer)
        magnitudes = [abs(part.value) for part in parts]
        squares = [part.value * part.value for part in parts]
        error = self.inside.of_sum(n + len(parts), value, f(*magnitudes), lambda: f(*squares))
        if not all(_is_none(part.error) for part in parts):
            raised = [m + part.error for m, part in zip(magnitudes, parts, strict=True)]
            error = error + (f(*raised) - f(*magnitudes))
        return Number(value, self.inside, _where_finite(value, error))

    def greater_of(self, other: Number, pick: Callable[..., Array]) -> Number:
        """`pick` is np.maximum or its like: as wrong as the worse of the two."""
        error: Bound = 0.0
        if not (_is_none(self.error) and _is_none(other.error)):
            error = np.maximum(self.error, other.error)
        return Number(pick(self.value, other.value), self.inside, error, self.is_integer and other.is_integer)

    def clamp(self, low: Any = None, high: Any = None) -> Number:
        """Between two numbers; nothing is rounded but the limits themselves."""
        made = self
        for limit, pick in ((low, np.maximum), (high, np.minimum)):
            if limit is not None:
                made = made.greater_of(self.lift(limit), pick)
        return replace(made, is_integer=self.is_integer)

    def abs(self) -> Number:
        return Number(abs(self.value), self.inside, self.error, self.is_integer)

    def lift(self, other: Any) -> Number:
        """A plain number as one of this arithmetic; as inexact as writing it in the carrier is."""
        if isinstance(other, Number):
            return other
        number = float(other)
        kept = float(np.float32(number)) if self.inside.roundoff > 2.0**-40 and abs(number) < 3e38 else number
        error = 0.0 if kept == number or self.inside.is_plain else self.inside.roundoff * abs(number)
        is_integer = number.is_integer() and not isinstance(other, float)
        return Number(np.asarray(number, self._carrier(is_integer)), self.inside, error, is_integer)

    def rounded(self, to: Callable[[Array], Array], roundoff: float, floor: float = 0.0) -> Number:
        """Rounded to a coarser form: a cast inside an operator, or what a variant does to its inputs."""
        if self.inside.is_plain:
            return self._made(to(self.value.astype(np.float64)), 0.0, False)
        error = _plus(self.error, roundoff * (abs(self.value) + self.error) + floor)
        return Number(self.value, self.inside, _where_finite(self.value, error))

    def loosened(self, roundoff: float, floor: float = 0.0) -> Number:
        """One more rounding allowed somewhere inside, of a factor of this result. floor: what it may lose
        where the coarser form has no normal numbers."""
        if self.inside.is_plain or not roundoff:
            return self
        error = _plus(self.error, roundoff * abs(self.value) + floor)
        return replace(self, error=_where_finite(self.value, error))

    def onto(self, start: Number, n: int) -> Number:
        """This sum of n products and a start, which an accumulator may have begun with."""
        made = self + start
        if self.inside.is_plain or made.is_integer:
            return made
        return replace(made, error=_plus(made.error, self.inside.gamma(n) * abs(start.value)))

    def exactly(self, value: Array) -> Number:
        """Other values that are known exactly, in this arithmetic."""
        return Number(np.asarray(value, self._carrier(False)), self.inside)

    def _carrier(self, is_integer: bool) -> str:
        return "float64" if is_integer else self.inside.carrier

    def _made(self, value: Array, error: Bound, is_integer: bool, roundoffs: float = 1.0) -> Number:
        """A result that was rounded so many times."""
        value = np.asarray(value)
        if self.inside.is_plain:
            return Number(value.astype(self._carrier(is_integer), copy=False), self.inside, 0.0, is_integer)
        if is_integer:
            return Number(value, self.inside, error, True)
        own = roundoffs * self.inside.roundoff * abs(value) + self.inside.floor
        return Number(value, self.inside, _where_finite(value, _plus(error, own)), False)


def where(condition: Array, a: Number, b: Number) -> Number:
    """Elements of the one or the other."""
    value = np.where(condition, a.value, b.value)
    error: Bound = 0.0
    if not (_is_none(a.error) and _is_none(b.error)):
        error = np.where(condition, a.error, b.error)
    return Number(value, a.inside, error, a.is_integer and b.is_integer)


def in_dtype(x: Number, dtype: Dtype | None) -> Number:
    """Rounded to a dtype inside an operator; as it is where that is as fine as float32."""
    if dtype is None or dtype.kind != "float" or dtype.mantissa_bits >= 23:
        return x
    return x.rounded(lambda a: round_to(a, dtype), dtype.unit_roundoff, 0.5 * dtype.smallest_subnormal)


def perhaps_in(x: Number, dtype: Dtype | None) -> Number:
    """As `in_dtype`, of a step that implementations round or do not: the plain one does not."""
    if dtype is None or dtype.kind != "float" or dtype.mantissa_bits >= 23:
        return x
    return x.loosened(dtype.unit_roundoff, 0.5 * dtype.smallest_subnormal)


def joined(parts: Sequence[Number], join: Callable[[list[Array]], Array]) -> Number:
    """Several arrays as one (concatenate, stack)."""
    error: Bound = 0.0
    if not all(_is_none(part.error) for part in parts):
        error = join([_full(part.error, part.value) for part in parts])
    is_integer = all(part.is_integer for part in parts)
    return Number(join([part.value for part in parts]), parts[0].inside, error, is_integer)


def _is_none(error: Bound) -> bool:
    return isinstance(error, float) and error == 0.0


def _plus(a: Bound, b: Bound) -> Bound:
    return b if _is_none(a) else a if _is_none(b) else a + b


def _times(a: Bound, b: Bound) -> Bound:
    return 0.0 if _is_none(a) or _is_none(b) else a * b


def _full(error: Bound, like: Array) -> Array:
    return np.broadcast_to(np.asarray(error, np.float64), like.shape)


def _where_finite(value: Array, error: Bound) -> Bound:
    """An infinite value, or none, is that exactly: there is nothing to be off by."""
    is_finite = np.isfinite(value)
    return error if np.all(is_finite) else np.where(is_finite, error, 0.0)
