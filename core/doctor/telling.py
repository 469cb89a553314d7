"""Findings of this room: one way to make them, in the user's language."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from npulse.core.findings import Figures, Finding, Role, Severity
from npulse.core.text import Lang, safe_text, say

from .facts import Place
from .rules import SEVERITY
from .texts import TEXTS

AREA = "env"


@dataclass(frozen=True, slots=True)
class Teller:
    """Makes findings in one language."""

    lang: Lang = "en"

    def text(self, key: str, /, **values: Any) -> str:
        """A text of this room, its fields filled in with safe text."""
        return say(
            TEXTS, key, self.lang, **{name: safe_text(str(value), 300) for name, value in values.items()}
        )

    def finding(
        self,
        rule: str,
        subject: str,
        key: str,
        place: Place | None = None,
        *,
        next_step: str = "",
        severity: Severity | None = None,
        role: Role | None = None,
        told: tuple[str, ...] = (),
        figures: Figures | None = None,
        **values: Any,
    ) -> Finding:
        """A finding of the rule env.`rule`. severity: the rule's own where None; role: by the severity."""
        grave = severity or SEVERITY[f"{AREA}.{rule}"]
        by_severity: dict[Severity, Role] = {"error": "origin", "warning": "suspect", "note": "benign"}
        return Finding(
            AREA,
            grave,
            f"{AREA}.{rule}",
            role or by_severity[grave],
            subject,
            self.text(key, **values),
            next_step,
            figures=figures or {},
            location=(place or Place()).location,
            told=told,
        )


def as_inherited(finding: Finding) -> Finding:
    """The same as something that only follows from another finding."""
    return replace(finding, role="inherited")
