"""Settings and times of a profile: values by hand, wrong types, any bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npulse.core.errors import InputError
from npulse.core.formats.profiling.records import ProfilerSettings, Read
from npulse.core.formats.profiling.settings import (
    ClockStart,
    SessionTimes,
    merged,
    merged_times,
    read_clock,
    read_profiler_info,
    read_profiler_metadata,
    read_sample,
    read_session_info,
    read_times,
)

INFO = {
    "config": {
        "common_config": {
            "schedule": {"wait": 0, "active": 3, "warmup": 1},
            "record_shapes": True,
            "with_stack": False,
        },
        "experimental_config": {"_profiler_level": "Level1", "_aic_metrics": "ACL_AICORE_PIPE_UTILIZATION"},
    },
    "start_info": {"start_cnt": 5, "start_monotonic": 172163581670080},
    "end_info": {"collectionTimeEnd": 1736408884023552840, "MonotonicTimeEnd": 172164265133640},
    "torch_npu_version": "2.7.1",
    "cann_version": "8.3.RC1",
    "rank_id": "6",
}
METADATA = {
    "distributed_args": {
        "tensor_model_parallel_size": 2,
        "sequence_parallel": True,
        "rank": 6,
        "world_size": 8,
        "odd": [1],
    },
    "parallel_group_info": {
        "17522": {"group_name": "tp", "group_rank": 0, "global_ranks": [6, 7]},
        "17523": {"group_name": "", "global_ranks": "6,7"},
        "17524": 5,
    },
    "ENV_VARIABLES": {"HCCL_ALGO": "", "ASCEND_LAUNCH_BLOCKING": "1", "ODD": {"a": 1}},
    "pp_info": "anything",
}
SESSION_INFO = {
    "devices": "0,3",
    "DeviceInfo": [{"ai_core_num": 24, "aiv_num": 48, "aic_frequency": "1850.000000"}],
    "platform_version": "5",
    "pid": "12346",
    "pid_name": "python3",
    "rank_id": "-1",
    "drvVersion": 467732,
}
SAMPLE = {
    "app": "python3",
    "app_parameters": "train.py --steps 200",
    "devices": "2",
    "ai_core_metrics": "PipeUtilization",
    "profLevel": "l1",
    "host_sys_pid": 68537,
    "msprofBinPid": 68531,
    "hostProfiling": True,
    "empty": "",
    "nested": {"a": 1},
}


def written(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def only(read: Read[Any]) -> Any:
    assert read.problems == ()
    (record,) = read.records
    return record


# ---- files of the frameworks ----


def test_profiler_info(tmp_path: Path) -> None:
    settings = only(read_profiler_info(written(tmp_path / "profiler_info_9.json", INFO)))
    assert settings == ProfilerSettings(
        framework="pytorch",
        level="Level1",
        metrics="ACL_AICORE_PIPE_UTILIZATION",
        rank=6,
        with_stack=False,
        record_shapes=True,
        expected_active=3,
        versions={"torch_npu": "2.7.1", "cann": "8.3.RC1"},
        is_finalised=True,
    )


@pytest.mark.parametrize(
    ("folder", "name", "value", "want"),
    [
        ("a_ascend_pt", "profiler_info_9.json", {"config": {}}, ("pytorch", 9, None)),
        ("a_ascend_ms", "profiler_info.json", {"rank_id": 0}, ("mindspore", 0, None)),
        ("a", "profiler_info_1.json", {"ms_version": "2.6", "rank_id": -1}, ("mindspore", 1, None)),
        ("a", "profiler_info.json", {"end_info": {"collectionTimeEnd": 5}}, ("", None, True)),
    ],
)
def test_what_name_and_folder_say(
    tmp_path: Path, folder: str, name: str, value: Any, want: tuple[Any, ...]
) -> None:
    (tmp_path / folder).mkdir()
    settings = only(read_profiler_info(written(tmp_path / folder / name, value)))
    assert (settings.framework, settings.rank, settings.is_finalised) == want


def test_times_of_profiler_info(tmp_path: Path) -> None:
    times = only(read_times(written(tmp_path / "profiler_info_0.json", INFO)))
    assert times == SessionTimes(1736408883340089280, 1736408884023552840, 172163581670080, 172164265133640)
    assert times.duration_ns == 683463560
    assert times.offset_ns == 1736408883340089280 - 172163581670080


def test_profiler_metadata(tmp_path: Path) -> None:
    read = read_profiler_metadata(written(tmp_path / "profiler_metadata.json", METADATA))
    settings = read.records[0]
    assert (settings.rank, settings.world_size) == (6, 8)
    assert settings.parallel == {"tensor_model_parallel_size": 2, "sequence_parallel": 1}
    assert settings.groups == {"17522": (6, 7), "17523": (6, 7)}
    assert settings.group_labels == {"17522": "tp"}
    assert settings.env == {"HCCL_ALGO": "", "ASCEND_LAUNCH_BLOCKING": "1", "ODD": ""}
    assert [problem.message for problem in read.problems] == [
        "'distributed_args': 'odd' is no whole number; it counts as absent",
        "'parallel_group_info': '17524': is no object; it counts as absent",
        "'ENV_VARIABLES': 'ODD' is no text; it counts as absent",
    ]


def test_groups_as_text(tmp_path: Path) -> None:
    value = {"parallel_group_info": json.dumps({"a": {"global_ranks": [0, 1]}})}
    assert only(read_profiler_metadata(written(tmp_path / "m.json", value))).groups == {"a": (0, 1)}
    read = read_profiler_metadata(written(tmp_path / "m.json", {"parallel_group_info": "[" * 100_000}))
    assert "its text is no JSON" in read.problems[0].message


def test_numbers_of_more_than_64_bits(tmp_path: Path) -> None:
    value = {"config": {"common_config": {"schedule": {"active": 2**63}}}, "rank_id": str(2**63)}
    read = read_profiler_info(written(tmp_path / "profiler_info.json", value))
    assert (read.records[0].rank, read.records[0].expected_active) == (None, None)
    assert len(read.problems) == 2


# ---- files of msprof ----


def test_session_info(tmp_path: Path) -> None:
    read, facts = read_session_info(written(tmp_path / "info.json.0", SESSION_INFO))
    assert only(read) == ProfilerSettings(
        devices=(0, 3),
        ai_core_num=24,
        aiv_num=48,
        frequency_mhz=1850.0,
        versions={"platform": "5", "driver": "467732"},
    )
    assert (facts.pid, facts.process) == (12346, "python3")


def test_sample(tmp_path: Path) -> None:
    read, facts = read_sample(written(tmp_path / "sample.json", SAMPLE))
    assert only(read) == ProfilerSettings(
        framework="msprof", level="l1", metrics="PipeUtilization", devices=(2,)
    )
    assert (facts.pid, facts.app) == (68537, "python3 train.py --steps 200")
    assert facts.options == {
        "app": "python3",
        "app_parameters": "train.py --steps 200",
        "devices": "2",
        "ai_core_metrics": "PipeUtilization",
        "profLevel": "l1",
        "host_sys_pid": "68537",
        "msprofBinPid": "68531",
        "hostProfiling": "on",
    }


def test_begin_and_end(tmp_path: Path) -> None:
    begin = only(
        read_times(
            written(
                tmp_path / "start_info",
                {"collectionTimeBegin": "1659098679447393", "clockMonotonicRaw": "876117208663770"},
            )
        )
    )
    end = only(
        read_times(
            written(
                tmp_path / "end_info",
                {"collectionTimeEnd": "1659098689447393", "clockMonotonicRaw": "876127208663775"},
            )
        )
    )
    assert begin == SessionTimes(begin_ns=1659098679447393000, begin_monotonic_ns=876117208663770)
    assert begin.duration_ns is None
    times = merged_times(begin, end)
    assert times == SessionTimes(1659098679447393000, 1659098689447393000, 876117208663770, 876127208663775)
    assert times.duration_ns == 10_000_000_005


def test_clock(tmp_path: Path) -> None:
    path = tmp_path / "host_start.log"
    path.write_bytes(b"[Host]\r\nclock_realtime: 1785557700456789000\r\ncntvct: 87\ncntvct_diff: 120\nx: y\n")
    assert only(read_clock(path)) == ClockStart(1785557700456789000, None, 87, 120)
    path.write_bytes(b"")
    assert [problem.kind for problem in read_clock(path).problems] == ["bad-record"]
    path.write_bytes(b"cntvct: 5\n" + b"x" * (2 << 20))
    assert [problem.kind for problem in read_clock(path).problems] == ["limit"]


def test_merged() -> None:
    first = ProfilerSettings(level="Level1", rank=0, devices=(), versions={"cann": "8.3"}, with_stack=False)
    second = ProfilerSettings(
        level="Level2", rank=5, devices=(1,), versions={"cann": "8.0", "driver": "1"}, with_stack=True
    )
    assert merged(first, second) == ProfilerSettings(
        level="Level1",
        rank=0,
        devices=(1,),
        versions={"cann": "8.3", "driver": "1"},
        with_stack=False,
    )
    assert merged(ProfilerSettings(), second) == second == merged(second, ProfilerSettings())


# ---- any bytes ----

READERS: tuple[Callable[[Path], Any], ...] = (
    read_profiler_info,
    read_profiler_metadata,
    read_times,
    read_clock,
    read_sample,
    read_session_info,
)


def problems_of(found: Any) -> tuple[Any, ...]:
    read = found[0] if isinstance(found, tuple) else found
    problems: tuple[Any, ...] = read.problems
    return problems


@pytest.mark.parametrize("value", [INFO, METADATA, SESSION_INFO, SAMPLE])
def test_a_cut_file_is_told(tmp_path: Path, value: Any) -> None:
    raw = json.dumps(value).encode()
    path = tmp_path / "profiler_info_0.json"
    for n in range(0, len(raw), 5):
        path.write_bytes(raw[:n])
        for read in READERS:
            assert problems_of(read(path)), (n, read)


@pytest.mark.parametrize(
    "value", [5, -1, 10**30, 1e400, None, True, "x", "", [], [[]], {}, {"a": {}}, "9" * 5000, [None, 1]]
)
def test_wrong_types_everywhere(tmp_path: Path, value: Any) -> None:
    """Every member in turn, at every depth, becomes something else."""
    path = tmp_path / "profiler_info_0.json"

    def changed(members: Any) -> list[Any]:
        found = []
        for key in members if isinstance(members, dict) else ():
            found.append({**members, key: value})
            found += [{**members, key: inner} for inner in changed(members[key])]
        return found

    for source in (INFO, METADATA, SESSION_INFO, SAMPLE):
        for one in changed(source):
            written(path, one)
            for read in READERS:
                read(path)


def test_any_change(tmp_path: Path) -> None:
    chance = random.Random(6)
    path = tmp_path / "profiler_info_0.json"
    tokens = [b"NaN", b"-", b"9" * 5000, b"[", b"{", b'"', b"null", b"\xff", b"\0", b"1e999"]
    for _ in range(300):
        raw = bytearray(json.dumps(chance.choice([INFO, METADATA, SESSION_INFO, SAMPLE])).encode())
        for _ in range(2):
            at = chance.randrange(len(raw))
            raw[at : at + chance.randrange(3)] = chance.choice(tokens)
        path.write_bytes(bytes(raw))
        for read in READERS:
            try:
                read(path)
            except InputError:
                pass
