# ruff: noqa: E501 - log lines as they are

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.plog import reader as plog_reader
from npulse.core.formats.plog.reader import PlogReader, read_plog
from npulse.core.formats.plog.records import (
    MAX_ARGS,
    MAX_CORES,
    AicoreException,
    CodedError,
    DumpedBuffer,
    FailedTask,
    HcclTimeout,
    PlogRecord,
    PythonError,
    SymbolGroup,
    TaskFailure,
)


def line(
    message: str, *, pid: int = 7, module: str = "RUNTIME", second: int = 7, level: str = "ERROR"
) -> str:
    head = f"[{level}] {module}({pid},app):2026-08-29-10:15:{second:02}.113.217"
    place = {"IDEDD": "[dump.cpp:9][tid:8] [Dump][Exception] ", "HCCL": "[h.cc:27] [8]"}
    return f"{head} {place.get(module, '[f.cc:15]8 Fn:')}{message}\n"


def run(device: int = 0, stream: int = 2, task: int = 1, **more: int) -> str:
    numbers = f"device_id={device}, stream_id={stream}, task_id={task}, sqe_type=0(ffts)"
    return line(f"Task run failed, {numbers}, errType=0x1(task exception), sqSwStatus=0", **more)


def core(
    core_id: int = 16, serial: int = 48, unit: str = "aivec", code: str = "0x200000000", **more: int
) -> str:
    return line(
        f"The error from device(chipId:0, dieId:0), serial number is {serial}, there is an {unit} error exception, core id "
        f"is {core_id}, error code = {code}, dump info: pc start: 0x12c0c0040000, current: 0x12c0c0040678, para base: 0x7.",
        **more,
    )


def extend(block: int = 2, text: str = "Out of range.", **more: int) -> str:
    return line(
        f"The extend info: errcode:(0x200000000, 0, 0) errorStr: {text} fixp_error0 info: 0x6a, blk:{block}, sublk:0, "
        "subErrType:4.",
        **more,
    )


def fault(stream: int = 2, task: int = 1, kernel: str = "Add_0", flip: int = 0, **more: int) -> str:
    numbers = f"device_id=0, stream_id={stream}, report_stream_id={stream}, task_id={task}, flip_num={flip}"
    return line(
        f"Aicore kernel execute failed, {numbers}, fault kernel_name={kernel}, program id=1, hash=13.", **more
    )


def returned(code: str = "0x31", text: str = "vector core exception", **more: int) -> str:
    return line(f"Kernel task happen error, retCode={code}, [{text}].", **more)


def end(code: int = 507035, **more: int) -> str:
    return line(f"ErrCode={code}, desc=[vector core exception], InnerCode=0x715005e", **more)


def read(*texts: str) -> list[PlogRecord]:
    reader = PlogReader()
    records = reader.feed("".join(texts).encode())
    records += reader.finish()
    assert reader.problems == ()
    return records


def exceptions(*texts: str) -> list[AicoreException]:
    return [record for record in read(*texts) if isinstance(record, AicoreException)]


# ---- one exception from all its lines ----


def test_all_lines_of_one_exception_are_one_record() -> None:
    text = [
        *(run(), core(16), extend(2), core(17), extend(3), returned(), fault()),
        line("[AIC_INFO] args(0 to 3) after execute:0x10, 0, 0x30,  "),
        line("tilingKey = 5, print 1 Times totalLen=(3*8)Bytes, argsSize=24, blockDim=8"),
        line("begin to load normal tensor, index:0", module="IDEDD"),
        line("exception info dump args data, addr:0x10; size:64 bytes", module="IDEDD"),
        line("dump exception to file, file: /d/exception_info.2.1", module="IDEDD"),
        end(),
    ]
    found, code = read(*text)
    assert isinstance(found, AicoreException) and isinstance(code, CodedError)
    assert (found.line, found.byte, found.last_line, found.is_closed) == (1, 0, 12, True)
    assert (found.pid, found.process, found.time_us, found.origin) == (7, "app", 1_787_998_507_113_217, "")
    assert found.task == FailedTask(
        device_id=0,
        stream_id=2,
        task_id=1,
        flip=0,
        report_stream_id=2,
        sqe_type="ffts",
        error_type="task exception",
        kernel_name="Add_0",
    )
    assert [(c.core_id, c.block, c.error_text, c.line) for c in found.cores] == [
        (16, 2, "Out of range.", 2),
        (17, 3, "Out of range.", 4),
    ]
    one = found.cores[0]
    assert (one.unit, one.error_code, one.error_words, one.error_bits) == (
        *("aivec error", 0x200000000),
        *((0x200000000, 0, 0), (33,)),
    )
    assert (one.pc_offset, one.serial_number, one.sub_error_type) == (0x678, 48, 4)
    assert one.registers == {"para base": 7, "fixp_error0 info": 0x6A}
    assert (found.n_cores, found.ret_code, found.ret_text) == (2, 0x31, "vector core exception")
    assert (found.args, found.n_args, found.args_size_bytes) == ((0x10, 0, 0x30), 3, 24)
    assert (found.tiling_key, found.block_dim) == (5, 8)
    assert found.buffers == (DumpedBuffer("normal tensor", 0, 0x10, 64),)
    assert found.files == ("/d/exception_info.2.1",)
    assert (code.code, code.api, code.inner_code, code.module, code.line) == (
        *("507035", "Fn", 0x715005E),
        *("RUNTIME", 13),
    )


