"""NaN and Inf in captures of the real tool, where its own analysis is right and where it is not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from npulse.core.analysis import AnalysisOptions
from npulse.core.api import compare, first_overflow
from npulse.core.report.html.chart_data import overflow_heat, precision_heat
from npulse.core.report.html.charts import error_level


def test_the_multiplication_and_not_the_norm_behind_it(shared: Path) -> None:
    folder = shared / "samples/msprobe/overflow_fp16/statistics"
    report = first_overflow(folder)
    (origin,) = (f for f in report.findings if f.severity == "error")
    assert origin.subject == "Tensor.__mul__.1.forward"
    assert ".blocks.1." in origin.figures["module"]
    # 0.93555 x 600000, and what would have held it
    assert np.isclose(origin.figures["at_most"], 0.935546875 * 600000.0)
    assert origin.figures["holds_in"] == ["bfloat16", "float32", "float64"]
    frame = report.to_frame()
    norm = frame[frame.operator == "Functional.layer_norm.0.forward"]
    assert set(norm[norm.io == "output 0"].role) == {"inherited"}
    told = json.loads(next((shared / "samples/msprobe/overflow_fp16").glob("anomaly_*.json")).read_text())
    assert [entry["op_name"] for entry in next(iter(told.values()))] == [origin.subject]


def test_the_same_with_tensors_of_the_older_task(shared: Path) -> None:
    report = first_overflow(shared / "samples/msprobe/overflow_fp16/overflow_check_task_8.3.3")
    (origin,) = (f for f in report.findings if f.severity == "error")
    assert origin.subject == "Tensor.__mul__.1.forward"
    assert (origin.figures["plus_inf_count"], origin.figures["first_index"]) == (51, [0, 1])


def test_the_rank_that_took_the_logarithm(shared: Path) -> None:
    folder = shared / "samples/msprobe/distributed"
    report = first_overflow(folder)  # holds the golden capture too, which is left aside
    (origin,) = (f for f in report.findings if f.severity == "error")
    assert (origin.subject, origin.location.rank) == ("Torch.log.0.forward", 1)
    assert origin.figures["why"] == "log-negative" and origin.figures["argument"] < 0
    assert origin.figures["spread_by"] == "Distributed.all_reduce.1.forward"
    assert origin.figures["clean_ranks_before"] == [0]
    # the tool's own analysis blames the other rank's collective
    told = json.loads(next(folder.glob("anomaly_*.json")).read_text())
    assert [entry["op_name"] for entry in told["rank_0"]] == ["Distributed.all_reduce.1.forward"]


def test_the_heat_map_shows_on_which_rank_it_began(shared: Path) -> None:
    """Statistics alone: no counts of NaN, and no figure of an error that is one."""
    folder, options = shared / "samples/msprobe/distributed", AnalysisOptions(jobs=1, tables=True)
    used = overflow_heat(first_overflow(folder, options=options).report.tables["overflow"], 0.9)
    assert used.ranks == ("rank 0", "rank 1")
    bad = [place for place in sorted(used.cells) if used.cells[place].state == "nonfinite"]
    layer, rank = bad[0]
    assert (used.layers[layer], used.ranks[rank]) == ("Torch.log.0.forward", "rank 1")
    assert not [cell for cell in used.cells.values() if cell.state == "unknown"]
    found = compare(folder / "nan", folder / "bench", tables=True)
    assert found.max_error == np.inf
    wrong = [
        one for one in precision_heat(found.report.tables["precision"]).cells.values() if one.state == "error"
    ]
    assert len(wrong) > 10 and {error_level(one) for one in wrong} == {5}


def test_a_healthy_capture_has_nothing(shared: Path) -> None:
    report = first_overflow(shared / "samples/msprobe/distributed/bench")
    assert (report.findings, report.verdict) == ((), "pass")


def test_operator_dumps_of_graph_mode(shared: Path) -> None:
    report = first_overflow(shared / "samples/cann/dump_path")
    records = [f for f in report.findings if f.rule == "overflow.record"]
    assert [f.subject for f in records] == ["layer1_scale_div", "aclnnMuls_MulAiCore_Muls"]
    assert records[0].figures["status_bits"] == ["float", "to-fp16"]
    assert (records[1].figures["task_id"], records[1].figures["stream_id"]) == (9, 5)
    assert report.verdict == "fail"


def test_everything_of_the_folder_at_once(shared: Path) -> None:
    report = first_overflow(shared / "samples/cann", options=AnalysisOptions(tables=True))
    assert {p.kind for p in report.problems} == {"cut-off"}  # the two files that are broken on purpose
    exception = next(f for f in report.findings if f.rule == "overflow.exception")
    assert (exception.figures["task_id"], exception.figures["stream_id"]) == (9, 5)
    assert report.report.tables["overflow"].n_rows == report.report.counts["tensors"]


def test_monitor_files_of_both_versions(shared: Path) -> None:
    report = first_overflow(shared / "samples/msprobe/misc")
    growth = next(f for f in report.findings if f.rule == "overflow.gradient-growth")
    assert (growth.figures["step_before"], growth.figures["step"]) == (2, 3)
    assert np.isclose(growth.figures["norm_before"], 0.324477)
    monitor = next(f for f in report.findings if f.rule == "overflow.monitor")
    assert monitor.severity == "note" and monitor.figures["n_anomalies"] == 4
