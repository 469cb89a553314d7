"""Texts about pairings in English and Chinese: (en, zh). Figures are filled in by name."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "group": (
        " Compared as one with {members} ({fusion}).",
        " 与 {members} 合为一组比较（{fusion}）。",
    ),
    "group-of": (
        " {several} stand as one against it ({fusion}).",
        " {several} 合为一组与其比较（{fusion}）。",
    ),
    "no-fusion": ("by shapes and order only", "仅按形状与顺序"),
    "paired-with": (
        " Paired with {other} ({sure}: {why}).",
        " 与 {other} 配对（{sure}：{why}）。",
    ),
    "copy-of": (" It is computed again for the backward: {first}.", " 这是反向所需的重计算：{first}。"),
    "certain": ("certain", "确定"),
    "likely": ("likely", "可能"),
    "doubtful": ("doubtful", "存疑"),
    "note": (
        "paired by more than names: {counts}. Least sure: {target} with {golden} ({sure}: {why}).",
        "未仅按名称配对：{counts}。最不确定：{target} 与 {golden}（{sure}：{why}）。",
    ),
    "note-calls": ("calls {n}", "调用 {n}"),
    "note-groups": ("groups of fused operators {n}", "融合算子组 {n}"),
    "note-copies": ("recomputed forwards {n}", "重计算前向 {n}"),
    "note-doubtful": ("doubtful {n}", "存疑 {n}"),
    "next-note": (
        "Check the least sure pairs (column pairing_why); --mapping FILE says otherwise, --pairing name pairs by names only.",
        "检查最不确定的配对（pairing_why 列）；--mapping FILE 可指定配对，--pairing name 仅按名称配对。",
    ),
    "why-name": ("name", "名称"),
    "why-order": ("order", "顺序"),
    "why-type": ("type", "算子类型"),
    "why-shape": ("shape", "形状"),
    "why-dtype": ("dtype", "数据类型"),
    "why-stack": ("stack", "调用栈"),
    "why-module": ("module", "模块"),
    "why-content": ("content", "内容"),
    "why-fusion": ("fusion", "融合"),
    "why-recompute": ("recompute", "重计算"),
    "why-split": ("split", "切分"),
    "why-mapping": ("mapping", "映射文件"),
    "why-hand": ("hand", "手工"),
}
