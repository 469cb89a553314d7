"""The documents' form of a configuration as what it says of a comparison: folders, metrics, layers, steps.

    {"output_dir": ..., "compare": {"enable": true, "golden_path": ..., "metrics": ["cosine_similarity"]}}
    {"dump_list": [{"model_name": ..., "layer_name": "conv*", "dump_mode": "all", "dump_step": "0|5-10"}],
     "dump_path": ...}

No tool reads these (msprobe: `compare -tp -gp`); they may be one file. Paths are of the file's folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npulse.core.errors import InputError
from npulse.core.formats.config_json import MAX_TEXT_BYTES, read_config_json
from npulse.core.text import Lang, safe_text, say

from .forms import dump_of, recognise
from .steps import StepFault, Steps, parse_any, union
from .texts_compare_form import TEXTS

MAX_ITEMS = 1000
"""Items of dump_list and metrics that are looked at: a person wrote them."""


@dataclass(frozen=True, slots=True)
class CompareForm:
    """What a file says of a comparison. notes: what was taken from which key, and what has no use here.

    target, golden: folders, None where the file names none. layers: globs, () for all. steps: () for all.
    """

    path: Path
    target: Path | None
    golden: Path | None
    metrics: tuple[str, ...]
    layers: tuple[str, ...]
    steps: Steps
    notes: tuple[str, ...]


def is_compare_form(path: Path) -> bool:
    """Whether a file is one of the documents' configurations; False for anything that cannot be read."""
    if path.suffix.lower() != ".json":
        return False
    try:
        if not path.is_file() or path.stat().st_size > MAX_TEXT_BYTES:
            return False
        value = read_config_json(path).value
    except (InputError, OSError):
        return False
    return recognise(value) == "documents"


def read_compare_form(path: Path, lang: Lang = "en") -> CompareForm:
    """The file. InputError where it is no such form, or a key holds what it cannot; the line is named."""
    text = read_config_json(path)
    if recognise(text.value) != "documents":
        raise InputError(
            "no configuration of a comparison",
            path=path,
            hint="output_dir, compare {golden_path, metrics}, dump_list [{layer_name, dump_step}], dump_path",
        )
    return _Reading(path, lang).form(text.value)


class _Reading:
    """Reads the keys; collects what is said of them."""

    def __init__(self, path: Path, lang: Lang) -> None:
        self._path, self._lang = path, lang
        self._folder = Path(os.path.abspath(path)).parent
        self._notes: list[str] = []

    def form(self, document: Mapping[str, Any]) -> CompareForm:
        dump = dump_of(document)
        target = self._folder_of(document, "output_dir")
        if target is None:
            target = self._folder_of(dump, "dump_path")
        else:
            self._unused(dump, "dump_path", "output-first")
        compare = document.get("compare", {})
        if not isinstance(compare, dict):
            raise self._wrong("compare", "an object with golden_path and metrics")
        golden = self._folder_of(compare, "golden_path")
        metrics = self._texts(compare.get("metrics"), "compare.metrics")
        if metrics:
            self._note("taken-metrics", value=", ".join(metrics))
        if compare.get("enable") is False:
            self._note("not-enabled")
        layers, steps = self._of_list(dump)
        for key in ("model_path", "input_data"):
            self._unused(document, key, "no-use")
        return CompareForm(self._path, target, golden, metrics, layers, steps, tuple(self._notes))

    def _of_list(self, dump: Mapping[str, Any]) -> tuple[tuple[str, ...], Steps]:
        items = dump.get("dump_list", [])
        if not isinstance(items, list) or len(items) > MAX_ITEMS:
            raise self._wrong("dump_list", f"a list of at most {MAX_ITEMS} objects")
        layers: dict[str, None] = {}
        steps: list[tuple[int, int]] = []
        all_layers, all_steps = not items, not items
        for number, item in enumerate(items):
            if not isinstance(item, dict):
                raise self._wrong(f"dump_list[{number}]", "an object")
            names = self._texts(item.get("layer_name", item.get("layer")), f"dump_list[{number}].layer_name")
            layers.update(dict.fromkeys(names))
            all_layers = all_layers or not names
            written = item.get("dump_step", dump.get("dump_step"))
            found = self._steps(written, f"dump_list[{number}].dump_step")
            steps += found
            all_steps = all_steps or not found
            if isinstance(item.get("model_name"), str):
                self._note("model", value=safe_text(item["model_name"])[:80])
            if "dump_mode" in item:
                self._note("mode", value=safe_text(str(item["dump_mode"]))[:40])
        if all_layers and layers:
            self._note("one-wants-all", key="layer_name")
        if all_steps and steps:
            self._note("one-wants-all", key="dump_step")
        told_layers = () if all_layers else tuple(layers)
        told_steps = () if all_steps else union(tuple(steps))
        if told_layers:
            self._note("taken-layers", value=", ".join(map(safe_text, told_layers))[:200])
        if told_steps:
            self._note("taken-steps", value="|".join(f"{a}-{b}" if a != b else str(a) for a, b in told_steps))
        return told_layers, told_steps

    def _steps(self, written: Any, key: str) -> Steps:
        if written is None:
            return ()
        is_such = isinstance(written, (str, int, list))
        found = parse_any(written) if is_such else StepFault("step-part", str(written)[:40], 1)
        if isinstance(found, StepFault):
            raise self._wrong(key, f'steps as "0|5-10", not {found.part[:40]!r}')
        return found

    def _folder_of(self, place: Mapping[str, Any], key: str) -> Path | None:
        written = place.get(key)
        if written is None:
            return None
        if not isinstance(written, str) or not written.strip() or "\0" in written:
            raise self._wrong(key, "a path")
        path = self._folder / written  # an absolute one stays as it is
        if not os.path.lexists(path):
            raise InputError(
                f"{key} names {safe_text(written)[:200]}, which is not there",
                path=self._path,
                hint=f"paths are taken from the file's folder: {path}",
            )
        self._note("taken-path", key=key, value=safe_text(str(path))[:300])
        return path

    def _texts(self, written: Any, key: str) -> tuple[str, ...]:
        if written is None:
            return ()
        listed = [written] if isinstance(written, str) else written
        if not isinstance(listed, list) or len(listed) > MAX_ITEMS:
            raise self._wrong(key, "a text or a list of texts")
        if not all(isinstance(one, str) and one.strip() for one in listed):
            raise self._wrong(key, "a text or a list of texts")
        return tuple(one.strip() for one in listed)

    def _unused(self, place: Mapping[str, Any], key: str, why: str) -> None:
        if key in place:
            self._note(why, key=key)

    def _note(self, key: str, /, **values: Any) -> None:
        line = say(TEXTS, key, self._lang, **values)
        if line not in self._notes:
            self._notes.append(line)

    def _wrong(self, key: str, wanted: str) -> InputError:
        return InputError(f"{key} is not {wanted}", path=self._path, hint="npulse config check tells more")
