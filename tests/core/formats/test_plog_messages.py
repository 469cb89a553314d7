"""CANN's messages one by one, in every wording that logs of 2020 to 2026 have."""
# ruff: noqa: E501 - log lines as they are

from __future__ import annotations

import pytest

from npulse.core.formats.plog import messages
from npulse.core.formats.plog.heads import head_of, time_us

DUMP = "dump info: pc start: 0x12c0c0040000, current: 0x12c0c0040678, vec error info: 0x51, biu error info: 0"


@pytest.mark.parametrize(
    ("text", "unit", "core", "chip", "die", "serial"),
    [
        ("The error from device(0), serial number is 1, there is a aicore error, core id is 3", "aicore error", 3, 0, None, 1),
        ("The error from device(2), serial number is 367, there is an aicore error, core id is 0", "aicore error", 0, 2, None, 367),
        ("The error from device(chipId:0, dieId:1), serial number is 48, there is an aivec error exception, core id is 16", "aivec error", 16, 0, 1, 48),
        ("The error from device(chipId:3, dieId:0), serial number is 22, there is an exception of aivec error, core id is 45", "aivec error", 45, 3, 0, 22),
        ("An error occurs on the device(chipId:0, dieId:0), the serial number is 48, the error is aivec error, core id is 17", "aivec error", 17, 0, 0, 48),
        ("The error from device(chipId:3, dieId:0), serial number is 87, there is an fftsplus aivector error exception, core id is 0", "fftsplus aivector error", 0, 3, 0, 87),
    ],
)  # fmt: skip
def test_the_core_line_in_five_wordings(
    text: str, unit: str, core: int, chip: int, die: int | None, serial: int
) -> None:
    told = messages.core_told(f"{text}, error code = 0x200000000, {DUMP}.")
    assert told is not None
    assert (told.unit, told.core_id, told.chip_id, told.die_id, told.serial_number) == (
        *(unit, core, chip, die),
        serial,
    )
    assert (told.error_code, told.error_number) == (0x200000000, None)
    assert (told.pc_start, told.pc_current) == (0x12C0C0040000, 0x12C0C0040678)
    assert told.registers == {"vec error info": 0x51, "biu error info": 0}


def test_a_collective_that_the_device_calls_a_timeout() -> None:
    told = messages.core_told(
        "The error from device(chipId:0, dieId:0), serial number is 5, there is an hccl fftsplus timeout, ..."
    )
    assert told is not None and (told.unit, told.core_id, told.serial_number) == (
        "hccl fftsplus timeout",
        None,
        5,
    )


def test_error_texts_stand_in_three_places() -> None:
    head = "The error from device(0), serial number is 1, there is a aicore error, core id is 0, error code = 0x10, "
    old = messages.core_told(
        head + "error string = Illegal instruction. dump info: pc start: 0x1, current: 0x2."
    )
    assert old is not None and old.error_text == "Illegal instruction."
    later = messages.core_told(
        head + "dump info: pc start: 0x1, para base: 0x7, errorStr: Illegal, unaligned."
    )
    assert later is not None and (later.error_text, later.registers) == (
        "Illegal, unaligned.",
        {"para base": 7},
    )
    extend = messages.extend_told(
        "The extend info: errcode:(0x1, 0, 0) errorStr: A. B. fixp_error0 info: 0x6a"
    )
    assert extend is not None and (extend.text, extend.registers) == ("A. B.", {"fixp_error0 info": 0x6A})


def test_ascend_950_prints_a_number_and_other_registers() -> None:
    text = (
        "An error occurs on the device(chipId:0, dieId:0), the serial number is 329, the error is aivec error, "
        "core id is 0, error code = 286, dump info: pc start: 0x120041000100, current: 0x12004100016c, "
        "sc error info: 0xffffffffffff, su error info: 0xeadbe7fe29c20051,0x80400000f800f7da, "
        "mte error info: 0x2f40000025969, l1 error info: 0, mte error: 0, aic cond: 0. "
    )
    core = messages.core_told(text)
    assert core is not None
    assert (core.error_code, core.error_number) == (None, 286)
    assert core.registers == {
        "sc error info": 0xFFFFFFFFFFFF,
        "su error info": 0xEADBE7FE29C20051,
        "su error info 2": 0x80400000F800F7DA,
        "mte error info": 0x2F40000025969,
        "l1 error info": 0,
        "mte error": 0,
        "aic cond": 0,
    }
    extend = messages.extend_told(
        text
        + "The extend info: errcode:(286) errorStr: The trap instruction reports an error. subErrType: 0x4."
    )
    assert extend is not None
    assert (extend.words, extend.number, extend.sub_error_type) == ((), 286, 4)
    assert extend.text == "The trap instruction reports an error."


