"""Overflow records (Opdebug files): which unit overflowed in which task, from the binary and both JSON forms.

The device writes a buffer of 2,048 bytes in one of two layouts, all numbers little-endian:

    legacy   three units at fixed places: DHA Atomic Add, L2 Atomic Add, AI Core
    magic    0x5A5A5A5A, version, valid, unit, reserved, length; then the fields of that one unit
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from npulse.core.dataclass import dataclass

from ...files import shown_path
from ...findings import Problem
from ...text import safe_text
from ..json_window import Notes
from ..tensors.error import TensorError
from ..tensors.open import open_tensor
from ..tensors.source import Source, open_source
from .container import raw_bytes, read_container
from .names import UNKNOWN_ID, parse_dump_name

Unit = Literal["AI Core", "AIC", "AIV", "AICPU", "SDMA", "DHA Atomic Add", "L2 Atomic Add"]

RECORD_BYTES = 2048
MAX_JSON_BYTES = 1 << 20

_BOM = b"\xef\xbb\xbf"
_MAGIC = 0x5A5A5A5A
_ACC_TYPES: tuple[Unit, ...] = ("AIC", "AIV", "AICPU", "SDMA")

# Legacy layout: where the six numbers of a unit begin, and where its status is. The AI Core has its kernel
# code and its block in front of the status.
_LEGACY: tuple[tuple[Unit, int, int], ...] = (
    ("DHA Atomic Add", 0, 512),
    ("L2 Atomic Add", 128, 768),
    ("AI Core", 256, 1040),
)
_LEGACY_BLOCK_AT = 1032
_LEGACY_FIELDS = ("model_id", "stream_id", "task_id", "task_type", "pc_start", "para_base")

# Magic layout: 8 bytes each behind a head of 24; the status comes last.
_MAGIC_HEAD_BYTES = 24
_TASK = ("model_id", "stream_id", "task_id", "task_type", "context_id")
_CORE = (*_TASK, "thread_id", "pc_start", "para_base", "core_id", "block_id")
_MAGIC_FIELDS: Mapping[Unit, tuple[str, ...]] = {
    "AIC": _CORE,
    "AIV": _CORE,
    "AICPU": (*_TASK, "core_id", "thread_id"),
    "SDMA": (*_TASK, "thread_id", "src_addr", "dst_addr", "channel_id"),
}
_N_STATUS_WORDS = {0: 1, 1: 4}  # of a core, by version; other units have one

_STATUS_BITS = {
    0x008: "int-negate",
    0x010: "int-arithmetic",
    0x020: "float",
    0x080: "float-to-unsigned",
    0x100: "to-fp16",
    0x400: "cube",
}
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20}", re.ASCII)


@dataclass(frozen=True, slots=True)
class OverflowEntry:
    """What one unit says. None: not in the record, or marked as "no value" (65535).

    task_id and stream_id are those of the operator. pc_start, para_base: device addresses. core_id: of an
    AI CPU its number. status: one word, four of newer AI cores; () where it could not be read.
    """

    unit: Unit
    model_id: int | None
    stream_id: int | None
    task_id: int | None
    task_type: int | None
    context_id: int | None
    thread_id: int | None
    core_id: int | None
    block_id: int | None
    pc_start: int | None
    para_base: int | None
    status: tuple[int, ...]

    @property
    def is_set(self) -> bool:
        """True if the unit reports an overflow."""
        return any(self.status)


@dataclass(frozen=True, slots=True)
class OverflowRecord:
    """One Opdebug file. timestamp: microseconds since the epoch, from the file name; None if it has none.

    entries: of every unit in the record, in its order, also of those that report nothing.
    """

    path: Path
    form: Literal["legacy", "magic"]
    timestamp: int | None
    entries: tuple[OverflowEntry, ...]
    problems: tuple[Problem, ...] = ()


def status_bits(status: int) -> tuple[str, ...]:
    """What a status word of an AI core says, lowest bit first; bits without a name as "0x1".

    int-negate: the smallest integer was negated; int-arithmetic: an integer sum, difference or product;
    float: a floating-point result; float-to-unsigned: of a negative number; to-fp16: a conversion to
    float16; cube: an accumulation in the matrix unit.
    """
    bits = (1 << i for i in range(status.bit_length()) if status >> i & 1)
    return tuple(_STATUS_BITS.get(bit, hex(bit)) for bit in bits)


def read_opdebug(path: Path, *, root: Path) -> OverflowRecord:
    """The overflow record in `path`: a dump as the device wrote it, or what a converter made of it.

    That is JSON of either layout, or the 2,048 bytes as .npy. Problems (with the byte): cut-off, bad-record
    (fields or a size that are not as they should be; what can be read is kept).
    Raises TensorError where nothing can be told: cut-off, unreadable, too-large, missing, outside-run.
    """
    problems: list[Problem] = []
    notes = Notes(shown_path(path, root), problems)
    with open_source(path, root) as source:
        head = source.read(0, min(source.size, 8), "the record")
        # a binary dump begins with a length of 8 bytes, whose last ones are zero; JSON has no such byte
        if b"\0" not in head and head.removeprefix(_BOM).lstrip()[:1] == b"{":
            form, entries = _of_json(source, notes)
        else:
            payload, first_byte = _payload(path, root, problems, notes, is_array=head[:6] == b"\x93NUMPY")
            form, entries = _of_payload(path, payload, first_byte, notes)
    notes.close()
    name = parse_dump_name(path.name)
    return OverflowRecord(path, form, None if name is None else name.timestamp, entries, tuple(problems))


_Result = tuple[Literal["legacy", "magic"], tuple[OverflowEntry, ...]]


def _entry(unit: Unit, found: Mapping[str, int | None], status: tuple[int, ...]) -> OverflowEntry:
    def known(name: str) -> int | None:
        number = found.get(name)
        return None if number == UNKNOWN_ID else number

    return OverflowEntry(
        unit=unit,
        model_id=known("model_id"),
        stream_id=known("stream_id"),
        task_id=known("task_id"),
        task_type=known("task_type"),
        context_id=known("context_id"),
        thread_id=known("thread_id"),
        core_id=known("core_id"),
        block_id=known("block_id"),
        pc_start=found.get("pc_start"),
        para_base=found.get("para_base"),
        status=status,
    )


# ---- binary ----


def _payload(
    path: Path, root: Path, problems: list[Problem], notes: Notes, *, is_array: bool
) -> tuple[bytes, int]:
    """The record's bytes, as many as there are, and where they begin in the file."""
    if is_array:
        file = open_tensor(path, root=root)
        n_bytes, first_byte = file.size_bytes, file.offset
        if n_bytes > RECORD_BYTES:
            message = f"an array of {n_bytes:,} bytes, an overflow record has {RECORD_BYTES:,}"
            raise TensorError("unreadable", message, path=path, byte=first_byte)
        payload = file.array().tobytes()
    else:
        dump = read_container(path, root=root)
        problems.extend(dump.problems)
        outputs = dump.side("output")
        if not outputs:
            message = "a dump without outputs, an overflow record is the first one"
            raise TensorError("unreadable", message, path=path, byte=0)
        n_bytes, first_byte = outputs[0].size_bytes, outputs[0].offset
        payload = raw_bytes(dump, outputs[0], RECORD_BYTES)
    if n_bytes != RECORD_BYTES and payload:
        notes.add("bad-record", f"the record has {n_bytes:,} bytes instead of {RECORD_BYTES:,}", first_byte)
    return payload, first_byte


