"""One door to parallel work: an executor, and results in order with few of them in flight.

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
from collections import deque
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import EnvironmentLacks, NpulseError, UsageError
from .progress import IsCancelled, check, never_cancelled

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

Job = TypeVar("Job")
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

POLL_SECONDS = 0.1
"""How soon a cancel is seen while no result comes."""


class WorkerDied(NpulseError):
    """A worker process ended without a result. Work that needs so much can be tried with one job."""

    exit_code = 3


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
def open_executor(jobs: int | None = None, cluster: str | None = None) -> Iterator[Executor]:
    """An executor for `jobs` workers: 1 runs inline, None takes one a processor; `cluster`: a Dask address.

    Leaving it cancels what has not started and waits for what has. Raises EnvironmentLacks where a cluster is
    named and Dask is not installed or not reachable, UsageError for fewer than one job.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"{jobs} jobs: at least 1 is needed")
    if cluster is not None:
        with _dask_executor(cluster) as executor:
            yield executor
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


def ordered_results(
    executor: Executor,
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    chunk: int | None = None,
    is_cancelled: IsCancelled = never_cancelled,
    on_done: Callable[[int], None] | None = None,
) -> Iterator[Result]:
    """Results of function(job) in the order of `jobs`, as they become known.

    chunk: jobs handed over at once (None: about eight chunks a worker, 16 jobs at most). on_done gets the
    number of jobs done. At most a few chunks a worker are in flight, so results do not pile up. The first
    exception of a job is raised here, in its job's place; it, a cancel (Cancelled) and an abandoned iterator
    drop what has not started. WorkerDied if a process was killed.
    """
    is_inline = isinstance(executor, InlineExecutor)
    n_workers = int(getattr(executor, _N_WORKERS, 1))
    size = chunk or (1 if is_inline else max(1, min(16, len(jobs) // (n_workers * 8))))
    chunks = (jobs[i : i + size] for i in range(0, len(jobs), size))
    in_flight: deque[Future[list[Result]]] = deque()
    room = 1 if is_inline else n_workers * IN_FLIGHT_A_WORKER
    done = 0
    try:
        while True:
            check(is_cancelled)
            for part in islice(chunks, room - len(in_flight)):
                in_flight.append(executor.submit(_run_chunk, function, part))
            if not in_flight:
                return
            while not in_flight[0].done() and not wait([in_flight[0]], POLL_SECONDS).done:
                check(is_cancelled)
            for result in in_flight.popleft().result():
                done += 1
                yield result
                if on_done is not None:
                    on_done(done)
    except BrokenExecutor as error:
        raise WorkerDied(
            "a worker process was killed before it had finished (mostly: not enough memory)",
            hint="try again with --jobs 1",
        ) from error
    finally:
        for future in in_flight:
            future.cancel()


def _run_chunk(function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    return [function(job) for job in jobs]


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


@contextmanager
def _dask_executor(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError as error:
        raise EnvironmentLacks(
            "a cluster needs Dask, which is not installed", hint="pip install 'npulse[cluster]'"
        ) from error
    try:
        client = Client(address, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise EnvironmentLacks(f"no Dask scheduler answers at {address}: {error}") from error
    try:
        executor: Executor = client.get_executor()
        setattr(executor, _N_WORKERS, max(1, sum(client.nthreads().values())))
        yield executor
    finally:
        client.close()
