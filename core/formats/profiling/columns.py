"""The columns of an operator table: one name each, its unit and meaning, and every spelling of its header.

A header is matched by name, without case, blanks and underscores; a unit may stand in it or not. Columns that
are not declared here keep their own name, with the unit behind it (`own_name`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from npulse.core.dataclass import dataclass

from ...text import safe_text

Kind = Literal["text", "id", "int", "ns", "number"]
MAX_COLUMNS = 512
_MAX_NAME_CHARS = 120


@dataclass(frozen=True, slots=True)
class OperatorColumn:
    """One declared column.

    kind "text": int32 codes into labels, -1 absent. "id": int64, -1 absent. "int" and "ns" (nanoseconds):
    int64, absent as `operators` says. "number": float64 as written, NaN absent. meaning: (en, zh). spellings:
    headers without case, blanks and underscores, the first one that is there counts.
    """

    name: str
    kind: Kind
    unit: str
    meaning: tuple[str, str]
    spellings: tuple[str, ...]


_FIXED: tuple[tuple[str, Kind, str, str, str, str], ...] = (
    ("step", "id", "", "step of the script", "脚本中的 step", "stepid step iterationid"),
    ("device", "id", "", "device", "设备", "deviceid"),
    ("model", "id", "", "graph; absent: single operators", "图；缺失表示单算子模式", "modelid"),
    ("model_name", "text", "", "name of the graph", "图名称", "modelname"),
    ("task", "id", "", "task on its stream; wraps at 65,536", "流内任务号，满 65536 回绕", "taskid"),
    ("stream", "id", "", "stream", "流", "streamid"),
    ("batch", "id", "", "how often task ids had wrapped", "任务号已回绕的次数", "batchid flipnum"),
    ("infer", "id", "", "inference of the graph", "图的推理序号", "inferid"),
    ("context", "id", "", "part of a fused task", "融合任务中的子任务", "contextid"),
    ("name", "text", "", "operator", "算子名", "opname name kernelname"),
    ("op_type", "text", "", "operator type", "算子类型", "optype type"),
    ("op_state", "text", "", "dynamic or static shape", "动态或静态 shape", "opstate"),
    ("core_type", "text", "", "what it ran on", "执行单元", "tasktype acceleratorcore coretype kerneltype"),
    (
        "start_ns",
        "ns",
        "ns",
        "start, since 1970",
        "开始时间（1970 年起）",
        "taskstarttime(us) starttime(us) taskstart(us) taskstarttime starttime",
    ),
    (
        "duration_ns",
        "ns",
        "ns",
        "scheduling, run and response",
        "耗时（调度、执行与响应）",
        "taskduration(us) duration(us) tasktime(us) taskduration duration",
    ),
    (
        "wait_ns",
        "ns",
        "ns",
        "gap to the end of the task before it on the device",
        "与设备上前一任务结束的间隔",
        "taskwaittime(us) waittime(us) taskwaittime waittime",
    ),
    ("block_dim", "id", "", "cores it was split over", "使用的核数", "blocknum blockdim"),
    (
        "mix_block_dim",
        "id",
        "",
        "cores of the other kind, of a mixed operator",
        "混合算子另一类核的核数",
        "mixblocknum mixblockdim",
    ),
    ("hf32", "text", "", "may compute fp32 as hf32", "是否可用 HF32 计算", "hf32eligible"),
    ("input_shapes", "text", "", "input shapes; ';' between tensors", "输入 shape，';' 分隔", "inputshapes"),
    ("input_dtypes", "text", "", "data types of the inputs", "输入数据类型", "inputdatatypes"),
    ("input_formats", "text", "", "formats of the inputs", "输入格式", "inputformats"),
    (
        "output_shapes",
        "text",
        "",
        "output shapes; ';' between tensors",
        "输出 shape，';' 分隔",
        "outputshapes",
    ),
    ("output_dtypes", "text", "", "data types of the outputs", "输出数据类型", "outputdatatypes"),
    ("output_formats", "text", "", "formats of the outputs", "输出格式", "outputformats"),
    (
        "aic_time_us",
        "number",
        "us",
        "cycles over clock and blocks, of the cube cores (AI cores where they are not split)",
        "按周期折算的 AIC（未分离芯片为 AI Core）耗时",
        "aicoretime(us) aictime(us) aictotaltime(us) aicoretime aictime",
    ),
    (
        "aiv_time_us",
        "number",
        "us",
        "cycles over clock and blocks, of the vector cores",
        "按周期折算的 AIV 耗时",
        "aivtime(us) aivtotaltime(us) aivtime",
    ),
    (
        "cube_utilization_percent",
        "number",
        "percent",
        "cycles against all that the cube cores had in that time",
        "cube 核利用率",
        "cubeutilization(%) cubeutilization",
    ),
    (
        "memory_bound",
        "number",
        "",
        "mte2 against the larger of mac and vec; above 1: bound by memory",
        "mte2 与 mac、vec 较大者之比，大于 1 为访存受限",
        "memorybound",
    ),
)
"""name, kind, unit, meaning en, meaning zh, spellings."""

_PIPES = {
    "mac": ("cube computing", "矩阵计算"),
    "vec": ("vector computing", "向量计算"),
    "scalar": ("scalar unit", "标量单元"),
    "mte1": ("moves L1 to L0", "L1→L0 搬运"),
    "mte2": ("moves memory to the core", "内存→核内搬运"),
    "mte3": ("moves the core to memory", "核内→内存搬运"),
    "fixpipe": ("moves L0C out", "L0C 搬出"),
}
_RATIOS = {
    "icache_miss_rate": ("instruction cache misses", "指令缓存缺失率"),
    "mac_fp16_ratio": ("cube, fp16", "cube fp16 指令占比"),
    "mac_int8_ratio": ("cube, int8", "cube int8 指令占比"),
    "vec_fp32_ratio": ("vector, fp32", "vector fp32 指令占比"),
    "vec_fp16_ratio": ("vector, fp16", "vector fp16 指令占比"),
    "vec_int32_ratio": ("vector, int32", "vector int32 指令占比"),
    "vec_misc_ratio": ("vector, others", "vector 其他指令占比"),
    "vec_bankgroup_cflt_ratio": ("vector waits: bank groups", "vector bankgroup 冲突占比"),
    "vec_bank_cflt_ratio": ("vector waits: banks", "vector bank 冲突占比"),
    "vec_resc_cflt_ratio": ("vector waits: resources", "vector 资源冲突占比"),
}
_COUNTS = {
    "total_cycles": ("cycles of all blocks", "总周期数"),
    "cube_fops": ("cube operations", "cube 运算量"),
    "vector_fops": ("vector operations", "vector 运算量"),
    "write_cache_hit": ("L2 writes that hit", "L2 写命中"),
    "write_cache_miss_allocate": ("L2 writes that missed", "L2 写缺失"),
    "r0_read_cache_hit": ("L2 reads that hit, port 0", "L2 r0 读命中"),
    "r0_read_cache_miss_allocate": ("L2 reads that missed, port 0", "L2 r0 读缺失"),
    "r1_read_cache_hit": ("L2 reads that hit, port 1", "L2 r1 读命中"),
    "r1_read_cache_miss_allocate": ("L2 reads that missed, port 1", "L2 r1 读缺失"),
    "read_local_l2_hit": ("local L2 reads that hit", "本地 L2 读命中"),
    "read_local_l2_miss": ("local L2 reads that missed", "本地 L2 读缺失"),
    "read_local_l2_victim": ("local L2 reads that evicted", "本地 L2 读替换"),
    "write_local_l2_hit": ("local L2 writes that hit", "本地 L2 写命中"),
    "write_local_l2_miss": ("local L2 writes that missed", "本地 L2 写缺失"),
    "write_local_l2_victim": ("local L2 writes that evicted", "本地 L2 写替换"),
}
_BANDWIDTHS = (
    *("ub_read_bw", "ub_write_bw", "l1_read_bw", "l1_write_bw", "l2_read_bw", "l2_write_bw"),
    *("main_mem_read_bw", "main_mem_write_bw", "l0a_read_bw", "l0a_write_bw", "l0b_read_bw", "l0b_write_bw"),
    *("l0c_read_bw", "l0c_write_bw", "l0c_read_bw_cube", "l0c_write_bw_cube"),
    *("ub_read_bw_vector", "ub_write_bw_vector", "ub_read_bw_scalar", "ub_write_bw_scalar"),
    *("ub_read_bw_mte", "ub_write_bw_mte", "ub_fixp2ub_write_bw"),
)
_MOVED = (
    *("read_main_memory_datas", "write_main_memory_datas", "gm_to_l1_datas", "l0c_to_l1_datas"),
    *("l0c_to_gm_datas", "gm_to_ub_datas", "ub_to_gm_datas"),
)
_SIDES = {"": ("", ""), "aic_": (" (cube cores)", "（AIC）"), "aiv_": (" (vector cores)", "（AIV）")}
UNITS = {
    "us": "us",
    "gb/s": "gb_per_s",
    "mb/s": "mb_per_s",
    "kb": "kb",
    "mb": "mb",
    "%": "percent",
    "ns": "ns",
    "ms": "ms",
}
"""Unit in a header -> the end of a name."""

_UNIT = re.compile(r"\s*\(\s*([^()]{1,12}?)\s*\)\s*$")


def _measured() -> list[OperatorColumn]:
    """The counters of the cores: every metric of every set, for each side of the chip."""
    metrics: list[tuple[str, str, str, str, tuple[str, ...]]] = []
    for pipe, (en, zh) in _PIPES.items():
        for part in ("", "exe_"):
            time, ratio = f"{pipe}_{part}time", f"{pipe}_{part}ratio"
            metrics.append((f"{time}_us", "us", f"{en}: time", f"{zh}耗时", (f"{time}(us)", time)))
            metrics.append((ratio, "ratio", f"{en}: share of the cycles", f"{zh}占比", (ratio,)))
    metrics += [(name, "ratio", en, zh, (name,)) for name, (en, zh) in _RATIOS.items()]
    metrics += [(name, "", en, zh, (name,)) for name, (en, zh) in _COUNTS.items()]
    for name in _BANDWIDTHS:
        words = name.replace("_bw", "").replace("_", " ")
        metrics.append(
            (f"{name}_gb_per_s", "gb_per_s", f"bandwidth: {words}", f"带宽：{words}", (f"{name}(gb/s)", name))
        )
    for name in _MOVED:
        words = name.replace("_datas", "").replace("_", " ")
        metrics.append((f"{name}_kb", "kb", f"moved: {words}", f"搬运量：{words}", (f"{name}(kb)", name)))
    return [
        OperatorColumn(
            side + name,
            "number",
            unit,
            (en + side_en, zh + side_zh),
            tuple(header_key(side + spelling) for spelling in spellings),
        )
        for side, (side_en, side_zh) in _SIDES.items()
        for name, unit, en, zh, spellings in metrics
    ]


def header_key(text: str) -> str:
    """A header as spellings are compared: without case, blanks, tabs and underscores."""
    return "".join(text.lower().replace("_", "").split())


SCHEMA: tuple[OperatorColumn, ...] = (
    *(
        OperatorColumn(name, kind, unit, (en, zh), tuple(spelled.split()))
        for name, kind, unit, en, zh, spelled in _FIXED
    ),
    *_measured(),
)
"""Every column with a name of its own, in display order. A file has some of them, and may have others."""

BY_NAME: Mapping[str, OperatorColumn] = {column.name: column for column in SCHEMA}
NO_PLACE = -1
NEEDED_ANY = (("name", "op_type"), ("duration_ns",))
"""A header must have one column of each."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What stands where in a row.

    columns: (place in the row, column), in the order of the file. duration: its place, NO_PLACE where a
    header that stands again is known by its text alone. unnamed: headers that are not used, since another
    column has their name already. n_least: cells that a row must have; others that it lacks are empty, and
    empty cells behind the last header are nothing. 0: exactly n_columns. is_cut: cells behind the last header
    are left out even where they are not empty. n_named: place behind the last column with a name.
    """

    n_columns: int
    columns: tuple[tuple[int, OperatorColumn], ...]
    duration: int
    unnamed: tuple[str, ...] = ()
    n_least: int = 0
    is_cut: bool = False
    n_named: int = 0


def own_name(header: str) -> tuple[str, str]:
    """Name and unit of a column that is not declared: 'Rate (GB/s)' -> ('rate_gb_per_s', 'gb_per_s')."""
    text = safe_text(header.strip(), _MAX_NAME_CHARS).lower()
    unit = ""
    if found := _UNIT.search(text):
        known = UNITS.get("".join(found[1].split()))
        if known:
            text, unit = text[: found.start()], known
    name = "_".join(text.split()) or "unnamed"
    return (f"{name}_{unit}" if unit else name), unit


def layout_of(cells: Sequence[str]) -> Layout | None:
    """What a row says as a header; None if it is none of an operator table."""
    if not 2 <= len(cells) <= MAX_COLUMNS:
        return None
    keys = [header_key(cell) for cell in cells]
    place_of = {key: i for i, key in reversed(list(enumerate(keys)))}
    found: dict[int, OperatorColumn] = {}
    for column in SCHEMA:
        spellings = column.spellings
        if column.name == "op_type" and "opname" in place_of:
            spellings = spellings[:1]  # the `Type` beside an `Op Name` is that of the task or API
        place = next((place_of[spelling] for spelling in spellings if spelling in place_of), None)
        if place is not None:
            found.setdefault(place, column)
    names = {column.name for column in found.values()}
    if not all(any(name in names for name in group) for group in NEEDED_ANY):
        return None
    unnamed = []
    for i, cell in enumerate(cells):
        if i in found or not cell.strip():
            continue
        name, unit = own_name(cell)
        if name in names or name in BY_NAME:
            unnamed.append(safe_text(cell.strip(), _MAX_NAME_CHARS))
            continue
        names.add(name)
        found[i] = OperatorColumn(name, "number", unit, ("", ""), (keys[i],))
    duration = next(place for place, column in found.items() if column.name == "duration_ns")
    return Layout(len(cells), tuple(sorted(found.items())), duration, tuple(unnamed))
