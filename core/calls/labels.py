"""Names of a dump's leaves and calls as columns of a table: made when asked for, never all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from npulse.core.formats.msprobe.records import Dump


@dataclass(frozen=True, slots=True)
class LeafNames(Sequence[str]):
    """Full leaf names of a dump made when asked for: half a million strings need not exist at once."""

    dump: Dump

    def __len__(self) -> int:
        return len(self.dump.leaves.call)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self.dump.leaf_name(i) for i in range(*index.indices(len(self)))]
        return self.dump.leaf_name(index)
