"""Sequences of kernels for which one fused operator exists, found by their operator types.

Types become letters, a stream a text, a sequence a pattern over it: bounded repeats only, so a search is
linear. A sequence whose names say that a fused operator launched it is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.figures import time_text
from npulse.core.findings import Related
from npulse.core.text import columns_of

from ..advice import Advice, words
from ..criteria import Criteria
from .calls import NONE, Calls, Flags, Integers, percent, shown_percent, stream_order, us
from .texts_patterns import TEXTS

WORTH_PERCENT = 5
MIN_PERCENT = 1
"""Sequences that take less of the kernel time together are not told."""

_LETTERS: Mapping[str, str] = {
    "b": "batchmatmul batchmatmulv2 batchmatmulv3",
    "m": "matmul matmulv2 matmulv3",
    "s": "softmax softmaxv2 scaledmaskedsoftmax scaledmaskedsoftmaxv2",
    "k": "maskedfill maskedfillv2",
    "*": "mul muls",
    "/": "realdiv div divs",
    "+": "add adds addv2",
    "^": "square pow",
    "r": "reducemean reducemeand",
    "q": "rsqrt",
    "c": "cast",
    "-": "neg",
    "[": "slice sliced asstrided stridedslice stridedsliced split splitv splitvd splitd",
    "]": "concat concatd concatv2 concatv2d",
    "w": "swish silu swishv2",
    "g": "gelu geluv2 fastgelu",
    "l": "layernorm layernormv3 layernormv4",
    "n": "rmsnorm",
    "d": "dropoutdomask dropoutdomaskv3",
    "z": "memset",
    "t": "transpose transposed",
    "o": "broadcastto maximum",
}
_OTHER, _END = ".", "\n"


@dataclass(frozen=True, slots=True)
class Fusion:
    """A sequence and what replaces it. names: a kernel that was launched by the fused operator has one of
    them in its name. is_ours: the vendor's list does not have it."""

    key: str
    pattern: re.Pattern[bytes]
    api: str
    names: tuple[str, ...]
    is_ours: bool = False


def _fusion(key: str, pattern: str, api: str, names: str, *, is_ours: bool = False) -> Fusion:
    return Fusion(key, re.compile(pattern.encode()), api, tuple(names.split()), is_ours)


_ANY = r"[^bms\n]"  # between the parts of an attention: no matmul, no softmax, no end of a stream
FUSIONS: tuple[Fusion, ...] = (
    _fusion(
        "attention",
        rf"b{_ANY}{{0,8}}s{_ANY}{{0,6}}b",
        "torch_npu.npu_fusion_attention",
        "flashattention fusionattention fusedinferattention promptflash increflash",
    ),
    _fusion("rms-norm", r"c?\^z?r[+c]?\+?q\*?c{0,2}\*c{0,2}\*?c?", "torch_npu.npu_rms_norm", "rmsnorm"),
    _fusion("rotary", r"\*c?\[{1,2}-\[{0,2}\]c?\*\+?", "torch_npu.npu_rotary_mul", "rotary rope"),
    _fusion("ffn", r"mwm\*m", "torch_npu.npu_ffn", "aclnnffn"),
    _fusion("swiglu", r"\[{1,2}w\*", "torch_npu.npu_swiglu", "swiglu"),
    _fusion("softmax", r"c?\*ksc?", "torch_npu.npu_scaled_masked_softmax", "scaledmaskedsoftmax"),
    _fusion("layer-norm-cast", r"clc", "", "aclnnlayernorm"),
    _fusion("add-layer-norm", r"\+l", "torch_npu.npu_add_layer_norm", "addlayernorm"),
    _fusion(
        "add-rms-norm", r"\+n", "torch_npu.npu_add_rms_norm", "addrmsnorm inplaceaddrmsnorm", is_ours=True
    ),
    _fusion("dropout-add", r"\+d\+", "", "dropoutadd"),
    _fusion("gelu-add", r"g\+", "", "geluadd"),
)
"""In the order in which they take calls: a call belongs to one sequence."""


@dataclass(frozen=True, slots=True)
class Found:
    """Sequences of one fusion. first int64, length int64: places in the stream order. total_ns: of their
    calls; stake_ns: without the longest call of each, which the fused operator takes at least."""

    fusion: Fusion
    first: Integers
    length: Integers
    total_ns: int
    stake_ns: int


@dataclass(frozen=True, slots=True)
class Sequences:
    """order int64: kernels, stream by stream (places in the calls). taken bool: belongs to a sequence."""

    order: Integers
    taken: Flags
    found: tuple[Found, ...]


