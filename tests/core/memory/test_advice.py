"""Words about faults: every kind has some, figures are those of the fault, texts of logs are made safe."""

from __future__ import annotations

import re
import string
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.error_codes import ERROR_BITS, ERROR_CODES
from npulse.core.formats.hostsan.headers import INCOMPLETE
from npulse.core.formats.hostsan.headers import KINDS as HOST_KINDS
from npulse.core.formats.hostsan.undefined import KINDS as UNDEFINED_KINDS
from npulse.core.formats.mssanitizer.records import Gap, Kind
from npulse.core.memory import place_texts, texts
from npulse.core.memory.advice import gap_text, next_step, why
from npulse.core.memory.faults import Access, Block, Cores, Fault, Frame, Task
from npulse.core.memory.kind_texts import GAPS, KINDS, TEXTS
from npulse.core.memory.phrases import raised, sentences
from npulse.core.memory.rules import RULES
from npulse.core.text import UNSAFE_CODES, Lang

GIB = 1 << 30
LANGS: tuple[Lang, ...] = ("en", "zh")
UNSAFE = {chr(code) for code in UNSAFE_CODES}


def fault(kind: str, tool: Any = "msSanitizer", message: str = "", **fields: Any) -> Fault:
    return Fault(tool, kind, "error", message, "a.log", 1, 0, **fields)


def both(one: Fault) -> str:
    """All that is said in English."""
    return why(one, "en") + " " + next_step(one, "en")


# ---- the tables ----


def test_every_kind_of_every_tool_has_words_of_its_own() -> None:
    needed = {*get_args(Kind), *(kind for _, kind in UNDEFINED_KINDS)}
    needed |= {kind for _, kind in HOST_KINDS} - {"detected memory leaks"}  # the leaks themselves are faults
    assert needed - set(KINDS) == set()


def test_every_gap_has_words_of_its_own() -> None:
    needed = {*get_args(Gap), *INCOMPLETE, "in progress", "cut-off", "too-large", "encoding"}
    assert needed - set(GAPS) == set()


