"""A random job of several ranks, computed in numpy, that dumps itself as msprobe does; one fault, or none.

Everything is executed: forward, backward, gradient reduction, optimizer; the ranks run in lockstep, so what a
collective carries is what the peers really held. A fault changes one thing on one rank (a reduction: on every
rank of its group), and what follows from it follows from arithmetic. The truth is noted while it happens.

Values are kept as float32 numbers that the tensor's own type can hold: an operator computes in float32 and
rounds once, as a device with a float32 accumulator does.
"""

from __future__ import annotations

import gc
import io
import json
import math
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Grads = Sequence["Array | None"]
Rule = Callable[[list[Array]], Grads]

KINDS = ("overflow", "nan", "backward", "saturated", "masked_row", "reduce", "weight", "input")
_SHARES = (28, 22, 12, 8, 8, 8, 7, 7)
LEVELS = ("L1", "mix")
SUMMARIES = ("statistics", "md5", "tensor")
VARIANTS: dict[str, tuple[str, ...]] = {
    "overflow": (
        *("mul_scalar", "add_near_max", "add_inplace", "div_tiny", "exp_large", "cast", "sum", "matmul"),
        *("square", "linear_big"),
    ),
    "nan": (
        *(
            "log_negative",
            "sqrt_negative",
            "rsqrt_negative",
            "pow_negative",
            "zero_by_zero",
            "zero_by_scalar",
        ),
        *("norm_without_eps", "fmod_zero", "acos_beyond_one"),
    ),
    "backward": (
        *("sqrt_at_zero", "pow_at_zero", "mul_undone", "div_undone", "norm_at_zero", "log_of_tiny", "kernel"),
    ),
    "saturated": ("mul_scalar", "add_near_max", "add_inplace", "div_tiny", "matmul", "square", "linear_big"),
    "masked_row": ("masked_fill", "masked_fill_", "additive"),
    "reduce": ("all_reduce",),
    "weight": ("nan", "inf"),
    "input": ("network", "late"),
}
"""Each fault is one of its kind's variants, all equally likely."""

_HALF_ONLY = {"add_near_max", "add_inplace", "sum", "matmul", "mul_undone", "div_undone", "log_of_tiny"}
_MAX = {
    "float16": 65504.0,
    "bfloat16": float.fromhex("0x1.fep+127"),
    "float32": float(np.finfo(np.float32).max),
}
_MAX_BOUND = 5.0
_MAX_ATTEMPTS = 80
_EPS = 1e-5


# ---- what is handed out ------------------------------------------------------------------------


@dataclass(frozen=True)
class Truth:
    """What went wrong, where it began and whom it reached."""

    kind: str
    variant: str
    rank: int | tuple[int, ...]
    """A tuple only where the kind is 'reduce': every rank of the group."""
    step: int
    operator: str
    """The call that made the first bad value; 'weight' and 'input': the first call that read the bad one."""
    operators: dict[int, str]
    """The same per rank of origin: a reduction can be numbered differently on each."""
    first_bad: dict[int, str]
    """Rank -> its first call with a bad output; ranks that never had one are absent."""
    affected_ranks: tuple[int, ...]
    spread_by: str | None
    """The first communication that gave a bad value to a rank that had none, as named by the rank it left."""
    spread_names: dict[int, str]
    """The same communication as each rank that took part names it."""
    culprit: str | None
    """'weight' and 'input': the leaf that was bad when it arrived, as `{operator}.input.{i}`
    (`.input.{i}.{j}` inside a list)."""
    module: str | None
    """The innermost module entry around the operator; None at level L1 and outside of modules."""


@dataclass(frozen=True)
class Entry:
    """One key of dump.json: its sides hold `Tensor`s, raw JSON texts, None, lists and dicts of them."""

    name: str
    sides: dict[str, Any]


@dataclass
class Job:
    """The ranks' dumps, ready to be written."""

    seed: int
    n_ranks: int
    level: str
    summary: str
    truth: Truth | None
    entries: dict[int, list[Entry]]
    parents: dict[int, dict[str, str | None]]
    legal: dict[int, frozenset[str]]
    """Calls whose output is masked to -inf or finfo.min, or is an uninitialized buffer: no fault."""
    tensors: list[Tensor] = field(repr=False, default_factory=list)

    def names(self, rank: int) -> list[str]:
        return [entry.name for entry in self.entries[rank]]

    def write(self, folder: Path) -> Path:
        """step0/rank{r}/dump.json, construct.json, stack.json and the tensors; returns `folder`."""
        with _without_gc():
            _describe(self.tensors, self.summary)
            for rank in self.entries:
                self._write_rank(folder, rank)
        return folder

    def _write_rank(self, folder: Path, rank: int) -> None:
        place = folder / "step0" / f"rank{rank}"
        place.mkdir(parents=True, exist_ok=True)
        files = place / "dump_tensor_data" if self.summary == "tensor" else None
        if files is not None:
            files.mkdir(exist_ok=True)
        header = {
            "task": "tensor" if files is not None else "statistics",
            "level": self.level,
            "framework": "pytorch",
            "dump_data_dir": None if files is None else files.name,
        }
        head = json.dumps(header, indent=1)[:-2]
        body = ",\n".join([_entry_text(entry, files) for entry in self.entries[rank]])
        (place / "dump.json").write_text(f'{head},\n "data": {{\n{body}\n }}\n}}')
        parents = self.parents[rank] if self.level == "mix" else {}
        (place / "construct.json").write_text(_parents_text(parents))
        (place / "stack.json").write_text("{}")


def make_job(
    seed: int,
    *,
    n_operators: int = 200,
    n_ranks: int = 4,
    fault: str | None = None,
    level: str = "L1",
    summary: str = "statistics",
) -> Job:
    """A job of about `n_operators` forward calls per rank. `fault`: one of KINDS, or 'any', or None."""
    if level not in LEVELS or summary not in SUMMARIES or fault not in (None, "any", *KINDS):
        raise ValueError(f"no such level, summary or fault: {level}, {summary}, {fault}")
    kind = fault
    if fault == "any":
        kind = random.Random(f"kind/{seed}").choices(KINDS, _SHARES)[0]
        if kind == "reduce" and n_ranks == 1:
            kind = "overflow"
    if kind == "reduce" and n_ranks == 1:
        raise ValueError("a single rank reduces nothing")
    with _without_gc():
        for attempt in range(_MAX_ATTEMPTS):
            planted = None if kind is None else _Fault.random(kind, seed, attempt, n_operators, n_ranks)
            plan = attempt if kind is None else attempt // 16
            world = _World(f"{seed}/{plan}" if plan else f"{seed}", n_ranks, n_operators, level, planted)
            try:
                with np.errstate(all="ignore"):
                    world.run()
                return world.job(seed, level, summary)
            except _NotHereError:
                continue
            finally:
                world.ranks.clear()  # else only the collector would end what refers to itself
    raise RuntimeError(f"seed {seed}: no place for a fault of kind {kind}")


@contextmanager
def _without_gc() -> Iterator[None]:
    """All of the many objects stay: to look for garbage among them takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _NotHereError(Exception):
    """The fault did not show, or something else went wrong beside it: another place is tried."""


# ---- tensors -----------------------------------------------------------------------------------


class Tensor:
    """One value that never changes: an in-place operator makes another one."""

    __slots__ = ("bad", "data", "dtype", "legal", "needs_grad", "text")

    def __init__(self, data: Array, dtype: str, bad: bool, legal: Array | bool | None, needs_grad: bool):
        self.data = data
        self.dtype = dtype
        self.bad = bad
        """Holds a NaN or Inf that is no design (or, on a saturating device, a value at the limit)."""
        self.legal = legal
        """Where non-finite values belong: a mask, True for an uninitialized buffer, None for nowhere."""
        self.needs_grad = needs_grad
        self.text = ""


class _Raw(str):
    """JSON text as it stands at depth 4."""

    __slots__ = ()


def stored(tensor: Tensor) -> Array:
    """The elements in the tensor's own type."""
    if tensor.dtype == "float16":
        return tensor.data.astype(np.float16)
    if tensor.dtype == "bfloat16":
        return tensor.data.astype(ml_dtypes.bfloat16)
    return tensor.data


def _rounded(x: Array, dtype: str) -> Array:
    if dtype == "float16":
        return x.astype(np.float16).astype(np.float32)
    if dtype == "bfloat16":
        return x.astype(ml_dtypes.bfloat16).astype(np.float32)
    return x


def _is_bad(x: Array, legal: Array | bool | None) -> bool:
    if legal is True:
        return False
    if legal is not None:
        return bool(np.isnan(x).any() or (np.isinf(x) & ~np.asarray(legal)).any())
    if math.isfinite(np.add.reduce(x, axis=None)):
        return False
    return not np.isfinite(x).all()


def _absmax(x: Array) -> float:
    return float(np.abs(x).max())


# ---- the text of dump.json ---------------------------------------------------------------------

_WORDS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _describe(tensors: list[Tensor], summary: str) -> None:
    """Writes every tensor's record once, with statistics computed for all tensors of a size together."""
    groups: dict[tuple[str, tuple[int, ...]], list[Tensor]] = {}
    for tensor in tensors:
        if not tensor.text:
            groups.setdefault((tensor.dtype, tensor.data.shape), []).append(tensor)
    for (dtype, shape), members in groups.items():
        sizes = ",".join(f"\n      {n}" for n in shape)
        head = '{\n     "type": "torch.Tensor",\n     "dtype": "torch.' + dtype + '",\n     "shape": ['
        head += f"{sizes}\n     ],\n" if shape else "],\n"
        rows = _statistics(np.stack([t.data for t in members]).reshape(len(members), -1), dtype, shape)
        for tensor, (high, low, mean, norm) in zip(members, rows, strict=True):
            tail = "true" if tensor.needs_grad else "false"
            if summary == "md5":
                crc = zlib.crc32(np.ascontiguousarray(stored(tensor)).tobytes())
                tail = f'{tail},\n     "md5": "{crc:08x}"'
            tensor.text = (
                f'{head}     "Max": {high},\n     "Min": {low},\n     "Mean": {mean},\n     "Norm": {norm},\n'
                f'     "requires_grad": {tail}\n    }}'
            )


def _statistics(x: Array, dtype: str, shape: tuple[int, ...]) -> list[tuple[str, ...]]:
    """Max, Min, Mean, Norm of each row as text; Mean and Norm in the tensor's own type, null for integers."""
    if dtype in ("int64", "bool"):
        four = [[json.dumps(v) for v in column.tolist()] for column in (x.max(1), x.min(1))]
        return [(high, low, "null", "null") for high, low in zip(*four, strict=True)]
    with np.errstate(all="ignore"):
        columns = [x.max(1), x.min(1), x.mean(1), np.sqrt((x * x).sum(1))]
    if not shape:
        columns[2:] = columns[0], columns[0]
    with np.errstate(all="ignore"):
        columns[2:] = [_rounded(column, dtype) for column in columns[2:]]
    words = [list(map(repr, column.astype(np.float64).tolist())) for column in columns]
    rows = list(zip(*words, strict=True))
    if all(np.isfinite(column).all() for column in columns):
        return rows
    return [tuple(_WORDS.get(word, word) for word in row) for row in rows]


def _parents_text(parents: dict[str, str | None]) -> str:
    lines = [f' "{child}": ' + ("null" if p is None else f'"{p}"') for child, p in parents.items()]
    return "{\n" + ",\n".join(lines) + "\n}" if lines else "{}"


