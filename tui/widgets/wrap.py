"""Lines that fit a width, for text of any script."""

from __future__ import annotations

from rich.cells import cell_len

from npulse.core.text import safe_text


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells, broken at blanks; wide characters may break anywhere."""
    lines: list[str] = []
    line = ""
    for word in _pieces(safe_text(text)):
        if cell_len(line) + cell_len(word) <= width:
            line += word
            continue
        if line.strip():
            lines.append(line.rstrip())
        line = word.lstrip()
        while cell_len(line) > width:
            head = _head(line, width)
            lines.append(head)
            line = line[len(head) :]
    if line.strip():
        lines.append(line.rstrip())
    return lines


def _pieces(text: str) -> list[str]:
    """Words with their leading blank; each wide character is a word of its own."""
    pieces: list[str] = []
    current = ""
    for character in text:
        if character == " " or ord(character) > 0x2E80:
            if current:
                pieces.append(current)
            current = character
            if character != " ":
                pieces.append(character)
                current = ""
        else:
            current += character
    return [*pieces, current] if current else pieces


def _head(text: str, width: int) -> str:
    cells = 0
    for at, character in enumerate(text):
        cells += cell_len(character)
        if cells > width:
            return text[: max(1, at)]
    return text
