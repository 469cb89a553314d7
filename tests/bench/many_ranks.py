"""What a rank costs when its comparison is handed out: bytes on the way, memory of a row, time of a task.

    python tests/bench/many_ranks.py [--calls 2000] [--ranks 10000] [--steps 100]

Measured with one rank of statistics (four leaves a call) and a cluster of one worker; the last lines are
multiplied up.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import tempfile
import time
import tracemalloc
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from make_captures import write_statistics


def nothing(_: int) -> None:
    """A task that is only handed over."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--ranks", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    from npulse.core.precision.comparison import Settings
    from npulse.core.precision.many.hand_out import jobs_of_ranks
    from npulse.core.precision.many.work import compare_rank
    from npulse.core.run.sides import pair_of
    from npulse.core.scale import Cluster, open_executor, results_as_known

    with tempfile.TemporaryDirectory() as folder:
        write_statistics(Path(folder), options.calls)
        pair = pair_of(Path(folder) / "target", Path(folder) / "golden")
        couple = (pair.target[0], pair.golden[0])
        (job,) = jobs_of_ranks(pair, [couple], Settings(), is_whole=True)
        began_s = time.process_time()
        done = compare_rank(job)
        rank_s = time.process_time() - began_s
    n_rows = done.rows.n_rows
    sent = pickle.dumps(done, 5)
    packed = zlib.compress(sent, 1)
    tracemalloc.start()
    arrived = pickle.loads(sent)
    arrived.loaded(*couple)
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    n_tasks = 400
    with open_executor(cluster=Cluster.parse("local:1")) as executor:
        dict(results_as_known(executor, nothing, range(10)))
        began_s = time.monotonic()
        dict(results_as_known(executor, nothing, range(n_tasks)))
        task_s = (time.monotonic() - began_s) / n_tasks
    n_ranks = options.ranks * options.steps
    print(f"rows of a rank-step          {n_rows:,}")
    print(f"work of a rank-step          {rank_s:.2f} CPU-s")
    print(f"job on the way               {len(pickle.dumps(job, 5)):,} bytes")
    each, unpacked = len(packed) / n_rows, len(sent) / n_rows
    print(f"result on the way            {each:.0f} bytes a row ({unpacked:.0f} unpacked)")
    print(f"kept by the client           {kept / n_rows:.0f} bytes a row")
    print(f"handing over                 {1000 * task_s:.1f} ms a task")
    print(f"{n_ranks:,} rank-steps:")
    print(f"  work                       {rank_s * n_ranks / 3600:,.0f} CPU-h")
    print(f"  over the network           {len(packed) * n_ranks / 1e9:,.0f} GB")
    print(f"  kept by the client         {kept * n_ranks / 1e9:,.0f} GB")
    print(f"  handing over               {task_s * n_ranks / 60:,.0f} min")


if __name__ == "__main__":
    main()
