"""Sums of operator tables by type: against a plain reading with csv and Decimal, whatever the lines."""

from __future__ import annotations

import csv
import io
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.profiling.type_sums import TypeSummer, TypeSums, read_type_sums

HEADER = "Device_id,Op Name,OP Type,Task Start Time(us),Task Duration(us),Input Shapes,End\n"


def row(name: str, op_type: str, duration: str, shapes: str = '"""4,4;4"""') -> str:
    return f"0,{name},{op_type},1764246877073569.640\t,{duration},{shapes},1\n"


def summed(*parts: bytes) -> TypeSums:
    summer = TypeSummer(longest_ns=10**15)
    summer.begin("op_summary.csv")
    for part in parts:
        summer.feed(part)
    summer.end()
    return summer.sums()


def by_hand(text: str) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for cells in csv.DictReader(io.StringIO(text)):
        us = Decimal(cells["Task Duration(us)"].strip())
        ns = int((us * 1000).quantize(Decimal(1), ROUND_HALF_UP))
        n, total = found.get(cells["OP Type"], (0, 0))
        found[cells["OP Type"]] = (n + 1, total + ns)
    return found


def types(sums: TypeSums) -> dict[str, tuple[int | None, int | None]]:
    return {one.op_type: (one.count, one.total_ns) for one in sums.types}


LINES = st.lists(
    st.tuples(
        st.sampled_from(["add_1", '"aclnn,odd"', '"quoted"', "a_b"]),
        st.sampled_from(["Add", "Mul", '"Cast"', "M_m"]),
        st.one_of(
            st.integers(0, 10**12).map(lambda ns: f"{ns // 1000}.{ns % 1000:03}"),
            st.sampled_from(["0.0005", "0.0015", "1.23456", '"7.5"', "12\t", "1e3"]),
        ),
    ),
    max_size=30,
)


@settings(deadline=None, max_examples=60)
@given(LINES, st.integers(1, 200))
def test_any_lines_are_summed_as_csv_and_decimal_have_them(
    lines: list[tuple[str, str, str]], n_bytes: int
) -> None:
    text = HEADER + "".join(row(*line) for line in lines)
    raw = text.encode()
    parts = [raw[i : i + n_bytes] for i in range(0, len(raw), n_bytes)]
    found = summed(*parts)
    assert types(found) == by_hand(text)
    assert (found.n_rows, found.n_aside, found.n_dropped) == (len(lines), 0, 0)


def test_a_quoted_comma_in_a_name_does_not_move_the_cells() -> None:
    """The start would be read as a duration, the rest of the name as a type."""
    found = summed((HEADER + row("a", "Add", "1.5") + row('"x,y"', "Add", "2.25")).encode())
    assert types(found) == {"Add": (2, 3750)}


def test_rows_without_a_usable_duration_are_counted_and_in_no_sum() -> None:
    durations = ("1.000", "N/A", "-3.000", "18446744073709551.615", "nan", "1_0", "2.000")
    found = summed((HEADER + "".join(row("a", "Add", one) for one in durations)).encode())
    assert types(found) == {"Add": (2, 3000)}
    assert (found.n_rows, found.n_aside) == (7, 5)


def test_rows_without_a_type_are_told_by_name() -> None:
    found = summed((HEADER + row("mm_1", "N/A", "1.000") + row("b", "Add", "2.000")).encode())
    assert types(found) == {"Add": (1, 2000)}
    assert [(one.op_type, one.total_ns) for one in found.names] == [("mm_1", 1000)]


def test_a_header_again_a_short_row_and_a_cut_last_line_are_no_rows() -> None:
    text = HEADER + row("a", "Add", "1.000") + HEADER + "0,a\n" + row("a", "Add", "2.000")
    found = summed((text + "0,a,Add,1,999").encode())
    assert types(found) == {"Add": (2, 3000)}
    assert found.n_dropped == 3


def test_a_cell_over_several_lines_is_one_row() -> None:
    text = HEADER + row("a", "Add", "1.000", '"""4\n;1,1,1,Mul,1,5.0,1,1"""') + row("a", "Add", "2.000")
    assert types(summed(text.encode()))["Add"] == (2, 3000)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gb18030"])
def test_encodings(encoding: str) -> None:
    text = HEADER + row("a", "加", "1.000") + row("a", "Add", "2.000")
    assert types(summed(text.encode(encoding))) == {"加": (1, 1000), "Add": (1, 2000)}


def test_more_types_than_one_array_of_sums() -> None:
    text = HEADER + "".join(row("a", f"T{i % 3000}", "1.001") for i in range(9000))
    assert types(summed(text.encode())) == {f"T{i}": (3, 3003) for i in range(3000)}


def test_cut_at_every_byte_gives_sums_or_an_error() -> None:
    raw = (HEADER + row("a", '"A,b"', "1.000") + row("b", "Add", "N/A")).encode()
    for n in range(len(raw)):
        try:
            found = summed(raw[:n])
        except InputError:
            assert n < len(HEADER)
        else:
            assert found.n_rows <= 2


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=300))
def test_any_bytes_behind_the_header(raw: bytes) -> None:
    summed(HEADER.encode(), raw)


def test_slices_are_summed_together_and_what_is_no_table_is_left_out(tmp_path: Path) -> None:
    paths = [tmp_path / f"op_summary_slice_{i}.csv" for i in range(3)]
    for path in paths[:2]:
        path.write_text(HEADER + row("a", "Add", "1.000"))
    paths[2].write_text("no,table\n1,2\n")
    seen: list[int] = []
    found = read_type_sums(paths, on_sums=lambda sums: seen.append(sums().n_rows))
    assert types(found) == {"Add": (2, 2000)}
    assert (seen[:2], found.n_bytes, found.is_whole) == ([1, 2], found.size_bytes, False)
    with pytest.raises(InputError):
        read_type_sums(paths[2])
