"""Tensors before the first anomaly kept, the others removed while they come, so that a disk is enough.

Only tensor files of the round that is being captured are removed, and only those of calls that the overflow
analysis found whole, or that come behind the anomaly. Each is noted in removed_tensors.txt first. A tensor
that no dump.json names yet stays until it is named, or until the anomaly is known.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from npulse.core.errors import InputError
from npulse.core.findings import Figures
from npulse.core.formats.msprobe.records import TENSOR
from npulse.core.formats.msprobe.removed import REMOVED_FILE, line_of, read_removed
from npulse.core.overflow.analyse import Overflow
from npulse.core.overflow.ranks import RankOverflow

YOUNG_S = 10.0
"""A file that no index names and that is not older may belong to an entry that comes."""
MAX_FOLDERS = 10_000


@dataclass(slots=True)
class Retro:
    """What is kept of a round.

    operator: of the first anomaly, "" before there is one. folder: its rank-step. kept: the names of its
    files and of those of the calls before it. seen: what looked like it at the last look.
    """

    operator: str = ""
    folder: Path | None = None
    kept: frozenset[str] = frozenset()
    seen: tuple[Path, str] | None = None

    def thin_out(self, found: Overflow, retro: int, raw: Path, *, is_last: bool = False) -> None:
        """Remove what need not be kept by what is known now. A file that cannot be removed stays.

        What looks like the first anomaly counts once a second look, or the last one, finds it again: a later
        call can show that an Inf is a mask.
        """
        if self.folder is None and not self._fix(found, retro, is_last):
            return
        newest: dict[int | None, int] = {}
        for rank in found.ranks:
            newest[rank.rank] = max(newest.get(rank.rank, -1), -1 if rank.step is None else rank.step)
        for rank in found.ranks:
            folder = rank.dump.path.parent
            if not folder.is_relative_to(raw):
                continue
            if self.folder is not None:
                kept = self.kept if folder == self.folder else frozenset()
                young_s = 0.0 if is_last else YOUNG_S
                _remove(folder, rank.dump.tensor_dir, _others(rank.dump.tensor_dir, kept, young_s))
            else:
                is_newest = (-1 if rank.step is None else rank.step) == newest[rank.rank]
                _remove(folder, rank.dump.tensor_dir, _healthy(rank, retro if is_newest else 0))

    def _fix(self, found: Overflow, retro: int, is_last: bool) -> bool:
        """Decide on the first anomaly; False while one is seen that may not be one."""
        n = len(found.ranks)
        first = next(((place, origin) for place, origin in found.origins() if place < n), None)
        if first is None:
            self.seen = None
            return True
        rank, call = found.ranks[first[0]], first[1].call
        before, self.seen = self.seen, (rank.dump.path.parent, rank.name(call))
        if self.seen != before and not is_last:
            return False
        self.folder, self.operator = self.seen
        self.kept = _files_of(rank, range(max(0, call - retro), call + 1))
        return True


def retro_figures(raw: Path) -> Figures:
    """How much was removed of a round, {} where nothing was."""
    n = size_bytes = 0
    for folder in _rank_steps(raw):
        try:
            removed = read_removed(folder)
        except InputError:
            continue
        if removed is not None:
            n, size_bytes = n + len(removed.names), size_bytes + removed.size_bytes
    return {"n_removed_tensors": n, "removed_bytes": size_bytes} if n else {}


def _rank_steps(raw: Path) -> Iterable[Path]:
    found = 0
    for folder, _, names in os.walk(raw):
        if REMOVED_FILE in names and found < MAX_FOLDERS:
            found += 1
            yield Path(folder)


def _files_of(rank: RankOverflow, calls: range) -> frozenset[str]:
    leaves = rank.dump.leaves
    names = set()
    for call in calls:
        for code in leaves.data_name[rank.dump.leaf_range(call).start : rank.dump.leaf_range(call).stop]:
            if code >= 0:
                names.add(leaves.data_names[int(code)])
    return frozenset(names)


def _healthy(rank: RankOverflow, retro: int) -> list[str]:
    """Files of calls that were found whole: not of the last ones, nor of one with a tensor nobody judged."""
    leaves, health = rank.dump.leaves, rank.health
    n = len(rank.dump.calls.names)
    is_open = (leaves.kind == TENSOR) & ~health.is_known & (health.n_elements != 0) & health.is_float
    spared = np.zeros(n, np.bool_)
    spared[leaves.call[is_open]] = True
    spared[max(0, n - retro) :] = True
    rows = np.flatnonzero((leaves.data_name >= 0) & ~spared[leaves.call])
    return [leaves.data_names[int(code)] for code in leaves.data_name[rows]]


def _others(tensor_dir: Path, kept: frozenset[str], young_s: float) -> list[str]:
    """All files there but the kept ones and those not older than that."""
    before_ns = time.time_ns() - int(young_s * 1e9)
    found = []
    try:
        with os.scandir(tensor_dir) as entries:
            for entry in entries:
                if entry.name not in kept and entry.is_file(follow_symlinks=False):
                    if entry.stat(follow_symlinks=False).st_mtime_ns <= before_ns:
                        found.append(entry.name)
    except OSError:
        return found
    return found


def _remove(folder: Path, tensor_dir: Path, names: Iterable[str]) -> None:
    """Note them, then remove them."""
    present = []
    for name in names:
        path = tensor_dir / name
        try:
            if path.parent == tensor_dir and not path.is_symlink():
                present.append((name, path.stat().st_size))
        except (OSError, ValueError):
            continue  # removed by an earlier look
    if not present:
        return
    try:
        with (folder / REMOVED_FILE).open("a", encoding="utf-8") as file:
            file.writelines(line_of(name, size) for name, size in present if "\n" not in name)
            file.flush()
    except OSError:
        return
    for name, _ in present:
        try:
            (tensor_dir / name).unlink()
        except OSError:
            continue
