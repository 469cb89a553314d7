"""`npulse config new|check|explain`: configurations of the dump tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npulse.core.errors import InputError, UsageError
from npulse.core.text import Lang, safe_text, say

from .options import emit, talk, version

if TYPE_CHECKING:
    from npulse.core.config.globs import Tool
    from npulse.core.findings import Problem, Report


@dataclass(frozen=True, slots=True)
class NewOptions:
    """What `config new` was asked for, as it was typed."""

    tool: str | None = None
    model: str | None = None
    patterns: Sequence[str] = ()
    step: str | None = None
    rank: str | None = None
    level: str | None = None
    task: str | None = None
    dump_path: str | None = None
    mode: str | None = None
    data: str | None = None
    stats: str | None = None
    scope: Sequence[str] = ()
    summary_mode: str | None = None
    overflow: bool = False
    op_switch: bool = False
    scene: str | None = None
    watcher_nodes: Sequence[str] = ()
    msprobe_version: str | None = None
    name_list: Path | None = None
    document: Path | None = None
    output: Path | None = None
    force: bool = False


DEFAULT_PATH = "./dump"


def run_new(asked: NewOptions, lang: Lang) -> int:
    """The configuration to stdout or into a file; notes on it to stderr."""
    from npulse.core.config.globs import names_in
    from npulse.core.config.make import config_text, write_config

    if asked.tool not in (None, "acl", "msprobe"):
        raise UsageError(f"unknown tool '{asked.tool}'", hint="--tool msprobe or --tool acl")
    names = None if asked.name_list is None else names_in(asked.name_list)
    if asked.document is not None:
        config, notes = _from_document(asked, names, lang)
    elif asked.tool == "acl":
        config, notes = _new_acl(asked, names, lang)
    elif asked.tool == "msprobe":
        config, notes = _new_msprobe(asked, names, lang)
    else:
        raise UsageError("which tool is the configuration for?", hint="--tool msprobe or --tool acl")
    for note in notes:
        talk(f"npulse: {note}")
    _talk_of_findings(config, asked.msprobe_version, lang)
    if asked.output is None:
        emit([config_text(config)])
    else:
        write_config(config, asked.output, force=asked.force)
        talk(f"npulse: {asked.output}")
    return 0


def run_check(
    files: Sequence[Path],
    *,
    cwd: Path | None,
    msprobe_version: str | None,
    name_list: Path | None,
    format_name: str,
    strict: bool,
    lang: Lang,
) -> int:
    """All files as one report. 0 no error, 1 an error, 2 an unreadable file, 4 a form that is not known."""
    from npulse.core.config.check import check_config, merged
    from npulse.core.config.globs import names_in
    from npulse.core.findings import Problem
    from npulse.core.report import FORMATS, render

    if format_name not in FORMATS:
        raise UsageError(f"unknown format '{format_name}'", hint="formats: " + ", ".join(FORMATS))
    if cwd is not None and not cwd.is_dir():
        raise UsageError("no such folder", path=cwd, hint="--cwd: the folder in which the program is started")
    names = () if name_list is None else names_in(name_list)
    reports: list[Report] = []
    unread: list[Problem] = []
    for file in files:
        try:
            found = check_config(file, cwd=cwd, msprobe_version=msprobe_version, names=names, lang=lang)
            reports.append(found)
        except InputError as error:
            if len(files) == 1:
                raise
            unread.append(Problem.from_error(error, str(file)))
    report = merged(reports, unread)
    emit(render(report, format_name, version=version(), lang=lang), is_json=format_name in ("json", "jsonl"))
    code = report.exit_code(strict=strict)
    return 2 if unread and code != 1 else code


def run_explain(files: Sequence[Path], *, cwd: Path | None, name_list: Path | None, lang: Lang) -> int:
    """Each file in words."""
    from npulse.core.config.explain import explain_config
    from npulse.core.config.globs import names_in

    names = () if name_list is None else names_in(name_list)
    for at, file in enumerate(files):
        lines = explain_config(file, cwd=cwd, names=names, lang=lang)
        head = [f"{safe_text(str(file))}\n"] if len(files) > 1 else []
        emit([*(["\n"] if at else []), *head, *(f"{safe_text(line)}\n" for line in lines)])
    return 0


def _from_document(
    asked: NewOptions, names: Sequence[str] | None, lang: Lang
) -> tuple[Mapping[str, Any], Sequence[str]]:
    from npulse.core.config.forms import recognise
    from npulse.core.config.translate import translate
    from npulse.core.formats.config_json import read_config_json

    assert asked.document is not None
    own = ("tool", "msprobe_version", "name_list", "document", "output", "force")
    others = [name for name in asked.__slots__ if name not in own and getattr(asked, name)]
    if others:
        option = "--list" if others[0] == "patterns" else f"--{others[0].replace('_', '-')}"
        raise UsageError(
            f"--from takes what the file says: not with {option}", hint="edit the file, or the result"
        )
    text = read_config_json(asked.document)
    if recognise(text.value) != "documents":
        raise UsageError(
            "this file is not in the documents' form (dump_list with layer_name)",
            path=asked.document,
            hint=f"npulse config check {asked.document}",
        )
    tools: dict[str | None, Tool] = {"acl": "acl", "msprobe": "msprobe"}
    tool = tools.get(asked.tool)
    made = translate(text.value, tool=tool, names=names, lang=lang)
    assert made.config is not None  # without a collector of faults it raises
    return made.config, made.notes


def _new_acl(
    asked: NewOptions, names: Sequence[str] | None, lang: Lang
) -> tuple[Mapping[str, Any], Sequence[str]]:
    from npulse.core.config.globs import resolve
    from npulse.core.config.make import acl_config

    _refuse(asked, "acl", ("task", "rank", "scope", "summary_mode"))
    resolved = resolve("acl", asked.patterns, names, lang=lang)
    is_exception = asked.scene is not None and asked.scene != "watcher"
    config = acl_config(
        dump_path=asked.dump_path or (None if is_exception else DEFAULT_PATH),
        model_name=asked.model,
        layer=resolved.items,
        dump_mode=asked.mode,
        dump_level=asked.level,
        dump_data=asked.data,
        dump_stats=_words(asked.stats),
        dump_step=asked.step or (),
        dump_debug=asked.overflow,
        dump_op_switch=asked.op_switch,
        dump_scene=asked.scene,
        watcher_nodes=asked.watcher_nodes,
        lang=lang,
    )
    return config, resolved.notes


def _new_msprobe(
    asked: NewOptions, names: Sequence[str] | None, lang: Lang
) -> tuple[Mapping[str, Any], Sequence[str]]:
    from npulse.core.config.globs import resolve
    from npulse.core.config.make import msprobe_config
    from npulse.core.config.texts_translate import TEXTS
    from npulse.core.config.vocabulary import OLD, family_of

    _refuse(asked, "msprobe", ("scene", "stats", "op_switch", "watcher_nodes"))
    resolved = resolve("msprobe", asked.patterns, names, lang=lang)
    if asked.data not in (None, "tensor", "stats"):
        raise UsageError(f"--data {asked.data}", hint="tensor or stats")
    is_old = family_of(asked.msprobe_version) == OLD
    task = asked.task or {"tensor": "tensor", "stats": "statistics"}.get(asked.data or "")
    if asked.overflow:
        task = asked.task or ("overflow_check" if is_old else "nan_check")
    config = msprobe_config(
        dump_path=asked.dump_path or DEFAULT_PATH,
        task=task or "statistics",
        level=asked.level or "L1",
        rank=asked.rank or (),
        step=asked.step or (),
        list=resolved.items,
        scope=asked.scope,
        data_mode=_words(asked.mode) or ("all",),
        summary_mode=asked.summary_mode,
        version=asked.msprobe_version,
        lang=lang,
    )
    if asked.model is None:
        return config, resolved.notes
    return config, (*resolved.notes, say(TEXTS, "model-msprobe", lang, name=asked.model))


_SPELT = {"op_switch": "--op-switch", "watcher_nodes": "--watcher-nodes", "summary_mode": "--summary-mode"}


def _refuse(asked: NewOptions, tool: str, fields: Sequence[str]) -> None:
    """UsageError for options of the other tool: they would have no effect."""
    for name in fields:
        if getattr(asked, name):
            option = _SPELT.get(name, f"--{name}")
            other = "msprobe" if tool == "acl" else "acl"
            raise UsageError(f"{option} is an option of {other}, not of {tool}", hint=f"--tool {other}")


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def _talk_of_findings(config: Mapping[str, Any], msprobe_version: str | None, lang: Lang) -> None:
    """What the check has to say of it beside errors, which never get here."""
    from npulse.core.config.check import findings_of

    for finding in findings_of(config, msprobe_version=msprobe_version, lang=lang, is_here=True):
        talk(f"npulse: {finding.subject}: {finding.message}")
        if finding.next_step:
            talk(f"  {finding.next_step}")