def test_core_and_extend_line_in_one_message() -> None:
    """As CANN 9.3 prints them, with a hint behind."""
    text = (
        "An error occurs on the device(chipId:0, dieId:0), the serial number is 40, the error is aicore error, core id "
        f"is 24, error code = 0, {DUMP}, aic cond: 0. The extend info: errcode:(0, 0x4000000000000000, 0) errorStr: The "
        "CUBE instruction parameter is invalid. fixp_error0 info: 0xbf383af, fixp_error1 info: 0xfb, fsmId:0, tslot:0, "
        "thread:0, ctxid:0, blk:7, sublk:1, subErrType:4. For details, see the troubleshooting document. Search for the "
        'keyword "AI Core Error".'
    )
    core, extend = messages.core_told(text), messages.extend_told(text)
    assert core is not None and extend is not None
    assert (core.error_text, core.registers["aic cond"]) == ("", 0)
    assert extend.words == (0, 1 << 62, 0)
    assert (extend.block, extend.sub_block, extend.sub_error_type) == (7, 1, 4)
    assert extend.text == "The CUBE instruction parameter is invalid."
    assert messages.bits_of(extend.words) == (126,)


def test_the_extend_line_of_2021_has_no_code() -> None:
    text = (
        "The extend info from device(0), serial number is 367, there is aicore error, core id is 0, aicore int: 0x1, "
        "axi clamp state: 0x1717, biu status0: 0x101e44800000000"
    )
    assert messages.core_told(text) is None
    extend = messages.extend_told(text)
    assert extend is not None and (extend.words, extend.text, extend.block) == ((), "", None)
    assert extend.registers == {"aicore int": 1, "axi clamp state": 0x1717, "biu status0": 0x101E44800000000}


def test_a_message_that_is_cut_off_tells_what_is_left() -> None:
    whole = (
        "The error from device(chipId:0, dieId:0), serial number is 48, there is an aivec error exception, core id is "
        f"16, error code = 0x10, {DUMP}."
    )
    for end in range(len(whole)):
        core = messages.core_told(whole[:end])
        if core is not None:
            assert core.core_id in (1, 16)
    cut = messages.core_told(whole[: whole.index(", vec error")])
    assert cut is not None and (cut.pc_current, cut.registers) == (0x12C0C0040678, {})


@pytest.mark.parametrize(
    ("words", "bits"),
    [
        ((), ()),
        ((0, 0, 0), ()),
        ((0x200000000,), (33,)),
        ((0x800000, 1, 1 << 16), (23, 64, 144)),
        ((0, 1 << 63, 0b11 | 1 << 32 | 1 << 62), (127, 128, 129, 145, 175)),
        ((0, 0, 1 << 20), ()),
    ],
)
def test_bits_of_the_three_words(words: tuple[int, ...], bits: tuple[int, ...]) -> None:
    assert messages.bits_of(words) == bits


# ---- the task ----


def test_the_line_that_opens_it() -> None:
    told = messages.run_told(
        "Task run failed, device_id=0, stream_id=2, task_id=1, sqe_type=0(ffts), errType=0x1(task exception), "
        "sqSwStatus=0"
    )
    assert told is not None and (told.sqe_type, told.error_type) == ("ffts", "task exception")
    assert told.numbers == {"device_id": 0, "stream_id": 2, "task_id": 1, "sqe_type": 0, "sqSwStatus": 0}
    late = messages.run_told(
        "Task run timeout, stream_id=61, pos=3, task_sn=70000, task_type=14(notify wait), errType=0x4(task timeout)"
    )
    assert late is not None and (late.sqe_type, late.error_type) == ("notify wait", "task timeout")
    assert late.numbers["task_sn"] == 70000
    old = messages.run_told("task exception! stream_id=515, task_id=1, type=13, retCode=0x91.")
    assert old is not None and old.error_type == "task exception"
    assert old.numbers == {"stream_id": 515, "task_id": 1, "type": 13}
    assert messages.run_told("a task was run") is None


