"""CANN's messages about a failing task, one function a message; each gives None for any other text.

All wordings from 2020 on: fields are looked for one by one, so that a message that was cut off still tells
the first ones. Callers cut messages to `MAX_MESSAGE_CHARS`, twice what CANN ever prints.
"""

from __future__ import annotations

import re
from dataclasses import field

from npulse.core.dataclass import dataclass

from ..log_lines import bounded

MAX_MESSAGE_CHARS = 8192


def _number(text: str | None) -> int | None:
    """'0x1f', '31' or '0' -> the number."""
    if not text:
        return None
    return int(text, 16) if text[:2] in ("0x", "0X") else int(text)


_NUMBER = r"0[xX][0-9a-fA-F]{1,16}|\d{1,20}"
_FIELD = re.compile(r"\b([A-Za-z]\w{0,31}) ?= ?(-?\d{1,20})\b(?!\.\w)")


def fields_of(message: str) -> dict[str, int]:
    """All 'name=number' of a message: device_id, stream_id, task_id, flip_num, argsSize and so on."""
    return {name: int(value) for name, value in _FIELD.findall(message)}


# ---- the error of one core ----

_CORE = re.compile(
    r"(?:there is an? (?:exception of )?|the error is )"
    r"(?P<unit>[A-Za-z][\w+ ]{0,60}?error)(?: exception| error)?, core id (?:is|=) (?P<core>\d{1,6})"
)
_HCCL_UNIT = re.compile(r"(?:there is an? (?:exception of )?|the error is )(hccl fftsplus timeout)")
_DEVICE = re.compile(
    r"device\((?:chipId: ?(?P<chip>\d{1,6}), ?[dD]ieI?l?[dD]?: ?(?P<die>\d{1,6})|(?P<old>\d{1,6}))\)"
)
_SERIAL = re.compile(r"serial number is (\d{1,20})")
_CODE = re.compile(rf"error code = ({_NUMBER})")
_OLD_TEXT = re.compile(r"error string = (.*?)(?: dump info:|$)", re.DOTALL)
_START = re.compile(rf"pc start: ?({_NUMBER})")
_CURRENT = re.compile(rf"current: ?({_NUMBER})")
_REGISTER = re.compile(
    rf"(?:^|[,.:] )([A-Za-z][A-Za-z0-9 _]{{1,40}}?) ?: ({_NUMBER})(?:, ?(0x[0-9a-fA-F]{{1,16}}))?(?=[,.\s]|$)"
)
_NO_REGISTERS = frozenset({"pc start", "current"})

_EXTEND = re.compile(r"errcode: ?\((?P<codes>[^()]{0,200})\) ?(?:errorStr: ?(?P<text>.*))?", re.DOTALL)
_TEXT_END = re.compile(r"\s*(?:fixp_error0 info|subErrType|fsmId)\b")
_OLD_EXTEND = re.compile(r"The extend info from device\(\d{1,6}\), serial number is (\d{1,20}), there is ")
_SMALL = {"block": re.compile(r"\bblk: ?(\d{1,9})"), "sub_block": re.compile(r"\bsubl?b?l?k: ?(\d{1,9})")}
_SUB_TYPE = re.compile(rf"\bsubErrType: ?({_NUMBER})")


@dataclass(slots=True)
class CoreTold:
    """A core line."""

    unit: str
    core_id: int | None
    chip_id: int | None
    die_id: int | None
    serial_number: int | None
    error_code: int | None
    error_number: int | None
    error_text: str
    pc_start: int | None
    pc_current: int | None
    registers: dict[str, int]


@dataclass(slots=True)
class ExtendTold:
    """An extend line: the whole error code, its text, and the block."""

    words: tuple[int, ...] = ()
    number: int | None = None
    text: str = ""
    block: int | None = None
    sub_block: int | None = None
    sub_error_type: int | None = None
    registers: dict[str, int] = field(default_factory=dict)


