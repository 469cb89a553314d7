"""npu-smi's text as a snapshot and its history: of a file, of a live call, of a round's manifest."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from npulse.core.dataclass import dataclass
from npulse.core.findings import Problem
from npulse.core.formats.log_lines import LogNotes, log_windows
from npulse.core.formats.manifest import RoundRecord
from npulse.core.formats.npu_smi.messages import is_of_call
from npulse.core.formats.npu_smi.reader import NpuSmiReader
from npulse.core.formats.npu_smi.records import ChipSample, SmiBlock, SmiIds, SmiProcess, SmiText
from npulse.core.progress import IsCancelled, ProgressCallback, ignore_progress, never_cancelled

from ..files import open_input, shown_path
from .history import History
from .snapshot import MAX_CHIPS, MAX_PROCESSES, ChipState, Key, Process, Snapshot, State

NO_CARD = -1
"""`npu` of a chip of which the text does not say which it is."""

STATE_OF_MESSAGE: Mapping[str, State] = {
    **{"driver": "driver not reachable", "library": "driver not reachable", "occupied": "occupied"},
    **{"no-card": "no card", "denied": "not permitted", "timeout": "timeout"},
    **{"not-in-container": "driver not reachable", "missing": "npu-smi missing"},
}
_CODE = re.compile(r"[0-9A-Fa-f]{6,10}")
_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "temperature_c": ("NPU Temperature (C)", "Temperature(C)", "Temperature (C)", "Soc Max Temperature (C)"),
    "hbm_temperature_c": ("HBM Temperature(C)", "HBM Temperature (C)"),
    "power_w": ("NPU Real-time Power(W)", "Power Dissipation(W)"),
    "rated_power_w": ("Rated Power Dissipation(W)",),
    "ai_core_percent": ("Aicore Usage Rate(%)",),
    "npu_percent": ("NPU Utilization(%)",),
    "frequency_mhz": ("Aicore curFreq(MHZ)",),
    "rated_mhz": ("Aicore Freq(MHZ)",),
    "hbm_total_mb": ("HBM Capacity(MB)",),
    "memory_total_mb": ("DDR Capacity(MB)", "Memory Capacity(MB)", "Capacity(MB)"),
}
"""Fields by the keys that tell them; the table's own figures come first."""
_OF_SAMPLES = (
    *("name", "health", "bus_id", "physical_id", "device", "power_w", "temperature_c", "ai_core_percent"),
    *("npu_percent", "memory_used_mb", "memory_total_mb", "hbm_used_mb", "hbm_total_mb"),
)
WORST_FIRST = ("Critical", "Alarm", "Warning", "UNKNOWN", "OK")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says: the last state of each chip, its samples over time, and what could not be read."""

    snapshot: Snapshot
    history: History
    problems: tuple[Problem, ...] = ()
    told: SmiText = SmiText()
    samples: tuple[ChipSample, ...] = ()


class TextReader:
    """One text, fed in pieces cut anywhere; `reading` is what it says so far."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._reader = NpuSmiReader(name, self._add_block)
        self._last: dict[Key, ChipSample] = {}
        self._history = History()

    def feed(self, chunk: bytes) -> None:
        self._add(self._reader.feed(chunk))

    def finish(self) -> None:
        self._add(self._reader.finish())

    def _add(self, samples: Iterable[ChipSample]) -> None:
        for sample in samples:
            key = sample.npu, sample.chip or 0
            before = self._last.get(key)
            is_of_table = sample.health is not None or sample.name is not None
            if not is_of_table and before is not None:
                known = {name: getattr(sample, name) for name in _OF_SAMPLES}
                sample = replace(
                    before,
                    poll=sample.poll,
                    time_ns=sample.time_ns or before.time_ns,
                    **{name: value for name, value in known.items() if value is not None},
                )
            self._last[key] = sample
            self._history.add_sample(sample)

    def _add_block(self, npu: int | None, chip: int | None, values: dict[str, str | None]) -> None:
        """A `-t` block of one chip: polls of `common` have the frequency, which no table has."""
        if npu is None or chip is None:
            return
        state = _chip((npu, chip), None, values, None)
        gauges = (
            state.temperature_c,
            state.frequency_mhz,
            state.power_w,
            state.ai_core_percent,
            state.health,
        )
        if any(value is not None for value in gauges):
            self._history.add(Snapshot("ok", chips=(state,), taken_ns=self._reader.time_ns))

    def reading(self) -> Reading:
        told = self._reader.told
        since = told.table.poll if told.table is not None else -1
        samples = [one for one in self._last.values() if one.poll >= since]
        snapshot = _refused(snapshot_of(told, samples, source=self._name), told, samples)
        self._history.add_counters(snapshot, told)
        problems = self._reader.problems
        keys = {(one.npu, one.chip) for one in samples} | {(one.npu, one.chip) for one in told.blocks}
        if len(keys) > MAX_CHIPS:
            message = f"only the first {MAX_CHIPS:,} chips were kept"
            problems = (*problems, Problem(self._name, "limit", message))
        return Reading(snapshot, self._history, problems, told, tuple(samples))

    def ended(self) -> Reading:
        """`reading`, if the text ends here; this reader goes on as if nobody had asked."""
        other = copy.deepcopy(self)
        other.finish()
        return other.reading()


