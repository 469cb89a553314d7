"""Pairs of tensor captures: the forward pass of a transformer, with a planted error and an overflow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .captures import Writer, tensor_record, write_pt
from .randomness import Floats, stored, stream

KINDS = {"norm": "fp32", "add": "fp32", "attention": "bf16", "linear": "fp16", "act": "fp16"}
BYTES_A_HIDDEN = 128
"""Of one token in one layer, over all tensors that its calls have, on one side."""
NOISE = 5e-4
PEAKS = {3: 900.0, 2: 7e3, 1: 3e4, 0: 6.48e4}
"""Largest values on the road to the overflow, by the layers that are left."""


@dataclass(frozen=True, slots=True)
class _Both:
    golden: Floats
    target: Floats
    kind: str

    @classmethod
    def of(cls, golden: Floats, target: Floats, role: str) -> _Both:
        return cls(stored(golden, KINDS[role]), stored(target, KINDS[role]), KINDS[role])


@dataclass(slots=True)
class _Transformer:
    """Elementwise operators are computed; products are seeded noise with outlier channels, and wrong where
    their
    inputs are. `level` is the relative error of the target: rounding at first, growing with depth."""

    n_layers: int
    hidden: int
    n_tokens: int
    level: float = NOISE

    def product(self, place: tuple[int, int], width: int, role: str, *inputs: _Both, peak: float = 0.0,
                is_wrong: bool = False) -> _Both:  # fmt: skip
        rng = stream(2, *place)
        golden = rng.standard_normal((self.n_tokens, width), np.float32)
        scale = np.exp(stream(1).standard_normal(width) * 0.4).astype(np.float32)
        scale[:: max(1, width // 16)] *= 20
        golden *= scale
        target = golden * (1 + np.float32(self.level) * rng.standard_normal(golden.shape, np.float32))
        if peak:
            rows = np.arange(3) * (self.n_tokens // 4)
            for channel, sign in ((7, 1), (11, -1)):
                golden[rows, channel % width] = sign * peak
                target[rows, channel % width] = sign * peak * 1.02
        if is_wrong:  # one channel of eight, as a wrong tiling would do
            target[:, ::8] *= np.float32(1.25)
            self.level = max(self.level, 2e-2)
        for given in inputs:
            target[~np.isfinite(given.target).all(axis=1)] = np.nan
        return _Both.of(golden, target, role)

    def each(self, role: str, op: Callable[..., Floats], *inputs: _Both) -> _Both:
        with np.errstate(all="ignore"):
            return _Both.of(op(*(x.golden for x in inputs)), op(*(x.target for x in inputs)), role)

    def run(self) -> Iterator[tuple[str, str | None, list[_Both], list[_Both]]]:
        """Name, parent, inputs and outputs of each call, in the order of their execution."""
        h = self.hidden
        x = self.product((0, 0), h, "add")
        for n in range(self.n_layers):
            layer = f"Module.module.layers.{n}"
            parent, attention = (
                f"{layer}.TransformerLayer.forward.0",
                f"{layer}.self_attention.Attention.forward.0",
            )
            mlp = f"{layer}.mlp.MLP.forward.0"
            self.level *= 1.03
            norm = self.each("norm", _rms_norm, x)
            yield f"{layer}.input_layernorm.RMSNorm.forward.0", parent, [x], [norm]
            qkv = self.product((n, 1), 3 * h, "linear", norm)
            yield f"{layer}.self_attention.linear_qkv.Linear.forward.0", attention, [norm], [qkv]
            slices = (slice(i * h, (i + 1) * h) for i in range(3))
            heads = [_Both.of(qkv.golden[:, at], qkv.target[:, at], "attention") for at in slices]
            attended = self.product((n, 2), h, "attention", *heads)
            yield f"NPU.npu_fusion_attention.{n}.forward", attention, heads, [attended]
            projected = self.product((n, 3), h, "linear", attended)
            yield f"{layer}.self_attention.linear_proj.Linear.forward.0", attention, [attended], [projected]
            middle = self.each("add", np.add, x, projected)
            yield f"Tensor.__add__.{2 * n}.forward", parent, [x, projected], [middle]
            norm = self.each("norm", _rms_norm, middle)
            yield f"{layer}.post_attention_layernorm.RMSNorm.forward.0", parent, [middle], [norm]
            up = self.product((n, 4), 8 * h, "linear", norm)
            yield f"{layer}.mlp.linear_fc1.Linear.forward.0", mlp, [norm], [up]
            act = self.each("act", _swiglu, up)
            yield f"NPU.npu_swiglu.{n}.forward", mlp, [up], [act]
            ahead = self.n_layers * 3 // 4 - n
            down = self.product(
                (n, 5), h, "linear", act, peak=PEAKS.get(ahead, 0.0), is_wrong=n == self.n_layers // 3
            )
            yield f"{layer}.mlp.linear_fc2.Linear.forward.0", mlp, [act], [down]
            out = self.each("add", np.add, middle, down)
            yield f"Tensor.__add__.{2 * n + 1}.forward", parent, [middle, down], [out]
            yield parent, None, [x], [out]
            x = out


def _rms_norm(x: Floats) -> Any:
    return x / np.sqrt(np.mean(x * x, axis=1, keepdims=True, dtype=np.float32) + 1e-6)


def _swiglu(x: Floats) -> Any:
    gate, up = np.split(x, 2, axis=1)
    return gate / (1 + np.exp(-np.clip(gate, -80, 80))) * up


def _numbers(values: Floats, kind: str) -> list[float]:
    # as the tool takes them, in the tensor's own type: the Norm of a large finite float16 tensor is Infinity
    with np.errstate(all="ignore"):
        flat = np.ascontiguousarray(values).reshape(-1)
        taken = [flat.max(), flat.min(), flat.mean(dtype=np.float64), math.sqrt(np.dot(flat, flat))]
        numbers: list[float] = stored(np.array(taken, np.float32), kind).tolist()
    return numbers


def _write(folder: Path, model: _Transformer) -> int:
    writers = {side: Writer(folder / side, "tensor") for side in ("target", "golden")}
    n_bytes = 0
    for name, parent, inputs, outputs in model.run():
        for side, writer in writers.items():
            record: dict[str, Any] = {"input_kwargs": {}, "is_recompute": False}
            for where, key, given in (("input", "input_args", inputs), ("output", "output", outputs)):
                record[key] = []
                for i, both in enumerate(given):
                    values: Floats = getattr(both, side)
                    file = f"{name}.{where}.{i}.pt"
                    n_bytes += write_pt(writer.data / file, values, both.kind)
                    told = tensor_record(values.shape, both.kind, _numbers(values, both.kind))
                    record[key].append({**told, "requires_grad": True, "data_name": file})
            writer.add(name, record, parent)
    for writer in writers.values():
        writer.close()
    return n_bytes


def write_tensors(folder: Path, n_megabytes: int) -> int:
    """A pair of about so many megabytes a side in 600 tensors of three number formats; bytes of both."""
    n_layers, hidden = 24, 1024
    n_tokens = max(4, round(n_megabytes * 1e6 / (BYTES_A_HIDDEN * hidden * n_layers)))
    return _write(folder, _Transformer(n_layers, hidden, n_tokens))


def write_small_tensors(folder: Path, n_tensors: int) -> int:
    """A pair of about so many tensors of some kilobytes; bytes of both."""
    return _write(folder, _Transformer(max(4, round(n_tensors / 25)), 64, 36))
