"""Writes the pages that the code itself tells: commands, rules, formats, keys; the picture of the workbench.

    python docs/make_docs.py            write them
    python docs/make_docs.py --check    write nothing; exit status 1 where one is stale

A page is stale as soon as a command, option, rule, kind of artifact or key changes: run it then and commit.
The picture is the snapshot that tests/tui/test_snapshots.py holds the workbench to, without its web fonts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
SNAPSHOT = DOCS.parent / "tests/tui/__snapshots__/test_snapshots/test_precision[120x40].svg"
MADE = "<!-- Made by docs/make_docs.py: do not edit. -->"


def pages() -> dict[str, str]:
    """File name -> text of every page that is made."""
    return {
        "commands.md": _text(_commands()),
        "rules.md": _text(_rules(0)),
        "rules.zh.md": _text(_rules(1)),
        "formats.md": _text(_formats()),
        "keys.md": _text(_keys()),
        "screenshot.svg": _picture(),
    }


def stale() -> list[str]:
    """Names of the pages that are not what the code tells now."""
    return [name for name, text in pages().items() if _read(DOCS / name) != text]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _text(lines: Iterable[str]) -> str:
    return "\n".join([MADE, "", *lines]).rstrip() + "\n"


def _cell(text: object) -> str:
    """Text that keeps a table whole."""
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def _code(text: str) -> str:
    return f"`{' '.join(text.split())}`".replace("|", "\\|")


def _picture() -> str:
    return re.sub(r"@font-face\s*\{.*?\}\s*", "", SNAPSHOT.read_text(encoding="utf-8"), flags=re.DOTALL)


# ---- commands ----


def _commands() -> Iterator[str]:
    from typer.main import get_command

    from npulse.tui.cli.root import app

    found = sorted(_leaves(get_command(app)), key=lambda pair: pair[0])
    yield from (
        "# Commands",
        "",
        "Exit codes and JSON: [contract.md](contract.md). All of `--help`, as it is in the code:",
        "",
    )
    yield from ("| command | what it does |", "| --- | --- |")
    for name, command in found:
        anchor = f"npulse-{name}".replace(" ", "-")
        yield f"| [`npulse {name}`](#{anchor}) | {_cell(command.short_help or command.help)} |"
    for name, command in found:
        yield from _command(name, command)


def _leaves(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        whole = f"{before} {name}".strip()
        if hasattr(command, "commands"):
            if command.invoke_without_command:
                yield whole, command
            yield from _leaves(command, whole)
        else:
            yield whole, command


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and one.name != "help"]
    usage = " ".join(("npulse", name, *map(_argument, arguments), *(["[options]"] if options else [])))
    yield from ("", f"## npulse {name}", "", " ".join((command.help or "").split()), "", f"    {usage}", "")
    if not (arguments or options):
        return
    yield from ("| | |", "| --- | --- |")
    for one in arguments:
        yield f"| {_code(_argument(one))} | {_cell(one.help or '')} |"
    for one in options:
        names = ", ".join(one.opts) + "".join(f" / {word}" for word in one.secondary_opts)
        value = "" if one.is_flag else f" {(one.metavar or one.name).upper().rstrip('_')}"
        yield f"| {_code(names + value)} | {_cell(one.help or '')} |"


def _argument(one: Any) -> str:
    word = (one.metavar or one.name).upper().strip("[]")
    many = " ..." if one.nargs == -1 and "..." not in word else ""
    return f"{word}{many}" if one.required else f"[{word}{many}]"


# ---- rules ----


def _rules(at: int) -> Iterator[str]:
    from npulse.core.areas import all_rules

    rules = all_rules()
    yield ("# Rules", "# 规则")[at]
    yield ""
    yield (
        f"Every finding names the rule that made it: {len(rules)} rules. `npulse rules ID` prints one.",
        f"每条发现都注明其规则，共 {len(rules)} 条。`npulse rules ID --lang zh` 打印其中一条。",
    )[at]
    labels = (("threshold", "source", "to silence"), ("阈值", "来源", "如何关闭"))[at]
    area = ""
    for rule in rules:
        if rule.id.split(".")[0] != area:
            area = rule.id.split(".")[0]
            yield from ("", f"## {area}")
        yield from (
            "",
            f"### {rule.id}",
            "",
            f"*{rule.severity}*: {_cell(rule.title[at])}",
            "",
            _cell(rule.meaning[at]),
            "",
        )
        for label, text in zip(labels, (rule.threshold, rule.source, rule.silence), strict=True):
            yield f"- {label}: {_cell(text[at])}"


# ---- formats ----


def _formats() -> Iterator[str]:
    from npulse.core.areas import AREAS
    from npulse.core.run.kinds import KINDS
    from npulse.core.run.known_versions import KNOWN_VERSIONS

    titles = {area.id: area.title[0] for area in AREAS}
    kinds = list(KINDS.values())
    n_read = sum(kind.is_read for kind in kinds)
    yield from (
        "# Formats",
        "",
        f"{len(kinds)} kinds of artifact are recognised by name and content; {n_read} of them are read, the "
        "others listed.",
        "",
    )
    yield from ("## Versions", "", "| tool | read and tested |", "| --- | --- |")
    for tool, versions in KNOWN_VERSIONS.items():
        yield f"| {tool} | {_cell(versions)} |"
    for area in dict.fromkeys(kind.area for kind in kinds):
        yield from (
            "",
            f"## {titles[area]}",
            "",
            "| kind | what it is | read | also in | made by |",
            "| --- | --- | --- | --- | --- |",
        )
        for kind in kinds:
            if kind.area == area:
                also = ", ".join(titles[one] for one in kind.also)
                is_read = "yes" if kind.is_read else "-"
                made = _code(kind.captured_by)
                yield f"| `{kind.id}` | {_cell(kind.title)} | {is_read} | {also} | {made} |"


# ---- keys ----


def _keys() -> Iterator[str]:
    from npulse.tui.keymap import default_keys, describe_keys

    yield from (
        "# Keys",
        "",
        "The map `default`; others lie in [keymaps/](../keymaps/). `npulse keys` prints the one in force.",
    )
    english, chinese = (describe_keys(lang, default_keys()) for lang in ("en", "zh"))
    scope = ""
    for en, zh in zip(english, chinese, strict=True):
        if en.scope != scope:
            scope = en.scope
            yield from (
                "",
                f"## {en.scope} / {zh.scope}",
                "",
                "| key | action | | |",
                "| --- | --- | --- | --- |",
            )
        yield f"| {_code(en.keys) if en.keys else ''} | `{en.id}` | {_cell(en.help)} | {_cell(zh.help)} |"


def main(words: list[str]) -> int:
    if words == ["--check"]:
        found = stale()
        for name in found:
            print(f"docs/{name} is stale: run python docs/make_docs.py and commit it")
        return 1 if found else 0
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
