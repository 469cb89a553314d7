"""`npulse device`: saved output of npu-smi, or the cards of this machine, once or again and again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from npulse.core.errors import UsageError
from npulse.core.text import clock_text, columns_of, safe_text

from .analyse import is_whole_file, run_analysis, written, written_whole
from .options import AnalyseOptions, check_seconds, chosen_format, chosen_lang, emit, talk

if TYPE_CHECKING:
    from npulse.core.device.analyse import Devices

ENVIRONMENT_LACKS = 3
INTERRUPTED = 130
_UNKNOWN = "unknown"


def run_device(
    options: AnalyseOptions,
    paths: Sequence[Path],
    *,
    now: bool,
    interval_s: float | None,
    count: int | None,
) -> int:
    """The report over files, or of this machine; returns the exit code. UsageError for both, or neither."""
    check_seconds(interval_s, "--interval")
    if not now and (interval_s is not None or count is not None):
        raise UsageError("--interval and --count ask npu-smi again", hint="give --now too")
    if now and paths:
        raise UsageError(
            "--now asks this machine: give no file", hint="npulse device FILE reads a saved output"
        )
    if now:
        return _now(options, interval_s, count)
    if not paths:
        raise UsageError("give a saved output of npu-smi, or --now", hint="npu-smi info > npu_smi.txt")
    return run_analysis(options, "device", paths)


def _now(options: AnalyseOptions, interval_s: float | None, count: int | None) -> int:
    from npulse.core.analysis import AnalysisOptions, AreaReport
    from npulse.core.device.live import LiveDevices
    from npulse.core.device.report import report
    from npulse.core.device.run_report import settings_of

    lang = chosen_lang(options.lang)
    is_whole = is_whole_file(options, ())
    format_name = "" if is_whole else chosen_format(options.format_name, options.output)
    n_looks = count if count is not None else 1 if interval_s is None else None
    live = LiveDevices(settings_of(AnalysisOptions(criteria=options.criteria)))
    is_shown = n_looks != 1 and format_name in ("", "text")
    found: Devices | None = None
    known: set[tuple[str, object, str]] = set()
    is_interrupted = False
    done = 0
    try:
        while n_looks is None or done < n_looks:
            if done:
                pause(interval_s or 0)
            found = live.look()
            done += 1
            if is_shown:
                _show(found, lang, known)
    except KeyboardInterrupt:
        is_interrupted = True
    if found is None:
        return INTERRUPTED
    told = report(found, lang=lang, tables=options.tables or is_whole)
    if is_whole:
        code = written_whole("device", AreaReport("", "", told), options, ())
    else:
        code = written(told, format_name, options, ())
    if is_interrupted:
        return INTERRUPTED
    state = found.sources[-1].snapshot.state
    return ENVIRONMENT_LACKS if state not in ("ok", _UNKNOWN) else code


def pause(seconds: float) -> None:
    """Between two looks."""
    time.sleep(seconds)


def _show(found: Devices, lang: str, told: set[tuple[str, object, str]]) -> None:
    """One look as lines: the figures of each chip, and what is new of what is not well."""
    from npulse.core.device.notes import shown, subject_of
    from npulse.core.device.report import is_of_first_chip

    snapshot = found.sources[-1].snapshot
    clock = clock_text(snapshot.taken_ns or time.time_ns())
    rows = [
        [
            clock,
            subject_of(snapshot, chip),
            safe_text(chip.health or "?", 10),
            f"{shown(chip.temperature_c)} C",
            "-" if is_of_first_chip(snapshot, chip) else f"{shown(chip.power_w)} W",
            f"{shown(chip.frequency_mhz)} MHz",
            f"{shown(chip.load_percent)} %",
            f"{shown(chip.used_mb)} / {shown(chip.total_mb)} MB",
        ]
        for chip in snapshot.chips
    ]
    lines = columns_of(rows, left=(0, 1, 2)) if rows else []
    for note in found.notes:
        key = note.rule, note.key, note.message[0] if note.key is None else ""
        if key not in told:
            told.add(key)
            mark = {"error": "E", "warning": "W"}.get(note.severity, "n")
            lines.append(f"{clock} {mark} {note.subject}: {note.message[1 if lang == 'zh' else 0]}")
    emit(f"{safe_text(line)}\n" for line in lines)
    if not snapshot.is_known and not rows:
        talk(f"npulse: {snapshot.state}")