def read_device(
    path: Path,
    *,
    root: Path | None = None,
    progress: ProgressCallback = ignore_progress,
    is_cancelled: IsCancelled = never_cancelled,
) -> Reading:
    """A file of npu-smi's text, however many polls it holds. Cost: linear; memory does not grow with polls.

    Raises InputError (no such file, no regular file, a link out of `root`) and Cancelled.
    """
    name = shown_path(path, root)
    notes = LogNotes(name)
    reader = TextReader(name)
    for window in log_windows(path, root, notes, progress, is_cancelled):
        reader.feed(window)
    reader.finish()
    found = reader.reading()
    return replace(found, problems=(*found.problems, *notes.told()))


def with_more(base: Reading, others: Iterable[Reading]) -> Reading:
    """A table together with other texts of the same machine, `-t` blocks most of all."""
    listed = list(others)
    told = base.told
    for one in listed:
        told = replace(
            told,
            blocks=(*told.blocks, *one.told.blocks),
            ids=(*told.ids, *one.told.ids),
            cards=(*told.cards, *one.told.cards),
            links=told.links or one.told.links,
            messages=(*told.messages, *one.told.messages),
            tool_version=told.tool_version or one.told.tool_version,
        )
    snapshot = snapshot_of(told, base.samples, source=base.snapshot.source)
    if base.snapshot.is_known and base.snapshot.state != "ok":
        last = base.snapshot
        snapshot = replace(snapshot, state=last.state, code=last.code, message=last.message)
    for one in listed:
        base.history.add_counters(snapshot, one.told)
    problems = tuple(problem for one in (base, *listed) for problem in one.problems)
    return replace(base, snapshot=snapshot, told=told, problems=problems)


def read_snapshot(path: Path, *, root: Path | None = None) -> Snapshot:
    """The last state of each chip in a file; InputError where there is no such file."""
    return read_device(path, root=root).snapshot


def tells_of_cards(path: Path, words: Sequence[bytes]) -> bool:
    """Whether there is a table, a row of `watch` or what npu-smi prints instead in a file.

    words: only files that hold one of them are read, whatever their encoding. InputError, OSError.
    """
    file, _ = open_input(path)
    with file:
        raw = (file.read() or b"").replace(b"\0", b"")
    if not any(word in raw for word in words):
        return False
    found = read_device(path)
    return (
        bool(found.samples) or found.told.table is not None or found.snapshot.state not in ("ok", "unknown")
    )


def snapshots_of(record: RoundRecord) -> tuple[Snapshot | None, Snapshot | None]:
    """(before, after) of a round's record; None where it tells nothing of that side."""
    before, after = (
        Snapshot.from_dict(one) if one is not None else None
        for one in (record.device_before, record.device_after)
    )
    return before, after


# ---- text to snapshot ----


def snapshot_of(told: SmiText, samples: Iterable[ChipSample], *, source: str = "") -> Snapshot:
    """The state of all chips that a text tells of, whichever of its parts does so."""
    by_key = {(one.npu, one.chip or 0): one for one in samples}
    ids = {(one.npu, one.chip or 0): one for one in told.ids}
    blocks = _by_chip(told.blocks, {*by_key, *ids})
    keys = dict.fromkeys((*by_key, *sorted(set(blocks) - set(by_key))))
    if not keys:
        listed = [(one.npu, chip) for one in told.cards for chip in range(min(one.n_chips or 1, 16))]
        keys = dict.fromkeys(ids or listed)
    kept = list(keys)[:MAX_CHIPS]
    chips = tuple(_chip(key, by_key.get(key), blocks.get(key, {}), ids.get(key)) for key in kept)
    table = told.table
    processes = [_process(one) for one in (table.processes if table is not None else ())]
    cards = dict.fromkeys(table.listed_npus if table is not None else ())
    for block in told.blocks:
        if block.has_processes and block.npu is not None:
            # `proc-mem` lists all of them, the table at most 8
            key = block.npu, block.chip or 0
            processes = [one for one in processes if one.key != key]
            processes += [replace(_process(one), npu=key[0], chip=key[1]) for one in block.processes]
            cards.setdefault(block.npu)
    state, code, message = _state(told, bool(chips))
    times = [one.time_ns for one in by_key.values() if one.time_ns is not None]
    return Snapshot(
        state=state,
        code=code,
        message=message,
        chips=chips,
        processes=tuple(processes[:MAX_PROCESSES]),
        listed_npus=tuple(cards),
        driver_version=_driver_version(told),
        tool_version=(table.tool_version if table is not None else "") or told.tool_version,
        layout=table.layout if table is not None else "",
        is_driver_incomplete=any(one.kind == "incomplete-driver" for one in told.messages),
        taken_ns=max(times, default=None),
        source=source,
    )


