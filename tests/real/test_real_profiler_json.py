"""JSON files, raw sessions and msMonitor lines of real tools: against the json module and each other."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npulse.core.formats.profiling.communication import (
    read_communication,
    read_communication_links,
    step_of,
)
from npulse.core.formats.profiling.communication_groups import read_communication_groups
from npulse.core.formats.profiling.host_samples import read_host_cpu, read_host_memory
from npulse.core.formats.profiling.msmonitor import read_msmonitor
from npulse.core.formats.profiling.msmonitor_views import operators_of, timelines_of
from npulse.core.formats.profiling.records import CommunicationTime
from npulse.core.formats.profiling.session import read_session, slices_of
from npulse.core.formats.profiling.settings import (
    SessionTimes,
    merged,
    read_clock,
    read_profiler_info,
    read_profiler_metadata,
    read_sample,
    read_session_info,
    read_times,
)
from npulse.core.formats.profiling.stars_records import count_task_records

pytestmark = pytest.mark.real

OUTPUT = "ASCEND_PROFILER_OUTPUT"


@pytest.fixture
def samples(shared: Path) -> Path:
    return shared / "samples" / "profiling"


def parsed(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)


def leaves(value: Any, key: str, place: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Objects that have `key`, with the way to them."""
    if not isinstance(value, dict):
        return []
    if key in value:
        return [(place, value)]
    return [leaf for name, inner in value.items() for leaf in leaves(inner, key, (*place, name))]


def files_of(samples: Path, name: str) -> list[Path]:
    found = sorted(samples.rglob(name))
    assert found
    return found


# ---- communication ----


def test_every_figure_of_every_communication_file(samples: Path) -> None:
    paths = files_of(samples, "*communication.json")
    assert len(paths) == 5
    for path in paths:
        read = read_communication(path, root=samples)
        assert (read.problems, read.n_dropped) == ((), 0)
        want = leaves(parsed(path), "Communication Time Info")
        assert len(read.records) == len(want) >= 5
        for record, (place, value) in zip(read.records, want, strict=True):
            time = value["Communication Time Info"]
            start = time.get("Start Timestamp(us)")
            assert record.start_ns == (None if start is None else int(start * 1000))
            assert [
                record.elapse_ms,
                record.transit_ms,
                record.wait_ms,
                record.synchronization_ms,
                record.idle_ms,
            ] == [
                float(time[f"{word} Time(ms)"])
                for word in ("Elapse", "Transit", "Wait", "Synchronization", "Idle")
            ]
            is_cluster = path.name.startswith("cluster")
            operation = place[2]
            assert (record.name, record.group) == (*operation.split("@"), "")[:2]
            assert record.step == step_of(place[1 if is_cluster else 0])
            assert record.rank == (int(place[3]) if is_cluster else None)
            assert record.is_p2p == (place[0 if is_cluster else 1] == "p2p")
            links = {
                kind: link
                for kind, link in value["Communication Bandwidth Info"].items()
                if link["Transit Size(MB)"] or link["Transit Time(ms)"]
            }
            assert [link.transport for link in record.links] == list(links)
            for link, said in zip(record.links, links.values(), strict=True):
                assert link.size_mb == float(said["Transit Size(MB)"])
                assert link.time_ms == float(said["Transit Time(ms)"])
                assert link.packets == tuple(
                    (float(size), float(n), float(ms)) for size, (n, ms) in said["Size Distribution"].items()
                )


def test_known_figures(samples: Path) -> None:
    folder = samples / "real" / "pt_level1" / "rank0_ascend_pt" / OUTPUT
    records = read_communication(folder / "communication.json", root=samples).records
    assert (records[0].name, records[0].group) == ("hcom_allReduce__586_0_1", "17522688603477080586")
    assert (records[0].start_ns, records[0].elapse_ms) == (1736408883732241500, 79.08952021875)
    total = records[-1]
    assert total.is_total and total.elapse_ms == pytest.approx(sum(r.elapse_ms or 0 for r in records[:-1]))
    later = samples / "real" / "pt_level2_cann83" / "rank_0_ascend_pt" / OUTPUT
    records = read_communication(later / "communication.json", root=samples).records
    assert (len(records), {record.step for record in records}) == (17, {"13"})
    assert records[0].name == "hcom_batchSendRecv__128_3_1" and records[0].is_p2p


