"""The arithmetic of the benchmarks beside the peers, and what the page says of what is missing or was
stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from . import turns
from .environments import Installed, Missing, Peer, environment_of
from .page import number, page
from .results import Cell, Measured, growth, keep, kept, ratio
from .running import Run, run
from .targets import TARGETS, Check, Target
from .turns import Bounds, measure, why_not
from .works import WORKS, Place, Way, Work, python_of

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
FACTS = {"processors": "2", "load": "0.3", "date": "2026-01-02"}


def cell(*costs: float, stopped: str = "", told: str = "") -> Cell:
    return Cell([Run(cost, 2 * cost, 10 * cost, stopped, {told: cost} if told else {}) for cost in costs])


def two(ours: Cell, theirs: Cell) -> dict[str, Measured]:
    return {
        "op_summary": Measured(
            {10: 5_000_000}, {"npulse, top 20": {10: ours}, "polars, scan": {10: theirs}}, FACTS
        )
    }


def test_a_ratio_is_the_median_of_the_ratios_of_the_turns() -> None:
    # medians 2 and 5 would give 0.4; the turns give 1/5, 4/4, 2/10
    assert ratio(cell(1, 4, 2), cell(5, 4, 10), "cpu_s") == pytest.approx(0.2)


def test_turns_that_were_stopped_are_in_no_ratio() -> None:
    assert ratio(cell(1, 1), cell(2, 2, stopped="more than 5 min"), "cpu_s") is None
    assert ratio(cell(1), Cell(), "cpu_s") is None


def test_figures_that_a_run_told_itself_have_a_ratio_too() -> None:
    assert ratio(cell(3, told="ms"), cell(6, told="ms"), "ms") == 0.5
    assert ratio(cell(3), cell(6), "ms") is None


def test_growth_is_from_each_scale_to_the_next() -> None:
    cells = {1: cell(1, 3), 10: cell(20), 40: cell(1, stopped="failed")}
    assert growth(cells, "cpu_s", (1, 10, 40)) == [10, None]


def test_results_are_read_as_they_were_kept(tmp_path: Path) -> None:
    works = two(cell(1, told="ms"), Cell([], "peer missing"))
    keep(tmp_path / "results.json", works)
    assert kept(tmp_path / "results.json") == works
    assert kept(tmp_path / "none.json") == {}


# ---- targets ----


@pytest.mark.parametrize(
    ("ours", "verdict"), [(cell(1), "reached"), (cell(1.01), "not reached"), (Cell(), "not measured")]
)
def test_verdict_of_a_target(ours: Cell, verdict: str) -> None:
    check = Check("op_summary", "npulse, top 20", 10, most=0.5, of="polars, scan")
    assert Target(1, "text", (check,)).verdict(two(ours, cell(2))) == verdict


def test_one_figure_that_is_missing_leaves_a_target_open_and_one_that_fails_decides_it() -> None:
    works = two(cell(1), cell(2))
    holds = Check("op_summary", "npulse, top 20", 10, most=1)
    fails = Check("op_summary", "npulse, top 20", 10, least=2)
    unknown = Check("trace", "npulse, timelines", 40, most=1)
    assert Target(1, "", (holds, unknown)).verdict(works) == "not measured"
    assert Target(1, "", (unknown, fails)).verdict(works) == "not reached"


def test_targets_name_works_and_ways_that_are_there() -> None:
    ways = {(work.name, way.name): way for work in WORKS for way in work.ways}
    scales = {work.name: work.scales for work in WORKS}
    assert [target.number for target in TARGETS] == list(range(1, 17))
    for check in (check for target in TARGETS for check in target.checks):
        for name in filter(None, (check.way, check.of)):
            assert check.scale <= ways[check.work, name].most_scale
        assert {check.scale, check.of_scale or check.scale} <= set(scales[check.work])


# ---- peers ----


def test_a_peer_that_cannot_be_installed_is_missing_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise subprocess.CalledProcessError(1, "pip", stderr="noise\nERROR: No matching distribution\n")

    monkeypatch.setattr(venv, "create", lambda *_, **__: None)
    monkeypatch.setattr(subprocess, "run", refuse)
    assert environment_of(Peer("polars", ("polars",)), tmp_path) == Missing("No matching distribution")


def test_a_missing_peer_is_named_in_the_page_and_its_row_says_why() -> None:
    told = page(two(cell(1), Cell([], "peer missing")), {"polars": Missing("no network"), "pandas": "3.1"})
    assert "| polars | **missing**: no network |" in told
    assert "| polars, scan | missing: no network |" in told
    assert "| pandas | 3.1 |" in told


def test_a_missing_peer_is_not_run() -> None:
    way = Way("theirs", lambda _: [], peer="polars")
    assert python_of(way, {"polars": Missing("no network")}) is None
    assert python_of(way, {"polars": Installed(Path("/peer/python"), "1")}) == Path("/peer/python")


def test_the_page_tells_a_loaded_machine() -> None:
    works = two(cell(1), cell(2))
    assert "Loaded" not in page(works, {})
    works["op_summary"].facts = {**FACTS, "load": "3.0"}
    assert "**Loaded** when `op_summary` began (load average 3.0)" in page(works, {})


def test_the_page_tells_what_was_stopped_and_what_was_not_run() -> None:
    works = two(cell(1), cell(300, stopped="more than 5 min"))
    told = page(works, {"polars": "2.1"})
    assert "| polars, scan | 10x |  |  |  |  | more than 5 min (300 CPU s until then) |" in told
    works["op_summary"].cells["polars, scan"][10] = Cell([], "not run at this amount")
    assert "| not run at this amount |" in page(works, {"polars": "2.1"})


@pytest.mark.parametrize(
    ("value", "text"), [(1234.5, "1,234"), (12.34, "12.3"), (1.234, "1.23"), (0.0123, "0.012")]
)
def test_three_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text


# ---- turns ----


def test_what_would_take_too_long_is_not_run() -> None:
    way = Way("theirs", lambda _: [], most_scale=40)
    cells = {1: cell(14), 10: cell(50)}  # 28 and 100 s of wall time: 20 s to start, 8 s for each 1x
    assert why_not(way, cells, 40, limit_s=341) == ""
    assert why_not(way, cells, 40, limit_s=339) == "not run: by the smaller amounts it would take 5.7 min"
    assert why_not(way, {1: cell(1000)}, 10, limit_s=300) == ""  # how much of it is the start is not known
    assert why_not(way, cells, 100, limit_s=1e9) == "not run at this amount"
    assert (
        why_not(way, {1: cell(5, stopped="failed: x")}, 10, 1e9) == "not run: a smaller amount had no result"
    )


def test_ways_run_in_turn(tmp_path: Path) -> None:
    order = tmp_path / "order"

    def writes(name: str) -> Callable[[Place], list[str]]:
        return lambda _: ["sh", "-c", f"echo {name} >> {order}"]

    work = Work("w", "", "", 1, "", (Way("a", writes("a")), Way("b", writes("b"))), (1,))
    bounds = Bounds(n_pairs=3, limit_s=10, turns_s=60, limit_mb=1e6)
    found = measure(work, {}, (1,), bounds, tmp_path, lambda _: None)
    assert order.read_text().split() == ["a", "b"] * 3
    assert {name: len(by[1].good) for name, by in found.cells.items()} == {"a": 3, "b": 3}


# ---- one run ----


def run_here(command: list[str], folder: Path, **words: float) -> Run:
    limits = {"limit_s": 20.0, "limit_mb": 1e6, **words}
    return run(command, folder, extra={}, limit_s=limits["limit_s"], limit_mb=limits["limit_mb"])


def test_cpu_time_and_memory_of_a_child_count(tmp_path: Path) -> None:
    burn = "import time\nx = bytearray(60_000_000)\nwhile time.process_time() < 0.3: pass"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {burn!r}])"
    found = run_here([sys.executable, "-S", "-c", script], tmp_path)
    assert found.stopped == ""
    assert found.cpu_s >= 0.3
    assert found.peak_mb >= 60


def test_what_a_run_tells_is_the_json_of_its_last_line(tmp_path: Path) -> None:
    found = run_here(["sh", "-c", """echo words; echo '{"ms": 1.5, "text": "x"}'"""], tmp_path)
    assert found.told == {"ms": 1.5}


def test_a_run_that_fails_says_its_last_words(tmp_path: Path) -> None:
    found = run_here(["sh", "-c", "echo cannot go on >&2; exit 3"], tmp_path)
    assert (found.stopped, found.told) == ("failed: cannot go on", {})


def test_a_run_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    found = run_here(["sh", "-c", "sleep 60 & echo $! > child; wait"], tmp_path, limit_s=0.2)
    assert found.stopped.startswith("more than")
    assert found.wall_s < 20
    child = int((tmp_path / "child").read_text())
    with pytest.raises(ProcessLookupError):
        while True:  # until the system has removed it
            os.kill(child, 0)


# ---- the works themselves, at a tiny size ----


@pytest.mark.parametrize(
    ("what", "makes"),
    [
        ("statistics", "statistics"),
        ("dump", "statistics"),
        ("top", "op_summary"),
        ("rows", "op_summary"),
        ("appended", "op_summary"),
        ("groups", "sanitizer"),
    ],
)
def test_our_side_runs(tmp_path: Path, what: str, makes: str) -> None:
    from . import ours
    from .making.__main__ import MAKERS

    assert MAKERS[makes](tmp_path, 130) > 0
    assert all(value > 0 for value in ours.WHAT[what](tmp_path).values())


def test_tensors_are_what_the_reader_takes(tmp_path: Path) -> None:
    from npulse.core.api import compare

    from .making.tensors import write_small_tensors

    assert write_small_tensors(tmp_path, 1) > 0
    found = compare(tmp_path / "target", tmp_path / "golden")
    assert not found.problems
    assert "linear_fc2" in found.findings[0].subject


def test_every_work_has_a_maker() -> None:
    from .making.__main__ import MAKERS

    assert {work.makes for work in WORKS if work.makes} == set(MAKERS)


def test_facts_name_the_machine() -> None:
    assert {"processors", "memory", "load", "date"} <= set(turns.facts())
    assert json.dumps(turns.facts())
