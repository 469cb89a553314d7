"""`npulse [PATH]` and `npulse demo`: the full-screen workbench, or the same triage as text."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from npulse.core.errors import InputError, UsageError
from npulse.core.text import Lang, safe_text

from ..state import user_config_file
from .options import emit, opened, talk, user_cache, version
from .progress import end_progress, stderr_progress

if TYPE_CHECKING:
    from npulse.core.analysis import AreaReport
    from npulse.core.cache import Cache
    from npulse.core.checkup.criteria_file import CriteriaFile
    from npulse.core.checkup.judge import Prepare
    from npulse.core.findings import Finding
    from npulse.core.run.model import Run

    from ..panes.base import Pane
    from ..terminal import Terminal

TEXTS: dict[str, tuple[str, str]] = {
    "round": ("round {name}", "轮次 {name}"),
    "found": ("{n} {kind}: {title}{unread}", "{n} {kind}：{title}{unread}"),
    "plugged": (" (read by plug-in {plugin})", "（由插件 {plugin} 读取）"),
    "unread": (" (recognised, not yet read)", "（已识别，尚不支持读取）"),
    "inventory": ("in it:", "其中有："),
    "no-pane": (
        "--pane {pane} is for the workbench; as text all areas are shown",
        "--pane {pane} 用于工作台；文本输出包含所有方面",
    ),
    "no-follow": (
        "--follow and --on-finding are for the workbench; as text the run is shown as it is now",
        "--follow 与 --on-finding 用于工作台；文本输出仅显示当前状态",
    ),
    "no-replay": (
        "--replay is for the workbench; as text nothing is done again",
        "--replay 用于工作台；文本输出不重放操作",
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


@dataclass(frozen=True, slots=True)
class Followed:
    """How a run is followed. at_start: from the beginning. on_finding: command that is told of new errors."""

    at_start: bool = False
    has_bell: bool = True
    on_finding: str | None = None


SWITCH_S = 0.001
"""Workers parse in threads: at Python's own 5 ms between turns a key waits for several of them."""


def open_workbench(
    path: Path | None,
    *,
    pane: str | None,
    lang: Lang,
    plain: bool,
    jobs: int,
    no_cache: bool,
    source_roots: tuple[Path, ...] = (),
    followed: Followed = Followed(),
    replay: str | None = None,
    replay_pause_s: float = 0,
) -> int:
    """Open the workbench; without a terminal (or with --plain) print what it would show."""
    if path is not None and not os.path.lexists(path):
        raise InputError("no such file or folder", path=path, hint="npulse --help lists the commands")
    given, path = path, opened(path) if path is not None else None
    for root in source_roots:
        if not root.is_dir():
            raise InputError("not a folder", path=root, hint="--source-root takes folders with sources")
    if plain or not _has_screen():
        if path is None:
            raise UsageError("nothing to show as text", hint="npulse PATH, or npulse on a terminal")
        if pane is not None:
            talk(f"npulse: {_say('no-pane', lang, pane=pane)}")
        if followed.at_start or followed.on_finding is not None:
            talk(f"npulse: {_say('no-follow', lang)}")
        if replay is not None:
            talk(f"npulse: {_say('no-replay', lang)}")
        return print_triage(path, lang, jobs=jobs, no_cache=no_cache, source_roots=source_roots)
    if replay is not None and path is None:
        raise UsageError("--replay needs a run", hint="npulse PATH --replay NAME")
    shown = str(path) if path is not None else None
    return _run_screen(
        shown,
        pane,
        lang,
        jobs,
        no_cache,
        source_roots=source_roots,
        followed=followed,
        greeting=_taken_over(path, lang, given) if path is not None else (),
        replay=replay,
        pause_s=replay_pause_s,
    )


def _taken_over(path: Path, lang: Lang, given: Path | None = None) -> tuple[str, ...]:
    """Of an opened pack (given: as it was named): what to say first. Its marks and recordings become those of
    the unpacked run."""
    from npulse.core.packs.notes import read_notes
    from npulse.core.packs.opening import pack_of

    from ..pack_text import pack_lines
    from ..state import StateStore

    pack = pack_of(path)
    if pack is None:
        return ()
    notes, store, run = read_notes(pack), StateStore(), str(path)
    if notes.marks and not store.marks(run):
        store.replace_marks(run, notes.marks)
    kept = store.recordings(run)
    for name, steps in notes.recordings.items():
        if name not in kept:
            store.keep_recording(run, name, steps)
    return pack_lines(pack, notes, lang, given or path)


