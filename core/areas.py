"""The areas of the product, in the order of their panes: the one list to extend when an area is built."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import UsageError
from .rules import Rule


@dataclass(frozen=True, slots=True)
class Area:
    """id: also the pane's id and the command's word. question: what it answers (en, zh)."""

    id: str
    title: tuple[str, str]
    question: tuple[str, str]
    is_built: bool = False


AREAS: tuple[Area, ...] = (
    Area("checkup", ("Check-up", "体检"), ("which question to ask first", "先看哪个问题")),
    Area("precision", ("Precision", "精度"), ("computed wrong", "算错了"), is_built=True),
    Area("overflow", ("Overflow", "溢出"), ("blew up (NaN, Inf)", "数值爆炸（NaN、Inf）")),
    Area("memory", ("Memory", "内存"), ("broke memory", "内存出错")),
    Area("performance", ("Performance", "性能"), ("ran slow", "跑得慢")),
    Area("device", ("Device", "设备"), ("the device's health", "设备健康")),
    Area("rounds", ("Rounds", "轮次"), ("what changed between attempts", "各轮之间的变化")),
)


def all_rules() -> tuple[Rule, ...]:
    """Every rule of every area that is built, sorted by id."""
    from .precision.rules import RULES

    return tuple(sorted(RULES, key=lambda rule: rule.id))


def rule_by_id(rule_id: str) -> Rule:
    """One rule; UsageError that names near ids for an unknown one."""
    import difflib

    rules = {rule.id: rule for rule in all_rules()}
    if rule_id not in rules:
        near = difflib.get_close_matches(rule_id, rules, n=3, cutoff=0.3)
        raise UsageError(f"no rule '{rule_id}'", hint="did you mean: " + ", ".join(near or rules))
    return rules[rule_id]
