"""Words and drawings of the faults of real logs: all that tools tell is known, figures agree with the log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from npulse.core.memory.advice import gap_text, next_step, why
from npulse.core.memory.drawing import draw
from npulse.core.memory.faults import Block, Fault
from npulse.core.memory.hints import alignment, reach
from npulse.core.memory.kind_texts import GAPS
from npulse.core.memory.logs import FaultLog


@pytest.fixture(scope="module")
def logs(shared: Path) -> list[Path]:
    """Every sanitizer log, plog and transcript of the samples."""
    found = sorted((shared / "samples" / "sanitizer").rglob("*.log*"))
    assert len(found) > 150
    return found


@pytest.fixture(scope="module")
def faults(logs: list[Path]) -> list[tuple[Path, Fault]]:
    return [(path, fault) for path in logs for batch in FaultLog(path).faults() for fault in batch]


def test_every_fault_of_a_real_log_has_words_of_its_own(faults: list[tuple[Path, Fault]]) -> None:
    assert len(faults) > 300
    strange = Counter(f.kind for _, f in faults if f"reports {f.kind}" in why(f, "en"))
    assert not strange
    for path, fault in faults:
        for lang in ("en", "zh"):
            assert why(fault, lang) and next_step(fault, lang), (path, fault.line)


def test_addresses_in_words_stand_in_the_log(faults: list[tuple[Path, Fault]]) -> None:
    seen = 0
    for path, fault in faults:
        if fault.tool not in ("msSanitizer", "AddressSanitizer"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        written = {int(n, 16) for n in re.findall(r"0x[0-9a-fA-F]+", text)}
        for address in re.findall(r"\bat (0x[0-9a-f]+)", why(fault, "en")):
            assert int(address, 16) in written, (path, fault.line, address)
            seen += 1
    assert seen > 50


def told_by_the_log(block: Block | None) -> Iterator[tuple[Block, int]]:
    if (
        block is not None
        and block.distance_bytes is not None
        and block.side is not None
        and block.start is not None
    ):
        yield block, block.distance_bytes


def test_distances_by_addresses_are_those_that_the_tools_tell(faults: list[tuple[Path, Fault]]) -> None:
    compared = Counter[str]()
    for path, fault in faults:
        for block, distance in told_by_the_log(fault.block):
            found = reach(block, fault.access)
            if found is None or fault.access.address is None or block.size_bytes is None:
                continue
            from_side = {
                "before": -found.offset_bytes,
                "inside": found.offset_bytes,
                "after": found.offset_bytes - block.size_bytes,
            }
            assert (found.side, from_side[found.side]) == (block.side, distance), (path, fault.line)
            compared[found.side] += 1
    assert min(compared["before"], compared["inside"], compared["after"]) >= 1 and compared.total() > 30


def test_misaligned_accesses_are_so_by_their_figures(faults: list[tuple[Path, Fault]]) -> None:
    found = [alignment(fault.access) for _, fault in faults if fault.kind == "misaligned access"]
    assert len(found) > 5 and None not in found


@pytest.mark.parametrize("width", [20, 72])
def test_drawings_of_real_faults_fit(faults: list[tuple[Path, Fault]], width: int) -> None:
    drawn = 0
    for _, fault in faults:
        lines = draw(fault.block, fault.access, width, is_ascii=False)
        assert all(len(line) <= width for line in lines)
        drawn += bool(lines)
    assert drawn > 50


def test_every_gap_of_a_real_log_is_explained(logs: list[Path]) -> None:
    words = Counter[str]()
    for path in logs:
        log = FaultLog(path)
        batches = log.faults()
        for _ in batches:
            pass  # the whole log is read before it is asked
        words.update(log.trust.gaps)
    assert len(words) > 3 and set(words) <= set(GAPS)
    assert all(gap_text(word, "zh") for word in words)
