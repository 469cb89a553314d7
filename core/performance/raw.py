"""What is said of a profile that nobody exported: what it is, how far it is, and the command that exports it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from npulse.core.findings import Location
from npulse.core.formats.profiling.session import Session
from npulse.core.text import safe_text

from .advice import Advice, words

KIND_NAMES: Mapping[str, tuple[str, str]] = {
    "msprof": ("msprof session", "msprof 会话"),
    "pytorch": ("Ascend PyTorch profiler directory", "Ascend PyTorch Profiler 目录"),
    "mindspore": ("MindSpore profiler directory", "MindSpore Profiler 目录"),
}
STATES: Mapping[str, tuple[str, str]] = {
    "collecting": (
        "collection has not ended (or was killed: compare the time of the last change with the process)",
        "采集未结束（或已被杀死：对照最后修改时间与进程）",
    ),
    "collected": ("collected, not parsed", "已采集，未解析"),
    "parsing": ("parsing has begun and not ended", "解析已开始但未结束"),
    "parsed": ("parsed, not exported", "已解析，未导出"),
    "exporting": ("export has begun and not ended", "导出已开始但未结束"),
    "exported": ("exported, but nothing of it is here", "已导出，但导出结果不在此处"),
}

TEXTS: Mapping[str, tuple[str, str]] = {
    "raw": (
        "{kind}, raw: {state}. {who}{n} raw files, {size:,} bytes; there is no {missing}.",
        "{kind}，原始数据：{state}。{who}{n} 个原始文件，{size:,} 字节；缺少 {missing}。",
    ),
    "next": (
        "Export it (nothing is started by itself): {command}",
        "解析导出（不会自动执行）：{command}",
    ),
    "next-collecting": (
        "Export a copy, never this folder while it is written: an export freezes it. cp -r {folder} COPY, then on COPY: {command}",
        "采集中请导出副本而不是本目录：导出会使其冻结。cp -r {folder} COPY，然后对 COPY 执行：{command}",
    ),
}


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
        TEXTS["raw"][place].format(
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
        next_step=words(TEXTS, key, command=safe_text(command, 400), folder=safe_text(folder)),
        figures={
            "kind": f"{kind[0]}, raw",
            "state": session.state,
            "parsed": session.state in ("parsed", "exporting", "exported"),
            "rank": session.rank,
            "devices": list(session.devices),
            "missing": missing,
            "raw_files": session.n_files,
            "slices": session.n_slices,
            "closed_slices": session.n_closed,
            "size_bytes": session.size_bytes,
            "pid": session.pid,
            "command": command,
        },
        profile=folder,
        location=Location(artifact=folder, rank=session.rank),
    )
