"""Archives that the tests write: rounds with manifests, sanitizer logs and profiles of known figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from npulse.core.run.discover import discover
from npulse.core.run.model import Run

HEAD = "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Input Shapes\n"


def toml_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_text, value)) + "]"
    return repr(value)


def write_round(folder: Path, top: Mapping[str, object], **tables: Mapping[str, object]) -> Path:
    """A round's manifest: keys at its top, then tables."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{key} = {toml_text(value)}" for key, value in top.items()]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f'"{key}" = {toml_text(value)}' for key, value in table.items())]
    (folder / "round.toml").write_text("\n".join(lines) + "\n")
    return folder


def closed(kind: str, minute: int, **more: object) -> dict[str, object]:
    """The keys of a round that was captured and closed at that minute."""
    return {
        "schema": 1,
        "state": "closed",
        "kind": kind,
        "tool": "asan",
        "command": ["python", "train.py", "--dtype", "fp16"],
        "start": f"2026-03-01T10:{minute:02}:00.000Z",
        "end": f"2026-03-01T10:{minute:02}:30.000Z",
        "exit_status": 0,
        **more,
    }


def faults(folder: Path, *lines: int) -> Path:
    """A sanitizer's log, complete, with one fault at each of these lines."""
    raw = folder / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    told = "".join(
        f"====== ERROR: illegal write of size 4\n======    at 0x30a00 on GM in add_custom\n"
        f"======    in block aiv(0) on device 0\n======    code in pc current 0x694 (serialNo:10)\n"
        f"======    #0 /build/add.cpp:{line}:9\n\n"
        for line in lines
    )
    end = "See all detected errors above." if lines else "No error detected."
    (raw / "check.log").write_text(
        "[mssanitizer] Start memcheck sanitizer on kernel add_custom\n"
        f"{told}[mssanitizer] Sanitizer finished on kernel add_custom. {end}\n"
    )
    return folder


def profile(folder: Path, us: float, *, steps: int = 6, n: int = 4, wobble_us: float = 0.0) -> Path:
    """A kernel_details table: n calls of one operator a step; each second step takes `wobble_us` more."""
    raw = folder / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    lines, at = [HEAD], 1_700_000_000_000_000.0
    for step in range(steps):
        took = us + (wobble_us if step % 2 else 0.0)
        for _ in range(n):
            lines.append(f'{step},MatMulV2,MatMulV2,AI_CORE,{at:.3f}\t,{took},0,"""8,8"""\n')
            at += took + 1.0
    (raw / "kernel_details.csv").write_text("".join(lines))
    return folder


def two_memory_rounds(archive: Path) -> Run:
    """Two faults, then one, after a variable, a flag and the commit were changed."""
    first = archive / "sanitizer" / "a_20260301-100000"
    second = archive / "sanitizer" / "b_20260301-100100"
    write_round(
        faults(first, 38, 57),
        closed("memory", 0),
        environment={"INF_NAN_MODE_ENABLE": "0", "HCCL_X": "1", "MY_TOKEN": "s3cret"},
        versions={"torch_npu": "2.1.0"},
        git={"commit": "aaaa", "branch": "main"},
        recorded={"outcome": "recorded", "n_files": 1, "size_bytes": 10},
    )
    write_round(
        faults(second, 38),
        closed("memory", 1, command=["python", "train.py", "--dtype", "bf16"]),
        environment={"INF_NAN_MODE_ENABLE": "1", "ASCEND_X": "2", "MY_TOKEN": "other"},
        versions={"torch_npu": "2.1.0"},
        git={"commit": "bbbb", "branch": "main"},
        recorded={"outcome": "recorded", "n_files": 1, "size_bytes": 10},
    )
    return discover(archive)


NAMES = tuple(
    f"{name}_20260301-10{minute:02}00" for minute, name in enumerate(("base", "scale", "fix", "lost", "tune"))
)


def golden_archive(archive: Path) -> Run:
    """Five rounds of known figures: faults 2, 1, 0, nothing recorded, 0; steps of 10, 10.05, 15, -, 12 ms.

    The third changes a flag and a variable: it mends the faults and makes the steps slower.
    """
    told = (((38, 57), 100.0), ((38,), 100.5), ((), 150.0), None, ((), 120.0))
    for minute, (name, one) in enumerate(zip(NAMES, told, strict=True)):
        folder, more = archive / "sanitizer" / name, {}
        if one is not None:
            lines, us = one
            profile(faults(folder, *lines), us, wobble_us=1.0)
            more = {"step_ms": us / 10}
        dtype, mode = ("fp16", "0") if minute < 2 else ("bf16", "1")
        command = ["python", "train.py", "--dtype", dtype]
        write_round(
            folder,
            closed("memory", minute, command=command, **more),
            environment={"INF_NAN_MODE_ENABLE": mode},
            recorded={"outcome": "nothing" if one is None else "recorded"},
        )
    return discover(archive)
