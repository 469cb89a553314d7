"""Snapshots: there and back through JSON, whatever a table says; which chip a job means."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.device.judge import notes_of
from npulse.core.device.reading import snapshots_of, worst_health
from npulse.core.device.snapshot import STATES, ChipState, Process, Snapshot
from npulse.core.formats.manifest import record_of

from .doubles import reading_of, said, snapshot_of

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
WORDS = st.none() | TEXT
FIGURE = st.none() | st.floats(0, 1e6, allow_nan=False)
ID = st.integers(0, 40)
CHIPS = st.builds(
    ChipState,
    npu=ID,
    chip=st.integers(0, 1),
    name=WORDS,
    health=WORDS,
    physical_id=st.none() | ID,
    power_w=FIGURE,
    temperature_c=FIGURE,
    hbm_used_mb=FIGURE,
    hbm_total_mb=FIGURE,
    fault_codes=st.tuples(TEXT),
    values=st.dictionaries(TEXT, TEXT.filter(lambda text: text != "NA") | st.none(), max_size=4),
)
PROCESSES = st.builds(
    Process, npu=ID, chip=ID, pid=st.none() | ID, name=st.text("abc", max_size=5), memory_mb=ID
)
SNAPSHOTS = st.builds(
    Snapshot,
    state=st.sampled_from(sorted(STATES)),
    code=st.none() | st.integers(-9999, 0),
    chips=st.lists(CHIPS, max_size=4).map(tuple),
    processes=st.lists(PROCESSES, max_size=4).map(tuple),
    listed_npus=st.lists(ID, max_size=4).map(tuple),
    driver_version=WORDS,
    is_container=st.sampled_from((None, True)),
    is_driver_incomplete=st.booleans(),
    taken_ns=st.none() | st.integers(0, 2**62),
)


@given(snapshot=SNAPSHOTS)
def test_there_and_back(snapshot: Snapshot) -> None:
    told = json.loads(json.dumps(snapshot.to_dict()))
    assert Snapshot.from_dict(told) == snapshot


def has_nothing(value: Any) -> bool:
    """TOML has no null."""
    if isinstance(value, dict):
        return any(map(has_nothing, value.values()))
    return any(map(has_nothing, value)) if isinstance(value, list) else value is None


@given(snapshot=SNAPSHOTS)
def test_toml_can_hold_it(snapshot: Snapshot) -> None:
    assert not has_nothing(snapshot.to_dict())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
NAMES = st.sampled_from(
    ("state", "code", "chips", "processes", "listed_npus", "npu", "chip", "values", "taken_ns", "power_w")
)


@given(
    told=st.dictionaries(
        NAMES, JSON | st.lists(st.dictionaries(NAMES, JSON, max_size=4), max_size=3), max_size=6
    )
)
def test_a_hostile_table_gives_a_snapshot_all_the_same(told: dict[str, Any]) -> None:
    found = Snapshot.from_dict(told)
    assert found.state in STATES
    assert Snapshot.from_dict(json.loads(json.dumps(found.to_dict()))).to_dict() == found.to_dict() or any(
        chip.power_w != chip.power_w for chip in found.chips
    )
    for chip in found.chips:
        assert isinstance(chip.npu, int) and isinstance(chip.values, dict)


def test_both_sides_of_a_manifest() -> None:
    before, after = snapshots_of(
        record_of({"device": {"before": snapshot_of("healthy").to_dict(), "after": 3}})
    )
    assert before is not None and len(before.chips) == 2 and after is None
    assert snapshots_of(record_of({})) == snapshots_of(record_of({"device": []})) == (None, None)


def test_which_chip_a_job_means() -> None:
    plain = reading_of(said("busy", "info")).snapshot
    assert [plain.device_of(chip) for chip in plain.chips] == [0, 1]
    mapped = reading_of(said("busy", "info", NPU_SMI_STATE="") + said("healthy", "info", "-m")).snapshot
    assert [chip.device for chip in mapped.chips] == [0, 1]
    a3 = reading_of(said("busy", "info", NPU_SMI_LAYOUT="A3")).snapshot
    chip = a3.of_device(3)
    assert chip is not None and chip.key == (1, 1) and a3.of_device(9) is None
    dies = Snapshot("ok", chips=(ChipState(0, 0), ChipState(0, 1)))
    assert dies.of_device(0) is None and dies.device_of(dies.chips[0]) is None, "nobody can tell"


@pytest.mark.parametrize(
    ("words", "worst"),
    [
        (("OK", "Alarm", None), "Alarm"),
        (("OK", "UNKNOWN"), "UNKNOWN"),
        (("OK", "odd"), "odd"),
        (("Warning", "UNKNOWN"), "Warning"),
        ((None, None), None),
    ],
)
def test_the_worse_health_counts(words: tuple[str | None, ...], worst: str | None) -> None:
    assert worst_health(*words) == worst


def test_a_machine_has_no_more_chips_than_a_machine_can_have() -> None:
    """A hostile text: many chips and processes, a line of blanks; it ends, and says that it left some out."""
    rows = "".join(f"{n} 0 1.0\n" for n in range(5000))
    processes = "".join(f"| {n} 0 | {n} | x | 5 |\n" for n in range(20_000))
    head = "| npu-smi 1 Version: 1 |\n| NPU Chip | Process id | Process name | Process memory(MB) |\n"
    blank = "\tA" + " " * 60_000 + "\n"
    found = reading_of(head + processes + blank * 20 + "NpuID(Idx)  ChipId(Idx) Pwr(W)\n" + rows)
    assert len(found.snapshot.chips) == 512 and len(found.snapshot.processes) == 4096
    assert "limit" in {problem.kind for problem in found.problems}
    assert len(notes_of(found.snapshot, found.history)) < 1600
