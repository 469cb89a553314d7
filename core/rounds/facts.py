"""What is known of a round: its manifest as far as it can be used, else what its name and files tell."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from npulse.core.capture.request import FOLDERS
from npulse.core.formats.manifest import RoundRecord
from npulse.core.run.model import Round
from npulse.core.run.paths import round_time

_KIND_OF_FOLDER: Mapping[str, str] = {folder: kind for kind, folder in FOLDERS.items()}


@dataclass(frozen=True, slots=True)
class Facts(RoundRecord):
    """The record of its manifest, with kind and time by folder and name where the manifest has none.

    manifest: relative path of the round.toml, "" without one; is_read: whether it could be read. is_running:
    the npulse that makes an open round lives.
    """

    manifest: str = ""
    is_read: bool = False
    is_running: bool = False


def facts_of(round_: Round, record: RoundRecord | None, manifest: str = "") -> Facts:
    """Facts of one round; record: of its manifest, None without one that can be read. Never raises."""
    told = record or RoundRecord()
    own: dict[str, Any] = {one.name: getattr(told, one.name) for one in fields(RoundRecord)}
    if not told.kind:
        folders = {part for artifact in round_.artifacts for part in artifact.relative.split("/")[:-1]}
        kinds = {_KIND_OF_FOLDER[name] for name in folders & set(_KIND_OF_FOLDER)}
        own["kind"] = kinds.pop() if len(kinds) == 1 else ""
    if told.started_ns is None:
        own["started_ns"] = _named_time(round_.name)
    return Facts(**own, manifest=manifest, is_read=record is not None)


def _named_time(name: str) -> int | None:
    """The moment that a round's name ends with; None where it has none."""
    digits = round_time(name.rsplit("/", 1)[-1])
    if not digits or len(digits) < 14:
        return None
    try:
        return int(datetime.datetime.strptime(digits[:14], "%Y%m%d%H%M%S").timestamp() * 1e9)
    except (ValueError, OverflowError):
        return None
