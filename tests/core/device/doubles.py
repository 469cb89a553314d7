"""The double of npu-smi (tests/doubles), as environment, as text, as snapshot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from npulse.core.device.query import NpuSmi
from npulse.core.device.reading import Reading, TextReader
from npulse.core.device.snapshot import Snapshot

FOLDER = Path(__file__).resolve().parents[2] / "doubles"
PROGRAM = FOLDER / "npu-smi"


def environment(scenario: str, **more: str) -> dict[str, str]:
    """What a call of the double needs; its interpreter is this one."""
    path = os.pathsep.join((str(FOLDER), str(Path(sys.executable).parent), "/usr/bin", "/bin"))
    return {"PATH": path, "NPU_SMI_SCENARIO": scenario, **more}


def said(scenario: str, *words: str, **more: str) -> str:
    """What the double prints for a call."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *words],
        env=environment(scenario, **more),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


def reading_of(text: str) -> Reading:
    reader = TextReader("text")
    reader.feed(text.encode())
    reader.finish()
    return reader.reading()


def snapshot_of(scenario: str, *types: str, root: Path = Path("/"), **more: str) -> Snapshot:
    """A live snapshot of the double's cards."""
    return NpuSmi(env=environment(scenario, **more), root=root).snapshot(
        types or ("common", "ecc", "pcie-err")
    )
