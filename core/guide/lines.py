"""The guide and the quick tables as lines of text and as plain values for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from npulse.core.text import Lang

from .entries import KINDS, Entry
from .facts import Facts
from .fill import advice_of
from .records import Step, Symptom, Words
from .symptoms import FIRST

LABELS: dict[str, Words] = {
    "needs": ("needs", "前提"),
    "then": ("then open", "然后打开"),
    "smaller": ("make it small", "缩小用例"),
    "next": ("next", "下一步"),
    "source": ("source", "来源"),
    "first": ("First, whatever it is", "无论何种症状，先看"),
    "replace": ("replace {names}", "请替换 {names}"),
    "hidden": (
        "*** stands for a secret that the round did not keep: put it back",
        "*** 为该轮未保存的密钥：请自行填回",
    ),
    "facts": (
        "filled in from round {round}",
        "已按轮次 {round} 的清单填写",
    ),
    "no-facts": (
        "no round with a manifest is known here: replace what stands in <>",
        "此处没有带清单的轮次：请替换 <> 中的内容",
    ),
}
"""Words of the guide's own, shared by the command and the page."""


def label(key: str, lang: Lang, **values: str) -> str:
    """One of the labels in a language."""
    return LABELS[key][lang == "zh"].format(**values)


def labelled(key: str, lang: Lang) -> str:
    """The label with what stands between it and its text."""
    return label(key, lang) + ("：" if lang == "zh" else ": ")


def facts_line(facts: Facts, lang: Lang) -> str:
    """Where the facts in the commands come from."""
    if not facts.command:
        return label("no-facts", lang)
    line = label("facts", lang, round=facts.round or facts.run)
    return f"{line}; {label('hidden', lang)}" if facts.has_hidden else line


def step_lines(step: Step, facts: Facts, lang: Lang) -> Iterator[str]:
    """Title, reason, what it needs, the command."""
    at = lang == "zh"
    advice = advice_of(step, facts)
    yield step.title[at]
    yield f"    {advice.command}"
    yield f"    {step.why[at]}"
    if step.needs[at]:
        yield f"    {labelled('needs', lang)}{step.needs[at]}"


def guide_lines(symptoms: Sequence[Symptom], facts: Facts, lang: Lang) -> Iterator[str]:
    """The whole guide: what to look at first, then each symptom with its steps in order."""
    at = lang == "zh"
    yield facts_line(facts, lang)
    yield ""
    yield label("first", lang)
    for step in FIRST:
        yield from (f"  {line}" for line in step_lines(step, facts, lang))
    for symptom in symptoms:
        yield ""
        yield f"{symptom.id}: {symptom.title[at]}"
        yield f"  {symptom.seen[at]}"
        for number, step in enumerate(symptom.steps, 1):
            first, *others = step_lines(step, facts, lang)
            yield f"  {number} {first}"
            yield from (f"  {line}" for line in others)
        yield f"  {labelled('smaller', lang)}{symptom.smaller[at]}"


def entry_lines(entry: Entry, lang: Lang) -> Iterator[str]:
    """One entry of the quick tables."""
    at = lang == "zh"
    yield f"{entry.code}  {entry.title[at]}  [{KINDS[entry.kind][at]}]"
    if entry.meaning[at]:
        yield f"    {entry.meaning[at]}"
    if entry.next_step[at]:
        yield f"    {labelled('next', lang)}{entry.next_step[at]}"
    yield f"    {labelled('source', lang)}{entry.source[at]}"


def guide_values(symptoms: Sequence[Symptom], facts: Facts, lang: Lang) -> dict[str, Any]:
    """The guide for JSON: docs/contract.md has its keys."""
    at = lang == "zh"
    return {
        "schema": 1,
        "facts": {
            "run": facts.run,
            "round": facts.round,
            "command": list(facts.command),
            "archive": facts.archive,
            "ranks": list(facts.ranks),
        },
        "first": [_step_values(step, facts, lang) for step in FIRST],
        "symptoms": [
            {
                "id": symptom.id,
                "title": symptom.title[at],
                "seen": symptom.seen[at],
                "smaller": symptom.smaller[at],
                "pane": symptom.pane,
                "steps": [_step_values(step, facts, lang) for step in symptom.steps],
            }
            for symptom in symptoms
        ],
    }


def _step_values(step: Step, facts: Facts, lang: Lang) -> dict[str, Any]:
    at = lang == "zh"
    advice = advice_of(step, facts)
    return {
        "id": step.id,
        "title": step.title[at],
        "why": step.why[at],
        "needs": step.needs[at],
        "command": advice.command,
        "replace": list(advice.unknown),
        "capture": dict(advice.fields) or None,
        "pane": step.pane,
    }


def entry_values(entry: Entry, lang: Lang) -> dict[str, str]:
    """One entry for JSON."""
    at = lang == "zh"
    return {
        "kind": entry.kind,
        "code": entry.code,
        "title": entry.title[at],
        "meaning": entry.meaning[at],
        "next": entry.next_step[at],
        "source": entry.source[at],
    }
