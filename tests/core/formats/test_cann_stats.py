"""Statistics tables of CANN operators."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.findings import Problem
from npulse.core.formats.cann import stats as reader
from npulse.core.formats.cann.stats import StatRow, read_statistics
from npulse.core.formats.tensors import DTYPES, TensorError

from .cann_files import file_of

START = "Input/Output,Index,Data Size,Data Type,Format,Shape"
DEFAULT = f"{START},Max Value,Min Value,Avg Value,Count,Nan Count,Negative Inf Count,Positive Inf Count"
CHOSEN = f"{START},Count,Max Value,Min Value,Nan Count,Negative Inf Count,Positive Inf Count,l2norm"
ROW = "Input,0,2048,DT_FLOAT16,FRACTAL_NZ,2x2x16x16,2.5,-3,-0.5,1024,1,2,3"


def read(text: str | bytes) -> tuple[tuple[StatRow, ...], list[Problem]]:
    problems: list[Problem] = []
    content = text if isinstance(text, bytes) else text.encode()
    with file_of(content, "MatMul.fc.15.3.1749633420000456.csv") as path:
        return read_statistics(path, root=path.parent, problems=problems), problems


def rows(*lines: str) -> tuple[StatRow, ...]:
    found, problems = read("".join(f"{line}\n" for line in lines))
    assert problems == []
    return found


def told(*lines: str) -> list[tuple[str, int | None]]:
    _, problems = read("".join(f"{line}\n" for line in lines))
    assert all(problem.artifact == "MatMul.fc.15.3.1749633420000456.csv" for problem in problems)
    return [(problem.kind, problem.line) for problem in problems]


def test_the_default_table() -> None:
    (row,) = rows(DEFAULT, ROW)
    assert row == StatRow(
        io="input",
        index=0,
        size_bytes=2048,
        data_type="DT_FLOAT16",
        dtype=DTYPES["float16"],
        format="FRACTAL_NZ",
        shape=(2, 2, 16, 16),
        max_value=2.5,
        min_value=-3.0,
        avg_value=-0.5,
        l2norm=None,
        count=1024,
        nan_count=1,
        negative_inf_count=2,
        positive_inf_count=3,
        line=2,
    )


def test_the_table_of_chosen_statistics() -> None:
    (row,) = rows(CHOSEN, "Output,1,32,DT_FLOAT,ND,2x4,8,60000,-60000,0,1,2,84852.8")
    assert (row.io, row.index, row.count, row.max_value, row.min_value) == ("output", 1, 8, 60000.0, -60000.0)
    assert (row.nan_count, row.negative_inf_count, row.positive_inf_count) == (0, 1, 2)
    assert (row.l2norm, row.avg_value) == (84852.8, None)


def test_values_that_are_not_finite_or_not_there() -> None:
    inf, nan, none = rows(
        DEFAULT,
        "Output,0,32,DT_FLOAT16,ND,2x4,inf,-inf,nan,8,0,1,1",
        "Output,1,32,DT_FLOAT16,ND,2x4,nan,-nan,NaN,8,8,0,0",
        "Output,2,32,DT_INT4,ND,-,NA,NA,NA,NA,NA,NA,NA",
    )
    assert (inf.max_value, inf.min_value) == (math.inf, -math.inf) and math.isnan(inf.avg_value or 0)
    assert math.isnan(nan.max_value or 0) and math.isnan(nan.min_value or 0)
    assert (none.max_value, none.count, none.positive_inf_count, none.dtype, none.shape) == (None,) * 4 + (
        (),
    )


def test_a_row_without_its_count_is_aligned_from_the_right() -> None:
    chosen, none, default = rows(
        CHOSEN,
        "Output,0,32,DT_FLOAT16,ND,2x4,60000,-60000,0,1,2,84852.8",
        "Output,1,32,DT_INT4,ND,-,NA,NA,NA,NA,NA,NA",
        DEFAULT,
        "Output,0,32,DT_FLOAT16,ND,2x4,2.5,-3,-0.5,1,2,3",
    )
    assert (chosen.count, chosen.max_value, chosen.min_value, chosen.l2norm) == (
        None,
        60000.0,
        -60000.0,
        84852.8,
    )
    assert (chosen.nan_count, chosen.negative_inf_count, chosen.positive_inf_count) == (0, 1, 2)
    assert (none.count, none.max_value, none.l2norm) == (None, None, None)
    assert (default.count, default.max_value, default.min_value, default.avg_value) == (None, 2.5, -3.0, -0.5)
    assert (default.nan_count, default.positive_inf_count) == (1, 3)


def test_a_row_of_nothing_but_na_may_be_shorter_still() -> None:
    (row,) = rows(CHOSEN, "Output,1,32,DT_INT4,ND,NA,NA,NA")
    assert (row.max_value, row.shape) == (None, None)


def test_several_executions_in_one_file() -> None:
    found = rows(DEFAULT, ROW, ROW, "", DEFAULT, ROW, CHOSEN, "Output,0,4,DT_FLOAT,ND,1,1,7,7,0,0,0,7")
    assert [row.line for row in found] == [2, 3, 6, 8]
    assert (found[3].max_value, found[3].l2norm) == (7.0, 7.0)


def test_the_header_may_be_missing() -> None:
    (row,) = rows(ROW)
    assert (row.max_value, row.count) == (2.5, 1024)


def test_carriage_returns_blanks_case_and_a_mark_in_front() -> None:
    text = f"\ufeff{DEFAULT.lower()}\r\n{ROW.replace(',', ' , ')}\r\n"
    found, problems = read(text)
    assert problems == [] and found[0].max_value == 2.5 and found[0].data_type == "DT_FLOAT16"


def test_columns_of_other_names_are_stepped_over() -> None:
    (row,) = rows(f"{DEFAULT},MD5 Value", f"{ROW},d41d8cd9")
    assert (row.max_value, row.positive_inf_count) == (2.5, 3)


def test_large_counts() -> None:
    (row,) = rows(DEFAULT, ROW.replace("1024", "9007199254740993").replace("2048", "1.04858e+06"))
    assert (row.count, row.size_bytes) == (9007199254740993, 1_048_580)


def test_a_header_alone_is_an_empty_table() -> None:
    assert rows(DEFAULT) == ()


# ---- what is wrong ----


@pytest.mark.parametrize(
    "line",
    [
        *("x", "Input,0,1", "Inout,0,8,DT_FLOAT,ND,2,1,1,1,2,0,0,0", "Input,a,8,DT_FLOAT,ND,2,1,1,1,2,0,0,0"),
        *("Input,NA,8,DT_FLOAT,ND,2,1,1,1,2,0,0,0", "Input,-1,8,DT_FLOAT,ND,2,1,1,1,2,0,0,0"),
        *("Input,0,8,DT_FLOAT,ND,2,1,1,1,2,0,0,0,0", "Input,0,8,DT_FLOAT,ND,2,1,1,1,2,0"),
        *("Input,0,8,DT_FLOAT,ND,2,one,1,1,2,0,0,0", "Input,0,8,DT_FLOAT,ND,2,1,1,1,2,0,0,1_0"),
        *("Input,0,8,DT_FLOAT,ND,2,1,1,1,2,0,0,0.5", "Input,0,8,DT_FLOAT,ND,2,1,1,1,inf,0,0,0"),
        *("Input,²,8,DT_FLOAT,ND,2,1,1,1,2,0,0,0", "Input,0,1e99,DT_FLOAT,ND,2,1,1,1,2,0,0,0"),
    ],
)
def test_a_row_that_cannot_be_used_is_told_with_its_line(line: str) -> None:
    assert told(DEFAULT, ROW, line, ROW) == [("bad-record", 3)]
    found, _ = read(f"{DEFAULT}\n{line}\n{ROW}\n")
    assert [row.line for row in found] == [3]


def test_bad_rows_are_counted_by_reason() -> None:
    _, problems = read("\n".join([DEFAULT, ROW, *["x"] * 500, "y,y,y,y,y,y,y", *["z"] * 3, ""]))
    assert [(p.kind, p.line) for p in problems] == [("bad-record", 3), ("bad-record", 503)]
    assert problems[0].message.startswith("503 rows")


def test_a_last_line_without_an_end() -> None:
    found, problems = read(f"{DEFAULT}\n{ROW}\n{ROW}")
    assert len(found) == 2 and [(p.kind, p.line) for p in problems] == [("cut-off", 3)]
    found, problems = read(f"{DEFAULT}\n{ROW}\n{ROW[:-2]}")
    assert len(found) == 1 and [(p.kind, p.line) for p in problems] == [("cut-off", 3)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "cut-off"),
        ("\n\n", "unreadable"),
        ("hello\nworld\n", "unreadable"),
        ("a,b,c,d,e,f,g\n", "unreadable"),
    ],
)
def test_files_that_are_no_table(text: str, kind: str) -> None:
    with pytest.raises(TensorError) as caught:
        read(text)
    assert (caught.value.kind, caught.value.byte) == (kind, 0)


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(DEFAULT, ROW, "Input,0,8,DT_FLOAT,ND," + "1x" * 3000) == [("bad-record", 3)]
    monkeypatch.setattr(reader, "MAX_LINES", 3)
    found, problems = read("\n".join([DEFAULT, ROW, ROW, ""]))
    assert len(found) == 2 and problems == []
    found, problems = read("\n".join([DEFAULT, *[ROW] * 6, ""]))
    assert len(found) == 2 and [(p.kind, p.line) for p in problems] == [("limit", 4)]
    monkeypatch.setattr(reader, "MAX_BYTES", 100)
    with pytest.raises(TensorError) as caught:
        read(DEFAULT)
    assert caught.value.kind == "too-large"


def test_problems_are_only_told_to_those_who_ask(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{DEFAULT}\nx\n{ROW}\n")
    assert len(read_statistics(tmp_path / "a.csv", root=tmp_path)) == 1


def test_a_link_out_of_the_run_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text(DEFAULT)
    run = tmp_path / "run"
    run.mkdir()
    (run / "a.csv").symlink_to(tmp_path / "out.csv")
    with pytest.raises(TensorError) as caught:
        read_statistics(run / "a.csv", root=run)
    assert caught.value.kind == "outside-run"


# ---- any bytes ----


def read_or_fail_well(content: bytes) -> tuple[StatRow, ...]:
    try:
        return read(content)[0]
    except InputError as error:
        assert error.message and error.path is not None
        return ()


TABLE = f"{DEFAULT}\n{ROW}\n{CHOSEN}\nOutput,1,32,DT_INT4,ND,-,NA,NA,NA,NA,NA,NA\n".encode()


def test_cut_at_every_byte() -> None:
    whole = read_or_fail_well(TABLE)
    for end in range(len(TABLE)):
        for found, row in zip(read_or_fail_well(TABLE[:end]), whole, strict=False):
            # all but a last cell that may have been cut, which is told
            assert (found.io, found.index, found.max_value, found.count) == (
                row.io,
                row.index,
                row.max_value,
                row.count,
            )


cell = st.sampled_from(
    ["Input", "Output", "0", "NA", "-", "inf", "nan", "1e5", "9" * 400, "2x4", "DT_FLOAT", "", "²"]
)
line = st.one_of(
    st.just(DEFAULT),
    st.just(CHOSEN),
    st.just(ROW),
    st.lists(cell | st.text(max_size=3), max_size=15).map(",".join),
)


@given(st.binary(max_size=300), st.lists(line, max_size=6).map("\n".join))
def test_random_bytes_and_cells(content: bytes, text: str) -> None:
    read_or_fail_well(content)
    read_or_fail_well(text.encode("utf-8", "replace") + content)


@given(st.lists(st.tuples(st.integers(0, len(TABLE) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_flipped_bytes(changes: list[tuple[int, int]]) -> None:
    content = bytearray(TABLE)
    for at, byte in changes:
        content[at] = byte
    read_or_fail_well(bytes(content))


value = st.none() | st.floats()
count = st.none() | st.integers(0, 1 << 62)
shape = st.lists(st.integers(0, 1 << 40), max_size=5)
cells = st.tuples(value, value, value, count, count, count, count)


@given(
    st.lists(st.tuples(st.sampled_from(["Input", "Output"]), st.integers(0, 99), shape, cells), min_size=1)
)
def test_what_is_written_is_read(written: list[tuple[str, int, list[int], tuple[float | None, ...]]]) -> None:
    lines = []
    for io, index, axes, figures in written:
        shown = ["NA" if figure is None else repr(figure) for figure in figures]
        lines.append(
            ",".join((io, str(index), "64", "DT_BF16", "ND", "x".join(map(str, axes)) or "-", *shown))
        )
    for row, (io, index, axes, figures) in zip(rows(DEFAULT, *lines), written, strict=True):
        assert (row.io, row.index, row.shape) == (io.lower(), index, tuple(axes))
        found = (row.max_value, row.min_value, row.avg_value, row.count, row.nan_count)
        found += (row.negative_inf_count, row.positive_inf_count)
        assert all(a == b or (a != a and b != b) for a, b in zip(found, figures, strict=True))
