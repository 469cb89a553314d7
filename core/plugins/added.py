"""Files that were added for good: copied into the user's configuration, with the hash that they had then."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from npulse.core.dataclass import dataclass

from ..errors import InputError, UsageError
from ..files import read_input, write_whole
from .protocols import PluginKind

SCHEMA = 1
MAX_LIST_BYTES = 1 << 20
_KINDS = ("reader", "metric", "analysis", "reference")


@dataclass(frozen=True, slots=True)
class Added:
    """A file that was added. path: the copy. source: where it came from. sha256: of the copy at that time."""

    name: str
    path: Path
    source: str
    sha256: str
    kinds: tuple[PluginKind, ...]


def folder() -> Path:
    """Where copies lie: `plugins` in NPULSE_CONFIG_DIR, else in the user's configuration folder."""
    named = os.environ.get("NPULSE_CONFIG_DIR")
    if named:
        return Path(named) / "plugins"
    from platformdirs import user_config_path

    return user_config_path("npulse") / "plugins"


def entries() -> tuple[Added, ...]:
    """What was added, by name. InputError where the list cannot be read: a plug-in that is silently not there
    would make a run look clean."""
    place = folder() / "plugins.json"
    if not os.path.lexists(place):
        return ()
    listed = _listed(place)
    found = []
    for name, entry in sorted(listed.items()):
        known = isinstance(entry, dict) and isinstance(entry.get("sha256"), str)
        if not known or not _is_name(name):
            raise InputError(f"its entry '{name}' is not one of npulse", path=place, hint=_HINT)
        kinds = tuple(cast(PluginKind, kind) for kind in entry.get("kinds", ()) if kind in _KINDS)
        source = str(entry.get("source", ""))
        found.append(Added(name, folder() / f"{name}.py", source, entry["sha256"], kinds))
    return tuple(found)


_HINT = "npulse plugin add writes it; move it away and add the files again"


def _is_name(name: str) -> bool:
    from .registry import NAME

    return NAME.fullmatch(name) is not None


def _listed(place: Path) -> dict[str, Any]:
    text = read_input(place, MAX_LIST_BYTES, "a list of plug-ins", hint=_HINT)
    try:
        body = json.loads(text)
        listed = body["plugins"] if body["schema"] == SCHEMA else None
    except (ValueError, RecursionError, KeyError, TypeError):
        listed = None
    if not isinstance(listed, dict):
        raise InputError("is not the list of added plug-ins", path=place, hint=_HINT)
    return listed


def add(name: str, code: bytes, source: str, kinds: tuple[PluginKind, ...]) -> Path:
    """Keep a file under a name, in place of an earlier one of that name; the path of the copy.

    The list is written last: a copy that it does not know is never run.
    """
    place = folder()
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=place) from error
    listed = {one.name: one for one in entries()}
    copy = place / f"{name}.py"
    try:
        text = code.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("is no UTF-8 text", path=source, hint="save it as UTF-8") from None
    listed[name] = Added(name, copy, source, hashlib.sha256(code).hexdigest(), kinds)
    write_whole([text], copy)
    _write(place, listed)
    return copy


def remove(name: str) -> None:
    """Forget a file that was added, and take its copy away. UsageError where there is none of that name."""
    listed = {one.name: one for one in entries()}
    if name not in listed:
        known = ", ".join(listed) or "none"
        raise UsageError(f"no plug-in '{name}' was added", hint=f"added: {known}; packages go with pip")
    gone = listed.pop(name)
    _write(folder(), listed)
    with suppress(OSError):  # it is on the list no more, and so never run
        gone.path.unlink(missing_ok=True)


def _write(place: Path, listed: dict[str, Added]) -> None:
    body = {
        name: {"sha256": one.sha256, "source": one.source, "kinds": list(one.kinds)}
        for name, one in sorted(listed.items())
    }
    write_whole([json.dumps({"schema": SCHEMA, "plugins": body}, indent=1) + "\n"], place / "plugins.json")
