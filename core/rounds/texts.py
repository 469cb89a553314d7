"""The words of the story of an archive: (English, Chinese)."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "outcome-recorded": ("recorded", "已采到"),
    "outcome-incomplete": ("incomplete", "不完整"),
    "outcome-nothing": ("nothing recorded", "未采到数据"),
    "outcome-unknown": ("unknown", "未知"),
    "outcome-open": ("never closed", "未收尾"),
    "outcome-": ("no manifest says", "无清单说明"),
    "outcome-unread": ("manifest unreadable", "清单无法读取"),
    "state-better": ("better", "更好"),
    "state-worse": ("worse", "更差"),
    "state-same": ("same", "持平"),
    "told-none": ("no rounds here", "没有轮次"),
    "told-one": ("1 round", "1 轮"),
    "told-rounds": ("{n} rounds, {first} to {last}", "共 {n} 轮，{first} 至 {last}"),
    "told-rounds-no-time": ("{n} rounds", "共 {n} 轮"),
    "told-unknown": (
        "?: not known, or not to be compared: not read whole, another output or amount of work, a card that was "
        "not well",
        "?：未知或不可比较：未完整读取、输出或工作量不同、或该卡异常",
    ),
    "head-round": ("round", "轮次"),
    "head-kind": ("kind", "类别"),
    "head-started": ("started", "开始"),
    "head-outcome": ("outcome", "结果"),
    "head-changes": ("changed before it", "此前改动"),
    "exit": ("exit status {n}", "退出码 {n}"),
    "signal": ("ended by {signal}", "被 {signal} 终止"),
    "stopped": ("stopped: {by}", "停止原因：{by}"),
    "no-changes": ("no change", "无改动"),
    "first-settings": ("first recorded", "首次记录"),
    "no-settings": ("not recorded", "未记录"),
    "more-changes": ("{n} more", "另 {n} 项"),
    "since": ("since {round}", "相对 {round}"),
    "message-worse": (
        "{figures} worse than in {since}; changed in between: {changes}",
        "{figures}，比 {since} 更差；期间改动：{changes}",
    ),
    "message-better": (
        "{figures} better than in {since}; changed in between: {changes}",
        "{figures}，比 {since} 更好；期间改动：{changes}",
    ),
    "message-nothing": ("nothing was recorded{why}", "未采到任何数据{why}"),
    "message-open": (
        "the manifest was never closed: the capture still runs, or was killed",
        "清单未收尾：采集仍在进行，或已被终止",
    ),
    "unchanged-here": ("nothing that was recorded", "没有记录到的改动"),
    "next-worse": (
        "compare the two rounds: npulse diff RUN --round {since} --round-b {round}",
        "对比两轮：npulse diff RUN --round {since} --round-b {round}",
    ),
    "next-better": ("keep what was changed", "保留该改动"),
    "next-nothing": (
        "look at the console and the warnings of the round, then capture again",
        "查看该轮的控制台输出与警告，然后重新采集",
    ),
    "next-open": (
        "npulse capture --resume-bookkeeping {folder}",
        "npulse capture --resume-bookkeeping {folder}",
    ),
    "headline": ("{outcome}.", "{outcome}。"),
    "head-better": (" Better: {figures}.", "更好：{figures}。"),
    "head-worse": (" Worse: {figures}.", "更差：{figures}。"),
    "head-unknown": (" Cannot be compared: {figures}{why}.", "无法比较：{figures}{why}。"),
    "from-to": ("{name} {before} -> {after}", "{name} {before} -> {after}"),
    "unwell-card": ("measured on a card that was not well", "测量时该卡异常"),
    "asking": ("figures are still being read", "指标仍在读取"),
    "fact-note": ("note", "备注"),
    "fact-command": ("command", "命令"),
    "fact-tool": ("tool", "工具"),
    "fact-ended": ("ended", "结束"),
    "fact-files": ("artifacts", "已识别文件"),
    "fact-manifest": ("manifest", "清单"),
    "fact-warning": ("warning", "警告"),
    "fact-why": ("why", "原因"),
    "col-round": ("The round, by its folder", "轮次，取其目录名"),
    "col-kind": ("What it was captured for", "采集目的"),
    "col-tool": ("The tool that captured it, by the manifest", "采集工具，取自清单"),
    "col-started": (
        "When it began, by the manifest or else by its name",
        "开始时间，取自清单，否则取自目录名",
    ),
    "col-duration_s": ("Seconds from start to end, by the manifest", "从开始到结束的秒数，取自清单"),
    "col-outcome": (
        "What was recorded, by the files and not by the exit status",
        "采到了什么，依据文件而不是退出码",
    ),
    "col-exit_status": ("How the tool ended", "工具如何结束"),
    "col-n_changes": (
        "Keys that are set otherwise than when they were last recorded",
        "与上次记录时设置不同的键数",
    ),
    "col-changes": ("The first of these keys with both values", "其中前几个键及其前后取值"),
    "col-figure": (
        "By the area's own analysis; better or worse against the last round that has it",
        "取自对应面板的分析；与最近一个有该指标的轮次比较",
    ),
}
