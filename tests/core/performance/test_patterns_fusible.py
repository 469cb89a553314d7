"""Sequences that a fused operator could replace, and sequences that repeat."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.performance.operators import fusible
from npulse.core.performance.operators.fused import sequences_of
from npulse.core.performance.operators.fusible import repeated_sequences

from .made_tables import Row, advice_from, calls_from

KINDS = ("Add", "Mul", "Sub", "Exp")


def row(kind: str, us: float = 10, **more: object) -> Row:
    core = {"core": "AI_CORE", "block": 24} if "MatMul" in kind else {}
    return {"type": kind, "us": us, **core, **more}


# ---- fused operators ----

VENDOR = [
    ("dropout-add", "Add DropOutDoMask Add"),
    ("attention", "BatchMatMul Mul Cast Mul MaskedFill SoftmaxV2 Cast DropOutDoMask AsStrided BatchMatMul"),
    ("attention", "BatchMatMulV2 RealDiv Add Cast Maximum Cast SoftmaxV2 AsStrided BatchMatMulV2"),
    ("attention", "BatchMatMul RealDiv Add Maximum SoftmaxV2 Cast BatchMatMul"),
    ("rms-norm", "Cast Square ReduceMeanD Add Rsqrt Cast Cast Mul Cast Cast Mul Cast"),
    ("rms-norm", "Cast Square MemSet ReduceMean Add Rsqrt Mul Cast Mul"),
    ("rms-norm", "Cast Square ReduceMeanD Add Rsqrt Mul Cast Mul"),
    ("layer-norm-cast", "Cast LayerNorm Cast"),
    ("add-layer-norm", "Add LayerNorm"),
    ("add-layer-norm", "Add LayerNormV3"),
    ("gelu-add", "Gelu Add"),
    ("rotary", "Mul Slice Neg Slice ConcatD Cast Mul Add"),
    ("rotary", "Mul AsStrided Neg AsStrided ConcatD Mul Add"),
    ("rotary", "Mul Slice Neg Slice ConcatD Mul"),
    ("ffn", "MatMulV2 Swish MatMulV2 Mul MatMulV2"),
    ("swiglu", "Slice Slice Swish Mul"),
    ("softmax", "Cast Mul MaskedFill SoftmaxV2 Cast"),
    ("add-rms-norm", "Add RmsNorm"),
]


@pytest.mark.parametrize(("key", "kinds"), VENDOR)
def test_known_sequences(key: str, kinds: str) -> None:
    names = kinds.split()
    rows = [row("Sigmoid"), *(row(kind, 10 + i) for i, kind in enumerate(names)), row("Sigmoid")]
    (advice,) = advice_from(rows)["fused-operator"]
    assert advice.figures["pattern"] == key
    assert advice.figures["operators"] == " - ".join(names)
    assert advice.figures["n_sequences"] == 1
    n = len(names)
    total = sum(10 + i for i in range(n))
    assert advice.figures["total_us"] == total
    assert advice.cost_ns == (total - (10 + n - 1)) * 1000  # all but the longest
    assert advice.location.line == 3


@pytest.mark.parametrize(("key", "kinds"), VENDOR)
def test_a_sequence_does_not_go_over_streams_or_communication_rows_between(key: str, kinds: str) -> None:
    names = kinds.split()
    rows = [row(kind, stream=i) for i, kind in enumerate(names)]
    assert all(one.figures["pattern"] != key for one in advice_from(rows).get("fused-operator", []))
    rows = [row(kind) for kind in names]
    rows.insert(1, {"type": "hcom_allReduce_", "core": "HCCL", "stream": 9, "us": 1})
    found = advice_from(rows)["fused-operator"]
    assert [one.figures["pattern"] for one in found] == [key]


@pytest.mark.parametrize(
    ("key", "kinds", "name"),
    [
        ("rms-norm", "Cast Square ReduceMeanD Add Rsqrt Mul Cast Mul", "aclnnRmsNorm_{}AiCore_{}"),
        ("attention", "BatchMatMul Mul SoftmaxV2 BatchMatMul", "aclnnFlashAttentionScore_{}_{}"),
        ("swiglu", "Slice Slice Swish Mul", "aclnnSwiGlu_{}_{}"),
        ("softmax", "Cast Mul MaskedFill SoftmaxV2 Cast", "aclnnScaledMaskedSoftmax_{}_{}"),
    ],
)
def test_what_the_fused_operator_launched_is_fused(key: str, kinds: str, name: str) -> None:
    rows = [row(kind, name=name.format(kind, kind)) for kind in kinds.split()]
    assert "fused-operator" not in advice_from(rows)
    plain = [row(kind) for kind in kinds.split()]
    (advice,) = advice_from([*rows, row("Sigmoid"), *plain])["fused-operator"]
    assert (advice.figures["pattern"], advice.figures["n_sequences"]) == (key, 1)


def test_the_fused_operator_itself_is_no_sequence() -> None:
    kinds = "FlashAttentionScore AddRmsNorm RotaryMul SwiGlu MatMulV2 ScaledMaskedSoftmax RmsNorm LayerNorm"
    assert "fused-operator" not in advice_from([row(kind) for kind in kinds.split()])


def test_a_call_belongs_to_one_sequence() -> None:
    kinds = "BatchMatMul Cast Mul MaskedFill SoftmaxV2 Cast BatchMatMul Add LayerNorm Cast"
    found = sequences_of(calls_from([row(kind) for kind in kinds.split()]))
    assert [one.fusion.key for one in found.found] == ["attention", "add-layer-norm"]
    assert found.taken.tolist() == [True] * 9 + [False]


def test_sequences_that_take_little_are_not_told() -> None:
    rows = [row("Add", 4), row("LayerNorm", 5), row("MatMulV2", 900)]
    assert "fused-operator" not in advice_from(rows)
    assert "fused-operator" in advice_from([row("Add", 4), row("LayerNorm", 6), row("MatMulV2", 900)])


# ---- repeated sequences ----


def loop(kinds: str, n: int, us: float, gap: float, **more: object) -> list[Row]:
    return [row(kind, us, gap=gap, **more) for _ in range(n) for kind in kinds.split()]


def test_host_bound_by_hand() -> None:
    rows = [row("MatMulV2", 500), *loop("Exp Sub Pad", 6, 10, 30), row("Tanh", 100)]
    (advice,) = advice_from(rows)["fusible-sequence"]
    # nine of them: the loop three times in one window says no more than the loop
    assert advice.figures["operators"] in ("Exp - Sub - Pad", "Sub - Pad - Exp", "Pad - Exp - Sub")
    assert advice.figures["n_repeats"] == 6
    assert (advice.figures["busy_us"], advice.figures["wall_us"]) == (6 * 30, 6 * 90)
    assert advice.figures["busy_ratio"] == pytest.approx(30 / 90, rel=1e-9)
    assert advice.cost_ns == 6 * 60_000
    assert advice.severity == "note"


def test_gaps_in_which_another_stream_works_are_not_at_stake() -> None:
    rows = loop("Exp Sub Pad", 6, 10, 30)
    rows.append({"type": "MatMulV2", "core": "AI_CORE", "block": 24, "at": 0, "us": 400, "stream": 8})
    (advice,) = advice_from(rows)["fusible-sequence"]
    starts = [30 + 40 * i for i in range(18)]
    idle = sum(
        max(0, start - max(400, start - 30)) for i, start in enumerate(starts) if i % 3 and start > 400
    )
    assert advice.cost_ns == idle * 1000 < 6 * 60_000


def test_two_streams_at_once_take_no_more_than_the_step() -> None:
    rows = [
        row(kind, 10, at=40 * i, stream=s) for s in (1, 2) for i, kind in enumerate(("Exp", "Sub", "Pad") * 6)
    ]
    (advice,) = advice_from(rows)["fusible-sequence"]
    assert advice.figures["n_repeats"] == 12
    assert advice.figures["share_of_wall_percent"] <= 100
    assert advice.cost_ns == 12 * 60_000 or advice.cost_ns <= 17 * 30_000
    tiny = advice_from([{**one, "us": 9} for one in rows])["tiny"][0]
    assert tiny.figures["share_of_wall_percent"] == 100


@pytest.mark.parametrize(
    "rows",
    [
        loop("Exp Sub Pad", 5, 10, 30),  # five times
        loop("Exp Sub Pad", 6, 10, 9),  # 30 of 48 us is work
        [*loop("Exp Sub Pad", 6, 10, 30), row("MatMulV2", 60_000)],  # below 1 % of the step
        [
            one
            for kind in ("Exp", "Sub", "Pad") * 6
            for one in (row(kind, 10, gap=20), row("Index", 5, gap=10, core="AI_CPU"))
        ],  # each ends at the AI CPU
    ],
)
def test_what_is_not_told(rows: list[Row]) -> None:
    assert "fusible-sequence" not in advice_from(rows)


def moving(kinds: str, ratio: float, n: int = 8) -> list[Row]:
    columns = {"aiv_time(us)": 10, "aiv_mte2_time(us)": 6 * ratio, "aiv_mte3_time(us)": 4 * ratio}
    return [row(kind, 10, gap=0, **columns) for _ in range(n) for kind in kinds.split()]


def test_bound_by_moving() -> None:
    (advice,) = advice_from(moving("Exp Sub Pad", 0.9))["fusible-sequence"]
    assert advice.figures["mte_ratio"] == 0.9
    assert advice.cost_ns == 8 * 20_000  # two of three operators
    assert "fusible-sequence" not in advice_from(moving("Exp Sub Pad", 0.8))
    assert "fusible-sequence" not in advice_from(moving("MatMulV2 Sub FlashAttentionScore", 0.9))
    assert "fusible-sequence" not in advice_from(
        moving("Exp Sub Pad", 0.9), without=["aiv_mte2_time(us)", "aiv_mte3_time(us)"]
    )


def test_known_fusions_are_not_told_twice() -> None:
    found = advice_from(loop("Slice Slice Swish Mul", 8, 10, 30))
    assert [one.figures["pattern"] for one in found["fused-operator"]] == ["swiglu"]
    assert "fusible-sequence" not in found


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(KINDS), min_size=2, max_size=5),
    st.integers(5, 9),
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from(KINDS)), max_size=6),
    st.integers(0, 3),
)
def test_counts_against_brute_force(
    kinds: list[str], n: int, noise: list[tuple[int, str]], n_streams: int
) -> None:
    """What is told is there that often; and if any window repeats, is bound and long enough, something is."""
    names = kinds * n
    for at, kind in noise:
        names.insert(min(at, len(names)), kind)
    rows = [row(kind, 10, gap=25, stream=i * n_streams // len(names)) for i, kind in enumerate(names)]
    calls = calls_from(rows)
    streams = [int(one["stream"]) for one in rows]
    found = repeated_sequences(calls)

    def occurrences(window: tuple[str, ...]) -> int:
        count, i = 0, 0
        while i + len(window) <= len(names):
            same = len(set(streams[i : i + len(window)])) == 1
            if same and tuple(names[i : i + len(window)]) == window:
                count, i = count + 1, i + len(window)
            else:
                i += 1
        return count

    for one in found:
        window = tuple(calls.kinds[code] for code in one.kinds)
        assert len(one.first) == occurrences(window) >= 6
        assert one.busy_ns == len(one.first) * len(window) * 10_000
        assert one.wall_ns == one.busy_ns + len(one.first) * (len(window) - 1) * 25_000
    windows = Counter(
        tuple(names[i : i + length])
        for length in range(2, 11)
        for i in range(len(names) - length + 1)
        if len(set(streams[i : i + length])) == 1
    )
    whole = [
        window
        for window in windows
        if occurrences(window) >= 6
        and not any(
            len(window) % p == 0 and window == window[:p] * (len(window) // p) for p in range(1, len(window))
        )
        # work below 0.4 of the wall: three operators or more with these times
        and len(window) * 10 < 0.4 * (len(window) * 10 + (len(window) - 1) * 25)
    ]
    assert bool(found) == bool(whole)


def test_many_different_windows_do_not_hide_one() -> None:
    """Collisions of buckets: every other window is there once only."""
    rng = np.random.default_rng(3)
    kinds = [f"Op{i}" for i in rng.integers(0, 400, 3000)]
    rows = []
    for i, kind in enumerate(kinds):
        rows.append(row(kind, 10, gap=0))
        if i % 100 == 50:
            rows += loop("Exp Sub Pad Tanh", 1, 10, 60)
    (advice,) = advice_from(rows)["fusible-sequence"]
    assert advice.figures["operators"] == "Exp - Sub - Pad - Tanh"
    assert advice.figures["n_repeats"] == 30


def test_windows_counted_in_parts_are_summed_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusible, "_AT_ONCE", 7)
    rng = np.random.default_rng(3)
    buckets = rng.integers(0, 5, 40).astype(np.int32)
    weights = rng.random(40) * 10.0 ** rng.integers(-8, 8, 40)
    assert fusible._binned(buckets, 6).tolist() == np.bincount(buckets, minlength=6).tolist()
    summed = fusible._binned(buckets, 6, lambda part: weights[part])
    assert summed.tolist() == np.bincount(buckets, weights, 6).tolist()
