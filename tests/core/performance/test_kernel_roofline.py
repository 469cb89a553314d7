"""Roofs, classes, and the chart of them."""

from __future__ import annotations

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.opprof.records import RooflinePoint
from npulse.core.performance.kernel.cores import Cores, cores_of
from npulse.core.performance.kernel.drawing import draw_roofline, roofline_legend
from npulse.core.performance.kernel.roofline import class_of, nearest_first, points_of, reach_of, reaches_of

from .kernels import CHIP, NA, kernel, one, point, vectors

VENDOR = (
    (33.28504180908203, 15.380544662475586, 18.440187454223633, 324.4031982421875, "0.047412"),
    (34.860416412353516, 15.380544662475586, 5.207109451293945, 324.4031982421875, "0.084731"),
    (0.09360750019550323, 0.37334126234054565, 36.880374908447266, 4.444128036499023, "0.108143"),
    (1.6373746395111084, 0.37334126234054565, 4.142578125, 4.444128036499023, "0.084008"),
)
"""Points of a published result and what the tool makes of them."""


@pytest.mark.parametrize(("x", "y", "bandwidth", "peak", "told"), VENDOR)
def test_shares_of_the_roof_are_those_of_the_tool(
    x: float, y: float, bandwidth: float, peak: float, told: str
) -> None:
    reach = reach_of(point(x, y, bandwidth, peak))
    assert reach is not None and f"{reach.ratio:.6f}" == told


def cores(**ratios: float) -> Cores:
    names = {"vector": "aiv_vec_ratio"}
    columns = {names.get(pipe, f"aiv_{pipe}_ratio"): [value] for pipe, value in ratios.items()}
    return cores_of(kernel(["0 vector0"], {"PipeUtilization": columns}))


@pytest.mark.parametrize(
    ("points", "ratios", "expected"),
    [
        ([point(200, 81)], {}, "compute bound"),
        ([point(10, 8.1)], {}, "memory bound"),
        ([point(10, 8)], {"mte2": 0.79}, "latency bound:pipeline caused"),
        ([point(10, 8)], {"mte2": 0.8, "vector": 0.5}, "latency bound:memory caused"),
        ([point(10, 8)], {"mte3": 0.5, "vector": 0.9}, "latency bound:compute caused"),
        ([point(10, 8)], {"scalar": 0.95, "mte2": 0.9}, "latency bound:compute caused"),
        ([point(10, 8)], {"fixpipe": 0.9, "vector": 0.1}, "latency bound:memory caused"),
        ([point(10, 1), point(10, 9, 1.0, 1000)], {}, "memory bound"),
        ([point(10, 11), point(0, 1), point(10, 1, 0.0)], {}, None),
        ([], {"vector": 1.0}, None),
    ],
)
def test_the_table_of_classes(
    points: list[RooflinePoint], ratios: dict[str, float], expected: str | None
) -> None:
    found = class_of(points, cores(**(ratios or {"vector": 0.1})))
    assert (None if found is None else found.name) == expected


@given(
    st.lists(
        st.builds(point, *[st.floats(1e-6, 1e6) for _ in range(4)]),
        max_size=8,
    )
)
def test_no_point_is_above_its_roof_and_the_nearest_comes_first(points: list[RooflinePoint]) -> None:
    found = reaches_of(points)
    assert [r.ratio for r in found] == sorted((r.ratio for r in found), reverse=True)
    for reach in found:
        p = reach.point
        assert 0 < reach.ratio <= 1
        assert reach.attainable_tops == min(p.peak_tops, p.tb_per_s * p.x)
        assert (reach.side == "compute") == (p.x > p.peak_tops / p.tb_per_s)
    assert list(nearest_first(points))[: len(found)] == [reach.point for reach in found]
    dropped = len(points) - len(found)
    assert dropped == sum(p.y > min(p.peak_tops, p.tb_per_s * p.x) for p in points)


def test_points_from_tables_alone() -> None:
    """Two cores, 4,000 operations each in 10 busy of 100 cycles at 1,000 MHz; 100 KB moved; 2 us."""
    tables: dict[str, dict[str, list[float]]] = {
        "ArithmeticUtilization": {
            "aiv_total_cycles": [100, 100],
            "aiv_vec_ratio": [0.1, 0.1],
            "aiv_vec_fops": [4000, 4000],
        },
        "Memory": {"read_main_memory_datas(KB)": [40, 30], "write_main_memory_datas(KB)": [30, NA]},
    }
    made = kernel(vectors(2), tables, duration_us=2.0, frequency_mhz=1000.0)
    (found,) = points_of(made, cores_of(made), CHIP)
    assert found.x == pytest.approx(8000 / (100 * 1024))
    assert found.y == pytest.approx(8000 / 2e-6 / 1e12)
    assert found.peak_tops == pytest.approx(400 * 1000e6 * 40 / 1e12), (
        "operations a busy cycle, on all 40 cores"
    )
    assert found.tb_per_s == 1.0
    assert points_of(made, cores_of(made), None) == ()
    advice = one(made, "roofline", CHIP)
    assert advice is not None and advice.figures["is_computed"] is True and "computed" in advice.message[0]


