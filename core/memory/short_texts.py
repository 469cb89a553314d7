"""Few words for what a log lacks and how a site stands against the round before, (en, zh).

Whole sentences for the same words: `kind_texts.GAPS`, and "state-" in `texts`.
"""

from __future__ import annotations

from npulse.core.text import Lang, safe_text

GAPS: dict[str, tuple[str, str]] = {
    "no-markers": ("no sign that the check ended", "没有检查结束标记"),
    "unfinished-kernel": ("a kernel's check has no end", "有 kernel 未检查完"),
    "no-start": ("its begin is missing", "开头缺失"),
    "lost-begin": ("a report lacks its begin", "报告缺少开头"),
    "cut-off": ("cut off in a report", "在报告中间中断"),
    "skipped-lines": ("long lines left out", "跳过了过长的行"),
    "limit": ("too much to read all", "超出读取上限"),
    "unreadable": ("a part cannot be read", "部分无法读取"),
    "records-dropped": ("the tool lost records", "工具丢失记录"),
    "cache-exhausted": ("the tool lost records", "工具丢失记录"),
    "address-changed": ("the tool's records were overwritten", "工具记录被改写"),
    "sync-records-dropped": ("the tool lost sync records", "工具丢失同步记录"),
    "heap-range": ("a block was not watched", "有内存块未被监视"),
    "tool-not-supported": ("a check was left out", "有检查被忽略"),
    "no-active-tool": ("a kernel ran without a check", "有 kernel 未经检查"),
    "tool-error": ("the tool failed", "工具自身报错"),
    "interrupted": ("ended by hand", "手动中断"),
    "signal": ("ended by a signal", "被信号终止"),
    "abnormal-exit": ("the program failed", "程序异常退出"),
    "in progress": ("still being written", "仍在写入"),
    "too-large": ("long lines left out", "跳过了过长的行"),
    "encoding": ("text in an unknown encoding", "部分编码未知"),
    "runtime-refused": ("the sanitizer did not start", "sanitizer 未启动"),
    "check-failed": ("the sanitizer failed", "sanitizer 自身失败"),
    "nested-bug": ("an error within a report", "报告输出中又出错"),
    "leak-check-failed": ("the search for leaks failed", "泄漏检查失败"),
    "leaks-omitted": ("leaks left out", "省略了部分泄漏"),
    "out-of-memory": ("the sanitizer got no memory", "sanitizer 内存不足"),
}
STATES: dict[str, tuple[str, str]] = {
    "first": ("first round", "首轮"),
    "same": ("still there", "仍在"),
    "moved": ("still there", "仍在"),
    "new": ("new", "新增"),
    "was hidden": ("was hidden", "曾被掩盖"),
    "back": ("is back", "再次出现"),
}


def gap_word(gap: str, lang: Lang) -> str:
    """What a log lacks, in few words."""
    return GAPS.get(gap, (safe_text(gap, 40),) * 2)[1 if lang == "zh" else 0]


def state_word(state: object, lang: Lang) -> str:
    """How a site stands against the round before."""
    word = str(state)
    return STATES.get(word, (word, word))[1 if lang == "zh" else 0]
