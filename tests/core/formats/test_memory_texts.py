# ruff: noqa: E501 - log lines as they are

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats import memory_texts
from npulse.core.formats.memory_texts import (
    BufferOverflow,
    GuideCode,
    MemoryText,
    MemoryTextReader,
    OutOfMemory,
    read_memory_texts,
)

GIB = 1 << 30
MIB = 1 << 20


def fed(content: bytes, sizes: list[int]) -> list[MemoryText]:
    reader = MemoryTextReader()
    records: list[MemoryText] = []
    at = 0
    for size in sizes:
        records += reader.feed(content[at : at + size])
        at += size
    records += reader.feed(content[at:]) + reader.finish()
    return records


def one(text: str) -> MemoryText:
    (found,) = fed(text.encode() + b"\n", [])
    return found


def sizes_of(found: MemoryText) -> dict[str, int]:
    assert isinstance(found, OutOfMemory)
    names = [name for name in OutOfMemory.__slots__ if name.endswith("_bytes")]
    return {name: getattr(found, name) for name in names if getattr(found, name) is not None}


def gib(hundredths: int) -> int:
    return round(Fraction(hundredths, 100) * GIB)


# ---- device memory ----


def test_the_message_of_torch_npu() -> None:
    found = one(
        "RuntimeError: NPU out of memory. Tried to allocate 5.03 GiB (NPU 3; 60.96 GiB total capacity; 49.47 GiB already "
        "allocated; 49.48 GiB current active; 1.32 GiB free; 57.55 GiB reserved in total by PyTorch) If reserved memory is "
        ">> allocated memory try setting max_split_size_mb to avoid fragmentation."
    )
    assert isinstance(found, OutOfMemory)
    assert (found.allocator, found.device, found.device_id) == ("caching", "NPU", 3)
    assert sizes_of(found) == {
        "tried_bytes": gib(503),
        "total_bytes": gib(6096),
        "allocated_bytes": gib(4947),
        "active_bytes": gib(4948),
        "free_bytes": gib(132),
        "reserved_bytes": gib(5755),
    }
    assert found.tried_bytes == 5_400_921_375  # 5.03 * 2**30 = 5400921374.72
    assert found.text.startswith("NPU out of memory. Tried") and found.text.endswith("fragmentation.")


def test_a_limit_and_the_message_of_older_versions() -> None:
    limited = one(
        "NPU out of memory. Tried to allocate 20.00 MiB (NPU 0; 32.00 GiB total capacity; 6.30 GiB already allocated; "
        "6.30 GiB current active; 24.39 GiB free; 8.00 GiB allowed; 6.55 GiB reserved in total by PyTorch)"
    )
    assert sizes_of(limited)["allowed_bytes"] == 8 * GIB
    old = one(
        "NPU out of memory. Tried to allocate 512 bytes (NPU 0; 32.00 GiB total capacity; 31.00 GiB already allocated; "
        "1.00 KiB free; 2.50 MiB cached)"
    )
    assert sizes_of(old) == {
        "tried_bytes": 512,
        "total_bytes": 32 * GIB,
        "allocated_bytes": 31 * GIB,
        "free_bytes": 1024,
        "cached_bytes": 5 * MIB // 2,
    }


def test_the_workspace_allocator() -> None:
    found = one(
        "[rank0]:[E107 02:38:42.269390205 compiler_depend.ts:444] NPU out of memory. NPUWorkspaceAllocator tried to allocate "
        "180.00 MiB(NPU 7; 60.96 GiB total capacity; 89.51 MiB free). If you want to reduce memory usage, ..."
    )
    assert isinstance(found, OutOfMemory)
    assert (found.allocator, found.device_id, found.origin) == ("workspace", 7, "[rank0]")
    assert sizes_of(found) == {
        "tried_bytes": 180 * MIB,
        "total_bytes": gib(6096),
        "free_bytes": round(Fraction(8951, 100) * MIB),
    }


