"""Texts of the memory area in English and Chinese: (en, zh). Figures are filled in by name.

What a single kind of fault means stands in `kind_texts`.
"""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    # counts and summary
    "told-counts": (
        "{sites} ({faults}), errors: {errors}; logs: {logs}.",
        "{sites}（{faults}），错误 {errors} 个；日志 {logs} 个。",
    ),
    "n-sites": ("{n} sites", "{n} 个位置"),
    "n-sites-one": ("1 site", "1 个位置"),
    "n-blocks": ("{n} blocks", "{n} 块"),
    "n-blocks-one": ("1 block", "1 块"),
    "told-leaks": ("leaks: {blocks}, {size} bytes{check}.", "泄漏：{blocks}，{size} 字节{check}。"),
    "told-unused": ("unused: {blocks}, {size} bytes{check}.", "未使用：{blocks}，{size} 字节{check}。"),
    "check-same": (", as the tool's total says", "，与工具合计一致"),
    "check-other": (
        "; the tool's total says {told}",
        "；工具合计为 {told}",
    ),
    "check-none": (", without a total of the tool to check against", "，没有工具合计可核对"),
    "told-problems": (
        "not all could be read (problems: {n}): what stands there is not known.",
        "未能全部读取（问题 {n} 个）：其中内容未知。",
    ),
    "told-complete": ("the logs are complete.", "日志完整。"),
    "told-incomplete": ("logs that are not complete: {n} of {logs}.", "{logs} 个日志中 {n} 个不完整。"),
    "told-clean": (
        "nothing was detected, by {checks}, and the log is complete.",
        "{checks} 未检出问题，且日志完整。",
    ),
    "told-nothing-ran": (
        "no fault is in the logs, and nothing in them says that a check ran to its end: that is not clean.",
        "日志中没有错误，但也没有任何内容表明检查已运行完毕：不能算通过。",
    ),
    "told-settings": ("settings: {settings}", "设置：{settings}"),
    "told-roots": ("source roots: {roots}", "源码目录：{roots}"),
    "told-no-roots": (
        "no source roots: --source-root DIR shows the code at each place",
        "未指定源码目录：--source-root DIR 可显示各位置的代码",
    ),
    "told-cleanup": (
        "since {since}: {fixed} fixed, {new} new{back}, {hidden} hidden before, {same} still there{unclear}.",
        "相比 {since}：已修复 {fixed}，新增 {new}{back}，此前被掩盖 {hidden}，仍在 {same}{unclear}。",
    ),
    "told-cleanup-back": (", {n} back after it was fixed", "，修复后再现 {n}"),
    "told-cleanup-unclear": (
        ", {n} not seen, which this log cannot tell",
        "，{n} 个未出现但本日志无法判断",
    ),
    # a site
    "times": ("{n} reports", "{n} 条报告"),
    "times-one": ("1 report", "1 条报告"),
    "addresses": ("addresses {first} to {last}", "地址 {first} 到 {last}"),
    "sizes": ("sizes {sizes}", "大小 {sizes}"),
    "cores": ("{cores}", "{cores}"),
    "serials": ("serial numbers {first} to {last}", "序号 {first} 到 {last}"),
    "earliest": ("the earliest is serialNo {serial}", "最早的是 serialNo {serial}"),
    "earliest-at": (
        "the earliest is serialNo {serial} at {place}",
        "最早的是 serialNo {serial}，位于 {place}",
    ),
    "both-places": ("between {first} and {second}", "{first} 与 {second} 之间"),
    "place-unknown": ("place unknown: {reason}", "位置未知：{reason}"),
    "several-places": (
        "without a position these may be several places",
        "没有位置信息，可能是多个不同位置",
    ),
    "leak-site": (
        "never freed: {blocks}, {size} bytes allocated at {place}",
        "{place} 分配的 {blocks}共 {size} 字节从未释放",
    ),
    "unused-site": (
        "never used: {blocks}, {size} bytes allocated at {place}",
        "{place} 分配的 {blocks}共 {size} 字节从未使用",
    ),
    "leak-repeat": (
        "; {n} of them have the same {size} bytes: a workspace that every call takes anew, memory grows by {size} bytes a call",
        "；其中 {n} 块同为 {size} 字节：每次调用重新分配的 workspace，内存每次增长 {size} 字节",
    ),
    "unknown-place": ("an unknown place", "未知位置"),
    "alignment": (
        "address {address} lies {n} bytes behind a multiple of {unit}",
        "地址 {address} 比 {unit} 的整数倍多 {n} 字节",
    ),
    "is-cut": ("the log ends in this report", "日志在该报告处中断"),
    "is-partial": ("{n} reports lack a line", "{n} 条报告缺行"),
    "is-partial-one": ("1 report lacks a line", "1 条报告缺行"),
    "resolved": ("the line is from the kernel object {name}", "代码行由 kernel 目标文件 {name} 得到"),
    "told-object": (
        "a kernel object is at hand, and nothing here can read it: {hint}",
        "有 kernel 目标文件，但当前环境无法读取：{hint}",
    ),
    "is-mixed": (
        "lines of several processes are mixed: which belong together is not sure",
        "多个进程的行混在一起，归属不确定",
    ),
    # joins and incidents
    "joined": ("operator {name} ({kind} {artifact})", "算子 {name}（{kind} {artifact}）"),
    "joined-likely": (
        "probably operator {name} ({kind} {artifact})",
        "可能是算子 {name}（{kind} {artifact}）",
    ),
    "joined-several": ("its operator is one of: {names}", "算子为以下之一：{names}"),
    "joined-files": ("{kind}: {names}", "{kind}：{names}"),
    "joined-contradicts": (
        "another source has {other} under the ids of this task",
        "另一来源中该任务的 id 对应 {other}",
    ),
    "consequences": ("{n} later events only follow from it", "其后 {n} 个事件只是后果"),
    "consequences-one": ("1 later event only follows from it", "其后 1 个事件只是后果"),
    "follows": ("follows from {root}{delay}: {reason}", "由 {root} 引起{delay}：{reason}"),
    "follows-delay": (", {delay} later", "，晚 {delay}"),
    "seconds": ("{n} s", "{n} 秒"),
    "minutes": ("{n} min", "{n} 分钟"),
    "hours": ("{n} h", "{n} 小时"),
    "by": ("by {who}", "涉及 {who}"),
    "on": ("on {who}", "位于 {who}"),
    "kernel": ("kernel {name}", "kernel {name}"),
    "device": ("device {ids}", "device {ids}"),
    "process": ("process {ids}", "进程 {ids}"),
    "seed-not-run": ("{checks} did not run in this round.", "本轮未运行 {checks}。"),
    "unfinished": ("kernels that began and did not end: {names}", "已开始但未结束的 kernel：{names}"),
    "follows-next": ("look at {root} first", "请先查看 {root}"),
    # other findings
    "gap": ("{artifact}: {text}", "{artifact}：{text}"),
    "mismatch": (
        "{artifact}: the records of {what} add up to {blocks}, {size} bytes, and the total below them says {told}: part of the report is missing.",
        "{artifact}：{what}记录合计 {blocks}、{size} 字节，其下方的合计为 {told}：报告缺失一部分。",
    ),
    "total-alone": (
        "{artifact}: {told} of {what} by the tool's total; the records are not in the log, so nobody can tell where.",
        "{artifact}：工具合计{what} {told}；日志中没有对应记录，无法得知位置。",
    ),
    "what-leak": ("leaks", "泄漏"),
    "what-unused memory": ("unused memory", "未使用内存"),
    "n-bytes": ("{n} bytes", "{n} 字节"),
    "comma": (", ", "、"),
    "semicolon": ("; ", "；"),
    "more-lines": ("... and {n} more such lines", "……另有 {n} 行"),
    "mismatch-next": ("look for the rest of the log, or run again", "找到日志其余部分，或重新运行"),
    "more": ("{n} more sites are in the table.", "另有 {n} 个位置，见表格。"),
    "left-out": (
        "{n} reports of further places were counted, not kept.",
        "另有 {n} 条其他位置的报告只计数、未保留。",
    ),
    "seed": (
        "{name} is set ({where}), and no tool reads it.",
        "设置了 {name}（{where}），但没有工具读取它。",
    ),
    "seed-no-check": ("{words} is no check; there are {checks}.", "{words} 不是检测类型；可用：{checks}。"),
    "seed-next": ("use {real}", "请使用 {real}"),
    "gone-fixed": ("fixed since {since}: {subject} ({kind}).", "相比 {since} 已修复：{subject}（{kind}）。"),
    "gone-unclear": (
        "not seen since {since}: {subject} ({kind}); {why}.",
        "自 {since} 起未出现：{subject}（{kind}）；{why}。",
    ),
    "why-incomplete": (
        "this log is not complete, so it may still be there",
        "本轮日志不完整，可能仍然存在",
    ),
    "why-check": (
        "{check} did not run in this round, so it may still be there",
        "本轮未运行 {check}，可能仍然存在",
    ),
    "state-first": ("", ""),
    "state-same": ("still there", "仍在"),
    "state-moved": ("still there, its line has moved", "仍在，行号已变"),
    "state-new": ("new in this round", "本轮新增"),
    "state-was hidden": (
        "not seen before: an earlier fault or a cut log may have hidden it",
        "此前未出现：可能被先前的错误或中断的日志掩盖",
    ),
    "state-back": ("was fixed once, and is back", "曾经修复，再次出现"),
    "again": (
        "fix it, then run the same check again: one fault hides others, until a log is complete and clean",
        "修复后用同样的检查重跑：一个错误会掩盖其他错误，直到日志完整且无错误",
    ),
    "done": ("complete and clean: the clean-up is done.", "日志完整且无错误：清理完成。"),
    # detail and labels
    "label-artifact": ("log", "日志"),
    "label-lines": ("lines", "行"),
    "label-byte": ("byte", "字节"),
    "label-stack": ("stack", "调用栈"),
    "label-instruction": ("instruction", "指令"),
    "label-allocated": ("allocated", "分配"),
    "label-freed": ("freed", "释放"),
    "label-access": ("access {n}", "访问 {n}"),
    "label-written": ("as written", "原文"),
    "label-source": ("source", "源码"),
    "label-moved": ("moved tree, matched by its last {n} parts", "源码已移动，按末尾 {n} 级路径匹配"),
    "label-members": ("the first {n} of {all} reports", "{all} 条报告中的前 {n} 条"),
    "label-hint": ("figures", "数字"),
    # columns
    "figure-count": ("how many reports the tool printed for this site", "该位置的报告条数"),
    "figure-subject": (
        "the user's line, else the kernel, as the tool wrote it",
        "用户代码行，否则为 kernel，按工具原文",
    ),
    "figure-kind": ("the tool's word for the fault", "工具给出的错误类型"),
    "figure-space": (
        "memory that was touched: GM, UB, L1 ...; heap, stack, global",
        "被访问的内存：GM、UB、L1 ……；heap、stack、global",
    ),
    "figure-size_bytes": ("bytes of one access, of a leak the sum", "单次访问的字节数；泄漏为总和"),
    "figure-distance_bytes": ("bytes from the block next to it", "与相邻内存块的距离（字节）"),
    "figure-cores": ("cores that did it, as ranges", "涉及的核（范围）"),
    "figure-serial_first": (
        "lowest serial number: nearer to the cause than the order of the log",
        "最小序号：比日志顺序更接近起因",
    ),
    "figure-state": ("against the round before", "与上一轮相比"),
}
