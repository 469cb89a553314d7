"""Result tables as tools write them, for tests."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

COMMON = (
    "NPU Name", "Bench Name", "NPU Dtype", "Bench Dtype", "NPU Tensor Shape", "Bench Tensor Shape",
    "NPU Requires_grad", "Bench Requires_grad",
)  # fmt: skip
TENSOR = (
    "Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio",
    "Five Thousandths Err Ratio",
)  # fmt: skip
STATISTICS = (
    "NPU max", "NPU min", "NPU mean", "NPU l2norm", "Bench max", "Bench min", "Bench mean", "Bench l2norm",
)  # fmt: skip
END = ("Requires_grad Consistent", "Result", "Err_message")
HEADER = (*COMMON, *TENSOR, *STATISTICS, *END)

EQUAL = {
    "NPU Dtype": "torch.float32", "Bench Dtype": "torch.float32", "NPU Tensor Shape": "[2, 2]",
    "Bench Tensor Shape": "[2, 2]", "NPU Requires_grad": "False", "Bench Requires_grad": "False",
    "Cosine": "1.0", "EucDist": "0.0", "MaxAbsErr": "0.0", "MaxRelativeErr": "0.0",
    "One Thousandth Err Ratio": "1.0", "Five Thousandths Err Ratio": "1.0",
    "NPU max": "2.0", "NPU min": "-1.0", "NPU mean": "0.5", "NPU l2norm": "3.0",
    "Bench max": "2.0", "Bench min": "-1.0", "Bench mean": "0.5", "Bench l2norm": "3.0",
    "Requires_grad Consistent": "True", "Result": "pass", "Err_message": "[]",
}  # fmt: skip


def row(name: str, **changes: str) -> dict[str, str]:
    """A row of msprobe's compare of two equal tensors, but for the changes ('_' for blanks)."""
    named = {key if key in HEADER else key.replace("_", " "): cell for key, cell in changes.items()}
    assert named.keys() <= set(HEADER)
    return {"NPU Name": name, "Bench Name": name, **EQUAL, **named}


def write(path: Path, rows: Sequence[Mapping[str, str]], header: Sequence[str] = HEADER) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, header, lineterminator="\n", extrasaction="ignore", restval="")
        out.writeheader()
        out.writerows(rows)
    return path
