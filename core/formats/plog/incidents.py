"""Failing tasks that are still being told: lines are put together by process, stream and task."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace
from operator import itemgetter
from typing import TypeVar

from ..log_lines import Line, bounded
from .heads import Head
from .messages import CoreFound, CoreTold, ExtendTold, FaultTold, RunTold, bits_of
from .records import (
    MAX_ARGS,
    MAX_BUFFERS,
    MAX_CORES,
    MAX_FILES,
    MAX_REGISTERS,
    MAX_SYMBOLS,
    AicoreException,
    CoreError,
    DumpedBuffer,
    FailedTask,
    SymbolGroup,
    TaskFailure,
)

MAX_OPEN = 64
_MAX_CODES = 16
_MAX_SEEN = 1024
_AICORE_RETURNS = frozenset({0x25, 0x26, 0x27, 0x30, 0x31, 0x32})

_T = TypeVar("_T")


class Incident:
    """One failing task while its lines come in. `key` of the task is filled by whichever line tells it."""

    def __init__(self, line: Line, head: Head) -> None:
        self.line, self.byte, self.last_line = line.number, line.byte, line.number
        self.time_us, self.pid, self.process = head.time_us, head.pid, bounded(head.process)
        self.origin = bounded(head.origin.name)
        self.task = FailedTask()
        self.unit = ""
        self.cores: list[CoreError] = []
        self.n_cores = 0
        self.serials: set[int | None] = set()  # of the cores that are kept, as are the chips: (chip, die)
        self.chips: set[tuple[int, int | None]] = set()
        self.ret_code: int | None = None
        self.ret_text = ""
        self.codes: list[str] = []
        self.args: dict[int, int] = {}
        self.n_args: int | None = None
        self.args_size_bytes: int | None = None
        self.tiling_key: int | None = None
        self.block_dim: int | None = None
        self.buffer_begun: tuple[str, int] | None = None
        self.buffers: list[DumpedBuffer] = []
        self.files: list[str] = []
        self.symbols: dict[int, SymbolGroup] = {}
        self.awaits_extend = False  # the last core line had no extend line yet
        self.core_line = 0  # of its last core: an extend line belongs to the incident with the latest one
        self.focus = line.number  # where the log last spoke of this task by its ids
        self.has_kernel = False
        self.has_return = False

    # ---- what lines tell ----

    def touch(self, line: Line, head: Head) -> None:
        """A further line belongs to it."""
        self.last_line = max(self.last_line, line.number)
        if self.time_us is None:
            self.time_us = head.time_us
        self.process = self.process or bounded(head.process)
        if head.code and head.code not in self.codes and len(self.codes) < _MAX_CODES:
            self.codes.append(head.code)

    def told_run(self, run: RunTold) -> None:
        numbers = run.numbers
        self.task = replace(
            self.task,
            device_id=numbers.get("device_id", self.task.device_id),
            stream_id=numbers.get("stream_id", self.task.stream_id),
            task_id=numbers.get("task_id", self.task.task_id),
            task_sn=numbers.get("task_sn", self.task.task_sn),
            sqe_type=bounded(run.sqe_type),
            error_type=bounded(run.error_type),
        )

    def told_fault(self, fault: FaultTold) -> None:
        numbers, task = fault.numbers, self.task
        has_task = "task_id" in numbers or "task_sn" in numbers
        self.task = replace(
            task,
            device_id=numbers.get("device_id", task.device_id),
            stream_id=numbers.get("stream_id", task.stream_id),
            report_stream_id=numbers.get("report_stream_id", task.stream_id if has_task else None),
            task_id=numbers.get("task_id") if has_task else task.task_id,
            task_sn=numbers.get("task_sn") if has_task else task.task_sn,
            flip=numbers.get("flip_num", task.flip),
            kernel_name=fault.kernel_name or task.kernel_name,
            kernel_extension=fault.kernel_extension or task.kernel_extension,
            function_name=fault.function_name or task.function_name,
            node_name=fault.op_name or task.node_name,
        )
        self.unit = fault.unit
        self.block_dim = numbers.get("blockDim", self.block_dim)
        self.has_kernel = True

    def told_core(self, core: CoreTold, line: Line, head: Head) -> None:
        self.n_cores += 1
        self.awaits_extend, self.core_line = True, line.number
        if len(self.cores) < MAX_CORES:
            self.serials.add(core.serial_number)
            if core.chip_id is not None:
                self.chips.add((core.chip_id, core.die_id))
            words = (core.error_code,) if core.error_code is not None else ()
            self.cores.append(
                CoreError(
                    unit=bounded(core.unit),
                    line=line.number,
                    byte=line.byte,
                    time_us=head.time_us,
                    core_id=core.core_id,
                    chip_id=core.chip_id,
                    die_id=core.die_id,
                    serial_number=core.serial_number,
                    error_code=core.error_code,
                    error_number=core.error_number,
                    error_bits=bits_of(words),
                    error_text=core.error_text,
                    pc_start=core.pc_start,
                    pc_current=core.pc_current,
                    registers=first_of(core.registers, MAX_REGISTERS),
                )
            )

    def told_extend(self, extend: ExtendTold) -> None:
        """The extend line that follows a core line; one more of them is a repetition."""
        if not self.awaits_extend:
            return
        self.awaits_extend = False
        if self.n_cores > len(self.cores):
            return
        core = self.cores[-1]
        self.cores[-1] = replace(
            core,
            error_words=extend.words,
            error_bits=bits_of(extend.words) if extend.words else core.error_bits,
            error_number=extend.number if extend.number is not None else core.error_number,
            error_text=extend.text or core.error_text,
            block=extend.block,
            sub_block=extend.sub_block,
            sub_error_type=extend.sub_error_type,
            registers=first_of({**core.registers, **extend.registers}, MAX_REGISTERS),
        )

    def told_of_core(self, found: CoreFound) -> None:
        for at, core in enumerate(self.cores):
            if core.core_id == found.core_id:
                registers = core.registers
                if found.registers:
                    registers = first_of({**registers, **found.registers}, MAX_REGISTERS)
                self.cores[at] = replace(
                    core,
                    fixed_pc_offset=core.fixed_pc_offset if found.pc_offset is None else found.pc_offset,
                    symbol=found.symbol or core.symbol,
                    registers=registers,
                )

    def told_return(self, code: int, text: str) -> None:
        """A return code; that of the kernel stands before that of the model or stream around it."""
        self.has_return = True
        if self.ret_code is None or (self.ret_code not in _AICORE_RETURNS and code in _AICORE_RETURNS):
            self.ret_code, self.ret_text = code, bounded(text)
        elif self.ret_code == code:
            self.ret_text = self.ret_text or bounded(text)

    def told_args(self, first: int, values: Iterable[int]) -> None:
        for at, value in enumerate(values, first):
            if at >= MAX_ARGS:
                break
            self.args.setdefault(at, value)

    def told_tiling(self, key: int, n_args: int | None, numbers: dict[str, int]) -> None:
        self.tiling_key = key
        self.n_args = n_args if n_args is not None else self.n_args
        self.args_size_bytes = numbers.get("argsSize", self.args_size_bytes)
        self.block_dim = numbers.get("blockDim", self.block_dim)

    def told_buffer(self, address: int, size_bytes: int) -> None:
        kind, index = self.buffer_begun or ("", None)
        buffer = DumpedBuffer(kind, index, address, size_bytes)
        if len(self.buffers) < MAX_BUFFERS and buffer not in self.buffers:
            self.buffers.append(buffer)

    def told_file(self, path: str) -> None:
        if len(self.files) < MAX_FILES and path not in self.files:
            self.files.append(path)

    def told_group(self, index: int, texts: dict[str, str], cores: list[int]) -> None:
        group = self.symbols.get(index)
        if group is None and len(self.symbols) >= MAX_SYMBOLS:
            return
        group = group or SymbolGroup(index)
        offset = texts.get("fixedPCOffset", "")
        source = texts.get("innerSrc") or texts.get("source") or ""
        self.symbols[index] = replace(
            group,
            object_path=texts.get("oFile", group.object_path),
            pc_offset=_hex(offset) if offset else group.pc_offset,
            symbol=texts.get("symbol", group.symbol),
            source=group.source if source in ("", "unknown") else source,
            outer_source=texts.get("outerSrc", group.outer_source),
            core_ids=tuple(cores[:MAX_CORES]) or group.core_ids,
        )

    # ---- the device ----

    def fit_of_core(self, chip: int | None, die: int | None, serial_number: int | None) -> int | None:
        """How well a core fits: 0 (may be) to 3; None where the task is told to its end, or ran elsewhere.

        A task runs on one chip. A device is a chip, where both dies are devices 2 * chip + die; a process
        that sees only some devices counts them anew: another number speaks against it and excludes nothing.
        """
        if (self.has_kernel or self.has_return) and self.serials and serial_number not in self.serials:
            return None
        if chip is None:
            return 1
        if self.chips and all(chip != known for known, _ in self.chips):
            return None
        fit = 1 if self.task.device_id is None else _fit(self.task.device_id, chip, die)
        return max(fit, 2) if (chip, die) in self.chips else fit

    def fit_of_device(self, device: int | None) -> int | None:
        """How well a task of this device fits: 0 (may be) to 4, None where it is another one."""
        if device is None:
            return 1
        if self.task.device_id is not None:
            return 4 if self.task.device_id == device else None
        return max((_fit(device, chip, die) for chip, die in self.chips), default=1)

    # ---- the record ----

    @property
    def is_of_aicore(self) -> bool:
        """True if an AI Core failed, False for waits, copies and AI CPU kernels."""
        if self.cores or self.unit:
            return bool(self.cores) or self.unit != "ai cpu"
        return self.ret_code in _AICORE_RETURNS

    def record(self, *, is_closed: bool) -> AicoreException | TaskFailure:
        """What is known of it so far."""
        args: list[int] = []
        while len(args) in self.args:
            args.append(self.args[len(args)])
        codes = tuple(self.codes)
        stands = (self.line, self.byte, self.last_line, self.time_us, self.pid, self.process, self.origin)
        if not self.is_of_aicore:
            return TaskFailure(*stands, self.task, self.ret_code, self.ret_text, codes, is_closed)
        return AicoreException(
            *stands,
            self.task,
            cores=tuple(self.cores),
            n_cores=self.n_cores,
            ret_code=self.ret_code,
            ret_text=self.ret_text,
            codes=codes,
            args=tuple(args),
            n_args=self.n_args,
            args_size_bytes=self.args_size_bytes,
            tiling_key=self.tiling_key,
            block_dim=self.block_dim,
            buffers=tuple(self.buffers),
            files=tuple(self.files),
            symbols=tuple(self.symbols[index] for index in sorted(self.symbols)),
            is_closed=is_closed,
        )


def _fit(device: int | None, chip: int, die: int | None) -> int:
    """How well the number of a device fits a chip and a die: 0 where it is neither of the two numberings."""
    if die and device == 2 * chip + die:
        return 3
    return 2 if device in (chip, 2 * chip) else 0


def best(incidents: Iterable[Incident], fit: Callable[[Incident], int | None]) -> Incident | None:
    """The one that fits best, the first of several; None where none fits."""
    fitting = [(found, incident) for incident in incidents if (found := fit(incident)) is not None]
    return max(fitting, key=itemgetter(0))[1] if fitting else None


def first_of(values: dict[str, _T], n: int) -> dict[str, _T]:
    """The first n entries."""
    return values if len(values) <= n else dict(list(values.items())[:n])


def _hex(text: str) -> int | None:
    try:
        value = int(text, 16)
    except ValueError:
        return None
    return value if 0 <= value < 1 << 64 else None


class OpenIncidents:
    """The incidents that are not closed, by process; those that are go to `hand_out`."""

    def __init__(self, hand_out: Callable[[AicoreException | TaskFailure], None]) -> None:
        self._hand_out = hand_out
        self._open: OrderedDict[int, Incident] = OrderedDict()  # by order of their beginning
        self._n_begun = 0
        self._seen: OrderedDict[tuple[object, ...], None] = OrderedDict()

    def begin(self, line: Line, head: Head) -> Incident:
        incident = Incident(line, head)
        self._open[self._n_begun] = incident
        self._n_begun += 1
        if len(self._open) > MAX_OPEN:
            self._close(next(iter(self._open)), is_closed=False)
        return incident

    def of(self, head: Head) -> list[Incident]:
        """Those of the process that wrote a line, the newest first."""
        return [incident for incident in reversed(self._open.values()) if incident.pid == head.pid]

    def newest(self, head: Head) -> Incident | None:
        return next(iter(self.of(head)), None)

    def focused(self, head: Head) -> Incident | None:
        """That of which the process spoke last, by ids; the newest one where no line had any."""
        return max(self.of(head), key=lambda incident: incident.focus, default=None)

    def last_core(self, head: Head) -> Incident | None:
        """That to which the process added a core last."""
        return max(self.of(head), key=lambda incident: incident.core_line, default=None)

    def close(self, head: Head) -> None:
        """The process was told that its stream failed: nothing more comes of what is open."""
        for key in [key for key, incident in self._open.items() if incident.pid == head.pid]:
            self._close(key, is_closed=True)

    def close_all(self) -> None:
        for key in list(self._open):
            self._close(key, is_closed=False)

    def pending(self) -> list[AicoreException | TaskFailure]:
        return [incident.record(is_closed=False) for incident in self._open.values()]

    def _close(self, key: int, *, is_closed: bool) -> None:
        self._hand_out(self._open.pop(key).record(is_closed=is_closed))

    def is_repeated(self, *what: object) -> bool:
        """True if this was told before; the last 1,024 things are remembered."""
        if what in self._seen:
            self._seen.move_to_end(what)
            return True
        self._seen[what] = None
        if len(self._seen) > _MAX_SEEN:
            self._seen.popitem(last=False)
        return False