def fields_of(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_languages_have_the_same_figures() -> None:
    for key, (en, zh) in TEXTS.items():
        assert en.strip() and zh.strip(), key
        assert fields_of(en) == fields_of(zh), key
        assert not re.search("[\u4e00-\u9fff]", en), key


def test_kinds_name_texts_that_exist() -> None:
    named = {key for pair in KINDS.values() for key in pair}
    assert named <= set(TEXTS)
    assert all(key.startswith("why-") for key, _ in KINDS.values())
    assert all(key.startswith("next-") for _, key in KINDS.values())


@pytest.mark.parametrize("kind", [*KINDS, "memcpy-param-overlap", "strcpy-param-overlap", "something new"])
@pytest.mark.parametrize("lang", LANGS)
def test_a_fault_without_figures_gets_a_sentence_without_figures(kind: str, lang: Lang) -> None:
    bare = fault(kind, "AddressSanitizer")
    said = why(bare, lang)
    assert said.strip() and next_step(bare, lang).strip()
    assert said[-1] in ".。"
    assert not re.search(r"\d", said) and "None" not in said and "{" not in said
    assert not re.search(r"\ban? an?\b|  |\.\.", said)


# ---- memory checks ----


def test_a_write_behind_an_allocation() -> None:
    access = Access("write", 4, "GM", 0x12C0C0017010, kernel="add_custom")
    said = both(fault("illegal write", accesses=(access,), block=Block(4096, 0x12C0C0016000, "after", 16)))
    assert "write of 4 bytes at 0x12c0c0017010 on GM by kernel add_custom" in said
    assert "16 bytes after the end of a block of 4,096 bytes and reaches 20 bytes past" in said
    assert "index 1,028; the last one is 1,023" in said
    assert "allocations" in said


def test_an_access_beyond_the_unified_buffer() -> None:
    access = Access("read", 256, "UB", 192 * 1024 - 64)
    said = both(fault("illegal read", accesses=(access,)))
    assert "192 bytes beyond UB of 192 KiB (910B, A3)" in said and "256 KiB" not in said
    assert "InitBuffer" in said


def test_a_misaligned_access() -> None:
    said = why(fault("misaligned access", accesses=(Access("", 32, "UB", 0x404),)), "en")
    assert "0x404 is 4 bytes behind a boundary of 32 bytes, the next one is 28 bytes on" in said
    odd = why(fault("misaligned access", accesses=(Access("", 21, "UB", 0x20),)), "en")
    assert "21 bytes, is no multiple of 32 bytes" in odd and "behind" not in odd
    fine = why(fault("misaligned access", accesses=(Access("", 64, "UB", 0x40),)), "en")
    assert "stricter alignment" in fine


@pytest.mark.parametrize(
    ("first", "second", "step"),
    [(0, 0, "SetFlag"), (0, 3, "cross-core")],
)
def test_a_race_between_pipes_and_one_between_cores(first: int, second: int, step: str) -> None:
    sides = tuple(
        Access("write", None, "UB", 0, pipe=pipe, cores=(Cores("aiv", ((core, core),)),))
        for pipe, core in (("PIPE_MTE2", first), ("PIPE_V", second))
    )
    race = fault("race", hazard="RAW", accesses=sides)
    assert f"PIPE_MTE2 on aiv({first})" in why(race, "en") and f"PIPE_V on aiv({second})" in why(race, "en")
    assert "(RAW)" in why(race, "en")
    assert step in next_step(race, "en")


def test_a_race_between_devices_names_them() -> None:
    sides = tuple(
        Access("write", None, "GM", 0, device=device, pipe="PIPE_MTE3", cores=(Cores("aiv", ((0, 0),)),))
        for device in (0, 1)
    )
    said = why(fault("race", hazard="WAW", accesses=sides), "en")
    assert "on aiv(0) of device 0 and" in said and "of device 1." in said
    assert "of device" not in why(fault("race", hazard="WAW", accesses=sides[:1] * 2), "en")


def test_a_race_between_threads_of_one_block_names_them() -> None:
    sides = tuple(
        Access("write", None, "UB", device=0, cores=(Cores("aiv", ((0, 0),)),), thread=thread)
        for thread in ("(0,0,0)", "(5,0,0)")
    )
    race = fault("race", hazard="WAW", accesses=sides)
    assert "by thread (0,0,0) on aiv(0)" in why(race, "en") and "by thread (5,0,0) on" in why(race, "en")
    assert "(5,0,0)" in why(race, "zh")
    assert "__syncthreads" in next_step(race, "en") and "WaitFlag" not in next_step(race, "en")
    same = fault("race", hazard="WAW", accesses=sides[:1] * 2)
    assert "__syncthreads" not in next_step(same, "en")


def test_a_leak_that_hangs_on_another_one() -> None:
    direct, indirect = (fault("leak", "LeakSanitizer", figures={"reach": r}) for r in ("direct", "indirect"))
    assert next_step(direct, "en").startswith("Free it")
    assert "direct leak that holds it" in next_step(indirect, "en")


def test_an_access_inside_of_every_buffer_is_not_said_to_lie_outside_of_it() -> None:
    inside = why(fault("illegal read", accesses=(Access("read", 224, "UB", 0xA),)), "en")
    assert "inside UB of every known chip (the smallest has 192 KiB)" in inside
    assert "InitBuffer gave" in inside and "outside the buffer." not in inside
    unsized = why(fault("illegal read", accesses=(Access("read", None, "UB", 0xA),)), "en")
    assert "every known chip" not in unsized  # its end is not told


def test_flags_registers_masks_and_lock_ups() -> None:
    pipes = {"from_pipe": "PIPE_S", "to_pipe": "PIPE_MTE3"}
    flag = why(fault("unpaired flag", accesses=(Access(instruction="set_flag"),), figures=pipes), "en")
    assert "set_flag" in flag and "from PIPE_S to PIPE_MTE3" in flag
    register = fault(
        "register not reset", figures={"register": "CTRL[56]", "expected": "0", "current": "0x8"}
    )
    assert "CTRL[56]" in why(register, "en") and "Expected 0, found 0x8." in why(register, "en")
    assert "Counter" in why(fault("non-default mask", figures={"mask_mode": "Counter"}), "zh")
    waiting = (Access(pipe="PIPE_V", instruction="WAIT_FLAG"), Access(pipe="PIPE_S", instruction="WAIT_FLAG"))
    locked = why(fault("lock-up", accesses=waiting, figures={"n_pipes": 3}), "en")
    assert "3 pipes" in locked and "PIPE_V WAIT_FLAG, PIPE_S WAIT_FLAG" in locked


def test_leaks_tell_bytes_blocks_and_reach() -> None:
    block = Block(allocated=(Frame(function="malloc"), Frame("runner.cpp", 88, function="Runner::Init(int)")))
    leak = fault("leak", size_bytes=5184, n_objects=3, block=block, figures={"reach": "direct"})
    assert "5,184 bytes in 3 blocks" in why(leak, "en") and "allocated in Runner::Init." in why(leak, "en")
    assert "5,184 字节" in why(leak, "zh")
    assert "Only leaked blocks" in why(fault("leak", figures={"reach": "indirect"}), "en")


# ---- host sanitizers ----


def test_a_heap_block_and_who_freed_it() -> None:
    block = Block(
        *(40, 0x10, "inside", 8),
        allocated=(Frame(function="operator new[](unsigned long)"), Frame("a.cpp", 1, function="Make(int)")),
        freed=(Frame("b.cpp", 2, function="Drop(int)"),),
    )
    access = Access("read", 4, "heap", 0x18, thread="T0")
    said = why(fault("heap-use-after-free", "AddressSanitizer", accesses=(access,), block=block), "en")
    assert "8 bytes into a block of 40 bytes" in said and "Allocated in Make, freed in Drop" in said


def test_a_variable_and_an_access_over_its_end() -> None:
    access = Access("write", 16, "stack", 0x1028)
    block = Block(40, 0x1008, "inside", 32, name="row")
    said = why(fault("stack-buffer-overflow", "AddressSanitizer", accesses=(access,), block=block), "en")
    assert "8 bytes of it lie inside variable row of 40 bytes, 8 bytes behind its end" in said


def test_a_null_pointer_and_what_is_none() -> None:
    near, far = (fault("SEGV", accesses=(Access("read", address=a),)) for a in (0x18, 0x7F00DEAD0000))
    assert "null pointer" in why(near, "en") and "null pointer" not in why(far, "en")


def test_undefined_behaviour_quotes_the_values() -> None:
    message = "signed integer overflow: 65536 * 65536 cannot be represented in type 'int'"
    known = fault("signed-integer-overflow", "UndefinedBehaviorSanitizer", message)
    assert message in why(known, "en") and message in why(known, "zh") and "int64_t" in next_step(known, "en")
    unknown = fault("brand-new-check", "UndefinedBehaviorSanitizer", message)
    assert "Undefined behaviour" in why(unknown, "en") and message in why(unknown, "en")


# ---- runtime ----


def exception(**figures: Any) -> Fault:
    return fault("aicore exception", "CANN", figures=figures, task=Task(3, 2, 19362, 0))


def test_an_exception_of_an_aicore() -> None:
    one = exception(
        kernel_name="ScatterNdUpdate_" + "ab" * 16 + "_0",
        op_type="ScatterNdUpdate",
        ret_code=0x31,
        error_bits=("MTE_BIU_RDWR_RESP",),
        error_words=(0x800000, 0, 0),
        error_text="The DDR address of the MTE instruction is out of range.",
        pc_offset=1404,
        files=("a", "b"),
    )
    said = both(one)
    for part in (
        *("Kernel ScatterNdUpdate was stopped", "vector core exception, 0x31", "MTE_BIU_RDWR_RESP"),
        *("invalid GM address", "out of range", "0x57c into", "device 3, stream 2, task 19362, flip 0"),
        *("mssanitizer", "2 dump files"),
    ):
        assert part in said
    assert "hardware" not in said


def test_a_bit_error_is_hardware_and_no_bit_is_a_time_out() -> None:
    ecc = next(bit.name for bit in ERROR_BITS if bit.is_hardware)
    assert "npu-smi info -t health" in next_step(exception(error_bits=(ecc,)), "en")
    late = exception(error_words=(0, 0, 0), error_bits=(), ret_code=0x30)
    assert "did not end in time" in why(late, "en") and "synccheck" in next_step(late, "en")
    assert "No error bit is set" in why(late, "en")
    by_code = exception(ret_code=0x30)
    assert "did not end in time" in why(by_code, "en") and "error bit" not in why(by_code, "en")
    coded = why(exception(error_words=(0, 0, 0), error_code=0x80), "en")
    assert "0x80" in coded and "No error bit" not in coded
    bare = exception(error_words=(), error_bits=())
    assert "did not end in time" not in why(bare, "en")  # nothing told is not zero
    assert "in front of the kernel" in why(exception(pc_offset=-16), "en")


def test_failed_tasks_and_time_outs_of_collectives() -> None:
    slow = fault("task failure", "CANN", figures={"is_timeout": True, "ret_text": "aicpu timeout"})
    assert "did not end in time (aicpu timeout)" in why(slow, "en")
    assert "without an error of an AI Core" in why(fault("task failure", "CANN"), "en")
    wait = fault(
        "collective time-out", "HCCL", figures={"code": "EI0002", "remote_rank": "5", "timeout_s": 1836}
    )
    assert (
        "1,836 s" in why(wait, "en") and "rank 5" in why(wait, "en") and "all ranks" in next_step(wait, "en")
    )
    nobody = fault("collective time-out", "HCCL", figures={"remote_rank": "unknown", "timeout_s": None})
    assert "does not know" in why(nobody, "en")


@pytest.mark.parametrize("code", sorted(ERROR_CODES))
def test_every_known_code_is_explained(code: str) -> None:
    one, known = fault("error code", "CANN", figures={"code": code}), ERROR_CODES[code]
    assert code in why(one, "en") and code in why(one, "zh")
    if known.is_real:
        assert known.meaning[0] in why(one, "en") and known.meaning[1] in why(one, "zh")
    else:
        assert "no tool prints it" in why(one, "en")
        assert known.see[0] in next_step(one, "en") and known.see[0] in next_step(one, "zh")
    assert known.next_step[1] in next_step(one, "zh")


def test_unknown_codes_name_their_family_at_most() -> None:
    assert "HCCL" in why(fault("error code", "HCCL", figures={"code": "EI0099"}), "en")
    assert "not a code that is known" in why(fault("error code", "CANN", figures={"code": "599999"}), "en")


def test_the_line_of_an_asynchronous_error() -> None:
    late = fault("python error", "torch_npu", figures={"is_asynchronous": True, "operator_name": "aclnnAdd"})
    assert "surfaced" in why(late, "en") and "by chance" in why(late, "en")
    assert "ASCEND_LAUNCH_BLOCKING=1" in next_step(late, "en") and "ASCEND_LAUNCH_BLOCKING=1" in next_step(
        late, "zh"
    )
    plain = fault("python error", "torch_npu", figures={"is_asynchronous": False, "error": "KeyError: 1"})
    assert "KeyError: 1" in why(plain, "en") and "ASCEND_LAUNCH_BLOCKING" not in next_step(plain, "en")


# ---- lack of memory ----


def oom(tool: str = "torch_npu", message: str = "", **told: float) -> Fault:
    figures = {f"{name}_bytes": round(n * GIB) for name, n in told.items()}
    return fault("out of memory", tool, message, figures={**figures, "allocator": "caching"})


def test_out_of_memory_tells_the_bytes_that_speak_for_a_cause() -> None:
    pieces = oom(tried=5.03, total=60.96, allocated=49.47, active=49.48, free=1.32, reserved=57.55)
    assert "8.08 GiB are reserved and unused" in why(pieces, "en")
    assert "PYTORCH_NPU_ALLOC_CONF=expandable_segments:True" in next_step(pieces, "en")
    large = oom(tried=8, total=32, allocated=26, free=1, reserved=30)
    assert "34.00 GiB, the limit is 32.00 GiB" in why(large, "en") and "batch" in next_step(large, "en")
    assert "ALLOC_CONF" not in next_step(large, "en")
    others = oom(tried=2, total=64, allocated=10, free=1, reserved=10.5)
    assert "52.50 GiB of 64.00 GiB" in why(others, "en") and "-t proc-mem" in next_step(others, "en")
    assert "outside of its allocator" in why(others, "en")


def test_out_of_memory_without_figures_names_no_cause() -> None:
    bare = oom(tried=0.5, free=0.1)
    assert "does not have the figures" in why(bare, "en")
    assert "expandable" not in next_step(bare, "en")


def test_a_model_that_leaves_no_room_beside_the_driver() -> None:
    full = oom(tried=2.0, total=60.97, allocated=58.0, active=58.0, free=1.2, reserved=58.5)
    said = why(full, "en")
    assert "too large for the device" in said and "95% of 60.97 GiB" in said and "at most 59.70 GiB" in said
    assert "None of the figures" not in said and "spread the model" in next_step(full, "en")
    assert "95%" in why(full, "zh")


def test_settings_are_those_of_the_framework() -> None:
    told = {"tried": 5.0, "total": 60.0, "allocated": 40.0, "free": 1.0, "reserved": 58.0}
    assert "ALLOC_CONF" not in next_step(oom("MindSpore", **told), "en")
    cuda = next_step(oom("torch_npu", "CUDA out of memory.", **told), "en")
    assert "PYTORCH_CUDA_ALLOC_CONF" in cuda and "NPU" not in cuda


def test_a_kernel_that_is_too_large_for_its_buffer() -> None:
    figures = {"buffer": "ub", "required_bits": 2457600, "available_bits": 1572864, "block_size": 38400}
    said = both(fault("buffer overflow at compile time", "compiler", figures=figures))
    for part in (
        "307,200 bytes (300 KiB)",
        "196,608 bytes (192 KiB)",
        "1.5625",
        "24,576",
        "38,400",
        "16,384",
    ):
        assert part in said
    del figures["block_size"]
    assert "block size" not in both(fault("buffer overflow at compile time", "compiler", figures=figures))


def test_a_kernel_that_misses_by_a_byte() -> None:
    figures = {"buffer": "ub", "required_bits": 1572872, "available_bits": 1572864}
    said = why(fault("buffer overflow at compile time", "compiler", figures=figures), "en")
    assert "196,609 bytes (192.001 KiB)" in said and "196,608 bytes (192 KiB)" in said
    assert "1 byte too many" in said and "1 times" not in said


def test_memory_that_a_stream_still_holds() -> None:
    held = oom(tried=4, total=60.97, allocated=40.1, active=57.1, free=1.2, reserved=58.6)
    said = why(held, "en")
    assert "18.50 GiB are reserved and unused, but 17.00 GiB" in said and "only 1.50 GiB" in said
    assert "in pieces" not in said
    step = next_step(held, "en")
    assert "synchronise" in step and "expandable_segments" not in step


def test_pieces_of_which_a_stream_holds_a_part() -> None:
    part = oom(tried=4, total=60, allocated=40, active=45, free=1, reserved=52)  # 12 unused, 7 of them idle
    assert "12.00 GiB are reserved and unused" in why(part, "en")
    assert "5.00 GiB of them still wait" in why(part, "en")
    assert "expandable_segments" in next_step(part, "en")


def test_enough_free_blames_nobody() -> None:
    free = oom(tried=2 / 1024, total=60.97, allocated=20.1, active=20.1, free=30.2, reserved=21)
    assert "30.20 GiB could be had" in why(free, "en") and "another process holds" not in why(free, "en")
    step = next_step(free, "en")
    assert "end those" not in step and "batch" not in step and "npu-smi info -t usages" in step


# ---- who and where ----

NEW, DELETE = Frame("", None, None, "malloc", "/lib/asan.so", 1), Frame("", None, None, "free", "/lib/x", 2)


def user(line: int, function: str = "main") -> Frame:
    return Frame("/b/host/d.cpp", line, 3, function)


def test_where_a_block_was_allocated_and_freed_is_told() -> None:
    block = Block(16, 0x10, "inside", 0, "", (NEW, user(18)), (DELETE, user(20)))
    for kind in ("double-free", "heap-use-after-free", "tag-mismatch"):
        said = why(
            fault(kind, "AddressSanitizer", accesses=(Access("read", 4, "heap", 0x10),), block=block), "en"
        )
        assert "Allocated at /b/host/d.cpp:18, freed at /b/host/d.cpp:20." in said
    kept = Block(40, 0x10, "after", 0, allocated=(NEW, user(58)))
    access = (Access("write", 4, "heap", 0x38),)
    said = why(fault("heap-buffer-overflow", "AddressSanitizer", accesses=access, block=kept), "en")
    assert "Allocated at /b/host/d.cpp:58." in said and "freed" not in said
    no_line = Block(16, 0x10, "inside", 0, "", (NEW,), (DELETE,))
    assert "llocated at" not in why(fault("double-free", "AddressSanitizer", block=no_line), "en")


@pytest.mark.parametrize(
    ("cause", "step"),
    [
        ("use-after-free", "frees the block too early"),
        ("heap-buffer-overflow", "heap-buffer-overflow"),
        ("stack tag-mismatch", "stack tag-mismatch"),
        ("global-overflow", "global-buffer-overflow"),
    ],
)
def test_the_cause_that_a_tag_mismatch_names_is_told(cause: str, step: str) -> None:
    access = (Access("write", 4, "heap", 0x10, thread="T0"),)
    found = fault("tag-mismatch", "HWAddressSanitizer", accesses=access, figures={"cause": cause})
    assert f"names the cause: {cause}." in why(found, "en") and "out of bounds, or" not in why(found, "en")
    assert cause in why(found, "zh")
    wanted = next_step(fault(step, "AddressSanitizer"), "en") if step in KINDS else step
    assert wanted in next_step(found, "en")


def test_both_threads_of_a_data_race_are_told_with_their_lines() -> None:
    sides = (
        Access("write", 8, "global", 0x7B04, thread="T2", frames=(user(20, "Push"),)),
        Access("read", 8, "global", 0x7B04, thread="main thread", frames=(user(50),)),
    )
    created = (("T2", "main thread", (Frame("<null>", None, None, "pthread_create"), user(45))),)
    race = fault("data race", "ThreadSanitizer", accesses=sides, figures={"created_by": created})
    said = why(race, "en")
    assert (
        "a write by thread T2 at /b/host/d.cpp:20 and a read by the main thread at /b/host/d.cpp:50" in said
    )
    assert "Thread T2 was created at /b/host/d.cpp:45." in said
    assert all(part in why(race, "zh") for part in ("线程 T2", "主线程", "d.cpp:50", "d.cpp:45"))


def test_a_call_of_the_host_is_told_as_one() -> None:
    copy = fault("illegal read", accesses=(Access("read", 4096, "GM", 0x10, device=1, serial_number=22),))
    assert "by the host for device 1" in why(copy, "en") and "device 1" in why(copy, "zh")
    assert "host code" in next_step(copy, "en") and "tile" not in next_step(copy, "en")
    kernel = fault("illegal read", accesses=(Access("read", 4, "GM", 0x10, kernel="k", device=1, pc=4),))
    assert "the host" not in both(kernel) and "tile" in next_step(kernel, "en")
    damaged = fault("illegal read", accesses=copy.accesses, is_partial=True)
    assert "the host" not in both(damaged)
    other = fault("use after free", "msMemScope", accesses=(Access("read", 4, "GM", 0x10, device=1),))
    assert "the host" not in both(other)


def test_a_hit_of_the_guard_area_has_no_frame_to_begin_at() -> None:
    access = Access("write", 8, "GM", 0x408, kernel="k", device=2)
    hit = fault("illegal write", accesses=(access,), block=Block(1024, 0, "after", 8))
    assert "innermost frame" not in next_step(hit, "en") and "tile" in next_step(hit, "en")


def test_a_race_between_devices_asks_for_a_sync_of_these() -> None:
    core = (Cores("aiv", ((0, 0),)),)  # the same block number on both
    sides = tuple(Access("write", None, "GM", 0, device=n, cores=core) for n in (0, 5))
    step = next_step(fault("race", hazard="WAW", accesses=sides), "en")
    assert "device 0 and device 5" in step and "block" not in step
    same = next_step(fault("race", hazard="WAW", accesses=(sides[0], sides[0])), "en")
    assert "device" not in same


def waiting(*numbers: int | None) -> tuple[Access, ...]:
    return tuple(Access(pipe=f"PIPE_{i}", instruction="W", serial_number=n) for i, n in enumerate(numbers))


def test_waiting_pipes_stand_in_order_and_none_is_hidden() -> None:
    locked = fault("lock-up", accesses=waiting(30, 29, 28, 27, 26, 25), figures={"n_pipes": 6})
    for lang, more in (("en", "and 2 more"), ("zh", "另有 2 条")):
        said = why(locked, lang)
        assert re.findall(r"serialNo (\d+)", said) == ["25", "26", "27", "28"] and more in said
    fewer = why(fault("lock-up", accesses=waiting(31, 12), figures={"n_pipes": 3}), "en")
    assert "3 pipes wait. The record lists 2 of them." in fewer and " more" not in fewer
    whole = why(fault("lock-up", accesses=waiting(31, 12), figures={"n_pipes": 2}), "en")
    assert "lists" not in whole
    unordered = why(fault("lock-up", accesses=waiting(None, 12)), "en")
    assert "earliest" not in unordered and unordered.index("PIPE_1") < unordered.index("PIPE_0")


def test_the_origin_of_a_value_is_told_once_known() -> None:
    origins = ((Frame("a.cpp", 9),), (Frame(function="malloc"), Frame("/w/m.cpp", 4, function="mk(int)")))
    known = fault("use-of-uninitialized-value", "MemorySanitizer", figures={"origins": origins})
    assert "created at /w/m.cpp:4" in why(known, "en") and "track-origins" not in next_step(known, "en")
    nameless = fault(known.kind, "MemorySanitizer", figures={"origins": ((Frame(function="mk(int)"),),)})
    assert "created at mk." in why(nameless, "en")
    for odd in ((), ((),), "x", None, ((1,),)):
        bare = fault(known.kind, "MemorySanitizer", figures={"origins": odd})
        assert "created" not in why(bare, "en")
    assert "track-origins=2" in next_step(fault(known.kind, "MemorySanitizer"), "en")


# ---- words ----


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("msSanitizer reports x", "msSanitizer reports x"),
        ("msMemScope, too", "msMemScope, too"),
        ("torch_npu reports x", "torch_npu reports x"),
        ("mssanitizer prints no codes", "mssanitizer prints no codes"),
        ("npu-smi info", "npu-smi info"),
        ("a.cpp:3 is", "a.cpp:3 is"),
        ("a write of 4 bytes", "A write of 4 bytes"),
        ("place unknown: x_y", "Place unknown: x_y"),
        ("never freed.", "Never freed."),
        ("", ""),
    ],
)
def test_only_words_get_a_capital(text: str, expected: str) -> None:
    assert raised(text, "en") == expected and raised(text, "zh") == text


