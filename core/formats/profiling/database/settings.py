"""How a profile was taken and on what, as far as its database says it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ....findings import Problem
from ....progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ....text import safe_text
from ...json_window import Notes
from ..json_facts import Facts
from ..records import ProfilerSettings, Read
from ..settings import groups_of
from .database import MAX_VALUE_BYTES, Database
from .marks import has_no_end
from .open import open_database
from .values import integer_of, text_of

MAX_ENTRIES = 10_000
MAX_JSON_CHARS = 1 << 22
_VERSIONS = {
    "SCHEMA_VERSION": "schema",
    "torch_npu_version": "torch_npu",
    "cann_version": "cann",
    "ms_version": "mindspore",
}
_PARTS = ("SCHEMA_VERSION_MAJOR", "SCHEMA_VERSION_MINOR", "SCHEMA_VERSION_MICRO")


def read_database_settings(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Read[ProfilerSettings]:
    """The one record of META_DATA, NPU_INFO, RANK_DEVICE_MAP and SESSION_TIME_INFO.

    framework: by the name of the file. rank: None where the table maps several, or none (-1). is_finalised:
    False if the session never came to its end. Fields that no table has stay as they are by default.
    Raises InputError (no database) and Cancelled.
    """
    with open_database(path, root=root, progress=progress, is_cancelled=is_cancelled) as database:
        problems: list[Problem] = []
        notes = Notes(database.artifact, problems)
        meta = _meta(database)
        spread = Facts(_object(meta.get("distributed_args"), notes, "distributed_args"), notes)
        variables = Facts(_object(meta.get("ENV_VARIABLES"), notes, "ENV_VARIABLES"), notes)
        groups, labels = groups_of(
            _object(meta.get("parallel_group_info"), notes, "parallel_group_info"), notes
        )
        ranks, devices = _ranks(database)
        sizes: dict[str, int] = {}
        for key, value in spread.members.items():
            number = int(value) if isinstance(value, bool) else spread.whole(key)
            if number is not None and key not in ("rank", "world_size"):
                sizes[key] = number
        no_end = has_no_end(database)
        settings = ProfilerSettings(
            framework=framework_of(path),
            chip=_chip(database),
            rank=ranks[0] if len(ranks) == 1 else spread.whole("rank") if not ranks else None,
            world_size=spread.whole("world_size"),
            devices=devices,
            versions=_versions(meta),
            parallel=sizes,
            groups=groups,
            group_labels=labels,
            env={key: variables.text(key) for key in variables.members},
            is_finalised=None if no_end is None else not no_end,
        )
        notes.close()
        return Read((settings,), (*database.problems(), *problems))


def framework_of(path: Path) -> str:
    """What wrote a database, by its name: "pytorch", "mindspore", "msmonitor", "msprof" or ""."""
    name = path.name.lower()
    if name.startswith("ascend_"):
        return name.split("_")[1].partition(".")[0]
    return next((word for word in ("msmonitor", "msprof") if name.startswith(word)), "")


def _meta(database: Database) -> dict[str, str]:
    """META_DATA, and what a cluster has in its place."""
    found: dict[str, str] = {}
    for table, key in (("META_DATA", "name"), ("ClusterBaseInfo", "key")):
        for _, name, value in database.rows(table, (key, "value"), MAX_ENTRIES, text_bytes=MAX_VALUE_BYTES):
            if isinstance(name, str) and len(name) <= 200:
                found.setdefault(name, text_of(value))
    return found


def _object(text: str | None, notes: Notes, name: str) -> Any:
    """The JSON in a cell; None for none."""
    if text is None or not text.strip():
        return None
    if len(text) > MAX_JSON_CHARS:
        notes.add("too-large", f"META_DATA: {name} has more than {MAX_JSON_CHARS:,} characters", None)
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        notes.add("bad-record", f"META_DATA: {name} is no JSON object; it counts as absent", None)
        return None
    return value


def _versions(meta: dict[str, str]) -> dict[str, str]:
    versions = {name: safe_text(meta[key], 80) for key, name in _VERSIONS.items() if meta.get(key)}
    if "schema" not in versions and all(meta.get(part) for part in _PARTS):
        versions["schema"] = safe_text(".".join(meta[part] for part in _PARTS), 80)
    return versions


def _chip(database: Database) -> str:
    """The models in NPU_INFO, each once."""
    names = (safe_text(text_of(name), 80) for _, name in database.rows("NPU_INFO", ("name",), 1024))
    return ", ".join(dict.fromkeys(name for name in names if name))


def _ranks(database: Database) -> tuple[list[int], tuple[int, ...]]:
    """Ranks (-1 in plain msprof is none) and devices of RANK_DEVICE_MAP; devices of NPU_INFO elsewhere."""
    ranks: dict[int, None] = {}
    devices: dict[int, None] = {}
    for _, rank, device in database.rows("RANK_DEVICE_MAP", ("rankId", "deviceId"), MAX_ENTRIES):
        for cell, found in ((rank, ranks), (device, devices)):
            whole = integer_of(cell)
            if whole is not None and 0 <= whole < 1 << 31:
                found[whole] = None
    if not devices:
        for _, device in database.rows("NPU_INFO", ("id",), 1024):
            whole = integer_of(device)
            if whole is not None and 0 <= whole < 1 << 31:
                devices[whole] = None
    return list(ranks), tuple(devices)
