"""Where the backward of a group is compared: the gradient of each tensor at which its forward is.

What several steps read has a gradient that no step makes alone: they add up outside of all calls. There the
sum is found where it is read, in the backward of the call that made the tensor.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npulse.core.dataclass import dataclass
from npulse.core.formats.msprobe.records import OUTPUT, TENSOR

from .keys import BACKWARD, Keys
from .links import Feeding
from .model import Ints


@dataclass(frozen=True, slots=True)
class GroupCalls:
    """The forwards of a group and their backwards, of one side; call rows in execution order."""

    forward: tuple[int, ...]
    backward: tuple[int, ...]


class Gradients:
    """The backward of one side's calls; a class because its look-up is made once."""

    def __init__(self, feeding: Feeding, keys: Keys, copies: Ints) -> None:
        self._feeding, self._keys = feeding, keys
        self._backward: dict[int, int] = {}
        for call in np.flatnonzero((keys.direction == BACKWARD) & ~keys.is_module).tolist():
            self._backward.setdefault(int(keys.base[call]), call)
        # what was computed again has its backward under the number of the copy
        for copy in np.flatnonzero(copies >= 0).tolist():
            backward = self._backward.get(int(keys.base[copy]))
            if backward is not None:
                self._backward.setdefault(int(keys.base[copies[copy]]), backward)

    def of(self, leaf: int, calls: GroupCalls) -> int:
        """The leaf with the gradient of a tensor that a group is given or hands on; -1 where none has it."""
        dump = self._feeding.dump
        if dump.leaves.side[leaf] == OUTPUT:
            return self._of_output(leaf, calls)
        return self._of_input(leaf, calls)

    def _of_output(self, leaf: int, calls: GroupCalls) -> int:
        """Unless a step of the group reads it as well: its gradient is that of both."""
        if any(self._reads(call, leaf) for call in calls.forward):
            return -1
        return self._given(leaf, self._feeding.shape(leaf))

    def _given(self, leaf: int, shape: tuple[int, ...] | None) -> int:
        """What the backward of a tensor's maker is given: output k of the one is input k of the other."""
        feeding, leaves = self._feeding, self._feeding.dump.leaves
        backward = self._backward_of(int(leaves.call[leaf]))
        if backward < 0:
            return -1
        wanted = leaves.io_names[int(leaves.io[leaf])].replace("output", "input")
        return next(
            (
                row
                for row in feeding.reads(backward)
                if leaves.io_names[int(leaves.io[row])] == wanted and feeding.shape(row) == shape
            ),
            -1,
        )

    def _of_input(self, leaf: int, calls: GroupCalls) -> int:
        feeding = self._feeding
        alike = [row for call in calls.forward for row in self._reads(call, leaf)]
        # K transposed has the content of K, but a step of the group made it
        alike = [row for row in alike if row == leaf or not self._is_made_by(row, calls.forward)]
        if len(alike) == 1:
            return self._made(int(feeding.dump.leaves.call[leaf]), leaf)
        maker = int(feeding.producers[leaf])
        if maker < 0 or not self._is_read_inside_alone(maker, calls.forward):
            return -1
        return self._given(maker, feeding.shape(leaf))

    def _is_made_by(self, leaf: int, calls: Sequence[int]) -> bool:
        maker = int(self._feeding.producers[leaf])
        return maker >= 0 and int(self._feeding.dump.leaves.call[maker]) in calls

    def _is_read_inside_alone(self, leaf: int, calls: Sequence[int]) -> bool:
        readers = (call for call in self._feeding.readers(leaf) if not self._keys.is_module[call])
        return all(call in calls or self._keys.direction[call] == BACKWARD for call in readers)

    def _reads(self, call: int, leaf: int) -> list[int]:
        """The tensors of a call that are, or might be, the same as one of the group's."""
        feeding = self._feeding
        code, shape = int(feeding.content[leaf]), feeding.shape(leaf)
        found = []
        for row in feeding.reads(call):
            other = int(feeding.content[row])
            if row == leaf or (code == other if code and other else not code and feeding.shape(row) == shape):
                found.append(row)
        return found

    def _made(self, forward: int, leaf: int) -> int:
        """The output of a backward that belongs to one input of its forward: by its place, else by shape."""
        feeding, leaves = self._feeding, self._feeding.dump.leaves
        backward = self._backward_of(forward)
        if backward < 0:
            return -1
        given, shape = feeding.reads(forward), feeding.shape(leaf)
        made = [row for row in feeding.dump.leaf_range(backward) if leaves.side[row] == OUTPUT]
        for places in (given, [*feeding.dump.leaf_range(forward)]):
            if len(places) == len(made):
                found = made[places.index(leaf)]
                if leaves.kind[found] == TENSOR and feeding.shape(found) == shape:
                    return found
        same = [row for row in given if feeding.shape(row) == shape]
        there = [row for row in made if leaves.kind[row] == TENSOR and feeding.shape(row) == shape]
        return there[same.index(leaf)] if len(same) == len(there) else -1

    def _backward_of(self, forward: int) -> int:
        return self._backward.get(int(self._keys.base[forward]), -1)


def gradient_pairs(
    feeding: tuple[Feeding, Feeding],
    gradients: tuple[Gradients, Gradients],
    pairs: Sequence[tuple[int, int]],
    target: GroupCalls,
    golden: GroupCalls,
) -> list[tuple[int, int]]:
    """Leaf rows of a group's backward by those of its forward (`pairs`): what it is given, what it makes.

    What the fused call has and no step stands alone, with -1; not what some other call has made, where it is
    compared.
    """
    found: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for t, g in pairs:
        both = (gradients[0].of(t, target), gradients[1].of(g, golden)) if min(t, g) >= 0 else (-1, -1)
        if min(both) >= 0:
            found[int(feeding[0].dump.leaves.side[t] != OUTPUT)].append(both)
    for side, calls in enumerate((target, golden)):
        if len(calls.backward) > 1:
            continue
        known = {pair[side] for pair in (*found[0], *found[1])}
        fed, (fused,) = feeding[side], calls.backward
        lone = [row for row in fed.reads(fused) if fed.producers[row] < 0], fed.writes(fused)
        for rows, more in zip(found, lone, strict=True):
            rows += [(row, -1) if side == 0 else (-1, row) for row in more if row not in known]
    return [*found[0], *found[1]]