def test_a_pool_in_place_of_the_allocator() -> None:
    found = one("NPU out of memory. Tried to allocate 20.00 MiB (NPU:1); with 6.50 GiB total allocated.")
    assert isinstance(found, OutOfMemory) and (found.allocator, found.device_id) == ("pool", 1)
    assert sizes_of(found) == {"tried_bytes": 20 * MIB, "allocated_bytes": 13 * GIB // 2}


def test_the_newer_message_of_torch() -> None:
    found = one(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 5 has a total capacity of 79.14 GiB of "
        "which 1.25 GiB is free. Including non-PyTorch memory, this process has 77.50 GiB memory in use. Of the allocated "
        "memory 70.00 GiB is allocated by PyTorch, and 5.00 GiB is reserved by PyTorch but unallocated."
    )
    assert isinstance(found, OutOfMemory) and (found.device, found.device_id) == ("CUDA", 5)
    assert sizes_of(found) == {
        "tried_bytes": 2 * GIB,
        "total_bytes": gib(7914),
        "free_bytes": 5 * GIB // 4,
        "in_use_bytes": 155 * GIB // 2,
        "allocated_bytes": 70 * GIB,
        "cached_bytes": 5 * GIB,
    }


def test_a_message_that_is_cut_short() -> None:
    found = one("torch.OutOfMemoryError: NPU out of memory. Tried to allocate 2.00 GiB")
    assert sizes_of(found) == {"tried_bytes": 2 * GIB}
    assert isinstance(found, OutOfMemory) and found.device_id is None
    assert sizes_of(one("RuntimeError: NPU out of memory. ...")) == {}


def test_mindspore_and_hccl() -> None:
    found = one(
        "RuntimeError: Device(id:2) memory isn't enough and alloc failed, kernel name: Default/net/Add-op1, alloc size: 8192B."
    )
    assert isinstance(found, OutOfMemory)
    assert (found.allocator, found.device_id, found.tried_bytes, found.kernel_name) == (
        *("mindspore", 2),
        *(8192, "Default/net/Add-op1"),
    )
    plain = one("Device memory isn't enough and alloc failed, alloc size:77")
    assert isinstance(plain, OutOfMemory) and (plain.device_id, plain.tried_bytes) == (None, 77)
    asked = one(
        "EI0011: [PID: 9] 2026-01-20-02:28:36.670.614 Failed to allocate [1048576] bytes of NPU memory."
    )
    assert isinstance(asked, OutOfMemory) and (asked.allocator, asked.tried_bytes) == ("hccl", MIB)


def test_other_talk_of_memory_is_no_record() -> None:
    assert fed(b"out of memory\nthe stack is out of memory.\nbytes of NPU memory\n3 GiB free\n", []) == []


# ---- on-chip buffers ----


def test_a_buffer_that_is_too_small() -> None:
    found = one(
        'E loc("/tmp/k.ttadapter.mlir":3:7): error: ub overflow, requires 3072256 bits while 1572864 bits available! (possible '
        "reason: tiling basic block is too large)"
    )
    assert isinstance(found, BufferOverflow)
    assert (found.buffer, found.required_bits, found.available_bits) == ("ub", 3072256, 1572864)
    assert (found.required_bytes, found.available_bytes) == (384032, 196608)
    assert (found.path, found.source_line, found.column, found.block_size) == (
        *("/tmp/k.ttadapter.mlir", 3),
        *(7, None),
    )


def test_other_buffers_spellings_and_odd_bits() -> None:
    found = one("error: cbuf overflow, requires 1966849 bits while 1572871 bits avaliable!")
    assert isinstance(found, BufferOverflow) and (found.buffer, found.path) == ("cbuf", "")
    assert (found.required_bytes, found.available_bytes) == (245857, 196608)  # 245856.1 and 196608.9


def test_the_last_place_in_front_of_the_message_counts() -> None:
    found = one(
        'loc("a.py":1:1): note loc("b.py":9:0): error: UB overflow, requires 9 bits while 8 bits available!'
    )
    assert isinstance(found, BufferOverflow)
    assert (found.path, found.source_line, found.column, found.buffer) == ("b.py", 9, 0, "UB")


@pytest.mark.parametrize(
    ("text", "buffer", "required", "available"),
    [
        ("Allocation exceed bound of memory tag local.inp_buffer (524288 vs. 262144 bits)", "local.inp_buffer", 524288, 262144),
        ("Allocation exceed bound of memory tag local.UB: need 3000 bits, total alloc 20 bits.", "local.UB", 3000, None),
        ("TVMError: Allocation exceed bound of memory tag:local.UB", "local.UB", None, None),
    ],
)  # fmt: skip
def test_tvm_says_it_otherwise(text: str, buffer: str, required: int | None, available: int | None) -> None:
    found = one(text)
    assert isinstance(found, BufferOverflow)
    assert (found.buffer, found.required_bits, found.available_bits) == (buffer, required, available)
    assert (found.required_bytes is None) == (required is None)


def test_the_block_size_that_the_same_process_printed_last() -> None:
    error = "error: ub overflow, requires 16 bits while 8 bits available!\n"
    text = (
        f"block_size=128\n==block_size= 256\n{error}"
        f"[rank1]:BLOCK_SIZE: 64\n[rank1]:{error}[rank2]:{error}"
        f"block_sizes=3\nmy_block_size=4\n{error}"
    )
    found = fed(text.encode(), [])
    assert [r.block_size for r in found if isinstance(r, BufferOverflow)] == [256, 64, None, 256]
    assert [(r.line, r.origin) for r in found] == [(3, ""), (5, "[rank1]"), (6, "[rank2]"), (9, "")]


# ---- as it grows, files, hostile bytes ----

SESSION = (
    b"block_size=38400\r\n(W pid=7) NPU out of memory. Tried to allocate 1.50 GiB (NPU 0; 3 GiB total capacity) \xe5\x86\x85\xe5\xad\x98\n"
    b'loc("a.py":31:0): error: ub overflow, requires 2457600 bits while 1572864 bits available!\n'
    b"NPU out of memory. Tried to allocate 2.00 GiB"
)


def test_any_cut_changes_nothing() -> None:
    whole = fed(SESSION, [])
    assert [(r.line, r.byte, r.pid) for r in whole] == [
        (2, 18, 7),
        (3, SESSION.index(b"loc("), None),
        (4, SESSION.rindex(b"NPU out"), None),
    ]
    for at in range(len(SESSION) + 1):
        assert fed(SESSION, [at]) == whole
    assert fed(SESSION, [1] * len(SESSION)) == whole


@given(st.lists(st.integers(1, 60), max_size=20))
def test_random_cuts_change_nothing(sizes: list[int]) -> None:
    assert fed(SESSION, sizes) == fed(SESSION, [])


def test_reading_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(SESSION)
    found = read_memory_texts(path, root=tmp_path)
    assert (list(found.records), found.problems) == (fed(SESSION, []), ())
    monkeypatch.setattr(memory_texts, "MAX_RECORDS", 2)
    limited = read_memory_texts(path, root=tmp_path)
    assert (len(limited.records), limited.problems[0].kind, limited.problems[0].line) == (2, "limit", 4)
    with pytest.raises(InputError):
        read_memory_texts(tmp_path / "b.log", root=tmp_path)


PARTS = [
    *(word.decode() for word in memory_texts._WORDS),
    *(
        "NPU out of memory. ",
        "Tried to allocate 1 GiB ",
        "(NPU 0; ",
        "1.00 GiB ",
        "9" * 30,
        " free",
        "already allocated; ",
    ),
    *(
        "kernel name: ",
        ", alloc size: ",
        "ub overflow, requires 16 bits while 8 bits available",
        'loc("',
        '":1:1)',
        "\n",
        "\0",
    ),
    *("exceed bound of memory tag local.UB", "block_size=", "x" * 40, " " * 40),
]


@given(st.lists(st.sampled_from(PARTS), max_size=60), st.lists(st.integers(1, 200), max_size=5))
def test_any_mixture_of_its_words_is_survived(parts: list[str], sizes: list[int]) -> None:
    content = "".join(parts).encode()
    assert fed(content, sizes) == fed(content, [])


@given(st.binary(max_size=2000))
def test_any_bytes_are_survived(content: bytes) -> None:
    fed(content, [])


@pytest.mark.parametrize("word", PARTS)
def test_no_word_repeated_is_slow(word: str) -> None:
    body = (word.replace("\n", " ") * (60_000 // len(word)))[:60_000]
    content = (
        f"NPU out of memory. exceed bound of memory tag isn't enough and alloc failed {body}\n".encode() * 5
    )
    begin = time.process_time()
    fed(content, [])
    assert time.process_time() - begin < 1.0


# ---- other units and places of compilers ----


@pytest.mark.parametrize(
    ("text", "required", "available"),
    [
        ("error: UB overflow, requires 250000 bytes while 196608 bytes available!", 2_000_000, 1_572_864),
        ("error: ub overflow, requires 2,457,600 bits while 1,572,864 bits available!", 2_457_600, 1_572_864),
        ("error: Ub Overflow: requires 300 KiB, available 192 KiB", 2_457_600, 1_572_864),
        ("error: cbuf overflow, requires 1.5 MiB while 512 KiB available!", 12_582_912, 4_194_304),
        # 0.3 KiB are 2,457.6 bits: what is needed rounds up, what there is rounds down
        ("error: ub overflow, requires 0.3 KiB while 0.3 KiB available!", 2458, 2457),
    ],
)
def test_a_compiler_may_count_in_other_units(text: str, required: int, available: int) -> None:
    found = one(text)
    assert isinstance(found, BufferOverflow)
    assert (found.required_bits, found.available_bits) == (required, available)


@pytest.mark.parametrize(
    ("head", "place"),
    [
        ("/home/u/kernel.py:31:0: error: ", ("/home/u/kernel.py", 31, 0)),
        ("/t/x/k.ttadapter.mlir:8:3: error: ", ("/t/x/k.ttadapter.mlir", 8, 3)),
        ("note k.cpp:9: fatal error: ", ("k.cpp", 9, None)),
        ("C:\\src\\k.py:4:2: error: ", ("C:\\src\\k.py", 4, 2)),
        ('a.py:1:2: error: loc("b.py":7:5): error: ', ("b.py", 7, 5)),
        ("<unknown>:0: error: ", ("", None, None)),
        ("at 12:30:01 error: ", ("", None, None)),
        ("a.py:1:2: warning: ", ("", None, None)),
    ],
)
def test_the_place_in_front_of_the_message(head: str, place: tuple[str, int | None, int | None]) -> None:
    found = one(f"{head}L0C overflow, requires 2457600 bits while 1048576 bits available!")
    assert isinstance(found, BufferOverflow)
    assert (found.path, found.source_line, found.column) == place


def test_a_block_size_belongs_to_the_file_whose_error_came_next() -> None:
    def error(file: str) -> str:
        return f'loc("{file}":3:1): error: ub overflow, requires 16 bits while 8 bits available!\n'

    text = (
        f"BLOCK_SIZE: 1024\n{error('a.py')}BLOCK_SIZE: 512\n{error('a.py')}"
        f"{error('b.py')}{error('a.py')}BLOCK_SIZE: 64\n{error('b.py')}{error('a.py')}"
    )
    sizes = [(r.path, r.block_size) for r in fed(text.encode(), []) if isinstance(r, BufferOverflow)]
    assert sizes == [
        *(("a.py", 1024), ("a.py", 512), ("b.py", None)),  # nobody printed one for b.py
        *(("a.py", 512), ("b.py", 64), ("a.py", None)),
    ]


# ---- codes that only guides know ----


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("E1001: size of x exceeds", "E1001"),
        ("[E2003] UB overflow", "E2003"),
        ("[ERROR] E2003: UB size is not enough", "E2003"),
        ("[ERROR] E2003 UB size is not enough", "E2003"),
        ("[rank0]: ERROR: E3005 kernel timeout", "E3005"),
        ("error E3005: timeout", "E3005"),
        ("Error code: E1001", "E1001"),
        ("error code is E1001, see the guide", "E1001"),
        ("错误码：E3005", "E3005"),
        ("[mssanitizer] ERROR: E1001 out of bounds", "E1001"),
        ("RuntimeError: [E2003] UB overflow", "E2003"),
    ],
)
def test_an_error_text_that_begins_with_a_code_of_guides(text: str, code: str) -> None:
    found = one(text)
    assert isinstance(found, GuideCode) and found.code == code
    assert found.text.endswith(text[-9:])


@pytest.mark.parametrize(
    "text",
    [
        "E1001 02:38:42.269390 12345 allocator.cc:444] first of October",
        "[E1001 02:38:42.269390205 compiler_depend.ts:444] the same",
        "ERROR E1001 02:38:42 again",
        "E1001:12:30 a clock",
        "address 0xE1001: bad",
        "0xE2003: bad",
        "/a/E1001: no such file",
        "E1001/x.py:3: error",
        "E1001.py:3: error: x",
        "E1001-b: x",
        "AE1001: x",
        "E10010: x",
        "EE1001: x",
        "something E2003: here",
        "E1001 rows were read",
        "| E1001 | a table of a guide |",
        "errors: E1001x",
    ],
)
def test_what_only_looks_like_such_a_code(text: str) -> None:
    assert fed(text.encode() + b"\n", []) == []
