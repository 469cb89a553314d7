"""Columns of an operator table that the analyses look at; others are not read: that saves time and memory."""

from __future__ import annotations

from npulse.core.formats.profiling.columns import SCHEMA

_PLACES = ("device", "step", "stream", "task", "batch", "context")
_WORDS = ("name", "op_type", "op_state", "core_type", "hf32")
_TIMES = ("start_ns", "duration_ns", "wait_ns", "aic_time_us", "aiv_time_us")
_CORES = ("block_dim", "mix_block_dim", "cube_utilization_percent", "memory_bound")
_TENSORS = tuple(f"{side}_{what}" for side in ("input", "output") for what in ("shapes", "dtypes", "formats"))
_MOVES = ("mte2_time_us", "mte3_time_us", "fixpipe_time_us")
_PIPES = ("mac", "vec", "scalar", "mte1", "mte2", "mte3", "fixpipe")
_SIDES = ("", "aic_", "aiv_")

_WANTED = {
    *_PLACES,
    *_WORDS,
    *_TIMES,
    *_CORES,
    *_TENSORS,
    *(side + name for side in _SIDES for name in _MOVES),
    *(f"{side}{pipe}_{kind}" for side in _SIDES for pipe in _PIPES for kind in ("ratio", "exe_ratio")),
}
ANALYSED: frozenset[str] = frozenset(column.name for column in SCHEMA if column.name in _WANTED)
"""Names as `read_operators` takes them."""