def _entry_text(entry: Entry, files: Path | None) -> str:
    sides = []
    for key, side in entry.sides.items():
        if files is None and side and type(side) is list:
            items = [x.text if type(x) is Tensor else _text(x, 4, "", None) for x in side]
            sides.append(f'   "{key}": [\n    ' + ",\n    ".join(items) + "\n   ]")
            continue
        leaf = ""
        if files is not None:
            word = {"input_args": "input", "input_kwargs": "kwargs"}.get(key, key)
            leaf = f"{entry.name}.{word}"
            if key not in ("input_args", "input_kwargs", "input", "output", "parameters"):
                leaf = f"{entry.name}.{key}"  # a parameter's gradient stands alone in its list
        sides.append(f'   "{key}": {_text(side, 3, leaf, files)}')
    return f'  "{entry.name}": {{\n' + ",\n".join(sides) + "\n  }"


def _text(value: Any, depth: int, leaf: str, files: Path | None) -> str:
    kind = type(value)
    if kind is Tensor or kind is _Raw:
        text: str = value.text if kind is Tensor else value
        if files is not None and kind is Tensor:
            text = f'{text[:-6]},\n     "data_name": "{_save(value, leaf, files)}"\n    }}'
        return text if depth == 4 else text.replace("\n", "\n" + " " * (depth - 4))
    if value is None:
        return "null"
    inner, pad = depth + 1, " " * (depth + 1)
    if kind is list:
        items = [
            _text(x, inner, f"{leaf}.{i}" if files is not None else leaf, files) for i, x in enumerate(value)
        ]
        opening, closing = "[]"
    else:
        items = [f'"{k}": {_text(x, inner, f"{leaf}.{k}", files)}' for k, x in value.items()]
        opening, closing = "{}"
    if not items:
        return opening + closing
    return f"{opening}\n{pad}" + f",\n{pad}".join(items) + f"\n{pad[1:]}{closing}"


def _save(tensor: Tensor, leaf: str, files: Path) -> str:
    """bfloat16 is saved as float32, as numpy knows no other way."""
    if ".parameters_grad." in leaf:
        leaf = leaf.removesuffix(".0")
    buffer = io.BytesIO()
    np.save(buffer, tensor.data if tensor.dtype == "bfloat16" else stored(tensor))
    (files / f"{leaf}.npy").write_bytes(buffer.getvalue())
    return f"{leaf}.npy"


def _raw(value: Any) -> _Raw:
    return _Raw(json.dumps(value, indent=1).replace("\n", "\n" + " " * 4))


_SCALARS: dict[tuple[str, str], _Raw] = {}


def _scalar(value: bool | int | float | str) -> _Raw:
    key = type(value).__name__, repr(value)
    if key not in _SCALARS:
        _SCALARS[key] = _raw({"type": key[0], "value": value})
    return _SCALARS[key]


def _group_record(group: tuple[int, ...]) -> _Raw:
    ranks = list(group)
    number = f"{zlib.crc32(str(ranks).encode()):08x}"
    return _raw({"type": "torch.ProcessGroup", "group_ranks": ranks, "group_id": number})


def _reduce_record(how: str) -> _Raw:
    printed = {"sum": "<RedOpType.SUM: 0>", "max": "<RedOpType.MAX: 4>"}[how]
    return _raw({"type": "torch.distributed.ReduceOp", "value": printed})


# ---- the fault ---------------------------------------------------------------------------------


@dataclass
class _Fault:
    """Where the fault is to be planted, and, once it is, under which names."""

    kind: str
    variant: str
    rank: int
    at: int
    """Not before this many forward calls of the rank."""
    share: float
    """The same for a fault that only the backward knows: the part of it that goes well."""
    rng: random.Random
    half_only: bool
    operators: dict[int, str] = field(default_factory=dict)
    modules: dict[int, str | None] = field(default_factory=dict)
    bad: Tensor | None = None
    """The weight or input that arrives bad."""
    culprit: str | None = None
    seen: bool = False

    @staticmethod
    def random(kind: str, seed: int, attempt: int, n_operators: int, n_ranks: int) -> _Fault:
        rng = random.Random(f"fault/{kind}/{seed}/{attempt}")
        variant = rng.choice(VARIANTS[kind])
        share = rng.random()
        half_only = kind in ("saturated", "reduce") or variant in _HALF_ONLY or rng.random() < 0.7
        last = n_operators * (0.96 if attempt < 4 else 0.7)
        return _Fault(kind, variant, rng.randrange(n_ranks), int(share * last), share, rng, half_only)

    @property
    def planted(self) -> bool:
        return bool(self.operators)


# ---- one rank ----------------------------------------------------------------------------------


@dataclass
class _Step:
    """One call on the tape. A name of None: the gradient passes, but nothing is recorded."""

    name: str | None
    wrt: Sequence[Tensor]
    outputs: Sequence[Tensor]
    rule: Rule
    tainted: bool


@dataclass
class _Span:
    """A module's call: which part of the tape is its own."""

    name: str
    first: int
    x: Tensor
    last: int = -1
    y: Tensor | None = None
    parameters: dict[str, Tensor] = field(default_factory=dict)
    grad: Tensor | None = None
    incoming: Tensor | None = None