def test_chinese_has_no_stray_blanks_but_quotes_stay() -> None:
    assert (
        sentences([" 未知位置 分配的 wait_flag ：读 （a） ，b ", ""], "zh")
        == "未知位置分配的 wait_flag：读（a），b"
    )
    assert sentences(["原文 ：“内存 不足 ：x”。后 面"], "zh") == "原文：“内存 不足 ：x”。后面"
    assert sentences(["a :b", " c"], "en") == "a :b c"
    pipes = {"from_pipe": "PIPE_S", "to_pipe": "PIPE_V"}
    access = Access(instruction="wait_flag", kernel="k")
    for kind in ("redundant flag", "unpaired flag"):
        said = why(fault(kind, accesses=(access,), figures=pipes), "zh")
        assert not re.search("[\u4e00-\u9fff（）：，。] [\u4e00-\u9fff（）：，。]| [：，。（）]", said)
    ret = fault("task failure", "CANN", figures={"ret_text": "a", "ret_code": 3})
    assert "a、0x3" in why(ret, "zh") and "a, 0x3" in why(ret, "en")


def test_one_chinese_word_for_one_thing() -> None:
    for name, (_, zh) in {**TEXTS, **GAPS, **place_texts.TEXTS, **texts.TEXTS}.items():
        assert not re.search("申请|序列号|不再前进", zh), name
        assert not re.search("[\u4e00-\u9fff][,;] ", zh), name
    for rule in RULES:
        assert not re.search("申请|序列号", "".join(zh for _, zh in (rule.title, rule.meaning))), rule.id