def test_what_the_stream_repeats_is_left_out() -> None:
    text = (run(), core(), extend(), returned(), fault(), core(), extend(), returned(), fault(), end())
    (found,) = exceptions(*text)
    assert (found.n_cores, len(found.cores)) == (1, 1)
    again = (
        core(),
        extend(),
        returned(),
        fault(),
        line("Stream Synchronize failed, stream_id=2, retCode=0x31, [x]."),
    )
    assert len(exceptions(*text, *again)) == 1


def test_two_tasks_of_one_process_after_each_other() -> None:
    first = (run(task=1), core(16, 48), extend(), returned(), fault(task=1))
    second = (run(task=9), core(16, 49), extend(), returned(), fault(task=9, kernel="Mul_0"))
    assert [(e.task.task_id, e.task.kernel_name, e.n_cores) for e in exceptions(*first, *second)] == [
        (1, "Add_0", 1),
        (9, "Mul_0", 1),
    ]


def test_two_tasks_without_the_line_that_opens_them() -> None:
    """As of 2021: only another serial number behind the kernel's name tells that a new one begins."""
    found = exceptions(
        core(1, 367), fault(task=1, kernel="A"), core(1, 368), core(2, 368), fault(task=2, kernel="B")
    )
    assert [(e.task.kernel_name, e.n_cores) for e in found] == [("A", 1), ("B", 2)]


def test_aic_and_aiv_of_one_mixed_kernel_have_numbers_of_their_own() -> None:
    (found,) = exceptions(run(), core(1, 87, "aicore"), core(2, 88, "aivec"), fault())
    assert [(c.unit, c.serial_number) for c in found.cores] == [("aicore error", 87), ("aivec error", 88)]


def test_two_streams_that_fail_at_once() -> None:
    found = exceptions(
        run(stream=2, task=1), run(stream=3, task=5), core(), fault(3, 5, "B"), fault(2, 1, "A")
    )
    assert [(e.task.stream_id, e.task.task_id, e.task.kernel_name, e.n_cores) for e in found] == [
        (2, 1, "A", 0),
        (3, 5, "B", 1),
    ]


def test_processes_are_kept_apart() -> None:
    text = (
        run(pid=7),
        run(pid=8),
        core(1, pid=7),
        core(2, pid=8),
        extend(4, pid=7),
        fault(kernel="A", pid=7),
    )
    found = exceptions(*text, fault(kernel="B", pid=8), end(pid=8))
    assert [
        (e.pid, e.task.kernel_name, e.cores[0].core_id, e.cores[0].block, e.is_closed) for e in found
    ] == [
        (8, "B", 2, None, True),
        (7, "A", 1, 4, False),
    ]


def test_the_kernel_of_a_model_runs_in_another_stream() -> None:
    (found,) = exceptions(
        line("task exception! stream_id=515, task_id=1, type=13, retCode=0x91."),
        core(),
        fault(stream=517, task=3).replace("report_stream_id=517, ", ""),
    )
    task = found.task
    assert (task.stream_id, task.task_id, task.report_stream_id, found.ret_code) == (517, 3, 515, 0x91)


def test_task_ids_that_wrapped_around() -> None:
    found = exceptions(run(), fault(flip=0), end(), run(), fault(flip=1), end())
    assert [e.task.flip for e in found] == [0, 1]