def test_cluster_files_agree_with_the_ranks(samples: Path) -> None:
    """What the cluster analysis made of both ranks is what the ranks' own files say."""
    cluster = read_communication(samples / "derived" / "cluster_communication.json", root=samples).records
    for rank in (0, 1):
        folder = samples / "real" / "pt_level1" / f"rank{rank}_ascend_pt" / OUTPUT
        own = read_communication(folder / "communication.json", root=samples).records
        theirs = [record for record in cluster if record.rank == rank]
        assert len(own) == len(theirs) == 5
        for one, other in zip(own, theirs, strict=True):
            if one.is_total:
                assert other.is_total and other.elapse_ms == pytest.approx(one.elapse_ms)
            else:
                assert plain(one) == plain(other)
    links = read_communication_links(
        samples / "derived" / "cluster_communication_matrix.json", root=samples
    ).records
    n_same = 0
    for rank in (0, 1):
        folder = samples / "real" / "pt_level1" / f"rank{rank}_ascend_pt" / OUTPUT
        own_links = read_communication_links(folder / "communication_matrix.json", root=samples).records
        assert len(own_links) == 48 and {link.source for link in own_links} == {rank}
        known = {(link.step, link.op, link.group, link.source, link.target): link for link in own_links}
        for link in links:
            key = (link.step, link.op, link.group, link.source, link.target)
            if key in known:
                same = known[key]
                assert (link.size_mb, link.time_ms, link.transport, link.name) == (
                    same.size_mb,
                    same.time_ms,
                    same.transport,
                    same.name,
                )
                n_same += 1
    assert n_same == 24  # six choices of operations, two ranks, two targets


def plain(record: CommunicationTime) -> CommunicationTime:
    return replace(record, rank=None)


def test_every_link(samples: Path) -> None:
    paths = files_of(samples, "*communication_matrix.json")
    assert len(paths) == 4
    for path in paths:
        read = read_communication_links(path, root=samples)
        want = leaves(parsed(path), "Transport Type")
        assert (len(read.records), read.problems) == (len(want), ())
        for link, (place, value) in zip(read.records, want, strict=True):
            assert f"{link.source}-{link.target}" == place[-1]
            assert place[-2] in (f"{link.op}@{link.group}", link.op)
            assert (link.size_mb, link.time_ms) == (
                float(value["Transit Size(MB)"]),
                float(value["Transit Time(ms)"]),
            )
            assert (link.transport, link.name) == (value["Transport Type"], value.get("Op Name", ""))


def test_groups(samples: Path) -> None:
    path = samples / "real" / "cluster_analysis_output" / "communication_group.json"
    (old,) = read_communication_groups(path, root=samples).records
    said = parsed(path)
    assert [list(ranks) for ranks in old.collective] == said["collective"]
    assert [list(ranks) for ranks in old.p2p] == said["p2p"]
    assert (old.collective[1], len(old.p2p), old.groups) == ((0, 8), 2, ())
    (new,) = read_communication_groups(samples / "derived" / "communication_group.json").records
    assert new.collective == ((0, 1),) and new.groups[0].name == "17522688603477080586"
    assert new.groups[0].ranks == (0, 1)


# ---- settings ----