def core_told(message: str) -> CoreTold | None:
    """'The error from device(chipId:0, dieId:0), serial number is 48, there is an aivec error ...'."""
    if "device(" not in message:
        return None
    found = _CORE.search(message) or _HCCL_UNIT.search(message)
    if found is None or _OLD_EXTEND.search(message):
        return None
    own = message.partition("The extend info")[0]
    device = _DEVICE.search(own)
    serial, code, text = _SERIAL.search(own), _CODE.search(own), _OLD_TEXT.search(own)
    start, current = _START.search(own), _CURRENT.search(own)
    is_hex = code is not None and (code[1] == "0" or code[1][:2] in ("0x", "0X"))
    written = text[1] if text else own.partition("errorStr:")[2]
    groups = found.groupdict()
    return CoreTold(
        unit=groups.get("unit") or found[1],
        core_id=_number(groups.get("core")),
        chip_id=_number(device["chip"] or device["old"]) if device else None,
        die_id=_number(device["die"]) if device else None,
        serial_number=_number(serial[1]) if serial else None,
        error_code=_number(code[1]) if code is not None and is_hex else None,
        error_number=_number(code[1]) if code is not None and not is_hex else None,
        error_text=bounded(written),
        pc_start=_number(start[1]) if start else None,
        pc_current=_number(current[1]) if current else None,
        registers=registers_of(own.partition("dump info:")[2].partition("errorStr:")[0]),
    )


def registers_of(text: str) -> dict[str, int]:
    """'vec error info: 0x5100, mte error info: 0' -> name to value; a second value as 'su error info 2'."""
    values: dict[str, int] = {}
    for name, first, second in _REGISTER.findall(", " + text.strip()):
        if name not in _NO_REGISTERS:
            values[name] = _number(first) or 0
            if second:
                values[name + " 2"] = _number(second) or 0
    return values


def extend_told(message: str) -> ExtendTold | None:
    """'The extend info: errcode:(0x200000000, 0, 0) errorStr: ...', and that of 2021 without a code."""
    at = message.find("The extend info")
    if at < 0:
        return None
    message = message[at:]
    if _OLD_EXTEND.match(message):
        return ExtendTold(registers=registers_of(message.partition("core id is ")[2]))
    found = _EXTEND.search(message)
    if found is None:
        return None
    codes = [_number(code) for code in re.findall(_NUMBER, found["codes"])]
    text = found["text"] or ""
    end = _TEXT_END.search(text)
    sub_type = _SUB_TYPE.search(message)
    small = {name: pattern.search(message) for name, pattern in _SMALL.items()}
    block, sub_block = small["block"], small["sub_block"]
    is_number = len(codes) == 1 and not found["codes"].strip().startswith(("0x", "0X"))
    return ExtendTold(
        words=() if is_number else tuple(code for code in codes[:3] if code is not None),
        number=codes[0] if is_number else None,
        text=bounded(text[: end.start()] if end else text),
        block=_number(block[1]) if block else None,
        sub_block=_number(sub_block[1]) if sub_block else None,
        sub_error_type=_number(sub_type[1]) if sub_type else None,
        registers=_fixp_registers(message),
    )


def _fixp_registers(message: str) -> dict[str, int]:
    found = re.findall(rf"\b(fixp_error[01] info): ?({_NUMBER})", message)
    return {name: _number(value) or 0 for name, value in found}


def bits_of(words: tuple[int, ...]) -> tuple[int, ...]:
    """The numbers of the set bits. The third word holds 128 to 144, and from its bit 32 on 145 and later."""
    bits = []
    for at, word in enumerate(words[:3]):
        for bit in range(64):
            if word >> bit & 1:
                if at < 2:
                    bits.append(at * 64 + bit)
                elif bit <= 16 or bit >= 32:
                    bits.append(128 + bit if bit <= 16 else 113 + bit)
    return tuple(bits)


# ---- the task ----

_RUN = re.compile(r"Task run (?:failed|timeout), |[tT]ask exception! ")
_SQE = re.compile(r"(?:sqe|task)_type=\d{1,10}\(([^()]{1,80})\)")
_ERR_TYPE = re.compile(r"errType=(?:0x)?[0-9a-fA-F]{1,8}\(([^()]{1,80})\)")
_RET = re.compile(r"retCode=0x([0-9a-fA-F]{1,8})(?:, \[([^\[\]]{1,200})\])?")
_FAULT = re.compile(
    r"(?P<unit>[Aa]i ?[Cc]ore kernel|AI Core kernel|AI CPU kernel|[Aa]icpu kernel|fftsplus task)"
    r" execut\w{1,8} failed, "
    r"|(?P<fusion>Fusion kernel execute failed, kernel_name=)"
)
_NAME_END = (
    r"(?:, (?:fault |program|func_?[nN]ame|hash|blockDim|extend_info|kernel|so_?[nN]ame|paramAddr)|\.?$)"
)
_NAMES = {
    name: re.compile(f"{key}=(.*?){_NAME_END}", re.DOTALL)
    for name, key in (
        ("kernel", "kernel_name"),
        ("extension", "fault kernel info ext"),
        ("function", "func_?[nN]ame"),
        ("op", "fault op_name"),
    )
}
_NODE = re.compile(r"\bnode_name:([^,]{1,256}), node_type:([^,]{1,200})")
_DEV_FUNC = re.compile(r"\bdev_func:(\S{1,1024})")
_OP_FAILED = re.compile(
    r"\bop_name \[([^\[\]]{1,256})\], error_info: task_id (\d{1,10}), stream_id (\d{1,10})"
)
_REGISTERED = re.compile(r"add error register: core_id=(\d{1,6}), stream_id=(\d{1,10}), task_id=(\d{1,10})")