def _of_payload(path: Path, payload: bytes, first_byte: int, notes: Notes) -> _Result:
    if int.from_bytes(payload[:4], "little") == _MAGIC and len(payload) >= _MAGIC_HEAD_BYTES:
        return "magic", (_of_magic(path, payload, first_byte, notes),)
    entries = []
    for unit, info_at, status_at in _LEGACY:
        words = _words(payload, info_at, len(_LEGACY_FIELDS))
        status = _words(payload, status_at, 1)
        found: dict[str, int | None] = dict(zip(_LEGACY_FIELDS, words, strict=False))
        if unit == "AI Core" and status:
            found["block_id"] = _words(payload, _LEGACY_BLOCK_AT, 1)[0]
        entries.append(_entry(unit, found, status))
    if not any(entry.status for entry in entries):
        message = f"the record ends after {len(payload):,} bytes, before the first status"
        raise TensorError("cut-off", message, path=path, byte=first_byte + len(payload))
    return "legacy", tuple(entries)


def _of_magic(path: Path, payload: bytes, first_byte: int, notes: Notes) -> OverflowEntry:
    _, version, valid, acc_type, _, data_bytes = (
        int.from_bytes(payload[i : i + 4], "little") for i in range(0, _MAGIC_HEAD_BYTES, 4)
    )
    if acc_type >= len(_ACC_TYPES):
        message = f"the record names unit {acc_type}, which is none that is known"
        raise TensorError("unreadable", message, path=path, byte=first_byte + 12)
    if valid != 1:
        notes.add("bad-record", f"the record says of itself that it is not valid ({valid})", first_byte + 8)
    unit = _ACC_TYPES[acc_type]
    names = _MAGIC_FIELDS[unit]
    n_status = 1
    if unit in ("AIC", "AIV"):
        n_status = _N_STATUS_WORDS.get(version) or min(max(data_bytes // 8 - len(names), 1), 4)
    wanted_bytes = 8 * (len(names) + n_status)
    if data_bytes != wanted_bytes:
        message = f"fields of {data_bytes:,} bytes, {unit} of version {version} has {wanted_bytes:,}"
        notes.add("bad-record", message, first_byte + 20)
    words = _words(payload, _MAGIC_HEAD_BYTES, len(names) + n_status)
    if not words:
        message = f"the record ends after {len(payload):,} bytes, before its first field"
        raise TensorError("cut-off", message, path=path, byte=first_byte + len(payload))
    if len(words) < len(names) + n_status:
        message = f"the record ends after {len(payload):,} bytes, before all of its fields"
        notes.add("cut-off", message, first_byte + len(payload))
    return _entry(unit, dict(zip(names, words, strict=False)), words[len(names) :])


def _words(payload: bytes, at: int, n: int) -> tuple[int, ...]:
    """The whole ones of `n` numbers of 8 bytes from `at` on."""
    ends = range(at + 8, min(at + 8 * n, len(payload)) + 1, 8)
    return tuple(int.from_bytes(payload[end - 8 : end], "little") for end in ends)


# ---- JSON ----


def _of_json(source: Source, notes: Notes) -> _Result:
    if source.size > MAX_JSON_BYTES:
        raise source.error("too-large", f"the file has {source.size:,} bytes, at most 1 MB are read")
    raw = source.read(0, source.size, "the record")
    text = raw.removeprefix(_BOM).decode("utf-8", "surrogateescape")
    try:
        body = json.loads(text)
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
        at = len(raw) - len(text[error.pos :].encode("utf-8", "surrogateescape"))
        kind: Literal["cut-off", "unreadable"] = "cut-off" if is_cut else "unreadable"
        raise source.error(kind, f"no whole JSON: {error.msg}", byte=at) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; nested too deeply
        raise source.error("unreadable", "no JSON of an overflow record", byte=0) from error
    if not isinstance(body, dict):
        raise source.error("unreadable", "not an overflow record: no JSON object", byte=0)
    if "acc_list" in body:
        return "magic", (_json_magic(source, body["acc_list"], notes),)
    units = [(unit, body[unit]) for unit, _, _ in _LEGACY if unit in body]
    entries = tuple(_json_entry(unit, found, notes) for unit, found in units if isinstance(found, dict))
    if not entries:
        raise source.error("unreadable", "not an overflow record: it names no unit", byte=0)
    if len(entries) < len(units):
        notes.add("bad-record", "a unit in the record is not an object", None)
    return "legacy", entries


def _json_magic(source: Source, acc: Any, notes: Notes) -> OverflowEntry:
    found = acc.get("data") if isinstance(acc, dict) else None
    if not isinstance(found, dict):
        raise source.error("unreadable", "not an overflow record: acc_list holds no data", byte=0)
    acc_type = acc.get("acc_type")
    unit = next(
        (unit for i, unit in enumerate(_ACC_TYPES) if acc_type == unit or _number(acc_type) == i), None
    )
    if unit is None:
        message = f"the record names unit {_shown(acc_type)}, which is none that is known"
        raise source.error("unreadable", message, byte=0)
    if _number(acc.get("valid", 1)) != 1:
        notes.add("bad-record", "the record says of itself that it is not valid", None)
    return _json_entry(unit, found, notes)


_JSON_NAMES = {"block_idx": "block_id", "cpu_id": "core_id"}


def _json_entry(unit: Unit, found: dict[str, Any], notes: Notes) -> OverflowEntry:
    wanted = (*_CORE, *_JSON_NAMES)
    numbers: dict[str, int | None] = {}
    for name in wanted:
        if name in found:
            number = numbers[_JSON_NAMES.get(name, name)] = _number(found[name])
            if number is None:
                notes.add("bad-record", f"{unit}: {name} is {_shown(found[name])}, not a number", None)
    raw = found.get("status")
    words = [_number(word) for word in (raw if isinstance(raw, list) else [raw])]
    status = tuple(word for word in words if word is not None)
    if len(status) < len(words) or not words:
        notes.add("bad-record", f"{unit}: status is {_shown(raw)}, not a number or a list of them", None)
    return _entry(unit, numbers, status)


def _number(value: Any) -> int | None:
    """An unsigned number of 64 bits, written as a number, as hexadecimal or as decimal text."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = int(value, 16 if value[:2] in ("0x", "0X") else 10)
    return value if type(value) is int and 0 <= value < 1 << 64 else None


def _shown(value: Any) -> str:
    if isinstance(value, (list, dict)):  # of any depth and length
        return "a list" if isinstance(value, list) else "an object"
    return safe_text(repr(value), 60)
