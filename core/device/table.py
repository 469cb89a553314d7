"""The cards as a table: one row a chip, of each state that is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from npulse.core.table import Column, Table, text_column

from .analyse import Devices, Source
from .memory_judge import use_of
from .notes import AREA, Note, subject_of
from .snapshot import ChipState

SUBJECT = "subject"
"""The column that holds the subject of marks and notes."""
_FIGURES = (
    ("power_w", "W"),
    ("temperature_c", "C"),
    ("hbm_temperature_c", "C"),
    ("frequency_mhz", "MHz"),
    ("rated_mhz", "MHz"),
    ("ai_core_percent", "percent"),
    ("used_mb", "MB"),
    ("total_mb", "MB"),
)


def notes_on(source: Source, chip: ChipState, found: Devices) -> tuple[Note, ...]:
    """What is said of a chip in this state of it."""
    changed = found.changes if source.side == "after" else ()
    own = (note for note in changed if note.source == source.snapshot.source)
    return tuple(note for note in (*source.notes, *own) if note.key == chip.key)


def device_table(found: Devices) -> Table:
    """All chips; absent is what npu-smi did not show."""
    rows = found.rows

    def texts(name: str, of: Callable[[Source, ChipState], str | None]) -> Column:
        return text_column(name, [of(source, chip) or None for source, chip in rows])

    def numbers(
        name: str, of: Callable[[Source, ChipState], float | None], unit: str = "", kind: str = "int"
    ) -> Column:
        values = [of(source, chip) for source, chip in rows]
        absent = np.array([value is None for value in values], np.bool_)
        kept = np.array([value or 0 for value in values], np.int64 if kind == "int" else np.float64)
        return Column(name, kind, kept, None, absent if absent.any() else None, unit)  # type: ignore[arg-type]

    def n_processes(source: Source, chip: ChipState) -> int | None:
        processes = source.snapshot.processes_of(chip)
        return None if processes is None else len(processes)

    return Table(
        AREA,
        (
            texts(SUBJECT, lambda source, chip: subject_of(source.snapshot, chip)),
            numbers("npu", lambda _, chip: chip.npu if chip.npu >= 0 else None),
            numbers("chip", lambda _, chip: chip.chip),
            numbers("phy_id", lambda _, chip: chip.physical_id),
            numbers("device", lambda source, chip: source.snapshot.device_of(chip)),
            texts("name", lambda _, chip: chip.name),
            texts("health", lambda _, chip: chip.health),
            texts("state", lambda source, chip: use_of(source.snapshot, chip, found.settings) or "?"),
            *(
                numbers(name, lambda _, chip, name=name: _figure(chip, name), unit, "float")  # type: ignore[misc]
                for name, unit in _FIGURES
            ),
            numbers("processes", n_processes),
            texts("findings", lambda source, chip: _words(notes_on(source, chip, found))),
            texts("fault_codes", lambda _, chip: " ".join(chip.fault_codes)),
            texts("bus_id", lambda _, chip: chip.bus_id),
            texts("side", lambda source, _: source.side),
            texts("artifact", lambda source, _: source.name),
        ),
    )


def _figure(chip: ChipState, name: str) -> float | None:
    if name == "ai_core_percent" and chip.ai_core_percent is None:
        return chip.npu_percent
    value: float | None = getattr(chip, name)
    return value


def _words(notes: tuple[Note, ...]) -> str:
    return " ".join(dict.fromkeys(note.rule for note in notes))
