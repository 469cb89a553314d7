"""What a pane takes from an analysis beside its report: rows, details, the matrix of ranks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.findings import Finding
from npulse.core.overflow.run_report import look, selections
from npulse.core.overflow.view import (
    HAS_INHERITED,
    HAS_ORIGIN,
    NOT_CAPTURED,
    OverflowView,
    in_few_words,
    overflow_view,
    rank_matrix,
    short_dtype,
)
from npulse.core.run.discover import discover

from .random_job import make_job

HEADER = "vpp_stage,name,step,min,max,mean,norm,zeros,nans,shape,dtype"


def view_of(run: Path) -> OverflowView:
    found, options = discover(run), AnalysisOptions(jobs=1)
    return overflow_view(look(found, selections(found, options)[-1], options), "en")


def write_monitor(run: Path) -> Path:
    """Two files of the monitor; the last row of the second jumps."""
    for stage, tops in ((0, [1.0, 1.5, 2.0]), (1, [1.0, 1.25, 70000.0])):
        folder = run / f"rank{stage}"
        folder.mkdir(parents=True)
        lines = [
            f'0,fc.weight,{step},{-top},{top},0,{2 * top},0,0,"[2, 2]",torch.float32'
            for step, top in enumerate(tops)
        ]
        (folder / "grad_reduced_0-2.csv").write_text("\n".join([HEADER, *lines]) + "\n")
    return run


# ---- rows of the monitor ----


def test_a_row_of_the_monitor_leads_to_its_line(tmp_path: Path) -> None:
    run = write_monitor(tmp_path)
    view = view_of(run)
    finding = view.report.findings[0]
    assert finding.rule == "overflow.gradient-growth" and finding.location.line == 4
    assert view.row_of(finding) == 5, "one name on two ranks and three steps: the line tells which"
    assert view.finding(5, "en") == finding and view.detail(5, "en").headline == finding.message
    assert view.detail(5, "en").next_step == finding.next_step
    assert view.place(5) == (run / "rank1" / "grad_reduced_0-2.csv", 4)
    assert view.where(5, "en")[0] == "file: rank1/grad_reduced_0-2.csv:4"
    assert view.where(5, "zh")[0].endswith("rank1/grad_reduced_0-2.csv:4")
    for row, (rank, line) in enumerate([(0, 2), (0, 3), (0, 4), (1, 2), (1, 3)]):
        other = view.finding(row, "en")
        assert (other.severity, other.role, other.subject) == ("note", "ok", "fc.weight")
        assert (other.location.artifact, other.location.line) == (f"rank{rank}/grad_reduced_0-2.csv", line)
        assert view.row_of(other) == row and view.detail(row, "en").headline == ""
        assert not {"flags", "role", "operator"} & set(other.figures)


def test_rows_of_the_monitor_stand_behind_those_of_dumps(tmp_path: Path) -> None:
    make_job(3, n_operators=20, n_ranks=1).write(tmp_path / "dump")
    write_monitor(tmp_path / "monitor")
    view = view_of(tmp_path)
    n_tensors = sum(len(rows) for rows in view.rows)
    assert view.table.n_rows == n_tensors + 6
    growth = next(f for f in view.report.findings if f.rule == "overflow.gradient-growth")
    assert view.row_of(growth) == n_tensors + 5 and view.at(n_tensors + 5) is None


# ---- the way up ----


def test_rows_upstream_are_those_of_the_column(tmp_path: Path) -> None:
    view = view_of(make_job(7, n_operators=60, fault="overflow").write(tmp_path))
    upstream = view.table.column("upstream")
    assert view.has_trace and upstream.absent is not None
    assert [row for row in range(view.table.n_rows) if upstream.value(row) is not None] == list(
        view.upstream_rows
    )
    assert not view_of(make_job(8, n_operators=30, n_ranks=1).write(tmp_path / "clean")).has_trace


def test_the_detail_of_an_origin_is_made_once_and_says_nothing_twice(tmp_path: Path) -> None:
    view = view_of(make_job(7, n_operators=60, fault="overflow").write(tmp_path))
    row = view.row_of(view.report.findings[0])
    assert row is not None
    assert view.detail(row, "en") is view.detail(row, "en")
    assert view.detail(row, "zh") is not view.detail(row, "en")
    headline, next_step = view.detail(row, "en").headline, view.detail(row, "en").next_step
    message = view.report.findings[0].message
    assert message.startswith(headline.split(". ")[0]) and len(headline) <= len(message)
    for name in (f.subject for f in view.report.findings[0].related if f.role == "suspect"):
        assert name not in headline or name not in next_step


@pytest.mark.parametrize("name", ["torch.float16", "float16", "Float16"])
def test_short_names_of_dtypes(name: str) -> None:
    assert short_dtype(name) == "fp16" and short_dtype("torch.int8") == "int8" and short_dtype("") == ""


def test_few_words_for_what_has_none() -> None:
    finding = Finding("overflow", "note", "overflow.legal", "benign", "x", "long", figures={"kind": "Inf"})
    assert in_few_words(finding, "en") == ""


# ---- ranks ----


@pytest.mark.parametrize("seed", range(6))
def test_the_matrix_is_that_of_each_call_by_itself(seed: int, tmp_path: Path) -> None:
    view = view_of(make_job(seed, n_operators=60, fault="any", level=("L1", "mix")[seed % 2]).write(tmp_path))
    found = view.found
    matrix = rank_matrix(found, found.ranks[0].step, found.ranks[0].capture)
    times = sorted({time for rank in found.ranks for time in rank.clock.values()})
    assert matrix.states.shape == (4, len(times) + 1) and len(matrix.meetings) == len(times)
    expected = np.zeros_like(matrix.states)
    for row, rank in zip(expected, found.ranks, strict=True):
        for call in rank.roles.cause_of:
            time = rank.clock.get(call, rank.time_of(call))
            column = sum(other <= time for other in times)
            state = HAS_ORIGIN if call in rank.roles.origin_calls() else HAS_INHERITED
            row[column] = max(row[column], state)
    assert (matrix.states == expected).all()
    assert (matrix.states == HAS_ORIGIN).any() == bool(found.origins())
    assert view.has_ranks and matrix.labels == ("rank 0", "rank 1", "rank 2", "rank 3")


def test_what_was_not_read_is_not_clean(tmp_path: Path) -> None:
    run = make_job(7, n_operators=60, fault="overflow").write(tmp_path)
    for rank, keep in ((1, 0.4), (3, 0.0)):
        dump = run / "step0" / f"rank{rank}" / "dump.json"
        text = dump.read_text()
        at = max(int(len(text) * keep), text.index('"data"') + 9)
        dump.write_text(text[:at])
    found = view_of(run).found
    matrix = rank_matrix(found, found.ranks[0].step, found.ranks[0].capture)
    unknown = matrix.states == NOT_CAPTURED
    by_label = dict(zip(matrix.labels, unknown, strict=True))
    assert not by_label["rank 0"].any() and not by_label["rank 2"].any()
    assert by_label["rank 1"].any() and not by_label["rank 1"][0] and by_label["rank 1"][-1]
    assert "rank 3" not in by_label or by_label["rank 3"].all()


def test_first_bad_row_of_a_rank(tmp_path: Path) -> None:
    view = view_of(make_job(7, n_operators=200, fault="overflow", level="mix").write(tmp_path))
    origin = view.report.findings[0]
    rank = view.found.ranks[0]
    row = view.first_bad_row(rank.step, rank.capture, origin.location.rank or 0)
    assert row is not None and view.table.column("rank").value(row) == origin.location.rank
    assert view.operator(row) == origin.subject
    assert view.first_bad_row(rank.step, rank.capture, 4) is None
