"""Faults that repeat others are told and grouped as if each had been read on its own."""

from __future__ import annotations

from typing import Any

import pytest

from npulse.core.formats.mssanitizer.again import Again, Shapes
from npulse.core.formats.mssanitizer.reader import Reader
from npulse.core.memory import building, sites
from npulse.core.memory.faults import Frame
from npulse.core.memory.followed import Followed

from .long_logs import record

FLAG = (
    "====== WARNING: Unpaired set_flag instructions detected\n======    from PIPE_MTE3 to PIPE_MTE2 in k\n"
    "======    in block aiv({n}) on device 0\n======    code in pc current 0x{n:x} (serialNo:{n})\n"
    "======    #0 /a.cpp:7:5\n\n"
)
NOWHERE = (
    "====== ERROR: illegal read of size {n}\n======    at 0x{n:x} on UB in k\n"
    "======    in block aic(1-{n}) on device {n}\n======    code in pc current 0x{n:x} (serialNo:{n})\n"
    "======    #0 <unknown>:0\n\n"
)
RACE = (
    "====== ERROR: Potential RAW hazard detected at UB in k:\n"
    "======    PIPE_MTE2 Write at RAW()+0x{n:x} in block {n} (aiv) on device 0 at"
    " pc current 0x{n:x} (serialNo:{m})\n"
    "======    #0 /a.cpp:{line}:5\n======    #1 /a.cpp:70:5\n"
    "======    PIPE_MTE3 Read at RAW()+0x{m:x} in block {m} (aiv) on device 1 at"
    " pc current 0x{m:x} (serialNo:{n})\n"
    "======    #0 /a.cpp:9:5\n\n"
)
ODD = (
    "======    #9 /late.cpp:1:1\n",
    "[mssanitizer] Start memcheck sanitizer on kernel k\n",
    record(5).replace("\n", "\r\n"),
    record(6).replace("of size ", "of size 0"),
    record(7).replace(":9\n", ":9 // said by somebody\n", 1),
    record(8)[:-1],
    record(9).replace("on device", "at device"),
)


def _log() -> bytes:
    """Repeats, with what is none between them, at another place of the shapes each time."""
    parts = []
    for n in range(240):
        parts += [record(n * 400 % 997), record(n), FLAG.format(n=n % 50 + 1), NOWHERE.format(n=n % 9 + 1)]
        parts += [RACE.format(n=n % 60 + 1, m=n * 7 % 61 + 1, line=(0, 6, 7)[n % 3])]
        parts += [ODD[n // 7 % len(ODD)]] if n % 7 == 0 else []
    return "".join(parts).encode()


LOG = _log()


def innermost(frames: tuple[Frame, ...]) -> Frame | None:
    return frames[0] if frames else None


def _no_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(shapes: Shapes, buffer: bytes, at: int, end: int, line: int, shift: int) -> Any:
        return [], at, line

    monkeypatch.setattr(Shapes, "read", none)


@pytest.mark.parametrize("n_bytes", [911, 1 << 20])
def test_records_are_those_that_are_read_line_by_line(monkeypatch: pytest.MonkeyPatch, n_bytes: int) -> None:
    def read() -> tuple[object, ...]:
        reader = Reader("a.log")
        chunks = [LOG[at : at + n_bytes] for at in range(0, len(LOG), n_bytes)]
        found = [one for chunk in chunks for one in reader.feed(chunk)]
        return [*found, *reader.finish()], reader.state, reader.problems

    repeated = read()
    _no_shapes(monkeypatch)
    assert repeated == read()


def test_most_records_of_the_usual_log_are_repeats() -> None:
    records = [record(n) for n in range(1200)]
    found = Reader("a.log").take("".join(records).encode())
    races = Reader("a.log").take(
        "".join(RACE.format(n=3 + n % 2, m=4 - n % 2, line=6) for n in range(8)).encode()
    )
    assert [isinstance(one, Again) for one in races] == [n > 1 for n in range(8)]
    # what is no number of its own: read or write, and the call stack
    shapes = {(text.split(" of size")[0], text.partition("#0")[2]) for text in records}
    assert len(found) == len(records) and len(shapes) < len(records)
    assert sum(isinstance(one, Again) for one in found) == len(records) - len(shapes)


@pytest.mark.parametrize("max_kept", [sites.MAX_KEPT, 30])
def test_sites_are_those_of_whole_faults(monkeypatch: pytest.MonkeyPatch, max_kept: int) -> None:
    monkeypatch.setattr(sites, "MAX_KEPT", max_kept)
    for module in (sites, building):
        monkeypatch.setattr(module, "MAX_MEMBERS", 3)

    def grouped() -> object:
        log = Followed("a.log", "sanitizer.mssanitizer", innermost)
        for at in range(0, len(LOG), 10_000):
            log.feed(LOG[at : at + 10_000])
        return log.told.sites.snapshot(), log.told.n_faults, log.end(is_growing=False)

    repeated = grouped()
    _no_shapes(monkeypatch)
    assert repeated == grouped()
