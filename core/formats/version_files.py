"""Version files of toolkit, driver, firmware, operators and NNAL: key=value lines, alone or pasted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..files import shown_path
from ..findings import Problem
from ..progress import IsCancelled, never_cancelled
from .text_lines import LineNotes, line_blocks

MAX_FILE_BYTES = 1 << 20
MAX_ENTRIES = 2_000

Kind = Literal[
    "toolkit", "ops", "driver", "firmware", "component", "nnal", "install", "config", "package", "unknown"
]
"""toolkit, ops, package: *_install.info of a package; component: version.info of a part of the toolkit;
config: version.cfg; install: /etc/ascend_install.info; nnal: version.info of ATB."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting, its quotes taken off; line: from 1."""

    key: str
    value: str
    line: int


@dataclass(frozen=True, slots=True)
class VersionBlock:
    """What one version file holds. source: the file, "" where no text names it; line: its first."""

    kind: Kind
    entries: tuple[Entry, ...]
    line: int
    source: str = ""
    problems: tuple[Problem, ...] = ()

    def get(self, key: str) -> str:
        """The value of a key, whatever its case; "" where there is none."""
        found = self.entry(key)
        return found.value if found else ""

    def entry(self, key: str) -> Entry | None:
        """The first entry of a key, whatever its case."""
        wanted = key.lower()
        return next((entry for entry in self.entries if entry.key.lower() == wanted), None)


def read_version_file(
    path: Path, *, root: Path | None = None, is_cancelled: IsCancelled = never_cancelled
) -> VersionBlock:
    """A version file, its kind by what it holds and else by its folder; "unknown" where neither tells.

    Problems: encodings, lines too long, lines without "=" (bad-record, with line), more than 1 MB or 2,000
    entries. Raises InputError (no such file, a link out of `root`) and Cancelled.
    """
    notes = LineNotes(shown_path(path, root))
    entries: list[Entry] = []
    for block in line_blocks(path, notes, root=root, max_bytes=MAX_FILE_BYTES, is_cancelled=is_cancelled):
        for number, text in enumerate(block.lines, block.first):
            found = _entry(number, text)
            if found is not None:
                entries.append(found)
            elif text.strip() and not text.lstrip().startswith(("#", ";", "[")):
                notes.add("bad-record", "no key=value", number)
        if len(entries) > MAX_ENTRIES:
            notes.add("limit", f"only the first {MAX_ENTRIES:,} entries were read", None, is_last=True)
            break
    kept = tuple(entries[:MAX_ENTRIES])
    return VersionBlock(_kind(kept, str(path)), kept, 1, str(path), notes.close())


_ENTRY = re.compile(r"\s*(?P<key>[A-Za-z_][\w.-]{0,80})\s*=\s*(?P<value>.*?)\s*\Z")
_ATB = re.compile(
    r"\s*(?P<key>(?:Ascend-)?(?:cann-atb|mindie-atb|MindIE-ATB|nnal)(?:\s+Version)?)\s*:\s*(?P<value>\S.*?)\s*\Z",
    re.IGNORECASE,
)


def _entry(number: int, text: str) -> Entry | None:
    found = _ENTRY.match(text) or _ATB.match(text)
    if found is None:
        return None
    value = found["value"]
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return Entry(found["key"], value, number)


# ---- in a pasted text ----

_SOURCE = re.compile(
    r"(?:\bcat\s+|==>\s*|\A\s*[#$]?\s*)(?P<path>~?/[^\s'\"|<>]*(?:version\.(?:info|cfg)|install\.info))"
)
_OWN = re.compile(
    r"(?i:version|innerversion|package_version|package_name|arch|os|path|timestamp|version_dir|username|usergroup"
    r"|compatible_version(?:_fw|_drv)?|itf_consistency\w*|hotreset\w*|feature\w*)\Z"
    r"|(?:ascendhal|aicpu|tdt|log|prof|dvppkernels|tsfw|firmware)_version\Z"
    r"|\w+_(?:running|upgrade|installed)_version\Z|required_\w+\Z|(?:Driver|Firmware)_Install_\w+\Z"
    r"|(?i:ascend-)?(?i:cann-atb|mindie-atb|nnal)(?:\s+[Vv]ersion)?\Z"
)


