"""Words of report files: (English, Chinese)."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "found": ("needs {needs}, found {shown}", "要求 {needs}，实际 {shown}"),
    "next": ("next: {what}", "下一步：{what}"),
    "more-findings": ("{n} more findings", "另有 {n} 条"),
    "not-trusted": (
        "its figures mean nothing before {area} is repaired",
        "在修复“{area}”之前，这些指标没有意义",
    ),
    "not-counted": ("not recorded", "未采集"),
    "look-first": ("Look first: {area}.", "先看：{area}。"),
    "head-area": ("area", "方面"),
    "head-state": ("verdict", "结论"),
    "head-says": ("what it says", "说明"),
    "head-next": ("next step", "下一步"),
    "head-criterion": ("criterion", "标准"),
    "head-needs": ("needs", "要求"),
    "head-found": ("found", "实际"),
    "head-why": ("why", "原因"),
    "rows": ("{n} rows", "{n} 行"),
    "rows-cut": (
        "the first {most} of {n} rows: a sheet holds no more",
        "{n} 行中的前 {most} 行：一个工作表放不下更多",
    ),
}
