"""The first member of a pack: what it holds, and under which names nothing else may lie."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import tomli_w

from npulse.core.dataclass import dataclass
from npulse.core.errors import InputError
from npulse.core.text import safe_text
from npulse.core.toml_text import loads_toml

NAME = "npulse-pack.toml"
SCHEMA = 1
MAX_BYTES = 16 << 20
MAX_FILES = 50_000
MAX_FILE_BYTES = 1 << 40
MAX_LEFT_OUT = 1_000
MAX_NAME_BYTES = 1_024
MAX_PART_BYTES = 255
_SHA256 = re.compile(r"[0-9a-f]{64}")
_WORD = re.compile(r"[a-z]{1,40}")
_TOPS = ("run", "reports", "notes.json")


@dataclass(frozen=True, slots=True)
class PackedFile:
    """path: of the member, with / between its parts."""

    path: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file of the run that is not in the pack. path: in the run. why: one line."""

    path: str
    size_bytes: int
    why: str


@dataclass(frozen=True, slots=True)
class PackManifest:
    """name: of the run's folder. path: where the run lay. made: UTC. npulse: its version.

    recorded: areas that say less of the packed files than of the run: their reports stand as recorded. same:
    areas that say the same. left_out: the largest ones of n_left_out files with left_out_bytes.
    """

    name: str
    path: str
    made: str
    npulse: str
    same: tuple[str, ...] = ()
    recorded: tuple[str, ...] = ()
    files: tuple[PackedFile, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    n_left_out: int = 0
    left_out_bytes: int = 0

    @property
    def n_bytes(self) -> int:
        return sum(one.size_bytes for one in self.files)


def manifest_text(manifest: PackManifest) -> str:
    """As it stands in the pack."""
    return tomli_w.dumps(
        {
            "schema": SCHEMA,
            "npulse": manifest.npulse,
            "name": manifest.name,
            "path": manifest.path,
            "made": manifest.made,
            "same": list(manifest.same),
            "recorded": list(manifest.recorded),
            "n_left_out": manifest.n_left_out,
            "left_out_bytes": manifest.left_out_bytes,
            "file": [
                {"path": one.path, "size_bytes": one.size_bytes, "sha256": one.sha256}
                for one in manifest.files
            ],
            "left_out": [
                {"path": one.path, "size_bytes": one.size_bytes, "why": one.why} for one in manifest.left_out
            ],
        }
    )


def read_pack_manifest(raw: bytes, path: str) -> PackManifest:
    """The manifest in these bytes. path: of the pack, for messages. InputError for all that npulse did not
    write: other types, names that lead elsewhere, two names that are one on some file system."""
    try:
        table = loads_toml(raw.decode("utf-8"))
    except ValueError as error:
        raise _wrong(path, "its manifest is no TOML") from error
    if table.get("schema") != SCHEMA:
        schema = safe_text(str(table.get("schema")), 20)
        raise _wrong(path, f"a pack of schema {schema} is not known; this npulse opens {SCHEMA}")
    entries = table.get("file")
    if not isinstance(entries, list) or len(entries) > MAX_FILES:
        raise _wrong(path, f"its manifest names no files, or more than {MAX_FILES:,}")
    files = tuple(_file(entry, path) for entry in entries)
    name = _text(table, "name", path)
    check_names((one.path for one in files), path)
    check_names((f"run/{name}",), path)
    if "/" in name:
        raise _wrong(path, "its run has a name of several parts")
    for one in files:
        if one.path.split("/")[0] == "run" and not one.path.startswith(f"run/{name}/"):
            raise _wrong(path, f"{safe_text(one.path, 200)} is outside of the run")
    left_out = table.get("left_out", [])
    if not isinstance(left_out, list) or len(left_out) > MAX_LEFT_OUT:
        raise _wrong(path, "what it says of files that were left out is not what npulse writes")
    return PackManifest(
        name=name,
        path=_text(table, "path", path),
        made=_text(table, "made", path),
        npulse=_text(table, "npulse", path),
        same=_words(table, "same", path),
        recorded=_words(table, "recorded", path),
        files=files,
        left_out=tuple(_left_out(entry, path) for entry in left_out),
        n_left_out=_count(table, "n_left_out", path),
        left_out_bytes=_count(table, "left_out_bytes", path),
    )


def check_names(names: Iterable[str], path: str) -> None:
    """InputError for the first name that is no plain path below the pack, or is another one's in disguise."""
    seen: dict[str, str] = {}
    folders: set[str] = set()
    for name in names:
        why = unfit(name)
        if why:
            raise _wrong(path, f"the name {safe_text(repr(name), 200)} {why}")
        key = _folded(name)
        if key in seen:
            raise _wrong(path, f"two files have the name {safe_text(name, 200)}")
        seen[key] = name
        parts = key.split("/")
        folders.update("/".join(parts[:end]) for end in range(1, len(parts)))
    for key in folders & set(seen):
        raise _wrong(path, f"{safe_text(seen[key], 200)} is a file and a folder")


def unfit(name: str) -> str:
    """Why a name cannot be one of a pack's members; "" where it can."""
    try:
        raw = name.encode("utf-8")
    except UnicodeEncodeError:
        return "holds half a character"
    parts = name.split("/")
    if not name or len(raw) > MAX_NAME_BYTES or any(len(p.encode()) > MAX_PART_BYTES for p in parts):
        return "is empty or too long"
    if parts[0] not in _TOPS or (len(parts) == 1) != (parts[0] == "notes.json"):
        return "is at no place of a pack"
    if any(part in ("", ".", "..") or part != part.strip() for part in parts):
        return "leads elsewhere"
    if "\\" in name or ":" in parts[0] or safe_text(name, MAX_NAME_BYTES + 1) != name or "\t" in name:
        return "holds characters that no name needs"
    return ""


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", name).casefold())


def _file(entry: object, path: str) -> PackedFile:
    if not isinstance(entry, dict):
        raise _wrong(path, "an entry of its manifest is no table")
    sha256 = _text(entry, "sha256", path)
    if not _SHA256.fullmatch(sha256):
        raise _wrong(path, "a checksum in its manifest is none")
    return PackedFile(_text(entry, "path", path), _count(entry, "size_bytes", path), sha256)


def _left_out(entry: object, path: str) -> LeftOut:
    if not isinstance(entry, dict):
        raise _wrong(path, "an entry of its manifest is no table")
    return LeftOut(_text(entry, "path", path), _count(entry, "size_bytes", path), _text(entry, "why", path))


def _text(table: Mapping[str, Any], key: str, path: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or len(value) > 4_096:
        raise _wrong(path, f"'{key}' in its manifest is not what npulse writes")
    return value


def _count(table: Mapping[str, Any], key: str, path: str) -> int:
    value = table.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_FILE_BYTES:
        raise _wrong(path, f"'{key}' in its manifest is not what npulse writes")
    return value


def _words(table: Mapping[str, Any], key: str, path: str) -> tuple[str, ...]:
    value = table.get(key)
    is_words = isinstance(value, list) and len(value) <= 100
    if not is_words or not all(isinstance(one, str) and _WORD.fullmatch(one) for one in value or ()):
        raise _wrong(path, f"'{key}' in its manifest is not what npulse writes")
    return tuple(value or ())


def _wrong(path: str, message: str) -> InputError:
    return InputError(f"this pack is damaged or was not made by npulse: {message}", path=path)
