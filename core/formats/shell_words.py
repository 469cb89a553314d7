"""The words of a shell text, command by command: quotes are taken off, nothing is expanded or run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from npulse.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command; line: where it begins, counted from 1. Variables stay as they are ("$HOME")."""

    text: str
    line: int


# A quoted text longer than this is taken for one whose end was lost; it also bounds the time.
_MAX_QUOTED = 20_000

_MAX_ENDLESS = 20
"""Here-documents whose end is looked for in vain; later ones are not looked at, which bounds the time too."""

_TOKEN = r"""
      (?P<blank>    [ \t\r\f\v]+ | \\\n )
    | (?P<newline>  \n )
    | (?P<comment>  \#[^\n]* )
    | (?P<here>     <<-?[ \t]*(?P<mark>['"\\]?)(?P<end>\w+)['"]? )
    | (?P<redirect> &?[<>]+[&|]? )
    | (?P<operator> [;&|()]+ )
    | (?P<single>   \$?'[^'{line}]{{0,{most}}}' )
    | (?P<double>   "(?:[^"\\{line}]|\\.){{0,{most}}}" )
    | (?P<braces>   \$\{{[^{{}}\n]{{0,500}}\}} )
    | (?P<call>     \$\((?:[^()\n]|\([^()\n]{{0,200}}\)){{0,500}}\) | `[^`\n]{{0,500}}` )
    | (?P<escaped>  \\. )
    | (?P<plain>    [^\s'"\\$`;&|()<>\#]+ )
    | (?P<other>    . )
"""
_FLAGS = re.VERBOSE | re.DOTALL
_OF_A_SCRIPT = re.compile(_TOKEN.format(line="", most=_MAX_QUOTED), _FLAGS)
_OF_ANY_TEXT = re.compile(_TOKEN.format(line=r"\n", most=_MAX_QUOTED), _FLAGS)

_ESCAPED_IN_DOUBLE = re.compile(r'\\(["\\$`])')


def commands(
    text: str, *, is_script: bool, first_line: int = 1, on_open_quote: Callable[[int], None] | None = None
) -> Iterator[list[Word]]:
    """The words of each simple command, in order; at least one a command.

    `;`, `&&`, `|`, parentheses and line ends divide commands; comments, redirections and here-documents are
    left out. is_script: quotes may reach over lines; in any other text (a log, say) they end with their line.
    A quote without its end is an ordinary character; in a script `on_open_quote` is told its line.
    A quoted text keeps its line ends, so that lines can be counted in a word.
    """
    pattern = _OF_A_SCRIPT if is_script else _OF_ANY_TEXT
    words: list[Word] = []
    pieces: list[str] = []
    here: list[str] = []
    is_target = False
    at, line, begun, n_endless = 0, first_line, first_line, 0
    while at < len(text):
        token = pattern.match(text, at)
        assert token is not None  # the last alternative takes any character
        kind, piece = token.lastgroup or "other", token[0]
        at = token.end()
        is_piece = kind in _PIECES or (kind == "comment" and bool(pieces))
        if is_piece:
            if kind == "comment":  # "a#b" is a word
                piece, at = "#", token.start() + 1
            elif kind == "other" and piece in "\"'" and is_script and on_open_quote is not None:
                on_open_quote(line)
            begun = begun if pieces else line
            pieces.append(_without_quotes(kind, piece))
        elif pieces:
            if not is_target:
                words.append(Word("".join(pieces), begun))
            is_target = False
            pieces = []
        line += piece.count("\n")
        if kind == "redirect":
            is_target = True
        elif kind == "here":
            here.append(token["end"])
        elif kind in ("operator", "newline"):
            is_target = False
            if words:
                yield words
                words = []
            if kind == "newline" and here:
                behind = _behind_here(text, at, here) if n_endless < _MAX_ENDLESS else None
                if behind is None:
                    n_endless += 1
                else:
                    line += text.count("\n", at, behind)
                    at = behind
                here = []
    if pieces and not is_target:
        words.append(Word("".join(pieces), begun))
    if words:
        yield words


_PIECES = frozenset({"single", "double", "braces", "call", "escaped", "plain", "other"})


def _without_quotes(kind: str, piece: str) -> str:
    if kind == "single":
        return piece.removeprefix("$")[1:-1]
    if kind == "double":
        return _ESCAPED_IN_DOUBLE.sub(r"\1", piece[1:-1])
    return piece[1:] if kind == "escaped" else piece


def _behind_here(text: str, at: int, ends: list[str]) -> int | None:
    """The place behind the here-documents that begin at `at`; None where the end of one is missing."""
    for end in ends:
        found = re.compile(rf"^[ \t]*{re.escape(end)}[ \t\r]*(?:\n|\Z)", re.MULTILINE).search(text, at)
        if found is None:
            return None
        at = found.end()
    return at
