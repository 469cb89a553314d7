"""The documents' form of a dump configuration, put into the form that a tool reads.

Documents write dump_list with layer_name (a glob), dump_mode and dump_step in every item. acl has one mode
and one set of steps beside its list and takes whole names; msprobe has one of each too and takes parts of
names. What is selected more than was asked for, and what has no counterpart, is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from npulse.core.errors import UsageError
from npulse.core.formats.config_json import JsonPath
from npulse.core.text import Lang, say

from . import vocabulary as v
from .forms import dump_of, wrapper_of
from .globs import Tool, has_glob, resolve
from .make import acl_config, config_text, msprobe_config
from .steps import StepFault, Steps, parse_any, turned, union
from .texts import TEXTS as CHECK_TEXTS
from .texts_translate import TEXTS

if TYPE_CHECKING:
    from .faults import Faults

DEFAULT_PATH = "./dump"


@dataclass(frozen=True, slots=True)
class Translation:
    """config: what the tool reads, None where there is none; notes: what was done and what is lost."""

    tool: Tool
    config: Mapping[str, Any] | None
    notes: tuple[str, ...]

    def told(self, lang: Lang = "en") -> list[str]:
        """All of it as lines."""
        lines = [f"- {note}" for note in self.notes]
        if self.config is None:
            return lines
        return [*lines, say(TEXTS, "head", lang, tool=self.tool), *config_text(self.config).splitlines()]


@dataclass(frozen=True, slots=True)
class _Item:
    model: str | None
    names: tuple[str, ...]
    mode: str | None
    steps: Steps


def translate(
    document: Mapping[str, Any],
    *,
    tool: Tool | None = None,
    names: Sequence[str] | None = None,
    lang: Lang = "en",
    faults: Faults | None = None,
) -> Translation:
    """What a tool reads for a file in the documents' form.

    tool: acl unless a glob stays that only msprobe can take. names: to resolve globs (`globs.names_in`).
    What is wrong in the document is told to `faults`; without it UsageError.
    """
    reading = _Reading(lang, faults, wrapper_of(document))
    dump = dump_of(document)
    items = reading.items(dump)
    if items is None:
        return Translation(tool or "acl", None, tuple(reading.notes))
    if tool is None:
        is_open = names is None and any(has_glob(n) and n.strip("*") for item in items for n in item.names)
        tool = "msprobe" if is_open else "acl"
        if is_open:
            reading.note("to-msprobe")
    path = _path(document, dump, reading)
    for key in (*document, *(dump if dump is not document else ())):
        if key in TEXTS and key in v.NO_COUNTERPART:
            reading.note(key)
        elif key not in _TAKEN and key != wrapper_of(document):
            reading.note("dropped", key=str(key)[:60])
    make = _for_acl if tool == "acl" else _for_msprobe
    try:
        config = make(items, path, dump, names, reading)
    except UsageError as error:
        if faults is None:
            raise
        reading.notes.append(say(TEXTS, "none", lang, why=f"{error.message}. {error.hint or ''}".strip()))
        return Translation(tool, None, tuple(reading.notes))
    return Translation(tool, config, tuple(reading.notes))


_PASSED = ("dump_level", "dump_data", "dump_scene", "dump_debug", "dump_op_switch", "dump_stats")
_TAKEN = ("dump", "dump_list", "dump_path", "output_dir", "path", "dump_mode", "dump_step", *_PASSED)


class _Reading:
    """Reads items; collects notes, and faults with their place."""

    def __init__(self, lang: Lang, faults: Faults | None, wrapper: str | None) -> None:
        self.lang = lang
        self.notes: list[str] = []
        self._faults = faults
        self._wrapper = wrapper
        self._is_bad = False

    def note(self, key: str, /, **values: Any) -> None:
        line = say(TEXTS, key, self.lang, **values)
        if line not in self.notes:
            self.notes.append(line)

    def wrong(self, rule: str, at: JsonPath, key: str, /, **values: Any) -> None:
        self._is_bad = True
        if self._faults is None:
            raise UsageError(say(TEXTS, key, self.lang, **values))
        self._faults.add_told(rule, at, say(TEXTS, key, self.lang, **values))

    def _wrong_step(self, fault: StepFault, at: JsonPath) -> None:
        if self._faults is None or fault.key not in CHECK_TEXTS:
            self.wrong("step", at, "step-wrong", part=fault.part)
            return
        self._is_bad = True
        self._faults.add("step", at, fault.key, part=fault.part, at=fault.at, turned=turned(fault.part))

    def items(self, dump: Mapping[str, Any]) -> list[_Item] | None:
        """The items of dump_list; None where one of them cannot be read."""
        targets = dump.get("dump_list")
        at: JsonPath = ("dump_list",) if self._wrapper is None else (self._wrapper, "dump_list")
        if not isinstance(targets, list) or not targets:
            self.wrong("type", at, "list-wrong")
            return None
        found = [self._item(target, (*at, i), dump) for i, target in enumerate(targets)]
        return None if self._is_bad else [item for item in found if item is not None]

    def _item(self, target: Any, at: JsonPath, dump: Mapping[str, Any]) -> _Item | None:
        if not isinstance(target, dict):
            self.wrong("type", at, "item-wrong")
            return None
        names = target.get("layer_name", target.get("layer", ()))
        listed = (names,) if isinstance(names, str) else names
        if not isinstance(listed, (list, tuple)) or not all(isinstance(name, str) for name in listed):
            self.wrong("type", (*at, "layer_name"), "name-wrong")
            return None
        for key in ("dump_mode", "dump_step"):
            if key in target:
                self.note("moved", key=key)
        for key in target:
            if key not in (*v.DOCUMENT_TARGET_KEYS, "layer"):
                self.note("dropped", key=str(key)[:60])
        mode = target.get("dump_mode", dump.get("dump_mode"))
        if mode is not None and mode not in v.ACL_VALUES["dump_mode"]:
            self.wrong("value", (*at, "dump_mode"), "mode-wrong", value=str(mode)[:60])
        model = target.get("model_name")
        return _Item(
            model if isinstance(model, str) and model else None,
            tuple(listed),
            mode if isinstance(mode, str) else None,
            self._steps(target.get("dump_step", dump.get("dump_step")), at),
        )

    def _steps(self, written: Any, at: JsonPath) -> Steps:
        if written is None:
            return ()
        is_such = isinstance(written, (str, int, list))
        steps = parse_any(written) if is_such else StepFault("step-part", str(written)[:40], 1)
        if isinstance(steps, StepFault):
            self._wrong_step(steps, (*at, "dump_step"))
            return ()
        return steps


def _path(document: Mapping[str, Any], dump: Mapping[str, Any], reading: _Reading) -> str:
    for place, key in ((dump, "dump_path"), (document, "output_dir"), (document, "path")):
        found = place.get(key)
        if isinstance(found, str) and found:
            if key == "output_dir":
                reading.note("output_dir")
            return found
    reading.note("path-default", path=DEFAULT_PATH)
    return DEFAULT_PATH


def _mode(items: Sequence[_Item], tool: Tool, reading: _Reading) -> str | None:
    """One mode for all: what records everything that any of them asks for. acl's default is output."""
    modes = {item.mode or "output" for item in items}
    if len(modes) == 1:
        return items[0].mode or "output"
    reading.note("modes", modes=", ".join(sorted(modes)), tool=tool, mode="all")
    return "all"