def test_settings_of_real_profiles(samples: Path) -> None:
    for path in files_of(samples, "profiler_info_*.json"):
        read = read_profiler_info(path, root=samples)
        said = parsed(path)
        (settings,) = read.records
        assert read.problems == ()
        assert settings.level == said["config"]["experimental_config"]["_profiler_level"]
        assert settings.rank == int(said["rank_id"])
        assert (settings.framework, settings.expected_active, settings.is_finalised) == ("pytorch", 1, True)
        assert read_times(path, root=samples).records[0].end_ns == said["end_info"]["collectionTimeEnd"]
    folder = samples / "real" / "pt_level2_cann83" / "rank_0_ascend_pt"
    settings = merged(
        read_profiler_info(folder / "profiler_info_0.json").records[0],
        read_profiler_metadata(folder / "profiler_metadata.json").records[0],
    )
    assert settings.versions == {"torch_npu": "2.7.1", "cann": "8.3.RC1"}
    assert (settings.world_size, settings.parallel["pipeline_model_parallel_size"]) == (4, 2)
    assert (settings.groups["group_name_13"], settings.group_labels["group_name_13"]) == ((0, 2), "mp")
    assert settings.env["PYTORCH_NPU_ALLOC_CONF"] == "expandable_segments:True"


def test_the_kernels_lie_within_the_session(samples: Path) -> None:
    """Begin and end of the session, from its clocks, hold what communication.json has for its operations."""
    for rank in (0, 1):
        folder = samples / "real" / "pt_level1" / f"rank{rank}_ascend_pt"
        (times,) = read_times(folder / f"profiler_info_{rank}.json").records
        assert times.begin_ns is not None and times.end_ns is not None
        starts = [
            record.start_ns
            for record in read_communication(folder / OUTPUT / "communication.json").records
            if record.start_ns is not None
        ]
        assert starts and all(times.begin_ns < start < times.end_ns for start in starts)


def test_control_files(samples: Path) -> None:
    folder = samples / "real" / "msprof_control_files"
    read, facts = read_sample(folder / "sample.json", root=samples)
    (settings,) = read.records
    assert (settings.metrics, settings.devices, read.problems) == ("PipeUtilization", (2,), ())
    assert facts.pid == 68537 and facts.app.startswith("python3 train.py --model resnet50")
    assert facts.options is not None and facts.options["ai_core_profiling_mode"] == "task-based"
    read, facts = read_session_info(folder / "info.json", root=samples)
    assert (read.records[0].ai_core_num, read.records[0].frequency_mhz, facts.pid) == (8, 1150.0, 1000)
    (times,) = read_times(folder / "start_info", root=samples).records
    assert times == SessionTimes(begin_ns=1659098679447393000, begin_monotonic_ns=876117208663770)


# ---- sessions ----


def test_session_that_still_runs(samples: Path) -> None:
    (folder,) = (samples / "synthetic").glob("live_PROF_000002_*")
    session = read_session(folder, root=samples)
    assert (session.state, session.devices, session.has_host, session.problems) == (
        "collecting",
        (0,),
        True,
        (),
    )
    assert (session.n_slices, session.n_closed, session.pid) == (5, 1, 12346)
    raw = [path for path in folder.rglob("data/*") if not path.name.endswith(".done")]
    assert session.size_bytes == sum(path.stat().st_size for path in raw)
    assert session.newest_ns == max(path.stat().st_mtime_ns for path in raw)
    families = {family.name: family for part in session.parts for family in part.families}
    assert (families["host_cpu.data"].n_slices, families["host_cpu.data"].n_closed) == (2, 1)
    assert families["stars_soc.data"].open_bytes == 5100
    assert (session.app, session.settings.level) == ("python3 train.py --steps 200", "l1")
    assert (session.times.begin_ns, session.times.end_ns) == (1785557700456789000, None)
    assert session.export_argv == ("msprof", "--export=on", f"--output={folder}")
    (clock,) = read_clock(folder / "host" / "host_start.log").records
    assert clock.realtime_ns == session.times.begin_ns and clock.cntvct_diff == 120


