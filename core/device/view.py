"""`Devices` as a pane shows it: report, table, and what stands behind one chip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from npulse.core.findings import Finding, Location, Report, Role
from npulse.core.table import Table
from npulse.core.text import Lang, safe_text, say
from npulse.core.views import Detail, Strip, first_figures, shown_figure

from .analyse import Devices, Source
from .history import Gauge, Series
from .memory_judge import use_of
from .notes import AREA, Note, ids_of, shown, subject_of
from .report import report
from .snapshot import ChipState, Process
from .table import SUBJECT, device_table, notes_on
from .texts import TEXTS

__all__ = ["SUBJECT", "DeviceView", "device_view"]

_FACTS = (
    *("name", "health", "bus_id", "physical_id", "device", "power_w", "rated_power_w", "temperature_c"),
    *("hbm_temperature_c", "ai_core_percent", "npu_percent", "frequency_mhz", "rated_mhz", "memory_used_mb"),
    *("memory_total_mb", "hbm_used_mb", "hbm_total_mb"),
)


@dataclass(frozen=True, slots=True)
class DeviceView:
    """The cards at one moment; see `AreaView`. A row is a place in `found.rows`."""

    found: Devices
    report: Report
    table: Table
    lang: Lang

    @property
    def is_complete(self) -> bool:
        return True

    def source(self, row: int) -> Source:
        """The state of the cards that a row is of."""
        return self.found.rows[row][0]

    def chip(self, row: int) -> ChipState:
        return self.found.rows[row][1]

    def notes(self, row: int) -> tuple[Note, ...]:
        """What is said of the chip, the worst first."""
        source, chip = self.found.rows[row]
        return notes_on(source, chip, self.found)

    def processes(self, row: int) -> tuple[Process, ...] | None:
        """The processes on the chip; None where nobody listed them."""
        source, chip = self.found.rows[row]
        return source.snapshot.processes_of(chip)

    def history(self, row: int, gauge: Gauge) -> Series:
        """A gauge of the chip over time, for a sparkline; () where it was told once or never."""
        source, chip = self.found.rows[row]
        series = source.history.series(chip.key, gauge)
        return series if len(series) > 1 else ()

    def detail(self, row: int, lang: Lang) -> Detail:
        source, chip = self.found.rows[row]
        at = 1 if lang == "zh" else 0
        notes = self.notes(row)
        facts = [
            (name, text)
            for name in _FACTS
            if (value := getattr(chip, name)) is not None
            for text in [safe_text(value, 80) if isinstance(value, str) else shown(value)]
        ]
        facts += [("fault", code) for code in chip.fault_codes]
        for one in self.processes(row) or ():
            memory = "?" if one.memory_mb is None else f"{one.memory_mb:,} MB"
            facts.append(("process", f"{safe_text(one.name, 16) or '?'} ({one.pid}) {memory}"))
        facts += [
            (safe_text(key, 60), say(TEXTS, "not-known", lang) if value is None else safe_text(value, 200))
            for key, value in chip.values.items()
        ]
        return Detail(
            name=f"{subject_of(source.snapshot, chip)}  {safe_text(chip.name or '?', 40)}",
            headline="; ".join(note.message[at] for note in notes) or self._state(source, chip, lang),
            facts=tuple(facts),
            next_step=next((note.next_step[at] for note in notes if note.next_step[at]), ""),
        )

    def _state(self, source: Source, chip: ChipState, lang: Lang) -> str:
        health = chip.health or say(TEXTS, "not-known", lang)
        use = use_of(source.snapshot, chip, self.found.settings)
        return ", ".join(filter(None, (f"{say(TEXTS, 'what-health', lang)} {safe_text(health, 20)}", use)))

    def finding(self, row: int, lang: Lang) -> Finding:
        notes = self.notes(row)
        if notes:
            return notes[0].finding(lang)
        source, chip = self.found.rows[row]
        role: Role = "ok" if chip.health == "OK" else "unknown"
        return Finding(
            AREA,
            "note",
            f"{AREA}.health",
            role,
            subject_of(source.snapshot, chip),
            self._state(source, chip, lang),
            figures={**ids_of(chip), "health": chip.health},
            location=Location(source.name or None),
        )

    def main_figures(self, finding: Finding) -> Sequence[tuple[str, str]]:
        return [
            (name, value) for name, value in first_figures(finding.figures) if name not in ("npu", "chip")
        ]

    def where(self, row: int, lang: Lang) -> list[str]:
        source, chip = self.found.rows[row]
        lines = [safe_text(source.name, 200)]
        for name, pair in source.history.moved(chip.key).items():
            lines.append(f"{safe_text(name, 60)}: {pair[0]:,} -> {pair[1]:,}")
        for gauge in ("temperature_c", "power_w", "ai_core_percent", "used_mb"):
            peak = source.history.peak(chip.key, gauge)
            if peak is not None and source.history.n_samples > 1:
                lines.append(f"max {gauge}: {shown_figure(peak.value)}")
        return lines

    def meaning(self, column: str, lang: Lang) -> str:
        key = f"figure-{column}"
        return say(TEXTS, key, lang) if key in TEXTS else ""

    def place(self, row: int) -> tuple[Path, int | None] | None:
        path = self.found.root / self.found.rows[row][0].name
        return (path, None) if path.is_file() else None

    def row_of(self, finding: Finding) -> int | None:
        """The row of the chip in the state that told it; the last one where the finding names no file."""
        key = finding.figures.get("npu"), finding.figures.get("chip")
        rows = [
            row
            for row, (source, chip) in enumerate(self.found.rows)
            if (chip.npu if chip.npu >= 0 else None, chip.chip) == key
            and finding.location.artifact in (None, source.name, source.snapshot.source)
        ]
        return rows[-1] if rows else None

    def strip(self, row: int) -> tuple[Strip, int] | None:
        return None

    def translated(self, lang: Lang) -> DeviceView:
        return replace(self, report=report(self.found, lang=lang), lang=lang)


def device_view(found: Devices, lang: Lang) -> DeviceView:
    """All that a pane shows of the cards. To be called by whoever analyses, not by the pane."""
    return DeviceView(found, report(found, lang=lang), device_table(found), lang)
