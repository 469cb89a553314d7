"""Calls computed again by code of others: a function of the user's file, a plug-in, torch where it is
installed.

That code runs in a process of its own (`core/plugins`). Nothing is known of its arithmetic, so the bound is
measured: the call is repeated with inputs disturbed by one roundoff of the operator's dtype, and what the
outputs then move by, MARGIN times over and two roundoffs more, is what such a dtype may leave. Checks say
that it is an estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from npulse.core.calls.apis import plain_api
from npulse.core.errors import UsageError
from npulse.core.findings import Problem
from npulse.core.formats.msprobe.records import Dump
from npulse.core.plugins.accept import Item, items_of
from npulse.core.plugins.process import PluginFault, PluginProcess
from npulse.core.plugins.references import Computing, reference_for
from npulse.core.plugins.registry import Plugin, file_plugin, is_off
from npulse.core.progress import IsCancelled, never_cancelled

from .call import check_call
from .check import refused
from .compare import compare
from .given import Given, Tensor, given_of
from .model import Check
from .number import Inside, Number
from .of_tools import name_of

MARGIN = 8.0
REPEATS = 4
SEED = 1
_ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a reference is: `function` of a file, or an item of a plug-in. label: how it is named."""

    plugin: Plugin
    label: str
    function: str = ""
    item: Item | None = None


def function_of(text: str) -> tuple[Path, str]:
    """FILE.py:FUNCTION taken apart; UsageError for anything else."""
    path, _, name = text.rpartition(":")
    if not path or not name.isidentifier():
        raise UsageError(f"'{text}' names no function", hint="give --reference FILE.py:FUNCTION")
    return Path(path), name


class References:
    """`check_call`, and references of others for what it does not know, as long as the `with` block lasts.

    function: FILE.py:FUNCTION, which then computes every call. UsageError, InputError: where that is none.
    """

    def __init__(self, function: str | None = None, *, is_cancelled: IsCancelled = never_cancelled) -> None:
        self._is_cancelled = is_cancelled
        self._given: _Source | None = None
        if function is not None:
            if is_off():
                raise UsageError("--reference runs code, and plug-ins are switched off")
            path, name = function_of(function)
            self._given = _Source(file_plugin(path, "reference"), f"{path.name}:{name}", name)
        self._stack = ExitStack()
        self._running: dict[str, Computing | PluginFault] = {}
        self.problems: list[Problem] = []

    def __enter__(self) -> References:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def __call__(
        self,
        dump: Dump,
        call: int,
        root: Path,
        *,
        rank: int | None = None,
        step: int | None = None,
        side: str = "",
    ) -> Check:
        """As `call.check_call`."""
        known: Check | None = None
        if self._given is None:
            known = check_call(dump, call, root, rank=rank, step=step, side=side)
            is_backward = name_of(dump, call).direction == "backward"
            if is_backward or known.why not in ("no-reference", "unsupported", "does-not-fit"):
                return known  # references of others compute forward calls
        given = given_of(dump, call, root)
        blank = Check(given.name.full, rank, step, side, "", "unknown", problems=given.problems)
        source = self._given or self._source(given)
        if source is None:
            assert known is not None
            return known
        why = refused(given)
        if why is not None:
            return replace(blank, why=why, missing=given.absent, operator=source.label)
        try:
            return self._checked(source, given, replace(blank, operator=source.label))
        except PluginFault as fault:
            if known is not None and source.plugin is _TORCH:
                return known  # aten has none, or another signature
            return replace(blank, operator=source.label, why="failed", detail=_told(fault))

    def _source(self, given: Given) -> _Source | None:
        names = _names(given)
        found, problems = reference_for(names, self._is_cancelled)
        self.problems += [problem for problem in problems if problem not in self.problems]
        if found is not None:
            return _Source(found[0], f"{found[0].name}.{found[1].name}", item=found[1])
        is_api = given.name.kind == "api" and given.name.direction == "forward"
        if is_api and given.is_whole and not is_off() and find_spec("torch") is not None:
            return _Source(_TORCH, "torch", item=_TORCH_ITEM)
        return None

    def _computing(self, source: _Source) -> Computing:
        known = self._running.get(source.label)
        if known is None:
            known = self._running[source.label] = self._started(source)
        if isinstance(known, PluginFault):
            raise known
        return known

    def _started(self, source: _Source) -> Computing | PluginFault:
        process = self._stack.enter_context(PluginProcess(source.plugin, is_cancelled=self._is_cancelled))
        try:
            told = process.load(source.function)
        except PluginFault as fault:
            return fault
        item = source.item
        if item is None or item is _TORCH_ITEM:
            item = next(iter(items_of(told, source.plugin.name)[0]), None)
        if item is None:
            return PluginFault("answer", "holds no reference")
        return self._stack.enter_context(Computing(process, item))

    def _checked(self, source: _Source, given: Given, blank: Check) -> Check:
        computing = self._computing(source)
        operator = _names(given)[0] if source.plugin is _TORCH else given.name.full
        if source.item is not None and source.plugin is not _TORCH:
            operator = _names(given)[1]
        roundoff, inside = _roundoff(given)
        random = np.random.default_rng(SEED)
        try:
            truths = computing.compute(operator, *_arguments(given, None, 0.0))
            moved: list[Any] = [0.0] * len(truths)
            for _ in range(REPEATS):
                again = computing.compute(operator, *_arguments(given, random, roundoff))
                for place, (truth, other) in enumerate(zip(truths, again, strict=True)):
                    if truth is not None and other is not None and truth.shape == other.shape:
                        with np.errstate(invalid="ignore"):
                            moved[place] = np.fmax(moved[place], np.nan_to_num(abs(other - truth)))
        except PluginFault as fault:
            if fault.word != "raised":  # its process is gone
                self._running[source.label] = fault
            raise
        outputs = tuple(
            compare(made, Number(truth, Inside(roundoff), MARGIN * bound + 2 * roundoff * abs(truth)))
            for made, truth, bound in zip(given.outputs, truths, moved, strict=False)
            if isinstance(made, Tensor) and truth is not None
        )
        if not outputs:
            return replace(blank, why="failed", detail="made no output that could be compared")
        outcome: Any = "within" if all(one.is_within for one in outputs) else "implementation"
        names = {one.name for one in outputs}
        unchecked = tuple(one.name for one in given.outputs if one.name not in names)
        return replace(
            blank, outcome=outcome, outputs=outputs, inside=inside, is_estimated=True, unchecked=unchecked
        )


