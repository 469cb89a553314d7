"""Texts in two languages, and that each is asked for by a key that is there."""

from __future__ import annotations

import ast
import string
from pathlib import Path

import pytest

import npulse.core.config
from npulse.core.config import (
    texts,
    texts_estimate,
    texts_explain,
    texts_globs,
    texts_keep_fp32,
    texts_translate,
)
from npulse.core.config.rules import RULES

TABLES = {
    "texts": texts.TEXTS,
    "next": texts.NEXT,
    "estimate": texts_estimate.TEXTS,
    "explain": texts_explain.TEXTS,
    "globs": texts_globs.TEXTS,
    "keep_fp32": texts_keep_fp32.TEXTS,
    "translate": texts_translate.TEXTS,
}
ROOM = Path(npulse.core.config.__file__).parent


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("table", TABLES)
def test_both_languages_say_the_same(table: str) -> None:
    for key, (english, chinese) in TABLES[table].items():
        assert english.isascii() and english and chinese, key
        if "{{" in english or "{" not in english:
            assert fields(english) == fields(chinese) if "{{" in english else "{" not in chinese, key
        elif "{}" not in english and "{." not in english and '{"' not in english:
            assert fields(english) == fields(chinese), key


def test_braces_are_doubled_where_something_is_filled_in() -> None:
    """`say` leaves a text without values as it is."""
    for table in TABLES.values():
        for pair in table.values():
            for text in pair:
                assert ("{{" in text) <= bool(fields(text)), text


def test_every_key_that_is_asked_for_is_there() -> None:
    asked = set()
    for path in ROOM.glob("check*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "add"
            ):
                rule, key = node.args[0], node.args[2] if len(node.args) > 2 else None
                if isinstance(rule, ast.Constant):
                    assert f"config.{rule.value}" in {r.id for r in RULES}
                if isinstance(key, ast.Constant):
                    asked.add(key.value)
    assert len(asked) > 60
    assert asked <= texts.TEXTS.keys()


def test_rules_are_told_in_both_languages() -> None:
    for rule in RULES:
        for pair in (rule.title, rule.meaning, rule.threshold, rule.source, rule.silence):
            assert pair[0].isascii() and pair[0] and pair[1], rule.id
