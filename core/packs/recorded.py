"""Reports as they were recorded in a pack: written with all that people read, read back with bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from npulse.core.analysis import AnalysisOptions, AreaReport
from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError
from npulse.core.figures import size_text
from npulse.core.files import read_input
from npulse.core.findings import (
    Completeness,
    Finding,
    Location,
    Problem,
    Related,
    Report,
    Role,
    Severity,
    Verdict,
    with_problems,
)
from npulse.core.run.model import Artifact
from npulse.core.text import Lang, say

from .opening import OpenedPack, pack_of

MAX_BYTES = 64 << 20
MAX_FINDINGS = 100_000
MAX_NUMBER = 1 << 64
FOLDER = "reports"
TEXTS: Mapping[str, tuple[str, str]] = {
    "recorded": (
        "as recorded on {made} by npulse {npulse}: parts of the run that this rests on are not in the pack",
        "记录于 {made}（npulse {npulse}）：该结论所依据的部分数据不在包内",
    ),
}


def is_short(run: Path, area: str) -> bool:
    """Whether a path is the run of an opened pack that holds less than the area needs."""
    pack = pack_of(run)
    return pack is not None and area in pack.manifest.recorded


def recorded_reports(
    run: Path, area: str, round_name: str | None, lang: Lang
) -> tuple[AreaReport, ...] | None:
    """What an area said of the whole run, where the pack that was opened holds less; None where it is to be
    asked itself. round_name: only that round."""
    pack = pack_of(run)
    if pack is None or area not in pack.manifest.recorded:
        return None
    made = pack.manifest.made
    note = say(TEXTS, "recorded", lang, made=made, npulse=pack.manifest.npulse)
    facts = {"made": made, "npulse": pack.manifest.npulse, "run": pack.manifest.path}
    found = []
    for told in all_recorded(pack, area):
        if round_name is None or told.round == round_name:
            report = replace(
                told.report,
                run=str(run),
                summary={**told.report.summary, "recorded": facts},
                told=(note, *told.report.told),
            )
            found.append(replace(told, report=report, notes=(note, *told.notes)))
    return tuple(found)


def newest_recorded(run: Path, area: str, options: AnalysisOptions) -> AreaReport | None:
    """The first report of the newest round as recorded; None where the options ask for something else."""
    chosen = (options.pair_name, options.rank, options.step, options.criteria)
    if options.tables or any(one is not None for one in chosen):
        return None
    found = recorded_reports(run, area, options.round_name, options.lang)
    return next((one for one in found if one.round == found[-1].round), None) if found else None


def gaps_of(run: Path) -> tuple[Problem, ...]:
    """What is missing where the run of an opened pack holds less than some area needs; () of any other."""
    pack = pack_of(run)
    if pack is None or not pack.manifest.recorded:
        return ()
    made = pack.manifest
    message = (
        f"{made.n_left_out:,} files of the run ({size_text(made.left_out_bytes)}) are not in this pack; "
        f"what is judged here of {', '.join(made.recorded)} is of a part"
    )
    hint = (
        f"npulse {made.recorded[0]} x.tar.gz without further options shows what was recorded of the whole run"
    )
    return (Problem(made.name, "missing", message, hint=hint),)


def with_gap(told: AreaReport, runs: Sequence[Path]) -> AreaReport:
    """A report that was made of a pack that holds less than the area needs: never a pass."""
    return replace(told, report=with_problems(told.report, [gap for run in runs for gap in gaps_of(run)]))


def all_recorded(pack: OpenedPack, area: str) -> tuple[AreaReport, ...]:
    """The reports of an area in a pack, in the order of its rounds. InputError where one is not readable."""
    start = f"{FOLDER}/{area}-"
    return tuple(
        read_recorded(pack.folder / one.path) for one in pack.manifest.files if one.path.startswith(start)
    )


def recorded_text(told: AreaReport, body: dict[str, Any]) -> str:
    """A report as it stands in a pack. body: the report as `core/report` makes it for JSON."""
    findings = [
        {**entry, "told": list(finding.told)}
        for entry, finding in zip(body["findings"], told.report.findings, strict=True)
    ]
    whole = {
        **body,
        "findings": findings,
        "told": list(told.report.told),
        "beneath": told.report.beneath,
        "round": told.round,
        "name": told.name,
        "notes": list(told.notes),
    }
    return json.dumps(whole, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def read_recorded(path: Path) -> AreaReport:
    """A report of a pack. InputError for all that `recorded_text` does not write."""
    raw = read_input(path, MAX_BYTES, "a report")
    try:
        return _Reader(json.loads(raw.decode("utf-8"))).report()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError("this is no report that npulse recorded", path=path) from error


@dataclass(frozen=True, slots=True)
class _Reader:
    """Takes a report out of JSON; ValueError, KeyError or TypeError for another one."""

    body: Any

    def report(self) -> AreaReport:
        body = self.body
        if len(body["findings"]) > MAX_FINDINGS or len(body["problems"]) > MAX_FINDINGS:
            raise ValueError("too many")
        report = Report(
            command=_text(body["command"]),
            run=_text(body["run"]),
            verdict=_one_of(Verdict, body["verdict"]),
            artifacts=tuple(map(_artifact, body["artifacts"])),
            findings=tuple(map(_finding, body["findings"])),
            counts={_text(name): _count(n) for name, n in body["counts"].items()},
            summary=_mapping(body["summary"]),
            problems=tuple(map(_problem, body["problems"])),
            target=_text_or_none(body["target"]),
            golden=_text_or_none(body["golden"]),
            told=_texts(body["told"]),
            beneath=_one_of(Verdict, body["beneath"]),
        )
        return AreaReport(_text(body["round"]), _text(body["name"]), report, _texts(body["notes"]))


def _finding(entry: Any) -> Finding:
    at = entry["location"]
    numbers = {key: _int_or_none(at[key]) for key in ("rank", "step", "row", "line", "byte")}
    return Finding(
        area=_text(entry["area"]),
        severity=_one_of(Severity, entry["severity"]),
        rule=_text(entry["rule"]),
        role=_one_of(Role, entry["role"]),
        subject=_text(entry["subject"]),
        message=_text(entry["message"]),
        next_step=_text(entry["next"]),
        source=_text(entry["source"]),
        figures=_mapping(entry["figures"]),
        related=tuple(
            Related(_one_of(Role, one["role"]), _text(one["subject"]), _mapping(one["figures"]))
            for one in entry["related"]
        ),
        location=Location(_text_or_none(at["artifact"]), **numbers),
        told=_texts(entry["told"]),
    )


def _artifact(entry: Any) -> Artifact:
    path = _text(entry["path"])
    return Artifact(
        kind=_text(entry["kind"]),
        path=Path(path),
        relative=path,
        size_bytes=_count(entry["size_bytes"]),
        modified_ns=0,
        rank=_int_or_none(entry["rank"]),
        step=_int_or_none(entry["step"]),
        completeness=_one_of(Completeness, entry["completeness"]),
        side=_text_or_none(entry["side"]),
    )


def _problem(entry: Any) -> Problem:
    return Problem(
        _text(entry["artifact"]),
        _text(entry["kind"]),
        _text(entry["message"]),
        _int_or_none(entry["line"]),
        _int_or_none(entry["byte"]),
        _text_or_none(entry["hint"]),
    )


def _one_of(kind: Any, value: object) -> Any:
    if value not in get_args(kind):
        raise ValueError(value)
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


def _int_or_none(value: object) -> int | None:
    if value is None:
        return None
    return _count(value)


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(value)
    if abs(value) > MAX_NUMBER:
        raise ValueError("no figure has that many digits")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(value)
    return tuple(map(_text, value))


def _mapping(value: Any) -> Mapping[str, Any]:
    """Figures as they were; what JSON holds as text for NaN and infinities becomes a number again."""
    if not isinstance(value, dict):
        raise TypeError(value)
    return {name: _figure(one) for name, one in value.items()}


def _figure(value: Any) -> Any:
    if isinstance(value, int) and abs(value) > MAX_NUMBER:
        raise ValueError("no figure has that many digits")
    if value in ("nan", "inf", "-inf"):
        return float(value)
    if isinstance(value, list):
        return [_figure(one) for one in value]
    return {name: _figure(one) for name, one in value.items()} if isinstance(value, dict) else value