def _state(told: SmiText, has_chips: bool) -> tuple[State, int | None, str]:
    if has_chips:
        return "ok", None, ""
    for message in told.messages:
        state = STATE_OF_MESSAGE.get(message.kind)
        if state is not None:
            return state, message.code, message.text
    return "unknown", None, next((one.text for one in told.messages), "")


def _refused(snapshot: Snapshot, told: SmiText, samples: Iterable[ChipSample]) -> Snapshot:
    """With the state that the last call told where it told no chips any more: those of before are kept."""
    last = max((one.line for one in samples), default=None)
    message = next((one for one in reversed(told.messages) if is_of_call(one)), None)
    if last is None or message is None or message.line < last:
        return snapshot
    return replace(
        snapshot, state=STATE_OF_MESSAGE.get(message.kind, "unknown"), code=message.code, message=message.text
    )


def _driver_version(told: SmiText) -> str | None:
    if told.table is not None and told.table.driver_version:
        return told.table.driver_version
    return next((v for one in told.blocks if (v := one.last.get("Software Version"))), None)


def _by_chip(blocks: Iterable[SmiBlock], known: set[Key]) -> dict[Key, dict[str, str | None]]:
    """Values by chip: those of a card are of all its chips, those of no card of the only chip there is."""
    found: dict[Key, dict[str, str | None]] = {}
    whole: list[SmiBlock] = []
    for block in blocks:
        if block.npu is None or block.chip is None:
            whole.append(block)
        elif block.last or block.has_processes:
            _merge(found.setdefault((block.npu, block.chip), {}), block.last)
    for block in whole:
        every = [*known, *found]
        if block.npu is None:
            keys = every if len(set(every)) == 1 else [(NO_CARD, block.chip or 0)]
        else:
            keys = [key for key in every if key[0] == block.npu] or [(block.npu, 0)]
        for key in dict.fromkeys(keys):
            own = found.setdefault(key, {})
            _merge(own, {name: value for name, value in block.last.items() if own.get(name) is None})
    return found


def _merge(own: dict[str, str | None], more: Mapping[str, str | None]) -> None:
    """The later value counts, but for nothing in place of something, and for a health that was worse."""
    for name, value in more.items():
        if name in ("Health", "Health Status"):
            value = worst_health(own.get(name), value)
        if value is not None or name not in own:
            own[name] = value


def _chip(
    key: Key, sample: ChipSample | None, values: Mapping[str, str | None], ids: SmiIds | None
) -> ChipState:
    own: dict[str, Any] = {}
    if sample is not None:
        own = {name: getattr(sample, name) for name in _OF_SAMPLES}
    for name, keys in _NUMBERS.items():
        # '-' in a table says that the card's first chip tells its power: a block says it of both
        if own.get(name) is None and not (name == "power_w" and sample is not None):
            own[name] = next((n for one in keys if (n := _number(values.get(one))) is not None), None)
    own["name"] = own.get("name") or values.get("Chip Name") or (ids.name if ids is not None else None)
    own["health"] = worst_health(own.get("health"), values.get("Health"), values.get("Health Status"))
    own["bus_id"] = own.get("bus_id") or values.get("PCIe Bus Info")
    if ids is not None:
        own["physical_id"] = own["physical_id"] if own.get("physical_id") is not None else ids.physical_id
        own["device"] = own["device"] if own.get("device") is not None else ids.logic_id
    codes = tuple(dict.fromkeys(one.upper() for one in _CODE.findall(values.get("Error Code") or "")))
    text = values.get("Error Information")
    return ChipState(*key, fault_codes=codes[:64], fault_text=text, values=values, **own)


def _process(one: SmiProcess) -> Process:
    npu = one.npu if one.npu is not None else NO_CARD
    return Process(npu, one.chip or 0, one.pid, one.name, one.memory_mb, one.container_pid)


def _number(text: str | None) -> float | None:
    if text is None or not re.fullmatch(r"-?\d{1,9}(?:\.\d{1,6})?", text):
        return None
    return float(text)


def worst_health(*words: str | None) -> str | None:
    """The worst of what was told; a word that is not known counts as UNKNOWN does. None: nothing was told."""

    def place(word: str) -> int:
        return WORST_FIRST.index(word if word in WORST_FIRST else "UNKNOWN")

    return min((word for word in words if word is not None), key=place, default=None)
