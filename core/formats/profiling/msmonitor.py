"""What msMonitor writes of a process that runs: msmonitor_*.jsonl, one JSON object a line, read as it grows.

Times are nanoseconds since 1970. A host call and what it started share a correlation id. The last line on
disk is often cut; it waits for its rest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ...files import open_input, shown_path
from ...findings import Problem
from ...progress import IsCancelled, Progress, ProgressCallback, check, ignore_progress, never_cancelled
from ..json_window import Notes
from ..text_lines import LineNotes
from .json_facts import whole_of
from .msmonitor_columns import TaskColumns
from .msmonitor_log import FILE_NAME, MonitorLog
from .msmonitor_parts import MAX_MARKS, MonitorPart, log_of
from .settings import groups_of
from .timeline import NONE, Span
from .trace_tables import Labels

MAXFILE_NAME_BYTES = 4 << 30
MAX_LINES = 5_000_000
MAX_LINE_BYTES = 1 << 20
MAX_MARK_CHARS = 512
MAX_KINDS = 64
MAX_RANKS = 10_000
MAX_DEVICES = 4096
MAX_GROUP_RECORDS = 16
MAX_LABEL_BYTES = 1 << 26
BLOCK_BYTES = 1 << 19

_CUT_OFF = "the last line has no end; it is left out, and may still be written"
_CALLS = ("API", "AclAPI", "NodeAPI", "RuntimeAPI")
_KEYS = {
    "Kernel": {
        "device": "deviceId",
        "stream": "streamId",
        "connection": "correlationId",
        "kind": "type",
    },
    "Communication": {
        "device": "deviceId",
        "stream": "streamId",
        "connection": "correlationId",
        "kind": "commName",
        "amount": "count",
        "data_type": "dataType",
        "algorithm": "algType",
    },
    "calls": {"stream": "threadId", "connection": "correlationId", "kind": "kind"},
}


class MonitorReader:
    """Reads files as they grow: begin one, feed its bytes, look at the log in between.

    Half a line waits for its rest; where the bytes are cut makes no difference.
    """

    def __init__(self, *, max_lines: int = MAX_LINES) -> None:
        self.n_lines = 0
        self.is_full = False
        self._max_lines = max_lines
        self._labels = Labels(MAX_LABEL_BYTES)
        self._columns = {name: TaskColumns(self._labels, keys) for name, keys in _KEYS.items()}
        self._marks: list[Span] = []
        self._device_marks: list[Span] = []
        self._n_marks_left_out = 0
        self._rank: int | None = None
        self._pid: int | None = None
        self._rank_devices: dict[int, tuple[int, ...]] = {}
        self._groups: dict[str, tuple[int, ...]] = {}
        self._group_labels: dict[str, str] = {}
        self._n_group_records = 0
        self._others: dict[str, int] = {}
        self._n_dropped = 0
        self._is_cut = False
        self._files: list[str] = []
        self._notes: LineNotes | None = None
        self._problems: list[Problem] = []
        self._rest = b""
        self._line = 1
        self._is_skipping = False
        self._is_not_utf8 = False

    def begin(self, artifact: str) -> None:
        """A file begins; one before it ends. artifact: its path as problems name it."""
        self.end()
        self._files.append(artifact)
        self._notes = LineNotes(artifact)
        self._rest, self._line = b"", 1
        self._is_skipping = self._is_not_utf8 = False
        if match := FILE_NAME.fullmatch(Path(artifact).name):
            self._pid = int(match[1])
            self._rank = None if int(match[3]) < 0 else int(match[3])

    def feed(self, raw: bytes) -> int:
        """More bytes of the file. Returns how many lines were looked at in all."""
        for start in range(0, len(raw), BLOCK_BYTES):
            if self.is_full or self._notes is None:
                break
            whole, line_end, rest = (self._rest + raw[start : start + BLOCK_BYTES]).rpartition(b"\n")
            if line_end:
                self._take(whole)
            self._rest = rest
            if len(rest) > MAX_LINE_BYTES:
                self._skip_line()
        return self.n_lines

    def note(self, kind: str, message: str) -> None:
        """A problem of the whole file."""
        if self._notes is not None:
            self._notes.add(kind, message, None, is_last=True)

    def end(self, *, is_whole: bool = True) -> None:
        """The file has no more bytes. not is_whole: there are more, which are not read."""
        notes = self._notes
        if notes is None:
            return
        if is_whole and not self.is_full and (self._rest.strip() or self._is_skipping):
            record = None if self._is_skipping else _parsed(self._text_of(self._rest.strip(), notes))
            if isinstance(record, dict):
                self._take_records([record], [self._line], notes)
                self._count(1)
            else:
                self._n_dropped += 1
                self._is_cut = True
                notes.add("cut-off", _CUT_OFF, self._line, is_last=True)
        self._rest = b""
        self._problems += notes.close()
        self._notes = None

    def log(self) -> MonitorLog:
        """Everything so far. Costs a copy and a sort of it."""
        return log_of([self.part()])

    def part(self, *, is_ended: bool = False) -> MonitorPart:
        """The same, to be put together with that of other readers by `log_of`.

        is_ended: the file that is open is thought to get no more bytes (more may be fed all the same).
        """
        notes = self._notes
        cut_off: tuple[Problem, ...] = ()
        if is_ended and notes is not None and self.has_rest and self.last_line() is None and not self.is_full:
            cut_off = (Problem(notes.artifact, "cut-off", _CUT_OFF, line=self._line),)
        return MonitorPart(
            rows={name: columns.taken() for name, columns in self._columns.items()},
            texts=tuple(self._labels.texts),
            files=tuple(self._files),
            marks=tuple(self._marks),
            device_marks=tuple(self._device_marks),
            n_marks_left_out=self._n_marks_left_out,
            rank=self._rank,
            pid=self._pid,
            rank_devices=dict(self._rank_devices),
            groups=dict(self._groups),
            group_labels=dict(self._group_labels),
            others=dict(self._others),
            n_lines=self.n_lines,
            n_dropped=self._n_dropped
            + sum(columns.n_dropped for columns in self._columns.values())
            + len(cut_off),
            is_cut=self._is_cut or bool(cut_off),
            is_label_limit=self._labels.is_full,
            has_long_names=self._labels.has_long,
            problems=(*self._problems, *(notes.close() if notes is not None else ()), *cut_off),
        )

    @property
    def n_rows(self) -> int:
        """Records that are kept, but for marks."""
        return sum(columns.n_rows for columns in self._columns.values())

    def let_go(self, n: int) -> MonitorPart:
        """The first n records or a few more (whole lines), which are not kept any more. Marks stay.

        For a reader of one file: records are told apart by their lines.
        """
        lines = np.concatenate([columns.lines() for columns in self._columns.values()])
        last = np.partition(lines, n - 1)[n - 1] if n < len(lines) else lines.max(initial=0)
        first = MonitorPart(
            rows={
                name: columns.head(int(np.searchsorted(columns.lines(), last, "right")))
                for name, columns in self._columns.items()
            },
            texts=tuple(self._labels.texts),
            files=tuple(self._files),
        )
        used = sorted(set().union(*(columns.codes() for columns in self._columns.values())))
        labels = Labels(MAX_LABEL_BYTES)
        code_of = np.full(len(self._labels.texts) + 1, NONE, np.int32)
        code_of[used] = [labels.code(self._labels.texts[code]) for code in used]
        for columns in self._columns.values():
            columns.recode(code_of, labels)
        self._labels = labels
        return first

    @property
    def has_rest(self) -> bool:
        """Whether the file that is open ends inside a line, as far as it was fed."""
        return self._notes is not None and bool(self._rest.strip() or self._is_skipping)

    def last_line(self) -> MonitorPart | None:
        """The record of a last line that is whole but for its end; None where there is none, or half of one.

        The line still waits for its rest.
        """
        if not self.has_rest or self._is_skipping or self.is_full:
            return None
        one = MonitorReader()
        one.begin(self._files[-1])
        one._line = self._line
        one.feed(self._rest)
        one.end()
        return replace(one.part(), files=()) if one.n_lines else None

    # ---- lines ----

    def _skip_line(self) -> None:
        """A line without end in sight: its bytes are let go."""
        if not self._is_skipping and self._notes is not None:
            self._is_skipping = True
            self._n_dropped += 1
            message = f"the line has more than {MAX_LINE_BYTES:,} bytes and is left out"
            self._notes.add("too-large", message, self._line)
        self._rest = b""

    def _take(self, block: bytes) -> None:
        """Whole lines, the last one without its end."""
        notes = self._notes
        assert notes is not None
        lines = block.split(b"\n")
        first = self._line
        self._line += len(lines)
        if self._is_skipping:
            self._is_skipping = False
            lines[0] = b""
        numbers = [first + i for i, line in enumerate(lines) if line and not line.isspace()]
        texts = [line.strip() for line in lines if line and not line.isspace()]
        if len(texts) > self._max_lines - self.n_lines:
            n_left = self._max_lines - self.n_lines
            numbers, texts = numbers[:n_left], texts[:n_left]
            message = f"reading stopped here: at most {self._max_lines:,} lines are read"
            notes.add("limit", message, first + n_left, is_last=True)
            self.is_full = True
        if texts:
            self._count(len(texts))
            self._take_records(self._records(texts, numbers, notes), numbers, notes)

    def _count(self, n: int) -> None:
        self.n_lines += n

    def _text_of(self, raw: bytes, notes: LineNotes) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            if not self._is_not_utf8:
                self._is_not_utf8 = True
                message = "this line or one behind it is not UTF-8; its bytes are shown as '?'"
                notes.add("encoding", message, self._line)
            return raw.decode("utf-8", "replace")

    def _records(self, texts: list[bytes], numbers: list[int], notes: LineNotes) -> list[Any]:
        """The JSON value of each line, None where it has none. All at once where every line is an object."""
        if all(text[:1] == b"{" and text[-1:] == b"}" for text in texts):
            records = _parsed("[" + self._text_of(b",".join(texts), notes) + "]")
            if isinstance(records, list) and len(records) == len(texts):
                return records
        found = []
        for text, number in zip(texts, numbers, strict=True):
            record = _parsed(self._text_of(text, notes)) if len(text) <= MAX_LINE_BYTES else None
            found.append(record)
            if not isinstance(record, dict):
                self._n_dropped += 1
                notes.add("bad-record", "the line is no JSON object; it is left out", number)
        return found

    def _take_records(self, records: list[Any], numbers: list[int], notes: LineNotes) -> None:
        """Records to where their kind belongs."""
        by_kind: dict[str, tuple[list[dict[str, Any]], list[int]]] = {}
        for record, number in zip(records, numbers, strict=True):
            if not isinstance(record, dict):
                continue
            kind = record.get("kind")
            known = kind if isinstance(kind, str) else ""
            group = "calls" if known in _CALLS else known
            rows, lines = by_kind.setdefault(group, ([], []))
            rows.append(record)
            lines.append(number)

        def tell(message: str, line: int) -> None:
            notes.add("bad-record", message, line)

        for group, (rows, lines) in by_kind.items():
            if group in self._columns:
                self._columns[group].add(rows, lines, len(self._files) - 1, tell)
            elif group == "Marker":
                self._take_marks(rows, lines, notes)
            elif group == "rank_device_map":
                self._take_ranks(rows, lines, notes)
            elif group == "parallel_group_info":
                self._take_groups(rows, notes)
            elif group in self._others or len(self._others) < MAX_KINDS:
                name = group[:200]
                self._others[name] = self._others.get(name, 0) + len(rows)
            else:
                self._others[""] = self._others.get("", 0) + len(rows)

    def _take_marks(self, rows: list[dict[str, Any]], lines: list[int], notes: LineNotes) -> None:
        for record, line in zip(rows, lines, strict=True):
            name, start, end = record.get("name"), whole_of(record.get("startNs")), record.get("endNs")
            end_ns = start if end is None else whole_of(end)
            if not isinstance(name, str) or start is None or start < 0 or end_ns is None:
                self._n_dropped += 1
                notes.add("bad-record", "a mark without a name, a start or an end is left out", line)
                continue
            if len(self._marks) + len(self._device_marks) >= MAX_MARKS:
                self._n_marks_left_out += 1
                continue
            marks = self._device_marks if record.get("sourceKind") == "Device" else self._marks
            marks.append(Span(name[:MAX_MARK_CHARS], start, end_ns))

    def _take_ranks(self, rows: list[dict[str, Any]], lines: list[int], notes: LineNotes) -> None:
        for record, line in zip(rows, lines, strict=True):
            rank, devices = whole_of(record.get("rank")), record.get("device")
            listed = devices if isinstance(devices, list) else [devices]
            found = [whole_of(device) for device in listed]
            is_over = len(self._rank_devices) >= MAX_RANKS or len(found) > MAX_DEVICES
            if rank is None or None in found or is_over:
                self._n_dropped += 1
                message = "a rank without devices, or one too many, is left out"
                notes.add("bad-record", message, line)
                continue
            self._rank_devices[rank] = tuple(device for device in found if device is not None)

    def _take_groups(self, rows: list[dict[str, Any]], notes: LineNotes) -> None:
        problems: list[Problem] = []
        for record in rows:
            self._n_group_records += 1
            if self._n_group_records > MAX_GROUP_RECORDS:  # there is one, written at the end
                self._n_dropped += 1
                notes.add("limit", f"at most {MAX_GROUP_RECORDS} records of groups are read", None)
                continue
            groups, labels = groups_of(record.get("value"), Notes(notes.artifact, problems))
            self._groups.update(groups)
            self._group_labels.update(labels)
        for problem in problems:
            notes.add(problem.kind, problem.message, None)


def read_msmonitor(
    paths: Path | Sequence[Path],
    *,
    root: Path | None = None,
    max_lines: int = MAX_LINES,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> MonitorLog:
    """Records of one process: of a file, or of all that it was rotated into, by the times in their names.

    Problems: lines that are no JSON object, records without name or times (left out and counted); values of
    a wrong type (absent); a last line without an end; what lies behind `max_lines` lines or 4 GB; of several
    files those that cannot be opened. Raises InputError where none can be, and Cancelled.
    Cost: about 6 us a line.
    """
    listed = [paths] if isinstance(paths, Path) else sorted(paths, key=written_at)
    reader = MonitorReader(max_lines=max_lines)
    failed: list[InputError] = []
    for path in listed:
        artifact = shown_path(path, root)
        try:
            file, size_bytes = open_input(path, root)
        except InputError as error:
            failed.append(error)
            reader.begin(artifact)
            reader.note("unreadable", error.message)
            reader.end(is_whole=False)
            continue
        reader.begin(artifact)
        n_read = 0
        with file:
            while not reader.is_full:
                check(is_cancelled)
                try:
                    raw = file.read(BLOCK_BYTES) or b""
                except OSError as error:
                    reader.note("unreadable", f"reading failed: {error.strerror}")
                    break
                n_read += len(raw)
                if not raw:
                    break
                if n_read > MAXFILE_NAME_BYTES:
                    reader.note("limit", f"only the first {MAXFILE_NAME_BYTES:,} bytes were read")
                    break
                reader.feed(raw)
                progress(Progress("read", min(n_read, size_bytes), size_bytes, "bytes"))
        reader.end()
    if failed and len(failed) == len(listed):
        raise failed[0]
    return reader.log()


def written_at(path: Path) -> tuple[str, str]:
    """Orders files of one process as they were written."""
    match = FILE_NAME.fullmatch(path.name)
    return (match[2] if match else "", path.name)


def _parsed(text: str) -> Any:
    """A JSON value, None where the text is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
