"""What each record of a report says, in the words of every release. Values were read off the texts by eye."""

from __future__ import annotations

from typing import Any

import pytest

from npulse.core.formats.mssanitizer.reader import Reader
from npulse.core.formats.mssanitizer.records import (
    Allocation,
    Cores,
    FlagPipes,
    Frame,
    LogState,
    Mask,
    Record,
    Register,
    Side,
)

STACK = "======    #0 /src/op/add.cpp:43:9\n======    #1 /src/op/add.cpp:78:8\n"
STACK_FRAMES = (Frame("/src/op/add.cpp", 43, 9), Frame("/src/op/add.cpp", 78, 8))
QUOTED = '"void row<half, 64u>(unsigned char*, unsigned char*)"'

ILLEGAL = (
    "====== ERROR: illegal read of size 224\n"
    "======    at 0x12c0c0014e00 on GM in add_custom\n"
    "======    in block aiv(1) on device 0\n"
    "======    code in pc current 0x668 (serialNo:65)\n" + STACK + "\n"
)
BOUNDS = (
    "====== WARNING: out of bounds of size 512\n"
    "======    at 0x12c0c0026000 on GM when writing data in add_custom\n"
    "======    in block aiv(0,2-4,7),aic(1,3) on device 1\n"
    "======    code in <unknown> (serialNo:40)\n\n"
)
RACE = (
    f"====== ERROR: Potential RAW hazard detected at UB in {QUOTED}:\n"
    "======    PIPE_MTE2 Write at RAW()+0x40 in block 0 (aiv) on device 0 at pc current 0x600 (serialNo:1)\n"
    + STACK
    + "======    PIPE_V Read at RAW()+0x60 in block 3 (aiv) on device 1 at pc current 0x614 (serialNo:2)\n"
    "======    #0 /src/op/add.cpp:46:9\n\n"
)
LOCK_UP = (
    "====== ERROR: Sync error detected. kernel locked up at\n"
    "======    \n"
    "======    WAIT_FLAG in reduce\n"
    "======    by PIPE_V in block aiv(0) on device 1\n"
    "======    code in pc current 0xc4 (serialNo:9)\n" + STACK + "======    \n"
    "======    SET_FLAG in reduce\n"
    "======    by PIPE_MTE2 in block aic(2) on device 1\n"
    "======    code in <unknown> (serialNo:7)\n"
    "======    \n"
    "====== SUMMARY: 2 pipe(s) locked up.\n\n"
)
LEAKS = (
    "====== ERROR: LeakCheck: detected memory leaks\n"
    "\n"
    "======    Direct leak of 320 byte(s)\n"
    "======      at 0x124080042000 on GM by module 7\n"
    "======      allocated in main.cpp:14 (serialNo:37)\n"
    "\n"
    "======    Direct leak of 4096 byte(s)\n"
    "======      at 0x124080043000 on GM allocated in <unknown>:0 (serialNo:55)\n"
    "\n"
    "====== SUMMARY: 4416 byte(s) leaked in 2 allocation(s)\n"
)
REGISTER = (
    "[mssanitizer] Warning:Register CTRL[56] was not reset to default in block aiv(0) on kernel add_custom. "
    "Expected default value is (0), but current value is (0x108)\n\n"
)
STARTED = "[mssanitizer] Start memcheck sanitizer on kernel add_custom\n"
FINISHED = "[mssanitizer] Sanitizer finished on kernel add_custom. See all detected errors above.\n"
CLEAN = STARTED + "[mssanitizer] Sanitizer finished on kernel add_custom. No error detected.\n"
SMALL = STARTED + ILLEGAL + RACE + LOCK_UP + REGISTER + BOUNDS + FINISHED + LEAKS
"""A log with a record of most forms, complete as far as anybody can tell."""


def read(text: str | bytes) -> list[Record]:
    return reader_of(text)[0]


def reader_of(text: str | bytes) -> tuple[list[Record], Reader]:
    """The records in the order in which they begin."""
    reader = Reader("the.log")
    records = reader.feed(text.encode() if isinstance(text, str) else text) + reader.finish()
    return sorted(records, key=lambda record: (record.byte, record.end_byte)), reader


