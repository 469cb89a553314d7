"""Metric plug-ins asked for pairs of tensors, and told as problems where they fail."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from npulse.core.dataclass import dataclass

from ..findings import Problem
from ..progress import IsCancelled, never_cancelled
from .accept import Complaint, Item, figure_of
from .loaded import items, problem_of
from .process import PluginFault, PluginProcess
from .registry import Plugin

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PAIR_LIMIT_S = 10.0
MAX_ELEMENTS = 1 << 26
"""Of a tensor that a metric is given: 512 MiB of float64 a side."""
MAX_FAULTS = 20
"""Pairs on which a metric may fail before it is given up."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure by a plug-in: `rule` of its findings, `unit` of its column."""

    name: str
    unit: str
    is_higher_better: bool
    rule: str

    def misses(self, value: float, limit: float) -> bool:
        """Whether a figure is worse than a limit; what is not a number is never good enough."""
        return not (value >= limit if self.is_higher_better else value <= limit)


def metrics(is_cancelled: IsCancelled = never_cancelled) -> tuple[tuple[Metric, ...], tuple[Problem, ...]]:
    """The metrics in use, and a problem for what could not be loaded."""
    found, problems = items("metric", is_cancelled)
    return tuple(_metric(plugin, item) for plugin, item in found), tuple(problems)


def _metric(plugin: Plugin, item: Item) -> Metric:
    return Metric(item.name, item.unit, item.is_higher_better, f"plugin.{plugin.name}.{item.name}")


class Measuring:
    """All metrics, each in its own process, as long as the `with` block lasts."""

    def __init__(self, is_cancelled: IsCancelled = never_cancelled, *, limit_s: float = PAIR_LIMIT_S) -> None:
        found, problems = items("metric", is_cancelled)
        self.metrics = tuple(_metric(plugin, item) for plugin, item in found)
        self._found = found
        self._is_cancelled, self._limit_s = is_cancelled, limit_s
        self._problems = list(problems)
        self._processes: dict[int, PluginProcess] = {}
        self._given_up: set[int] = set()
        self._n_faults: dict[int, int] = {}
        self._first: dict[int, Complaint] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Measuring:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def measure(self, target: npt.NDArray[np.float64], golden: npt.NDArray[np.float64]) -> list[float | None]:
        """A figure of each metric for a pair of arrays of one shape; None where it has none."""
        return [self._one(place, target, golden) for place in range(len(self._found))]

    @property
    def problems(self) -> Sequence[Problem]:
        """What was not measured and why, one a metric."""
        told = []
        for place, complaint in self._first.items():
            plugin, item = self._found[place]
            n = self._n_faults[place]
            end = "; it was asked no more" if place in self._given_up else ""
            message = f"{item.name} of {n} pair{'' if n == 1 else 's'}: {complaint.message}{end}"
            told.append(problem_of(plugin, Complaint(message, complaint.line)))
        return [*self._problems, *told]

    def _one(
        self, place: int, target: npt.NDArray[np.float64], golden: npt.NDArray[np.float64]
    ) -> float | None:
        if place in self._given_up:
            return None
        try:
            process = self._process(place)
            answer = process.ask({"do": "measure", "item": self._found[place][1].index}, [target, golden])
            return figure_of(answer.get("value"))
        except PluginFault as fault:
            self._failed(place, Complaint(fault.message, fault.line), is_over=fault.word != "raised")
        except ValueError as error:
            self._failed(place, Complaint(str(error)), is_over=False)
        return None

    def _process(self, place: int) -> PluginProcess:
        if place not in self._processes:
            plugin = self._found[place][0]
            process = PluginProcess(plugin, time_limit_s=self._limit_s, is_cancelled=self._is_cancelled)
            self._processes[place] = self._stack.enter_context(process)
            process.load()
        return self._processes[place]

    def _failed(self, place: int, complaint: Complaint, *, is_over: bool) -> None:
        self._first.setdefault(place, complaint)
        n = self._n_faults[place] = self._n_faults.get(place, 0) + 1
        if is_over or n >= MAX_FAULTS:
            self._given_up.add(place)
