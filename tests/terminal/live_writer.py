"""Writes into a run as a tool does: `live_writer.py FILE KIND N_FIRST N_MORE RECORDS_PER_S`, line by line.

KIND op_summary or sanitizer. The first records are written at once; a line on stdin starts the others.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

HEADER = (
    "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),"
    "Task Duration(us),Task Wait Time(us),Block Dim\n"
)
BEGIN = "[mssanitizer] Start memcheck sanitizer on kernel vec_add\n"
TYPES = ("MatMulV2", "Add", "GatherV2", "SoftmaxV2", "Cast", "LayerNorm")


def summary_row(i: int) -> str:
    """A call; every fiftieth is the first one of a type of its own, its name says of which record."""
    kind = f"Kind{i:05}" if i % 50 == 49 else TYPES[i % len(TYPES)]
    at_us = 1_754_020_800_000_000 + 50 * i
    return f"0,1,{i},2,op_{i},{kind},static,AI_CORE,{at_us}.000\t,{10 + i % 13}.000,1.000,20\n"


def sanitizer_report(i: int) -> str:
    """A fault; ten of them in a row are of one line of the source."""
    return f"""\
====== ERROR: illegal write of size 512
======    at 0x30a00 on UB in vec_add
======    in block aiv({i % 48}) on device 0
======    code in pc current 0x694 (serialNo:{i})
======    #0 /build/ops/vec_add.cpp:{3 + i // 10}:9

"""


def main() -> None:
    path, kind = Path(sys.argv[1]), sys.argv[2]
    n_first, n_more, rate = int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
    record, head = (summary_row, HEADER) if kind == "op_summary" else (sanitizer_report, BEGIN)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", buffering=1) as file:
        file.write(head + "".join(map(record, range(n_first))))
        file.flush()
        print("written", flush=True)
        sys.stdin.readline()
        began_s, n = time.monotonic(), 0
        while n < n_more:
            time.sleep(0.005)
            while n < min(n_more, (time.monotonic() - began_s) * rate):
                file.write(record(n_first + n))
                file.flush()
                n += 1
                print(f"{time.monotonic():.6f}", flush=True)
        sys.stdin.readline()


if __name__ == "__main__":
    main()