def state_of(text: str | bytes) -> LogState:
    return reader_of(text)[1].state


def only(text: str | bytes) -> Record:
    (record,) = read(text)
    assert not (record.is_cut or record.is_partial or record.is_mixed or record.extra), record
    return record


def told(text: str | bytes) -> list[tuple[str, int | None, int | None]]:
    return [(problem.kind, problem.line, problem.byte) for problem in reader_of(text)[1].problems]


def fields(record: Record | Side, *names: str) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in names)


# ---- memcheck and initcheck ----


def test_an_illegal_read() -> None:
    record = only(ILLEGAL)
    assert record == Record(
        kind="illegal read",
        severity="error",
        head="====== ERROR: illegal read of size 224",
        line_number=1,
        byte=0,
        end_byte=len(ILLEGAL) - 1,
        access="read",
        size_bytes=224,
        space="GM",
        address=0x12C0C0014E00,
        kernel="add_custom",
        device=0,
        cores=(Cores("aiv", "1"),),
        pc=0x668,
        serial_number=65,
        frames=STACK_FRAMES,
    )


def test_out_of_bounds_with_ranges_of_cores_and_no_place() -> None:
    record = only(BOUNDS)
    assert fields(record, "kind", "severity", "access", "size_bytes", "device", "pc", "serial_number") == (
        *("out of bounds", "warning", "write", 512),
        *(1, None, 40),
    )
    assert record.cores == (Cores("aiv", "0,2-4,7"), Cores("aic", "1,3"))
    assert record.frames == (Frame("<unknown>"),)
    assert only(BOUNDS.replace(" when writing data", "")).access == "read"


@pytest.mark.parametrize(
    ("words", "kind", "access"),
    [
        ("illegal write", "illegal write", "write"),
        ("misaligned access", "misaligned access", None),
        ("uninitialized read", "uninitialized read", "read"),
    ],
)
def test_the_other_accesses(words: str, kind: str, access: str | None) -> None:
    record = only(ILLEGAL.replace("illegal read", words))
    assert fields(record, "kind", "access", "size_bytes") == (kind, access, 224)


def test_a_place_that_is_not_known_is_kept_as_written() -> None:
    for written, frame in (
        ("<unknown>", Frame("<unknown>")),
        ("<unknown>:0", Frame("<unknown>", 0)),
        (":0", Frame("", 0)),
        ("row_add.cpp:0", Frame("row_add.cpp", 0)),
        ("/a b/c:1.cpp:43", Frame("/a b/c:1.cpp", 43)),
    ):
        record = only(BOUNDS.replace("<unknown>", written))
        assert (record.frames, record.pc) == ((frame,), None), written


def test_frames_keep_what_was_written() -> None:
    stack = (
        "======    #0 <unknown>:0:0\n======    #1 .../x.cpp:63:9\n"
        "======    #2 /a/b.cpp:7\n======    #3 text only\n"
        "======    #4 0x12 in ns::f(int, int) /a/b.cpp:8:1\n"
    )
    assert only(ILLEGAL.replace(STACK, stack)).frames == (
        Frame("<unknown>", 0, 0),
        Frame(".../x.cpp", 63, 9),
        Frame("/a/b.cpp", 7),
        Frame("text only"),
        Frame("/a/b.cpp", 8, 1, "ns::f(int, int)"),
    )


def test_spaces() -> None:
    for space in ("UB", "L1", "L0A", "L0B", "L0C", "BT", "FB", "PRIVATE", "Unknown AddressSpace(12)"):
        record = only(ILLEGAL.replace("on GM", f"on {space}"))
        assert (record.space, record.kernel) == (space, "add_custom")


def test_a_kernel_name_holds_anything() -> None:
    for name in (
        "void f<a, b>(in block, on device 3)",
        "x at 0x1 on GM in y: (serialNo:5)",
        "operator==<(char)35>",
        "内核 // 一",
    ):
        quoted = f'"{name}"' if "//" not in name else name.split(" //")[0]
        record = only(ILLEGAL.replace("add_custom", quoted))
        assert record.kernel == quoted.strip('"') and record.address == 0x12C0C0014E00


