"""Result tables of other tools, read: words are no numbers, rows keep their lines, damage is told."""

from __future__ import annotations

import csv
import io
import math
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import InputError
from npulse.core.formats.results.cells import ColumnCells, number_of
from npulse.core.formats.results.layouts import LAYOUTS
from npulse.core.formats.results.table import ResultTable, read_result
from npulse.core.formats.results.texts import read_advice, read_file_compare
from npulse.core.precision.theirs.run import report_of_results
from npulse.core.run.discover import discover

HEADER = "NPU Name,Bench Name,Cosine,Result,Err_message\n"


def table_of(folder: Path, text: str | bytes, name: str = "compare_result_1.csv") -> ResultTable:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_result(path)


@pytest.mark.parametrize(
    ("cell", "number"),
    [("1.5", 1.5), (" inf", math.inf), ("-inf", -math.inf), ("20.0%", 20.0), ("1e-3", 1e-3), (".5", 0.5)]
    + [
        (word, None) for word in ("N/A", "Nan", "nan\t", "", "-", "shape unmatched", "1_0", "0x1", "1,5", "١")
    ],
)
def test_what_is_a_number(cell: str, number: float | None) -> None:
    assert number_of(cell) == number


@given(st.lists(st.one_of(st.floats(allow_nan=False).map(repr), st.text(max_size=8)), max_size=40))
def test_a_column_holds_each_cell_as_number_or_as_word(cells: list[str]) -> None:
    whole = ColumnCells("x", "figure", is_text=False)
    whole.add(cells)
    single = ColumnCells("x", "figure", is_text=False)
    for cell in cells:
        single.add([cell])
    column, other = whole.column(), single.column()
    for row, cell in enumerate(cells):
        number = number_of(cell)
        assert column.value(row) == other.value(row) == (cell.strip() if number is None else number)
        assert column.is_number[row] == (number is not None)


@given(st.lists(st.lists(st.text('ab,"\n\r 1é', max_size=6), min_size=5, max_size=5), max_size=8))
def test_rows_are_what_the_csv_module_reads(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]
) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    found = table_of(tmp_path_factory.mktemp("t"), HEADER + text.getvalue())
    want = [r for r in csv.reader(io.StringIO(text.getvalue(), newline="")) if any(c.strip() for c in r)]
    names = [found.columns[0].word(row) for row in range(found.n_rows)]
    if "\r" not in text.getvalue():  # a line end of its own may be told as another one
        assert names == [row[0] for row in want]
    assert found.n_rows == len(want)


def test_mark_line_ends_and_encodings_make_no_difference(tmp_path: Path) -> None:
    text = HEADER + 'a,a,1.0,pass,"two\nlines"\n张量,b,nan\t,error,\n'
    plain = table_of(tmp_path, text)
    for raw in (
        b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
        text.encode("gb18030"),
        text.encode("utf-16"),
    ):
        found = table_of(tmp_path, raw)
        assert [c.value(1) for c in found.columns] == [c.value(1) for c in plain.columns]
        assert found.lines.tolist() == plain.lines.tolist() == [2, 4]
        assert not found.problems
    assert plain.columns[2].word(1) == "nan"


def test_a_name_that_stands_twice_means_my_side_and_then_the_golden_one(tmp_path: Path) -> None:
    header = "Index,OpType,NPUDump,DataType,Address,GroundTruth,DataType,Address,TensorIndex,Shape"
    header += ",CosineSimilarity\n"
    found = table_of(tmp_path, header + '0,Add,a,float16,206,b,float32,207,a:input:0,"[4,8]",1.0\n')
    assert (found.text("target_dtype", 0), found.text("golden_dtype", 0)) == ("float16", "float32")
    assert [c.word(0) for c in found.columns if c.header == "Address"] == ["206", "207"]
    assert found.layout.id == "cann.compare"


def test_rows_that_do_not_fit_are_left_out_and_told(tmp_path: Path) -> None:
    found = table_of(tmp_path, HEADER + "a,a,1,pass,\nb,b\nc,c,1,pass,x,y\nd,d,1,pass,,,\n")
    assert [found.columns[0].word(row) for row in range(found.n_rows)] == ["a", "d"]
    assert (found.n_dropped, [p.line for p in found.problems]) == (2, [3, 4])


