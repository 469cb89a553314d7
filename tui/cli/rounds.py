"""npulse rounds: the story of an archive, and which round is kept as the baseline of the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from npulse.core.errors import UsageError
from npulse.core.text import safe_text

from .analyse import asked_of, written
from .check import CRITERIA_FILE
from .gate import gate_of
from .options import AnalyseOptions, chosen_format, chosen_lang, opened, talk
from .progress import end_progress, stderr_progress

if TYPE_CHECKING:
    from ..state import StateStore

NONE = "none"
"""What takes a kept baseline away."""


def run_rounds(
    options: AnalyseOptions, archive: Path, *, baseline: str | None, mark_baseline: str | None
) -> int:
    """The report of an archive; returns the exit code.

    baseline: for this call, before the one that is kept. mark_baseline: keeps it, "none" keeps none.
    """
    from npulse.core.checkup.run_report import criteria_in_force
    from npulse.core.rounds.run_report import report_of
    from npulse.core.scale import limit_blas_threads

    from ..state import StateStore, user_config_file
    from ..terminal import probe

    limit_blas_threads()
    if baseline is not None and mark_baseline not in (None, baseline):
        hint = "--mark-baseline alone does both"
        raise UsageError("--baseline and --mark-baseline name two rounds", hint=hint)
    archive = opened(archive)
    lang = chosen_lang(options.lang)
    format_name = chosen_format(options.format_name, options.output)
    criteria = criteria_in_force(options.criteria, user_config_file(CRITERIA_FILE))
    store = StateStore()
    asked = mark_baseline or baseline
    chosen = "" if asked == NONE else asked or known_baseline(store, archive)
    try:
        found = report_of(
            [archive],
            replace(asked_of(options), criteria=None),
            criteria=criteria,
            prepare=gate_of(options, archive, criteria, None, ()).prepare,
            baseline=chosen,
            is_ascii=options.output is None and not probe().is_utf8,
            progress=stderr_progress(lang),
        )
    finally:
        end_progress()
    if mark_baseline is not None:
        store.set_baseline(str(archive), chosen)
        if store.is_memory_only:
            talk(f"npulse: {store.folder} cannot be written: the baseline is not kept")
    return written(found.report, format_name, options, (archive,))


def known_baseline(store: StateStore, archive: Path) -> str:
    """The kept baseline of an archive, said aloud; "" without one, or where the round is gone."""
    kept = store.baseline(str(archive))
    if not kept:
        return ""
    from npulse.core.run.discover import discover

    shown = safe_text(kept, 80)
    if kept not in [one.name for one in discover(archive).rounds]:
        talk(f"npulse: the baseline {shown} is not here any more; --mark-baseline none forgets it")
        return ""
    talk(f"npulse: baseline: {shown} (marked; --mark-baseline none takes it away)")
    return kept
