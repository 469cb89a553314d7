"""What is known of the rules of plug-ins: whose they are, and how to be without them."""

from __future__ import annotations

from ..rules import Rule

_BEGIN = "plugin."


def rule_of_plugin(rule_id: str) -> Rule | None:
    """The rule of an id such as "plugin.NAME.x"; None for ids that are not a plug-in's."""
    name, _, word = rule_id.removeprefix(_BEGIN).partition(".")
    if not rule_id.startswith(_BEGIN) or not name or not word:
        return None
    return Rule(
        rule_id,
        "warning",
        (f"said by plug-in {name}", f"由插件 {name} 给出"),
        (
            "The plug-in's own: npulse shows what it says and vouches for none of it.",
            "属于该插件：npulse 只转述其结论，不作保证。",
        ),
        ("the plug-in's", "由插件决定"),
        ("npulse plugin list names the file or package", "npulse plugin list 列出其文件或软件包"),
        ("--no-plugins, or npulse plugin remove NAME", "--no-plugins，或 npulse plugin remove NAME"),
    )