def test_a_last_line_without_an_end_may_be_cut(tmp_path: Path) -> None:
    found = table_of(tmp_path, HEADER + "a,a,0.99,pass,\nb,b,0.9")
    assert (found.n_rows, [p.kind for p in found.problems]) == (1, ["cut-off"])


def test_short_rows_of_the_accuracy_check_are_whole(tmp_path: Path) -> None:
    text = "API name,Forward Test Success,Backward Test Success,Message\r\na,pass, \r\nb,error,pass,why\r\n"
    found = table_of(tmp_path, text)
    assert found.n_rows == 2 and not found.problems


@pytest.mark.parametrize(
    "raw",
    [b"", b"\n\n", b"a,b\n1,2\n", b"\0" * 100, b"NPU Name" + b",x" * 1_000_000 + b"\n", b'"' * 200_000],
    ids=["empty", "blank", "other", "nul", "million", "quotes"],
)
def test_what_is_no_such_table_is_refused(tmp_path: Path, raw: bytes) -> None:
    with pytest.raises(InputError):
        table_of(tmp_path, raw)


def test_a_quote_that_nobody_closes_costs_its_row_alone(tmp_path: Path) -> None:
    rows = "".join(f"r{i},r{i},1.0,pass,\n" for i in range(3000))
    found = table_of(tmp_path, HEADER + 'bad,"bad,1.0,pass,\n' + rows)
    assert found.n_rows == 3000
    assert [(p.kind, p.line) for p in found.problems] == [("bad-record", 2)]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_what_separates_cells_is_seen_in_the_header_alone(tmp_path: Path, separator: str) -> None:
    """A table stored anew by a spreadsheet: commas in its cells outnumber what separates them."""
    cells = [
        ["NPU Name", "Bench Name", "NPU Tensor Shape", "Cosine"],
        ["a", "b", '"[4, 4, 4, 4]"', "0.5"],
        ["c", "d", '"[4, 4, 4, 4]"', "1.0"],
    ]
    found = table_of(tmp_path, "".join(separator.join(row) + "\n" for row in cells))
    assert [[c.value(row) for c in found.columns] for row in range(2)] == [
        ["a", "b", "[4, 4, 4, 4]", 0.5],
        ["c", "d", "[4, 4, 4, 4]", 1.0],
    ]
    assert not found.problems
    (artifact,) = discover(tmp_path).artifacts
    assert artifact.kind == found.layout.kind == "msprobe.compare_result"


def test_a_comma_table_with_other_separators_in_its_cells_stays_one(tmp_path: Path) -> None:
    found = table_of(tmp_path, HEADER + "a;b;c;d;e;f,a,1.0,pass,x\ty\n")
    assert [c.word(0) for c in found.columns][:2] == ["a;b;c;d;e;f", "a"]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_header_of_files_put_together_is_no_row(tmp_path: Path, mark: str) -> None:
    text = HEADER + "a,a,1.0,pass,\n" + mark + HEADER + "b,b,0.5,error,\n" + mark + HEADER + "c,c,1,pass,\n"
    found = table_of(tmp_path, text)
    assert [found.columns[0].word(row) for row in range(found.n_rows)] == ["a", "b", "c"]
    assert found.columns[2].is_number.all()
    assert (found.n_headers, found.n_dropped, found.lines.tolist()) == (2, 0, [2, 4, 6])
    assert not found.problems
    run = discover(tmp_path)
    lines = report_of_results(run, run.artifacts, AnalysisOptions()).told
    assert any("2 more times" in line for line in lines)


def test_what_stands_under_a_header_of_other_columns_is_left_out(tmp_path: Path) -> None:
    other = "NPU Name,Bench Name,NPU max,Result,Cosine\n"
    found = table_of(
        tmp_path,
        HEADER + "a,a,1.0,pass,\n" + other + "b,b,3,pass,1\nc,c,3,pass,1\n" + HEADER + "d,d,1,pass,\n",
    )
    assert [found.columns[0].word(row) for row in range(found.n_rows)] == ["a", "d"]
    assert (found.n_dropped, [(p.kind, p.line) for p in found.problems]) == (2, [("bad-record", 3)])


