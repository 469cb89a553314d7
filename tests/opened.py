"""Which files of a folder are opened, by whatever means, and a clock on which nothing is young."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_watched: list[tuple[str, list[str]]] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _watched and isinstance(arguments[0], str | bytes):
        root, opened = _watched[-1]
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if path.startswith(root) and not os.path.isdir(path):
            opened.append(path)


@contextmanager
def opened_in(folder: Path) -> Iterator[list[str]]:
    """The files below a folder that are opened meanwhile, by whatever means."""
    if not getattr(_hook, "is_there", False):
        sys.addaudithook(_hook)
        _hook.is_there = True  # type: ignore[attr-defined]
    opened: list[str] = []
    _watched.append((os.path.abspath(folder), opened))
    try:
        yield opened
    finally:
        _watched.pop()


def settle_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that were written a moment ago count as settled: their results are kept."""
    for name in ("FRESH_NS", "RACY_NS"):
        monkeypatch.setattr(f"npulse.core.run.stamp.{name}", -(10**10))
