"""What was recorded of each rank, against sums by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from npulse.core.run.model import Artifact
from npulse.core.table import Column, Table
from npulse.core.watch.recorded import recorded_by_rank, rows_by_rank


def artifact(
    rank: int | None, size: int, written: int, kind: str = "msprobe.dump", state: Any = "complete"
) -> Artifact:
    return Artifact(kind, Path("/r/x"), "x", size, written, rank=rank, completeness=state)


def test_sums_newest_write_and_kinds_of_each_rank() -> None:
    found = recorded_by_rank(
        [
            artifact(1, 10, 5),
            artifact(None, 3, 9, "runtime.plog"),
            artifact(1, 7, 4, "msprobe.stack", "in progress"),
            artifact(0, 1, 1),
            artifact(1, 2, 3),
        ]
    )
    assert [one.rank for one in found] == [0, 1, None]
    one = found[1]
    assert (one.n_artifacts, one.size_bytes, one.written_ns, one.n_in_progress) == (3, 19, 5, 1)
    assert list(one.kinds.items()) == [("msprobe.dump", 2), ("msprobe.stack", 1)]
    assert found[2].size_bytes == 3 and recorded_by_rank([]) == ()


def test_rows_by_rank_leave_none_out() -> None:
    values = np.array([2, 0, 2, 0, 2])
    absent = np.array([False, False, False, True, False])
    table = Table("t", (Column("rank", "int", values, absent=absent),))
    assert rows_by_rank(table) == {0: 1, 2: 3, None: 1}
    assert rows_by_rank(Table("t", (Column("step", "int", values),))) == {}
