# ruff: noqa: E501 - log lines as they are
"""One log through all readers: lines that two of them know, gaps, files, bounds."""

from __future__ import annotations

import gc
import json
import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.formats import log_lines
from npulse.core.formats.mssanitizer.records import Record
from npulse.core.formats.tensors.error import TensorError
from npulse.core.memory.advice import why
from npulse.core.memory.faults import Cores, Fault, Frame, LogSummary, Task
from npulse.core.memory.kinds import LOGS
from npulse.core.memory.logs import FaultLog, TextLog
from npulse.core.run import kinds

SANITIZER = """\
[mssanitizer] Start memcheck sanitizer on kernel add_custom
====== ERROR: illegal read of size 224
======    at 0x12c0c0014e00 on GM in add_custom
======    in block aiv(0-1,4) on device 2
======    code in pc current 0x668 (serialNo:65)
======    #0 /op/add_custom.cpp:43:9

[mssanitizer] Sanitizer finished on kernel add_custom. See all detected errors above.
====== ERROR: LeakCheck: detected memory leaks

======    Direct leak of 320 byte(s)
======      at 0x12c041200000 on GM by module 6
======      allocated in run_add.cpp:15 (serialNo:1)

====== SUMMARY: 320 byte(s) leaked in 1 allocation(s)
"""
MEMSCOPE = """\
====== ERROR: Detected memory leaks on device 1 ======
Direct PTA leak of 2.000000 Mb(s) at 0x12c041200000 in kernel_7 at step 3.
====== SUMMARY: 2.000000 Mb(s) leaked in 1 allocation(s) ======
"""
HOST = """\
=================================================================
==9==ERROR: LeakSanitizer: detected memory leaks

Direct leak of 64 byte(s) in 2 object(s) allocated from:
    #0 0x7f0 in malloc (/lib/libasan.so.6+0xb)
    #1 0x55d in Plan /op/plan.cpp:12

SUMMARY: AddressSanitizer: 64 byte(s) leaked in 2 allocation(s).
"""
OOM = (
    "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 3; 60.00 GiB total capacity; "
    "58.00 GiB already allocated; 57.00 GiB current active; 512.00 MiB free; 59.00 GiB reserved in total by PyTorch)"
)
TRACEBACK = 'Traceback (most recent call last):\n  File "/app/train.py", line 31, in step\n    y = model(x)\n'


def fed(text: str | bytes, step: int = 0, kind: str = "") -> tuple[list[Fault], TextLog]:
    content = text.encode() if isinstance(text, str) else text
    log = TextLog("a.log", kind)
    faults: list[Fault] = []
    for at in range(0, len(content), step or len(content) or 1):
        faults += log.feed(content[at : at + (step or len(content))])
    return [*faults, *log.finish()], log


# ---- lines that two readers know ----


def test_leaks_of_three_tools_in_one_console() -> None:
    faults, log = fed(SANITIZER + MEMSCOPE + HOST)
    assert [(f.tool, f.kind, f.size_bytes, f.n_objects) for f in faults] == [
        ("msSanitizer", "illegal read", None, None),
        ("msSanitizer", "leak", 320, 1),
        ("msMemScope", "leak", 2 << 20, 1),
        ("LeakSanitizer", "leak", 64, 2),
    ]
    text = SANITIZER + MEMSCOPE + HOST
    lines = text.split("\n")
    assert [lines[f.line - 1].split(" of ")[0].strip("= ") for f in faults] == [
        *("ERROR: illegal read", "Direct leak", "Direct PTA leak", "Direct leak")
    ]
    assert log.trust.summaries == (
        LogSummary("leak", 1, 320, 15, "msSanitizer"),
        LogSummary("leak", 1, 2 << 20, 18, "msMemScope"),
        LogSummary("leak", 2, 64, 26, "LeakSanitizer"),
    )
    assert log.trust.tools == ("msSanitizer", "AddressSanitizer", "LeakSanitizer", "msMemScope")
    assert (log.trust.gaps, log.problems) == ((), ())


