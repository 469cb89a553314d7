"""What is said of a profile that nobody exported: what it is, how far it is, how to export it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from npulse.core.findings import Location
from npulse.core.formats.profiling.session import Session
from npulse.core.text import Lang, safe_text, say

from .advice import Advice, words
from .raw_growth import RawGrowth
from .texts import KIND_NAMES, RAW, STATES


def advice_of_raw(session: Session, root: Path, growth: RawGrowth | None = None) -> Iterator[Advice]:
    """What to run on a session without any exported figures. growth: of a followed one, how it grows."""
    kind, state = KIND_NAMES[session.kind], STATES[session.state]
    try:
        folder = session.folder.relative_to(root).as_posix()
    except ValueError:
        folder = str(session.folder)
    command = export_command(session)
    missing = ", ".join(session.missing) or "ASCEND_PROFILER_OUTPUT"
    who = [
        "" if session.rank is None else f"rank {session.rank}, ",
        "".join(f"device {device}, " for device in session.devices),
    ]
    key = "next-collecting" if session.state == "collecting" else "next"
    filled = [
        RAW["raw"][place].format(
            kind=kind[place],
            state=state[place],
            who="".join(who),
            n=f"{session.n_files:,}",
            size=session.size_bytes,
            missing=missing,
        )
        for place in (0, 1)
    ]
    yield Advice(
        rule="performance.not-exported",
        severity="warning",
        role="unknown",
        subject=folder if folder != "." else session.folder.name,
        message=(filled[0], filled[1]),
        next_step=words(RAW, key, command=safe_text(command, 1000)),
        figures={
            "kind": f"{kind[0]}, raw",
            "state": session.state,
            "parsed": session.state in ("parsed", "exporting", "exported"),
            "rank": session.rank,
            "devices": list(session.devices),
            "missing": missing,
            "n_raw_files": session.n_files,
            "n_slices": session.n_slices,
            "n_closed_slices": session.n_closed,
            "done_ratio": session.n_closed / session.n_slices if session.n_slices else None,
            "size_bytes": session.size_bytes,
            "pid": session.pid,
            "command": command,
            **(_growth_figures(growth) if growth is not None else {}),
        },
        profile=folder,
        location=Location(artifact=folder, rank=session.rank),
    )


def export_command(session: Session) -> str:
    """The command that exports a session; of one that is still written to a copy of it, never itself."""
    if not session.export_argv:
        return ""
    if session.state != "collecting":
        return _command(session, str(session.folder))
    copied = f"mkdir COPY && cp -r {shlex.quote(str(session.folder))} COPY/"
    command = _command(session, f"COPY/{session.folder.name}")
    # a name that Python has to escape is not found in the command: better none than one for the original
    return copied if command == _command(session, str(session.folder)) else f"{copied} && {command}"


def _command(session: Session, folder: str) -> str:
    """The same for another folder of the same content."""
    argv = [word.replace(str(session.folder), folder) for word in session.export_argv]
    if session.export_code:
        return f"python3 -c {shlex.quote(argv[-1])}"
    return shlex.join(argv)


def _growth_figures(growth: RawGrowth) -> dict[str, Any]:
    return {
        "n_new_slices": growth.n_new_slices,
        "growth_bytes_per_s": growth.growth_bytes_per_s,
        "host_cpu_percent": list(growth.cpu_percent),
        "host_memory_bytes": list(growth.memory_bytes),
        **({} if growth.export is None else {"is_copy_exported": growth.export.state == "exported"}),
    }


def growth_lines(session: Session, growth: RawGrowth, levels: str, lang: Lang) -> list[str]:
    """A followed session in a few lines. levels: glyphs of a sparkline, low to high."""
    rate, export = growth.growth_bytes_per_s, growth.export
    lines = [
        say(
            RAW,
            "growth",
            lang,
            n=session.n_slices,
            closed=session.n_closed,
            size=session.size_bytes,
            rate="?" if rate is None else f"{rate:,.0f}",
        )
    ]
    if growth.cpu_percent:
        last = f"{growth.cpu_percent[-1]:.0f}"
        lines.append(say(RAW, "host-cpu", lang, line=sparkline(growth.cpu_percent, levels), last=last))
    if growth.memory_bytes:
        last = f"{growth.memory_bytes[-1] / 2**20:,.0f}"
        lines.append(say(RAW, "host-memory", lang, line=sparkline(growth.memory_bytes, levels), last=last))
    if export is not None:
        when = datetime.fromtimestamp(export.at_s).strftime("%H:%M:%S")
        lines.append(
            say(
                RAW, f"export-{export.state}", lang, n=export.n_closed, at=when, why=safe_text(export.message)
            )
        )
    return lines


def sparkline(values: Sequence[float], levels: str) -> str:
    """A glyph a value; the lowest and the highest level are the least and the most of them."""
    least, most = min(values), max(values)
    if most <= least:
        return levels[0] * len(values)
    top = len(levels) - 1
    return "".join(levels[round((value - least) / (most - least) * top)] for value in values)
