"""Small profiles in the layouts of the tools, made up so that every figure of theirs is known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

BASE_US = 1_754_020_800_000_000
HEADER = (
    "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),"
    "Duration(us),Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types,"
    "Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID,aicore_time(us),"
    "aic_total_cycles,aic_mac_ratio,aic_scalar_ratio,aic_mte1_ratio,aic_mte2_ratio,aic_fixpipe_ratio,"
    "aiv_time(us),aiv_vec_ratio,aiv_mte2_ratio,aiv_mte3_ratio"
)
CUBE = "0.91,0.10,0.30,0.55,0.12,0,0,0,0"
VECTOR = "0,0.05,0,0,0,20,0.30,0.92,0.40"
N_STEPS, GAP_US, LONG_GAP_US = 8, 3, 2000
CALLS = (
    ("MatMul_1", "MatMulV2", "AI_CORE", 200, 7),
    ("Softmax_1", "SoftmaxV2", "AI_VECTOR_CORE", 40, 7),
    ("Gather_1", "GatherV2", "AI_VECTOR_CORE", 90, 8),
)
"""Name, type, core, us, stream: one of each in a step, in a row; behind step 4 nothing runs for 2 ms."""
N_CALLS = N_STEPS * len(CALLS)
WALL_US = N_STEPS * (330 + 3 * GAP_US) - GAP_US + LONG_GAP_US
API = "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n" + "".join(
    f"0,node,api_{i},{100 - i}.25,{i + 1},1,1,1,0.5\n" for i in range(30)
)
REMARKS = "Device_id,OP Type,Core Type,Count,Total Time(us),备注\n0,自定义_旋转编码,AI_CORE,2,15.5,待优化\n"


def write_round(folder: Path, times: Sequence[int] = (200, 40, 90), *, rank: int | None = None) -> Path:
    """kernel_details.csv and api_statistic.csv; times: us of the three calls."""
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True, exist_ok=True)
    rows, at, n = [HEADER], BASE_US, 0
    for step in range(1, N_STEPS + 1):
        for (name, kind, core, _, stream), us in zip(CALLS, times, strict=True):
            n += 1
            pipes = CUBE if core == "AI_CORE" else VECTOR
            rows.append(
                f"{step},0,4294967295,{n},{stream},{name},{kind},static,{core},{at}.000\t,{us}.000,{GAP_US}.000,"
                f'24,0,NO,"""16,1024""",FLOAT16,ND,"""16,1024""",FLOAT16,ND,N/A,'
                f"{us if core == 'AI_CORE' else 0}.000,1000,{pipes}"
            )
            at += us + GAP_US
        at += LONG_GAP_US if step == 4 else 0
    (output / "kernel_details.csv").write_text("\n".join(rows) + "\n", "utf-8")
    (output / "api_statistic.csv").write_text(API, "utf-8")
    return folder


def write_kinds(folder: Path, n_kinds: int) -> Path:
    """One call of each of so many types, the longest first."""
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True, exist_ok=True)
    rows, at = [HEADER], BASE_US
    for n in range(n_kinds):
        us = 2 * n_kinds - n
        rows.append(
            f"1,0,4294967295,{n},7,Call_{n},Kind{n:04},static,AI_CORE,{at}.000,{us}.000,{GAP_US}.000,"
            f'24,0,NO,"""16,1024""",FLOAT16,ND,"""16,1024""",FLOAT16,ND,N/A,{us}.000,1000,{CUBE}'
        )
        at += us + GAP_US
    (output / "kernel_details.csv").write_text("\n".join(rows) + "\n", "utf-8")
    return folder


def write_rounds(run: Path) -> Path:
    """Two rounds; in the second the matrix product takes a quarter less."""
    write_round(run / "round_001")
    write_round(run / "round_002", (150, 40, 90))
    return run


def write_ranks(run: Path) -> Path:
    """Step times of four ranks; rank 2 computes longest and waits least."""
    for rank in range(4):
        output = run / f"rank{rank}_1_20260112101010_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        output.mkdir(parents=True)
        computing = 1300 if rank == 2 else 1000
        hidden = 1500 - computing
        cells = [
            f"{s},{computing}.0,{hidden}.0,5.0,{hidden + 5}.0,10.0,{1510}.0,0.0,{hidden}.0,1.0"
            for s in (1, 2)
        ]
        header = (
            "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
            "Communication(Not Overlapped and Exclude Receive),Preparing"
        )
        (output / "step_trace_time.csv").write_text("\n".join((header, *cells)) + "\n", "utf-8")
    return run