def test_no_stack_for_a_pc() -> None:
    assert only(ILLEGAL.replace(STACK, "")).frames == ()


def test_guard_record_names_the_allocation() -> None:
    text = (
        "====== ERROR: illegal write of size 16 byte(s)\n"
        "======    Access to 0x12c0c0017010 on GM is 16 byte(s) after the nearest allocation"
        " at 0x12c0c0016000 of size 4096 byte(s)\n"
        "======    in add_custom on device 3\n\n"
    )
    record = only(text)
    assert record.detail == Allocation(0x12C0C0016000, 4096, 16, "after")
    assert fields(record, "size_bytes", "address", "space", "kernel", "device", "access") == (
        *(16, 0x12C0C0017010, "GM"),
        *("add_custom", 3, "write"),
    )
    old = text.replace("device 3\n", "device 3\n======    by host api calling in <unknown>:0\n")
    assert only(old).frames == (Frame("<unknown>", 0),)


def test_host_records() -> None:
    free = only(
        "====== ERROR: illegal free() \n======    at 0x12 on GM\n======    code in a.cpp:24 (serialNo:10)\n\n"
    )
    assert fields(free, "kind", "address", "size_bytes", "device", "cores", "frames", "serial_number") == (
        *("illegal free", 0x12, None, None, ()),
        *((Frame("a.cpp", 24),), 10),
    )
    unused = only(
        "====== WARNING: Unused memory of 4096 byte(s)\n======    at 0x12 on GM\n"
        "======    code in <unknown> (serialNo:8)\n\n"
    )
    assert fields(unused, "kind", "severity", "size_bytes") == ("unused memory", "warning", 4096)
    for line in ("on device 2", "in block  on device 2"):
        copy = only(
            "====== ERROR: illegal write of size 64\n======    at 0x12 on GM\n"
            f"======    {line}\n======    code in a.cpp:25 (serialNo:11)\n\n"
        )
        assert fields(copy, "device", "cores", "kernel") == (2, (), None)


def test_internal_error_and_mask() -> None:
    internal = only(
        "====== ERROR: internal errors (serialNo:7)\n======    code in <unknown> (serialNo:7)\n\n"
    )
    assert fields(internal, "kind", "serial_number") == ("internal error", 7)
    mask = only(
        "====== INFO: VADD is using non-default mask. MaskMode: Normal, MaskHigh: 0x0, MaskLow: 0xffffffff\n"
        "======    in kernel add_custom on device 0\n======    code in pc current 0x694 (serialNo:4)\n"
        + STACK
        + "\n"
    )
    assert fields(mask, "kind", "severity", "instruction", "kernel", "device", "detail") == (
        *("non-default mask", "info", "VADD", "add_custom", 0),
        Mask("Normal", 0, 0xFFFFFFFF),
    )


def test_threads_of_simt_kernels() -> None:
    record = only(ILLEGAL.replace("in block", "by thread (1,0,2) in block"))
    assert fields(record, "thread", "cores", "device") == ((1, 0, 2), (Cores("aiv", "1"),), 0)
    divergent = only(
        "====== ERROR: Sync error detected. Divergent thread(s) in vec_add\n"
        "======    by thread(3,0,0) in block aiv(0) on device 0\n"
        "======    code in pc current 0x6a0 (serialNo:4)\n" + STACK + "\n"
    )
    assert fields(divergent, "kind", "thread", "kernel", "frames") == (
        *("divergent threads", (3, 0, 0), "vec_add"),
        STACK_FRAMES,
    )
    for words in ("    Write Thread (0,0,1) at", "    Write Thread(0,0,1) at", "WritethreadId:(0,0,1) at"):
        event = f"======    {words} WAW()+0x40 in block 0 (aiv) on device 0 at pc current 0x678\n"
        race = only(
            "====== ERROR: Potential WAW hazard detected at UB in v:\n" + event + STACK + event + "\n"
        )
        assert race.sides[0] == Side(
            access="write",
            address=0x40,
            device=0,
            cores=(Cores("aiv", "0"),),
            thread=(0, 0, 1),
            pc=0x678,
            frames=STACK_FRAMES,
            line_number=2,
        )


