"""What a capture is asked for, whichever tool makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from npulse.core.text import Lang

Kind = Literal["precision", "overflow", "memory", "performance"]

FOLDERS: Mapping[Kind, str] = {
    "precision": "dump",
    "overflow": "overflow",
    "memory": "sanitizer",
    "performance": "prof",
}
"""The folder of the archive in which the rounds of a kind lie."""


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """One capture as the user asked for it.

    command: program and arguments as given, never through a shell; () where a tool attaches to `pid`. cwd:
    where it is started. archive: absolute. tool: id of a driver, None for the usual one of the kind. rank,
    step, names: as the tools spell them ("0,2-4", "0|5-10", names or globs of operators), "" and () for all.
    level: of the tool's own levels, or 0 to 3 of the documents' --profiling-level; None for the tool's usual
    one. model: name of a compiled model. keep_inputs: files to be copied and hashed. repeat: how many
    attempts at most until one fails or finds something. keep_last: raw data of attempts without the fault is
    removed once a later one is over. retro: operators kept before the first anomaly.
    keep_fp32: layers that the tool's precision list shall leave in float32. environment: of the program,
    before the driver adds to it. settings: further options of this tool by their own names, without dashes.
    extra: words that are handed to the tool as they are.
    """

    kind: Kind
    command: tuple[str, ...]
    cwd: Path
    archive: Path
    name: str = "capture"
    tool: str | None = None
    rank: str = ""
    step: str = ""
    names: tuple[str, ...] = ()
    level: str | None = None
    model: str | None = None
    pid: int | None = None
    keep_inputs: tuple[Path, ...] = ()
    timeout_s: float | None = None
    repeat: int = 1
    keep_last: bool = False
    is_small: bool = False
    stop_at_first: bool = False
    retro: int = 10
    keep_fp32: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    extra: tuple[str, ...] = ()
    lang: Lang = "en"


def usual_name(command: Sequence[str], pid: int | None, model: str | None = None) -> str:
    """What a round is called by itself: the script, else the program, else the process, else the model."""
    if command:
        return (
            Path(next((word for word in command if word.endswith(".py")), "")).stem or Path(command[0]).name
        )
    return f"pid{pid}" if pid is not None else Path(model or "capture").stem
