"""Steps, communication, clusters, memory and settings out of databases."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.profiling.communication_groups import CommunicationGroup
from npulse.core.formats.profiling.database.cluster import read_cluster_database
from npulse.core.formats.profiling.database.communication import (
    read_database_communication,
    read_database_links,
)
from npulse.core.formats.profiling.database.memory import read_database_memory
from npulse.core.formats.profiling.database.parts import parts_of
from npulse.core.formats.profiling.database.settings import read_database_settings
from npulse.core.formats.profiling.database.steps import read_database_steps
from npulse.core.formats.profiling.database.values import NOTHING, ns_of_us, text_of
from npulse.core.formats.profiling.records import (
    CommunicationLink,
    CommunicationTime,
    LinkUse,
    StepTime,
    ranks_of,
)

from .database_files import ID, T0, Content, make_database, profile, strings

STEP_COLUMNS = (
    "step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC, overlapped NUMERIC,"
    " communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC,"
    " communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC"
)
TIME_COLUMNS = (
    "hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, transit_time NUMERIC,"
    " wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, step TEXT, type TEXT"
)
USE_COLUMNS = (
    "hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC,"
    " bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC,"
    " total_duration NUMERIC, step TEXT, type TEXT"
)
LINK_COLUMNS = (
    "hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT,"
    " transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, op_name TEXT"
)


def made(folder: Path, content: Content, name: str = "analysis.db") -> Path:
    return make_database(folder / name, content)


def kinds(problems: Any) -> list[str]:
    return [problem.kind for problem in problems]


# ---- steps ----


def test_steps(tmp_path: Path) -> None:
    rows = [
        ("50", 8900.456, 90080.699, 4026.822, 94107.521, 25238.587, 124219.742, 0, 90080.699, "17894.5885"),
        (None, 1, None, "", "N/A", "x", 2.0005, b"\x00", 1e300, -1),
    ]
    found = read_database_steps(made(tmp_path, {"StepTraceTime": (STEP_COLUMNS, rows)}))
    assert found.records == (
        StepTime(
            step="50",
            device=None,
            computing_ns=8_900_456,
            communication_not_overlapped_ns=90_080_699,
            overlapped_ns=4_026_822,
            communication_ns=94_107_521,
            free_ns=25_238_587,
            stage_ns=124_219_742,
            bubble_ns=0,
            exclude_receive_ns=90_080_699,
            preparing_ns=17_894_589,
            line=1,
        ),
        StepTime(step="", device=None, computing_ns=1000, stage_ns=2001, preparing_ns=-1000, line=2),
    )
    assert kinds(found.problems) == ["bad-record"] * 3
    assert [problem.line for problem in found.problems] == [2, 2, 2]


def test_steps_with_a_device(tmp_path: Path) -> None:
    path = made(tmp_path, {"StepTraceTime": ("deviceId INTEGER, step INTEGER, free REAL", [(3, 7, 1.5)])})
    assert read_database_steps(path).records == (StepTime("7", 3, free_ns=1500, line=1),)


def test_no_steps(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="StepTraceTime"):
        read_database_steps(made(tmp_path, profile()))


@given(st.integers(0, 2 * 10**18))
def test_every_ns_survives(ns: int) -> None:
    """Microseconds with three decimals, as text and, up to 16 digits, as a float."""
    us = Decimal(ns) / 1000
    assert ns_of_us(f"{us:f}") == ns
    if ns < 10**15:
        assert ns_of_us(float(us)) == ns


# ---- communication ----


def communication() -> dict[str, tuple[str, list[tuple[Any, ...]]]]:
    return {
        "CommAnalyzerTime": (
            TIME_COLUMNS,
            [
                ("op1", "g", 1736414119678217, 80.5, 0.25, 0.5, 2e-05, 79.75, "step50", "collective"),
                ("op2@g2", None, 1736414119758670.8, 1, None, "N/A", "bad", 0, "step", "p2p"),
                (None, "g", 1, 1, 1, 1, 1, 1, "step50", "collective"),
            ],
        ),
        "CommAnalyzerBandwidth": (
            USE_COLUMNS,
            [
                ("op1", "g", "HCCS", 28.5, 1.75, 15.75, 0, 2.0625, 12, 1.5, "step50", "collective"),
                ("op1", "g", "HCCS", 28.5, 1.75, 15.75, 0, 1.9375, 2, 0.25, "step50", "collective"),
                ("op1", "g", "SDMA", 28.5, 1.75, 15.75, 0, 0, 0, 0, "step50", "collective"),
                ("op1", "g", "RDMA", 0, 0, 0, 0, 0, 0, 0, "step50", "collective"),
                ("op3", "g", "PCIE", 1, 2, 3, 4, 0, 0, 0, "step50", "collective"),
            ],
        ),
    }


def test_communication(tmp_path: Path) -> None:
    found = read_database_communication(made(tmp_path, communication()))
    hccs = LinkUse("HCCS", 28.5, 1.75, 15.75, 0.0, ((2.0625, 12.0, 1.5), (1.9375, 2.0, 0.25)))
    assert found.records == (
        CommunicationTime(
            step="50",
            name="op1",
            group="g",
            is_p2p=False,
            start_ns=1736414119678217000,
            elapse_ms=80.5,
            transit_ms=0.25,
            wait_ms=0.5,
            synchronization_ms=2e-05,
            idle_ms=79.75,
            links=(hccs, LinkUse("SDMA", 28.5, 1.75, 15.75, 0.0)),
        ),
        CommunicationTime(
            step="",
            name="op2",
            group="g2",
            is_p2p=True,
            start_ns=1736414119758670800,
            elapse_ms=1.0,
            idle_ms=0.0,
        ),
        CommunicationTime(
            step="50", name="op3", group="g", is_p2p=False, links=(LinkUse("PCIE", 1.0, 2.0, 3.0, 4.0),)
        ),
    )
    assert found.n_dropped == 1
    assert kinds(found.problems) == ["bad-record", "missing", "bad-record"]


def test_communication_of_msprof(tmp_path: Path) -> None:
    """Without steps and kinds."""
    columns = TIME_COLUMNS.partition(", step")[0]
    path = made(tmp_path, {"CommAnalyzerTime": (columns, [("op", "g", 5, 1, 1, 0, 0, 0)])})
    (record,) = read_database_communication(path).records
    assert (record.step, record.is_p2p, record.start_ns, record.elapse_ms) == ("", None, 5000, 1.0)
    assert read_database_communication(path, max_records=0).n_dropped == 1


def test_links(tmp_path: Path) -> None:
    rows = [
        ("allreduce-top1", "g", "0", "1", "HCCS", 37.5, 2.25, 16.5, "step50", "collective", "op1"),
        ("allreduce-top1", "g", "0", "4294967295", "LOCAL", 4, 0, None, "step50", "p2p", None),
        ("allreduce-top1", "g", "x", "1", "HCCS", 1, 1, 1, "step50", "collective", "op1"),
        ("allreduce-top1", "g", None, "1", "HCCS", 1, 1, 1, "step50", "collective", "op1"),
    ]
    found = read_database_links(made(tmp_path, {"CommAnalyzerMatrix": (LINK_COLUMNS, rows)}))
    assert found.records == (
        CommunicationLink("50", "allreduce-top1", "g", 0, 1, "HCCS", 37.5, 2.25, 16.5, False, "op1"),
        CommunicationLink("50", "allreduce-top1", "g", 0, 0, "LOCAL", 4.0, 0.0, None, True, ""),
    )
    assert (found.n_dropped, kinds(found.problems)) == (2, ["bad-record"])


def test_tables_that_are_not_there(tmp_path: Path) -> None:
    path = made(tmp_path, profile())
    for read in (read_database_communication, read_database_links, read_cluster_database):
        with pytest.raises(InputError, match="the database has no"):
            read(path)
    with pytest.raises(InputError, match="MEMORY_RECORD"):
        read_database_memory(path, "MEMORY_RECORD")


# ---- clusters ----


@pytest.mark.parametrize("old", [False, True])
def test_cluster(tmp_path: Path, old: bool) -> None:
    name = "ClusterCommAnalyzer{}" if old else "ClusterCommunication{}"
    more, cell = ("rank_set TEXT, ", ("(0,1)",)) if old else ("", ())
    content: Content = {
        "ClusterStepTraceTime": (
            STEP_COLUMNS + ', "type" TEXT, "index" TEXT',
            [
                ("7", 1.5, 2, 3, 4, 5, 6, 7, 8, 9, "rank", "3"),
                ("7", 10, 2, 3, 4, 5, 6, 7, 8, 9, "stage", "(0, 1)"),
            ],
        ),
        name.format("Time"): (
            f"{more}step TEXT, rank_id INTEGER, hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC,"
            " elapsed_time NUMERIC, transit_time NUMERIC",
            [(*cell, "step7", rank, "op", "g", 5, 1 + rank, 0.5) for rank in (0, 1)],
        ),
        name.format("Bandwidth"): (
            f"{more}step TEXT, rank_id INTEGER, hccl_op_name TEXT, group_name TEXT, band_type TEXT,"
            " transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC",
            [(*cell, "step7", 1, "op", "g", "RDMA", 10, 2, 5)],
        ),
        name.format("Matrix"): (
            f"{more}step TEXT, hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT,"
            " transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC,"
            " op_name TEXT",
            [(*cell, "step7", "op-total", "g", 4, 5, "RDMA", 1, 2, 3, "op")],
        ),
        "CommunicationGroup" if old else "CommunicationGroupMapping": (
            "type TEXT, rank_set TEXT, group_name TEXT, group_id TEXT, pg_name TEXT",
            [("collective", "(0,1)", "g", "id", "tp"), ("collective", "none", "g", "id", "tp")],
        ),
        "RankDeviceMap": ("rankId INTEGER, deviceId INTEGER", [(0, 4), (1, 5), (-1, 5)]),
    }
    found = read_cluster_database(made(tmp_path, content, "cluster_analysis.db"))
    assert [(s.kind, s.index, s.rank, s.ranks, s.time.computing_ns) for s in found.steps] == [
        ("rank", "3", 3, (), 1500),
        ("stage", "(0, 1)", None, (0, 1), 10_000),
    ]
    assert [(c.rank, c.step, c.elapse_ms) for c in found.communications] == [(0, "7", 1.0), (1, "7", 2.0)]
    assert [len(c.links) for c in found.communications] == [0, 1]
    assert [(link.source, link.target, link.group) for link in found.links] == [(4, 5, "g")]
    assert found.groups == (CommunicationGroup("collective", (0, 1), "g", "id", "tp"),)
    assert found.devices == {0: 4, 1: 5}
    assert (found.n_dropped, kinds(found.problems)) == (1, ["bad-record"])
    assert "cluster" in parts_of(tmp_path / "cluster_analysis.db")


@pytest.mark.parametrize(
    ("cell", "ranks"),
    [("(0,1)", (0, 1)), ("(0, 10,)", (0, 10)), ("3", (3,)), (3, (3,)), ("0,1", (0, 1)), ("{2}", (2,))],
)
def test_sets_of_ranks(cell: Any, ranks: tuple[int, ...]) -> None:
    assert ranks_of(text_of(cell)) == ranks


@pytest.mark.parametrize("cell", [None, "", "()", "a,b", "1;2", b"1", "-1", "1" * 12])
def test_no_sets_of_ranks(cell: Any) -> None:
    assert ranks_of(text_of(cell)) is None


# ---- memory, settings ----


def test_memory(tmp_path: Path) -> None:
    content: Content = {
        "STRING_IDS": strings(),
        "ENUM_MODULE": ("id INTEGER, name TEXT", [(3, "HCCL")]),
        "MEMORY_RECORD": (
            "component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER,"
            " deviceId INTEGER",
            [(ID["mm"], T0, 981462016, None, 0), (None, "x", 2**40, 5, 1)],
        ),
        "NPU_MODULE_MEM": (
            "moduleId INTEGER, timestampNs INTEGER, totalReserved NUMERIC, deviceId INTEGER",
            [(3, T0, 7, 0), (99, T0 + 1, 8, 0), (None, T0 + 1, 8, 0)],
        ),
    }
    path = made(tmp_path, content, "ascend_mindspore_profiler_1.db")
    table = read_database_memory(path, "MEMORY_RECORD")
    assert table.headers == (
        "Component",
        "Timestamp(ns)",
        "Total Allocated(bytes)",
        "Total Reserved(bytes)",
        "Device_id",
    )
    component, time, allocated = (table.find(name) for name in ("component", "Timestamp", "Total Allocated"))
    assert component is not None and time is not None and allocated is not None
    assert [component.text(i) for i in (0, 1)] == ["mm", ""]
    assert time.values.tolist() == [T0, NOTHING]
    sizes = allocated.in_bytes()
    assert sizes is not None and sizes.tolist() == [981462016, 2**40]
    assert (table.n_unread, table.line.tolist(), kinds(table.problems)) == (1, [1, 2], ["bad-record"])
    modules = read_database_memory(path, "NPU_MODULE_MEM").find("Component")
    assert modules is not None and [modules.text(i) for i in range(3)] == ["HCCL", "99", ""]


def test_settings(tmp_path: Path) -> None:
    found = read_database_settings(made(tmp_path, profile(), "ascend_pytorch_profiler_3.db"))
    (settings,) = found.records
    assert found.problems == ()
    assert (settings.framework, settings.chip, settings.rank, settings.devices) == (
        "pytorch",
        "Ascend910B",
        3,
        (0,),
    )
    assert (settings.world_size, settings.parallel) == (4, {"tensor_model_parallel_size": 2})
    assert (settings.groups, settings.group_labels) == ({"g1": (0, 1)}, {"g1": "tp"})
    assert (settings.versions, settings.env) == ({"schema": "1.2.0"}, {"HCCL_RDMA_TC": "132"})
    assert settings.is_finalised is True


def test_settings_of_little(tmp_path: Path) -> None:
    content: Content = {
        "META_DATA": (
            "name TEXT, value TEXT",
            [
                *(
                    ("SCHEMA_VERSION_MAJOR", "1"),
                    ("SCHEMA_VERSION_MINOR", "0"),
                    ("SCHEMA_VERSION_MICRO", "2"),
                ),
                *(
                    ("ENV_VARIABLES", "[" * 100_000),
                    ("distributed_args", "[1]"),
                    ("parallel_group_info", "x"),
                ),
            ],
        ),
        "RANK_DEVICE_MAP": ("rankId INTEGER, deviceId INTEGER", [(-1, 2)]),
        "SESSION_TIME_INFO": ("startTimeNs INTEGER, endTimeNs INTEGER", [(T0, T0 + 1800 * 10**9)]),
    }
    found = read_database_settings(made(tmp_path, content, "msprof_20260101101010.db"))
    (settings,) = found.records
    assert (settings.framework, settings.rank, settings.devices, settings.versions) == (
        "msprof",
        None,
        (2,),
        {"schema": "1.0.2"},
    )
    assert settings.is_finalised is False
    assert kinds(found.problems) == ["bad-record"] * 3


def test_parts(tmp_path: Path) -> None:
    assert parts_of(made(tmp_path, profile(), "a.db")) == {"operators", "timeline", "apis"}
    content: Content = {**communication(), "StepTraceTime": (STEP_COLUMNS, [])}
    assert parts_of(made(tmp_path, content, "b.db")) == {"steps", "communications"}
    assert parts_of(made(tmp_path, {"x": ("a", [])}, "c.db")) == frozenset()
