"""Tables of msprof-analyze: steps of ranks and stages, results of recipes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.profiling.cluster_tables import (
    ClusterTime,
    CommunicationBottleneck,
    FreeTime,
    SlowRank,
    read_cluster_steps,
    read_cluster_times,
    read_communication_bottlenecks,
    read_free_times,
    read_slow_ranks,
)
from npulse.core.formats.profiling.records import Read, ranks_of

STEPS = (
    "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
    "Communication(Not Overlapped and Exclude Receive),Preparing,DP Index,PP Index,TP Index\n"
)
FREE = (
    "Rank ID,Start Time(us),End Time(us),Duration(us),Pytorch Idle Time(us),Cann Idle Time(us),Reason\n"
    "0,1736414119653955.686,1736414119655255.652,1299.966,953.856,2028.288,Abnormal CANN layer\n"
    '1,1736414119659274.293,1736414119660350.514,1076.221,,,"Device task running: 1 MEMCPY_ASYNC, 1 us"\n'
)
BOTTLENECKS = (
    "Start Time(us),End Time(us),Duration(us),Communication Op,Slow Rank ID,Fast Rank ID,Reason\n"
    "1736414119678212.551,1736414119758662.798,80450.247,hcom_allReduce__865_0_1,0.0,1.0,[Host-bound] Tasks\n"
    "1736414119763349.752,1736414119772331.472,8981.72,hcom_allReduce__865_3_1,,,[Completed] No slow NPU\n"
)
TIMES = (
    "Rank,Step,Step Time(us),Computation(us),Communication Not Overlap Computation(us),"
    "Communication Overlap Computation(us),Communication(us),Free(us),Communication Wait Stage Time(us),"
    "Communication Transmit Stage Time(us),Memory(us),Memory Not Overlap Computation Communication(us)\n"
    "0,50,143741.87,8900.456,90080.699,4026.822,94107.521,24349.248,8.001999999999953,94099.519,913.88,889.339\n"
)
SLOW = "rankId,slowAffectCount\n1,137\n2,129\n"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster") / "table.csv"


def test_steps_of_ranks_and_stages(path: Path) -> None:
    path.write_text(
        STEPS
        + "50,rank,3,8873.7560000001,101963.203,4028.675,105991.878,25744.05,136581.0,0.0,1,17902.5,0,1,N/A\n"
        + ',stage,"(0, 1, 8)",9000.5,2,3,4,5,6,0,8,,,,\n'
        + "50,rank,p2p,1,2,3,4,5,6,7,8,9,,,\n"
    )
    read = read_cluster_steps(path, root=path.parent)
    assert read.n_dropped == 0
    assert [(one.kind, one.line) for one in read.problems] == [("bad-record", 4)]
    assert "1, which are of nobody; the first has 'p2p'" in read.problems[0].message
    rank, stage, other = read.records
    assert (rank.kind, rank.index, rank.rank, rank.ranks) == ("rank", "3", 3, ())
    assert (rank.dp, rank.pp, rank.tp) == (0, 1, None)
    assert (rank.time.step, rank.time.computing_ns, rank.time.free_ns) == ("50", 8_873_756, 25_744_050)
    assert (rank.time.preparing_ns, rank.time.line, rank.time.device) == (17_902_500, 2, None)
    assert (stage.kind, stage.rank, stage.ranks) == ("stage", None, (0, 1, 8))
    assert (stage.time.step, stage.time.computing_ns, stage.time.preparing_ns) == ("", 9_000_500, None)
    assert (other.index, other.rank, other.ranks) == ("p2p", None, ())


def test_steps_of_older_versions_have_fewer_columns(path: Path) -> None:
    path.write_text("Step,Type,Index,Computing,Free\n2,rank,0,1.5,2\n2,rank,,1,2\n")
    read = read_cluster_steps(path)
    assert [(r.rank, r.time.computing_ns, r.time.preparing_ns, r.dp) for r in read.records] == [
        (0, 1_500, None, None)
    ]
    assert read.n_dropped == 1 and [(p.kind, p.line) for p in read.problems] == [("bad-record", 3)]


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("7", (7,)),
        ("(0, 1)", (0, 1)),
        ("(3,)", (3,)),
        ("[1,2]", (1, 2)),
        ("p2p", None),
        ("", None),
        ("(-1)", None),
    ],
)
def test_ranks_of_an_index(text: str, ranks: tuple[int, ...] | None) -> None:
    assert ranks_of(text) == ranks


def test_free_times(path: Path) -> None:
    path.write_text(FREE)
    read = read_free_times(path)
    assert read.problems == () and len(read.records) == 2
    assert read.records[1] == FreeTime(
        rank=1,
        start_ns=1736414119659274293,
        end_ns=1736414119660350514,
        duration_ns=1_076_221,
        pytorch_idle_ns=None,
        cann_idle_ns=None,
        reason="Device task running: 1 MEMCPY_ASYNC, 1 us",
        line=3,
    )


def test_communication_bottlenecks(path: Path) -> None:
    path.write_text(BOTTLENECKS)
    read = read_communication_bottlenecks(path)
    assert read.problems == ()
    assert read.records[0] == CommunicationBottleneck(
        op="hcom_allReduce__865_0_1",
        start_ns=1736414119678212551,
        end_ns=1736414119758662798,
        duration_ns=80_450_247,
        slow_rank=0,
        fast_rank=1,
        reason="[Host-bound] Tasks",
        line=2,
    )
    assert (read.records[1].slow_rank, read.records[1].fast_rank) == (None, None)


def test_cluster_times(path: Path) -> None:
    path.write_text(TIMES)
    read = read_cluster_times(path)
    assert read.problems == ()
    assert read.records == (
        ClusterTime(
            rank=0,
            step="50",
            step_ns=143_741_870,
            computing_ns=8_900_456,
            communication_not_overlapped_ns=90_080_699,
            overlapped_ns=4_026_822,
            communication_ns=94_107_521,
            free_ns=24_349_248,
            wait_ns=8_002,
            transmit_ns=94_099_519,
            memory_ns=913_880,
            memory_not_overlapped_ns=889_339,
            line=2,
        ),
    )


def test_slow_ranks(path: Path) -> None:
    path.write_text(SLOW + "word,1\n")
    read = read_slow_ranks(path)
    assert read.records == (SlowRank(1, 137, 2), SlowRank(2, 129, 3))
    assert read.n_dropped == 1


READERS: dict[str, Callable[[Path], Read[Any]]] = {
    STEPS: read_cluster_steps,
    FREE: read_free_times,
    BOTTLENECKS: read_communication_bottlenecks,
    TIMES: read_cluster_times,
    SLOW: read_slow_ranks,
}


@pytest.mark.parametrize("content", READERS)
def test_each_reader_refuses_the_tables_of_the_others(path: Path, content: str) -> None:
    path.write_text(content)
    for header, read in READERS.items():
        if header == content:
            read(path)
        else:
            with pytest.raises(InputError):
                read(path)


@pytest.mark.parametrize("content", [FREE, BOTTLENECKS, TIMES, SLOW])
def test_cut_at_every_byte_no_record_changes(path: Path, content: str) -> None:
    path.write_text(content)
    read = READERS[content]
    whole = read(path).records
    raw = content.encode()
    for n in range(raw.index(b"\n"), len(raw)):
        path.write_bytes(raw[:n])
        found = read(path)
        assert found.records == whole[: len(found.records)]
        assert found.problems or raw[n - 1 : n] == b"\n"


@given(raw=st.binary(max_size=200), encoding=st.sampled_from(["utf-8", "utf-16", "gbk"]))
def test_no_bytes_break_it(path: Path, raw: bytes, encoding: str) -> None:
    for content, read in READERS.items():
        path.write_bytes(content.encode(encoding) + raw)
        read(path)
        path.write_bytes(raw)
        try:
            read(path)
        except InputError:
            pass
