"""The ranks of a job as one table: each cell is that of the rank's own row, the worst rank is named."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import InputError, UsageError
from npulse.core.formats.msprobe.merge_config import MergeConfig, read_merge_config
from npulse.core.precision.ranks.job import job_table
from npulse.core.precision.ranks.merge import by_rank, figures_of, merged, ranks_of, selected
from npulse.core.report.folder import check_folder, file_names, write_folder
from npulse.core.table import Column, Table, text_column

from .. import faulty_net as fn
from ..faulty_net import Fault
from ..theirs.tables import row as result_row
from ..theirs.tables import write

BROKEN = "Functional.relu.1.forward"


def long_table(cells: list[tuple[int, str, float | None]], figure: str = "cosine") -> Table:
    """Rows (rank, name, value) as the precision table holds them."""
    values = [np.nan if value is None else value for _, _, value in cells]
    absent = np.array([value is None for _, _, value in cells], np.bool_)
    names = [name for _, name, _ in cells]
    return Table(
        "precision",
        (
            Column("rank", "int", np.array([rank for rank, _, _ in cells], np.int64)),
            Column("step", "int", np.zeros(len(cells), np.int64)),
            text_column("operator", [name.rpartition(".")[0] for name in names]),
            text_column("target", names),
            Column(figure, "float", np.array(values, np.float64), absent=absent),
        ),
    )


@given(
    cells=st.lists(
        st.tuples(
            st.integers(0, 3),
            st.sampled_from("abcdefg"),
            st.none() | st.floats(-1, 1, allow_nan=False),
        ),
        max_size=40,
        unique_by=lambda cell: cell[:2],
    )
)
def test_every_value_is_in_its_cell(cells: list[tuple[int, str, float | None]]) -> None:
    table = by_rank(long_table(cells), "cosine")
    told = {row["name"]: row for row in map(table.row, range(table.n_rows))}
    kept = {(rank, name): value for rank, name, value in cells if value is not None}
    assert set(told) == {name for _, name in kept}
    for name, row in told.items():
        of_ranks = {rank: value for (rank, other), value in kept.items() if other == name}
        for rank in {rank for rank, _, _ in cells}:
            assert row[f"rank{rank}"] == of_ranks.get(rank)
        values = set(of_ranks.values())
        if len(values) < 2:
            assert row["worst"] is None
        else:
            assert of_ranks[int(row["worst"].removeprefix("rank"))] == min(values)


def test_order_is_that_of_execution_on_all_ranks() -> None:
    cells = [(0, "a", 1.0), (0, "c", 1.0), (1, "a", 1.0), (1, "b", 1.0), (1, "c", 1.0), (1, "d", 1.0)]
    table = by_rank(long_table(cells), "cosine")
    assert table.column("name").to_list(0, 9) == ["a", "b", "c", "d"]


def test_what_is_no_number_is_worst() -> None:
    table = long_table([(0, "a", 2.0), (1, "a", 1e9)], "max_abs_error")
    values = table.column("max_abs_error").values
    values[0] = np.nan
    assert by_rank(table, "max_abs_error").row(0)["worst"] == "rank0"


def test_calls_are_selected_as_the_tool_does() -> None:
    names = ["Distributed.all_reduce.0.forward.input.0", "Distributed.all_reduce_x.0.forward.input.0"]
    table = long_table([(0, name, 1.0) for name in names])
    assert selected(table, ["Distributed.all_reduce"]).n_rows == 1
    assert selected(table, ["Distributed.*"]).n_rows == 2
    with pytest.raises(InputError, match="no call is selected"):
        selected(table, ["Torch"])
    with pytest.raises(InputError, match="no figure"):
        figures_of(table, ["Max diff"])


# ---- of captures -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("job")
    for side, golden in (("target", False), ("golden", True)):
        for rank in range(3):
            net = fn.run_alone(Fault("output", BROKEN) if rank == 1 else Fault(), golden=golden, rank=rank)
            net.write(folder / side / "step0" / f"rank{rank}", "L1", "tensor")
    return folder / "target", folder / "golden"


def test_captures_laid_side_by_side(sides: tuple[Path, Path], tmp_path: Path) -> None:
    found = job_table(sides, AnalysisOptions(jobs=1))
    assert found.is_ours and found.problems == ()
    figures = figures_of(found.table, ())
    assert ranks_of(found.table) == ["rank0", "rank1", "rank2"]
    files = write_folder(
        merged(found.table, figures), tmp_path / "out", ("csv", "json"), head={"source": "x"}, runs=sides
    )
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(files)
    with open(tmp_path / "out" / "rel_l2.csv", newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    broken = rows[f"{BROKEN}.output.0"]
    # recomputed from the files
    t, g = (
        np.load(side / f"step0/rank1/dump_tensor_data/{BROKEN}.output.0.npy").astype(float) for side in sides
    )
    assert float(broken["rank1"]) == pytest.approx(np.linalg.norm(t - g) / np.linalg.norm(g), rel=1e-6)
    assert (broken["rank0"], broken["rank2"], broken["worst"]) == ("0.0", "0.0", "rank1")
    body = json.loads((tmp_path / "out" / "merged.json").read_text())
    assert body["source"] == "x" and len(body["tables"]["ranks"]) == found.table.n_rows
    (row,) = [row for row in body["tables"]["verdict"] if row["name"] == f"{BROKEN}.output.0"]
    assert (row["rank0"], row["rank1"], row["worst"]) == ("pass", "error", "rank1")


def test_a_folder_is_written_whole_or_not_at_all(sides: tuple[Path, Path], tmp_path: Path) -> None:
    table = long_table([(0, "a", 1.0)])
    with pytest.raises(InputError, match="not written into the run"):
        write_folder({"a": table}, sides[0] / "out", runs=sides)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    with pytest.raises(InputError, match="not empty"):
        check_folder(tmp_path / "full", ("csv",))
    with pytest.raises(UsageError):
        check_folder(tmp_path / "new", ("pdf",))

    class Broken(Exception):
        pass

    class Failing:
        """A table that breaks off while it is written."""

        exported = table.columns

        @property
        def n_rows(self) -> int:
            raise Broken

    with pytest.raises(Broken):
        write_folder({"a": table, "b": Failing()}, tmp_path / "new")  # type: ignore[dict-item]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]


def test_names_of_files_are_told_apart() -> None:
    assert file_names(["Max diff", "max_diff", "../..", "x" * 99]) == [
        "Max_diff",
        "max_diff_2",
        "_",
        "x" * 80,
    ]


# ---- of results of the tool ------------------------------------------------------------------------------

REDUCE = "Distributed.all_reduce.0.forward"


def test_a_cell_without_a_figure_shows_both_sides(tmp_path: Path) -> None:
    """As the tool's own merged tables do; what both have there are the cells of the same row."""
    for rank in (0, 1):
        group = {name: "N/A" for name in ("Cosine", "MaxAbsErr")} | {
            "NPU max": f"tp-{rank}",
            "Bench max": "tp-0",
        }
        broken = {"Cosine": "Nan" if rank else "1.0", "NPU max": "nan" if rank else "2.0", "Bench max": "2.0"}
        rows = [
            result_row(f"{REDUCE}.input.0", **broken),
            result_row(f"{REDUCE}.output.group", **group),
            result_row("Functional.linear.0.forward.output.0"),
        ]
        write(tmp_path / f"compare_result_rank{rank}-rank{rank}_2026010100000{rank}.csv", rows)
    table = selected(job_table([tmp_path], AnalysisOptions(jobs=1)).table, ["Distributed.all_reduce"])
    cosines = by_rank(table, "Cosine")
    told = {cells["name"]: cells for cells in map(cosines.row, range(cosines.n_rows))}
    assert set(told) == {f"{REDUCE}.input.0", f"{REDUCE}.output.group"}
    of_group = told[f"{REDUCE}.output.group"]
    assert (of_group["rank0"], of_group["rank1"]) == ("NPU:tp-0  Bench:tp-0", "NPU:tp-1  Bench:tp-0")
    of_input = told[f"{REDUCE}.input.0"]
    assert (of_input["rank0"], of_input["rank1"], of_input["worst"]) == ("1.0", "NPU:nan  Bench:2.0", "rank1")


def test_the_configuration_of_merge_result(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("api:\n- Distributed.all_reduce\n- Distributed.all_gather\ncompare_index:\n- Max diff\n")
    found = read_merge_config(path)
    assert found.apis == ("Distributed.all_reduce", "Distributed.all_gather") and found.figures == (
        "Max diff",
    )
    path.write_text("api: [Torch.abs]\ncompare_index:\n")
    assert read_merge_config(path) == MergeConfig(("Torch.abs",), ())


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None), ("- a\n", 1), ("api: []\n", None), ("compare_index: [Cosine]\n", None), ("api: x\n", 1),
        ("api:\n- a\n- {b: c}\n", 3), ("api: [a]\ncompare_index: 3\n", 2), ("api: &x [a]\nb: *x\n", 1),
        ("api: [a\n", 2), ("api: !!python/object:os.x [a]\n", 1),
    ],
)  # fmt: skip
def test_a_configuration_that_is_none_is_refused(tmp_path: Path, text: str, line: int | None) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_merge_config(path)
    assert refused.value.line == line
