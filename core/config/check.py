"""One configuration file checked: which tool's it is, every rule of that tool, and what to write instead."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from npulse.core.findings import Finding, Problem, Report, verdict_from, worst_verdict
from npulse.core.formats.config_json import ConfigJson, parse_config_json, read_config_json
from npulse.core.text import Lang, say

from .check_acl import check_acl
from .check_msprobe import check_msprobe
from .faults import Faults, by_severity
from .forms import Form, recognise
from .steps import StepFault, parse_acl, turned
from .texts import TEXTS
from .translate import Translation, translate
from .vocabulary import family_of
from .where import Where


def check_config(
    path: Path,
    *,
    cwd: Path | None = None,
    msprobe_version: str | None = None,
    names: Sequence[str] = (),
    lang: Lang = "en",
    is_here: bool = True,
) -> Report:
    """Every rule over one file. cwd: where the program will be started, against which relative paths count.

    names: operators to resolve globs of the documents' form. is_here False: folders are not looked at.
    Its verdict is unknown (exit code 4) for a form that is not known. InputError: the file cannot be read.
    """
    text = read_config_json(path)
    where = Where(cwd or Path.cwd(), cwd is not None) if is_here else None
    form = recognise(text.value)
    if form is None:
        unknown = (say(TEXTS, "form-unknown", lang),)
        return Report("config", str(path), "unknown", told=unknown)
    faults = Faults(text, str(path), lang)
    translation = _look(form, text, faults, where, msprobe_version, names)
    findings = faults.close()
    counted = faults.counted
    summary: dict[str, Any] = {"form": form, "msprobe_version": msprobe_version}
    told = [say(TEXTS, f"form-{form}", lang), *faults.remarks]
    if translation is not None:
        summary |= {"tool": translation.tool, "translation": translation.config}
        told += translation.told(lang)
    return Report(
        command="config",
        run=str(path),
        verdict=verdict_from(findings),
        findings=findings,
        counts={"errors": counted["error"], "warnings": counted["warning"], "notes": counted["note"]},
        summary=summary,
        told=tuple(told),
    )


def merged(reports: Sequence[Report], problems: Sequence[Problem] = ()) -> Report:
    """Several files as one report. problems: of those that could not be read at all."""
    if len(reports) == 1 and not problems:
        return reports[0]
    found = (finding for report in reports for finding in report.findings)
    findings = tuple(sorted(found, key=by_severity))
    told = tuple(f"{report.run}: {line}" for report in reports for line in report.told)
    verdicts = [report.verdict for report in reports]
    counts: Counter[str] = Counter()
    for report in reports:
        counts.update(report.counts)
    return Report(
        command="config",
        run=" ".join((*(report.run for report in reports), *(p.artifact for p in problems))),
        verdict=worst_verdict((*verdicts, "incomplete") if problems else verdicts),
        findings=findings,
        counts=dict(counts),
        summary={"files": {report.run: dict(report.summary) for report in reports}},
        problems=(*problems, *(p for report in reports for p in report.problems)),
        told=told,
    )


def findings_of(
    config: Mapping[str, Any],
    *,
    tool: Form | None = None,
    cwd: Path | None = None,
    msprobe_version: str | None = None,
    lang: Lang = "en",
    is_here: bool = False,
) -> tuple[Finding, ...]:
    """The findings of a configuration that is not a file yet. () where its form is not known."""
    text = parse_config_json(json.dumps(config, ensure_ascii=False, indent=4), Path("config"))
    form = tool or recognise(text.value)
    if form is None:
        return ()
    faults = Faults(text, "config", lang)
    where = Where(cwd or Path.cwd(), cwd is not None) if is_here else None
    _look(form, text, faults, where, msprobe_version, ())
    return faults.close()


def _look(
    form: Form,
    text: ConfigJson,
    faults: Faults,
    where: Where | None,
    version: str | None,
    names: Sequence[str],
) -> Translation | None:
    """All rules of a form; the translation of one that no tool reads."""
    for path, _ in text.repeated:
        faults.add("repeated-key", path, "repeated", key=path[-1])
    if form == "documents":
        faults.add("documents-form", (), "documents-form", file=str(text.path))
        return translate(text.value, names=names or None, lang=faults.lang, faults=faults)
    if form == "acl":
        if "dump" in text.value:
            check_acl(text.value, faults, where)
        else:
            faults.add("misplaced-key", (), "no-dump")
    elif form == "msprobe":
        check_msprobe(text.value, faults, where, family_of(version))
    else:
        _check_mindspore(text.value, faults)
    return None


def _check_mindspore(value: Mapping[str, Any], faults: Faults) -> None:
    """Only what goes wrong most: the path that is not absolute, steps that cannot be read."""
    faults.remark("mindspore-form")
    at = ("common_dump_settings",)
    settings = value.get(at[0])
    if not isinstance(settings, dict):
        faults.add(
            "type", ("common_dump_settings",), "type-object", value=settings, key="common_dump_settings"
        )
        return
    at = ("common_dump_settings",)
    path = faults.text_value(settings, at, "path")
    if path is not None and not path.startswith("/"):
        faults.add("path", (*at, "path"), "mindspore-path", path=path)
    steps = faults.text_value(settings, at, "iteration")
    found = parse_acl(steps) if steps not in (None, "all") else ()
    if isinstance(found, StepFault):
        faults.add(
            "step", (*at, "iteration"), found.key, part=found.part, at=found.at, turned=turned(found.part)
        )