# ---- racecheck and synccheck ----


def test_a_race_has_two_sides() -> None:
    record = only(RACE)
    assert fields(record, "kind", "hazard", "space", "kernel", "pc", "frames", "device") == (
        *("race", "RAW", "UB", QUOTED.strip('"')),
        *(None, (), None),
    )
    first, second = record.sides
    assert first == Side(
        access="write",
        pipe="PIPE_MTE2",
        address=0x40,
        device=0,
        cores=(Cores("aiv", "0"),),
        pc=0x600,
        serial_number=1,
        frames=STACK_FRAMES,
        line_number=2,
    )
    assert fields(second, "access", "pipe", "address", "device", "cores", "pc", "line_number") == (
        *("read", "PIPE_V", 0x60, 1, (Cores("aiv", "3"),), 0x614),
        5,
    )
    assert second.frames == (Frame("/src/op/add.cpp", 46, 9),)


def test_missing_dcci() -> None:
    record = only(
        "====== ERROR: Missing DCCI instructions detected on cross core data dependency at GM in copy:\n"
        "======    PIPE_S Write at 0x12c0c0025000 in block 0 (aiv) on device 0 at <unknown> (serialNo:11)\n"
        "======    PIPE_S Read at 0x12c0c0025000 in block 1 (aiv) on device 0 at a.cpp:7 (serialNo:23)\n\n"
    )
    assert fields(record, "kind", "space", "kernel", "hazard") == ("missing dcci", "GM", "copy", None)
    assert [side.frames for side in record.sides] == [(Frame("<unknown>"),), (Frame("a.cpp", 7),)]


def test_flags() -> None:
    text = (
        "====== WARNING: Unpaired set_flag instructions detected\n"
        f"======    from PIPE_V to PIPE_MTE3 in {QUOTED}\n"
        "======    in block aiv(0) on device 0\n"
        "======    code in pc current 0x634 (serialNo:3)\n" + STACK + "\n"
    )
    record = only(text)
    assert fields(record, "kind", "instruction", "detail", "kernel", "frames") == (
        *("unpaired flag", "set_flag", FlagPipes("PIPE_V", "PIPE_MTE3"), QUOTED.strip('"')),
        STACK_FRAMES,
    )
    redundant = only(text.replace("WARNING: Unpaired set_flag", "ERROR: Redundant wait_flag"))
    assert fields(redundant, "kind", "severity", "instruction") == ("redundant flag", "error", "wait_flag")


def test_a_lock_up_has_its_pipes() -> None:
    for spelling in (
        "detected. kernel locked up at",
        "detected kernel locked up at",
        "detected kernel locked up",
    ):
        record, reader = reader_of(LOCK_UP.replace("detected. kernel locked up at", spelling))
        (lock_up,) = record
        assert fields(lock_up, "kind", "n_pipes", "is_partial", "is_cut") == ("lock-up", 2, False, False)
        first, second = lock_up.sides
        assert fields(first, "instruction", "pipe", "kernel", "device", "pc", "frames", "line_number") == (
            *("WAIT_FLAG", "PIPE_V", "reduce", 1, 0xC4),
            *(STACK_FRAMES, 3),
        )
        assert fields(second, "instruction", "pipe", "cores", "serial_number", "frames") == (
            *("SET_FLAG", "PIPE_MTE2", (Cores("aic", "2"),), 7),
            (Frame("<unknown>"),),
        )
        (summary,) = reader.state.summaries
        assert (summary.kind, summary.count, summary.size_bytes) == ("lock-up", 2, None)


# ---- leaks, registers ----


