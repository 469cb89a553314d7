"""`npulse rules` and `npulse keys`: what is documented by the code itself."""

from __future__ import annotations

import sys
from pathlib import Path

from npulse.core.errors import InputError
from npulse.core.text import Lang, safe_text

from .options import check_text_or_json, emit, emit_json

_LABELS = {
    "meaning": ("meaning", "含义"),
    "threshold": ("threshold", "阈值"),
    "source": ("source", "来源"),
    "silence": ("to silence", "如何关闭"),
}


def print_rules(rule_id: str | None, lang: Lang, format_name: str) -> int:
    """List all rules, or print one in full."""
    from npulse.core.areas import all_rules, rule_by_id

    check_text_or_json(format_name)
    at = 1 if lang == "zh" else 0
    rules = all_rules() if rule_id is None else (rule_by_id(rule_id),)
    if format_name == "json":
        body = [
            {"id": r.id, "severity": r.severity, "title": r.title[at]}
            | {name: getattr(r, name)[at] for name in _LABELS}
            for r in rules
        ]
        emit_json(body)
        return 0
    for rule in rules:
        emit([f"{rule.id}  ({rule.severity})  {rule.title[at]}\n"])
        if rule_id is not None:
            emit([f"  {label[at]}: {getattr(rule, name)[at]}\n" for name, label in _LABELS.items()])
    return 0


def print_keys(lang: Lang) -> int:
    """The key map in force, action by action; problems of the user's map first, on stderr."""
    from ..keymap import describe_keys, load_keymap

    keymap = load_keymap(lang=lang)
    for problem in keymap.problems:
        print(safe_text(str(problem)), file=sys.stderr)
    rows = describe_keys(lang, keymap.keys)
    width = max(len(row.keys) for row in rows)
    emit(f"{row.keys:<{width}}  {row.id:<28} {row.help}\n" for row in rows)
    return 2 if keymap.problems else 0


def check_keys(file: Path) -> int:
    """Validate one key map; prints each problem with its line."""
    from ..keymap import check_keymap

    if not file.is_file():
        raise InputError("no such key map", path=file)
    problems = check_keymap(file)
    emit(f"{safe_text(str(p))}\n" for p in problems)
    if not problems:
        emit([f"{safe_text(str(file))}: ok\n"])
    return 2 if problems else 0
