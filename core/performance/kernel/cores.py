"""The cores of one kernel, one row each, whichever file tells of them: tables of metrics, or the blocks of
visualize_data.bin.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.opprof.records import NO_BLOCK, Floats, Integers, KernelProfile

KINDS = ("cube", "vector", "aicore")
"""Kinds of cores; "aicore": chips that do not split them."""

PIPES = ("cube", "vector", "scalar", "mte1", "mte2", "mte3", "fixpipe")
_COLUMNS = {"vector": "vec"}
_SIDES = {"cube": "aic", "vector": "aiv", "aicore": "aic"}


@dataclass(frozen=True, slots=True)
class Cores:
    """All cores of a kernel. Arrays have one element a core; NaN: not told.

    kinds: of `KINDS`. names: "cube0", "vector0", ..., "" where cores are not told apart. time_us, cycles: how
    long the core worked. ratios: pipe -> share of that time in which it was busy (of the task's duration for
    mixed kernels, as the tool has it). times_us: pipe -> how long.
    """

    blocks: Integers
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    time_us: Floats
    cycles: Floats
    ratios: Mapping[str, Floats]
    times_us: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.names)

    def rows(self, kind: str) -> Integers:
        """The rows of one kind of core."""
        return np.array([i for i, own in enumerate(self.kinds) if own == kind], np.int64)

    def label(self, row: int) -> str:
        """'block 3 vector1'."""
        block = int(self.blocks[row])
        words = [f"block {block}" if block != NO_BLOCK else "", self.names[row]]
        return " ".join(filter(None, words)) or "AI Core"


Key = tuple[int, str]


def kind_of(name: str) -> str:
    """'vector1' -> 'vector'; without a name: a chip whose cores are not split."""
    return next((kind for kind in ("cube", "vector") if name.lower().startswith(kind)), "aicore")


def cores_of(kernel: KernelProfile) -> Cores:
    """The cores in the order in which their files name them."""
    keys = _keys(kernel)
    n = len(keys)
    kinds = tuple(kind_of(name) for _, name in keys)
    ratios = {pipe: np.full(n, np.nan) for pipe in PIPES}
    times = {pipe: np.full(n, np.nan) for pipe in PIPES}
    time_us, cycles = np.full(n, np.nan), np.full(n, np.nan)
    for kind in KINDS:
        rows = [i for i, own in enumerate(kinds) if own == kind]
        if not rows:
            continue
        side = _SIDES[kind]
        for pipe in PIPES:
            column = _COLUMNS.get(pipe, pipe)
            _fill(ratios[pipe], rows, keys, metric_by_core(kernel, f"{side}_{column}_ratio"))
            _fill(times[pipe], rows, keys, metric_by_core(kernel, f"{side}_{column}_time"))
        _fill(time_us, rows, keys, metric_by_core(kernel, f"{side}_time"))
        _fill(cycles, rows, keys, metric_by_core(kernel, f"{side}_total_cycles"))
    _fill_from_blocks(kernel, keys, ratios, time_us, cycles)
    return Cores(
        np.array([block for block, _ in keys], np.int64),
        tuple(name for _, name in keys),
        kinds,
        time_us,
        cycles,
        {pipe: values for pipe, values in ratios.items() if not np.isnan(values).all()},
        {pipe: values for pipe, values in times.items() if not np.isnan(values).all()},
    )


def metric_by_core(kernel: KernelProfile, name: str, *tables: str) -> dict[Key, float]:
    """A column of the first table that has it: (block, core) -> number; rows without one are left out."""
    found = kernel.find(name, *tables)
    if found is None:
        return {}
    table, values = found
    keys = zip(table.block_ids.tolist(), table.cores, strict=True)
    return {key: value for key, value in zip(keys, values.tolist(), strict=True) if value == value}


def by_row(cores: Cores, values: Mapping[Key, float]) -> Floats:
    """The same in the order of the cores, NaN where there is none."""
    keys = zip(cores.blocks.tolist(), cores.names, strict=True)
    return np.array([values.get(key, np.nan) for key in keys], np.float64)


def _keys(kernel: KernelProfile) -> list[Key]:
    keys: dict[Key, None] = {}
    for table in kernel.tables.values():
        if table.metrics.keys() - {"aic_l2_cache_hit_rate"}:
            keys.update(dict.fromkeys(zip(table.block_ids.tolist(), table.cores, strict=True)))
    if not keys:
        has_vector = {unit.block_id for unit in kernel.units if unit.core == "vector0"}
        for unit in kernel.units:
            if unit.total_cycles or unit.block_id not in has_vector:
                keys[unit.block_id, unit.core] = None
        keys.update(dict.fromkeys((use.block_id, use.core) for use in kernel.pipes if use.core))
    return list(keys)


def _fill(into: Floats, rows: list[int], keys: list[Key], values: Mapping[Key, float]) -> None:
    if values:
        for row in rows:
            value = values.get(keys[row])
            if value is not None:
                into[row] = value


def _fill_from_blocks(
    kernel: KernelProfile, keys: list[Key], ratios: dict[str, Floats], time_us: Floats, cycles: Floats
) -> None:
    """What the tables do not say and visualize_data.bin does."""
    row_of = {key: row for row, key in enumerate(keys)}

    def put(into: Floats, key: Key, value: float | None) -> None:
        row = row_of.get(key)
        if row is not None and value is not None and np.isnan(into[row]):
            into[row] = value

    for unit in kernel.units:
        key = (unit.block_id, unit.core)
        put(cycles, key, unit.total_cycles)
        if unit.busy_percent is not None:
            put(ratios[kind_of(unit.core)], key, unit.busy_percent / 100)
    for use in kernel.pipes:
        if use.active_percent is not None:
            put(ratios[use.pipe], (use.block_id, use.core), use.active_percent / 100)
    for told in kernel.block_times:
        put(time_us, (told.block_id, told.core), told.duration_us)