def _steps(items: Sequence[_Item], reading: _Reading) -> Steps:
    """One set for all; () (all) where one of them wants all."""
    different = {item.steps for item in items}
    if len(different) == 1:
        return items[0].steps
    steps = () if () in different else union(tuple(pair for item in items for pair in item.steps))
    shown = "|".join(f"{a}-{b}" if a != b else str(a) for a, b in steps) or "*"
    reading.note("steps", steps=shown)
    return steps


def _for_acl(
    items: Sequence[_Item],
    path: str,
    dump: Mapping[str, Any],
    names: Sequence[str] | None,
    reading: _Reading,
) -> dict[str, Any]:
    first = items[0]
    mode, steps = _mode(items, "acl", reading), _steps(items, reading)
    stats = dump.get("dump_stats")
    passed = {key: dump.get(key) for key in ("dump_level", "dump_data", "dump_scene")}
    config = acl_config(
        dump_path=path,
        model_name=first.model,
        layer=_layers(first, names, reading),
        dump_mode=mode,
        dump_step=[f"{a}-{b}" if a != b else a for a, b in steps],
        dump_debug=dump.get("dump_debug") == "on",
        dump_op_switch=dump.get("dump_op_switch") == "on",
        dump_stats=tuple(s for s in stats if isinstance(s, str)) if isinstance(stats, list) else (),
        lang=reading.lang,
        **{key: value for key, value in passed.items() if isinstance(value, str)},
    )
    for item in items[1:]:
        target: dict[str, Any] = {} if item.model is None else {"model_name": item.model}
        layers = _layers(item, names, reading)
        config["dump"]["dump_list"].append(target | ({"layer": [*layers]} if layers else {}))
    reading.note("layer_name", key="layer")
    return config


def _layers(item: _Item, names: Sequence[str] | None, reading: _Reading) -> tuple[str, ...]:
    resolved = resolve("acl", item.names, names, lang=reading.lang)
    reading.notes += [note for note in resolved.notes if note not in reading.notes]
    return resolved.items


def _for_msprobe(
    items: Sequence[_Item],
    path: str,
    dump: Mapping[str, Any],
    names: Sequence[str] | None,
    reading: _Reading,
) -> dict[str, Any]:
    patterns = [name for item in items for name in item.names]
    if any(not item.names for item in items):
        patterns = []  # one item wants everything
    resolved = resolve("msprobe", patterns, names, lang=reading.lang)
    reading.notes += [note for note in resolved.notes if note not in reading.notes]
    for item in items:
        if item.model is not None:
            reading.note("model-msprobe", name=item.model[:80])
    mode = _mode(items, "msprobe", reading) or "all"
    steps = _steps(items, reading)
    reading.note("layer_name", key="list")
    return msprobe_config(
        dump_path=path,
        task="statistics" if dump.get("dump_data") == "stats" else "tensor",
        level="mix",
        step=[f"{a}-{b}" if a != b else a for a, b in steps],
        list=resolved.items,
        data_mode=(mode,),
        lang=reading.lang,
    )
