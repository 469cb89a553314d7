"""Mapping files written of a pairing: read again and applied, the pairing is the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from npulse.core.errors import InputError
from npulse.core.formats.msprobe.dump import read_dump
from npulse.core.formats.msprobe.mapping import ApiEntry, read_mapping
from npulse.core.formats.msprobe.mapping_write import api_lines, group_line, renamed_lines
from npulse.core.formats.msprobe.records import Dump
from npulse.core.precision.by_hand.mapping import mapping_problems, with_mappings
from npulse.core.precision.by_hand.mapping_write import write_mapping
from npulse.core.precision.pairing import Pairing, pair_auto, pair_by_name

from ..faulty_net import api, tensor, write_dump
from ..pairing.graphs import Call, dumps, network

NAMES = st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=12)
PLACES = st.lists(st.tuples(*[st.integers(0, 9).map(str)] * 2), min_size=1, max_size=3).map(tuple)


def what_stands_together(pairing: Pairing) -> tuple[set[tuple[object, ...]], set[tuple[int, int]]]:
    calls = {
        (pairing.members(step, is_target=True), pairing.members(step, is_target=False))
        for step in range(pairing.n_calls)
    }
    leaves = set(zip(pairing.target_leaf.tolist(), pairing.golden_leaf.tolist(), strict=True))
    return calls, leaves


@settings(max_examples=12)
@given(at=st.lists(st.integers(0, 12), max_size=3), gone=st.integers(0, 13), is_moved=st.booleans())
def test_a_data_mapping_pairs_by_names_what_the_alignment_found(
    tmp_path_factory: pytest.TempPathFactory, at: list[int], gone: int, is_moved: bool
) -> None:
    folder = tmp_path_factory.mktemp("data")
    golden = network(2)
    target = golden[:gone] + golden[gone + 1 :]
    for k, place in enumerate(at):
        shape = (4, 8)
        more = Call(f"more {k}", "Functional.linear", ((800 + k, shape),), ((850 + k, shape),))
        target.insert(place, more)
    if is_moved:
        golden[1], golden[2] = golden[2], golden[1]
    one, other = dumps(folder, target, golden)
    pairing = pair_auto(one, other)
    path = folder / "map.yaml"
    write_mapping(path, [(pairing, one, other)], [one.path.parent])
    files = [read_mapping(path)]
    assert mapping_problems(files, [(one, other)]) == []
    again = with_mappings(pair_by_name(one, other), one, other, files)
    assert what_stands_together(again) == what_stands_together(pairing)
    auto = with_mappings(pairing, one, other, files)
    assert what_stands_together(auto) == what_stands_together(pairing)


def two_frameworks(folder: Path) -> tuple[Dump, Dump]:
    x, y, z = ([1.5, 2.0], [3.0, 4.5], [5.0, 7.5])
    sides = (
        {
            "Cell.a.fc.Dense.forward.0": api([tensor(x)], [tensor(y)]),
            "Mint.matmul.0.forward": api([tensor(y), tensor(x)], [tensor(z)]),
        },
        {
            "Module.a.fc.Linear.forward.0": api([tensor(x)], [tensor(y)]),
            "Torch.mm.0.forward": api([tensor(y), tensor(x)], [tensor(z)]),
        },
    )
    one, other = (
        read_dump(write_dump(folder / side, data) / "dump.json", root=folder)
        for side, data in zip("tg", sides, strict=True)
    )
    return one, other


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cell.yaml", {"a.fc.Dense": "a.fc.Linear"}),
        (
            "api_mapping.yaml",
            [
                {
                    "ms_api": "Mint.matmul",
                    "pt_api": "Torch.mm",
                    "ms_args": [0, 1],
                    "pt_args": [0, 1],
                    "ms_outputs": [0],
                    "pt_outputs": [0],
                }
            ],
        ),
    ],
)
def test_cells_and_apis_in_the_form_of_msprobe(tmp_path: Path, name: str, said: object) -> None:
    one, other = two_frameworks(tmp_path)
    apart = pair_by_name(one, other)
    assert apart.n_calls == 4
    n = np.arange(2)
    hand = with_mappings(apart, one, other, [read_mapping(_hand(tmp_path))])
    assert np.array_equal(hand.target_call, n) and np.array_equal(hand.golden_call, n)
    write_mapping(tmp_path / name, [(hand, one, other)], [tmp_path / "t"])
    assert yaml.safe_load((tmp_path / name).read_text()) == said
    again = with_mappings(apart, one, other, [read_mapping(tmp_path / name)])
    kept = 0 if "cell" in name else 1
    assert (kept, kept) in set(zip(again.target_call.tolist(), again.golden_call.tolist(), strict=True))


def _hand(folder: Path) -> Path:
    path = folder / "hand.yaml"
    pairs = (
        ("Cell.a.fc.Dense.forward.0", "Module.a.fc.Linear.forward.0"),
        ("Mint.matmul.0.forward", "Torch.mm.0.forward"),
    )
    path.write_text("".join(group_line([t], [g]) for t, g in pairs))
    return path


def test_nothing_is_written_over_a_file_or_into_a_run(tmp_path: Path) -> None:
    one, other = two_frameworks(tmp_path)
    paired = [(pair_by_name(one, other), one, other)]
    there = tmp_path / "there.yaml"
    there.write_text("mine")
    with pytest.raises(InputError):
        write_mapping(there, paired, [])
    assert there.read_text() == "mine"
    with pytest.raises(InputError):
        write_mapping(tmp_path / "t" / "new.yaml", paired, [tmp_path / "t"])
    assert not (tmp_path / "t" / "new.yaml").exists()


@given(names=st.dictionaries(NAMES, NAMES, min_size=1, max_size=5), args=PLACES)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, names: dict[str, str], args: tuple[tuple[str, str], ...]
) -> None:
    path = tmp_path_factory.mktemp("lines") / "m.yaml"
    path.write_text("".join(renamed_lines(names.items())), encoding="utf-8")
    found = read_mapping(path)
    assert {e.target: e.golden for e in (*found.data, *found.cells)} == names and found.problems == ()
    entries = [ApiEntry(t, g, 0, {"args": args}) for t, g in names.items()]
    path.write_text("".join(api_lines(entries)), encoding="utf-8")
    found = read_mapping(path)
    assert [(e.target, e.golden, e.lists) for e in found.apis] == [
        (e.target, e.golden, e.lists) for e in entries
    ]
