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
    if {*v.NO_COUNTERPART} & {*value} and {"compare", "model_path"} & {*value}:
        return "documents"
    return "acl" if {*value} & {*v.ACL_KEYS} else None


def dump_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object that holds dump_list: in the documents it is the whole file, or its "dump"."""
    dump = document.get("dump")
    return dump if isinstance(dump, dict) else document


def _is_documents(dump: Mapping[str, Any]) -> bool:
    """Items with layer_name as a glob, or with a mode or steps of their own beside it. layer_name alone is a
    slip of the pen for `layer`."""
    targets = dump.get("dump_list")
    for target in targets if isinstance(targets, list) else []:
        if not isinstance(target, dict) or "layer_name" not in target:
            continue
        names = target["layer_name"]
        texts = [names] if isinstance(names, str) else names if isinstance(names, list) else []
        if {"dump_mode", "dump_step"} & {*target} or any(isinstance(t, str) and has_glob(t) for t in texts):
            return True
    return False