def open_demo(name: str | None, *, lang: Lang, plain: bool, jobs: int = 0, no_cache: bool = False) -> int:
    """Open a bundled sample run; as text it exits 0 once it was shown, whatever the verdict."""
    from npulse.sample_runs import SAMPLES, sample_path

    chosen = name or next(iter(SAMPLES))
    path = sample_path(chosen)
    if plain or not _has_screen():
        title = SAMPLES[chosen][1 if lang == "zh" else 0]
        emit([_say("demo", lang, name=chosen, title=title) + "\n\n"])
        print_triage(path, lang, jobs=jobs, no_cache=no_cache)
        emit(["\n" + _say("open", lang, path=str(path)) + "\n"])
        return 0
    return _run_screen(str(path), "precision", lang, jobs, no_cache, first_round=0)


def open_served(
    path: str | None,
    *,
    lang: Lang,
    jobs: int,
    no_cache: bool,
    source_roots: tuple[Path, ...],
    withheld: frozenset[str],
) -> int:
    """The workbench of one page of a browser. withheld: ids of actions that the page does not offer."""
    from ..terminal import served

    return _run_screen(
        path, None, lang, jobs, no_cache, source_roots=source_roots, terminal=served(), withheld=withheld
    )


def print_triage(
    path: Path,
    lang: Lang,
    *,
    jobs: int = 0,
    no_cache: bool = False,
    source_roots: tuple[Path, ...] = (),
) -> int:
    """What every area says of a run, verdicts first, then what is in it; returns the worst exit code."""
    from npulse.core.scale import limit_blas_threads

    limit_blas_threads()
    from npulse.core.analysis import AnalysisOptions
    from npulse.core.areas import AREAS
    from npulse.core.checkup.run_report import criteria_in_force, silences_of
    from npulse.core.findings import worst_exit_code
    from npulse.core.gate import Gate
    from npulse.core.kept import discover_kept
    from npulse.core.plugins.analyses import added_plugin_reports, has_analyses, without_tables
    from npulse.core.report import render, verdict_line

    criteria = criteria_in_force(None, user_config_file("criteria.toml"))
    gate = Gate(date.today(), silences_of(criteria), lang=lang)
    progress = stderr_progress(lang)
    cache = user_cache(no_cache)
    options = AnalysisOptions(lang=lang, jobs=jobs, cache=cache, source_roots=source_roots)
    has_plugins = has_analyses()
    asked = replace(options, tables=has_plugins)
    try:
        run = discover_kept(path, cache, progress=progress)
        areas = [area for area in AREAS if area.is_built]
        by_area = {
            area.id: area.reports_of(
                run, replace(asked, criteria=criteria.area_options(area.id)), progress=progress
            )
            for area in areas
        }
        if has_plugins:
            by_area = added_plugin_reports(run, by_area, options)
        by_area = {
            area: tuple(replace(one, report=gate.prepare(one.report)) for one in several)
            for area, several in by_area.items()
        }
        found = [one for several in by_area.values() for one in several]
        found = list(map(without_tables, found))
    finally:
        end_progress()
    for one in found:
        for note in one.notes:
            talk(f"npulse: {note}")
    emit([f"npulse  {safe_text(str(run.path))}\n"])
    if found:
        emit(f"{line}\n" for line in _check_up_lines(run, by_area, criteria, gate.prepare, lang, cache))
    if len(found) > 1:
        emit(f"{verdict_line(one.report, lang).rstrip()}{_round_behind(one)}\n" for one in found)
    for one in found:
        emit(["\n" + (_say("round", lang, name=safe_text(one.round)) + "\n" if one.round else "")])
        emit(render(one.report, "text", version=version(), lang=lang))
    if not found:
        emit([_say("nothing", lang, n=run.n_entries) + "\n"])
        emit(f"! {safe_text(p.artifact)}  {p.kind}: {safe_text(p.message)}\n" for p in run.problems)
    emit(_inventory(run, lang))
    return worst_exit_code(one.report.exit_code() for one in found)


def _check_up_lines(
    run: Run,
    by_area: Mapping[str, Sequence[AreaReport]],
    criteria: CriteriaFile,
    prepare: Prepare,
    lang: Lang,
    cache: Cache | None,
) -> Iterator[str]:
    """The check-up of the reports that are there anyway, with what the run tells of its environment."""
    from npulse.core.checkup.check import kept_environment_of, kept_facts_of
    from npulse.core.checkup.judge import judged
    from npulse.core.checkup.report import report
    from npulse.core.report import verdict_line

    found = kept_environment_of(run, cache, lang=lang)
    environment = () if found is None else (replace(found, report=prepare(found.report)),)
    reports = {**by_area, "environment": environment}
    told = report(judged(kept_facts_of(run, cache), reports, criteria, lang=lang, prepare=prepare), lang)
    yield verdict_line(told, lang).rstrip("\n")
    yield from told.told
    yield ""


