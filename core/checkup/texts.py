"""Texts of the check-up, English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    # states as words
    "pass": ("pass", "通过"),
    "warn": ("warn", "有警告"),
    "fail": ("fail", "不通过"),
    "unknown": ("unknown", "无法判断"),
    "incomplete": ("incomplete", "不完整"),
    "of-others": ("figures of {tool}: {headline}", "{tool} 的指标：{headline}"),
    "recorded": (
        "as recorded on {made}, not judged anew: {headline}",
        "记录于 {made}，未重新判断：{headline}",
    ),
    "not-counted": ("not recorded", "未采集"),
    # headlines
    "n-errors": ("{n} errors", "{n} 个错误"),
    "n-errors-one": ("1 error", "1 个错误"),
    "n-warnings": ("{n} warnings", "{n} 个警告"),
    "n-warnings-one": ("1 warning", "1 个警告"),
    "n-steps": ("{n} steps looked at", "已查看 {n} 步"),
    "n-steps-one": ("1 step looked at", "已查看 1 步"),
    "n-problems": ("{n} could not be read", "{n} 处无法读取"),
    "first-is": ("{subject}: {title}", "{subject}：{title}"),
    "clean": ("nothing over a threshold", "没有超过阈值的项"),
    "could-not-judge": ("could not be judged", "无法判断"),
    # what a criterion asks for
    "needs-at least": (">= {limit}", ">= {limit}"),
    "needs-at most": ("<= {limit}", "<= {limit}"),
    "needs-yes": ("yes", "是"),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    # why a criterion stands as it does
    "no-figure": ("not recorded", "未记录"),
    "no-cosine": ("no cosine: {reason}", "没有余弦：{reason}"),
    "no-pairs": ("no two versions that could be compared", "没有可以相互比较的两个版本"),
    "no-golden": ("no golden capture beside it", "没有对应的标杆采集"),
    "no-serving": (
        "not recorded: mark ranges prefill and decode in the script, or write it into round.toml",
        "未记录：在脚本中标记 prefill 与 decode 区间，或写入 round.toml",
    ),
    "no-leak-check": ("no log says that leaks were looked for", "没有日志表明做过泄漏检查"),
    "lower-bound": ("not all could be read: it may be more", "未能全部读取：实际可能更多"),
    # what is missing
    "missing-environment": (
        "no version file, environment text or versions in a manifest",
        "没有版本文件、环境文本或清单中的版本信息",
    ),
    "missing-versions": (
        "no two versions that could be compared: of driver, toolkit, torch, torch_npu",
        "没有可以相互比较的两个版本（driver、toolkit、torch、torch_npu）",
    ),
    "missing-device": ("no output of npu-smi", "没有 npu-smi 输出"),
    "missing-precision": ("no capture that can be compared", "没有可比较的采集"),
    "missing-golden": (
        "a golden capture to compare with: the same on GPU or CPU, or of the last right version",
        "缺少用于比较的标杆采集：GPU、CPU 或最后一个正确版本上的同样采集",
    ),
    "missing-overflow": ("no dump and no overflow record", "没有 dump 或溢出记录"),
    "missing-memory": ("no log of a sanitizer or of the runtime", "没有 sanitizer 或运行时日志"),
    "missing-performance": ("no exported profile", "没有已导出的 profile"),
    "missing-criterion": ("{title}: {why}", "{title}：{why}"),
    "missing-steps": ("{n} of {needed} steps looked at", "已查看 {n} / {needed} 步"),
    # why an area is opened first
    "why-device": (
        "a card that is not well makes every figure after it doubtful",
        "设备异常时，其后的所有数值都不可靠",
    ),
    "why-environment": (
        "an environment that does not fit explains errors of every kind",
        "环境不匹配可以解释各种错误",
    ),
    "why-corruption": (
        "a kernel that fails or touches foreign memory changes values anywhere: before NaN and cosines",
        "算子异常或越界会改写任意数值：先于 NaN 和余弦处理",
    ),
    "why-overflow": ("NaN or Inf explains bad cosines behind it", "NaN 或 Inf 可以解释其后的余弦异常"),
    "why-steps": ("too few steps were looked at", "已查看的步数不够"),
    "why-precision": (
        "results are wrong: times mean nothing before they are right",
        "结果有误：修正之前时间数据没有意义",
    ),
    "why-memory": (
        "memory is held or not judged: no values are changed by it",
        "内存占用或未判定：不会改变数值",
    ),
    "why-performance": ("nothing is wrong before it: now the time", "前面各项无误：接下来看性能"),
    "why-plugin": ("a plug-in says so, and nothing before it", "由插件给出，前面各项无误"),
    "why-warn": ("nothing is over a limit; it warns", "没有超出限值；有警告"),
    "why-incomplete": ("not all that was recorded could be read", "已记录的内容未能全部读取"),
    "why-unknown": ("what was asked for could not be judged", "所要求的内容无法判断"),
    # why figures are not to be trusted
    "distrust-device": ("a card is not well: not to be trusted", "设备异常：数值不可信"),
    "distrust-memory": (
        "memory was overwritten or a kernel failed: not to be trusted",
        "内存被改写或算子异常：数值不可信",
    ),
    "distrust-overflow": (
        "measured with NaN or Inf in the run: not to be trusted",
        "测量时存在 NaN 或 Inf：数值不可信",
    ),
    "distrust-precision": (
        "measured on a run with wrong results: not to be trusted",
        "测量时结果有误：数值不可信",
    ),
    "distrust-short": ("not to be trusted", "不可信"),
    # report
    "told-first": ("look first at: {area}: {why}", "首先查看：{area}：{why}"),
    "told-nothing-first": ("nothing to open first", "没有需要首先查看的面板"),
    "told-well": ("all that was recorded meets the criteria", "已记录的内容均达到标准"),
    "told-criteria": ("criteria: {file}", "标准：{file}"),
    "bundled": ("bundled (npulse check --print-criteria)", "内置（npulse check --print-criteria）"),
    "told-needs": ("needs {needs}", "要求 {needs}"),
    "told-missing": ("missing: {missing}", "缺少：{missing}"),
    "told-next": ("next: {command}", "下一步：{command}"),
    "criterion-missed": (
        "{title}: {value}, {needs} was asked for. {why}",
        "{title}：{value}，要求 {needs}。{why}",
    ),
    "criterion-unknown": (
        "{title}: {needs} was asked for and could not be judged. {why}",
        "{title}：要求 {needs}，无法判断。{why}",
    ),
    "area-unknown": (
        "{area} was asked for by the criteria file and nothing was recorded for it: {missing}",
        "标准文件要求检查{area}，但没有相应记录：{missing}",
    ),
    "distrusted": ("{area}: {why}", "{area}：{why}"),
    # columns
    "col-area": ("what is asked, in the order in which it is asked", "检查项，按检查顺序"),
    "col-state": (
        "pass, warn, fail, unknown or incomplete: the worst of the criteria and of the area's own verdict",
        "通过、警告、不通过、无法判断或不完整：取各标准与该面板自身结论中最差者",
    ),
    "col-told": ("what the area says in one line", "该面板的一行结论"),
    "col-origin": ("the subject of its first finding", "首要问题的主体"),
    "col-next": ("what to do or to record next", "下一步操作或采集"),
    "col-round": ("the round that was looked at", "所查看的轮次"),
    # detail
    "fact-criterion": ("{shown} (needs {needs})", "{shown}（要求 {needs}）"),
    "fact-origin": ("first finding", "首要问题"),
    "fact-missing": ("missing", "缺少"),
    "fact-trust": ("trust", "可信度"),
    "fact-what": ("what it means", "含义"),
    "fact-verdict": ("its own verdict", "自身结论"),
    "fact-criteria": ("criteria", "标准"),
    "asking": ("not looked at yet", "尚未查看"),
}
