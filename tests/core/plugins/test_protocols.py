"""`npulse.plugins` is importable by itself, and cheap."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import npulse
import npulse.plugins as plugins


def test_the_protocols_are_where_the_contract_says() -> None:
    assert {name for name in plugins.__all__ if name.endswith("Plugin")} == {
        "ReaderPlugin",
        "MetricPlugin",
        "AnalysisPlugin",
        "ReferencePlugin",
    }
    assert all(hasattr(plugins, name) for name in plugins.__all__)


def test_importing_them_loads_no_library() -> None:
    root = str(Path(npulse.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {root!r}); import npulse.plugins; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert {"numpy", "pandas", "textual", "typer"} & set(done.stdout.split()) == set()
