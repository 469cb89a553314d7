"""Work handed out a little at a time: results in the order of the jobs, or each as soon as it is known."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from itertools import islice
from pathlib import Path
from typing import TypeVar

from npulse.core.errors import InputError
from npulse.core.progress import IsCancelled, check, never_cancelled

from .executor import (
    IN_FLIGHT_A_WORKER,
    InlineExecutor,
    check_alive,
    hosts_beside,
    hosts_of,
    n_workers_of,
    submit_where,
)
from .lost import WorkerDied

Job = TypeVar("Job")
Result = TypeVar("Result")

POLL_SECONDS = 0.1
"""How soon a cancel is seen while no result comes."""


def ordered_results(
    executor: Executor,
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    chunk: int | None = None,
    is_cancelled: IsCancelled = never_cancelled,
    on_done: Callable[[int], None] | None = None,
    beside: Sequence[Path] = (),
) -> Iterator[Result]:
    """Results of function(job) in the order of `jobs`, as they become known.

    chunk: jobs handed over at once (None: about eight chunks a worker, 16 jobs at most). on_done gets the
    number of jobs done. At most a few chunks a worker are in flight, so results do not pile up. The first
    exception of a job is raised here, in its job's place; it, a cancel (Cancelled) and an abandoned iterator
    drop what has not started. beside: files beside which those of the jobs lie: hosts that see them do the
    work, any where none does. WorkerDied if a process was killed, ClusterGone.
    """
    is_inline = isinstance(executor, InlineExecutor)
    n_workers = n_workers_of(executor)
    size = chunk or (1 if is_inline else max(1, min(16, len(jobs) // (n_workers * 8))))
    chunks = (jobs[i : i + size] for i in range(0, len(jobs), size))
    in_flight: deque[Future[list[Result]]] = deque()
    room = 1 if is_inline else n_workers * IN_FLIGHT_A_WORKER
    done = 0
    hosts = hosts_beside(executor, beside) if len(jobs) else None
    try:
        while True:
            check(is_cancelled)
            for part in islice(chunks, room - len(in_flight)):
                in_flight.append(submit_where(executor, hosts, _run_chunk, function, part))
            if not in_flight:
                return
            while not in_flight[0].done() and not wait([in_flight[0]], POLL_SECONDS).done:
                check(is_cancelled)
                check_alive(executor)
            for result in in_flight.popleft().result():
                done += 1
                yield result
                if on_done is not None:
                    on_done(done)
    except BrokenExecutor as error:
        raise _killed() from error
    finally:
        for future in in_flight:
            future.cancel()


def results_as_known(
    executor: Executor,
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    is_cancelled: IsCancelled = never_cancelled,
    on_wait: Callable[[], None] = lambda: None,
) -> Iterator[tuple[int, Result | InputError | WorkerDied]]:
    """(place in `jobs`, result) in the order in which they end: a slow worker holds up only what it has.

    For large jobs, of which each goes out alone, two a worker at a time. In place of a result stands why
    there is none: the job's own InputError, or WorkerDied where a cluster has lost every worker that tried.
    on_wait: called a few times a second while no result comes. Raises Cancelled, ClusterGone, WorkerDied for
    a process of this host, and any other exception of a job; then, and where the iterator is abandoned, what
    has not started is dropped.
    """
    where = hosts_of(executor, jobs)
    waiting = iter(enumerate(jobs))
    in_flight: dict[Future[list[Result]], int] = {}
    try:
        while True:
            check(is_cancelled)
            # the number of workers of a cluster changes while it works
            room = 1 if isinstance(executor, InlineExecutor) else 2 * n_workers_of(executor)
            for place, job in islice(waiting, max(0, room - len(in_flight))):
                in_flight[submit_where(executor, where[place], _run_chunk, function, (job,))] = place
            if not in_flight:
                return
            known = wait(in_flight, POLL_SECONDS, FIRST_COMPLETED).done
            for future in sorted(known, key=in_flight.__getitem__):
                place = in_flight.pop(future)
                try:
                    found: Result | InputError | WorkerDied = future.result()[0]
                except (InputError, WorkerDied) as error:
                    found = error
                yield place, found
            if not known:
                on_wait()
                check_alive(executor)
    except BrokenExecutor as error:
        raise _killed() from error
    finally:
        for future in in_flight:
            future.cancel()


def _run_chunk(function: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    return [function(job) for job in jobs]


def _killed() -> WorkerDied:
    return WorkerDied(
        "a worker process was killed before it had finished (mostly: not enough memory)",
        hint="try again with --jobs 1",
    )
