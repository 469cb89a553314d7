"""Sequences of calls that are written as two dumps; the true partner of each call is known by its making."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from npulse.core.formats.msprobe.dump import read_dump
from npulse.core.formats.msprobe.records import Dump
from npulse.core.precision.pairing import Pairing

from ..faulty_net import write_dump

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """A call of a graph. who: the same for partners. given, made: (number of a value, its shape)."""

    who: str
    api: str
    given: tuple[tuple[int, Shape], ...]
    made: tuple[tuple[int, Shape], ...]
    values: tuple[Any, ...] = ()
    direction: str = "forward"
    of: str = ""
    is_copy: bool | None = None


@dataclass
class Network:
    """Makes layers of calls that read what earlier ones made."""

    seed: int = 0
    n_values: int = 0
    calls: list[Call] = field(default_factory=list)

    def value(self, shape: Shape) -> tuple[int, Shape]:
        self.n_values += 1
        return self.n_values, shape

    def call(
        self, api: str, given: Sequence[tuple[int, Shape]], shape: Shape, **more: Any
    ) -> tuple[int, Shape]:
        made = self.value(shape)
        self.calls.append(Call(f"{api} {len(self.calls)}", api, tuple(given), (made,), **more))
        return made

    def layer(self, x: tuple[int, Shape]) -> tuple[int, Shape]:
        """norm, two projections, a product, a residual."""
        wide = (4, 16)
        h = self.call("Functional.layer_norm", [x, self.value((8,))], (4, 8))
        up = self.call("Functional.linear", [h, self.value((16, 8))], wide)
        gate = self.call("Functional.linear", [h, self.value((16, 8))], wide)
        act = self.call("Functional.silu", [gate], wide)
        h = self.call("Tensor.__mul__", [act, up], wide)
        h = self.call("Functional.linear", [h, self.value((8, 16))], (4, 8))
        return self.call("Tensor.__add__", [x, h], (4, 8))


def network(n_layers: int) -> list[Call]:
    """The forward of a small network."""
    net = Network()
    x = net.value((4, 8))
    for _ in range(n_layers):
        x = net.layer(x)
    return net.calls


def backward_of(calls: Sequence[Call]) -> list[Call]:
    """A backward call for each forward, the last one first; their gradients are values of their own."""
    return [
        replace(
            call,
            who=f"{call.who} backward",
            direction="backward",
            of=call.who,
            given=tuple((10**6 + number, shape) for number, shape in call.made),
            made=tuple((10**6 + number, shape) for number, shape in call.given),
            values=(),
            is_copy=None,
        )
        for call in reversed(calls)
    ]


def entries(calls: Sequence[Call], drift: float = 0.0) -> dict[str, Any]:
    """dump.json's `data`: call numbers count up per API; a backward has that of its last forward."""
    counts: Counter[str] = Counter()
    number_of: dict[str, int] = {}
    data: dict[str, Any] = {}

    def record(value: tuple[int, Shape]) -> dict[str, Any]:
        number, shape = value
        own = np.random.default_rng(number)
        four = own.uniform(1.0, 3.0, 4) * [1, -1, 0.1, 10] * (1 + drift * own.standard_normal())
        four = dict(zip(("Max", "Min", "Mean", "Norm"), four.tolist(), strict=True))
        return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": list(shape), **four}

    for call in calls:
        tensors = [[record(value) for value in side] for side in (call.given, call.made)]
        if call.direction == "backward":
            name = f"{call.api}.{number_of[call.of]}.backward"
            data[name] = {"input": tensors[0], "output": tensors[1]}
            continue
        number_of[call.who.removesuffix(" again")] = counts[call.api]
        name = f"{call.api}.{counts[call.api]}.forward"
        counts[call.api] += 1
        values = [{"type": type(v).__name__, "value": v} for v in call.values]
        data[name] = {"input_args": tensors[0] + values, "input_kwargs": {}, "output": tensors[1]}
        if call.is_copy is not None:
            data[name]["is_recompute"] = call.is_copy
    return data


def dumps(
    folder: Path, target: Sequence[Call], golden: Sequence[Call], drift: float = 0.0
) -> tuple[Dump, Dump]:
    """Both written and read again; drift: by how much the target's statistics are off."""
    one, other = (
        read_dump(write_dump(folder / side, entries(calls, off)) / "dump.json", root=folder)
        for side, calls, off in (("t", target, drift), ("g", golden, 0.0))
    )
    return one, other


def whom(pairing: Pairing, target: Sequence[Call], golden: Sequence[Call]) -> list[tuple[str, str]]:
    """(target, golden) of each step by `Call.who`, "" where a side has none."""
    return [
        (target[t].who if t >= 0 else "", golden[g].who if g >= 0 else "")
        for t, g in zip(pairing.target_call.tolist(), pairing.golden_call.tolist(), strict=True)
    ]
