"""A real Dask scheduler and its workers, in processes of their own: losses, versions, paths."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import EnvironmentLacks, InputError, UsageError
from npulse.core.precision.compare import Settings, compare_captures
from npulse.core.precision.report import report
from npulse.core.report import render
from npulse.core.run.sides import CapturePair, pair_of
from npulse.core.scale import Cluster, ClusterGone, WorkerDied, open_executor, results_as_known, scheduler
from npulse.core.scale.scheduler import unlike

from ...bench.cluster_against_one import answers
from ..precision import faulty_net as fn
from ..precision.faulty_net import Fault
from .cluster_jobs import LIVES_S, die, note_and_wait, square, wait_for

pytest.importorskip("distributed")
pytestmark = pytest.mark.xdist_group("cluster")

REPO = Path(__file__).resolve().parents[3]
FAULT = Fault("output", "Functional.relu.0.forward")


@contextmanager
def started(code: str) -> Iterator[subprocess.Popen[str]]:
    """A Python process that is ended in any case. One worker may die of a job, the second one is too many."""
    path = os.pathsep.join((str(REPO / "src"), str(REPO)))
    own = {"PYTHONPATH": path, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    command = (sys.executable, "-c", code)
    process = subprocess.Popen(command, env={**os.environ, **own}, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def said(process: subprocess.Popen[str], words: str) -> str:
    """The first line of its log that holds these words."""
    assert process.stderr is not None
    before = []
    for line in process.stderr:
        if words in line:
            return line
        before.append(line)
    raise AssertionError(f"ended without '{words}': {''.join(before)[-2000:]}")


@contextmanager
def started_scheduler() -> Iterator[tuple[subprocess.Popen[str], str]]:
    code = (
        "import sys\nfrom distributed.cli.dask_scheduler import main\n"
        "sys.argv = ['dask-scheduler', '--host', '127.0.0.1', '--port', '0', '--no-dashboard']\nmain()"
    )
    with started(code) as process:
        yield process, "tcp://" + said(process, "Scheduler at:").rpartition("tcp://")[2].strip()


@contextmanager
def started_worker(address: str, folder: Path, before: str = "") -> Iterator[subprocess.Popen[str]]:
    """before: what its process executes first."""
    code = (
        f"{before}\nimport sys\nfrom distributed.cli.dask_worker import main\n"
        f"sys.argv = ['dask-worker', {address!r}, '--nthreads', '1', '--no-dashboard', '--no-nanny',"
        f" '--host', '127.0.0.1', '--local-directory', {str(folder)!r}]\nmain()"
    )
    with started(code) as process:
        said(process, "Registered to:")
        yield process


def until(is_so: Callable[[], bool]) -> None:
    ends_s = time.monotonic() + LIVES_S
    while not is_so():
        assert time.monotonic() < ends_s
        time.sleep(0.02)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler with two workers, for what harms neither."""
    folder = tmp_path_factory.mktemp("workers")
    with (
        started_scheduler() as (_, address),
        started_worker(address, folder / "a"),
        started_worker(address, folder / "b"),
    ):
        yield address


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> CapturePair:
    """Four ranks, of which one errs."""
    folder = tmp_path_factory.mktemp("captures") / "here"
    for side, golden in (("target", False), ("golden", True)):
        for net in fn.run_ranks(FAULT, 2, golden=golden, n_ranks=4):
            net.write(folder / side / "step0" / f"rank{net.rank}", "L1", "statistics")
    return pair_of(folder / "target", folder / "golden")


def answer(pair: CapturePair, settings: Settings) -> str:
    return "".join(render(report(compare_captures(pair, settings), tables=True), "json", version="0"))


def test_who_listens_and_says_nothing_is_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "CONNECT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        for kind in ("tcp", "tls"):
            with (
                pytest.raises(EnvironmentLacks, match="no Dask scheduler answers"),
                open_executor(cluster=address.replace("tcp", kind)),
            ):
                pass


def test_a_cluster_finds_what_one_process_finds(address: str, pair: CapturePair) -> None:
    assert answer(pair, Settings(cluster=Cluster.parse(address))) == answer(pair, Settings(jobs=1))


def test_a_cluster_says_of_a_real_run_what_one_process_says(address: str, shared: Path) -> None:
    """Comparison, overflow, merged table; `tests/bench/cluster_against_one.py` does so for all samples."""
    run = shared / "samples" / "msprobe" / "distributed"
    serial = AnalysisOptions(tables=True, jobs=1)
    there = replace(serial, cluster=Cluster.parse(address), jobs=0)
    for (what, alone), (_, other) in zip(answers(run, serial), answers(run, there), strict=True):
        assert len(alone) > 1000 and alone == other, what


def test_workers_that_name_the_folder_otherwise(address: str, pair: CapturePair) -> None:
    """The files lie under the workers' name alone: nothing is read by the caller."""
    here = pair.target_root.parent
    there = here.with_name("there")
    expected = answer(pair, Settings(jobs=1))
    here.rename(there)
    try:
        cluster = Cluster.parse(address, [f"{here}={there}"])
        assert answer(pair, Settings(cluster=cluster)) == expected
        with pytest.raises(InputError, match="no worker of the cluster sees this file"):
            compare_captures(pair, Settings(cluster=Cluster.parse(address)))
    finally:
        there.rename(here)


