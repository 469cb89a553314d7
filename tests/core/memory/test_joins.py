"""Failing tasks looked up in profiles, dump names and overflow records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from npulse.core.formats.cann.names import parse_dump_name
from npulse.core.formats.cann.opdebug import OverflowEntry, OverflowRecord
from npulse.core.formats.profiling.tasks import TaskTable, read_tasks
from npulse.core.memory.faults import Access, Fault, Task
from npulse.core.memory.joins import (
    MAX_CANDIDATES,
    DumpFile,
    Joined,
    OverflowFile,
    dump_file_of,
    join_fault,
    op_type_of,
)

HASH = "ab1b6750d7f510985325b603cb06dc8b"
WHEN_US = 1_785_556_800_000_000  # 2026-08-01 04:00:00


def fault(task: Task | None = Task(3, 2, 100, 11), kernel: str = f"Add_{HASH}_1", **more: Any) -> Fault:  # noqa: B008
    time_us = more.pop("time_us", WHEN_US)
    figures = {"kernel_name": kernel, "op_type": op_type_of(kernel) or kernel, "node_name": "", **more}
    return Fault(
        *("CANN", "aicore exception", "error", "", "plog.log", 1, 0),
        accesses=(Access(kernel=str(figures["op_type"])),),
        task=task,
        figures=figures,
        time_us=time_us,
    )


def table(folder: Path, *rows: str, header: str = "Device_id,Stream ID,Task ID,Op Name,OP Type") -> TaskTable:
    path = folder / "op_summary_20260801120500.csv"
    path.write_text("".join(f"{row}\n" for row in (header, *rows)))
    return read_tasks(path, root=folder)


def joined(found: Joined | None) -> Joined:
    assert found is not None
    return found


def told(found: Joined) -> list[tuple[str, int | None, str, str]]:
    return [(source.kind, source.line, source.name, source.how) for source in found.sources]


WITH_BATCH = "Device_id,Stream ID,Task ID,Batch Id,Op Name,OP Type"
WITH_START = "Device_id,Stream ID,Task ID,Op Name,OP Type,Task Start Time(us)"


# ---- profiles ----


def test_all_four_ids_are_sure(tmp_path: Path) -> None:
    rows = table(tmp_path, "3,2,100,10,old,Add", "3,2,100,11,new,Add", "2,2,100,11,b,Add", header=WITH_BATCH)
    found = joined(join_fault(fault(), [rows]))
    assert told(found) == [("profile", 3, "new", "task and flip")]
    assert (found.operator, found.op_type, found.kernel) == ("new", "Add", f"Add_{HASH}_1")
    assert (found.is_likely, found.contradicts, found.is_ambiguous) == (False, (), False)
    assert found.sources[0].artifact == "op_summary_20260801120500.csv"


def test_without_flip_the_only_row_is_likely(tmp_path: Path) -> None:
    found = joined(join_fault(fault(), [table(tmp_path, "3,2,100,a,Add", "3,2,101,b,Add", "3,1,100,c,Add")]))
    assert told(found) == [("profile", 2, "a", "task")]
    assert (found.operator, found.is_likely) == ("a", True)
    other_device = table(tmp_path, "1,2,100,a,Add")
    assert joined(join_fault(fault(), [other_device])).sources == ()


def test_of_several_launches_the_latest_before_the_error(tmp_path: Path) -> None:
    starts = [(f"op{i}", WHEN_US + seconds * 1_000_000) for i, seconds in enumerate((-50, -3, -40, 5))]
    rows = [f"3,2,100,{name},Add,{start}.500" for name, start in starts]
    found = joined(join_fault(fault(), [table(tmp_path, *rows, header=WITH_START)]))
    assert (found.operator, found.is_likely) == ("op1", True)
    assert told(found)[0] == ("profile", 3, "op1", "task, latest before the error")
    assert [source.name for source in found.sources] == ["op1", "op0", "op2", "op3"]


@pytest.mark.parametrize("time_us", [None, 5_000_000, WHEN_US + 3 * 86_400_000_000, WHEN_US - 60_000_000])
def test_without_a_common_clock_candidates_stay(tmp_path: Path, time_us: int | None) -> None:
    rows = [f"3,2,100,op{i},Add,{WHEN_US + i}.0" for i in range(3)]
    found = joined(join_fault(fault(time_us=time_us), [table(tmp_path, *rows, header=WITH_START)]))
    assert (found.operator, found.is_ambiguous, found.is_likely) == ("", True, True)
    assert [source.name for source in found.sources] == ["op0", "op1", "op2"]


def test_the_op_type_picks_among_launches(tmp_path: Path) -> None:
    rows = table(tmp_path, "3,2,100,cast,Cast", "3,2,100,add,Add", "3,2,100,mul,Mul")
    found = joined(join_fault(fault(), [rows]))
    assert told(found) == [("profile", 3, "add", "task, op type")]
    assert (found.operator, found.contradicts) == ("add", ())  # ids come again: the others say nothing


def test_the_same_operator_launched_again_needs_no_choice(tmp_path: Path) -> None:
    found = joined(join_fault(fault(), [table(tmp_path, *["3,2,100,add,Add"] * 40)]))
    assert (found.operator, found.n_sources, len(found.sources)) == ("add", 40, MAX_CANDIDATES)


def test_a_contradiction_is_told(tmp_path: Path) -> None:
    found = joined(join_fault(fault(), [table(tmp_path, "3,2,100,mul,Mul")]))
    assert (found.operator, found.op_type, found.sources) == ("", "Add", ())
    assert [(source.name, source.op_type, source.agrees) for source in found.contradicts] == [
        ("mul", "Mul", False)
    ]
    sure = table(tmp_path, "3,2,100,11,mul,Mul", "3,2,100,N/A,add,Add", header=WITH_BATCH)
    both = joined(join_fault(fault(), [sure]))
    assert (both.operator, [source.name for source in both.contradicts]) == ("add", ["mul"])


def test_task_time_names_the_kernel(tmp_path: Path) -> None:
    header = "Device_id,kernel_name,kernel_type,stream_id,task_id"
    mix = f"MatMulV3_{HASH}_42_mix_aic"
    rows = table(
        tmp_path, "3,N/A,EVENT_WAIT,2,100", f"3,MatMulV3_{HASH}_42,KERNEL_MIX_AIC,2,100", header=header
    )
    found = joined(join_fault(fault(kernel=mix), [rows]))
    assert (found.operator, found.op_type, found.kernel) == (f"MatMulV3_{HASH}_42", "MatMulV3", mix)
    assert found.sources[0].agrees is True
    plain = table(tmp_path, "3,my_kernel,KERNEL_MIX_AIC,2,100", header=header)
    assert joined(join_fault(fault(kernel="my_kernel_mix_aic"), [plain])).sources[0].agrees is True
    assert joined(join_fault(fault(kernel="my_kernel2_mix_aic"), [plain])).sources[0].agrees is None


def test_what_the_log_does_not_say_comes_from_the_profile(tmp_path: Path) -> None:
    bare = fault(kernel="")
    found = joined(join_fault(bare, [table(tmp_path, "N/A,2,100,add,Add")]))
    assert (found.operator, found.op_type, found.kernel, found.is_likely) == ("add", "Add", "", True)
    assert join_fault(fault(task=None, kernel=""), []) is None
    assert told(joined(join_fault(fault(task=Task(stream=2), kernel=""), []))) == []


def test_old_kernel_names_hold_the_operator(tmp_path: Path) -> None:
    old = fault(Task(0, 2, 6, 0), "2_0_11_GatherV2")
    found = joined(join_fault(old, [table(tmp_path, "0,2,6,other,Add", "0,2,6,GatherV2,GatherV2")]))
    assert (found.operator, found.op_type) == ("GatherV2", "GatherV2")
    assert joined(join_fault(old)).operator == "GatherV2"


def test_a_number_of_32_bits_in_place_of_id_and_flip(tmp_path: Path) -> None:
    new = fault(Task(3, 2), task_sn=4_000_000_123)
    assert joined(join_fault(new, [table(tmp_path, "3,2,4000000123,add,Add")])).operator == "add"


def test_op_types_of_kernels() -> None:
    assert op_type_of(f"AddCustom_{HASH}_0_mix_aiv") == "AddCustom"
    assert op_type_of("ScatterNdUpdate_7c1f0a52d9be4410a6c2f5_high_performance_21330") == "ScatterNdUpdate"
    assert op_type_of("2_0_11_GatherV2") == ""


# ---- dumps ----


def dumps(*paths: str) -> list[DumpFile]:
    found = [dump_file_of(path) for path in paths]
    return [file for file in found if file is not None]


def test_operator_dumps_of_the_task() -> None:
    stamp = WHEN_US - 1000
    files = dumps(
        f"20260801035900/3/net/1/0/Add.net_Add_1.100.2.{stamp}",
        f"20260801035900/2/net/1/0/Add.net_Add_1.100.2.{stamp}",  # another device
        f"20260801035900/3/net/1/0/Add.net_Add_2.101.2.{stamp}",
        f"20260801035900/3/net/1/0/Add.net_Add_3.100.5.{stamp}",
        f"20260801035900/3/net/1/0/Add.net_Add_4.100.2.{stamp - 3 * 86_400_000_000}",  # another run
        "20260801035900/3/readme.txt",
    )
    assert len(files) == 5
    found = joined(join_fault(fault(), files=files))
    assert (found.operator, found.is_likely) == ("net_Add_1", True)
    assert told(found) == [("operator dump", None, "net_Add_1", "task")]


def test_profile_and_dump_of_one_operator_agree(tmp_path: Path) -> None:
    rows = table(tmp_path, "3,2,100,net/Add.1,Add")
    files = dumps(f"20260801035900/3/Add.net_Add_1.100.2.{WHEN_US}")
    found = joined(join_fault(fault(), [rows], files))
    assert (found.operator, [source.kind for source in found.sources]) == (
        "net/Add.1",
        ["profile", "operator dump"],
    )


@pytest.mark.parametrize(
    "name",
    [
        "exception_info.2.100.20260801040001500",
        f"Add_{HASH}_1.2.100.20260801040001500.core",
        "aclnnAdd_0_L0.AddAiCore.100.20260801040001500",
        "Add.aclnnAdd_0_L0.100.20260801040001500",
    ],
)
def test_exception_dumps_of_the_task(name: str) -> None:
    found = joined(join_fault(fault(), files=dumps(f"extra-info/data-dump/3/{name}")))
    (source,) = found.sources
    assert (source.kind, source.how, source.start_us) == ("exception dump", "task", WHEN_US + 1_500_000)
    assert source.agrees is not False
    for other in (f"extra-info/data-dump/1/{name}", f"extra-info/data-dump/3/{name.replace('100', '99')}"):
        assert joined(join_fault(fault(), files=dumps(other))).sources == ()


def test_stream_comes_first_in_exceptions() -> None:
    swapped = dumps("extra-info/data-dump/3/exception_info.100.2.20260801040001500")
    assert joined(join_fault(fault(), files=swapped)).sources == ()


def test_files_that_the_log_names_are_taken_once() -> None:
    path = "/root/dump/extra-info/data-dump/3/exception_info.2.100.20260801040001500"
    failing = fault(files=(path, "/root/dump/Add_host.o"))
    found = joined(join_fault(failing))
    assert [(source.how, source.artifact) for source in found.sources] == [("named in the log", "plog.log")]
    beside = dumps("extra-info/data-dump/3/exception_info.2.100.20260801040001500")
    assert [source.how for source in joined(join_fault(failing, files=beside)).sources] == ["task"]


def test_overflow_records_of_the_task() -> None:
    def record(task: int, status: tuple[int, ...] = (0x20,)) -> OverflowFile:
        entry = OverflowEntry("AI Core", None, 2, task, None, None, None, None, None, None, None, status)
        path = Path("Opdebug.Node_OpDebug.7.9.1")
        return OverflowFile(f"3/{path}", OverflowRecord(path, "legacy", WHEN_US, (entry,)), 3)

    found = joined(
        join_fault(fault(), overflows=[record(100), record(99), record(100, ()), record(100, (0,))])
    )
    assert [source.kind for source in found.sources] == ["overflow record"]
    assert found.operator == ""  # it has no name in it


def test_an_overflow_record_is_no_dump_of_the_operator() -> None:
    files = dumps(f"20260801035900/3/Opdebug.Node_OpDebug.100.2.{WHEN_US}")
    assert len(files) == 1
    assert joined(join_fault(fault(), files=files)).sources == ()


def test_short_names_stand_for_long_ones() -> None:
    long = f"Add.net_Add_1.100.2.{WHEN_US}"
    assert dump_file_of("20260801035900/3/459176958410709430") is None
    assert dump_file_of("20260801035900/3/459176958410709430", long) == DumpFile(
        "20260801035900/3/459176958410709430", parse_dump_name(long) or pytest.fail(long), 3
    )


# ---- msprobe calls ----

CALLS = [("dump.json", ["Functional.linear.0.forward", "Tensor.add.0.forward", "NPU.npu_rms_norm.0.forward"])]


def test_calls_with_the_name_of_the_op_type(tmp_path: Path) -> None:
    found = joined(join_fault(fault(), calls=CALLS))
    assert told(found) == [("dump call", None, "Tensor.add.0.forward", "op type")]
    assert (found.operator, found.is_likely) == ("Tensor.add.0.forward", True)
    norm = joined(join_fault(fault(kernel=f"RmsNorm_{HASH}_1"), calls=CALLS))
    assert norm.operator == "NPU.npu_rms_norm.0.forward"
    # a profile knows better
    assert [
        s.kind for s in joined(join_fault(fault(), [table(tmp_path, "3,2,100,a,Add")], calls=CALLS)).sources
    ] == ["profile"]


def test_several_calls_stay_candidates() -> None:
    calls = [("dump.json", ["Tensor.add.0.forward", "Tensor.add.1.forward"])]
    found = joined(join_fault(fault(), calls=calls))
    assert (found.operator, found.is_ambiguous, found.n_sources) == ("", True, 2)
    assert joined(join_fault(fault(kernel="2_0_11_GatherV2"), calls=CALLS)).sources == ()


# ---- what an exception's dump is called ----

BRIEF = "extra-info/data-dump/3/exception_info.2.100.20260801040001500"


@pytest.mark.parametrize(
    "name",
    [
        "aclnnIndexPut_3_L0.IndexPutV2AiCore",
        "IndexPutV2AiCore.aclnnIndexPut_3_L0",
        "aclnnIndexPut_3_L0.SomeOtherNameOfIt",
    ],
)
def test_an_exceptions_dump_names_the_operator(name: str) -> None:
    """Beside the arguments of the same task, which name none."""
    failing = fault(kernel="" if name.endswith("OfIt") else f"IndexPutV2_{HASH}_1")
    found = joined(
        join_fault(failing, files=dumps(BRIEF, f"extra-info/data-dump/3/{name}.100.20260801040001500"))
    )
    assert (found.operator, found.names, found.is_likely) == (
        "aclnnIndexPut_3_L0",
        ("aclnnIndexPut_3_L0",),
        True,
    )
    assert [source.is_operator for source in found.sources] == [True, False]
    assert not found.is_ambiguous


def test_a_name_without_the_mark_of_an_api_is_told_by_the_kernel() -> None:
    """The word that is the kernel's type is the type; without a kernel the name stands first."""
    path = "extra-info/data-dump/3/{}.100.20260801040001500"
    for name in ("my_add.AddAiCore", "AddAiCore.my_add"):
        found = joined(join_fault(fault(), files=dumps(path.format(name))))
        assert (found.operator, found.sources[0].op_type) == ("my_add", "AddAiCore")
    found = joined(join_fault(fault(kernel=""), files=dumps(path.format("my_add.AddAiCore"))))
    assert found.operator == "my_add"


def test_arguments_and_kernels_are_no_operators() -> None:
    core = f"extra-info/data-dump/3/Add_{HASH}_1.2.100.20260801040001500.core"
    found = joined(join_fault(fault(), files=dumps(BRIEF, core)))
    assert (found.operator, found.names, found.is_ambiguous) == ("", (), False)
    assert [source.is_operator for source in found.sources] == [False, False]


def test_a_profile_names_the_operator_before_a_dump_of_the_exception(tmp_path: Path) -> None:
    file = dumps("extra-info/data-dump/3/aclnnAdd_0_L0.AddAiCore.100.20260801040001500")
    found = joined(join_fault(fault(), [table(tmp_path, "3,2,100,aclnnAdd_AddAiCore_Add,Add")], file))
    assert found.operator == "aclnnAdd_AddAiCore_Add"
    assert [source.kind for source in found.sources] == ["profile", "exception dump"]
