"""Speed and memory of comparing two captures from end to end, beside np.sum of the same files.

    python tests/bench/compare_captures.py [--size 1GB] [--rounds 5] [--folder DIR]

Makes its captures from a seed below --folder (the system's folder for temporary files), twice --size on the
disk, and removes them. Every comparison runs in a fresh process, the kinds in turn (A B C A B C ...), warm
cache; printed are medians. CPU seconds are the figures to go by on a machine that others use too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from make_captures import bytes_of, write_small_tensors, write_statistics, write_tensors

ONE = Path(__file__).with_name("one_comparison.py")
SAMPLE_S = 0.02
READS = {
    "np.sum": ("--sum",),
    "first read, 1 job": ("--first-read-only",),
    "first read, 2 jobs": ("--first-read-only", "--jobs", "2"),
    "both reads, 1 job": (),
    "both reads, 2 jobs": ("--jobs", "2"),
}
Figures = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description="speed and memory of comparing two captures")
    parser.add_argument("--folder", type=Path, help="where to make the captures")
    parser.add_argument("--size", type=bytes_of, default=bytes_of("1GB"), help="bytes of a side")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="tensors,equal,small,statistics", help="parts, with commas")
    options = parser.parse_args()
    print(
        f"{os.cpu_count()} processors, Python {sys.version.split()[0]}, {options.rounds} rounds", flush=True
    )
    for part in options.only.split(","):
        with tempfile.TemporaryDirectory(prefix="npulse-bench-", dir=options.folder) as folder:
            PARTS[part](Path(folder), options)


def tensors(folder: Path, options: argparse.Namespace, share_differing: float = 1.0) -> None:
    written = write_tensors(folder, options.size, share_differing=share_differing)
    print(f"\n{written / 1e9:.2f} GB in both sides, {share_differing:.0%} of the tensors differ")
    _table(folder, options.rounds, READS, tensor_bytes=written)


def equal(folder: Path, options: argparse.Namespace) -> None:
    tensors(folder, options, share_differing=0.0)


def small(folder: Path, options: argparse.Namespace) -> None:
    n_tensors = 9200
    written = write_small_tensors(folder, n_tensors)
    print(f"\n{n_tensors:,} pairs of small tensors, {written / 1e9:.2f} GB in both sides, all differ")
    _table(folder, options.rounds, READS, tensor_bytes=written)


def statistics(folder: Path, options: argparse.Namespace) -> None:
    for n_calls in (10_000, 100_000):
        written = write_statistics(folder / str(n_calls), n_calls)
        print(f"\nstatistics of {n_calls:,} calls, {written / 1e6:.0f} MB of JSON in both sides")
        kinds = {"compare": (), "compare and report": ("--report",)}
        _table(folder / str(n_calls), options.rounds, kinds, tensor_bytes=None)


PARTS = {"tensors": tensors, "equal": equal, "small": small, "statistics": statistics}


def _table(folder: Path, rounds: int, kinds: dict[str, tuple[str, ...]], tensor_bytes: int | None) -> None:
    """Measure all kinds in turn and print a line of medians for each."""
    for _ in range(2 if tensor_bytes else 1):  # into the cache
        _watched(folder, ("--sum",))
    runs: dict[str, list[Figures]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, words in kinds.items():
            runs[name].append(_watched(folder, words))
    print(
        f"{'':20s} {'wall s':>7s} {'CPU s':>7s} {'GB/wall s':>9s} {'GB/CPU s':>8s} {'x np.sum':>8s} "
        f"{'start MB':>8s} {'peak MB':>8s} {'growth MB':>9s} {'bytes read':>10s}"
    )
    for name, figures in runs.items():
        middle = {key: median(f[key] for f in figures) for key in figures[0]}
        speeds = ["-"] * 3
        share = "-"
        if tensor_bytes:
            of_sum = median(f["cpu_s"] / s["cpu_s"] for f, s in zip(figures, runs["np.sum"], strict=True))
            gigabytes = tensor_bytes / 1e9
            speeds = [f"{gigabytes / middle[key]:.2f}" for key in ("wall_s", "cpu_s")] + [f"{of_sum:.1f}"]
            share = f"{middle['bytes_read'] / tensor_bytes:.3f}x"
        print(
            f"{name:20s} {middle['wall_s']:7.2f} {middle['cpu_s']:7.2f} {speeds[0]:>9s} {speeds[1]:>8s} "
            f"{speeds[2]:>8s} {middle['start_mb']:8.0f} {middle['all_mb']:8.0f} "
            f"{middle['all_mb'] - middle['start_mb']:9.0f} {share:>10s}",
            flush=True,
        )


def _watched(folder: Path, words: tuple[str, ...]) -> Figures:
    """Figures of one run; `all_mb` is the largest memory of all its processes together, as sampled.

    Pages that processes share (the interpreter, numpy) are counted once, in proportion (PSS).
    """
    command = [sys.executable, str(ONE), str(folder), *words]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    largest = 0.0
    while child.poll() is None:
        largest = max(largest, sum(map(_memory_mb, _tree(child.pid))))
        time.sleep(SAMPLE_S)
    output = child.communicate()[0]
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}")
    figures: Figures = json.loads(output)
    # samples miss the short peaks of a process that is alone; its own mark does not
    figures["all_mb"] = max(largest, figures["peak_mb"]) if "--jobs" not in words else largest
    return figures


def _tree(root: int) -> list[int]:
    """A process and its descendants."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            parents[int(entry)] = int(fields[1])
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def _memory_mb(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6


if __name__ == "__main__":
    main()