def test_the_first_fault_in_full() -> None:
    fault = fed(SANITIZER)[0][0]
    access = fault.access
    assert (access.word, access.size_bytes, access.space, access.address) == (
        "read",
        224,
        "GM",
        0x12C0C0014E00,
    )
    assert (access.kernel, access.device, access.pc, access.serial_number) == ("add_custom", 2, 0x668, 65)
    assert access.cores == (Cores("aiv", ((0, 1), (4, 4))),) and str(access.cores[0]) == "aiv(0-1,4)"
    assert access.frames == (Frame("/op/add_custom.cpp", 43, 9),)
    assert fault.message == "====== ERROR: illegal read of size 224" and fault.line == 2


def test_a_leak_in_full() -> None:
    fault = fed(SANITIZER)[0][1]
    assert (fault.access.address, fault.access.size_bytes, fault.access.space) == (0x12C041200000, None, "GM")
    assert fault.access.frames == (Frame("run_add.cpp", 15),)
    assert fault.figures == {"module_id": "6"} and fault.is_leak


def test_memory_that_ran_out_under_a_traceback_is_one_fault() -> None:
    text = "loading\n" + TRACEBACK + OOM + "\ndone\n"
    (fault,), log = fed(text)
    assert (fault.tool, fault.kind, fault.line, fault.byte) == ("torch_npu", "out of memory", 2, 8)
    assert fault.access.frames == (Frame("/app/train.py", 31, None, "step"),)
    assert fault.access.device == fault.figures["device_id"] == 3
    assert fault.figures["tried_bytes"] == 2 << 30 and fault.figures["free_bytes"] == 512 << 20
    assert fault.figures["reserved_bytes"] == 59 << 30 and fault.figures["cached_bytes"] is None
    assert fault.figures["is_asynchronous"] is False and fault.figures["error"].startswith("RuntimeError")
    assert log.trust.tools == ("torch_npu",)
    assert fed(text, 1)[0] == [fault]


def test_memory_that_ran_out_alone() -> None:
    (fault,), _ = fed(OOM + "\n")
    assert (fault.line, fault.access.frames) == (1, ()) and "is_asynchronous" not in fault.figures


def test_a_code_in_the_error_of_a_traceback_is_no_second_fault() -> None:
    text = TRACEBACK + "RuntimeError: ACL stream synchronize failed, error code:507035\n"
    (fault,), _ = fed(text)
    assert (fault.tool, fault.kind, fault.line) == ("Python", "python error", 1)
    assert fault.figures["code"] == "507035" and fault.access.frames[0].line == 31
    assert fed(text, 1)[0] == [fault]


def test_a_code_alone_is_a_fault() -> None:
    (fault,), _ = fed("RuntimeError: ACL stream synchronize failed, error code:507035\n")
    assert (fault.kind, fault.figures["code"], fault.tool) == ("error code", "507035", "CANN")


def test_an_asynchronous_error_with_its_code() -> None:
    error = (
        "RuntimeError: The Inner error is reported as above. Since the operator is called asynchronously, the"
        " stacktrace may be inaccurate. current working operator name is MatMul. error code is 507015\n"
    )
    (fault,), _ = fed(TRACEBACK + error)
    assert fault.figures["is_asynchronous"] is True and fault.figures["operator_name"] == "MatMul"
    assert fault.figures["code"] == "507015"
    (alone,), _ = fed(error)
    assert (alone.access.frames, alone.figures["is_asynchronous"]) == ((), True)


def test_hccl_without_memory_is_one_fault() -> None:
    text = (
        "[ERROR] HCCL(7,python3):2026-01-20-02:28:36.670.614 [mem.cc:12][9][Alloc]Failed to allocate [4096]"
        " bytes of NPU memory, error code 200000\n"
    )
    (fault,), _ = fed(text)
    assert (fault.tool, fault.kind, fault.figures["allocator"]) == ("HCCL", "out of memory", "hccl")
    assert fault.figures["tried_bytes"] == 4096 and fault.figures["code"] == "200000"


