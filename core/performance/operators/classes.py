"""What kind of work an operator is: computing on the cube or the vector unit, moving, communicating, AI CPU.

By the type as the vendor names it; where the type is not known, by the pipes that were busy, else by the core
that it ran on. Where type and pipes say different things, both are told.
"""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass
from npulse.core.formats.profiling.type_names import type_in, without_variant

from .keys import combined
from .top import Top

Class = Literal["cube", "vector", "move", "communication", "aicpu", "unknown"]
Basis = Literal["type", "core", "pipes", "none"]

CLASSES: tuple[Class, ...] = ("cube", "vector", "move", "communication", "aicpu", "unknown")
BASES: tuple[Basis, ...] = ("type", "core", "pipes", "none")
CUBE, VECTOR, MOVE, COMMUNICATION, AICPU, UNKNOWN = range(6)

_COMMUNICATION = re.compile(
    r"(?:hcom|hccl|lccl|lcoc)|(?:all_?reduce|all_?gather(?:v)?|reduce_?scatter|all_?to_?all|broadcast_?)_*$"
    r"|moedistribute(?:dispatch|combine)"
)
_CUBE = re.compile(
    r".*(?:matmul|gemm|attention|mlaprolog)|(?:depthwise)?conv[123]d|deconv|conv(?:2d|3d)?transpose"
    r"|(?:moe)?ffn(?:v\d)?$|fullyconnection|bmm|mm$"
)
_MOVE = re.compile(
    r"trans_?data|transpose|cast|permute|gather|scatter|slice|strided_?slice|split|concat|pack|unpack|stack"
    r"|tile|broadcast|expand|pad|mirrorpad|index|embedding|tensormove|identity|memset|memcpy|memory_?copy"
    r"|as_?strided|viewcopy|view|copy|contiguous|reshape|flatten|squeeze|unsqueeze|zeros|ones|fill|range"
    r"|linspace|eye|reverse|flip|roll|repeat|depthtospace|spacetodepth|im2col|col2im|select_?rows|sdma|d2d"
    r"|moetoken(?:un)?permute|moeinitrouting|moefinalizerouting|moegating.*permute|kvcache|write_?cache"
    r"|.*cache(?:_|$)|.*(?:gather|scatter)"
)
_FUSED = re.compile(r".*(?:norm|rope|rotary|softmax|gelu|silu|swiglu|relu|topk)")
_VECTOR = re.compile(
    r"foreach|apply|fused?(?:adam|sgd|ema)|.*(?:softmax|norm|relu|gelu|silu|swish|swiglu|geglu|sigmoid|tanh"
    r"|dropout|pool|loss|rope|rotary|quant|masked|reduce|arg_?max|arg_?min|adam|sgd|lamb|momentum|topk|sort"
    r"|cumsum|logical|bitwise|isfinite|isnan|isinf|resize|interpolate|upsample)"
    r"|(?:add|sub|mul|div|realdiv|floordiv|floormod|mod|xdivy|pow|exp|expm1|log|log1p|sqrt|rsqrt|square|abs"
    r"|neg|sign|sin|cos|tan|erf|erfinv|ceil|floor|round|trunc|rint|maximum|minimum|max|min|mean|sum|prod"
    r"|equal|notequal|less|lessequal|greater|greaterequal|select|where|clip|clipbyvalue|clamp|reciprocal|inv"
    r"|axpy|addcmul|addcdiv|lerp|muls|adds|subs|divs|nonzero|unique\w*|tril|triu|onehot|cross|hardswish"
    r"|softplus|accumulate\w*|addn|biasadd|squaresum\w*|norm|histogram|bincount|nms\w*)(?:v\d+|d|grad\w*)?$"
)
_AI_CPU = frozenset({"AI_CPU", "AICPU", "KERNEL_AICPU"})
_COLLECTIVES = frozenset({"COMMUNICATION", "HCCL", "HCCL_AI_CPU", "CCU"})
_VECTOR_CORES = frozenset({"AI_VECTOR_CORE", "AIVEC", "KERNEL_AIVEC", "MIX_AIV", "KERNEL_MIX_AIV"})
_CUBE_MIX = frozenset({"MIX_AIC", "KERNEL_MIX_AIC"})
_MOVERS = frozenset({"SDMA", "SDMA_SQE", "MEMCPY_ASYNC", "PCIE_DMA", "UBDMA"})
_MAX_NAME = 200

Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Classes:
    """One element a group of a `Top`: int8 codes into CLASSES and BASES.

    code: what it is taken for, and basis: on what that rests. by_type: what the type (or the core it ran on,
    for communication and AI CPU) says. by_pipes: MOVE where MTE2 and MTE3 were busier than the cube and the
    vector unit, else the busier one of those; UNKNOWN without counters.
    """

    code: Codes
    basis: Codes
    by_type: Codes
    by_pipes: Codes

    @property
    def is_contradicted(self) -> npt.NDArray[np.bool_]:
        """True where the type says computing and the pipes moving, or the other way round."""
        is_computing = (self.by_type == CUBE) | (self.by_type == VECTOR)
        pipes_compute = (self.by_pipes == CUBE) | (self.by_pipes == VECTOR)
        contradicted: npt.NDArray[np.bool_] = (is_computing & (self.by_pipes == MOVE)) | (
            (self.by_type == MOVE) & pipes_compute
        )
        return contradicted

    def label(self, group: int) -> Class:
        return CLASSES[int(self.code[group])]


