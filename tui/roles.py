"""How a role or verdict looks in a table: its word with letter or shape, and the style of the row."""

from __future__ import annotations

from collections.abc import Callable

from npulse.core.table import Table
from npulse.core.text import Lang

from .glyphs import Glyphs
from .messages import tr

RowStyle = Callable[[int], "str | None"]

_STYLE_OF_ROLE = {
    "origin": "virtual-table--error",
    "suspect": "virtual-table--warning",
    **dict.fromkeys(("inherited", "unknown", "unmatched", "benign"), "virtual-table--muted"),
}
_VERDICTS = {
    "pass": "verdict.pass",
    "warning": "verdict.warning",
    "error": "verdict.error",
    "unknown": "verdict.unknown",
}
_STYLE_OF_VERDICT = {"error": "virtual-table--error", "warning": "virtual-table--warning"}


def role_formatter(glyphs: Glyphs, lang: Lang) -> Callable[[object], str]:
    """A role as letter or shape, then the word."""

    def show(value: object) -> str:
        role = str(value)
        word = tr(f"role.{role}", lang)
        if role == "origin":
            return f"E {glyphs.error} {word}"
        if role == "suspect":
            return f"W {glyphs.warning} {word}"
        return word if role == "ok" else f"{glyphs.shape(role)} {word}"

    return show


def verdict_formatter(lang: Lang) -> Callable[[object], str]:
    """A verdict as its word."""
    return lambda value: tr(_VERDICTS[str(value)], lang)


def state_formatter(glyphs: Glyphs, lang: Lang) -> Callable[[object], str]:
    """A state ("verdict role") as the role; where that is "ok", as the verdict: a letter, or "unknown"."""
    role_text = role_formatter(glyphs, lang)

    def show(value: object) -> str:
        verdict, _, role = str(value).partition(" ")
        if role == "ok" and verdict != "unknown":
            return glyphs.severity("ok" if verdict == "pass" else verdict)
        role = verdict if role == "ok" else role
        return role_text(role)

    return show


def row_style(verdict: str, role: str) -> str | None:
    """The component class of a row: the role counts first."""
    return _STYLE_OF_ROLE.get(role) or _STYLE_OF_VERDICT.get(verdict)


def style_by_state(table: Table) -> RowStyle:
    """Row styles from a column "state" that holds "verdict role"."""
    state = table.column("state")
    styles = [row_style(*label.split(" ")) for label in state.labels or ()]
    return lambda row: styles[int(state.values[row])]


def style_by_role_alone(table: Table) -> RowStyle:
    """Row styles from a column "role"."""
    role = table.column("role")
    styles = [_STYLE_OF_ROLE.get(label) for label in role.labels or ()]
    return lambda row: styles[int(role.values[row])]


def style_by_role(table: Table) -> RowStyle:
    """Row styles from the columns "verdict" and "role"."""
    verdict, role = table.column("verdict"), table.column("role")
    return lambda row: row_style(verdict.value(row), role.value(row))
