"""Timelines as the framework profiler writes them, of any size, for what reading them costs."""

from __future__ import annotations

import random
from pathlib import Path

EVENTS_AN_OPERATOR = 9
PYTHON, CANN, DEVICE, OVERLAP, CLOCK = 3096504, *((3096504 << 10) | (layer << 5) for layer in (7, 13, 23, 14))


def write_timeline(path: Path, n_operators: int, *, names_last: bool = False) -> int:
    """A step: operators, queue, launches, kernels, arrows, the analysis. Returns the number of events."""
    rng = random.Random(1)
    stack = ";\\r\\n".join(f"/home/user/train/model/layer_{i}.py({i * 37}): forward" for i in range(4))
    names = [
        f'{{"ph": "M", "name": "{kind}", "pid": {pid}, "tid": {tid}, "args": {{"name": "{name}"}}}}'
        for kind, pid, tid, name in (
            ("process_name", PYTHON, 0, "Python"),
            ("process_name", CANN, 0, "CANN"),
            ("process_name", DEVICE, 0, "Ascend Hardware"),
            ("thread_name", DEVICE, 2, "Stream 2"),
            ("process_name", OVERLAP, 0, "Overlap Analysis"),
            ("thread_name", OVERLAP, 0, "Computing"),
            ("process_name", CLOCK, 0, "AI Core Freq"),
        )
    ]
    dims = "4096,1024;\\r\\n4096,1024"
    at_ns = 1_736_408_883_688_177_930
    with path.open("w") as file:
        file.write("[" + ("" if names_last else ", ".join(names)))
        for i in range(n_operators):
            op = rng.choice(("add", "matmul", "npu_format_cast", "layer_norm"))
            ns = [at_ns + k * 100_003 for k in range(6)]
            times = [f"{t // 1000}.{t % 1000:03}" for t in ns]
            at_ns += 700_000
            calls = f', "Call stack": "{stack}"' if i % 4 == 0 else ""
            dur = rng.randrange(1, 99_000) / 1000
            host = f'"pid": {PYTHON}, "tid": {PYTHON}'
            queue = '"cat": "enqueue", "args": {"correlation_id": ' + f"{i}}}"
            acl = f'"Thread Id": 7, "level": "acl", "connection_id": {2 * i}'
            node = f'"Thread Id": 7, "level": "node", "connection_id": {2 * i + 1}'
            task = (
                '"Model Id": 4294967295, "Task Type": "AI_CORE", "Physic Stream Id": 2, '
                f'"Task Id": {i & 0xFFFF}, "connection_id": {2 * i + 1}'
            )
            lines = [
                f'"ph": "X", "name": "aten::{op}", {host}, "ts": "{times[0]}", "dur": {dur}, '
                f'"cat": "cpu_op", "args": {{"Sequence number": {i}, "Input Dims": "{dims}"{calls}}}',
                f'"ph": "X", "name": "Enqueue@{op}", {host}, "ts": "{times[1]}", "dur": 2.5, {queue}',
                f'"ph": "s", "bp": "e", "name": "torch_to_npu", "id": {ns[4]}, {host}, "ts": "{times[0]}", '
                '"cat": "async_npu"',
                f'"name": "AscendCL@aclnn{op}", "pid": {CANN}, "tid": 7, "ts": "{times[2]}", "dur": {dur}, '
                f'"args": {{{acl}}}, "ph": "X"',
                f'"name": "Node@launch", "pid": {CANN}, "tid": 7, "ts": "{times[3]}", "dur": {dur}, '
                f'"args": {{{node}}}, "ph": "X"',
                f'"name": "aclnn{op}_AiCore", "pid": {DEVICE}, "tid": 2, "ts": "{times[4]}", "dur": {dur}, '
                f'"args": {{{task}}}, "ph": "X"',
                f'"name": "HostToDevice{i}", "ph": "f", "id": "{i}", "ts": "{times[4]}", '
                f'"cat": "HostToDevice", "pid": {DEVICE}, "tid": 2, "bp": "e"',
                f'"name": "Computing", "pid": {OVERLAP}, "tid": 0, "ts": "{times[4]}", "dur": {dur}, '
                '"ph": "X"',
                f'"name": "AI Core Freq", "ts": "{times[5]}", "pid": {CLOCK}, "tid": 0, '
                '"args": {"MHz": 1800}, "ph": "C"',
            ]
            file.write(("" if names_last and not i else ", ") + ", ".join(f"{{{line}}}" for line in lines))
        file.write((", " + ", ".join(names) if names_last else "") + "]")
    return n_operators * EVENTS_AN_OPERATOR + len(names)
