"""Names of a dump's leaves as the labels of a table's column."""

from __future__ import annotations

from npulse.core.dataclass import dataclass
from npulse.core.formats.msprobe.records import Dump
from npulse.core.table import Labels


@dataclass(frozen=True, slots=True)
class LeafNames(Labels):
    """Full leaf names of a dump, by leaf row."""

    dump: Dump

    def __len__(self) -> int:
        return len(self.dump.leaves.call)

    def label(self, index: int) -> str:
        return self.dump.leaf_name(index)