def version_blocks(lines: Iterable[tuple[int, str]]) -> Iterator[VersionBlock]:
    """The version files that a text shows: neighbouring lines with their keys; a key again begins a new one.

    lines: (number, text). Only blocks whose kind is known are given.
    """
    entries: list[Entry] = []
    source, pending = "", ""
    for number, text in lines:
        named = _SOURCE.search(text)
        entry = _entry(number, text) if named is None else None
        if entry is not None and _OWN.match(entry.key) is None:
            entry = None
        is_again = entry is not None and _begins_another(entry, entries)
        if (entry is None or is_again) and entries:
            yield from _told(entries, source)
            entries = []
        if named is not None:
            pending = named["path"]
        elif entry is not None:
            if not entries:
                source, pending = pending, ""
            entries.append(entry)
    yield from _told(entries, source)


def _begins_another(entry: Entry, entries: list[Entry]) -> bool:
    if entry.key == "package_name":
        return any(one.key[:1].isupper() or one.key == "package_name" for one in entries)
    return any(one.key == entry.key for one in entries)


def _told(entries: list[Entry], source: str) -> Iterator[VersionBlock]:
    if entries:
        kept = tuple(entries[:MAX_ENTRIES])
        kind = _kind(kept, source)
        if kind != "unknown":
            yield VersionBlock(kind, kept, kept[0].line, source)


def _kind(entries: tuple[Entry, ...], path: str) -> Kind:
    keys = {entry.key.lower() for entry in entries}
    package = next((entry.value.lower() for entry in entries if entry.key == "package_name"), "")
    if any(key.endswith(("_running_version", "_installed_version")) for key in keys):
        return "config"
    if any(key.startswith(("driver_install_", "firmware_install_")) for key in keys):
        return "install"
    if any("atb" in key or "nnal" in key for key in keys):
        return "nnal"
    if package:
        by_name: tuple[tuple[Kind, str], ...] = (("ops", "-ops"), ("ops", "kernels"), ("nnal", "nnal"))
        default: Kind = "toolkit" if "toolkit" in package else "package"
        return next((kind for kind, word in by_name if word in package), default)
    if "ascendhal_version" in keys or "compatible_version_fw" in keys:
        return "driver"
    if keys & {"firmware_version", "compatible_version_drv"}:
        return "firmware"
    return _kind_by_place(keys, path)


def _kind_by_place(keys: set[str], path: str) -> Kind:
    """Where the keys alone do not tell: "Version=..." is all that some files hold."""
    if not keys & {"version", "version_dir", "innerversion"}:
        return "unknown"
    parts = path.replace("\\", "/").split("/")
    for word, kind in (("driver", "driver"), ("firmware", "firmware"), ("nnal", "nnal"), ("atb", "nnal")):
        if word in parts[:-1]:
            return "driver" if kind == "driver" else "firmware" if kind == "firmware" else "nnal"
    name = parts[-1]
    if name == "ascend_toolkit_install.info":
        return "toolkit"
    if "version_dir" in keys or any(key.startswith("required_") for key in keys):
        return "component"
    return "component" if name == "version.info" and len(parts) > 1 else "unknown"


# ---- values ----

_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_RELEASE = re.compile(r"\A\[?(?P<inner>[^\[\]:]*):(?P<release>[^\[\]:]+)\]?\Z")


def brackets(value: str) -> tuple[tuple[str, ...], ...]:
    """ "[A],[B,C]" as (("A",), ("B", "C")); a bare "A,B" as (("A",), ("B",))."""
    groups = _BRACKET.findall(value)
    if not groups:
        groups = value.split(",")
    split = (tuple(part.strip() for part in group.split(",") if part.strip()) for group in groups)
    return tuple(group for group in split if group)


def releases_of(block: VersionBlock) -> Mapping[str, Entry]:
    """Of a version.cfg: each part's release that runs ("hccl" -> the entry, its value "8.2.RC1")."""
    found: dict[str, Entry] = {}
    for suffix in ("_running_version", "_installed_version"):
        for entry in block.entries:
            told = _RELEASE.match(entry.value) if entry.key.endswith(suffix) else None
            if told is not None:
                part = entry.key.removesuffix(suffix)
                found.setdefault(part, Entry(part, told["release"].strip(), entry.line))
    return found
