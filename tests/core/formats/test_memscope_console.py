from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats import memscope_console
from npulse.core.formats.memscope_console import (
    MemscopeConsoleReader,
    MemscopeGap,
    MemscopeLeak,
    MemscopeLeakSummary,
    MemscopeNote,
    MemscopeWarning,
    read_memscope_console,
)

SESSION = b"""step 3 loss=1.0
====== ERROR: Detected memory leaks on device 3 ======
Direct PTA leak of 2.000000 Mb(s) at 0x12c0c0013000 in kernel_12 at step 3.
program output
Direct ATB leak of 0.000488 Mb(s) at 0x12c0c0015000 in kernel_14 at step 4.
====== SUMMARY: 2.00049 Mb(s) leaked in 2 allocation(s) ======
======= PTA Gap Analysis of Device 1 =======
\tMinAlloc/MaxAlloc(%)     MinAllocMem(MB)          StepId
MinGap\t99.1250                  12.5000                  4
MaxGap\t99.7500                  13.0000                  7
"""


def fed(content: bytes, sizes: list[int]) -> list[MemscopeNote]:
    reader = MemscopeConsoleReader()
    notes: list[MemscopeNote] = []
    at = 0
    for size in sizes:
        notes += reader.feed(content[at : at + size])
        at += size
    return notes + reader.feed(content[at:]) + reader.finish()


def test_leaks_and_gaps() -> None:
    at = {n: SESSION.index(text) for n, text in ((3, b"Direct PTA"), (5, b"Direct ATB"), (9, b"MinGap\t"))}
    summary, last = SESSION.index(b"====== SUMMARY"), SESSION.index(b"MaxGap\t")
    assert fed(SESSION, []) == [
        MemscopeLeak(3, at[3], 3, "PTA", 2 << 20, 0x12C0C0013000, 12, 3),
        MemscopeLeak(5, at[5], 3, "ATB", 512, 0x12C0C0015000, 14, 4),
        MemscopeLeakSummary(6, summary, 3, 2_097_666, 2),  # as it is rounded: the leaks sum to 2,097,664
        MemscopeGap(9, at[9], 1, "PTA", False, 99.125, 13_107_200, 4),
        MemscopeGap(10, last, 1, "PTA", True, 99.75, 13_631_488, 7),
    ]


def test_warnings_of_the_tools_own_log() -> None:
    text = b"""[npu 0][step 5]: ptr: 7f0012 has last for 3 steps. Please check if there is leaks in PTA.
[npu0 malloc][client 9]:!!! ------double malloc in PTA------!!!, ptr: 123
[npu2 free][client 9]:!!! ------free error in ATB------!!!, ptr: 124
[client 9][device: 1]: Leak memory in Malloc operator, addr: 0x7f
"""
    found = [note for note in fed(text, []) if isinstance(note, MemscopeWarning)]
    assert [(n.kind, n.device_id, n.pid, n.pool, n.address, n.step, n.n_steps) for n in found] == [
        ("held", 0, None, "PTA", 0x7F0012, 5, 3),
        ("allocated twice", 0, 9, "PTA", 123, None, None),
        ("released in vain", 2, 9, "ATB", 124, None, None),
        ("not released", 1, 9, "HAL", 0x7F, None, None),
    ]


def test_reports_of_mssanitizer_are_none() -> None:
    text = b"""====== ERROR: LeakCheck: detected memory leaks

======    Direct leak of 320 byte(s)
======      at 0x124080042000 on GM allocated in main.cpp:14 (serialNo:37)
====== SUMMARY: 320 byte(s) leaked in 1 allocation(s)
"""
    assert fed(text, []) == []


def test_devices_by_the_worker_that_lists_them() -> None:
    text = b"""[rank0]:====== ERROR: Detected memory leaks on device 0 ======
[rank1]:====== ERROR: Detected memory leaks on device 1 ======
[rank0]:Direct PTA leak of 1.000000 Mb(s) at 0x1 in kernel_1 at step 2.
[rank1]:Direct PTA leak of 1.000000 Mb(s) at 0x2 in kernel_1 at step 2.
[rank1]:====== SUMMARY: 1 Mb(s) leaked in 1 allocation(s) ======
Direct PTA leak of 1.000000 Mb(s) at 0x3 in kernel_1 at step 2.
"""
    assert [
        note.device_id for note in fed(text, []) if isinstance(note, MemscopeLeak | MemscopeLeakSummary)
    ] == [0, 1, 1, None]


def test_any_cut_changes_nothing() -> None:
    whole = fed(SESSION, [])
    for at in range(len(SESSION) + 1):
        assert fed(SESSION, [at]) == whole
    assert fed(SESSION.replace(b"\n", b"\r\n"), [1] * 700)[0].line == 3


def test_reading_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(SESSION)
    found = read_memscope_console(path, root=tmp_path)
    assert (list(found.notes), found.problems) == (fed(SESSION, []), ())
    monkeypatch.setattr(memscope_console, "MAX_RECORDS", 2)
    limited = read_memscope_console(path, root=tmp_path)
    assert (len(limited.notes), limited.problems[0].kind) == (2, "limit")


PARTS = [
    *(word.decode() for word in memscope_console._NOTE_WORDS),
    *(
        "====== ERROR: Detected memory leaks on device 3 ======",
        "Direct PTA leak of ",
        "1e99 Mb(s) at 0x1 in kernel_1",
    ),
    *(
        " at step 2",
        "====== SUMMARY: 1e99",
        " leaked in 1 allocation(s)",
        "9" * 30,
        "MinGap 1 2 3",
        " " * 40,
        "\n",
        "\0",
    ),
]


@given(st.lists(st.sampled_from(PARTS), max_size=60), st.lists(st.integers(1, 200), max_size=5))
def test_any_mixture_of_its_words_is_survived(parts: list[str], sizes: list[int]) -> None:
    content = "".join(parts).encode()
    assert fed(content, sizes) == fed(content, [])


@pytest.mark.parametrize("word", PARTS)
def test_no_word_repeated_is_slow(word: str) -> None:
    body = (word.replace("\n", " ") * (60_000 // len(word)))[:60_000]
    begin = time.process_time()
    fed(f" Mb(s) {body}\n".encode() * 5, [])
    assert time.process_time() - begin < 1.0