def test_a_message_in_two_lines_and_one_in_one() -> None:
    head = "An error occurs on the device(chipId:0, dieId:0), the serial number is 4, the error is aivec error, core id is 1, error code = 0x0, dump info: pc start: 0x10, current: 0x18, aic cond: 0x1."
    tail = "The extend info: errcode:(0, 0x2000000000000000, 0) errorStr: Reads outside. fixp_error0 info: 0x1, blk:5, sublk:1, subErrType:4."
    for text in (line(head) + tail + "\n", line(f"{head} {tail} For details, see ...")):
        (found,) = exceptions(text)
        one = found.cores[0]
        assert (one.block, one.sub_block, one.error_text, one.error_bits) == (5, 1, "Reads outside.", (125,))
        assert (one.pc_offset, one.registers) == (8, {"aic cond": 1, "fixp_error0 info": 1})


def test_places_that_cann_worked_out() -> None:
    text = (
        *(run(), core(16), core(17)),
        line(
            "Error PC information. coreId=17, coreType=1, fixedCurrentPC=0x1, fixedPCOffset=0x64.",
            module="IDEDD",
        ),
        line("Error symbol information. coreId=17, coreType=1, symbol=add+0x4.", module="IDEDD"),
        line("Error register information. coreId=16, coreType=0, AIC_ERR_3=0x4", module="IDEDD"),
        line("Group[0] oFile=/x.o fixedPCOffset=0x64 symbol=add+0x4", module="IDEDD"),
        line("Group[0] outerSrc=/a.h:1:2 innerSrc=/add.cpp:44:9", module="IDEDD"),
        line("Group[0] cores=[{id=16,type=1},{id=17,type=1}]", module="IDEDD"),
        line(
            "Group[1] oFile=/x.o fixedPCOffset=0x9 symbol=add source=unknown cores=[{id=18,type=1}]",
            module="IDEDD",
        ),
    )
    (found,) = exceptions(*text)
    assert [(c.fixed_pc_offset, c.symbol) for c in found.cores] == [(None, ""), (0x64, "add+0x4")]
    assert found.cores[0].registers == {"para base": 7, "AIC_ERR_3": 4}
    assert found.symbols == (
        SymbolGroup(0, "/x.o", 0x64, "add+0x4", "/add.cpp:44:9", "/a.h:1:2", (16, 17)),
        SymbolGroup(1, "/x.o", 9, "add", "", "", (18,)),
    )


def test_names_from_other_lines() -> None:
    (found,) = exceptions(
        *(
            core(),
            line(
                "[AIC_INFO] node_name:net/Add, node_type:Add, stream_id:2, task_id:6",
                module="GE",
                level="INFO",
            ),
        ),
        line("[AIC_INFO] dev_func:te_add_1__kernel0", module="GE", level="INFO"),
        line(
            "Begin to dump exception. dumpScene=x, deviceId=3, streamId=2, taskId=6, kernelName=Add_0.",
            module="IDEDD",
        ),
    )
    task = found.task
    assert (task.node_name, task.node_type, task.function_name) == ("net/Add", "Add", "te_add_1__kernel0")
    assert (task.device_id, task.stream_id, task.task_id, task.kernel_name) == (3, 2, 6, "Add_0")


@pytest.mark.parametrize(
    ("kernel", "op_type"),
    [
        ("AddCustom_ab1b6750d7f510985325b603cb06dc8b_0", "AddCustom"),
        ("ScatterNdUpdate_7c1f0a52d9be4410a6c2f5_high_performance_21330", "ScatterNdUpdate"),
        ("Flash_Attention_0f1e2d3c4b5a69788796a5b4c3d2e1f0_100_mix_aic", "Flash_Attention"),
        ("_Z12error_kernelPDhS_S_", "_Z12error_kernelPDhS_S_"),
        ("2_0_11_GatherV2", "2_0_11_GatherV2"),
        ("", ""),
    ],
)
def test_the_type_in_a_kernels_name(kernel: str, op_type: str) -> None:
    assert FailedTask(kernel_name=kernel).op_type == op_type


def test_program_counters_with_a_mark_and_before_the_start() -> None:
    (found,) = exceptions(core())
    one = found.cores[0]
    assert replace(one, pc_start=0x1000124080064000, pc_current=0x124080067D00).pc_offset == 0x3D00
    assert replace(one, pc_start=0x200, pc_current=0x100).pc_offset == -0x100
    assert replace(one, pc_start=None).pc_offset is None


