"""How much the tools of memory and performance captures write, as far as documents and earlier rounds tell.

What a program launches decides it, so without an earlier round of the same program most of it is unknown, and
said to be. The factors are the makers' own where they name one, else wide.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..driver import SizeBasis
from ..earlier import earlier_round
from ..preflight_settings import ranks_told
from ..request import CaptureRequest
from . import parts
from .texts_sizes import TEXTS

SESSION_TOOLS = ("msprof", "msprof-dynamic")
EXPORT_FACTOR = 20
"""The makers' advice: about 20 times the raw bytes of a session are to be reserved for its export."""
SPREAD = 4
"""Two rounds of one program: another level, more steps, another time to record."""

REPORT_BYTES = 1024
"""One report of msSanitizer: nine lines and its frames."""
MANY_REPORTS = 100_000
"""A race on a whole buffer is not summed up: thousands of reports of one line of code."""
N_DEBUG_LOGS = 10
"""The debug log and the nine that it rotates to."""
DEBUG_LOG_MB = 1024
HOST_REPORT_BYTES = 16 << 20
"""Of one process: the report that ends it, or some thousand leaks with their stacks."""


@dataclass(frozen=True, slots=True)
class Size:
    """need: least and most bytes, None where nobody can tell. basis: what it rests on, or why not."""

    need: tuple[int, int] | None
    basis: SizeBasis


def _size(need: tuple[int, int] | None, key: str, **values: object) -> Size:
    return Size(need, SizeBasis(parts.words(TEXTS, key, **values)))


def of_sessions(request: CaptureRequest, tools: Collection[str]) -> Size:
    """Raw data of a profiling session and its export. tools: ids of the drivers that record the same."""
    earlier = earlier_round(request, tools)
    raw_bytes = earlier.figures.get("raw_bytes") if earlier is not None else None
    if earlier is not None and isinstance(raw_bytes, int) and raw_bytes > 0:
        most = max(earlier.size_bytes, raw_bytes * (1 + EXPORT_FACTOR)) * SPREAD
        return _size(
            (raw_bytes // SPREAD, most), "sessions-like", name=earlier.folder.name, factor=EXPORT_FACTOR
        )
    limit = parts.settings_of(request).get("storage-limit", "").removesuffix("MB")
    if limit.isascii() and limit.isdecimal():
        n_ranks = ranks_told(request.command, request.environment)[0] or 1
        most = int(limit) * (1 << 20) * (1 + EXPORT_FACTOR) * n_ranks
        return _size((0, most), "sessions-limit", n=n_ranks, factor=EXPORT_FACTOR)
    return _size(None, "sessions-first", factor=EXPORT_FACTOR)


def of_results(request: CaptureRequest, tool: str, first: str) -> Size:
    """What only an earlier round tells. first: key of what is said without one."""
    earlier = earlier_round(request, (tool,))
    if earlier is None:
        return _size(None, first)
    need = earlier.size_bytes // SPREAD, earlier.size_bytes * SPREAD
    return _size(need, "like", name=earlier.folder.name)


def of_sanitizer(request: CaptureRequest) -> Size:
    """Reports of msSanitizer, and its debug log where that is asked for."""
    settings = parts.settings_of(request)
    most = MANY_REPORTS * REPORT_BYTES
    if settings.get("debug-log") != "yes":
        return _size((REPORT_BYTES, most), "reports", n=f"{MANY_REPORTS:,}")
    each = settings.get("max-debuglog-size", str(DEBUG_LOG_MB))
    most += N_DEBUG_LOGS * (int(each) << 20)
    return _size((REPORT_BYTES, most), "reports-debug", n=f"{MANY_REPORTS:,}", logs=N_DEBUG_LOGS, each=each)


def of_host_reports(request: CaptureRequest) -> Size:
    """Reports of AddressSanitizer and its like, a file a process."""
    if parts.settings_of(request).get("halt-on-error") == "0":
        return _size(None, "host-goes-on")
    n_ranks = ranks_told(request.command, request.environment)[0] or 1
    return _size((REPORT_BYTES, n_ranks * HOST_REPORT_BYTES), "host", n=n_ranks)
