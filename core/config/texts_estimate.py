"""Texts of the estimate of what a capture writes: (en, zh)."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "cost-small": (
        "small: records of statistics or of single faults, kilobytes to some hundred megabytes a step and rank",
        "小：仅统计记录或单个故障，每步每 rank 从几 KB 到数百 MB",
    ),
    "cost-medium": (
        "medium: tensors of what is named, in the steps that are named",
        "中：指定内容在指定步的张量",
    ),
    "cost-large": (
        "large: many tensors or many steps, gigabytes; look at the free space first",
        "大：张量或步数多，GB 量级；先看剩余空间",
    ),
    "cost-huge": (
        "huge: every tensor of every operator in every step, hundreds of gigabytes and more",
        "极大：每步每个算子的全部张量，数百 GB 以上",
    ),
    "cost-unknown": ("unknown", "未知"),
    "bytes": (
        "about {likely} {per} ({least} to {most})",
        "约 {likely}，{per}（{least} 至 {most}）",
    ),
    "bytes-open": (
        "about {likely} {per} (at least {least}; no upper bound)",
        "约 {likely}，{per}（至少 {least}；无上限）",
    ),
    "per-step": ("for each step, steps are not limited", "每步（未限制 step）"),
    "in-all": ("in all", "合计"),
    "no-dump": (
        "the earlier dump could not be read: no bytes can be told",
        "无法读取以前的 dump：无法估计字节数",
    ),
    "rests-on": (
        "by {n} rank-steps of the earlier dump, for {ranks} ranks",
        "依据以前 dump 的 {n} 个 rank-step，按 {ranks} 个 rank 计",
    ),
    "other-level": (
        "the earlier dump has level {level}: what {wanted} adds to it is not counted",
        "以前的 dump 为 level {level}：未计入 {wanted} 增加的部分",
    ),
    "level-open": (
        "level {wanted}: no earlier dump tells its size",
        "level {wanted}：以前的 dump 无法说明其大小",
    ),
    "only-faults": (
        "only failing or overflowing operators are written: nothing where there is none",
        "只写出失败或溢出的算子：没有则不写",
    ),
    "mode": (
        "dump_mode all: inputs and outputs, whichever the earlier dump had",
        "dump_mode all：输入与输出，以前的 dump 可能只有其一",
    ),
}
