"""Texts of the gate, (en, zh)."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, tuple[str, str]] = {
    "silenced": ("silenced until {until} ({reason}): {message}", "已静默至 {until}（{reason}）：{message}"),
    "known": ("known in the baseline: {message}", "基线中已知：{message}"),
    "worse": ("{message} Worse than in the baseline: {figures}.", "{message} 比基线更差：{figures}。"),
    "figure": ("{name} {before} -> {after}", "{name} {before} → {after}"),
    "severity": ("severity {before} -> {after}", "级别 {before} → {after}"),
    "more": ("{before} -> {after} of them", "数量 {before} → {after}"),
    "note-silenced": (
        "silenced until {until}: {rule} {subject} ({reason})",
        "已静默至 {until}：{rule} {subject}（{reason}）",
    ),
    "note-known": ("known in {name}, not counted: {n}", "{name} 中已知、不计入：{n}"),
    "note-new": ("new, or worse than in {name}: {n}", "新增或比 {name} 更差：{n}"),
    "note-doubtful": (
        "the baseline is {verdict}: what it could not read or judge counts as new",
        "基线结论为 {verdict}：其中未能读取或判断的部分按新增计",
    ),
    "note-expired": (
        "{where}the silence of {rule} for {subject} expired on {until} and does not count ({reason})",
        "{where}{rule} 对 {subject} 的静默已于 {until} 过期，不再生效（{reason}）",
    ),
    "note-unused": (
        "{where}the silence of {rule} for {subject} is about nothing that was found",
        "{where}{rule} 对 {subject} 的静默没有对应任何发现",
    ),
}
