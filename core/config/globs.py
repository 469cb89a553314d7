"""Globs translated to what the tools take: whole names for acl, parts of names for msprobe."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from npulse.core.errors import InputError, NpulseError, UsageError
from npulse.core.text import Lang, say

from .texts_globs import TEXTS

if TYPE_CHECKING:
    from npulse.core.run.model import Artifact

Tool = Literal["acl", "msprobe"]

MAX_NAMES = 200_000
_MAX_FILES = 100_000
_SHOWN = 5
_MOST_LOOKS = 20_000_000
_SPECIAL = re.compile(r"[*?]|\[!?\]?[^\]]+\]|\[!?\][^\]]*\]")  # "]" may be the first in a class


@dataclass(frozen=True, slots=True)
class Resolved:
    """What goes into the tool's list: items, () with is_all for everything; notes for people."""

    items: tuple[str, ...]
    is_all: bool
    notes: tuple[str, ...]
    selects_more: bool = False


def has_glob(name: str) -> bool:
    """Whether a name has '*', '?' or '[...]' in it."""
    return _SPECIAL.search(name) is not None


def resolve(
    tool: Tool, patterns: Sequence[str], names: Sequence[str] | None = None, *, lang: Lang = "en"
) -> Resolved:
    """The tool's list for globs and plain names. names: operators or entries to look them up in.

    UsageError: a glob that acl would need names for, or that matches none of them.
    """
    if any(pattern.strip("*") == "" and pattern for pattern in patterns):
        pattern = next(p for p in patterns if p and not p.strip("*"))
        return Resolved((), True, (say(TEXTS, "all", lang, pattern=pattern),))
    items: list[str] = []
    notes: list[str] = []
    wanted: set[str] = set()
    more = False
    for pattern in filter(None, patterns):
        if not has_glob(pattern):
            items.append(pattern)
            if names is not None and not _has(tool, pattern, names):
                near = _near(pattern, names, lang)
                notes.append(say(TEXTS, "absent", lang, pattern=pattern, of=f"{len(names):,}", near=near))
        elif names is not None:
            matched = matching(pattern, names, tool)
            if not matched:
                near = _near(pattern, names, lang)
                raise UsageError(say(TEXTS, "none", lang, pattern=pattern, of=f"{len(names):,}", near=near))
            wanted.update(matched)
            items += matched if tool == "acl" else _shortest(pattern, matched, names)
            told = {"pattern": pattern, "n": f"{len(matched):,}", "of": f"{len(names):,}"}
            notes.append(say(TEXTS, "found", lang, **told))
        elif tool == "acl":
            raise UsageError(
                say(TEXTS, "cannot", lang, pattern=pattern), hint=say(TEXTS, "cannot-hint", lang)
            )
        else:
            part = _part(pattern)
            if not part:
                raise UsageError(say(TEXTS, "no-part", lang, pattern=pattern))
            items.append(part)
            is_exact = pattern.strip("*") == part and pattern[0] == pattern[-1] == "*"
            more = more or not is_exact
            key = "part" if is_exact else "part-more"
            notes.append(say(TEXTS, key, lang, pattern=pattern, part=part))
    items = [*dict.fromkeys(items)]
    if tool == "msprobe" and names is not None and items:
        plain = [p for p in patterns if p and not has_glob(p)]
        also = _selected([name for name in names if name not in wanted], items)
        also = [name for name in also if not any(part in name for part in plain)]
        if also:
            more = True
            notes.append(say(TEXTS, "also", lang, n=f"{len(also):,}", names=", ".join(also[:_SHOWN])))
    return Resolved(tuple(items), False, tuple(notes), more)


def matching(pattern: str, names: Sequence[str], tool: Tool) -> list[str]:
    """The names that a glob means, in their order.

    acl: the whole name. msprobe: the whole entry name, or the rest of it from any dot on (conv* is also
    Module.block.conv1.Conv2d.forward.0), or the same of its module path or API (*_proj).
    """
    matches = re.compile(translate(pattern)).match
    if tool == "acl":
        return [name for name in names if matches(name)]
    part = _part(pattern)  # cheap, and leaves few names to look at closely
    return [name for name in names if part in name and any(matches(text) for text in _readings(name))]


