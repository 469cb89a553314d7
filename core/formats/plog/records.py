"""What the reader of CANN's logs hands out. Addresses, codes and registers are numbers as the log has them.

Times are microseconds since 1970 by the clock of the log, which names no time zone (a device may still be in
1970). line: counted from 1; byte: where that line begins. Texts are safe to show and at most 4,096 long.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem

MAX_CORES = 256
MAX_REGISTERS = 64
MAX_ARGS = 512
MAX_BUFFERS = 128
MAX_FILES = 32
MAX_SYMBOLS = 64
MAX_CALLERS = 32

_ADDRESS = (1 << 48) - 1
_WITH_HASH = re.compile(r"(.{1,400}?)_[0-9a-f]{16,64}(?:_|$)")


@dataclass(frozen=True, slots=True)
class CoreError:
    """What the log says of one core of a failing task.

    unit: "aivec error", "aicore error", "fftsplus aivector error" and so on. error_code: the first number;
    error_words: the three words of 64 bits behind "errcode:" (() if not told), error_bits: which bits of them
    are set, named in `error_codes.ERROR_BITS`; without words those of error_code. error_number: the one
    number that Ascend 950 prints in their place, which is no set of bits. error_text: as printed, several
    texts may be run together. registers: name as printed ("vec error info", "AIC_ERR_0") -> value.
    fixed_pc_offset: what CANN worked out as the true place in the kernel.
    """

    unit: str
    line: int
    byte: int
    time_us: int | None = None
    core_id: int | None = None
    chip_id: int | None = None
    die_id: int | None = None
    serial_number: int | None = None
    error_code: int | None = None
    error_number: int | None = None
    error_words: tuple[int, ...] = ()
    error_bits: tuple[int, ...] = ()
    error_text: str = ""
    pc_start: int | None = None
    pc_current: int | None = None
    registers: Mapping[str, int] = field(default_factory=dict)
    block: int | None = None
    sub_block: int | None = None
    sub_error_type: int | None = None
    fixed_pc_offset: int | None = None
    symbol: str = ""

    @property
    def pc_offset(self) -> int | None:
        """Bytes from the start of the kernel to the program counter; negative if that is before it.

        Of both only the 48 bits of an address are taken: older chips keep a mark above them.
        """
        if self.pc_start is None or self.pc_current is None:
            return None
        return (self.pc_current & _ADDRESS) - (self.pc_start & _ADDRESS)


@dataclass(frozen=True, slots=True)
class DumpedBuffer:
    """One memory range of the failing task that CANN dumped.

    kind: "normal tensor", "workspace", "tiling data" and so on.
    """

    kind: str
    index: int | None
    address: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SymbolGroup:
    """Cores that stopped at the same place of a kernel, and the source line that CANN found for it.

    source: "file:line:column" as printed, "" if unknown; outer_source: of the outermost inlined call.
    """

    index: int
    object_path: str = ""
    pc_offset: int | None = None
    symbol: str = ""
    source: str = ""
    outer_source: str = ""
    core_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FailedTask:
    """The task that failed, as far as the log tells. flip: how often task ids had wrapped around.

    task_sn: the number of 32 bits that Ascend 950 has in place of a task id. error_type: "task exception",
    "task timeout" and so on, from "Task run failed"; sqe_type: "ffts", "notify wait" and so on.
    report_stream_id: the stream that was told, for a model another one than the kernel's.
    """

    device_id: int | None = None
    stream_id: int | None = None
    task_id: int | None = None
    task_sn: int | None = None
    flip: int | None = None
    report_stream_id: int | None = None
    sqe_type: str = ""
    error_type: str = ""
    kernel_name: str = ""
    kernel_extension: str = ""
    function_name: str = ""
    node_name: str = ""
    node_type: str = ""

    @property
    def op_type(self) -> str:
        """The kernel's name up to its hash: "AddCustom" of "AddCustom_ab1b...8b_0"; whole if it has none."""
        found = _WITH_HASH.match(self.kernel_name)
        return found[1] if found else self.kernel_name