@dataclass(slots=True)
class RunTold:
    """The line that opens it: 'Task run failed, device_id=0, stream_id=2, task_id=1, ...'."""

    numbers: dict[str, int]
    sqe_type: str
    error_type: str


@dataclass(slots=True)
class FaultTold:
    """The line with the kernel's name. unit: "ai core", "ai cpu" or "fftsplus"."""

    unit: str
    numbers: dict[str, int]
    kernel_name: str
    kernel_extension: str
    function_name: str
    op_name: str


def run_told(message: str) -> RunTold | None:
    """'Task run failed, ...', 'Task run timeout, ...', and 'task exception! ...' of 2020."""
    found = _RUN.search(message)
    if found is None:
        return None
    sqe, error = _SQE.search(message), _ERR_TYPE.search(message)
    kind = error[1] if error else "task timeout" if "run timeout" in found[0] else "task exception"
    return RunTold(fields_of(message[found.end() :]), sqe[1] if sqe else "", kind)


def ret_told(message: str) -> tuple[int, str] | None:
    """'Kernel task happen error, retCode=0x31, [vector core exception].' -> 0x31 and its text."""
    found = _RET.search(message)
    return (int(found[1], 16), found[2] or "") if found else None


def fault_told(message: str) -> FaultTold | None:
    """'Aicore kernel execute failed, device_id=0, stream_id=2, ..., fault kernel_name=...' and its like."""
    found = _FAULT.search(message)
    if found is None:
        return None
    rest = message[found.start() :] if found["fusion"] else message[found.end() :]
    names = {name: pattern.search(rest) for name, pattern in _NAMES.items()}
    texts = {name: bounded(match[1]) if match else "" for name, match in names.items()}
    unit = (found["unit"] or "").lower().replace("ai core", "aicore").replace("ai cpu", "aicpu")
    return FaultTold(
        "ai cpu" if unit.startswith("aicpu") else "ai core" if unit.startswith("aicore") else "fftsplus",
        fields_of(rest),
        texts["kernel"],
        "" if texts["extension"] == "none" else texts["extension"],
        texts["function"],
        texts["op"],
    )


def node_told(message: str) -> tuple[str, str] | None:
    """'node_name:GatherV2, node_type:GatherV2, stream_id:2, task_id:6' -> (name, type)."""
    found = _NODE.search(message)
    if found is not None:
        return bounded(found[1]), bounded(found[2])
    failed = _OP_FAILED.search(message)
    return (bounded(failed[1]), "") if failed else None


def function_told(message: str) -> str:
    """'dev_func:te_gatherv2_..._1__kernel0' -> the function's name; "" for any other text."""
    found = _DEV_FUNC.search(message)
    return bounded(found[1]) if found else ""


def registered_told(message: str) -> tuple[int, int, int] | None:
    """'add error register: core_id=24, stream_id=47, task_id=0' -> (core, stream, task)."""
    found = _REGISTERED.search(message)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


# ---- arguments, dumps, source lines ----

_ARGS = re.compile(r"\bargs ?\((\d{1,7}) to (\d{1,7})\) after execute: ?(.*)", re.DOTALL)
_TILING = re.compile(r"\btilingKey ?= ?(\d{1,20})")
_TOTAL = re.compile(r"\btotalLen=\((\d{1,9})\*8\)")
_BEGIN = re.compile(r"begin to load ([a-z][a-z ]{0,40}[a-z]), index: ?(\d{1,7})")
_BUFFER = re.compile(r"dump args data, addr: ?(0x[0-9a-fA-F]{1,16}|0); ?size: ?(\d{1,20}) bytes")
_FILE = re.compile(
    r"dump (?:exception|kernel|host kernel|kernel json)(?: \w{1,20}){0,2} to file, file: ?(.{1,4096})"
)
_DUMP = re.compile(r"\bdeviceId=(\d{1,6}), streamId=(\d{1,10}), taskId=(\d{1,10})")
_DUMP_KERNEL = re.compile(r"\bkernelName=([^,]*)")
_OF_CORE = re.compile(r"Error (PC|symbol|register) information\. coreId=(\d{1,6}),")
_PC = re.compile(r"\bfixedPCOffset=(0x[0-9a-fA-F]{1,16}|0)")
_SYMBOL = re.compile(r"\bsymbol=(.*)", re.DOTALL)
_ERR_REGISTER = re.compile(r"\b([A-Z]{2,8}_[A-Z]{3,6}_\d{1,2})=(0x[0-9a-fA-F]{1,16}|0)")
_GROUP = re.compile(r"\bGroup\[(\d{1,6})\] ")
_GROUP_FIELD = re.compile(
    r"\b(oFile|fixedPCOffset|symbol|source|outerSrc|innerSrc)=(.*?)"
    r"(?=(?: (?:oFile|fixedPCOffset|symbol|source|outerSrc|innerSrc|cores)=)|$)"
)
_GROUP_CORE = re.compile(r"\{id=(\d{1,6}),")


