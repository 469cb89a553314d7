"""A plug-in tried out on a tiny sample, every fault of it told with its line."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..analysis import AreaReport
from ..findings import Finding, Report
from ..table import Column, Table, text_column
from .accept import MAX_FINDINGS, Complaint, Item, figure_of, findings_of, items_of, rows_of
from .analyses import asked_of, table_answer
from .process import PluginFault, PluginProcess
from .references import Computing
from .registry import Plugin

CHECK_LIMIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of a plug-in. tried: (kind, name, what it answered) of each part that was run."""

    plugin: Plugin
    tried: tuple[tuple[str, str, str], ...]
    faults: tuple[Complaint, ...]
    items: tuple[Item, ...] = ()


def check_plugin(plugin: Plugin, *, time_limit_s: float = CHECK_LIMIT_S) -> Checked:
    """Import a plug-in apart, check what it declares, run each part once on a sample of npulse's own."""
    try:
        with PluginProcess(plugin, time_limit_s=time_limit_s) as process:
            items, faults = items_of(process.load(), plugin.name)
    except PluginFault as fault:
        return Checked(plugin, (), (Complaint(fault.message, fault.line),))
    tried: list[tuple[str, str, str]] = []
    for item in items:
        try:
            with PluginProcess(plugin, time_limit_s=time_limit_s) as process:
                process.load()
                tried.append((item.kind, item.name, _TRIES[item.kind](process, item, faults)))
        except PluginFault as fault:
            where = fault.line or item.line
            faults.append(Complaint(f"{item.kind} {item.name} {fault.message}", where))
    return Checked(plugin, tuple(tried), tuple(faults), tuple(items))


def _try_reader(process: PluginProcess, item: Item, faults: list[Complaint]) -> str:
    """A file of the declared first bytes alone. A reader may refuse it."""
    with tempfile.TemporaryDirectory(prefix="npulse-check-") as folder:
        name = item.patterns[0]
        for letter in "*?[]":
            name = name.replace(letter, "x")
        path = Path(folder, name)
        path.write_bytes(item.magic)
        try:
            answer = process.ask({"do": "read", "item": item.index, "path": os.fspath(path)})
        except PluginFault as fault:
            if fault.word != "raised":
                raise
            return f"refused a file of {len(item.magic)} bytes: it {fault.message}"
    rows, problems = rows_of(answer, name)
    faults += [Complaint(f"reader {item.name}: {p.message}") for p in problems if p.kind != "bad-record"]
    return f"read a file of {len(item.magic)} bytes: {len(rows)} rows, {len(problems)} problems"


def _try_metric(process: PluginProcess, item: Item, faults: list[Complaint]) -> str:
    golden = np.array([[1.0, -2.0, 0.5], [4.0, 0.0, -8.0]])
    told = []
    for target in (golden, golden + 0.25, np.where(golden > 1, np.nan, golden), np.zeros((0, 3))):
        sides = [target, golden if target.size else target]
        try:
            answer = process.ask({"do": "measure", "item": item.index}, sides)
            told.append(f"{figure_of(answer.get('value')):.6g}")
        except ValueError as error:
            raise PluginFault("answer", str(error)) from None
        except PluginFault as fault:
            if target.size or fault.word != "raised":
                raise
            told.append("none")  # of an empty tensor there may be no figure
    return "equal {}, shifted {}, with NaN {}, empty {}".format(*told)


def _try_analysis(process: PluginProcess, item: Item, faults: list[Complaint]) -> str:
    reports = _sample_reports()

    def answer(question: Mapping[str, Any]) -> tuple[Mapping[str, Any], Sequence[Any]]:
        if question["want"] == "table":
            return table_answer(str(question.get("name")), reports)
        return {"problems": []}, ()

    message = {"do": "analyze", "item": item.index, "most": MAX_FINDINGS, **asked_of(_SAMPLE_RUN, reports)}
    found = process.ask(message, answer=answer)
    findings, wrong = findings_of(found.get("findings"), process.plugin.name, item.area)
    faults += [Complaint(f"analysis {item.name}: {one}", item.line) for one in wrong]
    return f"{len(findings)} findings in a sample of one report"


def _try_reference(process: PluginProcess, item: Item, faults: list[Complaint]) -> str:
    """Two small arrays under the first name that it knows. It may refuse them."""
    x = np.array([[1.0, -2.0, 0.5], [4.0, 0.0, -8.0]])
    with Computing(process, item) as computing:
        try:
            made = computing.compute(item.patterns[0], [x, x[::-1].copy()], {})
        except PluginFault as fault:
            if fault.word != "raised":
                raise
            return f"refused two arrays of 6 elements: it {fault.message}"
    return f"{len(made)} output{'' if len(made) == 1 else 's'} of two arrays of 6 elements"


_TRIES = {
    "reader": _try_reader,
    "metric": _try_metric,
    "analysis": _try_analysis,
    "reference": _try_reference,
}
_SAMPLE_RUN: Any = SimpleNamespace(path=Path("/sample"), rounds=(), artifacts=())


def _sample_reports() -> dict[str, tuple[AreaReport, ...]]:
    """One report of the precision area with a table of two rows."""
    columns = (
        text_column("operator", ["Functional.linear.0.forward", "Functional.softmax.0.forward"]),
        Column("cosine", "float", np.array([1.0, 0.5])),
        Column("n_different", "int", np.array([0, 3]), absent=np.array([True, False])),
    )
    finding = Finding(
        "precision", "error", "precision.origin", "origin", "Functional.softmax.0.forward", "differs first"
    )
    report = Report(
        "precision", "/sample", "fail", findings=(finding,), tables={"precision": Table("precision", columns)}
    )
    return {"precision": (AreaReport("", "sample", report),)}
