"""The sites as one table: a row a site, in the order in which they should be looked at."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from npulse.core.table import Column, Table, text_column

from .analyse import Memory
from .figures import (
    AREA,
    cores_text,
    hexadecimal,
    place_text,
    role_of,
    rule_id,
    subject_of,
)
from .sites import Site

SUBJECT = "subject"
"""The column that holds the subject of marks and notes."""


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
        texts("second_place", _second_place),
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
    ]
    return Table(AREA, tuple(columns))


def _size(site: Site) -> int | None:
    return site.total_bytes if site.first.is_leak else site.size_bytes


def _second_place(site: Site) -> str:
    others = [place_text(place) for place in site.places[1:]]
    return next((text for text in others if text), "")


def _operator(found: Memory, site: Site) -> str | None:
    joined = found.joined.get(site.key)
    return (joined.operator or None) if joined is not None else None
