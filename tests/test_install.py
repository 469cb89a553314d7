"""The scripts of docs/install: what they refuse before anything is made. .ci/airgapped runs them whole."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[1] / "docs" / "install"
CPU, VERSION = platform.machine(), f"{sys.version_info[0]}.{sys.version_info[1]}"


def installer(folder: Path, cpu: str = CPU, version: str = VERSION) -> Path:
    """install.sh as it lies in a wheelhouse for this CPU and Python; the wheels are none."""
    text = (SCRIPTS / "install.sh").read_text(encoding="utf-8").replace("@CPU@", cpu)
    script = folder / "install.sh"
    script.write_text(text.replace("@VERSION@", version), encoding="utf-8")
    (folder / "wheels").mkdir()
    (folder / "requirements.txt").write_text("", encoding="utf-8")
    return script


def run(script: Path, *words: str, home: Path, python: str = sys.executable) -> tuple[int, str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHON": python}
    done = subprocess.run(["sh", str(script), *words], env=environment, capture_output=True, text=True)
    return done.returncode, done.stderr


def test_another_cpu_is_named(tmp_path: Path) -> None:
    status, told = run(installer(tmp_path, cpu="riscv64"), home=tmp_path)
    assert (status, f"for riscv64, this machine is {CPU}" in told) == (1, True), told
    assert not (tmp_path / ".local").exists()


def test_another_python_is_named(tmp_path: Path) -> None:
    status, told = run(installer(tmp_path, version="3.99"), home=tmp_path)
    assert status == 1 and "for Python 3.99" in told and f"is {VERSION}" in told, told
    assert not (tmp_path / ".local").exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    script = installer(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "data").write_text("kept", encoding="utf-8")
    status, told = run(script, str(tmp_path / "mine"), home=tmp_path)
    assert status == 1 and "is no environment of Python" in told, told
    assert (tmp_path / "mine" / "data").read_text(encoding="utf-8") == "kept"


def test_what_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    """There is no wheel of npulse in this wheelhouse."""
    status, told = run(installer(tmp_path), str(tmp_path / "new"), home=tmp_path)
    assert status == 1 and "nothing was installed" in told, told
    assert not (tmp_path / "new").exists() and not (tmp_path / ".local").exists()


@pytest.mark.parametrize(
    "words", [(), ("x86_64",), ("sparc", "3.11"), ("x86_64", "3.9"), ("x86_64", "3.11.2")]
)
def test_a_wheelhouse_for_no_such_target(words: tuple[str, ...]) -> None:
    done = subprocess.run(["bash", str(SCRIPTS / "make_wheelhouse"), *words], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert "make_wheelhouse CPU VERSION" in done.stderr or "no such" in done.stderr