def test_a_source_line_with_the_words_does_not_depend_on_the_cut() -> None:
    """The text of the code is a line of its own; the traceback is handed out later, without an error."""
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    raise E("NPU out of memory. Tried to allocate 8 bytes")\n'
    whole = fed(text)[0]
    for step in (1, 7, 60):
        assert sorted(fed(text, step)[0], key=lambda f: f.kind) == sorted(whole, key=lambda f: f.kind)


def test_what_ends_with_the_log_is_not_put_together() -> None:
    """A failing task and a traceback without its error: no line of theirs is the same."""
    text = (
        "Task run failed, device_id=0, stream_id=2, task_id=1, sqe_type=0(ffts), errType=0x8(sqe error)\n"
        "Task run failed, device_id=0, stream_id=3, task_id=2, sqe_type=0(ffts), errType=0x8(sqe error)\n"
    )
    faults, _ = fed(text + TRACEBACK)
    assert [(fault.kind, fault.line) for fault in faults] == [
        *(("task failure", 1), ("task failure", 2), ("python error", 3))
    ]


SESSION = """\
noise
(msdebug) run
[Launch of Kernel add_custom on Device 1]
[Switching to focus on Kernel add_custom, CoreId 3, Type aiv]
* thread #1, name = 'app', stop reason = breakpoint 1.1
    frame #0: 0x10 dev`add_custom at add.cpp:54:9
(msdebug) bt
* thread #1, name = 'app', stop reason = breakpoint 1.1
  * frame #0: 0x10 dev`add_custom at add.cpp:54:9
    frame #1: 0x20 dev`main at add.cpp:70:1
(msdebug) continue
* thread #1, name = 'app', stop reason = breakpoint 1.1
    frame #0: 0x10 dev`add_custom at add.cpp:54:9
(msdebug) continue
* thread #1, name = 'app', stop reason = VEC_ERROR
    frame #0: 0x18 dev`add_custom at add.cpp:60:2
"""


@pytest.mark.parametrize("before", ["", SANITIZER, "x\n" * 3000], ids=["nothing", "report", "noise"])
@pytest.mark.parametrize("step", [0, 1, 13])
def test_a_session_anywhere_in_a_log(before: str, step: int) -> None:
    faults = [f for f in fed(before + SESSION, step)[0] if f.tool == "msDebug"]
    n_before = before.count("\n")
    assert [(f.line - n_before, f.severity, f.figures["command"]) for f in faults] == [
        (5, "info", "run"),
        (12, "info", "continue"),
        (15, "error", "continue"),
    ]
    assert [len(f.access.frames) for f in faults] == [2, 1, 1]  # told again with its whole stack
    assert (faults[0].access.device, faults[0].access.cores) == (1, (Cores("aiv", ((3, 3),)),))
    raw = (before + SESSION).encode()
    assert all(raw.count(b"\n", 0, f.byte) == f.line - 1 for f in faults)


def test_where_the_core_stood_comes_from_the_table_of_cores() -> None:
    table = "(msdebug) ascend info cores\n  CoreId Type Device Stream Task Block PC stop reason\n*  3 aiv 1 2 44 7 0x18 VEC_ERROR\n"
    fault = fed(SESSION + table)[0][-1]
    assert (fault.task, fault.figures["block"]) == (Task(1, 2, 44), 7)


def test_other_cores_that_stopped_are_told_with_the_one_in_focus() -> None:
    table = (
        "(msdebug) ascend info cores\n  CoreId Type Device Stream Task Block PC stop reason\n"
        "   2 aiv 1 2 44 6 0x18 VEC_ERROR\n*  3 aiv 1 2 44 7 0x18 VEC_ERROR\n   4 aiv 1 2 44 8 0x18 VEC_ERROR\n"
        "   5 aiv 1 2 44 8 0x18 VEC_ERROR\n   6 aiv 1 2 44 9 0x18 MTE_ERROR\n   7 aiv 1 2 44 10 0x14 NA\n"
        "   8 aiv 1 2 45 0 0x18 VEC_ERROR\n   0 aic 1 2 44 0 0x18 VEC_ERROR\n"
    )
    fault = fed(SESSION + table)[0][-1]
    assert fault.figures["other_stops"] == ("aic(0) VEC_ERROR", "aiv(2,4-5) VEC_ERROR", "aiv(6) MTE_ERROR")
    assert "aiv(2,4-5) VEC_ERROR, aiv(6) MTE_ERROR." in why(fault, "en") and "aiv(6)" in why(fault, "zh")
    again = fed(SESSION + table + table)[0][-1]
    assert again.figures["other_stops"] == fault.figures["other_stops"] and again.figures["block"] == 7
    at_break = (SESSION + table).replace("VEC_ERROR", "breakpoint 1.1").replace("MTE_ERROR", "breakpoint 1.1")
    assert "other_stops" not in fed(at_break)[0][-1].figures  # all pause when one does


