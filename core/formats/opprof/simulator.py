"""Tables of the simulator, one of each kind a core: cycles by source line (*_code_exe.csv) and by instruction
(*_instr_exe.csv). Those of all cores come as one set of columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

import numpy as np

from npulse.core.dataclass import dataclass

from ...errors import InputError
from ...files import shown_path
from ...findings import Problem
from ...progress import IsCancelled, Progress, ProgressCallback, ignore_progress, never_cancelled
from ...text import safe_text
from ..line_tables import LimitError, NoHeaderError, fill
from ..text_lines import LineNotes, line_blocks
from .cells import NotANumberError, address_of, name_and_unit, number_of, whole_of
from .records import Codes, Instructions, SourceLines

MAX_CORE_BYTES = 256 << 20
MAX_ROWS = 1_000_000
_MAX_TEXT = 4096
_HINT = "msopprof simulator --soc-version=Ascendxxxyy APP writes it"
_LINES = ("code", "call_count", "cycles", "running_time")
_INSTRUCTIONS = ("instr", "addr", "pipe", "call_count", "cycles", "running_time", "detail")


class _Labels:
    """Texts and their codes, each text once. Texts as they came are looked up first: most come many times."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self._seen: dict[str, int] = {}

    def code(self, text: str) -> int:
        code = self._seen.get(text)
        if code is None:
            code = self.codes.setdefault(safe_text(text, _MAX_TEXT), len(self.codes))
            self._seen[text] = code
        return code

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self.codes)


@dataclass(slots=True)
class _Rows:
    """Rows of all cores; `core` and `notes` are those of the file that is being read.

    texts: name of a text column -> its labels and the code of each row.
    """

    needed: tuple[str, ...]
    is_text: tuple[str, ...]
    notes: LineNotes
    core: int = 0
    places: dict[str, int] = field(default_factory=dict)
    n_columns: int = 0
    has_header: bool = False
    labels: dict[str, _Labels] = field(default_factory=dict)
    codes: dict[str, list[int]] = field(default_factory=dict)
    core_codes: list[int] = field(default_factory=list)
    addresses: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    cycles: list[float] = field(default_factory=list)
    running_us: list[float] = field(default_factory=list)
    n_dropped: int = 0

    def __post_init__(self) -> None:
        for name in self.is_text:
            self.labels[name], self.codes[name] = _Labels(), []

    def begin(self, core: int, notes: LineNotes) -> None:
        self.core, self.notes, self.has_header = core, notes, False

    def add_lines(self, first: int, lines: list[str]) -> None:
        for number, line in enumerate(lines, first):
            if not line.strip():
                continue
            if not self.has_header:
                self._take_header(line, number)
                continue
            if len(self.calls) >= MAX_ROWS:
                raise LimitError(f"tables of more than {MAX_ROWS:,} rows together", number)
            self._add(line, number)

    def drop(self, kind: str, message: str, line: int, *, is_last: bool = False) -> None:
        self.n_dropped += 1
        self.notes.add(kind, message, line, is_last=is_last)

    def _take_header(self, line: str, number: int) -> None:
        names = [name_and_unit(cell.strip().removeprefix("\ufeff"))[0] for cell in line.split(",")]
        while names and not names[-1]:
            names.pop()
        self.places = {name: i for i, name in reversed(list(enumerate(names)))}
        if not all(name in self.places for name in self.needed if name != "detail") or len(names) > 64:
            raise NoHeaderError(f"not the table that is expected: no column {', '.join(self.needed)}", number)
        self.n_columns = len(names)
        self.has_header = True

    def _split(self, line: str) -> list[str]:
        """Cells of a row. The first or the last one may have commas in it: the place of code, the detail."""
        n = self.n_columns - 1
        if self.places.get("detail") == n:
            cells = line.split(",", n)
            if len(cells) == n + 1:
                cells[n] = cells[n].strip().removesuffix(",")
                if len(cells[n]) > 1 and cells[n][0] == cells[n][-1] == '"':
                    cells[n] = cells[n][1:-1].replace('""', '"')
            return cells
        return line.removesuffix(",").rsplit(",", n)

    def _add(self, line: str, number: int) -> None:
        cells = self._split(line)
        if len(cells) != self.n_columns:
            self.drop("bad-record", f"{len(cells)} cells where the header has {self.n_columns}", number)
            return
        places = self.places
        try:
            calls = whole_of(cells[places["call_count"]])
            cycles = number_of(cells[places["cycles"]])
            running = number_of(cells[places["running_time"]])
            address = address_of(cells[places["addr"]]) if "addr" in self.needed else -1
        except NotANumberError as error:
            self.drop("bad-record", f"no number: {safe_text(str(error), 64)}", number)
            return
        if (calls is not None and calls < 0) or cycles < 0 or running < 0:
            self.drop("bad-record", "a negative count or time", number)
            return
        for name in self.is_text:
            text = cells[places[name]].strip() if name in places else ""
            self.codes[name].append(self.labels[name].code(text))
        self.core_codes.append(self.core)
        self.calls.append(-1 if calls is None else calls)
        self.cycles.append(cycles)
        self.running_us.append(running)
        self.addresses.append(address)

    def code_array(self, name: str) -> Codes:
        return np.array(self.codes[name], np.int32)


