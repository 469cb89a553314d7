"""`npulse [PATH]` and `npulse demo`: the full-screen workbench, or the same triage as text."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from npulse.core.errors import InputError, UsageError
from npulse.core.text import Lang, safe_text

from .options import emit, version
from .progress import end_progress, stderr_progress

if TYPE_CHECKING:
    from npulse.core.findings import Report

    from ..panes.base import Pane

TEXTS: dict[str, tuple[str, str]] = {
    "round": ("round {name}", "轮次 {name}"),
    "found": ("{n} {kind}: {title}{unread}", "{n} {kind}：{title}{unread}"),
    "unread": (" (recognised, not yet read)", "（已识别，尚不支持读取）"),
    "which": (
        "several captures; name target and golden: npulse precision TARGET GOLDEN   found: {names}",
        "有多份采集；请指定目标与标杆：npulse precision TARGET GOLDEN   找到：{names}",
    ),
    "nothing": (
        "nothing that can be read yet among {n} entries; looked for dump.json of msprobe (PrecisionDebugger)",
        "{n} 个条目中没有目前可读取的内容；已查找 msprobe（PrecisionDebugger）的 dump.json",
    ),
    "demo": ("sample run {name}: {title}", "示例 {name}：{title}"),
    "open": (
        "open it on a terminal: npulse demo   or by hand: npulse {path}",
        "在终端中打开：npulse demo，或 npulse {path}",
    ),
}

SWITCH_S = 0.001
"""Workers parse in threads: at Python's own 5 ms between turns a key waits for several of them."""


def open_workbench(
    path: Path | None, *, pane: str | None, lang: Lang, plain: bool, jobs: int, no_cache: bool
) -> int:
    """Open the workbench; without a terminal (or with --plain) print what it would show."""
    if path is not None and not os.path.lexists(path):
        raise InputError("no such file or folder", path=path, hint="npulse --help lists the commands")
    if plain or not _has_screen():
        if path is None:
            raise UsageError("nothing to show as text", hint="npulse PATH, or npulse on a terminal")
        return print_triage(path, lang)
    return _run_screen(str(path) if path is not None else None, pane, lang, jobs, no_cache)


def open_demo(name: str | None, *, lang: Lang, plain: bool) -> int:
    """Open a bundled sample run; as text it exits 0 once it was shown, whatever the verdict."""
    from npulse.sample_runs import SAMPLES, sample_path

    chosen = name or next(iter(SAMPLES))
    path = sample_path(chosen)
    if plain or not _has_screen():
        title = SAMPLES[chosen][1 if lang == "zh" else 0]
        emit([_say("demo", lang, name=chosen, title=title) + "\n\n"])
        print_triage(path, lang)
        emit(["\n" + _say("open", lang, path=str(path)) + "\n"])
        return 0
    return _run_screen(str(path), "precision", lang, 0, no_cache=False, first_round=0)


def print_triage(path: Path, lang: Lang) -> int:
    """What is in a run and, for each round, what the precision analysis says; the worst exit code."""
    from npulse.core.scale import limit_blas_threads

    limit_blas_threads()
    from collections import Counter

    from npulse.core import api
    from npulse.core.precision.alone import check_alone
    from npulse.core.precision.compare import compare_captures
    from npulse.core.precision.report import report as precision_report
    from npulse.core.report import render
    from npulse.core.run.kinds import KINDS

    progress = stderr_progress()
    try:
        run = api.open_run(path)
        pairs = api.pairs_in(run)
        reports: list[tuple[str, Report]] = []
        for pair in pairs:
            try:
                comparison = compare_captures(pair, progress=progress)
                report = precision_report(comparison, lang=lang)
            except InputError as error:  # a broken round does not take down the others
                report = _unreadable(pair.relative(Path(error.path or run.path)), error)
            reports.append((pair.round, report))
        dumps = [a for a in run.artifacts if a.kind == "msprobe.dump"]
        if api.is_single_capture(run):
            reports.append(("", check_alone(run, dumps, lang=lang, progress=progress)))
    finally:
        end_progress()
    emit([f"npulse  {safe_text(str(run.path))}\n"])
    for kind, n in sorted(Counter(a.kind for a in run.artifacts).items()):
        known = KINDS[kind]
        unread = "" if known.is_read else _say("unread", lang)
        title = known.title_zh if lang == "zh" else known.title
        emit(["  " + _say("found", lang, n=n, kind=kind, title=title, unread=unread) + "\n"])
    code = 0
    for round_name, report in reports:
        if round_name:
            emit(["\n" + _say("round", lang, name=safe_text(round_name)) + "\n"])
        report = api.with_problems(report, run.problems)
        emit(render(report, "text", version=version(), lang=lang))
        code = max(code, report.exit_code(), key=(0, 4, 1).index)
    if not reports:
        code = 4
        names = ", ".join(safe_text(name) for name in api.capture_names(run)[:8])
        key = "which" if names else "nothing"
        emit([_say(key, lang, names=names, n=run.n_entries) + "\n"])
        emit(f"! {safe_text(p.artifact)}  {p.kind}: {safe_text(p.message)}\n" for p in run.problems)
    return code


def _unreadable(where: str, error: InputError) -> Report:
    from npulse.core.findings import Problem, Report

    problem = Problem(where, "unreadable", error.message, error.line, error.byte, error.hint)
    return Report("precision", where, "incomplete", problems=(problem,))


def _say(key: str, lang: Lang, **values: object) -> str:
    from npulse.core.text import say

    return say(TEXTS, key, lang, **values)


def _has_screen() -> bool:
    from ..terminal import probe

    return sys.stdin.isatty() and not probe().needs_plain_report


def _run_screen(
    path: str | None, pane: str | None, lang: Lang, jobs: int, no_cache: bool, first_round: int | None = None
) -> int:
    from npulse.core.scale import limit_blas_threads

    from ..terminal import prepare_environment, probe

    limit_blas_threads()
    sys.setswitchinterval(SWITCH_S)
    terminal = probe()
    prepare_environment(terminal)
    from ..actions import PANES
    from ..app import NpulseApp, run_app
    from ..keymap import load_keymap
    from ..state import StateStore

    areas = [area for area, _, _ in PANES]
    if pane is not None and pane not in areas:
        raise UsageError(f"no pane '{pane}'", hint="panes: " + ", ".join(areas))

    def make(area: str) -> Pane:
        return _make_pane(area, jobs, no_cache)

    app = NpulseApp(
        path,
        terminal=terminal,
        lang=lang,
        keymap=load_keymap(lang=lang),
        store=StateStore(),
        make_pane=make,
        first_pane=pane or ("precision" if path is not None else "checkup"),
        first_round=first_round,
    )
    return run_app(app)


def _make_pane(area: str, jobs: int, no_cache: bool) -> Pane:
    from ..panes import make_pane

    pane = make_pane(area)
    if area == "precision":
        from npulse.core.cache import default_cache
        from npulse.core.precision.compare import Settings

        folder = os.environ.get("NPULSE_CACHE_DIR")
        pane.settings = Settings(jobs=jobs, cache=None if no_cache else default_cache(folder))  # type: ignore[attr-defined]
    return pane
