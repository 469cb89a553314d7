"""Lines of the source and instructions in visualize_data.bin: values by core as columns."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Any

import numpy as np

from npulse.core.dataclass import dataclass

from .records import Instructions, SourceLines
from .visualize_parts import Parts, number, text_of, whole

MAX_ROWS = 1_000_000
_MAX_INT = 2**63 - 1


@dataclass(slots=True)
class _Codes:
    codes: dict[str, int] = field(default_factory=dict)
    rows: list[int] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.rows.append(self.codes.setdefault(text, len(self.codes)))


@dataclass(slots=True)
class _Rows:
    """Values by core as rows: those of cores that did not run the line are left out."""

    cores: tuple[str, ...]
    core: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    cycles: list[float] = field(default_factory=list)

    def add(self, item: dict[str, Any], found: Parts) -> int:
        """How many rows a line or an instruction makes."""
        calls, cycles = item.get("Instructions Executed"), item.get("Cycles")
        n_before = len(self.core)
        for i in range(len(self.cores)):
            n_calls, n_cycles = whole(_at(calls, i)), number(_at(cycles, i))
            if not n_calls and not n_cycles:
                continue
            if len(self.core) >= MAX_ROWS:
                found.n_cut += 1
                break
            self.core.append(i)
            self.calls.append(-1 if n_calls is None else n_calls)
            self.cycles.append(math.nan if n_cycles is None else n_cycles)
        return len(self.core) - n_before


def take_source_lines(value: dict[str, Any], found: Parts) -> None:
    """Kind 3: lines of the source."""
    rows, sources = _Rows(_cores(value)), _Codes()
    for file in found.objects(value.get("Files")):
        source = text_of(file.get("Source"))
        for line in found.objects(file.get("Lines")):
            at = whole(line.get("Line"))
            for _ in range(rows.add(line, found)):
                sources.add(f"{source}:{'' if at is None else at}")
    n = len(rows.core)
    found.lines = SourceLines(
        rows.cores,
        tuple(sources.codes),
        np.array(rows.core, np.int32),
        np.array(sources.rows, np.int32),
        np.array(rows.calls, np.int64),
        np.array(rows.cycles, np.float64),
        np.full(n, np.nan),
    )


def take_instructions(value: dict[str, Any], found: Parts) -> None:
    """Kind 4: instructions. Their text is the name and the operands."""
    rows = _Rows(_cores(value))
    names, pipes, details, addresses = _Codes(), _Codes(), _Codes(), list[int]()
    for item in found.objects(value.get("Instructions")):
        name, _, detail = text_of(item.get("Source")).partition(" ")
        address = item.get("Address")
        at = -1
        if isinstance(address, str) and address[:2].lower() == "0x" and len(address) <= 18:
            try:
                at = int(address, 16)
            except ValueError:
                found.n_bad += 1
        for _ in range(rows.add(item, found)):
            names.add(name)
            pipes.add(text_of(item.get("Pipe")))
            details.add(detail)
            addresses.append(at if at <= _MAX_INT else -1)
    n = len(rows.core)
    found.instructions = Instructions(
        rows.cores,
        tuple(names.codes),
        tuple(pipes.codes),
        tuple(details.codes),
        np.array(rows.core, np.int32),
        np.array(names.rows, np.int32),
        np.array(pipes.rows, np.int32),
        np.array(details.rows, np.int32),
        np.array(addresses, np.int64),
        np.array(rows.calls, np.int64),
        np.array(rows.cycles, np.float64),
        np.full(n, np.nan),
    )


def _cores(value: dict[str, Any]) -> tuple[str, ...]:
    cores = value.get("Cores")
    return tuple(text_of(core) for core in cores[:1024]) if isinstance(cores, list) else ()


def _at(values: Any, i: int) -> Any:
    """Value of one core; a single number is that of the only core."""
    if isinstance(values, list):
        return values[i] if i < len(values) else None
    return values if i == 0 else None
