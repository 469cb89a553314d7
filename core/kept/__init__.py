"""Results of whole runs kept between two openings: what discovery found, what areas said, what panes show."""

from .keeper import Keeper, KeptValue, keeper_of, keeper_of_paths, kept_or_made
from .opening import discover_kept, forget_kept

__all__ = [
    "Keeper",
    "KeptValue",
    "discover_kept",
    "forget_kept",
    "keeper_of",
    "keeper_of_paths",
    "kept_or_made",
]
