"""How MindSpore's data pipeline ran: minddata_pipeline_summary, as CSV or JSON, and dataset.csv."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...files import open_input, shown_path
from ...findings import Problem
from ...text import safe_text
from ..encodings import SHOWN, line_text, utf16_decoder, without_mark
from ..text_lines import LineNotes
from .records import Read
from .table_records import Rows, Spelled, integers, read_rows, records_of, texts, times

MAX_FILE_BYTES = 16 << 20
MAX_OPERATORS = 10_000
MAX_CHILDREN = 1000
_MAX_CHARS = 4096

_HINT = "name a minddata_pipeline_summary_*.csv or .json"
_ID = re.compile(r"-?\d{1,9}(?:\.0*)?", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{0,18})?(?:e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_OPERATORS = ("op_ids", "op_names", "pipeline_ops")
_OF_OPERATORS = (
    *_OPERATORS,
    *("num_workers", "queue_average_size", "queue_utilization_pct", "queue_empty_freq_pct"),
    *("children_ids", "parent_id", "avg_cpu_pct", "avg_cpu_pct_per_worker"),
)
"""Keys with one value an operator."""
_KEYS = frozenset(
    (
        *_OF_OPERATORS,
        *("per_pipeline_time", "per_push_queue_time", "per_batch_time"),
        *("cpu_analysis_details", "queue_analysis_details", "bottleneck_warning", "bottleneck_suggestion"),
    )
)
_DATASET: dict[str, Spelled] = {
    "operation": texts("Operation"),
    "stage": texts("Stage"),
    "count": integers("Occurrences"),
    "average": times("Avg. time", "Avg time"),
    "custom": texts("Custom Info"),
}


@dataclass(frozen=True, slots=True)
class PipelineOperator:
    """One operator of the pipeline. What the tool does not know (-1) is None.

    label: name with its id. queue: of its output. parent: the operator that takes from it.
    """

    op_id: int | None
    name: str
    label: str
    n_workers: int | None
    queue_average_size: float | None
    queue_utilization_percent: float | None
    queue_empty_percent: float | None
    children: tuple[int, ...]
    parent: int | None
    cpu_percent: float | None
    cpu_percent_per_worker: float | None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline and the times of a batch in it, milliseconds.

    cpu_notes, queue_notes, warnings, suggestions: sentences of the tool. others: keys that nobody declared.
    """

    operators: tuple[PipelineOperator, ...]
    per_pipeline_ms: float | None = None
    per_push_queue_ms: float | None = None
    per_batch_ms: float | None = None
    cpu_notes: tuple[str, ...] = ()
    queue_notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    encoding: str = ""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class DatasetOperation:
    """One row of dataset.csv: calls of one operation of the data pipeline."""

    operation: str
    stage: str
    count: int | None
    average_ns: int | None
    custom: str
    line: int


def read_dataset(path: Path, *, root: Path | None = None) -> Read[DatasetOperation]:
    """The rows of dataset.csv. Problems: as `read_table`. Raises InputError."""
    needed = ("operation", "stage", "count")
    rows = read_rows(path, _DATASET, root=root, needed=needed, hint="name a dataset.csv of MindSpore")

    def make(rows: Rows) -> DatasetOperation | None:
        if not (operation := rows.text("operation")):
            return None
        return DatasetOperation(
            operation=operation,
            stage=rows.text("stage"),
            count=rows.integer("count"),
            average_ns=rows.duration("average"),
            custom=rows.text("custom"),
            line=rows.line,
        )

    return records_of(rows, make)


def read_pipeline(path: Path, *, root: Path | None = None) -> Pipeline:
    """A minddata_pipeline_summary: lines (or members) of a key and one value an operator.

    Problems: keys with another number of values than there are operators, values that are no numbers (both
    are None), a last line without an end, lines in no known encoding. Raises InputError: no such file, larger
    than 16 MB, no JSON, no operators in it.
    """
    notes = LineNotes(shown_path(path, root))
    text, encoding = _text_of(_content(path, root), notes)
    members = _of_json(path, text) if text.lstrip()[:1] == "{" else _of_lines(text, notes)
    n = max((len(members.get(key, ())) for key in _OPERATORS), default=0)
    if not n:
        raise InputError("this is no summary of a data pipeline: no operators in it", path=path, hint=_HINT)
    if n > MAX_OPERATORS:
        notes.add("limit", f"only the first {MAX_OPERATORS:,} operators were read", None, is_last=True)
        n = MAX_OPERATORS
    take = _Taker(members, n, notes)
    operators = tuple(_operator(take, i) for i in range(n))
    return Pipeline(
        operators=operators,
        per_pipeline_ms=take.number("per_pipeline_time", 0),
        per_push_queue_ms=take.number("per_push_queue_time", 0),
        per_batch_ms=take.number("per_batch_time", 0),
        cpu_notes=take.sentences("cpu_analysis_details"),
        queue_notes=take.sentences("queue_analysis_details"),
        warnings=take.sentences("bottleneck_warning"),
        suggestions=take.sentences("bottleneck_suggestion"),
        others={safe_text(key, 120): take.sentences(key) for key in members if key not in _KEYS},
        encoding=SHOWN.get(encoding, encoding),
        problems=(*notes.close(), *take.problems()),
    )