def test_everything_of_an_exception_is_bounded() -> None:
    cores = "".join(core(n) for n in range(300))
    args = "".join(
        line(f"args({n} to {n + 20}) after execute:" + ", ".join("0x7" for _ in range(20)))
        for n in range(0, 2000, 20)
    )
    dumps = "".join(
        line(f"exception info dump args data, addr:0x{n:x}; size:64 bytes", module="IDEDD")
        for n in range(500)
    )
    (found,) = exceptions(run(), cores, args, dumps, fault(kernel="k" * 9000))
    assert (found.n_cores, len(found.cores), len(found.args)) == (300, MAX_CORES, MAX_ARGS)
    assert len(found.buffers) == 128 and len(found.task.kernel_name) == 4096


def test_ascend_950_has_task_numbers_of_32_bits() -> None:
    (found,) = exceptions(
        line(
            "Task run failed, stream_id=61, pos=0, task_sn=70002, sqe_type=0(aic), errType=0x1(task exception)"
        ),
        line(
            "The error from device(chipId:0, dieId:0), serial number is 1, there is an aivec error exception, core id is 0, error code = 263, dump info: pc start: 0x10, current: 0x20, su error info: 0x1,0x2, mte error: 0. The extend info: errcode:(263) errorStr: Bad address. subErrType: 0x4."
        ),
    )
    assert (found.task.task_id, found.task.task_sn) == (None, 70002)
    one = found.cores[0]
    assert (one.error_number, one.error_code, one.error_words, one.error_bits) == (263, None, (), ())
    assert one.registers == {"su error info": 1, "su error info 2": 2, "mte error": 0}


# ---- tasks that no AI Core stopped ----


def test_waits_that_ran_out_of_time() -> None:
    text = line(
        "Task run timeout, stream_id=61, pos=3, task_sn=7, task_type=14(notify wait), errType=0x4(task timeout)"
    )
    (found,) = read(text)
    assert isinstance(found, TaskFailure) and found.is_timeout and not found.is_closed
    assert (found.task.sqe_type, found.task.stream_id, found.task.task_sn) == ("notify wait", 61, 7)


def test_operators_of_the_ai_cpu() -> None:
    (found, code) = read(
        line("Kernel task happen error, retCode=0x28, [aicpu timeout]."),
        line(
            "Aicpu kernel execute failed, device_id=0, stream_id=7, task_id=2, flip_num=0, fault so_name=, fault kernel_name=, fault op_name=GetNext, extend_info=."
        ),
        end(507017),
    )
    assert isinstance(found, TaskFailure) and found.is_timeout and found.is_closed
    assert (found.task.node_name, found.task.stream_id, found.ret_code) == ("GetNext", 7, 0x28)
    assert isinstance(code, CodedError) and code.code == "507017"


# ---- time-outs of collectives ----


def test_a_collective_that_waited_in_vain() -> None:
    found = read(
        line(
            "[TaskExecStage][Timeout][HOST]Task run failed, base information is streamID:[1740], taskID[23], tag[AllReduce_1], AlgType(level 0-1-2):[ring].",
            module="HCCL",
        ),
        line(
            "[TaskExecStage][Timeout][HOST]Task run failed, groupRank information is group:[g], rankId[0].",
            module="HCCL",
        ),
        line("[Get][Connection]topo exchange server get socket timeout! timeout[3600 s]", module="HCCL"),
        line("[Init]call trace: hcclRet -> 9, timeout", module="HCCL"),
        line("[Init]some other error", module="HCCL"),
        line("[Init]a timeout is set", module="HCCL", level="INFO"),
    )
    assert [
        (r.stream_id, r.task_id, r.tag, r.timeout_s, r.line) for r in found if isinstance(r, HcclTimeout)
    ] == [
        (1740, 23, "AllReduce_1", None, 1),
        (None, None, "", 3600, 3),
    ]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("EI0002: [PID: 9] 2026-01-20-02:28:36.670.614 The wait execution of the Notify register times out. Reason: The Notify register has not received the Notify record from remote rank: [unknown].", "unknown"),
        ("EI0002: The wait execution of the Notify register times out. Reason: ... from remote rank [3].base information: [streamID:[27], taskID[10]", "3"),
        ("EI0002: [PID: 9] 2026-01-20-02:28:36.670.614 A timeout occurs when the Notify register waits for execution. Waiting peer rank: 5; task information: x", "5"),
    ],
)  # fmt: skip
def test_the_same_on_a_console(text: str, rank: str) -> None:
    (found,) = read(text + "\n")
    assert isinstance(found, HcclTimeout)
    assert (found.code, found.remote_rank) == ("EI0002", rank)


