"""Small results of msOpProf, made in a test."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

PIPE_HEADER = (
    "block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_cube_time(us),aic_cube_ratio,aic_mte2_ratio,"
    "aic_scalar_ratio,aiv_time(us),aiv_total_cycles,aiv_vec_ratio,aiv_mte2_ratio,aiv_mte3_ratio,"
    "aiv_icache_miss_rate,aiv_scalar_ratio,aiv_scalar_wait_ib_time(us),\n"
)
PIPES = (
    PIPE_HEADER
    + "0,cube0,10.0,18500,9.0,0.9,0.4,0.1,NA,NA,NA,NA,NA,NA,NA,NA,\n"
    + "0,vector0,NA,NA,NA,NA,NA,NA,5.0,9250,0.1,0.6,0.2,0.06,0.3,1.5,\n"
    + "0,vector1,NA,NA,NA,NA,NA,NA,8.0,14800,0.2,0.5,0.2,0.08,0.4,2.5,\n"
)
BASIC = (
    "Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq,\n"
    "mm_mix_aic,mix,12.500000,1,2,3,4711,1800,1850,\n"
)
TEXT = (
    "Op Name=mm_mix_aic\nDevice Id=3\nPid=4711\nBlock Dim=1\nCurrent Freq=1800\nRated Freq=1850\n"
    "Run Soc Version=Ascend910B1\n"
)


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def block(kind: int, content: Any, *, version: int = 0x5A, path: str = "") -> bytes:
    """One block of visualize_data.bin, as its writer makes it: a multiple of four bytes."""
    raw = content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode()
    padding = -len(raw) % 4
    head = struct.pack("<QBBBB", len(raw) + padding, kind, padding, version, 0x5A)
    if kind == 1:
        head += path.encode().ljust(4096, b"\0")
    return head + raw + bytes(padding)


ROOFLINE = {
    "advice": "latency bound:pipeline caused",
    "multiple_rooflines": [
        {
            "title": "GM/L2",
            "rooflines": [
                {
                    "bw": 1.8,
                    "bw_name": "GM Read + Write",
                    "computility": 360.0,
                    "computility_name": "Cube_FP(100%)",
                    "point": [100.0, 90.0],
                    "ratio": "0.500000",
                },
                {
                    "bw": 8.0,
                    "bw_name": "L2 Read + Write",
                    "computility": 360.0,
                    "computility_name": "Cube_FP(100%)",
                    "point": [90.0, 90.0],
                    "ratio": "0.250000",
                },
                {
                    "bw": 1.0,
                    "bw_name": "broken",
                    "computility": 1.0,
                    "computility_name": "",
                    "point": [1.0, 5.0],
                    "ratio": "NA",
                },
            ],
        }
    ],
}
