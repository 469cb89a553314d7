"""Tables of a kernel on a card."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.opprof.cells import NotANumberError, address_of, name_and_unit, number_of, whole_of
from npulse.core.formats.opprof.records import NO_BLOCK
from npulse.core.formats.opprof.tables import (
    read_basic_table,
    read_basic_text,
    read_block_table,
    split_row,
)

from .opprof_files import BASIC, PIPES, TEXT, write

P310 = (
    "aic_time(us),aic_total_cycles,aic_cube_ratio,aic_vec_ratio,aic_icache_miss_rate,\n"
    "4.322174,39764,0.0,0.194749,0.022672,\n"
)
P950 = (
    "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_read_close_hit,aic_read_hit_rate(%),aiv_time(us),"
    "aiv_total_cycles,aiv_vec_stu_cflt,\n0,cube0,1.5,2700,7,70.0,NA,NA,NA,\n"
)


def test_columns_come_by_name_and_na_is_no_number(tmp_path: Path) -> None:
    table, problems = read_block_table(write(tmp_path / "a.csv", PIPES), "PipeUtilization")
    assert problems == ()
    assert table.block_ids.tolist() == [0, 0, 0] and table.cores == ("cube0", "vector0", "vector1")
    assert table.lines.tolist() == [2, 3, 4]
    assert np.array_equal(table.metrics["aiv_mte2_ratio"].values, [math.nan, 0.6, 0.5], equal_nan=True)
    assert table.metrics["aic_time"].unit == "us" and table.metrics["aic_time"].header == "aic_time(us)"
    assert table.values("aic_mte1_ratio") is None
    assert "block_id" not in table.metrics and "" not in table.metrics


def test_old_files_write_na_with_a_slash(tmp_path: Path) -> None:
    new, _ = read_block_table(write(tmp_path / "new.csv", PIPES), "PipeUtilization")
    old, problems = read_block_table(
        write(tmp_path / "old.csv", PIPES.replace("NA", "N/A")), "PipeUtilization"
    )
    assert problems == ()
    for name, metric in new.metrics.items():
        assert np.array_equal(metric.values, old.metrics[name].values, equal_nan=True)


def test_chips_without_blocks_and_new_chips(tmp_path: Path) -> None:
    table, problems = read_block_table(write(tmp_path / "a.csv", P310), "PipeUtilization")
    assert problems == () and table.block_ids.tolist() == [NO_BLOCK] and table.cores == ("",)
    assert table.metrics["aic_vec_ratio"].values[0] == 0.194749
    table, problems = read_block_table(
        write(tmp_path / "b.csv", "aic_l2_cache_hit_rate(%),\n57.142857,\n"), "L2Cache"
    )
    assert problems == () and table.metrics["aic_l2_cache_hit_rate"].unit == "%"
    table, problems = read_block_table(write(tmp_path / "c.csv", P950), "L2Cache")
    assert problems == () and table.metrics["aic_read_hit_rate"].values[0] == 70
    assert table.metrics["aic_read_close_hit"].values[0] == 7


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("aic_time(us)", ("aic_time", "us", False)),
        ("L1_to_GM_datas(KB)(estimate)", ("l1_to_gm_datas", "KB", True)),
        ("L1_to_GM_bw_usage_rate(%)(estimate)", ("l1_to_gm_bw_usage_rate", "%", True)),
        ("Task Duration(us)", ("task_duration", "us", False)),
        ("aic_cube_fops", ("aic_cube_fops", "", False)),
        ("()((", ("()((", "", False)),
    ],
)
def test_names_and_units(header: str, expected: tuple[str, str, bool]) -> None:
    assert name_and_unit(header) == expected


def test_bad_rows_are_named_and_the_others_stay(tmp_path: Path) -> None:
    lines = PIPES.splitlines(keepends=True)
    text = "".join(
        [*lines[:2], "0,vector0,1,2,\n", lines[3].replace("8.0", "eight"), "x" + lines[2], "1,cube0"]
    )
    table, problems = read_block_table(write(tmp_path / "a.csv", text), "PipeUtilization")
    assert table.cores == ("cube0", "vector1")
    assert math.isnan(table.metrics["aiv_time"].values[1])
    assert [(problem.kind, problem.line) for problem in problems] == [
        ("bad-record", 3),
        ("bad-record", 4),
        ("bad-record", 5),
        ("cut-off", 6),
    ]


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    for text in ("", "\n\n", "a,b\n1,2\n", "block,core\n", "aic_x," * 600 + "\n"):
        with pytest.raises(InputError):
            read_block_table(write(tmp_path / "a.csv", text), "Memory")
    with pytest.raises(InputError):
        read_block_table(tmp_path, "Memory")


def test_rows_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npulse.core.formats.opprof.tables.MAX_ROWS", 3)
    text = P310 + P310.splitlines(keepends=True)[1] * 10
    table, problems = read_block_table(write(tmp_path / "a.csv", text), "Memory")
    assert table.n_rows == 3 and [problem.kind for problem in problems] == ["limit"]


def test_basic_table_and_text(tmp_path: Path) -> None:
    basic, problems = read_basic_table(write(tmp_path / "a.csv", BASIC))
    assert problems == () and basic is not None
    assert (basic.name, basic.op_type, basic.duration_us, basic.mix_block_dim) == (
        "mm_mix_aic",
        "mix",
        12.5,
        2,
    )
    text, problems = read_basic_text(write(tmp_path / "a.txt", TEXT))
    assert problems == () and (text.soc, text.frequency_mhz, text.pid) == ("Ascend910B1", 1800, 4711)
    assert text.duration_us is None


def test_a_name_with_commas_and_odd_cells(tmp_path: Path) -> None:
    text = BASIC.replace("mm_mix_aic", "mm<half, float, 2>").replace(",2,3,", ",NA,three,")
    basic, problems = read_basic_table(write(tmp_path / "a.csv", text))
    assert basic is not None and basic.name == "mm<half, float, 2>"
    assert basic.mix_block_dim is None and basic.device is None and basic.pid == 4711
    assert [problem.line for problem in problems] == [2]
    basic, problems = read_basic_table(write(tmp_path / "b.csv", BASIC.splitlines()[0] + "\n"))
    assert basic is None and [problem.kind for problem in problems] == ["missing"]
    basic, problems = read_basic_table(write(tmp_path / "c.csv", BASIC + "more,vector,1,1,1,1,1,1,1,\n"))
    assert basic is not None and basic.name == "mm_mix_aic" and len(problems) == 1


def test_a_text_that_is_being_written(tmp_path: Path) -> None:
    """Frequencies may be cut anywhere: a number without its line end is none."""
    for n_bytes in range(1, len(TEXT)):
        path = write(tmp_path / "a.txt", TEXT[:n_bytes])
        try:
            basic, _ = read_basic_text(path)
        except InputError:
            assert n_bytes < len("Op Name=")
            continue
        assert basic.frequency_mhz in (None, 1800) and basic.pid in (None, 4711)


@given(st.text(max_size=40))
def test_cells_are_numbers_or_refused(text: str) -> None:
    for read in (number_of, whole_of, address_of):
        try:
            value = read(text)
        except NotANumberError:
            continue
        assert value is None or isinstance(value, (int, float))


@pytest.mark.parametrize("text", ["1e999", "1e19", "1_0", "٣", "0x1", "inf", "1" * 500, "--1", "1,2"])
def test_these_are_no_numbers(text: str) -> None:
    with pytest.raises(NotANumberError):
        number_of(text)


def test_addresses() -> None:
    assert address_of("301875152") == 301875152 == address_of("0x11fe3fd0") - 0x11FE3FD0 + 301875152
    assert address_of("NA") == -1
    for text in ("-4", "0x", "0xffffffffffffffff", "0xg"):
        with pytest.raises(NotANumberError):
            address_of(text)


@given(st.lists(st.from_regex(r"[a-z0-9.]{1,5}", fullmatch=True), min_size=1, max_size=6), st.booleans())
def test_the_comma_at_the_end_makes_no_cell(cells: list[str], has_comma: bool) -> None:
    assert split_row(",".join(cells) + ("," if has_comma else "")) == cells


def test_anything_cut_or_broken_is_a_problem_or_refused(tmp_path: Path) -> None:
    rng = random.Random(7)
    sources = [PIPES.encode(), P310.encode(), BASIC.encode(), TEXT.encode()]
    cases = [source[:n] for source in sources[1:3] for n in range(len(source))]
    for source in sources:
        for _ in range(40):
            broken = bytearray(source)
            for _ in range(rng.randrange(1, 8)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            cases.append(bytes(broken))
        cases += [
            source.decode().encode("utf-16"),
            source.replace(b"0", b"9" * 400),
            source.replace(b",", b"\0"),
        ]
    cases += [rng.randbytes(300) for _ in range(20)] + ["块,核\n一,二\n".encode("gb18030")]
    path = tmp_path / "a"
    for case in cases:
        path.write_bytes(case)
        for read in (lambda p: read_block_table(p, "Memory"), read_basic_table, read_basic_text):
            try:
                _, problems = read(path)
            except InputError:
                continue
            assert all(problem.kind and problem.message for problem in problems)
