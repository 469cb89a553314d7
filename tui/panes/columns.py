"""Formats of columns that several panes have."""

from __future__ import annotations

from collections.abc import Callable

from npulse.core.text import Lang

from ..messages import tr

_IO_WORDS = {
    "input": "io.input",
    "output": "io.output",
    "kwargs": "io.kwargs",
    "parameters": "io.parameters",
    "parameters_grad": "io.parameters-grad",
}


def io_formatter(lang: Lang) -> Callable[[object], str]:
    """ "input 0" in the user's language; an argument's own name stays as it is."""
    if lang == "en":
        return str

    def show(value: object) -> str:
        word, blank, rest = str(value).partition(" ")
        return f"{tr(_IO_WORDS[word], lang)}{blank}{rest}" if word in _IO_WORDS else str(value)

    return show