def test_each_leak_is_a_record() -> None:
    (first, second), reader = reader_of(LEAKS)
    assert fields(first, "kind", "size_bytes", "address", "space", "module", "frames", "serial_number") == (
        *("leak", 320, 0x124080042000, "GM", "7"),
        *((Frame("main.cpp", 14),), 37),
    )
    assert fields(second, "size_bytes", "module", "frames", "line_number") == (
        *(4096, None),
        *((Frame("<unknown>", 0),), 7),
    )
    assert first.head == second.head == "====== ERROR: LeakCheck: detected memory leaks"
    assert first.line_number == 3 and LEAKS[first.byte : first.end_byte].startswith(
        "======    Direct leak of 320"
    )
    (summary,) = reader.state.summaries
    assert (summary.kind, summary.count, summary.size_bytes, summary.line_number) == ("leak", 2, 4416, 10)
    assert reader.problems == ()


def test_a_register_is_one_line() -> None:
    for text in (REGISTER, REGISTER.replace("] ", "]", 1)):
        record = only(text)
        assert fields(record, "kind", "severity", "cores", "kernel", "detail") == (
            *("register not reset", "warning", (Cores("aiv", "0"),), "add_custom"),
            Register("CTRL[56]", "0", "0x108"),
        )


# ---- older styles ----


@pytest.mark.parametrize(
    ("style", "text"),
    [
        (
            "7.0.RC1",
            "========= ERROR: Potential RAW hazard detected in block 1 (aiv) at UB :\n"
            "=========     PIPE_MTE2 Write at RAW()+0x0 in a.cpp:38\n"
            "=========     PIPE_V Read at RAW()+0x0 in a.cpp:46\n\n",
        ),
        (
            "8.0.RC1",
            "========= ERROR: Potential RAW hazard detected at core1 in UB :\n"
            "=========     PIPE_MTE2 Write at RAW()+0x0 in a.cpp:38\n"
            "=========     PIPE_V Read at RAW()+0x0 in a.cpp:46\n\n",
        ),
        (
            "8.0.RC2",
            "========= ERROR: Potential RAW hazard detected at UB :\n"
            "=========     PIPE_MTE2 Write at RAW()+0x0 in block 1 (aiv) a.cpp:38\n"
            "=========     PIPE_V Read at RAW()+0x0 in block 1 (aiv) a.cpp:46\n\n",
        ),
        (
            "8.0.RC3",
            "====== ERROR: Potential RAW hazard detected at UB :\n"
            "======    PIPE_MTE2 Write at RAW()+0x0 in block 1 (aiv) at pc current 0x600 (serialNo:1)\n"
            "======    #0 a.cpp:38\n"
            "======    PIPE_V Read at RAW()+0x0 in block 1 (aiv) at pc current 0x614 (serialNo:2)\n"
            "======    #0 a.cpp:46\n\n",
        ),
        (
            "8.2",
            "====== ERROR: Potential RAW hazard detected at UB in k_mix_aiv on device 0:\n"
            "======    PIPE_MTE2 Write at RAW()+0x0 in block 1 (aiv) on device 0"
            " at pc current 0x600 (serialNo:1)\n"
            "======    #0 a.cpp:38\n"
            "======    PIPE_V Read at RAW()+0x0 in block 1 (aiv) on device 0 at pc current 0x614\n"
            "======    #0 a.cpp:46\n\n",
        ),
    ],
)
def test_races_of_every_style(style: str, text: str) -> None:
    (record,), reader = reader_of(text)
    assert reader.state.style == style
    assert fields(record, "kind", "hazard", "space", "is_partial") == ("race", "RAW", "UB", False)
    assert [fields(side, "access", "pipe", "address", "frames") for side in record.sides] == [
        ("write", "PIPE_MTE2", 0, (Frame("a.cpp", 38),)),
        ("read", "PIPE_V", 0, (Frame("a.cpp", 46),)),
    ]
    places = {record.cores, *(side.cores for side in record.sides)} - {()}
    assert places == {(Cores("" if style == "8.0.RC1" else "aiv", "1"),)}
    assert (record.kernel, record.device) == (("k_mix_aiv", 0) if style == "8.2" else (None, None))


