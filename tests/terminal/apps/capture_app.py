"""npulse with one more tool, `plain`, which starts the program as it is."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "core" / "capture"))

import doubles

from npulse.tui.cli.main import main

doubles.register(lambda table, name, value: table.__setitem__(name, value))
main()
