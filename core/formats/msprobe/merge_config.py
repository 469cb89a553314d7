"""The configuration of msprobe's merge_result: which calls, and which of their figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.files import read_input
from npulse.core.text import safe_text

from .mapping import YamlNode, parsed_yaml

MAX_BYTES = 1 << 20
_MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class MergeConfig:
    """apis: names such as Distributed.all_reduce. figures: heads of columns ('Max diff'), () for all."""

    apis: tuple[str, ...]
    figures: tuple[str, ...]


def read_merge_config(path: Path) -> MergeConfig:
    """The lists `api` and `compare_index` of a YAML file.

    InputError, with the line, where there is no list of calls, as the tool itself refuses it, or something
    else than names stands in a list.
    """
    raw = read_input(path, MAX_BYTES, "a configuration of merge_result")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("no UTF-8", path=path) from error
    node = parsed_yaml(text, path, may_be_empty=True)
    if not node.is_map:
        raise InputError("no configuration of merge_result: no keys", path=path, line=node.line)
    lists: dict[str, tuple[str, ...]] = {}
    for key, value in node.value:
        if key.value in ("api", "compare_index"):
            lists[key.value] = _names(key.value, value, path)
    if not lists.get("api"):
        raise InputError("no configuration of merge_result: it names no calls under 'api'", path=path)
    return MergeConfig(lists["api"], lists.get("compare_index", ()))


def _names(key: str, node: YamlNode, path: Path) -> tuple[str, ...]:
    if node.value in ("", "null", "~") and key == "compare_index":
        return ()
    if node.is_map or not isinstance(node.value, list):
        raise InputError(f"'{key}' is no list", path=path, line=node.line)
    for item in node.value:
        if not isinstance(item.value, str) or not 0 < len(item.value) <= _MAX_NAME:
            raise InputError(f"'{key}' holds something else than names", path=path, line=item.line)
    return tuple(dict.fromkeys(safe_text(item.value, _MAX_NAME) for item in node.value))
