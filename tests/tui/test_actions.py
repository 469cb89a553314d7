"""The registry of actions: complete, unambiguous, and the only source of bindings."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections import Counter

import pytest
from textual.dom import DOMNode

import npulse.tui
from npulse.tui.actions import (
    ACTIONS,
    BY_ID,
    CHAINS,
    FORBIDDEN_KEYS,
    PANES,
    SCOPES,
    UNBOUND,
    bindings_for,
    footer_actions,
    scopes_together,
    textual_keys,
)
from npulse.tui.keymap import clashes, default_keys, key_name
from npulse.tui.messages.texts import TEXTS

# Every key that the product promises, written down apart from the registry.
PROMISED = {
    **{str(number): f"pane.{pane}" for number, (pane, _, _) in enumerate(PANES, 1)},
    "/": "pane.filter", "f": "table.find-column", "n": "pane.next", "N": "pane.previous", "o": "pane.origin",
    "s": "table.sort", "S": "table.reverse", "c": "table.columns", "enter": "move.open",
    "escape": "app.back", "b": "app.back", "g": "move.top", "G": "move.bottom", "m": "pane.mark",
    "'": "app.marks", "a": "pane.note",
    "y": "pane.copy", "e": "pane.edit", "x": "pane.export", "d": "pane.compare", "F": "pane.follow",
    "space": "pane.pause", "r": "app.rescan", ":": "app.palette", "?": "app.help", "!": "app.problems",
    "i": "pane.where", "j": "move.down", "k": "move.up", "down": "move.down", "up": "move.up",
    "u": "pane.undo", "M": "app.mouse", "L": "app.language", "T": "app.theme", "q": "app.quit",
    "ctrl+c": "app.cancel",
    "[": "app.previous-round", "]": "app.next-round", "tab": "pane.focus-next",
    "shift+tab": "pane.focus-previous",
}  # fmt: skip


def widget_classes() -> list[type[DOMNode]]:
    """Every screen, widget, pane and app class of the product."""
    found = []
    for module in pkgutil.walk_packages(npulse.tui.__path__, "npulse.tui."):
        if module.name.startswith("npulse.tui.cli"):
            continue
        for _, item in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(item, DOMNode) and item.__module__ == module.name:
                found.append(item)
    return found


@pytest.mark.parametrize(("key", "action_id"), PROMISED.items())
def test_promised_key_is_bound_to_its_action(key: str, action_id: str) -> None:
    assert key in BY_ID[action_id].keys


def test_ids_and_action_strings_are_unique() -> None:
    assert [i for i, n in Counter(a.id for a in ACTIONS).items() if n > 1] == []
    assert [d for d, n in Counter(a.do for a in ACTIONS).items() if n > 1] == []


def test_every_action_is_explained_in_both_languages() -> None:
    for action in ACTIONS:
        assert action.help_en and action.help_en.isascii(), action.id
        assert action.help_zh and not action.help_zh.isascii(), action.id
        assert action.short is None or (action.short[0].isascii() and action.short[1]), action.id


def test_every_scope_has_a_heading() -> None:
    headings = {scope for scope, _, _ in (*SCOPES, *PANES)}
    assert {action.scope for action in ACTIONS} <= headings
    assert {scope for chain in CHAINS for scope in chain} <= headings


def test_no_key_means_two_things_at_once() -> None:
    assert clashes(default_keys()) == []


def test_a_planted_clash_is_seen_only_where_scopes_meet() -> None:
    assert scopes_together("table", "app") and not scopes_together("ask", "app")
    planted = {**default_keys(), "table.sort": ("q",)}
    assert clashes(planted) == [("q", "app.quit", "table.sort")]
    assert clashes({**default_keys(), "ask.yes": ("r",)}) == []


def test_keys_exist_and_none_is_forbidden() -> None:
    for action in ACTIONS:
        for key in action.keys:
            assert key_name(key) is not None, (action.id, key)
            assert key_name(key) not in FORBIDDEN_KEYS, (action.id, key)
    assert set(FORBIDDEN_KEYS.values()) <= set(TEXTS)


def test_bindings_of_every_class_come_from_the_registry() -> None:
    classes = widget_classes()
    assert len(classes) > 15
    for item in classes:
        for key, binding in item._merge_bindings():
            assert binding.id in BY_ID, (item, key)
            action = BY_ID[binding.id]
            assert binding.action == action.do, (item, key)
            assert key in {key_name(k) for k in action.keys} | {UNBOUND}, (item, key)


def test_every_action_has_a_method_where_it_is_bound() -> None:
    for item in widget_classes():
        for key, binding in item._merge_bindings():
            name = binding.action.split("(")[0]
            assert hasattr(item, f"action_{name}"), (item, key, name)


def test_bindings_carry_ids() -> None:
    bindings = bindings_for("app", "pane")
    assert {b.id for b in bindings} == {a.id for a in ACTIONS if a.scope in ("app", "pane")}
    assert next(b.key for b in bindings if b.id == "app.help") == "question_mark"
    assert next(b.key for b in bindings if b.id == "app.runs") == "R"
    assert textual_keys(()) == UNBOUND  # an action without keys stays bindable by a map


def test_footer_actions_are_those_with_a_short_word() -> None:
    found = footer_actions("table", "app")
    assert found and all(a.short for a in found)
    assert "app.help" in {a.id for a in found} and "table.left" not in {a.id for a in found}
