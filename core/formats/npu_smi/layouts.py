"""Which of the layouts a table has: by the words of its head lines, never by column numbers.

Only names of layouts that have the same words (L1, L1-narrow, L1') come from widths; nothing is read by them.
"""

from __future__ import annotations


def layout_of(first: str, second: str, processes: str) -> str:
    """first, second: both head lines; processes: the head of the processes, "" where there is none."""
    cells = first.strip().strip("|").split("|")
    if len(cells) >= 4:
        return "950"
    if "Device" in second:
        return "310P"
    width = max(len(first.strip()) - 2, 0)
    is_l2 = "in container" in processes or (not processes and width >= 110)
    if "Phy-ID" in second:
        return "A3-L2" if is_l2 else "A3-L1"
    if is_l2:
        return "L2"
    if "Hugepages" not in first:
        return "L0"
    if len(cells[0]) < 25:
        return "L1-narrow"
    return "L1'" if width == 97 else "L1"
