"""Every form of the table of fusions against its fused operator; what is to be found is known by making."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from npulse.core.formats.msprobe.names import parse_name
from npulse.core.precision.compare import RankComparison, Settings, compare_captures
from npulse.core.precision.pairing.fusions import table
from npulse.core.precision.pairing.operators import operator_of
from npulse.core.precision.verdict import ERROR, UNKNOWN
from npulse.core.run.sides import pair_of

from ..faulty_net import Fault
from .fusion_cases import CASES, WITH_BACKWARD, case_net
from .step_net import StepNet

KEYS = [pytest.param(key, id=f"{key[0]}-{key[1]}") for key in CASES]
GRADIENTS = [pytest.param(key, id=f"{key[0]}-{key[1]}") for key in WITH_BACKWARD]
SIDES = [pytest.param(True, id="fused target"), pytest.param(False, id="fused golden")]


def compared(folder: Path, target: StepNet, golden: StepNet) -> RankComparison:
    for name, net in (("npu", target), ("cpu", golden)):
        net.write(folder / name / "step0" / "rank", "L1", "tensor", construct=False)
    pair = pair_of(folder / "npu", folder / "cpu")
    (rank,) = compare_captures(pair, Settings(jobs=1, second_read=False)).ranks
    return rank


def groups_of(rank: RankComparison, direction: str) -> list[tuple[object, ...]]:
    """Fusion, calls of the target and of the golden side, of the groups of one direction."""
    found: list[tuple[object, ...]] = []
    for group in rank.rows.pairing.groups:
        calls = [
            [dump.calls.names[c] for c in calls]
            for dump, calls in ((rank.target, group.target_calls), (rank.golden, group.golden_calls))
        ]
        if parse_name(calls[0][0]).direction == direction:
            found.append((group.fusion, *calls))
    return found


def origins(rank: RankComparison) -> list[str]:
    return [rank.rows.pairing.name(rank.target, rank.golden, o.call) for o in rank.roles.origins]


def test_every_form_has_a_case() -> None:
    assert set(CASES) == {(row, number) for row, _, forms in table() for number in range(len(forms))}


@pytest.mark.parametrize("key", KEYS)
def test_a_case_is_of_its_form(key: tuple[str, int]) -> None:
    """The words of the steps, by an expression made of the form's text."""
    (_, fused, forms), number = next(row for row in table() if row[0] == key[0]), key[1]
    pattern = ""
    for part in forms[number].split():
        words = "|".join(map(re.escape, part.rstrip("?+").split("|")))
        pattern += f"(?:(?:{words}) ){part[-1] if part[-1] in '?+' else ''}"
    api = parse_name(f"{CASES[key][0]}.0.forward")
    assert operator_of(api.prefix, api.api) in fused
    for body in case_net(key, is_fused=False, is_golden=True).bodies:
        names = [parse_name(name) for name in body]
        assert re.fullmatch(pattern, "".join(f"{operator_of(n.prefix, n.api)} " for n in names))


@pytest.mark.parametrize("is_fused", SIDES)
@pytest.mark.parametrize("key", KEYS)
def test_a_fusion_is_found_passes_and_is_the_origin_when_it_is_wrong(
    tmp_path: Path, key: tuple[str, int], is_fused: bool
) -> None:
    """Two layers: the first is computed well, in the second the operator (or its last step) is wrong."""
    last = case_net(key, is_fused=is_fused, is_golden=False).bodies[1][-1]
    target = case_net(key, is_fused=is_fused, is_golden=False, fault=Fault("output", last, "scale"))
    golden = case_net(key, is_fused=not is_fused, is_golden=True)
    rank = compared(tmp_path, target, golden)
    pairing = rank.rows.pairing
    expected = [(key[0], one, other) for one, other in zip(target.bodies, golden.bodies, strict=True)]
    assert groups_of(rank, "forward") == expected
    assert (pairing.target_call >= 0).all() and (pairing.golden_call >= 0).all()
    first = [group.call for group in pairing.groups][0]
    rows = np.flatnonzero(
        (pairing.row_call == first) & (pairing.target_leaf >= 0) & (pairing.golden_leaf >= 0)
    )
    assert len(rows) >= 2 and not np.isin(rank.rows.verdict[rows], (ERROR, UNKNOWN)).any()
    assert origins(rank) == [last]


@pytest.mark.parametrize("is_fused", SIDES)
@pytest.mark.parametrize("key", GRADIENTS)
def test_the_backward_of_a_fusion_is_the_origin_when_it_is_wrong(
    tmp_path: Path, key: tuple[str, int], is_fused: bool
) -> None:
    """The backward of the second layer comes first and is computed well; that of the first layer is wrong."""
    first = case_net(key, is_fused=is_fused, is_golden=False).bodies[0][0]
    wrong = first.replace("forward", "backward")  # the first step is the last of the backward
    target = case_net(key, is_fused=is_fused, is_golden=False, fault=Fault("output", wrong, "outlier"))
    golden = case_net(key, is_fused=not is_fused, is_golden=True)
    rank = compared(tmp_path, target, golden)
    expected = [
        (key[0], *([name.replace("forward", "backward") for name in reversed(body)] for body in both))
        for both in zip(reversed(target.bodies), reversed(golden.bodies), strict=True)
    ]
    assert groups_of(rank, "backward") == expected
    behind = [group.call for group in rank.rows.pairing.groups][2]
    of_both = (rank.rows.pairing.target_leaf >= 0) & (rank.rows.pairing.golden_leaf >= 0)
    rows = np.flatnonzero(of_both & (rank.rows.pairing.row_call == behind))
    assert len(rows) >= 2 and not np.isin(rank.rows.verdict[rows], (ERROR, UNKNOWN)).any()
    assert origins(rank) == [wrong]
