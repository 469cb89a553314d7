"""The sites as one table: a row a site, in the order in which they should be looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from npulse.core.table import Column, Table, text_column

from .analyse import Memory
from .faults import Frame
from .figures import (
    AREA,
    cores_text,
    hexadecimal,
    place_text,
    role_of,
    rule_id,
    subject_of,
)
from .pool_advice import is_kept
from .sites import Site

SUBJECT = "subject"
"""The column that holds the subject of marks and notes."""
IS_NAMED = "is_named"
"""The column that says whether the subject names more than the kind of fault: a place, a kernel, a code."""

SHORT_NAME = "short_name"
"""The column that holds what a kernel of a package of operators can be called where there is little room: its
operator, without hash and tiling key. Absent where that names another subject of the table as well."""


def is_named(subject: str, kind: str) -> bool:
    """Whether a subject names a place, a kernel or a code, not the kind alone, which stands in for them."""
    return subject != kind


def memory_table(found: Memory) -> Table:
    """All sites; absent is what no log says."""
    sites = found.sites
    repeated = found.settings.criteria.repeated_leaks

    def texts(name: str, of: Callable[[Site], str | None]) -> Column:
        return text_column(name, [of(site) or None for site in sites])

    def numbers(name: str, of: Callable[[Site], int | None], unit: str = "") -> Column:
        values = [of(site) for site in sites]
        absent = np.array([value is None for value in values], np.bool_)
        # sizes in a hostile log can lie beyond what 64 bits hold, in both directions
        kept = np.array([min(max(value or 0, -(2**63)), 2**63 - 1) for value in values], np.int64)
        return Column(name, "int", kept, None, absent if absent.any() else None, unit)

    def flags(name: str, of: Callable[[Site], bool]) -> Column:
        values = np.array([of(site) for site in sites], np.bool_)
        return Column(name, "bool", values, is_internal=True)

    states = found.cleanup.states if found.cleanup is not None else ()
    columns = [
        texts("severity", lambda site: site.first.severity),
        texts("kind", lambda site: site.first.kind),
        texts("space", lambda site: site.first.access.space),
        numbers("size_bytes", _size, "bytes"),
        texts(SUBJECT, subject_of),
        numbers("count", lambda site: site.n),
        texts("cores", cores_text),
        texts("role", role_of),
        texts("rule", lambda site: f"{AREA}.{rule_id(site, repeated)}"),
        texts("access", lambda site: site.first.access.word),
        texts("hazard", lambda site: site.first.hazard),
        texts("kernel", lambda site: site.first.access.kernel),
        texts("function", lambda site: site.place.function if site.place is not None else ""),
        texts("file", lambda site: _file(site.place)),
        numbers("line", lambda site: _line(site.place)),
        texts("second_place", _second_place),
        texts("second_file", lambda site: _file(_second(site))),
        numbers("second_line", lambda site: _line(_second(site))),
        texts("devices", lambda site: ",".join(map(str, site.devices))),
        texts("threads", lambda site: ",".join(site.threads)),
        texts("pcs", lambda site: ",".join(f"{pc:#x}" for pc in site.pcs)),
        texts("address_first", lambda site: hexadecimal(site.address.first) if site.address else None),
        texts("address_last", lambda site: hexadecimal(site.address.last) if site.address else None),
        numbers("serial_first", lambda site: site.serial.first if site.serial else None),
        numbers("distance_bytes", lambda site: site.distance.first if site.distance else None, "bytes"),
        texts("side", lambda site: site.first.block.side if site.first.block is not None else None),
        texts("tool", lambda site: site.first.tool),
        texts("artifact", lambda site: site.first.artifact),
        numbers("log_line", lambda site: site.first.line),
        text_column("state", list(states) if states else [None] * len(sites)),
        text_column("operator", [_operator(found, site) for site in sites]),
        replace(text_column(SHORT_NAME, _short_names(sites)), is_internal=True),
        flags(IS_NAMED, lambda site: is_named(subject_of(site), site.first.kind)),
    ]
    return Table(AREA, tuple(columns))


def short_name(subject: str, figures: Mapping[str, object]) -> str:
    """The operator of a kernel that is the subject, as raw as it came; "" where something else is it."""
    op_type = figures.get("op_type")
    is_kernel = subject == figures.get("kernel_name")
    return op_type if is_kernel and isinstance(op_type, str) and op_type != subject else ""


def _short_names(sites: Sequence[Site]) -> list[str | None]:
    subjects = [subject_of(site) for site in sites]
    short = [short_name(subject, site.first.figures) for subject, site in zip(subjects, sites, strict=True)]
    meant: dict[str, set[str]] = {}
    for name, subject in zip(short, subjects, strict=True):
        meant.setdefault(name, set()).add(subject)
    return [name if name and len(meant[name]) == 1 else None for name in short]


def _size(site: Site) -> int | None:
    """Of memory that is kept the sum, of all else the one size of an access."""
    is_sum = site.first.is_leak or is_kept(site.first)
    return site.total_bytes if is_sum else site.size_bytes


def _second(site: Site) -> Frame | None:
    """The place of the other access, of a race."""
    return next((place for place in site.places[1:] if place_text(place)), None)


def _second_place(site: Site) -> str:
    return place_text(_second(site))


def _file(place: Frame | None) -> str | None:
    return place.file if place is not None and place.has_file else None


def _line(place: Frame | None) -> int | None:
    return place.line if place is not None and place.has_line else None


def _operator(found: Memory, site: Site) -> str | None:
    joined = found.joined.get(site.key)
    return (joined.operator or None) if joined is not None else None
