"""A second opening of the same files: the same answers, and no file of the run opened."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from npulse.core import kept
from npulse.core.analysis import AnalysisOptions, AreaReport
from npulse.core.areas import AREAS, area_of
from npulse.core.cache import Cache
from npulse.core.checkup.check import check_up
from npulse.core.checkup.criteria_file import default_criteria
from npulse.core.checkup.report import report
from npulse.core.findings import Problem, Report
from npulse.core.kept import discover_kept, forget_kept, keeper_of
from npulse.core.kept.keeper import settings_of
from npulse.core.kept_records import from_plain, to_plain
from npulse.core.progress import ignore_progress, never_cancelled
from npulse.core.report import render
from npulse.core.run.discover import discover
from npulse.core.run.model import Run
from npulse.core.run.stamp import FRESH_NS, RACY_NS, stamp_of
from npulse.core.scale import Cluster
from npulse.sample_runs import SAMPLES, sample_path
from npulse.tui.panes.device import jobs as device_jobs
from npulse.tui.panes.job_pane import JobTools
from npulse.tui.panes.memory import jobs as memory_jobs
from npulse.tui.panes.overflow.jobs import look_through_round
from npulse.tui.panes.performance import jobs as performance_jobs
from npulse.tui.panes.precision.jobs import Choice, compare_round

from ...opened import opened_in

pytestmark = pytest.mark.xdist_group("kept")


def settled_ns(path: Path) -> int:
    """A moment at which nothing of the run is young any more."""
    found = stamp_of(path)
    assert found is not None
    return max(found.modified_ns + FRESH_NS, found.changed_ns + RACY_NS) + 1


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first rounds of a sample run, copied so that nothing else changes them."""
    copy = tmp_path_factory.mktemp("kept") / "w8a8"
    others = shutil.ignore_patterns("round2", "round3")
    return Path(shutil.copytree(sample_path(next(iter(SAMPLES))), copy, ignore=others))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("kept") / "npulse")


def opened(path: Path, cache: Cache) -> Run:
    return discover_kept(path, cache, now_ns=settled_ns(path))


def texts_of(run: Run, cache: Cache | None, lang: Any) -> list[str]:
    """All that the check-up and every area say, as text and as JSON."""
    options = AnalysisOptions(lang=lang, cache=cache)
    told = [report(check_up(run, options, default_criteria()), lang)]
    for area in AREAS:
        told += [one.report for one in area.reports_of(run, options)]
    return ["".join(render(one, form, version="1", lang=lang)) for one in told for form in ("text", "json")]


def test_the_second_time_says_the_same_and_opens_no_file(sample: Path, cache: Cache) -> None:
    plain = texts_of(discover(sample, now_ns=settled_ns(sample)), None, "en")
    assert texts_of(opened(sample, cache), cache, "en") == plain
    with opened_in(sample) as files:
        assert texts_of(opened(sample, cache), cache, "en") == plain
    assert files == []
    assert len(plain) >= 10


def test_the_watch_sees_files(sample: Path) -> None:
    with opened_in(sample) as files:
        discover(sample)
    assert any(path.endswith("dump.json") for path in files)


def small_run(folder: Path) -> Path:
    """A log of a sanitizer with one error, and a folder beside it."""
    source = next(sample_path(next(iter(SAMPLES))).glob("round1/sanitizer/*.log"))
    (folder / "logs").mkdir(parents=True)
    shutil.copy(source, folder / "logs" / "mssanitizer.log")
    (folder / "notes").mkdir()
    (folder / "notes" / "a.md").write_text("x")
    return folder


def verdict(run: Run, cache: Cache) -> str:
    (told,) = area_of("memory").reports_of(run, AnalysisOptions(cache=cache))
    return told.report.verdict


def test_what_changes_is_read_anew(tmp_path: Path) -> None:
    run, cache = small_run(tmp_path / "run"), Cache(tmp_path / "cache")
    log = run / "logs" / "mssanitizer.log"
    assert verdict(opened(run, cache), cache) == "fail"
    status, text = log.stat(), log.read_bytes()
    clean = b"[mssanitizer] mssanitizer is running\n".ljust(len(text) - 1) + b"\n"
    log.write_bytes(clean)
    os.utime(log, ns=(status.st_atime_ns, status.st_mtime_ns))  # size and time are what they were
    assert stamp_of(run) is not None and log.stat().st_size == status.st_size
    assert verdict_or_nothing(opened(run, cache), cache) != "fail"
    log.write_bytes(text)
    assert verdict(opened(run, cache), cache) == "fail"


