"""What msprof samples of the host while it collects: cpu time and memory of the process, in text slices.

Slices are one text that was cut every two megabytes: a line may go on in the next one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from npulse.core.dataclass import dataclass

from ...errors import InputError
from ...files import open_input, shown_path
from ...findings import Problem
from ..json_window import Notes

MAX_BYTES = 256 << 20
MAX_SAMPLES = 1_000_000
KEPT_SAMPLES = 2000
"""Of what is followed: 40 seconds at the usual rate."""
MAX_LINE_BYTES = 1 << 16
MAX_THREADS = 100_000
BLOCK_BYTES = 1 << 20
TICKS_PER_S = 100
"""Linux counts cpu time for programs in hundredths of a second, whatever the kernel was built with."""
PAGE_BYTES = 4096
_MAX_INT64 = 2**63 - 1


@dataclass(frozen=True, slots=True)
class HostSamples:
    """One figure over time. ns int64: monotonic clock of the host, rising (`SessionTimes.offset_ns` makes it
    time since 1970). values float64. n_dropped: samples that could not be read or were not later than the one
    before. is_cut: the text ends inside a sample, which is not among them."""

    ns: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    n_dropped: int = 0
    is_cut: bool = False
    problems: tuple[Problem, ...] = ()


def read_host_cpu(
    slices: Sequence[Path], *, root: Path | None = None, ticks_per_s: int = TICKS_PER_S
) -> HostSamples:
    """Cores that the process kept busy (1.5: one and a half) between a sample and the one before it.

    slices: those of host_cpu.data in their order. Of each thread user and system time count; what a thread
    did that ended between two samples is lost. The last sample is not told: lines of it may be missing.
    Problems: slices that cannot be read, what lies behind 256 MB.
    Raises InputError where no slice can be read.
    """
    return _read(slices, root, HostCpu(ticks_per_s))


def read_host_memory(
    slices: Sequence[Path], *, root: Path | None = None, page_bytes: int = PAGE_BYTES
) -> HostSamples:
    """Resident memory of the process in bytes.

    slices: those of host_mem.data in their order, lines "ns size resident ...", in pages. page_bytes: of the
    host, which the file does not say: 4096, on some Arm kernels 65536.
    """
    return _read(slices, root, HostMemory(page_bytes))


class _Samples:
    """Samples as their lines come. ns, values, n_dropped: as in `HostSamples`, so far."""

    def __init__(self) -> None:
        self.ns, self.values = array("q"), array("d")
        self.n_dropped = 0

    def add(self, line: bytes) -> None:
        """The next line, without its end."""
        raise NotImplementedError


class HostCpu(_Samples):
    """Cores that are busy, of the lines of host_cpu.data; see `read_host_cpu`."""

    def __init__(self, ticks_per_s: int = TICKS_PER_S) -> None:
        super().__init__()
        self._ticks_per_s = ticks_per_s
        self._is_open = False
        self._at: int | None = None
        self._threads: dict[bytes, int] = {}
        self._before: dict[bytes, int] | None = None
        self._before_ns = 0

    def add(self, line: bytes) -> None:
        if line.startswith(b"time "):
            if self._is_open:
                self._close()
            self._at, self._threads, self._is_open = _whole(line[5:].strip()), {}, True
            return
        found = _thread(line)
        if found is not None:
            self._threads[found[0]] = found[1]
            if len(self._threads) > MAX_THREADS:  # no process has so many
                self._at, self._threads = None, {}

    def _close(self) -> None:
        """The sample has all its lines: the next one begins."""
        at, threads, before = self._at, self._threads, self._before
        if at is None or not threads or (before is not None and at <= self._before_ns):
            self.n_dropped += 1
            return
        if before is not None:
            used = sum(max(ticks - before.get(thread, 0), 0) for thread, ticks in threads.items())
            self.ns.append(at)
            self.values.append(used / self._ticks_per_s / ((at - self._before_ns) / 1e9))
        self._before, self._before_ns = threads, at


class HostMemory(_Samples):
    """Resident memory, of the lines of host_mem.data; see `read_host_memory`."""

    def __init__(self, page_bytes: int = PAGE_BYTES) -> None:
        super().__init__()
        self._page_bytes = page_bytes

    def add(self, line: bytes) -> None:
        cells = line.split()
        if not cells:
            return
        at = _whole(cells[0])
        resident = _whole(cells[2]) if len(cells) >= 3 else None
        if at is None or resident is None or (self.ns and at <= self.ns[-1]):
            self.n_dropped += 1
            return
        self.ns.append(at)
        self.values.append(float(resident) * self._page_bytes)


class SampleTail:
    """Samples of slices as they are written: feed their bytes in order; a line may go on in the next slice.

    Only the last `n_kept` samples, or up to twice as many, are kept.
    """

    def __init__(self, samples: HostCpu | HostMemory, n_kept: int = KEPT_SAMPLES) -> None:
        self._samples = samples
        self._n_kept = n_kept
        self._rest = b""

    def feed(self, raw: bytes) -> None:
        *whole, rest = (self._rest + raw).split(b"\n")
        self._rest = rest if len(rest) <= MAX_LINE_BYTES else b""
        for line in whole:
            if len(line) <= MAX_LINE_BYTES:
                self._samples.add(line)
        if len(self._samples.ns) > 2 * self._n_kept:
            del self._samples.ns[: -self._n_kept], self._samples.values[: -self._n_kept]

    def skip(self) -> None:
        """A slice is missing: what comes does not go on from what was there."""
        self._rest = b""

    def last(self) -> HostSamples:
        """The newest samples."""
        one = self._samples
        return HostSamples(
            np.array(one.ns[-self._n_kept :], np.int64),
            np.array(one.values[-self._n_kept :], np.float64),
            one.n_dropped,
            bool(self._rest),
        )


def _read(slices: Sequence[Path], root: Path | None, found: HostCpu | HostMemory) -> HostSamples:
    text = _Slices(slices, root)
    for line in text.lines():
        found.add(line)
        if len(found.ns) >= MAX_SAMPLES:
            text.notes.add("limit", f"at most {MAX_SAMPLES:,} samples are read", None, is_last=True)
            break
    text.notes.close()
    return HostSamples(
        np.array(found.ns, np.int64),
        np.array(found.values, np.float64),
        found.n_dropped,
        text.is_cut,
        tuple(text.problems),
    )


def _thread(line: bytes) -> tuple[bytes, int] | None:
    """Id and ticks of a line of /proc/PID/task/*/stat. The name in brackets may hold blanks and brackets."""
    head, bracket, rest = line.rpartition(b")")
    cells = rest.split()
    if not bracket or len(cells) < 13:
        return None
    user, system = _whole(cells[11]), _whole(cells[12])
    thread = head.partition(b"(")[0].strip()
    return None if user is None or system is None or not thread else (thread, user + system)


def _whole(cell: bytes) -> int | None:
    if not cell.isdigit() or len(cell) > 19:
        return None
    value = int(cell)
    return value if value <= _MAX_INT64 else None


class _Slices:
    """Lines of several files as of one. is_cut: the last line has no end."""

    def __init__(self, slices: Sequence[Path], root: Path | None) -> None:
        self.is_cut = False
        self.problems: list[Problem] = []
        self._slices = slices
        self._root = root
        name = shown_path(slices[-1], root) if slices else ""
        self.notes = Notes(name, self.problems)

    def lines(self) -> Iterator[bytes]:
        """Whole lines without their ends; one that is too long is left out."""
        rest = b""
        n_left = MAX_BYTES
        failed: list[InputError] = []
        for path in self._slices:
            try:
                file, _ = open_input(path, self._root)
            except InputError as error:
                failed.append(error)
                self.notes.add("unreadable", f"{path.name}: {error.message}", None)
                rest = b""  # what follows does not go on from it
                continue
            with file:
                while n_left > 0:
                    try:
                        raw = file.read(min(BLOCK_BYTES, n_left)) or b""
                    except OSError as error:
                        self.notes.add("unreadable", f"{path.name}: reading failed: {error.strerror}", None)
                        break
                    if not raw:
                        break
                    n_left -= len(raw)
                    *whole, rest = (rest + raw).split(b"\n")
                    if len(rest) > MAX_LINE_BYTES:
                        self.notes.add("too-large", "a line is too long; its begin is left out", None)
                        rest = b""
                    yield from (line for line in whole if len(line) <= MAX_LINE_BYTES)
            if n_left <= 0:
                self.notes.add("limit", f"only the first {MAX_BYTES:,} bytes were read", None, is_last=True)
                break
        if failed and len(failed) == len(self._slices):
            raise failed[0]
        self.is_cut = bool(rest)
