"""The first lines of the device pane: how many cards, which is not well, what to do; why none are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from npulse.core.text import safe_text

if TYPE_CHECKING:
    from npulse.core.device.view import DeviceView

    from ...glyphs import Glyphs

Tr = Callable[..., str]


def shown_lines(view: DeviceView, tr: Tr, glyphs: Glyphs, live: str) -> list[str]:
    """Two lines: verdict, cards, how many are not OK; the first finding and what to do. live: how polling
    stands, "" for what a file says."""
    separator = ", " if glyphs.is_ascii else " · "
    n_chips = len({view.chip(row).key for row in range(view.table.n_rows)})
    parts = [tr("device.n-chips-one" if n_chips == 1 else "device.n-chips", n=n_chips)]
    n_unwell = len(unwell_rows(view))
    if n_unwell:
        parts.append(tr("device.n-unwell", n=n_unwell))
    main = view.found.main
    if main is not None:
        if main.snapshot.driver_version:
            parts.append(tr("device.driver", version=safe_text(main.snapshot.driver_version, 30)))
        if not live:
            n_files = len({view.source(row).name for row in range(view.table.n_rows)})
            is_one = n_files == 1
            parts.append(safe_text(main.name, 60) if is_one else tr("device.n-files", n=n_files))
    if live:
        parts.append(live)
    line = f"{view.report.verdict.upper()}  {separator.join(parts)}"
    return [line, _first_finding(view, tr, glyphs)]


def unwell_rows(view: DeviceView) -> set[tuple[int, int]]:
    """The chips of which an error or a warning is told, each once however many states tell it."""
    return {
        view.chip(row).key
        for row in range(view.table.n_rows)
        if any(note.severity in ("error", "warning") for note in view.notes(row))
    }


def _first_finding(view: DeviceView, tr: Tr, glyphs: Glyphs) -> str:
    if not view.report.findings:
        return tr("device.well" if view.report.verdict == "pass" else "device.nothing-said")
    first = view.report.findings[0]
    line = (
        f"{glyphs.severity(first.severity)} {safe_text(first.subject, 60)}: {safe_text(first.message, 400)}"
    )
    return f"{line}  {tr('detail.next')}: {safe_text(first.next_step, 400)}" if first.next_step else line


def lines_without_rows(view: DeviceView, tr: Tr, glyphs: Glyphs, live: str) -> list[str]:
    """Nothing is known of any card: what npu-smi said instead, what that means, what to do."""
    lines = [f"{view.report.verdict.upper()}  {live}".rstrip(), ""]
    lines += [safe_text(line, 400) for line in view.report.told]
    for finding in view.report.findings:
        lines += ["", f"{glyphs.severity(finding.severity)} {safe_text(finding.message, 1000)}"]
        if finding.next_step:
            lines.append(f"    {tr('detail.next')}: {safe_text(finding.next_step, 1000)}")
    return lines


def nothing_lines(path: str, commands: list[str], key: str, tr: Tr) -> list[str]:
    """What was looked for, where, how to get it; and the key that asks the cards of this machine."""
    lines = [tr("device.none", path=safe_text(path)), "", tr("device.ask-now", key=key), ""]
    return [*lines, tr("device.how-capture"), *(f"  {command}" for command in commands)]
