"""Releases of the vendor's products: their order, and which of them go together by the vendor's tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from npulse.core.formats.version_files import brackets

Key = tuple[tuple[int, int], ...]

_PART = re.compile(r"(?P<word>[A-Za-z]*)(?P<number>\d*)\Z")


def release_key(release: str) -> Key:
    """What orders releases: "24.1.rc3" < "24.1.0" < "25.0.rc1" < "25.0.rc1.1"; () for what is none."""
    found: list[tuple[int, int]] = []
    for part in re.split(r"[.+_-]", release.strip().strip("vV")):
        split = _PART.match(part)
        if split is None or not (split["word"] or split["number"]):
            break
        number = int(split["number"][:9] or 0)
        found.append((0 if split["word"] else 1, number))
        if not split["number"]:
            break
    return tuple(found) if found and found[0][0] == 1 else ()


def is_older(one: str, other: str) -> bool | None:
    """Whether one release came before the other; None where one of them is no release."""
    a, b = release_key(one), release_key(other)
    return a < b if a and b else None


_CANN = re.compile(r"(?P<line>\d+\.\d+)\.?(?P<last>(?:RC|T)?\d+)?", re.IGNORECASE)


def cann_of(release: str) -> tuple[str, str]:
    """The line and the release without betas: "8.0.RC3.beta1" -> ("8.0", "8.0.RC3"); ("", "") for none."""
    found = _CANN.match(release.strip().strip("vV"))
    if found is None:
        return "", ""
    last = (found["last"] or "").upper()
    return found["line"], f"{found['line']}.{last}" if last else found["line"]


def is_same_cann(one: str, other: str) -> bool:
    """Whether two names are of one release; the line alone ("8.5") is of all of its releases."""
    (line, a), (other_line, b) = cann_of(one), cann_of(other)
    return bool(line) and line == other_line and (a == b or a == line or b == other_line)


# ---- torch ----

_BASE = re.compile(r"\d+\.\d+(?:\.\d+)?")


def base_version(version: str) -> str:
    """ "2.5.1.post1.dev20250619" and "2.5.1+cpu" -> "2.5.1"; "" for what is no version."""
    found = _BASE.match(version.strip())
    if found is None:
        return ""
    return found[0] if found[0].count(".") == 2 else f"{found[0]}.0"


PAIRS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("7.0.0", "5.0.0", ("1.11.0.post8", "2.0.1.post1", "2.1.0")),
    ("8.0.RC1", "6.0.rc1", ("2.1.0.post3",)),
    ("8.0.RC2", "6.0.rc2", ("2.1.0.post6", "2.3.1")),
    ("8.0.RC3", "6.0.rc3", ("2.1.0.post8", "2.3.1.post2", "2.4.0")),
    ("8.0.0", "6.0.0", ("2.1.0.post10", "2.3.1.post4", "2.4.0.post2")),
    ("8.1.RC1", "7.0.0", ("2.1.0.post12", "2.3.1.post6", "2.4.0.post4", "2.5.1")),
    ("8.2.RC1", "7.1.0", ("2.1.0.post13", "2.5.1.post1", "2.6.0")),
    ("8.3.RC1", "7.2.0", ("2.1.0.post17", "2.6.0.post3", "2.7.1", "2.8.0")),
    ("8.5.0", "7.3.0", ("2.6.0.post5", "2.7.1.post2", "2.8.0.post2", "2.9.0")),
    ("9.0.0", "26.0.0", ("2.7.1.post4", "2.8.0.post4", "2.9.0.post2", "2.10.0")),
)
"""CANN, the line of torch_npu that goes with it, and its packages."""


def cann_for(torch_npu: str) -> str:
    """The CANN release that a torch_npu package was made for; "" for one that is not in the table."""
    bare = torch_npu.split("+", 1)[0].strip()
    return next((cann for cann, _, packages in PAIRS if bare in packages), "")


def torch_npu_for(cann: str, base: str) -> str:
    """The torch_npu package of a CANN release for a base version of torch; "" where the table has none."""
    packages = packages_for(cann)
    return next((package for package in packages if base_version(package) == base), "")


def packages_for(cann: str) -> tuple[str, ...]:
    """The torch_npu packages that go with a CANN release; () for a release that is not in the table.

    A later release of a line that has one row ("8.5.1", "8.3.RC2") goes by that row.
    """
    line, release = cann_of(cann)
    exact = [packages for row, _, packages in PAIRS if row.upper() == release]
    of_line = [packages for row, _, packages in PAIRS if cann_of(row)[0] == line]
    chosen = exact or (of_line if len(of_line) == 1 else [])
    return chosen[0] if chosen else ()


# ---- driver ----

PAIRED_DRIVERS: Mapping[str, str] = {
    **{"7.0.0": "23.0.0", "8.0.RC1": "24.1.rc1", "8.0.RC2": "24.1.rc2", "8.0.RC3": "24.1.rc3"},
    **{"8.0.0": "24.1.0", "8.1.RC1": "25.0.rc1", "8.2.RC1": "25.2.0", "8.3.RC1": "25.3.rc1"},
    **{"8.5.0": "25.5.0", "9.0.0": "26.0.rc1", "9.1.0": "26.1.0"},
}
"""CANN and the Ascend HDK (driver) released with it."""

OLDEST_DRIVERS: Mapping[str, str] = {
    **{"8.0": "23.0.2", "8.1": "23.0.2", "8.2": "24.1.rc2", "8.3": "24.1.rc2", "8.5": "25.0.rc1"}
}
"""Line of CANN and the oldest driver that the vendor's release notes list for it. Where they are silent, the
oldest one that the toolkit's own compatible_version can mean."""


