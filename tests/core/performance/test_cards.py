"""Figures that were measured on a card that is not well carry the warning."""

from __future__ import annotations

from pathlib import Path

import pytest

import npulse
from npulse.core.analysis import AnalysisOptions
from npulse.core.api import PerformanceReport
from npulse.core.device.snapshot import Snapshot
from npulse.core.diff import diff
from npulse.core.performance.view import performance_view
from npulse.tui.glyphs import ASCII
from npulse.tui.messages import tr
from npulse.tui.panes.performance.summary import shown_lines

from ...tui.panes.performance_runs import write_round
from ..device.doubles import said, snapshot_of
from ..device.test_run_report import manifest

SENTENCE = "performance figures are not to be trusted: card {card}"


def asked(folder: Path) -> PerformanceReport:
    return npulse.performance(folder)


def warnings(report: PerformanceReport) -> list[str]:
    return [finding.message for finding in report.findings if finding.rule == "performance.device"]


def test_a_hot_card_beside_its_profile(tmp_path: Path) -> None:
    plain = asked(write_round(tmp_path))
    assert warnings(plain) == []
    (tmp_path / "npu_smi.txt").write_text(said("throttled", "info", NPU_SMI_CHIPS="1"))
    (tmp_path / "common.txt").write_text(
        said("throttled", "info", "-t", "common", "-i", "0", NPU_SMI_CHIPS="1")
    )
    found = asked(tmp_path)
    assert warnings(found) == [SENTENCE.format(card="0: 88 C, low frequency")]
    assert found.findings[0].rule == "performance.device" and found.report.told[0] == warnings(found)[0]
    assert found.findings[1:] == plain.findings, "everything else is said as before, the origin too"
    assert found.origin == plain.origin and found.verdict == "warn"
    assert found.report.summary == plain.report.summary and found.report.counts["warnings"] == (
        plain.report.counts["warnings"] + 1
    )


def test_a_difference_to_a_round_on_a_hot_card_may_be_the_card(tmp_path: Path) -> None:
    hot, cool = write_round(tmp_path / "hot"), write_round(tmp_path / "cool")
    (tmp_path / "hot" / "npu_smi.txt").write_text(said("hot", "info", NPU_SMI_CHIPS="3"))
    table = tmp_path / "hot" / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    lines = [line.split(",") for line in table.read_text("utf-8").splitlines()]
    table.write_text("\n".join(",".join(cells[:1] + cells[2:]) for cells in lines) + "\n", "utf-8")
    line = "hot was measured on a card that was not well (card 2: health Alarm, 91 C): what differs may be"
    assert any(line in told for told in diff(hot, cool, AnalysisOptions()).told)
    (tmp_path / "hot" / "npu_smi.txt").unlink()
    assert not any("not well" in told for told in diff(hot, cool, AnalysisOptions()).told)


def test_only_the_devices_that_were_measured(tmp_path: Path) -> None:
    write_round(tmp_path)  # device 0
    (tmp_path / "npu_smi.txt").write_text(said("hot", "info", NPU_SMI_CHIPS="3"))  # card 2 is hot
    assert warnings(asked(tmp_path)) == []


def test_of_a_profile_that_does_not_say_its_device_all_cards_count(tmp_path: Path) -> None:
    write_round(tmp_path)
    table = tmp_path / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    lines = [line.split(",") for line in table.read_text("utf-8").splitlines()]
    table.write_text("\n".join(",".join(cells[:1] + cells[2:]) for cells in lines) + "\n", "utf-8")
    (tmp_path / "npu_smi.txt").write_text(said("hot", "info", NPU_SMI_CHIPS="3"))
    assert warnings(asked(tmp_path)) == [SENTENCE.format(card="2: health Alarm, 91 C")]


@pytest.mark.parametrize("side", ["before", "after"])
def test_snapshots_of_the_rounds_manifest(tmp_path: Path, side: str) -> None:
    write_round(tmp_path / "r1")
    bad = snapshot_of("throttled", "common", NPU_SMI_CHIPS="1")
    good = snapshot_of("busy", "common", NPU_SMI_CHIPS="1")
    sides: dict[str, Snapshot] = {"before": good, "after": good, side: bad}
    manifest(tmp_path / "r1", **sides)
    assert warnings(asked(tmp_path)) == [SENTENCE.format(card="0: 88 C, low frequency")]
    manifest(tmp_path / "r1", before=good, after=good)
    assert warnings(asked(tmp_path)) == []


@pytest.mark.parametrize("scenario", ["healthy", "held", "used", "incomplete", "unreachable", "none"])
def test_what_says_nothing_of_speed_is_no_warning(tmp_path: Path, scenario: str) -> None:
    write_round(tmp_path)
    (tmp_path / "npu_smi.txt").write_text(said(scenario, "info", NPU_SMI_CHIPS="1"))
    assert warnings(asked(tmp_path)) == []


def test_another_rounds_cards_are_not_this_rounds(tmp_path: Path) -> None:
    for name, scenario in (("round1", "hot"), ("round2", "healthy")):
        write_round(tmp_path / name)
        (tmp_path / name / "npu_smi.txt").write_text(said(scenario, "info", NPU_SMI_CHIPS="1"))
    assert warnings(asked(tmp_path)) == []


def test_a_broken_file_of_npu_smi_does_not_stop_the_profile(tmp_path: Path) -> None:
    write_round(tmp_path)
    path = tmp_path / "npu_smi.txt"
    path.write_text(said("hot", "info", NPU_SMI_CHIPS="1"))
    run = npulse.open_run(tmp_path)
    path.unlink()
    assert npulse.performance(run).findings


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_panes_first_line_says_it(tmp_path: Path, lang: str) -> None:
    write_round(tmp_path)
    (tmp_path / "npu_smi.txt").write_text(said("hot", "info", NPU_SMI_CHIPS="1"))
    view = performance_view(asked(tmp_path).found, lang)  # type: ignore[arg-type]

    def text(key: str, **values: object) -> str:
        return tr(key, lang, **values)  # type: ignore[arg-type]

    first, second, _ = shown_lines(view, text, ASCII)
    word = {
        "en": "NOT TO BE TRUSTED: card 0: health Alarm, 91 C",
        "zh": "数据不可信：卡 0：健康状态 Alarm，91 °C",
    }
    assert word[lang] in first
    assert view.report.findings[1].message in second, "the first operator is still there"
