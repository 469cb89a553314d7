"""What is said of a profile that nobody exported: what it is, how far it is, how to export it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from npulse.core.findings import Location
from npulse.core.formats.profiling.session import Session
from npulse.core.text import safe_text

from .advice import Advice, words
from .texts import KIND_NAMES, RAW, STATES


def advice_of_raw(session: Session, root: Path) -> Iterator[Advice]:
    """What to run on a session without any exported figures."""
    kind, state = KIND_NAMES[session.kind], STATES[session.state]
    try:
        folder = session.folder.relative_to(root).as_posix()
    except ValueError:
        folder = str(session.folder)
    command = session.export_code or shlex.join(session.export_argv)
    if session.export_code:
        command = f"python3 -c {shlex.quote(session.export_code)}"
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
        next_step=words(RAW, key, command=safe_text(command, 400), folder=safe_text(folder)),
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
            "size_bytes": session.size_bytes,
            "pid": session.pid,
            "command": command,
        },
        profile=folder,
        location=Location(artifact=folder, rank=session.rank),
    )
