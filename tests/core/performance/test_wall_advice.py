"""What is said of wall, busy and idle time, and that every rule and text is there in both languages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import npulse.core.performance.wall.rules as rules_module
from npulse.core.formats.manifest import record_of
from npulse.core.formats.profiling.records import Iteration, ProfilerSettings, StepTime
from npulse.core.formats.profiling.timeline import NONE, HostCalls, Span
from npulse.core.performance.advice import Advice
from npulse.core.performance.criteria import Criteria
from npulse.core.performance.profile import Profile
from npulse.core.performance.wall.advice import advice_of_wall
from npulse.core.performance.wall.bottleneck import bottleneck_of
from npulse.core.performance.wall.rules import RULES
from npulse.core.performance.wall.texts import TEXTS
from npulse.core.performance.wall.wall import wall_of

from .wall_builders import BASE_NS, Row, of, table, tasks, timeline

US, MS = 1000, 1_000_000
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def said(profile: Profile, criteria: Criteria | None = None, record: Any = None) -> dict[str, Advice]:
    found = list(advice_of_wall(profile, wall_of(profile), criteria, record))
    for advice in found:
        for texts in (advice.message, advice.next_step):
            assert not any("{" in text or "None" in text or "nan" in text for text in texts), texts
        assert advice.message[0] and advice.message[1] and advice.cost_ns >= 0
        assert advice.rule in {rule.id for rule in RULES}
    assert len({advice.rule for advice in found if "criterion" not in advice.rule}) == len(
        [advice for advice in found if "criterion" not in advice.rule]
    )
    return {advice.rule.removeprefix("performance."): advice for advice in found}


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_texts_have_both_languages_and_the_same_fields() -> None:
    for key, (en, zh) in TEXTS.items():
        assert fields(en) == fields(zh), key
        assert not CHINESE.search(en), key
        is_figures = key in ("serving", "tokens per s", "step", "missed tokens_per_s", "difference")
        assert is_figures or CHINESE.search(zh), key


def test_every_text_is_used() -> None:
    folder = Path(rules_module.__file__).parent
    code = "\n".join(path.read_text("utf-8") for path in folder.glob("*.py") if path.name != "texts.py")
    prefixes = tuple(re.findall(r'f"([a-z ]+ )\{', code))
    unused = [key for key in TEXTS if f'"{key}"' not in code and not key.startswith(prefixes)]
    assert unused == []


def test_rules_are_complete() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.id.startswith("performance.")
        for en, zh in (rule.title, rule.meaning, rule.threshold, rule.source, rule.silence):
            assert en and zh and not CHINESE.search(en)
    folder = Path(rules_module.__file__).parent
    code = "\n".join(path.read_text("utf-8") for path in folder.glob("*advice.py"))
    ids = [rule.id for rule in RULES]
    assert [
        id_ for id_ in ids if f'"{id_}"' not in code and f'"{id_[len("performance.") :]}"' not in code
    ] == []


# ---- idle ----


COLUMNS = ("name", "op_type", "core_type", "start_ns", "duration_ns", "wait_ns")


def with_gaps(gap_us: int, n: int = 12) -> Profile:
    names = ("MatMul", "Add", "Softmax")
    rows = [
        (f"{names[i % 3]}_{i}", names[i % 3], "AI_CORE", i * (10 + gap_us) * US, 10 * US, gap_us * US)
        for i in range(n)
    ]
    return Profile("rank3", rank=3, operators=table(rows, COLUMNS))


def test_idle() -> None:
    found = said(with_gaps(30))
    idle = found["idle"]
    assert (idle.severity, idle.subject, idle.bottleneck, idle.cost_ns) == (
        "warning",
        "rank 3",
        "idle",
        330 * US,
    )
    assert idle.figures["host_bound"] == "yes"
    assert idle.figures["idle_percent"] == pytest.approx(100 * 330 / 450, rel=1e-9)
    assert (idle.figures["block_us"], idle.figures["block_idle_us"]) == (120, 90)
    assert idle.figures["recorded_wait_us"] == 360
    assert "busy 120 us of 450 us, idle 330 us" in idle.message[0]
    assert "MatMul has 33.33 % of the busy time but only 8.89 % of the wall time" in idle.message[0]
    assert "Launch faster before tuning any kernel" in idle.next_step[0]
    assert len(idle.told) == 10 and "MatMul_0 -> Add_1" in idle.told[0]
    note = said(with_gaps(2))["idle"]
    assert note.severity == "note" and "Record host calls too" in note.next_step[0]
    assert "idle" not in said(with_gaps(1)) and "idle" not in said(with_gaps(30), Criteria(free_percent=80))


def test_who_is_late_decides_the_next_step() -> None:
    def gap(launch_us: int, length_us: int) -> Advice:
        device: list[Row] = [(i * 100 * US, 10 * US, 1, "Add", "AI_CORE", i) for i in range(9)]
        launches = [
            (i * 100 * US - launch_us * US, length_us * US, 0, "Node@launch", "node", i) for i in range(9)
        ]
        return said(of(timeline(device, (), launches)))["idle"]

    assert "aclgraph" in gap(5, 2).next_step[0]
    assert "ACLNN_CACHE_LIMIT" in gap(60, 59).next_step[0]
    early = gap(500, 2)
    assert "The host is ahead" in early.next_step[0] and early.figures["host_bound"] == "no"
    assert "launched but not begun 720 us" in early.message[0] and early.figures["queue"] == "between"


def test_bottleneck() -> None:
    def answer(kernel: int, idle: int, exposed: int, **limits: float) -> str:
        step = StepTime("1", None, kernel, exposed, 0, exposed, idle)
        profile = Profile("x", steps=(step,))
        found = bottleneck_of(profile, wall_of(profile), Criteria(**limits))
        shares = (found.idle_share, found.communication_share, found.compute_share)
        assert sum(share or 0 for share in shares) == pytest.approx(1)
        return found.answer

    assert answer(30, 60, 10) == "idle"
    assert answer(30, 10, 60) == "communication"
    assert answer(80, 15, 5) == "compute"
    assert answer(60, 22, 18) == "idle" and answer(60, 18, 22) == "communication"
    assert answer(60, 22, 18, free_high_percent=30) == "communication"
    assert answer(10, 15, 5) == "idle"
    assert bottleneck_of(Profile("x"), None).answer == "unknown"


# ---- communication, tail, clock ----


def test_exposed_communication_and_tail() -> None:
    device: list[Row] = [(0, 50, 1, "MatMul"), (52, 30, 1, "Adam"), (85, 14, 1, "Cast")]
    found = said(
        of(timeline(device, [(40, 12, NONE, "hcom_allReduce__1_0", "g")])),
        Criteria(exposed_communication_percent=2),
    )
    assert found["exposed-communication"].cost_ns == 2
    assert "hcom_allReduce__1_0" in found["exposed-communication"].message[0]
    tail = found["serial-tail"]
    assert (tail.figures["tail_us"], tail.figures["n_tail_calls"], tail.bottleneck) == (0.049, 2, "compute")
    assert tail.cost_ns == 46 and "Adam" in tail.message[0]
    # one stream: all is in series; next to nothing beside each other: no tail either
    assert "serial-tail" not in said(of(timeline(device)))
    assert "serial-tail" not in said(of(timeline([(0, 1, 2), *[(i, 10, 1) for i in range(0, 1000, 10)]])))


def test_low_frequency() -> None:
    device: list[Row] = [(i * 10, 10, 1, "MatMul") for i in range(10)]
    found = timeline(
        device, frequency_at_ns=np.array([0, 50]) + BASE_NS, frequency_mhz=np.array([1800.0, 1200.0])
    )
    advice = said(of(found))["low-frequency"]
    assert advice.figures["low_kernel_time_percent"] == 50 and advice.cost_ns == 16
    assert "the rated one is not recorded" in advice.message[0]
    settings = ProfilerSettings(frequency_mhz=1800)
    assert "the rated clock" in said(of(found, settings=settings))["low-frequency"].message[0]
    assert "low-frequency" not in said(of(found), Criteria(frequency_drop_percent=50))


# ---- host calls, steps ----


def calls(*rows: tuple[str, int, int]) -> tuple[HostCalls, ...]:
    return tuple(HostCalls("acl", name, n, total, total, 0, 10**9) for name, n, total in rows)


def test_host_calls() -> None:
    found = said(
        of(
            timeline(
                [(0, 50, 1), (90, 10, 1)],
                calls=calls(
                    ("Node@launch", 40, 400),
                    ("AscendCL@aclopCompileAndExecute", 20, 5000),
                    ("AscendCL@aclrtSynchronizeStream", 21, 70),
                    ("AscendCL@aclrtFree", 3, 10 * MS),
                    ("AscendCL@aclnnAdd", 20, 60),
                ),
                pauses=(Span("gc", 0, 3 * MS),),
                ranges=(Span("enumerate(DataLoader)#1", 0, 12 * MS),),
            )
        )
    )
    assert found["launch-blocking"].figures == {"n_synchronizations": 21, "n_launches": 40}
    assert "52.50 %" in found["launch-blocking"].message[0]
    assert "20 calls of aclopCompileAndExecute (5 us)" in found["online-compile"].message[0]
    assert found["memory-calls"].cost_ns == 10 * MS and found["garbage-collection"].cost_ns == 3 * MS
    assert found["data-loading"].figures["total_us"] == 12_000
    assert found["repeated-calls"].severity == "note" and found["repeated-calls"].figures["n_calls"] == 20
    env = {"ASCEND_LAUNCH_BLOCKING": "1"}
    blocked = said(Profile("x", settings=ProfilerSettings(env=env)))["launch-blocking"]
    assert "ASCEND_LAUNCH_BLOCKING=1" in blocked.message[0]
    assert said(Profile("x", settings=ProfilerSettings(env={"ASCEND_LAUNCH_BLOCKING": "0"}))) == {}


def test_silent_host() -> None:
    launches: list[Row] = [(0, 10, 0, "Node@launch", "node")]
    found = timeline([(0, 5, 1), (250 * MS, 5, 1)], (), launches, calls=calls(("launch", 1, 1)))
    assert "250.00 ms" in said(of(found))["silent-host"].message[0]


def test_steps() -> None:
    lengths = (900, 100, 100, 130)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    steps = tuple(
        Span(f"ProfilerStep#{i}", BASE_NS + int(starts[i]), BASE_NS + int(starts[i]) + n)
        for i, n in enumerate(lengths)
    )
    device: list[Row] = [(int(starts[i]), 90 + (30 if i == 3 else 0), 1) for i in range(4)]
    found = said(of(timeline(device, steps=steps)))
    assert found["warm-up"].figures == {"first_us": 0.9}
    jitter = found["step-jitter"]
    assert (jitter.figures["n_steps"], jitter.figures["slowest"], jitter.cost_ns) == (3, "ProfilerStep#3", 30)
    assert jitter.figures["jitter_percent"] == pytest.approx(100 * np.std([100, 100, 130]) / 110, rel=1e-9)
    assert "computing grew by 0.03 us" in jitter.message[0] and jitter.bottleneck == "compute"
    assert "step-jitter" not in said(of(timeline(device, steps=steps)), Criteria(step_jitter_percent=20))


def test_hints_of_step_tables() -> None:
    rows = (Iteration("1", 1, duration_ns=100, data_aug_bound_ns=40, refresh_ns=15),)
    found = said(Profile("x", iterations=rows))
    assert found["input-bound"].cost_ns == 40 and found["iteration-tail"].cost_ns == 15
    steps = (StepTime("1", None, 90, 0, 0, 0, 10, preparing_ns=20),)
    assert "20.00 %" in said(Profile("x", steps=steps))["late-begin"].message[0]


# ---- criteria of the user ----


def test_missed_criteria_are_errors() -> None:
    record = record_of({"first_token_ms": 120, "tokens_per_s": 20, "step_ms": 50})
    limits = Criteria(first_token_ms=100, tokens_per_s=30, step_ms=40)
    found = list(advice_of_wall(with_gaps(30), wall_of(with_gaps(30)), limits, record))
    missed = [advice for advice in found if advice.rule == "performance.criterion-missed"]
    assert [advice.severity for advice in missed] == ["error"] * 3
    assert [advice.message[0] for advice in missed] == [
        "time to first token is 120.000 ms, the criterion 100 ms (as the round's record says).",
        "20.00 tokens/s, the criterion 30 (as the round's record says).",
        "a step takes 50.000 ms, the criterion 40 ms (as the round's record says).",
    ]
    assert all("the device idles 73.33 %" in advice.next_step[0] for advice in missed)
    met = Criteria(first_token_ms=120, tokens_per_s=20, step_ms=50)
    rules = {advice.rule for advice in advice_of_wall(with_gaps(30), None, met, record)}
    assert rules == {"performance.serving"}


def test_what_is_not_recorded_is_unknown() -> None:
    limits = Criteria(first_token_ms=100, tokens_per_s=30, step_ms=40)
    found = list(advice_of_wall(Profile("x"), None, limits))
    assert [(advice.rule, advice.severity, advice.role) for advice in found] == [
        ("performance.criterion-unknown", "warning", "unknown")
    ] * 3
    assert found[0].message[0].startswith("unknown: no time to first token is recorded")
    assert "mstx" in found[0].next_step[0] and "round.toml" in found[1].next_step[1]
    assert "prof.step()" in found[2].next_step[0]
    assert said(Profile("x")) == {}


# ---- what the figures rest on ----


def test_the_basis_is_told() -> None:
    device: list[Row] = [(i * 20, 15, 3, "Norm", "NEW_CORE") for i in range(9)]
    found = said(of(timeline([*device, (-BASE_NS, 0, 3, "Cast_\x1b[2J", "")], is_cut=True)))
    aside = found["impossible-times"]
    assert (aside.figures["n_tasks"], aside.role) == (1, "benign") and "\x1b" not in aside.message[0]
    assert "at 0 ns" in aside.message[0]
    assert "NEW_CORE" in found["unknown-task-types"].message[0] and "unfinished-times" in found
    rows = [("a", "Add", "AI_CORE", 0, 10, 0), ("b", "Add", "AI_CORE", None, 10, 0)]
    assert said(Profile("x", operators=table(rows, COLUMNS)))["unplaced-rows"].figures == {"n_rows": 1}
    recorded = {"Free": (np.array([0]) + BASE_NS, np.array([60]))}
    differs = said(of(timeline([(0, 50, 1), (90, 10, 1)], recorded=recorded)))["recorded-times-differ"]
    assert "Free 0.04 us here, 0.06 us in trace_view.json" in differs.message[0]


NAMES = st.sampled_from(["", "a{b}", "hcom_x", "{0}", "\x1b[31m", "DataLoader", "prefill %s", "x" * 5000])
ROWS = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1) | st.integers(0, 1000),
        st.integers(-(2**63), 2**63 - 1) | st.integers(0, 100),
        st.integers(-1, 3),
        NAMES,
        st.sampled_from(["", "AI_CORE", "CAPTURE_WAIT", "?{", "SDMA"]),
        st.integers(-1, 3),
    ),
    max_size=12,
)


@given(
    ROWS, ROWS, ROWS, st.lists(st.tuples(NAMES, st.integers(0, 10**19), st.integers(0, 10**19)), max_size=4)
)
def test_hostile_timelines_break_nothing(
    device: list[Row], communication: list[Row], launches: list[Row], marks: list[tuple[str, int, int]]
) -> None:
    spans = tuple(Span(*mark) for mark in marks)
    found = timeline([])
    made = type(found)(
        "t{0}",
        0,
        tasks(device, base_ns=0),
        tasks(communication, base_ns=0),
        tasks(launches, base_ns=0),
        steps=tuple(span for span in spans if span.start_ns < 2**62 and span.end_ns < 2**62),
        ranges=spans,
        pauses=spans,
        calls=tuple(HostCalls("acl", name, first, last, 1, 0, 5) for name, first, last in marks),
    )
    profile = of(made)
    limits = Criteria(
        first_token_ms=1, tokens_per_s=1, step_ms=1, free_percent=0, exposed_communication_percent=0
    )
    found_advice: Iterable[Advice] = advice_of_wall(profile, wall_of(profile), limits)
    for advice in found_advice:
        assert not any("\x1b" in text for text in (*advice.message, *advice.next_step, *advice.told))
        assert all(len(text) < 5000 for text in advice.message)
