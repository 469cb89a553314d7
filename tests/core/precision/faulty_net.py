"""A small network in numpy that dumps itself as msprobe does, and can be given one fault.

It really computes: forward and backward of embedding, norm, attention, linear, relu, residual, loss. A fault
changes one thing in it, and what follows from that follows from arithmetic.
"""

from __future__ import annotations

import io
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Grads = list["Array | None"]
LEVELS = ("L1", "L0", "mix")
MODES = ("tensor", "statistics", "md5")

DAMAGE: dict[str, Callable[[Array], Array]] = {
    "scale": lambda x: x * np.float32(1.5),
    "outlier": lambda x: _with_element(x, np.float32(10 * np.sqrt(x.size) * (np.abs(x).max() + 1))),
    "noise": lambda x: x + _noise(x),
    "nan": lambda x: _with_element(x, np.float32(np.nan)),
    "zero": np.zeros_like,
}
"""What can become of a tensor; each puts the whole tensor beyond the criteria, and its statistics show it."""


def _with_element(x: Array, value: np.float32) -> Array:
    changed = np.array(x)
    changed.reshape(-1)[x.size // 2] = value
    return changed


def _noise(x: Array) -> Array:
    noise = np.random.default_rng(99).standard_normal(x.shape)
    return np.asarray(noise * np.sqrt((x.astype(np.float64) ** 2).mean()) * 0.8, x.dtype)


@dataclass(frozen=True)
class Fault:
    """What the target does wrong. `place`: an entry's name; how to damage; value of a scalar."""

    kind: str = "none"
    place: str = ""
    how: str = "scale"


@dataclass
class Leaf:
    """A tensor on the tape: values now (a fault can overwrite them), and who made it."""

    value: Array
    name: str = ""


@dataclass
class Step:
    """One recorded call of the forward, kept for the backward."""

    name: str
    inputs: list[Any]
    output: Leaf
    backward: Callable[[Array], Grads] | None
    modules: tuple[str, ...]


@dataclass
class Net:
    """One rank of one side: runs, and collects what the hooks of msprobe would have seen."""

    fault: Fault = Fault()
    rank: int = 0
    seed: int = 0
    n_layers: int = 2
    ulp_noise: bool = False
    is_golden: bool = False
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    files: dict[str, Array] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    modules: dict[str, tuple[int, int, Leaf, Leaf]] = field(default_factory=dict)
    open_modules: list[str] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    order: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.noise = np.random.default_rng(5 + self.rank)
        self.grads: dict[int, Array] = {}
        self.about_to_be_overwritten: Leaf | None = None

    # -- recording ------------------------------------------------------------------------------

    def is_at(self, kind: str, place: str) -> bool:
        return (self.fault.kind, self.fault.place) == (kind, place)

    def rounded(self, x: Array) -> Array:
        """The value as another device would have rounded it: up to one ulp away, anywhere."""
        if not self.ulp_noise or x.dtype != np.float32:
            return x
        way = self.noise.integers(-1, 2, x.shape)
        toward = np.where(way < 0, -np.inf, np.inf).astype(np.float32)
        return np.where((way == 0) | (x == 0), x, np.nextafter(x, toward)).astype(np.float32)

    def record(self, name: str, value: Any) -> Any:
        """The record of one leaf; its elements are kept for the file."""
        if value is None:
            return None
        if isinstance(value, Leaf):
            value = value.value
        if not isinstance(value, np.ndarray):
            return {"type": type(value).__name__, "value": value}
        self.files[name] = np.array(value)
        return name

    def enter(self, kind: str, name: str, **sides: Any) -> None:
        self.entries[name] = {"kind": kind, **sides}
        self.order.append(name)

    def call(
        self,
        api: str,
        forward: Callable[..., Array],
        inputs: Sequence[Any],
        backward: Callable[[Array], Grads] | None = None,
        *,
        n_masked: int = 0,
    ) -> Leaf:
        """One API call: records inputs as they are now, computes, records the output."""
        self._overwrite()
        number = self.calls[api]
        self.calls[api] += 1
        name = f"{api}.{number}.forward"
        inputs = [self._scalar(name, i, x) for i, x in enumerate(inputs)]
        given = [None if i < n_masked else self.record(f"{name}.input.{i}", x) for i, x in enumerate(inputs)]
        made = self.rounded(np.asarray(forward(*[x.value if isinstance(x, Leaf) else x for x in inputs])))
        if self.is_at("output", name):
            made = DAMAGE[self.fault.how](made)
        output = Leaf(made, name)
        self.parents[name] = self.open_modules[-1] if self.open_modules else None
        self.enter("api", name, input_args=given, output=[self.record(f"{name}.output.0", output)])
        self.steps.append(Step(name, list(inputs), output, backward, tuple(self.open_modules)))
        if self.is_at("overwritten", name):
            self.about_to_be_overwritten = output
        if self.is_at("missing", name) and self.is_golden or self.is_at("extra", name) and not self.is_golden:
            return self.call(
                "Torch.mul", lambda x, k: np.asarray(x * np.float32(k)), [output, 1.7], _times(1.7)
            )
        return output

    def _scalar(self, name: str, i: int, x: Any) -> Any:
        if isinstance(x, float) and self.is_at("scalar", f"{name}.input.{i}"):
            return x * 3 + 100
        return x

    def _overwrite(self) -> None:
        """Behind all hooks of the producer and before those of the consumer: half of the buffer is gone."""
        leaf, self.about_to_be_overwritten = self.about_to_be_overwritten, None
        if leaf is not None:
            block = np.array(leaf.value).reshape(-1)
            block[: max(1, block.size // 2)] = np.float32(7.25)
            leaf.value = block.reshape(leaf.value.shape)

    @contextmanager
    def module(self, path: str, cls: str, x: Leaf, **parameters: Leaf) -> Iterator[list[Leaf]]:
        """Everything inside is this module's; the body puts the output into the list."""
        self._overwrite()
        name = f"Module.{path}.{cls}.forward.0"
        self.parents[name] = self.open_modules[-1] if self.open_modules else None
        self.open_modules.append(name)
        given = self.record(f"{name}.input.0", x)
        first, result = len(self.steps), list[Leaf]()
        yield result
        self.open_modules.pop()
        own = {key: self.record(f"{name}.parameters.{key}", p) for key, p in parameters.items()}
        made = self.record(f"{name}.output.0", result[0])
        self.enter("module", name, input_args=[given], output=[made], parameters=own)
        self.modules[name] = (first, len(self.steps), x, result[0])

    # -- the model ------------------------------------------------------------------------------

    def parameter(self, name: str, *shape: int) -> Leaf:
        rng = np.random.default_rng([self.seed, zlib.crc32(name.encode())])
        value = (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)
        if name.endswith("norm"):
            value = 1 + value
        if self.is_at("parameter", name):
            value = DAMAGE[self.fault.how](value)
        if self.is_at("permuted", name):
            value = np.ascontiguousarray(value.reshape(-1)[::-1].reshape(shape))
        return Leaf(value)

    def linear(self, path: str, x: Leaf, n_out: int) -> Leaf:
        weight = self.parameter(path, n_out, x.value.shape[-1])
        with self.module(path, "Linear", x, weight=weight) as result:
            result.append(
                self.call("Functional.linear", lambda a, w: a @ w.T, [x, weight], _linear(x, weight))
            )
        return result[0]

    def norm(self, path: str, x: Leaf) -> Leaf:
        weight = self.parameter(path, x.value.shape[-1])
        with self.module(path, "RMSNorm", x, weight=weight) as result:
            result.append(self.call("NPU.npu_rms_norm", _norm, [x, weight, 1e-6], _norm_backward(x, weight)))
        return result[0]

    def attention(self, path: str, x: Leaf, views: bool) -> Leaf:
        with self.module(path, "Attention", x) as result:
            q, k, v = (self.linear(f"{path}.{n}", x, x.value.shape[-1]) for n in "qkv")
            if views:  # a permutation that risk_level FOCUS does not record
                k = self.view(k, lambda a: np.ascontiguousarray(a.T), lambda a: np.ascontiguousarray(a.T))
                scores = self.call("Torch.matmul", lambda a, b: a @ b, [q, k], _matmul(q, k))
            else:
                scores = self.call("Torch.matmul", lambda a, b: a @ b.T, [q, k], _matmul_t(q, k))
            scaled = self.call("Tensor.__mul__", lambda a, s: a * np.float32(s), [scores, 0.25], _times(0.25))
            shares = self.call("Functional.softmax", _softmax, [scaled], _softmax_backward(scaled))
            mixed = self.call("Torch.bmm", lambda a, b: a @ b, [shares, v], _matmul(shares, v))
            result.append(self.linear(f"{path}.out", mixed, x.value.shape[-1]))
        return result[0]

    def view(self, x: Leaf, there: Callable[[Array], Array], back: Callable[[Array], Array]) -> Leaf:
        """Not recorded at all, forward or backward."""
        output = Leaf(there(x.value))
        self.steps.append(Step("", [x], output, lambda g: [back(g)], tuple(self.open_modules)))
        return output

    def block(self, path: str, x: Leaf, views: bool) -> Leaf:
        with self.module(path, "Block", x) as result:
            h = self.attention(f"{path}.attn", self.norm(f"{path}.norm", x), views)
            h = self.call("Tensor.__add__", lambda a, b: a + b, [x, h], lambda g: [g, g])
            u = self.linear(f"{path}.fc1", self.norm(f"{path}.ln", h), 2 * x.value.shape[-1])
            u = self.call("Functional.relu", lambda a: np.maximum(a, 0), [u], _relu(u))
            u = self.linear(f"{path}.fc2", u, x.value.shape[-1])
            result.append(self.call("Tensor.__add__", lambda a, b: a + b, [h, u], lambda g: [g, g]))
        return result[0]

    def embed(self) -> Leaf:
        ids = np.random.default_rng([self.seed, 1, self.rank]).integers(0, 19, 12)
        if self.is_at("ids", "input"):
            ids = (ids + 3) % 23
        table = self.parameter("embed", 23, 16)
        x = Leaf(ids)
        with self.module("embed", "Embedding", x, weight=table) as result:
            result.append(self.call("Functional.embedding", lambda i, w: w[i], [x, table]))
        return result[0]

    def through_an_empty_buffer(self, x: Leaf) -> Leaf:
        garbage = np.random.default_rng(int(self.is_golden)).standard_normal(x.value.shape) * 1e4
        empty = self.call("Torch.empty", lambda: garbage.astype(np.float32), [])
        return self.call("Tensor.copy_", lambda _, source: np.array(source), [empty, x], lambda g: [None, g])

    # -- the backward ---------------------------------------------------------------------------

    def backward(self, output: Leaf) -> None:
        """Gradients of the mean of squares, recorded in autograd's order."""
        self.grads[id(output)] = np.asarray(output.value * np.float32(2 / output.value.size))
        given: dict[tuple[int, int], Array] = {}
        for index in reversed(range(len(self.steps))):
            step = self.steps[index]
            grad = self.grads.get(id(step.output))
            if step.backward is not None and grad is not None:
                self._step_backward(index, step, grad, given)
            for name, (first, last, x, made) in self.modules.items():
                if first == index:
                    self._module_backward(name, first, last, x, made, given)

    def _step_backward(
        self, index: int, step: Step, grad: Array, given: dict[tuple[int, int], Array]
    ) -> None:
        assert step.backward is not None
        grads = [None if g is None else self.rounded(np.asarray(g, np.float32)) for g in step.backward(grad)]
        name = step.name.replace(".forward", ".backward")
        if self.is_at("output", name):
            grads = [None if g is None else DAMAGE[self.fault.how](g) for g in grads]
        for x, g in zip(step.inputs, grads, strict=False):
            if g is not None and isinstance(x, Leaf):
                given[index, id(x)] = g
                self.grads[id(x)] = self.grads[id(x)] + g if id(x) in self.grads else g
        if not name:
            return
        made = [self.record(f"{name}.output.{i}", g) for i, g in enumerate(grads)]
        self.parents[name] = _backward_name(step.modules[-1]) if step.modules else None
        self.enter("api", name, input=[self.record(f"{name}.input.0", grad)], output=made)

    def _module_backward(
        self, forward: str, first: int, last: int, x: Leaf, made: Leaf, given: dict[tuple[int, int], Array]
    ) -> None:
        name = _backward_name(forward)
        parts = [g for (index, leaf), g in given.items() if first <= index < last and leaf == id(x)]
        grad = self.grads.get(id(made))
        if grad is None:
            return
        parent = self.parents[forward]
        self.parents[name] = _backward_name(parent) if parent else None
        output = [self.record(f"{name}.output.0", np.sum(parts, axis=0, dtype=np.float32))] if parts else []
        self.enter("module", name, input=[self.record(f"{name}.input.0", grad)], output=output)

    # -- the dump -------------------------------------------------------------------------------

    def write(self, folder: Path, level: str, mode: str, *, construct: bool = True) -> None:
        """dump.json, construct.json and the tensors of one rank."""
        kinds = {"L1": ("api",), "L0": ("module",), "mix": ("api", "module")}[level]
        names = [n for n in self.order if self.entries[n]["kind"] in kinds]
        (folder / "dump_tensor_data" if mode == "tensor" else folder).mkdir(parents=True, exist_ok=True)
        body = {n: self._body(self.entries[n], folder, mode) for n in names}
        task = "tensor" if mode == "tensor" else "statistics"
        header = {"task": task, "level": level, "framework": "pytorch", "dump_data_dir": None, "data": body}
        text = json.dumps(header).replace(
            ', "', ',\n "'
        )  # in lines, as msprobe's; `indent` is ten times as dear
        (folder / "dump.json").write_text(text)
        if construct:
            parents = {} if level == "L1" else self._parents(set(names))
            (folder / "construct.json").write_text(json.dumps(parents))

    def _parents(self, names: set[str]) -> dict[str, str | None]:
        return {name: parent for name, parent in self.parents.items() if name in names}

    def _body(self, entry: dict[str, Any], folder: Path, mode: str) -> dict[str, Any]:
        body: dict[str, Any] = {"input_kwargs": {}} if "input_args" in entry else {}
        for side, items in entry.items():
            if side == "parameters":
                body[side] = {key: self._tensor(item, folder, mode) for key, item in items.items()}
            elif side != "kind":
                body[side] = [self._tensor(x, folder, mode) if isinstance(x, str) else x for x in items]
        return body

    def _tensor(self, name: str, folder: Path, mode: str) -> dict[str, Any]:
        x = self.files[name]
        record: dict[str, Any] = {
            "type": "torch.Tensor",
            "dtype": f"torch.{x.dtype.name}",
            "shape": list(x.shape),
            **dict(zip(("Max", "Min", "Mean", "Norm"), statistics(x), strict=True)),
            "requires_grad": False,
        }
        if mode == "md5":
            record["md5"] = f"{zlib.crc32(np.ascontiguousarray(x).tobytes()):08x}"
        if mode == "tensor":
            record["data_name"] = f"{name}.npy"
            path = folder / "dump_tensor_data" / record["data_name"]
            buffer = io.BytesIO()
            np.save(buffer, x)
            path.write_bytes(buffer.getvalue())
        return record


def write_dump(folder: Path, data: dict[str, Any], *, level: str = "L1", task: str = "statistics") -> Path:
    """A dump.json of hand-made entries; returns its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    header = {"task": task, "level": level, "framework": "pytorch", "dump_data_dir": None, "data": data}
    (folder / "dump.json").write_text(json.dumps(header))
    return folder


def tensor(x: Any, dtype: str = "float32", **fields: Any) -> dict[str, Any]:
    """The record of a tensor in a statistics dump."""
    value = np.asarray(x, dtype)
    four = dict(zip(("Max", "Min", "Mean", "Norm"), statistics(value), strict=True))
    return {"type": "torch.Tensor", "dtype": f"torch.{dtype}", "shape": list(value.shape), **four, **fields}


def api(inputs: Sequence[Any], outputs: Sequence[Any], **kwargs: Any) -> dict[str, Any]:
    """The entry of a forward call."""
    return {"input_args": list(inputs), "input_kwargs": kwargs, "output": list(outputs)}


def number(value: Any) -> dict[str, Any]:
    return {"type": type(value).__name__, "value": value}


def statistics(x: Array) -> list[float | int | bool | None]:
    """Max, Min, Mean, Norm as version 26 records them: in the tensor's own precision, null for integers."""
    if x.dtype == bool:
        return [bool(x.any()), bool(x.all()), None, None]
    if x.dtype.kind in "iu":
        return [int(x.max()), int(x.min()), None, None]
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        mean, norm = np.array([wide.mean(), np.sqrt((wide * wide).sum())]).astype(x.dtype)
    return [float(x.max()), float(x.min()), float(mean), float(norm)]


def _backward_name(forward: str) -> str:
    return ".backward.".join(forward.rsplit(".forward.", 1))


# -- arithmetic ----------------------------------------------------------------------------------


def _times(k: float) -> Callable[[Array], Grads]:
    return lambda g: [np.asarray(g * np.float32(k)), None]


def _linear(x: Leaf, w: Leaf) -> Callable[[Array], Grads]:
    return lambda g: [g @ w.value, g.T @ x.value]


def _matmul(a: Leaf, b: Leaf) -> Callable[[Array], Grads]:
    return lambda g: [g @ b.value.T, a.value.T @ g]


def _matmul_t(a: Leaf, b: Leaf) -> Callable[[Array], Grads]:
    return lambda g: [g @ b.value, g.T @ a.value]


def _relu(x: Leaf) -> Callable[[Array], Grads]:
    return lambda g: [g * (x.value > 0)]


def _norm(x: Array, w: Array, eps: float) -> Array:
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(eps)) * w)


def _norm_backward(x: Leaf, w: Leaf) -> Callable[[Array], Grads]:
    def backward(g: Array) -> Grads:
        r = 1 / np.sqrt((x.value * x.value).mean(-1, keepdims=True) + np.float32(1e-6))
        h = g * w.value
        return [r * h - r**3 * x.value * (h * x.value).mean(-1, keepdims=True), (g * x.value * r).sum(0)]

    return backward


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def _softmax_backward(x: Leaf) -> Callable[[Array], Grads]:
    def backward(g: Array) -> Grads:
        s = _softmax(x.value)
        return [s * (g - (g * s).sum(-1, keepdims=True))]

    return backward


# -- running it ----------------------------------------------------------------------------------


def run_alone(
    fault: Fault,
    *,
    golden: bool,
    backward: bool = True,
    views: bool = False,
    empty: bool = False,
    **options: Any,
) -> Net:
    """One rank of one side, computed."""
    net = _net(fault, golden, **options)
    with np.errstate(all="ignore"):
        x = net.embed()
        if empty:
            x = net.through_an_empty_buffer(x)
        for i in range(net.n_layers):
            x = net.block(f"layers.{i}", x, views)
        output = net.linear("head", x, 23)
        if backward:
            net.backward(output)
    return net


def run_ranks(fault: Fault, at_rank: int, *, golden: bool, n_ranks: int = 2, **options: Any) -> list[Net]:
    """Ranks that reduce their activations after every layer; the fault is in one of them."""
    faults = [fault if rank == at_rank else Fault() for rank in range(n_ranks)]
    nets = [_net(f, golden, rank=rank, **options) for rank, f in enumerate(faults)]
    with np.errstate(all="ignore"):
        xs = [net.embed() for net in nets]
        for i in range(nets[0].n_layers):
            xs = [net.block(f"layers.{i}", x, False) for net, x in zip(nets, xs, strict=True)]
            # what is in the buffers when the collective runs
            mean = np.mean([x.value for x in xs], axis=0, dtype=np.float32)
            xs = [
                net.call("Distributed.all_reduce", lambda _, m=mean: m, [x])
                for net, x in zip(nets, xs, strict=True)
            ]
        for net, x in zip(nets, xs, strict=True):
            net.linear("head", x, 23)
    return nets


def run_pipeline(fault: Fault, at_rank: int, *, golden: bool, **options: Any) -> list[Net]:
    """Two ranks: the first sends its activations, the second receives them into a buffer."""
    nets = [
        _net(fault if rank == at_rank else Fault(), golden, rank=rank, n_layers=1, **options)
        for rank in (0, 1)
    ]
    with np.errstate(all="ignore"):
        x = nets[0].block("layers.0", nets[0].embed(), False)
        sent = nets[0].call("Distributed.send", lambda a, dst: a, [x, 1])
        got = nets[1].call("Distributed.recv", lambda a, src: a, [sent, 0], n_masked=1)
        nets[1].linear("head", nets[1].block("layers.1", got, False), 23)
    return nets


def _net(fault: Fault, golden: bool, **options: Any) -> Net:
    applies = not golden or fault.kind == "missing"
    if golden:
        options["ulp_noise"] = False
    return Net(fault if applies else Fault(), is_golden=golden, **options)
