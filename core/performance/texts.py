"""Words of the performance area that belong to no single analysis, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "not-trusted": (
        "performance figures are not to be trusted: {cards}",
        "性能数据不可信：{cards}",
    ),
    "changes-not-trusted": (
        "{round} was measured on a card that was not well ({cards}): what differs may be the card",
        "{round} 在异常的卡上测得（{cards}）：差异可能来自该卡",
    ),
    "not-trusted-next": (
        "npulse device RUN tells why; measure again on a card that is well",
        "用 npulse device RUN 查看原因；在正常的卡上重新测量",
    ),
    "answer-idle": ("first: IDLE", "首要：空闲"),
    "answer-communication": ("first: COMMUNICATION", "首要：通信"),
    "answer-compute": ("first: COMPUTE", "首要：计算"),
    "answer-unknown": ("first: unknown", "首要：未知"),
    "why-slow-computing": (
        "It computes {percent} % longer than is typical; ranks that wait for it: {n}.",
        "其计算比典型值长 {percent} %；等待本卡的卡数：{n}。",
    ),
    "why-slow-host": (
        "Its host is late: it computes and idles {percent} % longer than is typical; ranks that wait for it: {n}.",
        "其主机侧偏慢：计算加空闲比典型值长 {percent} %；等待本卡的卡数：{n}。",
    ),
    "why-waits": ("{label} waits in collectives for {slow}.", "{label} 在集合通信中等待 {slow}。"),
    "kernels-all": (
        "kernels of msOpProf do not say theirs: {words} leaves none of them out",
        "msOpProf 的 kernel 不含这些信息：{words} 不会排除它们",
    ),
    "told-changes-of": ("{after} (before: {before}):", "{after}（此前：{before}）："),
    "told-answer": ("{label}: {answer}. {why}", "{label}：{answer}。{why}"),
    "told-wall": (
        "wall {wall}, busy {busy} ({busy_percent} %), idle {idle} ({idle_percent} %); computing {compute}, communication {communication} of which {exposed} is not hidden{sum} ({source})",
        "总时长 {wall}，忙碌 {busy}（{busy_percent} %），空闲 {idle}（{idle_percent} %）；计算 {compute}，通信 {communication}，其中未掩盖 {exposed}{sum}（{source}）",
    ),
    "told-sum": (
        "; sum of kernels {sum} ({percent} % of wall)",
        "；kernel 总和 {sum}（总时长的 {percent} %）",
    ),
    "told-rows": (
        "calls that count: {used} of {rows}, {total} in all; types: {n_types}",
        "{rows} 个调用中 {used} 个可用，共 {total}；{n_types} 种类型",
    ),
    "told-totals": (
        "types: {n_types}, {total} in all (sums of the tool alone)",
        "{n_types} 种类型，共 {total}（仅工具汇总）",
    ),
    "told-inferred": (
        "operator types are taken from the names of kernels: no table tells them",
        "算子类型由 kernel 名称推断：没有算子表给出类型",
    ),
    "told-aside": (
        "not counted: {list}",
        "未计入：{list}",
    ),
    "told-aside-more": ("{n} more", "另有 {n} 条"),
    "told-encoding": ("encodings: {list}", "编码：{list}"),
    "reason-absent": ("no duration", "无耗时"),
    "reason-negative": ("negative", "负数"),
    "reason-too long": ("cannot be that long", "不可能这么长"),
    "reason-repeated": ("repeated", "重复"),
    "told-strays": (
        "set aside, at impossible times: {list}",
        "时间不可能，已搁置：{list}",
    ),
    "class-cube": ("cube", "cube"),
    "class-vector": ("vector", "vector"),
    "class-move": ("move", "搬运"),
    "class-communication": ("communication", "通信"),
    "class-aicpu": ("aicpu", "AI CPU"),
    "class-unknown": ("unknown", "未知"),
    "told-class": ("by class: {list}", "按类别：{list}"),
    "told-core": ("by core: {list}", "按执行单元：{list}"),
    "told-profiles": ("{n} profiles; the table is of {label}", "{n} 个 profile；表格为 {label}"),
    "told-other": ("also {label}: {answer}{figures}", "另有 {label}：{answer}{figures}"),
    "told-waits": ("waits for {label}", "在等 {label}"),
    "told-other-wall": (", idle {idle} % of {wall}", "，空闲占 {wall} 的 {idle} %"),
    "told-other-top": (
        "; {total} in all (calls: {n}), first {name} ({percent} %)",
        "；{n} 个调用共 {total}，首位 {name}（{percent} %）",
    ),
    "told-kernels": ("kernels of msOpProf: {n}", "msOpProf kernel：{n} 个"),
    "told-raw": ("sessions without any exported figures: {n}", "没有导出结果的会话：{n} 个"),
    "told-serving": (
        "first token {first}, {rate} tokens/s ({basis})",
        "首 token {first}，{rate} tokens/s（{basis}）",
    ),
    "told-followed": (
        "followed files: {n}, {size:,} bytes read; gone: {gone}, begun anew: {starts}, unfinished lines: {waiting}",
        "跟踪文件 {n} 个，已读 {size:,} 字节；已消失 {gone} 个，重新开始 {starts} 次，未写完的行 {waiting}",
    ),
    "told-since": (
        "new since the look before: calls {n:,}, {total}",
        "自上次查看以来新增：{n:,} 次调用，{total}",
    ),
    "told-cut": ("the source has no end: figures are of what is whole", "源文件不完整：数据仅含完整部分"),
    "source-timeline": ("tasks of the timeline", "时间线任务"),
    "source-lanes": ("lanes of the overlap analysis", "Overlap Analysis 泳道"),
    "source-operators": ("union of the calls in the operator table", "算子表调用的并集"),
    "source-steps": ("sums of step_trace_time", "step_trace_time 的和"),
    "head-type": ("operator type", "算子类型"),
    "head-call": ("operator", "算子"),
    "head-calls": ("calls", "次数"),
    "head-total": ("total us", "总耗时 us"),
    "head-share": ("share", "占比"),
    "head-cumulative": ("cum", "累计"),
    "head-wall": ("of wall", "占总时长"),
    "head-average": ("average us", "平均 us"),
    "head-class": ("class", "类别"),
    "head-bound": ("bound", "瓶颈"),
    "head-before": ("before us", "之前 us"),
    "head-after": ("after us", "之后 us"),
    "head-change": ("change us", "变化 us"),
    "head-noise": ("noise us", "噪声 us"),
    "change-better": ("better", "变快"),
    "change-worse": ("worse", "变慢"),
    "change-noise": ("no change", "不算变化"),
    "change-unknown": ("unknown", "未知"),
    "more-rows": (
        "... {n} more: --top 0 lists all, --tables has all columns",
        "…… 另有 {n} 行：--top 0 全部列出，--tables 含所有列",
    ),
    "row-headline": (
        "{total} us, {share} % of kernel time; calls: {calls}",
        "{calls} 次调用共 {total} us，占 kernel 时间的 {share} %",
    ),
    "label-next": ("next", "下一步"),
    "label-longest": (
        "longest calls (duration, name, input shapes, line)",
        "最长的调用（耗时、名称、输入 shape、行号）",
    ),
    "label-row": ("row", "行"),
    "label-file": ("file", "文件"),
    "label-source": ("wall, busy and idle", "总时长、忙碌与空闲"),
    "label-pipes": ("pipes (share of the cycles, weighted by time)", "流水占比（按耗时加权）"),
}

COLUMNS: Mapping[str, tuple[str, str]] = {
    "total_us": ("sum of the durations that count", "可用耗时之和"),
    "share_percent": (
        "of the sum of all usable durations, i.e. of kernel time, not of wall time",
        "占所有可用耗时之和（即 kernel 时间），不是占总时长",
    ),
    "cumulative_percent": ("share of this row and all above it", "本行及以上的累计占比"),
    "share_of_wall_percent": (
        "of the time from first start to last end; with several streams the sum can be above 100",
        "占首个开始到最后结束的时长；多流时合计可超过 100",
    ),
    "class": (
        "cube, vector, move, communication or AI CPU: by the type as the vendor names it, else by busy pipes, else by core",
        "cube、vector、搬运、通信或 AI CPU：按类型，其次按繁忙流水，再次按执行单元",
    ),
    "bound": (
        "the pipe that was busy for more than 0.8 of the cycles; none: no pipe was; unknown: no counters",
        "占比超过 0.8 的流水；none：没有；unknown：没有 PMU 数据",
    ),
    "bound_ratio": ("share of the busiest pipe", "最繁忙流水的占比"),
    "utilization_percent": ("cube_utilization(%), weighted by time", "cube_utilization(%)，按耗时加权"),
    "moved_bytes": (
        "inputs and outputs by shape and dtype, once each",
        "按 shape 与 dtype 计算的输入输出字节，各计一次",
    ),
    "bandwidth_gb_per_s": ("moved bytes over duration, 1e9 bytes a second", "搬运字节除以耗时，1e9 字节每秒"),
    "change_percent": ("against the round before; absent: within the noise", "相对上一轮；空：在噪声之内"),
    "new_calls": (
        "calls that came with the last look that found something",
        "最近一次有新内容的查看所带来的调用",
    ),
    "new_us": ("their time", "上述调用的耗时"),
    "communication_not_overlapped_us": (
        "communication beside which nothing was computed; the slow rank has the least",
        "没有计算与之并行的通信；慢卡的最少",
    ),
    "noise_us": ("a smaller difference is none", "小于此值不算变化"),
    "neighbours_change_us": (
        "what the calls right before and after it became slower",
        "其前后相邻调用变慢的量",
    ),
}

KIND_NAMES: Mapping[str, tuple[str, str]] = {
    "msprof": ("msprof session", "msprof 会话"),
    "pytorch": ("Ascend PyTorch profiler directory", "Ascend PyTorch Profiler 目录"),
    "mindspore": ("MindSpore profiler directory", "MindSpore Profiler 目录"),
}
STATES: Mapping[str, tuple[str, str]] = {
    "collecting": (
        "collection has not ended (or was killed: compare the time of the last change with the process)",
        "采集未结束（或已被杀死：对照最后修改时间与进程）",
    ),
    "collected": ("collected, not parsed", "已采集，未解析"),
    "parsing": ("parsing has begun and not ended", "解析已开始但未结束"),
    "parsed": ("parsed, not exported", "已解析，未导出"),
    "exporting": ("export has begun and not ended", "导出已开始但未结束"),
    "exported": ("exported, but nothing of it is here", "已导出，但导出结果不在此处"),
}

RAW: Mapping[str, tuple[str, str]] = {
    "raw": (
        "{kind}, raw: {state}. {who}{n} raw files, {size:,} bytes; there is no {missing}.",
        "{kind}，原始数据：{state}。{who}{n} 个原始文件，{size:,} 字节；缺少 {missing}。",
    ),
    "growth": (
        "slices: {n:,}, closed: {closed:,}; {size:,} bytes, {rate} bytes/s",
        "分片 {n:,} 个，已关闭 {closed:,} 个；{size:,} 字节，{rate} 字节/秒",
    ),
    "export-running": (
        "msprof exports a copy of the {n:,} closed slices",
        "msprof 正在导出 {n:,} 个已关闭分片的副本",
    ),
    "export-exported": (
        "figures are of a copy of {n:,} closed slices, exported at {at}",
        "数据来自 {n:,} 个已关闭分片的副本，导出于 {at}",
    ),
    "export-failed": ("the export of a copy failed at {at}: {why}", "副本导出失败（{at}）：{why}"),
    "host-cpu": ("host CPU {line} {last} % (100: one core)", "主机 CPU {line} {last} %（100 为一个核）"),
    "host-memory": ("host memory {line} {last} MiB", "主机内存 {line} {last} MiB"),
    "next": (
        "Export it (nothing is started by itself): {command}",
        "解析导出（不会自动执行）：{command}",
    ),
    "next-collecting": (
        "Export a copy, never this folder while it is written: an export freezes it. {command}",
        "采集中请导出副本而不是本目录：导出会使其冻结。{command}",
    ),
}
