"""npulse.hook in scripts that mark their steps themselves, alone and under a capture."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.core.capture.drivers.programs import PACKAGES, program

import npulse
from npulse.core.errors import InputError
from npulse.hook import register_dump_hook

ROOT = Path(npulse.__file__).parents[1]
WITH = """
import sys
import torch
import npulse.hook
hook = npulse.hook.register_dump_hook("config.json")
model = torch.nn.Linear()
for _ in range(2):
    with hook(model):
        model(1)
hook.start()
hook.stop()
print([name for name in sys.modules if name.startswith(("numpy", "textual", "typer"))])
"""


def alone(folder: Path, script: str, packages: Path = PACKAGES, **variables: str) -> tuple[str, list[str]]:
    """What the script prints, and what it asked of the debugger."""
    (folder / "config.json").write_text(json.dumps({"dump_path": str(folder / "out")}))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(packages), str(ROOT))), **variables}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    calls = [line for path in (folder / "out").glob("calls.*") for line in path.read_text().splitlines()]
    return done.stdout + done.stderr, calls


def test_a_step_is_what_stands_inside_of_it(tmp_path: Path) -> None:
    printed, calls = alone(tmp_path, WITH)
    step = ["start Linear", "stop", "step"]
    assert calls == ["made", *step, *step, "start Linear", "stop"]
    assert printed == "[]\n", "it loads nothing heavy"


def test_a_step_that_raises_is_stopped_too(tmp_path: Path) -> None:
    script = WITH.partition("for _")[0] + "with hook:\n    raise ValueError('of the script')\n"
    printed, calls = alone(tmp_path, script)
    assert "ValueError: of the script" in printed
    assert calls == ["made", "start NoneType", "stop", "step"]


def test_a_version_that_takes_the_model_when_it_is_made(tmp_path: Path) -> None:
    script = WITH.replace('"config.json")', '"config.json", torch.nn.Linear())')
    _, calls = alone(tmp_path, script, DOUBLE_MSPROBE_OLD="1")
    assert calls[:4] == ["made", "model Linear", "start", "stop"]


def test_a_missing_configuration_and_a_missing_msprobe_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such configuration"):
        register_dump_hook(tmp_path / "nowhere.json")
    packages = tmp_path / "packages"
    shutil.copytree(PACKAGES / "torch", packages / "torch")
    printed, _ = alone(tmp_path, WITH, packages)
    assert "msprobe for pytorch cannot be imported" in printed


def test_under_a_capture_the_round_gets_what_the_script_marks(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    shutil.copytree(PACKAGES, packages)
    (packages / "npulse").symlink_to(Path(npulse.__file__).parent)
    ran = program(tmp_path / "program", WITH, packages=packages)
    (tmp_path / "program" / "config.json").write_text(json.dumps({"dump_path": str(tmp_path / "own")}))
    ran.run()
    step = ["start Linear", "stop", "step"]
    assert ran.calls() == [["made", *step, *step, "start Linear", "stop"]], ran.console
    assert not (tmp_path / "own").exists()
