"""The headless twin of the device pane: cards as findings, counts, a summary and a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npulse.core.findings import Report, Verdict, verdict_from
from npulse.core.text import Lang, columns_of, safe_text, say

from .analyse import Devices, Source
from .memory_judge import held_mb, use_of
from .notes import AREA, Note, shown, subject_of
from .snapshot import ChipState, Snapshot
from .table import device_table, notes_on
from .texts import TEXTS

SHOWN_CHIPS = 64
_OK = "OK"


def report(found: Devices, *, lang: Lang = "en", tables: bool = False) -> Report:
    """Findings in the order in which they should be looked at; the cards as lines in `told`."""
    return Report(
        command=AREA,
        run=str(found.root),
        verdict=verdict_of(found),
        beneath=verdict_of(found, is_beneath=True),
        artifacts=found.artifacts,
        findings=tuple(note.finding(lang) for note in found.notes),
        counts=counts(found),
        summary=summary(found),
        told=tuple(told(found, lang)),
        problems=found.problems,
        tables={AREA: device_table(found)} if tables else {},
    )


def verdict_of(found: Devices, *, is_beneath: bool = False) -> Verdict:
    """Nothing known of devices, or a health that nobody told or knows, is unknown and never a pass.

    is_beneath: the findings left aside.
    """
    main = found.main
    snapshots = [one.snapshot for one in found.sources]
    has_unknown = (
        main is None
        or any(not one.is_known or one.state != "ok" for one in snapshots)
        or any(chip.health not in (_OK, "Warning", "Alarm", "Critical") for chip in main.snapshot.chips)
    )
    findings = [] if is_beneath else [note.finding("en") for note in found.notes]
    return verdict_from(findings, found.problems, has_unknown=has_unknown)


def counts(found: Devices) -> dict[str, int]:
    """Of chips only where some are known: 0 would say that there are none."""
    main = found.main
    n: dict[str, int] = {}
    if main is not None and main.snapshot.is_known:
        chips = main.snapshot.chips
        n = {
            "chips": len(chips),
            "ok": sum(one.health == _OK for one in chips),
            "not_ok": sum(one.health not in (_OK, None) for one in chips),
            "health_not_told": sum(one.health is None for one in chips),
            "processes": len(main.snapshot.processes),
        }
    n["sources"] = len(found.sources)
    n["samples"] = max((one.history.n_samples for one in found.sources), default=0)
    for severity in ("error", "warning", "note"):
        n[f"{severity}s"] = sum(note.severity == severity for note in found.notes)
    return n


def summary(found: Devices) -> dict[str, Any]:
    """Of the last state that knows devices; `devices` is null where nothing is known of them."""
    main = found.main
    if main is None:
        return {"state": "unknown", "code": None, "devices": None}
    snapshot = main.snapshot
    facts: dict[str, Any] = {
        "state": _state(snapshot),
        "code": snapshot.code,
        "devices": len(snapshot.chips) if snapshot.is_known else None,
    }
    for name in ("driver_version", "tool_version", "layout", "is_container", "taken_ns", "message"):
        value = getattr(snapshot, name)
        if value not in (None, ""):
            facts[name] = value
    if not snapshot.is_known:
        return facts
    asked, chips = found.settings, snapshot.chips
    uses = [use_of(snapshot, one, asked) for one in chips]
    without = [
        one for one in chips if held_mb(snapshot, one, asked) is not None and not snapshot.processes_of(one)
    ]
    facts |= {
        "chips": len(chips),
        "not_ok": [_not_ok(one) for one in chips if one.health not in (_OK, None)],
        "hbm_used_without_process": [
            {"npu": one.npu, "chip": one.chip, "hbm_mb": _whole(one.used_mb)} for one in without
        ],
        "power_missing": sum(one.power_w is None for one in chips),
        "busy_chips": [[one.npu, one.chip] for one, use in zip(chips, uses, strict=True) if use == "busy"],
        "loaded_but_idle": [
            [one.npu, one.chip] for one, use in zip(chips, uses, strict=True) if use == "loaded"
        ],
        "is_driver_incomplete": snapshot.is_driver_incomplete,
    }
    return facts


def _state(snapshot: Snapshot) -> str:
    """What was told without any chip says nothing: it is not ok."""
    return "unknown" if snapshot.state == "ok" and not snapshot.is_known else snapshot.state


def _not_ok(chip: ChipState) -> dict[str, Any]:
    return {
        "npu": chip.npu,
        "chip": chip.chip,
        "phy_id": chip.physical_id,
        "health": chip.health,
        "temp_c": _whole(chip.temperature_c),
    }


def _whole(value: float | None) -> float | int | None:
    return int(value) if value is not None and value == int(value) else value


# ---- lines for people ----


def told(found: Devices, lang: Lang) -> Iterator[str]:
    """Each state of the cards: a line, and its chips as rows."""
    for source in found.sources:
        snapshot = source.snapshot
        if not snapshot.is_known:
            said = safe_text(snapshot.message, 200) or "-"
            state = say(TEXTS, f"word-{_state(snapshot)}", lang)
            yield say(TEXTS, "told-state", lang, name=safe_text(source.name, 120), state=state, said=said)
            continue
        yield _head(source, lang)
        if source.history.n_samples > 1:
            yield say(TEXTS, "told-history", lang, n=source.history.n_samples, span=_span(source, lang))
        yield from _rows(found, source, lang)
        if any(is_of_first_chip(snapshot, chip) for chip in snapshot.chips):
            yield say(TEXTS, "told-power", lang)
        if any(chip.health is None for chip in snapshot.chips):
            yield say(TEXTS, "told-not-known", lang)
        elif not source.notes:
            yield say(TEXTS, "told-well", lang)


def _head(source: Source, lang: Lang) -> str:
    snapshot = source.snapshot
    version = snapshot.driver_version
    driver = say(TEXTS, "told-driver", lang, version=safe_text(version, 40)) if version else ""
    container = say(TEXTS, "told-container", lang) if snapshot.is_container else ""
    n_chips = len(snapshot.chips)
    key = "told-card" if n_chips == 1 else "told-cards"
    text = say(TEXTS, key, lang, n=n_chips, driver=driver, container=container)
    side = f" ({say(TEXTS, f'side-{source.side}', lang)})" if source.side else ""
    return f"{safe_text(source.name, 120)}{side}: {text}"


def _span(source: Source, lang: Lang) -> str:
    times = [
        time_ns
        for key in source.history.keys
        for time_ns, _ in source.history.series(key, "temperature_c")
        if time_ns is not None
    ]
    if not times:
        return ""
    return say(TEXTS, "told-span", lang, hours=f"{(max(times) - min(times)) / 3.6e12:.2f}")


def is_of_first_chip(snapshot: Snapshot, chip: ChipState) -> bool:
    """Whether the card's first chip tells the power of this one."""
    first = snapshot.chip(chip.npu, 0)
    return bool(chip.chip) and chip.power_w is None and first is not None and first.power_w is not None


