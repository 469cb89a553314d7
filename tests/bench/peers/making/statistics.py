"""Captures of statistics: forward and backward pass of a deep model, with a planted error and an overflow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .captures import Record, Writer, tensor_record
from .randomness import CHUNK, stream

_LAYER, _ATTENTION, _MLP = (
    "{l}.TransformerLayer.{d}.0",
    "{l}.self_attention.Attention.{d}.0",
    "{l}.mlp.MLP.{d}.0",
)
CALLS: tuple[tuple[str, str | None, list[int], list[int], dict[str, int]], ...] = (
    ("{l}.input_layernorm.RMSNorm.{d}.0", _LAYER, [1], [1], {"weight": 1}),
    ("Functional.linear.{c}.{d}", "{l}.self_attention.linear_qkv.Linear.{d}.0", [1, 3], [3], {}),
    ("{l}.self_attention.linear_qkv.Linear.{d}.0", _ATTENTION, [1], [3], {"weight": 3, "bias": 3}),
    ("NPU.npu_rotary_mul.{c}.{d}", _ATTENTION, [1, 1, 1], [1], {}),
    ("NPU.npu_fusion_attention.{c}.{d}", _ATTENTION, [1, 1, 1], [1, 1], {}),
    ("{l}.self_attention.linear_proj.Linear.{d}.0", _ATTENTION, [1], [1], {"weight": 1}),
    (_ATTENTION, _LAYER, [1], [1], {}),
    ("Tensor.__add__.{c}.{d}", _LAYER, [1, 1], [1], {}),
    ("{l}.post_attention_layernorm.RMSNorm.{d}.0", _LAYER, [1], [1], {"weight": 1}),
    ("{l}.mlp.linear_fc1.Linear.{d}.0", _MLP, [1], [8], {"weight": 8}),
    ("NPU.npu_swiglu.{c}.{d}", _MLP, [8], [4], {}),
    ("{l}.mlp.linear_fc2.Linear.{d}.0", _MLP, [4], [1], {"weight": 4}),
    (_MLP, _LAYER, [1], [1], {}),
    (_LAYER, None, [1], [1], {}),
)
"""Names, parents, widths of inputs and outputs in hiddens, parameters."""
WRONG_CALL = 11
NOISE = 5e-4


def _tensors(values: list[float], noise: float, is_large: bool, is_broken: bool) -> Any:
    at = 0

    def tensor(
        width: int, shape: tuple[int, ...] = (), fault: float = 1.0, overflows: bool = False
    ) -> Record:
        nonlocal at
        v, grow = values[at : at + 4], (1 + values[at % 40] * noise) * fault
        at += 4
        top = (3 + abs(v[1]) * 4) * (5e3 if is_large else 1)
        numbers = [top * grow, -top * 0.97 * grow, v[2] * 1e-3 * grow, (abs(v[0]) * 300 + 50) * grow]
        if is_broken:
            numbers = [math.nan] * 4
        elif overflows:
            numbers = [math.inf, numbers[1], math.inf, math.inf]
        return {**tensor_record(shape or (4096, 1, 1024 * width), "bf16", numbers), "requires_grad": True}

    return tensor


def records(side: str, n_records: int) -> Iterator[tuple[str, str | None, Record]]:
    """Calls without end: forward for the first half of `n_records`, then backward, layer by layer."""
    half = max(1, math.ceil(n_records / (2 * len(CALLS))))
    wrong_layer, overflow_layer = half // 3, half * 3 // 4
    counts: dict[tuple[str, str], int] = {}
    number, pool = 0, []
    while True:
        if number % CHUNK == 0:
            pool = stream(3, number // CHUNK).standard_normal((CHUNK, 40)).tolist()
        n, i = divmod(number, len(CALLS))
        is_backward = n >= half
        layer = 2 * half - 1 - n if is_backward else n
        pattern, parent, ins, outs, parameters = (CALLS[::-1] if is_backward else CALLS)[i]
        words = {
            "l": f"Module.module.module.decoder.layers.{layer}",
            "d": "backward" if is_backward else "forward",
        }
        call = counts[pattern, words["d"]] = counts.get((pattern, words["d"]), -1) + 1
        name = pattern.format(c=call, **words)
        is_off = side == "target" and not is_backward
        here = is_off and layer == overflow_layer
        broken = is_off and (layer > overflow_layer or (here and i > WRONG_CALL))
        noise = NOISE if side == "target" else 0.0
        tensor = _tensors(pool[number % CHUNK], noise, layer + 1 == overflow_layer, broken)
        record: Record
        if is_backward:
            record = {"input": [tensor(k) for k in outs], "output": [tensor(k) for k in ins]}
        else:
            fault = 1.3 if is_off and layer == wrong_layer and i == WRONG_CALL else 1.0
            record = {"input_args": [tensor(k) for k in ins], "input_kwargs": {}}
            record["output"] = [tensor(k, fault=fault, overflows=here and i == WRONG_CALL) for k in outs]
            if name.startswith("Functional"):
                record["input_args"].append(None)
            if name.startswith("NPU.npu_fusion"):
                record["input_kwargs"] = {"scale": {"type": "float", "value": 0.08838834764831845}}
            if parameters:
                record["parameters"] = {k: tensor(v, (1024 * v, 1024)) for k, v in parameters.items()}
        yield name, parent and parent.format(c=call, **words), {**record, "is_recompute": False}
        number += 1


def write_statistics(folder: Path, n_records: int) -> int:
    """A pair of so many records a side; bytes of both dump.json."""
    return sum(_write(folder, side, n_records) for side in ("target", "golden"))


def write_large_dump(folder: Path, n_megabytes: int) -> int:
    """One side alone, whose dump.json is so large; its bytes."""
    return _write(folder, "target", n_megabytes * 1_000_000 // 1150, n_megabytes * 1_000_000)


def _write(folder: Path, side: str, n_records: int, n_bytes: int = 0) -> int:
    writer = Writer(folder / side, "statistics")
    for name, parent, record in records(side, n_records):
        writer.add(name, record, parent)
        if writer.n_bytes >= n_bytes if n_bytes else writer.n_records >= n_records:
            break
    writer.close()
    return writer.n_bytes