# ---- trust ----


def test_a_log_without_its_tool_is_not_clean() -> None:
    assert fed("", kind="sanitizer.mssanitizer")[1].trust.gaps == ("no-markers",)
    assert fed("done\n", kind="sanitizer.mssanitizer")[1].trust.gaps == ("no-markers",)
    trust = fed("done\n", kind="runtime.console")[1].trust
    assert (trust.gaps, trust.tools, trust.n_lines, trust.n_bytes) == ((), (), 1, 5)


def test_lost_records_make_a_clean_end_worthless() -> None:
    text = (
        "[mssanitizer] Start memcheck sanitizer on kernel k\n"
        "[mssanitizer] [warning] 12 records undetected in block 3, please use --cache-size=200 to run the operator again.\n"
        "[mssanitizer] Sanitizer finished on kernel k. No error detected.\n"
    )
    faults, log = fed(text)
    assert faults == [] and log.trust.n_clean_ends == 1 and log.trust.checks == ("memcheck",)
    assert log.trust.gaps == ("records-dropped",) and not log.trust.is_complete
    assert [line for line, _ in log.trust.notices] == [2]


def test_a_log_that_grows_is_in_progress_until_its_end() -> None:
    log = TextLog("a.log")
    log.feed(SANITIZER.encode()[:60])
    assert "in progress" in log.trust.gaps and not log.trust.is_complete
    log.feed(SANITIZER.encode()[60:])
    log.finish()
    assert log.trust.gaps == () and log.finish() == []
    with pytest.raises(ValueError, match="finished"):
        log.feed(b"more")


def test_a_cut_record_is_marked_and_a_gap() -> None:
    faults, log = fed(SANITIZER[:200])
    assert [fault.is_cut for fault in faults] == [True] and "cut-off" in log.trust.gaps


def test_a_line_of_50_mb_is_survived_and_told_once() -> None:
    begun = time.process_time()
    log = TextLog("a.log")
    for _ in range(50):
        assert log.feed(b"Sanitizer: retCode=0x31 block_size MinGap ".ljust(1 << 20, b"x")) == []
    faults = [*log.feed(b"\n" + SANITIZER.encode()), *log.finish()]
    assert time.process_time() - begun < 5
    assert [fault.kind for fault in faults] == ["illegal read", "leak"] and faults[0].line == 3
    assert [(one.kind, one.line) for one in log.problems] == [("too-large", 1)]
    assert log.trust.gaps == ("skipped-lines",)


# ---- hostile bytes ----

PIECES = [
    *SANITIZER.split("\n"),
    *MEMSCOPE.split("\n"),
    *HOST.split("\n"),
    *SESSION.split("\n"),
    *TRACEBACK.split("\n"),
    OOM,
]


@given(
    st.lists(st.one_of(st.sampled_from(PIECES).map(str.encode), st.binary(max_size=40)), max_size=60),
    st.randoms(),
)
def test_any_lines_in_any_cut(lines: list[bytes], chance: random.Random) -> None:
    content = b"\n".join(lines)
    whole, log = fed(content)
    again = TextLog("a.log")
    faults: list[Fault] = []
    at = 0
    while at < len(content):
        end = at + chance.randint(1, 200)
        faults += again.feed(content[at:end])
        at = end
    faults += again.finish()
    order = [repr(fault) for fault in faults]
    assert sorted(order) == sorted(map(repr, whole))
    assert again.trust == log.trust and again.problems == log.problems
    for fault in faults:
        assert 1 <= fault.line <= content.count(b"\n") + 1 and 0 <= fault.byte < len(content)


