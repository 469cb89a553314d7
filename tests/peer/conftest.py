"""The Python with torch and the real msprobe, and captures that several tests look at."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tests.core.capture.drivers.programs import Program, program

Trained = Callable[[str], Program]
PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="session")
def peer() -> str:
    """Skips without NPULSE_PEER; one that is named and does not start is an error."""
    python = os.environ.get("NPULSE_PEER")
    if not python:
        pytest.skip("NPULSE_PEER names no Python with msprobe (tests/peer/README.md)")
    assert Path(python).is_file(), f"NPULSE_PEER={python} is no file"
    return python


def peer_program(folder: Path, peer: str, name: str, *arguments: str, **asked: object) -> Program:
    """One of the programs, with the real packages alone."""
    command = (peer, str(PROGRAMS / name), *arguments)
    return program(folder, "", command=command, packages=None, **asked)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def trained(peer: str, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Tensors of the same training: plain, with one layer's output scaled by 1.2, or in bfloat16; each is
    captured when the first test asks for it."""
    folder = tmp_path_factory.mktemp("trained")

    @cache
    def captured(way: str) -> Program:
        made = peer_program(folder / way, peer, "train.py", way, level="mix", settings={"task": "tensor"})
        return made.run()

    return captured
