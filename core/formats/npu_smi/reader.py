"""Samples of chips out of polled npu-smi text, as its bytes come or as a file, and what stands beside them.

All forms are read, also mixed and between lines of other programs: tables (`npu-smi info`, again and again),
rows (`npu-smi info watch`), keys and values (`-t`), lists of ids (`-l`, `-m`), and what is printed instead.
Cells are told by bars, blanks and the words of the header, never by column numbers: widths differ by version.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from npulse.core.dataclass import dataclass

from ...files import shown_path
from ...findings import Problem
from ...progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled
from ..log_lines import Line, LineCutter, LogNotes, read_records, text_of
from .blocks import BlockLines, OnBlock
from .cells import WHOLE, cells_of, number_of, text_of_cell
from .layouts import layout_of
from .messages import message_of
from .processes import ProcessLines, is_head
from .records import ChipSample, NpuSmi, SmiMessage, SmiTable, SmiText
from .times import time_in_front

MAX_RECORDS = 5_000_000
MAX_CHIPS = 4096
"""Of one poll."""
MAX_MESSAGES = 256

_BEGIN = re.compile(r"\| npu-smi (\S{1,64}) +Version: (\S{0,64})")
_PREFIXED = re.compile(
    r"[^|]{1,160}?(?=\| (?:npu-smi \S{1,64} +Version: |NPU(?: ID +\|)? +Name +\| Health ))"
)
"""What a log collector or a quotation writes in front of a table's first line, and so of all others."""
_HEAD = re.compile(r"\| NPU(?: ID +\|)? +Name +\| Health +\| Power\(W\) ")
_VERSION = re.compile(r"npu-smi version: (\S{1,64})")
_RULE = re.compile(r"\+[-=+]{8,}\+")
"""A line between the parts of a table."""
_PAIR = re.compile(r"([\w.-]+)\s*/\s*([\w.-]+)")
_COLUMN = re.compile(r"[^\s()][^()]*\([^()]*\)")
_WATCHED = {
    "NpuID(Idx)": "npu",
    "ChipId(Idx)": "chip",
    "Pwr(W)": "power_w",
    "Temp(C)": "temperature_c",
    "AI Core(%)": "ai_core_percent",
    "AI Cpu(%)": "ai_cpu_percent",
    "Ctrl Cpu(%)": "control_cpu_percent",
    "Memory(%)": "memory_percent",
    "Memory BW(%)": "memory_bandwidth_percent",
    "NPU Util(%)": "npu_percent",
    "AI Cube(%)": "ai_cube_percent",
}
"""Columns of `npu-smi info watch`; one that is not known is passed over."""


_IDS = ("", "npu", "chip")


@dataclass(slots=True)
class _Head:
    """The first line of a chip in a table, which waits for the second."""

    line: Line
    npu: int
    name: str | None
    health: str | None
    figures: dict[str, float | None]


