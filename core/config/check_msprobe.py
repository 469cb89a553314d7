"""config.json of msprobe against what msprobe's own sources refuse, ignore or change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npulse.core.findings import Severity
from npulse.core.formats.config_json import JsonPath

from . import vocabulary as v
from .check_tasks import check_task_options
from .faults import Faults, nearest
from .globs import has_glob
from .steps import StepFault, parse_msprobe, turned
from .where import Where, check_msprobe_path

_ENTRY = re.compile(r"[A-Za-z_]\w*\..*\.\d+\.(?:forward|backward)", re.DOTALL)
_MODULE = re.compile(r"(?:Cell|Module)\..*\.(?:forward|backward)\.\d+", re.DOTALL)
_LOADED = re.compile(r"Module\..*\.forward\.\d+", re.DOTALL)


def check_msprobe(value: Mapping[str, Any], faults: Faults, where: Where | None, family: str | None) -> None:
    """All rules. family: of the msprobe version, None where nobody said which."""
    families = v.FAMILIES if family is None else (family,)
    task = _check_task(value, faults, family)
    _check_keys(value, task, faults, family)
    level = faults.choice(value, (), "level", v.LEVELS) if value.get("level") else None
    for key in ("rank", "step"):
        check_numbers(value, (), key, faults, families)
    flags = _check_top(value, faults, families)
    _check_path(value, faults, where)
    section = _section(value, task, faults)
    level = level or "L1"
    _check_level(task, level, section, faults)
    if task == "structure" and level not in ("L0", "mix"):
        level = "mix"  # as msprobe makes it
    if section is not None:
        check_task_options(section, task, faults, families)
        _check_selection(section, task, level, faults)
    _check_exclusions(section or {}, task, level, flags, faults)
    _check_load(value, faults, where)
    _warn_of_size(value, section or {}, task, level, faults)


def _check_top(
    value: Mapping[str, Any], faults: Faults, families: tuple[str, ...]
) -> Mapping[str, bool | None]:
    """Keys beside the task that these versions read; the flags among them."""
    read = {key: value[key] for key in value if {*v.TOP_KEYS.get(key, ())} & {*families}}
    flags = {
        key: faults.flag_value(read, (), key)
        for key in ("async_dump", "dump_enable", "extra_info", "enable_dataloader")
        if read.get(key) is not None or key != "dump_enable"
    }
    for key, choices in (("precision", v.PRECISIONS), ("risk_level", v.RISK_LEVELS)):
        if read.get(key) not in (None, "") or (key == "precision" and key in read):
            faults.choice(read, (), key, choices)
    if read.get("precision") == "high" and v.NEW in families:
        faults.add("precision", ("precision",), "precision-high")
    if read.get("dump_enable") is False:
        faults.remark("not-enabled")
    if read.get("custom_op_namespaces") is not None:
        faults.texts_value(read, (), "custom_op_namespaces")
    return flags


def _check_task(value: Mapping[str, Any], faults: Faults, family: str | None) -> str:
    """The task that counts; "statistics" where none is named."""
    task = faults.text_value(value, (), "task") if value.get("task") is not None else None
    if not task:
        if not isinstance(value.get("task"), (int, float, list, dict)):
            faults.add("task", (), "task-missing", severity="warning")
        return "statistics"
    known = [name for name in v.FAMILIES if task in v.TASKS[name]]
    if not known:
        everywhere = sorted({t for tasks in v.TASKS.values() for t in tasks})
        near = nearest(task, everywhere)
        values: dict[str, Any] = {
            "value": task,
            "choices": ", ".join(v.TASKS[family] if family else everywhere),
        }
        faults.add("task", ("task",), "value-near" if near else "value", near=near or "", **values)
    elif family is not None and family not in known:
        other = v.RENAMED_TASKS.get(task)
        instead = other if other in v.TASKS[family] else ", ".join(v.TASKS[family])
        faults.add("task", ("task",), f"task-not-in-{family}", task=task, instead=instead)
    elif family is None and len(known) == 1:
        faults.add("task", ("task",), f"task-only-in-{known[0]}", severity="warning", task=task)
    if task in v.MINDSPORE_TASKS:
        faults.remark("task-mindspore", task=task)
    return task


def _check_keys(value: Mapping[str, Any], task: str, faults: Faults, family: str | None) -> None:
    inner = {key for keys in v.SECTION_KEYS.values() for key in keys}
    for key in value:
        if key in v.TOP_KEYS:
            readers = v.TOP_KEYS[key]
            if family is not None and family not in readers:
                faults.add("version", (key,), "version-key", key=key, families=_shown(readers))
        elif key in v.SECTION_KEYS:
            continue
        elif key in inner:
            place = (
                task
                if key in v.SECTION_KEYS.get(task, ())
                else next(name for name, keys in v.SECTION_KEYS.items() if key in keys)
            )
            faults.add("misplaced-key", (key,), "misplaced-option", key=key, place=place)
        else:
            faults.unknown_option((key,), (*v.TOP_KEYS, *v.SECTION_KEYS))


def _shown(families: tuple[str, ...]) -> str:
    return "1.x-8.x" if families == (v.OLD,) else "26.x"


def check_numbers(
    value: Mapping[str, Any], path: JsonPath, key: str, faults: Faults, families: tuple[str, ...]
) -> None:
    """`rank` or `step`."""
    if value.get(key) is None:
        return
    items = faults.list_value(value, path, key)
    if items is None:
        return
    found = parse_msprobe(items)
    if isinstance(found, StepFault):
        values: dict[str, Any] = {"part": found.part, "turned": turned(found.part), "key": key}
        faults.add("step", (*path, key, found.at), f"{found.key}-msprobe", **values)
        return
    lone = next((at for at, item in enumerate(items) if isinstance(item, str) and "-" not in item), None)
    if lone is not None and v.OLD in families:
        is_sure = families == (v.OLD,)
        severity: Severity = "error" if is_sure else "warning"
        faults.add("step", (*path, key, lone), "step-text", severity=severity, part=items[lone], key=key)


def _check_path(value: Mapping[str, Any], faults: Faults, where: Where | None) -> None:
    if value.get("dump_path") is None:
        load = value.get("load")
        if not (isinstance(load, dict) and load.get("path") and not load.get("dump_after_load")):
            faults.add("no-path", (), "no-path-msprobe")
        return
    path = faults.text_value(value, (), "dump_path")
    if path is not None:
        check_msprobe_path(path, ("dump_path",), faults, where)


def _section(value: Mapping[str, Any], task: str, faults: Faults) -> Mapping[str, Any] | None:
    """The options of the task. A section that is not there is told where options stand in another one."""
    if task in value:
        section = value[task]
        if isinstance(section, dict):
            return section
        faults.add("type", (task,), "type-object", value=section, key=task)
        return None
    others = [key for key in value if key in v.SECTION_KEYS and isinstance(value[key], dict)]
    filled = [key for key in others if any(_is_set(option) for option in value[key].values())]
    if filled:
        faults.add("section", (filled[0],), "section-other", task=task, other=filled[0])
    elif task in v.SECTION_KEYS and task not in ("structure", "exception_dump"):
        faults.remark("section-none", task=task)
    return None


def _is_set(option: Any) -> bool:
    return option not in (None, [], ["all"], "statistics", {})


def _check_level(task: str, level: str, section: Mapping[str, Any] | None, faults: Faults) -> None:
    if level == "L2" and task != "structure":
        if task != "tensor":
            faults.add("level", ("level",), "level-l2-task", task=task)
            return
        names = (section or {}).get("list")
        if not isinstance(names, list) or len(names) != 1:
            at: JsonPath = (task, "list") if section and "list" in section else ("level",)
            faults.add("level", at, "level-l2-list", n=len(names) if isinstance(names, list) else 0)
    if task == "nan_check" and level != "L1":
        faults.add("level", ("level",), "level-nan-check", level=level)
    if task == "structure" and level not in ("L0", "mix"):
        faults.add("level", ("level",), "level-structure", severity="warning", level=level)
    if level in ("L0", "mix") or task == "structure":
        faults.remark("model", level=level)
    if level == "debug":
        faults.remark("level-debug")


def _check_selection(section: Mapping[str, Any], task: str, level: str, faults: Faults) -> None:
    """scope, list, tensor_list: what is chosen."""
    path: JsonPath = (task,)
    scope = faults.texts_value(section, path, "scope") if section.get("scope") is not None else None
    names = faults.texts_value(section, path, "list") if section.get("list") is not None else None
    has_kept = section.get("tensor_list") is not None and "tensor_list" in v.SECTION_KEYS.get(task, ())
    kept = faults.texts_value(section, path, "tensor_list") if has_kept else None
    for key, found in (("list", names), ("tensor_list", kept), ("scope", scope)):
        for at, name in enumerate(found or []):
            if has_glob(name) and not name.startswith("name-regex("):
                faults.add("glob", (*path, key, at), "glob-msprobe", name=name)
            elif not name and key != "scope":
                faults.add("list", (*path, key, at), "list-empty-text", severity="warning")
    if scope and level == "L2":
        faults.add("exclusive", (*path, "scope"), "scope-l2")
    elif task == "free_benchmark":
        pass  # single names there, as many as one likes
    elif scope and len(scope) != 2:
        faults.add("scope", (*path, "scope"), "scope-two", n=len(scope))
    elif scope:
        _check_scope_names(scope, path, level, faults)
    if scope and names and task == "free_benchmark":
        faults.add("list", (*path, "list"), "list-or-scope")
    elif scope and names and level != "L2":
        faults.add("list", (*path, "list"), "list-and-scope", severity="note")
    if kept and level == "debug":
        faults.add("no-effect", (*path, "tensor_list"), "tensor-list-debug")


def _check_scope_names(scope: list[str], path: JsonPath, level: str, faults: Faults) -> None:
    if level == "debug":
        if len({name.partition(".")[0] in ("Module", "Cell") for name in scope}) > 1:
            faults.add("scope", (*path, "scope"), "scope-mixed")
        return
    for at, name in enumerate(scope):
        is_module, is_entry = _MODULE.fullmatch(name) is not None, _ENTRY.fullmatch(name) is not None
        is_good = {"L0": is_module, "L1": is_entry}.get(level, is_module or is_entry)
        if not is_good and not has_glob(name):
            wanted = "scope-module" if level == "L0" else "scope-api" if level == "L1" else "scope-name"
            faults.add("scope", (*path, "scope", at), wanted, name=name, level=level)


def _check_exclusions(
    section: Mapping[str, Any], task: str, level: str, flags: Mapping[str, bool | None], faults: Faults
) -> None:
    if not flags.get("async_dump"):
        return
    faults.remark("async")
    mode = section.get("summary_mode")
    if mode == "md5" or (isinstance(mode, list) and "md5" in mode):
        faults.add("exclusive", (task, "summary_mode"), "async-md5")
    if task == "tensor" and not section.get("list") and level != "debug":
        faults.add("list", ("async_dump",), "async-list")


def _check_load(value: Mapping[str, Any], faults: Faults, where: Where | None) -> None:
    if "load" not in value:
        return
    load = value["load"] or {}
    if not isinstance(load, dict):
        faults.add("type", ("load",), "type-object", value=load, key="load")
        return
    for key in load:
        if key not in ("path", "modules", "step", "rank", "dump_after_load"):
            faults.unknown_option(("load", key), ("path", "modules", "step", "rank", "dump_after_load"))
    for key in ("step", "rank"):
        check_numbers(load, ("load",), key, faults, (v.NEW,))
    faults.flag_value(load, ("load",), "dump_after_load")
    path = faults.text_value(load, ("load",), "path")
    if not path and "path" not in load or path == "":
        faults.add("load", ("load",), "load-path")
    elif path and where is not None and (Path(path).is_absolute() or where.is_given):
        real = where.resolved(path)
        if not Path(real).is_dir():
            faults.add("load", ("load", "path"), "load-folder", real=real)
    modules = faults.texts_value(load, ("load",), "modules")
    if modules == [] or "modules" not in load:
        faults.add("load", ("load",), "load-modules")
    for at, name in enumerate(modules or []):
        if _LOADED.fullmatch(name) is None or ".backward." in name:
            faults.add("load", ("load", "modules", at), "load-module", name=name)
        elif name in (modules or [])[:at]:
            faults.add("load", ("load", "modules", at), "load-twice", name=name)


def _warn_of_size(
    value: Mapping[str, Any], section: Mapping[str, Any], task: str, level: str, faults: Faults
) -> None:
    """Tensors of everything. One step of one rank is still told, as long as nothing else is left out."""
    if task != "tensor" or level in ("L2", "debug") or section.get("list") or section.get("scope"):
        return
    is_narrow = bool(value.get("step")) and bool(value.get("rank"))
    faults.add(
        "size", ("task",), "size-narrow" if is_narrow else "size", severity="note" if is_narrow else None
    )
