"""What reading a timeline costs against the json module, which makes objects of all of it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from ...paired import median_within

ROOT = Path(__file__).resolve().parents[3]
# CPU time. The json module grows dearer with the file, this reader does not: 0.6 at 100 MB, less above.
MOST_OF_JSON = 0.95
MOST_MB = 100

pytestmark = [pytest.mark.budget, pytest.mark.alone]

_READ = """
import json, sys, time
from pathlib import Path
from npulse.core.formats.profiling.trace import read_trace
began = time.process_time()
if sys.argv[1] == "json":
    with open(sys.argv[2], "rb") as file:
        n = len(json.load(file))
else:
    trace = read_trace(Path(sys.argv[2]))
    n_rows = sum(len(b.events.name) + len(b.flows.name) + len(b.counters.name) for b in trace)
    n = trace.state.n_events
    assert n_rows == n - trace.state.n_by_phase["M"] and not trace.state.problems
cpu_s = time.process_time() - began
status = Path("/proc/self/status").read_text()  # the peak since this program was started, not its parent's
print(json.dumps([n, cpu_s, int(status.split("VmHWM:")[1].split()[0]) / 1024]))
"""


def write_trace(path: Path, n_operators: int) -> int:
    """A timeline as the framework profiler writes it; the number of its events."""
    rng = random.Random(1)
    stack = ";\\r\\n".join(f"/home/user/train/model/layer_{i}.py({i * 37}): forward" for i in range(4))
    at_ns = 1_736_408_883_688_177_930
    n = 1
    with path.open("w") as file:
        file.write(
            '[{"ph": "M", "name": "process_name", "pid": 3096504, "tid": 0, "args": {"name": "Python"}}'
        )
        for i in range(n_operators):
            name = rng.choice(
                ["aten::add", "aten::matmul", "aten::_npu_format_cast", "aten::native_layer_norm"]
            )
            times = [f"{ns // 1000}.{ns % 1000:03}" for ns in range(at_ns, at_ns + 600_000, 100_003)]
            at_ns += 700_000
            calls = f', "Call stack": "{stack}"' if i % 4 == 0 else ""
            file.write(
                f', {{"ph": "X", "name": "{name}", "pid": 3096504, "tid": 3096504, "ts": "{times[0]}", '
                f'"dur": {rng.random() * 99:.2f}, "cat": "cpu_op", "args": {{"Sequence number": {i}, '
                f'"Input Dims": "4096,1024;\\\\r\\\\n4096,1024", "Input type": "Scalar"{calls}}}}}'
                f', {{"ph": "s", "bp": "e", "name": "torch_to_npu", "id": {at_ns}, "pid": 3096504, '
                f'"tid": 3096504, "ts": "{times[1]}", "cat": "async_npu"}}'
                f', {{"name": "aclnn{name[6:]}_AiCore", "pid": 3170820512, "tid": 2, "ts": "{times[2]}", '
                f'"dur": {rng.random() * 99:.3f}, "args": {{"Model Id": 4294967295, "Task Type": "AI_CORE", '
                f'"Physic Stream Id": 2, "Task Id": {i & 0xFFFF}, "connection_id": {i}}}, "ph": "X"}}'
                f', {{"name": "HostToDevice{i}", "ph": "f", "id": "{i}", "ts": "{times[2]}", '
                f'"cat": "HostToDevice", "pid": 3170820512, "tid": 2, "bp": "e"}}'
                f', {{"name": "AI Core Freq", "ts": "{times[3]}", "pid": 77, "tid": 0, '
                f'"args": {{"MHz": 1800}}, "ph": "C"}}'
            )
            n += 5
        file.write("]")
    return n


def test_cpu_and_memory_of_20_mb(tmp_path: Path) -> None:
    path = tmp_path / "trace_view.json"
    n = write_trace(path, 20_000)
    assert 18e6 < path.stat().st_size < 25e6

    def ratio() -> float:
        used = {}
        for how in ("json", "ours"):
            command = [sys.executable, "-c", _READ, how, str(path)]
            output = subprocess.run(
                command, check=True, capture_output=True, text=True, cwd=ROOT / "src", timeout=120
            )
            n_read, cpu_s, peak_mb = json.loads(output.stdout)
            assert n_read == n
            used[how] = cpu_s
        assert peak_mb <= MOST_MB
        return float(used["ours"] / used["json"])

    holds, ratios = median_within(MOST_OF_JSON, ratio)
    assert holds, ratios