@pytest.mark.parametrize(
    ("text", "unit", "kernel", "extension", "function", "op"),
    [
        ("Aicore kernel execute failed, device_id=0, stream_id=2, report_stream_id=2, task_id=1, flip_num=0, fault kernel_name=Add_ab_0, fault kernel info ext=none, program id=1, hash=13.", "ai core", "Add_ab_0", "", "", ""),
        ("[DFX_INFO]AI Core kernel execution failed, device_id=0, stream_id=47, task_id=0, flip_num=0, fault kernel_name=_Z12kPDhS_S_, fault kernel info ext=k_mix_aic, program id=0", "ai core", "_Z12kPDhS_S_", "k_mix_aic", "", ""),
        ("aicore kernel execute failed, device_id=0, stream_id=517, task_id=3, fault kernel_name=-1_0_1_trans_TransData_0, func_name=te_transdata_1__kernel0", "ai core", "-1_0_1_trans_TransData_0", "", "te_transdata_1__kernel0", ""),
        ("fftsplus task execute failed, device_id=0, stream_id=2, task_id=6, flip_num=0, fault kernel_name=2_0_11_GatherV2, blockDim=8.", "fftsplus", "2_0_11_GatherV2", "", "", ""),
        ("Aicpu kernel execute failed, device_id=0, stream_id=7, task_id=2, flip_num=0, fault so_name=, fault kernel_name=, fault op_name=Unique, extend_info=(a:4).", "ai cpu", "", "", "", "Unique"),
        ("AI CPU kernel execution failed, device_id=0, stream_id=7, task_id=2, fault op_name=GetNext, soName=lib.so, funcName=Run, kernelName=k, paramAddr=0", "ai cpu", "", "", "Run", "GetNext"),
        ("Fusion kernel execute failed, kernel_name=AllGatherMatmulV2_5cc364e0da8d3d4ef44ec8a67ccee527_64", "fftsplus", "AllGatherMatmulV2_5cc364e0da8d3d4ef44ec8a67ccee527_64", "", "", ""),
    ],
)  # fmt: skip
def test_the_line_with_the_kernel(
    text: str, unit: str, kernel: str, extension: str, function: str, op: str
) -> None:
    told = messages.fault_told(text)
    assert told is not None
    assert (told.unit, told.kernel_name, told.kernel_extension, told.function_name, told.op_name) == (
        *(unit, kernel, extension),
        *(function, op),
    )


def test_lines_that_only_resemble_it() -> None:
    for text in (
        "AI Core kernel task execution failed, retCode=0x26.",
        "Vector Core kernel execution failed, retCode=0x31.",
        "AIV Kernel happen error, retCode=0x31.",
    ):
        assert messages.fault_told(text) is None
        assert messages.ret_told(text) is not None


def test_return_codes() -> None:
    told = messages.ret_told
    assert told("Kernel task happen error, retCode=0x31, [vector core exception].") == (
        0x31,
        "vector core exception",
    )
    assert told("An error occurred in the kernel task, retCode=0x26, [aicore exception].") == (
        0x26,
        "aicore exception",
    )
    assert told("AIV Kernel happen error, retCode=0x31.") == (0x31, "")
    assert told("retCode=none") is None


def test_names_of_nodes_and_functions() -> None:
    assert messages.node_told("node_name:GatherV2, node_type:GatherV2T, stream_id:2, task_id:6") == (
        "GatherV2",
        "GatherV2T",
    )
    assert messages.node_told(
        "Op execute failed. origin_op_name [A], op_name [MoeDispatch], error_info: task_id 1, stream_id 45, tid 8"
    ) == ("MoeDispatch", "")
    assert messages.function_told("dev_func:te_gatherv2_1__kernel0") == "te_gatherv2_1__kernel0"
    assert messages.registered_told("add error register: core_id=24, stream_id=47, task_id=0") == (24, 47, 0)


# ---- arguments, dumps, places ----