def test_every_layout_is_found_in_a_run_as_the_kind_it_is(tmp_path: Path) -> None:
    for place, layout in enumerate(LAYOUTS):
        header = ",".join(sorted(layout.wanted))
        (tmp_path / f"result_{place}.csv").write_text(f"{header}\n{',' * (len(layout.wanted) - 1)}\n")
    found = {artifact.path.name: artifact.kind for artifact in discover(tmp_path).artifacts}
    assert found == {f"result_{place}.csv": layout.kind for place, layout in enumerate(LAYOUTS)}


# ---- workbooks ----


def workbook(path: Path, sheets: dict[str, list[list[object]]]) -> Path:
    with xlsxwriter.Workbook(str(path), {"nan_inf_to_errors": True}) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for place, cells in enumerate(rows):
                sheet.write_row(place, 0, cells)
    return path


def test_sheets_of_one_result_follow_each_other(tmp_path: Path) -> None:
    header = HEADER.strip().split(",")
    path = workbook(
        tmp_path / "compare_result_1.xlsx",
        {
            "part_0": [header, ["a", "a", 1.5, "pass", True], [], ["b", "b", "N/A", "error"]],
            "notes": [["hello"]],
            "part_1": [header, ["c", "c", "0.25", "pass", "=1+1"]],
        },
    )
    found = read_result(path)
    assert [found.columns[0].word(row) for row in range(3)] == ["a", "b", "c"]
    assert [found.columns[2].value(row) for row in range(3)] == [1.5, "N/A", 0.25]
    assert found.sheet is not None and found.sheets == ("part_0", "notes", "part_1")
    places = [(found.sheets[found.sheet[row]], int(found.lines[row])) for row in (1, 2)]
    assert places == [("part_0", 4), ("part_1", 2)]
    assert found.columns[4].word(0) == "True"
    assert not found.problems


