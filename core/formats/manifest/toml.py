"""A round.toml as tables and values, as they stand in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npulse.core.toml_text import read_toml

MAX_BYTES = 1 << 20


def read_manifest(path: Path, *, root: Path | None = None) -> Mapping[str, Any]:
    """All that the manifest says. Raises InputError: no TOML, more than a megabyte, outside `root`."""
    return read_toml(path, MAX_BYTES, "a manifest", root=root)[0]