def verdict_or_nothing(run: Run, cache: Cache) -> str:
    told = area_of("memory").reports_of(run, AnalysisOptions(cache=cache))
    return told[0].report.verdict if told else ""


def test_new_and_removed_files_are_seen(tmp_path: Path) -> None:
    run, cache = small_run(tmp_path / "run"), Cache(tmp_path / "cache")
    log = run / "logs" / "mssanitizer.log"
    assert [a.relative for a in opened(run, cache).artifacts] == ["logs/mssanitizer.log"]
    shutil.copy(log, run / "logs" / "second.log")
    assert len(opened(run, cache).artifacts) == 2
    os.remove(run / "logs" / "second.log")
    log.rename(run / "logs" / "other.log")
    assert [a.relative for a in opened(run, cache).artifacts] == ["logs/other.log"]


def test_young_files_leave_nothing_behind(tmp_path: Path) -> None:
    run, cache = small_run(tmp_path / "run"), Cache(tmp_path / "cache")
    found = stamp_of(run)
    assert found is not None
    for now_ns in (found.modified_ns + FRESH_NS, found.changed_ns + RACY_NS, found.modified_ns - FRESH_NS):
        young = discover_kept(run, cache, now_ns=now_ns)
        assert young.stamp == "" and keeper_of(young, cache) is None
    assert verdict(young, cache) == "fail"
    assert cache.usage().n_entries == 0


def test_a_run_that_changes_while_it_is_read_is_not_kept(tmp_path: Path) -> None:
    run, cache = small_run(tmp_path / "run"), Cache(tmp_path / "cache")
    keeper = keeper_of(opened(run, cache), cache)
    assert keeper is not None and keeper.put("report", "a", (1, 2))
    (run / "notes" / "a.md").write_text("y")
    assert not keeper.put("report", "b", (1, 2))
    assert keeper.get("report", "b", tuple) is None and keeper.get("report", "a", tuple) is not None


def test_answers_belong_to_their_settings_and_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, cache = small_run(tmp_path / "run"), Cache(tmp_path / "cache")
    keeper = keeper_of(opened(run, cache), cache)
    assert keeper is not None and keeper.put("report", ("memory", 1), (1,))
    assert keeper.get("report", ("memory", 2), tuple) is None
    assert keeper.get("report", ("memory", 1), Run) is None  # not what is expected
    assert keeper.get("view", ("memory", 1), tuple) is None
    monkeypatch.setattr(kept.keeper, "program_digest", lambda: "another")
    assert keeper.get("report", ("memory", 1), tuple) is None


def test_what_the_system_refused_is_tried_again(tmp_path: Path) -> None:
    path = small_run(tmp_path / "run")
    keeper = keeper_of(opened(path, Cache(tmp_path / "cache")), Cache(tmp_path / "cache"))
    assert keeper is not None
    for number, is_kept in ((errno.EIO, False), (errno.EMFILE, False), (errno.ENOTDIR, True)):
        problem = Problem("a.log", "unreadable", f"reading failed: {os.strerror(number)}")
        report = Report("memory", str(path), "incomplete", problems=(problem,))
        assert keeper.put("report", number, (AreaReport("", "", report),)) is is_kept
    assert keeper.is_current()
    (path / "logs" / "new.log").write_text("x")
    assert not keeper.is_current()


def test_options_that_name_other_files_keep_nothing(tmp_path: Path) -> None:
    plain = AnalysisOptions(lang="zh", cache=Cache(tmp_path), jobs=3)
    assert settings_of(plain) == settings_of(replace(plain, cache=None, jobs=1))
    assert settings_of(replace(plain, cluster=Cluster("tcp://x:1"))) is None  # a part may be lost
    assert settings_of(plain) != settings_of(replace(plain, rank=0))
    assert settings_of(replace(plain, source_roots=(tmp_path,))) is None
    assert settings_of(replace(plain, precision_map="a.toml")) is None


