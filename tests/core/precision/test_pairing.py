"""Which call stands against which, in what order, and which leaf against which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.msprobe.dump import read_dump
from npulse.core.formats.msprobe.records import Dump
from npulse.core.precision.pairing import Pairing, by_name, pair_by_name

from .faulty_net import api, number, tensor, write_dump

X = [1.0, 2.0]


def paired(folder: Path, target: dict[str, Any], golden: dict[str, Any]) -> tuple[Pairing, Dump, Dump]:
    dumps = [
        read_dump(write_dump(folder / side, data) / "dump.json", root=folder)
        for side, data in (("t", target), ("g", golden))
    ]
    return pair_by_name(dumps[0], dumps[1]), dumps[0], dumps[1]


def calls(folder: Path, target: list[str], golden: list[str]) -> list[tuple[str, str]]:
    """(target name, golden name) of the sequence, "" where a side has none."""
    entries = [{name: api([tensor(X)], [tensor(X)]) for name in names} for names in (target, golden)]
    pairing, t, g = paired(folder, *entries)
    return [
        (t.calls.names[int(a)] if a >= 0 else "", g.calls.names[int(b)] if b >= 0 else "")
        for a, b in zip(pairing.target_call, pairing.golden_call, strict=True)
    ]


A, B, C, D = (f"Torch.{word}.0.forward" for word in ("abs", "exp", "sin", "cos"))


@pytest.mark.parametrize(
    ("target", "golden", "want"),
    [
        ([A, B], [A, B], [(A, A), (B, B)]),
        ([A, C, B], [A, B], [(A, A), (C, ""), (B, B)]),
        ([A, B], [A, C, B], [(A, A), ("", C), (B, B)]),
        ([A, B], [C, D, A, B], [("", C), ("", D), (A, A), (B, B)]),
        ([A], [A, C, D], [(A, A), ("", C), ("", D)]),
        ([C, A], [A, D], [(C, ""), (A, A), ("", D)]),
        # another order: that of the target counts, and nothing is lost
        ([A, B, C], [B, A, D, C], [(A, A), ("", D), (B, B), (C, C)]),
        ([], [A], [("", A)]),
        ([A], [], [(A, "")]),
        ([], [], []),
    ],
)
def test_calls_of_one_side_keep_their_place(
    tmp_path: Path, target: list[str], golden: list[str], want: list[tuple[str, str]]
) -> None:
    assert calls(tmp_path, target, golden) == want


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.lists(st.sampled_from("abcdefgh"), unique=True))
def test_every_call_of_both_sides_stands_in_the_sequence_once(
    tmp_path_factory: pytest.TempPathFactory, target: list[str], golden: list[str]
) -> None:
    full = [[f"Torch.{x}.0.forward" for x in side] for side in (target, golden)]
    found = calls(tmp_path_factory.mktemp("pair"), *full)
    assert [t for t, _ in found if t] == full[0]
    assert sorted(g for _, g in found if g) == sorted(full[1])
    assert all(not t or not g or t == g for t, g in found)
    both = set(full[0]) & set(full[1])
    assert {t for t, g in found if t and g} == both


def test_gradients_with_and_without_index_are_the_same(tmp_path: Path) -> None:
    old, new = "Module.fc.Linear.parameters_grad", "Module.fc.Linear.parameters_grad.0"
    forward = "Module.fc.Linear.forward.0"
    for target, golden in ((old, new), (new, old), (old, old), (new, new)):
        entries = [{name: {"weight": [tensor(X)]}, forward: api([], [])} for name in (target, golden)]
        pairing, t, g = paired(tmp_path, *entries)
        assert sorted(zip(pairing.target_call.tolist(), pairing.golden_call.tolist(), strict=True)) == [
            (0, 0),
            (1, 1),
        ]
        assert pairing.n_rows == 1
        assert (t.leaf_name(0), g.leaf_name(0)) == (f"{target}.weight", f"{golden}.weight")


def test_gradients_without_index_come_last(tmp_path: Path) -> None:
    """Versions before 26 write them behind the forward, long before they exist."""
    names = ["Module.a.Linear.forward.0", "Module.a.Linear.parameters_grad", "Module.b.Linear.forward.0"]
    assert [t for t, _ in calls(tmp_path, names, names)] == [names[0], names[2], names[1]]
    alone = calls(tmp_path, [names[0]], names)
    assert [g for _, g in alone] == [names[0], names[2], names[1]]
    numbered = [name + ".0" if name.endswith("grad") else name for name in names]
    assert [t for t, _ in calls(tmp_path, numbered, numbered)] == numbered


def test_leaves_pair_by_what_they_are(tmp_path: Path) -> None:
    target = api([tensor(X), number(3), tensor(X)], [tensor(X)], dim=number(1), mask=tensor(X))
    golden = api([tensor(X), number(3)], [tensor(X), tensor(X)], dim=number(1), eps=number(0.5))
    pairing, t, g = paired(tmp_path, {A: target}, {A: golden})
    found = [
        (t.leaf(int(a)).io if a >= 0 else "", g.leaf(int(b)).io if b >= 0 else "")
        for a, b in zip(pairing.target_leaf, pairing.golden_leaf, strict=True)
    ]
    assert found == [
        ("input 0", "input 0"),
        ("input 1", "input 1"),
        ("input 2", ""),
        ("kwargs dim", "kwargs dim"),
        ("kwargs mask", ""),
        ("output 0", "output 0"),
        ("", "kwargs eps"),
        ("", "output 1"),
    ]
    assert set(pairing.row_call.tolist()) == {0}


def test_rows_without_any_value_are_left_out(tmp_path: Path) -> None:
    device = {"type": "torch.device", "value": "npu:0"}
    target = api([None, None, device, tensor(X), None], [tensor(X)])
    golden = api([None, number(2), device, tensor(X)], [tensor(X)])
    pairing, t, _ = paired(tmp_path, {A: target}, {A: golden})
    assert [t.leaf(int(a)).io for a in pairing.target_leaf] == ["input 1", "input 3", "output 0"]


def test_the_name_is_the_targets(tmp_path: Path) -> None:
    old, new = "Module.fc.Linear.parameters_grad", "Module.fc.Linear.parameters_grad.0"
    pairing, t, g = paired(
        tmp_path, {new: {"weight": [tensor(X)]}}, {old: {"weight": [tensor(X)]}, A: api([], [])}
    )
    assert [pairing.name(t, g, i) for i in range(pairing.n_calls)] == [new, A]


def test_equal_columns_give_the_pairing_that_names_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def body(*outputs: str) -> dict[str, Any]:
        tensor = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1.0}
        return {
            "input_args": [tensor, {"type": "torch.device", "value": "npu:0"}, [tensor, None]],
            "input_kwargs": {"eps": {"type": "float", "value": 1.0}},
            "output": [{**tensor, "data_name": name} for name in outputs],
        }

    data = {
        "Functional.a.0.forward": body("x"),
        "Functional.a.1.forward": body("y", "z"),
        "Tensor.b.0.forward": {},
    }
    fast, target, golden = paired(tmp_path / "fast", data, data)
    alike = by_name.pair_alike
    assert alike(target, golden) is not None
    monkeypatch.setattr(by_name, "pair_alike", lambda target, golden: None)
    slow, _, _ = paired(tmp_path / "slow", data, data)
    for field in ("target_call", "golden_call", "row_call", "target_leaf", "golden_leaf"):
        assert getattr(fast, field).tolist() == getattr(slow, field).tolist(), field
        assert getattr(fast, field).dtype == getattr(slow, field).dtype
    other = {**data, "Functional.a.1.forward": body("y")}
    assert paired(tmp_path / "other", data, other)[0].n_rows == slow.n_rows
    assert alike(target, paired(tmp_path / "more", data, other)[2]) is None