def args_told(message: str) -> tuple[int, list[int]] | None:
    """'args(0 to 20) after execute:0x12c0c0013000, 0, ...' -> (0, [0x12c0c0013000, 0, ...])."""
    found = _ARGS.search(message)
    if found is None:
        return None
    values = re.findall(rf"\b(?:{_NUMBER})\b", found[3])
    return int(found[1]), [_number(value) or 0 for value in values]


def tiling_told(message: str) -> tuple[int, int | None, dict[str, int]] | None:
    """'tilingKey = 0, print 1 Times totalLen=(12*8), argsSize=96, blockDim=8' -> key, words, fields."""
    found = _TILING.search(message)
    if found is None:
        return None
    total = _TOTAL.search(message)
    return int(found[1]), int(total[1]) if total else None, fields_of(message)


def begin_told(message: str) -> tuple[str, int] | None:
    """'begin to load normal tensor, index:0' -> ("normal tensor", 0)."""
    found = _BEGIN.search(message)
    if found is None:
        return None
    return found[1] + ("r" if found[1].endswith("tenso") else ""), int(found[2])  # misspelt in 2024


def buffer_told(message: str) -> tuple[int, int] | None:
    """'exception info dump args data, addr:0x12c0c0013000; size:32768 bytes' -> (address, bytes)."""
    found = _BUFFER.search(message)
    return (_number(found[1]) or 0, int(found[2])) if found else None


def file_told(message: str) -> str:
    """'dump exception to file, file: <path>' -> the path; "" for any other text."""
    found = _FILE.search(message)
    return bounded(found[1]) if found else ""


def dump_told(message: str) -> tuple[int, int, int, str] | None:
    """'Begin to dump exception. ..., deviceId=0, streamId=2, taskId=1, ..., kernelName=...' -> those four."""
    found = _DUMP.search(message) if "Begin to dump exception" in message else None
    if found is None:
        return None
    kernel = _DUMP_KERNEL.search(message)
    name = bounded(kernel[1]).removesuffix(".") if kernel else ""
    return int(found[1]), int(found[2]), int(found[3]), name


@dataclass(slots=True)
class CoreFound:
    """What CANN worked out itself about one core."""

    core_id: int
    pc_offset: int | None = None
    symbol: str = ""
    registers: dict[str, int] = field(default_factory=dict)


def core_found(message: str) -> CoreFound | None:
    """'Error PC information. coreId=16, ..., fixedPCOffset=0x678.', and the same of symbol and registers."""
    head = _OF_CORE.search(message)
    if head is None:
        return None
    found = CoreFound(int(head[2]))
    if head[1] == "PC":
        offset = _PC.search(message, head.end())
        found.pc_offset = _number(offset[1]) if offset else None
    elif head[1] == "symbol":
        symbol = _SYMBOL.search(message, head.end())
        found.symbol = bounded(symbol[1]).removesuffix(".") if symbol else ""
    else:
        values = _ERR_REGISTER.findall(message, head.end())
        found.registers = {name: _number(value) or 0 for name, value in values}
    return found


def group_told(message: str) -> tuple[int, dict[str, str], list[int]] | None:
    """'Group[0] oFile=... fixedPCOffset=0x678 symbol=... source=...' -> (index, fields, core ids)."""
    found = _GROUP.search(message)
    if found is None:
        return None
    rest = message[found.end() :]
    texts = {name: bounded(value) for name, value in _GROUP_FIELD.findall(rest)}
    return int(found[1]), texts, [int(core) for core in _GROUP_CORE.findall(rest)]