def names_in(path: Path) -> tuple[str, ...]:
    """Names of operators in execution order: of a dump or a run (msprobe entries, else operators of CANN
    dumps as in their graph), or of a text file with one name a line. InputError where there are none.
    """
    listed = _listed(path)
    if listed is not None:
        return listed
    from npulse.core.run.discover import discover

    artifacts = discover(path).artifacts
    found: dict[str, None] = {}
    for artifact in artifacts:
        if artifact.kind == "msprobe.dump" and len(found) < MAX_NAMES:
            found |= dict.fromkeys(_entries(artifact))
    if not found:
        for artifact in artifacts:
            if artifact.kind in ("cann.dump", "cann.stats"):
                found |= dict.fromkeys(_operators(artifact.path))
    if not found:
        raise InputError(
            "no names of operators in it",
            path=path,
            hint="name a dump, a run that holds one, or a text file with one name a line",
        )
    return tuple(found)[:MAX_NAMES]


def _listed(path: Path) -> tuple[str, ...] | None:
    """The lines of a plain list of names; None for folders, JSON, and what is no such list."""
    from npulse.core.formats.text_lines import LineNotes, line_blocks

    if not path.is_file() or path.suffix.lower() in (".json", ".npy", ".pt", ".bin", ".csv"):
        return None
    names: dict[str, None] = {}
    for block in line_blocks(path, LineNotes(str(path)), max_bytes=64 << 20):
        for line in block.lines:
            name = line.strip()
            if "\0" in name or "\ufffd" in name or name.startswith(("{", "[")) or len(name) > 1024:
                return None
            if name and not name.startswith("#"):
                names[name] = None
        if len(names) > MAX_NAMES:
            break
    return tuple(names)[:MAX_NAMES] or None


def _entries(artifact: Artifact) -> Sequence[str]:
    from npulse.core.formats.msprobe.dump import read_dump

    try:
        return read_dump(artifact.path).calls.names
    except NpulseError:
        return ()  # a dump without index, or one that is broken: others may be whole


def _operators(folder: Path) -> list[str]:
    """Operators of the dump files in a folder; names as in the graph where the file tells them."""
    from npulse.core.formats.cann.container import read_container
    from npulse.core.formats.cann.names import full_name, parse_dump_name, read_mapping

    found: list[str] = []
    top = folder if folder.is_dir() else folder.parent
    mapping = read_mapping(top, top)
    files = sorted(os.listdir(top)) if folder.is_dir() else [folder.name]
    for name in files[:_MAX_FILES]:
        parsed = parse_dump_name(full_name(name, mapping))
        if parsed is None or parsed.is_overflow_record or not parsed.op_name:
            continue
        told = ""
        if parsed.suffix == "":
            try:
                told = read_container(top / name, root=top).op_name
            except NpulseError:
                told = ""
        found.append(told or parsed.op_name)
    return found


def _readings(name: str) -> list[str]:
    from npulse.core.formats.msprobe.names import parse_name

    parsed = parse_name(name)
    found = []
    for text in (name, parsed.path or parsed.api):
        found += [text, *(text[match.end() :] for match in re.finditer(r"\.", text))]
    return found


def _selected(names: Sequence[str], items: Sequence[str]) -> list[str]:
    """The names that have an item in them. Of very many items only those that begin a name are looked for
    (forward.1 begins forward.10): they are whole names then."""
    if len(names) * len(items) <= _MOST_LOOKS:
        return [name for name in names if any(item in name for item in items)]
    known, lengths = {*items}, sorted({len(item) for item in items})
    return [name for name in names if any(name[:n] in known for n in lengths)]


def _has(tool: Tool, pattern: str, names: Sequence[str]) -> bool:
    return pattern in names if tool == "acl" else any(pattern in name for name in names)


def _shortest(pattern: str, matched: list[str], names: Sequence[str]) -> list[str]:
    """One part of a name where it selects exactly these, else all of them."""
    part = _part(pattern)
    if part and {name for name in names if part in name} == {*matched}:
        return [part]
    return matched


def _part(pattern: str) -> str:
    """The longest text in a glob that has to stand in every name that it matches."""
    return max(_SPECIAL.split(pattern), key=len, default="")


def _near(pattern: str, names: Sequence[str], lang: Lang) -> str:
    word = _part(pattern).lower()
    near = [name for name in names if word and word in name.lower()][:_SHOWN]
    near = near or difflib.get_close_matches(pattern, names[:5000], n=3, cutoff=0.5)
    return say(TEXTS, "near", lang, names=", ".join(near)) if near else ""
