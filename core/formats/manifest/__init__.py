"""The manifest of a round (round.toml): its tables as they are, and the one record of what it says.

read_manifest(path) -> Mapping        all of it, raw
read_record(path) -> RoundRecord      what of it can be used, typed
record_of(table) -> RoundRecord       the same of tables that are there
"""

from .record import (
    OUTCOMES,
    SERVING,
    Outcome,
    RoundProcess,
    RoundRecord,
    read_record,
    record_of,
)
from .toml import MAX_BYTES, read_manifest

__all__ = [
    "MAX_BYTES",
    "OUTCOMES",
    "SERVING",
    "Outcome",
    "RoundProcess",
    "RoundRecord",
    "read_manifest",
    "read_record",
    "record_of",
]
