"""Which form a JSON file has: acl.json, config.json of msprobe, MindSpore's own, or that of the documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from npulse.core.errors import InputError

from . import vocabulary as v
from .globs import has_glob

Form = Literal["acl", "msprobe", "mindspore", "documents"]


class UnknownForm(InputError):
    """JSON, but no configuration that is known here."""

    exit_code = 4


_MINDSPORE = ("common_dump_settings", "e2e_dump_settings")


def recognise(value: Any) -> Form | None:
    """The form by content; None where it is none of these."""
    if not isinstance(value, dict):
        return None
    if any(key in value for key in _MINDSPORE):
        return "mindspore"
    dump = value.get("dump")
    if isinstance(dump, dict):
        return "documents" if _is_documents(dump) else "acl"
    if "dump_list" in value or "dump" in value:
        return "documents" if "dump_list" in value and "task" not in value else "acl"
    is_named = "task" in value or any(isinstance(value.get(task), dict) for task in v.SECTION_KEYS)
    if is_named or ("dump_path" in value and {*value} & {*v.TOP_KEYS} - {"dump_path"}):
        return "msprobe"
    if wrapper_of(value) is not None or {"compare", "model_path"} & {*value}:
        return "documents"
    return "acl" if {*value} & {*v.ACL_KEYS} else None


def wrapper_of(document: Mapping[str, Any]) -> str | None:
    """The key of the object that holds dump_list; None where that is the whole file."""
    if isinstance(document.get("dump"), dict):
        return "dump"
    if "dump_list" in document:
        return None
    inner = (key for key, value in document.items() if isinstance(value, dict) and "dump_list" in value)
    return next(inner, None)


def dump_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object that holds dump_list, or the whole file."""
    key = wrapper_of(document)
    return document if key is None else document[key]


def _is_documents(dump: Mapping[str, Any]) -> bool:
    """Items with layer_name as a glob, or as one text beside a mode or steps of their own. A list of whole
    names, or layer_name alone, is a slip of the pen for `layer`."""
    targets = dump.get("dump_list")
    for target in targets if isinstance(targets, list) else []:
        if not isinstance(target, dict) or "layer_name" not in target:
            continue
        names = target["layer_name"]
        if isinstance(names, str) and {"dump_mode", "dump_step"} & {*target}:
            return True
        texts = [names] if isinstance(names, str) else names if isinstance(names, list) else []
        if any(isinstance(text, str) and has_glob(text) for text in texts):
            return True
    return False
