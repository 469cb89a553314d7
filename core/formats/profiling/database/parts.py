"""Which parts of a profile a database has, told without reading them."""

from __future__ import annotations

from pathlib import Path

from ....progress import IsCancelled, never_cancelled
from .cluster import STEPS
from .communication import MATRIX_TABLES, TIME_TABLES
from .database import Database
from .open import open_database
from .operators import has_kernels_of
from .steps import STEP_TRACE


def parts_of(
    path: Path, *, root: Path | None = None, is_cancelled: IsCancelled = never_cancelled
) -> frozenset[str]:
    """Of "operators", "timeline", "apis", "steps", "communications", "links", "memory" and "cluster" those
    that some table is there for; it may be empty. Tasks of which no table says which are kernels are a
    timeline alone. Raises InputError (no database) and Cancelled."""
    with open_database(path, root=root, is_cancelled=is_cancelled) as database:
        return frozenset(part for part, is_there in _found(database).items() if is_there)


def _found(database: Database) -> dict[str, bool]:
    has_operations = database.has("COMMUNICATION_OP", "startNs", "endNs")
    has_calls = database.has("CANN_API", "startNs", "endNs")
    has_marks = database.has("MSTX_EVENTS", "startNs", "endNs")
    has_tasks = database.has("TASK", "startNs", "endNs")
    is_cluster = database.has(STEPS) or any(map(database.has, (*TIME_TABLES[1:], *MATRIX_TABLES[1:])))
    return {
        "operators": has_kernels_of(database) or (has_operations and not has_tasks),
        "timeline": has_tasks or has_operations or has_calls or has_marks,
        "apis": has_calls,
        "steps": database.has(STEP_TRACE),
        "communications": any(map(database.has, TIME_TABLES)),
        "links": any(map(database.has, MATRIX_TABLES)),
        "memory": any(map(database.has, ("MEMORY_RECORD", "OP_MEMORY", "NPU_MODULE_MEM", "NPU_MEM"))),
        "cluster": is_cluster or database.has("CommunicationGroupMapping"),
    }
