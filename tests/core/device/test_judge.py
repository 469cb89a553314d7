"""Rules of the cards: what is said, what is not, of live answers and of texts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from npulse.core.device.changes import changes
from npulse.core.device.criteria import Criteria, Settings
from npulse.core.device.faults import FAULTS
from npulse.core.device.history import History
from npulse.core.device.judge import notes_of
from npulse.core.device.notes import Note
from npulse.core.device.rules import RULES
from npulse.core.device.snapshot import ChipState, Process, Snapshot
from npulse.core.device.texts import TEXTS
from npulse.core.device.warning import warning_for
from npulse.core.text import safe_text

from .doubles import reading_of, said, snapshot_of
from .test_snapshot import SNAPSHOTS


def chip(**own: Any) -> ChipState:
    told = {
        "npu": 3,
        "chip": 0,
        "name": "910B3",
        "health": "OK",
        "hbm_used_mb": 3394.0,
        "hbm_total_mb": 65536.0,
    }
    return ChipState(**{**told, **own})


def machine(*chips: ChipState, processes: tuple[Process, ...] = (), **own: Any) -> Snapshot:
    npus = tuple(dict.fromkeys(one.npu for one in chips))
    return Snapshot("ok", chips=chips, processes=processes, listed_npus=npus, **own)


def rules(snapshot: Snapshot, history: History | None = None, settings: Settings | None = None) -> set[str]:
    return {note.rule for note in notes_of(snapshot, history, settings)}


def one(notes: tuple[Note, ...], rule: str) -> Note:
    (found,) = [note for note in notes if note.rule == rule]
    return found


@pytest.mark.parametrize(
    ("scenario", "expected", "warning"),
    [
        ("healthy", set(), ""),
        ("busy", {"busy"}, ""),
        ("hot", {"health", "temperature", "busy"}, "card 1: health Alarm, 91 C"),
        ("throttled", {"temperature", "frequency", "busy"}, "card 1: 88 C, low frequency"),
        ("capped", {"frequency", "power-cap", "busy"}, "card 1: low frequency, power cap"),
        ("held", {"memory-held"}, ""),
        ("ecc", {"health", "fault", "ecc"}, "card 1: health Alarm, fault 80E01801, double-bit ECC errors"),
        ("link", {"health", "fault", "link"}, "card 1: health Warning, fault 81078603, link errors"),
        ("unknown", {"health"}, "card 1: health UNKNOWN"),
        ("incomplete", {"driver"}, ""),
        ("used", {"stray", "loaded-idle"}, ""),
        ("unreachable", {"unreachable"}, ""),
    ],
)
def test_scenarios(scenario: str, expected: set[str], warning: str) -> None:
    found = snapshot_of(scenario)
    assert rules(found) == expected
    assert warning_for(found) == warning


def test_every_rule_that_is_said_is_declared_and_the_other_way_round() -> None:
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in (Path(__file__).parents[3] / "core/device").glob("*.py")
        if path.name in ("judge.py", "error_judge.py", "memory_judge.py", "changes.py")
    )
    for rule in RULES:
        word = rule.id.removeprefix("device.")
        assert f'"{word}"' in source, rule.id
    declared = {rule.id.removeprefix("device.") for rule in RULES}
    for scenario in ("hot", "capped", "held", "ecc", "link", "incomplete", "used", "unreachable"):
        assert rules(snapshot_of(scenario)) <= declared


def test_texts_have_the_same_fields_in_both_languages() -> None:
    import string

    for key, pair in TEXTS.items():
        fields = [sorted(name for _, name, _, _ in string.Formatter().parse(text) if name) for text in pair]
        assert fields[0] == fields[1] and all(pair), key


# ---- heat, frequency ----


def test_temperature_is_over_its_limit_and_not_at_it() -> None:
    assert rules(machine(chip(temperature_c=85.0))) == set()
    assert rules(machine(chip(temperature_c=85.5))) == {"temperature"}
    assert rules(machine(chip(temperature_c=85.5)), None, Settings(Criteria(temperature_c=90))) == set()
    assert rules(machine(chip(hbm_temperature_c=96.0))) == {"hbm-temperature"}
    assert rules(machine(chip(temperature_c=None))) == set()


def test_a_chip_that_was_hot_between_two_looks() -> None:
    history = History()
    for at, temp in enumerate((50.0, 91.0, 88.0, 60.0)):
        history.add(replace(machine(chip(temperature_c=temp)), taken_ns=at))
    note = one(notes_of(machine(chip(temperature_c=60.0)), history), "temperature")
    assert (note.figures["peak_c"], note.figures["n_over"], note.figures["temperature_c"]) == (91, 2, 60)


def test_800_mhz_at_idle_is_normal() -> None:
    slow = {"frequency_mhz": 800.0, "rated_mhz": 1800.0, "temperature_c": 46.0}
    assert rules(machine(chip(ai_core_percent=0.0, **slow))) == set()
    assert rules(machine(chip(**slow))) == set(), "of a load that nobody told nothing is said"
    assert rules(machine(chip(ai_core_percent=90.0, **slow))) == {"frequency", "power-cap", "busy"}
    rated = {**slow, "frequency_mhz": 1800.0}
    assert rules(machine(chip(ai_core_percent=90.0, **rated))) == {"busy"}


def test_a_hot_slow_chip_is_not_capped_by_power() -> None:
    hot = chip(
        ai_core_percent=90.0, frequency_mhz=1200.0, rated_mhz=1800.0, temperature_c=88.0, power_w=200.0
    )
    assert rules(machine(hot)) == {"temperature", "frequency", "busy"}
    assert "power-cap" in rules(machine(replace(hot, rated_power_w=205.0)))


# ---- health ----


@pytest.mark.parametrize(
    ("health", "severity", "role"),
    [
        ("Warning", "warning", "suspect"),
        ("Alarm", "error", "origin"),
        ("Critical", "error", "origin"),
        ("UNKNOWN", "warning", "unknown"),
        ("Abnormal", "warning", "unknown"),
    ],
)
def test_health_is_told_by_its_word(health: str, severity: str, role: str) -> None:
    note = one(notes_of(machine(chip(health=health))), "health")
    assert (note.severity, note.role, note.is_unwell) == (severity, role, True)


def test_fault_codes_say_what_they_mean() -> None:
    told = chip(health="Alarm", fault_codes=("80E18402", "80CB8009", "80FFFFFF"), fault_text="a; b; c")
    notes = {n.figures["code"]: n for n in notes_of(machine(told)) if n.rule == "fault"}
    assert "64" in notes["80E18402"].message[0] and "replaced" in notes["80E18402"].next_step[0]
    assert "(b)" in notes["80CB8009"].message[0] and "npulse memory" in notes["80CB8009"].next_step[0]
    assert (notes["80FFFFFF"].severity, notes["80FFFFFF"].figures["is_known"]) == ("warning", False)
    assert len(FAULTS) == 15


# ---- memory and processes ----

JOB = Process(3, 0, 4711, "python3", 54366)


@pytest.mark.parametrize(
    ("own", "processes", "is_held"),
    [
        ({}, (), False),  # what an idle chip shows
        ({"hbm_used_mb": 61444.0}, (), True),
        ({"hbm_used_mb": 57784.0}, (JOB,), False),
        ({"hbm_used_mb": 64000.0}, (JOB,), True),
        ({"hbm_used_mb": 64000.0}, (JOB,) * 8, False),  # more may run than are listed
        ({"hbm_used_mb": 64000.0}, (replace(JOB, memory_mb=None),), False),
        ({"name": "Ascend950PR", "hbm_used_mb": 4439.0, "hbm_total_mb": 86016.0}, (), False),
        ({"name": "Ascend910", "hbm_used_mb": 3135.0}, (), False),
        ({"name": "910A", "hbm_used_mb": 0.0, "hbm_total_mb": 32768.0, "memory_used_mb": 1591.0}, (), False),
        (
            {"name": "910A", "hbm_used_mb": 4000.0, "hbm_total_mb": 32768.0, "memory_used_mb": 1591.0},
            (),
            True,
        ),
        (
            {"name": "310P3", "hbm_total_mb": None, "memory_used_mb": 1854.0, "memory_total_mb": 44215.0},
            (),
            False,
        ),
        (
            {"name": "310P3", "hbm_total_mb": None, "memory_used_mb": 9854.0, "memory_total_mb": 44215.0},
            (),
            True,
        ),
        ({"hbm_used_mb": None}, (), False),
    ],
)
def test_memory_that_no_process_explains(
    own: dict[str, Any], processes: tuple[Process, ...], is_held: bool
) -> None:
    assert ("memory-held" in rules(machine(chip(**own), processes=processes))) == is_held


def test_of_processes_that_nobody_listed_nothing_is_said() -> None:
    assert rules(replace(machine(chip(hbm_used_mb=61444.0)), listed_npus=())) == set()


@pytest.mark.parametrize(
    ("name", "total", "is_small"),
    [
        ("910B3", 65536.0, False),
        ("910B3", 62000.0, True),
        ("910B4", 32768.0, False),
        ("Ascend910", 60000.0, True),
        ("910A", 30000.0, True),
        ("910B3_vir10", 32768.0, False),
        ("910B3", 0.0, False),
        ("Ascend950PR", 1.0, False),
    ],
)
def test_less_memory_than_rated(name: str, total: float, is_small: bool) -> None:
    found = rules(machine(chip(name=name, hbm_total_mb=total, hbm_used_mb=0.0)))
    assert ("memory-size" in found) == is_small


def test_a_growing_chip_is_told_with_slope_and_window() -> None:
    history = History()
    for at in range(40):
        history.add(replace(machine(chip(hbm_used_mb=20000 + 25.0 * at)), taken_ns=at * 60 * 10**9))
    note = one(notes_of(machine(chip(hbm_used_mb=20975.0)), history), "memory-growth")
    assert note.figures["mb_per_hour"] == pytest.approx(1500) and note.figures[
        "window_hours"
    ] == pytest.approx(0.65)
    assert "1,500 MB/h" in note.message[0] and "0.65 h" in note.message[0]


def test_stray_contexts_of_a_job() -> None:
    both = (
        Process(0, 0, 7, "python3", 300),
        Process(1, 0, 7, "python3", 9000),
        Process(0, 0, 9, "other", 300),
    )
    told = machine(chip(npu=0), chip(npu=1), processes=both)
    assert "stray" not in rules(told), "no job is known"
    note = one(notes_of(told, None, Settings(devices=(1,))), "stray")
    assert note.subject == "NPU 0" and note.figures["pids"] == [7], (
        "a process of nobody's job is not the job's"
    )


# ---- errors ----


def counted(**counts: int) -> Snapshot:
    return machine(chip(values={name.replace("_", " "): str(n) for name, n in counts.items()}))


def test_double_bits_are_red_and_single_bits_are_not() -> None:
    assert rules(counted(HBM_Single_Bit_Error_Count=9)) == set()
    note = one(notes_of(counted(HBM_Double_Bit_Aggregate_Total_Err_Cnt=1)), "ecc")
    assert note.severity == "error" and note.is_unwell


@pytest.mark.parametrize(("n", "severity"), [(47, None), (48, "warning"), (63, "warning"), (64, "error")])
def test_isolated_pages_near_64(n: int, severity: str | None) -> None:
    notes = notes_of(counted(HBM_Single_Bit_Isolated_Pages_Count=n))
    assert [note.severity for note in notes] == ([severity] if severity else [])


def test_links() -> None:
    assert rules(counted(Retry_Count=2)) == set() and rules(counted(Retry_Count=100)) == {"link"}
    assert rules(counted(Lcrc_Error_Count=1)) == rules(counted(Phy_Lane_Error_Count=1)) == {"link"}


def test_counters_that_move_in_one_text() -> None:
    state = said("healthy", "info", "-t", "ecc", "-i", "0")
    later = state.replace(
        "HBM Single Bit Error Count               : 0", "HBM Single Bit Error Count               : 5"
    )
    found = reading_of(said("healthy", "info") + state + later)
    note = one(notes_of(found.snapshot, found.history), "counters-moving")
    assert note.severity == "warning" and note.figures["counters"] == {"HBM Single Bit Error Count": [0, 5]}


# ---- states, before and after ----


def test_a_container_is_told_what_to_mount() -> None:
    told = Snapshot("driver not reachable", -8005, is_container=True, missing=("/dev/davinci*",))
    inside = one(notes_of(told), "unreachable")
    outside = one(notes_of(replace(told, is_container=None, missing=())), "unreachable")
    assert "--device=/dev/davinci0" in inside.next_step[0] and "lsmod" in outside.next_step[0]
    assert all("-8005" in note.message[0] and note.figures["devices"] is None for note in (inside, outside))


def test_what_a_round_did() -> None:
    healthy, busy, held, ecc = map(snapshot_of, ("healthy", "busy", "held", "ecc"))
    assert changes(healthy, healthy) == ()
    whats = [(n.rule, n.severity, n.figures.get("what"), n.subject) for n in changes(healthy, ecc)]
    assert ("counters-moving", "error", None, "NPU 1") in whats
    assert ("change", "warning", "health", "NPU 1") in whats
    left = [(n.severity, n.figures["what"]) for n in changes(healthy, held)]
    assert left == [("warning", "memory")]
    assert {n.figures["what"] for n in changes(healthy, busy)} == {"new processes"}
    gone = [(n.severity, n.figures["what"]) for n in changes(busy, healthy)]
    assert set(gone) == {("note", "lost processes")}, "memory went with them"
    one_card = replace(healthy, chips=healthy.chips[:1])
    assert [n.figures["what"] for n in changes(healthy, one_card)] == ["device"]
    assert changes(healthy, snapshot_of("unreachable")) == ()


def test_only_cards_of_the_job_count_for_its_figures() -> None:
    found = snapshot_of("throttled")
    assert warning_for(found, (1,)) == warning_for(found, None) == "card 1: 88 C, low frequency"
    assert warning_for(found, (0,)) == ""
    assert warning_for(found, (1,), "zh") == "卡 1：88 °C，频率偏低"
    assert warning_for((snapshot_of("healthy"), found)) == warning_for(found), "before and after"
    assert warning_for(snapshot_of("unreachable")) == ""
    dies = Snapshot("ok", chips=(chip(npu=0, temperature_c=90.0), chip(npu=0, chip=1)))
    assert warning_for(dies, (5,)) != "", "nobody can tell which device it is"


@given(before=SNAPSHOTS, after=SNAPSHOTS)
def test_whatever_they_say_notes_can_be_told(before: Snapshot, after: Snapshot) -> None:
    history = History()
    history.add(before)
    history.add(after)
    for note in (*notes_of(after, history), *changes(before, after)):
        for lang in ("en", "zh"):
            finding = note.finding(lang)
            assert finding.message and finding.message == safe_text(finding.message, 10_000)
            assert finding.rule in {rule.id for rule in RULES}