def test_the_finding_names_the_point_and_the_tools_class() -> None:
    made = kernel(
        ["0 cube0"], {"PipeUtilization": {"aic_mte2_ratio": [0.5]}}, roofline=(point(10, 5), point(200, 30))
    )
    advice = one(made, "roofline")
    assert advice is not None and advice.severity == "warning"
    assert "latency bound:pipeline caused" in advice.message[0] and "50.0%" in advice.message[0]
    assert advice.figures["attainable_tops"] == 10 and advice.cost_ns == 50_000
    assert len(advice.told) == 2


# ---- the chart ----


def cells(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


@pytest.mark.parametrize("is_ascii", [False, True])
@pytest.mark.parametrize(("width", "height"), [(60, 14), (24, 6), (100, 30), (1, 1)])
def test_the_chart_fits(width: int, height: int, is_ascii: bool) -> None:
    lines = draw_roofline(
        [point(x, y) for x, y in ((0.1, 0.05), (10, 3), (500, 90))], width, is_ascii, height=height
    )
    assert len(lines) == max(height, 6)
    assert max(map(cells, lines)) <= max(width, 24)
    text = "\n".join(lines)
    assert text.isascii() == is_ascii
    assert all(letter in text for letter in "ABC") and "Ops/Byte" in text and "TOps/s" in text


def test_points_stand_under_the_roof_and_in_order() -> None:
    points = [point(1, 0.5), point(10, 5), point(1000, 50)]
    lines = draw_roofline(points, 60, True)
    chart = [line[10:] for line in lines[1:-2]]
    places = {
        c: (row, column) for row, line in enumerate(chart) for column, c in enumerate(line) if c in "ABC"
    }
    columns = [places[letter][1] for letter in "ABC"]
    rows = [places[letter][0] for letter in "ABC"]
    assert columns == sorted(columns) and rows == sorted(rows, reverse=True)
    for letter in "ABC":
        row, column = places[letter]
        above = [chart[r][column] for r in range(row) if column < len(chart[r])]
        assert "/" in above or "-" in above, "the roof is above every point"
    labels = [line.split()[0] for line in lines[1:-2] if line[8:10].endswith("+")]
    assert "100" in labels, "the peak has its label"


def test_points_at_one_place_and_points_without_a_place() -> None:
    points = [point(10, 5), point(10, 5), point(0, 1), point(math.inf, 1), point(1e300, 1e-300)]
    lines = draw_roofline(points, 60, True)
    assert sum(line.count("*") for line in lines) == 1 and "A" not in "".join(lines[1:-2])
    assert len(roofline_legend(points)) == 2
    assert draw_roofline([], 60) == [] and draw_roofline(points[2:], 60) == []


def test_the_legend_gives_each_letter_its_figures() -> None:
    rows = roofline_legend([point(10, 5), point(10, 50), point(200, 90)])
    assert rows == [
        ["A", "GM/L2 GM", "10", "5", "10", "50.0%"],
        ["B", "GM/L2 GM", "10", "50", "NA", "NA"],
        ["C", "GM/L2 GM", "200", "90", "100", "90.0%"],
    ]
    assert len(roofline_legend([point(1, 0.1)] * 30, most=5)) == 6


@given(
    st.lists(
        st.builds(point, *[st.floats(allow_nan=True, allow_infinity=True) for _ in range(4)]), max_size=60
    ),
    st.integers(-5, 200),
    st.booleans(),
)
def test_any_points_make_a_chart_or_none(points: list[RooflinePoint], width: int, is_ascii: bool) -> None:
    lines = draw_roofline(points, width, is_ascii)
    assert lines == [] or (len(lines) == 14 and max(map(cells, lines)) <= max(width, 24))
    roofline_legend(points)


def test_names_of_files_cannot_move_the_cursor() -> None:
    odd = RooflinePoint("a\x1b[2J", "b\n", "c", 1, 0.5, 1, 1)
    assert "\x1b" not in str(roofline_legend([odd])) and "\n" not in roofline_legend([odd])[0][1]
