"""The options of msprobe's tasks, each with the values that its sources take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npulse.core.formats.config_json import JsonPath

from . import vocabulary as v
from .faults import Faults, nearest

_CHOICES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "overflow_check": {"check_mode": ("aicore", "atomic", "all")},
    "free_benchmark": {
        "fuzz_device": ("npu", "cpu"),
        "pert_mode": (
            *("improve_precision", "add_noise", "no_change", "bit_noise", "change_value", "to_cpu"),
        ),
        "handler_type": ("check", "fix"),
        "fuzz_level": ("L1",),
        "fuzz_stage": ("forward", "backward"),
    },
    "grad_probe": {"grad_level": ("L0", "L1", "L2")},
    "tensor": {"file_format": ("npy", "bin")},
    "statistics": {"device": ("device", "host"), "precision": ("high", "low")},
}
_COUNTS: Mapping[str, tuple[str, ...]] = {"overflow_check": ("overflow_nums",), "diff_check": ("diff_nums",)}
_CHECKED = ("statistics", "tensor", "nan_check")
"""Tasks of which msprobe looks at data_mode and summary_mode; the others take anything."""
_TEXT_LISTS = {"white_list", "black_list", "param_list"}
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "acc_check": ("error_data_path",),
    "run_ut": ("error_data_path",),
    "statistics": ("request_id",),
    "tensor": ("request_id", "bench_path"),
    "nan_check": ("request_id",),
}


def check_task_options(
    section: Mapping[str, Any], task: str, faults: Faults, families: tuple[str, ...]
) -> None:
    """Everything in a task's section but scope and the lists of names."""
    path: JsonPath = (task,)
    known = v.SECTION_KEYS.get(task)
    if known is None:
        return  # the task itself has been told
    for key in section:
        if key in known:
            continue
        if key in v.TOP_KEYS:
            faults.add("misplaced-key", (*path, key), "misplaced-top", key=key)
            continue
        owners = [name for name, keys in v.SECTION_KEYS.items() if key in keys]
        if owners:
            shown = ", ".join(owners[:3])
            faults.add("no-effect", (*path, key), "option-of-other", key=key, owners=shown, task=task)
        else:
            faults.unknown_option((*path, key), known)
    for key, choices in _CHOICES.get(task, {}).items():
        if section.get(key) is not None:
            faults.choice(section, path, key, choices)
    for key in _COUNTS.get(task, ()):
        _check_count(section.get(key), (*path, key), faults)
    for key in _TEXT_LISTS & section.keys():
        faults.texts_value(section, path, key)
    for key in _TEXTS.get(task, ()):
        if section.get(key) is not None:
            faults.text_value(section, path, key)
    if task not in _CHECKED:
        return
    _check_data_mode(section, path, task, faults)
    if task != "nan_check":
        _check_summary_mode(section, path, faults, families)
    _check_slices(section, path, faults)


def _check_count(value: Any, path: JsonPath, faults: Faults) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        faults.add("type", path, "type-number", value=value, key=str(path[-1]))
    elif value != -1 and value <= 0:
        faults.add("value", path, "value-count", value=value)


def _check_data_mode(section: Mapping[str, Any], path: JsonPath, task: str, faults: Faults) -> None:
    if section.get("data_mode") is None:
        return
    modes = faults.texts_value(section, path, "data_mode")
    path = (*path, "data_mode")
    for at, mode in enumerate(modes or []):
        if mode not in v.DATA_MODES:
            near = nearest(mode, v.DATA_MODES) or ", ".join(v.DATA_MODES)
            faults.add("data-mode", (*path, at), "data-mode", value=mode, near=near)
    if modes and "all" in modes and len(modes) > 1:
        faults.add("data-mode", path, "data-mode-all")
    elif modes and len(modes) >= len(v.DATA_MODES):
        faults.add("data-mode", path, "data-mode-many", n=len(modes))
    if task == "nan_check" and modes and "input" in modes and not {"output", "all"} & {*modes}:
        faults.add("data-mode", path, "data-mode-nan-check")


def _check_summary_mode(
    section: Mapping[str, Any], path: JsonPath, faults: Faults, families: tuple[str, ...]
) -> None:
    mode = section.get("summary_mode")
    path = (*path, "summary_mode")
    if not mode:
        return
    if isinstance(mode, list):
        known = ", ".join(v.MINDSPORE_STATISTICS)
        for at, word in enumerate(mode):
            if word not in v.MINDSPORE_STATISTICS:
                faults.add("summary-mode", (*path, at), "value", value=word, choices=known)
        faults.remark("summary-list")
        return
    if not isinstance(mode, str):
        faults.add("type", path, "type-text", value=mode, key="summary_mode")
        return
    choices = v.SUMMARY_MODES[v.NEW]
    if mode not in choices:
        near = nearest(mode, choices)
        key = "value-near" if near else "value"
        faults.add("summary-mode", path, key, value=mode, near=near or "", choices=", ".join(choices))
    elif mode not in v.SUMMARY_MODES[v.OLD] and families == (v.OLD,):
        faults.add("summary-mode", path, "summary-xor")


def _check_slices(section: Mapping[str, Any], path: JsonPath, faults: Faults) -> None:
    if not section.get("slice"):
        return
    for at, item in enumerate(faults.list_value(section, path, "slice") or []):
        here = (*path, "slice", at)
        if not isinstance(item, dict):
            faults.add("type", here, "type-object", value=item, key=f"slice[{at}]")
            continue
        for key, number in item.items():
            if isinstance(number, bool) or not isinstance(number, int):
                faults.add("type", (*here, key), "type-number", value=number, key=key)
            elif key in ("dim", "size") and number < 0:
                faults.add("value", (*here, key), "value-negative", value=number)
