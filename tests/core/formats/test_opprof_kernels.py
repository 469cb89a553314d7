"""Folders of msOpProf: which kernels are there, and what their files say together."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from npulse.core.errors import Cancelled, InputError
from npulse.core.formats.opprof.folders import WHOLE_BOARD, find_kernels
from npulse.core.formats.opprof.kernels import read_kernels

from .opprof_files import BASIC, PIPES, TEXT, block, write

OPPROF = "OPPROF_20260801121530_ABCDEFGHIJKLMNOP"
TIME = "_20240603022812284"
LINES = "code,call_count,cycles,running_time(us)\na.cpp:3,10,100.5,0.5\n"
INSTRUCTIONS = 'instr,addr,pipe,call_count,cycles,running_time(us),detail\nVADD,0x10,VECTOR,2,20,0.1,"a,b"\n'


def test_one_kernel_lies_flat(tmp_path: Path) -> None:
    top = tmp_path / OPPROF
    write(top / "OpBasicInfo.csv", BASIC)
    write(top / "PipeUtilization.csv", PIPES)
    write(top / "dump" / "op_basic_info.txt", TEXT)
    write(top / "dump" / "DeviceProf1.bin", b"raw")
    write(top / "visualize_data.bin", block(5, {"name": "other", "duration": 99.0, "soc": "Ascend910B4"}))
    (kernel,) = read_kernels(top, root=tmp_path)
    assert (kernel.name, kernel.op_type, kernel.duration_us) == ("mm_mix_aic", "mix", 12.5), (
        "the table counts first"
    )
    assert (kernel.block_dim, kernel.mix_block_dim, kernel.device, kernel.pid) == (1, 2, 3, 4711)
    assert (kernel.frequency_mhz, kernel.rated_mhz, kernel.soc) == (1800, 1850, "Ascend910B4")
    assert kernel.layout == "board" and kernel.is_finished and kernel.index is None
    assert kernel.folder == OPPROF and kernel.n_replays == 1 and kernel.problems == ()
    assert kernel.missing == WHOLE_BOARD[2:-1]
    assert kernel.sources["PipeUtilization"] == f"{OPPROF}/PipeUtilization.csv"


def test_several_kernels_lie_in_folders_of_their_name_and_launch(tmp_path: Path) -> None:
    top = tmp_path / OPPROF
    for device in (0, 1):
        for launch in (0, 2, 10):
            write(top / f"device{device}" / "add_custom" / str(launch) / f"PipeUtilization{TIME}.csv", PIPES)
    kernels = read_kernels(tmp_path, root=tmp_path)
    assert [(k.device, k.name, k.index) for k in kernels] == [
        (device, "add_custom", launch) for device in (0, 1) for launch in (0, 2, 10)
    ]
    (one,) = read_kernels(top / "device1" / "add_custom" / "10", root=tmp_path)
    assert (one.device, one.name, one.index) == (1, "add_custom", 10)


def test_the_simulator_writes_a_folder_a_core(tmp_path: Path) -> None:
    top = tmp_path / OPPROF
    for core in ("core0.veccore0", "core0.cubecore0"):
        write(top / "simulator" / core / f"{core}_code_exe.csv", LINES)
        write(top / "simulator" / core / f"{core}_instr_exe{TIME}.csv", INSTRUCTIONS)
    write(top / "simulator" / "trace.json", "{}")
    for folder in (top, top / "simulator", tmp_path):
        (kernel,) = read_kernels(folder, root=tmp_path)
        assert kernel.layout == "simulator" and kernel.name == OPPROF
    for folder in (top / "simulator", top / "simulator" / "core0.veccore0"):
        (kernel,) = read_kernels(folder, root=folder)
        assert kernel.layout == "simulator" and kernel.name == folder.name
    for folder in (top, top / "simulator", tmp_path):
        (kernel,) = read_kernels(folder, root=tmp_path)
        assert kernel.missing == ("visualize_data.bin",)
        assert kernel.lines is not None and kernel.lines.n_rows == 2
        assert sorted(kernel.lines.cores) == ["core0.cubecore0", "core0.veccore0"]
        assert kernel.instructions is not None and kernel.instructions.details == ("a,b",)
        assert kernel.sources["trace"] == f"{OPPROF}/simulator/trace.json"


def test_a_collection_in_progress_is_not_a_result(tmp_path: Path) -> None:
    dump = tmp_path / OPPROF / "device3" / "mm" / "0" / "dump"
    write(dump / "op_basic_info.txt", TEXT)
    for i in range(1, 4):
        write(dump / f"DeviceProf{i}.bin", b"x")
    (kernel,) = read_kernels(tmp_path, root=tmp_path)
    assert kernel.layout == "collecting" and not kernel.is_finished
    assert (kernel.name, kernel.device, kernel.index, kernel.n_replays) == ("mm_mix_aic", 3, 0, 3)
    assert kernel.duration_us is None and kernel.missing == WHOLE_BOARD
    (alone,) = read_kernels(dump, root=dump)
    assert (alone.name, alone.n_replays) == ("mm_mix_aic", 3)


def test_the_newest_of_several_tables_is_read_and_the_others_are_named(tmp_path: Path) -> None:
    for time, ratio in (
        ("20240603022812284", "0.9"),
        ("20240603022812999", "0.8"),
        ("20240603022812000", "0.7"),
    ):
        write(tmp_path / OPPROF / f"PipeUtilization_{time}.csv", PIPES.replace(",0.9,", f",{ratio},"))
    (kernel,) = read_kernels(tmp_path, root=tmp_path)
    found = kernel.find("aic_cube_ratio")
    assert found is not None and found[1][0] == 0.8
    assert sorted(name[-7:] for name in kernel.passed_over) == ["000.csv", "284.csv"]


def test_a_file_that_cannot_be_read_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    top = tmp_path / OPPROF
    write(top / "OpBasicInfo.csv", BASIC)
    write(top / "L2Cache.csv", "")
    write(top / "Memory.csv", "name,number\n1,2\n")
    write(top / "visualize_data.bin", b"nothing of the kind")
    os.mkfifo(top / "MemoryUB.csv")
    (kernel,) = read_kernels(top, root=tmp_path)
    assert kernel.name == "mm_mix_aic" and kernel.tables == {}
    assert sorted(Path(p.artifact).name for p in kernel.problems) == [
        "L2Cache.csv",
        "Memory.csv",
        "MemoryUB.csv",
        "visualize_data.bin",
    ]


def test_links_do_not_lead_out_of_the_run(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside" / "PipeUtilization.csv", PIPES)
    run = tmp_path / "run"
    top = run / OPPROF
    top.mkdir(parents=True)
    (top / "PipeUtilization.csv").symlink_to(outside)
    (top / "add").symlink_to(outside.parent)
    (kernel,) = read_kernels(run, root=run)
    assert kernel.tables == {} and "outside" in kernel.problems[0].message
    (run / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(InputError):
        read_kernels(run / "link", root=run)


def test_where_there_is_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_kernels(tmp_path / "none", root=tmp_path)
    with pytest.raises(InputError, match="no result"):
        read_kernels(tmp_path, root=tmp_path)
    write(tmp_path / "visualize_data.bin", block(5, {"name": "k"}))
    with pytest.raises(Cancelled):
        read_kernels(tmp_path, root=tmp_path, is_cancelled=lambda: True)


def test_folders_are_walked_with_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(20):
        write(tmp_path / OPPROF / "k" / str(i) / "PipeUtilization.csv", PIPES)
    monkeypatch.setattr("npulse.core.formats.opprof.folders.MAX_KERNELS", 5)
    found, problems = find_kernels(tmp_path)
    assert [kernel.index for kernel in found] == [0, 1, 2, 3, 4]
    assert [problem.kind for problem in problems] == ["limit"]
    monkeypatch.setattr("npulse.core.formats.opprof.folders.MAX_ENTRIES", 10)
    found, problems = find_kernels(tmp_path)
    assert len(found) < 10 and "limit" in {problem.kind for problem in problems}
    deep = tmp_path.joinpath(*["d"] * 30)
    write(deep / "PipeUtilization.csv", PIPES)
    assert all("d/d/d" not in str(kernel.path) for kernel in find_kernels(tmp_path / "d")[0])
