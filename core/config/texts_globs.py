"""Texts of how globs were translated: (en, zh)."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "all": ("'{pattern}' is everything: no list is needed.", "'{pattern}' 表示全部：不需要列表。"),
    "found": (
        "'{pattern}' is {n} of the {of} given names.",
        "'{pattern}' 对应给定的 {of} 个名称中的 {n} 个。",
    ),
    "part": (
        "'{pattern}' becomes \"{part}\", which msprobe looks for inside of names: the same.",
        "'{pattern}' 写成 \"{part}\"，msprobe 按子串匹配：含义相同。",
    ),
    "part-more": (
        "'{pattern}' becomes \"{part}\", which msprobe looks for anywhere in a name: it selects more than the glob "
        "(--name-list DUMP resolves it exactly).",
        "'{pattern}' 写成 \"{part}\"，msprobe 在名称任意位置匹配：比通配符选得更多（--name-list DUMP 可精确解析）。",
    ),
    "also": (
        "msprobe also selects {n} names that the globs do not: {names}.",
        "msprobe 还会多选通配符之外的 {n} 个名称：{names}。",
    ),
    "absent": (
        "'{pattern}' is none of the {of} given names{near}.",
        "'{pattern}' 不在给定的 {of} 个名称之中{near}。",
    ),
    "near": (" (near: {names})", "（相近：{names}）"),
    "cannot": (
        "acl.json takes whole operator names, no globs: '{pattern}' cannot be written",
        "acl.json 只接受完整算子名，不支持通配符：无法写出 '{pattern}'",
    ),
    "cannot-hint": (
        "give --name-list with an earlier dump of the model, a run, or a file with one operator name a line",
        "用 --name-list 给出该模型以前的 dump、运行目录，或每行一个算子名的文件",
    ),
    "no-part": (
        "'{pattern}' has no fixed part that msprobe could look for",
        "'{pattern}' 没有可供 msprobe 匹配的固定部分",
    ),
    "none": (
        "'{pattern}' matches none of the {of} given names{near}",
        "'{pattern}' 与给定的 {of} 个名称都不匹配{near}",
    ),
}
