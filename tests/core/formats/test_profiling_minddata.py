"""MindSpore's data pipeline: the summary that is written on its side, as CSV and JSON, and dataset.csv."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.profiling.minddata import (
    DatasetOperation,
    Pipeline,
    PipelineOperator,
    read_dataset,
    read_pipeline,
)

SUMMARY: dict[str, list[Any]] = {
    "op_ids": [0, 1, 2],
    "op_names": ["DataQueue", "Batch", "Map"],
    "pipeline_ops": ["DataQueue(id=0)", "Batch(id=1)", "Map(id=2)"],
    "num_workers": [1, 4, 8],
    "queue_average_size": [-1, 12.5, 0.25],
    "queue_utilization_pct": [-1, 78.13, 1.56],
    "queue_empty_freq_pct": [-1, 0.0, 90.5],
    "children_ids": [[1], [2], []],
    "parent_id": [-1, 0, 1],
    "avg_cpu_pct": [0.5, 10.25, 95.0],
    "per_pipeline_time": [3.25],
    "per_push_queue_time": [0.125],
    "per_batch_time": [-1],
    "avg_cpu_pct_per_worker": [0.5, 2.56, 11.88],
    "cpu_analysis_details": ["Map(id=2) uses much CPU, as said."],
    "bottleneck_warning": ["Map(id=2) is the bottleneck"],
    "bottleneck_suggestion": ["raise num_parallel_workers", "of Map"],
    "new_key": ["x", 1],
}
MAP = PipelineOperator(
    op_id=2,
    name="Map",
    label="Map(id=2)",
    n_workers=8,
    queue_average_size=0.25,
    queue_utilization_percent=1.56,
    queue_empty_percent=90.5,
    children=(),
    parent=1,
    cpu_percent=95.0,
    cpu_percent_per_worker=11.88,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("minddata") / "minddata_pipeline_summary_0.csv"


def pipeline_of(path: Path, content: str | bytes) -> Pipeline:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_pipeline(path, root=path.parent)


def as_csv(summary: dict[str, list[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([key, *values] for key, values in summary.items())
    return text.getvalue()


@pytest.mark.parametrize("content", [as_csv(SUMMARY), json.dumps(SUMMARY), json.dumps(SUMMARY, indent=2)])
def test_both_forms_say_the_same(path: Path, content: str) -> None:
    read = pipeline_of(path, content)
    assert read.problems == () and len(read.operators) == 3 and read.operators[2] == MAP
    queue = read.operators[0]
    assert (queue.parent, queue.children, queue.queue_average_size, queue.queue_empty_percent) == (
        None,
        (1,),
        None,
        None,
    )
    assert read.operators[1].queue_empty_percent == 0.0
    assert (read.per_pipeline_ms, read.per_push_queue_ms, read.per_batch_ms) == (3.25, 0.125, None)
    assert read.cpu_notes == ("Map(id=2) uses much CPU, as said.",) and read.queue_notes == ()
    assert read.warnings == ("Map(id=2) is the bottleneck",)
    assert read.suggestions == ("raise num_parallel_workers", "of Map")
    assert read.others == {"new_key": ("x", "1")} and read.encoding == "utf-8"


def test_values_that_are_missing_or_no_numbers_are_told(path: Path) -> None:
    summary = {**SUMMARY, "avg_cpu_pct": [1.5], "num_workers": [1, "many", 3]}
    for content in (as_csv(summary), json.dumps(summary)):
        read = pipeline_of(path, content)
        assert [op.cpu_percent for op in read.operators] == [1.5, None, None]
        assert [op.n_workers for op in read.operators] == [1, None, 3]
        assert [p.message for p in read.problems] == [
            "avg_cpu_pct has 1 values for 3 operators",
            "num_workers: 1 values are no numbers and count as absent",
        ]


def test_a_last_line_without_an_end_is_left_out(path: Path) -> None:
    content = as_csv({"op_ids": [0, 1], "op_names": ["a", "b"], "avg_cpu_pct": [1.25, 33.25]})
    read = pipeline_of(path, content[:-4])
    assert [(p.kind, p.line) for p in read.problems] == [("cut-off", 3)]
    assert [(op.name, op.cpu_percent) for op in read.operators] == [("a", None), ("b", None)]


def test_chinese_in_gbk(path: Path) -> None:
    content = as_csv({"op_ids": [0], "op_names": ["映射"], "bottleneck_warning": ["瓶颈"]})
    read = pipeline_of(path, content.encode("gbk"))
    assert (read.operators[0].name, read.warnings, read.encoding) == ("映射", ("瓶颈",), "gb18030/gbk")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "a,b\n1,2\n",
        "{}",
        "[1]",
        '{"op_ids": [1',
        '{"op_ids": []}',
        '{"op_ids": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"op_ids": [' + "9" * 10_000 + "]}",
        '{"warning": 1}',
    ],
)
def test_what_is_no_summary(path: Path, content: str) -> None:
    with pytest.raises(InputError):
        pipeline_of(path, content)


def test_hostile_values(path: Path) -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    summary = {
        "op_ids": [0, True, None, {}],
        "op_names": [deep, {"a": 1}, "n\x1b[31m", 3],
        "num_workers": ["1e400"],
    }
    read = pipeline_of(path, json.dumps(summary))
    assert [op.op_id for op in read.operators] == [0, None, None, None]
    assert [op.name for op in read.operators] == ["", "", "n\x1b[31m", "3"]
    assert read.operators[0].n_workers is None and len(read.problems) == 3


def test_limits(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npulse.core.formats.profiling.minddata.MAX_OPERATORS", 2)
    read = pipeline_of(path, as_csv(SUMMARY))
    assert len(read.operators) == 2 and read.problems[0].kind == "limit"
    monkeypatch.setattr("npulse.core.formats.profiling.minddata.MAX_FILE_BYTES", 100)
    with pytest.raises(InputError, match="larger than 100 bytes"):
        pipeline_of(path, as_csv(SUMMARY))


@given(raw=st.binary(max_size=200))
def test_no_bytes_break_it(path: Path, raw: bytes) -> None:
    for content in (raw, as_csv(SUMMARY).encode() + raw, b"{" + raw, as_csv(SUMMARY).encode("utf-16") + raw):
        try:
            pipeline_of(path, content)
        except InputError:
            pass


def test_cut_at_every_byte_says_so(path: Path) -> None:
    for raw in (as_csv(SUMMARY).encode(), json.dumps(SUMMARY).encode()):
        for n in range(len(raw)):
            try:
                read = pipeline_of(path, raw[:n])
            except InputError:
                continue
            assert read.problems or raw[n - 1 : n] == b"\n"


# ---- dataset.csv ----


@pytest.mark.parametrize("header", ["Avg. time(us)", "Avg. time (us)"])
def test_dataset(path: Path, header: str) -> None:
    path.write_text(
        f"Operation,Stage,Occurrences,{header},Custom Info\n"
        "Pipeline,Fetch,12,1500.5,a=1\nMap,,N/A,,\n,x,1,1,\n"
    )
    read = read_dataset(path, root=path.parent)
    assert read.records == (
        DatasetOperation("Pipeline", "Fetch", 12, 1_500_500, "a=1", 2),
        DatasetOperation("Map", "", None, None, "", 3),
    )
    assert read.n_dropped == 1 and [(p.kind, p.line) for p in read.problems] == [("bad-record", 4)]
    path.write_text("OP Type,Count\nAdd,1\n")
    with pytest.raises(InputError, match="no column Operation"):
        read_dataset(path)
