"""Our figures of a pair against the real tool's csv of the same pair, number by number."""

from __future__ import annotations

import csv
import math
import subprocess
from pathlib import Path

import pytest

import npulse

from .conftest import Trained

FIGURES = {
    "Cosine": "cosine",
    "EucDist": "euclidean",
    "MaxAbsErr": "max_abs_error",
    "MaxRelativeErr": "max_rel_error",
    "One Thousandth Err Ratio": "ratio_below_1e3",
    "Five Thousandths Err Ratio": "ratio_below_5e3",
}
PRINTED = 1e-12
"""Twelve decimals are printed; sums differ by their order alone."""
FLOAT32 = 2.0**-23
"""The tool takes its relative errors in float32 before it widens them."""


def table_of_msprobe(peer: str, target: Path, golden: Path, folder: Path) -> list[dict[str, str]]:
    msprobe = str(Path(peer).with_name("msprobe"))
    command = [msprobe, "compare", "-tp", str(target), "-gp", str(golden), "-o", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.csv")
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def agree(name: str, theirs: float, ours: float) -> bool:
    """Within the tool's rounding: twelve decimals; cosines above 0.9999 six digits."""
    if math.isnan(theirs) or math.isnan(ours):
        return math.isnan(theirs) and math.isnan(ours)
    bound = 5e-7 if name == "Cosine" and theirs > 0.9999 else PRINTED
    share = FLOAT32 if name == "MaxRelativeErr" else 1e-12
    return abs(theirs - ours) <= bound + share * abs(theirs)


@pytest.mark.parametrize(
    ("way", "step"), [("scaled", 2), pytest.param("bfloat16", 0, marks=pytest.mark.nightly)]
)
def test_figures_are_those_of_the_tool(
    peer: str, trained: Trained, tmp_path: Path, way: str, step: int
) -> None:
    target, golden = (trained(name).raw / f"step{step}" for name in (way, "plain"))
    ours = {row["target"]: row for _, row in npulse.compare(target, golden).to_frame().iterrows()}
    n_compared = 0
    wrong = []
    for row in table_of_msprobe(peer, target, golden, tmp_path):
        mine = ours.get(row["NPU Name"])
        for theirs, name in FIGURES.items():
            if row[theirs] in ("unsupported", "N/A", "shape unmatched"):
                continue
            assert mine is not None, row["NPU Name"]
            if theirs == "MaxRelativeErr" and mine["zero_reference"]:
                continue  # the tool divides by the dtype's epsilon there, which we count apart
            n_compared += 1
            if not agree(theirs, float(row[theirs]), float(mine[name])):
                wrong.append((row["NPU Name"], theirs, row[theirs], mine[name]))
    assert not wrong, wrong[:10]
    assert n_compared > 1000


def test_the_scaled_layer_is_the_origin(trained: Trained) -> None:
    report = npulse.compare(trained("scaled").raw / "step0", trained("plain").raw / "step0")
    first = report.findings[0]
    assert (first.role, report.verdict) == ("origin", "fail")
    assert first.subject in ("Tensor.__mul__.0.forward", "Module.blocks.1.fc2.Linear.forward.0")


def test_the_same_again_differs_nowhere(trained: Trained) -> None:
    plain = trained("plain").raw / "step1"
    assert npulse.compare(plain, plain).verdict == "pass"