def read_source_lines(
    files: Mapping[str, Path],
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[SourceLines | None, tuple[Problem, ...]]:
    """*_code_exe.csv of each core. None where no file can be used; each of those is a problem."""
    rows, cores, problems = _read(files, _LINES, ("code",), root, progress, is_cancelled)
    if not cores:
        return None, problems
    found = SourceLines(
        cores,
        rows.labels["code"].texts,
        np.array(rows.core_codes, np.int32),
        rows.code_array("code"),
        np.array(rows.calls, np.int64),
        np.array(rows.cycles, np.float64),
        np.array(rows.running_us, np.float64),
    )
    return found, problems


def read_instructions(
    files: Mapping[str, Path],
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> tuple[Instructions | None, tuple[Problem, ...]]:
    """*_instr_exe.csv of each core. None where no file can be used; each of those is a problem."""
    texts = ("instr", "pipe", "detail")
    rows, cores, problems = _read(files, _INSTRUCTIONS, texts, root, progress, is_cancelled)
    if not cores:
        return None, problems
    found = Instructions(
        cores,
        rows.labels["instr"].texts,
        rows.labels["pipe"].texts,
        rows.labels["detail"].texts,
        np.array(rows.core_codes, np.int32),
        rows.code_array("instr"),
        rows.code_array("pipe"),
        rows.code_array("detail"),
        np.array(rows.addresses, np.int64),
        np.array(rows.calls, np.int64),
        np.array(rows.cycles, np.float64),
        np.array(rows.running_us, np.float64),
    )
    return found, problems


def _read(
    files: Mapping[str, Path],
    needed: tuple[str, ...],
    texts: tuple[str, ...],
    root: Path | None,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
) -> tuple[_Rows, tuple[str, ...], tuple[Problem, ...]]:
    rows = _Rows(needed, texts, LineNotes(""))
    cores: list[str] = []
    problems: list[Problem] = []
    for n_read, (core, path) in enumerate(files.items()):
        progress(Progress("read", n_read, len(files), "files"))
        notes = LineNotes(shown_path(path, root))
        rows.begin(len(cores), notes)
        try:
            fill(
                rows,
                line_blocks(path, notes, root=root, max_bytes=MAX_CORE_BYTES, is_cancelled=is_cancelled),
                notes,
                path,
                _HINT,
            )
        except InputError as error:
            problems.append(Problem.from_error(error, shown_path(path, root)))
        else:
            cores.append(safe_text(core, 80))
        problems += notes.close()
    return rows, tuple(cores), tuple(problems)
