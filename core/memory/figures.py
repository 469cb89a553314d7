"""What is known of one site, as figures of the contract and as people read them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from npulse.core.text import safe_text

from .faults import Block, Frame
from .kinds import rule_of
from .leaks import repeat_of
from .places import user_frame
from .sites import Site

AREA = "memory"

_OWN_NAMES = frozenset(("extra", "origins"))
"""Figures of a fault that are shown another way."""
_LAST_US = 250_000_000_000_000_000  # in the year 9892, beyond which no date can be written


def rule_id(site: Site, repeated_leaks: float) -> str:
    """The rule that a site falls under."""
    if site.group == "follows":
        return "follows"
    if repeat_of(site, repeated_leaks) is not None and site.first.kind == "leak":
        return "workspace-leak"
    return rule_of(site.first)


def role_of(site: Site) -> str:
    """origin: an error of its own; suspect: a warning; inherited: only follows; unknown: cannot be told."""
    first = site.first
    if site.group == "follows":
        return "inherited"
    if site.group == "unknown" or first.kind in ("internal error", "other"):
        return "unknown"
    return {"error": "origin", "warning": "suspect"}.get(first.severity, "benign")


def subject_of(site: Site) -> str:
    """The name that the tool wrote: file and line of the user's code, else the kernel, else the kind."""
    place = site.place
    if place is not None and place.has_line:
        return f"{place.file}:{place.line}"
    figures = site.first.figures
    name = figures.get("kernel_name") or site.first.access.kernel or figures.get("node_name")
    if name:
        return str(name)
    if place is not None and place.has_file:
        return place.file
    return str(site.first.figures.get("code") or site.first.kind)


def place_text(frame: Frame | None) -> str:
    """file:line of a frame; line 0 is told as unknown, never as a line. "" where nothing is known."""
    if frame is None:
        return ""
    if frame.has_line:
        return f"{frame.file}:{frame.line}"
    if frame.has_file:
        return f"{frame.file}:?"
    return f"{frame.module}+0x{frame.offset:x}" if frame.module and frame.offset is not None else ""


def hexadecimal(value: int | None) -> str | None:
    return None if value is None else f"{value:#x}"


def cores_text(site: Site) -> str:
    """aiv(0-7),aic(1,3)"""
    return ",".join(map(str, site.cores))


def core_ids(site: Site, most: int = 4096) -> list[int]:
    """The numbers of all cores, whatever their type."""
    found: set[int] = set()
    for cores in site.cores:
        for first, last in cores.ranges:
            found.update(range(first, min(last, first + most) + 1))
    return sorted(found)[:most]


def site_figures(site: Site) -> dict[str, Any]:
    """All that is known; what is not known is left out."""
    first, access, place = site.first, site.first.access, site.place
    figures: dict[str, Any] = {
        "kind": first.kind,
        "tool": first.tool,
        "count": site.n,
        "hazard": first.hazard or None,
        "access": access.word or None,
        "space": access.space or None,
        "size_bytes": site.size_bytes,
        "sizes_bytes": [size for size, _ in site.sizes] if site.n_sizes > 1 else None,
        "kernel": access.kernel or None,
        "cores": cores_text(site) or None,
        "core_ids": core_ids(site) or None,
        "devices": list(site.devices) or None,
        "threads": list(site.threads) or None,
        "pids": list(site.pids) or None,
        "pcs": [hexadecimal(pc) for pc in site.pcs] or None,
        "address_first": hexadecimal(site.address.first) if site.address else None,
        "address_last": hexadecimal(site.address.last) if site.address else None,
        "serial_first": site.serial.first if site.serial else None,
        "serial_last": site.serial.last if site.serial else None,
        "file": place.file if place is not None and place.has_file else None,
        "line": place.line if place is not None and place.has_line else None,
        "function": (place.function or None) if place is not None else None,
        "places": [place_text(one) or None for one in site.places] if len(site.places) > 1 else None,
        "artifacts": list(site.artifacts) if len(site.artifacts) > 1 else None,
        "log_lines": [site.lines.first, site.lines.last] if site.n > 1 else None,
    }
    figures |= _leak_figures(site) if first.is_leak else {}
    figures |= _block_figures(first.block) if first.block is not None else {}
    if first.task is not None:
        task = first.task
        figures |= {
            "device_id": task.device,
            "stream_id": task.stream,
            "task_id": task.task,
            "flip": task.flip,
        }
    for name, value in first.figures.items():
        if name not in _OWN_NAMES and name not in figures:
            figures[name] = list(value) if isinstance(value, tuple) else value
    if first.kind == "lock-up" and "n_pipes" in first.figures:
        figures["summary_matches"] = first.figures["n_pipes"] == len(first.accesses)
    if first.time_us is not None:
        figures["time"] = shown_time(first.time_us)
    for name, n in (("n_cut", site.n_cut), ("n_partial", site.n_partial), ("n_mixed", site.n_mixed)):
        figures[name] = n or None
    return {name: value for name, value in figures.items() if value not in (None, "", [], ())}


def _leak_figures(site: Site) -> dict[str, Any]:
    return {"leaked_bytes": site.total_bytes, "n_allocations": site.n_objects or site.n}


def _block_figures(block: Block) -> dict[str, Any]:
    return {
        "block_bytes": block.size_bytes,
        "block_start": hexadecimal(block.start),
        "side": block.side,
        "distance_bytes": block.distance_bytes,
        "variable": block.name or None,
        "allocated_at": _stack_place(block.allocated),
        "freed_at": _stack_place(block.freed),
    }


def _stack_place(frames: tuple[Frame, ...]) -> str | None:
    """The innermost frame of the user's own code; where none has a line, any that has one."""
    at = user_frame(frames)
    if at is not None and frames[at].has_line:
        return place_text(frames[at])
    return next((place_text(frame) for frame in frames if frame.has_line), None)


def shown_time(time_us: int) -> str:
    """A log's own time, which names no zone: "2026-08-01 02:28:06.512110"."""
    moment = datetime(1970, 1, 1) + timedelta(microseconds=min(time_us, _LAST_US))
    return moment.isoformat(" ", "microseconds")


def shown_name(text: str, limit: int = 200) -> str:
    """A name from a log, safe to show."""
    return safe_text(text, limit)
