"""What cells of tables say as texts: without quotes around them, or that there is no value."""

from __future__ import annotations

import csv

NONE_WORDS = frozenset({"", "n/a", "na", "none", "null", "nan", "-"})
"""What writers put where there is no value, in lower case."""


def unquoted(cell: str) -> str:
    """A cell as it stands in the file -> its text, without blanks around it."""
    cell = cell.strip()
    if not cell.startswith('"'):
        return cell
    try:
        return next(csv.reader([cell]), [""])[0].strip()
    except csv.Error:
        return cell