# ---- codes ----


@pytest.mark.parametrize(
    ("text", "code", "api", "title"),
    [
        ("EZ9999: Inner Error!", "EZ9999", "", ""),
        ("[PID: 9] 2026-01-20-02:28:36.670.614 Memory_Allocation_Failure(EL0004): Failed to allocate memory.", "EL0004", "", "Memory_Allocation_Failure"),
        ("EZ3002: [PID: 603] 2025-06-23-10:51:59.636.525 Optype [TransData] is unsupported.", "EZ3002", "", ""),
        ("RuntimeError: copy:build/x.ts:54 NPU function error: aclrtMemcpy, error code is 507899", "507899", "aclrtMemcpy", ""),
        ("RuntimeError: ACL stream synchronize failed, error code:507035", "507035", "", ""),
        ("        alloc device memory failed, runtime result = 207001[FUNC:ReportCallError][FILE:log.cpp][LINE:162]", "207001", "ReportCallError", ""),
        ("RuntimeError: x OPS function error: HcclAllreduce, error code is 24", "HCCL 24", "HcclAllreduce", ""),
        ("E30008: AI CPU operator execution time out.", "E30008", "", ""),
    ],
)  # fmt: skip
def test_codes_on_a_console(text: str, code: str, api: str, title: str) -> None:
    (found,) = read(text + "\n")
    assert isinstance(found, CodedError)
    assert (found.code, found.api, found.title) == (code, api, title)


def test_codes_of_torch_npu_name_device_and_rank() -> None:
    (found,) = read(
        "[ERROR] 2026-01-07-02:38:42 (PID:1692557, Device:2, RankID:-1) ERR00006 PTA memory error\n"
    )
    assert isinstance(found, CodedError)
    assert (found.code, found.device_id, found.rank) == ("ERR00006", 2, None)


def test_noise_is_no_record() -> None:
    assert (
        read(
            line("report error module_type=5, module_name=EZ9999"),
            line("Register creator done.", level="INFO"),
            line("notify task start, retcode:507015.", module="IDEDD", level="INFO"),
            line("ErrCode=507015", level="INFO"),
            '{"Abs": {"isGray": false}}\n',
            "error code is 12\nthe error code\n[PID: x]\n",
        )
        == []
    )


# ---- Python ----

TRACE = """Traceback (most recent call last):
  File "/app/train.py", line 7, in main
    step(batch)
  File "/app/model.py", line 31, in step
    torch.npu.synchronize()
    ~~~~~~~~~~~~~~~~~~~~~^^
"""
INNER = "RuntimeError: The Inner error is reported as above. The process exits for this inner error, and the current working operator name is aclnnRmsNorm."


def test_the_line_where_python_noticed() -> None:
    (found,) = read(
        TRACE, INNER, "\nSince the operator is called asynchronously, the stacktrace may be inaccurate.\n"
    )
    assert isinstance(found, PythonError)
    assert (found.path, found.python_line, found.function) == ("/app/model.py", 31, "step")
    assert found.code_text == "torch.npu.synchronize()"
    assert (found.error, found.operator_name, found.is_asynchronous) == (INNER, "aclnnRmsNorm", True)
    assert (found.line, found.last_line) == (1, 7)


def test_an_error_of_python_with_a_code_is_both() -> None:
    python, code = sorted(read(TRACE, "RuntimeError: failed, error code:507035\n"), key=lambda r: r.line)
    assert isinstance(python, PythonError) and python.error == "RuntimeError: failed, error code:507035"
    assert isinstance(code, CodedError) and code.code == "507035" and code.line == 7


def test_a_traceback_among_log_lines_and_other_workers() -> None:
    ours = "".join(
        f"(Worker pid=7) ERROR 10-28 10:45:49 [core.py:710] {text}\n" for text in TRACE.splitlines()
    )
    one, two = ours.splitlines(keepends=True)[:3], ours.splitlines(keepends=True)[3:]
    others = TRACE.replace("model.py", "other.py").splitlines(keepends=True)
    mixed = [*one, others[0], line("ErrCode=207001"), *others[1:], *two, "plain text\n"]
    found = read(
        *mixed, "ValueError: theirs\n", f"(Worker pid=7) ERROR 10-28 10:45:50 [core.py:710] {INNER}\n"
    )
    assert [(r.pid, r.path, r.error[:10]) for r in found if isinstance(r, PythonError)] == [
        (None, "/app/other.py", "ValueError"),
        (7, "/app/model.py", "RuntimeErr"),
    ]


