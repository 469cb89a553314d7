"""Collects what a check finds, each with its place in the file, and asks values for their type."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from npulse.core.findings import Finding, Location, Role, Severity
from npulse.core.formats.config_json import ConfigJson, JsonPath
from npulse.core.text import Lang, safe_text, say

from .rules import SEVERITY
from .texts import NEXT, TEXTS
from .vocabulary import SPELT_OTHERWISE

MAX_FINDINGS = 200
_ROLES: Mapping[Severity, Role] = {"error": "origin", "warning": "suspect", "note": "benign"}
_ORDER: Mapping[Severity, int] = {"error": 0, "warning": 1, "note": 2}


class Faults:
    """Findings of one configuration, in the order of their severity and then of their place."""

    def __init__(self, text: ConfigJson, artifact: str, lang: Lang) -> None:
        self.text = text
        self.lang = lang
        self._artifact = artifact
        self._found: list[Finding] = []
        self._remarks: list[str] = []
        self.counted: Counter[Severity] = Counter()

    def add(
        self, rule: str, path: JsonPath, key: str, /, *, severity: Severity | None = None, **values: Any
    ) -> None:
        """One finding. key: of TEXTS, and of NEXT for what to write instead; values fill both."""
        if self._is_full(f"config.{rule}", severity):
            return
        values = {name: shown(value) for name, value in values.items()}
        next_step = say(NEXT, key, self.lang, **values) if key in NEXT else ""
        self.add_told(rule, path, say(TEXTS, key, self.lang, **values), next_step, severity)

    def add_told(
        self,
        rule: str,
        path: JsonPath,
        message: str,
        next_step: str = "",
        severity: Severity | None = None,
    ) -> None:
        """One finding in words that are ready."""
        rule = f"config.{rule}"
        severity = severity or SEVERITY[rule]
        self.counted[severity] += 1
        place = next((self.text.places[p] for p in _upwards(path) if p in self.text.places), None)
        figures: dict[str, Any] = {"path": shown_path(path)}
        value = self._value(path)
        if value is not _ABSENT and not isinstance(value, (dict, list)):
            figures["value"] = safe_text(value, 200) if isinstance(value, str) else value
        if place is not None:
            figures |= {"line": place.line, "column": place.column}
        self._found.append(
            Finding(
                area="config",
                severity=severity,
                rule=rule,
                role="suspect" if rule == "config.relative-path" else _ROLES[severity],
                subject=shown_path(path),
                message=message,
                next_step=next_step,
                figures=figures,
                location=Location(artifact=self._artifact, line=None if place is None else place.line),
            )
        )

    def _is_full(self, rule: str, severity: Severity | None) -> bool:
        """Whether so many of that severity are there that one more is only counted."""
        severity = severity or SEVERITY[rule]
        if self.counted[severity] < MAX_FINDINGS:
            return False
        self.counted[severity] += 1
        return True

    def remark(self, key: str, /, **values: Any) -> None:
        """Something to know that is no fault."""
        line = say(TEXTS, key, self.lang, **{name: shown(value) for name, value in values.items()})
        if line not in self._remarks:
            self._remarks.append(line)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is no fault, and how many findings are only counted."""
        n_more = self.counted.total() - len(self._found)
        more = (say(TEXTS, "more", self.lang, n=f"{n_more:,}"),) if n_more else ()
        return (*self._remarks, *more)

    def close(self) -> tuple[Finding, ...]:
        """All that was kept: errors first, then by line. At most 200 of each severity."""
        by_line = sorted(self._found, key=lambda finding: finding.location.line or 0)
        return tuple(sorted(by_line, key=by_severity))

    def unknown_key(self, path: JsonPath, known: Collection[str], severity: Severity = "error") -> None:
        """A key that the tool does not read, with the one that was probably meant."""
        key = path[-1]
        if self._is_full("config.unknown-key", severity):
            return
        near = nearest(str(key), known)
        if near:
            self.add("unknown-key", path, "unknown-key-near", key=key, near=near)
        else:
            self.add("unknown-key", path, "unknown-key", severity=severity, key=key, known=", ".join(known))

    def unknown_option(self, path: JsonPath, known: Collection[str]) -> None:
        """The same in msprobe's file, where people keep notes: an error only for a slip of the pen."""
        self.unknown_key(path, known, "warning")

    # ---- values by type ----

    def text_value(self, members: Mapping[str, Any], path: JsonPath, key: str) -> str | None:
        """A text; None where the key is not there, or (then told) of another type."""
        found: str | None = self._typed(members, path, key, "text", lambda v: isinstance(v, str))
        return found

    def flag_value(self, members: Mapping[str, Any], path: JsonPath, key: str) -> bool | None:
        found: bool | None = self._typed(members, path, key, "flag", lambda v: isinstance(v, bool))
        return found

    def list_value(self, members: Mapping[str, Any], path: JsonPath, key: str) -> list[Any] | None:
        found: list[Any] | None = self._typed(members, path, key, "list", lambda v: isinstance(v, list))
        return found

    def texts_value(self, members: Mapping[str, Any], path: JsonPath, key: str) -> list[str] | None:
        found = self._typed(members, path, key, "texts", lambda v: isinstance(v, list))
        if found is None:
            return None
        for index, item in enumerate(found):
            if not isinstance(item, str):
                self.add("type", (*path, key, index), "type-texts-item", value=item)
                return None
        return list(found)

    def choice(
        self,
        members: Mapping[str, Any],
        path: JsonPath,
        key: str,
        choices: Collection[str],
        rule: str = "value",
    ) -> str | None:
        """One of `choices`; None where the key is not there, or (then told) holds anything else."""
        value = self.text_value(members, path, key)
        if value is None or value in choices:
            return value
        near = nearest(value, choices)
        values: dict[str, Any] = {"value": value, "choices": ", ".join(choices)}
        if near:
            self.add(rule, (*path, key), "value-near", near=near, **values)
        else:
            self.add(rule, (*path, key), "value", **values)
        return None

    def _typed(
        self,
        members: Mapping[str, Any],
        path: JsonPath,
        key: str,
        wanted: str,
        is_such: Callable[[Any], bool],
    ) -> Any:
        if key not in members:
            return None
        value = members[key]
        if is_such(value):
            return value
        if wanted == "texts" and isinstance(value, str):
            self.add("type", (*path, key), "type-text-for-list", value=value, key=key)
        else:
            self.add("type", (*path, key), f"type-{wanted}", value=value, key=key)
        return None

    def _value(self, path: JsonPath) -> Any:
        value = self.text.value
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return _ABSENT
        return value


_ABSENT: Any = object()


def by_severity(finding: Finding) -> int:
    """Errors sort before warnings, these before notes."""
    return _ORDER[finding.severity]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant; None where none is near."""
    known = [*known]
    other = SPELT_OTHERWISE.get(word)
    if other in known:
        return other
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower()[:60], by_lower, n=1, cutoff=0.7)
    return by_lower[near[0]] if near else None


def shown_path(path: JsonPath) -> str:
    """'dump.dump_list[0].layer'; the whole file is '.'."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{safe_text(part, 100)}"
    return text.lstrip(".") or "."


def shown(value: Any) -> str:
    """A value in a message: a text as it is, anything else as JSON, in few characters."""
    if isinstance(value, str):
        return safe_text(value, 300)
    if isinstance(value, bool) or value is None or isinstance(value, (int, float)):
        return safe_text(json.dumps(value), 60)
    return safe_text(json.dumps(value, ensure_ascii=False), 60)


def _upwards(path: JsonPath) -> Iterable[JsonPath]:
    for n in range(len(path), 0, -1):
        yield path[:n]
