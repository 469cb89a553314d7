"""Which lines of the source and which instructions take the cycles of a kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.opprof.records import Codes, Floats, Instructions, Integers, SourceLines


@dataclass(frozen=True, slots=True)
class Hot:
    """One line or instruction over all cores. calls: how often. cycles: sum. share: of all cycles told.

    running_us: the longest of any core, NaN where not told. n_cores: how many cores ran it. pipe: of an
    instruction.
    """

    name: str
    calls: int
    cycles: float
    share: float
    running_us: float
    n_cores: int
    pipe: str = ""


def hot_lines(lines: SourceLines, top: int = 10) -> tuple[Hot, ...]:
    """The lines with the most cycles; those without cycles (on a card) by how often they ran."""
    return _hot(
        lines.sources, lines.source_codes, lines.core_codes, lines.calls, lines.cycles, lines.running_us, top
    )


_WAITS = ("WAIT_FLAG", "WAIT_INTRA", "BAR", "PIPE_BARRIER")


def waits_of(found: Instructions) -> tuple[float, dict[str, float]] | None:
    """(share of all cycles that are waits for other pipes, pipe -> its part of them); None without cycles."""
    cycles = np.nan_to_num(found.cycles)
    total = float(cycles.sum())
    if total <= 0:
        return None
    is_wait = np.array([name.upper().startswith(_WAITS) for name in found.names] or [False], np.bool_)
    waits = np.where(is_wait[found.name_codes], cycles, 0.0)
    by_pipe = np.bincount(found.pipe_codes, waits, len(found.pipes))
    parts = {pipe: float(c) / total for pipe, c in zip(found.pipes, by_pipe, strict=True) if c > 0}
    return float(waits.sum()) / total, parts


def hot_instructions(found: Instructions, top: int = 10) -> tuple[Hot, ...]:
    """The same of instructions, one name and pipe together."""
    n_pipes = max(len(found.pipes), 1)
    both = found.name_codes.astype(np.int64) * n_pipes + found.pipe_codes
    keys, codes = np.unique(both, return_inverse=True)
    names = [found.names[key // n_pipes] for key in keys.tolist()]
    pipes = [found.pipes[key % n_pipes] for key in keys.tolist()]
    order = _hot(
        [str(i) for i in range(len(keys))],
        codes.astype(np.int32),
        found.core_codes,
        found.calls,
        found.cycles,
        found.running_us,
        top,
    )
    return tuple(
        Hot(names[int(h.name)], h.calls, h.cycles, h.share, h.running_us, h.n_cores, pipes[int(h.name)])
        for h in order
    )


def _hot(
    names: Sequence[str],
    codes: Codes,
    cores: Codes,
    calls: Integers,
    cycles: Floats,
    running_us: Floats,
    top: int,
) -> tuple[Hot, ...]:
    n = len(names)
    if not len(codes):
        return ()
    n_calls = np.bincount(codes, np.maximum(calls, 0).astype(np.float64), n)
    n_cycles = np.bincount(codes, np.nan_to_num(cycles), n)
    weights = n_cycles if n_cycles.sum() > 0 else n_calls
    total = float(weights.sum())
    longest = np.full(n, -1.0)
    is_told = ~np.isnan(running_us)
    np.maximum.at(longest, codes[is_told], running_us[is_told])
    pairs = np.unique(codes.astype(np.int64) * (int(cores.max()) + 1) + cores) // (int(cores.max()) + 1)
    n_cores = np.bincount(pairs, minlength=n)
    found = []
    for code in np.argsort(-weights, kind="stable")[: max(top, 0)].tolist():
        if weights[code] <= 0:
            break
        found.append(
            Hot(
                names[code],
                int(n_calls[code]),
                float(n_cycles[code]),
                float(weights[code]) / total,
                float(longest[code]) if longest[code] >= 0 else float("nan"),
                int(n_cores[code]),
            )
        )
    return tuple(found)
