"""Files that grow as Ascend's tools let them grow: written line by line, torn, rotated, killed.

    python tests/growing.py op_summary|msmonitor|sanitizer|plog FOLDER --rate 200 --count 2000 [--rotate N]

Line k of a kind depends on k alone, so what was written is known to whoever knows how many lines there were.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import BinaryIO

BASE_NS = 1_785_556_800_000_000_000
TYPES = ("MatMulV2", "Add", "SoftmaxV2", "GatherV2", "LayerNorm", "Cast")
HEADER = (
    "Model ID,Task ID,Stream ID,Infer ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),"
    "Task Wait Time(us),Block Dim,Input Shapes,Input Data Types,Input Formats,Output Shapes,"
    "Output Data Types,Output Formats\n"
)
NAMES = {
    "op_summary": "op_summary_20260801120500.csv",
    "msmonitor": "msmonitor_4471_20260120111213456_0.jsonl",
    "sanitizer": "mssanitizer_report.log",
    "plog": "plog-4471_20260801120500123.log",
}
ROTATED = {
    "op_summary": "op_summary_slice_{n}_20260801120500.csv",
    "msmonitor": "msmonitor_4471_{stamp}_0.jsonl",
    "sanitizer": "mssanitizer_report.{n}.log",
    "plog": "plog-4471_20260801120500{n:03}.log",
}


def duration_ns(k: int) -> int:
    """How long call k took: whole nanoseconds, no two alike near each other."""
    return 1000 + (k * 7919) % 90_001


def op_type(k: int) -> str:
    """The type of call k."""
    return TYPES[(k * k + k // 7) % len(TYPES)]


def start_ns(k: int) -> int:
    """When call k began; calls do not overlap."""
    return BASE_NS + k * 100_000


def record(kind: str, k: int) -> str:
    """What a tool writes for event k, with its line ends."""
    if kind == "op_summary":
        start, took = start_ns(k), duration_ns(k)
        return (
            f"0,{k % 65536},2,0,{op_type(k)}_{k},{op_type(k)},AI_CORE,{start // 1000}.{start % 1000:03}\t,"
            f'{took // 1000}.{took % 1000:03},0.25,24,"""4096,4096""",DT_BF16,ND,"""4096,4096""",DT_BF16,ND\n'
        )
    if kind == "msmonitor":
        start = start_ns(k)
        body = {
            "kind": "Kernel",
            "name": f"{op_type(k)}_{k}",
            "startNs": start,
            "endNs": start + duration_ns(k),
            "deviceId": 0,
            "streamId": 5,
            "type": "AI_CORE",
            "correlationId": k,
        }
        return json.dumps(body) + "\n"
    if kind == "sanitizer":
        line = 20 + k % 5
        return (
            f"====== ERROR: illegal write of size 4\n"
            f"======    at 0x{0x12C0C0000000 + 16 * k:x} on GM in add_custom\n"
            f"======    in block aiv({k % 40}) on device 0\n"
            f"======    code in pc current 0x{0x100 + line:x} (serialNo:{k})\n"
            f"======    #0 /home/user/ops/add_custom.cpp:{line}:5\n\n"
        )
    if kind == "plog":
        return (
            f"[ERROR] RUNTIME(4471,python):2026-08-01-12:{k // 60 % 60:02}:{k % 60:02}.000.{k % 1000:03} "
            f"[engine.cc:{100 + k % 5}]4471 ProcessTask:Task run failed, "
            f"device_id=0, stream_id=2, task_id={k}\n"
        )
    raise ValueError(kind)


def head(kind: str) -> str:
    """What a file of this kind begins with."""
    return HEADER if kind == "op_summary" else ""


def rotated_name(kind: str, n: int) -> str:
    """Name of the n-th file after the first; 0 is the first."""
    if n == 0:
        return NAMES[kind]
    return ROTATED[kind].format(n=n, stamp=20260120111213456 + n * 100_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=list(NAMES))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rate", type=float, default=0, help="records a second (0: as fast as it goes)")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--rotate", type=int, default=0, help="another file after so many records")
    parser.add_argument("--torn", action="store_true", help="each record in two writes")
    parser.add_argument("--hold", action="store_true", help="keep the file open at the end, until killed")
    asked = parser.parse_args()
    began, n_files = time.monotonic(), 0
    file = _opened(asked.folder / rotated_name(asked.kind, 0), asked.kind)
    for done in range(asked.count):
        k = asked.start + done
        if asked.rotate and done and done % asked.rotate == 0:
            n_files += 1
            file.close()
            file = _opened(asked.folder / rotated_name(asked.kind, n_files), asked.kind)
        raw = record(asked.kind, k).encode()
        if asked.torn:
            file.write(raw[: len(raw) // 3])
            raw = raw[len(raw) // 3 :]
        file.write(raw)
        if asked.rate:
            late_s = began + (done + 1) / asked.rate - time.monotonic()
            if late_s > 0:
                time.sleep(late_s)
    print(json.dumps({"written": asked.count, "took_s": time.monotonic() - began}), flush=True)
    while asked.hold:
        time.sleep(60)


def _opened(path: Path, kind: str) -> BinaryIO:
    file = open(path, "ab", buffering=0)  # noqa: SIM115 - rotated by the caller
    if os.fstat(file.fileno()).st_size == 0:
        file.write(head(kind).encode())
    return file


if __name__ == "__main__":
    main()
