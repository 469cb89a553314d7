"""How figures of findings may be called: the one list of all names that carry no unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

UNITS = (
    *("_us", "_ms", "_ns", "_percent", "_ratio", "_bytes", "_mb", "_mhz", "_gb_per_s", "_per_s"),
    *("_tops", "_ops_per_byte", "_cycles"),
)
"""Degrees (`_c`) are none of them: no figure of this area is a temperature."""
NUMBERS = frozenset(
    {"rank", "source_rank", "target_rank", "most_communication_rank", "pid", "block_dim", "multiple"}
    | {"score", "cycles"}
)
"""Numbers without a unit that count nothing: ids, launch parameters, and cycles, which are their own unit."""
WORDS = frozenset(
    # what was seen, by name
    {"reason", "not_allowed_dtypes", "before", "after", "pattern", "patterns", "operators", "api", "layout"}
    | {"input_shapes", "output_shapes", "settings", "types", "reading", "names", "lines", "files"}
    | {"contradicted", "axes", "reach", "bound", "ratios", "pipe", "slowest", "queue", "host_bound"}
    | {"wall_source", "source", "missing", "way", "roof", "roof_by_tool", "cores_off"}
    # why, on what basis, which of several
    | {"why", "cause", "basis", "peers", "waiting_ranks", "worst_collective", "transport", "kind"}
    | {"verdict", "noise_basis", "state", "parsed", "devices", "command", "change"}
)
"""Texts, yes or no (beside `is_...`), lists and mappings of them."""


class HasFigures(Protocol):
    @property
    def figures(self) -> Mapping[str, Any]: ...


def wrong_in(figures: Mapping[str, Any]) -> Iterator[str]:
    """What breaks the contract in the figures of one finding."""
    for name, value in figures.items():
        if name.endswith("_c"):
            yield f"{name}: degrees"
        elif name.startswith("n_"):
            if not (value is None or type(value) is int or (type(value) is float and name in _MEANS)):
                yield f"{name}: {value!r} is no count"
        elif not name.endswith(UNITS) and not name.startswith("is_"):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if name not in (NUMBERS if is_number else NUMBERS | WORDS):
                yield f"{name}: {value!r} says no unit"
        if not _is_plain(value):
            yield f"{name}: {type(value)} is no plain value"


_MEANS = ("n_calls_before", "n_calls_after")
"""Of a step, over several."""


def _is_plain(value: Any) -> bool:
    """Numbers of Python itself: those of numpy are not what JSON and callers expect."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(type(key) is str and _is_plain(one) for key, one in value.items())
    return value is None or type(value) in (bool, int, float, str)
