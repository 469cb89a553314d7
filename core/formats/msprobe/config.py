"""config.json of msprobe: what a capture was asked for. Only what the file says, no defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...findings import Problem
from ..config_json import ConfigJson, JsonPath, Place, read_config_json
from ..text_lines import LineNotes

TOP_TEXTS = ("task", "dump_path", "level", "precision", "risk_level")
_HINT = 'name an msprobe config.json: {"task": "statistics", "dump_path": ...}'


@dataclass(frozen=True, slots=True)
class MsprobeConfig:
    """The top level and the section of its task. None: not there, or of a wrong type (then a problem).

    rank, step: as written, ints and range texts. section: the key whose options hold, None where there is no
    such object; list, scope, tensor_list, data_mode: of that section. summary_mode: a text, or a tuple of
    statistics (MindSpore).
    """

    path: Path
    task: str | None
    dump_path: str | None
    level: str | None
    precision: str | None
    risk_level: str | None
    rank: tuple[int | str, ...] | None
    step: tuple[int | str, ...] | None
    async_dump: bool | None
    dump_enable: bool | None
    extra_info: bool | None
    section: str | None
    list: tuple[str, ...] | None
    scope: tuple[str, ...] | None
    tensor_list: tuple[str, ...] | None
    data_mode: tuple[str, ...] | None
    summary_mode: str | tuple[str, ...] | None
    problems: tuple[Problem, ...] = ()


def read_msprobe_config(path: Path, *, root: Path | None = None) -> MsprobeConfig:
    """The configuration in `path`. Problems (with line): values of a wrong type.

    Raises InputError as read_config_json, and for what has no key of it.
    """
    return msprobe_config_in(read_config_json(path, root=root))


def msprobe_config_in(text: ConfigJson) -> MsprobeConfig:
    """The same of JSON that was read before. Raises InputError where it is no msprobe configuration."""
    members = text.value
    if not isinstance(members, dict) or not _is_one(members):
        raise InputError("this is no msprobe config.json", path=text.path, hint=_HINT)
    notes = LineNotes(str(text.path))
    top = _Taker(members, text.places, notes)
    texts = {key: top.text(key) for key in TOP_TEXTS}
    name = texts["task"] or "statistics"
    section = members.get(name)
    inner = _Taker(section if isinstance(section, dict) else {}, text.places, notes, (name,))
    return MsprobeConfig(
        path=text.path,
        **texts,
        rank=top.numbers("rank"),
        step=top.numbers("step"),
        async_dump=top.flag("async_dump"),
        dump_enable=top.flag("dump_enable"),
        extra_info=top.flag("extra_info"),
        section=name if isinstance(section, dict) else None,
        list=inner.texts("list"),
        scope=inner.texts("scope"),
        tensor_list=inner.texts("tensor_list"),
        data_mode=inner.texts("data_mode"),
        summary_mode=inner.text_or_texts("summary_mode"),
        problems=notes.close(),
    )


def _is_one(members: Mapping[str, Any]) -> bool:
    """Whether it has a key of the top level, or the section of a task."""
    return bool({*TOP_TEXTS, "rank", "step"} & members.keys()) or any(
        isinstance(value, dict) for value in members.values()
    )


class _Taker:
    """Takes values out of one object by key and type, and notes those of another type. null: not there."""

    def __init__(
        self,
        members: Mapping[str, Any],
        places: Mapping[JsonPath, Place],
        notes: LineNotes,
        path: JsonPath = (),
    ) -> None:
        self._members, self._places, self._notes, self._path = members, places, notes, path

    def text(self, key: str) -> str | None:
        found: str | None = self._take(key, "a text", lambda value: isinstance(value, str))
        return found

    def flag(self, key: str) -> bool | None:
        found: bool | None = self._take(key, "true or false", lambda value: isinstance(value, bool))
        return found

    def texts(self, key: str) -> tuple[str, ...] | None:
        found = self._take(key, "a list of texts", _is_texts)
        return None if found is None else tuple(found)

    def text_or_texts(self, key: str) -> str | tuple[str, ...] | None:
        def is_such(value: Any) -> bool:
            return isinstance(value, str) or _is_texts(value)

        found = self._take(key, "a text or a list of texts", is_such)
        return tuple(found) if isinstance(found, list) else found

    def numbers(self, key: str) -> tuple[int | str, ...] | None:
        def is_such(value: Any) -> bool:
            return isinstance(value, list) and all(
                isinstance(item, (int, str)) and not isinstance(item, bool) for item in value
            )

        found = self._take(key, "a list of numbers and ranges", is_such)
        return None if found is None else tuple(found)

    def _take(self, key: str, wanted: str, is_such: Callable[[Any], bool]) -> Any:
        value = self._members.get(key)
        if value is None or is_such(value):
            return value
        path = (*self._path, key)
        place = self._places.get(path)
        name = ".".join(map(str, path))
        self._notes.add("bad-record", f"{name} is not {wanted}", None if place is None else place.line)
        return None


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