def test_whom_an_answer_is_told_on_the_way_makes_no_other_answer() -> None:
    plain = AnalysisOptions()
    asked = settings_of(plain)
    assert settings_of(replace(plain, on_report=lambda told: None)) == asked
    assert " at 0x" not in repr(asked)


def test_a_reload_forgets_this_run_alone(tmp_path: Path) -> None:
    one, other, cache = small_run(tmp_path / "a"), small_run(tmp_path / "b"), Cache(tmp_path / "cache")
    for run in (one, other):
        verdict(opened(run, cache), cache)
    n_entries = cache.usage().n_entries
    assert forget_kept(one, cache) == n_entries // 2 > 0
    with opened_in(tmp_path) as files:
        opened(other, cache)
    assert not [path for path in files if path.startswith(str(other))]
    with opened_in(one) as files:
        opened(one, cache)
    assert files != []


def test_links_count_as_what_they_are(tmp_path: Path) -> None:
    run = small_run(tmp_path / "run")
    before = stamp_of(run)
    (run / "link").symlink_to("logs")
    first = stamp_of(run)
    (run / "link").unlink()
    (run / "link").symlink_to("notes")
    assert len({before and before.digest, first and first.digest, getattr(stamp_of(run), "digest", "")}) == 3
    (run / "node_modules").mkdir()
    (run / "link").unlink()
    (run / "link").symlink_to("node_modules")
    assert stamp_of(run) is None  # what lies there is not looked through


def test_a_link_on_the_way_of_a_link_counts(tmp_path: Path) -> None:
    run, beside = small_run(tmp_path / "run"), tmp_path / "beside"
    beside.symlink_to(run / "logs")
    (run / "link").symlink_to(beside)
    first = stamp_of(run)
    beside.unlink()
    beside.symlink_to(run / "notes")  # nothing in the run has changed
    second = stamp_of(run)
    assert first is not None and second is not None and first.digest != second.digest


def test_what_cannot_be_listed_has_no_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = small_run(tmp_path / "run")
    assert stamp_of(tmp_path / "none") is None
    monkeypatch.setattr("npulse.core.run.stamp.MAX_ENTRIES", 3)
    assert stamp_of(run) is None
    assert not never_cancelled()


@pytest.mark.parametrize("fault", ["full", "read-only", "link", "cut", "another"])
def test_a_cache_that_fails_changes_no_answer(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, cache = small_run(tmp_path / "run"), Cache(tmp_path / "cache")
    if fault == "full":

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
    elif fault == "read-only":
        cache = Cache(Path("/proc/npulse"))
    elif fault == "link":
        (tmp_path / "elsewhere").mkdir()
        cache.folder.symlink_to(tmp_path / "elsewhere")
    first = verdict(opened(run, cache), cache)
    if fault in ("cut", "another"):
        for entry in cache.folder.iterdir():
            raw = entry.read_bytes()
            entry.write_bytes(
                raw[: len(raw) // 2] if fault == "cut" else raw.replace(b'"schema": 2', b'"schema": 9')
            )
    else:
        assert cache.usage().n_entries == 0
    assert first == verdict(opened(run, cache), cache) == "fail"


def test_what_panes_show_can_be_kept(sample: Path, cache: Cache) -> None:
    """A class that joins what a view holds says how it is kept, or is a record."""
    run = opened(sample, cache)
    name = run.rounds[0].name
    made: list[Any] = []
    tools = JobTools("en", ignore_progress, never_cancelled, made.append)
    options = AnalysisOptions()
    for look in (
        partial(compare_round, run, name, tools, settings=None, choice=Choice()),
        partial(look_through_round, run, name, tools, options=options, saturation=None),
        partial(memory_jobs.read_round, run, name, tools, options=options),
        partial(performance_jobs.read_round, run, name, tools, options=options),
        partial(device_jobs.read_round, run, name, tools, options=options),
    ):
        look()
        view = made[-1]
        facts, arrays = to_plain(view)
        found = from_plain(facts, arrays)
        assert found.table.n_rows == view.table.n_rows > 0
        for row in range(min(view.table.n_rows, 20)):
            assert found.table.row(row).keys() == view.table.row(row).keys()
            assert repr(found.finding(row, "zh")) == repr(view.finding(row, "zh"))
            assert found.detail(row, "en").facts == view.detail(row, "en").facts