def _names(given: Given) -> tuple[str, ...]:
    """An operator's names: plain, as the dump has it, with its prefix; of a module its class."""
    name = given.name
    if name.kind == "module":
        return name.cls, name.cls, name.path
    api = name.api.rpartition(".")[2]
    return plain_api(api), api, f"{name.prefix}.{name.api}"


def _roundoff(given: Given) -> tuple[float, str]:
    """Of the coarsest dtype among what the call was given and made."""
    names = {t.dtype.name for t in (*given.tensors(), *(o for o in given.outputs if isinstance(o, Tensor)))}
    found = [(u, name) for name, u in _ROUNDOFF.items() if name in names]
    return max(found, default=(2.0**-24, "float32"))


def _arguments(
    given: Given, random: np.random.Generator | None, roundoff: float
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Positional arguments and keywords as plain values; floating tensors disturbed by so much."""

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(item) for item in value]
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return _array(value, random, roundoff) if isinstance(value, Tensor) else value

    keywords = {**given.keywords, **given.parameters}
    return [plain(value) for value in given.positional], {k: plain(v) for k, v in keywords.items()}


def _array(value: Tensor, random: np.random.Generator | None, roundoff: float) -> npt.NDArray[Any]:
    if value.dtype.kind == "bool":
        return np.ascontiguousarray(value.values != 0)
    if value.dtype.kind == "int":
        return np.ascontiguousarray(value.values, np.int64)
    values = np.ascontiguousarray(value.values, np.float64)
    if random is None:
        return values
    return np.asarray(values * (1 + roundoff * random.choice([-1.0, 1.0], values.shape)))


def _told(fault: PluginFault) -> str:
    return fault.message + (f" (line {fault.line})" if fault.line is not None else "")


_TORCH = Plugin(
    "torch", "package", "torch", ("reference",), value="npulse.core.recheck.with_torch:TorchReference"
)
_TORCH_ITEM = Item("reference", 0, "torch", patterns=("*",))
