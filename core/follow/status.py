"""How a followed run stands, as a small JSON file that a scheduler can poll."""

from __future__ import annotations

import os
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from npulse.core.findings import Finding
from npulse.core.report.as_json import SCHEMA
from npulse.core.report.blocks import json_text
from npulse.core.report.write import write_report
from npulse.core.text import safe_text
from npulse.core.watch.events import LiveState
from npulse.core.watch.recorded import recorded_by_rank

from .session import HEARTBEAT_S, Look

MAX_TEXT_CHARS = 300
MAX_RANKS = 4096


def status_dict(look: Look, *, version: str, strict: bool = False) -> dict[str, Any]:
    """What the file holds: state, verdict and exit code so far, the finding to look at first, what was
    recorded of each rank.

    It is written anew at least every `heartbeat_s`: an older `updated` means that nobody watches.
    """
    areas = {}
    counted: Counter[str] = Counter()
    for name, one in look.reports.items():
        report = one.report
        own = Counter(finding.severity for finding in report.findings)
        counted.update(own)
        first = next(iter(report.findings), None)
        areas[name] = {
            "verdict": report.verdict,
            "errors": own["error"],
            "warnings": own["warning"],
            "problems": len(report.problems),
            "counts": dict(report.counts),
            "first": _finding(first),
        }
    ranks = recorded_by_rank(look.run.artifacts)
    return {
        "schema": SCHEMA,
        "npulse": version,
        "command": "watch",
        "run": str(look.run.path),
        "pid": os.getpid(),
        "updated": utc_text(look.at_ns),
        "heartbeat_s": HEARTBEAT_S,
        "state": state_dict(look.state),
        "verdict": look.verdict,
        "exit_code": look.exit_code(strict=strict),
        "errors": counted["error"],
        "warnings": counted["warning"],
        "first": _finding(_first(look)),
        "areas": areas,
        "recorded": [
            {
                "rank": one.rank,
                "artifacts": one.n_artifacts,
                "size_bytes": one.size_bytes,
                "newest": utc_text(one.written_ns),
            }
            for one in ranks[:MAX_RANKS]
        ],
        "n_ranks": len(ranks),
    }


def state_word(state: LiveState) -> str:
    """live, quiet, writer-gone or unreachable."""
    if not state.is_reachable:
        return "unreachable"
    if state.quiet_since_ns is None:
        return "live"
    return "writer-gone" if state.has_writer is False else "quiet"


def state_dict(state: LiveState) -> dict[str, Any]:
    """The state of the folder and its writer, keys as contract.md."""
    return {
        "state": state_word(state),
        "mode": state.mode,
        "why": state.why,
        "bytes_per_s": state.bytes_per_s,
        "lag_s": state.lag_s,
        "last_write": utc_text(state.last_write_ns),
        "has_writer": state.has_writer,
    }


def write_status(look: Look, path: Path, *, version: str, strict: bool = False) -> None:
    """Write the file, whole or not at all. InputError where it cannot be written or would lie in the run."""
    text = json_text(status_dict(look, version=version, strict=strict), indent=1)
    write_report([text, "\n"], path, runs=(look.run.path,))


def _first(look: Look) -> Finding | None:
    """The finding to look at first: an error before all others, in the order of the areas."""
    found = [next(iter(one.report.findings), None) for one in look.reports.values()]
    known = [finding for finding in found if finding is not None]
    order = ("error", "warning", "note")
    return min(known, key=lambda finding: order.index(finding.severity), default=None)


def _finding(finding: Finding | None) -> dict[str, Any] | None:
    if finding is None:
        return None
    return {
        "area": finding.area,
        "severity": finding.severity,
        "rule": finding.rule,
        "role": finding.role,
        "subject": safe_text(finding.subject, MAX_TEXT_CHARS),
        "message": safe_text(finding.message, MAX_TEXT_CHARS),
        "rank": finding.location.rank,
        "step": finding.location.step,
    }


def utc_text(at_ns: int | None) -> str | None:
    """UTC time for programs, to the millisecond; None for none."""
    if not at_ns:
        return None
    at = datetime.fromtimestamp(at_ns // 1_000_000 / 1e3, timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