def test_a_traceback_that_breaks_off() -> None:
    (found,) = read(TRACE)
    assert isinstance(found, PythonError) and (found.error, found.python_line) == ("", 31)
    cut, code = read(TRACE, "EZ9999: Inner Error!\n")
    assert isinstance(cut, PythonError) and isinstance(code, CodedError) and cut.error == ""
    first, second = read(TRACE, TRACE)
    assert (first.line, second.line) == (1, 7)


def test_a_traceback_does_not_stay_open_for_ever() -> None:
    reader = PlogReader()
    reader.feed(TRACE.encode())
    assert reader.feed(b"text\n" * 300) == []
    (found,) = reader.feed(b"text\n" * 300)
    assert isinstance(found, PythonError)


def test_an_inner_error_without_a_traceback() -> None:
    (found,) = read(f"[rank0]:{INNER}\n")
    assert isinstance(found, PythonError)
    assert (found.path, found.operator_name, found.origin) == ("", "aclnnRmsNorm", "[rank0]")


# ---- as it grows ----

SESSION = (
    "".join((run(), core(16), extend(2), core(17), returned(), fault())).encode()
    + line("args(0 to 2) after execute:0x10, 0x20,  ").encode()
    + "(W pid=9) EI0002: [PID: 9] 2026-01-20-02:28:36.670.614 times out 等待\r\n".encode()
    + TRACE.encode()
    + b"RuntimeError: error code:507035\n"
    + end().encode()
    + run(task=8).encode()
)


def fed(content: bytes, sizes: list[int]) -> list[PlogRecord]:
    reader = PlogReader()
    records: list[PlogRecord] = []
    at = 0
    for size in sizes:
        records += reader.feed(content[at : at + size])
        at += size
    return records + reader.feed(content[at:]) + reader.finish()


def test_any_single_cut_changes_nothing() -> None:
    whole = fed(SESSION, [])
    assert [type(record).__name__ for record in whole] == [
        *("HcclTimeout", "PythonError", "AicoreException", "CodedError", "CodedError", "TaskFailure"),
    ]
    for at in range(len(SESSION) + 1):
        assert fed(SESSION, [at]) == whole
    assert fed(SESSION, [1] * len(SESSION)) == whole


@given(st.lists(st.integers(1, 300), max_size=30))
def test_random_cuts_change_nothing(sizes: list[int]) -> None:
    assert fed(SESSION, sizes) == fed(SESSION, [])


def test_an_exception_is_pending_until_its_stream_fails() -> None:
    reader = PlogReader()
    assert reader.feed((run() + core() + fault()).encode()) == []
    (pending,) = reader.pending()
    assert (
        isinstance(pending, AicoreException) and not pending.is_closed and pending.task.kernel_name == "Add_0"
    )
    first, code = reader.feed(end().encode())
    assert isinstance(first, AicoreException) and first.is_closed and isinstance(code, CodedError)
    assert reader.pending() == [] and reader.finish() == []


def test_many_that_never_end_are_handed_out_one_by_one() -> None:
    reader = PlogReader()
    records = [r for task in range(500) for r in reader.feed(run(task=task, pid=task).encode())]
    assert len(records) == 500 - 64 and len(reader.pending()) == 64


# ---- files, limits, hostile bytes ----


def test_reading_a_file(tmp_path: Path) -> None:
    path = tmp_path / "plog-1_2.log"
    path.write_bytes(SESSION)
    found = read_plog(path, root=tmp_path)
    assert (list(found.records), found.problems) == (fed(SESSION, []), ())
    assert [e.task.kernel_name for e in found.exceptions] == ["Add_0"]
    with pytest.raises(InputError):
        read_plog(tmp_path / "none.log", root=tmp_path)


def test_more_records_than_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plog_reader, "MAX_RECORDS", 10)
    path = tmp_path / "a.log"
    path.write_text(end() * 25)
    found = read_plog(path, root=tmp_path)
    assert len(found.records) == 10
    assert [(p.artifact, p.kind, p.line) for p in found.problems] == [("a.log", "limit", 11)]


