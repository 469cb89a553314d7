"""Looking through a capture that blew up, from its statistics alone: CPU time, memory, how both grow.

    python tests/bench/blown_up.py [CALLS ...]

Makes a dump.json of that many calls (default 5,000, 20,000 and 100,000) from a seed: layers of four calls,
half types, one overflow at half the way, NaN behind it. Each size runs in a process of its own.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SRC = str(Path(__file__).resolve().parents[2] / "src")
NAN = float("nan")
ONE_RUN = """
import json, resource, sys
sys.path.insert(0, sys.argv[2])
from npulse.core.analysis import AnalysisOptions
from npulse.core.api import first_overflow
report = first_overflow(sys.argv[1], options=AnalysisOptions())
u = resource.getrusage(resource.RUSAGE_SELF)
used = {"cpu_s": u.ru_utime + u.ru_stime, "peak_mb": u.ru_maxrss / 1024, "origin": report.origin.subject}
used |= {"calls": report.report.counts["calls"], "tensors": report.report.counts["tensors"]}
print(json.dumps(used | {"n_errors": sum(f.severity == "error" for f in report.findings)}))
"""


def record(high: float, shape: list[int]) -> dict[str, Any]:
    numbers = {"Max": high, "Min": -high, "Mean": high / 9, "Norm": abs(high) * 5}
    return {
        "type": "torch.Tensor",
        "dtype": "torch.float16",
        "shape": shape,
        **numbers,
        "requires_grad": True,
    }


def calls(n: int, bad_from: int) -> Iterator[tuple[str, dict[str, Any], str | None]]:
    """Name, body and parent of each call; from `bad_from` on all outputs are bad, Inf first."""
    rng = random.Random(1)
    value = rng.random()
    for i in range(n):
        layer, part = divmod(i, 4)
        module = f"Module.model.layers.{layer}.mlp.Linear.forward.0"
        made = rng.uniform(1, 100) if i < bad_from else float("inf") if i == bad_from else NAN
        given = [record(value, [16, 4096]), record(rng.uniform(0.1, 2), [4096, 4096])]
        name = module if part == 3 else f"Functional.{('linear', 'gelu', 'linear')[part]}.{i}.forward"
        if part == 3:
            made = value
        body = {
            "input_args": given[: 1 + (part % 2 == 0)],
            "input_kwargs": {},
            "output": [record(made, [16, 4096])],
        }
        yield name, body, None if part == 3 else module
        value = made


def write(folder: Path, n: int) -> Path:
    """One rank-step of `n` calls."""
    folder = folder / "step0" / "rank0"
    folder.mkdir(parents=True)
    bad_from = n // 2 // 4 * 4
    parents = {}
    with (folder / "dump.json").open("w") as file:
        file.write('{\n "task": "statistics",\n "level": "mix",\n "framework": "pytorch",\n "data": {')
        for i, (name, body, parent) in enumerate(calls(n, bad_from)):
            file.write(("," if i else "") + f"\n  {json.dumps(name)}: {json.dumps(body)}")
            parents[name] = parent
        file.write("\n }\n}")
    (folder / "construct.json").write_text(json.dumps(parents, indent=1))
    return folder.parents[1]


def look(run: Path) -> dict[str, Any]:
    """Figures of one run in a fresh process."""
    command = [sys.executable, "-c", ONE_RUN, str(run), SRC]
    found: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    return found


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or [5_000, 20_000, 100_000]
    print(f"{'calls':>9} {'tensors':>9} {'dump MB':>8} {'CPU s':>7} {'peak MB':>8}  origin")
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            run = write(Path(folder) / "run", n)
            size_mb = (run / "step0/rank0/dump.json").stat().st_size / 1e6
            used = look(run)
            print(
                f"{used['calls']:>9,} {used['tensors']:>9,} {size_mb:>8.1f} {used['cpu_s']:>7.2f} "
                f"{used['peak_mb']:>8.0f}  {used['origin']}"
            )


if __name__ == "__main__":
    main()
