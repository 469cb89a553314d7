"""What every reader of logs promises: bounded memory and time, whatever the bytes are."""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from npulse.core.formats.memory_texts import MemoryTextReader
from npulse.core.formats.memscope import MemscopeReader
from npulse.core.formats.memscope_console import MemscopeConsoleReader
from npulse.core.formats.msdebug import MsdebugReader
from npulse.core.formats.plog.reader import PlogReader

READERS: tuple[Callable[[], Any], ...] = (
    PlogReader,
    MemoryTextReader,
    MemscopeReader,
    MemscopeConsoleReader,
    MsdebugReader,
)
CHUNK = 1 << 20

pytestmark = pytest.mark.parametrize("make", READERS)


def peak_bytes(make: Callable[[], Any], chunk: bytes, n_chunks: int) -> tuple[int, Any]:
    """The most memory that a reader took for itself, and the reader; its records are let go."""
    reader = make()
    tracemalloc.start()
    try:
        for _ in range(n_chunks):
            reader.feed(chunk)
        reader.finish()
        return tracemalloc.get_traced_memory()[1], reader
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "fill", [b"x", b"\0", b"retCode=0x31 ", b"\x1b[31m", b"\xff", b'"', b",", "核".encode()]
)
def test_one_line_of_fifty_megabytes(make: Callable[[], Any], fill: bytes) -> None:
    chunk = (fill * (CHUNK // len(fill) + 1))[:CHUNK]
    begin = time.process_time()
    peak, reader = peak_bytes(make, chunk, 50)
    assert peak < 6 * CHUNK
    assert time.process_time() - begin < 20
    assert len(reader.problems) <= 21


def test_problems_of_bad_lines_do_not_pile_up(make: Callable[[], Any]) -> None:
    line = b"retCode=0x31 NPU out of memory. Mb(s) \xff\xff" + b'"' + b"y" * 70_000 + b"\n"
    _, reader = peak_bytes(make, line, 300)
    assert len(reader.problems) <= 21


@pytest.mark.parametrize("seed", range(3))
def test_random_bytes(make: Callable[[], Any], seed: int) -> None:
    chunk = random.Random(seed).randbytes(CHUNK)
    peak, _ = peak_bytes(make, chunk, 3)
    assert peak < 12 * CHUNK


def test_what_is_kept_between_chunks_does_not_grow(make: Callable[[], Any]) -> None:
    """Processes, tracebacks and streams that never end, each with a name of its own."""
    reader = make()
    tracemalloc.start()
    try:
        sizes = []
        for part in range(4):
            for n in range(part * 2000, part * 2000 + 2000):
                text = (
                    f"(W{n} pid={n}) Traceback (most recent call last):\n"
                    f"(W{n} pid={n}) block_size={n}\n(W{n} pid={n}) ERR00100 x\n"
                    f"[ERROR] RUNTIME({n},a):2026-08-29-10:15:07.113.217 [f.cc:1]8 F:Task run failed, \n"
                    f"(W{n} pid={n}) ====== ERROR: Detected memory leaks on device 3 ======\n"
                )
                reader.feed(text.encode())
            sizes.append(tracemalloc.get_traced_memory()[0])
        assert sizes[3] - sizes[1] < 200_000
    finally:
        tracemalloc.stop()
