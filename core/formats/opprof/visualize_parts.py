"""The kinds of JSON in visualize_data.bin as records; those that are not as expected are counted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from npulse.core.dataclass import dataclass

from ...text import safe_text
from .cells import MAX_NUMBER
from .records import (
    BlockFigure,
    BlockTime,
    CacheUse,
    ComputeUse,
    CoreLoad,
    Instructions,
    MemoryPath,
    PipeUse,
    RooflinePoint,
    SourceFile,
    SourceLines,
    ToolAdvice,
    UnitUse,
)
from .tables import Basic

MAX_RECORDS = 200_000
_MAX_TEXT = 512
_MAX_ADVICE = 1024
_MAX_VALUES = 64
_MAX_INT = 2**63 - 1

PATHS = (
    *("GM to L2", "L2 to GM", "L2 to L1", "L1 to L2", "GM/L1 to L0A", "GM/L1 to L0B"),
    *("L0A to Cube", "L0B to Cube", "Cube to L0C", "L0C to L1", "L0C to L2", "L0C to Cube"),
    *("L2 to UB", "UB to L2", "UB to Vector", "Vector to UB"),
    *("L2 to UB1", "UB1 to L2", "UB1 to Vector1", "Vector1 to UB1"),
)
"""Place: number of a memory path. UB1 and Vector1 are those of the second vector core."""
_UNITS = ("us", "instr", "byte", "%", "ops")
_PIPES = {"mte1": "mte1", "mte2": "mte2", "mte3": "mte3", "fixp": "fixpipe", "scalar": "scalar"}


@dataclass(slots=True)
class Parts:
    """What the blocks of one file say together. counts: kind -> how many blocks. n_bad, n_cut: records."""

    basic: Basic = field(default_factory=Basic)
    counts: dict[int, int] = field(default_factory=dict)
    source_files: list[SourceFile] = field(default_factory=list)
    block_times: list[BlockTime] = field(default_factory=list)
    units: list[UnitUse] = field(default_factory=list)
    pipes: list[PipeUse] = field(default_factory=list)
    paths: list[MemoryPath] = field(default_factory=list)
    caches: list[CacheUse] = field(default_factory=list)
    computes: list[ComputeUse] = field(default_factory=list)
    figures: list[BlockFigure] = field(default_factory=list)
    loads: list[CoreLoad] = field(default_factory=list)
    roofline: list[RooflinePoint] = field(default_factory=list)
    advice: list[ToolAdvice] = field(default_factory=list)
    lines: SourceLines | None = None
    instructions: Instructions | None = None
    n_bad: int = 0
    n_cut: int = 0

    def keep(self, into: list[Any], record: Any) -> None:
        if len(into) < MAX_RECORDS:
            into.append(record)
        else:
            self.n_cut += 1

    def say(self, part: str, block: str, texts: Any) -> None:
        """The tool's own sentences: a list of them, or one text with a line each."""
        if isinstance(texts, str):
            texts = texts.splitlines()
        if not isinstance(texts, list):
            return
        for text in texts:
            if isinstance(text, str) and text.strip():
                told = safe_text(_without_number(text.strip()), _MAX_ADVICE)
                self.keep(self.advice, ToolAdvice(part, block, told))

    def objects(self, value: Any) -> Iterator[dict[str, Any]]:
        """The objects of a list; what is none of them is counted."""
        if value is None:
            return
        if not isinstance(value, list):
            self.n_bad += 1
            return
        for item in value:
            if isinstance(item, dict):
                yield item
            else:
                self.n_bad += 1


