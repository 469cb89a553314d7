"""Figures of charts, counted again by hand from small tables."""

from __future__ import annotations

import numpy as np
import pytest

from npulse.core.analysis import AreaReport
from npulse.core.findings import Report
from npulse.core.report.html import chart_data as data
from npulse.core.report.html import charts
from npulse.core.report.html.chart_layers import places_of
from npulse.core.report.html.pictures import area_pictures
from npulse.core.report.mask import hide_name
from npulse.core.table import Column, Table, text_column

NONE = None


def floats(name: str, values: list[float | None]) -> Column:
    absent = np.array([value is None for value in values])
    return Column(name, "float", np.array([v or 0.0 for v in values]), None, absent)


def ints(name: str, values: list[int | None]) -> Column:
    absent = np.array([value is None for value in values])
    return Column(name, "int", np.array([v or 0 for v in values]), None, absent)


def compared(rows: list[tuple[int, int, str, str, float | None, float | None, str]]) -> Table:
    """(rank, layer, operator's word, io, rel_l2, cosine, verdict) a row."""
    names = [f"Module.model.layers.{layer}.{word}.Linear.forward.0" for _, layer, word, *_ in rows]
    return Table(
        "precision",
        (
            ints("rank", [row[0] for row in rows]),
            ints("step", [0] * len(rows)),
            text_column("operator", names),
            text_column("io", [row[3] for row in rows]),
            text_column("target", [f"{name}.{row[3]}" for name, row in zip(names, rows, strict=True)]),
            floats("rel_l2", [row[4] for row in rows]),
            floats("rel_l2_at_least", [NONE for _ in rows]),
            floats("cosine", [row[5] for row in rows]),
            text_column("verdict", [row[6] for row in rows]),
        ),
    )


ROWS = [
    (0, 0, "q", "input 0", 0.5, 0.1, "pass"),
    (0, 0, "q", "output 0", 0.001, 0.999, "pass"),
    (0, 1, "q", "output 0", 0.01, 0.99, "warning"),
    (0, 1, "k", "output 0", 0.3, 0.9, "error"),
    (1, 1, "q", "output 0", None, None, "unknown"),
    (1, 0, "q", "output 0", 0.002, 0.998, "pass"),
]


def test_a_cell_has_the_worst_row_of_its_layer_and_rank() -> None:
    heat = data.precision_heat(compared(ROWS))
    assert heat.layers == ("layer 0 forward", "layer 1 forward") and heat.ranks == ("rank 0", "rank 1")
    found = {place: (cell.value, cell.state) for place, cell in heat.cells.items()}
    assert found == {
        (0, 0): (0.5, "pass"),
        (1, 0): (0.3, "error"),
        (0, 1): (0.002, "pass"),
        (1, 1): (None, "unknown"),
    }
    assert heat.cells[1, 0].subject == "Module.model.layers.1.k.Linear.forward.0.output 0"
    assert heat.left_out == (0, 0)


def test_an_error_counts_more_than_a_larger_figure() -> None:
    rows = [(0, 0, "q", "output 0", 0.9, 0.9, "pass"), (0, 0, "k", "output 0", 0.1, 0.9, "error")]
    (cell,) = data.precision_heat(compared(rows)).cells.values()  # type: ignore[arg-type]
    assert (cell.state, cell.value) == ("error", 0.9) and ".k." in cell.subject


def test_an_error_that_no_figure_measures_is_the_worst() -> None:
    """NaN in a capture of statistics: the error is proved to be at least 0, which says nothing."""
    rows = [(0, 0, "q", "output 0", 0.1, 0.9, "error"), (0, 0, "k", "output 0", None, None, "error")]
    table = compared(rows)  # type: ignore[arg-type]
    columns = [
        floats("rel_l2_at_least", [NONE, 0.0]) if c.name == "rel_l2_at_least" else c for c in table.columns
    ]
    heat = data.precision_heat(Table("precision", tuple(columns)))
    (cell,) = heat.cells.values()
    assert (cell.value, cell.state) == (None, "error") and ".k." in cell.subject
    assert charts.error_level(cell) == 5
    other = data.Cell(0.5, "error", "x")
    rows_of = charts.heat_rows(data.Heat(("a", "b"), ("r",), {(0, 0): other, (1, 0): cell}), "en")
    assert [row[0] for row in rows_of] == ["b", "a"]


def test_layers_of_several_ranks_have_one_order() -> None:
    """Stages of a pipeline by their numbers; a call that one rank lacks, where the others ran it."""
    rows = [
        (rank, layer, "q", "output 0", 0.1, 0.9, "pass")
        for rank, layers in ((0, (2, 3)), (1, (0, 1, 3)))
        for layer in layers
    ]
    heat = data.precision_heat(compared(rows))  # type: ignore[arg-type]
    assert [one.split()[1] for one in heat.layers] == ["0", "1", "2", "3"]
    assert set(heat.cells) == {(2, 0), (3, 0), (0, 1), (1, 1), (3, 1)}
    assert list(places_of([["a", "b", "c"], ["x", "a", "y", "c", "z"]])) == ["x", "a", "y", "b", "c", "z"]
    ends = ["forward", "backward"]
    stages = places_of(
        [[*ends, "layer 0 forward", "layer 0 backward"], [*ends, "layer 1 forward", "layer 1 backward"]]
    )
    both = [
        "forward",
        "layer 0 forward",
        "layer 1 forward",
        "backward",
        "layer 1 backward",
        "layer 0 backward",
    ]
    assert list(stages) == both


