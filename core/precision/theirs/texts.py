"""Words for results of other tools, (en, zh)."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "first-both": (
        "first error row ({place}): {tool} says {said}{message}; our reading of its figures: {why}",
        "首个 error 行（{place}）：{tool} 的结论为 {said}{message}；按其指标我们的判断：{why}",
    ),
    "first-theirs": (
        "first error row ({place}): {tool} says {said}{message}; its figures alone do not let us judge it ({why})",
        "首个 error 行（{place}）：{tool} 的结论为 {said}{message}；仅凭其指标无法复核（{why}）",
    ),
    "first-stricter": (
        "first error row ({place}): {tool} says {said}{message}; its figures are within our criteria ({why})",
        "首个 error 行（{place}）：{tool} 的结论为 {said}{message}；其指标在我们的阈值内（{why}）",
    ),
    "first-ours": (
        "first error row ({place}): {why}; {tool} {said}",
        "首个 error 行（{place}）：{why}；{tool} {said}",
    ),
    "said": ("says {said} of it", "对此行的结论为 {said}"),
    "said-nothing": ("gives no verdict", "没有给出结论"),
    "tool-says": ("{tool} says {said}", "{tool} 的结论为 {said}"),
    "inputs-agree": (
        ". Rows stand in the order of execution and all inputs of this call agree: it begins here",
        "。行按执行顺序排列，且该算子所有输入一致：差异从这里开始",
    ),
    "inputs-bad": (
        ". It cannot be told where it begins: an input of the call differs too, or stands in no row",
        "。无法判断起点：该算子有输入也不同，或没有对应的行",
    ),
    "order-unknown": (
        ". The rows of this table need not stand in the order of execution",
        "。此表的行不一定按执行顺序排列",
    ),
    "first-difference": (
        ". The tool names it the first difference over the ranks: rows with NaN never count as different for it, and "
        "a rank that was only given the difference by a collective can be named",
        "。这是该工具给出的跨卡首个差异：含 NaN 的行不被视为差异，且可能指向仅从集合通信收到差异的 rank",
    ),
    "first-said": (
        "first error row ({place}): {tool} says {said}{message}",
        "首个 error 行（{place}）：{tool} 的结论为 {said}{message}",
    ),
    "warned": (
        "rows with a warning and no error: {n} ({m} by {tool}); first: {why}",
        "有 warning 而无 error 的行：{n}（其中 {m} 行由 {tool} 给出）；第一个：{why}",
    ),
    "alone": (
        ". Every API was run by itself on the same inputs: what is wrong is its own",
        "。每个 API 使用相同输入单独运行：误差来自该 API 本身",
    ),
    "next-first": (
        "compare the captures themselves: npulse precision TARGET GOLDEN (their dump folders); the table alone "
        "says no more",
        "直接比较两份采集：npulse precision TARGET GOLDEN（其 dump 目录）；结果表本身给不出更多信息",
    ),
    "next-alone": (
        "compute this one API again from its dumped inputs: npulse recheck {api} DUMP",
        "用 dump 的输入重新计算该 API：npulse recheck {api} DUMP",
    ),
    "missed": (
        "rows that {tool} does not call an error and that are one by its own figures: {n}. {why}",
        "{n} 行按 {tool} 自己的指标应为 error，但其结论不是：{why}",
    ),
    "next-missed": ("do not go by the tool's verdict of these rows", "这些行不要采信原工具的结论"),
    "missed-overflow": (
        "OverFlow is NO of {n} tensor(s) that (holds|hold) NaN: their largest value is NaN, which is not 65504 or more",
        "{n} 个含 NaN 的张量 OverFlow 为 NO：其最大值为 NaN，不会大于等于 65504",
    ),
    "stricter": (
        "rows that {tool} calls an error and that are within our criteria (another dtype, requires_grad): {n} ({why})",
        "{n} 行 {tool} 判为 error，但指标在我们的阈值内（dtype 或 requires_grad 不同）：{why}",
    ),
    "unmatched": (
        "rows without a counterpart on the other side: {n}{said}",
        "{n} 行在另一侧没有对应{said}",
    ),
    "unmatched-pass": (
        "; {tool} says pass of {n} of them, which compares nothing",
        "；其中 {n} 行 {tool} 仍判 pass，但实际没有比较",
    ),
    "bench-alone": (
        ". Calls of the bench side alone are in no such table",
        "。仅标杆侧存在的调用不会出现在此类表中",
    ),
    "next-unmatched": (
        "open both dump folders: npulse precision TARGET GOLDEN lists the calls of either side alone",
        "打开两侧 dump 目录：npulse precision TARGET GOLDEN 会列出仅一侧存在的调用",
    ),
    "unjudged": (
        "rows that cannot be judged by what the table holds: {n} ({why})",
        "{n} 行无法根据表中内容判断：{why}",
    ),
    "next-unjudged": (
        "they are neither passed nor failed; compare the dumps to know",
        "既不算通过也不算失败；需比较 dump 才能知道",
    ),
    "nonfinite-target": ("NaN or Inf on the target side alone", "仅目标侧有 NaN/Inf"),
    "nonfinite-golden": ("NaN or Inf on the golden side alone", "仅标杆侧有 NaN/Inf"),
    "advice": ("{tool} advises: {text}", "{tool} 的建议：{text}"),
    "told-headers": (
        "its header stands there {n} more times, as in files that were put together: those are no rows",
        "表头另外出现 {n} 次（多个文件拼接而成），不计为数据行",
    ),
    "told-table": ("{tool}: {n} row(s) in {file}: {counts}", "{tool}：{file} 共 {n} 行：{counts}"),
    "told-theirs": ("by the tool's own verdict", "按原工具的结论"),
    "told-ours": ("by our reading, the tool gives none", "按我们的判断，原工具没有结论"),
    "told-reading": (
        "our reading of its figures: {counts}",
        "按其指标我们的判断：{counts}",
    ),
    "count-pass": ("{n} pass", "{n} pass"),
    "count-warning": ("{n} warning", "{n} warning"),
    "count-error": ("{n} error", "{n} error"),
    "count-unmatched": ("{n} without a counterpart", "{n} 无对应"),
    "count-unknown": ("{n} unknown", "{n} 未知"),
    "beside": (
        "{file}, computed by {tool}: {n} of its rows are tensors of this comparison; {agree} verdicts agree",
        "{file}（由 {tool} 计算）：其中 {n} 行是本次比较的张量；{agree} 行结论一致",
    ),
    "beside-missed": (
        "; the tool says {said} of {m} that we call an error, first {name}: {why}",
        "；有 {m} 行原工具判 {said} 而我们判 error，第一个是 {name}：{why}",
    ),
    "beside-strict": (
        "; it calls {m} an error that we pass, first {name}",
        "；有 {m} 行原工具判 error 而我们判 pass，第一个是 {name}",
    ),
    "beside-none": (
        "{file}, computed by {tool}: none of its rows names a tensor of this comparison",
        "{file}（由 {tool} 计算）：没有任何一行对应本次比较的张量",
    ),
    "next-beside-statistics": (
        "both go by recorded statistics; capture tensors of this call to be sure",
        "两者均依据记录的统计量；要确定请采集该调用的张量",
    ),
    "next-beside": ("our comparison read the tensors; go by it", "我们的比较读取了张量本身，以此为准"),
    "place-line": ("line {n}", "第 {n} 行"),
    "place-entry": ("entry {n}", "第 {n} 项"),
    "place-sheet": ("sheet {sheet}, row {n}", "工作表 {sheet} 第 {n} 行"),
    "where-table": ("{file}, {place}, written by {tool}", "{file}，{place}，由 {tool} 生成"),
    "where-ours": (
        "verdict and reason are ours, by the figures of the row; {theirs} is the tool's",
        "verdict 与 reason 是我们根据该行指标给出的；{theirs} 是原工具的",
    ),
    "column-theirs": (
        "the verdict of the tool that wrote the table, as it wrote it",
        "生成该表的工具的结论（原文）",
    ),
    "column-message": ("its own message", "其信息原文"),
    "column-cell": ("the word that stands where its first figure should be", "应为首个指标处的文字"),
    "column-verdict": ("our verdict by the figures of the row", "我们根据该行指标的结论"),
    "column-reason": ("why we say so", "我们的理由"),
    "column-line": ("line of the file, or row of the sheet", "文件行号或表格行号"),
    "fact-theirs": ("the tool's verdict", "原工具结论"),
    "fact-ours": ("our reading", "我们的判断"),
    "fact-message": ("its message", "原工具信息"),
    "fact-place": ("place", "位置"),
}