WORDS = [word.decode() for word in plog_reader._WORDS]
PARTS = [
    *WORDS,
    *(
        "device(chipId:0, dieId:0)",
        "there is an aivec error, core id is 1",
        "errcode:(0x1, 0)",
        "errorStr: ",
        "0x1, ",
    ),
    *(
        "fault kernel_name=",
        "op_name [",
        "node_name:a",
        "args(0 to 3) after execute:",
        "Group[0] ",
        "symbol=",
        "\x1b[3",
        "\x1b]",
    ),
    *(
        "Error PC information. coreId=1,",
        "[PID: 1] 2026-01-20-02:28:36.670.614 ",
        "EI0002: ",
        "[ERROR] RUNTIME(1,a):",
    ),
    *(
        "[ERROR] RUNTIME(1,a):2026-01-20-02:28:36.670.614 [f.cc:1]12 Fn:",
        "(a pid=1) ",
        "remote rank:[",
        "a=1 ",
        "\n",
        "\r",
        "\0",
    ),
    *('  File "a.py", line 3', "ValueError: x", " " * 40, "x" * 40, "99999999999999999999"),
]


@given(st.lists(st.sampled_from(PARTS), max_size=60), st.lists(st.integers(1, 200), max_size=5))
def test_any_mixture_of_its_words_is_survived(parts: list[str], sizes: list[int]) -> None:
    content = "".join(parts).encode()
    whole = fed(content, [])
    assert fed(content, sizes) == whole
    assert all(0 <= r.byte <= len(content) and r.line <= content.count(b"\n") + 1 for r in whole)


@given(st.binary(max_size=2000))
def test_any_bytes_are_survived(content: bytes) -> None:
    fed(content, [])


