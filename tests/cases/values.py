"""The checkable values that stand beside the input of a case."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any


def expected(case: Path) -> dict[str, Any]:
    """The JSON block of a case's expect.md."""
    block = re.search(r"```json\n(.*?)```", (case / "expect.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    values: dict[str, Any] = json.loads(block[1])
    return values
