"""Environments of the peers: one each, made once; what cannot be installed is missing and says why."""

from __future__ import annotations

import subprocess
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

INSTALL_S = 900
READY = "ready"


@dataclass(frozen=True, slots=True)
class Peer:
    """A program that npulse stands beside. packages: what pip is given; first: the one whose version is
    told."""

    name: str
    packages: tuple[str, ...]

    @property
    def first(self) -> str:
        return self.packages[0].partition("==")[0]


@dataclass(frozen=True, slots=True)
class Installed:
    python: Path
    version: str

    @property
    def programs(self) -> Path:
        return self.python.parent


@dataclass(frozen=True, slots=True)
class Missing:
    why: str


PEERS = tuple(
    Peer(name, packages)
    for name, packages in {
        "msprobe": ("mindstudio-probe==26.2.0", "torch==2.13.0", "numpy==2.4.6"),
        "msprof-analyze": ("msprof-analyze==26.2.0",),
        "visidata": ("visidata",),
        "pandas": ("pandas",),
        "polars": ("polars",),
        "duckdb": ("duckdb",),
        "numpy": ("numpy",),
    }.items()
)


def environment_of(peer: Peer, folder: Path) -> Installed | Missing:
    """The environment of a peer below `folder`; made where it is not there yet, which needs a package
    index."""
    place = folder / peer.name
    python = place / "bin" / "python"
    try:
        if not (place / READY).is_file():
            venv.create(place, clear=True, with_pip=True)
            _run([str(python), "-m", "pip", "install", "--quiet", *peer.packages])
            (place / READY).touch()
        told = _run(
            [
                str(python),
                "-c",
                f"from importlib.metadata import version; print(version({peer.first!r}))",
            ]
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Missing(_why(error))
    return Installed(python, told.strip())


def environments_of(names: set[str], folder: Path) -> Mapping[str, Installed | Missing]:
    return {peer.name: environment_of(peer, folder) for peer in PEERS if peer.name in names}


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_S).stdout


def _why(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"installing took more than {INSTALL_S // 60} min"
    if isinstance(error, subprocess.CalledProcessError):
        lines = [line for line in (error.stderr or "").splitlines() if line.startswith("ERROR:")]
        return lines[-1].removeprefix("ERROR:").strip() if lines else f"ended with status {error.returncode}"
    return str(error)
