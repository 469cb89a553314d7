"""A small transformer over tensor-parallel ranks in numpy, dumped as msprobe does, with a fault or none.

Every rank computes with its own parts of the weights, as Megatron's layers do: vocabulary, column (fused q, k
and v with fewer key heads; fused gate and up), row with an all_reduce behind it. With one rank it is the
golden model: no collectives, all weights whole.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .faulty_net import Fault, Leaf, Net

Array = npt.NDArray[Any]
HIDDEN, FFN, VOCABULARY, TOKENS = 32, 48, 96, 12
HEADS, KEY_HEADS, SIZE = 8, 4, 4
NO_FAULT = Fault()


def weight(name: str, *shape: int) -> Array:
    """A whole weight."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)


def column(whole: Array, rank: int, n: int, blocks: Sequence[int] | None = None) -> Array:
    """A rank's rows of a weight; blocks: sizes of parts of it that are each split."""
    ends = np.cumsum(blocks if blocks else [len(whole)])
    parts = np.split(whole, ends[:-1])
    return np.concatenate([np.split(part, n)[rank] for part in parts])


def column_of_heads(whole: Array, rank: int, n: int) -> Array:
    """A rank's rows of fused q, k and v; with fewer key heads than ranks neighbours hold the same one."""
    q, k, v = np.split(whole, np.cumsum([HEADS, KEY_HEADS]) * SIZE)
    pieces = min(n, KEY_HEADS)
    keys = [np.split(one, pieces)[rank * pieces // n] for one in (k, v)]
    return np.concatenate([np.split(q, n)[rank], *keys])


def row(whole: Array, rank: int, n: int) -> Array:
    return np.ascontiguousarray(np.split(whole, n, axis=1)[rank])


class Job:
    """All ranks of one tensor-parallel job, run in step."""

    def __init__(
        self,
        n: int,
        fault: Fault = NO_FAULT,
        at_rank: int = 0,
        *,
        is_golden: bool = False,
        padded: int = 0,
        by_sequence: bool = False,
        data: int = 3,
        masks: bool = False,
        layers: int = 1,
    ) -> None:
        self.layers = layers
        self.masks = masks
        self.n = n
        self.by_sequence = by_sequence and n > 1
        self.data = data
        self.padded = padded
        self.nets = [
            Net(fault if rank == at_rank else NO_FAULT, rank=rank, is_golden=is_golden) for rank in range(n)
        ]

    def call(
        self, api: str, forward: Callable[..., Array], *inputs: Sequence[Any] | Any, **more: Any
    ) -> list[Leaf]:
        """The same call on every rank; inputs: a list with one entry a rank, or the same for all."""
        return [
            net.call(api, forward, [x[rank] if isinstance(x, list) else x for x in inputs], **more)
            for rank, net in enumerate(self.nets)
        ]

    def of_ranks(self, name: str, cut: Callable[[int], Array]) -> list[Leaf]:
        found = []
        for rank, net in enumerate(self.nets):
            value = np.ascontiguousarray(cut(rank))
            if net.is_at("parameter", name):
                value = value * np.float32(1.5)
            found.append(Leaf(value))
        return found

    def linear(self, x: list[Leaf], w: list[Leaf]) -> list[Leaf]:
        return self.call("Functional.linear", lambda a, b: a @ b.T, x, w)

    def reduced(self, x: list[Leaf]) -> list[Leaf]:
        if self.n == 1:
            return x
        total = np.sum([leaf.value for leaf in x], axis=0, dtype=np.float32)
        if self.by_sequence:
            parts = np.split(total, self.n)
            return [
                net.call("Distributed._reduce_scatter_base", lambda _, part=parts[r]: part, [one])
                for r, (net, one) in enumerate(zip(self.nets, x, strict=True))
            ]
        return self.call("Distributed.all_reduce", lambda _: total, x)

    def gathered(self, x: list[Leaf]) -> list[Leaf]:
        """Sequence parallel: what every rank needs whole in front of a column."""
        if not self.by_sequence:
            return x
        whole = np.concatenate([leaf.value for leaf in x])
        return self.call("Distributed._all_gather_base", lambda _: whole, x)

    def norm(self, name: str, x: list[Leaf]) -> list[Leaf]:
        gain = self.of_ranks(name, lambda _: 1 + weight(name, HIDDEN))

        def forward(a: Array, w: Array) -> Array:
            return np.asarray(a / np.sqrt((a * a).mean(-1, keepdims=True) + np.float32(1e-6)) * w)

        return self.call("NPU.npu_rms_norm", forward, x, gain)

    def attention(self, path: str, x: list[Leaf]) -> list[Leaf]:
        n = self.n
        sizes = (HEADS * SIZE, KEY_HEADS * SIZE, KEY_HEADS * SIZE)
        whole = weight(f"{path}.qkv", sum(sizes), HIDDEN)
        qkv = self.linear(
            self.gathered(x), self.of_ranks(f"{path}.qkv", lambda r: column_of_heads(whole, r, n))
        )
        q_size, k_size = HEADS // n * SIZE, max(KEY_HEADS // n, 1) * SIZE

        def heads(size: int, copies: int) -> Callable[[Array, int], Array]:
            def cut(a: Array, first: int) -> Array:
                part = a[:, first : first + size].reshape(len(a), -1, SIZE).transpose(1, 0, 2)
                return np.ascontiguousarray(np.repeat(part, copies, axis=0))

            return cut

        copies = q_size // k_size
        q = self.call("Tensor.permute", heads(q_size, 1), qkv, 0)
        k = self.call("Tensor.permute", heads(k_size, copies), qkv, q_size)
        v = self.call("Tensor.permute", heads(k_size, copies), qkv, q_size + k_size)
        scores = self.call("Torch.bmm", lambda a, b: a @ b.transpose(0, 2, 1) / np.float32(2), q, k)
        shares = self.call("Functional.softmax", _softmax, scores)
        mixed = self.call("Torch.bmm", lambda a, b: a @ b, shares, v)
        flat = self.call(
            "Tensor.reshape",
            lambda a, size: np.ascontiguousarray(a.transpose(1, 0, 2).reshape(len(a[0]), size)),
            mixed,
            q_size,
        )
        out = weight(f"{path}.out", HIDDEN, HEADS * SIZE)
        return self.reduced(self.linear(flat, self.of_ranks(f"{path}.out", lambda r: row(out, r, n))))

    def mlp(self, path: str, x: list[Leaf]) -> list[Leaf]:
        n = self.n
        whole = weight(f"{path}.gate_up", 2 * FFN, HIDDEN)
        both = self.linear(
            self.gathered(x), self.of_ranks(f"{path}.gate_up", lambda r: column(whole, r, n, (FFN, FFN)))
        )
        h = self.call("NPU.npu_swiglu", _swiglu, both)
        down = weight(f"{path}.down", HIDDEN, FFN)
        return self.reduced(self.linear(h, self.of_ranks(f"{path}.down", lambda r: row(down, r, n))))

    def run(self) -> Job:
        ids = np.random.default_rng(self.data).integers(0, VOCABULARY, TOKENS)
        table = weight("embed", VOCABULARY, HIDDEN)
        start = VOCABULARY // self.n

        def embed(i: Array, w: Array, rank: int) -> Array:
            here = (i >= rank * start) & (i < (rank + 1) * start)
            return np.where(here[:, None], w[np.where(here, i - rank * start, 0)], np.float32(0))

        if self.masks:
            return self.rest(self.masked_embedding(ids, table))
        x = [
            net.call("Functional.embedding", lambda i, w, r=rank: embed(i, w, r), [Leaf(ids), w])
            for rank, (net, w) in enumerate(
                zip(self.nets, self.of_ranks("embed", lambda r: column(table, r, self.n)), strict=True)
            )
        ]
        return self.rest(self.reduced(x))

    def masked_embedding(self, ids: Array, table: Array) -> list[Leaf]:
        """As Megatron's layer does it, call by call: own ids, look up, set the others' rows to 0, add up."""
        start = VOCABULARY // self.n
        parts = self.of_ranks("embed", lambda r: column(table, r, self.n))
        found = []
        for rank, (net, part) in enumerate(zip(self.nets, parts, strict=True)):
            first = rank * start
            if self.n == 1:
                found.append(net.call("Functional.embedding", lambda i, w: w[i], [Leaf(ids), part]))
                continue
            below = net.call("Tensor.__lt__", lambda i, k: i < k, [Leaf(ids), first])
            own = net.call("Tensor.__sub__", lambda i, k: i - k, [Leaf(ids), first])
            mask = below.value | (ids >= first + start)
            own = net.call("Tensor.__setitem__", lambda i, m: np.where(m, 0, i), [own, Leaf(mask)])
            rows = net.call("Functional.embedding", lambda i, w: w[i], [own, part])
            zeroed = net.call(
                "Tensor.__setitem__", lambda a, m: np.where(m[:, None], np.float32(0), a), [rows, Leaf(mask)]
            )
            found.append(zeroed)
        return self.reduced(found)

    def rest(self, x: list[Leaf]) -> Job:
        for layer in range(self.layers):
            h = self.attention(f"layers.{layer}.attn", self.norm(f"layers.{layer}.norm", x))
            x = self.call("Tensor.__add__", lambda a, b: a + b, x, h)
            h = self.mlp(f"layers.{layer}.mlp", self.norm(f"layers.{layer}.norm2", x))
            x = self.call("Tensor.__add__", lambda a, b: a + b, x, h)
        head = np.zeros((VOCABULARY + self.padded, HIDDEN), np.float32)
        head[:VOCABULARY] = weight("head", VOCABULARY, HIDDEN)
        self.linear(
            self.gathered(self.norm("last", x)), self.of_ranks("head", lambda r: column(head, r, self.n))
        )
        return self


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def _swiglu(x: Array) -> Array:
    gate, up = np.split(x, 2, axis=-1)
    return np.asarray(gate / (1 + np.exp(-np.maximum(gate, -80))) * up)


def attend(
    net: Net, order: Array | None, *, by_head: bool = False, weights_too: bool = True, seed: int = 0
) -> Net:
    """Attention of one rank whose weights hold the heads in another order (and q, k, v by head).

    weights_too: False leaves the weights as they are and turns the output of the first linear alone.
    """
    n, size = 6, 8
    x = Leaf(np.random.default_rng(seed).standard_normal((12, HIDDEN)).astype(np.float32))
    whole = weight("qkv", 3 * n * size, HIDDEN).reshape(3, n, size, HIDDEN)
    out = weight("o", HIDDEN, n * size).reshape(HIDDEN, n, size)
    order = np.arange(n) if order is None else order
    turned = whole[:, order]
    turned = turned.transpose(1, 0, 2, 3) if by_head else turned
    qkv = Leaf(np.ascontiguousarray((turned if weights_too else whole).reshape(-1, HIDDEN)))

    def first(a: Array, w: Array) -> Array:
        made = a @ w.T
        if weights_too:
            return made
        return np.ascontiguousarray(made.reshape(len(a), 3, n, size)[:, :, order].reshape(len(a), -1))

    made = net.call("Functional.linear", first, [x, qkv])

    def attention(a: Array) -> Array:
        parts = a.reshape(len(a), n, 3, size).swapaxes(1, 2) if by_head else a.reshape(len(a), 3, n, size)
        q, k, v = (parts[:, i].transpose(1, 0, 2) for i in range(3))
        mixed = _softmax(q @ k.transpose(0, 2, 1) / np.float32(3)) @ v
        return np.ascontiguousarray(mixed.transpose(1, 0, 2).reshape(len(a), -1))

    mixed = net.call("NPU.npu_fusion_attention", attention, [made])
    last = out[:, order] if weights_too else out
    w_out = Leaf(np.ascontiguousarray(last.reshape(HIDDEN, -1)))
    net.call("Functional.linear", lambda a, w: a @ w.T, [mixed, w_out])
    return net
