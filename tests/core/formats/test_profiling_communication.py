"""Communication files: values by hand, every layout, what is not as it should be."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from npulse.core.errors import InputError
from npulse.core.formats.profiling import communication
from npulse.core.formats.profiling.communication import (
    read_communication,
    read_communication_links,
    step_of,
)
from npulse.core.formats.profiling.communication_groups import (
    CommunicationGroup,
    CommunicationGroups,
    read_communication_groups,
)
from npulse.core.formats.profiling.records import CommunicationLink, CommunicationTime, LinkUse

UNUSED = {
    "Transit Size(MB)": 0,
    "Transit Time(ms)": 0,
    "Bandwidth(GB/s)": 0,
    "Large Packet Ratio": 0,
    "Size Distribution": {},
}
OPERATION: dict[str, Any] = {
    "Communication Time Info": {
        "Start Timestamp(us)": 1736408883732241.5,
        "Elapse Time(ms)": 79.25,
        "Transit Time(ms)": 0.5,
        "Wait Time(ms)": 5.75,
        "Synchronization Time(ms)": 5.5,
        "Idle Time(ms)": 73.0,
        "Wait Time Ratio": 0.92,
    },
    "Communication Bandwidth Info": {
        "RDMA": UNUSED,
        "HCCS": {
            "Transit Size(MB)": 28.5,
            "Transit Time(ms)": 1.75,
            "Bandwidth(GB/s)": 16.2857,
            "Large Packet Ratio": 0.25,
            "Size Distribution": {"2.0625": [12, 1.5], "1.9375": [2, 0.25]},
        },
    },
}
RECORD = CommunicationTime(
    step="50",
    name="hcom_allReduce__586_0_1",
    group="1752",
    is_p2p=False,
    rank=None,
    start_ns=1736408883732241500,
    elapse_ms=79.25,
    transit_ms=0.5,
    wait_ms=5.75,
    synchronization_ms=5.5,
    idle_ms=73.0,
    links=(LinkUse("HCCS", 28.5, 1.75, 16.2857, 0.25, ((2.0625, 12, 1.5), (1.9375, 2, 0.25))),),
)
LINK = {
    "Transport Type": "HCCS",
    "Transit Size(MB)": 37.5,
    "Transit Time(ms)": 2.125,
    "Bandwidth(GB/s)": 17.6,
    "Op Name": "hcom_allReduce__586_2_1",
}
NAME = "hcom_allReduce__586_0_1@1752"


def written(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "communication.json"


# ---- times ----


def test_torch(file: Path) -> None:
    value = {"step50": {"p2p": {}, "collective": {NAME: OPERATION, "Total Op Info": OPERATION}}}
    read = read_communication(written(file, value))
    assert (read.records[0], read.problems, read.n_dropped) == (RECORD, (), 0)
    total = read.records[1]
    assert (total.name, total.group, total.is_total) == ("Total Op Info", "", True)


@pytest.mark.parametrize(
    ("value", "changed"),
    [
        ({"step50": {"p2p": {NAME: OPERATION}}}, {"is_p2p": True}),
        ({"step50": {NAME: OPERATION}}, {"is_p2p": None}),
        ({NAME: OPERATION}, {"is_p2p": None, "step": ""}),
        ({"collective": {NAME: OPERATION}}, {"is_p2p": False, "step": ""}),
        ({"step": {"collective": {NAME: OPERATION}}}, {"step": ""}),
        ({"(0, 1)": {"step50": {NAME: {"1": OPERATION}}}}, {"rank": 1}),
        ({"p2p": {"step50": {NAME: {"7": OPERATION}}}}, {"rank": 7, "is_p2p": True}),
    ],
)
def test_layouts(file: Path, value: Any, changed: dict[str, Any]) -> None:
    read = read_communication(written(file, value))
    assert not read.problems
    (record,) = read.records
    want = {name: getattr(RECORD, name) for name in RECORD.__dataclass_fields__} | changed
    assert {name: getattr(record, name) for name in want} == want


def test_totals_of_groups_stay_apart(file: Path) -> None:
    value = {
        ranks: {"step1": {"Total Op Info": {"0": OPERATION}}} for ranks in ("(0, 1)", "(0, 1, 2)", "p2p")
    }
    records = read_communication(written(file, value)).records
    assert [record.group for record in records] == ["(0, 1)", "(0, 1, 2)", ""]


def test_the_other_spelling_of_idle(file: Path) -> None:
    read = read_communication(written(file, {NAME: {"Communication Time Info": {"Idel Time(ms)": 3.5}}}))
    assert read.records[0].idle_ms == 3.5 and read.records[0].elapse_ms is None and not read.problems


def test_what_is_no_number_is_absent_and_told(file: Path) -> None:
    text = (
        '{"a@g": {"Communication Time Info": {"Elapse Time(ms)": NaN, "Transit Time(ms)": "1.5",'
        ' "Wait Time(ms)": "N/A", "Synchronization Time(ms)": 1e999, "Idle Time(ms)": true,'
        ' "Start Timestamp(us)": -5}, "Communication Bandwidth Info": {"HCCS": 5, "SIO":'
        ' {"Transit Size(MB)": null, "Size Distribution": {"x": [1, 2], "1": [1], "2": 3, "4": [1, 2]}}}},'
        ' "b@g": {"Communication Time Info": [1], "Communication Bandwidth Info": {}}}'
    )
    read = read_communication(written(file, text))
    first, second = read.records
    assert (first.elapse_ms, first.transit_ms, first.wait_ms, first.synchronization_ms, first.idle_ms) == (
        (None,) * 5
    )
    assert first.start_ns is None
    assert [link.transport for link in first.links] == ["HCCS", "SIO"]
    assert (first.links[1].size_mb, first.links[1].packets) == (None, ((4.0, 1.0, 2.0),))
    assert (second.elapse_ms, second.links) == (None, ())
    said = " ".join(problem.message for problem in read.problems)
    for word in ("Elapse", "Transit", "Synchronization", "Idle", "its start", "HCCS", "3 packet sizes"):
        assert word in said
    assert "Wait" not in said  # N/A is a word for none
    assert {problem.kind for problem in read.problems} == {"bad-record"}
    assert all(problem.byte is not None for problem in read.problems)


def test_links_that_moved_nothing_are_left_out(file: Path) -> None:
    links = {
        "RDMA": UNUSED,
        "PCIE": {**UNUSED, "Size Distribution": {"1": [1, 0]}},
        "SIO": {**UNUSED, "Transit Time(ms)": 0.5},
        "SDMA": {},
    }
    read = read_communication(written(file, {NAME: {"Communication Bandwidth Info": links}}))
    found = [(link.transport, link.size_mb, link.time_ms) for link in read.records[0].links]
    assert found == [("PCIE", 0, 0), ("SIO", 0, 0.5), ("SDMA", None, None)]


def test_starts_are_exact(file: Path) -> None:
    text = '{"a": {"Communication Time Info": {"Start Timestamp(us)": %s}}}'
    for written_as in ("1764246878131995.321", '"1764246878131995.321\\t"'):
        record = read_communication(written(file, text % written_as)).records[0]
        assert record.start_ns == 1764246878131995321  # a float has 1764246878131995250


def test_records_without_a_place_are_counted(file: Path) -> None:
    value = {
        "(0, 1)": {"step1": {NAME: {"x": OPERATION, "0": OPERATION}}},
        "step1": {"other": {NAME: OPERATION}},
    }
    read = read_communication(written(file, value))
    assert (len(read.records), read.n_dropped, len(read.problems)) == (1, 2, 2)


def test_limits(file: Path) -> None:
    value = {f"op{i}@g": OPERATION for i in range(5)}
    read = read_communication(written(file, value), max_records=3)
    assert [record.name for record in read.records] == ["op0", "op1", "op2"]
    assert [problem.kind for problem in read.problems] == ["limit"]
    with pytest.raises(InputError, match="at most 10 are read"):
        read_communication(file, max_bytes=10)


def test_names_and_links_are_bounded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(communication, "MAX_NAMES_CHARS", 50)
    for read, value in (
        (read_communication, {f"{i:020}@g": {"Communication Time Info": {}} for i in range(9)}),
        (read_communication_links, {f"{i:020}@g": {"0-1": {"Op Name": "x"}} for i in range(9)}),
    ):
        found = read(written(file, value))
        assert 2 <= len(found.records) <= 3 and [problem.kind for problem in found.problems] == ["limit"]
    many = {"Communication Bandwidth Info": {str(i): {"Transit Size(MB)": 1} for i in range(1000)}}
    read_back = read_communication(written(file, {"a": many}))
    assert len(read_back.records[0].links) <= communication.MAX_LINKS
    long = read_communication(written(file, {"x" * 5000: OPERATION}))
    assert (long.records, long.n_dropped) == ((), 1)


def test_packet_sizes_are_bounded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(communication, "MAX_PACKETS", 5)
    read = read_communication(written(file, {f"op{i}": OPERATION for i in range(4)}))
    assert [len(record.links[0].packets) for record in read.records] == [2, 2, 0, 0]
    assert [problem.kind for problem in read.problems] == ["limit"]


# ---- links ----


@pytest.mark.parametrize(
    ("value", "changed"),
    [
        ({"step50": {"collective": {"allreduce-top1@g": {"0-7": LINK}}}}, {"is_p2p": False}),
        ({"step50": {"p2p": {"allreduce-top1@g": {"0-7": LINK}}}}, {"is_p2p": True}),
        ({"step50": {"allreduce-top1@g": {"0-7": LINK}}}, {}),
        ({"allreduce-top1@g": {"0-7": LINK}}, {"step": ""}),
        ({"(0, 7)": {"step50": {"allreduce-top1@g": {"0-7": LINK}}}}, {"is_p2p": False}),
        ({"p2p": {"step50": {"allreduce-top1@g": {"0-7": LINK}}}}, {"is_p2p": True}),
        ({"allreduce-top1@g": {"0-4294967295": LINK}}, {"step": "", "target": 0}),
    ],
)
def test_link_layouts(file: Path, value: Any, changed: dict[str, Any]) -> None:
    read = read_communication_links(written(file, value))
    want = CommunicationLink(
        **{
            "step": "50",
            "op": "allreduce-top1",
            "group": "g",
            "source": 0,
            "target": 7,
            "transport": "HCCS",
            "size_mb": 37.5,
            "time_ms": 2.125,
            "bandwidth_gb_per_s": 17.6,
            "is_p2p": None,
            "name": "hcom_allReduce__586_2_1",
            **changed,
        }
    )
    assert (read.records, read.problems) == ((want,), ())


def test_bad_links(file: Path) -> None:
    odd = {**LINK, "Transit Size(MB)": "much", "Op Name": ["x"]}
    value = {"a@g": {"0-1": odd, "0": LINK, "-1-0": LINK, "99999999999-0": LINK, "2-3": LINK}}
    read = read_communication_links(written(file, value))
    assert [(link.source, link.target) for link in read.records] == [(0, 1), (2, 3)]
    assert (read.records[0].size_mb, read.records[0].name) == (None, "")
    assert (read.n_dropped, len(read.problems)) == (3, 5)


def test_steps() -> None:
    assert [step_of(text) for text in ("step50", "Step2", "step", "all", "")] == ["50", "2", "", "all", ""]


# ---- groups ----


def test_groups(file: Path) -> None:
    value = {
        "collective": [[0, 1], [2], "x", [1, "y"]],
        "p2p": 5,
        "comm_group_parallel_info": [
            {"type": "p2p", "rank_set": [0, 1], "group_name": "17", "group_id": "g", "pg_name": "pp"},
            {"type": "collective", "rank_set": "(0, 1)"},
        ],
    }
    read = read_communication_groups(written(file, value))
    assert read.records == (
        CommunicationGroups(((0, 1), (2,)), (), (CommunicationGroup("p2p", (0, 1), "17", "g", "pp"),)),
    )
    assert (read.n_dropped, len(read.problems)) == (3, 4)
    assert read_communication_groups(written(file, {})).records == (CommunicationGroups(),)


# ---- any bytes ----


def test_any_cut_and_any_change(file: Path) -> None:
    """InputError or problems, never anything else; a cut file is told."""
    value = {
        "(0, 1)": {"step50": {NAME: {"0": OPERATION}, "a-top1@g": {"0-1": LINK}}},
        "comm_group_parallel_info": [{"rank_set": [0]}],
    }
    raw = json.dumps(value).encode()
    for n in range(0, len(raw), 3):
        file.write_bytes(raw[:n])
        for read in (read_communication, read_communication_links, read_communication_groups):
            assert read(file).problems, n
    chance = random.Random(5)
    tokens = [b"NaN", b"-1", b"9" * 5000, b"[", b"{", b'"', b"null", b"\xff", b"\0", b"1e400", b"," * 3]
    for _ in range(400):
        changed = bytearray(raw)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(changed))
            changed[at : at + chance.randrange(3)] = chance.choice(tokens)
        file.write_bytes(bytes(changed))
        for read in (read_communication, read_communication_links, read_communication_groups):
            try:
                read(file)
            except InputError:
                pass