def test_arguments_and_tiling() -> None:
    assert messages.args_told("args(0 to 4) after execute:0x12c0, 0, 0xff,0x400,  ") == (
        0,
        [0x12C0, 0, 255, 1024],
    )
    assert messages.args_told("args(20 to 22) after execute:0x34, 0x1.") == (20, [0x34, 1])
    assert messages.args_told("after execute:args print end") is None
    key = "tilingKey = 10000000000022420943, print 16 Times totalLen=(308*8)Bytes, argsSize=2464, blockDim=20"
    told = messages.tiling_told(key)
    assert told is not None and told[:2] == (10000000000022420943, 308)
    assert (told[2]["argsSize"], told[2]["blockDim"]) == (2464, 20)


def test_dump_lines() -> None:
    assert messages.begin_told("begin to load normal tensor, index:3") == ("normal tensor", 3)
    assert messages.begin_told("begin to load normal tenso, index:3") == ("normal tensor", 3)
    assert messages.begin_told("begin to load tiling data, index:4") == ("tiling data", 4)
    assert messages.begin_told("end to load normal tensor, index:3") is None
    assert messages.buffer_told("exception info dump args data, addr:0x12c0; size:32768 bytes") == (
        0x12C0,
        32768,
    )
    assert messages.buffer_told("exception info dump args data, addr:0; size:0 bytes") == (0, 0)
    assert messages.file_told("dump exception to file, file: /a b/x.1") == "/a b/x.1"
    assert messages.file_told("dump host kernel to file, file: /x_host.o") == "/x_host.o"
    assert messages.file_told("dump kernel json to file, file: /x.json") == "/x.json"
    assert messages.dump_told(
        "Begin to dump exception. dumpScene=lite_exception, deviceId=0, streamId=2, taskId=1, exceptionType=0(aicore), "
        "kernelName=Add_0."
    ) == (0, 2, 1, "Add_0")


def test_what_cann_found_of_a_core() -> None:
    pc = messages.core_found(
        "Error PC information. coreId=16, coreType=1, originalStartPC=0x12c0c0040000, fixedStartPC=0x12c0c0040000, "
        "originalCurrentPC=0x12c0c0040678, fixedCurrentPC=0x12c0c0040678, fixedPCOffset=0x678."
    )
    assert pc is not None and (pc.core_id, pc.pc_offset) == (16, 0x678)
    symbol = messages.core_found("Error symbol information. coreId=24, coreType=0, symbol=_Z8m.cube+0xd4.")
    assert symbol is not None and (symbol.core_id, symbol.symbol) == (24, "_Z8m.cube+0xd4")
    registers = messages.core_found(
        "Error register information. coreId=24, coreType=0, AIC_ERR_3=0x4 BIU_ERR_0=0x0"
    )
    assert registers is not None and registers.registers == {"AIC_ERR_3": 4, "BIU_ERR_0": 0}


def test_groups_of_cores_in_one_line_and_in_three() -> None:
    assert messages.group_told(
        "Group[0] oFile=/a/x.o fixedPCOffset=0x678 symbol=add+0x78 source=/w/add custom.cpp:44:9 cores=[{id=16,type=1},{id=17,type=1}]"
    ) == (
        0,
        {
            "oFile": "/a/x.o",
            "fixedPCOffset": "0x678",
            "symbol": "add+0x78",
            "source": "/w/add custom.cpp:44:9",
        },
        [16, 17],
    )
    assert messages.group_told("Group[1] outerSrc=/a.h:161:9 innerSrc=/b.h:1:2") == (
        *(1, {"outerSrc": "/a.h:161:9", "innerSrc": "/b.h:1:2"}),
        [],
    )
    assert messages.group_told("Group[1] cores=[{id=24,type=0}]") == (1, {}, [24])
    assert messages.group_told("Group[0] summary (cores=1):") == (0, {}, [])


# ---- heads ----


def test_times() -> None:
    assert time_us("1970-01-01-00:00:14.782.005") == 14_782_005
    assert time_us("2026-08-29-10:15:07.113.217") == 1_787_998_507_113_217
    assert time_us("2025-10-21 07:56:47.198.454") == 1_761_033_407_198_454
    assert time_us("2026-13-29-10:15:07.113.217") is None
    assert time_us("") is None


