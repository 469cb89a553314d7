"""The shape of a rule: a stable id and all that `npulse rules ID` prints about it."""

from __future__ import annotations

from npulse.core.dataclass import dataclass

from .findings import Severity


@dataclass(frozen=True, slots=True)
class Rule:
    """What a finding's `rule` refers to. English and Chinese stand side by side: (en, zh)."""

    id: str
    severity: Severity
    title: tuple[str, str]
    meaning: tuple[str, str]
    threshold: tuple[str, str]
    source: tuple[str, str]
    silence: tuple[str, str]
