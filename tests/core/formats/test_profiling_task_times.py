"""task_time of both generations: tasks of each device in columns, or sums."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import Cancelled, InputError
from npulse.core.formats.profiling.task_times import TaskTimes, TaskTotal, read_task_times
from npulse.core.formats.profiling.timeline import NONE, Tasks

CURRENT = "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)\n"
OLD = (
    "Time(%),Time(us),Count,Avg(us),Min(us),Max(us),Waiting(us),Running(us),Pending(us),Type,API,Task ID,"
    "Op Name,Stream ID\n"
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tasks") / "task_time_20260801120500.csv"


def times_of(path: Path, content: str | bytes) -> TaskTimes:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_task_times(path, root=path.parent)


def rows_of(tasks: Tasks) -> list[tuple[int, int, int, str | None, str | None]]:
    return [
        (
            int(tasks.start_ns[i]),
            int(tasks.duration_ns[i]),
            int(tasks.stream[i]),
            tasks.names[tasks.name[i]] if tasks.name[i] >= 0 else None,
            tasks.kinds[tasks.kind[i]] if tasks.kind[i] >= 0 else None,
        )
        for i in range(len(tasks))
    ]


def test_tasks_by_device_in_order_of_their_start(path: Path) -> None:
    read = times_of(
        path,
        CURRENT
        + "0,N/A,EVENT_RECORD,2,101,0.02,1785556800000186.000\t,1785556800000186.020\t\n"
        + "1,Add,KERNEL_AIVEC,7,5,1.5,1785556800000001\t,1785556800000002.5\t\n"
        + "0,MatMul,KERNEL_AICORE,N/A,100,185.504,1785556800000000.125\t,1785556800000185.629\t\n",
    )
    assert read.problems == () and read.n_dropped == 0 and read.totals == ()
    assert list(read.tasks) == [0, 1]
    assert rows_of(read.tasks[0]) == [
        (1785556800000000125, 185_504, NONE, "MatMul", "KERNEL_AICORE"),
        (1785556800000186000, 20, 2, None, "EVENT_RECORD"),
    ]
    assert rows_of(read.tasks[1]) == [(1785556800000001000, 1_500, 7, "Add", "KERNEL_AIVEC")]
    assert read.tasks[1].connection.tolist() == [NONE]


def test_the_stop_stands_in_for_a_duration(path: Path) -> None:
    read = times_of(path, CURRENT + "0,a,K,1,1,N/A,10.5,12\n0,b,K,1,2,N/A,12,10\n0,c,K,1,3,1,N/A,9\n")
    assert rows_of(read.tasks[0]) == [(10_500, 1_500, 1, "a", "K")]
    assert read.n_dropped == 2 and [(p.kind, p.line) for p in read.problems] == [("bad-record", 3)]


def test_durations_that_cannot_be_are_left_out(path: Path) -> None:
    read = times_of(path, CURRENT + "0,a,K,1,1,1800000000000.0,10,12\n0,b,K,1,2,-1,10,9\n0,c,K,1,3,0,7,7\n")
    assert rows_of(read.tasks[0]) == [(7_000, 0, 1, "c", "K")] and read.n_dropped == 2


def test_where_nothing_names_a_device(path: Path, tmp_path: Path) -> None:
    content = CURRENT.removeprefix("Device_id,") + "a,K,1,1,2,10,12\n"
    assert list(times_of(path, content).tasks) == [None]
    old = tmp_path / "device_5" / "summary" / "task_time.csv"
    old.parent.mkdir(parents=True)
    old.write_text(content)
    assert list(read_task_times(old, root=tmp_path).tasks) == [5]
    old.write_text(CURRENT + "5,a,K,1,1,2,20,22\nN/A,b,K,1,1,2,10,12\n")
    assert rows_of(read_task_times(old, root=tmp_path).tasks[5]) == [
        (10_000, 2_000, 1, "b", "K"),
        (20_000, 2_000, 1, "a", "K"),
    ]


def test_the_old_form_has_sums(path: Path) -> None:
    read = times_of(
        path, OLD + "62.5,250.25,2,125.125,100,150.25,1,248,1.25,AI_CORE,KernelLaunch,3,conv1,7\n"
    )
    assert read.tasks == {} and read.problems == ()
    assert read.totals == (
        TaskTotal(
            name="conv1",
            kind="AI_CORE",
            api="KernelLaunch",
            stream=7,
            task=3,
            count=2,
            total_ns=250_250,
            average_ns=125_125,
            min_ns=100_000,
            max_ns=150_250,
            waiting_ns=1_000,
            running_ns=248_000,
            pending_ns=1_250,
            share_percent=62.5,
            device=None,
            line=2,
        ),
    )


def test_what_is_no_task_time(path: Path) -> None:
    for content in ("", "Step,Computing\n1,2\n", "stream_id,task_id\n1,2\n"):
        with pytest.raises(InputError) as caught:
            times_of(path, content)
        assert caught.value.hint == "name a task_time_*.csv"
    path.write_text(CURRENT)
    assert read_task_times(path).tasks == {}
    with pytest.raises(Cancelled):
        read_task_times(path, is_cancelled=lambda: True)


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.decimals(0, 10**9, places=3), st.decimals(0, 10**15, places=3)),
        max_size=20,
    )
)
def test_as_sorted_by_hand(path: Path, rows: list[tuple[int, Decimal, Decimal]]) -> None:
    read = times_of(
        path, CURRENT + "".join(f"{d},k{i},K,{i},0,{n},{s}\t,N/A\n" for i, (d, n, s) in enumerate(rows))
    )

    def ns(us: Decimal) -> int:
        return int((us * 1000).quantize(Decimal(1), ROUND_HALF_UP))

    expected: dict[int, list[tuple[int, int, int, str, str]]] = {}
    for i, (device, duration, start) in enumerate(rows):
        expected.setdefault(device, []).append((ns(start), ns(duration), i, f"k{i}", "K"))
    assert {device: rows_of(tasks) for device, tasks in read.tasks.items()} == {
        device: sorted(tasks, key=lambda row: row[0]) for device, tasks in expected.items()
    }


@given(raw=st.binary(max_size=200), encoding=st.sampled_from(["utf-8", "utf-16", "gbk"]))
def test_no_bytes_break_it(path: Path, raw: bytes, encoding: str) -> None:
    times_of(path, CURRENT.encode(encoding) + raw)
    times_of(path, OLD.encode(encoding) + raw)
    try:
        times_of(path, raw)
    except InputError:
        pass


def test_cut_at_every_byte_no_task_changes(path: Path) -> None:
    content = (
        CURRENT + "0,a,K,1,1,12.25,1785556800000000.125\t,N/A\n0,b,K,1,2,3,1785556800000020\t,7\n"
    ).encode()
    whole = rows_of(times_of(path, content).tasks[0])
    for n in range(content.index(b"\n"), len(content)):
        read = times_of(path, content[:n])
        found = rows_of(read.tasks[0]) if read.tasks else []
        assert found == whole[: len(found)] and (read.problems or content[n - 1 : n] == b"\n")