class _Rank:
    """One rank: executes, and keeps what the hooks of msprobe would have seen."""

    def __init__(self, world: _World, rank: int) -> None:
        self.world = world
        self.rank = rank
        self.fault = world.fault if world.fault is not None and world.fault.rank == rank else None
        self.entries: list[Entry] = []
        self.parents: dict[str, str | None] = {}
        self.legal: set[str] = set()
        self.calls: Counter[str] = Counter()
        self.n_ops = 0
        self.slots: list[Tensor] = []
        self.stack: list[str] = []
        self.tape: list[_Step] = []
        self.spans: list[_Span] = []
        self.own_params: dict[str, Tensor] = {}
        self.first_use: dict[str, int] = {}
        self.first_bad: str | None = None
        self.is_planting = False
        self.is_leaf_open = False
        self.expects = ""
        self.grads: dict[int, Tensor] = {}
        self.open_spans: list[_Span] = []
        self.position = 0

    # -- recording ---------------------------------------------------------------------------

    def name_call(self, api: str) -> str:
        number = self.calls[api]
        self.calls[api] = number + 1
        self.n_ops += 1
        name = f"{api}.{number}.forward"
        if self.world.is_mix:
            self.parents[name] = self.stack[-1] if self.stack else None
        return name

    def call(
        self,
        api: str,
        args: list[Any],
        outputs: list[Array],
        rule: Rule | None = None,
        *,
        wrt: Sequence[Tensor] | None = None,
        kwargs: dict[str, Any] | None = None,
        dtype: str | None = None,
        legal: Array | bool | None = None,
    ) -> list[Tensor]:
        """One forward call: what it was given, what it made; its rule makes the gradients of `wrt`."""
        world = self.world
        name = self.name_call(api)
        tensors = [a for a in args if type(a) is Tensor]
        for a in args:
            if type(a) is list:
                tensors.extend(x for x in a if type(x) is Tensor)
        is_input_bad = any([t.bad for t in tensors])
        makes_grad = rule is not None and any([t.needs_grad for t in tensors])
        kind = dtype or tensors[0].dtype
        made = [world.tensor(x, kind, legal, makes_grad) for x in outputs]
        is_output_bad = any([t.bad for t in made])
        shown = [a if type(a) in _SHOWN else _scalar(a) for a in args]
        sides = {"input_args": shown, "input_kwargs": kwargs or {}, "output": made}
        self.entries.append(Entry(name, sides))
        if makes_grad:
            assert rule is not None
            wrt = tensors if wrt is None else wrt
            self.tape.append(_Step(name, wrt, made, rule, is_input_bad or is_output_bad))
        if legal is not None and (legal is True or np.any(legal)):
            self.legal.add(name)
        if self.expects:
            self._expected(name, is_input_bad, is_output_bad)
        if is_output_bad:
            if self.first_bad is None:
                self.first_bad = name
            if not is_input_bad:
                world.begins_at(self.rank, name)
        if self.fault is not None and self.fault.bad is not None and self.fault.culprit is None:
            self._reads_bad(name, args, is_output_bad)
        return made

    def op(self, api: str, args: list[Any], output: Array, rule: Rule | None = None, **more: Any) -> Tensor:
        """A call with one output; the fault may stand behind it."""
        return self.behind(self.call(api, args, [output], rule, **more)[0])

    def behind(self, made: Tensor) -> Tensor:
        """Where the fault may stand: behind any call with one output, but not inside a leaf module."""
        fault = self.fault
        if (
            fault is None
            or fault.planted
            or self.n_ops < fault.at
            or self.is_planting
            or self.is_leaf_open
            or fault.variant not in _INSERTED
            or fault.kind in ("masked_row", "reduce", "weight", "input")
            or made.legal is not None
            or made.data.ndim != 2
            or made.data.size < 4
            or made.dtype not in _MAX
            or (fault.half_only and made.dtype != "float16")
        ):
            return made
        self.is_planting = True
        changed = _INSERTED[fault.variant](self, made, fault.rng)
        self.is_planting = False
        return made if changed is None else changed

    def expect(self, direction: str = "forward") -> None:
        """The next call is the one that goes wrong, now or in its backward."""
        self.expects = direction

    def _expected(self, name: str, is_input_bad: bool, is_output_bad: bool) -> None:
        assert self.fault is not None
        is_forward, self.expects = self.expects == "forward", ""
        if is_input_bad or is_output_bad != is_forward:
            raise _NotHereError
        self.fault.operators[self.rank] = name if is_forward else name.replace(".forward", ".backward")
        self.fault.modules[self.rank] = self.stack[-1] if self.stack else None

    def _reads_bad(self, name: str, args: list[Any], is_output_bad: bool) -> None:
        fault = self.fault
        assert fault is not None
        places = {str(i): a for i, a in enumerate(args)}
        places |= {f"{i}.{j}": x for i, a in enumerate(args) if type(a) is list for j, x in enumerate(a)}
        for place, a in places.items():
            if a is fault.bad:
                if not is_output_bad:
                    raise _NotHereError
                fault.operators[self.rank] = name
                fault.modules[self.rank] = self.stack[-1] if self.stack else None
                fault.culprit = f"{name}.input.{place}"
                fault.seen = True
                return

    # -- modules -----------------------------------------------------------------------------

    def open(self, path: str, cls: str, x: Tensor) -> _Span:
        key = f"Module.{path}.{cls}.forward"
        number = self.calls[key]
        self.calls[key] = number + 1
        name = f"{key}.{number}"
        if self.world.is_mix:
            self.parents[name] = self.stack[-1] if self.stack else None
            self.stack.append(name)
        return _Span(name, len(self.tape), x)

    def close(self, span: _Span, y: Tensor, parameters: dict[str, Tensor]) -> None:
        if not self.world.is_mix:
            return
        self.stack.pop()
        sides = {"input_args": [span.x], "input_kwargs": {}, "output": [y], "parameters": parameters}
        self.entries.append(Entry(span.name, sides))
        span.last, span.y, span.parameters = len(self.tape), y, parameters
        if span.last > span.first:
            self.spans.append(span)

    def param(self, path: str, shape: tuple[int, ...], dtype: str) -> Tensor:
        self.first_use.setdefault(path, len(self.tape))
        if path in self.own_params:
            return self.own_params[path]
        weight = self.world.param(path, shape, dtype)
        fault = self.fault
        if fault is not None and fault.kind == "weight" and fault.bad is None and self.n_ops >= fault.at:
            damaged = weight.data.copy()
            value = np.nan if fault.variant == "nan" else fault.rng.choice([np.inf, -np.inf])
            count = damaged.size if fault.rng.random() < 0.2 else 1
            damaged.reshape(-1)[fault.rng.sample(range(damaged.size), count)] = value
            weight = fault.bad = self.own_params[path] = self.world.tensor(damaged, dtype, None, True)
        return weight

    # -- operators ---------------------------------------------------------------------------

    def linear(self, path: str, x: Tensor, n_out: int, has_bias: bool = True) -> Tensor:
        span = self.open(path, "Linear", x)
        w = self.param(f"{path}.weight", (n_out, x.data.shape[-1]), x.dtype)
        b = self.param(f"{path}.bias", (n_out,), x.dtype) if has_bias else None
        w = self._bigger(path, x, w, b)
        parameters = {"weight": w} if b is None else {"weight": w, "bias": b}
        y = x.data @ w.data.T
        if b is not None:
            y = y + b.data

        def rule(gs: list[Array]) -> Grads:
            g = gs[0]
            both = [g @ w.data if x.needs_grad else None, x.data.T @ g]
            return both if b is None else [g.sum(0), *both]

        wrt = (x, w) if b is None else (b, x, w)
        self.is_leaf_open = True
        made = self.op("Functional.linear", [x, w, b], y, rule, wrt=wrt)
        self.is_leaf_open = False
        self.close(span, made, parameters)
        return self.behind(made)

    def _bigger(self, path: str, x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
        """The weights of a linear that overflows: finite, and large."""
        fault = self.fault
        if fault is None or fault.planted or fault.variant != "linear_big" or self.n_ops < fault.at:
            return w
        if x.dtype != "float16" or x.bad or w.bad:
            return w
        big = _rounded(w.data * np.float32(fault.rng.uniform(2e4, 6e4) / _absmax(w.data)), "float16")
        if _absmax(x.data @ big.T) < 1.1 * _MAX["float16"]:
            return w
        self.own_params[f"{path}.weight"] = grown = self.world.tensor(big, "float16", None, True)
        self.expect()
        return grown

    def layer_norm(self, path: str, x: Tensor, *, eps: float = _EPS, is_rms: bool = False) -> Tensor:
        cls = "RMSNorm" if is_rms else "LayerNorm"
        span = self.open(path, cls, x)
        n = x.data.shape[-1]
        w = self.param(f"{path}.weight", (n,), x.dtype)
        b = None if is_rms else self.param(f"{path}.bias", (n,), x.dtype)
        self.is_leaf_open = True
        made = self.raw_norm(x, w, b, eps)
        self.is_leaf_open = False
        self.close(span, made, {"weight": w} if b is None else {"weight": w, "bias": b})
        return self.behind(made)

    def raw_norm(self, x: Tensor, w: Tensor, b: Tensor | None, eps: float) -> Tensor:
        n = np.float32(x.data.shape[-1])
        c = x.data if b is None else x.data - np.add.reduce(x.data, -1, keepdims=True) / n
        r = 1 / np.sqrt(np.add.reduce(c * c, -1, keepdims=True) / n + np.float32(eps))
        hat = c * r

        def rule(gs: list[Array]) -> Grads:
            g = gs[0]
            h = g * w.data
            along = np.add.reduce(h * hat, -1, keepdims=True) / n
            inner = h - hat * along
            if b is not None:
                inner = inner - np.add.reduce(h, -1, keepdims=True) / n
            gx = np.minimum(r, np.float32(2)) * inner  # bounded: a nearly constant row must not explode
            return [gx, (g * hat).sum(0)] if b is None else [gx, (g * hat).sum(0), g.sum(0)]

        y = hat * w.data
        if b is None:
            args: list[Any] = [x, w, eps]
            return self.call("NPU.npu_rms_norm", args, [y, r], lambda gs: rule(gs))[0]
        args = [x, [_scalar(int(n))], w, b, eps]
        return self.op("Functional.layer_norm", args, y + b.data, rule)

    def embedding(self, path: str, ids: Tensor, n_rows: int, n: int, dtype: str) -> Tensor:
        span = self.open(path, "Embedding", ids)
        w = self.param(f"{path}.weight", (n_rows, n), dtype)

        def rule(gs: list[Array]) -> Grads:
            made = np.zeros_like(w.data)
            np.add.at(made, ids.data, gs[0])
            return [made]

        args = [ids, w, None, None, 2.0, False, False]
        self.is_leaf_open = True
        y = self.op("Functional.embedding", args, w.data[ids.data], rule, wrt=(w,), dtype=dtype)
        self.is_leaf_open = False
        self.close(span, y, {"weight": w})
        return self.behind(y)

    def add(self, a: Tensor, b: Tensor, api: str = "Tensor.__add__") -> Tensor:
        sa, sb = a.data.shape, b.data.shape
        return self.op(api, [a, b], a.data + b.data, lambda gs: [_fit(gs[0], sa), _fit(gs[0], sb)])

    def sub(self, a: Tensor, b: Tensor, api: str = "Tensor.__sub__") -> Tensor:
        sa, sb = a.data.shape, b.data.shape
        return self.op(api, [a, b], a.data - b.data, lambda gs: [_fit(gs[0], sa), _fit(-gs[0], sb)])

    def mul(self, a: Tensor, b: Tensor, api: str = "Tensor.__mul__") -> Tensor:
        def rule(gs: list[Array]) -> Grads:
            return [_fit(gs[0] * b.data, a.data.shape), _fit(gs[0] * a.data, b.data.shape)]

        return self.op(api, [a, b], a.data * b.data, rule)

    def times(self, x: Tensor, k: float | int, api: str = "Tensor.__mul__") -> Tensor:
        f = np.float32(k)
        return self.op(api, [x, k], x.data * f, lambda gs: [gs[0] * f, None])

    def over(self, x: Tensor, k: float | int, api: str = "Tensor.__truediv__") -> Tensor:
        f = np.float32(k)
        return self.op(api, [x, k], x.data / f, lambda gs: [gs[0] / f, None])

    def div(self, a: Tensor, b: Tensor, api: str = "Tensor.__truediv__") -> Tensor:
        def rule(gs: list[Array]) -> Grads:
            ga = gs[0] / b.data
            return [ga, -ga * a.data / b.data]

        return self.op(api, [a, b], a.data / b.data, rule)

    def relu(self, x: Tensor) -> Tensor:
        kwargs = {"inplace": _scalar(False)}
        keep = ~(x.data <= 0)  # of NaN too
        rule: Rule = lambda gs: [gs[0] * keep]  # noqa: E731
        return self.op("Functional.relu", [x], np.maximum(x.data, np.float32(0)), rule, kwargs=kwargs)

    def activation(self, x: Tensor, which: str) -> Tensor:
        if which == "relu":
            return self.relu(x)
        slope = np.float32(1.702) if which == "gelu" else np.float32(1)
        s = 1 / (1 + np.exp(-slope * x.data))

        def rule(gs: list[Array]) -> Grads:
            return [gs[0] * (s + slope * x.data * s * (1 - s))]

        return self.op(f"Functional.{which}", [x], x.data * s, rule)

    def sigmoid(self, x: Tensor, api: str = "Torch.sigmoid") -> Tensor:
        y = 1 / (1 + np.exp(-x.data))
        return self.op(api, [x], y, lambda gs: [gs[0] * y * (1 - y)])

    def tanh(self, x: Tensor) -> Tensor:
        y = np.tanh(x.data)
        return self.op("Torch.tanh", [x], y, lambda gs: [gs[0] * (1 - y * y)])

    def exp(self, x: Tensor) -> Tensor:
        y = np.exp(x.data)
        return self.op("Torch.exp", [x], y, lambda gs: [gs[0] * y])

    def log(self, x: Tensor) -> Tensor:
        return self.op("Torch.log", [x], np.log(x.data), lambda gs: [gs[0] / x.data])

    def sqrt(self, x: Tensor) -> Tensor:
        y = np.sqrt(x.data)
        return self.op("Torch.sqrt", [x], y, lambda gs: [gs[0] / (2 * y)])

    def rsqrt(self, x: Tensor) -> Tensor:
        y = 1 / np.sqrt(x.data)
        return self.op("Torch.rsqrt", [x], y, lambda gs: [-gs[0] * y * y * y / 2])

    def power(self, x: Tensor, k: float | int, api: str = "Tensor.__pow__") -> Tensor:
        f = np.float32(k)

        def rule(gs: list[Array]) -> Grads:
            return [gs[0] * (f * np.power(x.data, f - 1)), None]

        return self.op(api, [x, k], np.power(x.data, f), rule)

    def absolute(self, x: Tensor) -> Tensor:
        return self.op("Torch.abs", [x], np.abs(x.data), lambda gs: [gs[0] * np.sign(x.data)])

    def clamp(self, x: Tensor, low: float, high: float | None) -> Tensor:
        kwargs = {"min": _scalar(low)}
        y, inside = np.maximum(x.data, np.float32(low)), ~(x.data < low)
        if high is not None:
            kwargs["max"] = _scalar(high)
            y, inside = np.minimum(y, np.float32(high)), inside & ~(x.data > high)
        return self.op("Torch.clamp", [x], y, lambda gs: [gs[0] * inside], kwargs=kwargs)

    def matmul(self, a: Tensor, b: Tensor, api: str = "Torch.matmul") -> Tensor:
        def rule(gs: list[Array]) -> Grads:
            return [gs[0] @ b.data.swapaxes(-1, -2), a.data.swapaxes(-1, -2) @ gs[0]]

        return self.op(api, [a, b], a.data @ b.data, rule)

    def transpose(self, x: Tensor, i: int, j: int) -> Tensor:
        def rule(gs: list[Array]) -> Grads:
            return [np.ascontiguousarray(gs[0].swapaxes(i, j))]

        return self.op("Tensor.transpose", [x, i, j], np.ascontiguousarray(x.data.swapaxes(i, j)), rule)

    def view(self, x: Tensor, shape: tuple[int, ...], api: str = "Tensor.view") -> Tensor:
        before = x.data.shape
        return self.op(api, [x, *shape], x.data.reshape(shape), lambda gs: [gs[0].reshape(before)])

    def view_as(self, x: Tensor, other: Tensor) -> Tensor:
        return self.op("Tensor.view_as", [x, other], x.data, lambda gs: [gs[0]], wrt=(x,))

    def contiguous(self, x: Tensor, api: str = "Tensor.contiguous") -> Tensor:
        return self.op(api, [x], x.data, lambda gs: [gs[0]])

    def to(self, x: Tensor, dtype: str, how: str = "to") -> Tensor:
        if how == "method":
            api = {"float16": "Tensor.half", "bfloat16": "Tensor.bfloat16", "float32": "Tensor.float"}[dtype]
            return self.op(api, [x], x.data, lambda gs: [gs[0]], dtype=dtype)
        if how == "to":
            return self.op("Tensor.to", [x, _raw({})], x.data, lambda gs: [gs[0]], dtype=dtype)
        kwargs = {"dtype": _raw({"type": "torch.dtype", "value": f"torch.{dtype}"})}
        return self.op("Tensor.to", [x], x.data, lambda gs: [gs[0]], dtype=dtype, kwargs=kwargs)

    def dropout(self, x: Tensor, keep: Array | None) -> Tensor:
        """`keep` None: as in evaluation, it only passes the value on."""
        p, is_training = (0.1, True) if keep is not None else (0.0, False)
        f = np.float32(1) if keep is None else keep.astype(np.float32) / np.float32(0.9)
        args = [x, p, is_training, False]
        return self.op("Functional.dropout", args, x.data * f, lambda gs: [gs[0] * f])

    def softmax(self, x: Tensor, dim: int = -1) -> Tensor:
        e = np.exp(x.data - np.maximum.reduce(x.data, dim, keepdims=True))
        y = e / np.add.reduce(e, dim, keepdims=True)

        def rule(gs: list[Array]) -> Grads:
            return [y * (gs[0] - np.add.reduce(gs[0] * y, dim, keepdims=True))]

        return self.op("Functional.softmax", [x], y, rule, kwargs={"dim": _scalar(dim)})

    def masked_fill(self, x: Tensor, mask: Tensor, value: float, api: str = "Tensor.masked_fill") -> Tensor:
        y = np.where(mask.data, np.float32(value), x.data)
        rule: Rule = lambda gs: [np.where(mask.data, np.float32(0), gs[0])]  # noqa: E731
        return self.op(api, [x, mask, value], y, rule, wrt=(x,), legal=mask.data)

    def where(self, mask: Tensor, a: Tensor, b: Tensor) -> Tensor:
        def rule(gs: list[Array]) -> Grads:
            zero = np.float32(0)
            return [np.where(mask.data, gs[0], zero), np.where(mask.data, zero, gs[0])]

        y = np.where(mask.data, a.data, b.data)
        return self.op("Torch.where", [mask, a, b], y, rule, wrt=(a, b), dtype=a.dtype)

    def cat(self, parts: list[Tensor], dim: int) -> Tensor:
        cuts = np.cumsum([p.data.shape[dim] for p in parts])[:-1]
        y = np.concatenate([p.data for p in parts], dim)
        rule: Rule = lambda gs: np.split(gs[0], cuts, dim)  # noqa: E731
        return self.op("Torch.cat", [list(parts)], y, rule, kwargs={"dim": _scalar(dim)})

    def stacked(self, parts: list[Tensor]) -> Tensor:
        y = np.stack([p.data for p in parts])
        return self.op("Torch.stack", [list(parts)], y, lambda gs: list(gs[0]))

    def chunk(self, x: Tensor, n: int, dim: int, api: str = "Torch.chunk") -> list[Tensor]:
        size = n if api == "Torch.chunk" else x.data.shape[dim] // n
        parts = [np.ascontiguousarray(part) for part in np.split(x.data, n, dim)]
        rule: Rule = lambda gs: [np.concatenate(gs, dim)]  # noqa: E731
        return self.call(api, [x, size], parts, rule, kwargs={"dim": _scalar(dim)})

    def along(self, x: Tensor, which: str, dim: int, api: str, keeps: bool = True) -> Tensor:
        n = x.data.shape[dim]
        f = np.float32(1 / n if which == "mean" else 1)
        shape = x.data.shape

        def rule(gs: list[Array]) -> Grads:
            g = gs[0] if keeps else np.expand_dims(gs[0], dim)
            return [np.broadcast_to(g * f, shape)]

        y = x.data.sum(dim, keepdims=keeps) * f
        kwargs = {"dim": _scalar(dim), "keepdim": _scalar(keeps)}
        return self.op(api, [x], y, rule, kwargs=kwargs)

    def mean_of_all(self, x: Tensor) -> Tensor:
        f, shape = np.float32(1 / x.data.size), x.data.shape
        y = np.add.reduce(x.data, axis=None) * f
        return self.op("Tensor.mean", [x], y, lambda gs: [np.full(shape, gs[0] * f, np.float32)])

    def norm_of_all(self, x: Tensor) -> Tensor:
        y = np.sqrt((x.data * x.data).sum())
        return self.op("Torch.norm", [x], y, lambda gs: [gs[0] * x.data / y])

    def rows(self, x: Tensor, order: Tensor, api: str) -> Tensor:
        """The rows in another order: as index_select, or as gather with an index per element."""
        index = order.data if order.data.ndim == 1 else order.data[:, 0]
        back = np.argsort(index)
        rule: Rule = lambda gs: [gs[0][back]]  # noqa: E731
        return self.op(api, [x, 0, order], x.data[index], rule, wrt=(x,))

    def add_(self, x: Tensor, other: Tensor, alpha: float | None = None) -> Tensor:
        f = np.float32(1 if alpha is None else alpha)
        kwargs = {} if alpha is None else {"alpha": _scalar(alpha)}
        y = x.data + other.data * f
        return self.op("Tensor.add_", [x, other], y, lambda gs: [gs[0], gs[0] * f], kwargs=kwargs)

    def empty_like(self, x: Tensor, garbage: Array) -> Tensor:
        return self.op("Torch.empty_like", [x], garbage, dtype=x.dtype, legal=True)

    def copy_(self, buffer: Tensor, source: Tensor) -> Tensor:
        return self.op("Tensor.copy_", [buffer, source], source.data, lambda gs: [None, gs[0]])

    def zero_(self, buffer: Tensor) -> Tensor:
        return self.op("Tensor.zero_", [buffer], np.zeros_like(buffer.data))

    # -- the backward ------------------------------------------------------------------------

    def start_backward(self, loss: Tensor) -> None:
        self.grads[id(loss)] = self.world.tensor(np.ones((), np.float32), loss.dtype, None, False)
        self.position = len(self.tape)
        self.ends: dict[int, list[_Span]] = {}
        self.begins: dict[int, list[_Span]] = {}
        for span in self.spans:  # closed inner before outer
            self.ends.setdefault(span.last, []).append(span)
            self.begins.setdefault(span.first, []).append(span)

    def run_backward(self, until: int) -> None:
        while self.position > until:
            for span in reversed(self.ends.get(self.position, ())):
                self.open_spans.append(span)
                span.incoming = self.grads.get(id(span.y))
            self.position -= 1
            step = self.tape[self.position]
            given = [self.grads.get(id(t)) for t in step.outputs]
            if any(given):
                self._step_backward(step, given)
            for span in self.begins.get(self.position, ()):
                self._module_backward(span)

    def _step_backward(self, step: _Step, given: list[Tensor | None]) -> None:
        filled = [
            np.zeros(t.data.shape, np.float32) if g is None else g.data
            for t, g in zip(step.outputs, given, strict=True)
        ]
        results = list(step.rule(filled))
        self._kernel_fault(step, given, results)
        made: list[Tensor | None] = [None] * len(results)
        for i, (t, g) in enumerate(zip(step.wrt, results, strict=False)):
            if g is not None and t.needs_grad:
                made[i] = self.world.tensor(g, t.dtype, None, False)
        is_input_bad = any([g is not None and g.bad for g in given])
        is_output_bad = any([g is not None and g.bad for g in made])
        if step.name is not None:
            name = step.name.replace(".forward", ".backward")
            self.entries.append(Entry(name, {"input": given, "output": made}))
            if self.world.is_mix:
                self.parents[name] = self._open_backward()
            if self.fault is not None and self.fault.operators.get(self.rank) == name:
                self.fault.modules[self.rank] = self._open_backward()
            if is_output_bad and self.first_bad is None:
                self.first_bad = name
            if is_output_bad and not is_input_bad and not step.tainted:
                self.world.begins_at(self.rank, name)
        elif is_output_bad and not is_input_bad:
            raise _NotHereError
        for t, grad in zip(step.wrt, made, strict=False):
            if grad is not None:
                self._accumulate(t, grad)

    def _kernel_fault(self, step: _Step, given: list[Tensor | None], results: list[Array | None]) -> None:
        """A backward kernel whose product grows beyond the type: any of those that multiply."""
        fault = self.fault
        if fault is None or fault.planted or fault.variant != "kernel" or step.name is None or step.tainted:
            return
        if self.position > (1 - fault.share) * len(self.tape):
            return
        if step.name.split(".")[1] not in _MULTIPLYING or any(g is not None and g.bad for g in given):
            return
        for i, (t, g) in enumerate(zip(step.wrt, results, strict=False)):
            if g is None or not t.needs_grad or not _absmax(g) > 1e-20:
                continue
            factor = np.float64(fault.rng.uniform(2, 50) * _MAX[t.dtype] / _absmax(g))
            results[i] = (g * factor).astype(np.float32)
            fault.operators[self.rank] = step.name.replace(".forward", ".backward")
            return

    def _accumulate(self, t: Tensor, grad: Tensor) -> None:
        self.grads[id(t)] = self._sum(self.grads.get(id(t)), grad)
        for span in self.open_spans:
            if span.x is t:
                span.grad = self._sum(span.grad, grad)

    def _sum(self, old: Tensor | None, new: Tensor) -> Tensor:
        """What autograd adds up by itself, unrecorded: no fault may begin here."""
        if old is None:
            return new
        total = self.world.tensor(old.data + new.data, new.dtype, None, False)
        if total.bad and not old.bad and not new.bad:
            raise _NotHereError
        return total

    def _module_backward(self, span: _Span) -> None:
        if span not in self.open_spans:
            return
        self.open_spans.remove(span)
        if span.incoming is None:
            return
        name = _backward_name(span.name)
        self.parents[name] = self._open_backward()
        grads = {k: self.grads.get(id(p)) for k, p in reversed(span.parameters.items())}
        if grads and all(grads.values()):
            owner = span.name.replace(".forward.", ".parameters_grad.")
            self.entries.append(Entry(owner, {k: [g] for k, g in grads.items()}))
        if span.x is span.y:
            span.grad = span.incoming
        made = [span.grad] if span.grad is not None else []
        self.entries.append(Entry(name, {"input": [span.incoming], "output": made}))

    def _open_backward(self) -> str | None:
        """The innermost module whose backward runs: one that no gradient reached never does."""
        for span in reversed(self.open_spans):
            if span.incoming is not None:
                return _backward_name(span.name)
        return None

    def grad_of(self, path: str) -> Tensor | None:
        weight = self.own_params.get(path) or self.world.params.get(path)
        if weight is None or self.first_use.get(path, -1) < self.position:
            return None
        return self.grads.get(id(weight))


_SHOWN = (Tensor, _Raw, list, type(None))
_MULTIPLYING = {"linear", "matmul", "bmm", "layer_norm", "softmax", "__mul__", "mul", "gelu", "silu", "exp"}


def _fit(g: Array, shape: tuple[int, ...]) -> Array:
    """The gradient of a value that was broadcast."""
    if g.shape == shape:
        return g
    if not shape:
        return np.asarray(g.sum())
    axes = tuple(i for i, (a, b) in enumerate(zip(g.shape, shape, strict=True)) if a != b)
    return np.asarray(g.sum(axes, keepdims=True))


def _backward_name(module: str) -> str:
    return ".backward.".join(module.rsplit(".forward.", 1))


# ---- faults that are more calls ----------------------------------------------------------------
# Each gets a value and returns another of its shape and type; or None where it cannot work.

_Inserted = Callable[[_Rank, Tensor, random.Random], "Tensor | None"]


def _grown(r: _Rank, x: Tensor, share: float) -> Tensor | None:
    """Scaled, and still finite: the largest element reaches `share` of what the type holds."""
    size = _absmax(x.data)
    if not size > 0.01:
        return None
    factor = share * _MAX[x.dtype] / size
    return r.times(x, float(f"{factor:.4g}")) if factor < 3e38 else None


def _mul_scalar(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    size, top = _absmax(x.data), _MAX[x.dtype]
    if not size > 0.01:
        return None
    factor = float(f"{min(3e38, rng.uniform(1.2, 40) * top / size):.4g}")
    if size * factor < 1.05 * top:
        return None
    r.expect()
    return r.times(x, factor, rng.choice(["Tensor.__mul__", "Torch.mul"]))


def _add_near_max(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    a = _grown(r, x, rng.uniform(0.6, 0.95))
    if a is None:
        return None
    b = r.dropout(a, None) if rng.random() < 0.5 else a
    r.expect()
    return r.add(a, b, rng.choice(["Tensor.__add__", "Torch.add"]))


def _add_inplace(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    a = _grown(r, x, rng.uniform(0.6, 0.95))
    if a is None:
        return None
    r.expect()
    return r.add_(a, a)


def _div_tiny(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    size, top = _absmax(x.data), _MAX[x.dtype]
    divisor = float(f"{size / (rng.uniform(1.2, 40) * top):.4g}")
    if not size > 0.01 or divisor < 1.2e-38 or size / np.float32(divisor) < 1.05 * top:
        return None
    r.expect()
    return r.over(x, divisor, rng.choice(["Tensor.__truediv__", "Torch.div"]))


def _exp_large(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    high = float(x.data.max())
    if not high > 0.05:
        return None
    a = r.times(x, float(f"{rng.uniform(12, 20) / high * (1 if x.dtype == 'float16' else 8):.4g}"))
    r.expect()
    return r.exp(a)


def _cast(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    size = _absmax(x.data)
    if not size > 0.01:
        return None
    wide = x if x.dtype == "float32" else r.to(x, "float32", "method")
    wide = r.times(wide, float(f"{rng.uniform(1.2, 40) * _MAX['float16'] / size:.4g}"))
    r.expect()
    half = r.to(wide, "float16", rng.choice(["to", "method", "keyword"]))
    return half if x.dtype == "float16" else r.to(half, x.dtype, "method")


def _sum_of_row(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    size = np.abs(x.data)
    if not size.max() > 0.01 or not size.sum(-1).max() * 0.8 > 1.1 * size.max():
        return None
    a = r.absolute(x)
    a = _grown(r, a, 0.8) or a
    r.expect()
    return r.sub(x, r.along(a, "sum", -1, rng.choice(["Tensor.sum", "Torch.sum"])))


def _matmul_large(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    size = float((x.data * x.data).sum(-1).max())
    if not size > 0.01:
        return None
    a = r.times(x, float(f"{math.sqrt(rng.uniform(1.3, 20) * _MAX[x.dtype] / size):.4g}"))
    t = r.transpose(a, 0, 1)
    r.expect()
    return r.matmul(r.matmul(a, t, rng.choice(["Torch.matmul", "Tensor.__matmul__"])), x)


def _square(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    size = _absmax(x.data)
    if not size > 0.01:
        return None
    a = r.times(x, float(f"{math.sqrt(rng.uniform(1.3, 20) * _MAX[x.dtype]) / size:.4g}"))
    r.expect()
    return r.power(a, 2, rng.choice(["Tensor.__pow__", "Torch.pow"]))


def _of_negative(function: Callable[[_Rank, Tensor], Tensor]) -> _Inserted:
    def insert(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
        if not x.data.min() < 0:
            return None
        r.expect()
        return function(r, x)

    return insert


def _zero_by_zero(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    if not x.data.min() < 0:
        return None
    a = r.relu(x)
    b = r.times(a, 2.0) if rng.random() < 0.5 else a
    r.expect()
    return r.div(a, b)


def _zero_by_scalar(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    a = r.sub(x, x)
    r.expect()
    return r.over(a, rng.choice([0, 0.0]))


def _norm_without_eps(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    a = r.sub(x, x)
    w = r.world.tensor(np.ones(x.data.shape[-1], np.float32), x.dtype, None, True)
    b = r.world.tensor(np.zeros(x.data.shape[-1], np.float32), x.dtype, None, True)
    r.expect()
    return r.raw_norm(a, w, b, 0.0)


def _fmod_zero(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    r.expect()
    return r.op("Torch.fmod", [x, 0], np.fmod(x.data, np.float32(0)), lambda gs: [gs[0], None])


def _acos(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    if not _absmax(x.data) > 1.01:
        return None
    r.expect()
    return r.op("Torch.acos", [x], np.arccos(x.data), lambda gs: [-gs[0] / np.sqrt(1 - x.data * x.data)])


def _sqrt_at_zero(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    if not x.data.min() < 0:
        return None
    a = r.relu(x)
    r.expect("backward")
    return r.sqrt(a)


def _pow_at_zero(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    if not x.data.min() < 0:
        return None
    a = r.relu(x)
    r.expect("backward")
    return r.power(a, 0.5)


def _undone(function: Callable[[_Rank, Tensor, float], Tensor]) -> _Inserted:
    def insert(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
        factor = rng.choice([1e7, 2e7])
        a = r.times(x, 1 / factor)
        r.expect("backward")
        return function(r, a, factor)

    return insert


def _norm_at_zero(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    a = r.sub(x, x)
    r.expect("backward")
    return r.add(x, r.norm_of_all(a))


def _log_of_tiny(r: _Rank, x: Tensor, rng: random.Random) -> Tensor | None:
    if not x.data.min() < 0:
        return None
    a = r.clamp(x, 6e-8, None)
    r.expect("backward")
    return r.times(r.log(a), 0.2)


_INSERTED: dict[str, _Inserted] = {
    "mul_scalar": _mul_scalar,
    "add_near_max": _add_near_max,
    "add_inplace": _add_inplace,
    "div_tiny": _div_tiny,
    "exp_large": _exp_large,
    "cast": _cast,
    "sum": _sum_of_row,
    "matmul": _matmul_large,
    "square": _square,
    "log_negative": _of_negative(_Rank.log),
    "sqrt_negative": _of_negative(_Rank.sqrt),
    "rsqrt_negative": _of_negative(_Rank.rsqrt),
    "pow_negative": _of_negative(lambda r, x: r.power(x, 0.5)),
    "zero_by_zero": _zero_by_zero,
    "zero_by_scalar": _zero_by_scalar,
    "norm_without_eps": _norm_without_eps,
    "fmod_zero": _fmod_zero,
    "acos_beyond_one": _acos,
    "sqrt_at_zero": _sqrt_at_zero,
    "pow_at_zero": _pow_at_zero,
    "mul_undone": _undone(lambda r, a, k: r.times(a, k)),
    "div_undone": _undone(lambda r, a, k: r.over(a, 1 / k)),
    "norm_at_zero": _norm_at_zero,
    "log_of_tiny": _log_of_tiny,
}


# ---- all ranks ---------------------------------------------------------------------------------


class _World:
    """The ranks in lockstep: one random program, the same on all but for a few calls of some."""

    def __init__(self, seed: str, n_ranks: int, n_operators: int, level: str, fault: _Fault | None) -> None:
        self.rng = random.Random(f"plan/{seed}")
        self.values = np.random.default_rng(zlib.crc32(seed.encode()))
        self.n_operators = n_operators
        self.is_mix = level == "mix"
        self.fault = fault
        self.saturates = fault is not None and fault.kind == "saturated"
        self.tensors: list[Tensor] = []
        self.params: dict[str, Tensor] = {}
        self.spread: tuple[str, dict[int, str]] | None = None
        self.ranks = [_Rank(self, rank) for rank in range(n_ranks)]
        self.shape = self.rng.choice([(4, 8), (4, 8), (8, 8), (4, 4), (8, 4)])
        main = self.rng.choice(["float16", "float16", "bfloat16", "float32"])
        other = "float32" if main == "float16" else "float16"
        self.dtypes = [main, main, main, other]
        self.bounds = [0.0] * 4
        self.prefix = "embed"
        self.n_paths = 0
        self.shared: dict[str, list[tuple[str, bool]]] = {}
        self.has_backward = self.rng.random() < 0.75 or (fault is not None and fault.kind == "backward")
        self.loss_scale = self.rng.choice([1.0, 16.0, 64.0])
        self.partitions = self._partitions(n_ranks)

    @staticmethod
    def _partitions(n: int) -> list[list[tuple[int, ...]]]:
        """Ways to divide the ranks into groups of two: neighbours, and those half the job apart."""
        found: list[list[tuple[int, ...]]] = [[(i, i + 1) for i in range(0, n - 1, 2)]]
        if n >= 4 and n % 2 == 0:
            found.append([(i, i + n // 2) for i in range(n // 2)])
        return [groups for groups in found if groups]

    # -- tensors and truth ---------------------------------------------------------------------

    def tensor(self, data: Any, dtype: str, legal: Array | bool | None, needs_grad: bool) -> Tensor:
        if dtype not in _MAX:
            return self.integers(data, dtype)
        x = _rounded(np.asarray(data, np.float32), dtype)
        if self.saturates and legal is not True:
            top = _MAX[dtype]
            clipped = np.nan_to_num(x, nan=0, posinf=top, neginf=-top)
            x = clipped if legal is None else np.where(legal, x, clipped)
        bad = _is_bad(x, legal)
        if self.saturates and legal is not True:
            at_limit = np.abs(x) >= np.float32(_MAX[dtype])
            bad = bad or bool((at_limit if legal is None else at_limit & ~np.asarray(legal)).any())
        made = Tensor(x, dtype, bad, legal, needs_grad)
        self.tensors.append(made)
        return made

    def integers(self, data: Any, dtype: str) -> Tensor:
        made = Tensor(np.asarray(data, dtype), dtype, False, None, False)
        self.tensors.append(made)
        return made

    def begins_at(self, rank: int, name: str) -> None:
        """Clean values became bad in this call: it must be the planted one."""
        fault = self.fault
        if fault is None or fault.operators.get(rank) != name:
            raise _NotHereError
        fault.seen = True

    def job(self, seed: int, level: str, summary: str) -> Job:
        return Job(
            seed=seed,
            n_ranks=len(self.ranks),
            level=level,
            summary=summary,
            truth=self.truth(),
            entries={r.rank: r.entries for r in self.ranks},
            parents={r.rank: r.parents for r in self.ranks},
            legal={r.rank: frozenset(r.legal) for r in self.ranks},
            tensors=self.tensors,
        )

    def truth(self) -> Truth | None:
        fault = self.fault
        if fault is None:
            if any(r.first_bad for r in self.ranks):
                raise _NotHereError
            return None
        if not fault.planted or not fault.seen:
            raise _NotHereError
        origins = tuple(sorted(fault.operators))
        first_bad = {r.rank: r.first_bad for r in self.ranks if r.first_bad is not None}
        if any(first_bad.get(rank) != name for rank, name in fault.operators.items()):
            raise _NotHereError
        return Truth(
            kind=fault.kind,
            variant=fault.variant,
            rank=origins if fault.kind == "reduce" else origins[0],
            step=0,
            operator=fault.operators[origins[0]],
            operators={rank: fault.operators[rank] for rank in origins},
            first_bad=first_bad,
            affected_ranks=tuple(first_bad),
            spread_by=None if self.spread is None else self.spread[0],
            spread_names={} if self.spread is None else self.spread[1],
            culprit=fault.culprit,
            module=fault.modules.get(origins[0]),
        )

    def param(self, path: str, shape: tuple[int, ...], dtype: str) -> Tensor:
        """The same on all ranks. A matrix is scaled so that neither it nor its transpose enlarges much."""
        if path not in self.params:
            x = self.values.standard_normal(shape, np.float32)
            if path.startswith("embed") and len(shape) == 2 and "table" in path:
                x = np.clip(x, -3, 3)
            elif len(shape) == 2:
                size = np.abs(x)
                x = x * np.float32(1.2 / max(size.sum(0).max(), size.sum(1).max()))
            elif path.endswith("norm.weight"):
                x = 1 + np.clip(x, -2, 2) * np.float32(0.1)
            else:
                x = np.clip(x, -2, 2) * np.float32(0.05)
            self.params[path] = self.tensor(x, dtype, None, True)
        return self.params[path]

    def path(self, name: str) -> str:
        self.n_paths += 1
        return f"{self.prefix}.{name}{self.n_paths}" if name else self.prefix

    # -- the program ---------------------------------------------------------------------------

    def run(self) -> None:
        self._prologue()
        i = 0
        while min(r.n_ops for r in self.ranks) < self.n_operators:
            self.prefix = f"layers.{i}"
            spans = [r.open(self.prefix, "Block", r.slots[0]) for r in self.ranks]
            for _ in range(self.rng.randint(3, 6)):
                if min(r.n_ops for r in self.ranks) < self.n_operators:
                    self._macro()
            for r, span in zip(self.ranks, spans, strict=True):
                r.close(span, r.slots[0], {})
            i += 1
        if self.fault is not None and self.fault.kind not in ("backward",) and not self.fault.planted:
            raise _NotHereError
        if self.has_backward:
            self._backward()

    def _due(self, *kinds: str) -> bool:
        fault = self.fault
        if fault is None or fault.planted or fault.kind not in kinds:
            return False
        return self.ranks[fault.rank].n_ops >= fault.at

    def _macro(self) -> None:
        if self._due("masked_row"):
            self._attention(self.ranks)
        elif self._due("reduce"):
            self._reduce_too_much()
        elif self._due("input") and self.fault is not None and self.fault.variant == "late":
            self._late_input(self.ranks)
        else:
            name = self.rng.choices(_MACRO_NAMES, _MACRO_SHARES)[0]
            getattr(self, f"_{name}")(self.ranks)
        for s, bound in enumerate(self.bounds):
            if bound > _MAX_BOUND:
                self._norm(self.ranks, s)

    def _prologue(self) -> None:
        """What arrives from outside, and the first call that reads it."""
        rng, n = self.rng, self.shape[1]
        network = self.fault is not None and self.fault.kind == "input" and self.fault.variant == "network"
        wanted = self.fault.rng.randrange(4) if network and self.fault is not None else -1
        for s, dtype in enumerate(self.dtypes):
            how = rng.choice(["linear", "norm", "cast", "dropout", "embedding"])
            if how == "embedding" and (s == wanted or s == 0):
                how = "linear"
            path = self.path("norm" if how == "norm" else "embed_table" if how == "embedding" else "inp")
            if how == "norm":
                path = f"{path}.norm"
            for r in self.ranks:
                if how == "embedding":
                    ids = self.integers(self.values.integers(0, 13, self.shape[0]), "int64")
                    r.slots.append(r.embedding(path, ids, 13, n, dtype))
                    continue
                x = self._outside(r, "float32" if how == "cast" else dtype, s == wanted)
                if how == "linear":
                    r.slots.append(r.linear(path, x, n))
                elif how == "norm":
                    r.slots.append(r.layer_norm(path, x))
                elif how == "cast":
                    r.slots.append(r.to(x, dtype, "to"))
                else:
                    r.slots.append(r.dropout(x, None))
            self.bounds[s] = 3.7

    def _outside(self, r: _Rank, dtype: str, may_be_bad: bool) -> Tensor:
        x = np.clip(self.values.standard_normal(self.shape, np.float32), -3, 3)
        fault = r.fault
        is_bad = may_be_bad and fault is not None and fault.kind == "input" and fault.bad is None
        if is_bad and fault is not None:
            value = fault.rng.choice([np.nan, np.nan, np.inf, -np.inf])
            count = x.size if fault.rng.random() < 0.2 else 1
            x.reshape(-1)[fault.rng.sample(range(x.size), count)] = value
        made = self.tensor(x, dtype, None, False)
        if is_bad and fault is not None:
            fault.bad = made
        return made

    def _slot(self) -> int:
        return self.rng.choice([0, 0, 0, 1, 1, 2, 3])

    def _pair(self) -> tuple[int, int]:
        a, b = self.rng.sample([0, 1, 2], 2)
        return a, b

    # -- local parts ---------------------------------------------------------------------------

    def _norm(self, ranks: list[_Rank], s: int | None = None) -> None:
        s = self._slot() if s is None else s
        path, is_rms = f"{self.path('')}.ln{self.n_paths}.norm", self.rng.random() < 0.25
        for r in ranks:
            r.slots[s] = r.layer_norm(path, r.slots[s], is_rms=is_rms)
        self._bound(ranks, s, 1.2 * math.sqrt(self.shape[1]) + 0.1)

    def _bound(self, ranks: list[_Rank], s: int, bound: float) -> None:
        self.bounds[s] = bound if len(ranks) == len(self.ranks) else max(bound, self.bounds[s])

    def _linear(self, ranks: list[_Rank]) -> None:
        s = self._slot()
        known = self.shared.setdefault(self.dtypes[s], [])
        if known and self.rng.random() < 0.2:
            path, has_bias = self.rng.choice(known)
        else:
            path, has_bias = self.path("fc"), self.rng.random() < 0.8
            known.append((path, has_bias))
        for r in ranks:
            r.slots[s] = r.linear(path, r.slots[s], self.shape[1], has_bias)
        self._bound(ranks, s, 1.2 * self.bounds[s] + 0.1)

    def _mlp(self, ranks: list[_Rank]) -> None:
        rng, s, path = self.rng, self._slot(), self.path("mlp")
        which, wide = rng.choice(["relu", "gelu", "silu"]), rng.choice([1, 2]) * self.shape[1]
        is_gated, keep = rng.random() < 0.3, self._keep()
        wide = min(wide, 64 // self.shape[0])
        for r in ranks:
            span = r.open(path, "MLP", r.slots[s])
            h = r.layer_norm(f"{path}.norm", r.slots[s])
            u = r.activation(r.linear(f"{path}.fc1", h, wide), which)
            if is_gated:
                u = r.mul(u, r.linear(f"{path}.up", h, wide, False))
            u = r.dropout(r.linear(f"{path}.fc2", u, self.shape[1]), keep)
            y = r.add(r.slots[s], u)
            r.close(span, y, {})
            r.slots[s] = y
        inner = 1.2 * 4 + 0.1
        self._bound(ranks, s, self.bounds[s] + 1.4 * (inner * inner if is_gated else inner))

    def _keep(self) -> Array | None:
        return self.values.random(self.shape) > 0.1 if self.rng.random() < 0.5 else None

    def _attention(self, ranks: list[_Rank]) -> None:
        rng, s, path = self.rng, self._slot(), self.path("attn")
        how = rng.choice(["masked_fill", "masked_fill_", "additive", "none"])
        is_infinite = rng.random() < 0.6
        is_faulty = self._due("masked_row")
        if is_faulty and self.fault is not None:
            how, is_infinite = self.fault.variant, True
        n_heads, is_packed = rng.choice([1, 2]), rng.random() < 0.3
        is_divided, keep = rng.random() < 0.5, self._keep()
        mask = self._mask(rng.random() < 0.6)
        for r in ranks:
            own = mask
            if is_faulty and r.fault is not None:
                own = mask.copy()
                own[r.fault.rng.randrange(len(own))] = True
            value = -math.inf if is_infinite else -_MAX[r.slots[s].dtype]
            span = r.open(path, "Attention", r.slots[s])
            mixed = self._attend(
                r, path, r.slots[s], how, value, own, n_heads, is_packed, is_divided, own is not mask
            )
            y = r.add(r.slots[s], r.dropout(r.linear(f"{path}.out", mixed, self.shape[1]), keep))
            r.close(span, y, {})
            r.slots[s] = y
        self._bound(ranks, s, self.bounds[s] + 1.4 * (1.2 * (1.2 * self.bounds[s] + 0.1) + 0.1))

    def _mask(self, is_causal: bool) -> Array:
        n = self.shape[0]
        if is_causal:
            return np.triu(np.ones((n, n), bool), 1)
        mask = self.values.random((n, n)) < 0.4
        mask[np.arange(n), self.values.integers(0, n, n)] = False
        mask[0, 1] = not mask[0].any()
        mask[0, 0] &= not mask[0].all()
        return mask

    def _attend(
        self,
        r: _Rank,
        path: str,
        x: Tensor,
        how: str,
        value: float,
        mask: Array,
        n_heads: int,
        is_packed: bool,
        is_divided: bool,
        is_faulty: bool,
    ) -> Tensor:
        rows, n = self.shape
        if is_packed and 3 * n * rows <= 96:
            q, k, v = r.chunk(r.linear(f"{path}.qkv", x, 3 * n), 3, -1)
        else:
            q, k, v = (r.linear(f"{path}.{w}", x, n) for w in "qkv")
        if n_heads == 2:
            q, k, v = (r.transpose(r.view(t, (rows, 2, n // 2)), 0, 1) for t in (q, k, v))
            scores = r.matmul(q, r.transpose(k, 1, 2), "Torch.bmm")
        else:
            scores = r.matmul(q, r.transpose(k, 0, 1))
        size = math.sqrt(n / n_heads)
        scores = r.over(scores, size) if is_divided else r.times(scores, 1 / size)
        if how == "additive":
            zeros = self.tensor(np.zeros(mask.shape, np.float32), x.dtype, None, False)
            added = r.masked_fill(zeros, self.integers(mask, "bool"), value)
            sa, sb = scores.data.shape, added.data.shape
            rule: Rule = lambda gs: [gs[0], _fit_leading(gs[0], sa, sb)]  # noqa: E731
            full = np.broadcast_to(mask, sa)
            total = scores.data + added.data
            scores = r.op("Tensor.__add__", [scores, added], total, rule, legal=full)
        elif how != "none":
            full = np.ascontiguousarray(np.broadcast_to(mask, scores.data.shape))
            scores = r.masked_fill(scores, self.integers(full, "bool"), value, f"Tensor.{how}")
        if is_faulty:
            r.expect()
        shares = r.softmax(scores)
        if n_heads == 2:
            mixed = r.transpose(r.matmul(shares, v, "Torch.bmm"), 0, 1)
            return r.view(r.contiguous(mixed), (rows, n), "Tensor.reshape")
        return r.matmul(shares, v)

    def _gate(self, ranks: list[_Rank]) -> None:
        a, b = self._pair()
        api = self.rng.choice(["Torch.sigmoid", "Tensor.sigmoid", "Functional.sigmoid"])
        is_tanh = self.rng.random() < 0.3
        for r in ranks:
            gate = r.tanh(r.slots[b]) if is_tanh else r.sigmoid(r.slots[b], api)
            r.slots[a] = r.mul(r.slots[a], gate, "Tensor.__mul__" if is_tanh else "Torch.mul")
        self._bound(ranks, a, self.bounds[a])

    def _combine(self, ranks: list[_Rank]) -> None:
        a, b = self._pair()
        how = self.rng.choice(["Tensor.__add__", "Torch.add", "Tensor.__sub__", "Torch.sub"])
        for r in ranks:
            method = r.sub if how.rstrip("_").endswith("sub") else r.add
            r.slots[a] = method(r.slots[a], r.slots[b], how)
        self._bound(ranks, a, self.bounds[a] + self.bounds[b])

    def _scale(self, ranks: list[_Rank]) -> None:
        s, k = self._slot(), round(self.rng.uniform(0.5, 1.2), 3)
        how = self.rng.choice(["times", "over", "mul"])
        for r in ranks:
            if how == "over":
                r.slots[s] = r.over(r.slots[s], k)
            else:
                r.slots[s] = r.times(r.slots[s], k, "Tensor.__mul__" if how == "times" else "Torch.mul")
        self._bound(ranks, s, self.bounds[s] * (1 / k if how == "over" else k))

    def _small_exp(self, ranks: list[_Rank]) -> None:
        s = self._slot()
        for r in ranks:
            r.slots[s] = r.exp(r.times(r.slots[s], 0.1))
        self._bound(ranks, s, math.exp(0.1 * self.bounds[s]))

    def _safe_functions(self, ranks: list[_Rank]) -> None:
        """Logarithm, root and division where they are defined."""
        s, which = self._slot(), self.rng.choice(["log", "sqrt", "div", "pow"])
        for r in ranks:
            x = r.slots[s]
            if which == "div":
                r.slots[s] = r.div(x, r.clamp(r.sigmoid(x), 0.5, 1.0))
            elif which == "pow":
                r.slots[s] = r.times(r.power(x, 2), 0.1)
            else:
                small = r.clamp(r.absolute(x), 0.1, 10.0)
                r.slots[s] = r.log(small) if which == "log" else r.sqrt(small)
        self._bound(ranks, s, {"div": 2 * self.bounds[s], "pow": 0.1 * self.bounds[s] ** 2}.get(which, 3.5))

    def _cat_chunk(self, ranks: list[_Rank]) -> None:
        a, b = self._pair()
        dim, api = self.rng.choice([0, 1, -1]), self.rng.choice(["Torch.chunk", "Torch.split"])
        for r in ranks:
            both = r.cat([r.slots[a], r.slots[b]], dim)
            r.slots[b], r.slots[a] = r.chunk(both, 2, dim, api)
        bound = max(self.bounds[a], self.bounds[b])
        self._bound(ranks, a, bound)
        self._bound(ranks, b, bound)

    def _centre(self, ranks: list[_Rank]) -> None:
        s, dim = self._slot(), self.rng.choice([0, -1])
        api = self.rng.choice(["Tensor.mean", "Torch.mean", "Tensor.sum"])
        for r in ranks:
            which = "sum" if api == "Tensor.sum" else "mean"
            m = r.along(r.slots[s], which, dim, api)
            if which == "sum":
                m = r.over(m, self.shape[dim])
            r.slots[s] = r.sub(r.slots[s], m)
        self._bound(ranks, s, 2 * self.bounds[s])

    def _dropout(self, ranks: list[_Rank]) -> None:
        s, keep = self._slot(), self._keep()
        for r in ranks:
            r.slots[s] = r.dropout(r.slots[s], keep)
        self._bound(ranks, s, self.bounds[s] / 0.9)

    def _views(self, ranks: list[_Rank]) -> None:
        s, other = self._slot(), self._slot()
        how = self.rng.choice(["Tensor.contiguous", "Tensor.clone", "view_as", "view", "transpose"])
        for r in ranks:
            x = r.slots[s]
            if how == "view_as":
                r.slots[s] = r.view_as(x, r.slots[other])
            elif how == "view":
                flat = r.view(x, (x.data.size,))
                r.slots[s] = r.view(flat, self.shape, "Tensor.reshape")
            elif how == "transpose":
                r.slots[s] = r.transpose(r.contiguous(r.transpose(x, 0, 1)), 0, 1)
            else:
                r.slots[s] = r.contiguous(x, how)

    def _cast(self, ranks: list[_Rank]) -> None:
        """From one type to the other and into a sum; as mixed precision does."""
        s, how = self.rng.choice([0, 1, 2]), self.rng.choice(["to", "method", "keyword"])
        is_upward = self.rng.random() < 0.5
        source, target = (s, 3) if is_upward else (3, s)
        for r in ranks:
            x = r.to(r.slots[source], self.dtypes[target], how)
            r.slots[target] = r.add(r.slots[target], x)
        self._bound(ranks, target, self.bounds[source] + self.bounds[target])

    def _embed(self, ranks: list[_Rank]) -> None:
        s, path = self._slot(), f"embed_table{self.path('').count('.')}.{self.n_paths}"
        for r in ranks:
            ids = self.integers(self.values.integers(0, 7, self.shape[0]), "int64")
            r.slots[s] = r.add(r.slots[s], r.embedding(path, ids, 7, self.shape[1], r.slots[s].dtype))
        self._bound(ranks, s, self.bounds[s] + 3)

    def _inplace(self, ranks: list[_Rank]) -> None:
        a, b = self._pair()
        alpha = self.rng.choice([None, 0.5])
        for r in ranks:
            r.slots[a] = r.add_(r.slots[a], r.slots[b], alpha)
        self._bound(ranks, a, self.bounds[a] + self.bounds[b])

    def _garbage(self) -> Array:
        """What may lie in memory that nobody has written yet."""
        x = self.values.standard_normal(self.shape, np.float32) * np.float32(1e3)
        if self.rng.random() < 0.6:
            where = self.rng.sample(range(x.size), self.rng.randint(1, x.size // 2))
            x.reshape(-1)[where] = self.rng.choice([np.nan, np.inf, -np.inf])
        return x

    def _buffer(self, ranks: list[_Rank]) -> None:
        s, is_zeroed = self._slot(), self.rng.random() < 0.3
        for r in ranks:
            buffer = r.empty_like(r.slots[s], self._garbage())
            if is_zeroed:
                r.slots[s] = r.add_(r.zero_(buffer), r.slots[s])
            else:
                r.slots[s] = r.copy_(buffer, r.slots[s])

    def _gather(self, ranks: list[_Rank]) -> None:
        s, api = self._slot(), self.rng.choice(["Torch.gather", "Torch.index_select", "Tensor.index_select"])
        for r in ranks:
            index = self.values.permutation(self.shape[0])
            if api == "Torch.gather":
                index = np.ascontiguousarray(np.broadcast_to(index[:, None], self.shape))
            r.slots[s] = r.rows(r.slots[s], self.integers(index, "int64"), api)

    def _select(self, ranks: list[_Rank]) -> None:
        a, b = self._pair()
        is_clamped = self.rng.random() < 0.4
        for r in ranks:
            if is_clamped:
                r.slots[a] = r.clamp(r.slots[a], -3.0, 3.0)
            else:
                mask = self.integers(self.values.random(self.shape) < 0.5, "bool")
                r.slots[a] = r.where(mask, r.slots[a], r.slots[b])
        self._bound(ranks, a, max(self.bounds[a], self.bounds[b]))

    def _zero_masked(self, ranks: list[_Rank]) -> None:
        """A fill that is no mask of scores: padding set to zero."""
        s = self._slot()
        for r in ranks:
            mask = self.integers(self.values.random((self.shape[0], 1)) < 0.3, "bool")
            y = np.where(mask.data, np.float32(0), r.slots[s].data)
            keep = ~mask.data
            x = r.slots[s]
            r.slots[s] = r.op("Tensor.masked_fill", [x, mask, 0.0], y, _times(keep), wrt=(x,))

    def _late_input(self, ranks: list[_Rank]) -> None:
        """Something from outside that no call before has read: a position, a bias, the next batch."""
        s, how = self._slot(), self.rng.choice(["add", "cat", "mul"])
        is_due = self._due("input")
        for r in ranks:
            x, y = r.slots[s], self._outside(r, r.slots[s].dtype, is_due)
            if how == "cat":
                r.slots[s] = r.chunk(r.cat([x, y], 0), 2, 0)[0]
                r.slots[s] = r.add(r.slots[s], y)
            elif how == "mul":
                r.slots[s] = r.mul(x, y)
            else:
                r.slots[s] = r.add(x, y)
        self._bound(ranks, s, 3 * self.bounds[s] if how == "mul" else self.bounds[s] + 3)

    def _extra(self, ranks: list[_Rank]) -> None:
        """Calls that only some of the ranks make."""
        some = self.rng.sample(ranks, self.rng.randint(1, max(1, len(ranks) - 1)))
        for r in some:
            for _ in range(self.rng.randint(1, 3)):
                name = self.rng.choice(_EXTRA)
                getattr(self, f"_{name}")([r])

    # -- between the ranks -----------------------------------------------------------------------

    def _groups(self) -> list[tuple[int, ...] | None]:
        """Who communicates: all over the default group, all in groups of two, or one such group alone."""
        what = self.rng.random()
        if what < 0.5:
            return [None]
        groups = self.rng.choice(self.partitions)
        return list(groups) if what < 0.85 else [self.rng.choice(groups)]

    def _members(self, group: tuple[int, ...] | None) -> list[_Rank]:
        return self.ranks if group is None else [self.ranks[i] for i in group]

    def _collective(self, ranks: list[_Rank]) -> None:
        if len(ranks) < 2:
            return
        kind = self.rng.choices(_COLLECTIVES, _COLLECTIVE_SHARES)[0]
        s = self._slot()
        for group in self._groups():
            members = self._members(group)
            if kind in ("reduce_scatter", "all_to_all") and self.shape[0] % len(members):
                kind = "all_reduce"
            getattr(self, f"_{kind}")(members, group, s)

    def communicate(
        self,
        api: str,
        members: list[_Rank],
        group: tuple[int, ...] | None,
        given: list[list[Any]],
        results: list[list[Any]],
        extra: dict[str, _Raw],
        *,
        positional: bool = False,
        expects: bool = False,
    ) -> list[list[Tensor]]:
        """One collective: `results` per member, in the places of its positional arguments.

        A result is an array, a list of arrays, or None where the argument stays as it was given. Returns the
        tensors made, per member.
        """
        arguments = dict(extra)
        if group is not None:
            arguments["group"] = _group_record(group)
        inputs = [[t for t in _flat(args) if type(t) is Tensor] for args in given]
        # a member that does not root a broadcast gives nothing away
        is_input_bad = any(
            t.bad for r, ts in zip(members, inputs, strict=True) for t in ts if self._gives(r, extra)
        )
        names: dict[int, str] = {}
        all_made: list[list[Tensor]] = []
        bad: list[int] = []
        newly: list[int] = []
        for r, args, made in zip(members, given, results, strict=True):
            name = names[r.rank] = r.name_call(api)
            like = inputs[members.index(r)][0]
            outputs: list[Any] = list(args)
            fresh: list[Tensor] = []
            for i, x in enumerate(made):
                if x is not None:
                    new = [self.tensor(y, like.dtype, None, like.needs_grad) for y in _flat([x])]
                    outputs[i] = new if type(x) is list else new[0]
                    fresh += new
            tail = list(arguments.values())
            shown, kwargs = (args + tail, {}) if positional else (args, arguments)
            sides = {"input_args": shown, "input_kwargs": kwargs, "output": outputs + tail}
            r.entries.append(Entry(name, sides))
            all_made.append(fresh)
            if any(t.bad for t in fresh):
                bad.append(r.rank)
                if r.first_bad is None and not any(t.bad for t in inputs[members.index(r)]):
                    newly.append(r.rank)
            if r.first_bad is None and any(t.bad for t in _flat(outputs) if type(t) is Tensor):
                r.first_bad = name
        self._judge(members, names, inputs, bad, newly, is_input_bad, expects)
        return all_made

    def _gives(self, r: _Rank, extra: dict[str, _Raw]) -> bool:
        return "src" not in extra or extra["src"] == _scalar(r.rank)

    def _judge(
        self,
        members: list[_Rank],
        names: dict[int, str],
        inputs: list[list[Tensor]],
        bad: list[int],
        newly: list[int],
        is_input_bad: bool,
        expects: bool,
    ) -> None:
        """Whether bad values began in this collective or were carried by it."""
        if expects and self.fault is not None:
            if is_input_bad or len(newly) != len(members):
                raise _NotHereError
            self.fault.operators = dict(names)
            self.fault.modules = {r.rank: r.stack[-1] if r.stack else None for r in members}
        if bad and not is_input_bad:
            for rank in bad:
                self.begins_at(rank, names[rank])
        elif newly and self.spread is None:
            origin = next(r.rank for r, ts in zip(members, inputs, strict=True) if any(t.bad for t in ts))
            self.spread = names[origin], names

    def _all_reduce(self, members: list[_Rank], group: tuple[int, ...] | None, s: int, how: str = "") -> None:
        rng, n = self.rng, len(members)
        how = how or rng.choice(["sum", "sum", "sum", "max"])
        is_averaged = how == "sum"
        outputs = self.reduce([r.slots[s] for r in members], members, group, how)
        for r, x in zip(members, outputs, strict=True):
            r.slots[s] = r.over(x, n) if is_averaged else x

    def reduce(
        self,
        tensors: list[Tensor],
        members: list[_Rank],
        group: tuple[int, ...] | None,
        how: str,
        *,
        expects: bool = False,
    ) -> list[Tensor]:
        """In place; the partial sums are rounded one after the other, as a ring does."""
        total = tensors[0].data
        for t in tensors[1:]:
            total = total + t.data if how == "sum" else np.maximum(total, t.data)
            total = _rounded(total, t.dtype)
        is_named = how != "sum" or self.rng.random() < 0.3
        extra = {"op": _reduce_record(how)} if is_named else {}
        positional = is_named and self.rng.random() < 0.3
        made = self.communicate(
            "Distributed.all_reduce",
            members,
            group,
            [[t] for t in tensors],
            [[total] for _ in tensors],
            extra,
            positional=positional,
            expects=expects,
        )
        for r, x, ys in zip(members, tensors, made, strict=True):
            self._passes(r, [x], ys, lambda gs: [gs[0]])
        return [ys[0] for ys in made]

    def _passes(self, r: _Rank, wrt: list[Tensor], outputs: list[Tensor], rule: Rule) -> None:
        tainted = any(t.bad for t in [*wrt, *outputs])
        if any(t.needs_grad for t in wrt):
            r.tape.append(_Step(None, wrt, outputs, rule, tainted))

    def _all_gather(self, members: list[_Rank], group: tuple[int, ...] | None, s: int) -> None:
        is_flat, n = self.rng.random() < 0.5, len(members)
        xs = [r.slots[s] for r in members]
        values = [x.data for x in xs]
        if is_flat:
            api, whole = "Distributed.all_gather_into_tensor", np.concatenate(values)
            made = self.communicate(
                api, members, group, [[None, x] for x in xs], [[whole, None] for _ in xs], {}
            )
        else:
            api = "Distributed.all_gather"
            made = self.communicate(
                api, members, group, [[None, x] for x in xs], [[list(values), None] for _ in xs], {}
            )
        for i, (r, x, ys) in enumerate(zip(members, xs, made, strict=True)):
            if is_flat:
                rows = self.shape[0]
                self._passes(r, [x], ys, _part(i, rows))
                whole_ = r.view(ys[0], (n, *self.shape), "Tensor.view")
            else:
                self._passes(r, [x], ys, _own(i))
                whole_ = r.stacked(ys)
            m = r.along(whole_, "mean", 0, "Tensor.mean", keeps=False)
            r.slots[s] = r.times(r.add(x, m), 0.5)

    def _reduce_scatter(self, members: list[_Rank], group: tuple[int, ...] | None, s: int) -> None:
        """And the gathering of the parts, as sequence parallel layers do."""
        n, is_flat = len(members), self.rng.random() < 0.5
        rows = self.shape[0] // n
        given: list[list[Any]] = [
            [None, r.slots[s] if is_flat else r.chunk(r.slots[s], n, 0)] for r in members
        ]
        total = members[0].slots[s].data
        for r in members[1:]:
            total = _rounded(total + r.slots[s].data, r.slots[s].dtype)
        results: list[list[Any]] = [[total[i * rows : (i + 1) * rows], None] for i in range(n)]
        api = "Distributed.reduce_scatter_tensor" if is_flat else "Distributed.reduce_scatter"
        made = self.communicate(api, members, group, given, results, {})
        parts = []
        for i, (r, args, ys) in enumerate(zip(members, given, made, strict=True)):
            if is_flat:
                self._passes(r, [args[1]], ys, _placed(i, rows, n))
            else:
                self._passes(r, [args[1][i]], ys, lambda gs: [gs[0]])
            parts.append(r.over(ys[0], n))
        whole = np.concatenate([p.data for p in parts])
        api = "Distributed.all_gather_into_tensor"
        made = self.communicate(
            api, members, group, [[None, p] for p in parts], [[whole, None] for _ in parts], {}
        )
        for i, (r, p, ys) in enumerate(zip(members, parts, made, strict=True)):
            self._passes(r, [p], ys, _part(i, rows))
            r.slots[s] = ys[0]

    def _broadcast(self, members: list[_Rank], group: tuple[int, ...] | None, s: int) -> None:
        root = self.rng.choice(members)
        value = root.slots[s].data
        made = self.communicate(
            "Distributed.broadcast",
            members,
            group,
            [[r.slots[s]] for r in members],
            [[value] for _ in members],
            {"src": _scalar(root.rank)},
            positional=self.rng.random() < 0.3,
        )
        for r, ys in zip(members, made, strict=True):
            self._passes(r, [r.slots[s]], ys, lambda gs: [gs[0]])
            r.slots[s] = ys[0]

    def _all_to_all(self, members: list[_Rank], group: tuple[int, ...] | None, s: int) -> None:
        n = len(members)
        rows = self.shape[0] // n
        xs = [r.slots[s] for r in members]
        results: list[list[Any]] = [
            [np.concatenate([x.data[i * rows : (i + 1) * rows] for x in xs]), None] for i in range(n)
        ]
        api = "Distributed.all_to_all_single"
        made = self.communicate(api, members, group, [[None, x] for x in xs], results, {})
        for r, x, ys in zip(members, xs, made, strict=True):
            self._passes(r, [x], ys, lambda gs: [gs[0]])
            r.slots[s] = ys[0]

    def _send_recv(self, ranks: list[_Rank]) -> None:
        """One pair, or a chain of them."""
        if len(ranks) < 2:
            return
        chain = self.rng.sample(ranks, self.rng.randint(2, min(3, len(ranks))))
        s, is_kept, positional = self._slot(), self.rng.random() < 0.6, self.rng.random() < 0.3
        for sender, receiver in zip(chain[:-1], chain[1:], strict=True):
            x = sender.slots[s]
            y = self._transfer(sender, receiver, x, positional)
            old = receiver.slots[s]
            receiver.slots[s] = receiver.times(receiver.add(old, y), 0.5) if is_kept else y

    def _transfer(self, sender: _Rank, receiver: _Rank, x: Tensor, positional: bool) -> Tensor:
        names = {}
        to, source = _scalar(receiver.rank), _scalar(sender.rank)
        names[sender.rank] = name = sender.name_call("Distributed.send")
        sides: dict[str, Any] = {
            "input_args": [x, to] if positional else [x],
            "input_kwargs": {} if positional else {"dst": to},
            "output": [x, to],
        }
        sender.entries.append(Entry(name, sides))
        if x.bad and sender.first_bad is None:
            sender.first_bad = name
        receiver.empty_like(x, self._garbage())
        names[receiver.rank] = name = receiver.name_call("Distributed.recv")
        y = self.tensor(x.data, x.dtype, None, False)
        sides = {
            "input_args": [None, source] if positional else [None],
            "input_kwargs": {} if positional else {"src": source},
            "output": [y, source],
        }
        receiver.entries.append(Entry(name, sides))
        if y.bad and receiver.first_bad is None:
            receiver.first_bad = name
            if self.spread is None:
                self.spread = names[sender.rank], names
        return y

    def _reduce_too_much(self) -> None:
        """Every member's values are large and finite; their sum is not."""
        fault = self.fault
        assert fault is not None
        groups = [g for part in self.partitions for g in part if fault.rank in g]
        group = fault.rng.choice([None, *groups])
        members = self._members(group)
        s = self.dtypes.index("float16")
        low, high = (20000.0, 60000.0) if len(members) > 3 else (35000.0, 60000.0)
        xs = []
        for r in members:
            x = r.times(r.absolute(r.slots[s]), fault.rng.choice([5000.0, 10000.0]))
            xs.append(r.clamp(x, low, high))
        outputs = self.reduce(xs, members, group, "sum", expects=True)
        for r, y in zip(members, outputs, strict=True):
            r.slots[s] = r.over(y, len(members))

    # -- the backward ----------------------------------------------------------------------------

    def _backward(self) -> None:
        """The loss, the backward in parts, and between them the reduction of gradients that are ready."""
        done: set[str] = set()
        for r in self.ranks:
            loss = None
            for x in r.slots:
                x = x if x.dtype == "float32" else r.to(x, "float32", "method")
                part = r.mean_of_all(r.mul(x, x))
                loss = part if loss is None else r.add(loss, part)
            assert loss is not None
            r.start_backward(r.times(loss, self.loss_scale))
        for share in (0.6, 0.3, 0.0):
            for r in self.ranks:
                r.run_backward(int(share * len(r.tape)))
            if len(self.ranks) > 1:
                self._reduce_gradients(done)

    def _reduce_gradients(self, done: set[str]) -> None:
        ready = [p for p in self.params if p not in done and all(r.grad_of(p) for r in self.ranks)]
        group = None if self.rng.random() < 0.7 else self.rng.choice(self.partitions)
        is_updated = self.rng.random() < 0.5
        for path in self.rng.sample(ready, min(3, len(ready))):
            done.add(path)
            for g in [None] if group is None else group:
                members = self._members(g)
                grads = [r.grad_of(path) for r in members]
                tensors = [t for t in grads if t is not None]
                for r, t in zip(members, self.reduce(tensors, members, g, "sum"), strict=True):
                    t = r.over(t, len(members), "Tensor.div_")
                    if is_updated:
                        weight = r.own_params.get(path) or self.params[path]
                        if t.data.shape != weight.data.shape:
                            t = r.transpose(t, 0, 1)
                        r.add_(weight, t, -0.01)


def _flat(values: Any) -> list[Any]:
    return [x for v in values for x in (v if type(v) is list else [v])]


def _times(factor: Array) -> Rule:
    return lambda gs: [gs[0] * factor]


def _own(i: int) -> Rule:
    return lambda gs: [gs[i]]


def _part(i: int, rows: int) -> Rule:
    return lambda gs: [gs[0][i * rows : (i + 1) * rows]]


def _placed(i: int, rows: int, n: int) -> Rule:
    def rule(gs: list[Array]) -> Grads:
        made = np.zeros((rows * n, gs[0].shape[1]), np.float32)
        made[i * rows : (i + 1) * rows] = gs[0]
        return [made]

    return rule


def _fit_leading(g: Array, full: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    return g if full == shape else g.sum(tuple(range(len(full) - len(shape))))


_MACROS = {
    "linear": 7,
    "mlp": 9,
    "attention": 9,
    "gate": 6,
    "norm": 4,
    "combine": 6,
    "scale": 6,
    "small_exp": 3,
    "safe_functions": 5,
    "cat_chunk": 5,
    "centre": 5,
    "dropout": 4,
    "views": 5,
    "cast": 5,
    "embed": 2,
    "inplace": 4,
    "buffer": 5,
    "gather": 3,
    "select": 4,
    "zero_masked": 2,
    "late_input": 2,
    "extra": 10,
    "collective": 15,
    "send_recv": 5,
}
_MACRO_NAMES, _MACRO_SHARES = list(_MACROS), list(_MACROS.values())
_EXTRA = ("linear", "gate", "scale", "dropout", "views", "buffer", "select", "zero_masked", "gather", "mlp")
_COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all")
_COLLECTIVE_SHARES = (5, 3, 3, 2, 2)