def test_samples_of_the_host(samples: Path) -> None:
    (folder,) = (samples / "synthetic").glob("live_PROF_000002_*")
    found = read_host_cpu(slices_of(folder, "host", "host_cpu.data", root=samples), root=samples)
    # 20 samples 20 ms apart, 3 ticks of 10 ms between each; those of the open slice start anew
    assert found.values.tolist() == pytest.approx([1.5] * 19)
    assert set(np.diff(found.ns).tolist()) == {20_000_000} and found.is_cut and found.n_dropped == 4
    memory = read_host_memory(slices_of(folder, "host", "host_mem.data", root=samples), root=samples)
    assert memory.values.tolist() == [(300000 + 64 * i) * 4096 for i in range(10)]
    times = read_session(folder, root=samples).times
    assert times.offset_ns is not None and int(memory.ns[0]) + times.offset_ns == times.begin_ns


def test_records_of_the_scheduler(samples: Path) -> None:
    (folder,) = (samples / "synthetic").glob("live_PROF_000002_*")
    (path,) = slices_of(folder, "device_0", "stars_soc.data", root=samples)
    found = count_task_records([path], root=samples)
    raw = path.read_bytes()
    heads = [struct.unpack_from("<HH", raw, at) for at in range(0, len(raw) - 63, 64)]
    assert found.n_records == len(heads) == 79 and found.cut_bytes == len(raw) % 64 == 44
    assert {magic for _, magic in heads} == {0x6BD3} and found.n_strange == 0
    assert found.n_starts == sum(head & 63 == 0 for head, _ in heads) == 40
    assert found.n_ends == sum(head & 63 == 1 for head, _ in heads) == 39


def test_states_of_the_samples(samples: Path) -> None:
    (exported,) = (samples / "synthetic").glob("PROF_000001_*")
    session = read_session(exported, root=samples)
    assert (session.state, session.is_end_marked, session.missing) == ("exported", True, ())
    for folder in samples.rglob("*_ascend_pt"):
        session = read_session(folder, root=samples)
        assert (session.kind, session.state, session.missing, session.problems) == (
            "pytorch",
            "exported",
            (),
            (),
        )


# ---- msMonitor ----


def test_lines_of_msmonitor(samples: Path) -> None:
    (path,) = (samples / "synthetic" / "msmonitor_live").glob("*.jsonl")
    *whole, cut = path.read_text().split("\n")
    records = [json.loads(line) for line in whole]
    assert cut and not cut.endswith("}")
    log = read_msmonitor(path, root=samples)
    by_kind = {kind: [r for r in records if r["kind"] == kind] for kind in ("Kernel", "Communication", "API")}
    for kind, tasks in (("Kernel", log.kernels), ("Communication", log.communication), ("API", log.calls)):
        want = sorted(by_kind[kind], key=lambda record: record["startNs"])
        assert tasks.start_ns.tolist() == [record["startNs"] for record in want]
        assert tasks.duration_ns.tolist() == [record["endNs"] - record["startNs"] for record in want]
        assert tasks.connection.tolist() == [record["correlationId"] for record in want]
        assert [tasks.names[code] for code in tasks.name] == [record["name"] for record in want]
    assert (len(log.kernels), len(log.communication), len(log.calls), len(log.marks)) == (12, 3, 1, 1)
    assert (log.rank, log.pid, log.devices) == (0, 12346, (0,))
    assert (log.n_lines, log.n_dropped, log.is_cut) == (len(whole), 1, True)
    assert [(problem.kind, problem.line) for problem in log.problems] == [("cut-off", len(whole) + 1)]
    table = operators_of(log)
    assert table.n_rows == 15
    assert int(table.values("duration_ns").sum()) == sum(
        record["endNs"] - record["startNs"] for record in (*by_kind["Kernel"], *by_kind["Communication"])
    )
    assert set(table.texts("op_type")) == {"MatMulV2", "hcom_allReduce_"}
    (timeline,) = timelines_of(log)
    assert (timeline.device, timeline.is_cut, len(timeline.launches)) == (0, True, 0)
