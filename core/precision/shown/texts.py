"""What is told of the questions that a user asks of a comparison."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "renamed": (
        "{name} is read as {figure}",
        "{name} 按 {figure} 理解",
    ),
    "verl": (
        "{name}: no tool has a metric of this name. By layer, in order: the worst cosine, relative L1 and L2 error and "
        "largest relative error of its tensors{limit}.",
        "{name}：没有工具定义此指标。按层依次给出：该层张量最差的余弦、相对 L1/L2 误差与最大相对误差{limit}。",
    ),
    "verl-limit": (
        "; layers with rel_l2 above {limit}, the documents' limit, are counted (--error-threshold judges by one)",
        "；统计 rel_l2 超过文档默认值 {limit} 的层数（用 --error-threshold 作为判据）",
    ),
    "sample": (
        "fastRL is a quick reading: {n} of {of} tensors were read in part, {read} elements ({share} %). Figures are "
        "those of the sample; where it agrees the tensor is unknown, no pass.",
        "fastRL 为快速读取：{of} 个张量中 {n} 个仅部分读取，共 {read} 个元素（{share} %）。指标为抽样结果；抽样一致时结论为未知而非通过。",
    ),
    "sample-whole": (
        "fastRL: all {of} tensors are small enough to be read whole",
        "fastRL：全部 {of} 个张量都足够小，已完整读取",
    ),
    "sample-none": (
        "fastRL: there are no elements to sample, recorded statistics were compared in full",
        "fastRL：没有可抽样的元素，已完整比较记录的统计量",
    ),
    "worst": (
        "{figure}: worst {value} at {subject}{where}, of {n} tensor(s)",
        "{figure}：最差 {value}，位于 {subject}{where}，共 {n} 个张量",
    ),
    "worst-bound": (
        "{figure}: at least {value} at {subject}{where}, by recorded statistics of {n} tensor(s); the error itself needs "
        "tensors",
        "{figure}：至少 {value}，位于 {subject}{where}（由 {n} 个张量的统计量得出；误差本身需要张量数据）",
    ),
    "no-figure": (
        "{figure}: not computed, no tensor was compared element by element",
        "{figure}：未计算，没有逐元素比较的张量",
    ),
    "limit": (
        "judged by {limits} (--error-threshold), beside npulse's own thresholds: {n} row(s) beyond",
        "按 {limits}（--error-threshold）及 npulse 自有阈值判断：{n} 行超限",
    ),
    "limit-statistics": (
        "{n} row(s) (is|are) known by recorded statistics alone: of these a lower bound of the error was judged",
        "{n} 行仅有统计量：按误差下界判断",
    ),
    "on-rank": (" (rank {rank})", "（rank {rank}）"),
    "layers": (
        "by layer ({n}, {n_beyond} beyond a threshold), from the first that differs:",
        "按层（{n} 层，{n_beyond} 层超过阈值），从第一个有差异的层起：",
    ),
    "layers-more": ("  ... {n} more: --tables lists all", "  ……另有 {n} 层：--tables 列出全部"),
    "layers-agree": ("by layer: all {n} agree within the thresholds", "按层：{n} 层均在阈值内"),
    "above": (
        "above {limit}: {n} layers, first {layer}{where}",
        "超过 {limit}：{n} 层，第一个为 {layer}{where}",
    ),
    "network": (
        "the net's outputs alone ({n}): nothing is said of what lies inside; without --compare-mode network the origin is "
        "named",
        "仅比较网络输出（{n} 个），不涉及内部；去掉 --compare-mode network 可定位源头",
    ),
    "single": (
        "operator {operator} alone ({n} row(s) on {ranks} rank(s)); the rest was compared to tell where it begins",
        "仅显示算子 {operator}（{n} 行，{ranks} 个 rank）；其余部分也已比较，用于定位源头",
    ),
    "by-rank": ("{operator} on all ranks of step {step}:", "{operator} 在第 {step} 步各 rank 的结果："),
    "by-rank-absent": ("not on rank {ranks}", "rank {ranks} 没有该调用"),
    "narrowed": (
        "figures are of {n} of {of} calls: {patterns}; findings are of the whole capture",
        "指标仅含 {of} 次调用中的 {n} 次：{patterns}；结论针对整个采集",
    ),
    "beyond": (
        "what was asked for is not within the thresholds: {reason}",
        "所查询的内容超出阈值：{reason}",
    ),
    "next-beyond": (
        "Leave {option} out: npulse precision then names the call in which it begins.",
        "去掉 {option}：npulse precision 会给出差异开始的调用。",
    ),
}
