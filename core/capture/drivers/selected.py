"""The operators that are asked for by --list, as a dump tool takes them: globs looked up in known names."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from npulse.core.config.globs import Resolved, Tool, has_glob, names_in, resolve
from npulse.core.errors import NpulseError, UsageError
from npulse.core.text import Lang

from ..earlier import earlier_round
from ..request import CaptureRequest

NAME_LIST = "name_list"
"""The setting that names a dump, a run, or a file with a name a line."""


def selected(tool: Tool, request: CaptureRequest, lang: Lang | None = None) -> Resolved:
    """What goes into the tool's list. UsageError where nothing knows the names that a glob needs.

    acl.json takes whole names alone: without a name_list they come from an earlier round of the program.
    """
    try:
        return resolve(tool, request.names, _known_names(tool, request), lang=lang or request.lang)
    except UsageError as error:
        hint = (error.hint or "").replace("--name-list", f"--set {NAME_LIST}=PATH") or None
        raise UsageError(error.message, hint=hint) from None


def _known_names(tool: Tool, request: CaptureRequest) -> tuple[str, ...] | None:
    told = request.settings.get(NAME_LIST)
    if told:
        return _names_in(request.cwd / told)
    if tool == "acl" and any(map(has_glob, request.names)):
        earlier = earlier_round(request, ("acl-dump",))
        if earlier is not None:
            with suppress(NpulseError):
                return _names_in(earlier.raw) or None
    return None


def _names_in(path: Path) -> tuple[str, ...]:
    try:
        changed_ns = path.stat().st_mtime_ns
    except OSError:
        changed_ns = 0  # the reader says what is wrong with it
    return _read_names(path, changed_ns)


@lru_cache(maxsize=4)
def _read_names(path: Path, changed_ns: int) -> tuple[str, ...]:
    return names_in(path)
