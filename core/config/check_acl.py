"""acl.json against the rules that CANN has for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npulse.core.formats.config_json import JsonPath

from . import vocabulary as v
from .faults import Faults, nearest
from .globs import has_glob
from .steps import StepFault, parse_acl, turned
from .where import Where, check_acl_path

_DUMP: JsonPath = ("dump",)
_LISTED = ("optype_blacklist", "opname_blacklist", "opname_range")


def check_acl(value: Mapping[str, Any], faults: Faults, where: Where | None) -> None:
    """All rules over {"dump": {...}}. where: None leaves folders alone."""
    dump = value.get("dump")
    if not isinstance(dump, dict):
        faults.add("type", _DUMP, "type-object", value=dump, key="dump")
        return
    depth = max(nesting(value, dict), nesting(value, list))
    if depth > v.MAX_ACL_NESTING:
        faults.add("nesting", (), "nesting", n=depth, most=v.MAX_ACL_NESTING)
    _check_keys(dump, faults)
    chosen = {key: faults.choice(dump, _DUMP, key, choices) for key, choices in v.ACL_VALUES.items()}
    path = faults.text_value(dump, _DUMP, "dump_path")
    _check_step(dump, faults)
    _check_stats(dump, chosen, faults)
    _check_kernel_data(dump, faults)
    targets = faults.list_value(dump, _DUMP, "dump_list")
    _check_targets(targets or [], dump, chosen, faults)
    _check_selection(dump, chosen, targets, faults)
    _check_exclusions(chosen, faults)
    if path is not None:
        check_acl_path(path, (*_DUMP, "dump_path"), faults, where)
    elif "dump_path" not in dump and chosen["dump_scene"] not in v.EXCEPTION_SCENES:
        faults.add("no-path", _DUMP, "no-path-acl")
    _remark_products(chosen, faults)


def nesting(value: Any, kind: type) -> int:
    """How many objects (dict) or lists (list) stand inside of each other at most."""
    deepest, todo = 0, [(value, 0)]
    while todo:
        item, depth = todo.pop()
        depth += isinstance(item, kind)
        deepest = max(deepest, depth)
        if isinstance(item, (dict, list)):
            todo += [(inner, depth) for inner in (item.values() if isinstance(item, dict) else item)]
    return deepest


def _check_keys(dump: Mapping[str, Any], faults: Faults) -> None:
    for key in dump:
        if key in v.ACL_KEYS:
            continue
        if key in v.ACL_TARGET_KEYS:
            faults.add("misplaced-key", (*_DUMP, key), "misplaced-outer", key=key)
        else:
            faults.unknown_key((*_DUMP, key), v.ACL_KEYS)


def _check_step(dump: Mapping[str, Any], faults: Faults) -> None:
    text = faults.text_value(dump, _DUMP, "dump_step")
    if text is None:
        return
    path = (*_DUMP, "dump_step")
    steps = parse_acl(text)
    if isinstance(steps, StepFault):
        faults.add("step", path, steps.key, part=steps.part, at=steps.at, turned=turned(steps.part))
        return
    single = next((part for part in text.split("|") if "-" in part and len({*part.split("-")}) == 1), None)
    if single is not None:
        faults.add("step-ge", path, "step-ge", part=single, first=single.partition("-")[0])


def _check_stats(dump: Mapping[str, Any], chosen: Mapping[str, str | None], faults: Faults) -> None:
    if "dump_stats" not in dump:
        return
    path = (*_DUMP, "dump_stats")
    names = faults.texts_value(dump, _DUMP, "dump_stats")
    if chosen["dump_data"] != "stats":
        faults.add("stats", path, "stats-without-data")
    if names is not None and not names:
        faults.add("stats", path, "stats-empty", choices=", ".join(v.DUMP_STATS))
    for index, name in enumerate(names or []):
        if name not in v.DUMP_STATS:
            near = nearest(name, v.DUMP_STATS) or ", ".join(v.DUMP_STATS)
            faults.add("stats", (*path, index), "stats-name", name=name, near=near)


def _check_kernel_data(dump: Mapping[str, Any], faults: Faults) -> None:
    text = faults.text_value(dump, _DUMP, "dump_kernel_data")
    for part in (text or "").split(",") if text is not None else []:
        if part.strip() not in v.KERNEL_DATA:
            choices = ", ".join(v.KERNEL_DATA)
            faults.add("value", (*_DUMP, "dump_kernel_data"), "value", value=part.strip(), choices=choices)


def _check_targets(
    targets: list[Any], dump: Mapping[str, Any], chosen: Mapping[str, str | None], faults: Faults
) -> None:
    for index, target in enumerate(targets):
        path: JsonPath = (*_DUMP, "dump_list", index)
        if not isinstance(target, dict):
            faults.add("type", path, "type-object", value=target, key=f"dump_list[{index}]")
            continue
        for key in target:
            if key in v.ACL_KEYS:
                faults.add("misplaced-key", (*path, key), "misplaced-inner", key=key)
            elif key not in v.ACL_TARGET_KEYS:
                faults.unknown_key((*path, key), v.ACL_TARGET_KEYS)
        _check_target(target, path, chosen, faults)
        for key in _LISTED:
            _check_listed(target, path, key, chosen["dump_level"], faults)


def _check_target(
    target: Mapping[str, Any], path: JsonPath, chosen: Mapping[str, str | None], faults: Faults
) -> None:
    model = faults.text_value(target, path, "model_name")
    layers = faults.texts_value(target, path, "layer")
    watched = faults.texts_value(target, path, "watcher_nodes")
    if chosen["dump_op_switch"] != "on":
        for key, found in (("model_name", model), ("layer", layers)):
            if found is not None and not found:
                faults.add("empty-target", (*path, key), "empty-target", key=key)
    if model is not None and (model.endswith(".om") or "/" in model):
        stem = model.rpartition("/")[2].removesuffix(".om")
        faults.add("value", (*path, "model_name"), "model-name", severity="warning", stem=stem)
    for key, names in (("layer", layers), ("watcher_nodes", watched)):
        for at, name in enumerate(names or []):
            if has_glob(name):
                faults.add("glob", (*path, key, at), "glob-acl", name=name)
    if chosen["dump_scene"] == "watcher":
        if not target.get("watcher_nodes"):
            faults.add("watcher", path, "watcher-nodes")
        if "model_name" in target:
            faults.add("watcher", (*path, "model_name"), "watcher-model")
    elif "watcher_nodes" in target:
        faults.add("no-effect", (*path, "watcher_nodes"), "watcher-scene")


def _check_listed(
    target: Mapping[str, Any], path: JsonPath, key: str, level: str | None, faults: Faults
) -> None:
    """A blacklist, or opname_range."""
    entries = faults.list_value(target, path, key)
    if entries is None:
        return
    path = (*path, key)
    if level != "op":
        faults.add("blacklist", path, "blacklist-level", key=key)
    if len(entries) > v.MAX_LISTED:
        faults.add("blacklist", path, "blacklist-many", key=key, n=len(entries), most=v.MAX_LISTED)
    is_range = key == "opname_range"
    if is_range and not target.get("model_name"):
        faults.add("blacklist", path, "range-model")
    known = ("begin", "end") if is_range else ("name", "pos")
    for index, entry in enumerate(entries[: v.MAX_LISTED]):
        here = (*path, index)
        if not isinstance(entry, dict):
            faults.add("type", here, "type-object", value=entry, key=f"{key}[{index}]")
            continue
        for word in entry:
            if word not in known:
                faults.unknown_key((*here, word), known)
        for word in known if is_range else known[:1]:
            if faults.text_value(entry, here, word) == "" or word not in entry:
                faults.add("blacklist", here, "blacklist-member", key=key, word=word)
        for at, pos in enumerate(faults.texts_value(entry, here, "pos") or [] if not is_range else []):
            if not _is_position(pos):
                faults.add("blacklist", (*here, "pos", at), "blacklist-pos", pos=pos)


def _is_position(text: str) -> bool:
    for side in ("input", "output"):
        rest = text.removeprefix(side)
        if rest != text and rest.isascii() and rest.isdigit():
            return True
    return False


def _check_selection(
    dump: Mapping[str, Any], chosen: Mapping[str, str | None], targets: list[Any] | None, faults: Faults
) -> None:
    """Rule 1: something must be selected. What is there with a wrong value has been told already."""
    is_list_wrong = targets is None and "dump_list" in dump
    switches = ("dump_op_switch", "dump_debug", "dump_scene")
    is_told = is_list_wrong or any(key in dump and chosen[key] is None for key in switches)
    is_selected = bool(targets) or chosen["dump_op_switch"] == "on" or chosen["dump_debug"] == "on"
    if not is_selected and chosen["dump_scene"] is None and not is_told:
        faults.add("nothing-selected", _DUMP, "nothing-selected")
    if chosen["dump_scene"] == "watcher":
        if chosen["dump_mode"] not in (None, "output"):
            faults.add("watcher", (*_DUMP, "dump_mode"), "watcher-mode")
        if not targets and not is_list_wrong:
            faults.add("watcher", _DUMP, "watcher-list")
    if targets and chosen["dump_debug"] == "on":
        faults.add("no-effect", (*_DUMP, "dump_list"), "list-with-debug", severity="note")


def _check_exclusions(chosen: Mapping[str, str | None], faults: Faults) -> None:
    is_debug, is_switched = chosen["dump_debug"] == "on", chosen["dump_op_switch"] == "on"
    scene = chosen["dump_scene"]
    if is_debug and is_switched:
        faults.add("exclusive", (*_DUMP, "dump_debug"), "debug-and-switch")
    if is_debug and scene is not None:
        faults.add("exclusive", (*_DUMP, "dump_scene"), "debug-and-scene", scene=scene)
    if is_switched and scene is not None:
        faults.add("exclusive", (*_DUMP, "dump_scene"), "switch-and-scene", scene=scene)


def _remark_products(chosen: Mapping[str, str | None], faults: Faults) -> None:
    if chosen["dump_data"] == "stats":
        faults.remark("product-stats")
    if chosen["dump_scene"] == "aic_err_detail_dump":
        faults.remark("product-detail")
