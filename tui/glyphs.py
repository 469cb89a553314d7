"""The marks, levels and lines a screen is drawn with: one set for UTF-8 terminals, one for all others."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from npulse.core.dataclass import dataclass
from npulse.core.text import safe_text


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One set of glyphs; each is one cell wide unless its comment says otherwise.

    levels: eight heights, low to high; heat: five levels, low to high; bar: eighths of a cell, the
    last one full. `border` is the name of a Textual border type that uses only this set's characters.
    """

    is_ascii: bool
    cursor: str
    mark: str
    ellipsis: str
    error: str
    warning: str
    note: str
    ok: str
    unknown: str
    inherited: str
    live: str
    added: str
    changed: str
    arrow: str
    ascending: str
    descending: str
    more_left: str
    more_right: str
    below: str
    levels: str
    heat: str
    bar: str
    nothing: str
    nan: str
    infinite: str
    horizontal: str
    vertical: str
    top_left: str
    top_right: str
    bottom_left: str
    bottom_right: str
    border: str

    def severity(self, word: str) -> str:
        """Letter and shape of a severity, role or verdict: the first two carriers before any colour."""
        return _SEVERITY[word].format(self)

    def shape(self, word: str) -> str:
        """The shape alone, one cell."""
        return str(getattr(self, _SHAPE[word]))


_SHAPE: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("error", "fail", "origin"), "error"),
        **dict.fromkeys(("warning", "warn", "suspect"), "warning"),
        **dict.fromkeys(("note", "benign"), "note"),
        **dict.fromkeys(("ok", "pass"), "ok"),
        **dict.fromkeys(("unknown", "incomplete", "unmatched"), "unknown"),
        "inherited": "inherited",
    }
)
_LETTER = {"error": "E {0.error}", "warning": "W {0.warning}", "note": "N {0.note}", "ok": "ok"}
_SEVERITY: Mapping[str, str] = MappingProxyType(
    {word: _LETTER.get(shape, f"{{0.{shape}}} {word}") for word, shape in _SHAPE.items()}
)

UNICODE = Glyphs(
    is_ascii=False,
    cursor="▶",
    mark="◆",
    ellipsis="…",
    error="✗",
    warning="!",
    note="·",
    ok="✓",
    unknown="?",
    inherited="↳",
    live="●",
    added="+",
    changed="~",
    arrow="→",
    ascending="▲",
    descending="▼",
    more_left="‹",
    more_right="›",
    below="^",
    levels="▁▂▃▄▅▆▇█",
    heat="·░▒▓█",
    bar="▏▎▍▌▋▊▉█",
    nothing="·",
    nan="✗",
    infinite="∞",
    horizontal="─",
    vertical="│",
    top_left="┌",
    top_right="┐",
    bottom_left="└",
    bottom_right="┘",
    border="solid",
)

ASCII = Glyphs(
    is_ascii=True,
    cursor=">",
    mark="*",
    ellipsis="~",
    error="x",
    warning="!",
    note="-",
    ok=".",
    unknown="?",
    inherited=">",
    live="*",
    added="+",
    changed="~",
    arrow=">",
    ascending="^",
    descending="v",
    more_left="<",
    more_right=">",
    below="^",
    levels="_,-~=+*#",
    heat=".:+%#",
    bar="#",
    nothing=".",
    nan="x",
    infinite="!",
    horizontal="-",
    vertical="|",
    top_left="+",
    top_right="+",
    bottom_left="+",
    bottom_right="+",
    border="ascii",
)


def glyphs_of(app: object) -> Glyphs:
    """The set an app draws with: its attribute `glyphs`; the UTF-8 set where it has none."""
    found = getattr(app, "glyphs", None)
    return found if isinstance(found, Glyphs) else UNICODE


# ---- any text as this terminal can show it ----

# Variation selectors only choose a shape, and terminals disagree on the width: left out.
_UNEVEN = dict.fromkeys(range(0xFE00, 0xFE10), "")

_SAME_WIDTH: Mapping[int, str] = MappingProxyType(
    {
        **{ord(c): "-" for c in "─━┄┅┈┉╌╍═‐‑‒–—―"},
        **{ord(c): "|" for c in "│┃┆┇┊┋╎╏║▏▎▍▌▐▕"},
        **{c: "+" for c in (*range(0x250C, 0x254C), *range(0x2552, 0x2574))},
        **dict(zip(map(ord, UNICODE.levels), ASCII.levels, strict=True)),
        **{ord(c): "#" for c in "▀▊▋▉▔"},
        **{ord(c): ascii_heat for c, ascii_heat in zip("░▒▓", ":+%", strict=True)},
        **{ord(c): "*" for c in "●◆•○◉◇★☆⭘"},
        **{ord(c): "." for c in "·✓✔"},
        **{ord(c): "x" for c in "✗✘×"},
        **{ord(c): ">" for c in "▶›↳→⏵▸"},
        **{ord(c): "<" for c in "◀‹←⏴◂"},
        **{ord(c): "^" for c in "▲↑△"},
        **{ord(c): "v" for c in "▼↓▽"},
        ord("…"): "~",
        ord("∞"): "!",
        ord("␛"): "^",
        0xA0: " ",
    }
)


def showable(text: str, glyphs: Glyphs) -> str:
    r"""Any text as it may stand on the screen: no controls, and ASCII alone where the set is ASCII.

    Where that makes it longer (\\uXXXX), widths are computed from the result.
    """
    text = safe_text(text)
    if text.isascii():
        return text
    if not glyphs.is_ascii:
        return text.translate(_UNEVEN)
    return ascii_text(ascii_shapes(text.replace("\N{SYMBOL FOR ESCAPE}", "^[")))


def ascii_shapes(text: str) -> str:
    """Drawing characters replaced one for one; everything else is left as it is."""
    return text.translate(_SAME_WIDTH)


def ascii_text(text: str) -> str:
    r"""`safe_text` output as printable ASCII: ESC is ^[, a control is ?, other characters \uXXXX.

    The result is longer than the input, so it belongs before any width is computed.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_ascii_character, text))


def _ascii_character(character: str) -> str:
    code = ord(character)
    if 0x20 <= code < 0x7F:
        return character
    if character in ("\N{SYMBOL FOR ESCAPE}", "\x1b"):
        return "^["
    if character == "\N{HORIZONTAL ELLIPSIS}":
        return "..."
    if code < 0xA0 or character == "\N{REPLACEMENT CHARACTER}":
        return "?"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
