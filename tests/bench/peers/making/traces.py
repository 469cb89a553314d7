"""trace_view.json of any size, and profiles as torch_npu leaves them: a trace beside its kernels."""

# ruff: noqa: E501 - lines as the tools write them
from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .randomness import CHUNK, stream
from .tables import OPS, write_table

FRAMES = (
    "/workspace/user/train/torch/utils/data/dataloader.py(1132): _try_get_data;\\r\\n"
    "/workspace/user/train/model/transformer.py(345): forward;\\r\\n/workspace/user/train/main.py(282): main_worker;\\r\\n"
    "<string>(1): <module>"
)


LANES = (
    (3178231, "Python"),
    (3254508768, "CANN"),
    (3254508960, "Ascend Hardware"),
    (3254509280, "Overlap Analysis"),
)
FIRST_US = 1736412474714258
EVENTS_A_KERNEL = 8


def _events() -> Iterator[str]:
    for chunk in itertools.count():
        durations = (np.exp(stream(5, chunk).standard_normal(CHUNK)) * 20).tolist()
        for i, dur in enumerate(durations):
            yield _event(chunk * CHUNK + i, dur)


def _event(number: int, dur: float) -> str:
    op, phase = divmod(number, EVENTS_A_KERNEL)
    name, kind = OPS[op % len(OPS)][:2]
    ts = f"{FIRST_US + op * 61 + phase}.{number % 1000:03d}"
    host = '"pid": 3178231, "tid": 3178231'
    if phase == 0:
        stack = f', "Call stack": "{FRAMES}"' if op % 4 == 0 else ""
        return (
            f'{{"ph": "X", "name": "aten::{kind.lower()}", {host}, "ts": "{ts}", "dur": {dur:.2f}, "cat": "cpu_op", '
            f'"args": {{"Sequence number": {op}, "Fwd thread id": 0, "Input Dims": "4096, 1, 1024;\\r\\n4096, 1, 1024", '
            f'"Input type": "c10::BFloat16;\\r\\nScalar"{stack}}}}}'
        )
    if phase == 1:
        return (
            f'{{"ph": "X", "name": "Enqueue", {host}, "ts": "{ts}", "dur": {dur / 4:.2f}, "cat": "enqueue", '
            f'"args": {{"correlation_id": {op}}}}}'
        )
    if phase == 2:
        flow = FIRST_US * 1000 + op
        return f'{{"ph": "s", "bp": "e", "name": "async_npu", "id": {flow}, {host}, "ts": "{ts}", "cat": "async_npu"}}'
    if phase == 3:
        return (
            f'{{"ph": "X", "name": "Dequeue@{name}", "pid": 3178231, "tid": 3181770, "ts": "{ts}", '
            f'"dur": {dur / 3:.2f}, "cat": "dequeue", "args": {{"correlation_id": {op}}}}}'
        )
    if phase == 4:
        return (
            f'{{"name": "{name}", "pid": 3254508960, "tid": 2, "ts": "{ts}", "dur": {dur:.3f}, "args": '
            f'{{"Model Id": 4294967295, "Task Type": "AI_VECTOR_CORE", "Physic Stream Id": 2, "Task Id": {op & 0xFFFF}, '
            f'"Batch Id": 0, "Subtask Id": 4294967295, "connection_id": {op}}}, "ph": "X"}}'
        )
    if phase == 5:
        return (
            f'{{"name": "HostToDevice{op}", "ph": "f", "id": "{op}", "ts": "{ts}", "cat": "HostToDevice", '
            f'"pid": 3254508960, "tid": 2, "bp": "e"}}'
        )
    if phase == 6:
        return (
            f'{{"name": "Computing", "pid": 3254509280, "tid": 0, "ts": "{ts}", "dur": {dur:.3f}, "ph": "X"}}'
        )
    return f'{{"name": "AI Core Freq", "ts": "{ts}", "pid": 3254508992, "tid": 0, "args": {{"MHz": 1800}}, "ph": "C"}}'


def write_trace(folder: Path, n_megabytes: int) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    lanes = ({"ph": "M", "name": "process_name", "pid": p, "tid": 0, "args": {"name": n}} for p, n in LANES)
    left = n_megabytes * 1_000_000
    with (folder / "trace_view.json").open("w") as file:
        file.write("[" + ", ".join(map(json.dumps, lanes)))
        for event in _events():
            left -= file.write(", " + event)
            if left <= 0:
                break
        file.write("]")
        return file.tell()


def write_profiles(folder: Path, n_rows: int) -> int:
    """Two equal profiles, `a` and `b`, of so many kernels and a kilobyte of trace for each; bytes of both."""
    n_bytes = 0
    for side in ("a", "b"):
        profile = folder / side / "host_1_20261129120000000_ascend_pt"
        output = profile / "ASCEND_PROFILER_OUTPUT"
        n_bytes += write_table(output / "kernel_details.csv", "kernel_details", n_rows)
        n_bytes += write_trace(output, max(1, n_rows // 1000))
        settings = {"config": {"common_config": {"with_stack": False}}, "rank_id": 0}
        (profile / "profiler_info_0.json").write_text(json.dumps(settings))
    return n_bytes
