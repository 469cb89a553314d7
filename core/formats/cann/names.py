"""File names of CANN dumps taken apart: operator, task, stream, time - and what a converter put behind them.

The writer replaces blank, '.', '/' and '\\' in operator types and names by '_', so a dot is always a border.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Literal

from npulse.core.dataclass import dataclass

from ...files import shown_path
from ...findings import Problem
from ..tensors.error import TensorError
from ..tensors.source import open_source

Form = Literal["dump", "exception"]

UNKNOWN_ID = 65535
"""What the device writes for a task, stream, context, thread or core that it cannot name."""
MAPPING_NAME = "mapping.csv"
MAX_MAPPING_BYTES = 64 << 20

_MAX_NAME_CHARS = 4096
_MAX_DIGITS = 20
_MIN_TIME_DIGITS = 10
_LOCAL_TIME_DIGITS = 17
_FFTSPLUS, _FFTSPLUS_TASK_TYPE = "FFTSPLUS", 4

# Greedy in front: an operator may be called "input"; the converter's own word is the last one.
_CONVERTED = re.compile(
    r"(?P<stem>.+)\.(?P<io>input|output|space|l1buffer)\.(?P<index>\d{1,9})"
    r"(?P<layout>(?:\.[\w-]+){0,4})\.(?P<suffix>npy|bin|pt|json)",
    re.ASCII | re.DOTALL,
)
_GOLDEN = re.compile(r"(?P<op>[\w.-]{1,4000})\.(?P<output>\d{1,9})\.(?P<time>\d{1,20})\.npy", re.ASCII)
_HASH = re.compile(r"\d{1,32}", re.ASCII)


@dataclass(frozen=True, slots=True)
class DumpName:
    """What a file name says. None: the name does not say it; 65535 is kept, see `is_known`.

    op_type, op_name: "" where the name has none. timestamp: microseconds since the epoch (16 digits); of an
    exception mostly the local time YYYYMMDDHHMMSSmmm (17 digits). task_type, context_id, thread_id,
    device_id: of FFTS+ tasks. dump_number: of captured graphs. core_type, core_id: of exceptions.
    io ("input", "output", "space", "l1buffer"), index, layout (format, shape or both, dotted): of converted
    files. suffix: "npy", "bin", "pt", "json", "csv", "core" or "".
    """

    full: str
    form: Form
    op_type: str
    op_name: str
    task_id: int | None = None
    stream_id: int | None = None
    timestamp: int | None = None
    task_type: int | None = None
    context_id: int | None = None
    thread_id: int | None = None
    device_id: int | None = None
    dump_number: int | None = None
    core_type: str = ""
    core_id: int | None = None
    io: str | None = None
    index: int | None = None
    layout: str = ""
    suffix: str = ""

    @property
    def is_overflow_record(self) -> bool:
        """True for Opdebug files; their task id is not the one of the operator that overflowed."""
        return self.op_type == "Opdebug"


def is_known(number: int | None) -> bool:
    """True if a task, stream, context, thread or core id names something."""
    return number is not None and number != UNKNOWN_ID


def parse_dump_name(name: str) -> DumpName | None:
    """The parts of a dump file's name, None for any other name; never raises.

    A name of digits alone is the hash of a longer one: look it up first (`read_mapping`, `full_name`).
    """
    if len(name) > _MAX_NAME_CHARS:
        return None
    converted = _CONVERTED.fullmatch(name)
    if converted:
        found = _of_parts(name, converted["stem"].split("."))
        return found and replace(
            found,
            io=converted["io"],
            index=int(converted["index"]),
            layout=converted["layout"][1:],
            suffix=converted["suffix"],
        )
    parts = name.split(".")
    if parts[-1] == "core":
        return _core(name, parts[:-1])
    if parts[-1] == "csv":
        found = _of_parts(name, parts[:-1])
        return found and replace(found, suffix="csv")
    return _of_parts(name, parts)


def parse_golden_name(name: str) -> tuple[str, int, int] | None:
    """Operator, output and time of a golden tensor, "{op}.{output}.{time}.npy"; None for any other name."""
    found = _GOLDEN.fullmatch(name)
    return (found["op"], int(found["output"]), int(found["time"])) if found else None


def read_mapping(folder: Path, root: Path, problems: list[Problem] | None = None) -> dict[str, str]:
    """Short name to the name it stands for, from mapping.csv in `folder`; {} where there is none.

    Lines that are none are counted in `problems` (with the first one's number). Raises TensorError:
    outside-run, unreadable, too-large (MAX_MAPPING_BYTES).
    """
    path = folder / MAPPING_NAME
    try:
        source = open_source(path, root)
    except TensorError as error:
        if error.kind == "missing":
            return {}
        raise
    with source:
        if source.size > MAX_MAPPING_BYTES:
            raise source.error("too-large", f"the file has {source.size:,} bytes, at most 64 MB are read")
        text = source.read(0, source.size, "the table of names").decode("utf-8", "replace")
    mapping: dict[str, str] = {}
    bad: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        short, comma, original = line.strip().partition(",")
        if comma and short and original and "/" not in short + original:
            mapping[short] = original
        elif line.strip():
            bad.append(number)
    if bad and problems is not None:
        message = f"{len(bad):,} lines are not 'hash,name', the first is line {bad[0]}"
        problems.append(Problem(shown_path(path, root), "bad-record", message, line=bad[0]))
    return mapping


def full_name(name: str, mapping: dict[str, str]) -> str:
    """`name`, or the longer one that it stands for; what a converter put behind the hash is kept."""
    if name in mapping:
        return mapping[name]
    short, dot, tail = name.partition(".")
    return mapping[short] + dot + tail if short in mapping and _HASH.fullmatch(short) else name


def _of_parts(full: str, parts: list[str]) -> DumpName | None:
    """A name without suffix, of whichever form."""
    if len(parts) < 3:
        return None
    if parts[0] == "exception_info":
        return _brief(full, parts)
    if parts[-2] == "custom":
        return _custom(full, parts)
    return _callback(full, parts) or _call(full, parts)


def _call(full: str, parts: list[str]) -> DumpName | None:
    """{op_type}.{op_name}.[[{dump number}.]{task}[.{stream}]].{time}[.{FFTS+ tail}].

    The second part is the operator's name even where it is a number; more words than two are taken as a
    name with dots, which tools other than the writer leave in.
    """
    first = len(parts)
    while first > 2 and (parts[first - 1] == _FFTSPLUS or _number(parts[first - 1]) is not None):
        first -= 1
    op_type, op_name, rest = parts[0], ".".join(parts[1:first]), parts[first:]
    times = range(1, min(len(rest), 4))
    if not op_type or not op_name or not times:
        return None
    at = max(times, key=lambda i: len(rest[i]))  # ids have up to 10 digits, times 16 or 17
    numbers = [_number(part) for part in rest]
    if rest[at + 1 : at + 2] == [_FFTSPLUS]:  # a word where others have the number of the task type
        numbers[at + 1] = _FFTSPLUS_TASK_TYPE
    ids, tail = numbers[:at], numbers[at + 1 :]
    if None in numbers or len(rest[at]) < _MIN_TIME_DIGITS or len(tail) not in (0, 3, 4):
        return None
    task_type, context_id, thread_id, device_id = [*tail, None, None, None, None][:4]
    return DumpName(
        full,
        "exception" if len(rest[at]) == _LOCAL_TIME_DIGITS else "dump",
        op_type,
        op_name,
        task_id=ids[-2] if len(ids) > 1 else ids[0],
        stream_id=ids[-1] if len(ids) > 1 else None,
        timestamp=numbers[at],
        task_type=task_type,
        context_id=context_id,
        thread_id=thread_id,
        device_id=device_id,
        dump_number=ids[0] if len(ids) == 3 else None,
    )


def _brief(full: str, parts: list[str]) -> DumpName | None:
    """exception_info.{stream}.{task}.{time}: the stream comes first, unlike in all dumps."""
    numbers = [_number(part) for part in parts[1:4]]
    if len(parts) != 4 or None in numbers:
        return None
    stream, task, when = numbers
    return DumpName(full, "exception", "", "", task, stream, when)


def _custom(full: str, parts: list[str]) -> DumpName | None:
    """{file}.custom.{time}"""
    when = _number(parts[-1])
    return None if when is None else DumpName(full, "exception", "", ".".join(parts[:-2]), timestamp=when)


def _core(full: str, parts: list[str]) -> DumpName | None:
    """{kernel}.{stream}.{task}.{time}.core"""
    numbers = [_number(part) for part in parts[-3:]]
    if len(parts) < 4 or None in numbers:
        return None
    stream, task, when = numbers
    kernel = ".".join(parts[:-3])
    return DumpName(full, "exception", "", kernel, task, stream, when, suffix="core")


def _callback(full: str, parts: list[str]) -> DumpName | None:
    """{kernel}.{stream}.{task}.{core type}.{core}.{time}"""
    if len(parts) < 6 or not parts[-3][:1].isalpha() or parts[-3] == _FFTSPLUS:
        return None
    numbers = [_number(parts[i]) for i in (-5, -4, -2, -1)]
    if None in numbers:
        return None
    stream, task, core, when = numbers
    kernel = ".".join(parts[:-5])
    return DumpName(full, "exception", "", kernel, task, stream, when, core_type=parts[-3], core_id=core)


def _number(text: str) -> int | None:
    # isdigit alone accepts digits of other scripts; int() refuses thousands of them
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None
