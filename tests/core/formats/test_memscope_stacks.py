"""Call stacks of single rows of a table, read where they stand."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.memscope import MemscopeEvent, MemscopeReader, read_memscope
from npulse.core.formats.memscope_stacks import StackReader

HEADER = (
    "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,"
    "Call Stack(Python),Call Stack(C)\n"
)


def row(number: int, python: str, c: str) -> str:
    return f'{number},MALLOC,PTA,N/A,{100 + number},7,7,0,{4096 * number},"{{size:8}}",{python},{c}\n'


def stacks(path: Path, *rows: int) -> list[tuple[str, str]]:
    table = read_memscope(path, root=path.parent)
    with StackReader(table, path.parent) as reader:
        return [reader.of(one) for one in rows or range(len(table.line))]


def test_each_row_has_its_own_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "memscope_dump_1.csv"
    rows = [
        row(1, '"a.py(3): f\nb.py(4): g\n"', '"lib.so(run+0x1a) [0x7f00]\n"'),
        row(2, "", ""),
        row(3, '"NA"', '""'),
        row(4, '"c, d.py(5): h"', ""),
    ]
    path.write_text(HEADER + "".join(rows))
    whole = [
        ("a.py(3): f\nb.py(4): g", "lib.so(run+0x1a) [0x7f00]"),
        ("", ""),
        ("", ""),
        ("c, d.py(5): h", ""),
    ]
    assert stacks(path) == whole
    assert stacks(path, 3, 0, 2, 0) == [whole[3], whole[0], whole[2], whole[0]]


def test_rows_that_were_left_out_do_not_move_the_others(tmp_path: Path) -> None:
    path = tmp_path / "memscope_dump_1.csv"
    text = HEADER + row(1, '"a.py(3): f"', "") + '2,MALLOC,PTA,"open' + "x" * 140_000 + "\n"
    path.write_text(text + row(3, '"b.py(4): g"', "") + row(4, '"c.py(5): h"', "").rstrip("\n"))
    table = read_memscope(path, root=tmp_path)
    assert table.number.tolist() == [1, 3, 4] and table.problems
    assert stacks(path) == [("a.py(3): f", ""), ("b.py(4): g", ""), ("c.py(5): h", "")]


def test_columns_in_another_order(tmp_path: Path) -> None:
    path = tmp_path / "memscope_dump_1.csv"
    path.write_text(
        "ID,Call Stack(Python),Event,Event Type,Device Id,Ptr,Attr,Call Stack(C)\n"
        '1,"a.py(3): f",MALLOC,PTA,0,4096,"{size:8}","x.so(f) [0x7]"\n'
        '2,"b.py(4): g",MALLOC,PTA,0,8192,"{size:8}","x.so(f) [0x7]"\n'
    )
    assert stacks(path) == [("a.py(3): f", "x.so(f) [0x7]"), ("b.py(4): g", "x.so(f) [0x7]")]


def test_a_table_without_stacks_has_none(tmp_path: Path) -> None:
    path = tmp_path / "memscope_dump_1.csv"
    short = HEADER.replace(",Call Stack(Python),Call Stack(C)", "")
    path.write_text(short + "".join(row(n, "", "")[:-3] + "\n" for n in (1, 2)))
    assert stacks(path) == [("", ""), ("", "")]


def test_another_file_in_its_place_gives_none(tmp_path: Path) -> None:
    path = tmp_path / "memscope_dump_1.csv"
    path.write_text(HEADER + row(1, '"a.py(3): f"', ""))
    table = read_memscope(path, root=tmp_path)
    path.write_text(HEADER + row(2, '"z.py(9): f"', ""))
    with StackReader(table, tmp_path) as reader:
        assert reader.of(0) == ("", "")
    path.write_text(HEADER)
    with StackReader(table, tmp_path) as reader, pytest.raises(InputError):
        reader.of(0)
    path.unlink()
    with StackReader(table, tmp_path) as reader, pytest.raises(InputError):
        reader.of(0)


CELLS = st.one_of(
    st.sampled_from(["", "NA", "a.py(3): f", 'x}",y', "a.py(3): f\nb.py(4): g\n", '{size:8}",,']),
    st.text("ab(){}:,\"'\n .1", max_size=30),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6))
def test_what_a_row_says_alone_is_what_all_rows_say(cells: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memscope_dump_1.csv"
        with path.open("w", newline="") as file:
            file.write(HEADER)
            rows = csv.writer(file, lineterminator="\n")
            for number, (python, c) in enumerate(cells):
                rows.writerow([number, "MALLOC", "PTA", "N/A", 9, 7, 7, 0, 4096, "{size:8}", python, c])
        reader = MemscopeReader()
        events = [*reader.feed(path.read_bytes()), *reader.finish()]
        told = [(one.python_stack, one.c_stack) for one in events if isinstance(one, MemscopeEvent)]
        assert stacks(path) == told and len(told) == len(cells)


def test_a_link_out_of_the_run_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_text(HEADER + row(1, '"a.py(3): f"', ""))
    run = tmp_path / "run"
    run.mkdir()
    path = run / "memscope_dump_1.csv"
    path.write_text(outside.read_text())
    table = read_memscope(path, root=run)
    path.unlink()
    path.symlink_to(outside)
    with StackReader(table, run) as reader, pytest.raises(InputError):
        reader.of(0)