class NpuSmiReader:
    """Samples as bytes come, in chunks cut anywhere; a line without its end waits for it.

    artifact: how problems name the file. A chip of a table is handed out with its second line. on_block: is
    told each `-t` block as it ends (npu, chip, values by key); `told` keeps the first and last of each alone.
    """

    def __init__(self, artifact: str = "npu-smi", on_block: OnBlock | None = None) -> None:
        self._notes = LogNotes(artifact)
        self._lines = LineCutter(self._notes)
        self._time_ns: int | None = None
        self._poll = -1
        self._columns: tuple[str, ...] = ()  # of `watch`; () while no header of it was seen
        self._seen: set[tuple[int, int | None]] = set()  # chips of this poll of `watch`
        self._head: _Head | None = None
        self._words: tuple[str, str] = ("", "")  # both header lines of the table
        self._is_prefixed = False
        self._is_in_table = False
        self._in_table: set[tuple[int, int | None]] = set()  # chips of this table
        self._has_rules = False
        self._open: Line | None = None  # the last chip of this table, while no rule follows it
        self._table: SmiTable | None = None
        self._n_tables = 0
        self._processes: ProcessLines | None = None
        self._blocks = BlockLines(on_block)
        self._messages: list[SmiMessage] = []
        self._tool_version: str | None = None
        self._last_number = 0

    def feed(self, chunk: bytes) -> list[ChipSample]:
        """The samples that are complete with this chunk."""
        return [sample for line in self._lines.feed(chunk) for sample in self._taken(line)]

    def finish(self) -> list[ChipSample]:
        """The text ends here: a last line without an end may be half of one. It is left out and told, unless
        a bar closes it."""
        found: list[ChipSample] = []
        for line in self._lines.finish():
            if line.raw.rstrip().endswith(b"|"):
                found += self._taken(line)
            elif self._is_in_table or self._columns:
                self._notes.add("cut-off", "the text ends in this line", line.number, line.byte)
            else:
                self._last(line)
        if self._head is not None:
            line = self._head.line
            self._notes.add(
                "cut-off", "the text ends behind the first line of a chip", line.number, line.byte
            )
            self._head = None
        elif self._is_in_table:
            self._end_rows()
        self._blocks.end()
        return found

    def _last(self, line: Line) -> None:
        """A last line without an end: a message says all it has to say, of a value a part may be missing."""
        text = text_of(line, self._notes)
        message = message_of(text.strip(), line.number)
        if message is not None:
            self._add_message(message)
        elif text.lstrip().startswith("|") or (self._blocks.is_open and ":" in text):
            self._notes.add("cut-off", "the text may end in this line", line.number, line.byte)
        else:
            self._taken(line)

    @property
    def told(self) -> SmiText:
        """What stands beside the samples, so far; blocks that are still open once `finish` was called."""
        table = self._table
        if table is not None and self._processes is not None:
            found, listed = self._processes.found, self._processes.listed
            table = replace(table, processes=tuple(found), listed_npus=tuple(listed))
        return SmiText(
            table,
            self._n_tables,
            self._blocks.found(),
            tuple(self._blocks.ids.values()),
            tuple(self._blocks.cards.values()),
            self._blocks.n_listed_cards,
            tuple(self._blocks.links),
            tuple(self._messages),
            self._tool_version,
        )

    @property
    def time_ns(self) -> int | None:
        """The last time that the text said."""
        return self._time_ns

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be read so far."""
        return self._notes.told()

    # ---- one line ----

    def _taken(self, line: Line) -> list[ChipSample]:
        time_ns, whole = time_in_front(text_of(line, self._notes))
        text = whole.strip()
        if time_ns is not None:
            if not text:
                self._blocks.end()  # what stands above is of the time before
            self._time_ns = time_ns
        if line.number > self._last_number + 1:
            self._blocks.end()  # lines without anything in them are not handed out
        self._last_number = line.number
        text = self._bare(text)
        if text.startswith("|"):
            sample = self._table_line(line, text)
        elif self._is_in_table and _RULE.fullmatch(text):
            self._has_rules, self._open = True, None
            return []
        elif "NpuID(Idx)" in text and "ChipId(Idx)" in text:
            self._columns = tuple(_WATCHED.get(name, "") for name in _COLUMN.findall(text))
            self._seen.clear()
            self._poll += 1
            self._is_in_table = False
            self._blocks.forget()
            return []
        else:
            sample = self._watched(line, text) if self._columns and text[:1].isdigit() else None
            if sample is None and not text.startswith("+"):
                self._beside(whole, text, line.number)
        return [] if sample is None else [sample]

    def _bare(self, text: str) -> str:
        """A line of a table without what stands in front of all its lines."""
        if text[:1] in ("|", "+"):
            self._is_prefixed = self._is_prefixed and not text.startswith("| npu-smi ")
            return text
        prefix = _PREFIXED.match(text)
        if prefix is not None:
            self._is_prefixed = True
            return text[prefix.end() :]
        if self._is_prefixed and text[-1:] in ("|", "+"):
            at = text.find("|" if text[-1] == "|" else "+-" if "+-" in text else "+=")
            return text[max(at, 0) :]
        return text

    def _beside(self, whole: str, text: str, line: int) -> None:
        """A line that is neither of a table nor a row of `watch`."""
        message = message_of(text, line)
        if message is not None:
            self._add_message(message)
            self._blocks.end()
            return
        version = _VERSION.fullmatch(text)
        if version is not None:
            self._tool_version = version[1]
        elif not self._blocks.take(whole, line):
            self._blocks.end()

    def _add_message(self, message: SmiMessage) -> None:
        if len(self._messages) == MAX_MESSAGES:
            self._messages.pop()  # the last one tells how it ended
        self._messages.append(message)

    # ---- rows of watch ----

    def _watched(self, line: Line, text: str) -> ChipSample | None:
        cells = text.split()
        ids = cells[:2]
        if len(ids) < 2 or not all(WHOLE.fullmatch(cell) for cell in ids):
            return None  # of another program
        if len(cells) != len(self._columns):
            message = f"the row has {len(cells):,} cells, the header {len(self._columns):,}"
            self._notes.add("bad-record", message, line.number, line.byte)
            return None
        pairs = zip(self._columns, cells, strict=True)
        found: dict[str, Any] = {name: number_of(cell) for name, cell in pairs if name not in _IDS}
        chip = int(ids[0]), int(ids[1])
        if chip in self._seen or len(self._seen) >= MAX_CHIPS:
            self._seen.clear()
            self._poll += 1
        self._seen.add(chip)
        return ChipSample(self._poll, line.number, line.byte, *chip, time_ns=self._time_ns, **found)

    # ---- tables ----

    def _table_line(self, line: Line, text: str) -> ChipSample | None:
        begin = _BEGIN.match(text)
        if begin is not None:
            self._begin(line, begin[1], begin[2].rstrip("|"))
            return None
        if (not self._is_in_table or self._in_table) and _HEAD.match(text) is not None:
            self._begin(line, "", "")  # somebody pasted all but its first lines
        if not self._is_in_table:
            if self._processes is not None:
                self._processes.take(text, line.number)
            return None
        if "Process id" in text:
            self._is_in_table = False  # the processes follow
            if is_head(text):
                self._processes = ProcessLines(text)
                self._name_layout(text)
            self._drop_head()
            return None
        cells = cells_of(text)
        if "Health" in cells:
            self._words = text, ""
        elif "Bus-Id" in cells:
            self._words = self._words[0], text
            self._name_layout("")
        elif self._words[1]:
            return self._second(line, cells) if self._head is not None else self._first(line, cells)
        return None

    def _begin(self, line: Line, tool_version: str, driver_version: str) -> None:
        """A table begins."""
        self._drop_head()
        if self._is_in_table:
            self._end_rows()
        self._poll += 1
        self._n_tables += 1
        self._table = SmiTable(self._poll, line.number, tool_version, driver_version)
        self._is_in_table, self._words, self._columns = True, ("", ""), ()
        self._in_table.clear()
        self._has_rules, self._open = False, None
        self._processes = None
        self._blocks.forget()

    def _end_rows(self) -> None:
        """The text or another table comes where this one goes on: there may have been more chips."""
        if self._open is not None and self._has_rules:
            message = "the table ends behind a chip, without its last line: there may be more chips"
            self._notes.add("cut-off", message, self._open.number, self._open.byte)
        self._open = None

    def _name_layout(self, processes: str) -> None:
        if self._table is not None:
            self._table = replace(self._table, layout=layout_of(*self._words, processes))

    def _drop_head(self) -> None:
        if self._head is not None:
            line = self._head.line
            self._notes.add("bad-record", "the second line of this chip is missing", line.number, line.byte)
            self._head = None

    def _first(self, line: Line, cells: list[str]) -> ChipSample | None:
        """`NPU Name | Health | Power Temp Hugepages`, in newer tables with a bar behind the id."""
        if len(cells) not in (3, 4):
            self._bad(line, cells)
            return None
        *ids, health, numbers = cells
        npu, _, name = " ".join(ids).partition(" ")
        pages, rest = _pair_in(numbers)
        if not WHOLE.fullmatch(npu) or len(rest) != 2:
            self._bad(line, cells)
            return None
        figures = {
            "power_w": number_of(rest[0]),
            "temperature_c": number_of(rest[1]),
            "hugepages_used": pages[0][0] if pages else None,
            "hugepages_total": pages[0][1] if pages else None,
        }
        self._head = _Head(line, int(npu), text_of_cell(name), text_of_cell(health), figures)
        return None

    def _second(self, line: Line, cells: list[str]) -> ChipSample | None:
        """`Chip [Phy-ID or Device] | Bus-Id | AICore Memory [HBM]`; without ids in newer tables."""
        head, self._head = self._head, None
        assert head is not None
        *ids, bus_id, numbers = cells if len(cells) in (3, 4) else [""] * 3
        pairs, rest = _pair_in(numbers)
        numbered = " ".join(ids).split()
        if len(rest) != 1 or not pairs or not all(WHOLE.fullmatch(one) for one in numbered):
            self._bad(line, cells)
            return None
        words = self._words[1]
        found: dict[str, Any] = dict(head.figures)
        found["npu_percent" if "NPU Util" in words else "ai_core_percent"] = number_of(rest[0])
        names = [name for word, name in (("Memory-Usage", "memory"), ("HBM-Usage", "hbm")) if word in words]
        for name, (used, total) in zip(names, pairs, strict=False):
            found[f"{name}_used_mb"], found[f"{name}_total_mb"] = used, total
        second = int(numbered[1]) if len(numbered) > 1 else None
        self._open = line
        key = head.npu, int(numbered[0]) if numbered else None
        if key in self._in_table:
            message = "a chip stands twice in one table: which of its states holds is not known"
            self._notes.add("bad-record", message, head.line.number, head.line.byte)
        elif len(self._in_table) < MAX_CHIPS:
            self._in_table.add(key)
        return ChipSample(
            self._poll,
            head.line.number,
            head.line.byte,
            *key,
            time_ns=self._time_ns,
            name=head.name,
            health=head.health,
            bus_id=text_of_cell(bus_id),
            physical_id=second if "Phy-ID" in words else None,
            device=second if "Device" in words else None,
            **found,
        )

    def _bad(self, line: Line, cells: list[str]) -> None:
        message = f"a row of {len(cells):,} cells is none of a chip"
        self._notes.add("bad-record", message, line.number, line.byte)


def _pair_in(cell: str) -> tuple[list[tuple[float | None, float | None]], list[str]]:
    """The `used / total` pairs of a cell, and the words in front of the first one."""
    first = _PAIR.search(cell)
    pairs = [(number_of(used), number_of(total)) for used, total in _PAIR.findall(cell)]
    return pairs, (cell[: first.start()] if first is not None else cell).split()


def read_npu_smi(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> NpuSmi:
    """All samples of a file, 5,000,000 at most; an empty tuple where it holds neither tables nor rows. `told`
    has what stands beside them.

    Problems (with line and byte): rows that are broken or cut, lines that are too long or in no known
    encoding, a file that fails while it is read. Raises InputError (no such file, no regular file, a link out
    of `root`) and Cancelled. Cost: linear; about 300 bytes of memory a sample.
    """
    reader = NpuSmiReader(shown_path(path, root))
    samples, problems = read_records(path, root, reader, MAX_RECORDS, progress, is_cancelled)
    return NpuSmi(samples, problems, reader.told)
