"""The readers of CANN's logs and of memory texts on shared logs; values were worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.formats.error_codes import ERROR_BITS, look_up
from npulse.core.formats.memory_texts import BufferOverflow, read_memory_texts
from npulse.core.formats.memscope_console import read_memscope_console
from npulse.core.formats.msdebug import read_msdebug
from npulse.core.formats.plog.reader import PlogReader, read_plog
from npulse.core.formats.plog.records import (
    AicoreException,
    CodedError,
    DumpedBuffer,
    FailedTask,
    HcclTimeout,
    PlogRecord,
    PythonError,
    SymbolGroup,
)


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "samples" / "sanitizer" / "plog"


def records_of(path: Path) -> list[PlogRecord]:
    found = read_plog(path, root=path.parent)
    assert found.problems == ()
    return list(found.records)


def exception_of(path: Path) -> AicoreException:
    (found,) = (record for record in records_of(path) if isinstance(record, AicoreException))
    return found


def codes_of(path: Path) -> list[tuple[str, int]]:
    return [(record.code, record.line) for record in records_of(path) if isinstance(record, CodedError)]


def test_cann_8_on_910b(folder: Path) -> None:
    path = folder / "style_a_910b_cann8.log"
    found = exception_of(path)
    assert (found.line, found.byte, found.pid, found.process) == (1, 0, 24121, "run_add")
    assert (found.is_closed, found.codes) == (True, ())
    # 2026-08-29 is day 20,694 since 1970; 10:15:07.113217 of it
    assert found.time_us == (20_694 * 86_400 + 36_907) * 1_000_000 + 113_217
    assert found.task == FailedTask(
        device_id=0,
        stream_id=2,
        task_id=1,
        flip=0,
        report_stream_id=2,
        sqe_type="ffts",
        error_type="task exception",
        kernel_name="AddCustom_ab1b6750d7f510985325b603cb06dc8b_0",
    )
    assert found.task.op_type == "AddCustom"
    assert [(c.core_id, c.block, c.line) for c in found.cores] == [(16, 2, 3), (17, 3, 7)]
    for core in found.cores:
        assert (core.unit, core.chip_id, core.die_id, core.serial_number) == ("aivec error", 0, 0, 48)
        assert (core.error_code, core.error_words, core.error_bits) == (
            *(0x200000000, (0x200000000, 0, 0)),
            (33,),
        )
        assert core.error_text == "The write address of the MTE instruction is out of range."
        assert (core.pc_start, core.pc_current, core.pc_offset) == (0x12C0C0040000, 0x12C0C0040678, 0x678)
        assert (core.sub_block, core.sub_error_type) == (0, 4)
        assert core.registers == {
            "vec error info": 0x5100001234,
            "mte error info": 0xB900000071,
            "ifu error info": 0x123456780000,
            "ccu error info": 0x22C090001000077,
            "cube error info": 0,
            "biu error info": 0,
            "aic error mask": 0x650002000000111,
            "para base": 0x12C0C0011000,
            "fixp_error0 info": 0x6A,
            "fixp_error1 info": 0xB9,
        }
    assert ERROR_BITS[33].name == "MTE_GDMA_WRITE_OVERFLOW"
    assert (found.ret_code, found.ret_text) == (0x31, "vector core exception")
    assert found.args == (
        *(0x12C0C0013000, 0x12C0C001C000, 0x12C0C0025000, 0, 0x12C100010038, 0x12C0C0011000),
        *(0, 0x800004000, 0xA5A5A5A500000000, 0, 0, 0),
    )
    assert (found.n_args, found.args_size_bytes, found.tiling_key, found.block_dim) == (12, 96, 0, 8)
    assert found.buffers == (
        DumpedBuffer("normal tensor", 0, 0x12C0C0013000, 32768),
        DumpedBuffer("normal tensor", 1, 0x12C0C001C000, 32768),
        DumpedBuffer("normal tensor", 2, 0x12C0C0025000, 32768),
    )
    below = "/workspace/op/build/extra-info/data-dump/0/"
    assert found.files == (
        f"{below}exception_info.2.1.20260829101507233",
        f"{below}AddCustom_ab1b6750d7f510985325b603cb06dc8b_0_host.o",
        f"{below}AddCustom_ab1b6750d7f510985325b603cb06dc8b.json",
        f"{below}AddCustom_ab1b6750d7f510985325b603cb06dc8b.o",
    )
    assert codes_of(path) == [("507035", 39), ("507035", 42)]
    fact = look_up("507035")
    assert fact is not None and fact.name == found.ret_text


def test_a_mixed_kernel_that_timed_out_or_trapped(folder: Path) -> None:
    path = folder / "style_a_mix_timeout_or_trap.log"
    found = exception_of(path)
    task = found.task
    assert (task.device_id, task.stream_id, task.task_id, task.flip) == (3, 42, 61207, 2)
    assert task.op_type == "FlashAttentionScore" and task.kernel_name.endswith("_mix_aic")
    (core,) = found.cores
    assert (core.unit, core.core_id, core.chip_id, core.serial_number) == (
        "fftsplus aivector error",
        0,
        3,
        87,
    )
    assert (core.error_code, core.error_words, core.error_bits) == (0, (0, 0, 0), ())
    assert core.error_text == "timeout or trap error."
    assert core.pc_offset == 0x23C4  # 0x12c042d75b18 - 0x12c042d73754
    assert (core.block, core.sub_block, core.sub_error_type) == (5, 1, 2)
    assert core.registers["fixp_error1 info"] == 0x50  # without a comma behind it
    assert (found.ret_code, found.ret_text) == (0x26, "aicore exception")
    assert len(found.args) == found.n_args == 27
    assert (found.args[0], found.args[4], found.args[19]) == (0xE7FFC0009000, 0x12C234014000, 0x12C234014000)
    assert found.args[20:] == (0x34, 1, 1, 0x100000, 0x58, 0x60, 0x80)
    assert (found.tiling_key, found.args_size_bytes, found.block_dim) == (10000000000022420943, 216, 24)
    assert codes_of(path) == [("507015", 13)]


def test_the_wording_of_july_2026_with_source_lines(folder: Path) -> None:
    found = exception_of(folder / "style_c_2026h2_two_line_and_symbolize.log")
    assert not found.is_closed
    assert [(c.core_id, c.block, c.line, c.fixed_pc_offset, c.symbol) for c in found.cores] == [
        (16, 2, 2, 0x678, "add_custom+0x78"),
        (17, 3, 4, None, ""),
    ]
    for core in found.cores:
        text = "The address for the MTE instruction to write on-chip buffer is out of bounds."
        assert (core.unit, core.error_text, core.error_bits) == ("aivec error", text, (33,))
        assert core.registers["aic cond"] == 1
    assert found.task.kernel_name == "AddCustom_ab1b6750d7f510985325b603cb06dc8b_0"
    assert found.args == (0x12C0C0013000, 0x12C0C001C000, 0x12C0C0025000, 0x400)
    assert found.symbols == (
        SymbolGroup(
            index=0,
            object_path="/workspace/op/build/extra-info/data-dump/0/AddCustom_ab1b6750d7f510985325b603cb06dc8b_0.o",
            pc_offset=0x678,
            symbol="add_custom+0x78",
            source="/workspace/op/op_kernel/add_custom.cpp:44:9",
            core_ids=(16, 17),
        ),
    )


def test_910a_in_2023(folder: Path) -> None:
    path = folder / "style_910a_2023.log"
    found = exception_of(path)
    (core,) = found.cores
    assert (core.unit, core.core_id, core.chip_id, core.serial_number) == ("aicore error", 0, 0, 367)
    assert (core.error_code, core.error_words, core.error_bits) == (0x10, (), (4,))
    text = "Illegal instruction, which is usually caused by unaligned UUB addresses."
    assert core.error_text == text
    assert core.pc_offset == 0x3D00  # 0x124080067d00 - 0x124080064000, without the mark above 48 bits
    assert (core.registers["mte error info"], core.registers["para base"]) == (0x46, 0x1240C0340000)
    assert (core.registers["aicore int"], core.registers["biu status1"]) == (1, 0x940002000000000)
    task = found.task
    assert (task.device_id, task.stream_id, task.task_id, task.flip) == (0, 2, 6, 0)
    assert (task.kernel_name, found.last_line, found.is_closed) == ("2_0_11_GatherV2", 9, True)
    assert codes_of(path) == [("507015", 10)]


def test_910_in_2020(folder: Path) -> None:
    path = folder / "style_old_2020_910a.log"
    found = exception_of(path)
    (core,) = found.cores
    assert (core.error_code, core.error_bits, core.pc_offset) == (0x10, (4,), 0xA4)
    assert core.error_text == "Illegal instruction, which is usually caused by unaligned UUB addresses."
    task = found.task
    assert (task.device_id, task.stream_id, task.task_id, task.report_stream_id) == (0, 517, 3, 515)
    assert task.kernel_name == "-1_0_1_trans_TransData_0"
    assert task.function_name == "te_transdata_0123456789abcdef_1__kernel0"
    assert (found.ret_code, found.ret_text) == (0x91, "the model stream execute failed")
    assert codes_of(path) == [("507011", 5)]


def test_the_same_failure_on_the_programs_console(folder: Path) -> None:
    path = folder / "stdout_ez9999.txt"
    found = exception_of(path)
    (core,) = found.cores
    assert (found.pid, found.codes, found.ret_code) == (24121, ("EZ9999",), 0x31)
    assert (core.core_id, core.block, core.pc_offset, core.error_bits) == (16, 2, 0x678, (33,))
    assert core.registers["para base"] == 0x12C0C0011000
    assert found.task == FailedTask()
    assert codes_of(path) == [("EZ9999", 2)]


@pytest.mark.parametrize(
    "name",
    [
        *("style_a_910b_cann8.log", "style_a_mix_timeout_or_trap.log", "style_old_2020_910a.log"),
        *("style_c_2026h2_two_line_and_symbolize.log", "style_910a_2023.log", "stdout_ez9999.txt"),
    ],
)
def test_cutting_a_log_anywhere_changes_nothing(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    whole = records_of(folder / name)
    for at in range(0, len(content), 1 if len(content) < 2000 else 7):
        reader = PlogReader()
        assert reader.feed(content[:at]) + reader.feed(content[at:]) + reader.finish() == whole


# ---- cases ----


def test_an_exception_in_a_serving_log(shared: Path) -> None:
    """C38: two workers whose lines alternate; the one that waits is the first to show Python."""
    python, timeout, found, code = records_of(shared / "cases" / "C38" / "serve.log")
    assert isinstance(found, AicoreException)
    assert (found.pid, found.origin, found.line, found.last_line) == (221636, "WorkerProc pid=221636", 5, 10)
    task = found.task
    assert (task.device_id, task.stream_id, task.task_id, task.flip) == (3, 2, 19362, 11)
    assert (task.op_type, found.ret_code, found.is_closed) == ("ScatterNdUpdate", 0x31, True)
    assert [(c.core_id, c.chip_id, c.error_code, c.pc_offset) for c in found.cores] == [
        (45, 3, 0x800000, 1404),
        (47, 3, 0x800000, 1404),
    ]
    assert found.cores[0].error_text == "The DDR address of the MTE instruction is out of range."
    assert found.cores[0].error_bits == (23,)
    assert isinstance(timeout, HcclTimeout)
    assert (timeout.code, timeout.pid, timeout.remote_rank) == ("EI0002", 221633, "unknown")
    assert found.time_us is not None and timeout.time_us is not None
    assert timeout.time_us - found.time_us == 30_158_504  # 02:28:36.670614 - 02:28:06.512110
    assert isinstance(python, PythonError)
    assert (python.pid, python.python_line, python.code_text) == (221633, 311, "torch.npu.synchronize()")
    assert isinstance(code, CodedError) and (code.code, code.pid, code.line) == ("507035", 221636, 11)


def test_a_kernel_that_does_not_fit(shared: Path) -> None:
    """C40: bits of a compiler's message as bytes."""
    found = read_memory_texts(shared / "cases" / "C40" / "compile.log", root=shared)
    (record,) = found.records
    assert isinstance(record, BufferOverflow) and found.problems == ()
    assert (record.required_bytes, record.available_bytes) == (307_200, 196_608)
    assert (record.path, record.source_line, record.buffer) == ("kernels/gather_rows.py", 31, "ub")
    assert record.block_size == 38_400
    assert record.block_size * 1_572_864 // 2_457_600 == 24_576


def test_logs_of_other_tools_hold_nothing_of_ours(shared: Path) -> None:
    """Sanitizer reports look like lines of memory tools and of logs; they are none."""
    allowed = {"interleaved_program_output.log"}  # with one real line of a log in it
    folder = shared / "samples" / "sanitizer"
    paths = [*folder.glob("mssanitizer/*.log"), *folder.glob("asan/**/*.log")]
    paths += [shared / "cases" / name for name in ("C33/racecheck.log", "C35/memcheck.log", "C37/leak.log")]
    assert len(paths) > 100
    for path in paths:
        assert read_memscope_console(path, root=shared).notes == (), path
        assert read_memory_texts(path, root=shared).records == (), path
        if path.name not in allowed:
            assert read_plog(path, root=shared).records == (), path
            assert read_msdebug(path, root=shared).stops == (), path


def test_a_line_of_the_log_inside_a_report(shared: Path) -> None:
    found = exception_of(shared / "samples" / "sanitizer" / "mssanitizer" / "interleaved_program_output.log")
    assert (found.line, found.task.stream_id, found.ret_code, found.cores) == (19, 2, 0x31, ())
