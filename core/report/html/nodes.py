"""HTML made of nodes: every text is escaped where it becomes one, so that no name can be forgotten."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from npulse.core.text import safe_text

MAX_CHARS = 4000
"""Of one text: a page is read by people."""
_VOID = frozenset(("meta", "input", "br", "rect", "line", "circle", "path", "polyline"))

Child = str | None


class Html(str):
    """Markup that is done. Any other text is one from somewhere, to be escaped."""

    __slots__ = ()


def tag(name: str, /, *children: Child, **attributes: object) -> Html:
    """`<name attributes>children</name>`. None and "" children are left out, None and False attributes too.

    An underscore at an attribute's end is dropped (class_), others become hyphens (aria_label).
    """
    shown = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID and not any(children):
        return Html(f"<{name}{shown}>" if name in ("meta", "input", "br") else f"<{name}{shown}/>")
    return Html(f"<{name}{shown}>{joined(children)}</{name}>")


def joined(children: Iterable[Child]) -> Html:
    """Nodes and texts one behind the other."""
    return Html("".join(one if isinstance(one, Html) else text(one) for one in children if one))


def text(words: str) -> Html:
    """A text from anywhere as characters that are only shown."""
    return Html(escape(safe_text(words, MAX_CHARS)))


def lines(words: Iterable[str]) -> Html:
    """Lines that stand in columns, for <pre>."""
    return Html("\n".join(map(text, words)))


def table(heads: Iterable[Child], rows: Iterable[Iterable[Child]], *, numbers: Iterable[int] = ()) -> Html:
    """A table that scrolls by itself where it is wider than the page. numbers: columns that stand right."""
    right = frozenset(numbers)

    def cells(name: str, row: Iterable[Child]) -> Html:
        return tag(
            "tr",
            *(
                tag(name, one, class_="n" if at in right else None, scope="col" if name == "th" else None)
                for at, one in enumerate(row)
            ),
        )

    body = tag("tbody", *(cells("td", row) for row in rows))
    return tag("div", tag("table", tag("thead", cells("th", heads)), body), class_="wide", tabindex="0")


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if isinstance(value, float):
        value = f"{value:.2f}".rstrip("0").rstrip(".")
    return f' {name}="{text(str(value))}"'
