"""Where a value comes from: its producer, the calls of one side alone in between, the modules around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from npulse.core.calls.apis import HARMLESS
from npulse.core.dataclass import dataclass
from npulse.core.formats.msprobe.construct import MAX_MODULE_DEPTH, ancestors
from npulse.core.formats.msprobe.names import parse_name
from npulse.core.formats.msprobe.records import INPUT, KWARGS, OUTPUT, TENSOR, CallName, Construct, Dump

from .links import Links
from .rows import Rows

ModuleKey = tuple[str, str, int] | str
"""Path, direction and number of a module call; the full name of anything else."""

TARGET, GOLDEN = range(2)


@dataclass(frozen=True, slots=True)
class Source:
    """A leaf that holds what was read, behind all calls of one side alone that only hand content on.

    leaf, call, row: in its dump, in the sequence, in the comparison; -1 where there is none. passed: calls
    of one side alone on the way, the one nearest to the reader first.
    """

    leaf: int = -1
    call: int = -1
    row: int = -1
    passed: tuple[int, ...] = ()


_NO_SOURCE = Source()


class Upstream:
    """Look-ups of one rank and step; a class because they share the tables of both dumps."""

    def __init__(self, rows: Rows, links: Links, construct: Construct | None) -> None:
        self._rows, self._pairing = rows, rows.pairing
        self._dumps = (rows.target, rows.golden)
        self._producers = (links.target, links.golden)
        self._rows_of = (links.row_of_target, links.row_of_golden)
        self._contents = (links.content_target, links.content_golden)
        self._leaf_of = (self._pairing.target_leaf, self._pairing.golden_leaf)
        self._sequence = (self._pairing.target_call, self._pairing.golden_call)
        self._call_of = tuple(
            self._pairing.steps_of(len(dump.calls.names), is_target=side == TARGET)
            for side, dump in enumerate(self._dumps)
        )
        self._construct = construct
        self._names: dict[int, CallName] = {}
        self._around: dict[int, tuple[ModuleKey, ...]] = {}
        self._keys: dict[str, ModuleKey] = {}
        self._cleared: set[int] = set()
        self._suspects: list[int] = []
        self._forward_alone: dict[str, int] = {}
        self._suspects_inside: dict[ModuleKey, list[int]] = {}
        self.alone: npt.NDArray[np.bool_] = (self._sequence[0] < 0) | (self._sequence[1] < 0)
        self._has_alone = bool(self.alone.any())

    # -- names and modules ----------------------------------------------------------------------

    def name(self, call: int) -> CallName:
        """The call's name taken apart (that of the target where both sides have it)."""
        found = self._names.get(call)
        if found is None:
            found = parse_name(self._pairing.name(self._rows.target, self._rows.golden, call))
            self._names[call] = found
        return found

    def name_of_leaf(self, row: int) -> CallName:
        """The name of the call that a row's leaf belongs to: in a group not the one that names the group."""
        t = int(self._leaf_of[TARGET][row])
        side, leaf = (TARGET, t) if t >= 0 else (GOLDEN, int(self._leaf_of[GOLDEN][row]))
        return parse_name(self._dumps[side].calls.names[int(self._dumps[side].leaves.call[leaf])])

    def is_in_construct(self, call: int) -> bool:
        return self._construct is not None and self.name(call).full in self._construct.parents

    def around(self, call: int) -> tuple[ModuleKey, ...]:
        """Keys of what encloses a call, innermost first: by construct.json, else by the module's path."""
        found = self._around.get(call)
        if found is None:
            found = tuple(dict.fromkeys(self._enclosing(self.name(call))))
            self._around[call] = found
        return found

    def _enclosing(self, name: CallName) -> Iterator[ModuleKey]:
        recorded = list(ancestors(self._construct, name.full)) if self._construct is not None else []
        for parent in recorded:
            key = self._keys.get(parent)
            if key is None:
                key = self._keys[parent] = module_key(parse_name(parent))
            yield key
        if name.path and len(recorded) <= (name.direction == "grad"):
            direction = "backward" if name.direction == "grad" else name.direction
            path = name.path
            if name.direction == "grad":
                yield path, direction, name.number or 0
            for _ in range(min(path.count("."), MAX_MODULE_DEPTH)):
                path = path.rpartition(".")[0]
                yield path, direction, name.number or 0

    # -- producers ------------------------------------------------------------------------------

    def sources(self, row: int) -> tuple[Source, Source]:
        """Where target and golden side of an input row come from."""
        return self._source(TARGET, row), self._source(GOLDEN, row)

    def _source(self, side: int, row: int) -> Source:
        reader = self._leaf_of[side].item(row)
        leaf = self._producers[side].item(reader) if reader >= 0 else -1
        if leaf < 0:
            return _NO_SOURCE
        passed: list[int] = []
        while leaf >= 0:
            call = self._call_of_leaf(side, leaf)
            if call < 0:
                break
            if not self.alone[call]:
                return Source(leaf, call, int(self._rows_of[side][leaf]), tuple(passed))
            before = int(self._producers[side][leaf])
            if before < 0 and not self._is_handed_on(side, leaf, call):
                return Source(leaf, call, int(self._rows_of[side][leaf]), (*passed, call))
            passed.append(call)
            leaf = before
        return Source(passed=tuple(passed))

    def _call_of_leaf(self, side: int, leaf: int) -> int:
        row = int(self._rows_of[side][leaf])
        if row >= 0:
            return int(self._pairing.row_call[row])
        return int(self._call_of[side][self._dumps[side].leaves.call[leaf]])

    def _is_handed_on(self, side: int, leaf: int, call: int) -> bool:
        """True if an output holds what its own call was given (a copy of data that no call produced)."""
        content, code = self._contents[side], self._contents[side][leaf]
        if code < 0:
            return False
        return any(content[other] == code for other in self._given(side, call))

    def _given(self, side: int, call: int) -> Iterator[int]:
        dump: Dump = self._dumps[side]
        for index in self._pairing.members(call, is_target=side == TARGET):
            for leaf in dump.leaf_range(index):
                if dump.leaves.side[leaf] in (INPUT, KWARGS):
                    yield leaf

    # -- calls of one side alone ----------------------------------------------------------------

    def clear(self, row: int) -> None:
        """An input agrees: the calls of one side alone that it was made of change nothing that matters."""
        if not self._has_alone:
            return
        for side in (TARGET, GOLDEN):
            reader = int(self._leaf_of[side][row])
            leaf = int(self._producers[side][reader]) if reader >= 0 else -1
            if leaf >= 0:
                self._clear(side, self._call_of_leaf(side, leaf))

    def _clear(self, side: int, call: int) -> None:
        waiting = [call]
        while waiting:
            call = waiting.pop()
            if not self.alone[call] or call in self._cleared:
                continue
            self._cleared.add(call)
            for leaf in self._given(side, call):
                producer = int(self._producers[side][leaf])
                if producer >= 0:
                    waiting.append(self._call_of_leaf(side, producer))

    def is_cleared(self, call: int) -> bool:
        return call in self._cleared

    def fed_by(self, call: int, is_bad: Callable[[int], bool]) -> int | None:
        """What a call of one side alone was made of: the call of a bad row, -1 where all is known to agree.

        None where an input of it has no known producer.
        """
        side = TARGET if self._sequence[TARGET][call] >= 0 else GOLDEN
        waiting, seen = [call], {call}
        is_known = True
        while waiting:
            for leaf in self._given(side, waiting.pop()):
                if self._dumps[side].leaves.kind[leaf] != TENSOR:
                    continue
                producer = int(self._producers[side][leaf])
                if producer < 0:
                    is_known = False
                    continue
                made_by, row = self._call_of_leaf(side, producer), int(self._rows_of[side][producer])
                if row >= 0 and is_bad(row):
                    return made_by
                if self.alone[made_by] and made_by not in self._cleared and made_by not in seen:
                    seen.add(made_by)
                    waiting.append(made_by)
        return -1 if is_known else None

    def guilty_on_the_way(self, target: Source, golden: Source) -> int:
        """The call of one side alone through which a bad input came, or -1."""
        for side, source in ((TARGET, target), (GOLDEN, golden)):
            for call in source.passed:
                made_it = call == source.call
                if call in self._cleared or self.is_harmless(call):
                    continue
                # a module only closes behind what lies in it; equal checksums prove a copy
                copied = self.name(call).kind == "module" or self._has_checksums(side, call)
                if made_it or not copied:
                    return call
        return -1

    def _has_checksums(self, side: int, call: int) -> bool:
        leaves = self._dumps[side].leaves
        span = self._dumps[side].leaf_range(int(self._sequence[side][call]))
        return any(leaves.side[leaf] == OUTPUT and leaves.checksum[leaf] >= 0 for leaf in span)

    def is_harmless(self, call: int) -> bool:
        return self.name(call).api in HARMLESS

    def pass_alone(self, call: int) -> None:
        """The walk passes a call of one side alone: from now on it may be what changed a value."""
        if self.is_harmless(call):
            return
        if self.name(call).direction == "forward":
            self._forward_alone.setdefault(base_of(self.name(call)), call)
        if self.name(call).kind != "grad":
            self._suspects.append(call)
        for key in self.around(call):
            self._suspects_inside.setdefault(key, []).append(call)

    def forward_of(self, call: int) -> int:
        """The forward of a backward where one side alone has both: that is what should not be there."""
        name = self.name(call)
        return self._forward_alone.get(base_of(name), call) if name.direction == "backward" else call

    def last_suspect(self, inside: ModuleKey | None = None) -> int:
        """The last passed call of one side alone (in a module) of which nothing is known to agree, or -1."""
        calls = self._suspects if inside is None else self._suspects_inside.get(inside, [])
        while calls and calls[-1] in self._cleared:
            calls.pop()
        return calls[-1] if calls else -1


def base_of(name: CallName) -> str:
    """What a forward, its backward and its parameters_grad have in common."""
    if name.path:
        return f"{name.prefix}.{name.path}.{name.cls}"
    return f"{name.prefix}.{name.api}.{name.number}"


def module_key(name: CallName) -> ModuleKey:
    """What a module call is found by, whether construct.json or a path names it."""
    return (name.path, name.direction, name.number or 0) if name.kind == "module" else name.full
