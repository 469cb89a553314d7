"""The areas of the product, in the order of their panes: the one list to extend when an area is built."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import UsageError
from .rules import Rule


@dataclass(frozen=True, slots=True)
class Area:
    """One question that the product answers, with a pane and a command of its own.

    id: also the pane's. command: the word on the command line. title, question: (en, zh). rules: module that
    holds the area's RULES, "" while the area is not built.
    """

    id: str
    command: str
    title: tuple[str, str]
    question: tuple[str, str]
    rules: str = ""

    @property
    def is_built(self) -> bool:
        return bool(self.rules)


AREAS: tuple[Area, ...] = (
    Area("checkup", "check", ("Check-up", "体检"), ("which question to ask first", "先看哪个问题")),
    Area(
        "precision", "precision", ("Precision", "精度"), ("computed wrong", "算错了"), ".precision.rules"
    ),
    Area("overflow", "overflow", ("Overflow", "溢出"), ("blew up (NaN, Inf)", "数值爆炸（NaN、Inf）")),
    Area("memory", "memory", ("Memory", "内存"), ("broke memory", "内存出错")),
    Area("performance", "performance", ("Performance", "性能"), ("ran slow", "跑得慢")),
    Area("device", "device", ("Device", "设备"), ("the device's health", "设备健康")),
    Area("rounds", "rounds", ("Rounds", "轮次"), ("what changed between attempts", "各轮之间的变化")),
)


def all_rules() -> tuple[Rule, ...]:
    """Every rule of every area that is built, sorted by id."""
    from importlib import import_module

    found: list[Rule] = []
    for area in AREAS:
        if area.is_built:
            found += import_module(area.rules, __package__).RULES
    return tuple(sorted(found, key=lambda rule: rule.id))


def rule_by_id(rule_id: str) -> Rule:
    """One rule; UsageError that names near ids for an unknown one."""
    import difflib

    rules = {rule.id: rule for rule in all_rules()}
    if rule_id not in rules:
        near = difflib.get_close_matches(rule_id, rules, n=3, cutoff=0.3)
        raise UsageError(f"no rule '{rule_id}'", hint="did you mean: " + ", ".join(near or rules))
    return rules[rule_id]