@pytest.mark.parametrize(
    ("style", "text", "device"),
    [
        (
            "8.0.RC1",
            "====== ERROR: illegel read of size 224\n======    at 0x12 on GM\n======    code in a.cpp:43\n\n",
            None,
        ),
        (
            "8.0.RC2",
            "====== ERROR: illegal read of size 224\n======    at 0x12 on GM\n======    in block 1 (aiv)\n"
            "======    code in a.cpp:43\n\n",
            None,
        ),
        (
            "8.0.RC3",
            "====== ERROR: illegal read of size 224\n======    at 0x12 on GM\n======    in block aiv(1)\n"
            "======    code in pc current 0x1 (serialNo:65)\n======    #0 a.cpp:43\n\n",
            None,
        ),
        (
            "8.2",
            "====== ERROR: illegal read of size 224\n======    at 0x12 on GM in k_mix_aiv\n"
            "======    in block aiv(1) on device -1\n"
            "======    code in pc current 0x1 (serialNo:65)\n======    #0 a.cpp:43\n\n",
            -1,
        ),
    ],
)
def test_accesses_of_every_style(style: str, text: str, device: int | None) -> None:
    record = only(text)
    assert state_of(text).style == style
    assert fields(record, "kind", "size_bytes", "address", "device", "frames") == (
        *("illegal read", 224, 0x12, device),
        (Frame("a.cpp", 43),),
    )


def test_the_old_warning_with_a_spelling_of_its_own() -> None:
    record = only(
        "====== WARNNING: out of bounds of size 512\n======    at 0x12 on GM when writing data\n"
        "======    code in a.cpp:63\n\n"
    )
    assert fields(record, "kind", "severity", "access") == ("out of bounds", "warning", "write")


def test_a_block_line_that_ends_the_record() -> None:
    text = ILLEGAL.replace("device 0\n", "device 0 (serialNo:10)\n").replace(
        "======    code in pc current 0x668 (serialNo:65)\n", ""
    )
    assert fields(only(text.replace(STACK, "")), "serial_number", "device") == (10, 0)
    assert only(text).frames == STACK_FRAMES


# ---- unknown ----


def test_an_unknown_head_is_kept_as_other() -> None:
    text = "====== ERROR: brand new trouble 7\n======    at 0x12 on UB in k\n======    more of it\n\n"
    (record,) = read(text)
    assert fields(record, "kind", "head", "address", "kernel", "extra") == (
        *("other", "====== ERROR: brand new trouble 7", 0x12),
        *("k", ("more of it",)),
    )
    assert not state_of(text).is_recognised


def test_banners_and_other_tools_are_no_records() -> None:
    assert (
        read(
            "=================================================================\n"
            "====== my own banner: verify start ======\n"
            "========= ERROR-free run expected =========\n"
            "========= COMPUTE-SANITIZER\n"
            "====== ERROR: Detected memory leaks on device 0 ======\n"
            "Direct pta leak of 1.0 Mb(s) at 0x1 in kernel_1 at step 1.\n"
            "====== SUMMARY: 1.0 Mb(s) leaked in 1 allocation(s) ======\n"
            "==123==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n"
            "    #0 0x1 in f a.cpp:1\n"
        )
        == []
    )


def test_an_unknown_line_stays_in_its_record() -> None:
    (record,) = read(ILLEGAL.replace("======    code", "======    hint of a later release\n======    code"))
    assert record.extra == ("hint of a later release",)
    assert not record.is_partial and record.frames == STACK_FRAMES


@pytest.mark.parametrize("n", range(4))
def test_a_record_without_one_of_its_lines_is_partial(n: int) -> None:
    lines = ILLEGAL.splitlines(keepends=True)
    (record,), reader = reader_of("".join(lines[: n + 1] + lines[n + 2 :]) + FINISHED)
    # a block line is missing in the oldest releases as well, and the first frame is told by its number
    assert record.is_partial == (n != 1)
    assert [problem.kind for problem in reader.problems] == (["bad-record"] if n != 1 else [])