def _content(path: Path, root: Path | None) -> bytes:
    file, _ = open_input(path, root)
    parts: list[bytes] = []
    with file:
        try:
            while sum(map(len, parts)) <= MAX_FILE_BYTES and (part := file.read(MAX_FILE_BYTES + 1)):
                parts.append(part)
        except OSError as error:
            raise InputError(f"reading failed: {error.strerror}", path=path) from error
    raw = b"".join(parts)
    if len(raw) > MAX_FILE_BYTES:
        raise InputError(f"the file is larger than {MAX_FILE_BYTES:,} bytes", path=path, hint=_HINT)
    return raw


def _text_of(raw: bytes, notes: LineNotes) -> tuple[str, str]:
    """The text and its encoding."""
    raw, encoding = without_mark(raw)
    if (decoder := utf16_decoder(encoding)) is not None:
        return decoder.decode(raw, True), encoding
    text, found = line_text(raw, is_among_gbk=False)
    if not found:
        notes.add("encoding", "the text is neither UTF-8 nor GBK; bytes of it are shown as '?'", None)
    return text, found if found == "gb18030" else encoding


def _of_json(path: Path, text: str) -> dict[str, list[Any]]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"this is no JSON: {error.msg}", path=path, line=error.lineno, hint=_HINT) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; thousands of brackets
        raise InputError("this JSON is too deep or its numbers too long", path=path, hint=_HINT) from error
    if not isinstance(document, dict):
        raise InputError("this is no summary of a data pipeline", path=path, hint=_HINT)
    return {key: value if isinstance(value, list) else [value] for key, value in document.items()}


def _of_lines(text: str, notes: LineNotes) -> dict[str, list[Any]]:
    lines = text.split("\n")
    if lines[-1]:
        message = "the last line has no end: it may be cut and was left out"
        notes.add("cut-off", message, len(lines), is_last=True)
    lines.pop()
    members: dict[str, list[Any]] = {}
    rows = csv.reader(f"{line}\n" for line in lines)
    while True:
        try:
            cells = next(rows, None)
        except csv.Error as error:
            notes.add(
                "bad-record", f"the line is no row of a table ({error}); it was left out", rows.line_num
            )
            continue
        if cells is None:
            return members
        if cells and cells[0].strip():
            values: list[Any] = [cell.strip() for cell in cells[1:]]
            while values and not values[-1]:
                values.pop()
            members.setdefault(cells[0].strip(), values)


class _Taker:
    """Values by key and operator; notes keys of another length and values of another kind."""

    def __init__(self, members: Mapping[str, Sequence[Any]], n: int, notes: LineNotes) -> None:
        self._members = members
        self._artifact = notes.artifact
        self._unread: dict[str, int] = {}
        for key in _OF_OPERATORS:
            n_values = len(members.get(key, ()))
            if n_values not in (0, n) and n < MAX_OPERATORS:
                notes.add("bad-record", f"{key} has {n_values:,} values for {n:,} operators", None)

    def problems(self) -> tuple[Problem, ...]:
        """What was no number."""
        return tuple(
            Problem(self._artifact, "bad-record", f"{key}: {n:,} values are no numbers and count as absent")
            for key, n in self._unread.items()
        )

    def text(self, key: str, i: int) -> str:
        return _plain(self._value(key, i))

    def number(self, key: str, i: int) -> float | None:
        """A number, None where the tool has -1 for "not known"."""
        value = self._value(key, i)
        if value is None or value == "":
            return None
        text = _plain(value).strip()
        found = float(text) if _NUMBER.fullmatch(text) else math.nan
        if not math.isfinite(found):
            self._unread[key] = self._unread.get(key, 0) + 1
            return None
        return None if found == -1 else found

    def integer(self, key: str, i: int) -> int | None:
        found = self.number(key, i)
        return None if found is None else int(found)

    def integers(self, key: str, i: int) -> tuple[int, ...]:
        """A list of ids, as a list or as the text of one."""
        value = self._value(key, i)
        parts = value if isinstance(value, list) else _plain(value).strip("[]() ").split(",")
        ids = [_plain(part).strip() for part in parts[:MAX_CHILDREN]]
        return tuple(int(float(part)) for part in ids if _ID.fullmatch(part))

    def sentences(self, key: str) -> tuple[str, ...]:
        values = self._members.get(key, ())[:MAX_OPERATORS]
        return tuple(text for value in values if (text := _plain(value)))

    def _value(self, key: str, i: int) -> Any:
        values = self._members.get(key, ())
        return values[i] if i < len(values) else None


def _plain(value: Any) -> str:
    """A value as a text, "" for none; of a list its own values, not those of lists in it."""
    if isinstance(value, list):
        return ", ".join(_plain(part) for part in value[:MAX_CHILDREN] if not isinstance(part, list))
    return str(value)[:_MAX_CHARS] if isinstance(value, str | int | float) else ""


def _operator(take: _Taker, i: int) -> PipelineOperator:
    return PipelineOperator(
        op_id=take.integer("op_ids", i),
        name=take.text("op_names", i),
        label=take.text("pipeline_ops", i),
        n_workers=take.integer("num_workers", i),
        queue_average_size=take.number("queue_average_size", i),
        queue_utilization_percent=take.number("queue_utilization_pct", i),
        queue_empty_percent=take.number("queue_empty_freq_pct", i),
        children=take.integers("children_ids", i),
        parent=take.integer("parent_id", i),
        cpu_percent=take.number("avg_cpu_pct", i),
        cpu_percent_per_worker=take.number("avg_cpu_pct_per_worker", i),
    )
