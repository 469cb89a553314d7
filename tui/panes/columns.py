"""Formats of columns that several panes have."""

from __future__ import annotations

from collections.abc import Callable

from npulse.core.table import Table
from npulse.core.text import Lang

from ..messages import tr

_IO_WORDS = {
    "input": "io.input",
    "output": "io.output",
    "kwargs": "io.kwargs",
    "parameters": "io.parameters",
    "parameters_grad": "io.parameters-grad",
}
_SHORT_IO_WORDS = {
    "input": "io.short-input",
    "output": "io.short-output",
    "kwargs": "io.short-kwargs",
    "parameters": "io.short-parameters",
    "parameters_grad": "io.short-parameters-grad",
}


def has_values(table: Table, name: str) -> bool:
    """Whether some row of a column has a value; a column without rows is not left out for that."""
    absent = table.column(name).absent
    return absent is None or not absent.all() or not len(absent)


def io_formatter(lang: Lang) -> Callable[[object], str]:
    """ "input 0" in the user's language; an argument's own name stays as it is."""
    return str if lang == "en" else _with_first_word(_IO_WORDS, lang)


def short_io_formatter(lang: Lang) -> Callable[[object], str]:
    """ "in 0" for "input 0", in the user's language, where there is little room."""
    return _with_first_word(_SHORT_IO_WORDS, lang)


def _with_first_word(words: dict[str, str], lang: Lang) -> Callable[[object], str]:
    def show(value: object) -> str:
        word, blank, rest = str(value).partition(" ")
        return f"{tr(words[word], lang)}{blank}{rest}" if word in words else str(value)

    return show
