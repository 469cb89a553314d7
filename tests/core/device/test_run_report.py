"""The cards of a run: which files belong together, what a manifest says, polls, a run that grows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import npulse
from npulse.core.analysis import AnalysisOptions
from npulse.core.areas import area_of
from npulse.core.device.history import GAUGES
from npulse.core.device.run_report import report_of
from npulse.core.device.snapshot import Snapshot
from npulse.core.device.view import device_view
from npulse.core.diff import diff
from npulse.core.errors import InputError, UsageError
from npulse.core.findings import Report
from npulse.core.tails import Tails
from npulse.core.text import safe_text

from .doubles import said, snapshot_of

OPTIONS = AnalysisOptions(tables=True)


def report(path: Path, **own: Any) -> Report:
    return area_of("device").report_of([path], AnalysisOptions(tables=True, **own)).report


def rules(found: Report) -> list[str]:
    return [finding.rule.removeprefix("device.") for finding in found.findings]


def toml(value: Any) -> str:
    """A value as TOML writes it inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {toml(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def manifest(folder: Path, **sides: Snapshot) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["[device]", *(f"{side} = {toml(one.to_dict())}" for side, one in sides.items())]
    path = folder / "round.toml"
    path.write_text('npulse = "0.1.0"\nkind = "performance"\n' + "\n".join(lines) + "\n")
    return path


def test_blocks_belong_to_the_one_table_beside_them(tmp_path: Path) -> None:
    (tmp_path / "npu_smi.txt").write_text(said("throttled", "info"))
    for npu in "01":
        (tmp_path / f"common{npu}.txt").write_text(said("throttled", "info", "-t", "common", "-i", npu))
    found = report(tmp_path)
    assert rules(found) == ["temperature", "frequency", "busy"] and found.counts["sources"] == 1
    assert found.tables["device"].row(1)["frequency_mhz"] == 1200
    assert found.verdict == "warn"


def test_two_tables_are_two_states(tmp_path: Path) -> None:
    (tmp_path / "device_before.txt").write_text(said("healthy", "info"))
    (tmp_path / "device_after.txt").write_text(said("held", "info"))
    found = report(tmp_path)
    assert rules(found) == ["memory-held", "change"]
    rows = [found.tables["device"].row(row) for row in range(4)]
    assert [(row["side"], row["state"]) for row in rows] == [
        *[("before", "idle"), ("before", "idle"), ("after", "idle"), ("after", "held")]
    ]
    assert rows[3]["findings"] == "memory-held change" and rows[1]["findings"] is None
    assert found.summary["hbm_used_without_process"] == [{"npu": 1, "chip": 0, "hbm_mb": 61444}]


def test_a_manifest_with_both_snapshots(tmp_path: Path) -> None:
    manifest(tmp_path / "r1", before=snapshot_of("ecc"), after=snapshot_of("ecc"))
    found = report(tmp_path)
    assert rules(found) == ["health", "fault", "ecc"], "what was there before and after is said once"
    manifest(tmp_path / "r1", before=snapshot_of("healthy"), after=snapshot_of("ecc"))
    assert rules(report(tmp_path)) == ["health", "fault", "ecc", "counters-moving", "change"]
    assert report(tmp_path).exit_code() == 1


def test_a_manifest_without_snapshots_is_nothing_to_look_at(tmp_path: Path) -> None:
    manifest(tmp_path / "r1")
    with pytest.raises(InputError, match="npu-smi"):
        report(tmp_path)
    assert area_of("device").reports_of(npulse.open_run(tmp_path), OPTIONS) == ()


def test_the_newest_round_is_taken_and_another_one_by_its_name(tmp_path: Path) -> None:
    for name, scenario in (("round1", "hot"), ("round2", "healthy")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "npu_smi.txt").write_text(said(scenario, "info"))
    assert report(tmp_path).verdict == "pass" and report(tmp_path, round_name="round1").verdict == "fail"
    assert [one.round for one in area_of("device").reports_of(npulse.open_run(tmp_path), OPTIONS)] == [
        *("round1", "round2")
    ]


def test_two_runs_side_by_side(tmp_path: Path) -> None:
    paths = [tmp_path / "old.txt", tmp_path / "new.txt"]
    for path, scenario in zip(paths, ("healthy", "ecc"), strict=True):
        text = said(scenario, "info") + said(scenario, "info", "-t", "ecc", "-i", "1")
        path.write_text(text)
    found = [f"{f.rule} {f.subject}" for f in diff(paths[0], paths[1], AnalysisOptions()).findings]
    assert found[0] == "device.counters-moving NPU 1"
    assert {"device.change NPU 1", "device.ecc NPU 1"} <= set(found)
    (tmp_path / "same.txt").write_text(paths[0].read_text())
    assert diff(paths[0], tmp_path / "same.txt", AnalysisOptions()).findings == ()


def test_several_files_are_of_one_machine(tmp_path: Path) -> None:
    paths = []
    for name, words in (("a.txt", ("info",)), ("b.txt", ("info", "-t", "ecc", "-i", "1"))):
        paths.append(tmp_path / name)
        paths[-1].write_text(said("ecc", *words))
    found = report_of(paths, OPTIONS).report
    assert rules(found) == ["health", "ecc"] and len(found.artifacts) == 2
    (tmp_path / "c.txt").write_text("nothing\n")
    with pytest.raises(InputError):
        report_of([*paths, tmp_path / "c.txt"], OPTIONS)


def test_what_is_not_known_is_never_a_pass(tmp_path: Path) -> None:
    path = tmp_path / "npu_smi.txt"
    for text, verdict in (
        (said("healthy", "info"), "pass"),
        (said("unknown", "info"), "unknown"),
        (said("unreachable", "info"), "unknown"),
        (said("healthy", "info", "-t", "power", "-i", "0"), "unknown"),  # says nothing of health
        (said("healthy", "info")[:-700], "incomplete"),  # cut in a row of processes
    ):
        path.write_text(text)
        assert report(path).verdict == verdict, text
        assert report(path).exit_code() == (0 if verdict == "pass" else 4)
    assert report(path).problems


def test_a_state_of_its_own_beside_a_table(tmp_path: Path) -> None:
    """In the container it failed, on the host it did not: both are told, the cards are those of the table."""
    (tmp_path / "host.txt").write_text(said("healthy", "info"))
    (tmp_path / "container.txt").write_text(said("unreachable", "info"))
    found = report(tmp_path)
    assert rules(found) == ["unreachable"] and found.summary["devices"] == 2 and found.verdict == "unknown"


def test_options_that_choose_nothing_and_criteria(tmp_path: Path) -> None:
    path = tmp_path / "npu_smi.txt"
    path.write_text(said("hot", "info"))
    assert rules(report(path, criteria="temperature_c=95")) == ["health", "busy"]
    with pytest.raises(UsageError, match="criterion"):
        report(path, criteria="temp=95")
    with pytest.raises(UsageError, match="step"):
        report(path, step=3)


# ---- polls ----

POLLED = [(at, 20_000 + 40 * at) for at in range(30)]


def polled(tmp_path: Path) -> str:
    """A loop of `date; npu-smi info`, a minute apart, whose first chip leaks."""
    state, text = tmp_path / "state.json", ""
    chip = {"npu": 0, "chip": 0, "aicore": 50}
    state.write_text(json.dumps({"chips": [{**chip, "hbm": 0}], "processes": [[0, 0, 7, "serve", 19000]]}))
    table = said("healthy", "info", NPU_SMI_STATE=str(state))
    assert "0    / 65536" in table
    for at, used in POLLED:
        text += f"2026-03-02 10:{at:02}:00\n" + table.replace("0    / 65536", f"{used:<5}/ 65536")
    return text


def test_a_file_of_polls_is_told_by_its_last_one_and_by_all(tmp_path: Path) -> None:
    text = polled(tmp_path)
    run = tmp_path / "run"
    run.mkdir()
    (run / "polled.log").write_text(text)
    answer = npulse.device(run)
    (growth,) = [f for f in answer.findings if f.rule == "device.memory-growth"]
    assert growth.figures["mb_per_hour"] == pytest.approx(2400)
    assert growth.figures["window_hours"] == pytest.approx(29 / 60) and answer.report.counts["samples"] == 30
    view = device_view(answer.found, "en")
    assert [value for _, value in view.history(0, "used_mb")] == [used for _, used in POLLED]
    assert view.chip(0).used_mb == POLLED[-1][1] and view.history(0, "frequency_mhz") == ()


def test_polls_of_common_have_the_frequency(tmp_path: Path) -> None:
    """Slow under load for two of five polls, well again at the end."""
    text = ""
    for at, scenario in enumerate(("busy", "throttled", "throttled", "busy", "healthy")):
        text += f"2026-03-02 10:0{at}:00\n" + said(scenario, "info", "-t", "common", "-i", "1")
    path = tmp_path / "common.log"
    path.write_text(text)
    answer = npulse.device(path)
    by_rule = {f.rule: f.figures for f in answer.findings}
    slow = by_rule["device.frequency"]
    assert (slow["frequency_mhz"], slow["n_slow"], slow["n_loaded"]) == (1200, 2, 4)
    assert (by_rule["device.temperature"]["peak_c"], by_rule["device.temperature"]["n_over"]) == (88, 2)
    view = device_view(answer.found, "en")
    assert [value for _, value in view.history(0, "frequency_mhz")] == [1800, 1200, 1200, 1800, 800]
    minutes = [(at or 0) // 60_000_000_000 for at, _ in view.history(0, "frequency_mhz")]
    assert [one - minutes[0] for one in minutes] == [0, 1, 2, 3, 4], "each block has the time above it"


def test_a_run_that_grows_is_the_same_as_a_cold_look(tmp_path: Path) -> None:
    text = polled(tmp_path).encode()
    run = tmp_path / "run"
    run.mkdir()
    path = run / "polled.log"
    tails = Tails()
    seen: list[Report] = []
    for end in (900, 5000, len(text) // 2, len(text)):
        path.write_bytes(text[:end])
        tails.begin([path], run)
        found = area_of("device").report_of([run], AnalysisOptions(tails=tails)).report
        cold = report(run)
        # half a line at the end waits where the file grows; a cold look says that it is cut
        assert [f for f in found.findings] == [f for f in cold.findings]
        assert found.summary == cold.summary
        seen.append(found)
    tails.close()
    assert "memory-growth" in rules(seen[-1]) and "memory-growth" not in rules(seen[0])


# ---- what a pane shows ----


def test_the_view_of_a_chip(tmp_path: Path) -> None:
    path = tmp_path / "npu_smi.txt"
    path.write_text(
        said("ecc", "info") + "$ npu-smi info -t ecc -i 1\n" + said("ecc", "info", "-t", "ecc", "-i", "1")
    )
    answer = npulse.device(path)
    for lang in ("en", "zh"):
        view = device_view(answer.found, lang)
        assert view.report.findings and view.translated("en").report.findings == answer.findings
        assert view.table.n_rows == 2 == len(answer.found.rows) and view.is_complete
        assert [view.row_of(finding) for finding in view.report.findings] == [1, 1]
        detail = view.detail(1, lang)
        facts = dict(detail.facts)
        assert facts["health"] == "Alarm" and facts["HBM Double Bit Error Count"] == "1"
        assert view.finding(1, lang).rule == "device.health"
        assert view.finding(0, lang).role == "ok"
        assert view.meaning("power_w", lang) and view.meaning("bus_id", lang) == ""
    assert view.processes(0) == () and view.notes(0) == () and view.place(0) == (path, None)
    assert view.where(1, "en")[0] == "npu_smi.txt"
    assert view.main_figures(view.finding(1, "en")) == [("health", "Alarm"), ("temperature_c", "46")]
    assert all(view.history(0, gauge) == () for gauge in GAUGES), "one sample is no line"


def test_hostile_names_cannot_move_the_cursor(tmp_path: Path) -> None:
    path = tmp_path / "npu_smi.txt"
    text = said("used", "info", NPU_SMI_STATE="").replace("910B3  ", "9\x1b[2J\x07 ")
    path.write_text(text + "\tHealth\x1b]0;x\x07                : OK\n")
    answer = npulse.device(path)
    for line in answer.report.told:
        assert line == safe_text(line, 10_000)
    view = device_view(answer.found, "en")
    for row in range(view.table.n_rows):
        for name, value in view.detail(row, "en").facts:
            assert name == safe_text(name) and value == safe_text(value)


def test_the_front_door(tmp_path: Path) -> None:
    path = tmp_path / "npu_smi.txt"
    path.write_text(said("hot", "info"))
    answer = npulse.device(path)
    assert answer.origin is not None and answer.origin.rule == "device.health" and answer.max_error == 1
    pytest.importorskip("pandas")
    frame = answer.to_frame()
    assert list(frame["temperature_c"]) == [46, 91] and frame["frequency_mhz"].isna().all()
    path.write_text(said("unreachable", "info"))
    assert npulse.device(path).max_error != npulse.device(path).max_error, "not known: NaN"


def with_chip_1(text: str, health: str = "OK") -> str:
    return text.replace(
        "| 1     910B3               | OK      ", f"| 1     910B3               | {health:<8}"
    )


def without_chip_1(text: str) -> str:
    lines = text.splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith("| 1 "))
    return "".join(lines[:at] + lines[at + 3 :])


def test_a_chip_that_later_polls_do_not_have_is_told(tmp_path: Path) -> None:
    text, path = said("idle", "info"), tmp_path / "npu_smi.txt"
    assert with_chip_1(text, "Alarm") != text
    path.write_text(with_chip_1(text, "Alarm") + without_chip_1(text))
    found = report(path)
    (gone,) = (one for one in found.findings if one.rule == "device.change")
    assert (gone.severity, gone.subject, gone.figures["health_before"]) == ("warning", "NPU 1", "Alarm")
    assert found.verdict == "warn"
    path.write_text(without_chip_1(text) + text)
    assert not any(one.rule == "device.change" for one in report(path).findings)


@pytest.mark.parametrize(
    ("message", "state"),
    [
        ("dcmi module initialize failed. ret is -8005", "driver not reachable"),
        ("dcmi model initialized failed, because the device is used. ret is -8020", "occupied"),
        ("bash: npu-smi: command not found", "npu-smi missing"),
    ],
)
def test_a_last_call_that_told_nothing_is_no_pass(tmp_path: Path, message: str, state: str) -> None:
    text, path = said("idle", "info"), tmp_path / "npu_smi.txt"
    path.write_text(f"{message}\n{text}")
    assert report(path).verdict in ("pass", "warn") and report(path).summary["state"] == "ok"
    path.write_text(f"{text}\n{message}\n")
    found = report(path)
    assert (found.verdict, found.summary["state"]) == ("unknown", state)
    assert "unreachable" in rules(found) and found.counts["chips"] == found.tables["device"].n_rows


def test_a_refused_value_is_no_refused_call(tmp_path: Path) -> None:
    path = tmp_path / "npu_smi.txt"
    path.write_text(said("idle", "info") + "\nThis device does not support querying pcie-err.\n")
    assert report(path).summary["state"] == "ok"


@pytest.mark.parametrize("prefix", ["> ", "    ", "[pod/job-0/main] "])
def test_a_named_file_is_read_whatever_stands_around_the_table(tmp_path: Path, prefix: str) -> None:
    path = tmp_path / "pasted.log"
    path.write_text("".join(prefix + line for line in said("idle", "info").splitlines(keepends=True)))
    plain = tmp_path / "plain.txt"
    plain.write_text(said("idle", "info"))
    assert report(path).counts["chips"] == report(plain).counts["chips"]
    path.write_text("name: value\nkey : 3\n")
    with pytest.raises(InputError):
        report(path)


def test_chips_of_a_manifest_that_cannot_be_used_are_not_left_out(tmp_path: Path) -> None:
    good = '{npu = 0, chip = 0, health = "OK"}'
    path = tmp_path / "round.toml"
    for more in (', {npu = "1", health = "Alarm"}', ", 5", ', {health = "OK"}', ("," + good) * 600):
        path.write_text(
            f'npulse = "0.1.0"\nkind = "performance"\n[device.after]\nstate = "ok"\nchips = [{good}{more}]\n'
        )
        found = report(tmp_path)
        assert found.verdict == "unknown" and found.counts["health_not_told"] == 1


def test_a_manifest_that_cannot_be_read_is_no_pass(tmp_path: Path) -> None:
    (tmp_path / "round.toml").write_text('npulse = "0.1.0"\nkind = [')
    with pytest.raises(InputError) as raised:
        report(tmp_path)
    assert "round.toml" in (raised.value.hint or "")
    (tmp_path / "npu_smi.txt").write_text(said("idle", "info"))
    found = report(tmp_path)
    assert found.verdict == "incomplete" and [one.artifact for one in found.problems] == ["round.toml"]


def test_several_files_with_something_around_their_tables(tmp_path: Path) -> None:
    text = "".join("> " + line for line in said("idle", "info").splitlines(keepends=True))
    paths = [tmp_path / "a.log", tmp_path / "b.log"]
    for path in paths:
        path.write_text(text)
    assert report_of(paths, OPTIONS).report.counts["sources"] == 2
