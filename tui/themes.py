"""The colours: themes for dark and light terminals, for 16 colours and for none, and what enforces them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len as cell_width
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import BUILTIN_THEMES, Theme

from .glyphs import Glyphs, ascii_shapes
from .terminal import Terminal

if TYPE_CHECKING:
    from textual.app import App

DARK, LIGHT, ANSI16, MONO = "dark", "light", "ansi16", "mono"
THEME_NAMES = (DARK, LIGHT, ANSI16, MONO)


def themes() -> tuple[Theme, ...]:
    """The four themes, in the order of `THEME_NAMES`."""
    dark = replace(BUILTIN_THEMES["textual-dark"], name=DARK)
    light = replace(BUILTIN_THEMES["textual-light"], name=LIGHT)
    return dark, light, _ansi_theme(ANSI16), _ansi_theme(MONO)


def _ansi_theme(name: str) -> Theme:
    """The terminal's own 16 colours; no background but the terminal's."""
    names: dict[str, Any] = {
        "primary": "ansi_blue",
        "secondary": "ansi_cyan",
        "warning": "ansi_yellow",
        "error": "ansi_red",
        "success": "ansi_green",
        "accent": "ansi_magenta",
        **dict.fromkeys(("foreground", "background", "surface", "panel", "boost"), "ansi_default"),
    }
    if any(field.name == "ansi" for field in fields(Theme)):
        names["ansi"] = True  # older releases take this from the app alone
    return Theme(name=name, dark=True, variables=dict(_ANSI_VARIABLES), **names)


_ANSI_VARIABLES = {
    "ansi-background": "ansi_default",
    "ansi-foreground": "ansi_default",
    "border-blurred": "ansi_default",
    "block-cursor-foreground": "ansi_default",
    "block-cursor-background": "ansi_default",
    "block-cursor-text-style": "reverse",
    "block-cursor-blurred-text-style": "bold",
    "input-cursor-background": "ansi_default",
    "input-cursor-foreground": "ansi_default",
    "input-cursor-text-style": "reverse",
    "footer-key-foreground": "ansi_default",
}


def theme_names_for(terminal: Terminal) -> tuple[str, ...]:
    """The themes a terminal can show, its default first."""
    if terminal.colours == "none":
        return (MONO,)
    if terminal.colours == "16":
        return (ANSI16, MONO)
    return (DARK, LIGHT, ANSI16, MONO)


def uses_ansi_colours(name: str) -> bool:
    """Whether a theme keeps the terminal's own colours: what `App(ansi_color=...)` wants to know."""
    return name in (ANSI16, MONO)


def install_themes(app: App[Any], name: str) -> None:
    """Register the four themes with an app and show one of them."""
    for theme in themes():
        app.register_theme(theme)
    show_theme(app, name)


def show_theme(app: App[Any], name: str) -> None:
    """Change to one of the four themes."""
    app.ansi_color = uses_ansi_colours(name)
    app.theme = name


def line_filters(filters: Sequence[LineFilter], *, theme: str, glyphs: Glyphs) -> list[LineFilter]:
    """For `App.get_line_filters`: the framework's filters, then those that hold what we promise.

    MONO sends no colour code at all, an ASCII set no byte above 0x7F, whatever widget drew it.
    """
    added: list[LineFilter] = [_WITHOUT_COLOUR] if theme == MONO else []
    return [*filters, *added, *([_ASCII_ONLY] if glyphs.is_ascii else [])]


class WithoutColour(LineFilter):
    """Takes the colours out of every style; bold, underline and reverse stay."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(text, _colourless(style), control) for text, style, control in segments]


@lru_cache(1024)
def _colourless(style: Style | None) -> Style | None:
    return None if style is None else style.without_color


class AsciiOnly(LineFilter):
    """Replaces every character beyond ASCII by ASCII of the same width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment
            if segment.text.isascii()
            else Segment(_ascii_of(segment.text), segment.style, segment.control)
            for segment in segments
        ]


@lru_cache(1024)
def _ascii_of(text: str) -> str:
    shapes = ascii_shapes(text)
    return "".join(c if c.isascii() else "?".ljust(cell_width(c))[: cell_width(c)] for c in shapes)


_WITHOUT_COLOUR = WithoutColour()
_ASCII_ONLY = AsciiOnly()
