"""The rules of the story of an archive: what each finding means and on what it rests."""

from __future__ import annotations

from npulse.core.findings import Severity
from npulse.core.rules import Rule

_OWN = ("npulse's own; the figures are those of their areas", "npulse 自有规则；数值取自各面板")
_NEVER = ("cannot be silenced", "不可关闭")
_NOISE = (
    "the area's own noise rule where it has one (step time); else a time or rate must differ by 2 %, a cosine in "
    "the digits that are shown, a count by 1",
    "有噪声规则的按该面板规则（单步时间）；否则时间或速率须相差 2 %，余弦须在显示位数上不同，计数须相差 1",
)


def _rule(
    id_: str,
    severity: Severity,
    title: tuple[str, str],
    meaning: tuple[str, str],
    threshold: tuple[str, str] = ("none", "无"),
) -> Rule:
    return Rule(f"rounds.{id_}", severity, title, meaning, threshold, _OWN, _NEVER)


RULES: tuple[Rule, ...] = (
    _rule(
        "worse",
        "warning",
        ("a figure became worse against the round before", "某项指标比上一轮变差"),
        (
            "The round before is the last one that has the figure. What was set otherwise since then stands with it. A "
            "figure that a later round has again is only a note: the newest one is what counts.",
            "上一轮指最近一个有该指标的轮次；期间改动的配置一并列出。若之后的轮次又有该指标，则仅作提示：以最新一轮为准。",
        ),
        _NOISE,
    ),
    _rule(
        "better",
        "note",
        ("a figure became better against the round before", "某项指标比上一轮变好"),
        (
            "The round before is the last one that has the figure. What was set otherwise since then stands with it: one of "
            "these changes is what helped.",
            "上一轮指最近一个有该指标的轮次；期间改动的配置一并列出：起作用的就在其中。",
        ),
        _NOISE,
    ),
    _rule(
        "fails",
        "error",
        ("an area fails in its newest round", "某面板在其最新一轮不通过"),
        (
            "What the area says of the newest round that it can read: errors, or a criterion of the check-up that is missed, "
            "whatever became better on the way. The command opens it.",
            "该面板对其可读取的最新一轮的结论：仍有错误或未达到体检标准，与途中的改善无关。所列命令可打开该轮。",
        ),
    ),
    _rule(
        "other-input",
        "warning",
        ("a round was measured on another input", "某轮使用了不同的输入"),
        (
            "A hash over what the first call of each captured step was given is another one than in the last round before "
            "that has it: token ids, an image, positions. Figures of precision and overflow are then not compared.",
            "对每个采集步首个调用的输入（token、图像、position）计算的哈希与之前最近一轮不同。此时精度与溢出指标不作比较。",
        ),
        (
            "another hash of the same rank and step, both by elements, by checksum or by statistics",
            "同一 rank 与 step 的哈希不同，且同为按元素、校验和或统计量计算",
        ),
    ),
    _rule(
        "nothing-recorded",
        "warning",
        ("a round recorded nothing", "某轮未采到任何数据"),
        (
            "Its manifest says that the tool wrote nothing that can be used, whatever exit status it gave. Figures of this "
            "round are missing, not clean.",
            "清单表明工具未写出可用数据，与退出码无关。该轮的指标是缺失，不是正常。",
        ),
    ),
    _rule(
        "open",
        "warning",
        ("a round was never closed", "某轮没有正常收尾"),
        (
            "Its manifest says that the capture still runs, or the capture was killed before it could write how it ended.",
            "清单显示采集仍在进行，或采集在写入结果之前被终止。",
        ),
    ),
)
