"""What the precision pane does in workers: plain functions, no widget in sight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from npulse.core.errors import UsageError
from npulse.core.findings import Report
from npulse.core.text import Lang

if TYPE_CHECKING:
    from npulse.core.precision.compare import Comparison, Settings
    from npulse.core.precision.layers import LayerStrip
    from npulse.core.progress import IsCancelled, ProgressCallback
    from npulse.core.run.model import Run
    from npulse.core.run.sides import CapturePair
    from npulse.core.table import Order, Table

    from ..base import ViewState


@dataclass(frozen=True, slots=True)
class Shown:
    """What a comparison gives the pane, made in the worker and taken over as a whole."""

    comparison: Comparison
    report: Report
    table: Table
    strips: tuple[LayerStrip, ...]
    lang: Lang


@dataclass(frozen=True, slots=True)
class Alone:
    """No pair in this round: the report of one capture alone (None: no capture at all), captures found."""

    report: Report | None
    captures: tuple[str, ...]
    lang: Lang


def compare_round(
    run: Run,
    round_name: str,
    settings: Settings | None,
    lang: Lang,
    *,
    chosen: tuple[Path, Path] | None = None,
    progress: ProgressCallback,
    is_cancelled: IsCancelled,
    on_shown: Callable[[Shown], None],
) -> Alone | None:
    """Compare the pair of a round; `on_shown` gets it after the first read and when it is complete.

    chosen: (target, golden) that the user named instead of what the folder names say.
    """
    from npulse.core.precision.compare import Settings, compare_captures
    from npulse.core.run.sides import capture_pairs, pair_of

    if chosen is not None:
        pair: CapturePair | None = pair_of(*chosen, progress=progress, is_cancelled=is_cancelled)
    else:
        pair = next((p for p in capture_pairs(run) if p.round == round_name), None)
    if pair is None:
        return _alone(run, round_name, lang, progress, is_cancelled)
    done = compare_captures(
        pair,
        settings or Settings(),
        progress=progress,
        is_cancelled=is_cancelled,
        on_update=lambda comparison: on_shown(make_shown(comparison, lang)),
    )
    on_shown(make_shown(done, lang))
    return None


def make_shown(comparison: Comparison, lang: Lang) -> Shown:
    """Report, table and strips of a comparison."""
    from npulse.core.precision.layers import layer_strip
    from npulse.core.precision.report import report
    from npulse.core.precision.table import precision_table

    strips = tuple(layer_strip(comparison, rank) for rank in comparison.ranks)
    return Shown(comparison, report(comparison, lang=lang), precision_table(comparison), strips, lang)


def translated(shown: Shown, lang: Lang) -> Shown:
    """The same with its report in another language."""
    from npulse.core.precision.report import report

    return replace(shown, report=report(shown.comparison, lang=lang), lang=lang)


def capture_choices(run: Run) -> list[tuple[str, Path]]:
    """All captures of a run by name, for the user to say which is target and which is golden."""
    from npulse.core.run.sides import captures_of

    return [(f"{c.round}: {c.name}" if c.round else c.name, c.path) for c in captures_of(run)]


def _alone(
    run: Run, round_name: str, lang: Lang, progress: ProgressCallback, is_cancelled: IsCancelled
) -> Alone:
    from npulse.core.precision.alone import check_alone
    from npulse.core.run.sides import captures_of

    artifacts = next((r.artifacts for r in run.rounds if r.name == round_name), ())
    dumps = [a for a in artifacts if a.kind == "msprobe.dump"]
    names = tuple(capture.name for capture in captures_of(run))
    if not dumps:
        return Alone(None, names, lang)
    report = check_alone(run, dumps, lang=lang, progress=progress, is_cancelled=is_cancelled)
    return Alone(report, names, lang)


def order_rows(table: Table, view: ViewState) -> tuple[Order | None, str]:
    """Rows of a view in display order (None: all, as they are), and why a filter could not be used."""
    from npulse.core.query import matching_rows
    from npulse.core.table import sort_order

    order, trouble = None, ""
    try:
        order = matching_rows(table, view.filter) if view.filter.strip() else None
    except UsageError as error:
        trouble = error.message
    if view.sort:
        order = sort_order(table, view.sort, descending=view.descending, within=order)
    return order, trouble


def export(shown: Shown, run: Path, path: Path, lang: Lang) -> int:
    """Write findings and table; returns the number of characters. InputError, UsageError."""
    import npulse
    from npulse.core.precision.report import report
    from npulse.core.report import format_of, render, write_report

    full = report(shown.comparison, lang=lang, tables=True)
    pieces = render(full, format_of(str(path), "text"), version=str(npulse.__version__), lang=lang)
    return write_report(pieces, path, runs=[run])
