"""What is not well with the memory of a chip, and who uses it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from npulse.core.text import safe_text

from .cards import card_of
from .criteria import Settings
from .history import Growth, History
from .notes import Note, Words, chip_note, shown, subject_of, words
from .snapshot import LISTED_AT_MOST, ChipState, Process, Snapshot
from .texts import TEXTS

Use = Literal["busy", "loaded", "held", "idle", ""]
"""What a chip does: works; has processes whose AI cores stand still; memory without a process; nothing; ""
where nobody can tell."""
SHOWN = 6


def held_mb(snapshot: Snapshot, chip: ChipState, asked: Settings) -> float | None:
    """Memory that neither its processes nor an idle chip explain, if it is enough to speak of."""
    processes = snapshot.processes_of(chip)
    used, total = chip.used_mb, chip.total_mb
    if processes is None or used is None or not total:
        return None
    sizes = [one.memory_mb for one in processes]
    if len(processes) >= LISTED_AT_MOST or None in sizes:
        return None  # the table lists no more: the rest may be of others
    held = used - sum(size for size in sizes if size is not None) - card_of(chip.name).idle_mb
    return held if held >= asked.criteria.held_mb else None


def use_of(snapshot: Snapshot, chip: ChipState, asked: Settings) -> Use:
    """What the chip does at this moment."""
    share = chip.load_percent
    processes = snapshot.processes_of(chip)
    if asked.criteria.is_loaded(chip.ai_core_percent, chip.npu_percent):
        return "busy"
    if processes:
        return "loaded" if share == 0 else "busy" if share is not None else ""
    if held_mb(snapshot, chip, asked) is not None:
        return "held"
    return "idle" if share is not None and processes is not None else ""


def memory_notes(
    snapshot: Snapshot, chip: ChipState, history: History | None, asked: Settings
) -> Iterator[Note]:
    """Memory of one chip: growing, held, too small; loaded but idle."""
    growth = history.growth(chip.key) if history is not None else None
    if growth is not None:
        yield _growing(snapshot, chip, growth)
    yield from _held(snapshot, chip, asked)
    card, total = card_of(chip.name), chip.total_mb
    is_small = bool(total and card.rated_mb and 100 * total < asked.criteria.memory_percent * card.rated_mb)
    if is_small and total and card.rated_mb:
        values = {
            **{
                "total": shown(total),
                "rated": shown(card.rated_mb),
                "name": safe_text(chip.name or "?", 40),
            },
            "percent": f"{100 * total / card.rated_mb:.1f}",
        }
        step = words(TEXTS, "memory-size-next", npu=chip.npu, limit=shown(asked.criteria.memory_percent))
        yield chip_note(
            snapshot,
            chip,
            "memory-size",
            "warning",
            words(TEXTS, "memory-size", **values),
            step,
            total_mb=total,
            rated_mb=card.rated_mb,
        )
    processes = snapshot.processes_of(chip)
    if processes and use_of(snapshot, chip, asked) == "loaded":
        memory = sum(one.memory_mb or 0 for one in processes)
        yield chip_note(
            snapshot,
            chip,
            "loaded-idle",
            "note",
            words(TEXTS, "loaded-idle", memory=shown(memory), names=names_of(processes)),
            words(TEXTS, "loaded-idle-next"),
            process_mb=memory,
            pids=[one.pid for one in processes],
        )


def _held(snapshot: Snapshot, chip: ChipState, asked: Settings) -> Iterator[Note]:
    held = held_mb(snapshot, chip, asked)
    processes = snapshot.processes_of(chip)
    if held is None or processes is None:
        return
    idle, used = card_of(chip.name).idle_mb, chip.used_mb
    device = snapshot.device_of(chip)
    told: dict[str, Any] = {"used": shown(used), "idle": shown(idle)}
    if processes:
        memory = sum(one.memory_mb or 0 for one in processes)
        message = words(
            TEXTS,
            "memory-held-more",
            held=shown(held),
            idle=shown(idle),
            processes=shown(memory),
        )
    elif asked.criteria.is_loaded(chip.ai_core_percent, chip.npu_percent):
        load = chip.load_percent
        message = words(TEXTS, "memory-held-busy", load=shown(load), **told)
    else:
        message = words(TEXTS, "memory-held", **told)
    yield chip_note(
        snapshot,
        chip,
        "memory-held",
        "warning",
        message,
        words(TEXTS, "memory-held-next", npu=chip.npu, device="N" if device is None else device),
        words(TEXTS, "short-memory-held", used=shown(held)),
        used_mb=used,
        held_mb=held,
        idle_mb=idle,
        n_processes=len(processes),
    )


def _growing(snapshot: Snapshot, chip: ChipState, growth: Growth) -> Note:
    if growth.hours is not None and growth.mb_per_hour is not None:
        window = words(TEXTS, "growth-hours", hours=f"{growth.hours:.2f}", n=growth.n_samples)
        full: Words = ("", "")
        if chip.total_mb and growth.mb_per_hour > 0:
            left = max(chip.total_mb - growth.to_mb, 0) / growth.mb_per_hour
            full = words(TEXTS, "memory-growth-full", hours=f"{left:,.1f}")
        slope = words(TEXTS, "slope-hours", slope=shown(round(growth.mb_per_hour, 1)), full=full)
    else:
        window = words(TEXTS, "growth-samples", n=growth.n_samples)
        slope = words(TEXTS, "slope-samples", slope=shown(round(growth.mb_per_sample, 1)))
    processes = snapshot.processes_of(chip) or ()
    names = f" ({names_of(processes)})" if processes else ""
    return chip_note(
        snapshot,
        chip,
        "memory-growth",
        "warning",
        words(
            TEXTS,
            "memory-growth",
            before=shown(growth.from_mb),
            after=shown(growth.to_mb),
            window=window,
            slope=slope,
        ),
        words(TEXTS, "memory-growth-next", names=names),
        from_mb=growth.from_mb,
        to_mb=growth.to_mb,
        n_samples=growth.n_samples,
        window_hours=growth.hours,
        mb_per_hour=growth.mb_per_hour,
        mb_per_sample=growth.mb_per_sample,
    )


def process_notes(snapshot: Snapshot, asked: Settings) -> Iterator[Note]:
    """Of all chips: which are busy, which have processes that should not be there."""
    busy = [one for one in snapshot.chips if use_of(snapshot, one, asked) == "busy"]
    for chip in snapshot.chips:
        processes = snapshot.processes_of(chip) or ()
        nameless = [one for one in processes if not one.name]
        if nameless:
            pids = ", ".join(str(one.pid if one.pid is not None else "?") for one in nameless[:SHOWN])
            count = "n-process" if len(nameless) == 1 else "n-processes"
            memory = shown(sum(one.memory_mb or 0 for one in nameless))
            n = words(TEXTS, count, n=len(nameless))
            yield _stray(snapshot, chip, nameless, words(TEXTS, "stray", n=n, pids=pids, memory=memory))
        named = [one for one in processes if one.name]
        if asked.devices is not None and named and snapshot.device_of(chip) not in asked.devices:
            own = {one.pid for device in asked.devices for one in _on(snapshot, device)}
            strays = [one for one in named if one.pid in own]
            if strays:
                devices = ", ".join(map(str, asked.devices[:16]))
                memory = shown(sum(one.memory_mb or 0 for one in strays))
                told = {"names": names_of(strays), "memory": memory, "devices": devices}
                yield _stray(snapshot, chip, strays, words(TEXTS, "stray-devices", **told))
    if busy:
        chips = [subject_of(snapshot, one) for one in busy]
        shares = [one.load_percent for one in busy]
        listed = ", ".join(
            f"{name} ({shown(share)} %)" for name, share in zip(chips[:16], shares, strict=False)
        ) + (" ..." if len(chips) > 16 else "")
        yield Note(
            "busy",
            "note",
            "benign",
            None,
            chips[0],
            words(TEXTS, "busy", chips=listed),
            words(TEXTS, "busy-next"),
            figures={"chips": [[one.npu, one.chip] for one in busy], "ai_core_percent": shares},
            source=snapshot.source,
        )


def _on(snapshot: Snapshot, device: int) -> tuple[Process, ...]:
    chip = snapshot.of_device(device)
    return (snapshot.processes_of(chip) or ()) if chip is not None else ()


def _stray(snapshot: Snapshot, chip: ChipState, found: Sequence[Process], message: Words) -> Note:
    pid = next((one.pid for one in found if one.pid is not None), "PID")
    return chip_note(
        snapshot,
        chip,
        "stray",
        "warning",
        message,
        words(TEXTS, "stray-next", pid=pid),
        pids=[one.pid for one in found],
        process_mb=sum(one.memory_mb or 0 for one in found),
    )


def names_of(processes: Sequence[Process]) -> str:
    """ "python3 (4711), python3 (4712)"; the first few of many."""
    shown = [f"{safe_text(one.name, 16) or '?'} ({one.pid})" for one in processes[:SHOWN]]
    return ", ".join(shown) + (" ..." if len(processes) > SHOWN else "")