def _rows(found: Devices, source: Source, lang: Lang) -> list[str]:
    snapshot = source.snapshot
    heads = ["", "", "health", "W", "C", "MHz", "AI %", "MB used / total", "n", ""]
    rows = [heads]
    for chip in snapshot.chips[:SHOWN_CHIPS]:
        notes: tuple[Note, ...] = notes_on(source, chip, found)
        rows.append(
            [
                f"  {subject_of(snapshot, chip)}",
                safe_text(chip.name or "?", 20),
                safe_text(chip.health or "?", 10),
                "-" if is_of_first_chip(snapshot, chip) else shown(chip.power_w),
                shown(chip.temperature_c),
                shown(chip.frequency_mhz),
                shown(chip.load_percent),
                f"{shown(chip.used_mb)} / {shown(chip.total_mb)}",
                _n_processes(snapshot, chip),
                " ".join(dict.fromkeys(note.rule for note in notes)),
            ]
        )
    lines = list(columns_of(rows, left=(0, 1, 2, 9)))
    if len(snapshot.chips) > SHOWN_CHIPS:
        lines.append(f"  ... {len(snapshot.chips) - SHOWN_CHIPS}")
    return lines


def _n_processes(snapshot: Snapshot, chip: ChipState) -> str:
    processes = snapshot.processes_of(chip)
    return "?" if processes is None else str(len(processes))
