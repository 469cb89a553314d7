"""Plug-ins as their authors write them, good ones and bad ones."""

from __future__ import annotations

READER = """
class Acme:
    kind = "acme.trace"
    title = ("Acme trace", "Acme 轨迹")
    area = "performance"
    patterns = ["*.acme"]
    magic = b"AC"

    def read(self, path):
        lines = path.read_text().splitlines()[1:]
        rows = [{"name": line.split()[0], "time_us": float(line.split()[1])} for line in lines if line]
        return rows, [{"message": "no rows", "line": 1}] if not rows else []
"""

METRIC = """
import numpy as np


class Largest:
    name = "largest_gap"
    unit = ""
    better = "lower"

    def measure(self, target, golden):
        return np.abs(target - golden).max()
"""

ANALYSIS = """
class Sums:
    name = "sums"
    area = "performance"

    def analyze(self, data):
        found = []
        for one in data.artifacts:
            if one["kind"] == "acme.trace":
                total = sum(row["time_us"] for row in data.rows(one["path"]))
                found.append({
                    "message": f"{total:g} us in all", "subject": one["path"], "rule": "total",
                    "severity": "note", "figures": {"total_us": total}, "next": "look at the longest",
                    "location": {"artifact": one["path"], "line": 2},
                })
        return found
"""


def analysis(body: str, head: str = "") -> str:
    """An analysis of one statement or several lines, indented as they stand."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"{head}\nclass Bad:\n    name = 'bad'\n\n    def analyze(self, data):\n{lines}\n"
