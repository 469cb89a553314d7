"""Files that reader plug-ins know: by name and first bytes, after everything that npulse itself knows."""

from __future__ import annotations

from ..findings import Problem
from ..plugins.accept import MAX_MAGIC_BYTES, Complaint
from ..plugins.loaded import Recogniser, problem_of
from .kinds import KINDS
from .peek import peek
from .sniff import Sniffed

MAX_LOOKS = 20_000
"""Files of one walk that are opened for plug-ins alone: about a second."""


def own_kinds_kept(found: Recogniser) -> list[Problem]:
    """A problem for each reader that wants a kind of npulse's own: ours are read by us."""
    return [
        problem_of(plugin, Complaint(f"'{item.name}' is a kind of npulse's own, so its files are not for it"))
        for plugin, item in found.readers
        if item.name in KINDS
    ]


def sniff_plugged(found: Recogniser, path: str, name: str) -> Sniffed | None:
    """What a plug-in calls the file, after one look at its first bytes. OSError as reading raises it."""
    wanted = [item for item in found.candidates(name) if item.name not in KINDS]
    if not wanted:
        return None
    seen = peek(path, head=MAX_MAGIC_BYTES)
    if seen is None:
        return None
    kind = next((item.name for item in wanted if seen.head.startswith(item.magic)), None)
    return Sniffed(kind, seen.size_bytes, seen.modified_ns, "unknown") if kind else None
