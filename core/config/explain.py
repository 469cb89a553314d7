"""A configuration in words: what is recorded and what is not, who loads it, what appears on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from npulse.core.formats.config_json import ConfigJson, parse_config_json, read_config_json
from npulse.core.text import Lang, safe_text, say

from .check import findings_of
from .estimate import Cost, Estimate, cost_of_acl, cost_of_msprobe
from .forms import Form, UnknownForm, recognise
from .parts import AclParts, MsprobeParts, acl_parts, msprobe_parts
from .steps import Steps, as_acl
from .texts import TEXTS as CHECK_TEXTS
from .texts_explain import TEXTS
from .translate import translate
from .vocabulary import DEFAULT_STATS

_SHOWN = 6
Lines = list[tuple[str, str]]
"""(label, text) in the order in which they are shown; one label may stand several times."""


def explain_config(
    path: Path, *, cwd: Path | None = None, names: Sequence[str] = (), lang: Lang = "en"
) -> tuple[str, ...]:
    """One file in words, a line a fact. cwd: where the program is started. names: for the documents' globs.

    InputError: it cannot be read. UnknownForm (exit code 4): none that is known.
    """
    text = read_config_json(path)
    form = recognise(text.value)
    if form is None:
        raise UnknownForm(say(CHECK_TEXTS, "form-unknown", lang), path=path)
    return _explained(text, form, cwd, names, lang)


def explain(
    config: Mapping[str, Any], *, tool: Form | None = None, cwd: Path | None = None, lang: Lang = "en"
) -> tuple[str, ...]:
    """The same of a configuration that is not a file yet."""
    text = parse_config_json(json.dumps(config, ensure_ascii=False), Path("config.json"))
    form = tool or recognise(text.value)
    if form is None:
        raise UnknownForm(say(CHECK_TEXTS, "form-unknown", lang))
    return _explained(text, form, cwd, (), lang)


def _explained(
    text: ConfigJson, form: Form, cwd: Path | None, names: Sequence[str], lang: Lang
) -> tuple[str, ...]:
    if form == "documents":
        translation = translate(text.value, names=names or None, lang=lang)
        head = [say(TEXTS, "documents", lang), *translation.told(lang)]
        if translation.config is None:
            return tuple(head)
        return (*head, *explain(translation.config, cwd=cwd, lang=lang))
    if form == "mindspore":
        settings = text.value.get("common_dump_settings")
        path = settings.get("path") if isinstance(settings, dict) else None
        shown = safe_text(path) if isinstance(path, str) else "PATH"
        return (say(TEXTS, "mindspore", lang, file=safe_text(str(text.path)), path=shown),)
    lines = _of_acl(text, cwd, lang) if form == "acl" else _of_msprobe(text, cwd, lang)
    n_errors = sum(f.severity == "error" for f in findings_of(text.value, tool=form))
    if n_errors:
        lines.insert(1, ("faults", say(TEXTS, "faults", lang, n=n_errors)))
    return tuple(_laid_out(lines, lang))


def _laid_out(lines: Lines, lang: Lang) -> list[str]:
    """Labels in a column, each once."""
    labels = {label: say(TEXTS, f"label-{label}", lang) for label, _ in lines}
    width = max(_cells(text) for text in labels.values())
    shown = []
    before = ""
    for label, text in lines:
        head = "" if label == before else labels[label]
        shown.append(f"{head}{' ' * (width - _cells(head))}  {safe_text(text)}")
        before = label
    return shown


def _cells(text: str) -> int:
    return sum(1 if char.isascii() else 2 for char in text)


def _of_acl(text: ConfigJson, cwd: Path | None, lang: Lang) -> Lines:
    parts = acl_parts(text)

    def told(key: str, **values: Any) -> str:
        return say(TEXTS, key, lang, **values)

    lines: Lines = [("form", told("acl-form"))]
    lines += [("what", line) for line in _acl_recorded(parts, lang)]
    lines += [("not", line) for line in _acl_left_out(parts, lang)]
    if parts.is_nothing:
        return [*lines, ("load", told("acl-load"))]
    if not parts.is_exception:
        lines.append(("sides", told(f"sides-{parts.mode if parts.mode in ('input', 'all') else 'output'}")))
        lines.append(("steps", _steps_told(parts.steps, parts.bad_steps, lang)))
    path = f" ({parts.path})" if parts.path else ""
    where = told("where-scene", path=path) if parts.is_exception else _where(parts.path, cwd, lang)
    lines.append(("where", where))
    lines.append(("overflow", told("acl-overflow-on" if parts.is_overflow else "acl-overflow-off")))
    lines.append(("cost", _cost(cost_of_acl(parts), lang)))
    lines.append(("load", told("acl-load")))
    lines += [("disk", told(key)) for key in _acl_disk(parts)]
    opened = parts.path or "DIR"
    lines.append(("open", told("acl-open-stats" if parts.data == "stats" else "acl-open", path=opened)))
    return lines


def _acl_recorded(parts: AclParts, lang: Lang) -> list[str]:
    if parts.is_nothing:
        return [say(TEXTS, "acl-nothing", lang)]
    if parts.is_overflow:
        return [say(TEXTS, "acl-overflow", lang)]
    if parts.is_exception:
        key = "acl-detail" if parts.scene == "aic_err_detail_dump" else "acl-exception"
        return [say(TEXTS, key, lang)]
    lines = []
    for target in parts.targets:
        if parts.scene == "watcher":
            layers, watched = (_names(names, lang) or "?" for names in (target.layers, target.watcher_nodes))
            lines.append(say(TEXTS, "acl-watcher", lang, layers=layers, watched=watched))
        elif target.model_name is None and not target.layers:
            lines.append(say(TEXTS, "acl-everything", lang))
        else:
            model = target.model_name or say(TEXTS, "acl-any-model", lang)
            n, names = len(target.layers), _names(target.layers, lang)
            key = "acl-layers" if n else "acl-all-layers"
            layers = say(TEXTS, key, lang, n=n, names=names)
            lines.append(say(TEXTS, "acl-target", lang, model=model, layers=layers))
    lines += [say(TEXTS, "acl-range", lang, first=first, last=last) for first, last in parts.ranges]
    if parts.is_op_switch:
        lines.append(say(TEXTS, "acl-ops", lang))
    if parts.data == "stats":
        lines.append(say(TEXTS, "acl-stats", lang, names=", ".join(parts.stats or DEFAULT_STATS)))
    else:
        lines.append(say(TEXTS, "acl-tensor", lang))
    return lines


def _acl_left_out(parts: AclParts, lang: Lang) -> list[str]:
    if parts.is_nothing:
        return []
    if parts.is_overflow:
        return [say(TEXTS, "acl-not-healthy", lang)]
    if parts.is_exception:
        return [say(TEXTS, "acl-not-working", lang)]
    lines = []
    if not parts.is_op_switch:
        lines.append(say(TEXTS, "acl-not-ops", lang))
    elif not parts.targets:
        lines.append(say(TEXTS, "acl-not-models", lang))
    lines += [say(TEXTS, "acl-black", lang, name=name) for name in parts.left_out[:_SHOWN]]
    if any(target.layers for target in parts.targets):
        lines.append(say(TEXTS, "acl-names", lang))
    return lines


def _acl_disk(parts: AclParts) -> list[str]:
    if parts.is_overflow:
        return ["acl-disk-overflow"]
    if parts.is_exception:
        return ["acl-disk-exception"]
    keys = ["acl-disk-model"] if parts.targets else []
    keys += ["acl-disk-ops"] if parts.is_op_switch else []
    return [*keys, "acl-disk-stats"] if parts.data == "stats" else keys


def _of_msprobe(text: ConfigJson, cwd: Path | None, lang: Lang) -> Lines:
    parts = msprobe_parts(text)

    def told(key: str, **values: Any) -> str:
        return say(TEXTS, key, lang, **values)

    lines: Lines = [("form", told("ms-form"))]
    lines += [("what", line) for line in _msprobe_recorded(parts, lang)]
    lines += [("not", told(key)) for key in _msprobe_left_out(parts)]
    lines.append(("sides", _modes(parts, lang)))
    lines.append(("steps", _steps_told(parts.steps, parts.bad_steps, lang)))
    ranks = as_acl(parts.ranks)
    lines.append(("ranks", told("ranks-some", ranks=ranks) if ranks else told("ranks-all")))
    lines.append(("where", _where(parts.path, cwd, lang)))
    overflow = {"nan_check": "ms-overflow-nan", "overflow_check": "ms-overflow-check"}
    lines.append(("overflow", told(overflow.get(parts.task, "ms-overflow"))))
    lines.append(("cost", _cost(cost_of_msprobe(parts), lang)))
    model = "model=model" if parts.level in ("L0", "mix") else ""
    lines.append(("load", told("ms-load", file=str(text.path), model=model)))
    if parts.is_switched:
        lines.append(("load", told("ms-switched")))
    if parts.is_async:
        lines.append(("load", say(CHECK_TEXTS, "async", lang)))
    lines.append(("disk", told(_msprobe_disk(parts))))
    lines.append(("open", told("ms-open", path=parts.path or "DIR")))
    return lines


def _msprobe_recorded(parts: MsprobeParts, lang: Lang) -> list[str]:
    key = f"ms-{parts.task}"
    if parts.task == "statistics" and parts.summary != "statistics":
        key = f"ms-{parts.summary}" if parts.summary in ("md5", "xor") else "ms-summary"
    key = key if key in TEXTS else "ms-task"
    lines = [say(TEXTS, key, lang, task=parts.task, summary=parts.summary)]
    of = say(TEXTS, f"ms-level-{parts.level}", lang) if f"ms-level-{parts.level}" in TEXTS else parts.level
    chosen = []
    if parts.list:
        chosen.append(say(TEXTS, "ms-list", lang, names=_names(parts.list, lang)))
    if len(parts.scope) == 2:
        chosen.append(say(TEXTS, "ms-scope", lang, first=parts.scope[0], last=parts.scope[1]))
    if not chosen and parts.level != "debug":
        chosen.append(say(TEXTS, "ms-all-names", lang))
    lines.append("; ".join([of, *chosen]))
    if parts.tensor_list and parts.task in ("statistics", "nan_check"):
        lines.append(say(TEXTS, "ms-tensor-list", lang, names=_names(parts.tensor_list, lang)))
    return lines


def _msprobe_left_out(parts: MsprobeParts) -> list[str]:
    keys = [f"ms-not-{parts.level}"] if parts.level in ("L0", "L1") else []
    if parts.task in ("statistics", "nan_check") and not parts.tensor_list:
        keys.append("ms-not-elements")
    return [*keys, "ms-not-focus"] if parts.level in ("L1", "mix") else keys


def _msprobe_disk(parts: MsprobeParts) -> str:
    if parts.level == "L2":
        return "ms-disk-l2"
    if parts.level == "debug":
        return "ms-disk-debug"
    if parts.task in ("acc_check", "run_ut", "free_benchmark", "grad_probe"):
        return "ms-disk-csv"
    has_files = parts.task in ("tensor", "diff_check", "overflow_check") or bool(parts.tensor_list)
    return "ms-disk-tensor" if has_files else "ms-disk"


def _modes(parts: MsprobeParts, lang: Lang) -> str:
    if set(parts.modes) in ({"input"}, {"output"}, {"all"}):
        return say(TEXTS, f"sides-{parts.modes[0]}", lang)
    return say(TEXTS, "ms-modes", lang, modes=", ".join(parts.modes))


def _steps_told(steps: Steps, bad: str | None, lang: Lang) -> str:
    if bad is not None:
        return say(TEXTS, "steps-bad", lang, part=bad)
    shown = as_acl(steps)
    return say(TEXTS, "steps-some", lang, steps=shown) if shown else say(TEXTS, "steps-all", lang)


def _where(path: str | None, cwd: Path | None, lang: Lang) -> str:
    if not path:
        return say(TEXTS, "where-none", lang)
    if path.startswith(("/", "~")) or ":" in path:
        return say(TEXTS, "where", lang, path=path)
    return (
        say(TEXTS, "where", lang, path=str(cwd / path))
        if cwd
        else say(TEXTS, "where-relative", lang, path=path)
    )


def _cost(cost: Cost, lang: Lang) -> str:
    return Estimate(cost).told(lang)[0]


def _names(names: Sequence[str], lang: Lang) -> str:
    shown = ", ".join(names[:_SHOWN])
    if len(names) > _SHOWN:
        return say(TEXTS, "more", lang, names=shown, n=len(names) - _SHOWN)
    return shown
