"""Analysis plug-ins asked about a run and what the areas say of it; their findings as reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..analysis import AnalysisOptions, AreaReport
from ..findings import Finding, Problem, Report, verdict_from, worst_verdict
from ..progress import IsCancelled, never_cancelled
from .accept import MAX_FINDINGS, Complaint, Item, findings_of, rows_of
from .loaded import items, problem_of, recogniser
from .process import TIME_LIMIT_S, PluginFault, PluginProcess
from .protocols import OWN_AREA
from .registry import Plugin

if TYPE_CHECKING:
    from ..table import Table

MAX_TABLE_ROWS = 200_000


class RunLike(Protocol):
    """What is needed of a `core.run.model.Run`."""

    @property
    def path(self) -> Path: ...
    @property
    def rounds(self) -> tuple[Any, ...]: ...
    @property
    def artifacts(self) -> tuple[Any, ...]: ...


def has_analyses(area: str | None = None, is_cancelled: IsCancelled = never_cancelled) -> bool:
    """Whether a plug-in has something to say in an area (None: in any), or cannot be loaded.

    Nothing, at no cost, without plug-ins.
    """
    found, problems = items("analysis", is_cancelled)
    return bool(problems) or any(area in (None, item.area) for _, item in found)


def plugin_reports(
    run: RunLike,
    reports: Mapping[str, Sequence[AreaReport]],
    options: AnalysisOptions,
    *,
    area: str | None = None,
    is_cancelled: IsCancelled = never_cancelled,
    time_limit_s: float = TIME_LIMIT_S,
) -> tuple[AreaReport, ...]:
    """What the analysis plug-ins say of a run: one report for each area that they name, () without any.

    reports: area to what it said, the newest round last; `report.command` of a returned one is its area,
    "plugin" for those that name none. area: only the plug-ins of that one. Tables are there for plug-ins
    where the reports hold them (`options.tables`). A plug-in that fails is a problem of its area's report.
    """
    found, problems = items("analysis", is_cancelled)
    round_name = options.round_name or (run.rounds[-1].name if run.rounds else "")
    by_area: dict[str, AreaReport] = {}

    def tell(name: str, findings: list[Finding], problems: list[Problem]) -> None:
        told = AreaReport(round_name, "", _report(run, name, findings, problems))
        by_area[name] = with_plugins(by_area[name], (told,)) if name in by_area else told

    if problems:
        tell(area or OWN_AREA, [], problems)
    asked: dict[str, Any] | None = None
    for plugin, item in found:
        if area not in (None, item.area):
            continue
        asked = asked or asked_of(run, reports)
        findings, problems = _answered(
            plugin, item, run, asked, reports, is_cancelled=is_cancelled, time_limit_s=time_limit_s
        )
        tell(item.area, findings, problems)
    return tuple(by_area.values())


def with_plugins(told: AreaReport, more: Iterable[AreaReport]) -> AreaReport:
    """An area's report with what plug-ins have to say in that area behind it."""
    for one in more:
        report = replace(
            told.report,
            findings=(*told.report.findings, *one.report.findings),
            problems=tuple(dict.fromkeys((*told.report.problems, *one.report.problems))),
            verdict=worst_verdict((told.report.verdict, one.report.verdict)),
            beneath=worst_verdict((told.report.beneath, one.report.beneath)),
        )
        told = replace(told, report=report)
    return told


def added_plugin_reports(
    run: RunLike,
    reports: Mapping[str, Sequence[AreaReport]],
    options: AnalysisOptions,
    *,
    is_cancelled: IsCancelled = never_cancelled,
) -> dict[str, tuple[AreaReport, ...]]:
    """The areas' reports with what plug-ins say: in an area behind the findings of its newest report.

    What belongs to no area, or to one that found nothing of its own, is a report of its own.
    """
    found = {area: tuple(several) for area, several in reports.items()}
    for one in plugin_reports(run, reports, options, is_cancelled=is_cancelled):
        found[one.report.command] = joined_with(found.get(one.report.command, ()), one)
    return found


def without_tables(told: AreaReport) -> AreaReport:
    """The report without tables, where they were made for plug-ins alone."""
    return replace(told, report=replace(told.report, tables={}))


def joined_with(reports: tuple[AreaReport, ...], told: AreaReport) -> tuple[AreaReport, ...]:
    """An area's reports, what plug-ins say behind the findings of the newest; alone where there is none."""
    return (*reports[:-1], with_plugins(reports[-1], (told,))) if reports else (told,)


def _report(run: RunLike, area: str, findings: list[Finding], problems: list[Problem]) -> Report:
    return Report(
        area,
        str(run.path),
        verdict_from(findings, problems),
        beneath=verdict_from((), problems),
        findings=tuple(findings),
        problems=tuple(problems),
    )


