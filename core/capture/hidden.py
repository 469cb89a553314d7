"""Secrets that no round keeps: values of variables and flags whose names say so, passwords in addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from npulse.core.secret_names import HIDDEN, is_secret

_NAME = r"-{0,2}[A-Za-z][\w.-]{0,200}"
_FLAG = re.compile(rf"(?P<name>{_NAME})=.*", re.DOTALL)
_VALUE = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s\"';|&]+")
_INSIDE = re.compile(rf"(?<![\w-])(?:(?P<name>{_NAME})=|(?P<flag>--[A-Za-z][\w.-]{{0,200}})\s+(?!-))")
"""name=, or --flag before a value, within a word of several: `bash -c "..."`, `--application=...`."""
_ADDRESS = re.compile(
    r"(?P<before>\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]{0,200}:)[^\s/@]{1,400}(?=@)", re.IGNORECASE
)


def command_without_secrets(words: Sequence[str]) -> list[str]:
    """A command as a round keeps it: the values of flags such as --api-key are `***`."""
    kept: list[str] = []
    for word in words:
        found = _FLAG.fullmatch(word)
        before = kept[-1] if kept else ""
        if found is not None and is_secret(found["name"]):
            word = f"{found['name']}={HIDDEN}"
        elif before.startswith("--") and "=" not in before and is_secret(before) and word[:2] != "--":
            word = HIDDEN
        kept.append(text_without_secrets(word))
    return kept


def settings_without_secrets(settings: Mapping[str, str]) -> dict[str, str]:
    """Options by their names, the same way."""
    return {k: HIDDEN if is_secret(k) else text_without_secrets(v) for k, v in settings.items()}


def text_without_secrets(text: str) -> str:
    """A word that may hold a whole command line, or an address with a password."""
    kept: list[str] = []
    done = 0
    for found in _INSIDE.finditer(text):
        name = found["name"] or found["flag"]
        value = _VALUE.match(text, found.end()) if found.start() >= done and is_secret(name) else None
        if value is not None:
            kept += [text[done : found.end()], HIDDEN]
            done = value.end()
    return _ADDRESS.sub(rf"\g<before>{HIDDEN}", "".join((*kept, text[done:])))