# ---- gaps and hostile texts ----


@pytest.mark.parametrize("word", [*GAPS, "something-new"])
def test_every_gap_says_what_is_missing(word: str) -> None:
    assert gap_text(word, "en").endswith(".") and gap_text(word, "zh").endswith("。")


def test_dropped_records_make_no_error_worthless() -> None:
    assert "worth nothing" in gap_text("records-dropped", "en")
    assert all("--cache-size" in gap_text("records-dropped", lang) for lang in LANGS)
    assert "something-new" in gap_text("something-new", "zh")
    assert not UNSAFE & set(gap_text("\x1b]0;x\x07" + "y" * 9999, "en"))


EVIL = "\x1b]52;c;AAAA\x07\n{access}{0}[red]\u202e" + "A" * 9000
values = st.sampled_from(
    [((Frame(EVIL, 1, None, EVIL),),), EVIL, None, -1, 0, 1 << 70, 2.5, (EVIL,) * 99, [1, EVIL], {}, True, ""]
)
names = [
    *(
        "from_pipe",
        "to_pipe",
        "mask_mode",
        "register",
        "expected",
        "current",
        "n_pipes",
        "module_id",
        "extra",
    ),
    *("reach", "kernel_name", "op_type", "node_name", "ret_code", "ret_text", "error_code", "error_words"),
    *(
        "error_bits",
        "error_text",
        "pc_offset",
        "fixed_pc_offset",
        "codes",
        "files",
        "tried_bytes",
        "total_bytes",
    ),
    *("free_bytes", "allocated_bytes", "active_bytes", "reserved_bytes", "cached_bytes", "allowed_bytes"),
    *("in_use_bytes", "allocator", "device_id", "buffer", "required_bits", "available_bits", "block_size"),
    *("code", "title", "api", "remote_rank", "timeout_s", "is_asynchronous", "error", "operator_name"),
    *("warning", "pool", "n_steps", "reason", "is_timeout", "device", "origins"),
]
numbers = st.sampled_from([None, -5, 0, 1, 4096, 1 << 64])
frames = st.sampled_from([(), (Frame(EVIL, 1, None, EVIL),)])
accesses = st.builds(
    Access,
    word=st.sampled_from(["read", "write", "", EVIL]),
    size_bytes=numbers,
    space=st.sampled_from(["GM", "UB", "heap", "", EVIL]),
    address=numbers,
    kernel=st.sampled_from(["", EVIL]),
    cores=st.sampled_from([(), (Cores(EVIL, ((0, 1),) * 9999),) * 99]),
    thread=st.sampled_from(["", EVIL]),
    pipe=st.sampled_from(["", EVIL]),
    instruction=st.sampled_from(["", EVIL]),
    frames=frames,
)
blocks = st.none() | st.builds(
    Block,
    size_bytes=numbers,
    start=numbers,
    side=st.sampled_from([None, "before", "inside", "after"]),
    distance_bytes=numbers,
    name=st.sampled_from(["", EVIL]),
    allocated=frames,
    freed=frames,
)


@given(
    st.sampled_from([*KINDS, "memcpy-param-overlap", EVIL]),
    st.sampled_from(["msSanitizer", "UndefinedBehaviorSanitizer", "torch_npu", EVIL]),
    st.sampled_from(["", EVIL]),
    st.lists(accesses, max_size=6),
    blocks,
    st.dictionaries(st.sampled_from(names), values),
    st.sampled_from(["", "RAW", EVIL]),
    numbers,
    st.sampled_from(LANGS),
)
def test_nothing_from_a_log_reaches_a_terminal_or_fills_it(
    kind: str,
    tool: str,
    message: str,
    touched: list[Access],
    block: Block | None,
    figures: dict[str, Any],
    hazard: str,
    number: int | None,
    lang: Lang,
) -> None:
    one = fault(
        kind,
        tool,
        message,
        accesses=tuple(touched),
        block=block,
        figures=figures,
        hazard=hazard,
        size_bytes=number,
        n_objects=number,
        task=Task(number, None, number, -1),
    )
    for said in (why(one, lang), next_step(one, lang)):
        assert said and len(said) < 2000
        assert not UNSAFE & set(said)
