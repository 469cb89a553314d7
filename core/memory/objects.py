"""Program counters that no log has a line for, looked up in kernel objects that are at hand."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from npulse.core.dataclass import dataclass
from npulse.core.errors import EnvironmentLacks, InputError
from npulse.core.findings import Problem
from npulse.core.formats.kernel_object import CodePlace, lines_at
from npulse.core.progress import IsCancelled, check
from npulse.core.run.model import Artifact

from .faults import Frame
from .sites import FindUserFrame, Site

KIND = "cann.kernel_object"
MAX_SITES = 2000

_TOOLS = frozenset(("msSanitizer", "CANN"))
_NAME = re.compile(r"[A-Za-z_]\w*(?=\s*[<(]|$)")
_MIX = re.compile(r"_mix_ai[cv]$")


@dataclass(frozen=True, slots=True)
class KernelObject:
    """An object file that may hold a kernel. root: what bounds it; name: how people see it."""

    path: Path
    root: Path
    name: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """Sites with the places that objects give them. hint: what is missing here to read objects, or ""."""

    sites: tuple[Site, ...]
    hint: str = ""


def objects_of(artifacts: Sequence[Artifact], root: Path, given: Sequence[Path]) -> tuple[KernelObject, ...]:
    """The objects of a run, and those that the user names."""
    found = [KernelObject(path, path.parent, path.name) for path in given]
    found += [KernelObject(one.path, root, one.relative) for one in artifacts if one.kind == KIND]
    return tuple(found)


def with_object_lines(
    sites: Sequence[Site],
    objects: Sequence[KernelObject],
    user_frame: FindUserFrame,
    problems: list[Problem],
    is_cancelled: IsCancelled,
) -> Resolved:
    """Sites without a line, but with program counters, get it from the object of their kernel.

    An object belongs to a kernel by its name; where there is one object and one kernel it is the only choice.
    """
    wanted = [site for site in sites if _needs(site)][:MAX_SITES]
    kernels = {name for site in wanted for name in kernel_names(site)[:1]}
    offsets: dict[KernelObject, set[int]] = {}
    chosen: dict[int, KernelObject] = {}
    for site in wanted:
        found = _object_of(site, objects, is_only=len(objects) == 1 and len(kernels) <= 1)
        if found is not None:
            chosen[id(site)] = found
            offsets.setdefault(found, set()).update(a.pc for a in site.first.accesses if a.pc)
    lines: dict[KernelObject, dict[int, tuple[CodePlace, ...]]] = {}
    hint = ""
    for one, pcs in offsets.items():
        check(is_cancelled)
        try:
            lines[one] = lines_at(one.path, one.root, sorted(pcs))
        except EnvironmentLacks as error:
            hint = error.hint or error.message
        except InputError as error:
            problems.append(Problem.from_error(error, one.name))
    made = [
        _resolved(site, chosen[id(site)], lines.get(chosen[id(site)], {}), user_frame)
        if id(site) in chosen
        else site
        for site in sites
    ]
    return Resolved(tuple(made), hint)


def _needs(site: Site) -> bool:
    return bool(site.pcs) and not site.is_place_known and site.first.tool in _TOOLS


def kernel_names(site: Site) -> tuple[str, ...]:
    """What the object of a site's kernel can be called, the longest name first."""
    first = site.first
    whole = str(first.figures.get("kernel_name") or first.access.kernel)
    bare = _NAME.search(whole.rpartition(" ")[2] if "(" not in whole else whole.split("(")[0].split("<")[0])
    names = [whole, _MIX.sub("", whole), bare[0] if bare else "", first.access.kernel]
    identifiers = dict.fromkeys(name for name in names if name and re.fullmatch(r"[\w-]+", name))
    return tuple(sorted(identifiers, key=len, reverse=True))


def _object_of(site: Site, objects: Sequence[KernelObject], *, is_only: bool) -> KernelObject | None:
    for name in kernel_names(site):
        fitting = [one for one in objects if _stem(one) in (name, f"{name}_mix_aiv", f"{name}_mix_aic")]
        if len(fitting) == 1:
            return fitting[0]
    return objects[0] if is_only else None


def _stem(one: KernelObject) -> str:
    name = os.path.basename(one.name)
    return name[:-2] if name.endswith(".o") else name


def _resolved(
    site: Site, one: KernelObject, lines: dict[int, tuple[CodePlace, ...]], user_frame: FindUserFrame
) -> Site:
    places: list[Frame | None] = []
    for access, place in zip(site.first.accesses, site.places, strict=True):
        frames = tuple(
            Frame(code.file, code.line, code.column, code.function, one.name, access.pc)
            for code in lines.get(access.pc or 0, ())
        )
        places.append((user_frame(frames) if frames else None) or place)
    if tuple(places) == site.places:
        return site
    return replace(site, places=tuple(places), resolved_by=one.name)
