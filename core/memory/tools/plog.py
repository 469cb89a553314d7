"""Records of CANN's logs and of consoles (plog, HCCL, Python tracebacks) as faults.

Figures are always all there, None, "" or () where the log does not say:

- aicore exception: kernel_name, op_type, node_name, node_type, ret_code, ret_text, error_code, error_words,
  error_bits (names), error_text, error_number, chip_id, pc_offset, fixed_pc_offset, codes, files, args_n,
  args, block_dim, tiling_key, symbols (source texts), symbol, registers (of the first core), block, task_sn,
  report_stream_id, n_cores, core_pcs ((core, pc offset, fixed pc offset)), is_closed.
- task failure: is_timeout, error_type, sqe_type, kernel_name, op_type, ret_code, ret_text, codes, task_sn.
- collective time-out: code, remote_rank, timeout_s, tag. error code: code, title, api, module, device_id,
  rank, inner_code. python error: is_asynchronous, is_blocking, error, operator_name, code_text; and
  what `with_code` adds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from npulse.core.formats.error_codes import ERROR_BITS
from npulse.core.formats.plog.records import (
    AicoreException,
    CodedError,
    CoreError,
    FailedTask,
    HcclTimeout,
    PlogRecord,
    PythonError,
    SymbolGroup,
    TaskFailure,
)

from ..faults import Access, Cores, Fault, Frame, Task, Tool
from .parts import distinct, ranges_of

_CORE_TYPES = {"aivec": "aiv", "aivector": "aiv", "vector core": "aiv", "aicore": "aicore"}
_SOURCE = re.compile(r"(?P<file>.{1,4096}?):(?P<line>\d{1,9})(?::(?P<column>\d{1,9}))?", re.DOTALL)
_HCCL_MODULES = ("HCCL", "HCCP", "HCOM")


def fault_of(record: PlogRecord, artifact: str) -> Fault | None:
    """One record; None of one that is of no known class."""
    if isinstance(record, AicoreException):
        return _exception(record, artifact)
    if isinstance(record, TaskFailure):
        return _failure(record, artifact)
    if isinstance(record, HcclTimeout):
        return _timeout(record, artifact)
    if isinstance(record, CodedError):
        return _coded(record, artifact)
    if isinstance(record, PythonError):
        return _python(record, artifact)
    return None


def _fault(
    record: PlogRecord,
    artifact: str,
    tool: Tool,
    kind: str,
    message: str,
    figures: dict[str, Any],
    accesses: tuple[Access, ...] = (),
    task: Task | None = None,
) -> Fault:
    return Fault(
        tool,
        kind,
        "error",
        message,
        artifact,
        record.line,
        record.byte,
        accesses=accesses or (Access(pid=record.pid),),
        task=task,
        figures=figures,
        time_us=record.time_us,
        origin=record.origin,
    )


# ---- tasks ----


def _task(task: FailedTask) -> Task | None:
    """Where it ran; None if the log names neither device, stream nor task."""
    found = Task(task.device_id, task.stream_id, task.task_id, task.flip)
    return None if found == Task() else found


def core_type_of(unit: str) -> str:
    """ "aivec error" -> "aiv", "fftsplus aicore error" -> "aicore"; "" of what is no AI Core."""
    name = unit.removeprefix("fftsplus ").removesuffix(" error").strip()
    return _CORE_TYPES.get(name, "")


def _exception(record: AicoreException, artifact: str) -> Fault:
    task, cores = record.task, record.cores
    first = cores[0] if cores else None
    text = next((core.error_text for core in cores if core.error_text), "")
    figures: dict[str, Any] = {
        **_of_task(task),
        "node_type": task.node_type,
        "ret_code": record.ret_code,
        "ret_text": record.ret_text,
        **_of_cores(cores, record.symbols),
        "codes": record.codes,
        "files": record.files,
        "args_n": record.n_args,
        "args": record.args,
        "block_dim": record.block_dim,
        "tiling_key": record.tiling_key,
        "symbols": tuple(group.source for group in record.symbols if group.source),
        "n_cores": record.n_cores,
        "is_closed": record.is_closed,
    }
    accesses = tuple(_by_core_type(record)) or (
        Access(
            kernel=task.op_type,
            device=task.device_id,
            pid=record.pid,
            frames=_source_frames(record.symbols, ()),
        ),
    )
    message = text or record.ret_text or (first.unit if first is not None else "")
    return _fault(record, artifact, "CANN", "aicore exception", message, figures, accesses, _task(task))


def _of_task(task: FailedTask) -> dict[str, Any]:
    return {
        "kernel_name": task.kernel_name,
        "op_type": task.op_type,
        "node_name": task.node_name,
        "task_sn": task.task_sn,
        "report_stream_id": task.report_stream_id,
        "error_type": task.error_type,
        "sqe_type": task.sqe_type,
    }


def _of_cores(cores: tuple[CoreError, ...], groups: tuple[SymbolGroup, ...]) -> dict[str, Any]:
    """What the cores tell. Numbers are those of the first core that has them, bits are those of all cores.

    The true place of a core may be told of its group alone.
    """
    first = cores[0] if cores else None
    of_group = {core_id: group.pc_offset for group in reversed(groups) for core_id in group.core_ids}
    bits = dict.fromkeys(bit for core in cores for bit in core.error_bits)
    fixed = [
        of_group.get(core.core_id)
        if core.fixed_pc_offset is None and core.core_id is not None
        else core.fixed_pc_offset
        for core in cores
    ]
    pcs = [(core.core_id, core.pc_offset, place) for core, place in zip(cores, fixed, strict=True)]
    return {
        "error_code": next((core.error_code for core in cores if core.error_code is not None), None),
        "error_number": next((core.error_number for core in cores if core.error_number is not None), None),
        "error_words": next((core.error_words for core in cores if core.error_words), ()),
        "error_bits": tuple(ERROR_BITS[bit].name for bit in bits if 0 <= bit < len(ERROR_BITS)),
        "error_text": next((core.error_text for core in cores if core.error_text), ""),
        "chip_id": first.chip_id if first is not None else None,
        "pc_offset": next((offset for _, offset, _ in pcs if offset is not None), None),
        "fixed_pc_offset": next((fixed for _, _, fixed in pcs if fixed is not None), None),
        "symbol": next((core.symbol for core in cores if core.symbol), ""),
        "registers": dict(first.registers) if first is not None else {},
        "block": first.block if first is not None else None,
        "core_pcs": tuple(pcs),
    }


def _by_core_type(record: AicoreException) -> Iterable[Access]:
    """One access a type of core, in the order of the log; pc is that of its first core."""
    by_type: dict[str, list[CoreError]] = {}
    for core in record.cores:
        by_type.setdefault(core_type_of(core.unit), []).append(core)
    for core_type, cores in by_type.items():
        ids = [core.core_id for core in cores if core.core_id is not None]
        yield Access(
            kernel=record.task.op_type,
            device=record.task.device_id,
            cores=(Cores(core_type, ranges_of(ids)),) if ids else (),
            pid=record.pid,
            pc=next((core.pc_offset for core in cores if core.pc_offset is not None), None),
            frames=_source_frames(record.symbols, ids),
        )


def _source_frames(groups: tuple[SymbolGroup, ...], core_ids: Iterable[int]) -> tuple[Frame, ...]:
    """The source line that CANN found for these cores, and that of the outermost inlined call as its caller.

    The first group with such a line; one of the cores if any is.
    """
    wanted = set(core_ids)
    told = [group for group in groups if source_frame(group.source) is not None]
    ours = [group for group in told if wanted.intersection(group.core_ids)]
    known = ours or [group for group in told if not wanted or not group.core_ids]
    if not known:
        return ()
    inner, outer = source_frame(known[0].source), source_frame(known[0].outer_source)
    function = known[0].symbol.partition("+")[0]
    if inner is None:
        return ()
    if outer is None or outer == inner:
        return (replace(inner, function=function),)
    return (inner, replace(outer, function=function))


def source_frame(text: str) -> Frame | None:
    """ "/op/add.cpp:44:9" -> its frame; None of "unknown", "??:0" and other texts without a line."""
    found = _SOURCE.fullmatch(text)
    if found is None or found["file"].startswith("?"):
        return None
    return Frame(found["file"], int(found["line"]), int(found["column"]) if found["column"] else None)


def _failure(record: TaskFailure, artifact: str) -> Fault:
    task = record.task
    figures = {
        **_of_task(task),
        "ret_code": record.ret_code,
        "ret_text": record.ret_text,
        "codes": record.codes,
        "is_timeout": record.is_timeout,
    }
    access = Access(kernel=task.op_type, device=task.device_id, pid=record.pid)
    message = record.ret_text or task.error_type
    return _fault(record, artifact, "CANN", "task failure", message, figures, (access,), _task(task))


# ---- collectives, codes, Python ----


def _timeout(record: HcclTimeout, artifact: str) -> Fault:
    task = None
    if record.stream_id is not None or record.task_id is not None:
        task = Task(None, record.stream_id, record.task_id)
    figures = {
        "code": record.code,
        "remote_rank": record.remote_rank,
        "timeout_s": record.timeout_s,
        "tag": record.tag,
    }
    return _fault(record, artifact, "HCCL", "collective time-out", record.text, figures, task=task)


def _coded(record: CodedError, artifact: str) -> Fault:
    tool: Tool = "CANN"
    if record.code.startswith(("EI", "EJ", "HCCL")) or record.module in _HCCL_MODULES:
        tool = "HCCL"
    elif record.code.startswith("ERR"):
        tool = "torch_npu"
    figures = {**_of_code(record), "module": record.module}
    access = Access(device=record.device_id, pid=record.pid)
    return _fault(record, artifact, tool, "error code", record.text, figures, (access,))


def _of_code(record: CodedError) -> dict[str, Any]:
    return {
        "code": record.code,
        "title": record.title,
        "api": record.api,
        "device_id": record.device_id,
        "rank": record.rank,
        "inner_code": record.inner_code,
    }


def _python(record: PythonError, artifact: str) -> Fault:
    access = Access(pid=record.pid, frames=python_frames(record))
    message = record.error or record.code_text
    return _fault(record, artifact, "Python", "python error", message, _of_python(record), (access,))


def _of_python(record: PythonError) -> dict[str, Any]:
    return {
        "is_asynchronous": record.is_asynchronous,
        "is_blocking": record.is_blocking,
        "error": record.error,
        "operator_name": record.operator_name,
        "code_text": record.code_text,
    }


def python_frames(record: PythonError) -> tuple[Frame, ...]:
    """The lines of the traceback, the innermost first; () where the error stands alone."""
    if not record.path:
        return ()
    callers = (Frame(call.path, call.line, None, call.function) for call in record.callers)
    return (Frame(record.path, record.python_line, None, record.function), *callers)


# ---- one line that several readers know ----


def with_code(fault: Fault, record: CodedError) -> Fault:
    """The fault of a line that also names an error code: code, title, api, device_id, rank, inner_code."""
    told = {name: value for name, value in _of_code(record).items() if value not in (None, "")}
    kept = {name: value for name, value in fault.figures.items() if value not in (None, "")}
    accesses = fault.accesses
    if record.device_id is not None and fault.access.device is None:
        accesses = (replace(fault.access, device=record.device_id), *accesses[1:])
    return replace(fault, accesses=accesses, figures={**fault.figures, **told, **kept})


def with_python(fault: Fault, record: PythonError) -> Fault:
    """The fault that is the error of a traceback: it begins where that does, and has its line as a frame."""
    access = fault.access
    pid = record.pid if access.pid is None else access.pid
    access = replace(access, frames=access.frames or python_frames(record), pid=pid)
    return replace(
        fault,
        line=record.line,
        byte=record.byte,
        accesses=(access, *fault.accesses[1:]),
        figures={**_of_python(record), **fault.figures},
        time_us=record.time_us if fault.time_us is None else fault.time_us,
    )


def tools_of(faults: Iterable[Fault]) -> tuple[str, ...]:
    """Who wrote these faults, each once."""
    return distinct(fault.tool for fault in faults)
