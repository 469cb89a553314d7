"""Executors: workers of this host by default, those of a Dask scheduler where one is named.

Worker processes take whole tensors or ranks: threads do not speed up numpy calls on cache-sized blocks.
They are started afresh (never forked from a process that has threads), import only what the work needs,
and run their BLAS with one thread. A program that computes in its own process calls `limit_blas_threads`
before its first `import numpy`. The modules of worker processes are imported by the first call that starts
some: most captures are small enough to be compared without.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from npulse.core.errors import UsageError

from .cluster import Cluster

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

Result = TypeVar("Result")

BLAS_THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NVPL_BLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)

MOST_WORKERS = 8
"""Default at most: eight read faster than any disk, and each costs some 40 MB and a fifth of a second."""

IN_FLIGHT_A_WORKER = 3
"""Chunks handed out before the oldest is taken back: one at work, two waiting hide the way there."""

_N_WORKERS = "n_workers"  # attribute of the executors made here; the library's have none that is public
_CHECK_ALIVE = "check_alive"


def limit_blas_threads(environment: MutableMapping[str, str] | None = None) -> None:
    """Give BLAS one thread, unless the user has set it: call before the first `import numpy`.

    Its threads slow the short dot products here down, a hundredfold on a busy machine. `environment`: the
    process's own (os.environ) if None.
    """
    environment = os.environ if environment is None else environment
    for variable in BLAS_THREAD_VARIABLES:
        environment.setdefault(variable, "1")


class InlineExecutor(Executor):
    """Runs each job in the caller's thread at the moment it is handed in; for little work."""

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        future: Future[Result] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # it is the future's: whoever asks for the result gets it
            future.set_exception(error)
        return future


@contextmanager
def open_executor(jobs: int | None = None, cluster: Cluster | str | None = None) -> Iterator[Executor]:
    """An executor for `jobs` workers: 1 runs inline, None takes one a processor; `cluster`: a Dask scheduler.

    Leaving it cancels what has not started and waits for what has. Raises EnvironmentLacks where a cluster is
    named and Dask is not installed, not reachable or of another version; UsageError for fewer than one job
    and for an address that is none.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"{jobs} jobs: at least 1 is needed")
    if cluster is not None:
        from .scheduler import cluster_executor

        with cluster_executor(Cluster.parse(cluster) if isinstance(cluster, str) else cluster) as there:
            yield there
        return
    n_workers = min(MOST_WORKERS, available_processors()) if jobs is None else jobs
    if n_workers == 1:
        yield InlineExecutor()
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with _blas_limited():
        # spawn: a fork of a process with threads (any interface has some) can inherit a lock nobody will free
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(n_workers, mp_context=context, initializer=_prepare_worker)
        setattr(pool, _N_WORKERS, n_workers)
        try:
            yield pool
        except BaseException:
            _stop(pool)
            raise
        pool.shutdown(wait=True, cancel_futures=True)


def _stop(pool: ProcessPoolExecutor) -> None:
    """End the workers at once: they only read, and a large tensor would keep the user waiting."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


def available_processors() -> int:
    """Processors that this process may use (a container or taskset can allow fewer than there are)."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def _prepare_worker() -> None:
    """Runs first in each worker process."""
    import multiprocessing

    limit_blas_threads()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl+c is for the parent, which then ends its workers
    multiprocessing.current_process().name = f"npulse-worker-{os.getpid()}"
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed cannot tell its workers; without this they would wait for work for ever."""
    from multiprocessing import parent_process
    from multiprocessing.connection import wait as wait_for_end

    parent = parent_process()
    if parent is not None:
        wait_for_end([parent.sentinel])
        os._exit(1)


def n_workers_of(executor: Executor) -> int:
    """How many jobs it works at at once; 1 for an executor from elsewhere."""
    return int(getattr(executor, _N_WORKERS, 1))


def hosts_of(executor: Executor, jobs: Sequence[Any]) -> Sequence[frozenset[str] | None]:
    """For each job the hosts that see its `paths`; None where any does, or jobs do not say what they need."""
    ask = getattr(executor, "hosts_with", None)
    if ask is None or not all(hasattr(job, "paths") for job in jobs):
        return [None] * len(jobs)
    found: Sequence[frozenset[str] | None] = ask([job.paths for job in jobs])
    return found


def hosts_beside(executor: Executor, paths: Sequence[Path]) -> frozenset[str] | None:
    """The hosts that see all of these files; None where any does, none does, or there is but one host."""
    ask = getattr(executor, "hosts_with", None)
    if ask is None or not paths:
        return None
    found: frozenset[str] | None = ask([tuple(paths)])[0]
    return found or None


def submit_where(
    executor: Executor, hosts: frozenset[str] | None, fn: Callable[..., Result], /, *args: Any
) -> Future[Result]:
    """`submit`, to the workers of some hosts alone where that is asked."""
    if hosts is None:
        return executor.submit(fn, *args)
    future: Future[Result] = executor.submit_on(hosts, fn, *args)  # type: ignore[attr-defined]
    return future


def check_alive(executor: Executor) -> None:
    """Raises ClusterGone where nobody is left to give a result; asked while one is waited for."""
    ask = getattr(executor, _CHECK_ALIVE, None)
    if ask is not None:
        ask()


@contextmanager
def _blas_limited() -> Iterator[None]:
    """Children are started with this process's environment: limit their BLAS, then put it back."""
    missing = [variable for variable in BLAS_THREAD_VARIABLES if variable not in os.environ]
    limit_blas_threads()
    try:
        yield
    finally:
        for variable in missing:
            os.environ.pop(variable, None)