def paired_driver(cann: str) -> str:
    """The driver released with a CANN release, or with the only one of its line that is known; "" else."""
    line, release = cann_of(cann)
    exact = {name.upper(): driver for name, driver in PAIRED_DRIVERS.items()}.get(release, "")
    of_line = [driver for name, driver in PAIRED_DRIVERS.items() if cann_of(name)[0] == line]
    return exact or (of_line[0] if len(of_line) == 1 else "")


def oldest_driver(cann: str) -> str:
    """The oldest driver that is listed for a CANN release; "" where that is not known."""
    return OLDEST_DRIVERS.get(cann_of(cann)[0], "")


# ---- lists of version files ----

INNER_VERSIONS: Mapping[str, str] = {
    **{"8.0.RC1": "V100R001C17", "8.0.RC2": "V100R001C18", "8.0.RC3": "V100R001C19", "8.0.0": "V100R001C20"},
    **{"8.1.RC1": "V100R001C21", "8.2.RC1": "V100R001C22", "8.3.RC1": "V100R001C23"},
}
"""What version files of these releases say; later ones of a line with one row are of the same one."""


def inner_by_release(cann: str) -> str:
    """The inner version that a toolkit's release stands for, without its own file; "" where not known."""
    line, release = cann_of(cann)
    exact = INNER_VERSIONS.get(release, "")
    of_line = [inner for name, inner in INNER_VERSIONS.items() if cann_of(name)[0] == line]
    return exact or (of_line[0] if len(of_line) == 1 else "")


_INNER = re.compile(r"V(?P<v>\d+)R(?P<r>\d+)C(?P<c>\d+)", re.IGNORECASE)


def inner_of(version: str) -> str:
    """The part of an inner version that lists name: "V100R001C22SPC001B231" -> "V100R001C22"; "" for none."""
    found = _INNER.match(version.strip())
    return found[0].upper() if found else ""


def _inner_key(version: str) -> tuple[int, ...]:
    found = _INNER.match(version)
    return tuple(int(found[name]) for name in ("v", "r", "c")) if found else ()


def lists_inner(compatible: str, inner: str) -> bool | None:
    """Whether a compatible_version list names an inner version; of two in one bracket, whatever lies between.

    None where the list or the version is none.
    """
    wanted = _inner_key(inner_of(inner))
    keys = [tuple(_inner_key(inner_of(name)) for name in group) for group in brackets(compatible)]
    keys = [group for group in keys if all(group)]
    if not wanted or not keys:
        return None
    return any(min(group) <= wanted <= max(group) for group in keys)


def in_ranges(ranges: str, version: str) -> bool | None:
    """Whether a version lies in one of "[low,high],[low,high]"; "25.2." is all that begins so.

    None where there is no range of two or no version.
    """
    key = release_key(version)
    pairs = [group for group in brackets(ranges) if len(group) == 2]
    if not key or not pairs:
        return None
    return any(_in_range(low, high, version, key) for low, high in pairs)


def _in_range(low: str, high: str, version: str, key: Key) -> bool:
    bounds = release_key(low), release_key(high)
    if not all(bounds) or key < bounds[0]:
        return False
    return version.startswith(high) if high.endswith(".") else key[: len(bounds[1])] <= bounds[1]


def newest(releases: Iterable[str]) -> str:
    """The newest of some releases; "" of none."""
    return max(releases, key=release_key, default="")
