"""An existing Dask scheduler as an executor: versions, paths and losses are looked after here.

No type of Dask leaves this module. Dask pickles between our own processes: jobs and results are plain records
of ours, and the scheduler has to be one that only its users reach (docs/cluster.md).
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from npulse.core.errors import EnvironmentLacks, InputError, NpulseError

from . import remote
from .cluster import Cluster, moved
from .lost import ClusterGone, WorkerDied

CONNECT_SECONDS = 10
"""How long a scheduler may take to answer, and a first worker to be there."""

LOOK_SECONDS = 2.0
"""How often it is looked who is there."""

GONE_SECONDS = 20.0
"""So long no worker (or none of a host that alone has the files) may be there before work is given up."""


class ClusterExecutor(Executor):
    """Runs jobs on the workers of a scheduler; paths are named as the workers name them."""

    def __init__(self, client: Any, cluster: Cluster, n_workers: int) -> None:
        self._client, self._cluster = client, cluster
        self.n_workers = n_workers
        self._hosts: set[str] = set()
        self._looked_s = self._seen_s = time.monotonic()
        self._host_seen_s: dict[str, float] = {}
        self._only_on: dict[Future[Any], frozenset[str]] = {}
        self._look()

    # ---- what `concurrent.futures` asks for ----

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As usual. The result may be WorkerDied (every worker that tried it died) or ClusterGone."""
        return self._submit(None, fn, *args, **kwargs)

    def submit_on(self, hosts: frozenset[str], fn: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """`submit` to the workers of these hosts alone. No host: InputError, nobody sees the file."""
        if not hosts:
            nobody: Future[Any] = Future()
            nobody.set_exception(
                InputError(
                    "no worker of the cluster sees this file",
                    hint="where hosts name the folder otherwise: --path-map LOCAL=REMOTE",
                )
            )
            return nobody
        return self._submit(hosts, fn, *args)

    def _submit(
        self, hosts: frozenset[str] | None, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        outer: Future[Any] = Future()
        try:
            inner = self._client.get_executor(
                pure=False, **({"workers": sorted(hosts)} if hosts else {})
            ).submit(_run_there, self._cluster, fn, args, kwargs)
        except Exception as error:  # whatever Dask raises where its scheduler does not answer
            raise self._gone(error) from error
        outer.add_done_callback(lambda done: inner.cancel() if done.cancelled() else None)
        inner.add_done_callback(lambda done: self._hand_over(done, outer))
        if hosts:
            self._only_on[outer] = hosts
        return outer

    def _hand_over(self, inner: Future[Any], outer: Future[Any]) -> None:
        self._only_on.pop(outer, None)
        if not outer.set_running_or_notify_cancel():
            return
        if inner.cancelled():
            outer.set_exception(self._gone(None))
            return
        error = inner.exception()
        if error is None:
            outer.set_result(moved(_unpacked(inner.result()), self._cluster, is_back=True))
        else:
            outer.set_exception(self._told(error))

    def _told(self, error: BaseException) -> BaseException:
        from asyncio import CancelledError
        from concurrent.futures import CancelledError as FutureCancelled

        dask = import_module("distributed.scheduler")
        if isinstance(error, InputError) and error.path is not None:
            error.path = str(self._cluster.here(Path(error.path)))
        if isinstance(error, NpulseError):
            return error
        if isinstance(error, dask.KilledWorker):
            _, last, n_allowed = error.args
            return WorkerDied(
                f"its worker died {n_allowed + 1} times (last: {last.address}; mostly: not enough memory)",
                hint="give each worker more memory or fewer threads; its log says why it ended",
            )
        if isinstance(error, dask.NoValidWorkerError):
            return WorkerDied("no worker is left on a host that has its files")
        if isinstance(error, (CancelledError, FutureCancelled, dask.CommClosedError)):
            return self._gone(error)
        return error

    # ---- who is there ----

    def check_alive(self) -> None:
        """Raises ClusterGone where the scheduler, or every worker, has been away for a while."""
        now_s = time.monotonic()
        if now_s - self._looked_s < LOOK_SECONDS:
            return
        self._look()
        if now_s - self._seen_s > GONE_SECONDS:
            raise self._gone(None)
        for outer, hosts in list(self._only_on.items()):
            last_s = max(self._host_seen_s.get(host, 0.0) for host in hosts)
            if now_s - last_s > GONE_SECONDS:
                self._only_on.pop(outer, None)
                if outer.set_running_or_notify_cancel():
                    outer.set_exception(
                        WorkerDied(f"no worker is left on {', '.join(sorted(hosts))}, which has its files")
                    )

    def _look(self) -> None:
        self._looked_s = time.monotonic()
        if self._client.status == "closed":
            raise self._gone(None)
        try:
            threads = self._client.sync(self._client.scheduler.ncores, callback_timeout=CONNECT_SECONDS)
        except Exception:  # the scheduler does not answer: `_seen_s` says how long already
            return
        if threads:
            self._seen_s = time.monotonic()
            self.n_workers = max(1, sum(threads.values()))
            self._host_seen_s.update((_host(address), self._seen_s) for address in threads)

    def _gone(self, error: BaseException | None) -> ClusterGone:
        is_there = self._client.status == "running"
        who = "no worker is left at the scheduler" if is_there else "the scheduler is gone:"
        reason = f" ({str(error)[:200]})" if error is not None and str(error) else ""
        return ClusterGone(
            f"{who} {self._cluster.address}{reason}", hint="what had been looked at until then is told"
        )

    # ---- where the files lie ----

    def hosts_with(self, paths: Sequence[Sequence[Path]]) -> list[frozenset[str] | None]:
        """For each job the hosts whose workers see all of its paths; None where every host does.

        Empty where none does: then its job is an InputError for `submit`ters to tell.
        """
        flat = [str(self._cluster.there(path)) for of_job in paths for path in of_job]
        one_a_host: dict[str, str] = {}
        try:
            for address in self._client.sync(self._client.scheduler.ncores):
                one_a_host.setdefault(_host(address), address)
            seen = self._client.run(remote.which_exist, flat, workers=list(one_a_host.values()))
        except Exception as error:
            raise self._gone(error) from error
        of_host = {_host(address): known for address, known in seen.items()}
        found: list[frozenset[str] | None] = []
        at = 0
        for of_job in paths:
            span = slice(at, at + len(of_job))
            at += len(of_job)
            hosts = frozenset(host for host, known in of_host.items() if all(known[span]))
            found.append(None if len(hosts) == len(of_host) else hosts)
        return found


def _host(address: str) -> str:
    return address.rpartition("://")[2].rpartition(":")[0].strip("[]")


def _run_there(cluster: Cluster, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Runs in a worker: the job with the paths of its host."""
    given = {name: moved(value, cluster) for name, value in kwargs.items()}
    return _packed(fn(*moved(tuple(args), cluster), **given))


def _packed(result: Any) -> bytes:
    """A result for the way: columns pack well, and the network is slower than this."""
    return zlib.compress(pickle.dumps(result, 5), 1)


def _unpacked(content: bytes) -> Any:
    """What one of our own workers packed; nothing from a file ever comes here."""
    return pickle.loads(zlib.decompress(content))


@contextmanager
def cluster_executor(cluster: Cluster) -> Iterator[ClusterExecutor]:
    """The scheduler that is meant, its versions checked. Raises EnvironmentLacks.

    Leaving it takes back what has not started; the scheduler and its workers stay (but those of "local:N").
    """
    try:
        dask = import_module("distributed")
    except ImportError as error:
        raise EnvironmentLacks(
            "a cluster needs Dask, which is not installed", hint="pip install 'npulse[cluster]'"
        ) from error
    with _quiet(), _scheduler(cluster) as address:
        try:
            with ThreadPoolExecutor(1) as aside:  # the caller's thread may have a loop of its own
                aside.submit(lambda: asyncio.run(_greeted(address))).result()
            client = dask.Client(address, set_as_default=False, timeout=CONNECT_SECONDS)
        except (
            Exception
        ) as error:  # whatever Dask makes of what another program answers, or of no certificate
            reason = str(error)[:200] or "no answer"
            raise EnvironmentLacks(
                f"no Dask scheduler answers at {cluster.address}: {reason}",
                hint="dask scheduler starts one; see docs/cluster.md",
            ) from error
        try:
            yield ClusterExecutor(client, cluster, _checked(client, cluster))
        finally:
            with suppress(Exception):  # a scheduler that is gone cannot be told good-bye
                client.close(timeout=2)


async def _greeted(address: str) -> None:
    """Connect once and go: Dask's client waits without end for one who listens and does not answer as Dask
    does."""
    security = import_module("distributed.security").Security()
    connect = import_module("distributed.comm.core").connect
    there = connect(address, timeout=CONNECT_SECONDS, **security.get_connection_args("client"))
    comm = await asyncio.wait_for(there, CONNECT_SECONDS)
    comm.abort()


@contextmanager
def _scheduler(cluster: Cluster) -> Iterator[str]:
    if cluster.n_local is None:
        yield cluster.address
        return
    started = import_module("distributed").LocalCluster(
        n_workers=cluster.n_local,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",  # None asks for 8787, and warns on stderr where that is taken
    )
    try:
        yield str(started.scheduler_address)
    finally:
        with suppress(Exception):
            started.close(timeout=5)


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask logs to stderr what is told here as Problems and errors."""
    names = [
        n
        for n in logging.root.manager.loggerDict
        if n.partition(".")[0] in ("distributed", "tornado", "asyncio")
    ]
    before = [(logging.getLogger(name), logging.getLogger(name).level) for name in names]
    for logger, _ in before:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in before:
            logger.setLevel(level)


# ---- versions ----


def _checked(client: Any, cluster: Cluster) -> int:
    """How many jobs the workers take at once; EnvironmentLacks where there are none or they are unlike us."""
    import_module("cloudpickle").register_pickle_by_value(remote)
    try:
        with suppress(TimeoutError):
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        threads = client.nthreads()
        if not threads:
            raise EnvironmentLacks(
                f"no worker is at the scheduler {cluster.address}",
                hint=f"dask worker {cluster.address} on each host; see docs/cluster.md",
            )
        found = {f"worker {address}": known for address, known in client.run(remote.facts).items()}
        found["scheduler"] = client.run_on_scheduler(remote.facts)
    except EnvironmentLacks:
        raise
    except Exception as error:
        raise EnvironmentLacks(
            f"the cluster {cluster.address} does not answer: {str(error)[:200]}"
        ) from error
    wrong = unlike(remote.facts(), found)
    if wrong:
        shown = "; ".join(wrong[:6]) + (f"; and {len(wrong) - 6} more" if len(wrong) > 6 else "")
        raise EnvironmentLacks(
            f"client and cluster are not of the same versions: {shown}",
            hint="install the same npulse, Python, numpy and distributed on every host",
        )
    return max(1, sum(int(n) for n in threads.values()))


def unlike(own: dict[str, str | None], others: dict[str, dict[str, str | None]]) -> list[str]:
    """What differs, and where: "worker tcp://10.0.0.7:4711 on host7: npulse 0.1.0, here 0.2.0".

    npulse and distributed have to be equal, of Python and numpy what stands before the second dot.
    """
    found = []
    for who, facts in others.items():
        for name in ("npulse", "python", "numpy", "distributed"):
            theirs, ours = facts[name], own[name]
            if theirs is None:
                found.append(f"{who} on {facts['host']}: {name} is not installed")
            elif _as_compared(name, theirs) != _as_compared(name, ours or ""):
                found.append(f"{who} on {facts['host']}: {name} {theirs}, here {ours}")
    return found


def _as_compared(name: str, version: str) -> str:
    return ".".join(version.split(".")[:2]) if name in ("python", "numpy") else version
