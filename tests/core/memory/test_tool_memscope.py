# ruff: noqa: E501 - log lines as they are
"""Events of msMemScope as faults: what follows from them, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from npulse.core.formats.memscope import read_memscope
from npulse.core.memory.faults import Block, Fault
from npulse.core.memory.logs import TextLog
from npulse.core.memory.tools import memscope

HEADER = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n"


def row(
    event: str,
    pool: str = "PTA",
    *,
    at: int = 0x1000,
    number: int | None = None,
    time: int | str = 1,
    pid: int = 7,
    device: str = "0",
    size: int = 512,
    name: str = "N/A",
) -> str:
    allocation = "" if number is None else f"allocation_id:{number},"
    return f'1,{event},{pool},{name},{time},{pid},8,{device},{at:#x},"{{{allocation}size:{size},owner:PTA@ops}}",,\n'


FaultsOf = Callable[..., list[Fault]]

END = "9,SYSTEM,ACL_FINI,N/A,99,7,8,0,,,,\n"


@pytest.fixture
def faults_of(tmp_path: Path) -> FaultsOf:
    def read(*rows: str) -> list[Fault]:
        path = tmp_path / "memscope_dump_1.csv"
        path.write_text(HEADER + "".join(rows))
        table = read_memscope(path, root=tmp_path)
        assert table.problems == ()
        return [fault for batch in memscope.EventFaults(table, "d.csv") for fault in batch]

    return read


def told(faults: list[Fault]) -> list[tuple[str, str, int]]:
    return [(fault.kind, fault.figures.get("warning", ""), fault.line) for fault in faults]


def test_a_block_that_is_never_released_is_a_leak_only_at_the_end_of_its_process(faults_of: FaultsOf) -> None:
    held = (
        row("MALLOC", number=1, time=1),
        row("MALLOC", at=0x2000, number=2, time=2),
        row("FREE", at=0x2000, number=2, time=3),
    )
    assert told(faults_of(*held)) == [("pool warning", "held", 2)]
    (leak,) = faults_of(*held, END)
    assert told([leak]) == [("leak", "", 2)] and leak.severity == "error"
    assert (leak.size_bytes, leak.n_objects, leak.access.address, leak.access.space) == (512, 1, 0x1000, "GM")
    assert (leak.figures["pool"], leak.figures["owner"], leak.figures["allocation_id"]) == (
        "PTA",
        "PTA@ops",
        1,
    )
    assert (leak.access.pid, leak.access.device, leak.figures["time_ns"]) == (7, 0, 1)
    # the end of another process says nothing of this one
    other = END.replace(",7,8,", ",6,8,")
    assert told(faults_of(*held, other)) == [("pool warning", "held", 2)]
    assert told(faults_of(*held, END.replace("FINI", "INIT"))) == [("pool warning", "held", 2)]


def test_released_twice(faults_of: FaultsOf) -> None:
    (fault,) = faults_of(row("MALLOC", time=1), row("FREE", time=2), row("FREE", time=3))
    assert told([fault]) == [("double-free", "", 4)] and fault.severity == "error"
    assert fault.block == Block(512, 0x1000) and fault.figures["allocated_line"] == 2
    again = (row("MALLOC", time=1), row("FREE", time=2), row("MALLOC", time=3), row("FREE", time=4))
    assert faults_of(*again) == []


def test_a_release_of_what_was_there_before_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text(HEADER + row("FREE") + row("FREE"))
    events = memscope.EventFaults(read_memscope(path, root=tmp_path), "d")
    assert list(events) == [] and events.n_unknown == 2


def test_an_address_in_another_pool_process_or_device_is_another_block(faults_of: FaultsOf) -> None:
    rows = [
        row("MALLOC", pool, pid=pid, device=device)
        for pool in ("PTA", "HAL")
        for pid in (7, 8)
        for device in ("0", "1")
    ]
    frees = [one.replace("MALLOC", "FREE") for one in rows]
    assert faults_of(*rows, *frees) == []


def test_used_after_its_release(faults_of: FaultsOf) -> None:
    use = row("ACCESS", "WRITE", number=5, time=4, name="aten::add")
    (fault,) = faults_of(row("MALLOC", number=5, time=1), row("FREE", number=5, time=3), use)
    assert told([fault]) == [("use after free", "", 4)] and fault.severity == "warning"
    assert (fault.access.word, fault.figures["name"], fault.figures["freed_line"]) == (
        "write",
        "aten::add",
        3,
    )
    assert fault.figures["pool"] == "PTA" and fault.block == Block(512, 0x1000)
    before = row("ACCESS", "WRITE", number=5, time=2)
    assert faults_of(row("MALLOC", number=5, time=1), row("FREE", number=5, time=3), before) == []
    # without the number nobody knows whose bytes these are
    assert faults_of(row("MALLOC", time=1), row("FREE", time=3), row("ACCESS", "READ", time=4)) == []


def test_rows_are_taken_by_time_where_all_have_one(faults_of: FaultsOf) -> None:
    late = (row("FREE", time=5), row("MALLOC", time=2))
    assert faults_of(*late) == []
    untimed = (row("FREE", time="N/A"), row("MALLOC", time=2))
    assert told(faults_of(*untimed)) == [("pool warning", "held", 3)]


def test_allocated_where_a_block_is_in_use(faults_of: FaultsOf) -> None:
    faults = faults_of(row("MALLOC", time=1), row("MALLOC", time=2, size=1024), row("FREE", time=3))
    assert told(faults) == [("pool warning", "allocated twice", 3)]
    assert faults[0].block == Block(512, 0x1000)


def test_memory_of_the_host(faults_of: FaultsOf) -> None:
    (fault,) = faults_of(row("MALLOC", "HOST", device="cpu"), END)
    assert (fault.access.space, fault.access.device, fault.kind) == ("host", None, "leak")


def test_other_tables_and_empty_ones_have_no_faults(faults_of: FaultsOf, tmp_path: Path) -> None:
    assert faults_of() == []
    path = tmp_path / "t.csv"
    path.write_text("FuncInfo,StartTime(ns),EndTime(ns),Thread Id,Process Id\nf,1,2,3,4\n")
    assert list(memscope.EventFaults(read_memscope(path, root=tmp_path), "t")) == []


def test_faults_come_in_lists(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text(HEADER + "".join(row("MALLOC", at=4096 * n) for n in range(1, 2501)))
    lists = list(memscope.EventFaults(read_memscope(path, root=tmp_path), "d"))
    assert [len(one) for one in lists] == [1000, 1000, 500]


# ---- console ----


def test_lines_of_a_console() -> None:
    log = TextLog("a.log")
    text = (
        "====== ERROR: Detected memory leaks on device 1 ======\n"
        "Direct HOST leak of 0.500000 Mb(s) at 0x10 in kernel_7 at step 3.\n"
        "Direct PTA leak of 1.500000 Mb(s) at 0x20 in kernel_8 at step 4.\n"
        "====== SUMMARY: 2.000000 Mb(s) leaked in 2 allocation(s) ======\n"
        "[npu 2][step 6]: ptr: 0x7f00 has last for 4 steps. Please check if there is leaks in PTA\n"
        "[client 55][device: 3]: Leak memory in Malloc operator, addr: 0x99\n"
    )
    host, pta, held, left = [*log.feed(text.encode()), *log.finish()]
    assert (host.access.space, pta.access.space, host.size_bytes) == ("host", "GM", 1 << 19)
    assert pta.figures == {"pool": "PTA", "step": 4, "kernel_index": 8, "device_id": 1}
    assert (held.kind, held.severity, held.figures["warning"]) == ("pool warning", "warning", "held")
    assert (held.figures["n_steps"], held.figures["step"], held.access.device) == (4, 6, 2)
    assert (left.figures["warning"], left.access.pid) == ("not released", 55)
    (total,) = log.trust.summaries
    assert (total.size_bytes, total.count) == (2 << 20, 2) and log.trust.tools == ("msMemScope",)
    assert sum(f.size_bytes or 0 for f in (host, pta)) == total.size_bytes
