"""A round.toml as tables and values, as they stand in it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from npulse.core.errors import InputError
from npulse.core.files import open_input

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_BYTES = 1 << 20


def read_manifest(path: Path, *, root: Path | None = None) -> Mapping[str, Any]:
    """All that the manifest says. Raises InputError: no TOML, more than a megabyte, outside `root`."""
    file, size_bytes = open_input(path, root)
    with file:
        if size_bytes > MAX_BYTES:
            raise InputError(f"a manifest of more than {MAX_BYTES:,} bytes is not read", path=path)
        try:
            raw = file.read(MAX_BYTES) or b""
        except OSError as error:
            raise InputError(f"reading failed: {error.strerror}", path=path) from error
    try:
        found: dict[str, Any] = tomllib.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # no UTF-8, no TOML; numbers and dates that Python refuses
        raise InputError(f"this is no TOML: {error}", path=path) from error
    return found
