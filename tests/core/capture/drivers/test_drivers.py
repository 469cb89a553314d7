"""What holds for all drivers of memory and performance: texts, plans that touch nothing, hostile rounds."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.capture.driver import RAW, Ended
from npulse.core.capture.drivers import DRIVERS, driver_of, texts_memory, texts_performance, tools_of
from npulse.core.capture.request import CaptureRequest, Kind
from npulse.core.capture.rules_tools import RULES, finding

from .running import ask

KINDS: tuple[Kind, ...] = ("memory", "performance")
ALL = [(kind, tool) for kind in KINDS for tool in tools_of(kind)]


def texts() -> Iterator[tuple[str, tuple[str, str]]]:
    for module in (texts_memory, texts_performance):
        for name, table in vars(module).items():
            if name.isupper():
                yield from ((f"{name}.{key}", words) for key, words in table.items())
    for rule in RULES:
        for part in ("title", "meaning", "threshold", "source", "silence"):
            yield f"{rule.id}.{part}", getattr(rule, part)


def test_every_text_stands_in_both_languages_with_the_same_values() -> None:
    found = dict(texts())
    assert len(found) > 60
    for name, (en, zh) in found.items():
        assert en and zh and en.isascii() and not zh.isascii(), name
        assert sorted(re.findall(r"\{\w+\}", en)) == sorted(re.findall(r"\{\w+\}", zh)), name


def test_ids_of_rules_are_their_own() -> None:
    ids = [rule.id for rule in RULES]
    assert len(set(ids)) == len(ids) and all(id_.startswith("capture.") for id_ in ids)


def test_findings_speak_the_language_of_the_request(tmp_path: Path) -> None:
    request = CaptureRequest("memory", (), tmp_path, tmp_path, lang="zh")
    told = finding(request, "capture.one-block", "mssanitizer")
    assert (told.area, told.severity) == ("capture", "note")
    assert not told.message.isascii() and not told.next_step.isascii()


def test_the_page_of_captures_has_every_tool() -> None:
    page = (Path(__file__).resolve().parents[4] / "docs" / "capture.md").read_text(encoding="utf-8")
    assert all(f"| `{tool}`" in page for tools in DRIVERS.values() for tool in tools)


@pytest.mark.parametrize(("kind", "tool"), ALL)
def test_drivers_are_what_the_list_says(kind: Kind, tool: str) -> None:
    driver = driver_of(kind, tool)
    assert (driver.id, driver.kind) == (tool, kind) and all(driver.title)
    assert tool in DRIVERS[kind]


@pytest.mark.parametrize(("kind", "tool"), ALL)
def test_a_plan_touches_nothing_and_writes_into_the_round_alone(
    tmp_path: Path, kind: Kind, tool: str
) -> None:
    driver, folder = driver_of(kind, tool), tmp_path / "round"
    request = ask(kind, tmp_path, ["python3", "train.py"])
    before = sorted(path for path in tmp_path.rglob("*"))
    plan = driver.plan(request, folder)
    assert plan == driver.plan(request, folder)
    assert driver.preflight(request) is not None
    need = driver.estimate_bytes(request)
    assert (need is None) == (tool not in ("mssanitizer", "asan")), "unknown without an earlier round"
    assert need is None or 0 < need[0] < need[1]
    assert sorted(path for path in tmp_path.rglob("*")) == before
    for file in plan.files:
        assert not os.path.isabs(file.name) and ".." not in file.name.split("/")
    # all that names a place names one in the round
    named = [word for word in (*plan.argv, *map(str, plan.environment.values())) if str(tmp_path) in word]
    assert named and all(str(folder) in word for word in named)


@pytest.mark.parametrize(("kind", "tool"), ALL)
def test_a_round_that_never_was_recorded_nothing(tmp_path: Path, kind: Kind, tool: str) -> None:
    driver, folder = driver_of(kind, tool), tmp_path / "round"
    request = ask(kind, tmp_path, ["python3", "train.py"])
    ended = Ended(None, None, "", False, folder / "console.log")
    recorded = driver.recorded(request, folder, ended)
    assert (recorded.outcome, recorded.n_files, recorded.is_failure) == ("nothing", 0, False)
    assert all(recorded.why) and all(recorded.next_step)
    assert "never started" in recorded.why[0] or tool in ("asan", "msprof-dynamic")
    assert driver.finish(request, folder, ended) is None
    driver.figures(folder / RAW)
    assert driver.progress(folder / RAW).n_files == 0


@pytest.mark.parametrize(("kind", "tool"), ALL)
@given(
    console=st.binary(max_size=400),
    files=st.dictionaries(
        st.sampled_from(
            [
                "mssanitizer.log",
                "asan.log.77",
                "PROF_000001_20260801120000123_00012345ABCDEFGH/host/info.json",
                "PROF_000001_20260801120000123_00012345ABCDEFGH/mindstudio_profiler_output/op_summary_1.csv",
                "host_77_20260801120000123_ascend_pt/profiler_info_0.json",
                "host_77_20260801120000123_ascend_pt/ASCEND_PROFILER_OUTPUT/analyse.done",
                "OPPROF_20260801120000_ABCDEFGHIJKLMNOP/OpBasicInfo.csv",
                "OPPROF_20260801120000_ABCDEFGHIJKLMNOP/device0/k/0/dump/op_basic_info.txt",
            ]
        ),
        st.binary(max_size=300)
        | st.sampled_from([b"{}", b"[mssanitizer] ERROR: \x1b[2J", b'{"rank_id": 1e400}']),
        max_size=4,
    ),
)
def test_whatever_lies_in_a_round(kind: Kind, tool: str, console: bytes, files: dict[str, bytes]) -> None:
    driver = driver_of(kind, tool)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "round"
        for path, content in files.items():
            (folder / RAW / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / RAW / path).write_bytes(content)
        folder.mkdir(exist_ok=True)
        (folder / "console.log").write_bytes(console)
        request = ask(kind, Path(name), ["python3", "train.py"])
        recorded = driver.recorded(request, folder, Ended(0, None, "", False, folder / "console.log"))
        assert recorded.n_files == len(files)
        assert bool(recorded.why[0]) == (recorded.outcome != "recorded")
        for words in (recorded.why, recorded.next_step, *recorded.warnings):
            assert all("\x1b" not in text for text in words)
        driver.figures(folder / RAW)
