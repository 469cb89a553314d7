# ruff: noqa: E501 - tables as they are
"""Polled npu-smi text: tables of several layouts, rows of watch, times in front, any cut, anything at all."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.npu_smi.reader import NpuSmiReader, read_npu_smi
from npulse.core.formats.npu_smi.records import ChipSample
from npulse.core.formats.npu_smi.times import time_in_front
from npulse.core.run.discover import discover

WIDE = 96


def table(
    *chips: tuple[str, str], second: str = "Chip                      ", memory: str = "HBM-Usage(MB)"
) -> str:
    """A table of the layout with three cells; chips: what stands in both lines of each."""
    bar = (
        "+===========================+===============+====================================================+\n"
    )
    lines = [
        "+" + "-" * WIDE + "+\n",
        f"| npu-smi 25.1.0                   Version: 25.1.0{'':47}|\n",
        "| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|\n",
        f"| {second}| Bus-Id        | AICore(%)   Memory-Usage(MB)  {memory}        |\n",
        bar,
    ]
    for first, other in chips:
        lines += [f"| {first} |\n", f"| {other} |\n", bar]
    lines += [
        "| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |\n"
    ]
    lines += [
        bar,
        "| 0       0                 | 4711          | python3                  | 54366                   |\n",
        bar,
    ]
    return "".join(lines)


A2 = table(
    (
        "0     910B3               | OK            | 303.4       54                0    / 0             ",
        "0                         | 0000:C1:00.0  | 87          0    / 0          57784/ 65536         ",
    ),
    (
        "3     910B3               | Alarm         | NA          91                2    / 8             ",
        "0                         | NA            | NA          0    / 0          NA   / 65536         ",
    ),
)
A3 = table(
    (
        "0     Ascend910           | OK            | 168.3       36                0    / 0             ",
        "0     4                   | 0000:9D:00.0  | 61          0    / 0          57412/ 65536         ",
    ),
    (
        "0     Ascend910           | OK            | -           37                0    / 0             ",
        "1     5                   | 0000:9F:00.0  | 0           0    / 0          3122 / 65536         ",
    ),
    second="Chip  Phy-ID              ",
)
CARD = """\
| npu-smi 23.0.1                                   Version: 23.0.1                                       |
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
| 8       310P3                 | Warning         | NA           46                15    / 16            |
| 1       2                     | 0000:01:00.0    | 12           6120 / 43757                            |
"""
FOUR_CELLS = """\
| npu-smi 26.1.0                                   Version: 26.1.0                                |
| NPU ID | Name             | Health        | Power(W)    Temp(C)           Hugepages-Usage(page) |
|        |                  | Bus-Id        | NPU Util(%) Memory-Usage(MB)  HBM-Usage(MB)         |
| 1      | Ascend950PR      | OK            | 205.1       57                0     / 0             |
|        |                  | NA            | 33          0    / 0          70112 / 86016         |
"""
WATCH = """\
NpuID(Idx)  ChipId(Idx) Pwr(W)      Temp(C)     AI Core(%)  AI Cpu(%)   Ctrl Cpu(%) Memory(%)   Memory BW(%) NPU Util(%)  AI Cube(%)
0           0           97.5        46          80          0           3           88          50           92           77
0           1           -           NA          81          0           3           5           0            0            0
0           0           98.5        47          79          1           4           87          51           91           76
"""
TEXTS = (A2, A3, CARD, FOUR_CELLS, WATCH)
GAUGES = [
    field.name
    for field in fields(ChipSample)
    if field.name.endswith(("_w", "_c", "_percent", "_mb", "_used", "_total"))
]


def read(text: str | bytes, step: int = 0) -> tuple[list[ChipSample], NpuSmiReader]:
    content = text.encode() if isinstance(text, str) else text
    reader = NpuSmiReader("a.log")
    found: list[ChipSample] = []
    for at in range(0, len(content), step or max(len(content), 1)):
        found += reader.feed(content[at : at + (step or len(content))])
    return [*found, *reader.finish()], reader


def told(sample: ChipSample) -> dict[str, float]:
    return {name: value for name in GAUGES if (value := getattr(sample, name)) is not None}


def test_a_table_with_three_cells() -> None:
    (first, second), reader = read(A2)
    assert (first.poll, first.line, first.npu, first.chip, first.name, first.health) == (
        0,
        6,
        0,
        0,
        "910B3",
        "OK",
    )
    assert (first.bus_id, first.physical_id, first.device, first.time_ns) == (
        "0000:C1:00.0",
        None,
        None,
        None,
    )
    assert told(first) == {
        "power_w": 303.4,
        "temperature_c": 54,
        "ai_core_percent": 87,
        "memory_used_mb": 0,
        "memory_total_mb": 0,
        "hbm_used_mb": 57784,
        "hbm_total_mb": 65536,
        "hugepages_used": 0,
        "hugepages_total": 0,
    }
    assert (second.npu, second.health, second.bus_id, second.power_w, second.ai_core_percent) == (
        3,
        "Alarm",
        None,
        None,
        None,
    )
    assert (second.hbm_used_mb, second.hbm_total_mb, second.hugepages_used) == (None, 65536, 2)
    assert A2.encode()[first.byte :].startswith(b"| 0     910B3") and reader.problems == ()


def test_a_table_with_numbers_of_the_host() -> None:
    found, _ = read(A3)
    assert [(one.npu, one.chip, one.physical_id, one.power_w) for one in found] == [
        (0, 0, 4, 168.3),
        (0, 1, 5, None),
    ]


def test_a_card_without_hbm() -> None:
    (found,), _ = read(CARD)
    assert (found.npu, found.chip, found.device, found.physical_id, found.health) == (
        8,
        1,
        2,
        None,
        "Warning",
    )
    assert (found.memory_used_mb, found.memory_total_mb, found.hbm_total_mb) == (6120, 43757, None)


def test_a_table_with_four_cells() -> None:
    (found,), _ = read(FOUR_CELLS)
    assert (found.npu, found.chip, found.name, found.bus_id) == (1, None, "Ascend950PR", None)
    assert (found.npu_percent, found.ai_core_percent, found.hbm_used_mb) == (33, None, 70112)


def test_rows_of_watch() -> None:
    found, reader = read(WATCH)
    assert [(one.poll, one.line, one.npu, one.chip) for one in found] == [
        (0, 2, 0, 0),
        (0, 3, 0, 1),
        (1, 4, 0, 0),
    ]
    assert told(found[0]) == {
        "power_w": 97.5,
        "temperature_c": 46,
        "ai_core_percent": 80,
        "ai_cpu_percent": 0,
        "control_cpu_percent": 3,
        "memory_percent": 88,
        "memory_bandwidth_percent": 50,
        "npu_percent": 92,
        "ai_cube_percent": 77,
    }
    assert (found[1].power_w, found[1].temperature_c, found[1].health) == (None, None, None)
    assert reader.problems == ()


def test_columns_that_were_chosen_and_one_that_nobody_knows() -> None:
    (found,), _ = read("NpuID(Idx)  ChipId(Idx) Pwr(W)      Fan Speed(%) AI Core(%)\n2  0  99.0  30  7\n")
    assert told(found) == {"power_w": 99.0, "ai_core_percent": 7}


def test_a_row_of_another_length_is_told() -> None:
    found, reader = read(WATCH + "0  0  98.5  47\n" + "0 lines of another program\n")
    assert len(found) == 3
    assert [(problem.kind, problem.line) for problem in reader.problems] == [("bad-record", 5)]


def test_polls_and_times_of_a_loop() -> None:
    text = (
        f"Mon Mar  2 10:00:00 UTC 2026\n{A2}2026-03-02 10:00:05\n{A2}[2026-03-02T10:00:10.250+08:00] {CARD}"
    )
    found, reader = read(text)
    at = datetime(2026, 3, 2, 10, tzinfo=timezone.utc)
    ns = [int((at + timedelta(seconds=s)).timestamp()) * 10**9 for s in (0, 5, 10 - 8 * 3600)]
    ns[2] += 250_000_000
    assert [(one.poll, one.time_ns) for one in found] == [(0, ns[0])] * 2 + [(1, ns[1])] * 2 + [(2, ns[2])]
    assert reader.problems == ()


@pytest.mark.parametrize(
    "text",
    [
        "Mon Mar  2 10:07:08 UTC 2026",
        "Mon Mar 2 10:07:08 AM CST 2026",
        "Mon 02 Mar 2026 10:07:08 AM CST",
        "2026-03-02 10:07:08",
        "[2026-03-02T10:07:08Z]",
        "2026/03/02 10:07:08.000",
        "2026年 03月 02日 星期一 10:07:08 CST",
    ],
)
def test_times_as_loops_print_them(text: str) -> None:
    time_ns, rest = time_in_front(f"{text} | x")
    assert time_ns == int(datetime(2026, 3, 2, 10, 7, 8, tzinfo=timezone.utc).timestamp()) * 10**9
    assert rest == " | x"


@pytest.mark.parametrize(
    "text", ["", "2026-13-02 10:00:00", "Xxx Yyy 99 10:00:00 UTC 2026", "2026-03-02 99:00:00", "0  0  1"]
)
def test_what_is_no_time(text: str) -> None:
    assert time_in_front(text) == (None, text)


def test_half_a_line_waits(tmp_path: Path) -> None:
    reader = NpuSmiReader("a.log")
    cut = WATCH.rindex("79")
    assert len(reader.feed(WATCH[:cut].encode())) == 2
    (last,) = reader.feed(WATCH[cut:].encode())
    assert last.ai_core_percent == 79
    path = tmp_path / "watch.log"
    path.write_text(WATCH[:cut])
    found = read_npu_smi(path)
    assert len(found.samples) == 2 and [problem.kind for problem in found.problems] == ["cut-off"]


def test_a_table_without_a_last_line_end_is_whole() -> None:
    found, reader = read(CARD.rstrip("\n"))
    assert len(found) == 1 and reader.problems == ()


def test_a_chip_without_its_second_line_is_told() -> None:
    first_line = CARD.rsplit("\n", 2)[0] + "\n"
    found, reader = read(first_line)
    assert found == [] and [problem.kind for problem in reader.problems] == ["cut-off"]
    found, reader = read(first_line + CARD)
    assert len(found) == 1 and [(problem.kind, problem.line) for problem in reader.problems] == [
        ("bad-record", 4)
    ]


@pytest.mark.parametrize("text", TEXTS)
def test_such_files_are_recognised(text: str, tmp_path: Path) -> None:
    (tmp_path / "polled.log").write_text("Mon Mar  2 10:00:00 UTC 2026\n" + text)
    assert [artifact.kind for artifact in discover(tmp_path).artifacts] == ["device.npu_smi"]


@given(
    parts=st.lists(st.sampled_from((*TEXTS, "2026-03-02 10:00:05\n", "step 3\n")), max_size=5),
    cuts=st.lists(st.integers(1, 300), max_size=60),
    end=st.integers(0, 200),
)
def test_any_cut_gives_the_same_samples(parts: list[str], cuts: list[int], end: int) -> None:
    content = "".join(parts).encode()
    content = content[: max(len(content) - end, 0)]
    whole, by_whole = read(content)
    reader = NpuSmiReader("a.log")
    found: list[ChipSample] = []
    at = 0
    for size in (*cuts, len(content)):
        found += reader.feed(content[at : at + size])
        at += size
    assert [*found, *reader.finish()] == whole and reader.problems == by_whole.problems
    # what was handed out before the cut is what the whole text says of it
    assert whole == read("".join(parts))[0][: len(whole)]


@given(content=st.binary(max_size=400), at=st.integers(0, 4000), text=st.sampled_from(TEXTS))
def test_no_bytes_break_it(content: bytes, at: int, text: str) -> None:
    raw = text.encode()
    found, reader = read(raw[:at] + content + raw[at:])
    for sample in found:
        assert sample.npu >= 0 and all(value == value for value in told(sample).values())
        assert all(len(word or "") <= 64 for word in (sample.name, sample.health, sample.bus_id))
    assert all(problem.line is not None for problem in reader.problems if problem.kind != "limit")


def test_chips_of_one_poll_are_bounded() -> None:
    rows = "".join(f"{n} 0 1.0\n" for n in range(10_000))
    found, reader = read("NpuID(Idx)  ChipId(Idx) Pwr(W)\n" + rows)
    assert len(found) == 10_000 and {one.poll for one in found} == {0, 1, 2} and len(reader._seen) <= 4096


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_npu_smi(tmp_path / "none.log")
