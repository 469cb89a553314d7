"""Short texts beside result tables: what an advisor says, and the figures of two files compared."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...errors import InputError
from ...files import read_input
from ..encodings import line_text, without_mark
from .cells import number_of

MAX_BYTES = 1 << 16

_ADVISORS = {
    "line": ("msprobe compare", "line"),
    "suspect nodes": ("msprobe compare", "subject"),
    "detection type": ("msaccucmp", "kind"),
    "operator index": ("msaccucmp", "line"),
    "expert advice": ("", "advice"),
}


@dataclass(frozen=True, slots=True)
class Advice:
    """What an advisor wrote. tool: who; kind: what it detected; line: the row or index that it names, subject:
    the name; "" where there is none ("NA").
    """

    tool: str
    kind: str
    line: str
    subject: str
    advice: str


def read_advice(path: Path, *, root: Path | None = None) -> Advice:
    """The text of msprobe's or msaccucmp's advisor. InputError where it is none, or larger than 64 KB."""
    found = {"kind": "", "line": "", "subject": "", "advice": ""}
    tool, last = "", ""
    for line in _lines(path, root):
        word, colon, value = line.partition(":")
        known = _ADVISORS.get(word.strip().lower()) if colon else None
        if known is not None:
            tool, last = known[0] or tool, known[1]
            found[last] = "" if value.strip().upper() == "NA" else value.strip()
        elif last == "advice" and line.strip():
            found[last] += " " + line.strip()
    if not tool:
        raise InputError("this is no text of an advisor", path=path)
    return Advice(tool, **found)


def read_file_compare(path: Path, *, root: Path | None = None) -> dict[str, float | str]:
    """What msaccucmp's file_compare wrote: algorithm to number, or to the word that stands there.

    InputError where it is no such text.
    """
    found: dict[str, float | str] = {}
    for line in _lines(path, root):
        name, colon, value = line.partition(":")
        if colon and name.strip().isidentifier():
            number = number_of(value)
            found[name.strip()] = value.strip() if number is None else number
    if not found.keys() & {"CosineSimilarity", "MaxAbsoluteError"}:
        raise InputError("this is no result of msaccucmp's file_compare", path=path)
    return found


def _lines(path: Path, root: Path | None) -> list[str]:
    raw, encoding = without_mark(read_input(path, MAX_BYTES, "a text of an advisor", root=root))
    if encoding.startswith("utf-16"):
        return raw.decode(encoding, "replace").splitlines()
    return [line_text(line, is_among_gbk=False)[0].rstrip("\r") for line in raw.split(b"\n")]