def test_a_slow_worker_holds_up_only_what_it_has(address: str, tmp_path: Path) -> None:
    end = tmp_path / "end"
    jobs = [str(end), *[""] * 5]
    with open_executor(cluster=Cluster.parse(address)) as executor:
        known = []
        for place, _ in results_as_known(executor, wait_for, jobs):
            known.append(place)
            if len(known) == 5:
                assert 0 not in known
                end.touch()
    assert sorted(known) == list(range(6)) and known[-1] == 0


def test_workers_of_other_versions_are_named(address: str, tmp_path: Path) -> None:
    cases = {
        "import npulse; npulse.__version__ = '9.9.9'": r"worker tcp://\S+ on \S+: npulse 9\.9\.9, here ",
        "import sys; sys.modules['npulse'] = None": r"worker tcp://\S+ on \S+: npulse is not installed",
    }
    for number, (before, told) in enumerate(cases.items()):
        with started_worker(address, tmp_path / str(number), before):
            with pytest.raises(EnvironmentLacks, match=told) as refused:
                with open_executor(cluster=Cluster.parse(address)):
                    pass
            assert refused.value.exit_code == 3
            assert refused.value.message.count("worker") == 1  # the others are as they should be


def test_work_of_killed_workers_goes_to_others_until_it_is_lost(tmp_path: Path) -> None:
    note = tmp_path / "note"
    with (
        started_scheduler() as (_, address),
        started_worker(address, tmp_path / "a"),
        started_worker(address, tmp_path / "b"),
        started_worker(address, tmp_path / "c"),
        open_executor(cluster=Cluster.parse(address)) as executor,
    ):
        results = results_as_known(executor, note_and_wait, [str(note), *[""] * 6])
        first = next(results)
        until(note.exists)
        killed = int(note.read_text())
        os.kill(killed, signal.SIGKILL)
        found = dict([first, *results])
        assert sorted(found) == list(range(7))
        assert found[0] != killed
        # two are left: a job that ends both is lost, and nobody is there for it any more
        ((place, lost),) = results_as_known(executor, die, ["die"])
        assert place == 0 and isinstance(lost, WorkerDied)
        assert "died 2 times" in lost.message


def test_a_scheduler_that_goes_is_named(tmp_path: Path) -> None:
    with (
        started_scheduler() as (process, address),
        started_worker(address, tmp_path / "a"),
        open_executor(cluster=Cluster.parse(address)) as executor,
    ):
        results = results_as_known(executor, wait_for, ["", str(tmp_path / "never")])
        assert next(results) == (0, "")
        process.kill()
        with pytest.raises(ClusterGone, match=address) as gone:
            list(results)
        assert gone.value.exit_code == 3


def test_workers_of_its_own() -> None:
    with open_executor(cluster=Cluster.parse("local:1")) as executor:
        assert dict(results_as_known(executor, square, range(4))) == {n: n * n for n in range(4)}


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "CONNECT_SECONDS", 0.2)
    with pytest.raises(EnvironmentLacks, match="no Dask scheduler answers at tcp://127.0.0.1:1"):
        with open_executor(cluster=Cluster.parse("tcp://127.0.0.1:1")):
            pass


@pytest.mark.parametrize(
    "address",
    ["", "here", "http://a:1", "tcp://a", "tcp://a:0", "tcp://a:70000", "local:0", "local:x", "tcp://a b:1"],
)
def test_no_address(address: str) -> None:
    with pytest.raises(UsageError):
        Cluster.parse(address)


@pytest.mark.parametrize(
    "address", ["tcp://10.0.0.1:8786", "tls://node-1.a.b:1", "tcp://[::1]:8786", "local:4"]
)
def test_addresses(address: str) -> None:
    assert Cluster.parse(address).address == address


@pytest.mark.parametrize("text", ["", "/a", "=/b", "/a=", "/a=b"])
def test_no_map_of_paths(text: str) -> None:
    with pytest.raises(UsageError):
        Cluster.parse("local:1", [text])


def test_the_longest_map_counts() -> None:
    cluster = Cluster.parse("local:1", ["/a=/x", "/a/b=/y/z"])
    for here, there in (("/a/c", "/x/c"), ("/a/b/c", "/y/z/c"), ("/a/b", "/y/z"), ("/ab", "/ab")):
        assert cluster.there(Path(here)) == Path(there)
        assert cluster.here(Path(there)) == Path(here)


def test_what_has_to_agree() -> None:
    own: dict[str, str | None] = {
        "host": "a",
        "npulse": "1.0",
        "python": "3.11.2",
        "numpy": "2.1.0",
        "distributed": "2026.1",
    }
    same = {**own, "host": "b", "python": "3.11.9", "numpy": "2.1.3"}
    assert unlike(own, {"scheduler": same}) == []
    assert unlike(own, {"worker w": {**same, "numpy": "1.26.4", "npulse": None}}) == [
        "worker w on b: npulse is not installed",
        "worker w on b: numpy 1.26.4, here 2.1.0",
    ]
