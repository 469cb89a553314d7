"""Texts of the pages of the precision pane in English and Chinese: (en, zh). Figures are filled in by name."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "target": ("target", "目标"),
    "golden": ("golden", "标杆"),
    # how a pair is known
    "link-sure": ("Paired for sure by {why}.", "依据{why}确定配对。"),
    "link-likely": (
        "Likely a pair (confidence {confidence}), by {why}.",
        "很可能是一对（置信度 {confidence}），依据：{why}。",
    ),
    "link-doubtful": (
        "A doubtful pair (confidence {confidence}), by {why} alone.",
        "存疑的配对（置信度 {confidence}），仅依据：{why}。",
    ),
    "none-target-only": ("Not paired: only the target side calls it.", "未配对：只有目标侧调用。"),
    "none-golden-only": ("Not paired: only the golden side calls it.", "未配对：只有标杆侧调用。"),
    "no-candidates": (
        "No free call of the other side is of this operator: it may be fused, or missing there.",
        "另一侧没有该算子的未配对调用：可能被融合，或在那里缺失。",
    ),
    "candidates": (
        "Free calls of the other side of this operator, nearest first: {names}.",
        "另一侧同类算子的未配对调用（由近到远）：{names}。",
    ),
    "group-of": (
        "A group, compared at its ends: {n_target} call(s) of the target against {n_golden} of the golden side "
        "(fusion: {fusion}).",
        "一个组，在其两端比较：目标侧 {n_target} 个调用对标杆侧 {n_golden} 个（融合：{fusion}）。",
    ),
    "copy-of": ("It repeats {name} (recomputed).", "它是 {name} 的重算。"),
    "evidence-name": ("equal name", "同名"),
    "evidence-order": ("place between sure pairs", "位于确定配对之间"),
    "evidence-type": ("same operator", "同类算子"),
    "evidence-shape": ("shapes", "形状"),
    "evidence-dtype": ("dtypes", "dtype"),
    "evidence-stack": ("same source line", "相同源码行"),
    "evidence-module": ("same module", "相同模块"),
    "evidence-content": ("equal values", "数值相等"),
    "evidence-fusion": ("table of fusions", "融合表"),
    "evidence-recompute": ("recomputed copy", "重算副本"),
    "evidence-split": ("parts of one tensor", "同一张量的切分"),
    "evidence-mapping": ("a mapping file", "映射文件"),
    "evidence-hand": ("your own word", "手工指定"),
    "next-doubtful": (
        "Look at both calls; take them apart, or mark and pair the right ones by hand.",
        "查看两个调用；可拆开，或手工标记并配对正确的调用。",
    ),
    "next-target-only": (
        "If a golden call does the same: mark this one and that one, then pair them.",
        "若标杆侧有做同样事情的调用：标记此调用与那个调用，再配对。",
    ),
    "next-golden-only": (
        "If a target call does the same: mark this one and that one, then pair them.",
        "若目标侧有做同样事情的调用：标记此调用与那个调用，再配对。",
    ),
    # unfolded
    "both-calls": (
        "One call of the target against one of the golden side.",
        "目标侧一个调用对标杆侧一个调用。",
    ),
    "target-alone": ("Only the target side has it.", "只有目标侧有此调用。"),
    "golden-alone": ("Only the golden side has it.", "只有标杆侧有此调用。"),
    # over the rounds
    "trend-better": ("better", "变好"),
    "trend-worse": ("worse", "变差"),
    "trend-same": ("same", "相同"),
    "trend-unknown": ("unknown", "未知"),
    "trend-first": ("first", "首次"),
    "trend-better-why": (
        "The newest round is better than the last one before it that tells this.",
        "最新一轮好于之前最近一轮有此数据的轮次。",
    ),
    "trend-worse-why": (
        "The newest round is worse than the last one before it that tells this.",
        "最新一轮差于之前最近一轮有此数据的轮次。",
    ),
    "trend-same-why": (
        "Within a factor of 2 of the last round before that tells this, on the same side of the threshold.",
        "与之前最近一轮有此数据的轮次相差不到 2 倍，且在阈值同一侧。",
    ),
    "trend-unknown-why": ("The newest round does not tell this.", "最新一轮没有此数据。"),
    "trend-first-why": ("No round before tells this.", "之前的轮次没有此数据。"),
}
