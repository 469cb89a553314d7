"""Texts that somebody pasted: logs and listings among prose, in quotes and fences, with colours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..files import shown_path
from ..findings import Problem
from ..progress import IsCancelled, never_cancelled
from .text_lines import LineNotes, line_blocks

MAX_TEXT_BYTES = 8 << 20
MAX_LINES = 200_000

Numbered = tuple[int, str]
"""A line's number, from 1, and its text."""


@dataclass(frozen=True, slots=True)
class Pasted:
    """The lines of a text, without what the pasting added; numbers are those of the file."""

    path: Path
    lines: tuple[Numbered, ...]
    problems: tuple[Problem, ...] = ()


def read_pasted(
    path: Path, *, root: Path | None = None, is_cancelled: IsCancelled = never_cancelled
) -> Pasted:
    """All lines that are not empty, cleaned. Problems: encodings, lines too long, more than 8 MB.

    Raises InputError (no such file, a link out of `root`, no text) and Cancelled.
    """
    notes = LineNotes(shown_path(path, root))
    lines: list[Numbered] = []
    for block in line_blocks(path, notes, root=root, max_bytes=MAX_TEXT_BYTES, is_cancelled=is_cancelled):
        if not lines and any("\0" in line for line in block.lines[:100]):
            raise InputError(
                "this is no text", path=path, hint="name a text: the output of a collector, a log"
            )
        if len(lines) < MAX_LINES:
            lines += _cleaned_lines(block.lines, block.first)
    if len(lines) > MAX_LINES:
        notes.add("limit", f"only the first {MAX_LINES:,} lines were read", None, is_last=True)
    return Pasted(path, tuple(lines[:MAX_LINES]), notes.close())


def _cleaned_lines(lines: list[str], first: int) -> Iterator[Numbered]:
    for number, text in enumerate(lines, first):
        for part in text.split("\r"):  # progress bars write over themselves
            clean = cleaned(part)
            if clean.strip():
                yield number, clean


_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_QUOTE = re.compile(r"\A[ \t]{0,3}(?:>[ \t]?)+")
_FENCE = re.compile(r"\A\s*(?:```|~~~)\s*[\w+-]*\s*\Z")
_RANK = re.compile(r"\A\s*\[(?:rank)?\d+\]:\s?")


def cleaned(text: str) -> str:
    """A line without colours, quote marks, fences, code ticks and quotes around it, and ranks in front."""
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    text = text.replace("\u00a0", " ").replace("\u200b", "").replace("\ufeff", "")
    text = _QUOTE.sub("", text)
    if _FENCE.match(text):
        return ""
    text = _RANK.sub("", text)
    bare = text.strip()
    for mark in ("```", "`", '"', "'"):
        if bare.startswith(mark) and bare.endswith(mark) and len(bare) > 2 * len(mark):
            inner = bare[len(mark) : -len(mark)]
            return inner if mark not in inner else text
    return text
