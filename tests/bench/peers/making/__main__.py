"""python -m tests.bench.peers.making WHAT FOLDER AMOUNT: makes the data of one work, from a seed."""

from __future__ import annotations

import sys
from pathlib import Path

from .reports import write_report
from .statistics import write_large_dump, write_statistics
from .tables import write_op_summary
from .tensors import write_small_tensors, write_tensors
from .traces import write_profiles, write_trace

MAKERS = {
    "tensors": write_tensors,
    "small": write_small_tensors,
    "statistics": write_statistics,
    "dump": write_large_dump,
    "op_summary": write_op_summary,
    "profiles": write_profiles,
    "trace": write_trace,
    "sanitizer": write_report,
}

if __name__ == "__main__":
    what, folder, amount = sys.argv[1:]
    print(MAKERS[what](Path(folder), int(amount)))