def _round_behind(one: AreaReport) -> str:
    """The round of a verdict whose line does not name it: three lines of one area are told apart."""
    return f"  {safe_text(one.round)}" if one.round and one.round not in one.report.title else ""


def _inventory(run: Run, lang: Lang) -> Iterator[str]:
    """What was recognised in the run, kind by kind."""
    from collections import Counter

    from npulse.core.run.kinds import KINDS

    counts = sorted(Counter(artifact.kind for artifact in run.artifacts).items())
    if counts:
        yield "\n" + _say("inventory", lang) + "\n"
    for kind, n in counts:
        known = KINDS[kind]
        unread = "" if known.is_read else _say("unread", lang)
        if known.plugin:
            unread = _say("plugged", lang, plugin=known.plugin)
        title = known.title_zh if lang == "zh" else known.title
        yield "  " + _say("found", lang, n=n, kind=kind, title=title, unread=unread) + "\n"


def _say(key: str, lang: Lang, **values: object) -> str:
    from npulse.core.text import say

    return say(TEXTS, key, lang, **values)


def _has_screen() -> bool:
    from ..terminal import probe

    return sys.stdin.isatty() and not probe().needs_plain_report


def _run_screen(
    path: str | None,
    pane: str | None,
    lang: Lang,
    jobs: int,
    no_cache: bool,
    *,
    first_round: int | None = None,
    source_roots: tuple[Path, ...] = (),
    followed: Followed = Followed(),
    greeting: tuple[str, ...] = (),
    replay: str | None = None,
    pause_s: float = 0,
    terminal: Terminal | None = None,
    withheld: frozenset[str] = frozenset(),
) -> int:
    from npulse.core.scale import limit_blas_threads

    from ..terminal import prepare_environment, probe

    limit_blas_threads()
    sys.setswitchinterval(SWITCH_S)
    terminal = terminal or probe()
    prepare_environment(terminal)
    from ..actions import PANES
    from ..app import NpulseApp, run_app
    from ..keymap import load_keymap
    from ..state import StateStore

    areas = [area for area, _, _ in PANES]
    if pane is not None and pane not in areas:
        raise UsageError(f"no pane '{pane}'", hint="panes: " + ", ".join(areas))

    store = StateStore()
    recording: tuple[str, ...] = ()
    if replay is not None:
        from ..recording import recording_of

        recording = recording_of(replay, store.recordings(path or ""))
    tell = _finding_hook(followed.on_finding)

    def make(area: str) -> Pane:
        return _make_pane(area, jobs, no_cache, source_roots)

    app = NpulseApp(
        path,
        terminal=terminal,
        lang=lang,
        keymap=load_keymap(lang=lang),
        store=store,
        make_pane=make,
        first_pane=pane or (None if path is not None else "checkup"),
        first_round=first_round,
        follow=followed.at_start,
        has_bell=followed.has_bell and os.environ.get("NPULSE_NO_BELL", "") in ("", "0"),
        tell_finding=tell,
        withheld=withheld,
        cache=user_cache(no_cache),
        greeting=greeting,
        recording=recording,
        pause_s=pause_s,
    )
    return run_app(app)


def _finding_hook(command: str | None) -> Callable[[Finding], object] | None:
    """What gives new findings to the user's command; UsageError where there is no such command."""
    if command is None:
        return None
    from npulse.core.report.as_json import finding_dict
    from npulse.core.watch.hook import Hook, command_words

    hook = Hook(command_words(command))
    return lambda finding: hook.tell(finding_dict(finding))


def _make_pane(area: str, jobs: int, no_cache: bool, source_roots: tuple[Path, ...]) -> Pane:
    from ..panes import make_pane

    pane = make_pane(area)
    if area == "precision":
        from npulse.core.precision.comparison import Settings

        pane.settings = Settings(jobs=jobs, cache=user_cache(no_cache))  # type: ignore[attr-defined]
    if area == "memory":
        from npulse.core.analysis import AnalysisOptions

        pane.options = AnalysisOptions(source_roots=source_roots)  # type: ignore[attr-defined]
    if area in ("checkup", "rounds"):
        from npulse.core.analysis import AnalysisOptions

        options = AnalysisOptions(jobs=jobs, cache=user_cache(no_cache), source_roots=source_roots)
        pane.options = options  # type: ignore[attr-defined]
    return pane