@pytest.mark.parametrize("word", [*PARTS, "node_name:", "kernel_name=a, "])
def test_no_word_repeated_is_slow(word: str) -> None:
    body = (word.replace("\n", " ") * (60_000 // len(word)))[:60_000]
    content = f"[ERROR] RUNTIME(1,a):2026-01-20-02:28:36.670.614 [f.cc:1]12 Fn:retCode=0x31 {body}\n".encode()
    begin = time.process_time()
    fed(run().encode() + content * 5, [])
    assert time.process_time() - begin < 1.0


# ---- tasks of several devices in one process ----


def on_chip(chip: int, core_id: int, code: str = "0x800000", die: int = 0) -> str:
    text = core(core_id, 22, code=code)
    return text.replace("device(chipId:0, dieId:0)", f"device(chipId:{chip}, dieId:{die})")


def fault_on(device: int, stream: int, task: int, kernel: str) -> str:
    return fault(stream, task, kernel).replace("device_id=0", f"device_id={device}")


def told_of(*texts: str) -> list[tuple[int | None, str, tuple[int | None, ...], tuple[int, ...]]]:
    """(device, kernel, its cores, their error bits) of each exception, by device."""
    found = [
        (
            one.task.device_id,
            one.task.kernel_name,
            tuple(each.core_id for each in one.cores),
            tuple(bit for each in one.cores for bit in each.error_bits),
        )
        for one in exceptions(*texts)
    ]
    return sorted(found, key=lambda one: -1 if one[0] is None else one[0])


def ext(code: str, text: str) -> str:
    return extend(text=text).replace("0x200000000", code)


@pytest.mark.parametrize(("stream", "task"), [(6, 77), (2, 1)], ids=["other ids", "the same ids"])
@pytest.mark.parametrize("is_swapped", [False, True])
def test_cores_of_two_devices_go_to_their_own_tasks(stream: int, task: int, is_swapped: bool) -> None:
    """Also where stream and task are equal: they count on each device."""
    cores = [on_chip(1, 7), ext("0x800000", "of 1"), on_chip(0, 2, "0x10"), ext("0x10", "of 0")]
    faults = [fault_on(0, 2, 1, "A_0"), fault_on(1, stream, task, "B_0")]
    if is_swapped:
        cores, faults = cores[2:] + cores[:2], faults[::-1]
    text = [run(), run(1, stream, task), *cores, *faults]
    assert told_of(*text) == [(0, "A_0", (2,), (4,)), (1, "B_0", (7,), (23,))]
    words = {one.task.device_id: one.cores[0].error_text for one in exceptions(*text)}
    assert words == {0: "of 0", 1: "of 1"}


def test_two_chips_on_a_console_without_the_opening_line() -> None:
    text = [on_chip(0, 2), on_chip(1, 7), fault_on(0, 2, 1, "A_0"), fault_on(1, 2, 1, "B_0")]
    assert told_of(*text) == [(0, "A_0", (2,), (23,)), (1, "B_0", (7,), (23,))]


def test_two_dies_that_are_two_devices() -> None:
    text = [
        run(),
        run(1),
        on_chip(0, 2),
        on_chip(0, 7, die=1),
        fault_on(1, 2, 1, "B_0"),
        fault_on(0, 2, 1, "A_0"),
    ]
    assert told_of(*text) == [(0, "A_0", (2,), (23,)), (1, "B_0", (7,), (23,))]


def test_a_process_that_counts_its_devices_anew() -> None:
    """Device 0 of the process is chip 4 of the host; a second task of it follows."""
    text = [run(), on_chip(4, 2), fault_on(0, 2, 1, "A_0"), run(task=9)]
    text += [on_chip(4, 3).replace("number is 22", "number is 23"), fault_on(0, 2, 9, "B_0")]
    assert told_of(*text) == [(0, "A_0", (2,), (23,)), (0, "B_0", (3,), (23,))]


def test_a_dump_belongs_to_the_task_that_it_names() -> None:
    begin = "Begin to dump exception. dumpScene=lite, deviceId=0, streamId=2, taskId=1, exceptionType=1, kernelName=A_0."
    text = [run(), run(1, 6, 77), fault_on(0, 2, 1, "A_0"), fault_on(1, 6, 77, "B_0")]
    text += [line(begin, module="IDEDD"), line("dump exception to file, file: /d/of_a", module="IDEDD")]
    files = {one.task.kernel_name: one.files for one in exceptions(*text)}
    assert files == {"A_0": ("/d/of_a",), "B_0": ()}


# ---- one time-out in two texts ----

WAITED = (
    "EI0002: [PID: 7] 2026-08-29-10:15:07.113.217 The wait execution of the Notify register times out. Reason: The "
    "Notify register has not received the Notify record from remote rank: [3].\n"
)


def waits(*texts: str) -> list[tuple[int, int | None, str, str, str, int | None]]:
    return [
        (one.line, one.pid, one.code, one.remote_rank, one.tag, one.timeout_s)
        for one in read(*texts)
        if isinstance(one, HcclTimeout)
    ]


def test_a_log_line_and_the_report_of_one_moment_are_one_timeout() -> None:
    own = line("Notify wait timeout, tag[AllReduce_1], timeout[1800s]", module="HCCL")
    both = (7, "EI0002", "3", "AllReduce_1", 1800)
    assert waits(own, WAITED) == [(1, *both)]
    assert waits(WAITED, own) == [(1, *both)]
    assert waits(own, line("group rank information is x", module="HCCL"), WAITED) == [(1, *both)]


def test_other_moments_processes_and_equal_texts_are_other_timeouts() -> None:
    own = line("Notify wait timeout", module="HCCL")
    later = line("Notify wait timeout", module="HCCL", second=8)
    assert len(waits(later, WAITED)) == len(waits(own, own)) == len(waits(WAITED, WAITED)) == 2
    assert len(waits(line("Notify wait timeout", module="HCCL", pid=8), WAITED)) == 2
    assert [type(one) for one in read(own, end(), WAITED)] == [HcclTimeout, CodedError, HcclTimeout]


def test_a_timeout_that_is_held_is_pending() -> None:
    reader = PlogReader()
    assert reader.feed(WAITED.encode()) == []
    (held,) = reader.pending()
    assert reader.finish() == [held] and reader.pending() == []


def test_a_traceback_keeps_the_lines_around_the_innermost_one(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    calls = "".join(f'  File "/app/m{i}.py", line {i}, in f{i}\n    g()\n' for i in range(1, 51))
    path.write_text(f"Traceback (most recent call last):\n{calls}ValueError: 3\n")
    (record,) = read_plog(path).records
    assert isinstance(record, PythonError)
    assert (record.path, record.python_line) == ("/app/m50.py", 50)
    assert [(call.path, call.line, call.function) for call in record.callers] == [
        (f"/app/m{i}.py", i, f"f{i}") for i in range(49, 17, -1)
    ]


@pytest.mark.parametrize("at", ["ret = {}", "ret:{}", "ret={}", "errorCode={}", "aclError:{}", "return {}"])
def test_a_known_code_behind_a_word_of_programs_is_told(at: str) -> None:
    (record,) = read("step 1\n", f"aclrtMemcpy failed, {at.format(507056)}\n")
    assert isinstance(record, CodedError)
    assert (record.code, record.line) == ("507056", 2)
    for text in (at.format(507999), at.format(5070561), at.format("507056.5"), at.format(507056) + ";"):
        assert read(f"aclrtMemcpy failed, {text}\n") == []
    assert read(f"x{at.format(507056)}\n") == []