def _answered(
    plugin: Plugin,
    item: Item,
    run: RunLike,
    asked: Mapping[str, Any],
    reports: Mapping[str, Sequence[AreaReport]],
    *,
    is_cancelled: IsCancelled,
    time_limit_s: float,
) -> tuple[list[Finding], list[Problem]]:
    """The findings of one plug-in, and what went wrong with it and the files that it asked for."""
    problems: list[Problem] = []

    def answer(question: Mapping[str, Any]) -> tuple[Mapping[str, Any], Sequence[Any]]:
        if question["want"] == "table":
            return table_answer(str(question.get("name")), reports)
        rows, wrong = read_artifact(run, str(question.get("path")), is_cancelled)
        problems.extend(one for one in wrong if one not in problems)
        told = [problem.message for problem in wrong]
        return ({"problems": told} if rows is None else {"rows": rows, "problems": told}), ()

    try:
        with PluginProcess(plugin, time_limit_s=time_limit_s, is_cancelled=is_cancelled) as process:
            process.load()
            message = {"do": "analyze", "item": item.index, "most": MAX_FINDINGS, **asked}
            found = process.ask(message, answer=answer)
    except PluginFault as fault:
        return [], [*problems, problem_of(plugin, Complaint(fault.message, fault.line))]
    findings, wrong = findings_of(found.get("findings"), plugin.name, item.area)
    return findings, [*problems, *(problem_of(plugin, Complaint(one)) for one in wrong)]


def read_artifact(
    run: RunLike, relative: str, is_cancelled: IsCancelled = never_cancelled
) -> tuple[list[dict[str, Any]] | None, list[Problem]]:
    """The rows of an artifact that a reader plug-in knows, and its problems; (None, []) where none does."""
    artifact = next((one for one in run.artifacts if one.relative == relative), None)
    reader = recogniser(is_cancelled).reader(artifact.kind) if artifact is not None else None
    if artifact is None or reader is None:
        return None, []
    plugin, item = reader
    try:
        with PluginProcess(plugin, is_cancelled=is_cancelled) as process:
            process.load()
            answer = process.ask({"do": "read", "item": item.index, "path": str(artifact.path)})
    except PluginFault as fault:
        message = f"plug-in {plugin.name} {fault.message}"
        return [], [Problem(relative, "plugin", message, hint=f"npulse plugin check {plugin.name}")]
    return rows_of(answer, relative)


def table_answer(
    name: str, reports: Mapping[str, Sequence[AreaReport]]
) -> tuple[Mapping[str, Any], Sequence[Any]]:
    """A table in columns: of the newest report that has one of that name."""
    tables: dict[str, Table] = {}
    for several in reports.values():
        for one in several:
            tables.update(one.report.tables)
    table = tables.get(name)
    if table is None:
        return {"names": sorted(tables)}, ()
    n = min(table.n_rows, MAX_TABLE_ROWS)
    columns: list[dict[str, Any]] = []
    arrays: list[Any] = []
    for column in table.exported:
        labels = None
        if column.labels is not None:
            values, labels = _coded(column.to_list(0, n))
        else:
            kind = {"float": "<f8", "int": "<i8", "bool": "|b1"}[column.kind]
            values = column.values[:n].astype(kind)
        arrays.append(values)
        absent = column.absent[:n] if column.absent is not None else None
        if absent is not None:
            arrays.append(absent.astype("|b1"))
        columns.append(
            {"name": column.name, "kind": column.kind, "labels": labels, "has_absent": absent is not None}
        )
    return {"columns": columns, "n_rows": table.n_rows}, arrays


def _coded(texts: Sequence[Any]) -> tuple[Any, list[str]]:
    """Texts as codes into the few that there are; an absent one has any code, its mask says so."""
    import numpy as np

    codes: dict[str, int] = {}
    values = np.fromiter((codes.setdefault(text or "", len(codes)) for text in texts), "<i8", len(texts))
    return values, list(codes)


def asked_of(run: RunLike, reports: Mapping[str, Sequence[AreaReport]]) -> dict[str, Any]:
    """What every analysis is given, as plain values with the keys of `--format json`."""
    artifacts = [
        {
            "kind": one.kind,
            "path": one.relative,
            "rank": one.rank,
            "step": one.step,
            "side": one.side,
            "round": one.round,
            "completeness": one.completeness,
            "size_bytes": one.size_bytes,
        }
        for one in run.artifacts
    ]
    told = {
        area: [{"round": one.round, "name": one.name, **_told(one.report)} for one in several]
        for area, several in reports.items()
    }
    return {
        "run": {"path": str(run.path), "rounds": [one.name for one in run.rounds]},
        "artifacts": artifacts,
        "reports": told,
    }


_LEFT_OUT = {"artifacts", "tables", "told"}
_RENAMED = {"next_step": "next"}


def _told(report: Report) -> dict[str, Any]:
    return {f.name: _plain(getattr(report, f.name)) for f in fields(report) if f.name not in _LEFT_OUT}


def _plain(value: Any) -> Any:
    """Records, mappings and numbers of numpy as JSON has them."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            _RENAMED.get(f.name, f.name): _plain(getattr(value, f.name))
            for f in fields(value)
            if f.name not in _LEFT_OUT
        }
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    return _plain(value.tolist()) if hasattr(value, "tolist") else str(value)
