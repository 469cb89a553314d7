"""Words for figures of a table that is still being read, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "first-rows": (
        "still reading: every figure here is of the first {n} rows only",
        "仍在读取：此处所有数值仅来自前 {n} 行",
    ),
    "so-far": (
        "still reading: sums of the first {n} rows so far ({percent} % of {size} MB)",
        "仍在读取：目前仅为前 {n} 行的汇总（{size} MB 的 {percent} %）",
    ),
    "all-rows": (
        "still reading: sums of all {n} rows; which of them count is judged when all cells are read",
        "仍在读取：全部 {n} 行的汇总；哪些行可用须读完所有列后才能判断",
    ),
    "aside": (
        "not in them, without a usable duration: {n}",
        "其中 {n} 行没有可用耗时，未计入",
    ),
    "types": ("types: {n}, {total} together", "{n} 种类型，合计 {total}"),
}