@pytest.mark.parametrize(
    ("text", "pid", "thread", "function", "file", "tags", "message"),
    [
        ("[ERROR] RUNTIME(7,run_add):2026-08-29-10:15:07.113.217 [stars_engine.cc:1551]8 ProcLogicCqReport:[INIT][DEFAULT]Task run", 7, 8, "ProcLogicCqReport", "stars_engine.cc", "[INIT][DEFAULT]", "Task run"),
        ("[ERROR] RUNTIME(7,None):2020-12-24-01:10:54.175.696 [../../runtime/feature/src/engine.cc:738]8 ReportExceptProc:task", 7, 8, "ReportExceptProc", "../../runtime/feature/src/engine.cc", "", "task"),
        ("[WARNING] RUNTIME(370,python3):2023-07-13-07:41:07.907.086 [config.cc:707] 370 ReadMode: read failed", 370, 370, "ReadMode", "config.cc", "", "read failed"),
        ("[ERROR] ASCENDCL(7,a):2026-08-29-10:15:07.113.217 [stream.cpp:120]8 aclrtSynchronizeStream: failed", 7, 8, "aclrtSynchronizeStream", "stream.cpp", "", "failed"),
        ("[ERROR] IDEDD(7,a):2026-08-29-10:15:07.113.217 [dump_args.cpp:990][tid:8] [Dump][Exception] begin", 7, 8, "", "dump_args.cpp", "[Dump][Exception]", "begin"),
        ("[ERROR] HCCL(7,a):2026-08-29-10:15:07.113.217 [handler.cc:27] [8][TaskExecStage][Timeout]Task run", 7, 8, "", "handler.cc", "[TaskExecStage][Timeout]", "Task run"),
        ("[ERROR] TSCH(-1,null):1970-01-01-08:00:14.782.000 12 (cpuid:0) [task.c:12] some_func: text", -1, None, "some_func", "task.c", "", "text"),
        ("[ERROR] TDT(7,a):2026-08-29-10:15:07.113.217 [server.cpp:3][Send][tid:8] text", 7, None, "", "server.cpp", "[Send]", "[tid:8] text"),
        ("[ERROR] HCCL(60570,):2025-12-04-14:46:07.911.312 no place", 60570, None, "", "", "", "no place"),
        ("rank0 [ERROR] RUNTIME(7,a (b)):2026-08-29-10:15:07.113.217 [f.cc:1]8 F:text", 7, 8, "F", "f.cc", "", "text"),
    ],
)  # fmt: skip
def test_heads_of_log_lines(
    text: str, pid: int, thread: int | None, function: str, file: str, tags: str, message: str
) -> None:
    head = head_of(text)
    assert head.is_log and head.time_us is not None
    assert (head.pid, head.thread, head.function, head.file, head.tags, head.message) == (
        *(pid, thread, function),
        *(file, tags, message),
    )


@pytest.mark.parametrize(
    ("text", "code", "pid", "has_time", "title", "message"),
    [
        ("EZ9999: Inner Error!", "EZ9999", None, False, "", "Inner Error!"),
        ("EZ9999[PID: 24121] 2026-08-29-10:15:07.413.208 (EZ9999):  The error.[FUNC:F][FILE:f.cc][LINE:14]", "EZ9999", 24121, True, "", "The error."),
        ("EI0002: [PID: 7] 2026-01-20-02:28:36.670.614 The wait", "EI0002", 7, True, "", "The wait"),
        ("[PID: 7] 2026-01-20-02:28:36.670.614 Memory_Allocation_Failure(EL0004): Failed.", "EL0004", 7, True, "Memory_Allocation_Failure", "Failed."),
        ("[PID: 7] 2026-01-20-02:28:36.670.614 Failed.", "", 7, True, "", "Failed."),
        ("E30008: AI CPU operator execution time out.", "E30008", None, False, "", "AI CPU operator execution time out."),
        ("        The extend info: x[FUNC:F][FILE:f.cc][LINE:14]", "", None, False, "", "The extend info: x"),
        ("SIZE1234: no code", "", None, False, "", "SIZE1234: no code"),
    ],
)  # fmt: skip
def test_heads_of_console_lines(
    text: str, code: str, pid: int | None, has_time: bool, title: str, message: str
) -> None:
    head = head_of(text)
    assert not head.is_log
    assert (head.code, head.pid, head.title, head.message) == (code, pid, title, message)
    assert (head.time_us is not None) == has_time
    if "[FUNC" in text:
        assert (head.function, head.file, head.file_line) == ("F", "f.cc", 14)
