"""Keys and values of `-t`, `-l` and `-m`: which chip they are of, in whichever order the ids stand."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field, replace

from npulse.core.dataclass import dataclass

from .cells import WHOLE, text_of_cell, whole_of
from .keys import CARD, IDS, KNOWN, TYPES_OF
from .processes import MAX_PROCESSES, process_line
from .records import SmiBlock, SmiCard, SmiIds, SmiProcess

MAX_VALUE_CHARS = 400
MAX_KEYS = 256
"""Of one chip."""
MAX_CHIPS = 4096
MAX_LINKS = 512
MAX_LINE_CHARS = 8192
"""The matrix of a large machine is the longest line there is."""

OnBlock = Callable[["int | None", "int | None", "dict[str, str | None]"], None]
"""npu, chip, values: one block as it ends, of text that has many."""

_LINE = re.compile(r"(\s*)((?:[A-Za-z][\w .()/%+-]{0,70}?)?) *: ?(.*)")
_CALL = re.compile(r"npu-smi\s+info\b(.{0,200})")
_OPTION = re.compile(r"-([ict])\s+([\w-]{1,40})")
_LINKS = re.compile(r"\s+((?:NPU|Phy-ID)\d+)(?:\s+\S+){0,600}\s*$")
_LINK_ROW = re.compile(r"(?:NPU|Phy-ID|NIC)\d+\s")
_OF_CARDS = frozenset(("Product Name", "Serial Number"))
_MANAGEMENT = ("mcu", "3559")


@dataclass(slots=True)
class _Chip:
    first: dict[str, str | None] = field(default_factory=dict)
    last: dict[str, str | None] = field(default_factory=dict)
    processes: list[SmiProcess] = field(default_factory=list)
    has_processes: bool = False


class BlockLines:
    """Lines that stand outside of tables, one after the other."""

    def __init__(self, on_block: OnBlock | None = None) -> None:
        self._on_block = on_block
        self.cards: dict[int, SmiCard] = {}
        self.ids: dict[tuple[int, int | None], SmiIds] = {}
        self.links: list[tuple[str, ...]] = []
        self.n_listed_cards: int | None = None
        self._chips: dict[tuple[int | None, int | None], _Chip] = {}
        self._npu: int | None = None
        self._chip: int | None = None
        self._items: list[tuple[str, str | None]] = []
        self._types: frozenset[str] | None = None  # those that the lines so far can be of
        self._processes: list[SmiProcess] = []
        self._no_process = False
        self._is_list = False
        self._columns: tuple[str, ...] = ()  # of -m
        self._is_links = False
        self._goes_on: tuple[dict[str, str | None], str] | None = None  # text that an empty key adds to

    def found(self) -> tuple[SmiBlock, ...]:
        """All blocks so far; the one that is being read is closed by `end`."""
        return tuple(
            SmiBlock(npu, chip, one.first, one.last, tuple(one.processes), one.has_processes)
            for (npu, chip), one in self._chips.items()
        )

    @property
    def is_open(self) -> bool:
        """Whether lines were taken that no blank line has ended."""
        return bool(self._items or self._processes)

    def forget(self) -> None:
        """A table begins: what follows it is of no chip that was named before."""
        self.end()
        self._npu = self._chip = None
        self._is_list, self._columns, self._is_links = False, (), False

    def take(self, text: str, line: int) -> bool:
        """Whether the line (with the blanks in front of it) is one of a block."""
        if not text.strip():
            self.end()
            self._is_links = False
            return True
        if len(text) > MAX_LINE_CHARS:
            return False
        call = _CALL.search(text)
        if call is not None and ":" not in text[: call.start()].rstrip()[-1:]:
            self._called(call[1])
            return True
        return self._mapped(text) or self._linked(text) or self._told(text, line)

    def end(self) -> None:
        """A blank line, another text, or the end of all: the lines so far are one block."""
        items, self._items, self._types = self._items, [], None
        processes, self._processes = self._processes, []
        no_process, self._no_process = self._no_process, False
        if items or processes or no_process:
            self._goes_on = None
            self._close(items, processes, bool(processes) or no_process)

    # ---- which chip ----

    def _called(self, words: str) -> None:
        """A line that shows the call says what the text below it leaves out."""
        self.forget()
        options = dict(_OPTION.findall(words))
        self._npu, self._chip = whole_of(options.get("i")), whole_of(options.get("c"))

    def _close(
        self, items: list[tuple[str, str | None]], processes: list[SmiProcess], has_processes: bool
    ) -> None:
        values = dict(items)
        own = {key: value for key, value in values.items() if key not in IDS | CARD}
        npu, chip = whole_of(values.get("NPU ID")), whole_of(values.get("Chip ID"))
        if not CARD.isdisjoint(values):
            self._is_list = True
            self.n_listed_cards = next((whole_of(values[key]) for key in CARD if key in values), None)
        if "Chip Physical ID" in own and npu is not None:
            logic, physical = whole_of(own.get("Chip Logic ID")), whole_of(own["Chip Physical ID"])
            self._add_ids(SmiIds(npu, chip, logic, physical))
            return
        if npu is not None:
            self._npu, self._chip = npu, None
            if self._is_list and own.keys() <= _OF_CARDS:
                if len(self.cards) < MAX_CHIPS:
                    names = (values.get("Product Name"), values.get("Serial Number"))
                    self.cards.setdefault(npu, SmiCard(npu, whole_of(values.get("Chip Count")), *names))
                return
        name = values.get("Chip Name") or ""
        if name.lower().startswith(_MANAGEMENT):
            return
        if chip is not None and not own and not has_processes:
            self._chip = chip  # of what follows
            return
        if not own and not has_processes:
            return
        if "Chip Name" in values and (chip is not None or "Chip Type" in own):
            own["Chip Name"] = values["Chip Name"]
        self._store(own, processes, has_processes, chip if chip is not None else self._chip)

    def _store(
        self,
        own: dict[str, str | None],
        processes: list[SmiProcess],
        has_processes: bool,
        chip: int | None,
    ) -> None:
        key = self._npu, chip
        if key not in self._chips and len(self._chips) >= MAX_CHIPS:
            return
        one = self._chips.setdefault(key, _Chip())
        if self._on_block is not None:
            self._on_block(*key, own)
        for name, value in own.items():
            if name in one.last or len(one.last) < MAX_KEYS:
                one.first.setdefault(name, value)
                one.last[name] = value
        if "Error Information" in own:
            self._goes_on = one.last, "Error Information"
        if "Fault Event Information" in own:
            self._goes_on = one.last, "Fault Event Information"
        if has_processes:
            one.has_processes = True
            room = max(MAX_PROCESSES - len(processes), 0)
            one.processes = [replace(p, npu=self._npu, chip=chip) for p in processes[: room or None]]

    # ---- key : value ----

    def _told(self, text: str, line: int) -> bool:
        process = process_line(text, line)
        if process is not None or text.strip() == "No process in device.":
            if process is None:
                self._no_process = True
            elif len(self._processes) < MAX_PROCESSES:
                self._processes.append(process)
            return True
        found = _LINE.fullmatch(text)
        if found is None:
            return False
        indent, key, value = found[1], found[2].strip(), text_of_cell(found[3], MAX_VALUE_CHARS)
        if not key:
            return self._continued(value)
        if not indent and key not in KNOWN:
            return False
        self._split_before(key)
        if len(self._items) < MAX_KEYS:
            self._items.append((key, value))
        return True

    def _continued(self, value: str | None) -> bool:
        """An empty key adds to the information in front of it, over an empty line too."""
        if self._items and self._items[-1][0] in ("Error Information", "Fault Event Information"):
            key, before = self._items[-1]
            self._items[-1] = key, _joined(before, value)
            return True
        if self._goes_on is None:
            return False
        values, key = self._goes_on
        values[key] = _joined(values.get(key), value)
        return True

    def _split_before(self, key: str) -> None:
        """A block ends where a key comes again, or where no type has it beside those before it."""
        keys = {name for name, _ in self._items}
        is_remap = "Chip Physical ID" in keys
        if key in keys or (key == "NPU ID" and keys and not is_remap):
            self.end()
        types = TYPES_OF.get(key)
        if types is None:
            return
        rest = types if self._types is None else self._types & types
        if not rest:
            self.end()
            rest = types
        self._types = rest

    # ---- -m and topo ----

    def _mapped(self, text: str) -> bool:
        cells = re.split(r"\s{2,}", text.strip())
        if len(cells) >= 3 and cells[0] == "NPU ID" and "Chip ID" in cells:
            self.end()
            self._columns = tuple(cells)
            return True
        if not self._columns:
            return False
        if len(cells) != len(self._columns) or not WHOLE.fullmatch(cells[0]):
            self._columns = ()
            return False
        row = dict(zip(self._columns, cells, strict=True))
        name = text_of_cell(row.get("Chip Name", "-"))
        if not (name or "").lower().startswith(_MANAGEMENT):
            self._add_ids(
                SmiIds(
                    int(cells[0]),
                    whole_of(row.get("Chip ID")),
                    whole_of(row.get("Chip Logic ID")),
                    whole_of(row.get("Chip Phy-ID")),
                    name,
                    whole_of(row.get("Slot ID")),
                )
            )
        return True

    def _add_ids(self, ids: SmiIds) -> None:
        if len(self.ids) < MAX_CHIPS:
            self.ids[ids.npu, ids.chip] = ids

    def _linked(self, text: str) -> bool:
        """The matrix of `-t topo`; its legend is passed over."""
        if _LINKS.match(text[:2000]) is not None and ":" not in text:
            self.end()
            self.links = [tuple(re.split(r"\s{2,}", text.strip()))]
            self._is_links = True
            return True
        if not self._is_links or _LINK_ROW.match(text) is None or len(self.links) >= MAX_LINKS:
            return False
        self.links.append(tuple(text.split()))
        return True


def _joined(before: str | None, value: str | None) -> str | None:
    parts = [part for part in (before, value) if part]
    return "; ".join(parts)[: 4 * MAX_VALUE_CHARS] or None