@dataclass(frozen=True, slots=True)
class _Told:
    """Where a record stands and who wrote it. origin: what a launcher put in front ("WorkerProc pid=7").

    last_line: the last one that belongs to the record.
    """

    line: int
    byte: int
    last_line: int
    time_us: int | None
    pid: int | None
    process: str
    origin: str


@dataclass(frozen=True, slots=True)
class AicoreException(_Told):
    """One failing task of AI Cores, from all its lines; every core is told once, repetitions are left out.

    Where the log has only the end of it ("Stream Synchronize failed"), there are no cores and no kernel.
    ret_code: 0x31 and so on, ret_text: "vector core exception". codes: such as "EZ9999", with which its lines
    were printed. args: 64-bit words handed to the kernel, after it ran, from the first on (512 at most);
    n_args: how many there are. n_cores: how many cores were told (256 of them are kept). files: dumps that
    CANN wrote. is_closed: its end was seen, so nothing more belongs to it.
    """

    task: FailedTask
    cores: tuple[CoreError, ...] = ()
    n_cores: int = 0
    ret_code: int | None = None
    ret_text: str = ""
    codes: tuple[str, ...] = ()
    args: tuple[int, ...] = ()
    n_args: int | None = None
    args_size_bytes: int | None = None
    tiling_key: int | None = None
    block_dim: int | None = None
    buffers: tuple[DumpedBuffer, ...] = ()
    files: tuple[str, ...] = ()
    symbols: tuple[SymbolGroup, ...] = ()
    is_closed: bool = False


@dataclass(frozen=True, slots=True)
class TaskFailure(_Told):
    """A task that failed or ran out of time without an AI Core's exception: waits, copies, AI CPU kernels."""

    task: FailedTask
    ret_code: int | None = None
    ret_text: str = ""
    codes: tuple[str, ...] = ()
    is_closed: bool = False

    @property
    def is_timeout(self) -> bool:
        """True if the log calls it one."""
        return "timeout" in self.task.error_type or "timeout" in self.ret_text


@dataclass(frozen=True, slots=True)
class HcclTimeout(_Told):
    """A collective, or the set-up of one, waited for a peer in vain: as a rule the peer is what to look at.

    code: "EI0002" and so on, "" in the log itself. remote_rank: as printed, "unknown" if HCCL does not know.
    """

    text: str
    code: str = ""
    remote_rank: str = ""
    stream_id: int | None = None
    task_id: int | None = None
    tag: str = ""
    timeout_s: int | None = None


@dataclass(frozen=True, slots=True)
class CodedError(_Told):
    """A message with an error code: "507035", "EL0004", "ERR00100"; `error_codes` says what it means.

    title: the code's name where it is printed; api: the function that returned it, if told.
    """

    code: str
    text: str
    title: str = ""
    api: str = ""
    module: str = ""
    inner_code: int | None = None
    device_id: int | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class PythonCall:
    """One line of a Python traceback."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class PythonError(_Told):
    """The innermost line of a Python traceback, and the error behind it ("" if it is cut off before).

    callers: the lines around the innermost one, the nearest first, `MAX_CALLERS` at most. is_blocking: the
    log itself shows before it that ASCEND_LAUNCH_BLOCKING was set to 1. is_asynchronous: the error says that
    it was noticed later than it was made, so the line is where it surfaced. operator_name: the operator that
    the error names, which is then the one at work by chance.
    """

    path: str
    python_line: int | None
    function: str
    code_text: str
    error: str
    operator_name: str
    is_asynchronous: bool
    callers: tuple[PythonCall, ...] = ()
    is_blocking: bool = False


PlogRecord = AicoreException | TaskFailure | HcclTimeout | CodedError | PythonError


@dataclass(frozen=True, slots=True)
class Plog:
    """All records of one log, in the order in which they were complete."""

    path: Path
    records: tuple[PlogRecord, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def exceptions(self) -> tuple[AicoreException, ...]:
        """The AI Core exceptions alone."""
        return tuple(record for record in self.records if isinstance(record, AicoreException))
