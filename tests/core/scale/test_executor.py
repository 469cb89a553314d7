"""Parallel work: order, bounded hand-out, cancel, errors, killed workers."""

from __future__ import annotations

import inspect
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from npulse.core.errors import Cancelled, EnvironmentLacks, UsageError
from npulse.core.scale import (
    BLAS_THREAD_VARIABLES,
    InlineExecutor,
    WorkerDied,
    limit_blas_threads,
    open_executor,
    ordered_results,
    results_as_known,
)


def square(x: int) -> int:
    return x * x


def slow_when_even(x: int) -> int:
    """Even jobs end after the odd ones that were handed in with them."""
    if x % 2 == 0:
        deadline = time.perf_counter() + 0.02
        while time.perf_counter() < deadline:
            pass
    return x


def refuse_three(x: int) -> int:
    if x == 3:
        raise ValueError("three")
    return x


def die_at_two(x: int) -> int:
    if x == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def work_for_ever(marker: str) -> None:
    Path(marker).touch()
    while True:
        pass


def worker_facts(_: int) -> tuple[int, str | None, tuple[str, ...]]:
    heavy = tuple(name for name in ("textual", "rich", "pandas", "npulse.tui") if name in sys.modules)
    return os.getpid(), os.environ.get("OPENBLAS_NUM_THREADS"), heavy


class CountingExecutor(Executor):
    """Runs jobs when the result is asked for, and remembers how many were waiting at most."""

    def __init__(self) -> None:
        self.submitted = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.submitted += 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_who_waits_is_called_while_nothing_comes() -> None:
    waited: list[int] = []
    with ThreadPoolExecutor(1) as executor:
        go = threading.Event()

        def note() -> None:
            waited.append(1)
            go.set()

        results = results_as_known(executor, lambda _: go.wait(10), [0], on_wait=note)
        assert list(results) == [(0, True)] and waited


def test_results_come_in_order_from_processes() -> None:
    with open_executor(2) as executor:
        assert list(ordered_results(executor, slow_when_even, range(20), chunk=1)) == list(range(20))


def test_workers_are_other_processes_with_one_blas_thread_and_no_interface() -> None:
    before = {name: os.environ.get(name) for name in BLAS_THREAD_VARIABLES}
    with open_executor(2) as executor:
        facts = list(ordered_results(executor, worker_facts, range(4), chunk=1))
    for pid, threads, heavy in facts:
        assert pid != os.getpid()
        assert threads == (before["OPENBLAS_NUM_THREADS"] or "1")
        assert heavy == ()
    assert {name: os.environ.get(name) for name in BLAS_THREAD_VARIABLES} == before


def native_threads(_: int) -> int:
    """Threads of this process that are not Python's, after a product that BLAS would share out."""
    import numpy as np

    square = np.ones((512, 512), np.float32)
    np.dot(square.reshape(-1), square.reshape(-1))
    square @ square
    return len(os.listdir("/proc/self/task")) - threading.active_count()


