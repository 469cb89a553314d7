# ruff: noqa: E501 - log lines as they are
"""Events of msMemScope as faults: what follows from them, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from npulse.core.formats.memscope import read_memscope
from npulse.core.memory.faults import Block, Fault, Frame
from npulse.core.memory.logs import TextLog
from npulse.core.memory.sites import Sites
from npulse.core.memory.tools import memscope
from npulse.core.memory.tools.memscope_frames import frame_of
from npulse.core.memory.tools.memscope_growth import Growth, growth_of

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
    python: str = "",
    c: str = "",
) -> str:
    python, c = (f'"{cell}"' if cell else "" for cell in (python, c))
    allocation = "" if number is None else f"allocation_id:{number},"
    return f'1,{event},{pool},{name},{time},{pid},8,{device},{at:#x},"{{{allocation}size:{size},owner:PTA@ops}}",{python},{c}\n'


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


# ---- where, and how much more every step ----


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("train.py(33): step", Frame("train.py", 33, function="step")),
        ("/w/a (copy)/m.py(7): <module>", Frame("/w/a (copy)/m.py", 7, function="<module>")),
        ("<string>(1): f", Frame("<string>", 1, function="f")),
        ("/lib/libx.so(run+0x1a) [0x7f00]", Frame(module="/lib/libx.so", function="run")),
        ("/lib/libx.so(+0x1a) [0x7f00]", Frame(module="/lib/libx.so", offset=0x1A)),
        ("app() [0x7f00]", Frame(module="app")),
        ("[0x7f00]", None),
        ("NA", None),
        ("a line of another form", Frame(function="a line of another form")),
        (f"x.py({'9' * 40}): f", Frame(function=f"x.py({'9' * 40}): f")),
    ],
)
def test_a_line_of_a_call_stack(text: str, frame: Frame | None) -> None:
    assert frame_of(text) == frame


def test_a_block_has_the_frames_of_its_allocation(faults_of: FaultsOf) -> None:
    python = "/x/lib/python3.10/site-packages/torch/f.py(9): linear\ntrain.py(33): step\n"
    c = "libtorch.so(_ZN1fEv+0x1a) [0x7f00]"
    first, second = faults_of(
        row("MALLOC", time=1, python=python, c=c), row("MALLOC", at=0x2000, time=2, python=python, c=c)
    )
    assert [frame.function for frame in first.access.frames] == ["linear", "step", "_ZN1fEv"]
    assert first.access.frames[1] == Frame("train.py", 33, function="step")
    assert second.access.frames is first.access.frames, "equal stacks are one object"


def test_who_allocated_and_released_stands_beside_the_fault(faults_of: FaultsOf) -> None:
    rows = [
        row("MALLOC", number=5, time=1, python="a.py(1): f"),
        row("FREE", number=5, time=2, python="b.py(2): g"),
        row("FREE", number=5, time=3, python="c.py(3): h"),
        row("ACCESS", "READ", number=5, time=4, python="d.py(4): k"),
    ]
    twice, used = faults_of(*rows)
    assert twice.block is not None and used.block is not None
    stacks = (twice.access.frames, twice.block.allocated, twice.block.freed)
    assert [frames[0].file for frames in stacks] == ["c.py", "a.py", "b.py"]
    assert twice.figures["freed_line"] == 3
    assert [frames[0].file for frames in (used.access.frames, used.block.freed)] == ["d.py", "b.py"]


def mark(time: int, kind: str = "Mark", name: str = "step start", pid: int = 7) -> str:
    return f'0,MSTX,{kind},"{name}",{time},{pid},7,0,N/A,"{{}}",,\n'


def steps(n: int, *, size: int = 512, python: str = "train.py(33): step", at: int = 0x10000) -> list[str]:
    """n steps, each of which keeps one block and releases another one."""
    rows = []
    for step in range(1, n + 1):
        rows.append(mark(10 * step))
        rows.append(row("MALLOC", at=0x900, time=10 * step + 1, python=python))
        rows.append(row("FREE", at=0x900, time=10 * step + 2))
        rows.append(row("MALLOC", at=at + 0x1000 * step, time=10 * step + 3, size=size, python=python))
    return rows


def test_what_grows_from_step_to_step_is_a_warning_with_the_growth(faults_of: FaultsOf) -> None:
    weights = row("MALLOC", at=0x100, time=1, size=1 << 20, python="train.py(5): load")
    faults = faults_of(weights, *steps(4))
    assert [fault.severity for fault in faults] == ["warning"] * 4 + ["info"]
    growing, held = faults[:4], faults[4]
    assert [fault.figures["step"] for fault in growing] == [1, 2, 3, 4] and held.figures["step"] is None
    assert {fault.figures["growth_bytes_per_step"] for fault in growing} == {512}
    assert {fault.figures["growth_steps"] for fault in growing} == {4}
    assert all(fault.figures["is_growth_even"] for fault in growing)
    assert held.size_bytes == 1 << 20 and "growth_bytes_per_step" not in held.figures
    assert sum(fault.size_bytes or 0 for fault in growing) == 4 * 512
    assert {fault.n_objects for fault in faults} == {1}


def test_two_steps_are_no_growth_and_neither_is_what_the_last_one_still_uses(faults_of: FaultsOf) -> None:
    assert {fault.severity for fault in faults_of(*steps(2))} == {"info"}
    # three marks, but what the third one holds may be released at its end: it is not what the others kept
    third = row("MALLOC", at=0x800, time=34, size=64, python="train.py(33): step")
    assert {fault.severity for fault in faults_of(*steps(3), third)} == {"info"}
    other_end = [*steps(3), third, END.replace(",99,", ",999,")]
    ended = faults_of(*other_end)
    assert {fault.kind for fault in ended} == {"leak"}
    assert {fault.figures["growth_bytes_per_step"] for fault in ended} == {(3 * 512 + 64) // 3}
    assert not any(fault.figures["is_growth_even"] for fault in ended)


def test_steps_are_those_of_the_own_process_and_begin_with_their_mark(faults_of: FaultsOf) -> None:
    for replaced in (
        [one.replace("step start", "epoch") for one in steps(4)],
        [one.replace("MSTX,Mark", "MSTX,Range_end") for one in steps(4)],
        [one.replace("7,7,0,N/A", "6,7,0,N/A") for one in steps(4)],
    ):
        faults = faults_of(*replaced)
        assert {fault.severity for fault in faults} == {"info"}
        assert {fault.figures["step"] for fault in faults} == {None}
    ranges = [one.replace("MSTX,Mark", "MSTX,Range_start") for one in steps(4)]
    assert {fault.severity for fault in faults_of(*ranges)} == {"warning"}


def test_places_that_keep_something_now_and_then_do_not_grow_together(faults_of: FaultsOf) -> None:
    rows = steps(4)
    for step, place in enumerate((3, 7, 11, 15)):
        rows[place] = rows[place].replace("train.py(33)", f"train.py({step})")
    assert {fault.severity for fault in faults_of(*rows)} == {"info"}


@pytest.mark.parametrize(
    ("kept", "last", "expected"),
    [
        ({1: 8, 2: 8, 3: 8, 4: 0}, 4, Growth(8, 3, 1, True)),
        ({1: 8, 2: 8, 3: 8, 4: 8}, 4, Growth(8, 4, 1, True)),
        ({1: 8, 2: 8, 3: 8, 4: 9}, 4, Growth(8, 3, 1, True)),
        ({1: 6, 2: 8, 3: 9}, 4, Growth(7, 3, 1, False)),
        ({1: 8, 2: 8, 3: 8}, 3, Growth(8, 3, 1, True)),
        ({1: 8, 2: 8}, 3, None),
        ({1: 8, 3: 8, 4: 8}, 5, None),
        ({1: 99, 3: 8, 4: 8, 5: 8}, 6, Growth(8, 3, 3, True)),
        ({0: 8, 1: 8, 2: 8}, 3, None),
        ({}, 9, None),
    ],
)
def test_growth_is_three_steps_in_a_row_up_to_the_end(
    kept: dict[int, int], last: int, expected: Growth | None
) -> None:
    assert growth_of(kept, last) == expected


def test_blocks_of_a_place_are_one_site_with_their_sum(faults_of: FaultsOf) -> None:
    sites = Sites(lambda frames: frames[0] if frames else None)
    at_load = [row("MALLOC", at=0x100 * n, time=n, size=100 * n, python="a.py(5): load") for n in (1, 2)]
    for fault in faults_of(*at_load, *steps(4)):
        sites.add(fault)
    growing, held = sites.snapshot()
    assert (growing.first.severity, growing.n_objects, growing.total_bytes) == ("warning", 4, 2048)
    assert (held.n_objects, held.total_bytes) == (2, 300)
    assert held.place == Frame("a.py", 5, function="load")


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
    assert (host.access.kernel, pta.access.kernel) == ("kernel_7", "kernel_8"), "as the lines name them"
    assert pta.figures == {"pool": "PTA", "step": 4, "kernel_index": 8, "device_id": 1}
    assert (held.kind, held.severity, held.figures["warning"]) == ("pool warning", "warning", "held")
    assert (held.figures["n_steps"], held.figures["step"], held.access.device) == (4, 6, 2)
    assert (left.figures["warning"], left.access.pid) == ("not released", 55)
    (total,) = log.trust.summaries
    assert (total.size_bytes, total.count) == (2 << 20, 2) and log.trust.tools == ("msMemScope",)
    assert sum(f.size_bytes or 0 for f in (host, pta)) == total.size_bytes