# ---- files ----


def test_a_file_in_lists(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text((SANITIZER + "x" * 1000 + "\n") * 2000)
    log = FaultLog(path, tmp_path, "sanitizer.mssanitizer", "b/a.log")
    found = list(log.faults())
    assert log.n_bytes == path.stat().st_size and len(found) == -(-log.n_bytes // log_lines.WINDOW_BYTES) + 1
    faults = [fault for batch in found for fault in batch]
    assert len(faults) == 4000 and {fault.artifact for fault in faults} == {"b/a.log"}
    assert len({id(fault.access.frames) for fault in faults}) == 2  # equal stacks are one
    assert log.trust.artifact == "b/a.log" and log.trust.n_clean_ends == 0 and log.problems == ()


def test_a_log_does_not_keep_its_faults() -> None:
    def n_alive() -> int:
        return sum(type(one) in (Fault, Record) for one in gc.get_objects())

    before = n_alive()  # those of other tests
    log = TextLog("a.log")
    n_faults = 0
    for _ in range(50):
        n_faults += len(log.feed(SANITIZER.encode() * 20))
    assert n_faults > 1900
    assert n_alive() - before < 10


def test_out_of_the_root_and_cancelled(tmp_path: Path) -> None:
    root = tmp_path / "run"
    root.mkdir()
    (tmp_path / "a.log").write_text(SANITIZER)
    os.symlink(tmp_path / "a.log", root / "link.log")
    with pytest.raises(InputError):
        list(FaultLog(root / "link.log", root).faults())
    with pytest.raises(InputError):
        list(FaultLog(root / "none.log", root).faults())
    with pytest.raises(Cancelled):
        list(FaultLog(tmp_path / "a.log", tmp_path).faults(is_cancelled=lambda: True))


def test_a_file_that_fails_in_the_middle_is_no_clean_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"x\n" * log_lines.WINDOW_BYTES)

    def read(self: object, at: int, n_bytes: int, what: str) -> bytes:
        if at:
            raise TensorError("unreadable", "reading failed: no", path=path)
        return b"x\n" * (n_bytes // 2)

    monkeypatch.setattr("npulse.core.formats.tensors.source.Source.read", read)
    log = FaultLog(path, tmp_path)
    assert [fault for batch in log.faults() for fault in batch] == []
    assert log.trust.gaps == ("unreadable",) and [one.kind for one in log.problems] == ["unreadable"]


def test_kinds_are_those_of_a_run() -> None:
    assert set(kinds.KINDS) >= LOGS


def test_a_table_by_its_kind(tmp_path: Path) -> None:
    path = tmp_path / "memscope_dump_1.csv"
    head = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr\n"
    path.write_text(head + '1,MALLOC,PTA,N/A,5,7,8,0,0x100,"{allocation_id:1,size:512}"\n')
    log = FaultLog(path, tmp_path, "memscope.dump")
    assert log.trust.gaps == ("in progress",)
    ((fault,),) = log.faults()
    assert (fault.tool, fault.figures["warning"], fault.size_bytes) == ("msMemScope", "held", 512)
    trust = log.trust
    assert (trust.is_complete, trust.n_lines, log.n_bytes) == (True, 2, path.stat().st_size)
    path.write_text(head + '1,MALLOC,PTA,"N/A\n')
    log = FaultLog(path, tmp_path, "memscope.dump")
    assert list(log.faults()) == []
    assert log.trust.gaps == ("skipped-lines",) and log.problems


def test_figures_are_plain_enough_for_a_report() -> None:
    """All that a report writes as JSON; frames and blocks are made to text by whoever shows them."""
    for fault in fed(SANITIZER + MEMSCOPE + OOM + "\n" + TRACEBACK + "E\n")[0]:
        assert json.loads(json.dumps(dict(fault.figures))) is not None
