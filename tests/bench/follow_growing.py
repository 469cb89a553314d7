"""Following a folder while others write into it: how late it is seen, what it costs, that nothing is lost.

    python tests/bench/follow_growing.py [--seconds 60] [--rate 1000] [--files 10000]

The writers and `npulse watch` are processes of their own. Appends: one msMonitor line a write, a new file
each 10,000 lines. Files: a dump folder that fills with tensor files. Idle: 10,000 files, nobody writes.
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
from typing import Any

REPO = Path(__file__).resolve().parents[2]
GROWING = REPO / "tests" / "growing.py"
WATCH = [sys.executable, "-m", "npulse", "watch", "--no-cache", "--format", "jsonl"]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
SETTLED_S = 4.0


def used(pid: int) -> tuple[float, float]:
    """CPU seconds and resident MB of a process so far."""
    cells = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    status = Path(f"/proc/{pid}/status").read_text()
    resident_kb = int(status.partition("VmRSS:")[2].split()[0])
    return (int(cells[11]) + int(cells[12])) / TICKS_PER_S, resident_kb / 1024


def start(folder: Path, status: Path) -> subprocess.Popen[bytes]:
    """`npulse watch` of a folder, once it has looked the first time."""
    environment = {**os.environ, "PYTHONPATH": str(REPO / "src"), "NPULSE_STATE_DIR": str(status.parent)}
    watch = subprocess.Popen(
        [*WATCH, str(folder), "--serve-status", str(status)], stdout=subprocess.DEVNULL, env=environment
    )
    while not status.exists():
        if watch.poll() is not None:
            raise SystemExit(f"npulse watch ended with {watch.returncode}")
        time.sleep(0.05)
    return watch


def stop(watch: subprocess.Popen[bytes]) -> None:
    watch.terminate()
    watch.wait(30)


def appends(work: Path, rate: float, seconds: float) -> dict[str, Any]:
    """A writer beside the watch; what it knows in the end against what was written."""
    folder, status = work / "appends", work / "appends.json"
    folder.mkdir()
    watch = start(folder, status)
    before = used(watch.pid)
    count = int(rate * seconds)
    writer = [
        sys.executable,
        str(GROWING),
        "msmonitor",
        str(folder),
        "--rate",
        str(rate),
        "--count",
        str(count),
    ]
    told = json.loads(subprocess.run([*writer, "--rotate", "10000"], check=True, capture_output=True).stdout)
    ended_s = time.monotonic()
    while json.loads(status.read_text())["state"]["state"] == "live" and time.monotonic() < ended_s + 30:
        time.sleep(0.2)
    cpu_s, resident_mb = used(watch.pid)
    stop(watch)
    known = json.loads(status.read_text())
    return {
        "what": f"{rate:,.0f} appends/s",
        "lost": count - known["areas"]["performance"]["counts"]["rows"],
        "took_s": told["took_s"],
        "cpu_percent": 100 * (cpu_s - before[0]) / told["took_s"],
        "resident_mb": resident_mb,
        "state": known["state"]["state"],
    }


def files(work: Path, n_files: int, seconds: float) -> dict[str, Any]:
    """New files in a dump folder, evenly over the time."""
    folder, status = work / "files", work / "files.json"
    tensors = folder / "step0" / "rank0" / "dump_tensor_data"
    tensors.mkdir(parents=True)
    watch = start(folder, status)
    before = used(watch.pid)
    began_s = time.monotonic()
    for k in range(n_files):
        (tensors / f"Functional.linear.{k}.forward.output.0.npy").write_bytes(b"\x93NUMPY" + bytes(122))
        late_s = began_s + (k + 1) * seconds / n_files - time.monotonic()
        if late_s > 0:
            time.sleep(late_s)
    took_s = time.monotonic() - began_s
    time.sleep(SETTLED_S)
    cpu_s, resident_mb = used(watch.pid)
    idle_s = 10.0
    time.sleep(idle_s)
    idle = used(watch.pid)[0] - cpu_s
    stop(watch)
    return {
        "what": f"{n_files:,} new files",
        "took_s": took_s,
        "cpu_percent": 100 * (cpu_s - before[0]) / took_s,
        "resident_mb": resident_mb,
        "idle_percent": 100 * idle / idle_s,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--files", type=int, default=10_000)
    asked = parser.parse_args()
    print(f"{'':>22} {'s':>6} {'CPU %':>7} {'idle %':>7} {'MB':>6} {'lost':>5}")
    with tempfile.TemporaryDirectory() as name:
        for one in (
            appends(Path(name), asked.rate, asked.seconds),
            files(Path(name), asked.files, asked.seconds),
        ):
            idle = f"{one['idle_percent']:.2f}" if "idle_percent" in one else "-"
            print(
                f"{one['what']:>22} {one['took_s']:>6.1f} {one['cpu_percent']:>7.1f} {idle:>7} "
                f"{one['resident_mb']:>6.0f} {one.get('lost', '-'):>5}  {one.get('state', '')}"
            )


if __name__ == "__main__":
    main()
