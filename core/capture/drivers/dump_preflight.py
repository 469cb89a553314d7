"""What msprobe needs before the start: its own package beside torch in the command's Python."""

from __future__ import annotations

import os
import subprocess

from npulse.core.findings import Finding
from npulse.core.text import safe_text

from ..programs import python_of
from ..request import CaptureRequest
from .texts_dump import words

AREA = "capture"
ASK_S = 20.0
ASK = (
    "import importlib.util as u\n"
    "print(*(int(u.find_spec(name) is not None) for name in ('torch', 'msprobe', 'torch_npu')))"
)
ASK_VERSION = "from importlib.metadata import version; print(version('mindstudio-probe'))"


def dump_preflight(
    request: CaptureRequest, *, needs_msprobe: bool = True, needs_npu: bool = False
) -> tuple[Finding, ...]:
    """What the command's Python lacks; () where all is there or nobody can tell."""
    python = python_of(request)
    has = packages_of(python, request) if python is not None else None
    if python is None or has is None:
        return ()
    has_torch, has_msprobe, has_npu = has
    lacks = [
        *(["capture.msprobe-missing"] if needs_msprobe and not has_msprobe else []),
        *(["capture.torch-npu-missing"] if needs_npu and not has_npu else []),
    ]
    return tuple(_finding(rule, python, request) for rule in lacks if has_torch)


def _finding(rule: str, python: str, request: CaptureRequest) -> Finding:
    i = 1 if request.lang == "zh" else 0
    shown = safe_text(python, 300)
    said, next_step = words(rule, python=shown), words(f"{rule}-next", python=shown)
    return Finding(AREA, "error", rule, "origin", shown, said[i], next_step[i])


def packages_of(python: str, request: CaptureRequest) -> tuple[bool, bool, bool] | None:
    """Whether that Python finds torch, msprobe and torch_npu, none of them imported; None where it fails."""
    answers = _asked(python, ASK, request)[-3:]
    if len(answers) != 3 or not set(answers) <= {"0", "1"}:
        return None
    return answers[0] == "1", answers[1] == "1", answers[2] == "1"


def msprobe_version(request: CaptureRequest) -> str:
    """Of the msprobe in the command's Python; "" where nobody can tell."""
    python = python_of(request)
    return next(iter(_asked(python, ASK_VERSION, request)), "") if python is not None else ""


def _asked(python: str, program: str, request: CaptureRequest) -> list[str]:
    """The words that a few lines print in that Python; none where it fails."""
    environment = {**(request.environment or os.environ), "LC_ALL": "C"}
    try:
        done = subprocess.run(
            [python, "-c", program],
            cwd=request.cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ASK_S,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [] if done.returncode else done.stdout.decode("ascii", "replace").split()
