"""The criteria file: TOML by hand, so that what is wrong with it is told by key and line."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from npulse.core.areas import AREAS, area_of
from npulse.core.errors import InputError
from npulse.core.text import safe_text
from npulse.core.toml_text import line_of, loads_toml, parse_toml, read_toml

from .criterion import BY_ID, ORDER, keys_of

MAX_BYTES = 1 << 18
SILENCE = "silence"
THRESHOLDS = "thresholds"
_HINT = "npulse check --print-criteria prints a file to start from"


@dataclass(frozen=True, slots=True)
class CriteriaFile:
    """What is asked of a run. path: "" for the bundled file.

    values: criterion id -> limit, or True and False. asked: ids that the user's own file sets. thresholds:
    area -> its own thresholds. silences: the [[silence]] tables as they are, for `core/gate`; text: the file.
    """

    path: str = ""
    values: Mapping[str, float | bool] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()
    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    silences: tuple[Mapping[str, Any], ...] = ()
    text: str = ""

    def limit(self, criterion_id: str) -> float | None:
        """The number that is set; None where none is."""
        value = self.values.get(criterion_id)
        return None if value is None or isinstance(value, bool) else float(value)

    def is_on(self, criterion_id: str) -> bool:
        """Whether a yes or no is set to yes."""
        return self.values.get(criterion_id) is True

    def asks_for(self, area: str) -> bool:
        """Whether the user's own file sets a criterion of this area."""
        return any(BY_ID[one].area == area and self.values.get(one) is not False for one in self.asked)

    def area_options(self, area: str) -> str | None:
        """The thresholds as `AnalysisOptions.criteria` takes them; None where there are none."""
        own = dict(self.thresholds.get(area, {}))
        if area == "performance":  # which judges these itself, and says why they are missed
            own |= {key: limit for key in keys_of(area) if (limit := self.limit(f"{area}.{key}"))}
        return ",".join(f"{name}={value!r}" for name, value in own.items()) or None


def default_text() -> str:
    """The bundled criteria file."""
    return (files(__package__) / "default.toml").read_text(encoding="utf-8")


def starter_text() -> str:
    """The bundled file to start from: what it sets stands behind `#`, so that nothing is asked for that
    the user did not ask for."""
    return re.sub(r"^(?=\w+ = )", "# ", default_text(), flags=re.MULTILINE)


@cache
def default_criteria() -> CriteriaFile:
    """The bundled criteria: what is asked of a run where the user says nothing."""
    values, thresholds, _ = _read(loads_toml(default_text()), _Where("default.toml", default_text()))
    return CriteriaFile(values=values, thresholds=thresholds)


def read_criteria(path: Path) -> CriteriaFile:
    """A criteria file of the user's, over the bundled one. InputError with file, key and line."""
    found, text = read_toml(path, MAX_BYTES, "a criteria file", hint=_HINT)
    return _over_default(found, text, str(path))


def parse_criteria(text: str, path: str) -> CriteriaFile:
    """The text of a criteria file, over the bundled one. InputError with file, key and line."""
    return _over_default(parse_toml(text, path, hint=_HINT), text, path)


def _over_default(record: Mapping[str, Any], text: str, path: str) -> CriteriaFile:
    values, thresholds, silences = _read(record, _Where(path, text))
    default = default_criteria()
    return CriteriaFile(
        path=path,
        values={**default.values, **values},
        asked=frozenset(values),
        thresholds={**default.thresholds, **thresholds},
        silences=silences,
        text=text,
    )


# ---- what may stand in it ----


@dataclass(frozen=True, slots=True)
class _Where:
    """The file and its text: says where something in it is wrong."""

    path: str
    text: str

    def error(self, key: tuple[str, ...], message: str, hint: str | None = None) -> InputError:
        name = safe_text(".".join(key), 120)
        return InputError(f"{name}: {message}", path=self.path, line=line_of(self.text, key), hint=hint)


Read = tuple[dict[str, "float | bool"], dict[str, Mapping[str, float]], tuple[Mapping[str, Any], ...]]


def _read(record: Mapping[str, Any], where: _Where) -> Read:
    values: dict[str, float | bool] = {}
    thresholds: dict[str, Mapping[str, float]] = {}
    silences: tuple[Mapping[str, Any], ...] = ()
    for section, content in record.items():
        if section == SILENCE:
            if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
                raise where.error((section,), "is a list of tables", "write [[silence]]")
            silences = tuple(content)
            continue
        if section not in ORDER:
            raise where.error((section,), "no such section", _near(section, (*ORDER, SILENCE)))
        if not isinstance(content, dict):
            raise where.error((section,), "is a section", f"write [{section}]")
        for key, value in content.items():
            if key == THRESHOLDS:
                thresholds[section] = _thresholds(section, value, where)
            else:
                values[f"{section}.{key}"] = _value(section, key, value, where)
    return values, thresholds, silences


def _value(section: str, key: str, value: object, where: _Where) -> float | bool:
    at, criterion = (section, key), BY_ID.get(f"{section}.{key}")
    if criterion is None:
        known = (*keys_of(section), *((THRESHOLDS,) if _has_thresholds(section) else ()))
        raise where.error(at, "no such criterion", _near(key, known))
    if criterion.is_flag:
        if not isinstance(value, bool):
            raise where.error(at, f"is true or false, not {_shown(value)}")
        return value
    number = _number(value, at, where)
    if criterion.is_count and not isinstance(value, int):
        raise where.error(at, f"is a whole number, not {_shown(value)}")
    if criterion.most is not None and number > criterion.most:
        raise where.error(at, f"{_shown(value)} can never be reached", f"at most {criterion.most:g}")
    return number


def _thresholds(section: str, content: object, where: _Where) -> dict[str, float]:
    at = (section, THRESHOLDS)
    if not _has_thresholds(section):
        raise where.error(at, "this area has no thresholds")
    if not isinstance(content, dict):
        raise where.error(at, "is a section", f"write [{section}.{THRESHOLDS}]")
    known = [name for name in area_of(section).criteria_names() if f"{section}.{name}" not in _OWN_LIMITS]
    found: dict[str, float] = {}
    for name, value in content.items():
        if f"{section}.{name}" in _OWN_LIMITS:
            raise where.error((*at, name), "is a criterion", f"write it below [{section}]")
        if name not in known:
            raise where.error((*at, name), "no such threshold", _near(name, known))
        found[name] = _number(value, (*at, name), where)
    return found


_OWN_LIMITS = frozenset(f"performance.{key}" for key in keys_of("performance"))
"""Criteria that the area takes beside its thresholds."""


def _has_thresholds(section: str) -> bool:
    return any(area.id == section and area.is_built for area in AREAS)


def _number(value: object, at: tuple[str, ...], where: _Where) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise where.error(at, f"is a number, not {_shown(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise where.error(at, f"{value} would judge nothing", "give a finite number")
    if value < 0:
        raise where.error(at, f"{_shown(value)} is below 0", "limits are 0 or more")
    if value > 1e18:
        raise where.error(at, "is too large", "give a smaller number")
    return float(value)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) > 1 << 64:
        return "a number of many digits"
    return safe_text(repr(value) if isinstance(value, str | int | float) else type(value).__name__, 60)


def _near(word: str, known: Iterable[str]) -> str:
    names = tuple(known)
    near = difflib.get_close_matches(word[:80], names, n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else "known: " + ", ".join(names)
