"""Messages of memory that ran out as faults, and codes that only guides know.

Figures, all always there: of "out of memory" allocator, device, device_id, kernel_name, tried_bytes,
total_bytes, free_bytes, allocated_bytes, active_bytes, reserved_bytes, cached_bytes, allowed_bytes,
in_use_bytes; of "buffer overflow at compile time" buffer, required_bytes, available_bytes, required_bits,
available_bits, block_size; of "error code" code. None where the message does not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npulse.core.formats.memory_texts import BufferOverflow, GuideCode, MemoryText, OutOfMemory

from ..faults import Access, Fault, Frame, Tool

_SIZES = (
    *("tried_bytes", "total_bytes", "free_bytes", "allocated_bytes", "active_bytes", "reserved_bytes"),
    *("cached_bytes", "allowed_bytes", "in_use_bytes"),
)
_TOOLS: Mapping[str, Tool] = {"hccl": "HCCL", "mindspore": "MindSpore"}
_SPACES = {
    **{"ub": "UB", "cbuf": "L1", "l1": "L1", "ca": "L0A", "cb": "L0B", "cc": "L0C"},
    **{"l0a": "L0A", "l0b": "L0B", "l0c": "L0C"},
}


def fault_of(record: MemoryText, artifact: str) -> Fault | None:
    """One message; None of one that is of no known class."""
    if isinstance(record, OutOfMemory):
        return _out_of_memory(record, artifact)
    if isinstance(record, BufferOverflow):
        return _overflow(record, artifact)
    if isinstance(record, GuideCode):
        return _guide_code(record, artifact)
    return None


def _out_of_memory(record: OutOfMemory, artifact: str) -> Fault:
    figures: dict[str, Any] = {
        "allocator": record.allocator,
        "device": record.device,
        "device_id": record.device_id,
        "kernel_name": record.kernel_name,
        **{name: getattr(record, name) for name in _SIZES},
    }
    return Fault(
        _TOOLS.get(record.allocator, "torch_npu"),
        "out of memory",
        "error",
        record.text,
        artifact,
        record.line,
        record.byte,
        accesses=(Access(kernel=record.kernel_name, device=record.device_id, pid=record.pid),),
        figures=figures,
        origin=record.origin,
    )


def _overflow(record: BufferOverflow, artifact: str) -> Fault:
    frames = (Frame(record.path, record.source_line, record.column or None),) if record.path else ()
    # compilers write "ub" or "local.UB"; what is not known has no space
    space = _SPACES.get(record.buffer.rpartition(".")[2].lower(), "")
    figures: dict[str, Any] = {
        "buffer": record.buffer,
        "required_bytes": record.required_bytes,
        "available_bytes": record.available_bytes,
        "required_bits": record.required_bits,
        "available_bits": record.available_bits,
        "block_size": record.block_size,
    }
    return Fault(
        "compiler",
        "buffer overflow at compile time",
        "error",
        record.text,
        artifact,
        record.line,
        record.byte,
        accesses=(Access(space=space, pid=record.pid, frames=frames),),
        figures=figures,
        origin=record.origin,
    )


def _guide_code(record: GuideCode, artifact: str) -> Fault:
    """A warning: something went wrong for whoever printed it, but no tool of CANN did."""
    return Fault(
        "CANN",
        "error code",
        "warning",
        record.text,
        artifact,
        record.line,
        record.byte,
        accesses=(Access(pid=record.pid),),
        figures={"code": record.code},
        origin=record.origin,
    )
