"""Source lines of stack.json: they decide between calls alike in all else, and are read for no others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from npulse.core.formats.msprobe.records import Dump, Stacks
from npulse.core.formats.msprobe.stacks import read_stacks
from npulse.core.precision.pairing import EVIDENCE, Beside, pair_auto

from .graphs import Call, Network, dumps, whom

LINE = 10


def projections(order: Sequence[int], *, is_target: bool) -> tuple[list[Call], list[int]]:
    """Projections of one input that only their source lines tell apart, and the line of each call."""
    net = Network()
    x = net.value((4, 8))
    x = net.call("Functional.relu", [x], (4, 8))
    start = len(net.calls)
    for _ in order:
        net.call("Functional.linear", [x, net.value((8, 8))], (4, 8))
    calls = net.calls[:start] + [net.calls[start + k] for k in order]
    lines = [1, *(LINE + k for k in order)]
    if is_target:  # one more call in front, so that all numbers behind it are shifted
        more = Call("extra", "Functional.linear", ((900, (3, 3)), (901, (3, 3))), ((902, (3, 3)),))
        calls, lines = [more, *calls], [2, *lines]
    return calls, lines


def with_stacks(dump: Dump, lines: Sequence[int], moved: int = 0) -> Path:
    path = dump.path.parent / "stack.json"
    names = dump.calls.names
    own = ("File /x/site-packages/torch/f.py, line 5, in f, \n return f()",)
    data = {
        str(k): [
            [name],
            [*own, f"File /any/{len(names)}/model.py, line {n + moved}, in forward, \n x{n} = f(x)"],
        ]
        for k, (name, n) in enumerate(zip(names, lines, strict=True))
    }
    path.write_text(json.dumps(data))
    return path


def beside(paths: Sequence[Path], asked: list[int]) -> Beside:
    def stacks(target: Sequence[str], golden: Sequence[str]) -> tuple[Stacks | None, Stacks | None]:
        asked.append(len(target) + len(golden))
        one, other = (
            read_stacks(path, only=names) for path, names in zip(paths, (target, golden), strict=True)
        )
        return one, other

    return Beside(lambda: (None, None), stacks)


def words(evidence: int) -> list[str]:
    return [word for bit, word in enumerate(EVIDENCE) if evidence >> bit & 1]


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (2, 0, 1), (3, 2, 1, 0)])
def test_calls_that_are_alike_stand_against_those_of_their_line(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    target, lines = projections(order, is_target=True)
    golden, golden_lines = projections(range(len(order)), is_target=False)
    # no value agrees, so content says nothing
    golden = [
        replace(
            c, given=tuple((n + 5000, s) for n, s in c.given), made=tuple((n + 5000, s) for n, s in c.made)
        )
        for c in golden
    ]
    one, other = dumps(tmp_path, target, golden)
    asked: list[int] = []
    paths = [with_stacks(one, lines), with_stacks(other, golden_lines)]
    pairing = pair_auto(one, other, beside(paths, asked))
    found = whom(pairing, target, golden)
    assert sorted(found) == sorted([("extra", ""), *((c.who, c.who) for c in golden)])
    assert asked == [2 * len(order)]  # neither the first call nor the one of other shapes
    assert pairing.evidence is not None and pairing.confidence is not None
    for step in np.flatnonzero((pairing.target_call >= 2) & (pairing.golden_call >= 0)).tolist():
        assert "stack" in words(int(pairing.evidence[step]))
        t, g = int(pairing.target_call[step]), int(pairing.golden_call[step])
        assert pairing.confidence[step] == (1.0 if one.calls.names[t] == other.calls.names[g] else 0.9)


def test_lines_of_code_that_was_changed_say_nothing(tmp_path: Path) -> None:
    target, lines = projections((0, 1), is_target=True)
    golden, golden_lines = projections((0, 1), is_target=False)
    one, other = dumps(tmp_path, target, golden, 1e-3)
    paths = [with_stacks(one, lines), with_stacks(other, golden_lines, moved=1)]
    pairing = pair_auto(one, other, beside(paths, []))
    assert all(t == g for t, g in whom(pairing, target, golden) if t and g)
    assert pairing.evidence is not None
    assert not any("stack" in words(int(bits)) for bits in pairing.evidence)
