"""CPU time and peak memory of reading a dump.json, beside json.load of the same file.

    python tests/bench/read_dump.py [SIZE_MB] [PAIRS]

Makes its file from a seed in a temporary folder. Each reading runs in a process of its own, in turn; what is
printed is the median of the ratios of the pairs.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SRC = str(Path(__file__).resolve().parents[2] / "src")
READERS = {
    "import": "from npulse.core.formats.msprobe.dump import read_dump",
    "json.load": "import json; json.load(open(path, 'rb'))",
    "iter_calls": "from npulse.core.formats.msprobe.dump import iter_calls\n"
    "for _ in iter_calls(Path(path)): pass",
    "read_dump": "from npulse.core.formats.msprobe.dump import read_dump\nd = read_dump(Path(path))\n"
    "n_leaves = len(d.leaves.call); assert not d.problems",
}
PROLOGUE = (
    "import sys; from pathlib import Path\n"
    "path = sys.argv[1]; sys.path.insert(0, sys.argv[2]); n_leaves = 0\n"
)
EPILOGUE = (
    "\nimport resource; u = resource.getrusage(resource.RUSAGE_SELF)"
    "\nprint(u.ru_utime + u.ru_stime, u.ru_maxrss / 1024, n_leaves)"
)


def entries(seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Modules and their APIs without end, with a NaN now and then."""
    rng = random.Random(seed)

    def tensor(*shape: int) -> dict[str, Any]:
        high = rng.gauss(0, 5) if rng.random() > 0.001 else float("nan")
        numbers = {"Max": high, "Min": -high, "Mean": rng.gauss(0, 1), "Norm": rng.expovariate(0.01)}
        record = {"type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": list(shape)}
        return {**record, **numbers, "requires_grad": True}

    call = 0
    while True:
        module = f"Module.module.decoder.layers.{call // 3}.mlp.linear_fc{call % 3}.Linear.forward.0"
        output = [tensor(4096, 1, 1024)]
        eps = {"type": "float", "value": 1e-05}
        arguments = [tensor(4096, 1, 1024), tensor(1024, 1024), None]
        yield (
            f"Functional.linear.{call}.forward",
            {"input_args": arguments, "input_kwargs": {"eps": eps}, "output": output},
        )
        body = {"input_args": arguments[:1], "input_kwargs": {}, "output": output}
        yield module, {**body, "parameters": {"weight": tensor(1024, 1024)}}
        call += 1


def write_dump(path: Path, size_bytes: int) -> None:
    with path.open("w") as file:
        file.write(
            '{\n "task": "statistics",\n "level": "mix",\n "framework": "pytorch",\n'
            ' "dump_data_dir": null,\n "data": {'
        )
        for n, (name, body) in enumerate(entries(seed=1)):
            lines = json.dumps(body, indent=1).replace("\n", "\n  ")
            written = file.write(f'{"," if n else ""}\n  "{name}": {lines}')
            size_bytes -= written
            if size_bytes <= 0:
                break
        file.write("\n }\n}")


def run(reader: str, path: Path) -> tuple[float, float, int]:
    code = PROLOGUE + READERS[reader] + EPILOGUE
    out = subprocess.run(
        [sys.executable, "-c", code, str(path), SRC], capture_output=True, text=True, check=True
    )
    cpu_s, peak_mb, n_leaves = out.stdout.split()
    return float(cpu_s), float(peak_mb), int(n_leaves)


def main() -> None:
    size_mb = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dump.json"
        write_dump(path, size_mb * 10**6)
        print(f"{os.path.getsize(path):,} bytes, {pairs} pairs")
        figures: dict[str, list[tuple[float, float, int]]] = {name: [] for name in READERS}
        for _ in range(pairs):
            for name in READERS:
                figures[name].append(run(name, path))
    base_mb = statistics.median(peak for _, peak, _ in figures["import"])
    for name, runs in figures.items():
        ratios = [mine[0] / theirs[0] for mine, theirs in zip(runs, figures["json.load"], strict=True)]
        cpu_s, peak_mb = statistics.median(r[0] for r in runs), statistics.median(r[1] for r in runs)
        a_leaf = f", {(peak_mb - base_mb) * 1e6 / runs[0][2]:.0f} bytes a leaf" if runs[0][2] else ""
        print(
            f"{name:<11} {cpu_s:7.2f} cpu-s  {statistics.median(ratios):5.2f}x of json.load  "
            f"peak {peak_mb:6.0f} MB ({peak_mb - base_mb:+.0f}){a_leaf}"
        )


if __name__ == "__main__":
    main()
