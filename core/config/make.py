"""Configurations made from what is wanted: checked by the rules of `check` before anybody gets them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from npulse.core.errors import UsageError
from npulse.core.files import write_whole
from npulse.core.text import Lang

from . import vocabulary as v
from .steps import StepFault, Steps, as_acl, as_msprobe, parse_any, turned

StepsLike = str | int | Iterable[int | str]
"""Steps or ranks in either grammar: "0|5-10", "0,5-10", 3, [0, "5-10"]; "" and () are all."""


def msprobe_config(
    *,
    dump_path: str,
    task: str = "statistics",
    level: str = "L1",
    rank: StepsLike = (),
    step: StepsLike = (),
    list: Sequence[str] = (),
    scope: Sequence[str] = (),
    tensor_list: Sequence[str] = (),
    data_mode: Sequence[str] = ("all",),
    summary_mode: str | None = None,
    async_dump: bool = False,
    dump_enable: bool | None = None,
    extra_info: bool | None = None,
    risk_level: str | None = None,
    overflow_nums: int | None = None,
    version: str | None = None,
    lang: Lang = "en",
) -> dict[str, Any]:
    """config.json of msprobe. list: parts of names (`globs.resolve`). dump_enable: the switch that is edited
    at run time (26.x). overflow_nums: of task overflow_check (1.x, 8.x). version: of msprobe, for its rules.

    UsageError with the first fault.
    """
    config: dict[str, Any] = {
        "task": task,
        "dump_path": dump_path,
        "rank": as_msprobe(steps_of(rank)),
        "step": as_msprobe(steps_of(step)),
        "level": level,
    }
    optional = {"dump_enable": dump_enable, "extra_info": extra_info, "risk_level": risk_level}
    config |= {key: value for key, value in optional.items() if value is not None}
    if async_dump:
        config["async_dump"] = True
    known = v.SECTION_KEYS.get(task, ())
    section: dict[str, Any] = {}
    for key, names in (("scope", scope), ("list", list), ("tensor_list", tensor_list)):
        if names or (key in known and key != "tensor_list"):
            section[key] = [*names]
    if "data_mode" in known or tuple(data_mode) != ("all",):
        section["data_mode"] = [*data_mode]
    if summary_mode is None and task in ("statistics", "tensor"):
        summary_mode = "statistics"
    for key, value in (("summary_mode", summary_mode), ("overflow_nums", overflow_nums)):
        if value is not None:
            section[key] = value
    config[task] = section
    refuse_faults(config, version=version, lang=lang)
    return config


def acl_config(
    *,
    dump_path: str | None = None,
    model_name: str | None = None,
    layer: Sequence[str] = (),
    dump_mode: str | None = None,
    dump_level: str | None = None,
    dump_data: str | None = None,
    dump_stats: Sequence[str] = (),
    dump_step: StepsLike = (),
    dump_debug: bool = False,
    dump_op_switch: bool = False,
    dump_scene: str | None = None,
    watcher_nodes: Sequence[str] = (),
    lang: Lang = "en",
) -> dict[str, Any]:
    """acl.json. Offline dump: model_name and layer (whole names of compiled operators), both optional; single
    operators (aclnn, as torch_npu calls them): dump_op_switch; overflow: dump_debug; failing kernels:
    dump_scene "lite_exception", which needs no dump_path. dump_stats implies dump_data "stats".

    UsageError with the first fault.
    """
    dump: dict[str, Any] = {}
    target: dict[str, Any] = {}
    if model_name is not None:
        target["model_name"] = model_stem(model_name)
    if layer:
        target["layer"] = [*layer]
    if watcher_nodes:
        target["watcher_nodes"] = [*watcher_nodes]
    if dump_op_switch:
        dump["dump_list"] = [target] if target else []
    elif target or not (dump_debug or dump_scene):
        dump["dump_list"] = [target]
    if dump_stats and dump_data is None:
        dump_data = "stats"
    if dump_scene == "watcher" and dump_mode is None:
        dump_mode = "output"
    texts = {
        "dump_path": dump_path,
        "dump_mode": dump_mode,
        "dump_level": dump_level,
        "dump_data": dump_data,
        "dump_step": as_acl(steps_of(dump_step)) or None,
        "dump_scene": dump_scene,
    }
    dump |= {key: value for key, value in texts.items() if value is not None}
    if dump_stats:
        dump["dump_stats"] = [*dump_stats]
    if dump_debug:
        dump["dump_debug"] = "on"
    if dump_op_switch:
        dump["dump_op_switch"] = "on"
    config = {"dump": dump}
    refuse_faults(config, lang=lang)
    return config


def model_stem(model: str) -> str:
    """model_name as CANN has it: the .om file's name without folder and suffix."""
    return model.rstrip("/").rpartition("/")[2].removesuffix(".om")


def steps_of(written: StepsLike) -> Steps:
    """Steps in either grammar. UsageError with the part that is wrong."""
    found = parse_any(written)
    if not isinstance(found, StepFault):
        return found
    from .texts import NEXT, TEXTS

    values = {"part": found.part, "at": found.at, "turned": turned(found.part), "key": "step"}
    key = found.key if found.key in TEXTS else f"{found.key}-msprobe"
    hint = NEXT[key][0].format(**values) if key in NEXT else None
    raise UsageError("steps: " + TEXTS[key][0].format(**values), hint=hint)


def refuse_faults(config: Mapping[str, Any], *, version: str | None = None, lang: Lang = "en") -> None:
    """UsageError with the first error that `check` would find; folders are left alone."""
    from .check import findings_of

    for finding in findings_of(config, msprobe_version=version, lang=lang):
        if finding.severity == "error":
            raise UsageError(f"{finding.subject}: {finding.message}", hint=finding.next_step or None)


def config_text(config: Mapping[str, Any]) -> str:
    """JSON as people and tools read it, with its last line end."""
    return json.dumps(config, ensure_ascii=False, indent=4) + "\n"


def write_config(config: Mapping[str, Any], path: Path, *, force: bool = False) -> None:
    """The configuration in a file, whole or not at all. UsageError: it is there already, and not `force`.

    InputError where it cannot be written.
    """
    try:
        write_whole([config_text(config)], path, force=force)
    except FileExistsError:
        raise UsageError("the file is there already", path=path, hint="--force replaces it") from None
