"""Mapping files in force: before names and all other evidence; what they name in vain is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.analysis import AnalysisOptions
from npulse.core.errors import UsageError
from npulse.core.formats.msprobe.dump import read_dump
from npulse.core.formats.msprobe.mapping import read_mapping
from npulse.core.formats.msprobe.records import Dump
from npulse.core.precision.by_hand import HandPair, mapping_problems, with_hand_pairs
from npulse.core.precision.by_hand.mapping import with_mappings
from npulse.core.precision.by_hand.mapping_file import mapping_lines
from npulse.core.precision.compare import RankComparison
from npulse.core.precision.pairing import EVIDENCE, Pairing, pair_auto
from npulse.core.precision.role_records import Roles
from npulse.core.precision.rows import new_rows
from npulse.core.precision.run_report import settings_of

from ..faulty_net import api, tensor, write_dump

X, Y, Z = [1.5, 2.0], [3.0, 4.5], [5.0, 7.5]


def both(folder: Path) -> tuple[Dump, Dump]:
    target = {
        "Functional.linear.0.forward": api([tensor(X), tensor(Y)], [tensor(Z)]),
        "Functional.linear.1.forward": api([tensor(Y), tensor(X)], [tensor(Z)]),
        "Mint.foo.0.forward": api([tensor(X), tensor(Y)], [tensor(Y)]),
        "Cell.a.fc.Dense.forward.0": api([tensor(X)], [tensor(Y)]),
    }
    golden = {
        "Functional.linear.0.forward": api([tensor(X), tensor(Y)], [tensor(Z)]),
        "Functional.linear.1.forward": api([tensor(Y), tensor(X)], [tensor(Z)]),
        "Torch.bar.0.forward": api([tensor(Y), tensor(X)], [tensor(Y)]),
        "Module.b.fc.Linear.forward.0": api([tensor(X)], [tensor(Y)]),
    }
    one, other = (
        read_dump(write_dump(folder / side, data) / "dump.json", root=folder)
        for side, data in (("t", target), ("g", golden))
    )
    return one, other


def mapped(folder: Path, text: str) -> tuple[Pairing, Dump, Dump, list[int | None]]:
    target, golden = both(folder)
    (folder / "m.yaml").write_text(text)
    files = [read_mapping(folder / "m.yaml")]
    pairing = with_mappings(pair_auto(target, golden), target, golden, files)
    return pairing, target, golden, [p.line for p in mapping_problems(files, [(target, golden)])]


def leaves(pairing: Pairing, target: Dump, golden: Dump) -> dict[str, str]:
    return {
        target.leaf_name(t): golden.leaf_name(g)
        for t, g in zip(pairing.target_leaf.tolist(), pairing.golden_leaf.tolist(), strict=True)
        if t >= 0 and g >= 0
    }


def why(pairing: Pairing, target: Dump, name: str) -> list[str]:
    assert pairing.evidence is not None
    step = int(pairing.steps_of(len(target.calls.names), is_target=True)[target.calls.names.index(name)])
    return [word for bit, word in enumerate(EVIDENCE) if int(pairing.evidence[step]) >> bit & 1]


def test_leaves_of_a_data_mapping_go_before_equal_names(tmp_path: Path) -> None:
    text = "".join(
        f"Functional.linear.0.forward.{leaf}: Functional.linear.1.forward.{leaf}\n"
        for leaf in ("input.0", "input.1", "output.0")
    )
    pairing, target, golden, lines = mapped(tmp_path, text + "Torch.none.0.forward.input.0: nowhere\n")
    found = leaves(pairing, target, golden)
    assert found["Functional.linear.0.forward.output.0"] == "Functional.linear.1.forward.output.0"
    assert why(pairing, target, "Functional.linear.0.forward") == ["mapping"]
    assert lines == [4, 4]


def test_a_cell_and_an_api_under_other_names(tmp_path: Path) -> None:
    pairing, target, golden, lines = mapped(tmp_path, "a.fc.Dense: b.fc.Linear\nz.Dense: z.Linear\n")
    found = leaves(pairing, target, golden)
    assert found["Cell.a.fc.Dense.forward.0.output.0"] == "Module.b.fc.Linear.forward.0.output.0"
    assert lines == [2, 2]
    text = "- {ms_api: Mint.foo, pt_api: Torch.bar, ms_args: [0, 1], pt_args: [1, 0]}\n"
    pairing, target, golden, lines = mapped(tmp_path, text)
    found = leaves(pairing, target, golden)
    assert found["Mint.foo.0.forward.input.0"] == "Torch.bar.0.forward.input.1"
    assert found["Mint.foo.0.forward.input.1"] == "Torch.bar.0.forward.input.0"
    assert found["Mint.foo.0.forward.output.0"] == "Torch.bar.0.forward.output.0"
    assert lines == [] and "mapping" in why(pairing, target, "Mint.foo.0.forward")


def test_pairs_by_hand_are_kept_as_a_mapping_that_says_the_same(tmp_path: Path) -> None:
    target, golden = both(tmp_path)
    pairs = [
        HandPair(("Functional.linear.0.forward",), ("Functional.linear.1.forward",)),
        HandPair(("Mint.foo.0.forward",), ("Functional.linear.0.forward", "Torch.bar.0.forward")),
    ]
    plain = pair_auto(target, golden)
    by_hand = with_hand_pairs(plain, target, golden, pairs)
    rows = new_rows(by_hand, target, golden)
    rank = RankComparison(0, 0, target, golden, rows, Roles(rows.verdict, rows.verdict), None)
    (tmp_path / "kept.yaml").write_text("".join(mapping_lines([rank], pairs)))
    again = with_mappings(pair_auto(target, golden), target, golden, [read_mapping(tmp_path / "kept.yaml")])
    assert leaves(again, target, golden) == leaves(by_hand, target, golden)
    assert [(g.target_calls, g.golden_calls) for g in again.groups] == [
        (g.target_calls, g.golden_calls) for g in by_hand.groups
    ]


def test_the_way_to_pair_is_one_that_is_known() -> None:
    assert (
        settings_of(AnalysisOptions(pairing="name")).pair_calls
        is not settings_of(AnalysisOptions()).pair_calls
    )
    with pytest.raises(UsageError):
        settings_of(AnalysisOptions(pairing="fuzzy"))
