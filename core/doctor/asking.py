"""The job's Python, asked for its packages: metadata alone, nothing of the job and no package is imported."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npulse.core.findings import Problem
from npulse.core.formats.package_lists import KNOWN

if TYPE_CHECKING:
    from .inventory import Machine

MAX_ANSWER_CHARS = 1 << 20

# Isolated (-I): no code of the working folder or of PYTHONPATH can run; their metadata is looked at as files.
_QUESTION = """
import json, os, platform, re, site, sys
from importlib import metadata
names = set(sys.argv[1:])
paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(p)]
paths += sys.path
try:
    paths.append(site.getusersitepackages())
except Exception:
    pass
found = {}
for one in metadata.distributions(path=paths):
    try:
        name = re.sub(r"[-_.]+", "_", one.metadata["Name"] or "").lower()
        if name in names and name not in found:
            found[name] = [one.version or "", str(one.locate_file(""))]
    except Exception:
        continue
print(json.dumps({"python": platform.python_version(), "executable": sys.executable, "packages": found}))
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """python: the interpreter that was asked, "" where there is none. packages: name to (version, folder)."""

    python: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


def ask_python(machine: Machine) -> Answer:
    """The packages of the job's Python; a problem where it does not answer in time or with what was asked."""
    python = machine.python or machine.program("python") or machine.program("python3")
    if not python:
        return Answer()
    program = python if machine.python else str(machine.at(python))
    words = [program, "-I", "-c", _QUESTION, *sorted(KNOWN)]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=machine.timeout_s,
            env={**machine.environment, "LC_ALL": "C"},
            cwd="/",
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _failed(python, f"no answer within {machine.timeout_s:g} s")
    except (OSError, ValueError) as error:
        return _failed(python, f"it cannot be started: {error}")
    return _understood(python, done.stdout.decode("utf-8", "replace")[-MAX_ANSWER_CHARS:], done.returncode)


def _failed(python: str, message: str) -> Answer:
    return Answer(
        python, problems=(Problem(python, "unreadable", message, hint="name the job's: --python PATH"),)
    )


def _understood(python: str, text: str, code: int) -> Answer:
    lines = text.strip().splitlines()
    try:
        told: Any = json.loads(lines[-1]) if lines else None
        packages = {
            str(name): (str(version), str(folder)) for name, (version, folder) in told["packages"].items()
        }
        facts = {"python": str(told["python"])}
        executable = str(told["executable"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return _failed(python, f"it gave no list of packages (exit code {code})")
    return Answer(executable or str(Path(python)), facts, packages)
