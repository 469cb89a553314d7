"""Several edits of one graph at once: whatever they are, no call stands against one that it is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from npulse.core.precision.pairing import DOUBTFUL, pair_auto

from .graphs import Call, backward_of, dumps, network

LAYERS, LAYER = 3, 7
NORM, UP, GATE, SILU, MUL, DOWN, ADD = range(LAYER)
SYNONYMS = {
    "Tensor.__add__": "Torch.add",
    "Functional.silu": "NPU.npu_silu",
    "Functional.layer_norm": "Torch.layer_norm",
    "Tensor.__mul__": "Torch.mul",
}


class Edited:
    """A forward that changes edit by edit. members: calls of the original that one of it stands for."""

    def __init__(self, calls: list[Call]) -> None:
        self.calls = list(calls)
        self.members = {call.who: (call.who,) for call in calls}
        self.gone: set[str] = set()
        self.original = list(calls)
        self.n_more = 0

    def at(self, layer: int, place: int) -> int | None:
        who = self.original[layer * LAYER + place].who
        return next((k for k, call in enumerate(self.calls) if call.who == who), None)

    def insert(self, layer: int, place: int) -> None:
        where = self.at(layer, place)
        if where is None:
            return
        self.n_more += 1
        number = 7000 + 10 * self.n_more
        x = self.calls[where].made[0]
        call = Call(
            f"more {self.n_more}", "Functional.linear", (x, (number, (8, 8))), ((number + 1, (4, 8)),)
        )
        self.calls.insert(where + 1, call)

    def delete(self, layer: int, place: int) -> None:
        where = self.at(layer, place)
        if where is not None:
            self.gone.update(self.members.pop(self.calls.pop(where).who))

    def rename(self, layer: int, place: int) -> None:
        where = self.at(layer, place)
        if where is not None:
            call = self.calls[where]
            self.calls[where] = replace(call, api=SYNONYMS.get(call.api, call.api))

    def fuse(self, layer: int, _: int) -> None:
        silu, mul = self.at(layer, SILU), self.at(layer, MUL)
        if silu is None or mul is None:
            return
        first, last = self.calls[silu], self.calls[mul]
        if first.made[0] not in last.given or last.api.startswith("NPU"):
            return
        given = (*first.given, *(value for value in last.given if value not in first.made))
        fused = replace(last, api="NPU.npu_swiglu", given=given, made=last.made)
        self.members[last.who] = (*self.members.pop(first.who), *self.members[last.who])
        self.calls[mul] = fused
        self.calls.pop(silu)

    def move(self, layer: int, _: int) -> None:
        """Two projections of one input, in the other order."""
        up, gate = self.at(layer, UP), self.at(layer, GATE)
        if up is not None and gate is not None:
            self.calls[up], self.calls[gate] = self.calls[gate], self.calls[up]

    def shift(self, layer: int, place: int) -> None:
        """Calls of unlike shapes in front, so that all numbers of the API behind them are others."""
        self.n_more += 1
        number = 7000 + 10 * self.n_more
        api = self.original[layer * LAYER + place].api
        self.calls.insert(0, Call(f"more {self.n_more}", api, ((number, (3, 3)),), ((number + 1, (3, 3)),)))


EDITS = ("insert", "delete", "rename", "fuse", "move", "shift")


@settings(max_examples=20)
@given(
    edits=st.lists(
        st.tuples(st.sampled_from(EDITS), st.integers(0, LAYERS - 1), st.integers(0, LAYER - 1)), max_size=6
    ),
    again=st.sets(st.integers(0, LAYERS - 1)),
    is_marked=st.booleans(),
    is_swapped=st.booleans(),
)
# a linear put where another was taken out, of other shapes: by its number it has the other one's name
@example(edits=[("insert", 1, 0), ("delete", 1, 1)], again=set(), is_marked=False, is_swapped=False)
@example(edits=[("insert", 1, 0), ("delete", 1, 1)], again={1}, is_marked=True, is_swapped=True)
def test_no_pair_is_wrong_and_those_that_are_certain_are_found(
    tmp_path_factory: pytest.TempPathFactory,
    edits: list[tuple[str, int, int]],
    again: set[int],
    is_marked: bool,
    is_swapped: bool,
) -> None:
    plain = network(LAYERS)
    edited = Edited(plain)
    for edit, layer, place in edits:
        getattr(edited, edit)(layer, place)
    forward = [replace(call, is_copy=False if is_marked else None) for call in edited.calls]
    backward = backward_of(forward)
    target = [*forward, *backward[:1]]
    for layer in sorted(again, reverse=True):  # the backward goes from the end
        own = {call.who for call in plain[layer * LAYER : (layer + 1) * LAYER]}
        copies = [c for c in forward if c.who in own]
        target += [replace(c, who=f"{c.who} again", is_copy=True if is_marked else None) for c in copies]
    target += backward[1:]
    golden = plain + backward_of(plain)
    sides = (golden, target) if is_swapped else (target, golden)
    pairing = pair_auto(*dumps(tmp_path_factory.mktemp("mixed"), *sides))

    members = dict(edited.members)
    members |= {f"{who} backward": tuple(f"{m} backward" for m in of) for who, of in edited.members.items()}
    found: set[str] = set()
    for step in range(pairing.n_calls):
        ends = [
            [side[c].who.removesuffix(" again") for c in pairing.members(step, is_target=is_target)]
            for side, is_target in zip(sides, (True, False), strict=True)
        ]
        of_edited, of_plain = reversed(ends) if is_swapped else ends
        if not of_edited or not of_plain:
            continue
        group = pairing.group_of(step)
        is_instead = (
            all(who.startswith("more") for who in of_edited)
            and {who.removesuffix(" backward") for who in of_plain} <= edited.gone
        )
        if group is not None and not group.fusion and is_instead and pairing.confidence is not None:
            # calls put where others were taken out, with the same ends: told as what they may stand for
            assert pairing.confidence[step] == DOUBTFUL
            continue
        meant = {m for who in of_edited for m in members.get(who, (f"nothing for {who}",))}
        assert meant == set(of_plain), (of_edited, of_plain)
        found |= meant
    touched = {plain[layer * LAYER + place].who for _, layer, place in edits}
    touched |= {
        plain[layer * LAYER + place].who
        for edit, layer, _ in edits
        for place in {"fuse": (SILU, MUL), "move": (UP, GATE)}.get(edit, ())
    }
    # each forward that nothing was done to is the same by all its values
    assert {call.who for call in plain} - touched <= found
    if pairing.confidence is not None:
        both = (pairing.target_call >= 0) & (pairing.golden_call >= 0)
        assert not np.isnan(pairing.confidence[both]).any()
