"""How the rules of this area are made: whose they are, and what silences them."""

from __future__ import annotations

from typing import Protocol

from npulse.core.findings import Severity
from npulse.core.rules import Rule

from .advice import Words

OWN: Words = ("npulse's own", "npulse 自有规则")
NEVER: Words = ("cannot be silenced", "不可关闭")


class MakeRule(Protocol):
    """silence: a text, or the name of the criterion that silences it ("" for none)."""

    def __call__(
        self,
        id_: str,
        severity: Severity,
        title: Words,
        meaning: Words,
        threshold: Words = ...,
        source: Words = ...,
        silence: Words | str = ...,
    ) -> Rule: ...


def criteria(example: str) -> Words:
    """ "free_percent=20" as it is given on the command line."""
    return f"--criteria {example}", f"--criteria {example}"


def rules_with(*, prefix: str = "", threshold: Words = ("", ""), silence: Words = NEVER) -> MakeRule:
    """What makes the rules of one folder: how their ids begin, what stands where a rule says nothing else."""
    folder_threshold, folder_silence = threshold, silence

    def rule(
        id_: str,
        severity: Severity,
        title: Words,
        meaning: Words,
        threshold: Words = folder_threshold,
        source: Words = OWN,
        silence: Words | str = folder_silence,
    ) -> Rule:
        if isinstance(silence, str):
            silence = criteria(f"{silence}=...") if silence else NEVER
        return Rule(f"performance.{prefix}{id_}", severity, title, meaning, threshold, source, silence)

    return rule