ENTRIES = """
import contextlib, io, json, os, sys, threading
from npulse.core.scale import BLAS_THREAD_VARIABLES
from npulse.tui.cli.main import run

class Asked:
    # refuses numpy, and says what BLAS would have been told when it was asked for

    def find_spec(self, name, *_):
        if name == "numpy":
            said.append(os.environ.get("OPENBLAS_NUM_THREADS"))
            raise ImportError(name)


told, asked = {}, Asked()
sys.meta_path.insert(0, asked)
assert "numpy" not in sys.modules
for words in json.loads(sys.argv[1]):
    for variable in BLAS_THREAD_VARIABLES:
        os.environ.pop(variable, None)
    said = []
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        run(words)
    told[words[0]] = said + [os.environ.get(variable) for variable in BLAS_THREAD_VARIABLES]
sys.meta_path.remove(asked)
print(json.dumps([told, native_threads(0)]))
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted by Linux")
def test_every_command_that_computes_has_one_blas_thread(tmp_path: Path) -> None:
    """In a process that nobody has limited: said before numpy is asked for, and kept by the real library."""
    nothing = str(tmp_path / "nothing")
    commands = [
        *([area, nothing] for area in ("precision", "overflow", "performance", "memory")),
        ["report", nothing, "-o", str(tmp_path / "report.html")],
        ["merge", nothing, "-o", str(tmp_path / "merged.csv")],
        ["pack", nothing, "-o", str(tmp_path / "run.tar.gz")],
        *(["recheck", "matmul", nothing], ["diff", nothing, nothing]),
    ]
    environment = {k: v for k, v in os.environ.items() if k not in BLAS_THREAD_VARIABLES}
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[3] / "src")
    out = subprocess.run(
        [sys.executable, "-c", inspect.getsource(native_threads) + ENTRIES, json.dumps(commands)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    told, n_native = json.loads(out.stdout)
    assert list(told) == [words[0] for words in commands]
    assert {name: set(said) for name, said in told.items()} == {name: {"1"} for name in told}
    assert n_native == 0


def test_a_worker_has_no_threads_of_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in BLAS_THREAD_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    with open_executor(2) as executor:
        assert list(ordered_results(executor, native_threads, [0], chunk=1)) == [0]


@pytest.mark.parametrize("n_jobs, most_messages", [(9_200, 575), (1_000, 63), (40, 40)])
def test_many_small_jobs_go_out_together(n_jobs: int, most_messages: int) -> None:
    """16 tensors a message: each costs more to hand over than a small tensor to compare."""
    executor = CountingExecutor()
    assert list(ordered_results(executor, abs, range(n_jobs))) == list(range(n_jobs))
    assert executor.submitted <= most_messages


def test_one_job_stays_in_this_process() -> None:
    with open_executor(1) as executor:
        assert isinstance(executor, InlineExecutor)
        assert next(ordered_results(executor, worker_facts, [0]))[0] == os.getpid()


@pytest.mark.parametrize("jobs", [1, 2])
def test_error_of_a_job_is_raised_in_its_place(jobs: int) -> None:
    seen = []
    with open_executor(jobs) as executor, pytest.raises(ValueError, match="three"):
        for result in ordered_results(executor, refuse_three, range(6), chunk=1):
            seen.append(result)
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("chunk", [None, 1, 4, 100])
def test_done_counts_every_job(chunk: int | None) -> None:
    done: list[int] = []
    results = ordered_results(InlineExecutor(), square, range(10), chunk=chunk, on_done=done.append)
    assert list(results) == [x * x for x in range(10)]
    assert done == list(range(1, 11))


def test_few_chunks_are_handed_out_ahead() -> None:
    executor = CountingExecutor()
    results = ordered_results(executor, square, range(1000), chunk=10)
    assert next(results) == 0
    assert executor.submitted <= 3


def test_no_jobs_no_results() -> None:
    assert list(ordered_results(InlineExecutor(), square, [])) == []


def test_cancel_between_jobs() -> None:
    seen: list[int] = []
    with pytest.raises(Cancelled):
        for result in ordered_results(
            InlineExecutor(), square, range(10), is_cancelled=lambda: len(seen) == 4
        ):
            seen.append(result)
    assert seen == [0, 1, 4, 9]


def test_cancel_ends_workers_that_would_go_on_for_ever(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    with pytest.raises(Cancelled), open_executor(2) as executor:
        list(ordered_results(executor, work_for_ever, [str(marker)], is_cancelled=marker.exists))
    assert marker.exists()


def test_killed_worker_is_a_clear_error() -> None:
    with pytest.raises(WorkerDied, match="killed"), open_executor(2) as executor:
        list(ordered_results(executor, die_at_two, range(8), chunk=1))


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, sys\n"
        "from npulse.core.scale import open_executor, ordered_results\n"
        "if __name__ == '__main__':\n"
        "    with open_executor(2) as executor:\n"
        "        print(executor.submit(os.getpid).result(), flush=True)\n"
        "        sys.stdin.read()\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    assert parent.stdout is not None and parent.stdin is not None
    worker = int(parent.stdout.readline())
    fd = os.pidfd_open(worker)
    parent.kill()
    parent.wait()
    assert select.select([fd], [], [], 20)[0], "the worker outlived its parent"
    os.close(fd)
    parent.stdin.close()
    parent.stdout.close()


def test_wrong_number_of_jobs() -> None:
    with pytest.raises(UsageError), open_executor(0):
        pass


def test_cluster_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EnvironmentLacks, match="Dask"), open_executor(2, "tcp://127.0.0.1:1"):
        pass


def test_limit_keeps_what_the_user_has_set() -> None:
    environment = {"OMP_NUM_THREADS": "7"}
    limit_blas_threads(environment)
    assert environment["OMP_NUM_THREADS"] == "7"
    assert environment["OPENBLAS_NUM_THREADS"] == "1"


class TwoHosts(InlineExecutor):
    """Says which hosts see which files, and notes on which ones a job was to run."""

    def __init__(self, seen: frozenset[str] | None) -> None:
        self.seen, self.asked, self.ran = seen, list[tuple[Path, ...]](), list[frozenset[str] | None]()

    def hosts_with(self, paths: Sequence[Sequence[Path]]) -> list[frozenset[str] | None]:
        self.asked += [tuple(one) for one in paths]
        return [self.seen] * len(paths)

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.ran.append(None)
        return super().submit(fn, *args, **kwargs)

    def submit_on(self, hosts: frozenset[str], fn: Any, /, *args: Any) -> Future[Any]:
        self.ran.append(hosts)
        return super().submit(fn, *args)


@pytest.mark.parametrize("seen", [frozenset({"b"}), frozenset(), None])
def test_work_on_files_goes_to_hosts_that_see_them(seen: frozenset[str] | None) -> None:
    """All hosts, and none: then each may try, and says what it cannot read."""
    executor, files = TwoHosts(seen), (Path("/data/dump.json"), Path("/data/tensors"))
    assert list(ordered_results(executor, square, range(3), beside=files)) == [0, 1, 4]
    assert executor.asked == [files]
    assert executor.ran == [seen or None] * 3
