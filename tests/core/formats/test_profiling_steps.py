"""step_trace_time and step_trace: steps and iterations, exact, whatever the columns around them."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.profiling.records import Iteration, Read, StepTime
from npulse.core.formats.profiling.steps import read_iterations, read_step_times

STEPS = (
    "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
    "Communication(Not Overlapped and Exclude Receive),Preparing\r\n"
)
ROW = "8873.756000000001,101963.203,4028.6750000000175,105991.878,25744.05,136581.0,0,101963.203,17902.5\r\n"
ITERATIONS = (
    "Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),FP to BP Time(us),"
    "Iteration Refresh(us),Data Aug Bound(us),Model ID,Reduce Start(us),Reduce Duration(us),"
    "Reduce Start(us),Reduce Duration(us)\n"
)
HEAD = "1785556800000000.125\t,1785556800041000.125\t,1785556800052000.125\t,N/A,41000.0,11000.0,N/A"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("steps") / "step_trace_time.csv"


def steps_of(path: Path, content: str | bytes) -> Read[StepTime]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_step_times(path, root=path.parent)


def iterations_of(path: Path, content: str | bytes) -> Read[Iteration]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_iterations(path, root=path.parent)


def test_a_step_without_a_device(path: Path) -> None:
    read = steps_of(path, STEPS + f"50,{ROW}")
    assert read.problems == () and read.n_dropped == 0 and read.encoding == "utf-8"
    assert read.headers[:2] == ("Step", "Computing")
    assert read.records == (
        StepTime(
            step="50",
            device=None,
            computing_ns=8_873_756,
            communication_not_overlapped_ns=101_963_203,
            overlapped_ns=4_028_675,
            communication_ns=105_991_878,
            free_ns=25_744_050,
            stage_ns=136_581_000,
            bubble_ns=0,
            exclude_receive_ns=101_963_203,
            preparing_ns=17_902_500,
            line=2,
        ),
    )


def test_a_step_of_a_device_with_columns_in_another_order_and_fewer(path: Path) -> None:
    read = steps_of(path, "free,computing,Device Id,step\n2.5,1.0005,3,\nN/A,,host,7\n")
    assert [(s.step, s.device, s.computing_ns, s.free_ns, s.stage_ns, s.line) for s in read.records] == [
        ("", 3, 1001, 2500, None, 2),
        ("7", None, None, None, None, 3),
    ]
    assert read.problems == ()


def test_a_unit_in_the_header_counts(path: Path) -> None:
    read = steps_of(path, "Step,Computing(ms),Free(us)\n1,2.5,3\n")
    assert (read.records[0].computing_ns, read.records[0].free_ns) == (2_500_000, 3_000)


def test_counters_below_zero_are_told_and_absent(path: Path) -> None:
    read = steps_of(path, "Step,Computing,Free\n1,5,1800000000000.0\n2,18446744073709551.6,2\n")
    assert [(s.computing_ns, s.free_ns) for s in read.records] == [(5_000, None), (None, 2_000)]
    assert [(p.kind, p.line) for p in read.problems] == [("bad-record", 3), ("bad-record", 2)]
    assert read.problems[1].message.startswith("Free: 1 times of more than 1,000,000,000,000 us")


def test_what_is_no_step_trace(path: Path) -> None:
    for content in ("", "Step,Rest\n1,2\n", "OP Type,Count\nAdd,1\n"):
        with pytest.raises(InputError) as caught:
            steps_of(path, content)
        assert caught.value.hint == "name a step_trace_time.csv"


@given(
    times=st.lists(
        st.one_of(st.decimals(0, 10**9, places=13), st.floats(0, 1e9)).map(str), min_size=9, max_size=9
    )
)
def test_times_are_those_of_decimal(path: Path, times: list[str]) -> None:
    read = steps_of(path, f"{STEPS}1,{','.join(times)}\n")
    assert read.problems == ()
    step = read.records[0]
    found = [
        step.computing_ns,
        step.communication_not_overlapped_ns,
        step.overlapped_ns,
        step.communication_ns,
        step.free_ns,
        step.stage_ns,
        step.bubble_ns,
        step.exclude_receive_ns,
        step.preparing_ns,
    ]
    assert found == [int((Decimal(t) * 1000).quantize(Decimal(1), ROUND_HALF_UP)) for t in times]


# ---- iterations ----


def test_iterations_with_repeated_columns(path: Path) -> None:
    read = iterations_of(
        path,
        ITERATIONS
        + f"0,1,{HEAD},4294967295,1785556800020000.125\t,3000.0,1785556800035000.125\t,4100.0\n"
        + f"0,2,{HEAD},1,1785556800073000.125\t,3050.0,N/A,N/A\n",
    )
    assert read.problems == ()
    first, second = read.records
    assert first == Iteration(
        iteration="1",
        model=None,
        device=0,
        forward_start_ns=1785556800000000125,
        backward_end_ns=1785556800041000125,
        end_ns=1785556800052000125,
        duration_ns=None,
        forward_to_backward_ns=41_000_000,
        refresh_ns=11_000_000,
        data_aug_bound_ns=None,
        reduces=((1785556800020000125, 3_000_000), (1785556800035000125, 4_100_000)),
        line=2,
    )
    assert (second.model, second.reduces) == (1, ((1785556800073000125, 3_050_000),))


def test_ragged_iterations_are_kept_and_told(path: Path) -> None:
    read = iterations_of(
        path, ITERATIONS + f"0,1,{HEAD},1\n" + f"0,2,{HEAD},1,10,1\n" + f"0,3,{HEAD},1,10,1,20,2,30,3\n"
    )
    assert [record.reduces for record in read.records] == [
        (),
        ((10_000, 1_000),),
        ((10_000, 1_000), (20_000, 2_000)),
    ]
    assert read.n_dropped == 0 and [(p.kind, p.line) for p in read.problems] == [
        ("bad-record", line) for line in (2, 3, 4)
    ]


def test_a_first_reduction_below_zero_is_told_and_absent(path: Path) -> None:
    read = iterations_of(
        path,
        ITERATIONS
        + f"0,1,{HEAD},1,1785556800020000.125\t,18446744073709.55,5,18446744073709551.6\n"
        + f"0,2,{HEAD},1,18446744073709551.615,2,6,7\n",
    )
    assert [record.reduces for record in read.records] == [
        ((1785556800020000125, None), (5_000, None)),
        ((None, 2_000), (6_000, 7_000)),
    ]
    assert len(read.problems) == 3 and {p.kind for p in read.problems} == {"bad-record"}


def test_the_device_may_stand_in_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "device_3" / "summary" / "step_trace_3_1_1.csv"
    path.parent.mkdir(parents=True)
    path.write_text("Iteration ID,Iteration End(us),Iteration Time(us)\n1,10,5\n")
    (record,) = read_iterations(path, root=tmp_path).records
    assert (record.device, record.end_ns, record.duration_ns) == (3, 10_000, 5_000)


# ---- damaged files ----


def test_cut_at_every_byte_no_value_changes(path: Path) -> None:
    content = (ITERATIONS + f"0,1,{HEAD},1,10,1,20,2\n" * 2).encode()
    whole = iterations_of(path, content).records
    for n in range(len(content)):
        try:
            read = iterations_of(path, content[:n])
        except InputError:
            continue
        assert read.records == whole[: len(read.records)] and (read.problems or content[n - 1 : n] == b"\n")


@given(raw=st.binary(max_size=200), encoding=st.sampled_from(["utf-8", "utf-16", "gbk"]))
def test_no_bytes_break_it(path: Path, raw: bytes, encoding: str) -> None:
    for header, read in ((STEPS, steps_of), (ITERATIONS, iterations_of)):
        read(path, header.encode(encoding) + raw)
        try:
            read(path, raw)
        except InputError:
            pass
