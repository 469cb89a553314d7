"""Task records of the scheduler in stars_soc.data slices, counted: how far a running session has come.

Records of A2, A3 and 310B have 64 bytes, little endian: u16 head (low six bits: 0 a task starts, 1 it ends),
u16 magic. Those of other chips have another size; there nothing is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...files import open_input

RECORD_BYTES = 64
MAGIC = 0x6BD3
MAX_BYTES = 1 << 30
BLOCK_BYTES = RECORD_BYTES << 14


@dataclass(frozen=True, slots=True)
class TaskRecords:
    """n_records: whole ones with the magic. n_starts, n_ends: of tasks. n_strange: whole ones without it.
    cut_bytes: behind the last whole record of each slice. is_partial: only the first part was read."""

    n_records: int = 0
    n_starts: int = 0
    n_ends: int = 0
    n_strange: int = 0
    cut_bytes: int = 0
    is_partial: bool = False


def count_task_records(slices: Sequence[Path], *, root: Path | None = None) -> TaskRecords:
    """Records of stars_soc.data slices. Each slice starts with a whole record; the last one may be cut.

    Raises InputError: a slice that cannot be opened, or is outside `root`.
    """
    counts = dict.fromkeys(("n_records", "n_starts", "n_ends", "n_strange", "cut_bytes"), 0)
    n_left = MAX_BYTES
    is_partial = False
    for path in slices:
        file, _ = open_input(path, root)
        with file:
            rest = b""
            while n_left > 0:
                try:
                    raw = file.read(BLOCK_BYTES) or b""
                except OSError:
                    is_partial = True
                    break
                if not raw:
                    break
                n_left -= len(raw)
                raw = rest + raw
                n_whole = len(raw) // RECORD_BYTES
                rest = raw[n_whole * RECORD_BYTES :]
                words = np.frombuffer(raw, "<u2", n_whole * RECORD_BYTES // 2).reshape(
                    n_whole, RECORD_BYTES // 2
                )
                is_record = words[:, 1] == MAGIC
                function = words[is_record, 0] & 0x3F
                counts["n_records"] += int(is_record.sum())
                counts["n_strange"] += n_whole - int(is_record.sum())
                counts["n_starts"] += int((function == 0).sum())
                counts["n_ends"] += int((function == 1).sum())
            counts["cut_bytes"] += len(rest)
        if n_left <= 0:
            is_partial = True
            break
    return TaskRecords(is_partial=is_partial, **counts)