def class_of(op_type: str, core_type: str = "") -> int:
    """The class by type and core: code into CLASSES, UNKNOWN for types that are not known here."""
    core = core_type.upper()
    if core in _AI_CPU:
        return AICPU
    if core in _COLLECTIVES:
        return COMMUNICATION
    if core in _MOVERS:
        return MOVE
    name = without_variant(type_in(op_type))[:_MAX_NAME].lower()
    for pattern, code in ((_COMMUNICATION, COMMUNICATION), (_CUBE, CUBE)):
        if pattern.match(name):
            return code
    if _MOVE.match(name) and not _FUSED.match(name):
        return MOVE
    return VECTOR if _VECTOR.match(name) else UNKNOWN


def classes_of(
    top: Top, ratios: npt.NDArray[np.float64] | None = None, by_pipes: Codes | None = None
) -> Classes:
    """The class of each group. ratios: (groups, pipes) as `bound.group_bounds` gives them, None without.
    by_pipes: what they say, where it is known already (`bound.call_bounds`)."""
    n = len(top)
    by_type = np.full(n, UNKNOWN, np.int8)
    by_core = np.full(n, UNKNOWN, np.int8)
    if n:
        pairs, first = combined(top.op_type, top.core)
        found = [class_of(top.type_of(group), top.core_type(group)) for group in first.tolist()]
        by_type = np.array(found, np.int8)[pairs]
    cores = [text.upper() for text in top.cores]
    for number, core in enumerate(cores):
        if core in _VECTOR_CORES or core in _CUBE_MIX:
            by_core[top.core == number] = VECTOR if core in _VECTOR_CORES else CUBE
    if by_pipes is None:
        by_pipes = np.full(n, UNKNOWN, np.int8) if ratios is None else class_by_pipes(ratios)
    code, basis = by_type.copy(), np.zeros(n, np.int8)
    rest: tuple[tuple[int, Codes], ...] = ((2, by_pipes), (1, by_core))
    for place, other in rest:
        rests = (code == UNKNOWN) & (other != UNKNOWN)
        code[rests], basis[rests] = other[rests], place
    basis[code == UNKNOWN] = 3
    return Classes(code, basis, by_type, by_pipes)


def weights_percent(top: Top, classes: Classes) -> npt.NDArray[np.float64]:
    """Of each group its share of the time without communication: waiting for others makes no operator
    light. 0 where there is no such time."""
    is_own = classes.code != COMMUNICATION
    own = int(top.total_ns[is_own].sum())
    return np.where(is_own, top.total_ns, 0) / own * 100 if own > 0 else np.zeros(len(top))


def class_by_pipes(ratios: npt.NDArray[np.float64]) -> Codes:
    """By busy pipes, columns in the order of `bound.PIPES`. UNKNOWN where MTE2 or both units were not
    recorded, or nothing was busy."""
    mac, vec, mte2, mte3 = (ratios[:, place] for place in (0, 1, 4, 5))
    is_known = ~np.isnan(mte2) & ~(np.isnan(mac) & np.isnan(vec))
    mac, vec, mte2, mte3 = (np.nan_to_num(values) for values in (mac, vec, mte2, mte3))
    is_known &= mac + vec + mte2 + mte3 > 0
    found = np.where(mte2 + mte3 > mac + vec, MOVE, np.where(mac >= vec, CUBE, VECTOR))
    return np.where(is_known, found, UNKNOWN).astype(np.int8)
