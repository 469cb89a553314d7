# ruff: noqa: E501 - log lines as they are
"""Records of single tools as faults: what the logs at hand do not hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats import hostsan as host
from npulse.core.formats.hostsan.records import Place, SanitizerError, Span, Stack, StackObject
from npulse.core.formats.mssanitizer import records as mss
from npulse.core.formats.plog.reader import PlogReader
from npulse.core.formats.plog.records import CoreError, FailedTask, TaskFailure
from npulse.core.memory.faults import Block, Cores, Fault, Frame, Task
from npulse.core.memory.logs import TextLog
from npulse.core.memory.tools import hostsan, msdebug, mssanitizer, parts, plog


def fed(text: str) -> list[Fault]:
    log = TextLog("a.log")
    return [*log.feed(text.encode()), *log.finish()]


# ---- parts ----


@given(st.lists(st.integers(0, 60)))
def test_ranges_hold_exactly_the_numbers(numbers: list[int]) -> None:
    ranges = parts.ranges_of(numbers)
    assert [n for a, b in ranges for n in range(a, b + 1)] == sorted(set(numbers))
    assert all(left[1] + 1 < right[0] for left, right in zip(ranges, ranges[1:], strict=False))


def test_equal_stacks_stay_one_object_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MAX_STACKS", 2)
    shared = mssanitizer.stacks()
    first = (mss.Frame("a.cpp", 1),)
    assert shared(first) is shared(first) and shared(first) == (Frame("a.cpp", 1),)
    others = [(mss.Frame("b.cpp", n),) for n in range(5)]
    assert [shared(one)[0].line for one in others] == list(range(5))
    assert shared(first) == (Frame("a.cpp", 1),) and shared(()) == ()


# ---- msSanitizer ----


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), min_size=1))
def test_listed_cores_as_ranges(pairs: list[tuple[int, int]]) -> None:
    listed = ",".join(str(a) if not more else f"{a}-{a + more}" for a, more in pairs)
    record = mss.Record("illegal read", "error", "head", 1, 0, 9, cores=(mss.Cores("aic", listed),))
    (cores,) = mssanitizer.fault_of(record, "a").access.cores
    assert cores.core_type == "aic"
    ids = [n for a, b in cores.ranges for n in range(a, b + 1)]
    assert ids == sorted(set(mss.Cores("aic", listed).ids))


def test_no_cores_and_huge_ones() -> None:
    record = mss.Record(
        "illegal read",
        "error",
        "h",
        1,
        0,
        9,
        cores=(mss.Cores("", ""), mss.Cores("aiv", "0-999999999999,7-3")),
    )
    empty, huge = mssanitizer.fault_of(record, "a").access.cores
    assert (empty.ranges, huge.ranges) == ((), ((0, 999999999999),))


def test_details_of_the_tool() -> None:
    text = """\
====== ERROR: illegal write of size 64 byte(s)
======    Access to 0x2040 on GM is 64 byte(s) after the nearest allocation at 0x1000 of size 4096 byte(s)
======    in add on device 0

====== WARNING: Unpaired set_flag instructions detected
======    from PIPE_MTE2 to PIPE_V in add
======    in block aiv(3) on device 0
======    code in pc current 0x10 (serialNo:5)

====== INFO: VADD is using non-default mask. MaskMode: Normal, MaskHigh: 0xff, MaskLow: 0x1
======    in kernel add on device 0
======    code in pc current 0x20 (serialNo:6)

[mssanitizer] Warning:Register CTRL[56] was not reset to default in block aiv(1) on kernel add. Expected default value is (0x0), but current value is (0x1)

