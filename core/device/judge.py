"""What is not well with the cards of a snapshot: health, heat, frequency, errors, the driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npulse.core.text import clock_text, safe_text

from .criteria import Settings
from .error_judge import error_notes
from .faults import FAULTS
from .history import History
from .memory_judge import memory_notes, process_notes
from .notes import KNOWN_HEALTH, Note, Words, chip_note, shown, words
from .snapshot import ChipState, Snapshot
from .texts import TEXTS

_SEVERE = frozenset(("Alarm", "Critical"))
_ORDER = {"error": 0, "warning": 1, "note": 2}
_RULES = (
    *("unreachable", "health", "fault", "ecc", "isolated-pages", "temperature", "hbm-temperature"),
    *("frequency", "power-cap", "counters-moving", "link", "memory-size", "memory-held", "memory-growth"),
    *("stray", "driver", "change", "loaded-idle", "busy"),
)
"""Which of the equally severe notes of a machine comes first."""


def notes_of(
    snapshot: Snapshot, history: History | None = None, settings: Settings | None = None
) -> tuple[Note, ...]:
    """All that there is to say, the worst first. history: of the same cards, up to this snapshot."""
    asked = settings or Settings()
    if not snapshot.is_known:
        return (unreachable(snapshot),)
    found: list[Note] = [*_machine(snapshot), *_gone(snapshot, history)]
    if snapshot.state != "ok":
        found.append(unreachable(snapshot))
    for chip in snapshot.chips:
        found += _health(snapshot, chip, history)
        found += _heat(snapshot, chip, history, asked)
        found += error_notes(snapshot, chip, history, asked)
        found += memory_notes(snapshot, chip, history, asked)
    found += process_notes(snapshot, asked)
    return ordered(found)


def ordered(notes: list[Note]) -> tuple[Note, ...]:
    """Errors first, of these in the order of rules, then of chips."""
    return tuple(sorted(notes, key=lambda note: (_ORDER[note.severity], _RULES.index(note.rule))))


def unreachable(snapshot: Snapshot) -> Note:
    """Why there are no devices; never that there are none, unless the driver says so."""
    code = words(TEXTS, "code", code=snapshot.code) if snapshot.code is not None else ("", "")
    state = "unknown" if snapshot.state == "ok" else snapshot.state  # a text that tells of no chip
    key = f"state-{state}"
    if state == "unknown" and snapshot.message:
        key, code = "state-said", words(TEXTS, "said", text=safe_text(snapshot.message, 200))
    text = words(TEXTS, key, code=code) if "{code}" in TEXTS[key][0] else TEXTS[key]
    if snapshot.is_known:
        text = words(TEXTS, "state-since", state=text)
    step = words(TEXTS, f"next-{state}")
    if snapshot.is_container and snapshot.missing and snapshot.state == "driver not reachable":
        step = words(TEXTS, "next-container", missing=", ".join(snapshot.missing))
    figures: dict[str, Any] = {"state": state, "code": snapshot.code, "devices": None}
    if snapshot.message:
        figures["text"] = snapshot.message
    if snapshot.is_container is not None:
        figures["is_container"] = snapshot.is_container
    return Note(
        "unreachable",
        "warning",
        "unknown",
        None,
        "npu-smi",
        text,
        step,
        text,
        figures,
        source=snapshot.source,
    )


def _gone(snapshot: Snapshot, history: History | None) -> Iterator[Note]:
    """Chips that polls before told of and the last one does not."""
    if history is None:
        return
    known = {one.key for one in snapshot.chips}
    keys = [one for one in history.keys if one not in known]
    has_several = any(chip for _, chip in (*keys, *known))
    for npu, chip in keys:
        healths = history.healths((npu, chip))
        time_ns, health = healths[-1] if healths else (None, "?")
        figures = {"npu": npu if npu >= 0 else None, "chip": chip, "what": "device", "health_before": health}
        yield Note(
            "change",
            "warning",
            "suspect",
            (npu, chip),
            f"NPU {npu} chip {chip}" if has_several else f"NPU {npu}",
            words(TEXTS, "gone", health=safe_text(health, 20), at=_at(time_ns)),
            TEXTS["gone-next"],
            TEXTS["short-gone"],
            {name: value for name, value in figures.items() if value is not None},
            is_unwell=True,
            source=snapshot.source,
        )


# ---- helpers ----


def _at(time_ns: int | None) -> Words:
    return ("", "") if time_ns is None else words(TEXTS, "at", clock=clock_text(time_ns))


# ---- health and fault codes ----


def _health(snapshot: Snapshot, chip: ChipState, history: History | None) -> Iterator[Note]:
    asked = {"npu": max(chip.npu, 0), "chip": chip.chip}
    health = chip.health
    figures = {"health": health, "temperature_c": chip.temperature_c, "fault_codes": list(chip.fault_codes)}
    if health in KNOWN_HEALTH and health != "OK":
        codes = words(TEXTS, "health-codes", codes=" ".join(chip.fault_codes)) if chip.fault_codes else ""
        yield chip_note(
            snapshot,
            chip,
            "health",
            "error" if health in _SEVERE else "warning",
            words(TEXTS, "health", health=health, codes=codes),
            words(TEXTS, "health-next", **asked) if not chip.fault_codes else ("", ""),
            words(TEXTS, "short-health", health=health),
            is_unwell=True,
            **figures,
        )
    elif health is not None and health != "OK":
        yield chip_note(
            snapshot,
            chip,
            "health",
            "warning",
            words(TEXTS, "health-unknown"),
            words(TEXTS, "health-unknown-next", **asked),
            words(TEXTS, "short-health", health=safe_text(health, 20)),
            is_unwell=True,
            **figures,
        )
    else:
        yield from _health_before(snapshot, chip, history)
    told = chip.fault_text.split("; ") if chip.fault_text else []
    for place, code in enumerate(chip.fault_codes):
        fault = FAULTS.get(code)
        own = told[place] if len(told) == len(chip.fault_codes) else chip.fault_text
        text = words(TEXTS, "fault-text", text=safe_text(own, 160)) if own else ""
        meaning = fault.meaning if fault is not None else TEXTS["fault-unknown"]
        step = fault.step if fault is not None else "report"
        device = snapshot.device_of(chip)
        yield chip_note(
            snapshot,
            chip,
            "fault",
            "error" if fault is not None and fault.is_fatal else "warning",
            words(TEXTS, "fault", code=code, meaning=meaning, text=text),
            words(TEXTS, f"step-{step}", device="N" if device is None else device),
            words(TEXTS, "short-fault", code=code),
            is_unwell=True,
            code=code,
            is_known=fault is not None,
        )


def _health_before(snapshot: Snapshot, chip: ChipState, history: History | None) -> Iterator[Note]:
    """A chip that is OK now and was not before."""
    bad = [one for one in (history.healths(chip.key) if history is not None else ()) if one[1] != "OK"]
    if not bad:
        return
    time_ns, word = bad[-1]
    yield chip_note(
        snapshot,
        chip,
        "health",
        "warning",
        words(TEXTS, "health-was", health=safe_text(word, 20), at=_at(time_ns), now=chip.health or "?"),
        words(TEXTS, "health-next", npu=max(chip.npu, 0), chip=chip.chip),
        words(TEXTS, "short-health", health=safe_text(word, 20)),
        is_unwell=True,
        health=chip.health,
        health_before=word,
    )


# ---- heat, frequency, power ----


def _heat(snapshot: Snapshot, chip: ChipState, history: History | None, asked: Settings) -> Iterator[Note]:
    limits = asked.criteria
    temp, step = chip.temperature_c, words(TEXTS, "step-cool")
    peak = history.peak(chip.key, "temperature_c") if history is not None else None
    if temp is not None and temp > limits.temperature_c:
        yield chip_note(
            snapshot,
            chip,
            "temperature",
            "warning",
            words(TEXTS, "temperature", temp=shown(temp), limit=shown(limits.temperature_c)),
            step,
            words(TEXTS, "short-temperature", temp=shown(temp)),
            is_unwell=True,
            temperature_c=temp,
            limit_c=limits.temperature_c,
        )
    elif peak is not None and peak.value > limits.temperature_c and history is not None:
        told = {
            "peak": shown(peak.value),
            "at": _at(peak.time_ns),
            "limit": shown(limits.temperature_c),
        }
        n_all = len(history.series(chip.key, "temperature_c"))
        yield chip_note(
            snapshot,
            chip,
            "temperature",
            "warning",
            words(TEXTS, "temperature-was", temp=shown(temp), n=peak.n_samples, all=n_all, **told),
            step,
            words(TEXTS, "short-temperature", temp=shown(peak.value)),
            is_unwell=True,
            temperature_c=temp,
            peak_c=peak.value,
            n_over=peak.n_samples,
            limit_c=limits.temperature_c,
        )
    hot = chip.hbm_temperature_c
    if hot is not None and hot > limits.hbm_temperature_c:
        yield chip_note(
            snapshot,
            chip,
            "hbm-temperature",
            "error",
            words(TEXTS, "hbm-temperature", temp=shown(hot), limit=shown(limits.hbm_temperature_c)),
            step,
            words(TEXTS, "short-hbm-temperature", temp=shown(hot)),
            is_unwell=True,
            hbm_temperature_c=hot,
            limit_c=limits.hbm_temperature_c,
        )
    yield from _frequency(snapshot, chip, history, asked)


def _frequency(
    snapshot: Snapshot, chip: ChipState, history: History | None, asked: Settings
) -> Iterator[Note]:
    limits = asked.criteria
    load = chip.load_percent
    is_loaded = limits.is_loaded(chip.ai_core_percent, chip.npu_percent)
    freq, rated, temp, power = chip.frequency_mhz, chip.rated_mhz, chip.temperature_c, chip.power_w
    figures = {"power_w": power, "temperature_c": temp, "ai_core_percent": load}
    slow = history.slow(chip.key) if history is not None else None
    short = words(TEXTS, "short-frequency")
    if is_loaded and limits.is_slow(freq, rated):
        message = words(TEXTS, "frequency", freq=shown(freq), rated=shown(rated), load=shown(load))
    elif slow is not None:
        freq, rated, temp, power = slow.frequency_mhz, slow.rated_mhz, slow.temperature_c, slow.power_w
        figures = {"n_slow": slow.n_slow, "n_loaded": slow.n_loaded}
        told = {"n": slow.n_slow, "all": slow.n_loaded}
        message = words(TEXTS, "frequency-was", freq=shown(freq), rated=shown(rated), **told)
    else:
        freq = None
        message = ("", "")
    if freq is not None:
        yield chip_note(
            snapshot,
            chip,
            "frequency",
            "warning",
            message,
            words(TEXTS, "frequency-next"),
            short,
            is_unwell=True,
            frequency_mhz=freq,
            rated_mhz=rated,
            **figures,
        )
    is_cool = temp is not None and temp <= limits.temperature_c
    limit = chip.rated_power_w
    if limit and chip.power_w is not None and chip.power_w >= 0.97 * limit and is_loaded:
        message = words(TEXTS, "power-cap-rated", power=shown(chip.power_w), rated=shown(limit))
    elif freq is not None and is_cool:
        message = words(
            TEXTS,
            "power-cap",
            freq=shown(freq),
            rated=shown(rated),
            temp=shown(temp),
            power=shown(power),
        )
    else:
        return
    yield chip_note(
        snapshot,
        chip,
        "power-cap",
        "warning",
        message,
        words(TEXTS, "power-cap-next"),
        words(TEXTS, "short-power-cap"),
        is_unwell=True,
        power_w=power,
        rated_power_w=limit,
        temperature_c=temp,
    )


# ---- the machine ----


def _machine(snapshot: Snapshot) -> Iterator[Note]:
    bad = dict.fromkeys(
        (npu, word)
        for one in snapshot.chips
        for npu, word in [(one.npu, one.values.get("Compatibility"))]
        if word == "NOK"
    )
    if snapshot.is_driver_incomplete:
        yield Note(
            "driver",
            "warning",
            "suspect",
            None,
            "driver",
            words(TEXTS, "driver"),
            words(TEXTS, "driver-next"),
            words(TEXTS, "short-driver"),
            {"driver_version": snapshot.driver_version},
            source=snapshot.source,
        )
    for npu, word in bad:
        yield Note(
            "driver",
            "warning",
            "suspect",
            None,
            f"NPU {npu}",
            words(TEXTS, "driver-compatibility", word=word),
            words(TEXTS, "driver-next"),
            words(TEXTS, "short-driver"),
            {"npu": npu, "compatibility": word},
            source=snapshot.source,
        )
