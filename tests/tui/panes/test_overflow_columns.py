"""Columns and first lines of the overflow pane, without a screen."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.cells import cell_len

from npulse.core.analysis import AnalysisOptions
from npulse.core.findings import Finding, Location, Report
from npulse.core.overflow.run_report import look, selections
from npulse.core.overflow.view import OverflowView, overflow_view
from npulse.core.run.discover import discover
from npulse.core.table import Table
from npulse.core.text import Lang
from npulse.tui.glyphs import ASCII, UNICODE, Glyphs
from npulse.tui.messages import tr
from npulse.tui.panes.columns import io_formatter, short_io_formatter
from npulse.tui.panes.overflow.columns import HIDDEN_AT_FIRST, heading, specs
from npulse.tui.panes.overflow.summary import few_words, nothing_lines, shown_lines
from npulse.tui.widgets.table_lines import PREFIX_CELLS
from npulse.tui.widgets.table_view import ColumnSpec, TableView, arrange, format_columns

from .overflow_runs import write_clean, write_monitor, write_ranks, write_saturated, write_sum

ALWAYS = ["operator", "io", "role", "absmax", "headroom_ratio"]


def view_of(run: Path, lang: Lang = "en") -> OverflowView:
    found, options = discover(run), AnalysisOptions(jobs=1)
    return overflow_view(look(found, selections(found, options)[-1], options), lang)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> OverflowView:
    return view_of(write_ranks(tmp_path_factory.mktemp("ranks") / "run"))


@pytest.fixture(scope="module")
def one_sum(tmp_path_factory: pytest.TempPathFactory) -> OverflowView:
    return view_of(write_sum(tmp_path_factory.mktemp("sum") / "run"))


def by_name(table: Table, width: int, lang: Lang = "en", glyphs: Glyphs = UNICODE) -> dict[str, ColumnSpec]:
    return {spec.name: spec for spec in specs(table, HIDDEN_AT_FIRST, glyphs, lang, width)}


def drawn(table: Table, width: int, lang: Lang, glyphs: Glyphs) -> list[str]:
    """Names of the columns that a table of that width has room for, not cut."""
    columns = specs(table, HIDDEN_AT_FIRST, glyphs, lang, width)
    layout = arrange(format_columns(TableView(table, columns), glyphs), width - PREFIX_CELLS)
    visible = layout.visible(0, width - PREFIX_CELLS)
    return [layout.columns[place].spec.name for place, cells in visible if cells == layout.widths[place]]


# ---- columns ----


@pytest.mark.parametrize(("lang", "glyphs"), [("en", UNICODE), ("zh", UNICODE), ("en", ASCII)])
@pytest.mark.parametrize("width", [72, 78, 80, 99, 100, 160])
def test_what_a_row_cannot_do_without_always_fits(
    ranks: OverflowView, one_sum: OverflowView, width: int, lang: Lang, glyphs: Glyphs
) -> None:
    assert set(ALWAYS) <= set(drawn(one_sum.table, width, lang, glyphs))
    assert {*ALWAYS, "rank"} <= set(drawn(ranks.table, width, lang, glyphs))


@pytest.mark.parametrize(("width", "least"), [(40, 2), (50, 3), (60, 4), (71, 5)])
def test_the_origin_goes_first_where_little_fits(one_sum: OverflowView, width: int, least: int) -> None:
    shown = drawn(one_sum.table, width, "en", UNICODE)
    assert len(shown) >= least and shown[0] == "operator" and "role" in shown


def test_rank_and_step_come_by_themselves_where_there_are_several(
    ranks: OverflowView, one_sum: OverflowView
) -> None:
    assert "rank" in by_name(ranks.table, 80) and "step" not in by_name(ranks.table, 80)
    assert not {"rank", "step"} & set(by_name(one_sum.table, 80))


def test_columns_in_which_nothing_stands_are_left_out(tmp_path: Path, one_sum: OverflowView) -> None:
    table = view_of(write_monitor(tmp_path / "run")).table
    names = set(by_name(table, 120))
    assert {"operator", "io", "role", "absmax", "nan", "step"} <= names
    assert not {"headroom_ratio", "plus_inf", "minus_inf", "saturated", "growth_ratio"} & names
    assert "saturated" in by_name(one_sum.table, 120), "of some rows it is known that there is none"


def test_hidden_columns_can_be_brought_in(one_sum: OverflowView) -> None:
    shown = specs(one_sum.table, frozenset(), UNICODE, "en", 80)
    names = [spec.name for spec in shown]
    assert names[:5] == ALWAYS and {"tensor", "max", "min", "upstream", "basis", "shape"} <= set(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("width", "share", "text"),
    [
        (60, 0.9253, " 92.5%"),
        (80, 0.9253, " 92.5% █████▌"),
        (120, 0.9253, " 92.5% ███████▍"),
        (80, 1.0, "100.0% ██████"),
        (80, 0.0, "  0.0%"),
        (80, 1e-9, " <0.1%"),
        (80, 0.0005, "  0.1%"),
        (80, 0.02, "  2.0% ▏"),
    ],
)
def test_headroom_is_a_share_and_a_bar(one_sum: OverflowView, width: int, share: float, text: str) -> None:
    write = by_name(one_sum.table, width)["headroom_ratio"].format
    assert callable(write) and write(share) == text


def test_an_ascii_bar_has_no_cell_for_next_to_nothing(one_sum: OverflowView) -> None:
    write = by_name(one_sum.table, 80, glyphs=ASCII)["headroom_ratio"].format
    assert callable(write)
    assert [write(share) for share in (0.003, 0.05, 0.2, 0.9253)] == [
        "  0.3%",
        "  5.0%",
        " 20.0% #",
        " 92.5% ######",
    ]


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("growth_ratio", 339.5, "x340"),
        ("growth_ratio", float("inf"), "inf"),
        ("growth_ratio", 0.00269, "x0.00269"),
        ("dtype", "torch.float16", "fp16"),
        ("dtype", "bfloat16", "bf16"),
        ("dtype", "torch.int8", "int8"),
        ("role", "origin", "E ✗ origin"),
        ("role", "benign", "· legal"),
        ("io", "output 0", "out 0"),
        ("io", "kwargs attn_mask", "kw attn_mask"),
        ("io", "parameters.weight", "parameters.weight"),
    ],
)
def test_formats(one_sum: OverflowView, name: str, value: object, text: str) -> None:
    write = by_name(one_sum.table, 200)[name].format
    assert callable(write) and write(value) == text


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_a_long_name_keeps_its_number(one_sum: OverflowView, width: int, glyphs: Glyphs) -> None:
    spec = by_name(one_sum.table, width, glyphs=glyphs)["operator"]
    assert callable(spec.format)
    for name in (
        "Functional.scaled_dot_product_attention_with_more.12.backward",
        "Module.层" + "层" * 40 + ".9.X",
    ):
        text = spec.format(name)
        assert cell_len(text) <= spec.max_width and text[-3:] == ("ard" if "back" in name else "9.X")
        assert not glyphs.is_ascii or text.isascii()
    assert spec.format("Tensor.add.3.forward") == "Tensor.add.3"


def test_counts_say_what_is_known(one_sum: OverflowView) -> None:
    columns, table = by_name(one_sum.table, 200), one_sum.table
    origin = int(one_sum.upstream_rows[-1])
    told = {name: columns[name].instead for name in ("nan", "plus_inf", "minus_inf", "saturated")}
    assert all(instead is not None for instead in told.values())
    said = {name: instead(origin) for name, instead in told.items() if instead is not None}
    assert said == {"nan": None, "plus_inf": ">=1", "minus_inf": ">=1", "saturated": "?"}
    assert table.column("nan").value(origin) == 0
    everything = {spec.name: spec for spec in specs(table, frozenset(), UNICODE, "en", 300)}
    assert "near_limit" not in everything or everything["near_limit"].instead is not None


def test_headings_stand_in_both_languages(one_sum: OverflowView) -> None:
    for column in one_sum.table.columns:
        assert heading(column.name, "en").isascii() and heading(column.name, "zh")
    assert heading("role", "zh") == "判断" and heading("no such", "zh") == "no such"


def test_places_in_a_call_in_both_languages() -> None:
    assert io_formatter("en")("output 0") == "output 0" and io_formatter("zh")("kwargs m") == "关键字参数 m"
    assert short_io_formatter("en")("parameters_grad weight") == "grad weight"
    assert (
        short_io_formatter("zh")("output 0") == "输出 0"
        and short_io_formatter("zh")("activation") == "activation"
    )


# ---- first lines ----


def lines_of(
    view: OverflowView, lang: Lang = "en", glyphs: Glyphs = UNICODE, width: int = 78
) -> tuple[str, str]:
    first, second = shown_lines(view, lambda i, **v: tr(i, lang, **v), glyphs, width, "z")
    return first, second


def test_first_lines_of_a_sum(one_sum: OverflowView) -> None:
    assert lines_of(one_sum) == (
        "FAIL  1 origin · 2 calls inherited",
        "E ✗ origin: Tensor.__add__.20  Inf, fed by linear.43 at 92.5 % of fp16",
    )
    assert lines_of(one_sum, glyphs=ASCII)[0] == "FAIL  1 origin, 2 calls inherited"
    assert lines_of(one_sum.translated("zh"), "zh") == (
        "FAIL  源头 1 · 继承的调用 2",
        "E ✗ 源头: Tensor.__add__.20  Inf，上游 linear.43 已达 fp16 的 92.5 %",
    )


def test_first_lines_of_ranks_say_where_and_how_far(ranks: OverflowView) -> None:
    first, second = lines_of(ranks, width=90)
    assert first == "FAIL  1 origin · 8 calls inherited"
    assert second == "E ✗ origin: Torch.log.0  rank 2  NaN: the logarithm of -1.5; spread to rank 0, 1, 3"
    assert lines_of(ranks, width=60)[1] == "E ✗ origin: Torch.log.0  rank 2  NaN: the logarithm of -1.5"


def test_first_lines_of_other_runs(tmp_path: Path) -> None:
    assert lines_of(view_of(write_saturated(tmp_path / "s"))) == (
        "FAIL  1 origin · 1 call inherited · saturation not told (z)",
        "E ✗ origin: Torch.square.0  24 values at +-65,504, the largest fp16",
    )
    assert lines_of(view_of(write_clean(tmp_path / "c"))) == (
        "PASS  9 calls",
        "No NaN, no Inf, no saturated value.",
    )
    first, second = lines_of(view_of(write_monitor(tmp_path / "m")))
    assert first == "WARN  6 monitor rows" and second.startswith("W ! fc1.weight  the norm of grad_reduced")


@pytest.mark.parametrize("width", [40, 60, 78, 118])
def test_the_name_is_cut_before_the_reason(one_sum: OverflowView, width: int) -> None:
    for lang in ("en", "zh"):
        second = lines_of(one_sum.translated(lang), lang, width=width)[1]
        assert "linear.43" in second and second.startswith("E ✗ ")


def fake(counts: dict[str, int], summary: dict[str, Any] | None = None, *findings: Finding) -> Any:
    report = Report("overflow", "run", "fail", counts=counts, summary=summary or {}, findings=findings)
    return SimpleNamespace(report=report, lang="en", found=SimpleNamespace(looked_through=(), n_awaited=0))


@pytest.mark.parametrize(
    ("counts", "mode", "expected"),
    [
        ({"calls": 1}, "unknown", "FAIL  1 call"),
        ({"origin": 2, "inherited": 1417}, "unknown", "FAIL  2 origins · 1,417 calls inherited"),
        ({"inherited": 1, "benign": 24}, "unknown", "FAIL  1 call inherited · 24 legal Inf"),
        ({"origin": 1, "unknown": 1}, "off", "FAIL  1 origin · saturation mode off · 1 tensor not seen"),
        ({"calls": 5, "unknown": 4}, "on", "FAIL  5 calls · saturation mode on · 4 tensors not seen"),
        ({"monitor_rows": 1}, "unknown", "FAIL  1 monitor row"),
        ({"saturated_calls": 2, "calls": 3}, "unknown", "FAIL  3 calls · saturation not told (z)"),
    ],
)
def test_counts_in_the_first_line(counts: dict[str, int], mode: str, expected: str) -> None:
    assert lines_of(fake(counts, {"saturation_mode": mode}))[0] == expected


def origin(cause: str, why: str = "other", **figures: Any) -> Finding:
    figures = {"kind": "Inf", "cause": cause, "why": why, "dtype": "float16", **figures}
    name = "Functional.linear.3.forward"
    return Finding("overflow", "error", f"overflow.{cause}", "origin", name, "long", figures=figures)


SATURATED = origin("operator", kind="saturated", saturated_count=42, absmax=65504.0)
UNCOUNTED = origin("operator", kind="saturated", saturated_count=None, absmax=65504.0)
FED = origin("operator", suspect="Module.layers.1.fc2.Linear.forward.0", suspect_headroom_ratio=0.5)
REDUCED = origin("collective", suspect="Torch.clamp.2.forward", suspect_headroom_ratio=0.5)


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        (origin("operator"), "Inf from finite inputs"),
        (origin("operator", "power", at_most=245520.25), "Inf: can reach 245,520.2, beyond fp16"),
        (origin("operator", "log-negative", kind="NaN", argument=-10.15), "NaN: the logarithm of -10.15"),
        (origin("operator", "root-negative", kind="NaN", argument=-2.0), "NaN: the root of -2"),
        (origin("operator", "arc-outside", kind="NaN", argument=1.5), "NaN: 1.5 is outside of [-1, 1]"),
        (origin("operator", "zero-division"), "Inf: its divisor reaches 0"),
        (SATURATED, "42 values at +-65,504, the largest fp16"),
        (UNCOUNTED, "values at +-65,504, the largest fp16"),
        (FED, "Inf, fed by layers.1.fc2 at 50 % of fp16"),
        (REDUCED, "Inf: the reduction itself overflows"),
        (origin("parameter", kind="NaN"), "NaN in a weight that arrives"),
        (origin("masked-row", kind="NaN"), "NaN: a whole row is masked"),
        (origin("gap"), "Inf from code that was not captured"),
        (origin("gradient"), "Inf from a backward that was not captured"),
        (origin("legal-inf", kind="NaN"), "NaN, made of a legal Inf"),
        (origin("rank", kind="grad_unreduced"), ""),
        (origin("record", task_id=41, stream_id=563), "Inf: device record, task 41 stream 563"),
        (origin("record", kind=None, task_id=41, stream_id=563), "device record, task 41 stream 563"),
    ],
)
def test_few_words(finding: Finding, words: str) -> None:
    told = partial(few_words, finding, fake({}))
    assert told(lambda i, **v: tr(i, "en", **v)) == words
    assert bool(told(lambda i, **v: tr(i, "zh", **v))) == bool(words)


@pytest.mark.parametrize("ranks", [[], [0], [0, 1, 2, 3, 4, 5, 6, 7]])
def test_how_far_it_went(ranks: list[int]) -> None:
    finding = origin("operator", affected_ranks=ranks)
    located = Finding(**{**{n: getattr(finding, n) for n in finding.__slots__}, "location": Location(rank=0)})
    second = lines_of(fake({"origin": 1}, None, located), width=90)[1]
    assert second.endswith("; spread to 7 more ranks" if len(ranks) > 1 else "finite inputs")


def test_without_few_words_the_message_stands_there() -> None:
    assert lines_of(fake({"origin": 1}, None, origin("rank", kind="grad_unreduced")))[1].endswith("  long")


def test_nothing_says_what_was_looked_for_and_how_to_capture() -> None:
    for lang in ("en", "zh"):
        where, how = nothing_lines("/run\x1b[2J", lambda i, lang=lang, **v: tr(i, lang, **v))
        assert (
            "dump.json" in where and "Opdebug" in where and "\x1b" not in where and "PrecisionDebugger" in how
        )