"""
    guard, flag, mask, register = fed(text)
    assert guard.block == Block(4096, 0x1000, "after", 64)
    assert flag.figures == {"from_pipe": "PIPE_MTE2", "to_pipe": "PIPE_V"}
    assert (flag.access.instruction, flag.access.cores) == ("set_flag", (Cores("aiv", ((3, 3),)),))
    assert (
        mask.figures == {"mask_mode": "Normal", "mask_high": 255, "mask_low": 1} and mask.severity == "info"
    )
    assert register.figures == {"register": "CTRL[56]", "expected": "0x0", "current": "0x1"}
    assert register.access.kernel == "add"


def test_lines_that_are_not_understood_stay_with_the_fault() -> None:
    (fault,) = fed(
        "====== ERROR: illegal read of size 4\n======    at 0x10 on GM in k\n======    moon is full\n\n"
    )
    assert fault.figures["extra"] and "moon is full" in fault.figures["extra"][0]


# ---- host sanitizers ----


@pytest.mark.parametrize(
    ("access", "size", "wanted"),
    [
        (272, 4, ("after", 0)),
        (280, 4, ("after", 8)),
        (270, 4, ("inside", 14)),  # partially overflows: it begins inside
        (254, 2, ("before", 2)),
        (254, 4, ("before", 2)),  # partially underflows
        (256, 1, ("inside", 0)),
    ],
)
def test_an_access_beside_a_variable(access: int, size: int, wanted: tuple[str, int]) -> None:
    variable = StackObject("a", 256, 272, 45, "meets", access)
    frame = Stack("", (host.Frame(0, function="f", file="a.cpp", line=20),), 1)
    place = Place(
        "stack", "text", 0x5000 + access, frame_offset_bytes=access, frame=frame, objects=(variable,)
    )
    record = SanitizerError(
        *(Span(1, 9, 0, 99), "AddressSanitizer", "error", "stack-buffer-overflow", "m", 7),
        access="write",
        size_bytes=size,
        address=0x5000 + access,
        places=(place,),
    )
    fault = hostsan.fault_of(record, "a")
    assert fault.block == Block(16, 0x5100, *wanted, "a")  # type: ignore[arg-type]
    assert fault.figures["declared_at"] == Frame("a.cpp", 45, None, "f")


def test_undefined_behaviour_with_and_without_a_stack() -> None:
    plain = fed("/op/tiling.cpp:15:72: runtime error: signed integer overflow: 2 * 3 cannot be\n")[0]
    assert (plain.tool, plain.kind) == ("UndefinedBehaviorSanitizer", "signed-integer-overflow")
    assert plain.access.frames == (Frame("/op/tiling.cpp", 15, 72),)
    stacked = fed(
        "/op/tiling.cpp:15:72: runtime error: signed integer overflow: 2 * 3 cannot be\n"
        "    #0 0x55 in Tile(int) /op/tiling.cpp:15:72\n    #1 0x56 in main /op/tiling.cpp:30:3\n\n"
    )[0]
    assert [(frame.function, frame.line) for frame in stacked.access.frames] == [
        ("Tile(int)", 15),
        ("main", 30),
    ]


# ---- CANN ----


def test_units_as_core_types() -> None:
    wanted = {
        "aivec error": "aiv",
        "fftsplus aivector error": "aiv",
        "aicore error": "aicore",
        "fftsplus aicore error": "aicore",
        "fftsplus sdma error": "",
        "hccl fftsplus timeout": "",
    }
    assert {unit: plog.core_type_of(unit) for unit in wanted} == wanted


def rt(message: str, pid: int = 7, module: str = "RUNTIME") -> str:
    return f"[ERROR] {module}({pid},app):2026-08-29-10:15:07.113.217 [f.cc:15]8 Fn:{message}\n"


CORE = (
    "The error from device(chipId:1, dieId:0), serial number is 48, there is an {unit} error exception, core id is"
    " {core}, error code = {code}, dump info: pc start: 0x1000, current: {pc}, vec error info: 0x5."
)


def test_cores_of_two_types_are_two_accesses() -> None:
    text = rt(
        "Task run failed, device_id=1, stream_id=2, task_id=3, sqe_type=0(ffts), errType=0x1(task exception)"
    )
    text += rt(CORE.format(unit="aivec", core=5, code="0x10", pc="0x1040"))
    text += rt(CORE.format(unit="aivec", core=4, code="0x100000", pc="0x1080"))
    text += rt(CORE.format(unit="aicore", core=9, code="0x10", pc="0xf00"))
    (fault,) = fed(text)
    assert [(a.cores, a.pc, a.device, a.pid) for a in fault.accesses] == [
        ((Cores("aiv", ((4, 5),)),), 0x40, 1, 7),
        ((Cores("aicore", ((9, 9),)),), -0x100, 1, 7),
    ]
    assert fault.figures["core_pcs"] == ((5, 0x40, None), (4, 0x80, None), (9, -0x100, None))
    assert fault.figures["error_bits"] == ("CCU_ILLEGAL_INSTR", "IFU_BUS_ERR")
    assert (fault.task, fault.figures["n_cores"], fault.figures["error_code"]) == (Task(1, 2, 3), 3, 0x10)
    assert fault.time_us == 1_787_998_507_113_217  # 2026-08-29 10:15:07.113217


def test_a_failed_task_and_one_out_of_time() -> None:
    faults = fed(
        rt(
            "Task run failed, device_id=0, stream_id=2, task_id=9, sqe_type=6(notify wait), errType=0x4(task timeout)"
        )
        + rt(
            "Task run failed, device_id=0, stream_id=3, task_id=9, sqe_type=1(memcpy), errType=0x8(sqe error)"
        )
    )
    assert [(f.kind, f.figures["is_timeout"], f.figures["sqe_type"], f.task) for f in faults] == [
        ("task failure", True, "notify wait", Task(0, 2, 9)),
        ("task failure", False, "memcpy", Task(0, 3, 9)),
    ]


def test_a_collective_that_waited() -> None:
    text = (
        "[ERROR] HCCL(7,app):2026-08-29-10:15:07.113.217 [task.cc:27] [8][TaskException]Task run time out,"
        " streamID:[6], taskID:[2], tag[AllReduce_1], timeout[1836s], remote rank:[3]\n"
    )
    (fault,) = fed(text)
    assert (fault.tool, fault.kind, fault.task) == ("HCCL", "collective time-out", Task(None, 6, 2))
    assert (fault.figures["timeout_s"], fault.figures["tag"], fault.figures["remote_rank"]) == (
        1836,
        "AllReduce_1",
        "3",
    )


def test_who_printed_a_code() -> None:
    faults = fed(
        "EL0004: [PID: 7] 2026-01-20-02:28:36.670.614 Failed to allocate memory.\n"
        "EI0006: [PID: 7] 2026-01-20-02:28:37.670.614 wrong code text\n"
        "[ERROR] 2026-01-20-02:28:38 (PID:7, Device:3, RankID:11) ERR00100 PTA call acl api failed\n"
    )
    told = [(f.tool, f.kind, f.figures["code"]) for f in faults]
    assert ("CANN", "error code", "EL0004") in told and ("torch_npu", "error code", "ERR00100") in told
    assert {tool for tool, _, code in told if code == "EI0006"} == {"HCCL"}
    last = faults[-1]
    assert (last.figures["rank"], last.figures["device_id"], last.access.device) == (11, 3, 3)


def test_every_figure_is_there_even_if_nothing_is_known() -> None:
    record = TaskFailure(1, 0, 1, None, None, "", "", FailedTask())
    fault = plog.fault_of(record, "a")
    assert fault is not None and fault.task is None
    assert fault.figures["kernel_name"] == "" and fault.figures["ret_code"] is None
    reader = PlogReader()
    (told,) = [
        *reader.feed(b"Stream Synchronize failed, stream_id=2, retCode=0x31, [vector core exception].\n"),
        *reader.finish(),
    ]
    fault = plog.fault_of(told, "a")
    assert fault is not None and fault.kind == "aicore exception"
    assert fault.figures["error_bits"] == () and fault.figures["core_pcs"] == () and fault.access.cores == ()
    assert CoreError("aivec error", 1, 0).pc_offset is None


# ---- memory texts ----


def test_memory_of_other_frameworks() -> None:
    (fault,) = fed(
        "[ERROR] Memory isn't enough and alloc failed, kernel name: Default/Conv2D-op1, alloc size: 4096B\n"
    )
    assert (fault.tool, fault.access.kernel, fault.figures["tried_bytes"]) == (
        "MindSpore",
        "Default/Conv2D-op1",
        4096,
    )
    assert fault.figures["allocator"] == "mindspore"


@pytest.mark.parametrize(("buffer", "space"), [("ub", "UB"), ("cbuf", "L1"), ("cc", "L0C"), ("xyz", "")])
def test_buffers_by_their_names(buffer: str, space: str) -> None:
    (fault,) = fed(
        f'loc("k.py":3:0): error: {buffer} overflow, requires 8001 bits while 8000 bits available!\n'
    )
    assert (fault.access.space, fault.figures["buffer"]) == (space, buffer)
    assert (fault.figures["required_bytes"], fault.figures["available_bytes"]) == (1001, 1000)
    assert fault.access.frames == (Frame("k.py", 3, None),)


# ---- msDebug ----


@pytest.mark.parametrize(
    ("reason", "wanted"),
    [
        *(
            ("MTE_ERROR", True),
            ("VEC_ERROR", True),
            ("CUBE_ERROR|MTE_ERROR", True),
            ("signal SIGSEGV: x", True),
        ),
        *(("breakpoint 1.1", False), ("step over", False), ("trace", False), ("ERROR_COUNT 3", False)),
    ],
)
def test_what_is_an_exception(reason: str, wanted: bool) -> None:
    assert msdebug.is_exception(reason) is wanted


# ---- source lines in the log ----


def symbolized(*groups: str) -> str:
    text = rt(
        "Task run failed, device_id=1, stream_id=2, task_id=3, sqe_type=0(ffts), errType=0x1(task exception)"
    )
    text += rt(CORE.format(unit="aivec", core=5, code="0x10", pc="0x1040"))
    text += rt(CORE.format(unit="aicore", core=9, code="0x10", pc="0xf00"))
    head = "[ERROR] IDEDD(7,app):2026-08-29-10:15:07.113.217 [s.cpp:9][tid:8] [Dump][Exception][Symbolize] "
    return text + "".join(f"{head}{group}\n" for group in groups)


def test_the_source_line_in_the_log_is_the_place() -> None:
    (fault,) = fed(
        symbolized(
            "Group[0] oFile=/o/a.o fixedPCOffset=0x40 symbol=add+0x8 source=/op/add.cpp:44:9 cores=[{id=5,type=1}]",
            "Group[1] oFile=/o/a.o fixedPCOffset=0x60 symbol=mul+0x8 source=/op/mul.cpp:7 cores=[{id=9,type=0}]",
        )
    )
    assert [access.frames for access in fault.accesses] == [
        (Frame("/op/add.cpp", 44, 9, "add"),),
        (Frame("/op/mul.cpp", 7, None, "mul"),),
    ]
    assert fault.figures["core_pcs"] == ((5, 0x40, 0x40), (9, -0x100, 0x60))
    assert fault.figures["fixed_pc_offset"] == 0x40


def test_the_outermost_call_is_the_caller() -> None:
    (fault,) = fed(
        symbolized(
            "Group[0] oFile=/o/a.o fixedPCOffset=0x40 symbol=add+0x8 source=unknown cores=[{id=5,type=1}]",
            "Group[0] outerSrc=/op/add.cpp:90:2 innerSrc=/tk/copy.h:12:5",
        )
    )
    first, second = fault.accesses
    assert first.frames == (Frame("/tk/copy.h", 12, 5), Frame("/op/add.cpp", 90, 2, "add"))
    assert second.frames == ()  # its core is in no group


@pytest.mark.parametrize("source", ["unknown", "??:0:0", "?", "add.cpp", ""])
def test_no_place_where_none_is_told(source: str) -> None:
    (fault,) = fed(
        symbolized(f"Group[0] oFile=/o/a.o symbol=add+0x8 source={source} cores=[{{id=5,type=1}}]")
    )
    assert [access.frames for access in fault.accesses] == [(), ()]
    assert plog.source_frame(source) is None
