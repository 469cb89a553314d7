"""How many bytes a capture will write, from what it selects and, where there is one, an earlier dump.

Without an earlier dump nobody knows the tensors: only a class of cost is told. With one the selected entries
are added up, tensor by tensor; what cannot be known from it (other levels, more steps) widens the bounds or
takes them away.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from npulse.core.errors import InputError, NpulseError
from npulse.core.figures import size_text
from npulse.core.text import Lang, say

from .forms import recognise
from .parts import AclParts, MsprobeParts, acl_parts, msprobe_parts
from .steps import n_steps
from .texts_estimate import TEXTS

if TYPE_CHECKING:
    from npulse.core.formats.msprobe.records import Dump
    from npulse.core.run.model import Artifact

Cost = Literal["small", "medium", "large", "huge", "unknown"]

RECORD_BYTES = (400, 2000)
"""Of one tensor in dump.json, statistics only: least and most; with names of real models about 1 to 2 KB."""
FILE_BYTES = 1200
"""What a .pt file has beside its elements."""
STATS_ROW_BYTES = 160
_SPREAD = 1.5  # two runs of one model seldom differ by more: batch and sequence are the same


@dataclass(frozen=True, slots=True)
class Estimate:
    """Bytes; None: unknown. bytes_likely: of all steps and ranks that are selected; of one step where steps
    are not limited (is_per_step), then bytes_at_most is None. notes: keys and values for `told`."""

    cost: Cost
    bytes_at_least: int | None = None
    bytes_likely: int | None = None
    bytes_at_most: int | None = None
    is_per_step: bool = False
    notes: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()

    def told(self, lang: Lang = "en") -> tuple[str, ...]:
        """Cost and bytes in words, and what they rest on."""
        lines = []
        if self.bytes_likely is None:
            lines.append(say(TEXTS, f"cost-{self.cost}", lang))
        else:
            per = say(TEXTS, "per-step" if self.is_per_step else "in-all", lang)
            least, most = (_size(n) for n in (self.bytes_at_least, self.bytes_at_most))
            key = "bytes" if self.bytes_at_most is not None else "bytes-open"
            values = {"likely": _size(self.bytes_likely), "least": least, "most": most, "per": per}
            lines.append(say(TEXTS, key, lang, **values))
        return (*lines, *(say(TEXTS, key, lang, **dict(values)) for key, values in self.notes))


def estimate_bytes(
    config: Mapping[str, Any],
    *,
    like: Path | None = None,
    n_ranks: int | None = None,
    n_steps: int | None = None,
) -> Estimate:
    """What a capture under `config` (of either tool) will write.

    like: an earlier dump of the same program, or a run that holds one. n_ranks, n_steps: of the job, where
    the configuration does not limit them (default: ranks of `like`, steps unknown).
    """
    form = recognise(config)
    if form == "acl":
        parts = acl_parts(config)
        cost = cost_of_acl(parts)
        return Estimate(cost) if like is None else _of_acl(parts, cost, like, n_ranks, n_steps)
    if form == "msprobe":
        wanted = msprobe_parts(config)
        cost = cost_of_msprobe(wanted)
        return Estimate(cost) if like is None else _of_msprobe(wanted, cost, like, n_ranks, n_steps)
    return Estimate("unknown")


def cost_of_acl(parts: AclParts) -> Cost:
    """The class of cost without any dump to compare with."""
    if parts.is_overflow or parts.is_exception:
        return "small"
    if parts.data == "stats":
        return "small"
    is_limited = bool(parts.steps)
    if parts.scene == "watcher" or (parts.targets and all(t.layers for t in parts.targets)):
        return "medium" if is_limited else "large"
    return "large" if is_limited else "huge"


def cost_of_msprobe(parts: MsprobeParts) -> Cost:
    """The class of cost without any dump to compare with."""
    if parts.task not in ("tensor", "diff_check"):
        return "medium" if parts.tensor_list else "small"
    if parts.level in ("L2", "debug"):
        return "medium"
    is_named = bool(parts.list or parts.scope)
    is_limited = bool(parts.steps)
    if is_named:
        return "medium" if is_limited else "large"
    return "large" if is_limited else "huge"


def selects(parts: MsprobeParts, names: Sequence[str]) -> list[bool]:
    """Which of these entries (in execution order) msprobe would record: by scope, then by list."""
    chosen = []
    is_inside = not parts.scope
    for name in names:
        if parts.scope and name == parts.scope[0]:
            is_inside = True
        is_listed = not parts.list or any(part in name for part in parts.list)
        chosen.append(is_inside and is_listed and _has_direction(name, parts.modes))
        if len(parts.scope) > 1 and name == parts.scope[1]:
            is_inside = False
    return chosen


def _has_direction(name: str, modes: tuple[str, ...]) -> bool:
    wanted = {"forward", "backward"} & {*modes}
    return not wanted or any(f".{direction}" in name for direction in wanted)


# ---- msprobe ----


def _of_msprobe(
    parts: MsprobeParts, cost: Cost, like: Path, n_ranks: int | None, wanted_steps: int | None
) -> Estimate:
    from npulse.core.formats.msprobe.dump import read_dump

    artifacts = [a for a in _artifacts(like) if a.kind == "msprobe.dump"]
    sums: list[tuple[int, int]] = []
    header = None
    notes: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    for artifact in artifacts[:64]:
        try:
            dump = read_dump(artifact.path)
        except NpulseError:
            continue
        header = header or dump.header
        sums.append(_sum_of(parts, dump))
    if not sums or header is None:
        return Estimate(cost, notes=(("no-dump", ()),))
    level = header.level or "L1"
    if parts.level in ("mix", "L0") and level == "L1" or parts.level == "mix" and level == "L0":
        notes.append(("other-level", (("level", level), ("wanted", parts.level))))
        is_open = True
    else:
        is_open = parts.level in ("L2", "debug")
        if is_open:
            notes.append(("level-open", (("wanted", parts.level),)))
    largest = max(most for _, most in sums)
    mean = sum((least + most) // 2 for least, most in sums) // len(sums)
    seen = len({artifact.rank for artifact in artifacts})
    ranks = _count(parts.ranks) or n_ranks or seen or 1
    steps = _count(parts.steps) or wanted_steps
    times = ranks * (steps or 1)
    notes.append(("rests-on", (("n", str(len(sums))), ("ranks", str(ranks)))))
    return Estimate(
        cost if steps is None else _class_of(mean * times),
        bytes_at_least=int(min(least for least, _ in sums) * times / _SPREAD),
        bytes_likely=mean * times,
        bytes_at_most=None if is_open or steps is None else int(largest * times * _SPREAD),
        is_per_step=steps is None,
        notes=tuple(notes),
    )


def _sum_of(parts: MsprobeParts, dump: Dump) -> tuple[int, int]:
    """Least and most bytes of one rank-step of `parts`, by the tensors of a dump."""
    import numpy as np

    from npulse.core.formats.msprobe.records import OUTPUT, TENSOR

    calls, leaves = dump.calls, dump.leaves
    chosen = np.array(selects(parts, calls.names), dtype=bool)
    if not len(chosen):
        return 0, 0
    wanted = chosen[leaves.call] & (leaves.kind == TENSOR)
    sides = {"input", "output"} & {*parts.modes}
    if len(sides) == 1:
        is_output = leaves.side == OUTPUT
        wanted &= is_output if "output" in sides else ~is_output
    n_records = int(wanted.sum())
    least, most = n_records * RECORD_BYTES[0], n_records * RECORD_BYTES[1]
    files = wanted
    if parts.task not in ("tensor", "diff_check"):
        kept = np.array([any(part in name for part in parts.tensor_list) for name in calls.names], dtype=bool)
        files = wanted & kept[leaves.call]
    n_bytes = _tensor_bytes(dump)
    content = int(n_bytes[files].sum()) + FILE_BYTES * int(files.sum())
    return least + content, most + content


def _tensor_bytes(dump: Dump) -> Any:
    """Bytes of the elements of each leaf; 0 where dtype or shape are not told."""
    import numpy as np

    from npulse.core.formats.tensors.dtypes import dtype_of

    leaves = dump.leaves
    found = (dtype_of(text) for text in leaves.dtypes)
    item = np.array([*(0 if dtype is None else dtype.itemsize for dtype in found), 0], dtype=np.int64)
    numbers = [_product(shape) for shape in leaves.shapes]
    count = np.array([*numbers, 0], dtype=np.float64)
    return item[leaves.dtype] * count[leaves.shape]


def _product(shape: Sequence[int]) -> int:
    n = 1
    for size in shape:
        n *= max(int(size), 0)
    return min(n, 1 << 50)


# ---- acl ----


def _of_acl(
    parts: AclParts, cost: Cost, like: Path, n_ranks: int | None, wanted_steps: int | None
) -> Estimate:
    """By the sizes of the files of an earlier dump: one folder is one execution on one device."""
    artifacts = [a for a in _artifacts(like) if a.kind == "cann.dump"]
    layers = {_in_file_name(layer) for target in parts.targets for layer in target.layers}
    sizes = [_folder_bytes(artifact.path, layers) for artifact in artifacts]
    if not sizes:
        return Estimate(cost, notes=(("no-dump", ()),))
    notes: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    if parts.is_overflow or parts.is_exception:
        notes.append(("only-faults", ()))
    seen = len({artifact.rank for artifact in artifacts})
    ranks = n_ranks or seen or 1
    steps = _count(parts.steps) or wanted_steps
    times = ranks * (steps or 1)
    likely = sum(sizes) // len(sizes)
    if parts.data == "stats":
        n_files = max(_n_files(artifact.path) for artifact in artifacts)
        likely, sizes = n_files * 4 * STATS_ROW_BYTES, [n_files * 16 * STATS_ROW_BYTES]
    notes.append(("rests-on", (("n", str(len(artifacts))), ("ranks", str(ranks)))))
    if parts.mode == "all":
        notes.append(("mode", ()))
    is_fault = parts.is_overflow or parts.is_exception
    return Estimate(
        cost if steps is None else _class_of(likely * times),
        bytes_at_least=0 if is_fault else int(min(*sizes, likely) * times / _SPREAD),
        bytes_likely=likely * times,
        bytes_at_most=None if steps is None else int(max(*sizes, likely) * times * _SPREAD * 2),
        is_per_step=steps is None,
        notes=tuple(notes),
    )


def _in_file_name(layer: str) -> str:
    return layer.translate(dict.fromkeys(map(ord, " ./\\"), "_"))


def _folder_bytes(path: Path, layers: set[str]) -> int:
    from npulse.core.formats.cann.names import parse_dump_name

    if not path.is_dir():
        return path.stat().st_size
    total = 0
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                parsed = parse_dump_name(entry.name)
                if parsed is not None and (not layers or parsed.op_name in layers):
                    total += entry.stat(follow_symlinks=False).st_size
    return total


def _n_files(path: Path) -> int:
    return len(os.listdir(path)) if path.is_dir() else 1


# ---- shared ----


def _artifacts(like: Path) -> Sequence[Artifact]:
    from npulse.core.run.discover import discover

    try:
        return discover(like).artifacts
    except InputError:
        return ()


def _class_of(n_bytes: int) -> Cost:
    """The class of so many bytes in all."""
    classes: tuple[tuple[int, Cost], ...] = ((10**9, "small"), (2 * 10**10, "medium"), (2 * 10**11, "large"))
    return next((cost for most, cost in classes if n_bytes < most), "huge")


def _count(numbers: Any) -> int | None:
    return n_steps(numbers) if numbers else None


def _size(n_bytes: int | None) -> str:
    return "?" if n_bytes is None else size_text(n_bytes)