def sequences_of(calls: Calls) -> Sequences:
    """All known sequences of a profile."""
    order = stream_order(calls, calls.is_kernel)
    text, place = _text(calls, order)
    taken = np.zeros(len(order), np.bool_)
    durations = calls.duration_ns[order]
    found = []
    for fusion in FUSIONS:
        spans = np.array([match.span() for match in fusion.pattern.finditer(text)], np.int64).reshape(-1, 2)
        if not len(spans):
            continue
        first, stop = place[spans[:, 0]], place[spans[:, 1] - 1] + 1
        inside = _inside(first, stop, len(order))
        counts = np.concatenate(([0], np.cumsum(taken | _is_launched(calls, order, inside, fusion))))
        free = counts[stop] == counts[first]
        first, length = first[free], (stop - first)[free]
        if not len(first):
            continue
        taken |= _inside(first, first + length, len(order))
        bounds = np.stack((first, first + length), axis=1).reshape(-1)
        padded = np.append(durations, 0)
        total = int(np.add.reduceat(padded, bounds)[::2].sum())
        longest = int(np.maximum.reduceat(padded, bounds)[::2].sum())
        found.append(Found(fusion, first, length, total, total - longest))
    return Sequences(order, taken, tuple(found))


def fused_advice(calls: Calls, sequences: Sequences, criteria: Criteria) -> Iterator[Advice]:
    """One advice a fused operator that could replace what ran."""
    for found in sequences.found:
        share = percent(found.total_ns, calls.kernel_ns)
        if share < MIN_PERCENT:
            continue
        members = sequences.order[int(found.first[0]) : int(found.first[0] + found.length[0])]
        kinds = " - ".join(calls.kind_name(int(calls.kind[call])) for call in members.tolist())
        fusion = found.fusion
        name = words(TEXTS, f"fused-{fusion.key}")
        place = int(members[0])
        yield Advice(
            rule="performance.fused-operator",
            severity="warning" if percent(found.stake_ns, calls.kernel_ns) >= WORTH_PERCENT else "note",
            subject=calls.name(place),
            message=words(
                TEXTS,
                "fused",
                name=name[0],
                name_zh=name[1],
                n=len(found.first),
                kinds=kinds,
                total=time_text(found.total_ns),
                share=shown_percent(share),
                stake=time_text(found.stake_ns),
            ),
            next_step=words(TEXTS, f"fused-{fusion.key}-next", api=fusion.api),
            figures={
                "pattern": fusion.key,
                "n_sequences": len(found.first),
                "operators": kinds,
                "total_us": us(found.total_ns),
                "share_percent": share,
                "gain_us": us(found.stake_ns),
                "api": fusion.api,
            },
            cost_ns=found.stake_ns,
            profile=calls.profile.name,
            related=tuple(
                Related("suspect", calls.name(int(call)), {"duration_us": us(int(calls.duration_ns[call]))})
                for call in members[:12].tolist()
            ),
            location=calls.location(place),
            told=tuple(
                columns_of(
                    [
                        (calls.name(int(call)), time_text(int(calls.duration_ns[call])))
                        for call in members[:12].tolist()
                    ]
                )
            ),
        )


def _text(calls: Calls, order: Integers) -> tuple[bytes, Integers]:
    """The streams as letters, an end between two of them; and for each letter its place in the order."""
    letter_of = {kind: ord(letter) for letter, kinds in _LETTERS.items() for kind in kinds.split()}
    codes = [letter_of.get(kind.lower(), ord(_OTHER)) for kind in calls.kinds] + [ord(_OTHER)]
    letters = np.array(codes, np.uint8)[calls.kind[order]]
    streams = calls.values("stream")[order]
    cuts = np.flatnonzero(streams[1:] != streams[:-1]) + 1
    text = np.insert(letters, cuts, ord(_END))
    place = np.insert(np.arange(len(order)), cuts, NONE)
    return text.tobytes(), place


def _inside(first: Integers, stop: Integers, n: int) -> Flags:
    """True for the places of spans that do not overlap."""
    steps = np.zeros(n + 1, np.int64)
    np.add.at(steps, first, 1)
    np.add.at(steps, stop, -1)
    inside: Flags = np.cumsum(steps)[:-1] > 0
    return inside


def _is_launched(calls: Calls, order: Integers, inside: Flags, fusion: Fusion) -> Flags:
    """True where a kernel was launched by the fused operator itself; only names inside of spans are read."""
    names = calls.values("name")[order]
    texts = calls.table.texts("name")
    codes = np.unique(names[inside & (names >= 0)])
    marked = [code for code in codes.tolist() if any(name in texts[code].lower() for name in fusion.names)]
    return inside & np.isin(names, marked)
