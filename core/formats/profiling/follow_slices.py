"""Samples of the host out of a session that is being written: each slice read on, one behind the other."""

from __future__ import annotations

from pathlib import Path

from npulse.core.dataclass import dataclass

from ...errors import InputError
from ...tails import Tails
from .host_samples import HostCpu, HostMemory, HostSamples, SampleTail
from .session import slices_of
from .session_folders import slice_of

CPU, MEMORY = "host_cpu.data", "host_mem.data"


@dataclass(slots=True)
class _Slices:
    """The slices of one family. number, path: of the one that was read last; those before it are whole."""

    samples: SampleTail
    number: int = -1
    path: Path | None = None


def follow_samples(folder: Path, family: str, tails: Tails, *, root: Path | None = None) -> HostSamples:
    """The newest samples of a PROF_* folder. family: CPU (cores that are busy) or MEMORY (bytes).

    Nothing where there are no slices or none can be read. A slice that was deleted before it was read (to
    save space) leaves a gap. Cost: a listing, and the new bytes.
    """
    key = ("samples", folder, family)
    kept = tails.kept.get(key)
    if kept is None:
        kept = tails.kept[key] = _Slices(SampleTail(HostCpu() if family == CPU else HostMemory()))
    state: _Slices = kept
    for path in slices_of(folder, "host", family, root=root):
        number = slice_of(path.name)[1] or 0
        if number < state.number:
            continue
        if number > state.number + 1:
            state.samples.skip()
        try:
            tails.read(path, root, lambda: state.samples, kind=family)
        except InputError:
            continue
        if number > state.number:
            if state.path is not None:
                tails.let_go(state.path, family)
            state.number, state.path = number, path
    return state.samples.last()
