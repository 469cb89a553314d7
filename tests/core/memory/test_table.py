"""The table of sites: what a pane needs to show a place stands in columns of its own."""

from __future__ import annotations

from pathlib import Path

from npulse.core.analysis import AnalysisOptions
from npulse.core.memory.run_report import look, selections
from npulse.core.memory.table import IS_NAMED
from npulse.core.memory.view import MemoryView, memory_view
from npulse.core.run.discover import discover

from .logs_by_hand import SEEN, START, illegal

RACE = """\
====== ERROR: Potential RAW hazard detected at UB in add_custom on device 0:
======    PIPE_MTE2 Write at RAW()+0x0 in block 0 (aiv) on device 0 at pc current 0xa98 (serialNo:24)
======    #0 C:/op/a:b.cpp:7:9
======    PIPE_V Read at RAW()+0x0 in block 0 (aiv) on device 0 at pc current 0xb10 (serialNo:25)
======    #0 /op/other.cpp:9:13

"""
TABLE = (
    "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,"
    "Call Stack(Python),Call Stack(C)\n"
)


def view_of(run: Path, name: str, text: str) -> MemoryView:
    run.mkdir(parents=True, exist_ok=True)
    (run / name).write_text(text)
    opened = discover(run)
    return memory_view(look(opened, selections(opened, AnalysisOptions())[-1], AnalysisOptions()), "en")


def values(view: MemoryView, row: int, *names: str) -> list[object]:
    return [view.table.column(name).value(row) for name in names]


def test_files_and_lines_stand_apart(tmp_path: Path) -> None:
    view = view_of(tmp_path, "check.log", START + illegal(43, file="/op/add.cpp") + RACE + SEEN)
    assert values(view, 0, "subject", "file", "line", "second_file", "second_line", IS_NAMED) == [
        *("/op/add.cpp:43", "/op/add.cpp", 43, None, None, True)
    ]
    assert values(view, 1, "subject", "file", "line", "second_file", "second_line", "second_place") == [
        *("C:/op/a:b.cpp:7", "C:/op/a:b.cpp", 7, "/op/other.cpp", 9, "/op/other.cpp:9")
    ]
    assert IS_NAMED not in [column.name for column in view.table.exported], "a finding's subject says it too"


def test_a_line_that_is_not_known_is_none(tmp_path: Path) -> None:
    view = view_of(tmp_path, "check.log", START + illegal(0, file="/op/add.cpp") + SEEN)
    assert values(view, 0, "subject", "file", "line", IS_NAMED) == ["add_custom", "/op/add.cpp", None, True]


def test_a_kind_alone_is_no_name(tmp_path: Path) -> None:
    rows = "".join(
        f'{n},MALLOC,PTA,N/A,{n},7,7,0,{4096 * n},"{{size:{1000 * n},owner:PTA}}",,\n' for n in (1, 2)
    )
    view = view_of(tmp_path, "memscope_dump_1.csv", TABLE + rows)
    assert values(view, 0, "subject", "file", "line", IS_NAMED) == ["pool warning", None, None, False]
    (finding,) = [one for one in view.report.findings if one.rule == "memory.pool"]
    assert not view.has_name(finding)
    assert values(view, 0, "size_bytes", "count") == [3000, 2], "of blocks that are kept the sum"
    facts = dict(view.detail(0, "en").facts)
    assert (facts["held_bytes"], facts["n_allocations"]) == ("3,000", "2")
