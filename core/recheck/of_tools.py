"""Calls as a reference knows them: by name in dumps of msprobe, by what they run in captures of other tools.

Those record no attributes, or in words of their own (a transposed operand, an axis, an epsilon): what a call
was told beside its tensors is not known, and a reference that does not fit accuses only operators that have
no attributes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import CallName, Dump

PLAIN: Mapping[str, str] = {
    "Add": "add", "Sub": "sub", "Mul": "mul", "RealDiv": "div", "Maximum": "maximum", "Minimum": "minimum",
    "Sqrt": "sqrt", "Rsqrt": "rsqrt", "Reciprocal": "reciprocal", "Neg": "neg", "Abs": "abs",
    "Square": "square", "Sign": "sign", "Floor": "floor", "Ceil": "ceil", "Sin": "sin", "Cos": "cos",
    "Sigmoid": "sigmoid", "Tanh": "tanh", "Relu": "relu", "Erf": "erf",
}  # fmt: skip
"""Operators without attributes -> the API that computes the same. Source: the operator list of CANN (IR
definitions of ops-math and ops-nn)."""

TOLD: Mapping[str, str] = {
    "MatMul": "matmul", "BatchMatMul": "matmul", "Linear": "linear", "Softmax": "softmax", "Gelu": "gelu",
    "Swish": "silu", "Silu": "silu", "SwiGlu": "npu_swiglu", "RmsNorm": "npu_rms_norm",
    "AddRmsNorm": "npu_add_rms_norm", "LayerNorm": "LayerNorm", "Exp": "exp", "Log": "log",
    "Cast": "to",
}  # fmt: skip
"""Operators with attributes -> an API, or the class of a module, with the same inputs in the same order.
Source: the same, and the operations of ATB (LinearOperation, RmsNormOperation)."""

_VERSION = re.compile(r"(?:V\d+|Operation)+$")


def records_arguments(dump: Dump) -> bool:
    """Whether a dump holds all that a call was told, under the operator's own parameter names."""
    return dump.operators is None


def name_of(dump: Dump, call: int) -> CallName:
    """What a call is. Of another tool's: a forward call of what it runs."""
    full = dump.calls.names[call]
    said = "" if dump.operators is None else dump.operators[call]
    if not said:
        return parse_name(full)
    if said.startswith("module "):
        return CallName(full, "module", "forward", "Module", "", None, said.partition(" ")[2])
    word = PLAIN.get(_plain(said)) or TOLD.get(_plain(said)) or said
    if word[:1].isupper() and word in TOLD.values():
        return CallName(full, "module", "forward", "", "", None, "", word)
    return CallName(full, "api", "forward", "", word, None)


def words_of(dump: Dump, call: int) -> frozenset[str]:
    """What else a call of another tool can be asked for by: "MatMulV2", "MatMul", "matmul"."""
    said = "" if dump.operators is None else dump.operators[call]
    name = name_of(dump, call)
    return frozenset((said, _plain(said), name.api or name.cls)) - {""} if said else frozenset()


def has_attributes(dump: Dump, call: int) -> bool:
    """Whether a call may have been told what the dump does not hold."""
    return dump.operators is not None and _plain(dump.operators[call]) not in PLAIN


def _plain(said: str) -> str:
    return _VERSION.sub("", said)