def packed(path: Path, sheet: str | bytes, texts: str = "") -> Path:
    """A workbook whose only sheet is this XML."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "xl/workbook.xml", '<workbook><sheets><sheet name="s" sheetId="1"/></sheets></workbook>'
        )
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
        if texts:
            archive.writestr("xl/sharedStrings.xml", texts)
    return path


def sheet_of(*rows: str) -> str:
    cells = "".join(f'<c t="str"><v>{name}</v></c>' for name in HEADER.strip().split(","))
    return f"<worksheet><sheetData><row>{cells}</row>{''.join(rows)}</sheetData></worksheet>"


def test_a_cell_in_the_last_corner_costs_nothing(tmp_path: Path) -> None:
    far = sheet_of(
        '<row r="1048576"><c r="A1048576" t="str"><v>a</v></c><c r="XFE1048576"><v>1</v></c></row>'
    )
    found = read_result(packed(tmp_path / "a.xlsx", far))
    assert (found.n_rows, [p.kind for p in found.problems]) == (0, ["limit"])


def test_rows_that_are_blank_but_for_a_far_cell_end_the_sheet(tmp_path: Path) -> None:
    sound = '<row><c t="str"><v>a</v></c><c t="str"><v>b</v></c></row>'
    path = packed(tmp_path / "a.xlsx", sheet_of(sound, '<row><c r="XFD1"><v>1</v></c></row>' * 10_000))
    peak, found = peak_of(lambda: read_result(path))
    assert (found.n_rows, found.problems[-1].kind) == (1, "limit")
    assert peak < 40 << 20  # 10,000 rows of 16,384 cells are 1.3 GB


def test_elements_within_elements_end_the_sheet(tmp_path: Path) -> None:
    sound = '<row><c t="str"><v>a</v></c><c t="str"><v>b</v></c></row>'
    path = packed(tmp_path / "a.xlsx", sheet_of(sound, "<a>" * 1000))
    found = read_result(path)
    assert (found.n_rows, [p.kind for p in found.problems]) == (1, ["unreadable"])


def peak_of(work: Callable[[], ResultTable]) -> tuple[int, ResultTable]:
    """Bytes of Python objects at the highest."""
    tracemalloc.start()
    try:
        found = work()
        return tracemalloc.get_traced_memory()[1], found
    finally:
        tracemalloc.stop()


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npulse.core.formats.results.workbook._ROOM_BYTES", 1 << 16)
    blanks = sheet_of('<row><c t="str"><v>a</v></c></row>', " " * (8 << 20))
    found = read_result(packed(tmp_path / "a.xlsx", blanks))
    assert (found.n_rows, [p.kind for p in found.problems]) == (1, ["limit"])


def test_entities_and_broken_xml_are_told(tmp_path: Path) -> None:
    laughs = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>' + sheet_of()
    with pytest.raises(InputError):
        read_result(packed(tmp_path / "a.xlsx", laughs))
    row = '<row><c t="str"><v>a</v></c><c t="str"><v>a</v></c></row>'
    cut = sheet_of(row, row)[:-40]
    found = read_result(packed(tmp_path / "b.xlsx", cut))
    assert found.n_rows == 1 and [p.kind for p in found.problems] == ["cut-off"]


def test_a_formula_shows_the_value_that_was_kept(tmp_path: Path) -> None:
    row = '<row><c t="str"><v>a</v></c><c/><c><f>1+1</f><v>2</v></c><c><f>A1</f></c></row>'
    found = read_result(packed(tmp_path / "a.xlsx", sheet_of(row)))
    assert (found.columns[2].value(0), found.columns[3].value(0)) == (2.0, "formula")


# ---- hostile ----


CSV = (HEADER + 'a,b,1.0,pass,"x\ny"\nc,d,Nan,error,\n').encode()
XLSX = io.BytesIO()
with xlsxwriter.Workbook(XLSX) as _book:
    _book.add_worksheet("s").write_row(0, 0, HEADER.strip().split(","))
    _book.worksheets()[0].write_row(1, 0, ["a", "b", 1.0, "pass", "x"])


@given(
    st.sampled_from([(CSV, ".csv"), (XLSX.getvalue(), ".xlsx")]),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=8),
    st.integers(0, 10_000),
    st.binary(max_size=40),
)
def test_damage_is_told_and_nothing_else_happens(
    tmp_path_factory: pytest.TempPathFactory,
    whole: tuple[bytes, str],
    flips: list[tuple[int, int]],
    cut: int,
    tail: bytes,
) -> None:
    raw = bytearray(whole[0])
    for at, byte in flips:
        raw[at % len(raw)] = byte
    raw = raw[: cut % (len(raw) + 1)] + tail if cut % 3 == 0 else raw
    path = tmp_path_factory.mktemp("t") / f"compare_result_1{whole[1]}"
    path.write_bytes(raw)
    try:
        found = read_result(path)
    except InputError:
        return
    for column in found.columns:
        assert len(column.words) == len(column.numbers) == found.n_rows
        assert (np.isnan(column.numbers) | (column.words < 0)).all()


# ---- texts ----


def test_advisors_of_both_tools(tmp_path: Path) -> None:
    path = tmp_path / "advisor_1.txt"
    path.write_text("Line: 6\nSuspect Nodes: T.a\nExpert Advice: 1. Look.\n2. Again.\n", encoding="utf-8")
    found = read_advice(path)
    assert (found.tool, found.line, found.subject, found.advice) == (
        "msprobe compare", "6", "T.a", "1. Look. 2. Again.",
    )  # fmt: skip
    path.write_text("Detection Type: FP16 Overflow\nOperator Index: 4\nExpert Advice: NA\n", encoding="utf-8")
    found = read_advice(path)
    assert (found.tool, found.kind, found.line, found.advice) == ("msaccucmp", "FP16 Overflow", "4", "")
    with pytest.raises(InputError):
        read_file_compare(path)
    path.write_text("CosineSimilarity: 0.999999\nMeanRelativeError: nan\n", encoding="utf-8")
    assert read_file_compare(path) == {"CosineSimilarity": 0.999999, "MeanRelativeError": "nan"}
    with pytest.raises(InputError):
        read_advice(path)


@given(st.binary(max_size=300))
def test_any_bytes_are_an_advice_or_refused(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.mktemp("t") / "advisor_1.txt"
    path.write_bytes(b"Line: " + raw)
    try:
        assert read_advice(path).tool == "msprobe compare"
    except InputError:
        assert raw.startswith(b"\0") or b"\0" in raw
