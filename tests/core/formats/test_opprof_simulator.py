"""Tables of the simulator."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from npulse.core.formats.opprof.simulator import read_instructions, read_source_lines

from .opprof_files import write

LINES = (
    "code,call_count,cycles,running_time(us)\n"
    "/home/user/add.cpp:57,5377,62388.500000,6.010000\n"
    "/home/user/a,b.cpp:63,454,29890.500000,1.050000\n"
)
HEADER = "instr,addr,pipe,call_count,cycles,running_time(us),detail\n"
INSTRUCTIONS = (
    HEADER
    + 'MOV_OUT_TO_UB,301875152,MTE2,32,12486,7.66,"id:2,Dst:UB,XD:X0=0,Src:OUT"\n'
    + 'VADD,0x11fcfacc,VECTOR,16,2210,1.34,"dtype:F16,repeat:64"\n'
    + "NOP,4,SCALAR,1,1,0.001,\n"
    + 'QUOTE,8,SCALAR,1,1,0.001,"say ""a"", b"\n'
)


def test_lines_of_all_cores_come_together(tmp_path: Path) -> None:
    files = {name: write(tmp_path / f"{name}.csv", LINES) for name in ("core0.veccore0", "core1.veccore0")}
    lines, problems = read_source_lines(files)
    assert problems == () and lines is not None
    assert lines.cores == ("core0.veccore0", "core1.veccore0")
    assert lines.sources == ("/home/user/add.cpp:57", "/home/user/a,b.cpp:63"), (
        "a comma in a name is no column"
    )
    assert lines.core_codes.tolist() == [0, 0, 1, 1] and lines.source_codes.tolist() == [0, 1, 0, 1]
    assert lines.calls.tolist() == [5377, 454] * 2
    assert lines.cycles.tolist() == [62388.5, 29890.5] * 2, "a line that shares an instruction has half of it"
    assert lines.running_us.tolist() == [6.01, 1.05] * 2


def test_instructions_have_commas_in_their_detail_and_two_kinds_of_address(tmp_path: Path) -> None:
    found, problems = read_instructions({"core0": write(tmp_path / "a.csv", INSTRUCTIONS)})
    assert problems == () and found is not None
    assert found.names == ("MOV_OUT_TO_UB", "VADD", "NOP", "QUOTE")
    assert found.pipes == ("MTE2", "VECTOR", "SCALAR") and found.pipe_codes.tolist() == [0, 1, 2, 2]
    assert found.addresses.tolist() == [301875152, 0x11FCFACC, 4, 8]
    assert found.details == ("id:2,Dst:UB,XD:X0=0,Src:OUT", "dtype:F16,repeat:64", "", 'say "a", b')
    assert found.cycles.tolist() == [12486, 2210, 1, 1]


def test_columns_come_by_name(tmp_path: Path) -> None:
    text = "cycles,code,more,running_time(us),call_count\n5,a.cpp:1,x,0.5,2\n"
    found, problems = read_source_lines({"c": write(tmp_path / "a.csv", text)})
    assert problems == () and found is not None
    assert (found.sources, found.cycles.tolist(), found.calls.tolist()) == (("a.cpp:1",), [5], [2])


def test_bad_rows_and_files_are_named(tmp_path: Path) -> None:
    bad = HEADER + "A,1,P,1\nB,1,P,one,1,1,d\nC,-1,P,1,1,1,d\nD,1,P,-1,1,1,d\nE,1,P,NA,NA,NA,d\nF,2,P,1"
    files = {
        "good": write(tmp_path / "good.csv", INSTRUCTIONS),
        "empty": write(tmp_path / "empty.csv", ""),
        "other": write(tmp_path / "other.csv", LINES),
        "missing": tmp_path / "missing.csv",
        "bad": write(tmp_path / "bad.csv", bad),
    }
    found, problems = read_instructions(files, root=tmp_path)
    assert found is not None and found.cores == ("good", "bad")
    assert found.core_codes.tolist() == [0] * 4 + [1], "codes are places in the cores that could be read"
    assert found.calls[-1] == -1 and math.isnan(found.cycles[-1])
    told = [(problem.artifact, problem.line) for problem in problems]
    assert told == [
        ("empty.csv", None),
        ("other.csv", 1),
        ("missing.csv", None),
        *(("bad.csv", line) for line in (2, 3, 4, 5, 7)),
    ]
    assert read_instructions({})[0] is None


def test_rows_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npulse.core.formats.opprof.simulator.MAX_ROWS", 3)
    path = write(tmp_path / "a.csv", LINES)
    found, problems = read_source_lines({"a": path, "b": path, "c": path})
    assert found is not None and found.n_rows == 3
    assert {problem.kind for problem in problems} == {"limit"}


def test_anything_cut_or_broken_is_a_problem(tmp_path: Path) -> None:
    rng = random.Random(5)
    path = tmp_path / "a.csv"
    cases = [INSTRUCTIONS.encode()[:n] for n in range(0, len(INSTRUCTIONS), 3)]
    for _ in range(60):
        broken = bytearray(INSTRUCTIONS.encode())
        for _ in range(rng.randrange(1, 6)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        cases.append(bytes(broken))
    cases += [rng.randbytes(400), INSTRUCTIONS.encode("utf-16"), b'"' * 1000, b"," * 10000]
    for case in cases:
        path.write_bytes(case)
        found, problems = read_instructions({"core": path})
        whole = INSTRUCTIONS.encode()
        if found is None or (whole.startswith(case) and case and not case.endswith(b"\n")):
            assert problems, "what is not whole is told"
        read_source_lines({"core": path})