def number(value: Any) -> float | None:
    """A number up to `MAX_NUMBER`, or a text of one; None for NA and everything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value) if not isinstance(value, str) or len(value) <= 64 else math.nan
    except (ValueError, OverflowError):
        return None
    return found if abs(found) <= MAX_NUMBER else None


def whole(value: Any) -> int | None:
    """A whole number from 0 on, or a text of one."""
    if isinstance(value, str) and value.isdecimal() and value.isascii() and len(value) <= 19:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value <= _MAX_INT else None
    found = number(value)
    if found is None or found < 0 or found >= 2**63 or found != int(found):
        return None
    return int(found)


def text_of(value: Any) -> str:
    return safe_text(value, _MAX_TEXT) if isinstance(value, str) else ""


def take_basic(value: dict[str, Any], found: Parts) -> None:
    """Kind 5: name, chip, times of the blocks."""
    basic = found.basic
    basic.name = text_of(value.get("name")) or None
    basic.op_type = text_of(value.get("op_type")) or None
    basic.soc = text_of(value.get("soc")) or None
    basic.duration_us = number(value.get("duration"))
    basic.block_dim = whole(value.get("block_dim"))
    basic.mix_block_dim = whole(value.get("mix_block_dim"))
    basic.device = whole(value.get("device_id"))
    basic.pid = whole(value.get("pid"))
    basic.frequency_mhz = number(value.get("cur_freq"))
    basic.rated_mhz = number(value.get("rated_freq"))
    found.say("basic", "", value.get("advice"))
    for key in ("block_detail", "mix_block_detail"):
        detail = value.get(key)
        if isinstance(detail, dict):
            _take_times(detail, found)


def _take_times(detail: dict[str, Any], found: Parts) -> None:
    heads = detail.get("head_name")
    if not isinstance(heads, list):
        found.n_bad += 1
        return
    names = [text_of(head) for head in heads[:_MAX_VALUES]]
    for row in found.objects(detail.get("row")):
        cells = row.get("value")
        if not isinstance(cells, list):
            found.n_bad += 1
            continue
        cells = cells[: len(names)]
        block = next((whole(c) for n, c in zip(names, cells, strict=False) if n.lower() == "block id"), None)
        core_type = next(
            (text_of(c) for n, c in zip(names, cells, strict=False) if "type" in n.lower()), ""
        ).lower()
        if block is None:
            found.n_bad += 1
            continue
        for name, cell in zip(names, cells, strict=False):
            duration = number(cell)
            if "duration" not in name.lower() or duration is None:
                continue
            core = name.lower().split("duration")[0].strip()
            found.keep(found.block_times, BlockTime(block, core or core_type, duration))


def take_compute_chart(value: dict[str, Any], found: Parts) -> None:
    """Kind 6: shares."""
    _take_compute(value, found)


def take_compute_table(value: dict[str, Any], found: Parts) -> None:
    """Kind 7: counts."""
    _take_compute(value, found)


def _take_compute(value: dict[str, Any], found: Parts) -> None:
    found.say("compute", "", value.get("advice"))
    for item in found.objects(value.get("subblock_detail")):
        block, name = whole(item.get("block_id")), text_of(item.get("name"))
        if block is None or not name:
            found.n_bad += 1
            continue
        unit = whole(item.get("unit"))
        use = ComputeUse(
            block,
            text_of(item.get("block_type")),
            name,
            _UNITS[unit] if unit is not None and unit < len(_UNITS) else "",
            number(item.get("value")),
            number(item.get("origin_value")),
        )
        found.keep(found.computes, use)


def take_memory_map(value: dict[str, Any], found: Parts) -> None:
    """Kind 8: use of the compute units, and what moved over which way."""
    for item in found.objects(value.get("core_memory_map")):
        block = whole(item.get("core_no"))
        if block is None:
            found.n_bad += 1
            continue
        if not found.basic.op_type:
            found.basic.op_type = text_of(item.get("op_type")) or None
        found.say("memory", str(block), item.get("advice"))
        for key, core in (("Cube", "cube0"), ("Vector", "vector0"), ("Vector1", "vector1")):
            unit = item.get(key)
            if isinstance(unit, dict):
                use = UnitUse(
                    block,
                    core,
                    whole(unit.get("cycle")),
                    whole(unit.get("total_cycles")),
                    number(unit.get("ratio")),
                )
                found.keep(found.units, use)
        for path in found.objects(item.get("memory_unit")):
            at = whole(path.get("memory_path"))
            if at is None or at > 10_000:
                found.n_bad += 1
                continue
            moved = MemoryPath(
                block,
                at,
                PATHS[at] if at < len(PATHS) else str(at),
                whole(path.get("request")),
                number(path.get("bandwidth")),
                number(path.get("peak_ratio")),
            )
            found.keep(found.paths, moved)


def take_memory_tables(value: dict[str, Any], found: Parts) -> None:
    """Kind 9: tables of each block: caches, pipes, buffers."""
    found.say("memory", "", value.get("advice"))
    for item in found.objects(value.get("table_per_block")):
        block = whole(item.get("block_id"))
        if block is None:
            found.n_bad += 1
            continue
        found.say("memory", str(block), item.get("advice"))
        for table in found.objects(item.get("table_detail")):
            _take_table(block, table, found)


def _take_table(block: int, table: dict[str, Any], found: Parts) -> None:
    name = text_of(table.get("table_name"))
    heads = table.get("header_name")
    if not isinstance(heads, list):
        found.n_bad += 1
        return
    headers = [text_of(head) for head in heads[1 : _MAX_VALUES + 1]]  # the first one is that of the names
    for row in found.objects(table.get("row")):
        label, cells = text_of(row.get("name")), row.get("value")
        if not isinstance(cells, list) or len(cells) != len(headers):
            found.n_bad += 1
            continue
        numbers = [number(cell) for cell in cells]
        values = {head: v for head, v in zip(headers, numbers, strict=True) if v is not None}
        found.keep(found.figures, BlockFigure(block, name, label, values))
        if name == "Cache":
            hit, miss = whole(values.get("hit")), whole(values.get("miss"))
            found.keep(found.caches, CacheUse(block, label, hit, miss, values.get("hit rate(%)")))
        elif name.split(" ")[0] == "Pipe":
            pipe = _PIPES.get(label.lower())
            if pipe is None:
                continue
            use = PipeUse(
                block,
                _core_of(name, found.basic.op_type),
                pipe,
                whole(values.get("instructions")),
                whole(values.get("cycle")),
                whole(values.get("wait cycles")),
                values.get("active rate(%)"),
            )
            found.keep(found.pipes, use)


def _core_of(table: str, op_type: str | None) -> str:
    """'Pipe Vector Core1' -> 'vector1'; a kernel of one kind of core has only 'Pipe'."""
    words = table.lower().split()[1:]
    if words[:1] == ["cube"]:
        return "cube0"
    if words[:1] == ["vector"]:
        return "vector1" if words[-1] == "core1" else "vector0"
    return {"cube": "cube0", "vector": "vector0"}.get((op_type or "").lower(), "")


def take_occupancy(value: dict[str, Any], found: Parts) -> None:
    """Kind 12: what each core did."""
    found.say("occupancy", "", value.get("advice"))
    for item in found.objects(value.get("op_detail")):
        core = whole(item.get("core_id"))
        if core is None:
            found.n_bad += 1
            continue
        for detail in found.objects(item.get("core_detail")):
            simt = detail.get("simt_vf_instructions")
            load = CoreLoad(
                core,
                text_of(detail.get("subcore_type")),
                whole(detail.get("subcore_id")) or 0,
                whole(detail.get("cycles")),
                whole(detail.get("throughput")),
                number(detail.get("L2cache_hit_rate")),
                whole(simt.get("instructions")) if isinstance(simt, dict) else None,
            )
            found.keep(found.loads, load)


def take_roofline(value: dict[str, Any], found: Parts) -> None:
    """Kind 13: points, each under a roof of its own."""
    found.say("roofline", "", value.get("advice"))
    for graph in found.objects(value.get("multiple_rooflines")):
        group = text_of(graph.get("title"))
        for item in found.objects(graph.get("rooflines")):
            point = item.get("point")
            pair = point if isinstance(point, list) and len(point) == 2 else (None, None)
            x, y = number(pair[0]), number(pair[1])
            bandwidth, peak = number(item.get("bw")), number(item.get("computility"))
            if x is None or y is None or bandwidth is None or peak is None:
                found.n_bad += 1
                continue
            name = text_of(item.get("bw_name", item.get("bwName")))
            unit = text_of(item.get("computility_name", item.get("computilityName")))
            told = number(item.get("ratio"))
            found.keep(found.roofline, RooflinePoint(group, name, unit, x, y, bandwidth, peak, told))


def _without_number(text: str) -> str:
    """'1) core0 took more time' -> 'core0 took more time'."""
    head, bracket, rest = text.partition(") ")
    return rest if bracket and head.isdecimal() else text
