"""acl.json: what a CANN dump was asked for. Only what the file says, no defaults and no judgement."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import shown_path
from ..findings import Problem
from .config_json import ConfigJson, clean, parse_config_json, text_of
from .text_lines import LineNotes

MAX_TEXT_BYTES = 4 << 20

_HINT = 'name an acl.json: {"dump": {"dump_path": ...}}'
_MAX_LISTED = 1000
_KEYS = frozenset(
    {"dump_path", "dump_mode", "dump_level", "dump_data", "dump_stats", "dump_op_switch", "dump_step"}
    | {"dump_debug", "dump_scene", "dump_kernel_data", "dump_list"}
)
_KEYS_OF_A_TARGET = frozenset(
    {"model_name", "layer", "watcher_nodes", "optype_blacklist", "opname_blacklist", "opname_range"}
)


@dataclass(frozen=True, slots=True)
class DumpTarget:
    """One object of `dump_list`. layers, watcher_nodes: names of compiled operators; () where it has none."""

    model_name: str | None
    layers: tuple[str, ...]
    watcher_nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AclConfig:
    """The object "dump". None: the key is not there, or its value is of a wrong type (then a problem).

    dump_debug (overflow detection), dump_op_switch: True "on", False "off". Texts are as written, whether a
    tool takes them or not. targets: None without `dump_list`, () for an empty one; [{}] selects everything.
    unknown_keys: keys that CANN does not have in that place, as paths ("dump_list[0].layer_name").
    line_of: key of "dump" -> its line.
    """

    path: Path
    dump_path: str | None
    dump_mode: str | None
    dump_level: str | None
    dump_data: str | None
    dump_stats: tuple[str, ...] | None
    dump_debug: bool | None
    dump_op_switch: bool | None
    dump_scene: str | None
    dump_step: str | None
    targets: tuple[DumpTarget, ...] | None
    unknown_keys: tuple[str, ...]
    line_of: Mapping[str, int]
    problems: tuple[Problem, ...] = ()

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of all targets; () where none is named, which may mean all or nothing."""
        return tuple(layer for target in self.targets or () for layer in target.layers)


def read_acl_config(path: Path, *, root: Path | None = None) -> AclConfig:
    """The dump configuration in `path`.

    Problems (with line): values of a wrong type, switches that are neither "on" nor "off".
    Raises InputError: no such file, a link out of `root`, more than 4 MB or 200,000 values, no JSON (with its
    line), no "dump".
    """
    text = parse_config_json(text_of(path, root, MAX_TEXT_BYTES), path)
    return _config_in(text, LineNotes(shown_path(path, root)))


def acl_config_in(text: ConfigJson) -> AclConfig:
    """The same of JSON that was read before. Raises InputError where it has no object "dump"."""
    return _config_in(text, LineNotes(str(text.path)))


def _config_in(text: ConfigJson, notes: LineNotes) -> AclConfig:
    dump = text.value.get("dump") if isinstance(text.value, dict) else None
    if not isinstance(dump, dict):
        raise InputError('this is no acl.json: it has no object "dump"', path=text.path, hint=_HINT)
    line_of = {key: text.places["dump", key].line for key in dump}
    take = _Taker(dump, line_of, notes)
    targets, inner_keys = _targets(take)
    return AclConfig(
        path=text.path,
        dump_path=take.text("dump_path"),
        dump_mode=take.text("dump_mode"),
        dump_level=take.text("dump_level"),
        dump_data=take.text("dump_data"),
        dump_stats=take.texts("dump_stats"),
        dump_debug=take.switch("dump_debug"),
        dump_op_switch=take.switch("dump_op_switch"),
        dump_scene=take.text("dump_scene"),
        dump_step=take.text("dump_step"),
        targets=targets,
        unknown_keys=(*_unknown(dump, _KEYS, ""), *inner_keys)[:_MAX_LISTED],
        line_of=line_of,
        problems=notes.close(),
    )


class _Taker:
    """Takes values out of one object by key and type, and notes those of another type."""

    def __init__(
        self, members: Mapping[str, Any], line_of: Mapping[str, int], notes: LineNotes, place: str = ""
    ) -> None:
        self.members = members
        self.line_of = line_of
        self.notes = notes
        self._place = place

    def text(self, key: str) -> str | None:
        value = self._take(key, "a text", lambda value: isinstance(value, str))
        return None if value is None else clean(value)

    def switch(self, key: str) -> bool | None:
        value = self._take(key, '"on" or "off"', lambda value: value in ("on", "off"))
        return None if value is None else bool(value == "on")

    def texts(self, key: str) -> tuple[str, ...] | None:
        def is_texts(value: Any) -> bool:
            return isinstance(value, list) and all(isinstance(item, str) for item in value)

        value = self._take(key, "a list of texts", is_texts)
        return None if value is None else tuple(map(clean, value))

    def objects(self, key: str) -> list[dict[str, Any]] | None:
        def is_objects(value: Any) -> bool:
            return isinstance(value, list) and all(isinstance(item, dict) for item in value)

        value: list[dict[str, Any]] | None = self._take(key, "a list of objects", is_objects)
        return value

    def _take(self, key: str, wanted: str, is_such: Callable[[Any], bool]) -> Any:
        if key not in self.members:
            return None
        value = self.members[key]
        if is_such(value):
            return value
        line = self.line_of.get(key, self.line_of.get("dump_list"))
        self.notes.add("bad-record", f"{self._place}{key} is {_shown(value)}, not {wanted}", line)
        return None


def _targets(take: _Taker) -> tuple[tuple[DumpTarget, ...] | None, tuple[str, ...]]:
    """The objects of dump_list, and keys in them that CANN does not have there."""
    objects = take.objects("dump_list")
    if objects is None:
        return None, ()
    targets = []
    unknown: list[str] = []
    for i, members in enumerate(objects):
        place = f"dump_list[{i}]."
        inner = _Taker(members, take.line_of, take.notes, place)
        targets.append(
            DumpTarget(
                inner.text("model_name"), inner.texts("layer") or (), inner.texts("watcher_nodes") or ()
            )
        )
        unknown += _unknown(members, _KEYS_OF_A_TARGET, place)
    return tuple(targets), tuple(unknown)


def _unknown(members: Mapping[str, Any], known: frozenset[str], place: str) -> list[str]:
    return [place + clean(key[:100]) for key in members if key not in known]


def _shown(value: Any) -> str:
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    return clean(json.dumps(value, ensure_ascii=False)[:60])