def test_of_many_layers_and_ranks_the_worst_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "MAX_LAYERS", 2)
    monkeypatch.setattr(data, "MAX_RANKS", 1)
    rows = [
        (rank, layer, "q", "output 0", 0.1 * layer + 0.01 * rank, 0.9, "error" if layer == 0 else "pass")
        for rank in (0, 1)
        for layer in range(4)
    ]
    heat = data.precision_heat(compared(rows))  # type: ignore[arg-type]
    assert heat.layers == ("layer 0 forward", "layer 3 forward") and heat.left_out == (2, 1)
    assert set(heat.cells) == {(0, 0), (1, 0)}


def test_layers_are_known_in_a_masked_table() -> None:
    table = compared(ROWS)
    names = [hide_name(str(table.row(row)["operator"])) for row in range(table.n_rows)]
    columns = [text_column("operator", names) if c.name == "operator" else c for c in table.columns]
    assert "layers" not in names[0]
    assert data.precision_heat(Table("precision", tuple(columns))).layers == (
        "layer 0 forward",
        "layer 1 forward",
    )


def test_a_curve_is_the_lowest_cosine_of_a_layers_outputs() -> None:
    other = [(0, 1, "q", "output 0", 0.1, 0.95, "pass"), (0, 2, "q", "output 0", 0.1, 0.5, "pass")]
    shown = data.cosine_curve([("a", compared(ROWS)), ("b", compared(other))])  # type: ignore[arg-type]
    assert shown.names == ("layer 0 forward", "layer 1 forward", "layer 2 forward")
    assert [(line.label, line.points) for line in shown.lines] == [
        ("a", ((0, 0.998), (1, 0.9))),
        ("b", ((1, 0.95), (2, 0.5))),
    ]
    assert data.cosine_curve([("a", compared([]))]).lines == ()


def overflow(**columns: list[float | None]) -> Table:
    n = len(columns["headroom_ratio"])
    counts = ("nan", "plus_inf", "minus_inf", "saturated", "near_limit")
    numbers = {name: columns.get(name, [0] * n) for name in counts}
    return Table(
        "overflow",
        (
            ints("rank", [0] * n),
            ints("step", [NONE] * n),
            text_column("operator", [f"Tensor.op{i}.0.forward" for i in range(n)]),
            text_column("tensor", [f"t{i}" for i in range(n)]),
            text_column("dtype", ["float16"] * n),
            floats("headroom_ratio", columns["headroom_ratio"]),
            floats("absmax", columns.get("absmax", [1.0] * n)),
            *(ints(name, values) for name, values in numbers.items()),  # type: ignore[arg-type]
            ints("upstream", columns.get("upstream", [NONE] * n)),  # type: ignore[arg-type]
        ),
    )


def test_states_of_an_overflow() -> None:
    table = overflow(
        headroom_ratio=[0.1, 0.6, 1.0, NONE, NONE, 0.2, NONE],
        nan=[0, 0, 0, 3, 0, 0, NONE],
        saturated=[0, 0, 2, 0, 0, 0, NONE],
        absmax=[1, 2, 3, float("inf"), NONE, 4, float("nan")],
    )
    heat = data.overflow_heat(table, 0.5)
    states = [heat.cells[layer, 0].state for layer in range(7)]
    assert states == ["ok", "near", "saturated", "nonfinite", "unknown", "ok", "nonfinite"]
    assert heat.ranks == ("rank 0",)
    for ratio in (0.8, None):  # what is close to the limit is for the area to say
        assert data.overflow_heat(table, ratio).cells[1, 0].state == "ok"


@pytest.mark.parametrize(
    ("summary", "n_marks"), [({"near_ratio": 0.5}, 1), ({"near_ratio": 0.9}, 0), ({}, 0)]
)
def test_the_map_marks_what_the_report_takes_for_close(summary: dict[str, float], n_marks: int) -> None:
    table = overflow(headroom_ratio=[0.1, 0.6])
    report = Report("overflow", "run", "pass", summary=summary, tables={"overflow": table})
    (drawn,) = area_pictures("overflow", [AreaReport("round1", "", report)], "en")
    assert drawn.partition("</svg>")[0].count(">!</text>") == n_marks


def test_the_chain_goes_from_the_farthest_call_to_the_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    table = overflow(
        headroom_ratio=[0.9, NONE, 0.3, 0.1],
        upstream=[1, 0, 2, NONE],
        plus_inf=[0, 5, 0, 0],
    )
    links, more = data.headroom_chain(table)
    assert [(one.name, one.distance, one.share, one.bad) for one in links] == [
        ("t2", 2, 0.3, ""),
        ("t0", 1, 0.9, ""),
        ("t1", 0, None, "Inf"),
    ]
    assert more == 0
    monkeypatch.setattr(data, "MAX_CHAIN", 2)
    links, more = data.headroom_chain(table)
    assert [one.name for one in links] == ["t0", "t1"] and more == 1


def test_figures_of_rounds_that_changed() -> None:
    figures = [
        {"cosine": {"value": 0.96}, "n": {"value": 1}},
        {"n": {"value": 1}},
        {"cosine": {"value": 0.99}},
    ]
    rounds = [{"round": f"r{i}", "figures": one} for i, one in enumerate(figures)]
    found = data.rounds_curves(Report("rounds", "run", "pass", summary={"rounds": rounds}))
    assert list(found) == ["cosine"]
    assert found["cosine"].lines[0].points == ((0, 0.96), (2, 0.99)) and found["cosine"].names == (
        "r0",
        "r1",
        "r2",
    )


def test_last_outputs_need_two_rounds() -> None:
    told = [
        AreaReport(f"r{i}", "", Report("precision", "run", "pass", summary={"last_output_cosine": value}))
        for i, value in enumerate((0.96, None, "nan", 0.99))
    ]
    shown = data.last_outputs(told)
    assert shown is not None and shown.lines[0].points == ((0, 0.96), (3, 0.99))
    assert data.last_outputs(told[:3]) is None
